/* SPDX-License-Identifier: MIT */
/* ndtlocalize's threads: batches, order, flow, flushing, and a device that is slow or fails. */
#define _GNU_SOURCE /* sched_setaffinity() */
#include <gst/check/gstcheck.h>

#include <sched.h>
#include <string.h>

#include "gst/ndt/gstndtlocalize.h"
#include "tests/ndt-backend-choice.h"
#include "tests/ndt-wait.h"

static void
setup (void)
{
  ndt_device_install ();
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
}

static GstHarness *
tracking_harness (guint batch_size)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  return ndt_harness_new ("initial-pose", start, "batch-size", batch_size, NULL);
}

typedef struct {
  GstHarness *h;
  guint first;
  guint n;
  guint32 seed; /* of the delays between scans; 0: none */
  GstFlowReturn flow;
} Pusher;

static gpointer
push_scans (gpointer user_data)
{
  Pusher *pusher = user_data;
  g_autoptr (GRand) random = g_rand_new_with_seed (pusher->seed);

  for (guint i = 0; i < pusher->n && pusher->flow == GST_FLOW_OK; i++) {
    if (pusher->seed)
      g_usleep ((gulong)g_rand_int_range (random, 0, 8) * 1000);
    pusher->flow = gst_harness_push (pusher->h, ndt_room_scan (pusher->first + i));
  }
  return NULL;
}

#define N_SCANS 100

/* What leaves of a pose that could differ between two runs. */
typedef struct {
  NdtPose pose;
  gdouble covariance[36];
  gdouble scores[3];
  guint iterations;
  GstPoseStatus status;
} Outcome;

static void
run_batches (guint batch_size, GstClockTime timeout, guint32 seed, gint delay_ms, Outcome *outcomes)
{
  GstHarness *h = tracking_harness (batch_size);
  Pusher pusher = {h, 0, N_SCANS, seed, GST_FLOW_OK};

  g_object_set (h->element, "batch-timeout", timeout, NULL);
  g_atomic_int_set (&ndt_device.delay_ms, delay_ms);
  GThread *thread = g_thread_new ("push", push_scans, &pusher);
  for (guint i = 0; i < N_SCANS; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless (out != NULL);
    const GstPoseMeta *meta = ndt_harness_estimate (out);
    Outcome *outcome = &outcomes[i];

    fail_unless_equals_uint64 (meta->sequence, i);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), i * 100 * GST_MSECOND);
    memset (outcome, 0, sizeof *outcome);
    outcome->pose = ndt_harness_pose_of (out);
    memcpy (outcome->covariance, meta->covariance, sizeof outcome->covariance);
    outcome->scores[0] = meta->transformation_probability;
    outcome->scores[1] = meta->nvtl;
    outcome->scores[2] = meta->matched_ratio;
    outcome->iterations = meta->iterations;
    outcome->status = meta->status;
  }
  g_thread_join (thread);
  fail_unless_equals_int (pusher.flow, GST_FLOW_OK);

  /* The test means something only where batches came about. */
  if (batch_size > 1)
    fail_unless (ndt_harness_count (h, "batches") < N_SCANS, "no batch of more than one scan");
  else
    fail_unless_equals_uint64 (ndt_harness_count (h, "batches"), N_SCANS);
  ndt_harness_free (h);
}

/* Bitwise the same for any batch size and any timing. */
GST_START_TEST (test_same_for_any_batch)
{
  static const guint sizes[] = {1, 2, 7, 64};
  g_autofree Outcome *reference = g_new (Outcome, N_SCANS);
  g_autofree Outcome *other = g_new (Outcome, N_SCANS);

  run_batches (1, 0, 0, 0, reference);
  for (guint i = 0; i < N_SCANS; i++)
    fail_unless_equals_int (reference[i].status, GST_POSE_STATUS_TRACKING);
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
    run_batches (sizes[s], 0, 0, 2, other);
    fail_unless (
        memcmp (reference, other, N_SCANS * sizeof (Outcome)) == 0, "%u at a time", sizes[s]);
    run_batches (sizes[s], 20 * GST_MSECOND, 17 + s, 1, other);
    fail_unless (
        memcmp (reference, other, N_SCANS * sizeof (Outcome)) == 0, "%u, delays", sizes[s]);
  }
}
GST_END_TEST

