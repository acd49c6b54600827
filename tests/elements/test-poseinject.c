/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-pose.h"
#include "tests/ndt-harness.h"

#define CAPS "pointcloud/x-raw,format=XYZI_F32LE,framerate=10/1,frame-id=lidar"

/* Ten poses, 0.1 s and 2 m apart, turning by 3° each. */
#define N_POSES 10
#define STEP 2.0
#define TURN (3 * G_PI / 180)

static GstHarness *harness;
static GstBus *bus;
static gchar *path;

static void
true_pose (guint i, NdtPose *pose)
{
  const double position[3] = {STEP * i, 0, 1};
  ndt_pose_from_rpy (position, 0, 0, TURN * i, pose);
}

/* origin: ns; @epoch of the first line. */
static void
write_tum (gint64 epoch)
{
  g_autoptr (GString) text = g_string_new ("# time tx ty tz qx qy qz qw\n");
  for (guint i = 0; i < N_POSES; i++) {
    const gint64 time = epoch + i * 100000000;
    NdtPose pose;
    true_pose (i, &pose);
    g_string_append_printf (text, "%d.%09d %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n",
        (gint)(time / 1000000000), (gint)(time % 1000000000), pose.position[0], pose.position[1],
        pose.position[2], pose.orientation[0], pose.orientation[1], pose.orientation[2],
        pose.orientation[3]);
  }
  fail_unless (g_file_set_contents (path, text->str, -1, NULL));
}

static void
setup (void)
{
  g_close (g_file_open_tmp ("poseinject-XXXXXX", &path, NULL), NULL);
  bus = gst_bus_new ();
  harness = NULL;
}

static void
teardown (void)
{
  if (harness) {
    gst_element_set_bus (harness->element, NULL);
    gst_harness_teardown (harness);
  }
  gst_object_unref (bus);
  g_unlink (path);
  g_free (path);
}

/* An element with "location" and @properties set; caps and a TIME segment have come. */
static void
start (const gchar *properties)
{
  g_autofree gchar *line = g_strdup_printf ("poseinject location=%s %s", path, properties);
  harness = gst_harness_new_parse (line);
  gst_element_set_bus (harness->element, bus);
  gst_harness_set_src_caps_str (harness, CAPS);
}

static GstBuffer *
push_buffer (GstBuffer *buffer)
{
  fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
  return gst_harness_pull (harness);
}

static GstBuffer *
push (GstClockTime pts)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 32, NULL);
  gst_buffer_memset (buffer, 0, 7, 32);
  GST_BUFFER_PTS (buffer) = pts;
  return push_buffer (buffer);
}

/* Pushes a scan; whether it got a pose of the role, and which. */
static gboolean
push_for_pose (GstClockTime pts, GstPoseRole role, NdtPose *pose)
{
  g_autoptr (GstBuffer) buffer = push (pts);
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, role);
  if (!meta)
    return FALSE;
  fail_unless (meta->has_pose);
  memcpy (pose->position, meta->position, sizeof pose->position);
  memcpy (pose->orientation, meta->orientation, sizeof pose->orientation);
  return TRUE;
}

static void
check_near (const NdtPose *a, const NdtPose *b, double tolerance)
{
  double metres, radians;
  ndt_pose_difference (a, b, &metres, &radians);
  fail_unless (metres <= tolerance && radians <= tolerance, "%g m %g rad apart", metres, radians);
}

static void
check_stats (guint64 scans, guint64 posed, guint64 missed)
{
  g_autoptr (GstStructure) stats = NULL;
  g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (harness->element), "inject");
  guint64 n[3];
  g_object_get (element, "stats", &stats, NULL);
  fail_unless (gst_structure_get (stats, "scans", G_TYPE_UINT64, &n[0], "posed", G_TYPE_UINT64,
      &n[1], "missed", G_TYPE_UINT64, &n[2], NULL));
  fail_unless_equals_uint64 (n[0], scans);
  fail_unless_equals_uint64 (n[1], posed);
  fail_unless_equals_uint64 (n[2], missed);
}

GST_START_TEST (test_time)
{
  NdtPose pose, expected, a, b;
  write_tum (1 * GST_SECOND);
  start ("name=inject ! identity");
  /* Before the first and after the last there is none. */
  fail_if (push_for_pose (999999999, GST_POSE_ROLE_PRIOR, &pose));
  for (guint i = 0; i < N_POSES; i++) {
    fail_unless (push_for_pose (GST_SECOND + i * 100 * GST_MSECOND, GST_POSE_ROLE_PRIOR, &pose));
    true_pose (i, &expected);
    check_near (&pose, &expected, 1e-12);
  }
  fail_if (push_for_pose (1900000001, GST_POSE_ROLE_PRIOR, &pose));
  fail_unless (push_for_pose (1325 * GST_MSECOND, GST_POSE_ROLE_PRIOR, &pose));
  true_pose (3, &a);
  true_pose (4, &b);
  ndt_pose_interpolate (&a, &b, 0.25, &expected);
  check_near (&pose, &expected, 1e-12);
  check_stats (13, 11, 2);
}
GST_END_TEST;

