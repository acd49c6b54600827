/* SPDX-License-Identifier: MIT */
/* ndtlocalize's answers to LATENCY queries, and scans that wait too long. */
#include <gst/check/gstcheck.h>

#include "tests/ndt-harness.h"

static void
assert_latency (GstHarness *h, gboolean live, GstClockTime min, GstClockTime max)
{
  GstQuery *query = gst_query_new_latency ();
  gboolean is_live;
  GstClockTime is_min, is_max;

  fail_unless (gst_pad_peer_query (h->sinkpad, query));
  gst_query_parse_latency (query, &is_live, &is_min, &is_max);
  fail_unless_equals_int (is_live, live);
  fail_unless_equals_uint64 (is_min, min);
  fail_unless_equals_uint64 (is_max, max);
  gst_query_unref (query);
}

static GstPadProbeReturn
answer_latency (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  const GstClockTime *max = user_data;
  if (GST_QUERY_TYPE (query) != GST_QUERY_LATENCY)
    return GST_PAD_PROBE_OK;
  gst_query_set_latency (query, TRUE, 100 * GST_MSECOND, *max);
  return GST_PAD_PROBE_HANDLED;
}

/* Minimum: what a batch waits for and an alignment may take; maximum: what the queue holds. */
GST_START_TEST (test_latency)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  GstClockTime max = 200 * GST_MSECOND;

  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  gst_pad_add_probe (h->srcpad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM, answer_latency, &max, NULL);
  /* 8 scans of 100 ms wait by default; 2 are the least. */
  assert_latency (h, TRUE, 120 * GST_MSECOND, 1000 * GST_MSECOND);
  g_object_set (h->element, "batch-size", 1, NULL);
  assert_latency (h, TRUE, 120 * GST_MSECOND, 400 * GST_MSECOND);

  ndt_harness_drop_messages (h->element);
  g_object_set (h->element, "batch-size", 16, "batch-timeout", 30 * GST_MSECOND,
      "processing-deadline", 5 * GST_MSECOND, NULL);
  assert_latency (h, TRUE, 135 * GST_MSECOND, 1800 * GST_MSECOND);
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstMessage) message = ndt_harness_message (h->element, GST_MESSAGE_LATENCY, NULL);
    fail_unless (message != NULL, "a change of latency was not posted");
  }

  /* A batch of one does not wait for another. */
  g_object_set (h->element, "batch-size", 1, NULL);
  assert_latency (h, TRUE, 105 * GST_MSECOND, 400 * GST_MSECOND);
  g_object_set (h->element, "batch-size", 16, NULL);
  ndt_harness_drop_messages (h->element);

  max = GST_CLOCK_TIME_NONE;
  assert_latency (h, TRUE, 135 * GST_MSECOND, GST_CLOCK_TIME_NONE);
  max = 200 * GST_MSECOND;
  gst_harness_set_src_caps_str (h, "pointcloud/x-raw,format=XYZ_F32LE,framerate=0/1");
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (1)));
  assert_latency (h, TRUE, 135 * GST_MSECOND, GST_CLOCK_TIME_NONE);
  g_autoptr (GstMessage) message = ndt_harness_message (h->element, GST_MESSAGE_LATENCY, NULL);
  fail_unless (message != NULL, "a change of framerate was not posted");
  ndt_harness_free (h);
}
GST_END_TEST

/* Posted messages of LATENCY so far. */
static guint
count_latency_messages (GstHarness *h)
{
  guint n = 0;
  for (;;) {
    g_autoptr (GstMessage) message = ndt_harness_message (h->element, GST_MESSAGE_LATENCY, NULL);
    if (!message)
      return n;
    n++;
  }
}

