/* SPDX-License-Identifier: MIT */
#include "ndt-map-change.h"

#include <math.h>
#include <string.h>

#include "ndt-map-clean.h"
#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/map/ndt-map-rays.h"
#include "ndtcore/math/ndt-pose.h"

/* Edge of the cells that points are compared in, metres: above the noise of sensors and poses. */
#define CELL 0.25
/* Edge of the cells that hang together, and of the voxels that surfaces are, metres. */
#define CLUSTER 0.5
#define VOXEL 1.0
/* Cells along an axis on either side of the origin. */
#define HALF_CELLS (1 << 20)

/* Points of drives in a cell where the map has nothing. */
typedef struct {
  gint64 key;
  guint32 n;
  guint64 drives; /* a bit each */
  double sum[3];
} Candidate;

/* Of a cell, and of those beside it. */
static gint64
key_of (const double p[3], double edge, const gint step[3])
{
  gint64 key = 0;
  for (guint k = 0; k < 3; k++)
    key = key << 21 | (((gint64)floor (p[k] / edge) + step[k] + HALF_CELLS) & 0x1fffff);
  return key;
}

static void
get_step (guint i, gint step[3])
{
  step[0] = (gint)(i % 3) - 1;
  step[1] = (gint)(i / 3 % 3) - 1;
  step[2] = (gint)(i / 9) - 1;
}

void
ndt_map_changes_clear (NdtMapChanges *changes)
{
  g_clear_pointer (&changes->changes, g_array_unref);
  g_clear_pointer (&changes->gone, g_array_unref);
  g_clear_pointer (&changes->added, g_array_unref);
}

/* ---- What drives say ---- */

/* Of each point, how many drives see through it, and how many see it. */
static void
look (const double *xyz, gsize n, const GPtrArray *drives, double max_range, guint8 *gone,
    guint8 *seen)
{
  g_autofree guint8 *sights = g_new (guint8, n + 1);
  for (guint d = 0; d < drives->len; d++) {
    ndt_map_look (xyz, n, g_ptr_array_index (drives, d), max_range, sights);
    for (gsize i = 0; i < n; i++) {
      gone[i] += sights[i] == NDT_MAP_GONE;
      seen[i] += sights[i] == NDT_MAP_SEEN;
    }
  }
}

/* ---- What the map has not ---- */

static GHashTable *
make_cells (const double *xyz, gsize n)
{
  static const gint none[3] = {0, 0, 0};
  GHashTable *cells = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (gsize i = 0; i < n; i++) {
    const gint64 key = key_of (xyz + 3 * i, CELL, none);
    if (!g_hash_table_contains (cells, &key))
      g_hash_table_add (cells, g_memdup2 (&key, sizeof key));
  }
  return cells;
}

static gboolean
is_near (GHashTable *cells, const double p[3])
{
  for (guint i = 0; i < 27; i++) {
    gint step[3];
    get_step (i, step);
    const gint64 key = key_of (p, CELL, step);
    if (g_hash_table_contains (cells, &key))
      return TRUE;
  }
  return FALSE;
}

typedef struct {
  const NdtVoxelMap *map;
  GHashTable *cells;
  GHashTable *index; /* key to index in @candidates, plus 1 */
  GHashTable *known; /* cells that the map explains */
  GArray *candidates;
} Search;

static void
add_candidate (Search *search, const double p[3], guint drive)
{
  static const gint none[3] = {0, 0, 0};
  const gint64 key = key_of (p, CELL, none);
  guint at = GPOINTER_TO_UINT (g_hash_table_lookup (search->index, &key));
  if (at == 0) {
    if (g_hash_table_contains (search->known, &key))
      return;
    if (is_near (search->cells, p) || ndt_map_explains (search->map, p)) {
      g_hash_table_add (search->known, g_memdup2 (&key, sizeof key));
      return;
    }
    const Candidate candidate = {.key = key};
    g_array_append_val (search->candidates, candidate);
    at = search->candidates->len;
    g_hash_table_insert (search->index, g_memdup2 (&key, sizeof key), GUINT_TO_POINTER (at));
  }
  Candidate *candidate = &g_array_index (search->candidates, Candidate, at - 1);
  candidate->n++;
  candidate->drives |= G_GUINT64_CONSTANT (1) << drive;
  for (guint k = 0; k < 3; k++)
    candidate->sum[k] += p[k];
}

