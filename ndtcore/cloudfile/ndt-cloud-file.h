/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/scan/ndt-cloud.h"

G_BEGIN_DECLS

/**
 * NdtCloudFile:
 *
 * A file of points opened for reading: PCD, PLY or LAS, recognized by its first bytes and not by
 * its name. The file is mapped, and not copied where a view can refer to its points, so that it
 * must not shrink while it is open.
 */
typedef struct _NdtCloudFile NdtCloudFile;

/* Reads the header. NULL with NDT_ERROR_IO, or with NDT_ERROR_FORMAT where it is none of these
 * formats, or has no coordinates; the message begins with the path. */
NdtCloudFile *ndt_cloud_file_open (const gchar *path, GError **error);
void ndt_cloud_file_free (NdtCloudFile *file);
/* "PCD", "PLY" or "LAS". */
const gchar *ndt_cloud_file_get_format (const NdtCloudFile *file);
/* Type of the coordinates of ndt_cloud_file_get_points(): F64 for LAS, and for other files with
 * doubles or 32-bit integers. */
NdtScalar ndt_cloud_file_get_scalar (const NdtCloudFile *file);
/* Number of points by the header. */
guint64 ndt_cloud_file_get_n_points (const NdtCloudFile *file);
/* x, y, z of all points, in memory that the file owns. NDT_ERROR_FORMAT where the data are cut or
 * wrong (the message begins with the path), NDT_ERROR_NO_MEMORY. */
gboolean ndt_cloud_file_get_points (NdtCloudFile *file, NdtCloudView *view, GError **error);
/* (nullable): the intensity of each point in the file's unit, NULL where it has none. To be called
 * after ndt_cloud_file_get_points(); owned by @file. */
const float *ndt_cloud_file_get_intensities (NdtCloudFile *file);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtCloudFile, ndt_cloud_file_free)

G_END_DECLS
