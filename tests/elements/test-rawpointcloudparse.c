/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define NONE GST_CLOCK_TIME_NONE

static GstHarness *harness;
static GstBus *bus;

static void
setup (void)
{
  harness = gst_harness_new ("rawpointcloudparse");
  bus = gst_bus_new ();
  gst_element_set_bus (harness->element, bus);
}

static void
teardown (void)
{
  gst_element_set_bus (harness->element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (harness);
}

/* What multifilesrc sends first. */
static void
begin_stream (const gchar *caps, GstFormat format)
{
  GstSegment segment;

  gst_segment_init (&segment, format);
  fail_unless (gst_harness_push_event (harness, gst_event_new_stream_start ("test")));
  if (caps) {
    g_autoptr (GstCaps) parsed = gst_caps_from_string (caps);
    gst_harness_push_event (harness, gst_event_new_caps (parsed));
  }
  gst_harness_push_event (harness, gst_event_new_segment (&segment));
}

/* Points along a wall as a sensor sees it, with @n_numbers floats each, x, y, z first. */
static GstBuffer *
make_scan (guint n, guint n_numbers)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, (gsize)n * n_numbers * 4, NULL);
  GstMapInfo map;

  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  memset (map.data, 0, map.size);
  for (guint i = 0; i < n; i++) {
    const gfloat point[] = {20.0f + 0.01f * (gfloat)i, -8.0f + 0.05f * (gfloat)i,
        -1.5f + 0.1f * (gfloat)(i % 16), 0.3f};
    memcpy (map.data + (gsize)i * n_numbers * 4, point, MIN (n_numbers, 4) * 4);
  }
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

static GstFlowReturn
push (GstBuffer *buffer, GstClockTime pts)
{
  GST_BUFFER_PTS (buffer) = pts;
  return gst_harness_push (harness, buffer);
}

static void
check_scan (gsize size, GstClockTime pts, GstClockTime duration)
{
  g_autoptr (GstBuffer) scan = gst_harness_try_pull (harness);

  fail_unless (scan != NULL);
  fail_unless_equals_uint64 (gst_buffer_get_size (scan), size);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (scan), pts);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (scan), duration);
}

/* The next message of a type has a text in it. */
static void
check_message (GstMessageType type, const gchar *text)
{
  g_autoptr (GstMessage) message =
      gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  g_autoptr (GError) error = NULL;

  fail_unless (message != NULL, "no message with \"%s\"", text);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), type);
  if (type == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  else
    gst_message_parse_warning (message, &error, NULL);
  fail_unless (strstr (error->message, text) != NULL, "%s", error->message);
}

static void
check_no_message (void)
{
  fail_if (gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING));
}

static void
check_caps (const gchar *text)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (harness->sinkpad);
  g_autoptr (GstCaps) expected = gst_caps_from_string (text);
  GstPointCloudInfo info, wanted;

  fail_unless (gst_point_cloud_info_from_caps (&info, caps, NULL));
  fail_unless (gst_point_cloud_info_from_caps (&wanted, expected, NULL));
  fail_unless (gst_point_cloud_info_is_equal (&info, &wanted), "%" GST_PTR_FORMAT, caps);
}

static const GstSegment *
get_segment (void)
{
  g_autoptr (GstEvent) event = gst_pad_get_sticky_event (harness->sinkpad, GST_EVENT_SEGMENT, 0);
  const GstSegment *segment;

  fail_unless (event != NULL);
  gst_event_parse_segment (event, &segment);
  return segment; /* the pad has the event */
}

/* Layout by the caps that come. */
GST_START_TEST (test_caps)
{
  begin_stream (
      "pointcloud/x-raw, format=XYZI_F32LE, framerate=30/1, frame-id=velo", GST_FORMAT_BYTES);
  check_caps ("pointcloud/x-raw, format=XYZI_F32LE, framerate=30/1, frame-id=velo");
  fail_unless_equals_int (get_segment ()->format, GST_FORMAT_TIME);
  fail_unless_equals_uint64 (get_segment ()->start, 0);
  /* index / framerate, rounded once. */
  for (guint i = 0; i < 100; i++) {
    fail_unless_equals_int (push (make_scan (200, 4), NONE), GST_FLOW_OK);
    check_scan (3200, gst_util_uint64_scale (i, GST_SECOND, 30), GST_SECOND / 30);
  }
  /* An empty scan is a scan. */
  fail_unless_equals_int (push (gst_buffer_new (), NONE), GST_FLOW_OK);
  check_scan (0, gst_util_uint64_scale (100, GST_SECOND, 30), GST_SECOND / 30);
  check_no_message ();

  /* A flush begins at 0 again. */
  fail_unless (gst_harness_push_event (harness, gst_event_new_flush_start ()));
  fail_unless (gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE)));
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  fail_unless (gst_harness_push_event (harness, gst_event_new_segment (&segment)));
  fail_unless_equals_int (push (make_scan (200, 4), NONE), GST_FLOW_OK);
  check_scan (3200, 0, GST_SECOND / 30);
}
GST_END_TEST;