/* A pose pad brings its latency with it, and takes it away: both are posted. */
GST_START_TEST (test_latency_of_pose_pads)
{
  GstHarness *h = ndt_harness_new ("batch-size", 2, NULL);
  GstClockTime max = GST_CLOCK_TIME_NONE;

  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  count_latency_messages (h);
  g_autoptr (GstPad) pad = gst_element_request_pad_simple (h->element, "pose_%u");
  fail_unless_equals_int (count_latency_messages (h), 1);

  /* Whoever links to it later sends a STREAM_START. */
  g_autoptr (GstPad) source = gst_pad_new ("source", GST_PAD_SRC);
  gst_pad_add_probe (source, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM, answer_latency, &max, NULL);
  gst_pad_set_active (source, TRUE);
  fail_unless_equals_int (gst_pad_link (source, pad), GST_PAD_LINK_OK);
  fail_unless (gst_pad_push_event (source, gst_event_new_stream_start ("poses")));
  fail_unless_equals_int (count_latency_messages (h), 1);
  /* With the time that a scan may wait for poses. */
  assert_latency (h, TRUE, 320 * GST_MSECOND, GST_CLOCK_TIME_NONE);
  max = 200 * GST_MSECOND;
  g_object_set (h->element, "pose-latency", 50 * GST_MSECOND, NULL);
  assert_latency (h, TRUE, 170 * GST_MSECOND, 2400 * GST_MSECOND);
  count_latency_messages (h);

  gst_pad_unlink (source, pad);
  gst_element_release_request_pad (h->element, pad);
  fail_unless_equals_int (count_latency_messages (h), 1);
  assert_latency (h, TRUE, 20 * GST_MSECOND, GST_CLOCK_TIME_NONE); /* the harness's own */

  /* What does not change the answer says nothing. */
  g_object_set (h->element, "max-lateness", GST_SECOND, "max-range", 50.0, NULL);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (1)));
  fail_unless_equals_int (count_latency_messages (h), 0);
  gst_pad_set_active (source, FALSE);
  ndt_harness_free (h);
}
GST_END_TEST

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

/* With a live source a scan waits from when it could have come: what queues upstream took counts.
 */
GST_START_TEST (test_deadline_counts_from_the_source)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "max-lateness", 20 * GST_SECOND, NULL);
  gboolean live = FALSE;

  gst_harness_use_testclock (h);
  gst_element_set_base_time (h->element, 0);
  gst_harness_set_time (h, 0);
  gst_pad_add_probe (h->srcpad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM, answer_live, &live, NULL);
  assert_latency (h, FALSE, 120 * GST_MSECOND, GST_CLOCK_TIME_NONE);
  fail_unless_equals_int (ndt_harness_pass_status (h, scan_of (0, 0)), GST_POSE_STATUS_TRACKING);

  /* Not live: since it arrived. */
  gst_harness_set_time (h, 100 * GST_SECOND);
  fail_unless_equals_int (
      ndt_harness_pass_status (h, scan_of (1, 20 * GST_SECOND)), GST_POSE_STATUS_TRACKING);

  /* Live, and 100 ms late by nature. */
  live = TRUE;
  assert_latency (h, TRUE, 120 * GST_MSECOND, GST_CLOCK_TIME_NONE);
  g_autoptr (GstBuffer) late = ndt_harness_pass (h, scan_of (2, 79 * GST_SECOND));
  fail_unless_equals_int (ndt_harness_estimate (late)->status, GST_POSE_STATUS_SKIPPED);
  fail_unless (ndt_harness_estimate (late)->has_pose);
  fail_unless_equals_uint64 (ndt_harness_count (h, "rejected-too-late"), 1);
  fail_unless_equals_int (
      ndt_harness_pass_status (h, scan_of (2, 90 * GST_SECOND)), GST_POSE_STATUS_TRACKING);

  /* The pipeline has 30 s more than the element has asked for: sinks hold scans for so long. */
  fail_unless (gst_harness_push_upstream_event (h, gst_event_new_latency (30120 * GST_MSECOND)));
  fail_unless_equals_int (
      ndt_harness_pass_status (h, scan_of (2, 60 * GST_SECOND)), GST_POSE_STATUS_TRACKING);
  fail_unless_equals_int (
      ndt_harness_pass_status (h, scan_of (2, 49 * GST_SECOND)), GST_POSE_STATUS_SKIPPED);
  fail_unless_equals_uint64 (ndt_harness_count (h, "rejected-too-late"), 2);

  /* One that is too early waits from its arrival on. */
  fail_unless_equals_int (
      ndt_harness_pass_status (h, scan_of (3, 600 * GST_SECOND)), GST_POSE_STATUS_TRACKING);
  fail_unless_equals_uint64 (ndt_harness_count (h, "rejected-too-late"), 2);
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
ndtlocalize_latency_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-latency");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_test (tc, test_latency);
  tcase_add_test (tc, test_latency_of_pose_pads);
  tcase_add_test (tc, test_deadline_counts_from_the_source);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_latency);
