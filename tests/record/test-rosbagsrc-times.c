/* SPDX-License-Identifier: MIT */
/* Clocks, pads and the order of events of recordings that others made, and of what is like them. */
#include "replay.h"

#include <gst/pointcloud/pointcloud.h>
#include <string.h>

#include "tests/ndt-test.h"
#include "tests/ndt-wait.h"

/* Of the cases: messages are logged from here on. */
#define LOG_START (1764000000 * GST_SECOND)

/* The path of a case; NULL: there are no data. */
static gchar *
get_case (const gchar *name)
{
  g_autofree gchar *folder = ndt_test_data ("cases");
  return folder ? g_build_filename (folder, name, NULL) : NULL;
}

static GstClockTime
get_pts (const ReplayResult *result, guint i)
{
  return GST_BUFFER_PTS (g_ptr_array_index (result->buffers, i));
}

static void
assert_pts_within (const ReplayResult *result, GstClockTime first, GstClockTime last)
{
  for (guint i = 0; i < result->buffers->len; i++)
    fail_unless (get_pts (result, i) >= first && get_pts (result, i) <= last,
        "buffer %u: %" G_GUINT64_FORMAT, i, get_pts (result, i));
}

/* Clouds count from power-on, odometry and log times are of Unix's epoch: 180 messages in 2.98 s.
 */
GST_START_TEST (test_clocks_differ)
{
  static const gchar *const sources[] = {"rosbagsrc location=%s", "filesrc location=%s ! mcapdemux",
      "filesrc location=%s ! queue ! mcapdemux"};
  static const gchar *const pads[] = {"pointcloud/x-raw", "pose/x-raw"};
  static const guint numbers[] = {30, 150};
  g_autofree gchar *path = get_case ("clock_boot/mixed.mcap");
  if (!path)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (sources) * 2; i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i / 2], path);
    ReplayResult result;
    gint64 duration;
    g_autofree gchar *line =
        g_strdup_printf ("%s name=bag ! %s ! fakesink name=out", source, pads[i % 2]);
    GstElement *pipeline = replay_launch (line, &result);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    replay_wait (pipeline, &result);
    fail_unless_equals_string (result.error, NULL);
    fail_unless_equals_int (result.buffers->len, numbers[i % 2]);
    /* Said once, and what to do. */
    fail_unless_equals_int (result.n_warnings, 1);
    fail_unless (strstr (result.warning, "/points") && strstr (result.warning, "timestamps=header"),
        "%s", result.warning);
    /* In a stream odometry goes out before a cloud is seen: by its header, which is before. */
    assert_pts_within (
        &result, LOG_START - (i / 2 == 2 ? GST_SECOND : 0), LOG_START + 3 * GST_SECOND);
    if (i / 2 < 2) {
      fail_unless (gst_element_query_duration (pipeline, GST_FORMAT_TIME, &duration));
      fail_unless_equals_uint64 (duration, 2980 * GST_MSECOND);
    }
    for (guint j = 0; j < result.buffers->len && i % 2; j++) {
      GstBuffer *buffer = g_ptr_array_index (result.buffers, j);
      const GstPoseMeta *pose = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ODOMETRY);
      fail_unless_equals_uint64 (pose->timestamp, GST_BUFFER_PTS (buffer));
    }
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
    replay_clear (&result);
  }
}
GST_END_TEST

/* The stamps where they are asked for, and all on their axis. */
GST_START_TEST (test_header_axis)
{
  g_autofree gchar *path = get_case ("clock_boot/mixed.mcap");
  ReplayResult clouds, poses;
  if (!path)
    return;
  replay_run (&clouds,
      "rosbagsrc location=%s timestamps=header ! pointcloud/x-raw ! fakesink name=out", path);
  replay_run (
      &poses, "rosbagsrc location=%s timestamps=header ! pose/x-raw ! fakesink name=out", path);
  fail_unless_equals_int (clouds.n_warnings, 1);
  fail_unless_equals_int (clouds.buffers->len, 30);
  const GstClockTime begin = get_pts (&clouds, 0);
  fail_unless (begin < LOG_START / 2);
  fail_unless_equals_uint64 (get_pts (&clouds, 29) - begin, 2900 * GST_MSECOND);
  assert_pts_within (&poses, begin - GST_SECOND, begin + 3 * GST_SECOND);
  replay_clear (&clouds);
  replay_clear (&poses);
}
GST_END_TEST