/* Properties alone, and before what caps say. */
GST_START_TEST (test_properties)
{
  gst_util_set_object_arg (G_OBJECT (harness->element), "format", "XYZI_F32LE");
  gst_util_set_object_arg (G_OBJECT (harness->element), "framerate", "5/1");
  g_object_set (harness->element, "width", 20, "height", 10, "frame-id", "lidar", NULL);
  if (__i__ == 0)
    begin_stream (NULL, GST_FORMAT_BYTES);
  else if (__i__ == 1)
    begin_stream ("application/octet-stream", GST_FORMAT_BYTES);
  else
    begin_stream (
        "pointcloud/x-raw, format=XYZ_F64LE, width=3, height=4, framerate=1/1, frame-id=x",
        GST_FORMAT_BYTES);
  check_caps (
      "pointcloud/x-raw, format=XYZI_F32LE, width=20, height=10, framerate=5/1, frame-id=lidar");
  fail_unless_equals_int (push (make_scan (200, 4), NONE), GST_FLOW_OK);
  check_scan (3200, 0, 200 * GST_MSECOND);
}
GST_END_TEST;

GST_START_TEST (test_custom)
{
  g_object_set (
      harness->element, "fields", "x:F32:0,y:F32:4,z:F32:8,ring:U16:12", "point-step", 20, NULL);
  begin_stream (NULL, GST_FORMAT_BYTES);
  check_caps ("pointcloud/x-raw, format=CUSTOM, fields=\"x:F32:0,y:F32:4,z:F32:8,ring:U16:12\", "
              "point-step=20");
  fail_unless_equals_int (push (make_scan (200, 5), NONE), GST_FLOW_OK);
  check_scan (4000, 0, NONE);
  check_message (GST_MESSAGE_WARNING, "10 scans per second are assumed");
}
GST_END_TEST;

static const struct {
  const gchar *caps, *property, *value, *reason;
} refused[] = {
    {NULL, NULL, NULL, "\"format\""},
    {"application/octet-stream", NULL, NULL, "\"format\""},
    {"pointcloud/x-raw, framerate=10/1", NULL, NULL, "\"format\""},
    {NULL, "fields", "x:F32:0,y:F32:4,z:F32:8", "\"point-step\" is missing"},
    {NULL, "format", "CUSTOM", "\"fields\" is missing"},
    {"pointcloud/x-raw, format=XYZ_F32LE", "width", "3", "width"},
    {"pointcloud/x-raw, format=CUSTOM, fields=\"a:F32:0\", point-step=4", NULL, NULL, "\"x\""},
};

GST_START_TEST (test_refused)
{
  if (refused[__i__].property)
    gst_util_set_object_arg (
        G_OBJECT (harness->element), refused[__i__].property, refused[__i__].value);
  begin_stream (refused[__i__].caps, GST_FORMAT_BYTES);
  fail_if (push (make_scan (200, 3), NONE) == GST_FLOW_OK);
  check_message (GST_MESSAGE_ERROR, refused[__i__].reason);
}
GST_END_TEST;

/* A stream that is on time already passes as it is. */
GST_START_TEST (test_time)
{
  begin_stream ("pointcloud/x-raw, format=XYZI_F32LE", GST_FORMAT_TIME);
  GstBuffer *scan = make_scan (200, 4);
  GST_BUFFER_DURATION (scan) = 7;
  fail_unless_equals_int (push (scan, 3 * GST_SECOND), GST_FLOW_OK);
  check_scan (3200, 3 * GST_SECOND, 7);
  fail_unless_equals_int (push (make_scan (200, 4), 2 * GST_SECOND), GST_FLOW_OK);
  check_scan (3200, 2 * GST_SECOND, NONE);
  check_no_message ();
}
GST_END_TEST;

static gchar *
write_file (const gchar *text)
{
  gchar *path = NULL;

  g_close (g_file_open_tmp ("times-XXXXXX", &path, NULL), NULL);
  fail_unless (g_file_set_contents (path, text, -1, NULL));
  return path;
}

