/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ndtcore/posefile/ndt-trajectory.h"

#define CAPS "pointcloud/x-raw,format=XYZ_F32LE,framerate=10/1"

static GstHarness *harness;
static GstElement *sink;
static GstBus *bus;
static gchar *folder;
static gchar *path;

static void
setup (void)
{
  folder = g_dir_make_tmp ("trajectorysink-XXXXXX", NULL);
  path = g_build_filename (folder, "out.txt", NULL);
  bus = gst_bus_new ();
  harness = NULL;
}

static void
teardown (void)
{
  if (harness) {
    gst_element_set_bus (sink, NULL);
    gst_harness_teardown (harness);
    gst_object_unref (sink);
  }
  gst_object_unref (bus);
  g_unlink (path);
  g_rmdir (folder);
  g_free (path);
  g_free (folder);
}

static void
start (const gchar *properties)
{
  g_autofree gchar *line = g_strdup_printf ("trajectorysink location=%s %s", path, properties);
  sink = gst_object_ref_sink (gst_parse_launch (line, NULL));
  gst_element_set_bus (sink, bus);
  harness = gst_harness_new_with_element (sink, "sink", NULL);
  gst_harness_set_src_caps_str (harness, CAPS);
}

static void
add_pose (GstBuffer *buffer, GstPoseRole role, double x, double yaw)
{
  const double position[3] = {x, 1.0 / 3, -1e-9};
  NdtPose pose;
  ndt_pose_from_rpy (position, 0, 0, yaw, &pose);
  gst_buffer_add_pose_meta (buffer, role, pose.position, pose.orientation);
}

static GstBuffer *
make_scan (guint i)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 12, NULL);
  GST_BUFFER_PTS (buffer) = 5 * GST_SECOND + i * 100 * GST_MSECOND + 1;
  return buffer;
}

/* Five scans: estimates 1 cm and 0.5° off, one of them lost, one without any. */
static void
push_scans (void)
{
  for (guint i = 0; i < 5; i++) {
    GstBuffer *buffer = make_scan (i);
    add_pose (buffer, GST_POSE_ROLE_GROUND_TRUTH, i, 0.1 * i);
    if (i != 3) {
      add_pose (buffer, GST_POSE_ROLE_ESTIMATE, i + 0.01 * i, 0.1 * i + 0.5 * G_PI / 180);
      GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ESTIMATE);
      meta->status = i == 1 ? GST_POSE_STATUS_LOST : GST_POSE_STATUS_TRACKING;
      meta->nvtl = 2.5;
      meta->iterations = 4;
      if (i == 1) {
        meta->reason = GST_POSE_REASON_NO_START;
        meta->reason_bound = 1;
      }
      if (i == 2) {
        const gdouble open[6] = {0, 1, 0, 0, 0, 1};
        meta->has_fit = meta->degenerate = TRUE;
        meta->fit = 0.75;
        meta->sigma = 0.25;
        meta->has_confidence = TRUE;
        meta->confidence = 0.5;
        meta->unexplained = 0.125;
        meta->n_open = 2;
        memcpy (meta->open_directions, open, sizeof open);
      }
    }
    fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
  }
}

static GstStructure *
finish (void)
{
  GstStructure *summary = NULL;
  GstMessage *message;
  gst_harness_push_event (harness, gst_event_new_eos ());
  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT))) {
    if (gst_message_has_name (message, "trajectory-summary")) {
      fail_if (summary);
      summary = gst_structure_copy (gst_message_get_structure (message));
    }
    gst_message_unref (message);
  }
  fail_unless (summary != NULL);
  return summary;
}

static guint64
get_count (const GstStructure *summary, const gchar *field)
{
  guint64 value;
  fail_unless (gst_structure_get_uint64 (summary, field, &value), "%s", field);
  return value;
}

static double
get_error (const GstStructure *summary, const gchar *field)
{
  double value;
  fail_unless (gst_structure_get_double (summary, field, &value), "%s", field);
  return value;
}

