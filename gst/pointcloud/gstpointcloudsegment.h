/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud-prelude.h>

G_BEGIN_DECLS

GST_POINT_CLOUD_API gboolean gst_point_cloud_require_time_segment (
    GstElement *element, GstEvent *segment);

G_END_DECLS
