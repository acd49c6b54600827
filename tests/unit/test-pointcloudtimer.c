/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>

#include "gst/common/gstpointcloudtimer.h"

static GstElement *element;
static GstBus *bus;
static GstPointCloudTimer *timer;

static void
setup (void)
{
  element = gst_element_factory_make ("identity", NULL);
  bus = gst_bus_new ();
  gst_element_set_bus (element, bus);
  timer = gst_point_cloud_timer_new (element);
}

static void
teardown (void)
{
  gst_point_cloud_timer_free (timer);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_object_unref (element);
}

static void
set_framerate (gint n, gint d)
{
  GstPointCloudInfo info;

  gst_point_cloud_info_init (&info);
  gst_point_cloud_info_set_format (&info, GST_POINT_CLOUD_FORMAT_XYZ_F32LE);
  info.fps_n = n;
  info.fps_d = d;
  gst_point_cloud_timer_set_info (timer, &info);
}

/* Sends a segment through the timer; the one that comes out. */
static GstEvent *
send_segment (GstFormat format, guint64 start)
{
  GstSegment segment;

  gst_segment_init (&segment, format);
  segment.start = segment.time = segment.position = start;
  return gst_point_cloud_timer_segment (timer, gst_event_new_segment (&segment));
}

static GstClockTime
stamp_duration (GstClockTime pts, GstClockTime *duration)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();

  GST_BUFFER_PTS (buffer) = pts;
  buffer = gst_point_cloud_timer_stamp (timer, g_steal_pointer (&buffer));
  if (duration)
    *duration = GST_BUFFER_DURATION (buffer);
  return GST_BUFFER_PTS (buffer);
}

static GstClockTime
stamp (GstClockTime pts)
{
  return stamp_duration (pts, NULL);
}

#define NONE GST_CLOCK_TIME_NONE
#define assert_stamp(pts, expected) fail_unless_equals_uint64 (stamp (pts), expected)

/* Number of warnings posted since the last call; all of them by the element. */
static guint
count_warnings (const gchar *text)
{
  GstMessage *message;
  guint n = 0;

  while ((message = gst_bus_pop (bus))) {
    g_autoptr (GError) error = NULL;

    fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_WARNING);
    gst_message_parse_warning (message, &error, NULL);
    fail_unless (strstr (error->message, text) != NULL, "%s", error->message);
    gst_message_unref (message);
    n++;
  }
  return n;
}

static gchar *
write_times (const gchar *text)
{
  g_autoptr (GError) error = NULL;
  gchar *path = NULL;
  gint fd = g_file_open_tmp ("times-XXXXXX.txt", &path, &error);

  fail_unless (fd >= 0, "%s", error ? error->message : NULL);
  g_close (fd, NULL);
  fail_unless (g_file_set_contents (path, text, -1, NULL));
  return path;
}

static void
set_times (const gchar *text)
{
  g_autofree gchar *path = write_times (text);
  g_autoptr (GError) error = NULL;
  gboolean done = gst_point_cloud_timer_set_times_location (timer, path, &error);

  g_unlink (path);
  fail_unless (done, "%s", error ? error->message : NULL);
}

GST_START_TEST (test_bytes_segment)
{
  static const GstFormat others[] = {GST_FORMAT_BYTES, GST_FORMAT_DEFAULT, GST_FORMAT_BUFFERS};

  for (guint i = 0; i < G_N_ELEMENTS (others); i++) {
    GstSegment segment;
    const GstSegment *sent;
    GstEvent *event;
    g_autoptr (GstEvent) result = NULL;
    guint32 seqnum;

    gst_segment_init (&segment, others[i]);
    segment.start = segment.position = 4096;
    event = gst_event_new_segment (&segment);
    seqnum = gst_event_get_seqnum (event);
    result = gst_point_cloud_timer_segment (timer, event);
    fail_unless_equals_int (gst_event_get_seqnum (result), seqnum);
    gst_event_parse_segment (result, &sent);
    fail_unless_equals_int (sent->format, GST_FORMAT_TIME);
    fail_unless_equals_uint64 (sent->start, 0);
    fail_unless_equals_uint64 (sent->time, 0);
    fail_unless_equals_uint64 (sent->stop, NONE);
    fail_unless (gst_segment_is_equal (sent, gst_point_cloud_timer_get_segment (timer)));
  }
}
GST_END_TEST;