static NdtTrajectory *
load (NdtTrajectoryFormat format)
{
  GError *error = NULL;
  NdtTrajectory *trajectory = ndt_trajectory_load (path, format, &error);
  fail_unless (trajectory != NULL, "%s", error ? error->message : "");
  return trajectory;
}

static guint
count_errors (GQuark domain, gint code)
{
  GstMessage *message;
  guint n = 0;
  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR))) {
    g_autoptr (GError) error = NULL;
    gst_message_parse_error (message, &error, NULL);
    n += g_error_matches (error, domain, code);
    gst_message_unref (message);
  }
  return n;
}

GST_START_TEST (test_tum)
{
  start ("");
  push_scans ();
  /* Lines are there before the end of the stream. */
  {
    g_autoptr (NdtTrajectory) early = load (NDT_TRAJECTORY_TUM);
    fail_unless_equals_uint64 (ndt_trajectory_get_n_poses (early), 3);
  }
  g_autoptr (GstStructure) summary = finish ();
  g_autoptr (GstStructure) stats = NULL;
  g_autoptr (NdtTrajectory) trajectory = load (NDT_TRAJECTORY_TUM);
  fail_unless_equals_uint64 (ndt_trajectory_get_n_poses (trajectory), 3);
  /* Scans 0, 2 and 4. */
  fail_unless_equals_int64 (ndt_trajectory_get_time (trajectory, 1), 5200000001);
  fail_unless (ndt_trajectory_get_pose (trajectory, 1)->position[0] == 2.02);
  fail_unless (ndt_trajectory_get_pose (trajectory, 1)->position[1] == 1.0 / 3);

  fail_unless_equals_uint64 (get_count (summary, "scans"), 5);
  fail_unless_equals_uint64 (get_count (summary, "posed"), 3);
  fail_unless_equals_uint64 (get_count (summary, "lost"), 2);
  fail_unless_equals_uint64 (get_count (summary, "compared"), 3);
  /* 0, 2 and 4 cm. */
  fail_unless (fabs (get_error (summary, "mean-error-m") - 0.02) < 1e-12);
  fail_unless (fabs (get_error (summary, "max-error-m") - 0.04) < 1e-12);
  fail_unless (fabs (get_error (summary, "rms-error-m") - sqrt (0.0020 / 3)) < 1e-12);
  fail_unless (fabs (get_error (summary, "mean-error-deg") - 0.5) < 1e-9);
  fail_unless (fabs (get_error (summary, "max-error-deg") - 0.5) < 1e-9);
  g_object_get (sink, "stats", &stats, NULL);
  fail_unless_equals_string (gst_structure_get_name (stats), "application/x-trajectorysink-stats");
  gst_structure_set_name (stats, gst_structure_get_name (summary));
  fail_unless (gst_structure_is_equal (stats, summary));
}
GST_END_TEST;

/* Lines count scans. */
GST_START_TEST (test_kitti)
{
  start ("format=kitti");
  push_scans ();
  gst_structure_free (finish ());
  g_autoptr (NdtTrajectory) trajectory = load (NDT_TRAJECTORY_AUTO);
  fail_unless_equals_int (ndt_trajectory_get_format (trajectory), NDT_TRAJECTORY_KITTI);
  fail_unless_equals_uint64 (ndt_trajectory_get_n_poses (trajectory), 5);
  for (guint i = 0; i < 5; i++)
    fail_unless_equals_int (ndt_trajectory_get_pose (trajectory, i) == NULL, i == 1 || i == 3);
  fail_unless (ndt_trajectory_get_pose (trajectory, 4)->position[0] == 4.04);
}
GST_END_TEST;

