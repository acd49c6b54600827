/* SPDX-License-Identifier: MIT */
/* ndtlocalize's pose pads: priors and odometry that come as streams of their own. Scans are 100 ms
 * apart and their poses are of their start. */
#include <gst/check/gstcheck.h>

#include <math.h>
#include <string.h>

#include "tests/ndt-harness.h"

#define PERIOD (100 * GST_MSECOND)

/* @user_data: the latency of a live source; NULL: it is not live. */
static GstPadProbeReturn
answer_latency (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  const GstClockTime *min = user_data;
  if (GST_QUERY_TYPE (query) != GST_QUERY_LATENCY)
    return GST_PAD_PROBE_OK;
  gst_query_set_latency (query, min != NULL, min ? *min : 0, GST_CLOCK_TIME_NONE);
  return GST_PAD_PROBE_HANDLED;
}

static void
set_source (GstHarness *h, GstClockTime *latency)
{
  gst_pad_add_probe (h->srcpad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM, answer_latency, latency, NULL);
}

/* @latency: of a live source; NULL: it is not live. */
static GstHarness *
live_scans_new (gboolean has_start, GstClockTime *latency)
{
  g_autofree gchar *start = has_start ? ndt_harness_pose (0) : NULL;
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  set_source (h, latency);
  gst_util_set_object_arg (G_OBJECT (h->element), "pose-time", "start");
  return h;
}

static GstHarness *
scans_new (gboolean has_start)
{
  return live_scans_new (has_start, NULL);
}

static GstHarness *
live_poses_new (GstHarness *h, GstClockTime *latency)
{
  GstHarness *poses = gst_harness_new_with_element (h->element, "pose_%u", NULL);
  set_source (poses, latency);
  gst_harness_set_src_caps_str (poses, GST_POSE_CAPS_NAME);
  return poses;
}

static GstHarness *
poses_new (GstHarness *h)
{
  return live_poses_new (h, NULL);
}

static void
push_pose (GstHarness *poses, GstClockTime time, GstPoseRole role, const NdtPose *pose)
{
  GstBuffer *buffer = gst_buffer_new ();
  GST_BUFFER_PTS (buffer) = time;
  gst_buffer_add_pose_meta (buffer, role, pose->position, pose->orientation);
  fail_unless_equals_int (gst_harness_push (poses, buffer), GST_FLOW_OK);
}

/* The true pose of a scan, at its time. */
static void
push_truth (GstHarness *poses, guint index, GstPoseRole role)
{
  NdtPose pose;
  ndt_room_pose (index, &pose);
  push_pose (poses, index * PERIOD, role, &pose);
}

static void
push_scan (GstHarness *h, guint index)
{
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (index)), GST_FLOW_OK);
}

/* Pulls a scan, which has to be tracked. */
static NdtPose
pull_pose (GstHarness *h, guint index)
{
  g_autoptr (GstBuffer) out = gst_harness_pull (h);
  const GstPoseMeta *meta = ndt_harness_estimate (out);
  fail_unless_equals_uint64 (meta->sequence, index);
  fail_unless_equals_int (meta->status, GST_POSE_STATUS_TRACKING);
  return ndt_harness_pose_of (out);
}

typedef struct {
  GstHarness *poses;
  guint n;
  guint32 seed;
} Poser;

static gpointer
push_priors (gpointer user_data)
{
  Poser *poser = user_data;
  g_autoptr (GRand) random = g_rand_new_with_seed (poser->seed);
  for (guint i = 0; i <= poser->n; i += 2) {
    if (poser->seed)
      g_usleep ((gulong)g_rand_int_range (random, 0, 10) * 1000);
    push_truth (poser->poses, i, GST_POSE_ROLE_PRIOR);
  }
  return NULL;
}

#define N_SCANS 40

