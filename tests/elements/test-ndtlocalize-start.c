/* SPDX-License-Identifier: MIT */
/* ndtlocalize's starts from poses that are known to metres and without their yaw. */
#include <gst/check/gstcheck.h>

#include <string.h>

#include "tests/ndt-harness.h"
#include "tests/ndt-wait.h"

#define UNCERTAIN "<2,2,0.3,180>"

/* Metres from where a scan is, and turned round. */
static NdtPose
off_pose (guint index)
{
  static const double delta[6] = {-3, 2, 0.2, 0, 0, 2.5};
  NdtPose pose;
  ndt_room_pose (index, &pose);
  ndt_pose_retract (&pose, delta, &pose);
  return pose;
}

static void
assert_tracks (GstBuffer *scan, guint index)
{
  const GstPoseMeta *meta = ndt_harness_estimate (scan);
  const NdtPose pose = ndt_harness_pose_of (scan);
  NdtPose truth;
  double metres, angle;
  ndt_room_pose (index, &truth);
  ndt_pose_difference (&pose, &truth, &metres, &angle);
  fail_unless_equals_int (meta->status, GST_POSE_STATUS_TRACKING);
  /* 700 points with 1 cm of noise, and cells of 1 m. */
  fail_unless (metres < 0.1 && angle < 0.02, "%g m, %g rad", metres, angle);
}

/* A scan of the floor alone. */
static GstBuffer *
floor_scan (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  float *xyz = g_new (float, 3 * NDT_ROOM_POINTS);
  for (guint i = 0; i < 3 * NDT_ROOM_POINTS; i++)
    xyz[i] = i % 3 == 2 ? -1.5f : (float)g_rand_double_range (random, -2, 2);
  return gst_buffer_new_wrapped (xyz, 3 * sizeof (float) * NDT_ROOM_POINTS);
}

static void
add_prior (GstBuffer *buffer, const NdtPose *pose, gboolean has_covariance)
{
  static const gdouble variance[6] = {4, 4, 0.1, 0.0004, 0.0004, 10};
  GstPoseMeta *meta =
      gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_PRIOR, pose->position, pose->orientation);
  meta->has_covariance = has_covariance;
  for (guint i = 0; i < 6; i++)
    meta->covariance[7 * i] = variance[i];
}

GST_START_TEST (test_initial_pose)
{
  const NdtPose off = off_pose (0);
  g_autofree gchar *initial = ndt_pose_to_string (&off);
  GstHarness *h = ndt_harness_new ("resolution", 1.0, "initial-pose", initial,
      "initial-pose-uncertainty", UNCERTAIN, "post-messages", TRUE, NULL);
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_room_scan (i));
    assert_tracks (out, i);
    g_autoptr (GstMessage) message =
        ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-pose");
    const GstStructure *structure = gst_message_get_structure (message);
    gdouble runner_up;
    guint starts;
    fail_unless (gst_structure_get (
        structure, "starts", G_TYPE_UINT, &starts, "runner-up", G_TYPE_DOUBLE, &runner_up, NULL));
    fail_unless_equals_int (starts > 32, i == 0);
    fail_unless_equals_int (runner_up > 0, i == 0);
    fail_unless (runner_up < 0.88);
  }
  fail_unless_equals_uint64 (ndt_harness_count (h, "rejected-ambiguous"), 0);
  ndt_harness_free (h);
}
GST_END_TEST;

/* As many candidates as there are to be. */
GST_START_TEST (test_candidates)
{
  const NdtPose off = off_pose (0);
  g_autofree gchar *initial = ndt_pose_to_string (&off);
  GstHarness *h =
      ndt_harness_new ("resolution", 1.0, "initial-pose", initial, "initial-pose-uncertainty",
          "<2,2,0.3,1,1,180>", "initial-pose-candidates", 1234, "post-messages", TRUE, NULL);
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_room_scan (0));
  assert_tracks (out, 0);
  g_autoptr (GstMessage) message =
      ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-pose");
  guint starts;
  fail_unless (gst_structure_get_uint (gst_message_get_structure (message), "starts", &starts));
  fail_unless_equals_int (starts, 1234);
  ndt_harness_free (h);
}
GST_END_TEST;

static gboolean
find_progress (GstElement *element, const gchar *of, GstProgressType *type)
{
  g_autoptr (GstMessage) message = ndt_harness_message (element, GST_MESSAGE_PROGRESS, NULL);
  g_autofree gchar *code = NULL;

  if (message)
    gst_message_parse_progress (message, type, &code, NULL);
  return g_strcmp0 (code, of) == 0;
}

/* Many candidates are ranked with progress messages, and a stop does not wait for them. A device
 * may rank them all before the first message. */