GST_START_TEST (test_csv)
{
  g_autofree gchar *text = NULL;
  start ("format=csv");
  push_scans ();
  gst_structure_free (finish ());
  g_autoptr (NdtTrajectory) trajectory = load (NDT_TRAJECTORY_AUTO);
  fail_unless_equals_int (ndt_trajectory_get_format (trajectory), NDT_TRAJECTORY_CSV);
  fail_unless_equals_uint64 (ndt_trajectory_get_n_poses (trajectory), 5);
  fail_unless (ndt_trajectory_get_pose (trajectory, 1) == NULL);
  fail_unless (ndt_trajectory_get_pose (trajectory, 2)->position[0] == 2.02);
  fail_unless (g_file_get_contents (path, &text, NULL, NULL));
  fail_unless (
      strstr (text, "\n1,5.100000001,lost,,,,,,,,0,2.5,0,4,,,no-start,0,1,0,0,,,\n") != NULL);
  fail_unless (strstr (text, "\n2,5.200000001,tracking,2.02,") != NULL);
  fail_unless (strstr (text, ",none,0,0,0.75,0.25,0.5,0.125,0 1 0 0 0 1\n") != NULL);
  fail_unless (strstr (text, "\n3,5.300000001,,,,,,,,,0,0,0,0,,,,,,,,,,\n") != NULL);
}
GST_END_TEST;

/* Other roles, and no role to compare with. */
GST_START_TEST (test_role)
{
  start ("role=ground-truth");
  push_scans ();
  g_autoptr (GstStructure) summary = finish ();
  fail_unless_equals_uint64 (get_count (summary, "posed"), 5);
  fail_unless_equals_uint64 (get_count (summary, "compared"), 0);
  fail_if (gst_structure_has_field (summary, "mean-error-m"));
}
GST_END_TEST;

/* A file to compare with, by time and by index. */
GST_START_TEST (test_reference_file)
{
  const gboolean by_time = __i__ == 0;
  g_autofree gchar *reference = g_build_filename (folder, "reference", NULL);
  g_autofree gchar *properties = g_strdup_printf (
      "reference-location=%s reference-match=%s", reference, by_time ? "time" : "index");
  /* By time scan 2 lies between the lines, by index it has the third. */
  const gchar *text = by_time
                          ? "5.1 2 0.3333333333 0 0 0 0 1\n5.300000002 2 0.3333333333 0 0 0 0 1\n"
                          : "0 9 0 0 0 0 0 1\n0 9 0 0 0 0 0 1\n0 3 0.3333333333 0 0 0 0 1\n";
  fail_unless (g_file_set_contents (reference, text, -1, NULL));
  start (properties);
  push_scans ();
  g_autoptr (GstStructure) summary = finish ();
  fail_unless_equals_uint64 (get_count (summary, "compared"), by_time ? 1 : 2);
  fail_unless (
      fabs (get_error (summary, "max-error-m") - (by_time ? 0.02 : hypot (9, 1.0 / 3))) < 1e-8);
  g_unlink (reference);
}
GST_END_TEST;

GST_START_TEST (test_reference_time)
{
  g_autoptr (GstCaps) clock = gst_caps_new_empty_simple ("timestamp/x-ptp");
  start ("timestamps=reference");
  for (guint i = 0; i < 2; i++) {
    GstBuffer *buffer = make_scan (i);
    add_pose (buffer, GST_POSE_ROLE_ESTIMATE, i, 0);
    gst_buffer_add_reference_timestamp_meta (
        buffer, clock, G_GUINT64_CONSTANT (1700000000123456789) + i, GST_CLOCK_TIME_NONE);
    fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
  }
  gst_structure_free (finish ());
  g_autoptr (NdtTrajectory) trajectory = load (NDT_TRAJECTORY_TUM);
  fail_unless_equals_int64 (
      ndt_trajectory_get_time (trajectory, 1), G_GINT64_CONSTANT (1700000000123456790));
}
GST_END_TEST;

static GString *printed;

static void
on_print (const gchar *text)
{
  g_string_append (printed, text);
}

/* No location: the summary alone. And no scans: a summary of nothing. The standard output may be a
 * stream's: nothing is printed there unasked. */
