/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "gst/mcap/messages/gstbagnames.h"
#include "gst/mcap/bag/bag-kinds.h"

G_BEGIN_DECLS

/* Messages of a recording as buffers: clouds and poses of ROS 2. @names bounds how
 * many names of frames, fields and keys become quarks; NULL: no bound. */

/* Of poses: what the channel says, or its type, or @role. */
GstPoseRole bag_channel_get_role (const BagChannel *channel, GstPoseRole role);

/* Caps of a stream of messages as they stand, and of poses, which have the same fields. */
GstCaps *bag_channel_get_message_caps (const BagChannel *channel, GstBagNames *names);
GstCaps *bag_channel_get_pose_caps (const BagChannel *channel, GstBagNames *names);

/* Caps of the last cloud of a topic: those of the next one mostly are the same. All zeros at first;
 * caps are the owner's to clear. */
typedef struct {
  GstCaps *caps;
  const BagChannel *channel;
  GstPointCloudInfo info; /* of the message, without what the channel's metadata add */
  GstCaps *recorded;      /* that the channel's metadata have of the recorded stream; NULL: none */
} BagCloudCaps;

void bag_cloud_caps_clear (BagCloudCaps *self);

/* Sets @caps->caps to those of a cloud. FALSE and ROS_MESSAGE_ERROR where it cannot be had. */
gboolean bag_message_get_cloud_caps (
    const BagMessage *message, GstBagNames *names, BagCloudCaps *caps, GError **error);
/* The same, and the cloud's points, rows without padding, with no time stamps. */
GstBuffer *bag_message_to_cloud (
    const BagMessage *message, GstBagNames *names, BagCloudCaps *caps, GError **error);

/* Adds a meta for each of the message's poses to @buffer. Their instants are their headers' stamps
 * and @shift, or @time where they have none. */
gboolean bag_message_add_poses (const BagMessage *message, BagKind kind, GstPoseRole role,
    gint64 shift, GstClockTime time, GstBagNames *names, GstBuffer *buffer, GError **error);

/* Adds to @buffer, or completes there, the pose that was attached to a cloud: of it a
 * PoseWithCovarianceStamped, a transform and diagnostics were written, which come in any order.
 * @diagnosed has a bit for each role whose diagnostics were read, whose values have precedence; 0
 * at first. */
gboolean bag_message_complete_pose (const BagMessage *message, BagKind kind, GstBagNames *names,
    GstBuffer *buffer, guint *diagnosed, GError **error);

G_END_DECLS