static void
run_priors (guint batch_size, guint32 seed, NdtPose *found)
{
  GstHarness *h = scans_new (FALSE);
  g_object_set (h->element, "batch-size", batch_size, NULL);
  GstHarness *poses = poses_new (h);
  Poser poser = {poses, N_SCANS, seed};

  GThread *thread = g_thread_new ("poses", push_priors, &poser);
  for (guint i = 0; i < N_SCANS; i++)
    push_scan (h, i);
  for (guint i = 0; i < N_SCANS; i++)
    found[i] = pull_pose (h, i);
  g_thread_join (thread);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-prior"), N_SCANS);
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses"), N_SCANS / 2 + 1);
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses-missing"), 0);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}

/* Every second scan lies between two poses. Who comes first changes nothing, to the bit. */
GST_START_TEST (test_interpolated_priors)
{
  NdtPose reference[N_SCANS], other[N_SCANS];

  run_priors (1, 0, reference);
  for (guint i = 0; i < N_SCANS; i++) {
    NdtPose truth;
    double metres;
    ndt_room_pose (i, &truth);
    ndt_pose_difference (&truth, &reference[i], &metres, NULL);
    fail_unless (metres < 0.05, "scan %u: %g m", i, metres); /* as without priors */
  }
  for (guint32 seed = 1; seed < 4; seed++) {
    run_priors (seed == 2 ? 64 : 1, seed, other);
    fail_unless (memcmp (reference, other, sizeof reference) == 0, "seed %u", seed);
  }
}
GST_END_TEST

/* One thread that brings scans and then the poses that they wait for, as a demuxer without queues:
 * the element's queue of 2 scans does not stop it. */
GST_START_TEST (test_one_thread)
{
  GstHarness *h = scans_new (TRUE);
  g_object_set (h->element, "batch-size", 1, NULL);
  GstHarness *poses = poses_new (h);

  push_truth (poses, 0, GST_POSE_ROLE_ODOMETRY);
  for (guint i = 0; i < 33; i++) {
    push_scan (h, i);
    if (i > 0 && i % 8 == 0)
      push_truth (poses, i, GST_POSE_ROLE_ODOMETRY);
  }
  for (guint i = 0; i < 33; i++)
    pull_pose (h, i);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-odometry"), 32);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* The same with poses that are farther apart than max-pose-gap: nothing is held up by that. */
GST_START_TEST (test_one_thread_sparse)
{
  GstHarness *h = scans_new (TRUE);
  g_object_set (h->element, "batch-size", 1, "max-pose-gap", 200 * GST_MSECOND, NULL);
  GstHarness *poses = poses_new (h);

  push_truth (poses, 0, GST_POSE_ROLE_ODOMETRY);
  for (guint i = 0; i < 33; i++) {
    push_scan (h, i);
    if (i > 0 && i % 8 == 0)
      push_truth (poses, i, GST_POSE_ROLE_ODOMETRY);
  }
  for (guint i = 0; i < 33; i++)
    pull_pose (h, i);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* A buffer's own prior is better than the stream's, which is a kilometre off here. Once the stream
 * tracks, that does not lead it away. */
GST_START_TEST (test_metas_win)
{
  GstHarness *h = scans_new (FALSE);
  GstHarness *poses = poses_new (h);
  NdtPose wrong;

  ndt_room_pose (0, &wrong);
  wrong.position[0] += 1000;
  push_pose (poses, 0, GST_POSE_ROLE_PRIOR, &wrong);
  push_pose (poses, PERIOD, GST_POSE_ROLE_PRIOR, &wrong);

  NdtPose truth;
  GstBuffer *scan = ndt_room_scan (0);
  ndt_room_pose (0, &truth);
  gst_buffer_add_pose_meta (scan, GST_POSE_ROLE_PRIOR, truth.position, truth.orientation);
  fail_unless_equals_int (ndt_harness_pass_status (h, scan), GST_POSE_STATUS_TRACKING);
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (1)), GST_POSE_STATUS_TRACKING);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-prior"), 2);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* Where poses are missing, or too far from one another, a scan has none. */
GST_START_TEST (test_limits)
{
  GstHarness *h = scans_new (TRUE);
  GstHarness *poses = poses_new (h);

  g_object_set (h->element, "max-pose-gap", 4 * PERIOD, "pose-distance-limit", 0.3, NULL);
  push_truth (poses, 1, GST_POSE_ROLE_PRIOR); /* none for scan 0 */
  push_truth (poses, 3, GST_POSE_ROLE_PRIOR); /* 0.24 m: scan 2 has one */
  push_truth (poses, 6, GST_POSE_ROLE_PRIOR); /* 0.36 m: 4 and 5 have none */
  for (guint i = 0; i <= 6; i++)
    push_scan (h, i);
  for (guint i = 0; i <= 6; i++)
    pull_pose (h, i);
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses-missing"), 3);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-prior"), 4);

  g_object_set (h->element, "pose-distance-limit", 0.0, NULL);
  push_truth (poses, 11, GST_POSE_ROLE_PRIOR); /* 7 to 10 have none */
  for (guint i = 7; i <= 11; i++)
    push_scan (h, i);
  for (guint i = 7; i <= 11; i++)
    pull_pose (h, i);
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses-missing"), 7);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* Nobody waits for a stream that says that nothing comes. */
GST_START_TEST (test_gap_and_eos)
{
  GstHarness *h = scans_new (TRUE);
  GstHarness *poses = poses_new (h);

  push_scan (h, 0);
  push_scan (h, 1);
  g_usleep (20000);
  fail_unless_equals_int (gst_harness_buffers_received (h), 0);
  gst_harness_push_event (poses, gst_event_new_gap (0, 0));
  pull_pose (h, 0);
  g_usleep (20000);
  fail_unless_equals_int (gst_harness_buffers_received (h), 1);
  gst_harness_push_event (poses, gst_event_new_gap (0, 3 * PERIOD));
  pull_pose (h, 1);
  push_scan (h, 2);
  pull_pose (h, 2);
  push_scan (h, 3);
  push_scan (h, 4);
  pull_pose (h, 3);
  gst_harness_push_event (poses, gst_event_new_eos ());
  pull_pose (h, 4);
  push_scan (h, 5);
  pull_pose (h, 5);
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses-missing"), 6);
  gst_harness_push_event (h, gst_event_new_eos ());
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

static void
assert_latency (GstHarness *h, GstClockTime min, GstClockTime max)
{
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  GstClockTime is_min, is_max;
  fail_unless (gst_pad_peer_query (h->sinkpad, query));
  gst_query_parse_latency (query, NULL, &is_min, &is_max);
  fail_unless_equals_uint64 (is_min, min);
  fail_unless_equals_uint64 (is_max, max);
}

/* A live stream of poses that dies: scans go on as soon as one comes that is pose-latency newer,
 * and at the end. No clock runs here, and nobody has asked for the latency before. */
GST_START_TEST (test_live)
{
  GstClockTime of_scans = 10 * GST_MSECOND, of_poses = 70 * GST_MSECOND;
  GstHarness *h = live_scans_new (TRUE, &of_scans);
  gst_element_set_clock (h->element, NULL);
  GstHarness *poses = live_poses_new (h, &of_poses);

  g_object_set (h->element, "pose-latency", 4 * PERIOD, "batch-size", 1, NULL);
  for (guint i = 0; i < 4; i++)
    push_scan (h, i);
  g_usleep (20000);
  fail_unless_equals_int (gst_harness_buffers_received (h), 0);
  push_scan (h, 4);
  pull_pose (h, 0);
  g_usleep (20000);
  fail_unless_equals_int (gst_harness_buffers_received (h), 1);
  gst_harness_push_event (h, gst_event_new_eos ());
  for (guint i = 1; i <= 4; i++)
    pull_pose (h, i);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* What a scan may wait for poses is part of the latency, and it waits no longer by the clock: for
 * no other scan, and not for the one before it. */
GST_START_TEST (test_live_latency)
{
  GstClockTime of_scans = 10 * GST_MSECOND, of_poses = 70 * GST_MSECOND;
  GstHarness *h = live_scans_new (TRUE, &of_scans);
  GstHarness *poses = live_poses_new (h, &of_poses);

  g_object_set (h->element, "batch-size", 1, "processing-deadline", 20 * GST_MSECOND, NULL);
  ndt_harness_drop_messages (h->element);
  g_object_set (h->element, "pose-latency", 300 * GST_MSECOND, NULL);
  g_autoptr (GstMessage) message = ndt_harness_message (h->element, GST_MESSAGE_LATENCY, NULL);
  fail_unless (message != NULL);
  /* The later of the two, the wait beyond, an alignment. */
  assert_latency (h, 390 * GST_MSECOND, GST_CLOCK_TIME_NONE);

  g_autoptr (GstClock) clock = gst_system_clock_obtain ();
  gst_element_set_clock (h->element, clock);
  const GstClockTime begin = gst_clock_get_time (clock);
  gst_element_set_base_time (h->element, begin);
  for (guint i = 0; i < 3; i++)
    push_scan (h, i);
  for (guint i = 0; i < 3; i++) {
    pull_pose (h, i);
    fail_unless (
        gst_clock_get_time (clock) >= begin + (GstClockTime)i * PERIOD + 370 * GST_MSECOND);
  }
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses-missing"), 3);

  /* One that is late already does not wait for what may come: it would for an hour. */
  gst_harness_use_testclock (h);
  gst_element_set_base_time (h->element, 0);
  gst_harness_set_time (h, 7200 * GST_SECOND);
  g_object_set (h->element, "pose-latency", 3600 * GST_SECOND, NULL);
  push_scan (h, 3);
  pull_pose (h, 3);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

static guint
count_seeks (GstHarness *h)
{
  guint n = 0;
  for (;;) {
    g_autoptr (GstEvent) event = gst_harness_try_pull_upstream_event (h);
    if (!event)
      return n;
    n += GST_EVENT_TYPE (event) == GST_EVENT_SEEK;
  }
}

static GstEvent *
new_seek (void)
{
  return gst_event_new_seek (1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, GST_SECOND,
      GST_SEEK_TYPE_NONE, 0);
}

static gboolean
refuse_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  gst_event_unref (event);
  return FALSE;
}

/* Every source seeks, once however many sinks send the event. */
GST_START_TEST (test_seek)
{
  GstHarness *h = scans_new (TRUE);
  GstHarness *poses = poses_new (h), *others = poses_new (h);
  g_autoptr (GstEvent) seek = new_seek ();

  count_seeks (h);
  for (guint i = 0; i < 3; i++)
    fail_unless (gst_harness_push_upstream_event (h, gst_event_ref (seek)));
  fail_unless_equals_int (count_seeks (h), 1);
  fail_unless_equals_int (count_seeks (poses), 1);
  fail_unless_equals_int (count_seeks (others), 1);
  fail_unless (gst_harness_push_upstream_event (h, new_seek ()));
  fail_unless_equals_int (count_seeks (h), 1);
  fail_unless_equals_int (count_seeks (poses), 1);

  /* Where poses do not come along, that is said. */
  fail_unless (ndt_harness_message (h->element, GST_MESSAGE_WARNING, NULL) == NULL);
  gst_pad_set_event_function (others->srcpad, refuse_event);
  fail_unless (gst_harness_push_upstream_event (h, new_seek ()));
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (g_error_matches (warning, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SEEK));
  fail_unless (strstr (warning->message, "pose_1") != NULL, "%s", warning->message);

  gst_pad_set_event_function (h->srcpad, refuse_event);
  g_autoptr (GstEvent) refused = new_seek ();
  fail_if (gst_harness_push_upstream_event (h, gst_event_ref (refused)));
  fail_if (gst_harness_push_upstream_event (h, gst_event_ref (refused)));
  gst_harness_teardown (others);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* Flushing wakes who waits; releasing the pad as well. */
GST_START_TEST (test_flush_and_release)
{
  GstHarness *h = scans_new (TRUE);
  GstHarness *poses = poses_new (h);
  GstSegment segment;

  push_scan (h, 0);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_harness_push_event (poses, gst_event_new_flush_start ());
  gst_harness_push_event (poses, gst_event_new_flush_stop (TRUE));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  gst_harness_push_event (poses, gst_event_new_segment (&segment));
  push_truth (poses, 0, GST_POSE_ROLE_PRIOR);
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_room_scan (0));
  fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses-missing"), 0);

  push_scan (h, 1);
  g_usleep (20000);
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
  gst_harness_teardown (poses);
  g_autoptr (GstBuffer) next = gst_harness_pull (h);
  fail_unless (next != NULL);
  ndt_harness_free (h);
}
GST_END_TEST

/* Stopping does not wait for poses. */
GST_START_TEST (test_stop)
{
  GstHarness *h = scans_new (TRUE);
  GstHarness *poses = poses_new (h);

  push_scan (h, 0);
  fail_unless_equals_int (
      gst_element_set_state (h->element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* Pushes scans of which each has a prior on a pad, @ahead metres along the heading of the truth,
 * and pulls them; returns how far ahead the last one is, metres. */
static double
run_ahead (double scale, double ahead, guint n, guint64 *by_prior, guint64 *by_velocity)
{
  GstHarness *h = scans_new (TRUE);
  g_object_set (h->element, "regularization-scale", scale, NULL);
  GstHarness *poses = poses_new (h);
  NdtPose truth, prior, found;
  double delta[6] = {0}, r[16];

  for (guint i = 0; i < n; i++) {
    ndt_room_pose (i, &truth);
    ndt_pose_to_matrix4 (&truth, r);
    delta[0] = ahead * r[0];
    delta[1] = ahead * r[4];
    ndt_pose_retract (&truth, delta, &prior);
    push_pose (poses, i * PERIOD, GST_POSE_ROLE_PRIOR, &prior);
    push_scan (h, i);
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    /* A scan that is held off its place scores less. */
    if (scale < 1)
      fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
    found = ndt_harness_pose_of (out);
  }
  *by_prior = ndt_harness_count (h, "predicted-prior");
  *by_velocity = ndt_harness_count (h, "predicted-constant-velocity");
  gst_harness_teardown (poses);
  ndt_harness_free (h);
  return r[0] * (found.position[0] - truth.position[0]) +
         r[4] * (found.position[1] - truth.position[1]);
}

/* With regularization-scale priors do not lead a scan, but hold it: by little where the scan tells
 * where it is, by as much as one wants. */
GST_START_TEST (test_regularization)
{
  guint64 by_prior, by_velocity;
  double ahead = run_ahead (0, 0.4, 12, &by_prior, &by_velocity);
  fail_unless (fabs (ahead) < 0.05, "%g m", ahead);
  fail_unless_equals_uint64 (by_prior, 11); /* the first has an initial pose */
  fail_unless_equals_uint64 (by_velocity, 0);

  ahead = run_ahead (0.01, 0.4, 12, &by_prior, &by_velocity);
  fail_unless (fabs (ahead) < 0.05, "%g m", ahead);
  fail_unless_equals_uint64 (by_prior, 0);
  fail_unless_equals_uint64 (by_velocity, 11);

  /* Nor does one that is always far off, so that the scan is looked for there now and then. */
  ahead = run_ahead (0.01, 30, 12, &by_prior, &by_velocity);
  fail_unless (fabs (ahead) < 0.05, "%g m", ahead);
  fail_unless_equals_uint64 (by_velocity, 11);

  /* A thousand per pair and m²: the walls count for nothing. */
  ahead = run_ahead (1000, 0.2, 3, &by_prior, &by_velocity);
  fail_unless (fabs (ahead - 0.2) < 0.05, "%g m", ahead);
}
GST_END_TEST

/* Poses of roles that say nothing of where a scan starts: said once, and not waited for. */
GST_START_TEST (test_other_roles)
{
  GstHarness *h = scans_new (TRUE);
  GstHarness *poses = poses_new (h);
  g_autoptr (GError) warning = NULL;

  for (guint i = 0; i < 4; i++)
    push_truth (poses, i, GST_POSE_ROLE_GROUND_TRUTH);
  for (guint i = 0; i < 4; i++)
    push_scan (h, i);
  for (guint i = 0; i < 4; i++)
    pull_pose (h, i);
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses"), 0);
  warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (g_error_matches (warning, GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE));
  fail_unless (ndt_harness_message (h->element, GST_MESSAGE_WARNING, NULL) == NULL);
  gst_harness_teardown (poses);
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
ndtlocalize_poses_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-poses");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_test (tc, test_interpolated_priors);
  tcase_add_test (tc, test_one_thread);
  tcase_add_test (tc, test_one_thread_sparse);
  tcase_add_test (tc, test_metas_win);
  tcase_add_test (tc, test_limits);
  tcase_add_test (tc, test_gap_and_eos);
  tcase_add_test (tc, test_live);
  tcase_add_test (tc, test_live_latency);
  tcase_add_test (tc, test_seek);
  tcase_add_test (tc, test_flush_and_release);
  tcase_add_test (tc, test_stop);
  tcase_add_test (tc, test_regularization);
  tcase_add_test (tc, test_other_roles);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_poses)