GST_START_TEST (test_times)
{
  g_autofree gchar *path = write_file ("# seconds\n1317013362.594360375\n1317013362.698\n");

  gst_element_set_state (harness->element, GST_STATE_NULL);
  g_object_set (harness->element, "times-location", path, NULL);
  fail_unless_equals_int (
      gst_element_set_state (harness->element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
  g_unlink (path);
  begin_stream ("pointcloud/x-raw, format=XYZI_F32LE, framerate=10/1", GST_FORMAT_BYTES);
  fail_unless_equals_uint64 (get_segment ()->start, G_GUINT64_CONSTANT (1317013362594360375));
  for (guint i = 0; i < 3; i++)
    fail_unless_equals_int (push (make_scan (200, 4), NONE), GST_FLOW_OK);
  check_scan (3200, G_GUINT64_CONSTANT (1317013362594360375), 100 * GST_MSECOND);
  check_scan (3200, G_GUINT64_CONSTANT (1317013362698000000), 100 * GST_MSECOND);
  check_scan (3200, G_GUINT64_CONSTANT (1317013362798000000), 100 * GST_MSECOND);
  check_message (GST_MESSAGE_WARNING, "has 2 lines only");
}
GST_END_TEST;

/* Each has a scan of a layout that is not that of the caps. */
static const struct {
  const gchar *caps;
  guint n, n_numbers;
  const gchar *reason;
} wrong[] = {
    {"XYZ_F32LE", 300, 4, "XYZI_F32LE"}, /* 4800 bytes are 400 points of 12 as well */
    {"XYZ_F32LE", 301, 4, "XYZI_F32LE"}, /* and these are none */
    {"XYZI_F32LE", 300, 3, "XYZ_F32LE"}, {"XYZ_F64LE", 300, 4, "XYZI_F32LE"},
    {"XYZI_F32LE", 301, 5, "20 bytes"},
    {"XYZI_F32LE", 11, 3, "XYZ_F32LE (12 bytes)"}, /* too few numbers: by its size */
};

GST_START_TEST (test_wrong_layout)
{
  g_autofree gchar *caps =
      g_strdup_printf ("pointcloud/x-raw, format=%s, framerate=10/1", wrong[__i__].caps);

  begin_stream (caps, GST_FORMAT_BYTES);
  GstBuffer *scan = make_scan (wrong[__i__].n, wrong[__i__].n_numbers);
  fail_unless_equals_int (push (scan, NONE), GST_FLOW_ERROR);
  check_message (GST_MESSAGE_ERROR, wrong[__i__].reason);
}
GST_END_TEST;

/* Integers read as coordinates. */
GST_START_TEST (test_absurd)
{
  GstBuffer *scan = gst_buffer_new_allocate (NULL, 200 * 12, NULL);
  GstMapInfo map;

  begin_stream ("pointcloud/x-raw, format=XYZ_F32LE", GST_FORMAT_BYTES);
  gst_buffer_map (scan, &map, GST_MAP_WRITE);
  for (guint i = 0; i < 600; i++)
    ((gint32 *)(gpointer)map.data)[i] = (gint32)(i * 37 % 30000);
  gst_buffer_unmap (scan, &map);
  fail_unless_equals_int (push (scan, NONE), GST_FLOW_ERROR);
  check_message (GST_MESSAGE_ERROR, "no numbers of a measurement");
}
GST_END_TEST;

/* Points that were not measured are NaN, or zero, in as many places as may be. */
GST_START_TEST (test_unmeasured)
{
  GstBuffer *scan = make_scan (300, 4);
  GstMapInfo map;

  begin_stream ("pointcloud/x-raw, format=XYZI_F32LE, framerate=1/1", GST_FORMAT_BYTES);
  gst_buffer_map (scan, &map, GST_MAP_WRITE);
  for (guint i = 0; i < 290; i++)
    for (guint k = 0; k < 3; k++)
      ((gfloat *)(gpointer)map.data)[4 * i + k] = __i__ ? 0 : NAN;
  gst_buffer_unmap (scan, &map);
  fail_unless_equals_int (push (scan, NONE), GST_FLOW_OK);
  check_scan (4800, 0, GST_SECOND);
}
GST_END_TEST;

/* One bad scan among good ones costs itself, and the others keep their times. */
GST_START_TEST (test_bad_scan)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 n_scans, n_bad;
  GstEvent *event;
  gboolean gap = FALSE;

  begin_stream ("pointcloud/x-raw, format=XYZI_F32LE, framerate=10/1", GST_FORMAT_BYTES);
  fail_unless_equals_int (push (make_scan (200, 4), NONE), GST_FLOW_OK);
  fail_unless_equals_int (push (gst_buffer_new_allocate (NULL, 33, NULL), NONE), GST_FLOW_OK);
  fail_unless_equals_int (push (make_scan (200, 4), NONE), GST_FLOW_OK);
  check_scan (3200, 0, 100 * GST_MSECOND);
  check_scan (3200, 200 * GST_MSECOND, 100 * GST_MSECOND);
  check_message (GST_MESSAGE_WARNING, "Scan 1 is left out");
  while ((event = gst_harness_try_pull_event (harness))) {
    if (GST_EVENT_TYPE (event) == GST_EVENT_GAP) {
      GstClockTime time, duration;
      gst_event_parse_gap (event, &time, &duration);
      fail_unless_equals_uint64 (time, 100 * GST_MSECOND);
      gap = TRUE;
    }
    gst_event_unref (event);
  }
  fail_unless (gap);
  g_object_get (harness->element, "stats", &stats, NULL);
  fail_unless_equals_string (
      gst_structure_get_name (stats), "application/x-rawpointcloudparse-stats");
  fail_unless (gst_structure_get (
      stats, "scans", G_TYPE_UINT64, &n_scans, "bad", G_TYPE_UINT64, &n_bad, NULL));
  fail_unless_equals_uint64 (n_scans, 2);
  fail_unless_equals_uint64 (n_bad, 1);
}
GST_END_TEST;

/* A stream of bytes in pieces of any size. */
GST_START_TEST (test_cut)
{
  static const guint pieces[] = {1, 7, 4096, 16 * 200, 16 * 200 * 3};
  const guint piece = pieces[__i__];

  g_object_set (harness->element, "points-per-scan", 200, NULL);
  begin_stream ("pointcloud/x-raw, format=XYZI_F32LE, framerate=10/1", GST_FORMAT_BYTES);
  g_autoptr (GstBuffer) all = make_scan (200 * 5, 4);
  const gsize size = gst_buffer_get_size (all);
  gst_buffer_ref (all);
  g_autoptr (GstBuffer) stream = gst_buffer_append (all, gst_buffer_new_memdup ("rest", 4));
  for (gsize at = 0; at < size + 4; at += piece)
    fail_unless_equals_int (push (gst_buffer_copy_region (stream, GST_BUFFER_COPY_MEMORY, at,
                                      MIN (piece, size + 4 - at)),
                                NONE),
        GST_FLOW_OK);
  fail_unless (gst_harness_push_event (harness, gst_event_new_eos ()));
  for (guint i = 0; i < 5; i++) {
    g_autoptr (GstBuffer) scan = gst_harness_try_pull (harness);
    g_autoptr (GstBuffer) part =
        gst_buffer_copy_region (stream, GST_BUFFER_COPY_MEMORY, i * 3200, 3200);
    GstMapInfo a;
    fail_unless (scan != NULL);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (scan), i * 100 * GST_MSECOND);
    gst_buffer_map (part, &a, GST_MAP_READ);
    fail_unless_equals_int (gst_buffer_memcmp (scan, 0, a.data, a.size), 0);
    fail_unless_equals_uint64 (gst_buffer_get_size (scan), 3200);
    gst_buffer_unmap (part, &a);
  }
  fail_if (gst_harness_try_pull (harness));
  check_message (GST_MESSAGE_WARNING, "4 bytes are left over");
}
GST_END_TEST;

