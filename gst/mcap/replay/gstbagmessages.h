/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "gst/mcap/ros/bag-kinds.h"

G_BEGIN_DECLS

/* What becomes of a message of a recording: clouds and poses of ROS 2 as buffers. */

/* Of poses: what the channel says, or its type, or @role. */
GstPoseRole bag_channel_get_role (const BagChannel *channel, GstPoseRole role);

/* Caps of a stream of messages as they stand, and of poses. */
GstCaps *bag_channel_get_message_caps (const BagChannel *channel);
GstCaps *bag_channel_get_pose_caps (const BagChannel *channel);

/* A cloud: @caps (with what the channel's metadata say of the stream) and the points, rows without
 * padding, with no time stamps yet. NULL and ROS_MESSAGE_ERROR where it cannot be had. */
GstBuffer *bag_message_to_cloud (const BagMessage *message, GstCaps **caps, GError **error);

/* Adds a meta for each of the message's poses to @buffer. */
gboolean bag_message_add_poses (
    const BagMessage *message, BagKind kind, GstPoseRole role, GstBuffer *buffer, GError **error);

/* Adds to @buffer, or completes there, the pose that was attached to a cloud: of it a
 * PoseWithCovarianceStamped, a transform and diagnostics were written, which come in any order.
 * @diagnosed has a bit for each role whose diagnostics, which know best, have come; 0 at first. */
gboolean bag_message_complete_pose (
    const BagMessage *message, BagKind kind, GstBuffer *buffer, guint *diagnosed, GError **error);

G_END_DECLS
