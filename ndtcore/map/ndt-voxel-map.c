/* SPDX-License-Identifier: MIT */
#include "ndt-voxel-map.h"

#include <string.h>

#include "ndt-voxel-levels.h"
#include "ndtcore/base/ndt-hash.h"
#include "ndtcore/base/ndt-error.h"

struct _NdtVoxelMap {
  gint ref_count;     /* atomic */
  gboolean is_shared; /* it may be in @shared, as @hash */
  guint64 hash;
  NdtVoxelMapParams params;
  guint n_levels;
  NdtVoxelLevel levels[NDT_MAX_LEVELS];
  guint64 *steep;
  gint faces; /* atomic */
  NdtInstructions instructions;
  guint64 n_points;
  double min[3];
  double max[3];
  GDestroyNotify release; /* of levels that are of another owner; NULL: they are the map's */
  gpointer owner;
  GMutex making; /* held where @made is made */
  gpointer made;
  GDestroyNotify release_made;
};

/* Maps of ndt_voxel_map_share(), by their hash. One whose last reference is
 * gone is in it until it is freed, which waits for the lock. */
static GMutex shared_lock;
static GHashTable *shared;

NdtVoxelMap *
ndt_voxel_map_ref (NdtVoxelMap *map)
{
  g_atomic_int_inc (&map->ref_count);
  return map;
}

/* FALSE where it is about to be freed. */
static gboolean
try_ref (NdtVoxelMap *map)
{
  for (;;) {
    const gint n = g_atomic_int_get (&map->ref_count);
    if (n == 0)
      return FALSE;
    if (g_atomic_int_compare_and_exchange (&map->ref_count, n, n + 1))
      return TRUE;
  }
}

static void
forget_shared (NdtVoxelMap *map)
{
  g_mutex_lock (&shared_lock);
  if (g_hash_table_lookup (shared, &map->hash) == map)
    g_hash_table_remove (shared, &map->hash);
  g_mutex_unlock (&shared_lock);
}

void
ndt_voxel_map_unref (NdtVoxelMap *map)
{
  if (!g_atomic_int_dec_and_test (&map->ref_count))
    return;
  if (map->is_shared)
    forget_shared (map);
  if (map->made)
    map->release_made (map->made);
  g_mutex_clear (&map->making);
  if (map->release)
    map->release (map->owner);
  else
    for (guint l = 0; l < map->n_levels; l++)
      ndt_voxel_level_clear (&map->levels[l]);
  g_free (map->steep);
  g_free (map);
}

const NdtVoxelMapParams *
ndt_voxel_map_get_params (const NdtVoxelMap *map)
{
  return &map->params;
}

guint
ndt_voxel_map_get_n_levels (const NdtVoxelMap *map)
{
  return map->n_levels;
}

const NdtVoxelLevel *
ndt_voxel_map_get_level (const NdtVoxelMap *map, guint level)
{
  return level < map->n_levels ? &map->levels[level] : NULL;
}

double
ndt_voxel_map_get_share (const NdtVoxelMap *map, guint level)
{
  const guint64 n = map->levels[level].n_points;
  return n > 0 ? (double)n / (double)map->n_points : 1;
}

guint
ndt_voxel_map_get_fit_level (const NdtVoxelMap *map)
{
  guint best = 0;
  for (guint l = 1; l < map->n_levels; l++) {
    const double greatest = ndt_voxel_map_get_share (map, best);
    if (greatest < NDT_LEAST_SHARE && ndt_voxel_map_get_share (map, l) > greatest)
      best = l;
  }
  return best;
}

gint64
ndt_voxel_level_find (const NdtVoxelLevel *level, gint32 x, gint32 y, gint32 z)
{
  return ndt_level_find (level->blocks, level->block_shift, x, y, z);
}

guint64
ndt_voxel_map_get_n_points (const NdtVoxelMap *map)
{
  return map->n_points;
}

void
ndt_voxel_map_get_bounds (const NdtVoxelMap *map, double min[3], double max[3])
{
  memcpy (min, map->min, sizeof (map->min));
  memcpy (max, map->max, sizeof (map->max));
}

NdtInstructions
ndt_voxel_map_get_instructions (const NdtVoxelMap *map)
{
  return map->instructions;
}

guint64 *
ndt_voxel_map_get_steep (const NdtVoxelMap *map)
{
  return map->steep;
}

gint *
ndt_voxel_map_get_faces (NdtVoxelMap *map)
{
  return &map->faces;
}

static gsize
get_n_slots (const NdtVoxelLevel *level)
{
  return (gsize)1 << (64 - level->block_shift);
}

gsize
ndt_voxel_map_get_bytes (const NdtVoxelMap *map)
{
  gsize bytes = sizeof (NdtVoxelMap) + get_n_slots (&map->levels[0]) * sizeof (guint64);
  for (guint l = 0; l < map->n_levels; l++) {
    const NdtVoxelLevel *level = &map->levels[l];
    bytes += level->n_voxels * sizeof (NdtVoxel);
    bytes += get_n_slots (level) * sizeof (NdtBlock);
  }
  return bytes;
}

guint64
ndt_voxel_map_hash (const NdtVoxelMap *map)
{
  const NdtVoxelLevel *level = &map->levels[0];
  struct {
    guint64 voxels;
    gint64 origin[3];
    double resolution;
  } whole = {ndt_hash64 (level->voxels, level->n_voxels * sizeof (NdtVoxel)),
      {level->origin[0], level->origin[1], level->origin[2]}, level->resolution};
  return ndt_hash64 (&whole, sizeof (whole));
}