static GstPadProbeReturn
hold_after_third (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  if (ndt_harness_estimate (GST_PAD_PROBE_INFO_BUFFER (info))->sequence == 2)
    ndt_device_hold ();
  return GST_PAD_PROBE_OK;
}

/* A result does not wait for the end of its batch. */
GST_START_TEST (test_pushes_when_ready)
{
  GstHarness *h = tracking_harness (4);
  Pusher pusher = {h, 2, 4, 0, GST_FLOW_OK};

  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  ndt_device_hold ();
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (1)), GST_FLOW_OK);
  ndt_device_wait ();
  push_scans (&pusher); /* one at work, four that will be a batch, whose second will be held */
  gst_pad_add_probe (h->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, hold_after_third, NULL, NULL);
  ndt_device_release ();
  gst_buffer_unref (gst_harness_pull (h));
  gst_buffer_unref (gst_harness_pull (h));
  ndt_device_wait ();
  fail_unless_equals_int (gst_harness_buffers_received (h), 3);
  ndt_device_release ();
  for (guint i = 0; i < 3; i++)
    gst_buffer_unref (gst_harness_pull (h));
  fail_unless_equals_uint64 (ndt_harness_count (h, "batches"), 3);
  ndt_harness_free (h);
}
GST_END_TEST

/* batch-timeout waits for a batch to fill, and not longer than it has to. */
GST_START_TEST (test_batch_timeout)
{
  GstHarness *h = tracking_harness (3);
  Pusher pusher = {h, 0, 3, 0, GST_FLOW_OK};

  g_object_set (h->element, "batch-timeout", 100 * GST_SECOND, NULL);
  push_scans (&pusher);
  for (guint i = 0; i < 3; i++)
    gst_buffer_unref (gst_harness_pull (h));
  fail_unless_equals_uint64 (ndt_harness_count (h, "batches"), 1);

  /* EOS ends the wait. */
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (3)), GST_FLOW_OK);
  gst_harness_push_event (h, gst_event_new_eos ());
  gst_buffer_unref (gst_harness_pull (h));
  fail_unless_equals_uint64 (ndt_harness_count (h, "batches"), 2);
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_batch_timeout_ends)
{
  GstHarness *h = tracking_harness (3);
  g_object_set (h->element, "batch-timeout", 50 * GST_MSECOND, NULL);
  const GstClockTime before = gst_util_get_timestamp ();
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  fail_unless (gst_util_get_timestamp () - before >= 50 * GST_MSECOND);
  ndt_harness_free (h);
}
GST_END_TEST

static void
set_running_time (GstHarness *h, GstClockTime time)
{
  gst_harness_use_testclock (h);
  gst_element_set_base_time (h->element, 0);
  gst_harness_set_time (h, time);
}

/* Pulls scans, and counts those that were skipped. */
static guint
pull_late (GstHarness *h, guint first_scan, guint last_scan)
{
  guint n_late = 0;

  for (guint i = first_scan; i <= last_scan; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    const GstPoseMeta *meta = ndt_harness_estimate (out);
    fail_unless_equals_uint64 (meta->sequence, i);
    fail_unless (meta->has_pose);
    n_late += meta->status == GST_POSE_STATUS_SKIPPED;
  }
  return n_late;
}

/* A backlog older than the deadline passes at once, and nothing is lost: not those that wait in the
 * queue, and not those that wait in a batch. */
