/* SPDX-License-Identifier: MIT */
#include "ndt-map-judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndtcore/map/ndt-voxel-map.h"
#include "ndtcore/math/ndt-formulas.h"

/* Edge of the cells in which surfaces are searched, and fewest points for two sheets. */
#define CELL 1.0
#define MIN_POINTS 40
/* Surfaces thinner than this are one sheet: noise of lidars and poses. */
#define MIN_SIGMA 0.03
/* The direction of thicker ones is not used. */
#define WALL_SIGMA 0.06f
/* Two sheets lie closer than this; farther apart they are two things … */
#define MAX_DISTANCE 0.5
/* … and nearer than this they may be the two layers of centroids that thinning makes of one. */
#define MIN_DISTANCE 0.1
/* Of a normal distribution 38 % lie within half a standard deviation, of an even one 29 %; of two
 * sheets none. */
#define MAX_MIDDLE 0.08

/* A cell whose points are flat; NULL sums where it is not. */
typedef struct {
  gboolean is_flat;
  float normal[3];
  float sigma;
  guint n[3]; /* below, in the middle, above */
  double sums[2];
} Surface;

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double
median (GArray *values)
{
  if (values->len == 0)
    return 0;
  qsort (values->data, values->len, sizeof (double), compare_doubles);
  return g_array_index (values, double, values->len / 2);
}

static void
find_surface (const NdtVoxelDetail *detail, Surface *surface)
{
  double values[3], vectors[9];
  ndt_eigen3 (detail->cov, values, vectors);
  surface->sigma = (float)sqrt (MAX (values[0], 0));
  for (guint k = 0; k < 3; k++)
    surface->normal[k] = (float)vectors[3 * k];
  /* As wide as the cell two ways, and thin across. */
  surface->is_flat = detail->n_points >= MIN_POINTS && values[1] > 0.02 * CELL * CELL &&
                     surface->sigma < MAX_DISTANCE / 2;
}

/* Which side of the middle of its cell's points each point is. */
static void
divide_points (const NdtCloudView *points, const NdtVoxelLevel *level, Surface *surfaces)
{
  for (gsize i = 0; i < points->n_points; i++) {
    double p[3], t = 0;
    gint32 cell[3];
    ndt_cloud_view_get (points, i, p);
    if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
      continue;
    for (guint k = 0; k < 3; k++)
      cell[k] = (gint32)((gint64)floor (p[k] / CELL) - level->origin[k]);
    const gint64 at = ndt_voxel_level_find (level, cell[0], cell[1], cell[2]);
    if (at < 0 || !surfaces[at].is_flat || surfaces[at].sigma < MIN_SIGMA)
      continue;
    for (guint k = 0; k < 3; k++)
      t += (double)surfaces[at].normal[k] *
           (p[k] - (double)(cell[k] + level->origin[k]) * CELL - level->details[at].mean[k]);
    const guint side = fabs (t) < 0.5 * (double)surfaces[at].sigma ? 1 : t < 0 ? 0 : 2;
    surfaces[at].n[side]++;
    if (side != 1)
      surfaces[at].sums[side / 2] += t;
  }
}

/* The direction that walls stand along, together; 0 rad off where they go one way only. */
static double
measure_tilt (const Surface *surfaces, guint32 n, guint *n_walls)
{
  double sums[6] = {0}, values[3], vectors[9];
  for (guint32 i = 0; i < n; i++) {
    const float *v = surfaces[i].normal;
    /* Where a wall meets the ground or another wall its cell has no one direction. */
    if (!surfaces[i].is_flat || surfaces[i].sigma > WALL_SIGMA || fabsf (v[2]) > 0.5f)
      continue;
    (*n_walls)++;
    const guint pairs[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
    for (guint k = 0; k < 6; k++)
      sums[k] += (double)(v[pairs[k][0]] * v[pairs[k][1]]);
  }
  if (*n_walls < 20)
    return 0;
  ndt_eigen3 (sums, values, vectors);
  /* Walls all one way leave a whole plane of directions. */
  if (values[1] < 0.1 * values[2])
    return 0;
  return acos (MIN (fabs (vectors[6]), 1.0));
}

static void
judge_surfaces (const NdtCloudView *points, const NdtVoxelMap *map, NdtMapJudgement *judgement)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  g_autofree Surface *surfaces = g_new0 (Surface, level->n_voxels + 1);
  g_autoptr (GArray) distances = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint32 i = 0; i < level->n_voxels; i++)
    find_surface (&level->details[i], &surfaces[i]);
  divide_points (points, level, surfaces);
  for (guint32 i = 0; i < level->n_voxels; i++) {
    const Surface *surface = &surfaces[i];
    judgement->n_surfaces += surface->is_flat;
    const guint n = surface->n[0] + surface->n[1] + surface->n[2];
    if (n < MIN_POINTS || surface->n[1] > MAX_MIDDLE * n || surface->n[0] < n / 4 ||
        surface->n[2] < n / 4)
      continue;
    const double distance = surface->sums[1] / surface->n[2] - surface->sums[0] / surface->n[0];
    if (distance >= MIN_DISTANCE)
      g_array_append_val (distances, distance);
  }
  if (judgement->n_surfaces > 0)
    judgement->double_share = (double)distances->len / judgement->n_surfaces;
  judgement->double_distance = median (distances);
  judgement->tilt = measure_tilt (surfaces, level->n_voxels, &judgement->n_walls);
}

