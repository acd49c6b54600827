/* SPDX-License-Identifier: MIT */
/* pointcloudmerge, live: deadlines, late scans, what does not fit, flushes, by a test clock. */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/check/gsttestclock.h>
#include <gst/pointcloud/pointcloud.h>

#include <math.h>
#include <string.h>

#include "tests/ndt-wait.h"

#define PHASE (50 * GST_MSECOND)
#define PERIOD (100 * GST_MSECOND)

static guint64
count (const GstStructure *stats, const gchar *name)
{
  guint64 n = 0;

  fail_unless (gst_structure_get_uint64 (stats, name, &n), "%s", name);
  return n;
}

/* ---- Live, by a test clock ---- */

#define CAPS "pointcloud/x-raw,format=XYZIRT,framerate=10/1"
#define SCAN_LATENCY (50 * GST_MSECOND)

typedef struct {
  GstElement *merger;
  GstHarness *leader, *other;
  GstTestClock *clock;
} Live;

static void
live_init (Live *live)
{
  live->merger = gst_element_factory_make ("pointcloudmerge", NULL);
  live->leader = gst_harness_new_with_element (live->merger, "sink_0", "src");
  live->other = gst_harness_new_with_element (live->merger, "sink_1", NULL);
  gst_harness_set_upstream_latency (live->leader, PERIOD);
  gst_harness_set_upstream_latency (live->other, PERIOD);
  gst_harness_use_testclock (live->leader);
  live->clock = gst_harness_get_testclock (live->leader);
  gst_harness_play (live->leader);
  gst_harness_set_src_caps_str (live->leader, CAPS);
  gst_harness_set_src_caps_str (live->other, CAPS);
}

static void
live_clear (Live *live)
{
  gst_harness_teardown (live->other);
  gst_harness_teardown (live->leader);
  gst_object_unref (live->clock);
  gst_object_unref (live->merger);
}

/* Of @n points, when it is over or later. */
static void
push_scan (Live *live, GstHarness *h, GstClockTime pts, guint n)
{
  GstBuffer *scan = gst_buffer_new_allocate (NULL, 24 * n, NULL);

  gst_buffer_memset (scan, 0, 0, 24 * n);
  GST_BUFFER_PTS (scan) = pts;
  GST_BUFFER_DURATION (scan) = PERIOD;
  if (gst_clock_get_time (GST_CLOCK (live->clock)) < pts + PERIOD)
    gst_test_clock_set_time (live->clock, pts + PERIOD);
  fail_unless_equals_int (gst_harness_push (h, scan), GST_FLOW_OK);
}

/* The cloud at @pts, of @n points, not later than the latency says. */
static void
pull_cloud (Live *live, GstClockTime pts, guint n)
{
  g_autoptr (GstBuffer) cloud = gst_harness_pull (live->leader);

  fail_unless (cloud != NULL);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (cloud), pts);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (cloud), PERIOD);
  fail_unless_equals_uint64 (gst_buffer_get_size (cloud), 24 * n);
  fail_unless (gst_clock_get_time (GST_CLOCK (live->clock)) <= pts + PERIOD + SCAN_LATENCY);
}

/* Nothing comes before the time that the element waits for: exactly the latency after the stamp. */
static void
pull_at_deadline (Live *live, GstClockTime pts, guint n)
{
  GstClockID id;

  gst_test_clock_wait_for_next_pending_id (live->clock, &id);
  fail_unless_equals_uint64 (gst_clock_id_get_time (id), pts + PERIOD + SCAN_LATENCY);
  gst_clock_id_unref (id);
  fail_unless (gst_harness_try_pull (live->leader) == NULL);
  gst_test_clock_crank (live->clock);
  pull_cloud (live, pts, n);
}

