/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

#define GST_TYPE_POSE_INJECT (gst_pose_inject_get_type ())
G_DECLARE_FINAL_TYPE (GstPoseInject, gst_pose_inject, GST, POSE_INJECT, GstPointCloudFilter)

GST_ELEMENT_REGISTER_DECLARE (poseinject)

G_END_DECLS
