/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

#define GST_TYPE_POINT_CLOUD_VIEW (gst_point_cloud_view_get_type ())
G_DECLARE_FINAL_TYPE (
    GstPointCloudView, gst_point_cloud_view, GST, POINT_CLOUD_VIEW, GstPointCloudSink)
GST_ELEMENT_REGISTER_DECLARE (pointcloudview);

G_END_DECLS