GST_START_TEST (test_live)
{
  Live live;
  GstStructure *stats;
  guint64 at = 0;

  live_init (&live);
  fail_unless_equals_uint64 (gst_harness_query_latency (live.leader), PERIOD + SCAN_LATENCY);
  push_scan (&live, live.leader, 0, 1);
  pull_at_deadline (&live, 0, 1);
  push_scan (&live, live.other, PHASE, 10);
  /* With both at work nothing waits: a cloud leaves with the leader's scan. */
  for (guint i = 1; i < 4; i++) {
    at = i * PERIOD;
    push_scan (&live, live.leader, at, 1);
    pull_cloud (&live, at, 11);
    push_scan (&live, live.other, at + PHASE, 10);
  }
  /* The other stops: clouds wait for it, never longer than said, and go on. */
  at += PERIOD;
  push_scan (&live, live.leader, at, 1);
  pull_cloud (&live, at, 11);
  for (guint i = 0; i < 5; i++) {
    at += PERIOD;
    push_scan (&live, live.leader, at, 1);
    pull_at_deadline (&live, at, 1);
  }
  g_object_get (live.merger, "stats", &stats, NULL);
  fail_unless_equals_uint64 (count (stats, "losses"), 1);
  gst_structure_free (stats);
  /* It starts again, and joins. */
  push_scan (&live, live.other, at + PHASE, 10);
  at += PERIOD;
  push_scan (&live, live.leader, at, 1);
  pull_cloud (&live, at, 11);
  /* The leader stops: clouds keep its pace. */
  push_scan (&live, live.other, at + PHASE, 10);
  for (guint i = 0; i < 5; i++) {
    at += PERIOD;
    pull_at_deadline (&live, at, 10);
    push_scan (&live, live.other, at + PHASE, 10);
  }
  at += PERIOD;
  push_scan (&live, live.leader, at, 1);
  pull_cloud (&live, at, 11);
  g_object_get (live.merger, "stats", &stats, NULL);
  fail_unless_equals_uint64 (count (stats, "losses"), 2);
  fail_unless_equals_uint64 (count (stats, "without-leader"), 5);
  fail_unless_equals_uint64 (count (stats, "late"), 0);
  gst_structure_free (stats);
  live_clear (&live);
}
GST_END_TEST

/* A scan that is less than a period late is in the next cloud; one that is later is left out. */
GST_START_TEST (test_late_scans)
{
  Live live;
  GstStructure *stats;

  live_init (&live);
  push_scan (&live, live.leader, 0, 1);
  pull_at_deadline (&live, 0, 1);
  push_scan (&live, live.other, PHASE, 10);
  push_scan (&live, live.leader, PERIOD, 1);
  pull_cloud (&live, PERIOD, 11);
  push_scan (&live, live.leader, 2 * PERIOD, 1);
  pull_at_deadline (&live, 2 * PERIOD, 1);
  push_scan (&live, live.leader, 3 * PERIOD, 1);
  pull_at_deadline (&live, 3 * PERIOD, 1);
  /* Ended 0.25 s and 0.35 s: of the clouds that ended 0.3 s and 0.4 s. */
  push_scan (&live, live.other, PHASE + PERIOD, 10);
  push_scan (&live, live.other, PHASE + 2 * PERIOD, 10);
  push_scan (&live, live.leader, 4 * PERIOD, 1);
  push_scan (&live, live.other, PHASE + 3 * PERIOD, 10);
  pull_cloud (&live, 4 * PERIOD, 21);
  g_object_get (live.merger, "stats", &stats, NULL);
  fail_unless_equals_uint64 (count (stats, "late"), 1);
  gst_structure_free (stats);
  live_clear (&live);
}
GST_END_TEST