GST_START_TEST (test_deadline)
{
  static const GstClockTime limit = 150 * GST_MSECOND;
  GstHarness *h = tracking_harness (4);
  Pusher pusher = {h, 2, 4, 0, GST_FLOW_OK};

  set_running_time (h, 600 * GST_SECOND); /* all are past their time */
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));

  /* In the queue, behind one without a deadline. */
  ndt_device_hold ();
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (1)), GST_FLOW_OK);
  ndt_device_wait ();
  g_object_set (h->element, "max-lateness", limit, NULL);
  push_scans (&pusher);
  g_usleep (2 * limit / GST_USECOND);
  ndt_device_release ();
  fail_unless_equals_int (pull_late (h, 1, 1), 0);
  fail_unless_equals_int (pull_late (h, 2, 5), 4);

  /* In a batch, which begins when its fourth scan comes. On a slow machine that is too late for the
   * first as well. */
  g_object_set (h->element, "batch-timeout", 100 * GST_SECOND, NULL);
  pusher.first = 6;
  ndt_device_hold ();
  push_scans (&pusher);
  ndt_wait_for (
      g_atomic_int_get (&ndt_device.n_waiting) > 0 || gst_harness_buffers_received (h) == 10);
  g_usleep (2 * limit / GST_USECOND);
  ndt_device_release ();
  pull_late (h, 6, 6);
  fail_unless_equals_int (pull_late (h, 7, 9), 3);
  const guint64 n_late = ndt_harness_count (h, "rejected-too-late");
  fail_unless (n_late == 7 || n_late == 8, "%" G_GUINT64_FORMAT, n_late);
  fail_unless_equals_uint64 (ndt_harness_count (h, "skipped"), n_late);

  /* It ends with the backlog. */
  g_object_set (h->element, "max-lateness", G_GUINT64_CONSTANT (0), "batch-timeout",
      G_GUINT64_CONSTANT (0), NULL);
  fail_unless_equals_int (
      ndt_harness_pass_status (h, ndt_room_scan (10)), GST_POSE_STATUS_TRACKING);
  ndt_harness_free (h);
}
GST_END_TEST

/* In a replay a scan that waits before its time is none: a sink that synchronizes holds it. */
GST_START_TEST (test_deadline_of_a_replay)
{
  GstHarness *h = tracking_harness (4);
  Pusher pusher = {h, 2, 8, 0, GST_FLOW_OK};

  set_running_time (h, 0);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  g_object_set (h->element, "max-lateness", 150 * GST_MSECOND, NULL);
  g_atomic_int_set (&ndt_device.delay_ms, 100);
  /* From 1000 s on, while the clock stands at 0. */
  GstBuffer *scan = ndt_room_scan (1);
  GST_BUFFER_PTS (scan) = 1000 * GST_SECOND;
  fail_unless_equals_int (gst_harness_push (h, scan), GST_FLOW_OK);
  GThread *thread = g_thread_new ("push", push_scans, &pusher);
  for (guint i = 0; i <= pusher.n; i++)
    gst_buffer_unref (gst_harness_pull (h));
  g_thread_join (thread);
  fail_unless_equals_uint64 (ndt_harness_count (h, "rejected-too-late"), 0);
  ndt_harness_free (h);
}
GST_END_TEST

/* Upstream waits when the queue is full: nothing is lost. */
GST_START_TEST (test_full_queue_blocks)
{
  GstHarness *h = tracking_harness (1);
  Pusher pusher = {h, 0, 12, 0, GST_FLOW_OK};

  ndt_device_hold ();
  GThread *thread = g_thread_new ("push", push_scans, &pusher);
  ndt_device_wait ();
  g_usleep (50000);
  /* One is worked on, two wait, one more is at the door. */
  fail_unless (ndt_harness_count (h, "scans-in") <= 3);
  ndt_device_release ();
  g_thread_join (thread);
  for (guint i = 0; i < 12; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless_equals_uint64 (ndt_harness_estimate (out)->sequence, i);
  }
  ndt_harness_free (h);
}
GST_END_TEST

