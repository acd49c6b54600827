/* SPDX-License-Identifier: MIT */
#include "ndt-map-points.h"

#include <math.h>
#include <string.h>

#include "ndtcore/cloudfile/ndt-cloud-file.h"
#include "ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-map-image.h"
#include "ndtcore/base/ndt-error.h"

/* Incremental thinning: the first point of each cube of edge @leaf, which doubles whenever there
 * are too many points. */
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
add_file (Thinned *thinned, NdtVoxelMapBuilder *builder, guint region, const gchar *path,
    const gint *stop, GError **error)
{
  NdtCloudView points;
  g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (path, error);

  if (!file || !ndt_cloud_file_get_points (file, &points, error))
    return FALSE;
  for (gsize i = 0; i < points.n_points && !(stop && g_atomic_int_get (stop)); i++) {
    double p[3];

    ndt_cloud_view_get (&points, i, p);
    if (isfinite (p[0]) && isfinite (p[1]) && isfinite (p[2]))
      add_point (thinned, p);
  }
  return !builder || (stop && g_atomic_int_get (stop)) ||
         ndt_voxel_map_builder_add (builder, region, &points, NULL, error);
}

/* The points of a finished map are the means of its voxels. */
static gboolean
add_image (Thinned *thinned, const gchar *location, NdtVoxelMap **voxels, GError **error)
{
  gsize n;
  g_autoptr (NdtMapImage) image = ndt_map_image_open (location, error);
  g_autofree double *means = image ? ndt_map_image_dup_means (image, &n, error) : NULL;

  if (!means)
    return FALSE;
  for (gsize i = 0; i < n; i++)
    add_point (thinned, means + 3 * i);
  if (voxels)
    *voxels = ndt_map_image_get_map (image, NULL);
  return TRUE;
}

/* Sorts so that each prefix covers the whole map. */
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

static gboolean
read_files (Thinned *thinned, NdtVoxelMapBuilder *builder, const gchar *location, const gint *stop,
    GError **error)
{
  g_autoptr (GPtrArray) files = ndt_map_list_files (location, error);

  if (!files)
    return FALSE;
  for (guint i = 0; i < files->len; i++) {
    if (!add_file (thinned, builder, i, g_ptr_array_index (files, i), stop, error))
      return FALSE;
    if (stop && g_atomic_int_get (stop)) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_CANCELLED, "%s: reading was stopped", location);
      return FALSE;
    }
  }
  return TRUE;
}

/* A map that has no voxel can be looked at. */
static gboolean
build_voxels (NdtMapPoints *points, NdtVoxelMapBuilder *builder, GError **error)
{
  g_autoptr (GError) cause = NULL;

  points->voxels = ndt_voxel_map_builder_build (builder, &cause);
  if (points->voxels || g_error_matches (cause, NDT_ERROR, NDT_ERROR_EMPTY_MAP))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&cause));
  return FALSE;
}

NdtMapPoints *
ndt_map_points_read (const gchar *location, guint max_points, const NdtVoxelMapParams *params,
    const gint *stop, GError **error)
{
  Thinned thinned = {.leaf = 0.1, .max_points = MAX (max_points, 1)};
  g_autoptr (NdtVoxelMapBuilder) builder = NULL;
  g_autoptr (NdtMapPoints) points = g_new0 (NdtMapPoints, 1);

  if (params && !(builder = ndt_voxel_map_builder_new (params, error)))
    return NULL;
  thinned.xyz = g_array_new (FALSE, FALSE, sizeof (double));
  thinned.cells = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  const gboolean is_image = ndt_map_image_is_image (location);
  const gboolean ok = is_image
                          ? add_image (&thinned, location, params ? &points->voxels : NULL, error)
                          : read_files (&thinned, builder, location, stop, error);
  g_hash_table_unref (thinned.cells);
  if (ok)
    shuffle (thinned.xyz);
  points->n = thinned.xyz->len / 3;
  points->xyz = (double *)(gpointer)g_array_free (thinned.xyz, FALSE);
  if (!ok || (builder && !is_image && !build_voxels (points, builder, error)))
    return NULL;
  return g_steal_pointer (&points);
}

void
ndt_map_points_free (NdtMapPoints *points)
{
  if (!points)
    return;
  g_free (points->xyz);
  g_clear_pointer (&points->voxels, ndt_voxel_map_unref);
  g_free (points);
}