/* The median of how many points cells have that have any. */
static double
count_points (const NdtCloudView *points, double resolution)
{
  g_autoptr (GHashTable) cells = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GArray) counts = g_array_new (FALSE, FALSE, sizeof (double));
  GHashTableIter iter;
  gpointer count;

  for (gsize i = 0; i < points->n_points; i++) {
    double p[3];
    gint64 key = 0;
    ndt_cloud_view_get (points, i, p);
    if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
      continue;
    /* Cells 2^21 apart are one: what they have is counted roughly. */
    for (guint k = 0; k < 3; k++)
      key = key << 21 | ((gint64)fmod (floor (p[k] / resolution), 2097152) & 0x1fffff);
    const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (cells, &key));
    g_hash_table_insert (cells, g_memdup2 (&key, sizeof key), GUINT_TO_POINTER (n + 1));
  }
  g_hash_table_iter_init (&iter, cells);
  while (g_hash_table_iter_next (&iter, NULL, &count)) {
    const double value = GPOINTER_TO_UINT (count);
    g_array_append_val (counts, value);
  }
  return median (counts);
}

gboolean
ndt_map_judge (
    const NdtCloudView *points, double resolution, NdtMapJudgement *judgement, GError **error)
{
  const NdtVoxelMapParams params = {CELL, 6, 1e-6, NDT_COVARIANCE_UNBIASED, 1, TRUE};
  double min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
  g_autoptr (GError) cause = NULL;

  memset (judgement, 0, sizeof *judgement);
  for (gsize i = 0; i < points->n_points; i++) {
    double p[3];
    ndt_cloud_view_get (points, i, p);
    if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
      continue;
    judgement->n_points++;
    for (guint k = 0; k < 3; k++) {
      min[k] = MIN (min[k], p[k]);
      max[k] = MAX (max[k], p[k]);
    }
  }
  for (guint k = 0; k < 3; k++)
    judgement->size[k] = judgement->n_points > 0 ? max[k] - min[k] : 0;
  judgement->points_per_cell = count_points (points, resolution);
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&params, points, &cause);
  if (map)
    judge_surfaces (points, map, judgement);
  /* Too far apart for cells of 1 m: what is said of the size is enough. */
  if (map || g_error_matches (cause, NDT_ERROR, NDT_ERROR_EMPTY_MAP) ||
      g_error_matches (cause, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&cause));
  return FALSE;
}

static void add (GPtrArray *warnings, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

static void
add (GPtrArray *warnings, const gchar *format, ...)
{
  va_list args;
  va_start (args, format);
  g_ptr_array_add (warnings, g_strdup_vprintf (format, args));
  va_end (args);
}

/* Bounds are those of what lidars see: a room has metres, a town tens of kilometres. */
GPtrArray *
ndt_map_judgement_warn (const NdtMapJudgement *j, double resolution)
{
  GPtrArray *warnings = g_ptr_array_new_with_free_func (g_free);
  const double width = MAX (j->size[0], j->size[1]);

  if (width > 1e5)
    add (warnings,
        "it is %.0f km wide: if its coordinates are millimetres, import it with --scale 0.001",
        width * 1e-3);
  else if (width < 2 && j->n_points > 0)
    add (warnings,
        "it is %.3g m wide: if its coordinates are kilometres, import it with --scale 1000; if "
        "they "
        "are degrees, project them first",
        width);
  if (j->size[2] > 2 * width)
    add (warnings,
        "it is %.0f m high and %.0f m wide: is z up? Turn its axes where they are others",
        j->size[2], width);
  if (j->tilt > 2 * G_PI / 180)
    add (warnings,
        "its %u pieces of wall stand %.1f degrees off the vertical: the map was made tilted; "
        "level its trajectory by gravity and build it again",
        j->n_walls, j->tilt * 180 / G_PI);
  if (j->n_surfaces >= 20 && j->double_share > 0.05)
    add (warnings,
        "%.0f %% of its surfaces are double, %.0f cm apart: scans were put together with poses "
        "that disagree, or thin walls were seen from both sides; correct the trajectory (loop "
        "closures) and build it again",
        100 * j->double_share, 100 * j->double_distance);
  if (j->n_points > 0 && j->points_per_cell < 6)
    add (warnings,
        "half of its cells of %g m have fewer than %.0f points, and a voxel needs 6: use a larger "
        "resolution, or a denser map",
        resolution, j->points_per_cell + 1);
  return warnings;
}
