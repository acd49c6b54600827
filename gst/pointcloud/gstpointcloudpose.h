/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud-prelude.h>

G_BEGIN_DECLS

/**
 * GstPointCloudPose:
 * @position: x, y, z in metres
 * @orientation: unit quaternion x, y, z, w
 *
 * Where something is and how it is turned: the value of properties such as ndtlocalize's
 * "initial-pose". A pose that was measured is a #GstPoseMeta.
 *
 * Since: 0.2
 */
typedef struct {
  gdouble position[3];
  gdouble orientation[4];
} GstPointCloudPose;

#define GST_TYPE_POINT_CLOUD_POSE (gst_point_cloud_pose_get_type ())
GST_POINT_CLOUD_API GType gst_point_cloud_pose_get_type (void);

GST_POINT_CLOUD_API GstPointCloudPose *gst_point_cloud_pose_new_from_string (
    const gchar *text, GError **error);
GST_POINT_CLOUD_API GstPointCloudPose *gst_point_cloud_pose_copy (const GstPointCloudPose *pose);
GST_POINT_CLOUD_API void gst_point_cloud_pose_free (GstPointCloudPose *pose);
GST_POINT_CLOUD_API gchar *gst_point_cloud_pose_to_string (const GstPointCloudPose *pose);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstPointCloudPose, gst_point_cloud_pose_free)

G_END_DECLS
