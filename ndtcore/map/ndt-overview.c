/* SPDX-License-Identifier: MIT */
#include "ndt-overview.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"

/* Edge of the cells in voxels: an alignment that starts a cell off converges. */
#define CELL_VOXELS 0.5
#define LEAST_CELL 0.5
/* Most cells, 4 km² of cells of 1 m; with more, the cells are made larger. */
#define MOST_CELLS (4 << 20)

/* Smallest voxels that are used, metres: smaller ones have too few points for the direction of a
 * surface. */
#define LEAST_VOXEL 1.0

/* Least fraction of horizontal information of an upright voxel, and most of a flat one. A voxel of
 * a single line of points, along a wall or on the ground, has half. */
#define UPRIGHT 0.7
#define FLAT 0.3

/* Least ratio of the variances along and across a surface. */
#define LONG 6.0

#define N_DIRECTIONS 8
#define ALL 0xff

/* Edge of a column of flats, in cells. */
#define COLUMN_CELLS 4

const NdtVoxelLevel *
ndt_overview_level (const NdtVoxelMap *map)
{
  guint i = 0;
  while (i + 1 < ndt_voxel_map_get_n_levels (map) &&
         ndt_voxel_map_get_level (map, i)->resolution < LEAST_VOXEL)
    i++;
  return ndt_voxel_map_get_level (map, i);
}

double
ndt_overview_cell (const NdtVoxelMap *map)
{
  const NdtVoxelLevel *level = ndt_overview_level (map);
  double cell = MAX (CELL_VOXELS * level->resolution, LEAST_CELL), n;
  for (;; cell *= 2) {
    n = 1;
    for (guint k = 0; k < 2; k++)
      n *= (level->cell_max[k] - level->cell_min[k] + 1) * level->resolution / cell + 2;
    if (n <= MOST_CELLS)
      return cell;
  }
}

/* ---- Voxels ---- */

static void
add_mark (GArray *marks, double x, double y, guint8 mask)
{
  const NdtOverviewMark mark = {(float)x, (float)y, mask};
  g_array_append_val (marks, mark);
}

/* The horizontal part of the covariance of an inverse covariance: xx, xy, yy. FALSE where it is
 * none. */
static gboolean
get_horizontal (const float icov[6], double c[3])
{
  const double a = (double)icov[0], b = (double)icov[1], d = (double)icov[2], e = (double)icov[3],
               f = (double)icov[4], g = (double)icov[5];
  const double det = a * (e * g - f * f) - b * (b * g - f * d) + d * (b * f - e * d);
  c[0] = (e * g - f * f) / det;
  c[1] = (d * f - b * g) / det;
  c[2] = (a * g - d * d) / det;
  return isfinite (c[0] + c[1] + c[2]) && c[0] > 0 && c[2] > 0;
}

/* Along its longer axis at each half of a cell, as far as its points reach. */
static void
add_upright (const double c[3], double x, double y, double cell, GArray *marks)
{
  const double half = 0.5 * (c[0] - c[2]), mean = 0.5 * (c[0] + c[2]);
  const double root = sqrt (half * half + c[1] * c[1]), most = mean + root, least = mean - root;
  if (most < LONG * MAX (least, 0)) {
    add_mark (marks, x, y, ALL);
    return;
  }
  const double angle = 0.5 * atan2 (c[1], half);
  const double reach = sqrt (3 * most), step = 0.5 * cell;
  const int n = (int)floor (reach / step);
  const int direction = (int)lround (angle / G_PI * N_DIRECTIONS + N_DIRECTIONS) % N_DIRECTIONS;
  for (int i = -n; i <= n; i++)
    add_mark (
        marks, x + i * step * cos (angle), y + i * step * sin (angle), (guint8)(1u << direction));
}

void
ndt_overview_extract (
    const NdtVoxelLevel *level, double cell, const double origin[2], GArray *marks, GArray *flats)
{
  const double r = level->resolution;
  for (guint32 i = 0; i < level->n_voxels; i++) {
    const NdtVoxel *v = &level->voxels[i];
    const double horizontal = (double)v->icov[0] + (double)v->icov[3];
    const double upright = horizontal / (horizontal + (double)v->icov[5]);
    double at[3], c[3];
    for (guint k = 0; k < 3; k++)
      at[k] = (double)(level->origin[k] + v->cell[k]) * r + (double)v->mean[k] -
              (k < 2 ? origin[k] : 0);
    if (upright > UPRIGHT && get_horizontal (v->icov, c)) {
      add_upright (c, at[0], at[1], cell, marks);
    } else if (upright < FLAT) {
      const NdtOverviewFlat flat = {(float)at[0], (float)at[1], (float)at[2]};
      g_array_append_val (flats, flat);
    }
  }
}

