/* SPDX-License-Identifier: MIT */
/* A mapped scan as ndtcore reads it. */
#pragma once

#include "gst/pointcloud/pointcloud.h"
#include "ndtcore/motion/ndt-deskew.h"

G_BEGIN_DECLS

NdtCloudView gst_ndt_view_points (const GstPointCloudMap *map);
/* When each point was measured, from the scan's PTS on; without data where that is not known. */
NdtTimeView gst_ndt_view_times (const GstPointCloudMap *map);
/* The field that says it: "time" in seconds, or "t" in nanoseconds. NULL: none. */
const GstPointField *gst_ndt_find_times (const GstPointCloudInfo *info, NdtTimeType *type);

G_END_DECLS