/* A flush in the middle of an alignment that would not end. */
GST_START_TEST (test_flush_while_working)
{
  GstHarness *h = tracking_harness (4);
  Pusher pusher = {h, 0, 20, 0, GST_FLOW_OK};

  ndt_device_hold ();
  GThread *thread = g_thread_new ("push", push_scans, &pusher);
  ndt_device_wait ();
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
  g_thread_join (thread);
  fail_unless_equals_int (pusher.flow, GST_FLOW_FLUSHING);
  ndt_device_release ();
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
  fail_unless_equals_int (gst_harness_buffers_received (h), 0);

  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (0)), GST_POSE_STATUS_TRACKING);
  ndt_harness_free (h);
}
GST_END_TEST

#define N_ROUNDS 5
#define N_TINY 20

/* Scans of a point, which fly through. */
static void
push_tiny_scans (GstHarness *h)
{
  static const gfloat point[3] = {1, 2, 3};
  for (guint i = 0; i < N_TINY; i++) {
    GstBuffer *scan = gst_buffer_new_memdup (point, sizeof point);
    GST_BUFFER_PTS (scan) = i * 100 * GST_MSECOND;
    fail_unless_equals_int (gst_harness_push (h, scan), GST_FLOW_OK);
  }
}

typedef struct {
  guint64 in, out, dropped;
} Counts;

static Counts
read_counts (GstElement *element)
{
  g_autoptr (GstStructure) stats = NULL;
  Counts counts;

  g_object_get (element, "stats", &stats, NULL);
  fail_unless (gst_structure_get (stats, "scans-in", G_TYPE_UINT64, &counts.in, "scans-out",
      G_TYPE_UINT64, &counts.out, "dropped", G_TYPE_UINT64, &counts.dropped, NULL));
  fail_unless (counts.in >= counts.out + counts.dropped,
      "%" G_GUINT64_FORMAT " in, %" G_GUINT64_FORMAT " out, %" G_GUINT64_FORMAT " dropped",
      counts.in, counts.out, counts.dropped);
  return counts;
}

static GstPadProbeReturn
check_counts (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  read_counts (user_data);
  return GST_PAD_PROBE_OK;
}

/* Whoever reads the counts, whenever: no scan has left that has not come; and in the end each that
 * came has left, or was dropped by a flush. On one processor, with less right to it than the task
 * has: what a scan wakes runs before the thread that brought it goes on. */
GST_START_TEST (test_counts)
{
  const struct sched_param none = {0};
  cpu_set_t one;
  CPU_ZERO (&one);
  CPU_SET (sched_getcpu (), &one);
  fail_unless_equals_int (sched_setaffinity (0, sizeof one, &one), 0);
  GstHarness *h = tracking_harness (4);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (h->element, "src");
  guint64 n_dropped = 0;
  GstSegment segment;
  Counts counts;

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, check_counts, h->element, NULL);
  fail_unless_equals_int (sched_setscheduler (0, SCHED_IDLE, &none), 0);
  gst_harness_set_drop_buffers (h, TRUE);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  for (guint round = 1; round <= N_ROUNDS; round++) {
    push_tiny_scans (h);
    gst_harness_push_event (h, gst_event_new_flush_start ());
    gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
    gst_harness_push_event (h, gst_event_new_segment (&segment));
    counts = read_counts (h->element);
    fail_unless_equals_uint64 (counts.in, N_TINY * round);
    fail_unless_equals_uint64 (counts.in, counts.out + counts.dropped);
  }
  n_dropped = counts.dropped;
  push_tiny_scans (h);
  gst_harness_push_event (h, gst_event_new_eos ());
  for (gboolean eos = FALSE; !eos;) {
    g_autoptr (GstEvent) event = gst_harness_pull_event (h);
    fail_unless (event != NULL);
    eos = GST_EVENT_TYPE (event) == GST_EVENT_EOS;
  }
  counts = read_counts (h->element);
  fail_unless_equals_uint64 (counts.in, N_TINY * (N_ROUNDS + 1));
  fail_unless_equals_uint64 (counts.in, counts.out + counts.dropped);
  fail_unless_equals_uint64 (counts.dropped, n_dropped);
  ndt_harness_free (h);
}
GST_END_TEST