/* timestamps=log moves poses' instants to the clock of their PTS. */
GST_START_TEST (test_log_times_of_poses)
{
  g_autofree gchar *path = get_case ("clock_boot/mixed.mcap");
  ReplayResult result;
  if (!path)
    return;
  replay_run (
      &result, "rosbagsrc location=%s timestamps=log ! pose/x-raw ! fakesink name=out", path);
  fail_unless_equals_int (result.n_warnings, 0);
  fail_unless_equals_int (result.buffers->len, 150);
  for (guint i = 0; i < result.buffers->len; i++) {
    GstBuffer *buffer = g_ptr_array_index (result.buffers, i);
    const GstPoseMeta *pose = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ODOMETRY);
    fail_unless_equals_uint64 (pose->timestamp, GST_BUFFER_PTS (buffer));
  }
  replay_clear (&result);
}
GST_END_TEST

static void
seek_to (GstElement *pipeline, GstClockTime time)
{
  fail_unless (
      gst_element_seek_simple (pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, (gint64)time));
}

GST_START_TEST (test_seek_of_other_clock)
{
  static const gchar *const options[] = {"", "timestamps=header", "timestamps=log"};
  g_autofree gchar *path = get_case ("clock_boot/only.mcap");
  if (!path)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (options); i++) {
    ReplayResult result;
    gint64 position;
    g_autofree gchar *line =
        g_strdup_printf ("rosbagsrc location=%s %s ! fakesink name=out", path, options[i]);
    GstElement *pipeline = replay_launch (line, &result);
    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    fail_unless_equals_int (
        gst_element_get_state (pipeline, NULL, NULL, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
    seek_to (pipeline, GST_SECOND);
    fail_unless_equals_int (
        gst_element_get_state (pipeline, NULL, NULL, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
    fail_unless (gst_element_query_position (pipeline, GST_FORMAT_TIME, &position));
    fail_unless (position >= (gint64)GST_SECOND && position < (gint64)(1100 * GST_MSECOND));
    g_ptr_array_set_size (result.buffers, 0);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    replay_wait (pipeline, &result);
    /* Preroll may have taken the first of these. */
    fail_unless (result.buffers->len >= 19 && result.buffers->len <= 20, "%u", result.buffers->len);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
    replay_clear (&result);
  }
}
GST_END_TEST

static GstPadProbeReturn
add_stamp (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  g_autoptr (GstCaps) caps = gst_caps_new_empty_simple ("timestamp/x-unix");
  gst_buffer_add_reference_timestamp_meta (
      buffer, caps, LOG_START + GST_BUFFER_PTS (buffer), GST_CLOCK_TIME_NONE);
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  return GST_PAD_PROBE_OK;
}

/* What was recorded from a file has log times from 0 on, and the sensor's stamps: it comes back as
 * it was, poses included, and nothing is wrong with it. */
GST_START_TEST (test_own_clock)
{
  static const gchar *const sources[] = {"rosbagsrc location=%s/a.mcap",
      "filesrc location=%s/a.mcap ! mcapdemux", "filesrc location=%s/a.mcap ! queue ! mcapdemux"};
  ReplayResult original, result;
  g_autofree gchar *line = g_strdup_printf (REPLAY_SOURCE
      " name=in ! tee name=t ! queue ! fakesink "
      "name=out t. ! queue ! mcapsink location=%s/a.mcap log-time=pts",
      replay_folder);
  GstElement *pipeline = replay_launch (line, &original);
  GstElement *in = gst_bin_get_by_name (GST_BIN (pipeline), "in");
  GstPad *pad = gst_element_get_static_pad (in, "src");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, add_stamp, NULL, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  replay_wait (pipeline, &original);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  fail_unless_equals_int (original.buffers->len, 20);
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], replay_folder);
    replay_run (&result, "%s ! fakesink name=out", source);
    fail_unless_equals_string (result.error, NULL);
    fail_unless_equals_int (result.n_warnings, 0);
    fail_unless_equals_int (result.buffers->len, 20);
    for (guint j = 0; j < 20; j++) {
      GstBuffer *a = g_ptr_array_index (original.buffers, j);
      GstBuffer *b = g_ptr_array_index (result.buffers, j);
      const GstPoseMeta *x = gst_buffer_get_pose_meta (a, GST_POSE_ROLE_GROUND_TRUTH);
      const GstPoseMeta *y = gst_buffer_get_pose_meta (b, GST_POSE_ROLE_GROUND_TRUTH);
      fail_unless_equals_uint64 (GST_BUFFER_PTS (a), GST_BUFFER_PTS (b));
      fail_unless_equals_uint64 (x->timestamp, y->timestamp);
      const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (b, NULL);
      fail_unless_equals_uint64 (meta->timestamp, LOG_START + GST_BUFFER_PTS (b));
    }
    replay_clear (&result);
  }
  gst_object_unref (pad);
  gst_object_unref (in);
  gst_object_unref (pipeline);
  replay_clear (&original);
}
GST_END_TEST

