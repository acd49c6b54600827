/* SPDX-License-Identifier: MIT */
/* View of a map or a scan from above: positions and directions of upright surfaces, at any height,
 * and heights of flat surfaces. */
#pragma once

#include "ndt-overview-rules.h"
#include "ndt-voxel-map.h"

G_BEGIN_DECLS

/* Levels that are looked up cell by cell. */
#define NDT_OVERVIEW_LEVELS 2
/* So many windows of a row, and so many rows, may be read at once; beyond the map's they are empty.
 */
#define NDT_OVERVIEW_LANES 16
#define NDT_OVERVIEW_ROWS 4

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
 *   level 0 those of the cell and the eight around it
 * @quads: of level 2, for each cell, the four windows that make that of level 3 from the cell on
 * @windows: level 3, as planes of the cells with the same remainders by 8 of x and y, so that
 *   windows side by side are bytes side by side: ndt_overview_window()
 * @n_windows: of these along x and y that have cells of the map
 * @window_stride: of a plane
 * @window_plane: from plane to plane
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
  guint8 *levels[NDT_OVERVIEW_LEVELS];
  guint8 *quads;
  guint8 *windows;
  gint n_windows[2];
  gint window_stride;
  gint window_plane;
  double column;
  gint column_width;
  gint column_height;
  guint32 *columns;
  float *flats;
  double lowest;
  double highest;
} NdtOverview;

/**
 * NdtOverviewTask:
 * @marks: of the scan, within the reach of the map
 * @n_marks: 1 to %NDT_OVERVIEW_MARKS
 * @n_turns: directions in which they are compared, evenly around the circle
 * @range: of places next to each other, see ndt_overview_is_near()
 * @cut: fewest marks that match at a place
 * @most: places that are looked for, at most %NDT_OVERVIEW_MOST
 *
 * A scan that is looked for.
 */
typedef struct {
  const NdtOverviewMark *marks;
  guint n_marks;
  guint n_turns;
  gint range;
  guint cut;
  guint most;
} NdtOverviewTask;

/**
 * NdtOverviewFound:
 * @n: places
 * @places: nodes of level 0, best first
 * @counts: of marks that match there
 * @n_nodes: that were counted
 */
typedef struct {
  guint n;
  NdtOverviewNode places[NDT_OVERVIEW_MOST];
  guint counts[NDT_OVERVIEW_MOST];
  guint n_nodes;
} NdtOverviewFound;

static inline gsize
ndt_overview_at (const NdtOverview *overview, gint x, gint y)
{
  return (gsize)(y + NDT_OVERVIEW_PAD) * (gsize)overview->stride + (gsize)(x + NDT_OVERVIEW_PAD);
}

/* Of the window of level 3 at cell (x, y), at or beyond -NDT_OVERVIEW_PAD: for (8 i + x, 8 j + y)
 * it is i + j @window_stride after it. */
static inline gsize
ndt_overview_window (const NdtOverview *overview, gint x, gint y)
{
  return (gsize)ndt_overview_window_at (overview->window_stride, overview->window_plane, x, y);
}

/* Edge of the cells of an overview of a map, metres: larger for a map of many. */
double ndt_overview_cell (const NdtVoxelMap *map);
/* The level of a map that an overview is made from. */
const NdtVoxelLevel *ndt_overview_level (const NdtVoxelMap *map);
/* (transfer full): NULL with NDT_ERROR_NO_MEMORY. */
NdtOverview *ndt_overview_new (const NdtVoxelMap *map, GError **error);
/* The same, made once for all who have the map, which keeps it; they wait for the first one. Any
 * thread. */
NdtOverview *ndt_overview_of_map (NdtVoxelMap *map, GError **error);
NdtOverview *ndt_overview_ref (NdtOverview *overview);
void ndt_overview_unref (NdtOverview *overview);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtOverview, ndt_overview_unref)

G_END_DECLS
