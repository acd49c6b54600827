/* SPDX-License-Identifier: MIT */
/* View of a map or a scan from above: positions and directions of upright surfaces, at any height,
 * and heights of flat surfaces. */
#pragma once

#include "ndt-voxel-map.h"

G_BEGIN_DECLS

#define NDT_OVERVIEW_MAX_LEVELS 6

/* Empty cells around the map, so that look-ups need no bounds check: marks farther than
 * NDT_OVERVIEW_REACH from a cell of the map are not looked up. */
#define NDT_OVERVIEW_PAD 128
#define NDT_OVERVIEW_REACH 94

/**
 * NdtOverviewMark:
 * @x: metres
 * @y: metres
 * @mask: bit k: a surface that stands there may run at (k ± ½) 22.5° from x, modulo 180°; all bits
 *   where it runs no way rather than another (poles, trees)
 *
 * A piece of an upright surface; there is one in each cell of an overview that the surface crosses.
 */
typedef struct {
  float x;
  float y;
  guint8 mask;
} NdtOverviewMark;

/* A piece of a flat surface; metres. */
typedef struct {
  float x;
  float y;
  float z;
} NdtOverviewFlat;

/* Extracts both from a voxel map: arrays of NdtOverviewMark and NdtOverviewFlat in the order of
 * voxels. @origin is subtracted from x and y. */
void ndt_overview_extract (
    const NdtVoxelLevel *level, double cell, const double origin[2], GArray *marks, GArray *flats);

/**
 * NdtOverview:
 * @cell: edge of its cells, metres
 * @origin: x and y of the corner of cell (0, 0), metres
 * @width: cells of the map along x
 * @height: cells of the map along y
 * @stride: cells from row to row of @levels: @width and NDT_OVERVIEW_PAD on either side
 * @levels: level l has for each cell the union of the masks of the 2^l × 2^l cells from it on;
 * level 0 those of the cell and the eight around it
 * @columns: index of the first flat of each column, @column_width × @column_height + 1
 * @flats: z of flat surfaces, by column
 * @lowest: z of the map's lower end …
 * @highest: … and of its upper one, metres
 *
 * Immutable and reference-counted. Cell (x, y) is at ndt_overview_at() in each level.
 */
typedef struct {
  /*< private >*/
  gatomicrefcount ref_count;
  /*< public >*/
  double cell;
  double origin[2];
  gint width;
  gint height;
  gint stride;
  guint n_levels;
  guint8 *levels[NDT_OVERVIEW_MAX_LEVELS];
  double column;
  gint column_width;
  gint column_height;
  guint32 *columns;
  float *flats;
  double lowest;
  double highest;
} NdtOverview;

static inline gsize
ndt_overview_at (const NdtOverview *overview, gint x, gint y)
{
  return (gsize)(y + NDT_OVERVIEW_PAD) * (gsize)overview->stride + (gsize)(x + NDT_OVERVIEW_PAD);
}

/* Edge of the cells of an overview of a map, metres: larger for a map of many. */
double ndt_overview_cell (const NdtVoxelMap *map);
/* The level of a map that an overview is made from. */
const NdtVoxelLevel *ndt_overview_level (const NdtVoxelMap *map);
/* (transfer full): NULL with NDT_ERROR_NO_MEMORY. */
NdtOverview *ndt_overview_new (const NdtVoxelMap *map, GError **error);
NdtOverview *ndt_overview_ref (NdtOverview *overview);
void ndt_overview_unref (NdtOverview *overview);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtOverview, ndt_overview_unref)

G_END_DECLS
