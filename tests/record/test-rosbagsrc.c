/* SPDX-License-Identifier: MIT */
/* What rosbagsrc and mcapdemux read of what mcapsink recorded, and of what is no recording. */
#include "replay.h"

#include <glib/gstdio.h>
#include <gst/pointcloud/pointcloud.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/ndt-test.h"

static void
assert_equal_buffers (GstBuffer *a, GstBuffer *b)
{
  GstMapInfo map;
  fail_unless (gst_buffer_map (b, &map, GST_MAP_READ));
  fail_unless_equals_int (gst_buffer_get_size (a), map.size);
  fail_unless_equals_int (gst_buffer_memcmp (a, 0, map.data, map.size), 0);
  gst_buffer_unmap (b, &map);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (a), GST_BUFFER_PTS (b));
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (a), GST_BUFFER_DURATION (b));
  for (guint role = GST_POSE_ROLE_ESTIMATE; role <= GST_POSE_ROLE_GROUND_TRUTH; role++) {
    GstPoseMeta *x = gst_buffer_get_pose_meta (a, role), *y = gst_buffer_get_pose_meta (b, role);
    fail_unless ((x == NULL) == (y == NULL));
    if (x) /* all of it, bit by bit */
      fail_unless_equals_int (
          memcmp (&x->role, &y->role, sizeof *x - G_STRUCT_OFFSET (GstPoseMeta, role)), 0);
  }
}

static void
assert_equal_results (const ReplayResult *a, const ReplayResult *b)
{
  fail_unless_equals_string (b->error, NULL);
  fail_unless_equals_int (b->n_warnings, 0);
  fail_unless_equals_int (a->buffers->len, b->buffers->len);
  for (guint i = 0; i < a->buffers->len; i++) {
    assert_equal_buffers (g_ptr_array_index (a->buffers, i), g_ptr_array_index (b->buffers, i));
    fail_unless (
        gst_caps_is_equal (g_ptr_array_index (a->caps, i), g_ptr_array_index (b->caps, i)));
  }
}

/* What is recorded comes back: bytes, stamps, caps and poses with all that they say. */
GST_START_TEST (test_round_trip)
{
  static const gchar *const options[] = {
      "compression=none", "compression=lz4", "compression=zstd", "chunk-size=1048576"};
  static const gchar *const sources[] = {"rosbagsrc location=%s/a.mcap",
      "filesrc location=%s/a.mcap ! mcapdemux", "filesrc location=%s/a.mcap ! queue ! mcapdemux"};
  ReplayResult original;
  replay_run (&original, REPLAY_SOURCE " ! fakesink name=out");
  fail_unless_equals_int (original.buffers->len, 20);
  fail_unless (
      gst_buffer_get_pose_meta (g_ptr_array_index (original.buffers, 0), GST_POSE_ROLE_ODOMETRY));

  for (guint i = 0; i < G_N_ELEMENTS (options) * G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i % G_N_ELEMENTS (sources)], replay_folder);
    g_autofree gchar *overwrite =
        g_strconcat (options[i / G_N_ELEMENTS (sources)], " overwrite=true", NULL);
    ReplayResult replayed;
    replay_record ("a.mcap", overwrite);
    replay_run (&replayed, "%s ! fakesink name=out", source);
    assert_equal_results (&original, &replayed);
    replay_clear (&replayed);
  }
  replay_clear (&original);
}
GST_END_TEST

/* A sequence of recorded scans, localized and recorded: all that left ndtlocalize comes back, bit
 * by bit, and localized again it is the same once more, with the same poses. */