GST_START_TEST (test_no_file)
{
  sink = gst_object_ref_sink (gst_element_factory_make ("trajectorysink", NULL));
  gst_element_set_bus (sink, bus);
  harness = gst_harness_new_with_element (sink, "sink", NULL);
  gst_harness_set_src_caps_str (harness, CAPS);
  if (__i__ == 1) {
    g_object_set (sink, "print-summary", TRUE, NULL); /* may be set while PLAYING */
    push_scans ();
  }
  printed = g_string_new (NULL);
  const GPrintFunc previous = g_set_print_handler (on_print);
  g_autoptr (GstStructure) summary = finish ();
  g_set_print_handler (previous);
  fail_unless_equals_uint64 (get_count (summary, "scans"), __i__ == 1 ? 5 : 0);
  fail_unless_equals_uint64 (get_count (summary, "compared"), __i__ == 1 ? 3 : 0);
  if (__i__ == 1)
    fail_unless (g_str_has_prefix (printed->str, "trajectory: scans=5 "), "%s", printed->str);
  else
    fail_unless_equals_string (printed->str, "");
  g_string_free (printed, TRUE);
}
GST_END_TEST;

/* Bytes without times are sent to rawpointcloudparse. */
GST_START_TEST (test_bytes)
{
  GstSegment segment;
  start ("");
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  gst_harness_push_event (harness, gst_event_new_segment (&segment));
  fail_unless_equals_int (gst_harness_push (harness, make_scan (0)), GST_FLOW_ERROR);
  fail_unless (count_errors (GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT) >= 1);
}
GST_END_TEST;

/* A NaN pose is none. */
GST_START_TEST (test_nan)
{
  start ("");
  for (guint i = 0; i < 3; i++) {
    GstBuffer *buffer = make_scan (i);
    add_pose (buffer, GST_POSE_ROLE_ESTIMATE, i == 1 ? NAN : i, 0);
    fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
  }
  g_autoptr (GstStructure) summary = finish ();
  fail_unless_equals_uint64 (get_count (summary, "posed"), 2);
  fail_unless_equals_uint64 (get_count (summary, "lost"), 1);
}
GST_END_TEST;

/* What is localized is told apart from what is not. */
GST_START_TEST (test_counts)
{
  static const GstPoseStatus statuses[] = {GST_POSE_STATUS_TRACKING, GST_POSE_STATUS_DEGRADED,
      GST_POSE_STATUS_SKIPPED, GST_POSE_STATUS_SKIPPED, GST_POSE_STATUS_LOST,
      GST_POSE_STATUS_INITIALIZING, GST_POSE_STATUS_TRACKING};
  start ("");
  for (guint i = 0; i < G_N_ELEMENTS (statuses); i++) {
    GstBuffer *buffer = make_scan (i);
    add_pose (buffer, GST_POSE_ROLE_ESTIMATE, i, 0);
    gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ESTIMATE)->status = statuses[i];
    fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
  }
  g_autoptr (GstStructure) summary = finish ();
  fail_unless_equals_uint64 (get_count (summary, "scans"), 7);
  fail_unless_equals_uint64 (get_count (summary, "posed"), 3);
  fail_unless_equals_uint64 (get_count (summary, "tracked"), 2);
  fail_unless_equals_uint64 (get_count (summary, "degraded"), 1);
  fail_unless_equals_uint64 (get_count (summary, "predicted"), 2);
  fail_unless_equals_uint64 (get_count (summary, "lost"), 2);
}
GST_END_TEST;

/* At 20 m/s, with poses of the scan's end and true ones of its begin (0), its end (1), or in a file
 * (2): lines have the poses' own instants, and at these the poses are true. */
