/* SPDX-License-Identifier: MIT */
/* ndtlocalize while something stands still for seconds: the sink, or the backend. */
#include <gst/check/gstcheck.h>

#include <string.h>

#include "gst/ndt/gstndtlocalize.h"
#include "tests/ndt-device.h"
#include "tests/ndt-harness.h"
#include "tests/ndt-wait.h"

#define N_SCANS 40
#define BATCH_SIZE 4

static void
setup (void)
{
  ndt_device_install ();
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
}

static gpointer
push_scans (gpointer user_data)
{
  GstHarness *h = user_data;
  for (guint i = 0; i < N_SCANS; i++)
    fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (i)), GST_FLOW_OK);
  return NULL;
}

static GstHarness *
tracking_harness (void)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  return ndt_harness_new ("initial-pose", start, "batch-size", BATCH_SIZE, NULL);
}

/* A sink that stops at its third scan, until it is told to go on. */
static GMutex lock;
static GCond changed;
static gboolean closed;
static guint n_chained;
static NdtPose poses[N_SCANS];

static GstFlowReturn
chain_at_gate (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  const GstPoseMeta *meta = ndt_harness_estimate (buffer);

  g_mutex_lock (&lock);
  fail_unless_equals_uint64 (meta->sequence, n_chained);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), n_chained * 100 * GST_MSECOND);
  fail_unless_equals_int (meta->status, GST_POSE_STATUS_TRACKING);
  poses[n_chained++] = ndt_harness_pose_of (buffer);
  g_cond_broadcast (&changed);
  while (closed && n_chained >= 3)
    g_cond_wait (&changed, &lock);
  g_mutex_unlock (&lock);
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static void
wait_for_chained (guint n)
{
  const gint64 end = g_get_monotonic_time () + NDT_WAIT_SECONDS * G_TIME_SPAN_SECOND;
  g_mutex_lock (&lock);
  while (n_chained < n)
    fail_unless (g_cond_wait_until (&changed, &lock, end), "%u scans came", n_chained);
  g_mutex_unlock (&lock);
}

/* Scans through the gate, which is closed for some time meanwhile. */
static GstHarness *
run (guint seconds)
{
  GstHarness *h = tracking_harness ();

  n_chained = 0;
  closed = seconds > 0;
  gst_pad_set_chain_function (h->sinkpad, chain_at_gate);
  GThread *thread = g_thread_new ("push", push_scans, h);
  wait_for_chained (3);
  const gint64 end = g_get_monotonic_time () + seconds * G_TIME_SPAN_SECOND;
  while (g_get_monotonic_time () < end) {
    /* Everything answers meanwhile: what waited for the sink would wait for ever. */
    GstQuery *query = gst_query_new_latency ();
    fail_unless (gst_pad_peer_query (h->sinkpad, query));
    gst_query_unref (query);
    gst_harness_push_upstream_event (
        h, gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 1.5, GST_SECOND, 0));
    g_object_set (h->element, "post-messages", FALSE, "max-range", 0.0, NULL);
    /* What is worked on, the queue, and no more; upstream waits with the next. */
    fail_unless (ndt_harness_count (h, "scans-in") <= 2 + 2 * BATCH_SIZE);
    fail_unless_equals_uint64 (ndt_harness_count (h, "scans-out"), 3);
    g_usleep (10000);
  }
  g_mutex_lock (&lock);
  closed = FALSE;
  g_cond_broadcast (&changed);
  g_mutex_unlock (&lock);
  g_thread_join (thread);
  wait_for_chained (N_SCANS);
  fail_unless_equals_uint64 (ndt_harness_count (h, "scans-in"), N_SCANS);
  fail_unless_equals_uint64 (ndt_harness_count (h, "scans-out"), N_SCANS);
  return h;
}

/* A sink that blocks for two seconds: upstream waits, nothing is lost or out of order, the poses
 * are those of a sink that does not block, and the time counts as pushing, not as aligning. */
GST_START_TEST (test_sink_blocks)
{
  NdtPose expected[N_SCANS];

  ndt_harness_free (run (0));
  memcpy (expected, poses, sizeof poses);
  /* A machine that does something else meanwhile may hold up an alignment, but not each time. */
  guint64 align_max = G_MAXUINT64;
  for (guint attempt = 0; attempt < 10 && align_max >= GST_SECOND; attempt++) {
    GstHarness *h = run (2);
    fail_unless (memcmp (expected, poses, sizeof poses) == 0);
    fail_unless (ndt_harness_count (h, "push-max") > 1900 * GST_MSECOND);
    align_max = ndt_harness_count (h, "align-max");
    ndt_harness_free (h);
  }
  fail_unless (align_max < GST_SECOND);
}
GST_END_TEST

/* A backend that takes ten seconds for one scan: upstream waits, all scans come, aligned and in
 * order, and that one counts as late. */
GST_START_TEST (test_backend_takes_ten_seconds)
{
  GstHarness *h = tracking_harness ();

  g_object_set (h->element, "processing-deadline", 9 * GST_SECOND, NULL);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  ndt_device_hold ();
  GThread *thread = g_thread_new ("push", push_scans, h);
  ndt_device_wait ();
  const gint64 begin = g_get_monotonic_time ();
  while (g_get_monotonic_time () - begin < 10 * G_TIME_SPAN_SECOND) {
    fail_unless (ndt_harness_count (h, "scans-in") <= 2 + 2 * BATCH_SIZE);
    fail_unless_equals_uint64 (ndt_harness_count (h, "scans-out"), 1);
    g_object_set (h->element, "post-messages", FALSE, NULL);
    g_usleep (50000);
  }
  /* The next one is as fast as ever. */
  ndt_device_release ();
  for (guint i = 0; i < N_SCANS; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless_equals_uint64 (ndt_harness_estimate (out)->sequence, i + 1);
    fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
  }
  g_thread_join (thread);
  fail_unless (ndt_harness_count (h, "align-max") >= 10 * GST_SECOND);
  fail_unless_equals_uint64 (ndt_harness_count (h, "late"), 1);
  ndt_harness_free (h);
}
GST_END_TEST