GST_START_TEST (test_sequence)
{
  static const gchar *const sources[] = {"rosbagsrc location=%s/%s",
      "filesrc location=%s/%s ! mcapdemux", "filesrc location=%s/%s ! queue ! mcapdemux"};
  g_autofree gchar *sequence = ndt_test_data ("seq_kitti_drive0005");
  ReplayResult original, replayed, again;

  if (!sequence)
    return;
  g_autofree gchar *localize =
      g_strdup_printf ("ndtlocalize map-location=%s/map_even_0.50.pcd resolution=1 backend=cpu "
                       "initial-pose=0.343,0.007,0,0.85",
          sequence);
  replay_run (&original,
      "multifilesrc location=%s/scans/%%06d.pcd ! pcddec framerate=5/1 ! %s ! tee name=t ! queue ! "
      "fakesink name=out t. ! queue ! mcapsink location=%s/a.mcap",
      sequence, localize, replay_folder);
  fail_unless_equals_string (original.error, NULL);
  fail_unless_equals_int (original.buffers->len, 50);
  for (guint i = 0; i < original.buffers->len; i++) {
    const GstPoseMeta *pose =
        gst_buffer_get_pose_meta (g_ptr_array_index (original.buffers, i), GST_POSE_ROLE_ESTIMATE);
    fail_unless (pose && pose->has_pose && pose->has_covariance);
    fail_unless (pose->covariance[0] > 0 && pose->covariance[1] != 0);
    fail_unless_equals_int (pose->status, GST_POSE_STATUS_TRACKING);
    fail_unless (pose->nvtl > 0 && pose->transformation_probability > 0 && pose->iterations > 0);
  }
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], replay_folder, "a.mcap");
    replay_run (&replayed, "%s ! pointcloud/x-raw ! fakesink name=out", source);
    assert_equal_results (&original, &replayed);
    replay_clear (&replayed);
  }
  replay_run (&again,
      "rosbagsrc location=%s/a.mcap ! pointcloud/x-raw ! %s ! tee name=t ! queue ! "
      "fakesink name=out t. ! queue ! mcapsink location=%s/b.mcap",
      replay_folder, localize, replay_folder);
  assert_equal_results (&original, &again);
  replay_run (&replayed, "rosbagsrc location=%s/b.mcap ! pointcloud/x-raw ! fakesink name=out",
      replay_folder);
  assert_equal_results (&original, &replayed);
  replay_clear (&replayed);
  replay_clear (&again);
  replay_clear (&original);
}
GST_END_TEST

/* A file of one message of that type, whose bytes are those of the corpus. */
static void
write_message (const gchar *name, const gchar *type, const gchar *corpus)
{
  ReplayResult result;
  g_autofree gchar *caps = g_strdup_printf (
      "application/x-mcap-message,topic=(string)/t,message-encoding=(string)cdr,"
      "schema-name=(string)%s,schema-encoding=(string)ros2msg,schema-data=(buffer)00",
      type);
  replay_run (&result,
      "filesrc location=%s/tests/fuzz/corpus/cdr/%s blocksize=65536 ! capsfilter caps=\"%s\" "
      "! rec.data_0 mcapsink name=rec location=%s/%s overwrite=true",
      NDT_TEST_ROOT, corpus, caps, replay_folder, name);
  fail_unless_equals_string (result.error, NULL);
  replay_clear (&result);
}

static void
read_message (ReplayResult *result, const gchar *options)
{
  replay_run (
      result, "rosbagsrc location=%s/m.mcap %s ! fakesink name=out", replay_folder, options);
  fail_unless_equals_string (result->error, NULL);
}

