/* SPDX-License-Identifier: MIT */
#pragma once

/* Names and definitions of the ROS 2 messages that are written and read. */

#include <glib.h>

G_BEGIN_DECLS

#define ROS_TYPE_POINT_CLOUD2 "sensor_msgs/msg/PointCloud2"
#define ROS_TYPE_POSE "geometry_msgs/msg/PoseWithCovarianceStamped"
#define ROS_TYPE_POSE_STAMPED "geometry_msgs/msg/PoseStamped"
#define ROS_TYPE_ODOMETRY "nav_msgs/msg/Odometry"
#define ROS_TYPE_FIX "sensor_msgs/msg/NavSatFix"
#define ROS_TYPE_PATH "nav_msgs/msg/Path"
#define ROS_TYPE_TF "tf2_msgs/msg/TFMessage"
#define ROS_TYPE_DURATION "builtin_interfaces/msg/Duration"
#define ROS_TYPE_DIAGNOSTICS "diagnostic_msgs/msg/DiagnosticArray"

/* Definition (ros2msg: with all that it depends on) of a type that is written; NULL: none. */
const gchar *ros_schema (const gchar *type);

G_END_DECLS
