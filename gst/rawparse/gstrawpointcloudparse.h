/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_RAW_POINT_CLOUD_PARSE (gst_raw_point_cloud_parse_get_type ())
G_DECLARE_FINAL_TYPE (
    GstRawPointCloudParse, gst_raw_point_cloud_parse, GST, RAW_POINT_CLOUD_PARSE, GstElement)

GST_ELEMENT_REGISTER_DECLARE (rawpointcloudparse)

G_END_DECLS