GST_START_TEST (test_time_segment)
{
  GstSegment segment;
  GstEvent *event;
  g_autoptr (GstEvent) result = NULL;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.position = 5 * GST_SECOND;
  segment.base = GST_SECOND;
  segment.rate = 2;
  event = gst_event_new_segment (&segment);
  result = gst_point_cloud_timer_segment (timer, event);
  fail_unless (result == event);
  fail_unless (gst_segment_is_equal (&segment, gst_point_cloud_timer_get_segment (timer)));

  /* Scans without stamps begin where the segment does: none would be clipped. */
  set_framerate (10, 1);
  assert_stamp (NONE, 5 * GST_SECOND);
  assert_stamp (NONE, 5 * GST_SECOND + 100 * GST_MSECOND);
}
GST_END_TEST;

GST_START_TEST (test_framerate)
{
  GstClockTime duration;

  gst_event_unref (send_segment (GST_FORMAT_BYTES, 0));
  set_framerate (30, 1);
  /* index / framerate, rounded once: sums of rounded periods would drift. */
  for (guint i = 0; i < 1000; i++) {
    fail_unless_equals_uint64 (
        stamp_duration (NONE, &duration), gst_util_uint64_scale (i, GST_SECOND, 30));
    fail_unless_equals_uint64 (duration, GST_SECOND / 30);
  }
  fail_unless_equals_uint64 (gst_point_cloud_timer_get_segment (timer)->position,
      gst_util_uint64_scale (999, GST_SECOND, 30));
  fail_unless_equals_int (gst_point_cloud_timer_get_n_backwards (timer), 0);

  /* A new framerate goes on from there. */
  set_framerate (3, 2);
  assert_stamp (NONE, gst_util_uint64_scale (1000, GST_SECOND, 30));
  assert_stamp (NONE,
      gst_util_uint64_scale (1000, GST_SECOND, 30) + gst_util_uint64_scale (2, GST_SECOND, 3));

  /* After a flush it begins anew, with the framerate known. */
  gst_point_cloud_timer_reset (timer);
  gst_event_unref (send_segment (GST_FORMAT_BYTES, 0));
  assert_stamp (NONE, 0);
  assert_stamp (NONE, gst_util_uint64_scale (2, GST_SECOND, 3));
  fail_unless_equals_int (count_warnings (""), 0);
}
GST_END_TEST;

GST_START_TEST (test_no_framerate)
{
  GstClockTime duration;

  gst_event_unref (send_segment (GST_FORMAT_BYTES, 0));
  set_framerate (0, 1);
  assert_stamp (NONE, 0);
  fail_unless_equals_uint64 (stamp_duration (NONE, &duration), 100 * GST_MSECOND);
  fail_unless_equals_uint64 (duration, NONE);
  assert_stamp (NONE, 200 * GST_MSECOND);
  fail_unless_equals_int (count_warnings ("10 scans per second are assumed"), 1);
}
GST_END_TEST;