static gboolean
are_levels_equal (const NdtVoxelLevel *a, const NdtVoxelLevel *b)
{
  return a->resolution == b->resolution && memcmp (a->origin, b->origin, sizeof (a->origin)) == 0 &&
         a->n_points == b->n_points && a->n_voxels == b->n_voxels && !a->details && !b->details &&
         a->block_shift == b->block_shift &&
         memcmp (a->voxels, b->voxels, a->n_voxels * sizeof (NdtVoxel)) == 0 &&
         memcmp (a->blocks, b->blocks, get_n_slots (a) * sizeof (NdtBlock)) == 0;
}

static gboolean
are_equal (const NdtVoxelMap *a, const NdtVoxelMap *b)
{
  const NdtVoxelMapParams *p = &a->params, *q = &b->params;
  if (p->resolution != q->resolution || p->min_points != q->min_points ||
      p->eigenvalue_ratio != q->eigenvalue_ratio || p->covariance != q->covariance ||
      a->n_levels != b->n_levels || a->instructions != b->instructions ||
      a->n_points != b->n_points || memcmp (a->min, b->min, sizeof (a->min)) != 0 ||
      memcmp (a->max, b->max, sizeof (a->max)) != 0)
    return FALSE;
  for (guint l = 0; l < a->n_levels; l++)
    if (!are_levels_equal (&a->levels[l], &b->levels[l]))
      return FALSE;
  return TRUE;
}

NdtVoxelMap *
ndt_voxel_map_share (NdtVoxelMap *map)
{
  if (map->is_shared)
    return map;
  map->hash = ndt_voxel_map_hash (map);
  map->is_shared = TRUE;
  g_mutex_lock (&shared_lock);
  if (!shared)
    shared = g_hash_table_new (g_int64_hash, g_int64_equal);
  NdtVoxelMap *other = g_hash_table_lookup (shared, &map->hash);
  if (other && !try_ref (other))
    other = NULL;
  if (!other)
    g_hash_table_replace (shared, &map->hash, map);
  g_mutex_unlock (&shared_lock);
  if (!other)
    return map;
  const gboolean is_same = are_equal (map, other);
  ndt_voxel_map_unref (is_same ? map : other);
  return is_same ? other : map;
}

gpointer
ndt_voxel_map_get_made (
    NdtVoxelMap *map, NdtVoxelMapMake make, GDestroyNotify release, GError **error)
{
  g_mutex_lock (&map->making);
  if (!map->made && make) {
    map->release_made = release;
    map->made = make (map, error);
  }
  gpointer made = map->made;
  g_mutex_unlock (&map->making);
  return made;
}

gsize
ndt_voxel_map_get_detail_bytes (const NdtVoxelMap *map)
{
  return map->levels[0].details ? map->levels[0].n_voxels * sizeof (NdtVoxelDetail) : 0;
}

NdtVoxelMap *
ndt_voxel_map_new_from_levels (const NdtVoxelMapParams *params, guint n_levels,
    NdtVoxelLevel *levels, guint64 n_points, const double min[3], const double max[3])
{
  g_return_val_if_fail (n_levels >= 1 && n_levels <= NDT_MAX_LEVELS, NULL);
  NdtVoxelMap *map = g_new0 (NdtVoxelMap, 1);
  map->ref_count = 1;
  g_mutex_init (&map->making);
  map->params = *params;
  map->n_levels = n_levels;
  memcpy (map->levels, levels, n_levels * sizeof (NdtVoxelLevel));
  map->steep = g_new0 (guint64, get_n_slots (&levels[0]));
  /* Here, since the environment is not to be read while scans are. */
  map->instructions = ndt_instructions_choose ();
  map->n_points = n_points;
  memcpy (map->min, min, sizeof (map->min));
  memcpy (map->max, max, sizeof (map->max));
  return map;
}

NdtVoxelMap *
ndt_voxel_map_new_static (const NdtVoxelMapParams *params, guint n_levels,
    const NdtVoxelLevel *levels, guint64 n_points, const double min[3], const double max[3],
    GDestroyNotify release, gpointer owner)
{
  NdtVoxelLevel copy[NDT_MAX_LEVELS];
  g_return_val_if_fail (n_levels >= 1 && n_levels <= NDT_MAX_LEVELS && release != NULL, NULL);
  memcpy (copy, levels, n_levels * sizeof (NdtVoxelLevel));
  NdtVoxelMap *map = ndt_voxel_map_new_from_levels (params, n_levels, copy, n_points, min, max);
  map->release = release;
  map->owner = owner;
  return map;
}

gboolean
ndt_voxel_map_params_check (const NdtVoxelMapParams *params, GError **error)
{
  const gchar *what = NULL;
  if (!(params->resolution >= 0.01 && params->resolution <= 1000))
    what = "resolution has to be 0.01 m to 1000 m";
  else if (params->min_points < 3)
    what = "min-points has to be at least 3";
  else if (!(params->eigenvalue_ratio >= 1e-6 && params->eigenvalue_ratio <= 1))
    what = "the eigenvalue ratio has to be 1e-6 to 1";
  else if (params->n_levels < 1 || params->n_levels > NDT_MAX_LEVELS)
    what = "the number of levels has to be 1 to 3";
  else if (params->covariance > NDT_COVARIANCE_NDT_OMP)
    what = "unknown covariance estimate";
  if (what)
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "Voxel map: %s", what);
  return what == NULL;
}
