/* SPDX-License-Identifier: MIT */
/* Streams of poses that are far ahead of scans, on another clock, or slow. */
#include <gst/check/gstcheck.h>

#include <string.h>

#include "tests/ndt-harness.h"
#include "tests/ndt-wait.h"

/* More than wait in the element. */
#define N_POSES 70000
#define N_SCANS 100

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

static GstHarness *
scans_new (GstClockTime *latency)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  gst_pad_add_probe (h->srcpad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM, answer_latency, latency, NULL);
  return h;
}

static GstHarness *
poses_new (GstHarness *h, GstClockTime *latency)
{
  GstHarness *poses = gst_harness_new_with_element (h->element, "pose_%u", NULL);
  gst_pad_add_probe (
      poses->srcpad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM, answer_latency, latency, NULL);
  gst_harness_set_src_caps_str (poses, GST_POSE_CAPS_NAME);
  return poses;
}

static GstFlowReturn
push_pose (GstHarness *poses, GstClockTime time, GstPoseRole role)
{
  NdtPose pose;
  GstBuffer *buffer = gst_buffer_new ();
  ndt_room_pose (0, &pose);
  GST_BUFFER_PTS (buffer) = time;
  gst_buffer_add_pose_meta (buffer, role, pose.position, pose.orientation);
  return gst_harness_push (poses, buffer);
}

/* The vehicle stands. */
static void
pass_scan (GstHarness *h, GstClockTime time)
{
  GstBuffer *scan = ndt_room_scan (0);
  GST_BUFFER_PTS (scan) = time;
  gst_buffer_unref (ndt_harness_pass (h, scan));
}

static GError *
next_warning (GstHarness *h)
{
  return ndt_harness_error (h->element, GST_MESSAGE_WARNING);
}

static gint n_pushed;

/* At a kilohertz. */
static gpointer
push_poses (gpointer user_data)
{
  for (guint i = 0; i < N_POSES; i++) {
    if (push_pose (user_data, i * GST_MSECOND, GST_POSE_ROLE_ODOMETRY) != GST_FLOW_OK)
      break;
    g_atomic_int_inc (&n_pushed);
  }
  return NULL;
}