GST_START_TEST (test_valid_stamps)
{
  GstClockTime duration;
  GstBuffer *buffer, *result;

  gst_event_unref (send_segment (GST_FORMAT_TIME, 0));
  set_framerate (0, 1);
  assert_stamp (7 * GST_SECOND, 7 * GST_SECOND);
  assert_stamp (9 * GST_SECOND, 9 * GST_SECOND);
  fail_unless_equals_int (count_warnings (""), 0);

  set_framerate (10, 1);
  assert_stamp (10 * GST_SECOND, 10 * GST_SECOND);
  /* One that lacks its stamp comes a period after the one before. */
  assert_stamp (NONE, 10 * GST_SECOND + 100 * GST_MSECOND);
  assert_stamp (NONE, 10 * GST_SECOND + 200 * GST_MSECOND);
  assert_stamp (11 * GST_SECOND, 11 * GST_SECOND);
  fail_unless_equals_int (gst_point_cloud_timer_get_n_backwards (timer), 0);

  /* Backwards: passed as it is, and counted. */
  assert_stamp (5 * GST_SECOND, 5 * GST_SECOND);
  assert_stamp (5 * GST_SECOND, 5 * GST_SECOND);
  assert_stamp (6 * GST_SECOND, 6 * GST_SECOND);
  fail_unless_equals_int (gst_point_cloud_timer_get_n_backwards (timer), 1);
  assert_stamp (0, 0);
  fail_unless_equals_int (gst_point_cloud_timer_get_n_backwards (timer), 2);
  /* Not from one segment to the next. */
  assert_stamp (20 * GST_SECOND, 20 * GST_SECOND);
  gst_event_unref (send_segment (GST_FORMAT_TIME, 0));
  assert_stamp (0, 0);
  fail_unless_equals_int (gst_point_cloud_timer_get_n_backwards (timer), 2);
  gst_point_cloud_timer_reset (timer);
  fail_unless_equals_int (gst_point_cloud_timer_get_n_backwards (timer), 0);

  /* A duration that is there stays, one that is missing is set. */
  stamp_duration (GST_SECOND, &duration);
  fail_unless_equals_uint64 (duration, 100 * GST_MSECOND);
  buffer = gst_buffer_new ();
  GST_BUFFER_PTS (buffer) = 2 * GST_SECOND;
  GST_BUFFER_DURATION (buffer) = 1;
  gst_buffer_ref (buffer); /* shared: it would be copied if it were touched */
  result = gst_point_cloud_timer_stamp (timer, buffer);
  fail_unless (result == buffer);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (result), 1);
  gst_buffer_unref (result);
  gst_buffer_unref (buffer);
}
GST_END_TEST;

/* A buffer that others hold as well is not altered; its memory is shared. */
GST_START_TEST (test_shared_buffer)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new_allocate (NULL, 12, NULL);
  g_autoptr (GstBuffer) result = NULL;

  set_framerate (10, 1);
  result = gst_point_cloud_timer_stamp (timer, gst_buffer_ref (buffer));
  fail_unless (result != buffer);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), NONE);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (result), 0);
  fail_unless (gst_buffer_peek_memory (result, 0) == gst_buffer_peek_memory (buffer, 0));
}
GST_END_TEST;

GST_START_TEST (test_times)
{
  const GstSegment *segment;
  g_autoptr (GstEvent) event = NULL;

  set_times ("# time of each scan\n"
             "1317013362.594360375 a b\n"
             "\n"
             "  1317013362.698,1 # late\n"
             "1.3170133638e+09\r\n"
             "1");
  set_framerate (10, 1);
  event = send_segment (GST_FORMAT_BYTES, 0);
  /* From the earliest on: nothing is clipped, and running time begins at 0. */
  gst_event_parse_segment (event, &segment);
  fail_unless_equals_uint64 (segment->start, G_GUINT64_CONSTANT (1000000000));
  fail_unless_equals_uint64 (segment->time, segment->start);
  assert_stamp (NONE, G_GUINT64_CONSTANT (1317013362594360375));
  assert_stamp (NONE, G_GUINT64_CONSTANT (1317013362698000000));
  assert_stamp (NONE, G_GUINT64_CONSTANT (1317013363800000000));
  assert_stamp (NONE, G_GUINT64_CONSTANT (1000000000));
  fail_unless_equals_int (gst_point_cloud_timer_get_n_backwards (timer), 1);
  fail_unless_equals_int (count_warnings (""), 0);
  /* Beyond the end. */
  assert_stamp (NONE, G_GUINT64_CONSTANT (1100000000));
  assert_stamp (NONE, G_GUINT64_CONSTANT (1200000000));
  fail_unless_equals_int (count_warnings ("has 4 lines only"), 1);

  /* The file stays after a flush; it goes when it is unset. */
  gst_point_cloud_timer_reset (timer);
  assert_stamp (NONE, G_GUINT64_CONSTANT (1317013362594360375));
  fail_unless (gst_point_cloud_timer_set_times_location (timer, NULL, NULL));
  gst_point_cloud_timer_reset (timer);
  assert_stamp (NONE, 0);
}
GST_END_TEST;

