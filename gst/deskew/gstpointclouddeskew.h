/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

#define GST_TYPE_POINT_CLOUD_DESKEW (gst_point_cloud_deskew_get_type ())
G_DECLARE_FINAL_TYPE (
    GstPointCloudDeskew, gst_point_cloud_deskew, GST, POINT_CLOUD_DESKEW, GstPointCloudFilter)

GST_ELEMENT_REGISTER_DECLARE (pointclouddeskew)

G_END_DECLS
