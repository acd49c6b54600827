/* SPDX-License-Identifier: MIT */
#include "ndt-cloud-file.h"

#include <string.h>
#include <unistd.h>

#include "ndt-las.h"
#include "ndt-map-image.h"
#include "ndt-pcd.h"
#include "ndt-ply.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-text.h"

typedef enum { FORMAT_PCD, FORMAT_PLY, FORMAT_LAS } Format;

struct _NdtCloudFile {
  Format format;
  NdtPcdFile *pcd; /* it has the mapping of the file */
  gchar *path;     /* for messages; this and the members below are of the other formats */
  GMappedFile *mapping;
  union {
    NdtPlyHeader ply;
    NdtLasHeader las;
  } header;
  gboolean has_points;
  NdtCloudPoints points; /* of a PCD the intensities alone */
};

static gboolean
open_mapping (NdtCloudFile *file, const gchar *path, GError **error)
{
  g_autoptr (GError) cause = NULL;
  const int fd = ndt_file_open (path, error);
  if (fd < 0)
    return FALSE;
  file->mapping = g_mapped_file_new_from_fd (fd, FALSE, &cause);
  close (fd);
  if (!file->mapping)
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s: %s", file->path, cause->message);
  return file->mapping != NULL;
}

NdtCloudFile *
ndt_cloud_file_open (const gchar *path, GError **error)
{
  g_autoptr (GError) cause = NULL;
  g_autoptr (NdtCloudFile) file = g_new0 (NdtCloudFile, 1);
  file->path = g_filename_display_name (path);
  if (!open_mapping (file, path, error))
    return NULL;
  const guint8 *data = (const guint8 *)g_mapped_file_get_contents (file->mapping);
  const gsize size = g_mapped_file_get_length (file->mapping);

  if (size > 0 && ndt_ply_is_ply (data, size)) {
    file->format = FORMAT_PLY;
    ndt_ply_parse_header (data, size, &file->header.ply, &cause);
  } else if (size > 0 && ndt_las_is_las (data, size)) {
    file->format = FORMAT_LAS;
    ndt_las_parse_header (data, size, &file->header.las, &cause);
  } else if (ndt_map_image_has_magic (data, size)) {
    ndt_text_fail (
        &cause, "is a finished map, whose points are gone: take the files that it was made of");
  } else if (size >= 8 && memcmp (data, "ASTM-E57", 8) == 0) {
    ndt_text_fail (
        &cause, "is an E57 file, which is not read: make a LAS file of it by " NDT_CLOUD_CONVERTER);
  } else {
    const NdtPcdField *xyz[3];
    g_clear_pointer (&file->mapping, g_mapped_file_unref);
    file->pcd = ndt_pcd_file_open (path, error);
    if (!file->pcd)
      return NULL;
    if (ndt_pcd_header_find_xyz (ndt_pcd_file_get_header (file->pcd), xyz, &cause))
      return g_steal_pointer (&file);
  }
  if (cause) {
    g_propagate_prefixed_error (error, g_steal_pointer (&cause), "%s ", file->path);
    return NULL;
  }
  return g_steal_pointer (&file);
}

void
ndt_cloud_file_free (NdtCloudFile *file)
{
  if (!file)
    return;
  ndt_cloud_points_clear (&file->points);
  g_clear_pointer (&file->pcd, ndt_pcd_file_free);
  g_clear_pointer (&file->mapping, g_mapped_file_unref);
  g_free (file->path);
  g_free (file);
}

const gchar *
ndt_cloud_file_get_format (const NdtCloudFile *file)
{
  static const gchar *const names[] = {"PCD", "PLY", "LAS"};
  return names[file->format];
}

NdtScalar
ndt_cloud_file_get_scalar (const NdtCloudFile *file)
{
  const NdtPcdField *xyz[3];
  switch (file->format) {
  case FORMAT_PLY:
    return file->header.ply.scalar;
  case FORMAT_LAS:
    return NDT_SCALAR_F64;
  case FORMAT_PCD:
    break;
  }
  return ndt_pcd_header_find_xyz (ndt_pcd_file_get_header (file->pcd), xyz, NULL) &&
                 xyz[0]->size == sizeof (double)
             ? NDT_SCALAR_F64
             : NDT_SCALAR_F32;
}

guint64
ndt_cloud_file_get_n_points (const NdtCloudFile *file)
{
  switch (file->format) {
  case FORMAT_PLY:
    return file->header.ply.elements[file->header.ply.vertex].n;
  case FORMAT_LAS:
    return file->header.las.n_points;
  case FORMAT_PCD:
    break;
  }
  return ndt_pcd_header_get_n_points (ndt_pcd_file_get_header (file->pcd));
}

gboolean
ndt_cloud_file_get_points (NdtCloudFile *file, NdtCloudView *view, GError **error)
{
  if (file->format == FORMAT_PCD)
    return ndt_pcd_file_get_points (file->pcd, view, error);
  if (!file->has_points) {
    const guint8 *data = (const guint8 *)g_mapped_file_get_contents (file->mapping);
    const gsize size = g_mapped_file_get_length (file->mapping);
    if (!(file->format == FORMAT_PLY
                ? ndt_ply_read (&file->header.ply, data, size, &file->points, error)
                : ndt_las_read (&file->header.las, data, size, &file->points, error))) {
      g_prefix_error (error, "%s ", file->path);
      return FALSE;
    }
    file->has_points = TRUE;
    if (file->points.owned)
      g_clear_pointer (&file->mapping, g_mapped_file_unref);
  }
  *view = file->points.view;
  return TRUE;
}

const float *
ndt_cloud_file_get_intensities (NdtCloudFile *file)
{
  if (file->format == FORMAT_PCD && !file->points.intensities)
    file->points.intensities = ndt_pcd_file_dup_intensities (file->pcd);
  return file->points.intensities;
}