static void
add_drive (Search *search, const GArray *keys, guint drive, double max_range)
{
  for (guint i = 0; i < keys->len; i++) {
    const NdtKeyScan *key = &g_array_index (keys, NdtKeyScan, i);
    for (guint k = 0; k < key->n_points; k++) {
      const float *f = key->points + 3 * k;
      double p[3] = {(double)f[0], (double)f[1], (double)f[2]};
      if (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] > max_range * max_range)
        continue;
      ndt_pose_transform_point (&key->sensor, p, p);
      add_candidate (search, p, drive);
    }
  }
}

/* The drives with points in a cell or beside it. */
static guint
count_drives (const Search *search, const Candidate *candidate)
{
  guint64 drives = 0;
  guint n = 0;
  double p[3];
  for (guint k = 0; k < 3; k++)
    p[k] = candidate->sum[k] / candidate->n;
  for (guint i = 0; i < 27; i++) {
    gint step[3];
    get_step (i, step);
    const gint64 key = key_of (p, CELL, step);
    const guint at = GPOINTER_TO_UINT (g_hash_table_lookup (search->index, &key));
    if (at > 0)
      drives |= g_array_index (search->candidates, Candidate, at - 1).drives;
  }
  for (; drives; drives &= drives - 1)
    n++;
  return n;
}

/* Centroids of cells that enough drives have points in. */
static GArray *
find_candidates (const double *xyz, gsize n, const GPtrArray *drives,
    const NdtMapChangeParams *params, GError **error)
{
  const NdtVoxelMapParams voxels = {.resolution = VOXEL,
      .min_points = 5,
      .eigenvalue_ratio = 0.01,
      .covariance = NDT_COVARIANCE_UNBIASED,
      .n_levels = 1};
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, n);
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&voxels, &view, error);
  if (!map)
    return NULL;
  Search search = {.map = map,
      .cells = make_cells (xyz, n),
      .index = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL),
      .known = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL),
      .candidates = g_array_new (FALSE, FALSE, sizeof (Candidate))};
  for (guint d = 0; d < drives->len; d++)
    add_drive (&search, g_ptr_array_index (drives, d), d, params->max_range);
  GArray *found = g_array_new (FALSE, FALSE, 3 * sizeof (double));
  for (guint i = 0; i < search.candidates->len; i++) {
    const Candidate *candidate = &g_array_index (search.candidates, Candidate, i);
    double p[3];
    if (count_drives (&search, candidate) < params->agree)
      continue;
    for (guint k = 0; k < 3; k++)
      p[k] = candidate->sum[k] / candidate->n;
    g_array_append_vals (found, p, 1);
  }
  g_hash_table_unref (search.cells);
  g_hash_table_unref (search.index);
  g_hash_table_unref (search.known);
  g_array_unref (search.candidates);
  return found;
}

/* ---- What hangs together ---- */

/* Takes all points that hang together with @first out of @cells. */
static void
gather (GHashTable *cells, gint64 first, const double *xyz, NdtMapChange *change, GArray *points)
{
  g_autoptr (GArray) todo = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_array_append_val (todo, first);
  while (todo->len > 0) {
    const gint64 key = g_array_index (todo, gint64, todo->len - 1);
    g_array_set_size (todo, todo->len - 1);
    g_autoptr (GArray) cell = NULL;
    gpointer stored, value;
    if (!g_hash_table_steal_extended (cells, &key, &stored, &value))
      continue;
    g_free (stored);
    cell = value;
    for (guint i = 0; i < cell->len; i++) {
      const guint32 at = g_array_index (cell, guint32, i);
      const double *p = xyz + 3 * (gsize)at;
      for (guint k = 0; k < 3; k++) {
        change->min[k] = MIN (change->min[k], p[k]);
        change->max[k] = MAX (change->max[k], p[k]);
      }
      g_array_append_val (points, at);
    }
    for (guint i = 0; i < 27; i++) {
      gint step[3];
      get_step (i, step);
      const double *p = xyz + 3 * (gsize)g_array_index (cell, guint32, 0);
      const gint64 beside = key_of (p, CLUSTER, step);
      if (i != 13 && g_hash_table_contains (cells, &beside))
        g_array_append_val (todo, beside);
    }
  }
  change->n_points = points->len;
}

