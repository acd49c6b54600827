/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/scan/ndt-cloud.h"

G_BEGIN_DECLS

/**
 * NdtCloudFile:
 *
 * A file of points opened for reading: PCD, PLY or LAS, which is found out by its first bytes
 * whatever its name. It is mapped, and not copied where its points lie as a view can have them (so
 * it must not shrink meanwhile).
 */
typedef struct _NdtCloudFile NdtCloudFile;

/* Reads the header. NULL with NDT_ERROR_IO, or with NDT_ERROR_FORMAT where it is none of these
 * formats, or has no coordinates; the message begins with the path. */
NdtCloudFile *ndt_cloud_file_open (const gchar *path, GError **error);
void ndt_cloud_file_free (NdtCloudFile *file);
/* "PCD", "PLY" or "LAS". */
const gchar *ndt_cloud_file_get_format (const NdtCloudFile *file);
/* Of the coordinates that ndt_cloud_file_get_points() gives: LAS, and other files with doubles or
 * 32-bit integers, have F64. */
NdtScalar ndt_cloud_file_get_scalar (const NdtCloudFile *file);
/* Points that the header counts. */
guint64 ndt_cloud_file_get_n_points (const NdtCloudFile *file);
/* x, y, z of all points, in memory that the file owns. NDT_ERROR_FORMAT where the data are cut or
 * wrong (the message begins with the path), NDT_ERROR_NO_MEMORY. */
gboolean ndt_cloud_file_get_points (NdtCloudFile *file, NdtCloudView *view, GError **error);
/* (nullable): the intensity of each point, as the file has it, of a file whose points have been
 * got; NULL where it has none. */
const float *ndt_cloud_file_get_intensities (NdtCloudFile *file);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtCloudFile, ndt_cloud_file_free)

G_END_DECLS