GST_START_TEST (test_time_origin)
{
  const gint64 epoch = 1600000000;
  NdtPose pose, expected;
  write_tum (epoch);
  start ("time-origin=first-scan name=inject ! identity");
  fail_unless (push_for_pose (5 * GST_SECOND, GST_POSE_ROLE_PRIOR, &pose));
  true_pose (0, &expected);
  check_near (&pose, &expected, 1e-12);
  fail_unless (push_for_pose (5300 * GST_MSECOND, GST_POSE_ROLE_PRIOR, &pose));
  true_pose (3, &expected);
  check_near (&pose, &expected, 1e-12);
}
GST_END_TEST;

GST_START_TEST (test_time_reference)
{
  g_autoptr (GstCaps) clock = gst_caps_new_empty_simple ("timestamp/x-ptp");
  NdtPose expected;
  write_tum (1600 * GST_SECOND);
  start ("time-origin=reference ts-offset=100000000 name=inject ! identity");
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 16, NULL);
  GST_BUFFER_PTS (buffer) = 0;
  gst_buffer_add_reference_timestamp_meta (
      buffer, clock, 1600 * GST_SECOND + 200 * GST_MSECOND, GST_CLOCK_TIME_NONE);
  g_autoptr (GstBuffer) out = push_buffer (buffer);
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (out, GST_POSE_ROLE_PRIOR);
  fail_unless (meta != NULL);
  true_pose (3, &expected);
  fail_unless (fabs (meta->position[0] - expected.position[0]) < 1e-12);
  /* Without the sensor's time there is none. */
  NdtPose pose;
  fail_if (push_for_pose (0, GST_POSE_ROLE_PRIOR, &pose));
  check_stats (2, 1, 1);
}
GST_END_TEST;

GST_START_TEST (test_max_gap)
{
  NdtPose pose;
  write_tum (0);
  start ("max-pose-gap=50000000 name=inject ! identity");
  fail_unless (push_for_pose (100 * GST_MSECOND, GST_POSE_ROLE_PRIOR, &pose));
  fail_if (push_for_pose (120 * GST_MSECOND, GST_POSE_ROLE_PRIOR, &pose));
}
GST_END_TEST;

/* What a meta says, by index; the payload is that which came. */
GST_START_TEST (test_meta)
{
  write_tum (77 * GST_SECOND);
  start ("match=index role=ground-truth name=inject ! identity");
  for (guint i = 0; i < N_POSES; i++) {
    NdtPose expected;
    GstBuffer *in = gst_buffer_new_allocate (NULL, 32, NULL);
    GstMemory *memory = gst_buffer_peek_memory (in, 0);
    GST_BUFFER_PTS (in) = i;
    /* A second reference makes it not writable, as behind a tee. */
    g_autoptr (GstBuffer) kept = gst_buffer_ref (in);
    g_autoptr (GstBuffer) out = push_buffer (in);
    true_pose (i, &expected);
    fail_unless (gst_buffer_peek_memory (out, 0) == memory);
    fail_if (gst_buffer_get_pose_meta (kept, GST_POSE_ROLE_GROUND_TRUTH));
    const GstPoseMeta *meta = gst_buffer_get_pose_meta (out, GST_POSE_ROLE_GROUND_TRUTH);
    fail_unless (meta && meta->has_pose && !meta->has_covariance);
    fail_unless_equals_uint64 (meta->sequence, i);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), i);
    fail_unless_equals_string (g_quark_to_string (meta->parent_frame), "map");
    fail_unless_equals_string (g_quark_to_string (meta->child_frame), "lidar");
    fail_unless (fabs (meta->position[0] - expected.position[0]) < 1e-12);
  }
  g_autoptr (GstBuffer) beyond = push (N_POSES);
  fail_if (gst_buffer_get_pose_meta (beyond, GST_POSE_ROLE_GROUND_TRUTH));
}
GST_END_TEST;

