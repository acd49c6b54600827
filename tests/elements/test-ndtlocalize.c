/* SPDX-License-Identifier: MIT */
/* ndtlocalize as a user meets it: poses, states, messages. */
#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "tests/ndt-harness.h"

/* The room's map has 2 cm of noise and 1 m cells, a scan 700 points: alignments are within 1 cm
 * and 0.1° of the truth; three times that is still no accident. */
#define MAX_METRES 0.03
#define MAX_DEGREES 0.3

static void
assert_near_truth (GstBuffer *buffer, guint index)
{
  NdtPose truth, pose = ndt_harness_pose_of (buffer);
  double metres, radians;

  ndt_room_pose (index, &truth);
  ndt_pose_difference (&truth, &pose, &metres, &radians);
  fail_unless (ndt_harness_estimate (buffer)->has_pose);
  fail_unless (metres <= MAX_METRES && radians <= MAX_DEGREES * G_PI / 180,
      "scan %u is %.3f m and %.3f degrees off", index, metres, radians * 180 / G_PI);
}

/* Every figure that the documentation names is there. */
static void
assert_stats (GstHarness *h)
{
  static const gchar *counts[] = {"scans-in", "scans-out", "dropped", "aligned", "iterations",
      "initializing", "tracking", "degraded", "lost", "skipped", "rejected-no-start",
      "rejected-too-few-points", "rejected-no-map", "rejected-ambiguous", "rejected-bad-fit",
      "rejected-too-late", "rejected-implausible-motion", "predicted-none", "predicted-initial",
      "predicted-constant-velocity", "predicted-odometry", "predicted-prior", "late", "backwards",
      "malformed", "qos-events", "fallbacks", "batches", "poses", "poses-missing",
      "pinned-memories", "plain-memories", "map-points", "map-voxels", "map-bytes", "backend-scans",
      "backend-alignments", "backend-evaluations", "backend-allocations", "backend-uploads",
      "backend-upload-bytes", "backend-downloads", "backend-download-bytes", "backend-launches",
      "backend-synchronizations", "backend-device-bytes", "backend-host-bytes"};
  static const gchar *times[] = {"wait", "upload", "align", "push"};
  g_autoptr (GTypeClass) reasons = g_type_class_ref (GST_TYPE_POSE_REASON);
  g_autoptr (GstStructure) stats = NULL;
  guint64 n_scans = 0;

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    ndt_harness_count (h, counts[i]);
  /* The library's names are those of ndtcore. */
  for (guint i = GST_POSE_REASON_NONE + 1; i < G_ENUM_CLASS (reasons)->n_values; i++) {
    g_autofree gchar *name =
        g_strconcat ("rejected-", G_ENUM_CLASS (reasons)->values[i].value_nick, NULL);
    ndt_harness_count (h, name);
  }
  for (guint i = 0; i < G_N_ELEMENTS (times); i++) {
    guint64 values[3];
    static const gchar *names[] = {"mean", "p95", "max"};
    for (guint k = 0; k < 3; k++) {
      g_autofree gchar *name = g_strdup_printf ("%s-%s", times[i], names[k]);
      values[k] = ndt_harness_count (h, name);
    }
    fail_unless (values[0] > 0 && values[0] <= values[2] && values[1] <= values[2],
        "%s: mean %" G_GUINT64_FORMAT ", p95 %" G_GUINT64_FORMAT ", max %" G_GUINT64_FORMAT,
        times[i], values[0], values[1], values[2]);
  }
  g_object_get (h->element, "stats", &stats, NULL);
  const GValue *histogram = gst_structure_get_value (stats, "batch-histogram");
  for (guint i = 0; i < gst_value_array_get_size (histogram); i++)
    n_scans += (i + 1) * g_value_get_uint64 (gst_value_array_get_value (histogram, i));
  fail_unless_equals_uint64 (n_scans, ndt_harness_count (h, "scans-in"));
}

