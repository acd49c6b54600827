/* SPDX-License-Identifier: MIT */
#include "gstviewros.h"

#include <math.h>
#include <string.h>

#include "gst/mcap/messages/gstrosmessages.h"
#include "gst/mcap/write/gstmcapstamps.h"

#define DEFAULT_FRAME "lidar"
#define MAP_FRAME "map"
#define ODOMETRY_FRAME "odom"

void
gst_view_ros_init (GstViewRos *ros, ViewServer *server)
{
  const struct {
    guint *channel;
    const gchar *topic, *type;
    gboolean is_latched;
  } channels[] = {
      {&ros->points, "/points", ROS_TYPE_POINT_CLOUD2, FALSE},
      {&ros->map, "/map", ROS_TYPE_POINT_CLOUD2, TRUE},
      {&ros->pose, "/points/pose", ROS_TYPE_POSE, FALSE},
      {&ros->tf, "/tf", ROS_TYPE_TF, FALSE},
      {&ros->diagnostics, "/diagnostics", ROS_TYPE_DIAGNOSTICS, FALSE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (channels); i++)
    *channels[i].channel = view_server_add_channel (server, channels[i].topic, channels[i].type,
        ros_schema (channels[i].type), channels[i].is_latched);
}

static void
publish (ViewServer *server, guint channel, gint64 stamp, const GByteArray *message)
{
  view_server_publish (server, channel, (guint64)MAX (stamp, 0), message->data, message->len);
}

static void
publish_points (const GstViewRos *ros, ViewServer *server, gint64 stamp, const gchar *frame,
    const ScenePoints *points)
{
  g_autoptr (GByteArray) message = g_byte_array_new ();
  const guint8 is_dense = 1;
  GstPointCloudInfo info;

  gst_point_cloud_info_init (&info);
  gst_point_cloud_info_set_format (&info, GST_POINT_CLOUD_FORMAT_XYZI_F32LE);
  ros_write_point_cloud2_head (message, stamp, frame, &info, points->n);
  for (guint i = 0; i < points->n; i++) {
    const float intensity = points->intensity ? points->intensity[i] : 0;
    g_byte_array_append (message, (const guint8 *)&points->xyz[3 * i], 3 * sizeof (float));
    g_byte_array_append (message, (const guint8 *)&intensity, sizeof intensity);
  }
  g_byte_array_append (message, &is_dense, 1);
  publish (server, ros->points, stamp, message);
}

static void
publish_pose (const GstViewRos *ros, ViewServer *server, gint64 stamp, const gchar *child,
    const GstPoseMeta *pose)
{
  g_autoptr (GByteArray) message = g_byte_array_new ();
  const gchar *parent = g_quark_to_string (pose->parent_frame);

  if (!parent)
    parent = pose->role == GST_POSE_ROLE_ODOMETRY ? ODOMETRY_FRAME : MAP_FRAME;
  if (view_server_wants (server, ros->diagnostics)) {
    ros_write_diagnostics (message, stamp, "/points/pose", pose);
    publish (server, ros->diagnostics, stamp, message);
  }
  if (!pose->has_pose)
    return;
  if (view_server_wants (server, ros->pose)) {
    g_byte_array_set_size (message, 0);
    ros_write_pose (message, stamp, parent, pose);
    publish (server, ros->pose, stamp, message);
  }
  if (view_server_wants (server, ros->tf)) {
    g_byte_array_set_size (message, 0);
    ros_write_tf (message, stamp, parent, child, pose);
    publish (server, ros->tf, stamp, message);
  }
}

void
gst_view_ros_publish_scan (const GstViewRos *ros, ViewServer *server, GstBuffer *buffer,
    const GstPointCloudInfo *info, const ScenePoints *points, const GstPoseMeta *pose)
{
  const gchar *child = pose ? g_quark_to_string (pose->child_frame) : NULL;
  gint64 stamp, pose_stamp;

  if (!child)
    child = info->frame_id ? g_quark_to_string (info->frame_id) : DEFAULT_FRAME;
  if (!gst_mcap_stamp_get_time_of_day (buffer, &stamp))
    stamp = GST_BUFFER_PTS_IS_VALID (buffer) ? (gint64)GST_BUFFER_PTS (buffer) : 0;
  if (view_server_wants (server, ros->points))
    publish_points (ros, server, stamp, child, points);
  if (!pose)
    return;
  /* The instant that the pose is of, on the clock of the stamp. */
  pose_stamp = stamp;
  if (GST_CLOCK_TIME_IS_VALID (pose->timestamp) && GST_BUFFER_PTS_IS_VALID (buffer))
    pose_stamp += GST_CLOCK_DIFF (GST_BUFFER_PTS (buffer), pose->timestamp);
  publish_pose (ros, server, pose_stamp, child, pose);
}

void
gst_view_ros_publish_map (const GstViewRos *ros, ViewServer *server, const double *xyz, gsize n)
{
  g_autoptr (GByteArray) message = g_byte_array_new ();
  const guint8 is_dense = 1;
  GstPointCloudInfo info;

  /* Doubles, since a map may lie far from its origin. */
  gst_point_cloud_info_init (&info);
  gst_point_cloud_info_set_format (&info, GST_POINT_CLOUD_FORMAT_XYZ_F64LE);
  ros_write_point_cloud2_head (message, 0, MAP_FRAME, &info, n);
  g_byte_array_append (message, (const guint8 *)xyz, (guint)(n * 3 * sizeof *xyz));
  g_byte_array_append (message, &is_dense, 1);
  publish (server, ros->map, 0, message);
}

gboolean
gst_view_ros_read_initial_pose (const guint8 *data, gsize size, double pose[4])
{
  RosPose read;

  if (!ros_read_pose (&read, data, size, NULL))
    return FALSE;
  const double *q = read.orientation;
  const double norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
  gboolean is_pose = norm > 0.98 && norm < 1.02;
  memcpy (pose, read.position, sizeof read.position);
  pose[3] =
      atan2 (2 * (q[3] * q[2] + q[0] * q[1]), 1 - 2 * (q[1] * q[1] + q[2] * q[2])) * 180 / G_PI;
  for (guint i = 0; i < 4; i++)
    is_pose = is_pose && isfinite (pose[i]);
  ros_pose_clear (&read);
  return is_pose;
}