/* What went over a pad, a letter an event. */
static GstPadProbeReturn
note_event (GstPad *pad, GstPadProbeInfo *info, gpointer order)
{
  static const struct {
    GstEventType type;
    gchar letter;
  } letters[] = {{GST_EVENT_STREAM_START, 's'}, {GST_EVENT_CAPS, 'c'}, {GST_EVENT_SEGMENT, 't'},
      {GST_EVENT_GAP, 'g'}, {GST_EVENT_EOS, 'e'}};
  for (guint i = 0; i < G_N_ELEMENTS (letters); i++)
    if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == letters[i].type)
      g_string_append_c (order, letters[i].letter);
  return GST_PAD_PROBE_OK;
}

/* Odometry runs for seconds before the first cloud: nothing goes out before caps. */
GST_START_TEST (test_late_cloud)
{
  static const gchar *const sources[] = {"rosbagsrc name=bag location=%s",
      "filesrc location=%s ! mcapdemux name=bag",
      "filesrc location=%s ! queue ! mcapdemux name=bag"};
  g_autofree gchar *path = get_case ("late_cloud/late.mcap");
  if (!path)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], path);
    g_autofree gchar *line =
        g_strdup_printf ("%s fakesink name=out sync=false async=false fakesink "
                         "name=poses sync=false async=false bag.cloud_0 ! out. bag.pose_0 ! poses.",
            source);
    g_autoptr (GString) clouds = g_string_new (NULL);
    g_autoptr (GString) poses = g_string_new (NULL);
    ReplayResult result;
    GstElement *pipeline = replay_launch (line, &result);
    GString *const orders[] = {clouds, poses};
    static const gchar *const sinks[] = {"out", "poses"};
    for (guint j = 0; j < 2; j++) {
      GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), sinks[j]);
      GstPad *pad = gst_element_get_static_pad (sink, "sink");
      gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, note_event, orders[j], NULL);
      gst_object_unref (pad);
      gst_object_unref (sink);
    }
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    replay_wait (pipeline, &result);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    fail_unless_equals_string (result.error, NULL);
    fail_unless_equals_int (result.buffers->len, 20);
    fail_unless (g_str_has_prefix (clouds->str, "sct") && g_str_has_suffix (clouds->str, "e"), "%s",
        clouds->str);
    fail_unless (g_str_has_prefix (poses->str, "sct"), "%s", poses->str);
    /* Where the file can be looked at ahead nobody has to wait for the first cloud. */
    if (i < 2)
      fail_unless (strchr (clouds->str, 'g') != NULL, "%s", clouds->str);
    gst_object_unref (pipeline);
    replay_clear (&result);
  }
}
GST_END_TEST