GST_START_TEST (test_tracks)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);

  for (guint i = 0; i < 20; i++) {
    GstBuffer *scan = ndt_room_scan (i);
    GstMemory *memory = gst_buffer_peek_memory (scan, 0);
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
    const GstPoseMeta *meta = ndt_harness_estimate (out);

    fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
    assert_near_truth (out, i);
    fail_unless (gst_buffer_peek_memory (out, 0) == memory, "the payload was copied");
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), i * 100 * GST_MSECOND);
    fail_unless_equals_uint64 (meta->timestamp, i * 100 * GST_MSECOND);
    fail_unless_equals_uint64 (meta->sequence, i);
    fail_unless_equals_string (g_quark_to_string (meta->parent_frame), "map");
    fail_unless_equals_string (g_quark_to_string (meta->child_frame), "lidar");
    fail_unless (meta->has_covariance && meta->covariance[0] > 0 && meta->covariance[35] > 0);
    fail_unless (meta->nvtl > 0 && meta->transformation_probability > 0);
    fail_unless (meta->matched_ratio > 0.9 && meta->matched_ratio <= 1);
    fail_unless (meta->iterations > 0);
  }
  fail_unless_equals_uint64 (ndt_harness_count (h, "scans-in"), 20);
  fail_unless_equals_uint64 (ndt_harness_count (h, "scans-out"), 20);
  fail_unless_equals_uint64 (ndt_harness_count (h, "aligned"), 20);
  fail_unless_equals_uint64 (ndt_harness_count (h, "tracking"), 20);
  fail_unless (
      ndt_harness_count (h, "map-voxels") > 100 && ndt_harness_count (h, "map-points") > 1000);
  assert_stats (h);
  ndt_harness_free (h);
}
GST_END_TEST

/* A buffer that somebody else holds too is not written to. */
GST_START_TEST (test_shared_buffer)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  g_autoptr (GstBuffer) mine = ndt_room_scan (0);

  g_autoptr (GstBuffer) out = ndt_harness_pass (h, gst_buffer_ref (mine));
  fail_unless (out != mine);
  fail_unless (gst_buffer_peek_memory (out, 0) == gst_buffer_peek_memory (mine, 0));
  fail_unless (gst_buffer_get_pose_meta (mine, GST_POSE_ROLE_ESTIMATE) == NULL);
  ndt_harness_free (h);
}
GST_END_TEST

static GstBuffer *
scan_with (guint index, GstPoseRole role, const NdtPose *pose)
{
  GstBuffer *scan = ndt_room_scan (index);
  gst_buffer_add_pose_meta (scan, role, pose->position, pose->orientation);
  return scan;
}

/* A vehicle that is carried away between two scans: only what its buffers say helps. */
GST_START_TEST (test_prior_and_odometry)
{
  const double tilt[6] = {30, -7, 2, 0.1, 0.2, 1.3};
  NdtPose drift, odometry, truth, wrong;
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);

  ndt_pose_exp (tilt, &drift);
  for (guint i = 0; i < 40; i += 10) {
    ndt_room_pose (i, &truth);
    ndt_pose_compose (&drift, &truth, &odometry);
    g_autoptr (GstBuffer) out =
        ndt_harness_pass (h, scan_with (i, GST_POSE_ROLE_ODOMETRY, &odometry));
    fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
    assert_near_truth (out, i);
  }
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-odometry"), 3);

  /* A prior wins over odometry that is wrong. */
  ndt_room_pose (5, &truth);
  ndt_room_pose (60, &wrong);
  GstBuffer *scan = scan_with (5, GST_POSE_ROLE_ODOMETRY, &wrong);
  gst_buffer_add_pose_meta (scan, GST_POSE_ROLE_PRIOR, truth.position, truth.orientation);
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
  fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
  assert_near_truth (out, 5);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-prior"), 1);
  ndt_harness_free (h);
}
GST_END_TEST

