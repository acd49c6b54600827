/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem() */
/* What is written is read again with every value; what is cut is refused. Other programs read it
 * in tests/record. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "gst/mcap/ros/cdr.h"
#include "gst/mcap/messages/gstrosmessages.h"

/* Between -2^31 s and 2^31 s, with a fraction below zero as well. */
static const gint64 stamps[] = {0, 1, 999999999, G_GINT64_CONSTANT (1700000000123456789), -1,
    -G_GINT64_CONSTANT (1000000001), G_GINT64_CONSTANT (2147483647999999999)};

static void
fill_meta (GstPoseMeta *meta)
{
  memset (meta, 0, sizeof *meta);
  meta->role = GST_POSE_ROLE_ODOMETRY;
  meta->status = GST_POSE_STATUS_DEGRADED;
  meta->has_pose = meta->has_covariance = TRUE;
  for (guint i = 0; i < 36; i++)
    meta->covariance[i] = i / 7.0;
  for (guint i = 0; i < 3; i++)
    meta->position[i] = 1e6 / (i + 3);
  for (guint i = 0; i < 4; i++)
    meta->orientation[i] = i % 2 ? -0.5 : 0.5;
  meta->parent_frame = g_quark_from_string ("odom");
  meta->child_frame = g_quark_from_string ("base");
  meta->sequence = G_MAXUINT64;
  meta->transformation_probability = 1 / 3.0;
  meta->nvtl = 1e-300;
  meta->matched_ratio = 0.1;
  meta->iterations = G_MAXUINT;
}

static void
test_cloud (void)
{
  GstPointCloudInfo info;

  gst_point_cloud_info_init (&info);
  gst_point_cloud_info_set_format (&info, GST_POINT_CLOUD_FORMAT_XYZIRT);
  for (guint i = 0; i < G_N_ELEMENTS (stamps); i++) {
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    g_autoptr (GError) error = NULL;
    RosPointCloud2 cloud;

    ros_write_point_cloud2_head (bytes, stamps[i], "lidar", &info, 5);
    for (guint b = 0; b < 5 * info.point_step + 1; b++)
      g_byte_array_append (bytes, (const guint8[]){1}, 1);
    g_assert_true (ros_read_point_cloud2 (&cloud, bytes->data, bytes->len, NULL, &error));
    g_assert_no_error (error);
    g_assert_cmpint (cloud.stamp, ==, stamps[i]);
    g_assert_cmpstr (cloud.frame_id, ==, "lidar");
    g_assert_cmpuint (cloud.width, ==, 5);
    g_assert_cmpuint (cloud.height, ==, 1);
    g_assert_cmpint (cloud.info.format, ==, GST_POINT_CLOUD_FORMAT_XYZIRT);
    g_assert_cmpuint (cloud.data_size, ==, 5 * info.point_step);
    g_assert_true (cloud.is_dense);
    ros_point_cloud2_clear (&cloud);
    for (guint size = 0; size < bytes->len; size++) {
      g_autofree guint8 *cut = g_memdup2 (bytes->data, size);
      g_assert_false (ros_read_point_cloud2 (&cloud, cut, size, NULL, NULL));
    }
  }
}

static void
test_organized_cloud (void)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  GstPointCloudInfo info;
  RosPointCloud2 cloud;

  gst_point_cloud_info_init (&info);
  gst_point_cloud_info_set_format (&info, GST_POINT_CLOUD_FORMAT_XYZ_F32LE);
  info.width = 3;
  info.height = 2;
  ros_write_point_cloud2_head (bytes, 0, NULL, &info, 6);
  g_byte_array_set_size (bytes, bytes->len + 6 * 12 + 1);
  bytes->data[bytes->len - 1] = 0;
  g_assert_true (ros_read_point_cloud2 (&cloud, bytes->data, bytes->len, NULL, NULL));
  g_assert_cmpuint (cloud.info.width, ==, 3);
  g_assert_cmpuint (cloud.info.height, ==, 2);
  g_assert_cmpuint (cloud.row_step, ==, 36);
  g_assert_false (cloud.is_dense);
  ros_point_cloud2_clear (&cloud);
}

static void
test_poses (void)
{
  GstPoseMeta meta;

  fill_meta (&meta);
  for (guint i = 0; i < G_N_ELEMENTS (stamps); i++) {
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    g_autoptr (GArray) transforms = NULL;
    RosPose pose, *transform;

    ros_write_pose (bytes, stamps[i], "odom", &meta);
    g_assert_true (ros_read_pose (&pose, bytes->data, bytes->len, NULL));
    g_assert_cmpint (pose.stamp, ==, stamps[i]);
    g_assert_cmpstr (pose.parent_frame, ==, "odom");
    g_assert_null (pose.child_frame);
    g_assert_cmpmem (pose.position, sizeof pose.position, meta.position, sizeof meta.position);
    g_assert_cmpmem (
        pose.orientation, sizeof pose.orientation, meta.orientation, sizeof meta.orientation);
    g_assert_cmpmem (
        pose.covariance, sizeof pose.covariance, meta.covariance, sizeof meta.covariance);
    ros_pose_clear (&pose);
    for (guint size = 0; size < bytes->len; size++)
      g_assert_false (ros_read_pose (&pose, bytes->data, size, NULL));

    g_byte_array_set_size (bytes, 0);
    ros_write_tf (bytes, stamps[i], "odom", "base", &meta);
    transforms = ros_read_tf (bytes->data, bytes->len, NULL);
    g_assert_nonnull (transforms);
    g_assert_cmpuint (transforms->len, ==, 1);
    transform = &g_array_index (transforms, RosPose, 0);
    g_assert_cmpint (transform->stamp, ==, stamps[i]);
    g_assert_cmpstr (transform->child_frame, ==, "base");
    g_assert_cmpmem (
        transform->position, sizeof transform->position, meta.position, sizeof meta.position);
    for (guint size = 0; size < bytes->len; size++)
      g_assert_null (ros_read_tf (bytes->data, size, NULL));
  }
}

