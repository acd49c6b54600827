/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_POINT_CLOUD_CONVERT (gst_point_cloud_convert_get_type ())
G_DECLARE_FINAL_TYPE (
    GstPointCloudConvert, gst_point_cloud_convert, GST, POINT_CLOUD_CONVERT, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE (pointcloudconvert);

G_END_DECLS