/* Two in a row: odometry on all scans, a prior on the first. */
GST_START_TEST (test_two_roles)
{
  g_autofree gchar *rest = NULL;
  write_tum (0);
  rest = g_strdup_printf ("role=odometry child-frame=base name=inject ! "
                          "poseinject location=%s count=1 parent-frame=world",
      path);
  start (rest);
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) out = push (i * 100 * GST_MSECOND);
    const GstPoseMeta *odometry = gst_buffer_get_pose_meta (out, GST_POSE_ROLE_ODOMETRY);
    const GstPoseMeta *prior = gst_buffer_get_pose_meta (out, GST_POSE_ROLE_PRIOR);
    fail_unless (odometry != NULL);
    fail_unless_equals_string (g_quark_to_string (odometry->parent_frame), "odom");
    fail_unless_equals_string (g_quark_to_string (odometry->child_frame), "base");
    fail_unless_equals_int (prior != NULL, i == 0);
    if (prior)
      fail_unless_equals_string (g_quark_to_string (prior->parent_frame), "world");
  }
}
GST_END_TEST;

/* A pose of the same role is replaced, other roles stay. */
GST_START_TEST (test_replaced)
{
  const gdouble position[3] = {9, 9, 9}, orientation[4] = {0, 0, 0, 1};
  gpointer state = NULL;
  guint n = 0;
  write_tum (0);
  start ("name=inject ! identity");
  GstBuffer *in = gst_buffer_new_allocate (NULL, 16, NULL);
  GST_BUFFER_PTS (in) = 0;
  gst_buffer_add_pose_meta (in, GST_POSE_ROLE_PRIOR, position, orientation);
  gst_buffer_add_pose_meta (in, GST_POSE_ROLE_ESTIMATE, position, orientation);
  g_autoptr (GstBuffer) out = push_buffer (in);
  while (gst_buffer_iterate_meta_filtered (out, &state, GST_POSE_META_API_TYPE))
    n++;
  fail_unless_equals_int (n, 2);
  fail_unless (gst_buffer_get_pose_meta (out, GST_POSE_ROLE_PRIOR)->position[0] == 0);
  fail_unless (gst_buffer_get_pose_meta (out, GST_POSE_ROLE_ESTIMATE)->position[0] == 9);
}
GST_END_TEST;

/* Mean and spread of the noise of many poses, and the same again from the same seed. */
GST_START_TEST (test_prior_noise)
{
  const guint n = 1000;
  double sum[6] = {0}, squares[6] = {0};
  g_autofree NdtPose *poses = g_new (NdtPose, n);
  NdtPose truth;
  write_tum (0);
  true_pose (4, &truth);
  for (guint round = 0; round < 3; round++) {
    start (round < 2 ? "translation-noise=0.5 rotation-noise=2 seed=5 name=inject ! identity"
                     : "translation-noise=0.5 rotation-noise=2 seed=6 name=inject ! identity");
    for (guint i = 0; i < n; i++) {
      NdtPose pose, turn = truth, between;
      double twist[6];
      fail_unless (push_for_pose (400 * GST_MSECOND, GST_POSE_ROLE_PRIOR, &pose));
      if (round == 0)
        poses[i] = pose;
      else if (round == 1)
        fail_unless (memcmp (&poses[i], &pose, sizeof pose) == 0);
      else
        fail_if (memcmp (&poses[i], &pose, sizeof pose) == 0);
      memcpy (turn.orientation, pose.orientation, sizeof turn.orientation);
      ndt_pose_between (&truth, &turn, &between);
      ndt_pose_log (&between, twist);
      for (guint k = 0; k < 3; k++)
        twist[k] = pose.position[k] - truth.position[k];
      for (guint k = 0; k < 6 && round == 0; k++) {
        sum[k] += twist[k];
        squares[k] += twist[k] * twist[k];
      }
    }
    gst_element_set_bus (harness->element, NULL);
    g_clear_pointer (&harness, gst_harness_teardown);
  }
  for (guint k = 0; k < 6; k++) {
    const double sigma = k < 3 ? 0.5 : 2 * G_PI / 180;
    /* Four standard errors of a mean and of a standard deviation; the seed is fixed. */
    fail_unless (fabs (sum[k] / n) < 4 * sigma / sqrt (n));
    fail_unless (fabs (sqrt (squares[k] / n) / sigma - 1) < 4 / sqrt (2 * n));
  }
}
GST_END_TEST;

