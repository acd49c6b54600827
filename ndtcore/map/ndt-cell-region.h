/* SPDX-License-Identifier: MIT */
/* The cells of a region while a map is built. Private to ndtcore/map. */
#pragma once

#include <glib.h>

#include "ndtcore/math/ndt-cells.h"

G_BEGIN_DECLS

/* A cell of a region. */
typedef struct {
  guint64 key; /* ndt_block_key() of the cell relative to the builder's origin */
  NdtCellSums sums;
} NdtRegionCell;

/* Cells are an array in the order of their first points; the table has their indices, or NO_CELL.
 * So the sums, which are large, have no gaps between them and are not copied when the table grows.
 */
/**
 * NdtCellRegion:
 *
 * @handle: of an NdtVoxelUpdate; 0: none
 *
 * The sums of the points of one region, by cell.
 */
typedef struct {
  guint64 id;
  guint32 handle;
  NdtRegionCell *cells;
  guint32 *table;
  guint32 n_cells;
  guint32 capacity;
  int shift; /* 64 − log2 of the table's size */
  guint64 n_points;
  double min[3];
  double max[3];
} NdtCellRegion;

/* NULL where there is not the memory. */
NdtCellRegion *ndt_cell_region_new (guint64 id);
void ndt_cell_region_free (gpointer region);
/* The cell of a key, which is made where there is none; NULL where there is not the memory. The
 * pointer is valid until the next call. */
NdtRegionCell *ndt_cell_region_get (NdtCellRegion *region, guint64 key);
gsize ndt_cell_region_get_bytes (const NdtCellRegion *region);

G_END_DECLS
