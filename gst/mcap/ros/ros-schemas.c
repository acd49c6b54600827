/* SPDX-License-Identifier: MIT */
#include "ros-schemas.h"

/* Definitions in ROS 2's .msg syntax: the message's own, then each that it depends on after a line
 * of 80 equals signs and its name. */

#define DEPENDS(name)                                                                              \
  "================================================================================\n"             \
  "MSG: " name "\n"

#define TIME                                                                                       \
  DEPENDS ("builtin_interfaces/Time")                                                              \
  "int32 sec\n"                                                                                    \
  "uint32 nanosec\n"

#define HEADER                                                                                     \
  DEPENDS ("std_msgs/Header")                                                                      \
  "builtin_interfaces/Time stamp\n"                                                                \
  "string frame_id\n" TIME

#define POINT                                                                                      \
  DEPENDS ("geometry_msgs/Point")                                                                  \
  "float64 x\n"                                                                                    \
  "float64 y\n"                                                                                    \
  "float64 z\n"

#define VECTOR3                                                                                    \
  DEPENDS ("geometry_msgs/Vector3")                                                                \
  "float64 x\n"                                                                                    \
  "float64 y\n"                                                                                    \
  "float64 z\n"

#define QUATERNION                                                                                 \
  DEPENDS ("geometry_msgs/Quaternion")                                                             \
  "float64 x 0\n"                                                                                  \
  "float64 y 0\n"                                                                                  \
  "float64 z 0\n"                                                                                  \
  "float64 w 1\n"

/* clang-format off */
static const gchar point_cloud2[] =
    "std_msgs/Header header\n"
    "uint32 height\n"
    "uint32 width\n"
    "sensor_msgs/PointField[] fields\n"
    "bool is_bigendian\n"
    "uint32 point_step\n"
    "uint32 row_step\n"
    "uint8[] data\n"
    "bool is_dense\n"
    HEADER
    DEPENDS ("sensor_msgs/PointField")
    "uint8 INT8=1\n"
    "uint8 UINT8=2\n"
    "uint8 INT16=3\n"
    "uint8 UINT16=4\n"
    "uint8 INT32=5\n"
    "uint8 UINT32=6\n"
    "uint8 FLOAT32=7\n"
    "uint8 FLOAT64=8\n"
    "string name\n"
    "uint32 offset\n"
    "uint8 datatype\n"
    "uint32 count\n";

static const gchar pose[] =
    "std_msgs/Header header\n"
    "geometry_msgs/PoseWithCovariance pose\n"
    HEADER
    DEPENDS ("geometry_msgs/PoseWithCovariance")
    "geometry_msgs/Pose pose\n"
    "float64[36] covariance\n"
    DEPENDS ("geometry_msgs/Pose")
    "geometry_msgs/Point position\n"
    "geometry_msgs/Quaternion orientation\n"
    POINT
    QUATERNION;

static const gchar tf[] =
    "geometry_msgs/TransformStamped[] transforms\n"
    DEPENDS ("geometry_msgs/TransformStamped")
    "std_msgs/Header header\n"
    "string child_frame_id\n"
    "geometry_msgs/Transform transform\n"
    HEADER
    DEPENDS ("geometry_msgs/Transform")
    "geometry_msgs/Vector3 translation\n"
    "geometry_msgs/Quaternion rotation\n"
    VECTOR3
    QUATERNION;

static const gchar diagnostics[] =
    "std_msgs/Header header\n"
    "diagnostic_msgs/DiagnosticStatus[] status\n"
    HEADER
    DEPENDS ("diagnostic_msgs/DiagnosticStatus")
    "byte OK=0\n"
    "byte WARN=1\n"
    "byte ERROR=2\n"
    "byte STALE=3\n"
    "byte level\n"
    "string name\n"
    "string message\n"
    "string hardware_id\n"
    "diagnostic_msgs/KeyValue[] values\n"
    DEPENDS ("diagnostic_msgs/KeyValue")
    "string key\n"
    "string value\n";

static const gchar odometry[] =
    "std_msgs/Header header\n"
    "string child_frame_id\n"
    "geometry_msgs/PoseWithCovariance pose\n"
    "geometry_msgs/TwistWithCovariance twist\n"
    HEADER
    DEPENDS ("geometry_msgs/PoseWithCovariance")
    "geometry_msgs/Pose pose\n"
    "float64[36] covariance\n"
    DEPENDS ("geometry_msgs/Pose")
    "geometry_msgs/Point position\n"
    "geometry_msgs/Quaternion orientation\n"
    POINT
    QUATERNION
    DEPENDS ("geometry_msgs/TwistWithCovariance")
    "geometry_msgs/Twist twist\n"
    "float64[36] covariance\n"
    DEPENDS ("geometry_msgs/Twist")
    "geometry_msgs/Vector3 linear\n"
    "geometry_msgs/Vector3 angular\n"
    VECTOR3;

static const gchar path[] =
    "std_msgs/Header header\n"
    "geometry_msgs/PoseStamped[] poses\n"
    HEADER
    DEPENDS ("geometry_msgs/PoseStamped")
    "std_msgs/Header header\n"
    "geometry_msgs/Pose pose\n"
    DEPENDS ("geometry_msgs/Pose")
    "geometry_msgs/Point position\n"
    "geometry_msgs/Quaternion orientation\n"
    POINT
    QUATERNION;

static const gchar duration[] =
    "int32 sec\n"
    "uint32 nanosec\n";
/* clang-format on */

const gchar *
ros_schema (const gchar *type)
{
  static const struct {
    const gchar *type;
    const gchar *text;
  } schemas[] = {
      {ROS_TYPE_POINT_CLOUD2, point_cloud2},
      {ROS_TYPE_POSE, pose},
      {ROS_TYPE_ODOMETRY, odometry},
      {ROS_TYPE_PATH, path},
      {ROS_TYPE_TF, tf},
      {ROS_TYPE_DIAGNOSTICS, diagnostics},
      {ROS_TYPE_DURATION, duration},
  };

  for (guint i = 0; i < G_N_ELEMENTS (schemas); i++)
    if (g_strcmp0 (type, schemas[i].type) == 0)
      return schemas[i].text;
  return NULL;
}
