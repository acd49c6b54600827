/* SPDX-License-Identifier: MIT */
/* Clouds as PCD files in memory. */
#pragma once

#include "gst/pointcloud/pointcloud.h"
#include "ndtcore/cloudfile/ndt-pcd.h"

G_BEGIN_DECLS

/* A PCD file (version 0.7) of all fields, without what lies between them. Text has as many digits
 * as it takes to read the same numbers.
 * Returns: (transfer full): the file; NULL with GST_RESOURCE_ERROR_NO_SPACE_LEFT where there is not
 * the memory, or where compressed data would not fit PCD's limit of 4 GiB */
GBytes *gst_pcd_write (const GstPointCloudMap *map, NdtPcdEncoding encoding, GError **error);

G_END_DECLS