/* Odometry that begins anew elsewhere costs nothing where scans tell the place, but is told. */
GST_START_TEST (test_wrong_odometry)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "batch-size", 1, NULL);
  for (guint i = 0; i < 10; i++) {
    NdtPose odometry;
    ndt_room_pose (i, &odometry);
    odometry.position[0] += i < 5 ? 0 : 10;
    g_autoptr (GstBuffer) out =
        ndt_harness_pass (h, scan_with (i, GST_POSE_ROLE_ODOMETRY, &odometry));
    fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
    assert_near_truth (out, i);
  }
  /* Not the first scan, nor that of the jump, nor the one that agrees with it again. */
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-odometry"), 7);
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (g_str_has_prefix (warning->message, "Scan 5 has odometry that contradicts the "
                                                   "motion") &&
                   strstr (warning->message, "it leads 10.0 m from where"),
      "%s", warning->message);
  fail_unless (ndt_harness_message (h->element, GST_MESSAGE_WARNING, NULL) == NULL);
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_no_initial_pose)
{
  GstHarness *h = ndt_harness_new ("map-search", FALSE, NULL);
  g_autofree gchar *pose = ndt_harness_pose (3);
  gboolean accepted = FALSE;

  for (guint i = 0; i < 3; i++)
    fail_unless_equals_int (
        ndt_harness_pass_status (h, ndt_room_scan (i)), GST_POSE_STATUS_INITIALIZING);
  fail_unless_equals_uint64 (ndt_harness_count (h, "initializing"), 3);

  g_signal_emit_by_name (h->element, "set-initial-pose", "here and there", &accepted);
  fail_if (accepted);
  g_signal_emit_by_name (h->element, "set-initial-pose", pose, &accepted);
  fail_unless (accepted);
  for (guint i = 3; i < 6; i++) {
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_room_scan (i));
    fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
    assert_near_truth (out, i);
  }

  /* As at the start: there is no initial pose. */
  g_signal_emit_by_name (h->element, "reset");
  fail_unless_equals_int (
      ndt_harness_pass_status (h, ndt_room_scan (6)), GST_POSE_STATUS_INITIALIZING);
  /* The property does what the action does. */
  ndt_harness_set (h->element, "initial-pose", pose, NULL);
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (3)), GST_POSE_STATUS_TRACKING);
  g_signal_emit_by_name (h->element, "reset");
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (3)), GST_POSE_STATUS_TRACKING);
  ndt_harness_free (h);
}
GST_END_TEST

/* The stream goes on, and the element says that it is lost. */
GST_START_TEST (test_a_kilometre_away)
{
  GstHarness *h =
      ndt_harness_new ("map-search", FALSE, "initial-pose", "1000,0,0", "max-skips", 0, NULL);
  g_autofree gchar *pose = ndt_harness_pose (5);
  gboolean accepted;

  for (guint i = 0; i < 5; i++)
    fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (i)), GST_POSE_STATUS_LOST);
  fail_unless_equals_uint64 (ndt_harness_count (h, "scans-out"), 5);
  {
    g_autoptr (GstMessage) warning = ndt_harness_message (h->element, GST_MESSAGE_WARNING, NULL);
    g_autoptr (GError) error = NULL;
    fail_unless (warning != NULL);
    gst_message_parse_warning (warning, &error, NULL);
    fail_unless (strstr (error->message, "check initial-pose") != NULL, "%s", error->message);
  }

  g_signal_emit_by_name (h->element, "set-initial-pose", pose, &accepted);
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (5)), GST_POSE_STATUS_TRACKING);

  static const gchar *states[] = {"lost", "relocalized"};
  for (guint i = 0; i < G_N_ELEMENTS (states); i++) {
    g_autoptr (GstMessage) message =
        ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-state");
    fail_unless (message != NULL);
    const GstStructure *structure = gst_message_get_structure (message);
    fail_unless_equals_string (gst_structure_get_string (structure, "state"), states[i]);
    guint64 scan;
    fail_unless (gst_structure_get_uint64 (structure, "scan", &scan));
    fail_unless_equals_uint64 (scan, i * 5);
  }
  fail_unless (ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-state") == NULL);
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_thresholds)
{
  static const struct {
    const gchar *property;
    gdouble value;
  } thresholds[] = {
      {"tp-threshold", 1e6},
      {"nvtl-threshold", 1e6},
      {"nvtl-threshold-fraction", 1},
      {"matched-ratio-threshold", 1},
  };
  g_autofree gchar *start = ndt_harness_pose (0);

  for (guint t = 0; t < G_N_ELEMENTS (thresholds); t++) {
    GstHarness *h = ndt_harness_new ("map-search", FALSE, "initial-pose", start, "max-skips", 2,
        thresholds[t].property, thresholds[t].value, "max-range", 0.0, NULL);
    GstBuffer *scan;
    for (guint i = 0; i < 4; i++) {
      /* One point out of the room, so that never all have a voxel. */
      scan = ndt_room_scan (i);
      static const float far[3] = {500, 0, 0};
      gst_buffer_fill (scan, 0, far, sizeof far);
      fail_unless_equals_int (ndt_harness_pass_status (h, scan),
          i < 2 ? GST_POSE_STATUS_DEGRADED : GST_POSE_STATUS_LOST);
    }
    fail_unless (ndt_harness_count (h, "rejected-bad-fit") >= 2, "%s rejects nothing",
        thresholds[t].property);
    ndt_harness_free (h);
  }
}
GST_END_TEST