/* A change of state in the middle of an alignment as well. */
GST_START_TEST (test_stop_while_working)
{
  GstHarness *h = tracking_harness (4);
  Pusher pusher = {h, 0, 20, 0, GST_FLOW_OK};

  ndt_device_hold ();
  GThread *thread = g_thread_new ("push", push_scans, &pusher);
  ndt_device_wait ();
  fail_unless_equals_int (
      gst_element_set_state (h->element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  g_thread_join (thread);
  fail_unless_equals_int (pusher.flow, GST_FLOW_FLUSHING);
  ndt_harness_free (h);
}
GST_END_TEST

/* A DRAIN query is answered when the scans before it have left. */
GST_START_TEST (test_drain)
{
  GstHarness *h = tracking_harness (4);
  Pusher pusher = {h, 0, 4, 0, GST_FLOW_OK};
  GstQuery *query = gst_query_new_drain ();

  g_atomic_int_set (&ndt_device.delay_ms, 30);
  push_scans (&pusher);
  gst_pad_peer_query (h->srcpad, query);
  fail_unless_equals_int (gst_harness_buffers_received (h), 4);
  gst_query_unref (query);
  ndt_harness_free (h);
}
GST_END_TEST

static gpointer
run_drain (gpointer user_data)
{
  GstHarness *h = user_data;
  GstQuery *query = gst_query_new_drain ();
  const gboolean result = gst_pad_peer_query (h->srcpad, query);
  gst_query_unref (query);
  return GINT_TO_POINTER (result);
}

GST_START_TEST (test_flush_ends_drain)
{
  GstHarness *h = tracking_harness (1);

  ndt_device_hold ();
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (0)), GST_FLOW_OK);
  ndt_device_wait ();
  GThread *thread = g_thread_new ("drain", run_drain, h);
  g_usleep (20000);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  fail_if (GPOINTER_TO_INT (g_thread_join (thread)));
  ndt_device_release ();
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  ndt_harness_free (h);
}
GST_END_TEST

static GstFlowReturn answer;
static gint n_chained;

static GstFlowReturn
chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  gst_buffer_unref (buffer);
  return g_atomic_int_add (&n_chained, 1) < 2 ? GST_FLOW_OK : answer;
}

/* What downstream returns comes back upstream, and the rest of the batch is not computed. */
GST_START_TEST (test_flow_returns)
{
  static const GstFlowReturn flows[] = {
      GST_FLOW_EOS, GST_FLOW_ERROR, GST_FLOW_NOT_LINKED, GST_FLOW_NOT_NEGOTIATED};

  /* Of four scans, of which each takes several. */
  GstHarness *four = tracking_harness (4);
  for (guint i = 0; i < 4; i++)
    gst_buffer_unref (ndt_harness_pass (four, ndt_room_scan (i)));
  const gint n_aligned = g_atomic_int_get (&ndt_device.n_aligned);
  ndt_harness_free (four);

  for (guint i = 0; i < G_N_ELEMENTS (flows); i++) {
    GstHarness *h = tracking_harness (4);
    Pusher pusher = {h, 0, 1000, 0, GST_FLOW_OK};

    answer = flows[i];
    n_chained = 0;
    g_atomic_int_set (&ndt_device.n_aligned, 0);
    gst_pad_set_chain_function (h->sinkpad, chain);
    push_scans (&pusher);
    fail_unless_equals_int (pusher.flow, flows[i]);
    fail_unless_equals_int (n_chained, 3);
    /* The fourth may have been begun, or done, when the third was pushed. */
    const gint n = g_atomic_int_get (&ndt_device.n_aligned);
    fail_unless (n <= n_aligned, "%d alignments for three scans", n);
    if (flows[i] == GST_FLOW_EOS)
      fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
    ndt_harness_free (h);
  }
}
GST_END_TEST

