/* SPDX-License-Identifier: MIT */
#pragma once

/* ROS 2's messages of navigation, in CDR. */

#include <gst/pointcloud/pointcloud.h>

#include "gst/mcap/ros/ros-schemas.h"

G_BEGIN_DECLS

/* nav_msgs/Odometry. Of a pose without a covariance zeros are written. @twist: m/s and rad/s in the
 * child's frame; NULL: not known, zeros with a variance of -1 for the first. */
void ros_write_odometry (GByteArray *out, gint64 stamp, const gchar *parent_frame,
    const gchar *child_frame, const GstPoseMeta *meta, const gdouble twist[6]);

typedef struct {
  gint64 stamp;
  GstPointCloudPose pose;
} RosPathPose;

/* nav_msgs/Path. */
void ros_write_path (
    GByteArray *out, gint64 stamp, const gchar *frame, const RosPathPose *poses, guint n_poses);

/* tf2_msgs/TFMessage of one transform. */
void ros_write_transform (GByteArray *out, gint64 stamp, const gchar *parent_frame,
    const gchar *child_frame, const GstPointCloudPose *pose);

G_END_DECLS