GST_START_TEST (test_many_candidates)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "initial-pose-uncertainty", UNCERTAIN,
      "initial-pose-candidates", 1000000, "backend", 2 /* cpu */, NULL);
  GstProgressType type;

  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (0)), GST_FLOW_OK);
  /* All of them take many seconds; the first message is there after one. */
  ndt_wait_for (find_progress (h->element, "search", &type));
  fail_unless_equals_int (type, GST_PROGRESS_TYPE_START);
  const gint64 begin = g_get_monotonic_time ();
  ndt_harness_free (h);
  /* A batch of candidates is some milliseconds; a busy machine is slower. */
  fail_unless (g_get_monotonic_time () - begin < 5 * G_USEC_PER_SEC);
}
GST_END_TEST

/* What the property says while playing counts for the pose that is set next. */
GST_START_TEST (test_action)
{
  NdtPose truth;
  ndt_room_pose (0, &truth);
  g_autofree gchar *initial = ndt_pose_to_string (&truth);
  GstHarness *h = ndt_harness_new ("resolution", 1.0, "initial-pose", initial, NULL);
  g_autoptr (GstBuffer) before = ndt_harness_pass (h, ndt_room_scan (0));
  assert_tracks (before, 0);
  const NdtPose off = off_pose (20);
  g_autofree gchar *text = ndt_pose_to_string (&off);
  gboolean set = FALSE;
  ndt_harness_set (h->element, "initial-pose-uncertainty", UNCERTAIN, NULL);
  g_signal_emit_by_name (h->element, "set-initial-pose", text, &set);
  fail_unless (set);
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_room_scan (20));
  assert_tracks (out, 20);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-initial"), 2);
  ndt_harness_free (h);
}
GST_END_TEST;

/* A prior is as uncertain as its covariance says, or as the property where it has none. */
GST_START_TEST (test_priors)
{
  for (guint own = 0; own < 2; own++) {
    GstHarness *h = ndt_harness_new (
        "resolution", 1.0, "initial-pose-uncertainty", own ? NULL : UNCERTAIN, NULL);
    const NdtPose off = off_pose (0);
    GstBuffer *scan = ndt_room_scan (0);
    add_prior (scan, &off, own);
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
    assert_tracks (out, 0);
    ndt_harness_free (h);
  }
}
GST_END_TEST;

/* So are those of a pose pad. */
GST_START_TEST (test_pose_pad)
{
  GstHarness *h = ndt_harness_new ("resolution", 1.0, NULL);
  gst_util_set_object_arg (G_OBJECT (h->element), "pose-time", "start");
  GstHarness *poses = gst_harness_new_with_element (h->element, "pose_%u", NULL);
  gst_harness_set_src_caps_str (poses, GST_POSE_CAPS_NAME);
  const NdtPose off = off_pose (0);
  for (guint i = 0; i < 2; i++) {
    GstBuffer *buffer = gst_buffer_new ();
    GST_BUFFER_PTS (buffer) = i * 70 * GST_MSECOND;
    add_prior (buffer, &off, TRUE);
    fail_unless_equals_int (gst_harness_push (poses, buffer), GST_FLOW_OK);
  }
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_room_scan (0));
  assert_tracks (out, 0);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-prior"), 1);
  gst_harness_teardown (poses);
  ndt_harness_free (h);
}
GST_END_TEST;

/* A scan that fits in many places is degraded and warned of, and the next one found. */
GST_START_TEST (test_ambiguous)
{
  const NdtPose off = off_pose (1);
  g_autofree gchar *initial = ndt_pose_to_string (&off);
  GstHarness *h = ndt_harness_new (
      "resolution", 1.0, "initial-pose", initial, "initial-pose-uncertainty", UNCERTAIN, NULL);
  fail_unless_equals_int (ndt_harness_pass_status (h, floor_scan ()), GST_POSE_STATUS_DEGRADED);
  fail_unless_equals_uint64 (ndt_harness_count (h, "rejected-ambiguous"), 1);
  fail_unless_equals_uint64 (ndt_harness_count (h, "aligned"), 1);
  g_autoptr (GstMessage) message =
      ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-state");
  const GstStructure *structure = gst_message_get_structure (message);
  fail_unless_equals_string (gst_structure_get_string (structure, "state"), "degraded");
  fail_unless_equals_string (gst_structure_get_string (structure, "reason"), "ambiguous");
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (warning && strstr (warning->message, "not found reliably"));
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_room_scan (1));
  assert_tracks (out, 1);
  ndt_harness_free (h);
}
GST_END_TEST;

/* Where scans do not fit, which is asked for here, a warning says of a map with too few points for
 * its cells that it has, with the property to change: the room has a point in 0.15 x 0.15 m. */