/* Lines belong to scans by number, also where a scan before brought its own time. */
GST_START_TEST (test_times_beside_stamps)
{
  set_times ("0\n1\n2\n3.0000000019\n");
  set_framerate (10, 1);
  assert_stamp (NONE, 0);
  assert_stamp (1500 * GST_MSECOND, 1500 * GST_MSECOND);
  assert_stamp (NONE, 2 * GST_SECOND);
  assert_stamp (NONE, 3 * GST_SECOND + 1);
}
GST_END_TEST;

static const struct {
  const gchar *text;
  const gchar *reason;
} no_times[] = {
    {"", "holds no times"},
    {"# nothing\n\n", "holds no times"},
    {"0\n2011-09-26 13:02:25.594\n", "line 2: \"2011-09-26\" is no time"},
    {"0\n\n-0.1\n", "line 3: \"-0.1\" is no time"},
    {"nan\n", "line 1: \"nan\" is no time"},
    {"inf\n", "line 1: \"inf\" is no time"},
    {"9223372036\n", "line 1: \"9223372036\" is no time"},
    {"1.2.3\n", "line 1: \"1.2.3\" is no time"},
    {"frame,time\n0,1\n", "line 1: \"frame\" is no time"},
};

GST_START_TEST (test_no_times)
{
  g_autofree gchar *path = write_times (no_times[__i__].text);
  g_autoptr (GError) error = NULL;
  gboolean done;

  set_times ("5\n");
  done = gst_point_cloud_timer_set_times_location (timer, path, &error);
  g_unlink (path);
  fail_if (done);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ));
  fail_unless (strstr (error->message, no_times[__i__].reason) != NULL, "%s", error->message);
  fail_unless (strstr (error->message, path) != NULL, "%s", error->message);
  assert_stamp (NONE, 5 * GST_SECOND); /* those set before are still there */
}
GST_END_TEST;

GST_START_TEST (test_missing_file)
{
  g_autoptr (GError) error = NULL;

  fail_if (gst_point_cloud_timer_set_times_location (timer, "/no/such/times.txt", &error));
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
  fail_unless (strstr (error->message, "/no/such/times.txt") != NULL);
  g_clear_error (&error);
  fail_if (gst_point_cloud_timer_set_times_location (timer, g_get_tmp_dir (), &error));
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
}
GST_END_TEST;

static Suite *
pointcloudtimer_suite (void)
{
  Suite *suite = suite_create ("pointcloudtimer");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_checked_fixture (tests, setup, teardown);
  tcase_add_test (tests, test_bytes_segment);
  tcase_add_test (tests, test_time_segment);
  tcase_add_test (tests, test_framerate);
  tcase_add_test (tests, test_no_framerate);
  tcase_add_test (tests, test_valid_stamps);
  tcase_add_test (tests, test_shared_buffer);
  tcase_add_test (tests, test_times);
  tcase_add_test (tests, test_times_beside_stamps);
  tcase_add_loop_test (tests, test_no_times, 0, G_N_ELEMENTS (no_times));
  tcase_add_test (tests, test_missing_file);
  return suite;
}

GST_CHECK_MAIN (pointcloudtimer);