GST_START_TEST (test_instant)
{
  enum { N = 5 };
  g_autofree gchar *reference = g_build_filename (folder, "reference", NULL);
  g_autofree gchar *properties =
      __i__ == 2 ? g_strdup_printf ("reference-location=%s", reference) : g_strdup ("");
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i <= 2 * N; i++)
    g_string_append_printf (text, "%.9f %.9f 0.3333333333 -1e-9 0 0 0 1\n", 5 + 0.07 * i, 1.4 * i);
  fail_unless (g_file_set_contents (reference, text->str, -1, NULL));
  start (properties);
  for (guint i = 0; i < N; i++) {
    const GstClockTime begin = 5 * GST_SECOND + i * 100 * GST_MSECOND;
    GstBuffer *buffer = make_scan (i);
    GST_BUFFER_PTS (buffer) = begin;
    add_pose (buffer, GST_POSE_ROLE_ESTIMATE, 2.0 * (i + 1), 0);
    gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ESTIMATE)->timestamp =
        begin + 100 * GST_MSECOND;
    if (__i__ < 2) {
      add_pose (buffer, GST_POSE_ROLE_GROUND_TRUTH, 2.0 * (i + (guint)__i__), 0);
      gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH)->timestamp =
          begin + (guint)__i__ * 100 * GST_MSECOND;
    }
    fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
  }
  g_autoptr (GstStructure) summary = finish ();
  g_autoptr (NdtTrajectory) trajectory = load (NDT_TRAJECTORY_TUM);
  fail_unless_equals_uint64 (ndt_trajectory_get_n_poses (trajectory), N);
  for (guint i = 0; i < N; i++)
    fail_unless_equals_int64 (
        ndt_trajectory_get_time (trajectory, i), 5000000000 + (i + 1) * 100000000);
  /* No true pose comes after the last scan. */
  fail_unless_equals_uint64 (get_count (summary, "compared"), __i__ == 0 ? N - 1 : N);
  fail_unless (get_error (summary, "max-error-m") < 1e-8, "%g", get_error (summary, "max-error-m"));
  g_unlink (reference);
}
GST_END_TEST;

/* Between true poses too far apart nothing is interpolated. */
GST_START_TEST (test_reference_gap)
{
  g_autofree gchar *reference = g_build_filename (folder, "reference", NULL);
  g_autofree gchar *properties =
      g_strdup_printf ("reference-location=%s %s", reference, __i__ ? "max-pose-gap=0" : "");
  fail_unless (g_file_set_contents (reference, "4 0 0 0 0 0 0 1\n7 0 0 0 0 0 0 1\n", -1, NULL));
  start (properties);
  push_scans ();
  g_autoptr (GstStructure) summary = finish ();
  fail_unless_equals_uint64 (get_count (summary, "compared"), __i__ ? 3 : 0);
  g_unlink (reference);
}
GST_END_TEST;