GST_START_TEST (test_pose_messages)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "post-messages", TRUE, "map-frame",
      "world", "no-ground-margin", 0.8, NULL);

  GstBuffer *out[3];
  for (guint i = 0; i < 3; i++)
    out[i] = ndt_harness_pass (h, ndt_room_scan (i));
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstMessage) message =
        ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-pose");
    fail_unless (message != NULL);
    const GstStructure *structure = gst_message_get_structure (message);
    guint64 scan, running_time, pts;
    fail_unless (gst_structure_get_uint64 (structure, "scan", &scan));
    fail_unless (gst_structure_get_uint64 (structure, "pts", &pts));
    fail_unless (gst_structure_get_uint64 (structure, "running-time", &running_time));
    fail_unless_equals_uint64 (scan, i);
    fail_unless_equals_uint64 (pts, i * 100 * GST_MSECOND);
    fail_unless_equals_uint64 (running_time, pts);
    fail_unless (gst_structure_has_field (structure, "prediction"));
    fail_unless (gst_structure_has_field (structure, "reason"));
    /* What the documentation lists of an alignment. */
    static const gchar *fields[] = {"position", "orientation", "covariance", "stop", "points",
        "pairs", "starts", "oscillation", "deskewed", "degenerate-directions", "degenerate-axes",
        "degenerate-lever", "covariance-kind", "no-ground-transformation-probability",
        "no-ground-nvtl", "no-ground-points"};
    for (guint f = 0; f < G_N_ELEMENTS (fields); f++)
      fail_unless (gst_structure_has_field (structure, fields[f]), "no %s", fields[f]);
    /* On the buffer as well. */
    const GstPoseMeta *meta = ndt_harness_estimate (out[i]);
    gdouble nvtl;
    fail_unless (gst_structure_get_double (structure, "no-ground-nvtl", &nvtl));
    fail_unless (meta->has_no_ground && meta->no_ground_points > 0);
    fail_unless (meta->no_ground_points < NDT_ROOM_POINTS);
    fail_unless (meta->no_ground_nvtl == nvtl && nvtl > 0);
    fail_unless (meta->no_ground_transformation_probability > 0);
    gst_buffer_unref (out[i]);
  }
  g_object_set (h->element, "post-messages", FALSE, NULL);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (3)));
  fail_unless (ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-pose") == NULL);
  ndt_harness_free (h);
}
GST_END_TEST

/* A scan of the floor alone: x, y and yaw are not held, and the message says which way. */
GST_START_TEST (test_degenerate_directions)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "post-messages", TRUE, NULL);
  GstBuffer *scan = ndt_room_scan (0);
  GstMapInfo map;
  NdtPose pose;
  double rotation[9];
  guint n, n_kept = 0;

  ndt_room_pose (0, &pose);
  ndt_pose_get_rotation (&pose, rotation);
  fail_unless (gst_buffer_map (scan, &map, GST_MAP_READWRITE));
  for (guint i = 0; i < NDT_ROOM_POINTS; i++) {
    float *p = (float *)map.data + 3 * i;
    const double z = pose.position[2] + rotation[6] * (double)p[0] + rotation[7] * (double)p[1] +
                     rotation[8] * (double)p[2];
    if (z > 0.2)
      p[0] = NAN;
    else
      n_kept++;
  }
  gst_buffer_unmap (scan, &map);
  fail_unless (n_kept > 50);
  gst_buffer_unref (ndt_harness_pass (h, scan));

  g_autoptr (GstMessage) message =
      ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-pose");
  const GstStructure *structure = gst_message_get_structure (message);
  const GValue *array = gst_structure_get_value (structure, "degenerate-axes");
  fail_unless (gst_structure_get_uint (structure, "degenerate-directions", &n));
  fail_unless_equals_int (gst_value_array_get_size (array), 6 * n);
  fail_unless (n >= 2, "%u directions", n);
  for (guint i = 0; i < n; i++) {
    double v[6], square = 0;
    for (guint k = 0; k < 6; k++) {
      v[k] = g_value_get_double (gst_value_array_get_value (array, 6 * i + k));
      square += v[k] * v[k];
    }
    fail_unless (fabs (square - 1) < 1e-9);
    /* Height, roll and pitch are what a floor holds. */
    fail_unless (v[2] * v[2] + v[3] * v[3] + v[4] * v[4] < 0.1, "%u: %g %g %g %g %g %g", i, v[0],
        v[1], v[2], v[3], v[4], v[5]);
  }
  ndt_harness_free (h);
}
GST_END_TEST

