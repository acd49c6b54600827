/* SPDX-License-Identifier: MIT */
/* The element pointcloudfilter. GstPointCloudFilter is the base class. */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

#define GST_TYPE_CLOUD_FILTER (gst_cloud_filter_get_type ())
G_DECLARE_FINAL_TYPE (GstCloudFilter, gst_cloud_filter, GST, CLOUD_FILTER, GstPointCloudFilter)
GST_ELEMENT_REGISTER_DECLARE (pointcloudfilter);

G_END_DECLS
