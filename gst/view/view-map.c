/* SPDX-License-Identifier: MIT */
#include "view-map.h"

#include <math.h>
#include <string.h>

#include "ndtcore/io/ndt-map-file.h"
#include "ndtcore/io/ndt-cloud-file.h"

struct _ViewMap {
  guint max_points;
  ViewMapFuncs funcs;
  gpointer user_data;
  GThreadPool *pool; /* of one thread; locations are its tasks */
  gchar *shown;
  gint stopping; /* atomic */
};

/* Points that go on being thinned: cubes of @leaf, one point each, the first that came. The leaf
 * doubles whenever there are too many. */
typedef struct {
  double leaf;
  double origin[3];
  guint max_points;
  GArray *xyz; /* of double[3] */
  GHashTable *cells;
} Thinned;

static gint64 *
cell_of (const Thinned *thinned, const double p[3])
{
  gint64 index[3];

  /* 21 bits an axis: at a leaf of 0.1 m 200 km; beyond, cells share a number, and a point is left
   * out of a picture. */
  for (guint axis = 0; axis < 3; axis++)
    index[axis] = (gint64)floor ((p[axis] - thinned->origin[axis]) / thinned->leaf) & 0x1fffff;
  gint64 *cell = g_new (gint64, 1);
  *cell = index[0] << 42 | index[1] << 21 | index[2];
  return cell;
}

static void
coarsen (Thinned *thinned)
{
  guint n = 0;

  thinned->leaf *= 2;
  g_hash_table_remove_all (thinned->cells);
  for (guint i = 0; i < thinned->xyz->len / 3; i++) {
    const double *p = &g_array_index (thinned->xyz, double, 3 * i);
    if (!g_hash_table_add (thinned->cells, cell_of (thinned, p)))
      continue;
    memmove (&g_array_index (thinned->xyz, double, 3 * n), p, 3 * sizeof *p);
    n++;
  }
  g_array_set_size (thinned->xyz, 3 * n);
}

static void
add_point (Thinned *thinned, const double p[3])
{
  if (thinned->xyz->len == 0)
    memcpy (thinned->origin, p, sizeof thinned->origin);
  if (!g_hash_table_add (thinned->cells, cell_of (thinned, p)))
    return;
  g_array_append_vals (thinned->xyz, p, 3);
  while (thinned->xyz->len / 3 > thinned->max_points)
    coarsen (thinned);
}

static gboolean
add_file (ViewMap *map, Thinned *thinned, const gchar *path, GError **error)
{
  NdtCloudView points;
  g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (path, error);

  if (!file || !ndt_cloud_file_get_points (file, &points, error))
    return FALSE;
  for (gsize i = 0; i < points.n_points && !g_atomic_int_get (&map->stopping); i++) {
    double p[3];

    ndt_cloud_view_get (&points, i, p);
    if (isfinite (p[0]) && isfinite (p[1]) && isfinite (p[2]))
      add_point (thinned, p);
  }
  return TRUE;
}

/* In an order that shows all of it coarsely first. */
static void
shuffle (GArray *xyz)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  for (guint i = xyz->len / 3; i > 1; i--) {
    double *a = &g_array_index (xyz, double, 3 * (i - 1));
    double *b = &g_array_index (xyz, double, 3 * (guint)g_rand_int_range (rand, 0, (gint32)i));
    double keep[3];

    memcpy (keep, a, sizeof keep);
    memmove (a, b, sizeof keep);
    memcpy (b, keep, sizeof keep);
  }
}

static void
read_map (gpointer data, gpointer user_data)
{
  g_autofree gchar *location = data;
  ViewMap *map = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) files = NULL;
  Thinned thinned = {.leaf = 0.1, .max_points = map->max_points};

  if (g_atomic_int_get (&map->stopping))
    return;
  files = ndt_map_list_files (location, &error);
  thinned.xyz = g_array_new (FALSE, FALSE, sizeof (double));
  thinned.cells = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (guint i = 0; files && !error && i < files->len; i++)
    add_file (map, &thinned, g_ptr_array_index (files, i), &error);
  g_hash_table_unref (thinned.cells);
  if (error) {
    map->funcs.failed (error->message, map->user_data);
  } else if (!g_atomic_int_get (&map->stopping)) {
    shuffle (thinned.xyz);
    map->funcs.loaded (
        (const double *)(gpointer)thinned.xyz->data, thinned.xyz->len / 3, map->user_data);
  }
  g_array_unref (thinned.xyz);
}

ViewMap *
view_map_new (guint max_points, const ViewMapFuncs *funcs, gpointer user_data)
{
  ViewMap *map = g_new0 (ViewMap, 1);

  map->max_points = max_points;
  map->funcs = *funcs;
  map->user_data = user_data;
  map->pool = g_thread_pool_new (read_map, map, 1, FALSE, NULL);
  return map;
}

void
view_map_free (ViewMap *map)
{
  if (!map)
    return;
  g_atomic_int_set (&map->stopping, TRUE);
  /* Tasks that wait run, see that it stops, and free what they have. */
  g_thread_pool_free (map->pool, FALSE, TRUE);
  g_free (map->shown);
  g_free (map);
}

void
view_map_show (ViewMap *map, const gchar *location)
{
  if (g_strcmp0 (map->shown, location) == 0)
    return;
  g_free (map->shown);
  map->shown = g_strdup (location);
  g_thread_pool_push (map->pool, g_strdup (location), NULL);
}
