/* SPDX-License-Identifier: MIT */
/* Where ndtlocalize starts from after seeks, flushes and in other streams. */
#include <gst/check/gstcheck.h>

#include "tests/ndt-harness.h"

static GstBuffer *
scan_of (guint index, GstClockTime pts)
{
  GstBuffer *scan = ndt_room_scan (index);
  GST_BUFFER_PTS (scan) = pts;
  return scan;
}

static GstPadProbeReturn
answer_live (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  const gboolean *live = user_data;
  if (GST_QUERY_TYPE (query) != GST_QUERY_LATENCY)
    return GST_PAD_PROBE_OK;
  gst_query_set_latency (query, *live, 100 * GST_MSECOND, GST_CLOCK_TIME_NONE);
  return GST_PAD_PROBE_HANDLED;
}

/* A stream that begins or goes on at a time. */
static void
push_stream (GstHarness *h, const gchar *id, GstClockTime start)
{
  if (id) {
    fail_unless (gst_harness_push_event (h, gst_event_new_stream_start (id)));
    gst_harness_set_src_caps_str (h, NDT_ROOM_CAPS);
  }
  ndt_harness_push_segment (h, GST_FORMAT_TIME, start);
}

static void
flush (GstHarness *h)
{
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
}

/* What scans at these times (ms) leave with. */
static void
assert_status (GstHarness *h, GstPoseStatus status, guint n, ...)
{
  va_list times;
  va_start (times, n);
  for (guint i = 0; i < n; i++) {
    const GstClockTime pts = va_arg (times, guint) * GST_MSECOND;
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan_of (0, pts));
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), pts);
    fail_unless_equals_int (ndt_harness_estimate (out)->status, status);
    fail_unless_equals_int (
        ndt_harness_estimate (out)->has_pose, status == GST_POSE_STATUS_TRACKING);
  }
  va_end (times);
}

/* The initial pose is of where the stream began: elsewhere nothing is known, until a pose comes. */
GST_START_TEST (test_seek)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("map-search", FALSE, "initial-pose", start, NULL);
  gboolean ok = FALSE;

  push_stream (h, "a drive", 10 * GST_SECOND);
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 10300, 10400);
  ndt_harness_drop_messages (h->element);

  flush (h);
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 16 * GST_SECOND);
  assert_status (h, GST_POSE_STATUS_INITIALIZING, 2, 16000, 16100);
  g_autoptr (GstMessage) reset = ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-reset");
  fail_unless (reset != NULL);
  g_signal_emit_by_name (h->element, "set-initial-pose", start, &ok);
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 16200, 16300);

  /* Back to the beginning, and to what was already passed since. */
  flush (h);
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 10 * GST_SECOND);
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 10300, 10400);
  flush (h);
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 10350 * GST_MSECOND);
  assert_status (h, GST_POSE_STATUS_TRACKING, 1, 10350);
  flush (h);
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 5 * GST_SECOND);
  assert_status (h, GST_POSE_STATUS_INITIALIZING, 1, 5000);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-initial"), 4);

  /* A pose that is set after a seek is of the scan that comes. */
  flush (h);
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 20 * GST_SECOND);
  g_signal_emit_by_name (h->element, "set-initial-pose", start, &ok);
  assert_status (h, GST_POSE_STATUS_TRACKING, 1, 20000);
  fail_unless_equals_uint64 (ndt_harness_count (h, "backwards"), 0);
  ndt_harness_free (h);
}
GST_END_TEST

/* Before the first scan has come, what the first segment says is known. */
GST_START_TEST (test_seek_before_the_first_scan)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("map-search", FALSE, "initial-pose", start, NULL);

  flush (h);
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 6 * GST_SECOND);
  assert_status (h, GST_POSE_STATUS_INITIALIZING, 1, 6000);
  flush (h);
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 50, 150);
  ndt_harness_free (h);
}
GST_END_TEST

/* Segments that follow on, and such that do not, without a flush. */
GST_START_TEST (test_segments)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h =
      ndt_harness_new ("map-search", FALSE, "initial-pose", start, "batch-size", 4, NULL);
  GstSegment segment;

  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 0, 100);
  /* The same once more says nothing, as when a pad is linked anew. */
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 200, 5000);
  /* The next part of a recording. */
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 5 * GST_SECOND);
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 5100, 5200);
  /* Its time stamps begin anew, its stream time goes on. */
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.time = segment.base = 5300 * GST_MSECOND;
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 0, 100);
  /* A loop, from the beginning. */
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-initial"), 1);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.base = 6 * GST_SECOND;
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 0, 100);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-initial"), 2);
  /* Ahead. */
  segment.base = 7 * GST_SECOND;
  segment.start = segment.time = 3 * GST_SECOND;
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
  assert_status (h, GST_POSE_STATUS_INITIALIZING, 2, 3000, 3100);
  fail_unless_equals_uint64 (ndt_harness_count (h, "backwards"), 0);
  ndt_harness_free (h);
}
GST_END_TEST

/* Another stream is another drive, or another sensor; scans that wait before it are of the first.
 */
GST_START_TEST (test_streams)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h =
      ndt_harness_new ("map-search", FALSE, "initial-pose", start, "batch-size", 8, NULL);

  push_stream (h, "one drive", 0);
  for (guint i = 0; i < 4; i++)
    fail_unless_equals_int (gst_harness_push (h, scan_of (0, i * 100 * GST_MSECOND)), GST_FLOW_OK);
  push_stream (h, "another", 0);
  fail_unless_equals_int (gst_harness_push (h, scan_of (0, 0)), GST_FLOW_OK);
  for (guint i = 0; i < 5; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless_equals_int (ndt_harness_estimate (out)->status,
        i < 4 ? GST_POSE_STATUS_TRACKING : GST_POSE_STATUS_INITIALIZING);
  }
  push_stream (h, "another", 0);
  assert_status (h, GST_POSE_STATUS_INITIALIZING, 1, 100);
  push_stream (h, "one drive", 0);
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 0, 100);
  push_stream (h, "one drive", 0);
  assert_status (h, GST_POSE_STATUS_TRACKING, 1, 200);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-initial"), 2);
  fail_unless_equals_uint64 (ndt_harness_count (h, "backwards"), 0);
  ndt_harness_free (h);
}
GST_END_TEST

/* The vehicle is where it is, however a live stream is flushed and its times begin anew. */
GST_START_TEST (test_live_flush)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("map-search", FALSE, "initial-pose", start, NULL);
  gboolean live = TRUE;

  gst_pad_add_probe (h->srcpad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM, answer_live, &live, NULL);
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  fail_unless (
      gst_pad_peer_query (h->sinkpad, query)); /* from it the element knows that it is live */
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 0, 100);
  flush (h);
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 5000, 5100);
  flush (h);
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
  assert_status (h, GST_POSE_STATUS_TRACKING, 2, 0, 100);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-initial"), 1);
  ndt_harness_free (h);
}
GST_END_TEST

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
ndtlocalize_seek_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-seek");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_test (tc, test_seek);
  tcase_add_test (tc, test_seek_before_the_first_scan);
  tcase_add_test (tc, test_segments);
  tcase_add_test (tc, test_streams);
  tcase_add_test (tc, test_live_flush);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_seek);
