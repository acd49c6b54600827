/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/base/gstaggregator.h>

G_BEGIN_DECLS

#define GST_TYPE_POINT_CLOUD_MERGE (gst_point_cloud_merge_get_type ())
G_DECLARE_FINAL_TYPE (
    GstPointCloudMerge, gst_point_cloud_merge, GST, POINT_CLOUD_MERGE, GstAggregator)
GST_ELEMENT_REGISTER_DECLARE (pointcloudmerge);

G_END_DECLS