/* ---- Maps ---- */

/* Tolerance of a surface: one direction and one cell. */
static guint8
widen (guint8 mask)
{
  return (guint8)(mask | mask << 1 | mask >> 1 | (mask & 1) << (N_DIRECTIONS - 1) |
                  mask >> (N_DIRECTIONS - 1));
}

static void
draw (NdtOverview *overview, const GArray *marks)
{
  for (guint i = 0; i < marks->len; i++) {
    const NdtOverviewMark *mark = &g_array_index (marks, NdtOverviewMark, i);
    const gint x = (gint)floor ((double)mark->x / overview->cell),
               y = (gint)floor ((double)mark->y / overview->cell);
    const guint8 mask = widen (mark->mask);
    for (gint v = y - 1; v <= y + 1; v++)
      for (gint u = x - 1; u <= x + 1; u++)
        overview->levels[0][ndt_overview_at (overview, u, v)] |= mask;
  }
}

/* The union of four windows of half the edge. */
static void
coarsen (const NdtOverview *overview, const guint8 *in, guint level, guint8 *out)
{
  const gint w = overview->stride, h = overview->height + 2 * NDT_OVERVIEW_PAD,
             half = 1 << (level - 1);
  for (gint y = 0; y < h; y++) {
    const guint8 *a = in + (gsize)y * (gsize)w;
    const guint8 *b = y + half < h ? a + (gsize)half * (gsize)w : NULL;
    guint8 *o = out + (gsize)y * (gsize)w;
    for (gint x = 0; x < w; x++)
      o[x] = b ? a[x] | b[x] : a[x];
    for (gint x = 0; x + half < w; x++)
      o[x] |= o[x + half];
  }
}

/* Level 2 side by side, and level 3 by planes. */
static gboolean
arrange (NdtOverview *overview)
{
  const gint w = overview->stride, h = overview->height + 2 * NDT_OVERVIEW_PAD,
             half = NDT_OVERVIEW_WINDOW / 2;
  g_autofree guint8 *level = g_try_malloc0 ((gsize)w * (gsize)h);
  if (!level)
    return FALSE;
  coarsen (overview, overview->levels[1], 2, level);
  for (gint y = 0; y < h; y++)
    for (gint x = 0; x < w; x++) {
      const gsize at = (gsize)y * (gsize)w + (gsize)x;
      guint8 *quad = overview->quads + 4 * at;
      for (gint k = 0; k < 4; k++) {
        const gint dx = k % 2 * half, dy = k / 2 * half;
        quad[k] = x + dx < w && y + dy < h ? level[at + (gsize)dy * (gsize)w + (gsize)dx] : 0;
      }
      overview
          ->windows[ndt_overview_window (overview, x - NDT_OVERVIEW_PAD, y - NDT_OVERVIEW_PAD)] =
          quad[0] | quad[1] | quad[2] | quad[3];
    }
  return TRUE;
}

/* Sorts flats by columns. */
static gboolean
set_columns (NdtOverview *overview, const GArray *flats)
{
  const gsize n = (gsize)overview->column_width * (gsize)overview->column_height;
  overview->columns = g_try_new0 (guint32, n + 2);
  overview->flats = g_try_new (float, MAX (flats->len, 1));
  if (!overview->columns || !overview->flats)
    return FALSE;
  for (guint pass = 0; pass < 2; pass++) {
    for (guint i = 0; i < flats->len; i++) {
      const NdtOverviewFlat *flat = &g_array_index (flats, NdtOverviewFlat, i);
      const gint x = (gint)floor ((double)flat->x / overview->column),
                 y = (gint)floor ((double)flat->y / overview->column);
      if (x < 0 || y < 0 || x >= overview->column_width || y >= overview->column_height)
        continue;
      const gsize at = (gsize)y * (gsize)overview->column_width + (gsize)x;
      if (pass == 0)
        overview->columns[at + 2]++;
      else
        overview->flats[overview->columns[at + 1]++] = flat->z;
    }
    for (gsize i = 0; i < n && pass == 0; i++)
      overview->columns[i + 2] += overview->columns[i + 1];
  }
  return TRUE;
}