/* Odometry's noise is of the increments: each is off by 5 % and 1°, and the sum drifts. */
GST_START_TEST (test_odometry_noise)
{
  double squares = 0, angles = 0;
  guint n = 0;
  write_tum (0);
  for (guint seed = 0; seed < 100; seed++) {
    g_autofree gchar *rest = g_strdup_printf (
        "role=odometry relative-translation-noise=0.05 rotation-noise=1 seed=%u name=inject ! "
        "identity",
        seed);
    NdtPose last, truth, pose;
    start (rest);
    for (guint i = 0; i < N_POSES; i++) {
      fail_unless (push_for_pose (i * 100 * GST_MSECOND, GST_POSE_ROLE_ODOMETRY, &pose));
      true_pose (i, &truth);
      if (i == 0) {
        check_near (&pose, &truth, 1e-12);
      } else {
        NdtPose step, true_step, before;
        double metres, radians;
        true_pose (i - 1, &before);
        ndt_pose_between (&last, &pose, &step);
        ndt_pose_between (&before, &truth, &true_step);
        ndt_pose_difference (&step, &true_step, &metres, &radians);
        squares += metres * metres;
        angles += radians * radians;
        n++;
      }
      last = pose;
    }
    gst_element_set_bus (harness->element, NULL);
    g_clear_pointer (&harness, gst_harness_teardown);
  }
  /* Three axes of 5 % of 2 m and of 1°; 2700 draws know a deviation to 1.4 %, four times that. */
  fail_unless (fabs (sqrt (squares / n) / (sqrt (3) * 0.05 * STEP) - 1) < 0.06);
  fail_unless (fabs (sqrt (angles / n) / (sqrt (3) * G_PI / 180) - 1) < 0.06);
}
GST_END_TEST;

/* A pose is of the instant that it was looked up for, and says so. */
GST_START_TEST (test_instant)
{
  write_tum (0);
  start ("name=inject ! identity");
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 12, NULL);
  GST_BUFFER_PTS (buffer) = 150 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 100 * GST_MSECOND;
  g_autoptr (GstBuffer) out = push_buffer (buffer);
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (out, GST_POSE_ROLE_PRIOR);
  fail_unless (meta != NULL);
  fail_unless_equals_uint64 (meta->timestamp, 150 * GST_MSECOND);
}
GST_END_TEST;

/* A scan that others hold gets its pose in a buffer of its own, with the same memory. */
GST_START_TEST (test_shared)
{
  write_tum (0);
  start ("name=inject ! identity");
  g_autoptr (GstBuffer) held = gst_buffer_new_allocate (NULL, 16, NULL);
  GST_BUFFER_PTS (held) = 100 * GST_MSECOND;
  g_autoptr (GstBuffer) out = push_buffer (gst_buffer_ref (held));
  fail_unless (out != held);
  fail_unless (gst_buffer_get_pose_meta (out, GST_POSE_ROLE_PRIOR) != NULL);
  fail_unless (gst_buffer_get_pose_meta (held, GST_POSE_ROLE_PRIOR) == NULL);
  fail_unless (gst_buffer_peek_memory (out, 0) == gst_buffer_peek_memory (held, 0));
}
GST_END_TEST;

/* A source of bytes, as KITTI's .bin files are, is sent to rawpointcloudparse. */
GST_START_TEST (test_bytes)
{
  GstSegment segment;
  write_tum (0);
  g_autofree gchar *line = g_strdup_printf ("poseinject location=%s", path);
  g_autoptr (GstCaps) caps = gst_caps_from_string (CAPS);
  harness = gst_harness_new_parse (line);
  gst_element_set_bus (harness->element, bus);
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  gst_harness_push_event (harness, gst_event_new_stream_start ("test"));
  gst_harness_push_event (harness, gst_event_new_caps (caps));
  gst_harness_push_event (harness, gst_event_new_segment (&segment));
  fail_unless_equals_int (
      gst_harness_push (harness, gst_buffer_new_allocate (NULL, 12, NULL)), GST_FLOW_ERROR);
  fail_unless (ndt_harness_count_messages (bus, GST_MESSAGE_ERROR, "rawpointcloudparse") >= 1);
}
GST_END_TEST;

