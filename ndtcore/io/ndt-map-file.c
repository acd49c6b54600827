/* SPDX-License-Identifier: MIT */
#include "ndt-map-file.h"

#include <string.h>

#include "ndt-cloud-file.h"
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

/* Opened and closed here, so that one file's points are in memory at a time. */
gboolean
ndt_map_add_file (NdtVoxelMapBuilder *builder, guint64 region, const gchar *path, GError **error)
{
  NdtCloudView points;
  g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (path, error);
  if (!file || !ndt_cloud_file_get_points (file, &points, error))
    return FALSE;
  if (ndt_voxel_map_builder_add (builder, region, &points, NULL, error))
    return TRUE;
  g_prefix_error (error, "%s: ", path);
  return FALSE;
}

NdtVoxelMap *
ndt_map_load (const gchar *path, const NdtVoxelMapParams *params, GError **error)
{
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (params, error);
  if (!builder)
    return NULL;
  g_autoptr (GPtrArray) files = ndt_map_list_files (path, error);
  if (!files)
    return NULL;
  for (guint i = 0; i < files->len; i++)
    if (!ndt_map_add_file (builder, i, g_ptr_array_index (files, i), error))
      return NULL;
  NdtVoxelMap *map = ndt_voxel_map_builder_build (builder, error);
  if (!map)
    g_prefix_error (error, "%s: ", path);
  return map;
}