/* An estimate that came with the scan is not taken for ours. */
GST_START_TEST (test_replaces_estimate)
{
  GstHarness *h = ndt_harness_new ("map-search", FALSE, NULL);
  NdtPose pose;
  ndt_room_pose (0, &pose);

  GstBuffer *scan = scan_with (0, GST_POSE_ROLE_ESTIMATE, &pose);
  gst_buffer_add_pose_meta (scan, GST_POSE_ROLE_GROUND_TRUTH, pose.position, pose.orientation);
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
  const GstPoseMeta *meta = ndt_harness_estimate (out);
  fail_unless_equals_int (meta->status, GST_POSE_STATUS_INITIALIZING);
  fail_if (meta->has_pose);
  fail_unless (gst_buffer_get_pose_meta (out, GST_POSE_ROLE_GROUND_TRUTH) != NULL);
  fail_unless_equals_int (gst_buffer_get_n_meta (out, GST_POSE_META_API_TYPE), 2);
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_states)
{
  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  g_autofree gchar *backend = NULL;

  g_object_set (element, "map-location", ndt_room_map (), NULL);
  g_object_get (element, "active-backend", &backend, NULL);
  fail_unless (backend == NULL);
  for (guint i = 0; i < 3; i++) {
    fail_unless_equals_int (
        gst_element_set_state (element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    g_free (backend);
    g_object_get (element, "active-backend", &backend, NULL);
    fail_unless (backend != NULL);
    fail_unless_equals_int (
        gst_element_set_state (element, i % 2 ? GST_STATE_READY : GST_STATE_NULL),
        GST_STATE_CHANGE_SUCCESS);
  }
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
}
GST_END_TEST

/* The numbers are the same from each start, and from a pipeline that has run before. */
static gboolean
refuse_activation (GstPad *pad, GstObject *parent)
{
  return FALSE;
}

/* A start that fails after ours has worked leaves nothing running: no task, no map that is read. */
GST_START_TEST (test_start_that_fails_elsewhere)
{
  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  GstPad *pad = gst_pad_new ("refuses", GST_PAD_SINK);
  g_autoptr (GstPad) src = gst_element_get_static_pad (element, "src");
  g_autoptr (GstPad) sink = gst_element_get_static_pad (element, "sink");
  gboolean accepted = TRUE;

  gst_element_set_bus (element, bus);
  g_object_set (element, "map-location", ndt_room_map (), NULL);
  gst_pad_set_activate_function (pad, refuse_activation);
  gst_element_add_pad (element, pad);
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  fail_unless_equals_int (GST_STATE (element), GST_STATE_READY);
  fail_unless_equals_int (gst_pad_get_task_state (src), GST_TASK_STOPPED);
  fail_if (GST_PAD_IS_ACTIVE (src) || GST_PAD_IS_ACTIVE (sink));
  g_signal_emit_by_name (element, "set-initial-pose", "0,0,0", &accepted);
  fail_if (accepted);
  g_object_set (element, "resolution", 0.01, NULL); /* would be a warning if it were read now */
  g_usleep (50000);
  fail_unless (ndt_harness_message (element, GST_MESSAGE_WARNING, NULL) == NULL);

  g_object_set (element, "resolution", 1.0, NULL);
  gst_element_remove_pad (element, pad);
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
  g_signal_emit_by_name (element, "set-initial-pose", "0,0,0", &accepted);
  fail_unless (accepted);
  gst_element_set_state (element, GST_STATE_NULL);
  ndt_harness_drop_messages (element);
  gst_element_set_bus (element, NULL);
  gst_object_unref (element);
}
GST_END_TEST

GST_START_TEST (test_restart_gives_the_same)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  NdtPose first[5];

  for (guint run = 0; run < 2; run++) {
    for (guint i = 0; i < G_N_ELEMENTS (first); i++) {
      g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_room_scan (i));
      const NdtPose pose = ndt_harness_pose_of (out);
      if (run == 0)
        first[i] = pose;
      else
        fail_unless (memcmp (&pose, &first[i], sizeof pose) == 0, "scan %u differs", i);
    }
    gst_element_set_state (h->element, GST_STATE_READY);
    gst_element_set_state (h->element, GST_STATE_PLAYING);
    ndt_harness_wait_for_map (h->element);
    gst_harness_push_event (h, gst_event_new_stream_start ("again"));
    gst_harness_set_src_caps_str (h, NDT_ROOM_CAPS);
  }
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_two_instances)
{
  g_autofree gchar *here = ndt_harness_pose (0), *there = ndt_harness_pose (30);
  GstHarness *a = ndt_harness_new ("initial-pose", here, NULL);
  GstHarness *b = ndt_harness_new ("initial-pose", there, NULL);

  for (guint i = 0; i < 5; i++) {
    fail_unless_equals_int (gst_harness_push (a, ndt_room_scan (i)), GST_FLOW_OK);
    fail_unless_equals_int (gst_harness_push (b, ndt_room_scan (30 + i)), GST_FLOW_OK);
  }
  for (guint i = 0; i < 5; i++) {
    g_autoptr (GstBuffer) from_a = gst_harness_pull (a), from_b = gst_harness_pull (b);
    assert_near_truth (from_a, i);
    assert_near_truth (from_b, 30 + i);
  }
  ndt_harness_free (a);
  ndt_harness_free (b);
}
GST_END_TEST