GST_START_TEST (test_layouts)
{
  ReplayResult result;
  GstPointCloudInfo info;
  guint8 byte;

  /* Two rows of two points of 40 bytes, with 16 bytes of padding after a row; the data count up. */
  write_message ("m.mcap", "sensor_msgs/msg/PointCloud2", "rows.bin");
  read_message (&result, "");
  fail_unless_equals_int (result.buffers->len, 1);
  GstBuffer *buffer = g_ptr_array_index (result.buffers, 0);
  fail_unless_equals_int (gst_buffer_get_size (buffer), 160);
  gst_buffer_extract (buffer, 80, &byte, 1);
  fail_unless_equals_int (byte, 96);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 5 * GST_SECOND + 6);
  fail_unless (GST_BUFFER_FLAG_IS_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE));
  fail_unless (gst_point_cloud_info_from_caps (&info, g_ptr_array_index (result.caps, 0), NULL));
  fail_unless_equals_int (info.point_step, 40);
  fail_unless_equals_int (info.width, 2);
  fail_unless_equals_int (info.height, 2);
  fail_unless_equals_string (g_quark_to_string (info.frame_id), "lidar");
  fail_unless_equals_int (gst_point_cloud_info_find_field (&info, "ring")->offset, 12);
  fail_unless_equals_int (gst_point_cloud_info_find_field (&info, "t")->count, 2);
  replay_clear (&result);

  /* No points are a cloud as well. */
  write_message ("m.mcap", "sensor_msgs/msg/PointCloud2", "none.bin");
  read_message (&result, "");
  fail_unless_equals_int (result.buffers->len, 1);
  fail_unless_equals_int (gst_buffer_get_size (g_ptr_array_index (result.buffers, 0)), 0);
  replay_clear (&result);

  /* All there is cannot be decoded: no drive that has ended. */
  write_message ("m.mcap", "sensor_msgs/msg/PointCloud2", "big.bin");
  replay_run (&result, "rosbagsrc location=%s/m.mcap ! fakesink name=out", replay_folder);
  fail_unless (result.error && strstr (result.error, "Not a single message") &&
               strstr (result.error, "big-endian"));
  fail_unless_equals_int (result.buffers->len, 0);
  fail_unless_equals_int (result.n_warnings, 1);
  fail_unless (strstr (result.warning, "big-endian") != NULL);
  replay_clear (&result);

  read_message (&result, "raw=true");
  fail_unless_equals_int (result.buffers->len, 1);
  fail_unless_equals_int (result.n_warnings, 0);
  replay_clear (&result);
}
GST_END_TEST

static const GstPoseMeta *
read_pose (ReplayResult *result, const gchar *type, const gchar *corpus, GstPoseRole role)
{
  write_message ("m.mcap", type, corpus);
  read_message (result, "pose-role=prior");
  fail_unless_equals_int (result->buffers->len, 1);
  GstBuffer *buffer = g_ptr_array_index (result->buffers, 0);
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, role);
  fail_unless (meta != NULL);
  fail_unless (meta->has_pose);
  fail_unless (meta->position[0] == 1 && meta->position[1] == 2 && meta->position[2] == 3);
  fail_unless (meta->orientation[3] == 1);
  fail_unless_equals_uint64 (meta->timestamp, 5 * GST_SECOND + 6);
  fail_unless_equals_string (g_quark_to_string (meta->parent_frame), "lidar");
  return meta;
}

GST_START_TEST (test_poses)
{
  ReplayResult result;
  const GstPoseMeta *meta;

  meta = read_pose (&result, "geometry_msgs/msg/PoseStamped", "pose.bin", GST_POSE_ROLE_PRIOR);
  fail_if (meta->has_covariance);
  replay_clear (&result);

  meta = read_pose (&result, "geometry_msgs/msg/PoseWithCovarianceStamped", "covariance.bin",
      GST_POSE_ROLE_PRIOR);
  fail_unless (meta->has_covariance && meta->covariance[35] == 35);
  replay_clear (&result);

  meta = read_pose (&result, "nav_msgs/msg/Odometry", "odometry.bin", GST_POSE_ROLE_ODOMETRY);
  fail_unless_equals_string (g_quark_to_string (meta->child_frame), "base");
  fail_unless (meta->has_covariance && meta->covariance[35] == 35);
  replay_clear (&result);

  meta = read_pose (&result, "tf2_msgs/msg/TFMessage", "tf.bin", GST_POSE_ROLE_PRIOR);
  fail_unless_equals_string (g_quark_to_string (meta->child_frame), "base");
  fail_unless_equals_int (
      gst_buffer_get_n_meta (g_ptr_array_index (result.buffers, 0), GST_POSE_META_API_TYPE), 2);
  replay_clear (&result);
}
GST_END_TEST