static void
test_no_covariance (void)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  GstPoseMeta meta;
  RosPose pose;

  fill_meta (&meta);
  meta.has_covariance = FALSE;
  ros_write_pose (bytes, 0, "map", &meta);
  g_assert_true (ros_read_pose (&pose, bytes->data, bytes->len, NULL));
  for (guint i = 0; i < 36; i++)
    g_assert_cmpfloat (pose.covariance[i], ==, 0);
  ros_pose_clear (&pose);
}

static void
test_diagnostics (void)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autoptr (GError) error = NULL;
  GstPoseMeta meta, read = {0};
  gint64 stamp;

  fill_meta (&meta);
  meta.role = GST_POSE_ROLE_ESTIMATE;
  meta.reason = GST_POSE_REASON_DEGENERATE;
  meta.reason_value = meta.sigma = 2 / 3.0;
  meta.reason_bound = 0.5;
  meta.has_fit = meta.degenerate = meta.has_confidence = TRUE;
  meta.confidence = 1 / 13.0;
  meta.unexplained = 1 / 17.0;
  meta.fit = 1 / 7.0;
  meta.n_open = 2;
  for (guint i = 0; i < 6; i++)
    meta.open_directions[i] = i / 9.0;
  ros_write_diagnostics (bytes, stamps[3], "/pose", &meta);
  g_assert_true (ros_read_diagnostics (&read, &stamp, bytes->data, bytes->len, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (stamp, ==, stamps[3]);
  /* The pose itself is not in it. */
  memcpy (read.position, meta.position, sizeof read.position);
  memcpy (read.orientation, meta.orientation, sizeof read.orientation);
  memcpy (read.covariance, meta.covariance, sizeof read.covariance);
  g_assert_cmpint (read.role, ==, meta.role);
  g_assert_cmpint (read.status, ==, meta.status);
  g_assert_true (read.has_pose && read.has_covariance);
  g_assert_cmpuint (read.parent_frame, ==, meta.parent_frame);
  g_assert_cmpuint (read.child_frame, ==, meta.child_frame);
  g_assert_true (read.sequence == meta.sequence);
  g_assert_cmpuint (read.iterations, ==, meta.iterations);
  g_assert_true (read.transformation_probability == meta.transformation_probability);
  g_assert_true (read.nvtl == meta.nvtl);
  g_assert_true (read.matched_ratio == meta.matched_ratio);
  g_assert_cmpint (read.reason, ==, meta.reason);
  g_assert_true (read.reason_value == meta.reason_value && read.sigma == meta.sigma);
  g_assert_true (read.reason_bound == meta.reason_bound && read.fit == meta.fit);
  g_assert_true (read.has_fit && read.degenerate && read.has_confidence);
  g_assert_true (read.confidence == meta.confidence && read.unexplained == meta.unexplained);
  g_assert_cmpuint (read.n_open, ==, 2);
  g_assert_cmpmem (read.open_directions, sizeof read.open_directions, meta.open_directions,
      sizeof meta.open_directions);
  /* What to read: the status, the numbers and what to do. */
  static const gchar text[] = "degraded: its position is known to 0.67 m along (0.00, 0.11, 0.22), "
                              "above 0.50 m; scans say nothing of the way there; give it odometry";
  g_assert_nonnull (memmem (bytes->data, bytes->len, text, strlen (text)));
  for (guint size = 0; size < bytes->len; size++) {
    g_autoptr (GError) cut = NULL;
    g_assert_false (ros_read_diagnostics (&read, &stamp, bytes->data, size, NULL, &cut));
    g_assert_error (cut, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_DAMAGED);
  }
}

/* Some drivers leave row_step at 0, or count points. It is the last number before the length of the
 * data. */
static void
test_row_step (void)
{
  static const struct {
    guint32 row_step;
    gsize missing;
    gboolean is_read;
  } cases[] = {
      {0, 0, TRUE}, {48, 0, TRUE}, {4, 0, TRUE}, {100, 0, TRUE}, {47, 1, FALSE}, {0, 1, FALSE}};
  const gsize n_points = 8, size = n_points * 12;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    g_autoptr (GError) error = NULL;
    RosPointCloud2 cloud;
    GstPointCloudInfo info;
    gst_point_cloud_info_init (&info);
    gst_point_cloud_info_set_format (&info, GST_POINT_CLOUD_FORMAT_XYZ_F32LE);
    info.width = 4;
    info.height = 2;
    ros_write_point_cloud2_head (bytes, 0, "lidar", &info, n_points);
    const guint32 row_step = GUINT32_TO_LE (cases[i].row_step);
    const guint32 data_size = GUINT32_TO_LE ((guint32)(size - cases[i].missing));
    memcpy (bytes->data + bytes->len - 8, &row_step, 4);
    memcpy (bytes->data + bytes->len - 4, &data_size, 4);
    g_byte_array_set_size (bytes, bytes->len + (guint)(size - cases[i].missing) + 1);
    const gboolean is_read = ros_read_point_cloud2 (&cloud, bytes->data, bytes->len, NULL, &error);
    g_assert_cmpint (is_read, ==, cases[i].is_read);
    if (is_read) {
      g_assert_cmpuint (cloud.row_step, ==, 48);
      ros_point_cloud2_clear (&cloud);
    } else {
      /* By what is wrong. */
      g_assert_nonnull (strstr (error->message, "row_step"));
    }
  }
}