/* What is no scan of ours to judge passes. */
GST_START_TEST (test_passes)
{
  g_autofree gchar *line = g_strdup_printf ("poseinject location=%s match=index", path);
  g_autoptr (GstCaps) caps = gst_caps_from_string (CAPS);
  static const gsize sizes[] = {0, 16, 17};
  GstSegment segment;
  GstEvent *event;
  gboolean has_gap = FALSE;
  write_tum (0);
  harness = gst_harness_new_parse (line);
  gst_element_set_bus (harness->element, bus);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.time = 7 * GST_SECOND;
  gst_harness_push_event (harness, gst_event_new_stream_start ("test"));
  gst_harness_push_event (harness, gst_event_new_caps (caps));
  gst_harness_push_event (harness, gst_event_new_segment (&segment));
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    GstBuffer *in = gst_buffer_new_allocate (NULL, sizes[i], NULL);
    GST_BUFFER_PTS (in) = 7 * GST_SECOND + i * 100 * GST_MSECOND;
    GST_BUFFER_DURATION (in) = 100 * GST_MSECOND;
    g_autoptr (GstBuffer) out = push_buffer (in);
    /* Whole points. */
    fail_unless_equals_uint64 (gst_buffer_get_size (out), sizes[i] / 16 * 16);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), 7 * GST_SECOND + i * 100 * GST_MSECOND);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (out), 100 * GST_MSECOND);
    fail_unless (gst_buffer_get_pose_meta (out, GST_POSE_ROLE_PRIOR) != NULL);
  }
  fail_unless (gst_harness_push_event (harness, gst_event_new_gap (8 * GST_SECOND, 5)));
  while ((event = gst_harness_try_pull_event (harness))) {
    has_gap |= GST_EVENT_TYPE (event) == GST_EVENT_GAP;
    gst_event_unref (event);
  }
  fail_unless (has_gap);
  /* It adds none of its own. */
  gst_harness_set_upstream_latency (harness, 30 * GST_MSECOND);
  fail_unless_equals_uint64 (gst_harness_query_latency (harness), 30 * GST_MSECOND);
}
GST_END_TEST;

GST_START_TEST (test_nothing_matches)
{
  NdtPose pose;
  write_tum (1000 * GST_SECOND);
  start ("name=inject ! identity");
  fail_if (push_for_pose (0, GST_POSE_ROLE_PRIOR, &pose));
  fail_if (push_for_pose (1, GST_POSE_ROLE_PRIOR, &pose));
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (
      ndt_harness_count_messages (bus, GST_MESSAGE_WARNING,
          "None of 2 scans got a pose: their times are not in the file, which has 1000.000 to"),
      1);
}
GST_END_TEST;

/* Files and settings that cannot do: an error, and no start. */
GST_START_TEST (test_bad_files)
{
  static const gchar *const cases[][3] = {{"", "", "has no poses"},
      {"1 0 0 0 0 0 0\n", "", "line 1"}, {"1 0 0 0 0 1 0 0 0 0 1 0\n", "", "by index"},
      {NULL, "", "No such file"}, {NULL, "unset", "set the property"}};
  g_autoptr (GstElement) element =
      gst_object_ref_sink (gst_element_factory_make ("poseinject", NULL));
  gst_element_set_bus (element, bus);
  if (cases[__i__][0])
    fail_unless (g_file_set_contents (path, cases[__i__][0], -1, NULL));
  else
    g_unlink (path);
  if (*cases[__i__][1] == '\0')
    g_object_set (element, "location", path, NULL);
  gst_element_set_state (element, GST_STATE_PLAYING);
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  fail_unless (ndt_harness_count_messages (bus, GST_MESSAGE_ERROR, cases[__i__][2]) >= 1);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
}
GST_END_TEST;

GST_START_TEST (test_bad_caps)
{
  g_autoptr (GstCaps) caps =
      gst_caps_from_string ("pointcloud/x-raw,format=CUSTOM,point-step=4,fields=\"x:F32:8\"");
  write_tum (0);
  start ("name=inject ! identity");
  gst_harness_push_event (harness, gst_event_new_caps (caps));
  fail_unless_equals_int (
      gst_harness_push (harness, gst_buffer_new_allocate (NULL, 4, NULL)), GST_FLOW_NOT_NEGOTIATED);
  fail_unless (ndt_harness_count_messages (bus, GST_MESSAGE_ERROR, "\"x\"") >= 1);
}
GST_END_TEST;

static Suite *
poseinject_suite (void)
{
  Suite *suite = suite_create ("poseinject");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_checked_fixture (tests, setup, teardown);
  tcase_add_test (tests, test_time);
  tcase_add_test (tests, test_time_origin);
  tcase_add_test (tests, test_time_reference);
  tcase_add_test (tests, test_max_gap);
  tcase_add_test (tests, test_meta);
  tcase_add_test (tests, test_two_roles);
  tcase_add_test (tests, test_replaced);
  tcase_add_test (tests, test_prior_noise);
  tcase_add_test (tests, test_odometry_noise);
  tcase_add_test (tests, test_instant);
  tcase_add_test (tests, test_shared);
  tcase_add_test (tests, test_bytes);
  tcase_add_test (tests, test_passes);
  tcase_add_test (tests, test_nothing_matches);
  tcase_add_loop_test (tests, test_bad_files, 0, 5);
  tcase_add_test (tests, test_bad_caps);
  return suite;
}

GST_CHECK_MAIN (poseinject);
