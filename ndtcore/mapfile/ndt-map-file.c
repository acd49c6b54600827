/* SPDX-License-Identifier: MIT */
#include "ndt-map-file.h"

#include <string.h>

#include "ndtcore/cloudfile/ndt-cloud-file.h"
#include "ndtcore/cloudfile/ndt-map-image.h"
#include "ndtcore/base/ndt-file.h"

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return ndt_file_compare_names (*(const gchar *const *)a, *(const gchar *const *)b);
}

GPtrArray *
ndt_map_list_files (const gchar *given, GError **error)
{
  g_autofree gchar *path = ndt_file_resolve (given, error);
  if (!path)
    return NULL;
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  if (!g_file_test (path, G_FILE_TEST_IS_DIR)) {
    g_ptr_array_add (files, g_strdup (path));
    return g_steal_pointer (&files);
  }

  g_autoptr (GError) cause = NULL;
  g_autoptr (GDir) folder = g_dir_open (path, 0, &cause);
  const gchar *name;
  if (!folder) {
    g_autofree gchar *shown = g_filename_display_name (path);
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "cannot open %s: %s", shown, cause->message);
    return NULL;
  }
  while ((name = g_dir_read_name (folder)))
    if (ndt_file_is_points (name))
      g_ptr_array_add (files, g_build_filename (path, name, NULL));
  if (files->len == 0) {
    g_autofree gchar *shown = g_filename_display_name (path);
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT, "%s has no PCD, PLY or LAS files", shown);
    return NULL;
  }
  g_ptr_array_sort (files, compare_names);
  return g_steal_pointer (&files);
}

/* Points between two calls of the watch. */
#define POINTS_AT_ONCE ((gsize)1 << 16)

/* Progress of reading several files. */
typedef struct {
  const NdtMapWatch *watch; /* nullable */
  guint index;
  guint n_files;
} Progress;

static gboolean
step (const Progress *progress, double fraction, GError **error)
{
  if (!progress->watch || progress->watch->step ((progress->index + fraction) / progress->n_files,
                              progress->watch->user_data))
    return TRUE;
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "reading was cancelled");
  return FALSE;
}

/* Each file is opened and closed here, so that the points of one file at a time are in memory. */
static gboolean
add_file (NdtVoxelMapBuilder *builder, guint64 region, const gchar *path, const Progress *progress,
    GError **error)
{
  NdtCloudView points;
  g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (path, error);
  if (!file || !ndt_cloud_file_get_points (file, &points, error))
    return FALSE;
  gsize first = 0;
  do {
    const gsize n = MIN (POINTS_AT_ONCE, points.n_points - first);
    const NdtCloudView part = ndt_cloud_view_part (&points, first, n);
    if (!step (progress, (double)first / (double)MAX (points.n_points, 1), error))
      return FALSE;
    if (!ndt_voxel_map_builder_add (builder, region, &part, NULL, error)) {
      g_autofree gchar *shown = g_filename_display_name (path);
      g_prefix_error (error, "%s: ", shown);
      return FALSE;
    }
    first += n;
  } while (first < points.n_points);
  return TRUE;
}

gboolean
ndt_map_add_file (NdtVoxelMapBuilder *builder, guint64 region, const gchar *path, GError **error)
{
  const Progress none = {NULL, 0, 1};
  return add_file (builder, region, path, &none, error);
}

static NdtVoxelMap *
load_image (const gchar *path, const NdtVoxelMapParams *params, GError **error)
{
  g_autoptr (NdtMapImage) image = ndt_map_image_open (path, error);
  if (!image || !ndt_map_image_check_params (image, params, error))
    return NULL;
  return ndt_map_image_get_map (image, error);
}

NdtVoxelMap *
ndt_map_load_watched (
    const gchar *path, const NdtVoxelMapParams *params, const NdtMapWatch *watch, GError **error)
{
  if (ndt_map_image_is_image (path))
    return load_image (path, params, error);
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (params, error);
  if (!builder)
    return NULL;
  g_autoptr (GPtrArray) files = ndt_map_list_files (path, error);
  if (!files)
    return NULL;
  for (guint i = 0; i < files->len; i++) {
    const Progress progress = {watch, i, files->len};
    if (!add_file (builder, i, g_ptr_array_index (files, i), &progress, error))
      return NULL;
  }
  const Progress all = {watch, files->len, files->len};
  if (!step (&all, 0, error))
    return NULL;
  NdtVoxelMap *map = ndt_voxel_map_builder_build (builder, error);
  if (!map) {
    g_autofree gchar *shown = g_filename_display_name (path);
    g_prefix_error (error, "%s: ", shown);
  }
  return map;
}

NdtVoxelMap *
ndt_map_load (const gchar *path, const NdtVoxelMapParams *params, GError **error)
{
  return ndt_map_load_watched (path, params, NULL, error);
}