GST_START_TEST (test_sparse_map)
{
  static const double resolutions[] = {0.3, 0.6, 1};
  g_autofree gchar *initial = ndt_harness_pose (0);
  for (guint i = 0; i < G_N_ELEMENTS (resolutions); i++) {
    GstHarness *h = ndt_harness_new ("resolution", resolutions[i], "initial-pose", initial,
        "nvtl-threshold", 100.0, "map-search", FALSE, NULL);
    g_autoptr (GError) warning = NULL;
    gboolean is_sparse = FALSE, is_bad_fit = FALSE;
    for (guint k = 0; k < 6; k++) {
      gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
      for (; (warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING));
           g_clear_error (&warning)) {
        is_bad_fit |= strstr (warning->message, "its fit is") != NULL;
        is_sparse |= strstr (warning->message, "the map is sparse for cells of 0.3 m") &&
                     strstr (warning->message, "set resolution=0.6");
      }
    }
    fail_unless (is_bad_fit);
    fail_unless_equals_int (is_sparse, i == 0);
    ndt_harness_free (h);
  }
}
GST_END_TEST;

/* A sensor that is covered while the map is searched is worth a warning, with a pose to start from
 * and without: the scans before are too few for the search, which does not end. */
GST_START_TEST (test_covered)
{
  const NdtPose off = off_pose (0);
  g_autofree gchar *wrong = ndt_pose_to_string (&off);
  for (guint with_pose = 0; with_pose < 2; with_pose++) {
    GstHarness *h =
        ndt_harness_new ("resolution", 1.0, "initial-pose", with_pose ? wrong : "", NULL);
    gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
    fail_unless (ndt_harness_error (h->element, GST_MESSAGE_WARNING) == NULL);
    GstBuffer *covered = ndt_room_scan (1);
    gst_buffer_set_size (covered, 2 * 3 * sizeof (float));
    gst_buffer_unref (ndt_harness_pass (h, covered));
    g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
    fail_unless (warning != NULL);
    fail_unless (
        strstr (warning->message, with_pose ? "it has 2 finite points" : "no pose to start from"),
        "%s", warning->message);
    ndt_harness_free (h);
  }
}
GST_END_TEST;

/* Lists that are no uncertainty are refused: while playing the value before stays, at the start it
 * is an error. */
GST_START_TEST (test_refused)
{
  static const gchar *const bad[] = {
      "<5>", "<5,5>", "<1,2,3>", "<1,2,3,-4>", "<1,2,3,4,5>", "<1,2,3,4,5,6,7>"};
  GstHarness *h = ndt_harness_new ("initial-pose-uncertainty", UNCERTAIN, NULL);
  g_autofree gchar *before = ndt_harness_get (h->element, "initial-pose-uncertainty");
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    ndt_harness_set (h->element, "initial-pose-uncertainty", bad[i], NULL);
    g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
    fail_unless (warning && strstr (warning->message, "initial-pose-uncertainty"), "%s", bad[i]);
    g_autofree gchar *value = ndt_harness_get (h->element, "initial-pose-uncertainty");
    fail_unless_equals_string (value, before);
  }
  ndt_harness_free (h);

  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  gst_element_set_bus (element, bus);
  ndt_harness_set (
      element, "map-location", ndt_room_map (), "initial-pose-uncertainty", "<5>", NULL);
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  g_autoptr (GError) error = ndt_harness_error (element, GST_MESSAGE_ERROR);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
  ndt_harness_drop_messages (element);
  gst_element_set_bus (element, NULL);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
}
GST_END_TEST;

/* Nobody says where it is: what the first scan finds holds for two more, and then it is known. */
GST_START_TEST (test_no_pose)
{
  GstHarness *h = ndt_harness_new ("resolution", 1.0, NULL);
  for (guint i = 0; i < 6; i++) {
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_room_scan (i));
    if (i >= 3)
      assert_tracks (out, i);
    else
      fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_INITIALIZING);
  }
  ndt_harness_free (h);
}
GST_END_TEST;

/* A floor alone has nothing to find it by. */
GST_START_TEST (test_no_pose_no_place)
{
  GstHarness *h = ndt_harness_new ("resolution", 1.0, NULL);
  for (guint i = 0; i < 5; i++) {
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, floor_scan ());
    const GstPoseMeta *meta = ndt_harness_estimate (out);
    fail_unless_equals_int (meta->status, GST_POSE_STATUS_INITIALIZING);
    fail_unless_equals_int (
        meta->reason, i < 3 ? GST_POSE_REASON_NO_START : GST_POSE_REASON_NO_MAP);
    fail_if (meta->has_pose);
  }
  ndt_harness_free (h);
}
GST_END_TEST;

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
ndtlocalize_start_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-start");
  TCase *tc = tcase_create ("general");
  tcase_set_timeout (tc, 300);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_test (tc, test_initial_pose);
  tcase_add_test (tc, test_candidates);
  tcase_add_test (tc, test_many_candidates);
  tcase_add_test (tc, test_action);
  tcase_add_test (tc, test_priors);
  tcase_add_test (tc, test_pose_pad);
  tcase_add_test (tc, test_ambiguous);
  tcase_add_test (tc, test_sparse_map);
  tcase_add_test (tc, test_covered);
  tcase_add_test (tc, test_refused);
  tcase_add_test (tc, test_no_pose);
  tcase_add_test (tc, test_no_pose_no_place);
  suite_add_tcase (suite, tc);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_start);