static void
test_schemas (void)
{
  static const gchar *const types[] = {
      ROS_TYPE_POINT_CLOUD2, ROS_TYPE_POSE, ROS_TYPE_TF, ROS_TYPE_DIAGNOSTICS, ROS_TYPE_DURATION};

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    g_assert_nonnull (ros_schema (types[i]));
  g_assert_null (ros_schema ("std_msgs/msg/String"));
  g_assert_null (ros_schema (NULL));
}

/* Numbers of a cloud that contradict its bytes or are none of a cloud, one at a time. */
static void
test_cloud_numbers (void)
{
  static const struct {
    gint at; /* from the beginning, or below 0 from the end of the head */
    guint32 value;
    const gchar *refusal; /* NULL: it is read */
  } cases[] = {
      {24, 1, NULL},                     /* height */
      {24, G_MAXUINT32, "damaged"},      /* … of more than there are bytes */
      {28, 0, NULL},                     /* width: no points */
      {28, 9, "damaged"},                /* … one more than there are */
      {28, G_MAXUINT32, "damaged"},      /* … whose product with a point's bytes overflows */
      {32, 33, "damaged"},               /* fields: more than there are bytes */
      {32, G_MAXUINT32, "damaged"},      /* … */
      {36, G_MAXUINT32, "damaged"},      /* length of a name */
      {44, 12, "beyond the point-step"}, /* offset of a field */
      {44, G_MAXUINT32, "beyond the point-step"}, /* … */
      {48, 99, "has datatype 99"},                /* type of a field */
      {52, 0, NULL},                              /* count: some drivers mean 1 */
      {52, G_MAXUINT32, "beyond the point-step"}, {-16, 1, "big-endian"},
      {-12, 0, "\"point-step\" is missing"}, {-12, 11, "beyond the point-step"},
      {-12, G_MAXUINT32, "damaged"}, {-4, 97, "damaged"}, /* data: more than there are */
      {-4, G_MAXUINT32, "damaged"},
      {8, 2000000000, NULL}, /* nanoseconds of a stamp: they are added up */
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    g_autoptr (GError) error = NULL;
    const guint32 value = GUINT32_TO_LE (cases[i].value);
    RosPointCloud2 cloud;
    GstPointCloudInfo info;
    gst_point_cloud_info_init (&info);
    gst_point_cloud_info_set_format (&info, GST_POINT_CLOUD_FORMAT_XYZ_F32LE);
    ros_write_point_cloud2_head (bytes, 0, "lidar", &info, 8);
    const gsize at = cases[i].at < 0 ? bytes->len - (gsize)-cases[i].at : (gsize)cases[i].at;
    memcpy (bytes->data + at, &value, cases[i].at == -16 ? 1 : 4);
    g_byte_array_set_size (bytes, bytes->len + 8 * 12 + 1);
    const gboolean is_read = ros_read_point_cloud2 (&cloud, bytes->data, bytes->len, NULL, &error);
    g_test_message ("%d: %u: %s", cases[i].at, cases[i].value, error ? error->message : "read");
    g_assert_true (is_read == (cases[i].refusal == NULL));
    if (is_read)
      ros_point_cloud2_clear (&cloud);
    else
      g_assert_nonnull (strstr (error->message, cases[i].refusal));
  }
}

int
main (int argc, char **argv)
{
  gst_init (NULL, NULL);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ros-messages/cloud", test_cloud);
  g_test_add_func ("/ros-messages/organized-cloud", test_organized_cloud);
  g_test_add_func ("/ros-messages/poses", test_poses);
  g_test_add_func ("/ros-messages/no-covariance", test_no_covariance);
  g_test_add_func ("/ros-messages/diagnostics", test_diagnostics);
  g_test_add_func ("/ros-messages/row-step", test_row_step);
  g_test_add_func ("/ros-messages/cloud-numbers", test_cloud_numbers);
  g_test_add_func ("/ros-messages/schemas", test_schemas);
  return g_test_run ();
}