/* An error that nobody upstream is left to report is posted. */
GST_START_TEST (test_error_after_eos)
{
  GstHarness *h = tracking_harness (8);
  g_autoptr (GError) error = NULL;

  answer = GST_FLOW_ERROR;
  n_chained = 0;
  gst_pad_set_chain_function (h->sinkpad, chain);
  ndt_device_hold ();
  for (guint i = 0; i < 6; i++)
    fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (i)), GST_FLOW_OK);
  gst_harness_push_event (h, gst_event_new_eos ());
  ndt_device_release ();
  ndt_wait_for ((error = ndt_harness_error (h->element, GST_MESSAGE_ERROR)));
  fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED));
  ndt_harness_free (h);
}
GST_END_TEST

/* Each scan of a stream whose device fails is localized, as if the CPU had done it all. */
GST_START_TEST (test_device_fails)
{
  Outcome *whole = g_new (Outcome, N_SCANS), *failing = g_new (Outcome, N_SCANS);

  run_batches (7, 0, 0, 1, whole);
  g_atomic_int_set (&ndt_device.n_aligned, 0);
  g_atomic_int_set (&ndt_device.fails_at, 40);
  run_batches (7, 0, 0, 1, failing);
  fail_unless (memcmp (whole, failing, N_SCANS * sizeof (Outcome)) == 0);
  g_free (whole);
  g_free (failing);

  GstHarness *h = tracking_harness (1);
  g_atomic_int_set (&ndt_device.n_aligned, 0);
  g_atomic_int_set (&ndt_device.fails_at, 1);
  ndt_assert_backend (h->element, "device");
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (0)), GST_POSE_STATUS_TRACKING);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (1)));
  ndt_assert_backend (h->element, "cpu");
  fail_unless_equals_uint64 (ndt_harness_count (h, "fallbacks"), 1);
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (warning && strstr (warning->message, "the device is lost"));
  fail_unless (ndt_harness_message (h->element, GST_MESSAGE_WARNING, NULL) == NULL);
  ndt_harness_free (h);
}
GST_END_TEST

/* A map that the device cannot hold. */
GST_START_TEST (test_map_does_not_fit)
{
  g_atomic_int_set (&ndt_device.fails_map, TRUE);
  GstHarness *h = tracking_harness (1);
  ndt_assert_backend (h->element, "cpu");
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (0)), GST_POSE_STATUS_TRACKING);
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (warning && strstr (warning->message, "does not fit"));
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_choice_of_backend)
{
  ndt_check_backend_choice ("ndtlocalize", GST_STATE_READY);
}
GST_END_TEST

GST_START_TEST (test_late)
{
  GstHarness *h = tracking_harness (1);
  g_object_set (h->element, "processing-deadline", 100 * GST_SECOND, NULL);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  fail_unless_equals_uint64 (ndt_harness_count (h, "late"), 0);
  g_object_set (h->element, "processing-deadline", 5 * GST_MSECOND, NULL);
  g_atomic_int_set (&ndt_device.delay_ms, 30);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (1)));
  fail_unless_equals_uint64 (ndt_harness_count (h, "late"), 1);
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
ndtlocalize_batches_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-batches");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, test_same_for_any_batch);
  tcase_add_test (tc, test_pushes_when_ready);
  tcase_add_test (tc, test_batch_timeout);
  tcase_add_test (tc, test_batch_timeout_ends);
  tcase_add_test (tc, test_deadline);
  tcase_add_test (tc, test_deadline_of_a_replay);
  tcase_add_test (tc, test_full_queue_blocks);
  tcase_add_test (tc, test_flush_while_working);
  tcase_add_test (tc, test_counts);
  tcase_add_test (tc, test_stop_while_working);
  tcase_add_test (tc, test_drain);
  tcase_add_test (tc, test_flush_ends_drain);
  tcase_add_test (tc, test_flow_returns);
  tcase_add_test (tc, test_error_after_eos);
  tcase_add_test (tc, test_device_fails);
  tcase_add_test (tc, test_map_does_not_fit);
  tcase_add_test (tc, test_choice_of_backend);
  tcase_add_test (tc, test_late);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_batches)