GST_START_TEST (test_topics)
{
  ReplayResult result;
  replay_record ("a.mcap", "");
  replay_run (&result,
      "rosbagsrc location=%s/a.mcap attach-poses=false topics=\"<\\\"*ground_truth\\\">\" "
      "! fakesink name=out",
      replay_folder);
  fail_unless_equals_int (result.buffers->len, 20);
  GstBuffer *buffer = g_ptr_array_index (result.buffers, 0);
  fail_unless (gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH) != NULL);
  fail_unless (gst_structure_has_name (
      gst_caps_get_structure (g_ptr_array_index (result.caps, 0), 0), "pose/x-raw"));
  replay_clear (&result);

  /* Of several files as of one. */
  replay_record ("part-%05d.mcap", "max-size-time=500000000");
  g_autofree gchar *whole = g_build_filename (replay_folder, "a.mcap", NULL);
  g_unlink (whole);
  replay_run (&result, "rosbagsrc location=%s ! fakesink name=out", replay_folder);
  fail_unless_equals_int (result.buffers->len, 20);
  replay_clear (&result);
  replay_run (&result, "rosbagsrc location=%s/part*.mcap ! fakesink name=out", replay_folder);
  fail_unless_equals_int (result.buffers->len, 20);
  replay_clear (&result);
}
GST_END_TEST

GST_START_TEST (test_bad_files)
{
  ReplayResult result;
  g_autofree gchar *path = g_build_filename (replay_folder, "a.mcap", NULL);
  g_autofree gchar *data = NULL;
  gsize size;

  replay_run (&result, "rosbagsrc location=%s/none.mcap ! fakesink name=out", replay_folder);
  fail_unless (strstr (result.error, "none.mcap") != NULL);
  replay_clear (&result);
  replay_run (&result, "rosbagsrc location=%s ! fakesink name=out", replay_folder);
  fail_unless (strstr (result.error, "neither") != NULL);
  replay_clear (&result);
  /* Nobody waits for a pipe's other end. */
  fail_unless_equals_int (mkfifo (path, 0600), 0);
  replay_run (&result, "rosbagsrc location=%s ! fakesink name=out", path);
  fail_unless (result.error && strstr (result.error, "not a regular file") != NULL);
  replay_clear (&result);
  g_unlink (path);
  fail_unless (g_file_set_contents (path, "It was a dark and stormy night.", -1, NULL));
  replay_run (&result, "rosbagsrc location=%s ! fakesink name=out", path);
  fail_unless (strstr (result.error, "neither MCAP") != NULL);
  replay_clear (&result);
  replay_run (&result, "filesrc location=%s ! queue ! mcapdemux ! fakesink name=out", path);
  fail_unless (result.error != NULL);
  replay_clear (&result);

  /* Cut off: what is whole, and a warning. */
  replay_record ("a.mcap", "overwrite=true");
  fail_unless (g_file_get_contents (path, &data, &size, NULL));
  fail_unless (g_file_set_contents (path, data, (gssize)(size / 2), NULL));
  static const gchar *const sources[] = {"rosbagsrc location=%s", "filesrc location=%s ! mcapdemux",
      "filesrc location=%s ! queue ! mcapdemux"};
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], path);
    replay_run (&result, "%s ! fakesink name=out", source);
    fail_unless_equals_string (result.error, NULL);
    fail_unless_equals_int (result.n_warnings, 1);
    fail_unless (result.buffers->len > 4 && result.buffers->len < 12);
    replay_clear (&result);
  }
}
GST_END_TEST

/* What is wrong with a recording is told while it is opened: gst-launch-1.0 misses errors of before
 * its main loop, and waits for ever. */
