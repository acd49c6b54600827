/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "ndtcore/cloudfile/ndt-pcd.h"

G_BEGIN_DECLS

/* Caps' view of the points that ndt_pcd_decode() gives, without framerate. Fields that caps cannot
 * hold are left out, their bytes stay in the points; @dropped (transfer full) says which and why,
 * NULL where there are none. FALSE where no field is left. */
gboolean gst_pcd_layout_to_info (
    const NdtPcdHeader *header, GstPointCloudInfo *info, gchar **dropped);

G_END_DECLS