/* filesrc sends pieces of a file, which would be scans of any size. */
GST_START_TEST (test_filesrc)
{
  g_autofree gchar *path = write_file ("0123456789abcdef0123456789abcdef");
  g_autoptr (GError) error = NULL;
  g_autofree gchar *line =
      g_strdup_printf ("filesrc location=%s ! rawpointcloudparse format=XYZI_F32LE%s ! fakesink",
          path, __i__ ? " points-per-scan=2 framerate=1/1" : "");
  GstElement *pipeline = gst_parse_launch (line, &error);
  fail_unless (pipeline != NULL, "%s", error ? error->message : NULL);
  GstBus *own = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_autoptr (GstMessage) message =
      gst_bus_timed_pop_filtered (own, NONE, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), __i__ ? GST_MESSAGE_EOS : GST_MESSAGE_ERROR);
  if (__i__ == 0) {
    gst_message_parse_error (message, &error, NULL);
    fail_unless (strstr (error->message, "points-per-scan") != NULL, "%s", error->message);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (own);
  gst_object_unref (pipeline);
  g_unlink (path);
}
GST_END_TEST;

static Suite *
rawpointcloudparse_suite (void)
{
  Suite *suite = suite_create ("rawpointcloudparse");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_checked_fixture (tests, setup, teardown);
  tcase_add_test (tests, test_caps);
  tcase_add_loop_test (tests, test_properties, 0, 3);
  tcase_add_test (tests, test_custom);
  tcase_add_loop_test (tests, test_refused, 0, G_N_ELEMENTS (refused));
  tcase_add_test (tests, test_time);
  tcase_add_test (tests, test_times);
  tcase_add_loop_test (tests, test_wrong_layout, 0, G_N_ELEMENTS (wrong));
  tcase_add_test (tests, test_absurd);
  tcase_add_loop_test (tests, test_unmeasured, 0, 2);
  tcase_add_test (tests, test_bad_scan);
  tcase_add_loop_test (tests, test_cut, 0, 5);
  tcase_add_loop_test (tests, test_filesrc, 0, 2);
  return suite;
}

GST_CHECK_MAIN (rawpointcloudparse);
