/* SPDX-License-Identifier: MIT */
/* The channels of Foxglove's protocol: the recorder's messages of scans, poses and the map. */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "view-encode.h"

G_BEGIN_DECLS

#define GST_VIEW_ROS_INITIAL_POSE_TOPIC "/initialpose"

/* Numbers of channels. */
typedef struct {
  guint points;
  guint map;
  guint pose;
  guint tf;
  guint diagnostics;
} GstViewRos;

/* Adds the channels: /points, /map (latched), /points/pose, /tf, /diagnostics. */
void gst_view_ros_init (GstViewRos *ros, ViewServer *server);
/* @points: the scan's, in the frame of the pose; @pose: (nullable): of @buffer. */
void gst_view_ros_publish_scan (const GstViewRos *ros, ViewServer *server, GstBuffer *buffer,
    const GstPointCloudInfo *info, const ScenePoints *points, const GstPoseMeta *pose);
/* @n points, three doubles each. */
void gst_view_ros_publish_map (
    const GstViewRos *ros, ViewServer *server, const double *xyz, gsize n);
/* A PoseWithCovarianceStamped in CDR: x, y, z in metres, yaw in degrees. FALSE: it is none. */
gboolean gst_view_ros_read_initial_pose (const guint8 *data, gsize size, double pose[4]);

G_END_DECLS
