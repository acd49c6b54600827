/* SPDX-License-Identifier: MIT */
#include "scene-map.h"

struct _SceneMap {
  guint max_points;
  SceneMapFuncs funcs;
  gpointer user_data;
  GThreadPool *pool; /* of one thread; its tasks are Wanted */
  gchar *shown;
  double resolution;
  gint stopping; /* atomic */
};

typedef struct {
  gchar *location;
  double resolution;
} Wanted;

static void
read_map (gpointer data, gpointer user_data)
{
  Wanted *wanted = data;
  SceneMap *map = user_data;
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  NdtMapPoints *points = NULL;
  g_autoptr (GError) error = NULL;

  params.resolution = wanted->resolution;
  params.n_levels = 1;
  if (!g_atomic_int_get (&map->stopping))
    points = ndt_map_points_read (wanted->location, map->max_points,
        wanted->resolution > 0 ? &params : NULL, &map->stopping, &error);
  if (points)
    map->funcs.loaded (points, map->user_data);
  else if (!g_atomic_int_get (&map->stopping))
    map->funcs.failed (error->message, map->user_data);
  g_free (wanted->location);
  g_free (wanted);
}

SceneMap *
scene_map_new (guint max_points, const SceneMapFuncs *funcs, gpointer user_data)
{
  SceneMap *map = g_new0 (SceneMap, 1);

  map->max_points = max_points;
  map->funcs = *funcs;
  map->user_data = user_data;
  map->pool = g_thread_pool_new (read_map, map, 1, FALSE, NULL);
  return map;
}

void
scene_map_free (SceneMap *map)
{
  if (!map)
    return;
  g_atomic_int_set (&map->stopping, TRUE);
  /* Tasks that wait run, see that it stops, and free what they have. */
  g_thread_pool_free (map->pool, FALSE, TRUE);
  g_free (map->shown);
  g_free (map);
}

gboolean
scene_map_show (SceneMap *map, const gchar *location, double resolution)
{
  Wanted *wanted;

  if (g_strcmp0 (map->shown, location) == 0 && map->resolution == resolution)
    return FALSE;
  g_free (map->shown);
  map->shown = g_strdup (location);
  map->resolution = resolution;
  wanted = g_new (Wanted, 1);
  wanted->location = g_strdup (location);
  wanted->resolution = resolution;
  g_thread_pool_push (map->pool, wanted, NULL);
  return TRUE;
}
