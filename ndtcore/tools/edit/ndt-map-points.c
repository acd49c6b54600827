/* SPDX-License-Identifier: MIT */
#include "ndt-map-points.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/base/ndt-file.h"
#include "ndtcore/cloudfile/ndt-cloud-file.h"
#include "ndtcore/cloudfile/ndt-map-image.h"
#include "ndtcore/cloudfile/ndt-pcd.h"

/* Coordinates that GArray's size still holds. */
#define MAX_POINTS (G_MAXUINT32 / 64)

void
ndt_map_points_clear (NdtMapPoints *points)
{
  g_clear_pointer (&points->xyz, g_array_unref);
  g_clear_pointer (&points->intensities, g_array_unref);
}

guint
ndt_map_points_get_n (const NdtMapPoints *points)
{
  return points->xyz->len / 3;
}

const double *
ndt_map_points_get_xyz (const NdtMapPoints *points)
{
  return (const double *)(gpointer)points->xyz->data;
}

static gboolean
read_file (NdtMapPoints *points, const gchar *path, GError **error)
{
  NdtCloudView view;
  g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (path, error);
  if (!file || !ndt_cloud_file_get_points (file, &view, error))
    return FALSE;
  const float *intensities = ndt_cloud_file_get_intensities (file);
  if (!intensities)
    g_clear_pointer (&points->intensities, g_array_unref);
  points->is_wide = points->is_wide || view.scalar == NDT_SCALAR_F64;
  for (gsize i = 0; i < view.n_points; i++) {
    double p[3];
    ndt_cloud_view_get (&view, i, p);
    if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
      continue;
    if (points->xyz->len / 3 >= MAX_POINTS) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "more than %u points are too many: give parts of the map one by one (import: with the "
          "same --origin)",
          MAX_POINTS);
      return FALSE;
    }
    g_array_append_vals (points->xyz, p, 3);
    if (points->intensities)
      g_array_append_val (points->intensities, intensities[i]);
  }
  return TRUE;
}

gboolean
ndt_map_points_read (NdtMapPoints *points, gchar **inputs, guint *n_files, GError **error)
{
  NdtMapProgress progress;
  gboolean ok = TRUE;
  memset (points, 0, sizeof (*points));
  g_autoptr (GPtrArray) files = ndt_map_list_inputs (inputs, NULL, error);
  if (!files || !ndt_georeference_find (inputs[0], &points->georeference, error))
    return FALSE;
  points->xyz = g_array_new (FALSE, FALSE, sizeof (double));
  points->intensities = g_array_new (FALSE, FALSE, sizeof (float));
  ndt_map_progress_start (&progress, "files", files->len);
  for (guint i = 0; ok && i < files->len; i++) {
    ok = read_file (points, g_ptr_array_index (files, i), error);
    ndt_map_progress_step (&progress, i + 1, points->xyz->len / 3);
  }
  ndt_map_progress_end (&progress);
  if (ok && points->xyz->len == 0) {
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_EMPTY_MAP, "there are no points; nothing is written");
    ok = FALSE;
  }
  if (n_files)
    *n_files = files->len;
  if (!ok)
    ndt_map_points_clear (points);
  return ok;
}

void
ndt_map_points_keep (NdtMapPoints *points, const guint8 *keep)
{
  const guint n = ndt_map_points_get_n (points);
  double *xyz = (double *)(gpointer)points->xyz->data;
  guint kept = 0;
  for (guint i = 0; i < n; i++) {
    if (!keep[i])
      continue;
    memmove (xyz + 3 * (gsize)kept, xyz + 3 * (gsize)i, 3 * sizeof (double));
    if (points->intensities)
      g_array_index (points->intensities, float, kept) =
          g_array_index (points->intensities, float, i);
    kept++;
  }
  g_array_set_size (points->xyz, 3 * kept);
  if (points->intensities)
    g_array_set_size (points->intensities, kept);
}

/* ---- Writing ---- */

static gboolean
write_points (const NdtMapPoints *points, const gchar *output, const NdtVoxelMapParams *params,
    GError **error)
{
  const float *intensities =
      points->intensities ? (const float *)(gpointer)points->intensities->data : NULL;
  const gsize n = ndt_map_points_get_n (points);
  const double *xyz = ndt_map_points_get_xyz (points);
  g_autofree float *narrow = points->is_wide ? NULL : g_try_new (float, 3 * n + 1);
  NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, n);
  if (!points->is_wide) {
    if (!narrow) {
      g_set_error (
          error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "no memory for %" G_GSIZE_FORMAT " points", n);
      return FALSE;
    }
    for (gsize i = 0; i < 3 * n; i++)
      narrow[i] = (float)xyz[i];
    view = ndt_cloud_view_xyz_f32 (narrow, n);
  }
  if (!ndt_map_is_image_name (output))
    return ndt_pcd_write_intensities (output, &view, intensities, NDT_PCD_BINARY, error);
  g_autofree gchar *text = ndt_georeference_to_text (&points->georeference);
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (params, &view, error);
  return map && ndt_map_image_write (output, map, text, error);
}

static gboolean
put_text (FILE *out, gpointer user_data)
{
  return fputs (user_data, out) >= 0;
}

/* Beside the map, as Autoware places it. An .ndtmap contains it. */
static gboolean
write_georeference (const NdtMapPoints *points, const gchar *output, GError **error)
{
  if (ndt_map_is_image_name (output) || ndt_georeference_is_empty (&points->georeference))
    return TRUE;
  g_autofree gchar *folder = g_path_get_dirname (output);
  g_autofree gchar *file = g_build_filename (folder, NDT_GEOREFERENCE_NAME, NULL);
  g_autofree gchar *text = ndt_georeference_to_text (&points->georeference);
  return ndt_file_replace (file, put_text, text, error);
}

/* Refuses to overwrite the georeference of another map. */
static gboolean
check_georeference (const NdtMapPoints *points, const gchar *output, GError **error)
{
  NdtGeoreference there;
  if (ndt_map_is_image_name (output))
    return TRUE;
  if (!ndt_georeference_find (output, &there, error))
    return FALSE;
  g_autofree gchar *ours = ndt_georeference_to_text (&points->georeference);
  g_autofree gchar *theirs = ndt_georeference_to_text (&there);
  if (ndt_georeference_is_empty (&there) || g_str_equal (ours, theirs))
    return TRUE;
  g_autofree gchar *shown = ndt_georeference_describe (&there);
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
      "the folder of the output has a " NDT_GEOREFERENCE_NAME
      " of another map (%s): write into another folder, or (import) give its --origin",
      shown);
  return FALSE;
}

/* Folders that are not there are made, so that a map can have one of its own. */
static gboolean
make_folder (const gchar *path, GError **error)
{
  g_autofree gchar *folder = g_path_get_dirname (path);
  if (g_mkdir_with_parents (folder, 0777) == 0)
    return TRUE;
  g_autofree gchar *shown = g_filename_display_name (folder);
  g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "cannot make %s: %s", shown, g_strerror (errno));
  return FALSE;
}

gboolean
ndt_map_points_write (const NdtMapPoints *points, const gchar *output,
    const NdtVoxelMapParams *params, GError **error)
{
  g_autofree gchar *path = ndt_file_resolve (output, error);
  return path && check_georeference (points, path, error) && make_folder (path, error) &&
         write_points (points, path, params, error) && write_georeference (points, path, error);
}