/* What is no scan, and streams that are none. */
GST_START_TEST (test_bad_streams)
{
  Live live;
  GstStructure *stats;
  GstElement *merger = gst_element_factory_make ("pointcloudmerge", NULL);

  /* A leader that is not there. */
  GstPad *pad = gst_element_request_pad_simple (merger, "sink_%u");
  g_object_set (merger, "leader", "sink_7", NULL);
  fail_unless_equals_int (
      gst_element_set_state (merger, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  gst_element_set_state (merger, GST_STATE_NULL);
  gst_element_release_request_pad (merger, pad);
  gst_object_unref (pad);
  gst_object_unref (merger);

  /* A scan of a point and a half, of no duration. */
  live_init (&live);
  GstBuffer *scan = gst_buffer_new_allocate (NULL, 24 + 12, NULL);
  gst_buffer_memset (scan, 0, 0, 36);
  GST_BUFFER_PTS (scan) = 0;
  GST_BUFFER_DURATION (scan) = 0;
  gst_test_clock_set_time (live.clock, PERIOD);
  fail_unless_equals_int (gst_harness_push (live.leader, scan), GST_FLOW_OK);
  pull_at_deadline (&live, 0, 1);
  push_scan (&live, live.leader, PERIOD, 1);
  pull_at_deadline (&live, PERIOD, 1);
  g_object_get (live.merger, "stats", &stats, NULL);
  fail_unless_equals_uint64 (count (stats, "cut"), 1);
  fail_unless_equals_uint64 (count (stats, "bad"), 0);
  gst_structure_free (stats);
  live_clear (&live);
}
GST_END_TEST

/* Gaps of a pad that is flushed meanwhile, which only warnings could show here. */
GST_START_TEST (test_gaps_and_flushes)
{
  GstElement *merger = gst_element_factory_make ("pointcloudmerge", NULL);
  GstHarness *leader = gst_harness_new_with_element (merger, "sink_0", "src");
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_play (leader);
  gst_harness_set_src_caps_str (leader, CAPS);
  for (guint i = 0; i < 3000; i++) {
    gst_harness_push_event (leader, gst_event_new_gap (i % 50 * PERIOD, PERIOD));
    if (i % 3)
      continue;
    gst_harness_push_event (leader, gst_event_new_flush_start ());
    gst_harness_push_event (leader, gst_event_new_flush_stop (TRUE));
    gst_harness_push_event (leader, gst_event_new_segment (&segment));
  }
  gst_harness_teardown (leader);
  gst_object_unref (merger);
}
GST_END_TEST

/* After a flush, as by a seek, a stream begins anew, earlier than it was. */
GST_START_TEST (test_flush)
{
  GstElement *merger = gst_element_factory_make ("pointcloudmerge", NULL);
  GstHarness *leader = gst_harness_new_with_element (merger, "sink_0", "src");
  GstHarness *pads[2] = {leader, gst_harness_new_with_element (merger, "sink_1", NULL)};
  GstStructure *stats;

  for (guint i = 0; i < 2; i++)
    gst_harness_set_live (pads[i], FALSE);
  gst_harness_play (leader);
  for (guint i = 0; i < 2; i++)
    gst_harness_set_src_caps_str (pads[i], CAPS);
  for (guint round = 0; round < 2; round++) {
    for (guint i = 0; i < 4; i++) {
      for (guint k = 0; k < 2; k++) {
        GstBuffer *scan = gst_buffer_new_allocate (NULL, k == 0 ? 24 : 240, NULL);
        gst_buffer_memset (scan, 0, 0, 240);
        GST_BUFFER_PTS (scan) = i * PERIOD + k * PHASE;
        GST_BUFFER_DURATION (scan) = PERIOD;
        fail_unless_equals_int (gst_harness_push (pads[k], scan), GST_FLOW_OK);
      }
      g_autoptr (GstBuffer) cloud = gst_harness_pull (leader);
      fail_unless_equals_uint64 (GST_BUFFER_PTS (cloud), i * PERIOD);
      fail_unless_equals_uint64 (gst_buffer_get_size (cloud), i == 0 ? 24 : 264);
    }
    const guint32 seqnum = gst_util_seqnum_next ();
    for (guint stop = 0; stop < 2 && round == 0; stop++)
      for (guint k = 0; k < 2; k++) {
        GstEvent *event = stop ? gst_event_new_flush_stop (TRUE) : gst_event_new_flush_start ();
        gst_event_set_seqnum (event, seqnum);
        fail_unless (gst_harness_push_event (pads[k], event));
      }
    GstSegment segment;
    gst_segment_init (&segment, GST_FORMAT_TIME);
    for (guint k = 0; k < 2 && round == 0; k++)
      fail_unless (gst_harness_push_event (pads[k], gst_event_new_segment (&segment)));
  }
  g_object_get (merger, "stats", &stats, NULL);
  fail_unless_equals_uint64 (count (stats, "late"), 0);
  fail_unless_equals_uint64 (count (stats, "clouds"), 8);
  gst_structure_free (stats);
  gst_harness_teardown (pads[1]);
  gst_harness_teardown (leader);
  gst_object_unref (merger);
}
GST_END_TEST

/* A scan without a time stamp, of a sensor that does not lead, and a cloud that is larger than
 * memory: one error each, and the stream ends. */
static void
expect_error (const gchar *caps, GstClockTime pts, const gchar *expected)
{
  GstElement *merger = gst_element_factory_make ("pointcloudmerge", NULL);
  GstHarness *leader = gst_harness_new_with_element (merger, "sink_0", "src");
  GstHarness *other = gst_harness_new_with_element (merger, "sink_1", NULL);
  GstBus *bus = gst_bus_new ();
  guint n_errors = 0;

  gst_element_set_bus (merger, bus);
  gst_harness_play (leader);
  gst_harness_set_src_caps_str (leader, caps);
  gst_harness_set_src_caps_str (other, CAPS);
  for (guint i = 0; i < 3; i++) {
    GstBuffer *scan = gst_buffer_new_allocate (NULL, 10 * 24, NULL);
    gst_buffer_memset (scan, 0, 0, 10 * 24);
    GST_BUFFER_PTS (scan) = pts;
    gst_harness_push (other, scan);
    if (i > 0)
      continue;
    scan = gst_buffer_new ();
    GST_BUFFER_PTS (scan) = 0;
    GST_BUFFER_DURATION (scan) = PERIOD;
    gst_harness_push (leader, scan);
    gst_harness_push_event (leader, gst_event_new_eos ());
  }
  for (;;) {
    g_autoptr (GstMessage) message =
        gst_bus_timed_pop_filtered (bus, (n_errors ? 0 : 120) * GST_SECOND, GST_MESSAGE_ERROR);
    g_autoptr (GError) error = NULL;
    if (!message)
      break;
    gst_message_parse_error (message, &error, NULL);
    fail_unless (strstr (error->message, expected) != NULL, "%s", error->message);
    n_errors++;
  }
  gst_harness_push_event (other, gst_event_new_eos ());
  gst_element_set_state (merger, GST_STATE_NULL);
  fail_unless_equals_int (n_errors, 1);
  gst_element_set_bus (merger, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (other);
  gst_harness_teardown (leader);
  gst_object_unref (merger);
}

GST_START_TEST (test_errors)
{
  expect_error (CAPS, GST_CLOCK_TIME_NONE, "has no time stamp");
  expect_error ("pointcloud/x-raw,format=CUSTOM,point-step=2147483647,"
                "fields=(string)\"x:F32:0,y:F32:4,z:F32:8,time:F32:16\"",
      0, "There is not the memory");
}
GST_END_TEST

static Suite *
pointcloudmerge_live_suite (void)
{
  Suite *suite = suite_create ("pointcloudmerge_live");
  TCase *tcase = tcase_create ("general");

  suite_add_tcase (suite, tcase);
  tcase_add_test (tcase, test_live);
  tcase_add_test (tcase, test_late_scans);
  tcase_add_test (tcase, test_bad_streams);
  tcase_add_test (tcase, test_flush);
  tcase_add_test (tcase, test_gaps_and_flushes);
  tcase_add_test (tcase, test_errors);
  return suite;
}

GST_CHECK_MAIN (pointcloudmerge_live)
