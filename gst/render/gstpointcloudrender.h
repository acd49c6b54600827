/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_POINT_CLOUD_RENDER (gst_point_cloud_render_get_type ())
G_DECLARE_FINAL_TYPE (
    GstPointCloudRender, gst_point_cloud_render, GST, POINT_CLOUD_RENDER, GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE (pointcloudrender)

G_END_DECLS