/* Thinning is for the alignment only. */
GST_START_TEST (test_thinning)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "scan-leaf-size", 0.5, "min-range", 1.0,
      "max-range", 12.0, "crop-box", "-10 -10 -2 10 10 2.5", NULL);
  GstBuffer *scan = ndt_room_scan (0);
  const gsize size = gst_buffer_get_size (scan);

  g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
  fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
  assert_near_truth (out, 0);
  fail_unless_equals_uint64 (gst_buffer_get_size (out), size);

  ndt_harness_set (h->element, "crop-box", "100,100,100,101,101,101", NULL);
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (1)), GST_POSE_STATUS_SKIPPED);
  fail_unless_equals_uint64 (ndt_harness_count (h, "rejected-too-few-points"), 1);
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_pose_covariances)
{
  static const gchar *kinds[] = {"laplace", "fixed", "multi-ndt", "multi-ndt-score"};
  g_autofree gchar *start = ndt_harness_pose (0);

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    GstHarness *h =
        ndt_harness_new ("initial-pose", start, "fixed-covariance", "<4,4,4,1,1,1>", NULL);
    gst_util_set_object_arg (G_OBJECT (h->element), "pose-covariance", kinds[i]);
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_room_scan (0));
    const GstPoseMeta *meta = ndt_harness_estimate (out);
    fail_unless_equals_int (meta->status, GST_POSE_STATUS_TRACKING);
    fail_unless (meta->has_covariance);
    /* Laplace's is of millimetres here; the others have the fixed one as floor in x and y. */
    if (i == 0)
      fail_unless (meta->covariance[0] < 0.01);
    else
      fail_unless (meta->covariance[0] > 3.9, "%s: %g", kinds[i], meta->covariance[0]);
    ndt_harness_free (h);
  }
}
GST_END_TEST

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
ndtlocalize_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_test (tc, test_tracks);
  tcase_add_test (tc, test_shared_buffer);
  tcase_add_test (tc, test_prior_and_odometry);
  tcase_add_test (tc, test_wrong_odometry);
  tcase_add_test (tc, test_no_initial_pose);
  tcase_add_test (tc, test_a_kilometre_away);
  tcase_add_test (tc, test_thresholds);
  tcase_add_test (tc, test_pose_messages);
  tcase_add_test (tc, test_degenerate_directions);
  tcase_add_test (tc, test_replaces_estimate);
  tcase_add_test (tc, test_states);
  tcase_add_test (tc, test_start_that_fails_elsewhere);
  tcase_add_test (tc, test_restart_gives_the_same);
  tcase_add_test (tc, test_two_instances);
  tcase_add_test (tc, test_thinning);
  tcase_add_test (tc, test_pose_covariances);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize)
