/* SPDX-License-Identifier: MIT */
/* A mapped scan as ndtcore reads it. */
#pragma once

#include "gst/pointcloud/pointcloud.h"
#include "ndtcore/motion/ndt-deskew.h"

G_BEGIN_DECLS

NdtCloudView gst_ndt_view_points (const GstPointCloudMap *map);

G_END_DECLS