GST_START_TEST (test_errors_at_once)
{
  static const struct {
    const gchar *rest; /* of a pipeline that begins with rosbagsrc location=FOLDER/ */
    GstStateChangeReturn result;
  } cases[] = {
      {"good.mcap ! fakesink", GST_STATE_CHANGE_ASYNC},
      {"empty.mcap ! fakesink", GST_STATE_CHANGE_FAILURE},
      {"text.mcap ! fakesink", GST_STATE_CHANGE_FAILURE},
      {"none.mcap ! fakesink", GST_STATE_CHANGE_FAILURE},
      {"good.mcap topics=</nothing> ! fakesink", GST_STATE_CHANGE_FAILURE},
      {"good.mcap ! video/x-raw ! fakesink", GST_STATE_CHANGE_FAILURE},
  };
  g_autofree gchar *text = g_build_filename (replay_folder, "text.mcap", NULL);
  ReplayResult result;

  replay_record ("good.mcap", "");
  fail_unless (g_file_set_contents (text, "It was a dark and stormy night.", -1, NULL));
  replay_run (
      &result, "lidartestsrc num-buffers=0 ! mcapsink location=%s/empty.mcap", replay_folder);
  fail_unless_equals_string (result.error, NULL);
  replay_clear (&result);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *line =
        g_strdup_printf ("rosbagsrc location=%s/%s", replay_folder, cases[i].rest);
    GstElement *pipeline = replay_launch (line, &result);
    fail_unless_equals_int (gst_element_set_state (pipeline, GST_STATE_PAUSED), cases[i].result);
    if (cases[i].result == GST_STATE_CHANGE_FAILURE) {
      replay_wait (pipeline, &result);
      fail_unless (result.error != NULL);
    }
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
    replay_clear (&result);
  }
}
GST_END_TEST

/* A stream of nothing ends as well. */
GST_START_TEST (test_nothing_wanted)
{
  static const gchar *const sources[] = {"rosbagsrc location=%s topics=\"<\\\"%s\\\">\"",
      "filesrc location=%s ! mcapdemux topics=\"<\\\"%s\\\">\"",
      "filesrc location=%s ! queue ! mcapdemux topics=\"<\\\"%s\\\">\""};
  g_autofree gchar *path = g_build_filename (replay_folder, "a.mcap", NULL);
  replay_record ("a.mcap", "");
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    ReplayResult result;
    g_autofree gchar *source = g_strdup_printf (sources[i], path, "/nothing");
    replay_run (&result, "%s ! fakesink name=out", source);
    fail_unless (result.error && strstr (result.error, "/nothing"));
    replay_clear (&result);
    /* Nor where nothing can be linked. */
    g_autofree gchar *all = g_strdup_printf (sources[i], path, "*");
    replay_run (&result, "%s ! video/x-raw ! fakesink name=out", all);
    fail_unless (result.error != NULL);
    replay_clear (&result);
  }
  /* No MCAP at all, whatever its name: nothing of ours is even asked. */
  fail_unless (g_file_set_contents (path, "It was a dark and stormy night.", -1, NULL));
  for (guint i = 0; i < 20; i++) {
    ReplayResult result;
    replay_run (&result, "filesrc location=%s ! decodebin ! fakesink name=out", path);
    fail_unless (result.error != NULL);
    replay_clear (&result);
  }
}
GST_END_TEST

static Suite *
rosbagsrc_suite (void)
{
  Suite *suite = suite_create ("rosbagsrc");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_checked_fixture (tc, replay_setup, replay_teardown);
  tcase_add_test (tc, test_round_trip);
  tcase_add_test (tc, test_sequence);
  tcase_add_test (tc, test_layouts);
  tcase_add_test (tc, test_poses);
  tcase_add_test (tc, test_topics);
  tcase_add_test (tc, test_bad_files);
  tcase_add_test (tc, test_errors_at_once);
  tcase_add_test (tc, test_nothing_wanted);
  return suite;
}

GST_CHECK_MAIN (rosbagsrc);