/* Poses that pass through are written as the messages that they are of, twist and all. */
GST_START_TEST (test_poses_pass)
{
  static const gchar *const fields[] = {"topic", "message-encoding", "schema-name", "schema-data"};
  g_autofree gchar *path = get_case ("clock_boot/mixed.mcap");
  ReplayResult original, copied, result;
  if (!path)
    return;
  replay_run (&result,
      "rosbagsrc name=bag location=%s mcapsink name=rec location=%s/a.mcap bag.cloud_0 ! queue ! "
      "rec.cloud_0 bag.pose_0 ! queue ! rec.pose_0",
      path, replay_folder);
  fail_unless_equals_string (result.error, NULL);
  replay_clear (&result);
  replay_run (&original, "rosbagsrc location=%s raw=true topics=</odom> ! fakesink name=out", path);
  replay_run (&copied, "rosbagsrc location=%s/a.mcap raw=true topics=</odom> ! fakesink name=out",
      replay_folder);
  fail_unless_equals_int (copied.buffers->len, 150);
  fail_unless_equals_int (original.buffers->len, 150);
  for (guint i = 0; i < 150; i++) {
    GstBuffer *a = g_ptr_array_index (original.buffers, i);
    GstBuffer *b = g_ptr_array_index (copied.buffers, i);
    GstMapInfo map;
    fail_unless (gst_buffer_map (a, &map, GST_MAP_READ));
    fail_unless_equals_int (gst_buffer_get_size (b), map.size);
    fail_unless_equals_int (gst_buffer_memcmp (b, 0, map.data, map.size), 0);
    gst_buffer_unmap (a, &map);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (a), GST_BUFFER_PTS (b));
  }
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++) {
    const GstStructure *a = gst_caps_get_structure (g_ptr_array_index (original.caps, 0), 0);
    const GstStructure *b = gst_caps_get_structure (g_ptr_array_index (copied.caps, 0), 0);
    fail_unless_equals_int (gst_value_compare (gst_structure_get_value (a, fields[i]),
                                gst_structure_get_value (b, fields[i])),
        GST_VALUE_EQUAL);
  }
  replay_clear (&original);
  replay_clear (&copied);
}
GST_END_TEST

/* Two channels of one topic, as where caps changed while mcapsink recorded: one pad. */
GST_START_TEST (test_channels_of_a_topic)
{
  static const gchar *const sources[] = {"rosbagsrc location=%s", "filesrc location=%s ! mcapdemux",
      "filesrc location=%s ! queue ! mcapdemux"};
  g_autofree gchar *path = get_case ("same_topic_channels/own.mcap");
  if (!path)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (sources) * 2; i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i / 2], path);
    ReplayResult result;
    replay_run (&result, "%s raw=%s topics=</points> ! fakesink name=out", source,
        i % 2 ? "true" : "false");
    fail_unless_equals_string (result.error, NULL);
    fail_unless_equals_int (result.buffers->len, 20);
    fail_unless (!gst_caps_is_equal (
        g_ptr_array_index (result.caps, 0), g_ptr_array_index (result.caps, 19)));
    replay_clear (&result);
  }
}
GST_END_TEST

static void
note_pad (GstElement *bag, GstPad *pad, GString *order)
{
  g_string_append (order, g_str_has_prefix (GST_PAD_NAME (pad), "cloud") ? "c" : "p");
}

static void
note_no_more_pads (GstElement *bag, GString *order)
{
  g_string_append (order, "!");
}

/* A file without a summary, whose second topic begins when it is played already. */
GST_START_TEST (test_late_channel)
{
  g_autofree gchar *path = get_case ("late_cloud/late.mcap");
  g_autofree gchar *cut = g_build_filename (replay_folder, "cut.mcap", NULL);
  g_autofree gchar *data = NULL;
  gsize size;
  if (!path)
    return;
  fail_unless (g_file_get_contents (path, &data, &size, NULL));
  fail_unless (g_file_set_contents (cut, data, (gssize)(size * 9 / 10), NULL));
  g_autofree gchar *line =
      g_strdup_printf ("rosbagsrc name=bag location=%s ! pose/x-raw ! fakesink", cut);
  g_autoptr (GString) order = g_string_new (NULL);
  ReplayResult result;
  GstElement *pipeline = replay_launch (line, &result);
  GstElement *bag = gst_bin_get_by_name (GST_BIN (pipeline), "bag");
  g_signal_connect (bag, "pad-added", G_CALLBACK (note_pad), order);
  g_signal_connect (bag, "no-more-pads", G_CALLBACK (note_no_more_pads), order);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  replay_wait (pipeline, &result);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  fail_unless_equals_string (order->str, "pc!");
  gst_object_unref (bag);
  gst_object_unref (pipeline);
  replay_clear (&result);
}
GST_END_TEST