typedef struct {
  gint n;
  gint n_aligned; /* since the last that was passed on without alignment */
} Passed;

static GstPadProbeReturn
count_passed (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  Passed *passed = user_data;
  const GstPoseMeta *meta = ndt_harness_estimate (GST_PAD_PROBE_INFO_BUFFER (info));

  fail_unless_equals_uint64 (meta->sequence, passed->n);
  g_atomic_int_inc (&passed->n);
  if (meta->status == GST_POSE_STATUS_SKIPPED)
    g_atomic_int_set (&passed->n_aligned, 0);
  else
    g_atomic_int_inc (&passed->n_aligned);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
count_sent (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  g_atomic_int_inc ((gint *)user_data);
  return GST_PAD_PROBE_OK;
}

/* A live sensor of 20 Hz goes on while the backend stands still for two seconds: what waited in the
 * queue upstream for longer than the deadline is passed on at once, all of it, and then scans are
 * aligned again. In the element itself there were never more than three. */
GST_START_TEST (test_backlog_upstream)
{
  g_autofree gchar *text = g_strdup_printf (
      "lidartestsrc name=source is-live=true world=hall rings=16 columns=16 n-threads=1 "
      "! pointcloud/x-raw,framerate=20/1 ! queue max-size-buffers=200 max-size-time=0 "
      "! ndtlocalize name=localizer n-threads=1 batch-size=1 max-skips=1000 max-lateness=500000000 "
      "map-location=%s "
      "! fakesink name=sink",
      ndt_room_map ());
  g_autoptr (GstElement) pipeline = gst_parse_launch (text, NULL);
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_autoptr (GstElement) localizer = gst_bin_get_by_name (GST_BIN (pipeline), "localizer");
  g_autoptr (GstPad) in = gst_element_get_static_pad (source, "src");
  g_autoptr (GstPad) out = gst_element_get_static_pad (localizer, "src");
  g_autoptr (GstStructure) stats = NULL;
  Passed passed = {0, 0};
  gint n_sent = 0;
  guint64 n_late, n_in;

  ndt_harness_add_priors (in);
  gst_pad_add_probe (out, GST_PAD_PROBE_TYPE_BUFFER, count_passed, &passed, NULL);
  gst_pad_add_probe (in, GST_PAD_PROBE_TYPE_BUFFER, count_sent, &n_sent, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  ndt_wait_for (g_atomic_int_get (&passed.n_aligned) >= 5);
  ndt_device_hold ();
  ndt_device_wait ();
  const gint n_before = g_atomic_int_get (&n_sent);
  ndt_wait_for (g_atomic_int_get (&n_sent) >= n_before + 40);
  const gint n_waiting = g_atomic_int_get (&n_sent) - g_atomic_int_get (&passed.n);
  ndt_device_release ();
  /* All that waited, and then ten that did not. */
  const gint n_until = g_atomic_int_get (&passed.n) + n_waiting;
  ndt_wait_for (
      g_atomic_int_get (&passed.n) > n_until && g_atomic_int_get (&passed.n_aligned) >= 10);
  gst_element_send_event (pipeline, gst_event_new_eos ());
  ndt_harness_wait_for_eos (pipeline);

  g_object_get (localizer, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, "rejected-too-late", &n_late));
  fail_unless (gst_structure_get_uint64 (stats, "scans-in", &n_in));
  /* 40 were sent over two seconds; the last 10 of them had not waited for half a second. */
  fail_unless (n_late >= 20, "%" G_GUINT64_FORMAT " were late", n_late);
  fail_unless_equals_uint64 (passed.n, n_in);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}
GST_END_TEST

/* A replay that waits for its sink, and for somebody to play it, has no backlog. */
GST_START_TEST (test_paused_replay)
{
  g_autofree gchar *text = g_strdup_printf (
      "lidartestsrc name=source num-buffers=20 world=hall rings=16 columns=16 n-threads=1 "
      "! pointcloud/x-raw,framerate=20/1 "
      "! ndtlocalize name=localizer n-threads=1 batch-size=64 max-lateness=2000000000 "
      "map-location=%s "
      "! fakesink sync=true",
      ndt_room_map ());
  g_autoptr (GstElement) pipeline = gst_parse_launch (text, NULL);
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_autoptr (GstElement) localizer = gst_bin_get_by_name (GST_BIN (pipeline), "localizer");
  g_autoptr (GstPad) in = gst_element_get_static_pad (source, "src");
  g_autoptr (GstPad) out = gst_element_get_static_pad (localizer, "src");
  Passed passed = {0, 0};

  ndt_harness_add_priors (in);
  gst_pad_add_probe (out, GST_PAD_PROBE_TYPE_BUFFER, count_passed, &passed, NULL);
  for (guint i = 0; i < 2; i++) {
    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    g_usleep (2300000);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    g_usleep (200000);
  }
  ndt_harness_wait_for_eos (pipeline);
  fail_unless_equals_int (passed.n, 20);
  fail_unless_equals_int (passed.n_aligned, 20);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}
GST_END_TEST

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
ndtlocalize_stalls_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-stalls");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, test_sink_blocks);
  tcase_add_test (tc, test_backend_takes_ten_seconds);
  tcase_add_test (tc, test_backlog_upstream);
  tcase_add_test (tc, test_paused_replay);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_stalls)
