/* SPDX-License-Identifier: MIT */
#include "ndt-odometry-map.h"

/* Points of a cell above which its sums are halved. */
#define MOST_POINTS 400

struct _NdtOdometryMap {
  NdtVoxelMapParams params;
  guint n_cells;
  GThread *thread; /* NULL: not begun yet, or refused; then the caller extends */
  gboolean was_refused;

  GMutex lock; /* of these two: the rest is the thread's while it is busy, the caller's else */
  GCond changed;
  gboolean is_busy;
  gboolean ends;

  NdtRollingMap *rolling;
  NdtMapExtension extension;
  NdtVoxelMap *built; /* of one level, with the last extension; NULL: it was taken or failed */
  GError *error;      /* of that */
};

static NdtRollingMap *
new_rolling (const NdtVoxelMapParams *params)
{
  return ndt_rolling_map_new (params, MOST_POINTS, NULL);
}

NdtOdometryMap *
ndt_odometry_map_new (const NdtOdometryParams *params)
{
  NdtOdometryMap *map = g_new0 (NdtOdometryMap, 1);
  map->params = (NdtVoxelMapParams){.resolution = params->resolution,
      .min_points = 5,
      .eigenvalue_ratio = 0.01,
      .covariance = NDT_COVARIANCE_UNBIASED,
      .n_levels = NDT_MAX_LEVELS};
  map->rolling = new_rolling (&map->params);
  g_mutex_init (&map->lock);
  g_cond_init (&map->changed);
  return map;
}

static void
drop_built (NdtOdometryMap *map)
{
  g_clear_pointer (&map->built, ndt_voxel_map_unref);
  g_clear_error (&map->error);
}

void
ndt_odometry_map_free (NdtOdometryMap *map)
{
  if (map->thread) {
    g_mutex_lock (&map->lock);
    map->ends = TRUE;
    g_cond_broadcast (&map->changed);
    g_mutex_unlock (&map->lock);
    g_thread_join (map->thread);
  }
  drop_built (map);
  ndt_rolling_map_free (map->rolling);
  g_mutex_clear (&map->lock);
  g_cond_clear (&map->changed);
  g_free (map);
}

static void
extend (NdtOdometryMap *map)
{
  const NdtMapExtension *e = &map->extension;
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (e->points, e->n_points);
  drop_built (map);
  if (!ndt_rolling_map_add (map->rolling, &points, &e->sensor, &map->error))
    return;
  if (e->radius > 0)
    ndt_rolling_map_trim (map->rolling, e->sensor.position, e->radius);
  map->built = ndt_rolling_map_build (map->rolling, 1, &map->error);
}

static gpointer
extend_when_asked (gpointer user_data)
{
  NdtOdometryMap *map = user_data;
  g_mutex_lock (&map->lock);
  for (;;) {
    while (!map->is_busy && !map->ends)
      g_cond_wait (&map->changed, &map->lock);
    if (!map->is_busy)
      break;
    g_mutex_unlock (&map->lock);
    extend (map);
    g_mutex_lock (&map->lock);
    map->is_busy = FALSE;
    g_cond_broadcast (&map->changed);
  }
  g_mutex_unlock (&map->lock);
  return NULL;
}

void
ndt_odometry_map_wait (NdtOdometryMap *map)
{
  g_mutex_lock (&map->lock);
  while (map->is_busy)
    g_cond_wait (&map->changed, &map->lock);
  g_mutex_unlock (&map->lock);
  map->n_cells = ndt_rolling_map_get_n_cells (map->rolling);
}

void
ndt_odometry_map_extend (NdtOdometryMap *map, const NdtMapExtension *extension)
{
  ndt_odometry_map_wait (map);
  map->extension = *extension;
  if (!map->thread && !map->was_refused)
    map->thread = g_thread_try_new ("ndt-odometry", extend_when_asked, map, NULL);
  map->was_refused = !map->thread;
  if (map->was_refused) {
    extend (map);
    return;
  }
  g_mutex_lock (&map->lock);
  map->is_busy = TRUE;
  g_cond_broadcast (&map->changed);
  g_mutex_unlock (&map->lock);
}

void
ndt_odometry_map_clear (NdtOdometryMap *map)
{
  ndt_odometry_map_wait (map);
  drop_built (map);
  ndt_rolling_map_clear (map->rolling);
  map->n_cells = 0;
}

NdtVoxelMap *
ndt_odometry_map_build (NdtOdometryMap *map, guint n_levels, GError **error)
{
  ndt_odometry_map_wait (map);
  /* Points that did not get into the map are lost; that it is empty, more levels tell as well. */
  if (map->error &&
      (n_levels <= 1 || !g_error_matches (map->error, NDT_ERROR, NDT_ERROR_EMPTY_MAP))) {
    /* It stays: the map lacks them for any backend. */
    g_propagate_error (error, g_error_copy (map->error));
    return NULL;
  }
  if (map->built && n_levels <= 1)
    return g_steal_pointer (&map->built);
  return ndt_rolling_map_build (map->rolling, n_levels, error);
}

gboolean
ndt_odometry_map_use_some (NdtOdometryMap *map, NdtBackend *backend, GError **error)
{
  const NdtPose identity = NDT_POSE_IDENTITY;
  g_autoptr (NdtRollingMap) some = new_rolling (&map->params);
  float corners[24];
  for (guint i = 0; i < 24; i++)
    corners[i] = (float)map->params.resolution * ((i / 3) >> (i % 3) & 1 ? 0.7f : 0.3f);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (corners, 8);
  if (!ndt_rolling_map_add (some, &points, &identity, error))
    return FALSE;
  g_autoptr (NdtVoxelMap) built = ndt_rolling_map_build (some, 1, error);
  return built && ndt_backend_set_map (backend, built, error);
}

guint
ndt_odometry_map_get_n_cells (const NdtOdometryMap *map)
{
  return map->n_cells;
}

void
ndt_odometry_map_save (NdtOdometryMap *map, GByteArray *out)
{
  ndt_odometry_map_wait (map);
  ndt_rolling_map_save (map->rolling, out);
}

gboolean
ndt_odometry_map_restore (NdtOdometryMap *map, NdtSaved *saved)
{
  ndt_odometry_map_wait (map);
  drop_built (map);
  const gboolean ok = ndt_rolling_map_restore (map->rolling, saved);
  map->n_cells = ndt_rolling_map_get_n_cells (map->rolling);
  return ok;
}