/* Of two that write one file the second is refused, and the first goes on. */
GST_START_TEST (test_two_on_one_file)
{
  start ("");
  GstElement *other = gst_object_ref_sink (gst_element_factory_make ("trajectorysink", NULL));
  gst_element_set_bus (other, bus);
  g_object_set (other, "location", path, NULL);
  fail_unless_equals_int (
      gst_element_set_state (other, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  fail_unless_equals_int (count_errors (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_BUSY), 1);
  gst_element_set_state (other, GST_STATE_NULL);
  push_scans ();
  gst_structure_free (finish ());
  g_autoptr (NdtTrajectory) trajectory = load (NDT_TRAJECTORY_TUM);
  fail_unless_equals_uint64 (ndt_trajectory_get_n_poses (trajectory), 3);
  /* Once the first has ended the file is free. */
  gst_element_set_state (sink, GST_STATE_NULL);
  fail_unless (gst_element_set_state (other, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE);
  gst_element_set_state (other, GST_STATE_NULL);
  gst_element_set_bus (other, NULL);
  gst_object_unref (other);
}
GST_END_TEST;

/* A GAP is no scan, an empty scan is one; a flush keeps what was written, and a time that runs
 * backwards is written as it is. */
GST_START_TEST (test_flush)
{
  g_autoptr (GstStructure) summary = NULL;
  g_autofree gchar *text = NULL;
  GstSegment segment;
  start ("format=csv");
  for (guint round = 0; round < 2; round++) {
    GstBuffer *buffer = gst_buffer_new ();
    GST_BUFFER_PTS (buffer) = (3 - round) * GST_SECOND;
    add_pose (buffer, GST_POSE_ROLE_ESTIMATE, round, 0);
    fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
    fail_unless (gst_harness_push_event (harness, gst_event_new_gap (4 * GST_SECOND, 1)));
    fail_unless (gst_harness_push_event (harness, gst_event_new_flush_start ()));
    fail_unless (gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE)));
    gst_segment_init (&segment, GST_FORMAT_TIME);
    fail_unless (gst_harness_push_event (harness, gst_event_new_segment (&segment)));
  }
  summary = finish ();
  fail_unless_equals_uint64 (get_count (summary, "scans"), 2);
  fail_unless (g_file_get_contents (path, &text, NULL, NULL));
  fail_unless (strstr (text, "\n0,3.000000000,none,0,") != NULL);
  fail_unless (strstr (text, "\n1,2.000000000,none,1,") != NULL);
}
GST_END_TEST;

GST_START_TEST (test_bad_caps)
{
  g_autoptr (GstCaps) caps =
      gst_caps_from_string ("pointcloud/x-raw,format=CUSTOM,point-step=4,fields=\"x:F32:8\"");
  start ("");
  gst_harness_push_event (harness, gst_event_new_caps (caps));
  fail_unless_equals_int (gst_harness_push (harness, make_scan (0)), GST_FLOW_NOT_NEGOTIATED);
  fail_unless (count_errors (GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT) >= 1);
}
GST_END_TEST;

/* Started again, the file and the numbers begin anew. */
GST_START_TEST (test_restart)
{
  for (guint round = 0; round < 2; round++) {
    if (round == 0)
      start ("");
    push_scans ();
    g_autoptr (GstStructure) summary = finish ();
    fail_unless_equals_uint64 (get_count (summary, "scans"), 5);
    gst_element_set_state (sink, GST_STATE_NULL);
    gst_element_set_state (sink, GST_STATE_PLAYING);
    gst_harness_push_event (harness, gst_event_new_stream_start ("again"));
    gst_harness_set_src_caps_str (harness, CAPS);
  }
}
GST_END_TEST;

GST_START_TEST (test_cannot_open)
{
  sink = gst_object_ref_sink (gst_element_factory_make ("trajectorysink", NULL));
  gst_element_set_bus (sink, bus);
  g_object_set (sink, "location", "/nonexistent/a.txt", NULL);
  fail_unless_equals_int (gst_element_set_state (sink, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  fail_unless_equals_int (count_errors (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE), 1);
  g_object_set (sink, "location", path, "reference-location", "/nonexistent", NULL);
  fail_unless_equals_int (gst_element_set_state (sink, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  fail_unless_equals_int (count_errors (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ), 1);
  gst_element_set_state (sink, GST_STATE_NULL);
  gst_element_set_bus (sink, NULL);
  gst_clear_object (&sink);
}
GST_END_TEST;

/* A full disk is called that. */
GST_START_TEST (test_no_space)
{
  if (!g_file_test ("/dev/full", G_FILE_TEST_EXISTS))
    return;
  g_free (path);
  path = g_strdup ("/dev/full");
  /* KITTI begins without a header, so that the first scan finds the disk full. */
  start ("format=kitti");
  GstBuffer *buffer = make_scan (0);
  add_pose (buffer, GST_POSE_ROLE_ESTIMATE, 1, 0);
  fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_ERROR);
  fail_unless_equals_int (count_errors (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT), 1);
  g_free (path);
  path = g_strdup ("");
}
GST_END_TEST;

static Suite *
trajectorysink_suite (void)
{
  Suite *suite = suite_create ("trajectorysink");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_checked_fixture (tests, setup, teardown);
  tcase_add_test (tests, test_tum);
  tcase_add_test (tests, test_kitti);
  tcase_add_test (tests, test_csv);
  tcase_add_test (tests, test_role);
  tcase_add_loop_test (tests, test_reference_file, 0, 2);
  tcase_add_test (tests, test_reference_time);
  tcase_add_loop_test (tests, test_no_file, 0, 2);
  tcase_add_test (tests, test_bytes);
  tcase_add_test (tests, test_nan);
  tcase_add_test (tests, test_counts);
  tcase_add_loop_test (tests, test_instant, 0, 3);
  tcase_add_loop_test (tests, test_reference_gap, 0, 2);
  tcase_add_test (tests, test_two_on_one_file);
  tcase_add_test (tests, test_flush);
  tcase_add_test (tests, test_bad_caps);
  tcase_add_test (tests, test_restart);
  tcase_add_test (tests, test_cannot_open);
  tcase_add_test (tests, test_no_space);
  return suite;
}

GST_CHECK_MAIN (trajectorysink);
