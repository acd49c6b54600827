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

/* Cells lie side by side, in the order in which points came to them; the table holds their
 * indices, NO_CELL where it is empty. So large sums are stored without gaps, and never twice while
 * the table grows. */
/**
 * NdtCellRegion:
 *
 * The sums of the points of one region, by cell.
 */
typedef struct {
  guint64 id;
  NdtRegionCell *cells;
  guint32 *table;
  guint32 n_cells;
  guint32 capacity;
  int shift; /* 64 − log2 of the table's size */
  guint64 n_points;
  double min[3];
  double max[3];
} NdtCellRegion;

/* NULL without the memory for it. */
NdtCellRegion *ndt_cell_region_new (guint64 id);
void ndt_cell_region_free (gpointer region);
/* The cell of a key, made where there is none; NULL without the memory for it. Valid until the next
 * call. */
NdtRegionCell *ndt_cell_region_get (NdtCellRegion *region, guint64 key);
gsize ndt_cell_region_get_bytes (const NdtCellRegion *region);

G_END_DECLS