/* A seek that keeps the end that an earlier one set, before its own start, is refused. */
GST_START_TEST (test_seek_past_stop)
{
  ReplayResult result;
  replay_record ("a.mcap", "");
  g_autofree gchar *line =
      g_strdup_printf ("rosbagsrc location=%s/a.mcap ! fakesink name=out", replay_folder);
  GstElement *pipeline = replay_launch (line, &result);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
  fail_unless (gst_element_seek (pipeline, 1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
      GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_SET, 500 * GST_MSECOND));
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
  fail_if (gst_element_seek (pipeline, 1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET,
      GST_SECOND, GST_SEEK_TYPE_NONE, 0));
  fail_if (gst_element_seek (pipeline, 1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_END,
      0, GST_SEEK_TYPE_NONE, 0));
  /* Without an end it is none. */
  fail_unless (gst_element_seek (pipeline, 1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
      GST_SEEK_TYPE_SET, GST_SECOND, GST_SEEK_TYPE_SET, -1));
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  replay_wait (pipeline, &result);
  fail_unless_equals_string (result.error, NULL);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  replay_clear (&result);
}
GST_END_TEST

static GstPadProbeReturn
set_duration (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  GST_BUFFER_DURATION (buffer) = 99 * GST_MSECOND + GST_BUFFER_PTS (buffer) / 1000 + 7;
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  return GST_PAD_PROBE_OK;
}

/* Decoders of packets know no framerate: scans have durations of their own, which come back. */
GST_START_TEST (test_duration)
{
  static const gchar *const sources[] = {"rosbagsrc location=%s/a.mcap",
      "filesrc location=%s/a.mcap ! mcapdemux", "filesrc location=%s/a.mcap ! queue ! mcapdemux"};
  ReplayResult result;
  g_autofree gchar *line =
      g_strdup_printf (REPLAY_SOURCE " name=in ! mcapsink location=%s/a.mcap", replay_folder);
  GstElement *pipeline = replay_launch (line, &result);
  GstElement *in = gst_bin_get_by_name (GST_BIN (pipeline), "in");
  GstPad *pad = gst_element_get_static_pad (in, "src");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, set_duration, NULL, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  replay_wait (pipeline, &result);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pad);
  gst_object_unref (in);
  gst_object_unref (pipeline);
  replay_clear (&result);
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], replay_folder);
    replay_run (&result, "%s ! fakesink name=out", source);
    fail_unless_equals_int (result.buffers->len, 20);
    for (guint j = 0; j < 20; j++)
      fail_unless_equals_uint64 (GST_BUFFER_DURATION (g_ptr_array_index (result.buffers, j)),
          99 * GST_MSECOND + j * 100 * GST_USECOND + 7);
    replay_clear (&result);
  }
}
GST_END_TEST

static Suite *
rosbagsrc_times_suite (void)
{
  Suite *suite = suite_create ("rosbagsrc-times");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_checked_fixture (tc, replay_setup, replay_teardown);
  tcase_add_test (tc, test_clocks_differ);
  tcase_add_test (tc, test_header_axis);
  tcase_add_test (tc, test_log_times_of_poses);
  tcase_add_test (tc, test_seek_of_other_clock);
  tcase_add_test (tc, test_own_clock);
  tcase_add_test (tc, test_duration);
  tcase_add_test (tc, test_late_cloud);
  tcase_add_test (tc, test_poses_pass);
  tcase_add_test (tc, test_channels_of_a_topic);
  tcase_add_test (tc, test_late_channel);
  tcase_add_test (tc, test_seek_past_stop);
  return suite;
}

GST_CHECK_MAIN (rosbagsrc_times);