/* Changes among the points @chosen of @xyz; @kept: (out): those that are in one. */
static void
find_clusters (const double *xyz, const GArray *chosen, gboolean is_added, guint min_points,
    GArray *changes, GArray *kept)
{
  static const gint none[3] = {0, 0, 0};
  g_autoptr (GHashTable) cells =
      g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, (GDestroyNotify)g_array_unref);
  for (guint i = 0; i < chosen->len; i++) {
    const guint32 at = g_array_index (chosen, guint32, i);
    const gint64 key = key_of (xyz + 3 * (gsize)at, CLUSTER, none);
    GArray *cell = g_hash_table_lookup (cells, &key);
    if (!cell) {
      cell = g_array_new (FALSE, FALSE, sizeof (guint32));
      g_hash_table_insert (cells, g_memdup2 (&key, sizeof key), cell);
    }
    g_array_append_val (cell, at);
  }
  /* In the order of the points, not of the table. */
  for (guint i = 0; i < chosen->len; i++) {
    const double *p = xyz + 3 * (gsize)g_array_index (chosen, guint32, i);
    const gint64 key = key_of (p, CLUSTER, none);
    if (!g_hash_table_contains (cells, &key))
      continue;
    g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (guint32));
    NdtMapChange change = {.is_added = is_added,
        .min = {INFINITY, INFINITY, INFINITY},
        .max = {-INFINITY, -INFINITY, -INFINITY}};
    gather (cells, key, xyz, &change, points);
    if (points->len < min_points)
      continue;
    g_array_append_val (changes, change);
    g_array_append_vals (kept, points->data, points->len);
  }
}

static gint
compare_changes (gconstpointer a, gconstpointer b)
{
  const NdtMapChange *x = a, *y = b;
  if (x->is_added != y->is_added)
    return x->is_added - y->is_added;
  return (x->n_points < y->n_points) - (x->n_points > y->n_points);
}

static gint
compare_indices (gconstpointer a, gconstpointer b)
{
  const guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
  return (x > y) - (x < y);
}

/* Points of which at least so many drives say one thing, and none the other. */
static GArray *
agree (gsize n, const guint8 *say, const guint8 *deny, guint least)
{
  GArray *chosen = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (gsize i = 0; i < n; i++) {
    const guint32 at = (guint32)i;
    if (say[i] >= least && deny[i] == 0)
      g_array_append_val (chosen, at);
  }
  return chosen;
}

static void
find_gone (const double *xyz, gsize n, const GPtrArray *drives, const NdtMapChangeParams *params,
    NdtMapChanges *changes)
{
  g_autofree guint8 *gone = g_new0 (guint8, n + 1), *seen = g_new0 (guint8, n + 1);
  look (xyz, n, drives, params->max_range, gone, seen);
  for (gsize i = 0; i < n; i++)
    changes->n_judged += gone[i] + seen[i] >= (gint)params->agree;
  g_autoptr (GArray) chosen = agree (n, gone, seen, params->agree);
  find_clusters (xyz, chosen, FALSE, params->min_points, changes->changes, changes->gone);
  g_array_sort (changes->gone, compare_indices);
}

static gboolean
find_added (const double *xyz, gsize n, const GPtrArray *drives, const NdtMapChangeParams *params,
    NdtMapChanges *changes, GError **error)
{
  g_autoptr (GArray) candidates = find_candidates (xyz, n, drives, params, error);
  if (!candidates)
    return FALSE;
  const double *points = (const double *)(gpointer)candidates->data;
  const guint m = candidates->len;
  g_autofree guint8 *gone = g_new0 (guint8, m + 1), *seen = g_new0 (guint8, m + 1);
  look (points, m, drives, params->max_range, gone, seen);
  g_autoptr (GArray) chosen = agree (m, seen, gone, params->agree);
  g_autoptr (GArray) kept = g_array_new (FALSE, FALSE, sizeof (guint32));
  find_clusters (points, chosen, TRUE, params->min_points, changes->changes, kept);
  g_array_sort (kept, compare_indices);
  for (guint i = 0; i < kept->len; i++)
    g_array_append_vals (changes->added, points + 3 * g_array_index (kept, guint32, i), 1);
  return TRUE;
}

gboolean
ndt_map_find_changes (const double *xyz, gsize n, const GPtrArray *drives,
    const NdtMapChangeParams *params, NdtMapChanges *changes, GError **error)
{
  memset (changes, 0, sizeof (*changes));
  if (drives->len > NDT_MAP_CHANGE_MAX_DRIVES || params->agree < 1 || params->agree > drives->len) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%u drives have to agree, of %u that there are (at most %u)", params->agree, drives->len,
        NDT_MAP_CHANGE_MAX_DRIVES);
    return FALSE;
  }
  changes->changes = g_array_new (FALSE, FALSE, sizeof (NdtMapChange));
  changes->gone = g_array_new (FALSE, FALSE, sizeof (guint32));
  changes->added = g_array_new (FALSE, FALSE, 3 * sizeof (double));
  find_gone (xyz, n, drives, params, changes);
  if (!find_added (xyz, n, drives, params, changes, error)) {
    ndt_map_changes_clear (changes);
    return FALSE;
  }
  g_array_sort (changes->changes, compare_changes);
  return TRUE;
}