/* Whoever brings poses waits for scans, and none is lost. */
GST_START_TEST (test_far_ahead)
{
  GstHarness *h = scans_new (NULL);
  GstHarness *poses = poses_new (h, NULL);

  n_pushed = 0;
  push_pose (poses, 0, GST_POSE_ROLE_ODOMETRY);
  pass_scan (h, 0);
  GThread *thread = g_thread_new ("poses", push_poses, poses);
  ndt_wait_for (g_atomic_int_get (&n_pushed) == 65536);
  for (guint i = 1; i <= N_SCANS; i++)
    pass_scan (h, i * 500 * GST_MSECOND);
  g_thread_join (thread);
  fail_unless_equals_int (n_pushed, N_POSES);
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses-missing"), 0);
  fail_unless (next_warning (h) == NULL);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* One thread that brings both has nobody to wait for: it goes on, with a sentence. */
GST_START_TEST (test_far_ahead_one_thread)
{
  GstHarness *h = scans_new (NULL);
  GstHarness *poses = poses_new (h, NULL);

  push_poses (poses);
  g_autoptr (GError) warning = next_warning (h);
  fail_unless (warning && strstr (warning->message, "poses of pose_0 wait for scans") &&
                   strstr (warning->message, "no scan has come"),
      "%s", warning ? warning->message : "nothing is said");
  for (guint i = 0; i < N_SCANS; i++)
    pass_scan (h, i * 500 * GST_MSECOND);
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses-missing"), 0);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* A pad, or the element, stops while somebody waits to put: this test would not end otherwise. */
GST_START_TEST (test_stop_while_full)
{
  for (guint release = 0; release < 2; release++) {
    GstHarness *h = scans_new (NULL);
    GstHarness *poses = poses_new (h, NULL);
    n_pushed = 0;
    push_pose (poses, 0, GST_POSE_ROLE_ODOMETRY);
    pass_scan (h, 0);
    GThread *thread = g_thread_new ("poses", push_poses, poses);
    ndt_wait_for (g_atomic_int_get (&n_pushed) == 65536);
    if (release) {
      g_autoptr (GstPad) pad = gst_pad_get_peer (poses->srcpad);
      gst_pad_set_active (pad, FALSE);
    } else {
      gst_element_set_state (h->element, GST_STATE_READY);
    }
    g_thread_join (thread);
    gst_element_set_state (h->element, GST_STATE_NULL);
    gst_harness_teardown (poses);
    ndt_harness_free (h);
  }
}
GST_END_TEST

/* A live source cannot wait: the oldest are dropped, and it is said with the times. */
GST_START_TEST (test_live_drops)
{
  GstClockTime latency = 10 * GST_MSECOND;
  GstHarness *h = scans_new (&latency);
  GstHarness *poses = poses_new (h, &latency);
  g_autoptr (GstQuery) query = gst_query_new_latency ();

  fail_unless (gst_pad_peer_query (h->sinkpad, query));
  push_poses (poses);
  g_autoptr (GError) warning = next_warning (h);
  fail_unless (warning && strstr (warning->message, "the oldest are dropped") &&
                   strstr (warning->message, "0.0 s to 65.5 s"),
      "%s", warning ? warning->message : "nothing is said");
  fail_unless (next_warning (h) == NULL);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* Which clock is how far from which. */
GST_START_TEST (test_clocks)
{
  static const struct {
    gint seconds;
    const gchar *said;
  } cases[] = {{37, "37.0 s later than the scan, as far as TAI and UTC"},
      {18, "18.0 s later than the scan, as far as GPS time and UTC"},
      {5, "5.0 s later than the scan. Are they of one clock"},
      {-37, "34.0 s earlier than the scan"}};
  for (guint k = 0; k < G_N_ELEMENTS (cases); k++) {
    const GstClockTime begin = 100 * GST_SECOND;
    GstHarness *h = scans_new (NULL);
    GstHarness *poses = poses_new (h, NULL);
    const GstClockTime shifted = begin + (GstClockTime)(cases[k].seconds * (gint64)GST_SECOND);
    for (guint i = 0; i <= 30; i++)
      push_pose (poses, shifted + i * 100 * GST_MSECOND, GST_POSE_ROLE_ODOMETRY);
    gst_harness_push_event (poses, gst_event_new_eos ());
    for (guint i = 0; i < 30; i++)
      pass_scan (h, begin + i * 100 * GST_MSECOND);
    fail_unless_equals_uint64 (ndt_harness_count (h, "poses-missing"), 30);
    g_autoptr (GError) warning = next_warning (h);
    fail_unless (
        warning && strstr (warning->message, "pose_0") && strstr (warning->message, cases[k].said),
        "%s", warning ? warning->message : "nothing is said");
    fail_unless (next_warning (h) == NULL);
    gst_harness_teardown (poses);
    ndt_harness_free (h);
  }
}
GST_END_TEST

/* A fix a second costs no second: a scan does not wait for one that comes too late for it. */
GST_START_TEST (test_live_fixes)
{
  GstClockTime latency = 0;
  GstHarness *h = scans_new (&latency);
  GstHarness *poses = poses_new (h, &latency);
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  GstClockTime min;

  gst_element_set_clock (h->element, NULL); /* nothing but poses ends a wait */
  fail_unless (gst_pad_peer_query (h->sinkpad, query));
  gst_query_parse_latency (query, NULL, &min, NULL);
  fail_unless (min < 300 * GST_MSECOND);
  push_pose (poses, 0, GST_POSE_ROLE_PRIOR);
  push_pose (poses, GST_SECOND, GST_POSE_ROLE_PRIOR);
  for (guint i = 11; i < 18; i++)
    pass_scan (h, i * 100 * GST_MSECOND);
  /* The next fix is due 150 ms after this one. */
  GstBuffer *scan = ndt_room_scan (0);
  GST_BUFFER_PTS (scan) = 1850 * GST_MSECOND;
  fail_unless_equals_int (gst_harness_push (h, scan), GST_FLOW_OK);
  g_usleep (20000);
  fail_unless (gst_harness_try_pull (h) == NULL);
  push_pose (poses, 2 * GST_SECOND, GST_POSE_ROLE_PRIOR);
  gst_buffer_unref (gst_harness_pull (h));
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST

/* A serialized query behind a scan that waits for poses which its sender brings: the sender is not
 * held up, it gets no proposal. */
GST_START_TEST (test_allocation_while_waiting)
{
  GstHarness *h = scans_new (NULL);
  GstHarness *poses = poses_new (h, NULL);
  g_autoptr (GstCaps) caps = gst_caps_from_string (NDT_ROOM_CAPS);

  push_pose (poses, 0, GST_POSE_ROLE_ODOMETRY);
  for (guint i = 1; i < 6; i++) {
    GstBuffer *scan = ndt_room_scan (0);
    g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
    GST_BUFFER_PTS (scan) = i * 100 * GST_MSECOND;
    fail_unless_equals_int (gst_harness_push (h, scan), GST_FLOW_OK);
    gst_pad_peer_query (h->srcpad, query);
    push_pose (poses, i * 100 * GST_MSECOND, GST_POSE_ROLE_ODOMETRY);
    gst_buffer_unref (gst_harness_pull (h));
  }
  fail_unless_equals_uint64 (ndt_harness_count (h, "poses-missing"), 0);
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
ndtlocalize_posequeue_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-posequeue");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_test (tc, test_far_ahead);
  tcase_add_test (tc, test_far_ahead_one_thread);
  tcase_add_test (tc, test_stop_while_full);
  tcase_add_test (tc, test_live_drops);
  tcase_add_test (tc, test_clocks);
  tcase_add_test (tc, test_live_fixes);
  tcase_add_test (tc, test_allocation_while_waiting);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_posequeue);