static gboolean
allocate (NdtOverview *overview)
{
  const gsize size = (gsize)overview->stride * (gsize)(overview->height + 2 * NDT_OVERVIEW_PAD);
  for (guint k = 0; k < 2; k++) {
    const gint cells = k == 0 ? overview->width : overview->height;
    overview->n_windows[k] = (cells + NDT_OVERVIEW_WINDOW - 1) / NDT_OVERVIEW_WINDOW;
  }
  const gint pads = 2 * NDT_OVERVIEW_PAD / NDT_OVERVIEW_WINDOW;
  overview->window_stride = overview->n_windows[0] + pads + NDT_OVERVIEW_LANES;
  overview->window_plane =
      overview->window_stride * (overview->n_windows[1] + pads + NDT_OVERVIEW_ROWS);
  overview->levels[0] = g_try_malloc0 (size);
  overview->levels[1] = g_try_malloc0 (size);
  overview->quads = g_try_malloc (4 * size);
  overview->windows =
      g_try_malloc0 (NDT_OVERVIEW_WINDOW * NDT_OVERVIEW_WINDOW * (gsize)overview->window_plane);
  return overview->levels[0] && overview->levels[1] && overview->quads && overview->windows;
}

NdtOverview *
ndt_overview_new (const NdtVoxelMap *map, GError **error)
{
  const NdtVoxelLevel *level = ndt_overview_level (map);
  g_autoptr (NdtOverview) overview = g_new0 (NdtOverview, 1);
  g_autoptr (GArray) marks = g_array_new (FALSE, FALSE, sizeof (NdtOverviewMark));
  g_autoptr (GArray) flats = g_array_new (FALSE, FALSE, sizeof (NdtOverviewFlat));
  gboolean ok;
  g_atomic_ref_count_init (&overview->ref_count);
  overview->cell = ndt_overview_cell (map);
  overview->lowest = (double)(level->origin[2] + level->cell_min[2]) * level->resolution;
  overview->highest = (double)(level->origin[2] + level->cell_max[2] + 1) * level->resolution;
  overview->column = COLUMN_CELLS * overview->cell;
  gint size[2];
  for (guint k = 0; k < 2; k++) {
    overview->origin[k] = (double)(level->origin[k] + level->cell_min[k]) * level->resolution;
    size[k] = (gint)ceil (
        (level->cell_max[k] - level->cell_min[k] + 1) * level->resolution / overview->cell);
  }
  overview->width = size[0];
  overview->height = size[1];
  overview->stride = size[0] + 2 * NDT_OVERVIEW_PAD;
  overview->column_width = size[0] / COLUMN_CELLS + 1;
  overview->column_height = size[1] / COLUMN_CELLS + 1;
  ndt_overview_extract (level, overview->cell, overview->origin, marks, flats);
  ok = allocate (overview) && set_columns (overview, flats);
  if (ok) {
    draw (overview, marks);
    coarsen (overview, overview->levels[0], 1, overview->levels[1]);
    ok = arrange (overview);
  }
  if (!ok) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
        "There is not the memory for an overview of the map");
    return NULL;
  }
  return g_steal_pointer (&overview);
}

static gpointer
make (const NdtVoxelMap *map, GError **error)
{
  return ndt_overview_new (map, error);
}

static void
release (gpointer data)
{
  ndt_overview_unref (data);
}

NdtOverview *
ndt_overview_of_map (NdtVoxelMap *map, GError **error)
{
  NdtOverview *overview = ndt_voxel_map_get_made (map, make, release, error);
  return overview ? ndt_overview_ref (overview) : NULL;
}

NdtOverview *
ndt_overview_ref (NdtOverview *overview)
{
  g_atomic_ref_count_inc (&overview->ref_count);
  return overview;
}

void
ndt_overview_unref (NdtOverview *overview)
{
  if (!g_atomic_ref_count_dec (&overview->ref_count))
    return;
  for (guint l = 0; l < NDT_OVERVIEW_LEVELS; l++)
    g_free (overview->levels[l]);
  g_free (overview->quads);
  g_free (overview->windows);
  g_free (overview->columns);
  g_free (overview->flats);
  g_free (overview);
}
