/* SPDX-License-Identifier: MIT */
#include "gstndtestimate.h"

#include <string.h>

static GstPoseStatus
pose_status (NdtTrackStatus status)
{
  switch (status) {
  case NDT_TRACK_INITIALIZING:
    return GST_POSE_STATUS_INITIALIZING;
  case NDT_TRACK_TRACKING:
    return GST_POSE_STATUS_TRACKING;
  case NDT_TRACK_DEGRADED:
    return GST_POSE_STATUS_DEGRADED;
  case NDT_TRACK_LOST:
    return GST_POSE_STATUS_LOST;
  default:
    return GST_POSE_STATUS_SKIPPED;
  }
}

/* The numbers are the same: a test asserts it of the names. */
static GstPoseReason
pose_reason (NdtReason reason)
{
  G_STATIC_ASSERT ((gint)NDT_REASON_BAD_FIT == (gint)GST_POSE_REASON_BAD_FIT);
  G_STATIC_ASSERT ((gint)NDT_REASON_TOO_FEW_POINTS == (gint)GST_POSE_REASON_TOO_FEW_POINTS);
  return (GstPoseReason)reason;
}

GstPoseMeta *
gst_ndt_estimate_attach (GstBuffer *buffer, const NdtLocalization *localization,
    const GstNdtScan *scan, GQuark map_frame, GQuark sensor_frame)
{
  const NdtRegistration *registration = &localization->registration;
  GstPoseMeta *meta;

  while ((meta = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ESTIMATE)))
    gst_buffer_remove_meta (buffer, &meta->meta);

  meta = gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_ESTIMATE, NULL, NULL);
  meta->status = pose_status (localization->status);
  meta->has_pose = localization->has_pose;
  if (localization->has_pose) {
    memcpy (meta->position, registration->pose.position, sizeof meta->position);
    memcpy (meta->orientation, registration->pose.orientation, sizeof meta->orientation);
  }
  meta->has_covariance = localization->has_pose;
  if (meta->has_covariance)
    memcpy (meta->covariance, registration->covariance, sizeof meta->covariance);
  meta->parent_frame = map_frame;
  meta->child_frame = sensor_frame;
  meta->timestamp = scan->pose_time;
  meta->sequence = scan->sequence;
  meta->transformation_probability = registration->transformation_probability;
  meta->nvtl = registration->nvtl;
  meta->matched_ratio = registration->matched_ratio;
  meta->iterations = registration->iterations;
  meta->reason = pose_reason (localization->reason);
  meta->reason_value = localization->reason_value;
  meta->reason_bound = localization->reason_bound;
  meta->has_fit = localization->fit > 0;
  meta->fit = localization->fit;
  meta->has_confidence = localization->has_confidence;
  meta->confidence = localization->confidence;
  if (meta->has_confidence)
    meta->unexplained = (gdouble)localization->rays.n_unexplained / localization->rays.n;
  meta->sigma = localization->has_pose ? localization->sigma : 0;
  meta->n_open = localization->n_open;
  meta->degenerate = meta->n_open > 0 || localization->reason == NDT_REASON_DEGENERATE;
  memcpy (meta->open_directions, localization->open, sizeof meta->open_directions);
  meta->has_no_ground = localization->has_no_ground;
  meta->no_ground_points = localization->no_ground_points;
  meta->no_ground_transformation_probability = localization->no_ground_transformation_probability;
  meta->no_ground_nvtl = localization->no_ground_nvtl;
  return meta;
}

static void
set_times (GstStructure *structure, const GstNdtScan *scan, const GstSegment *segment)
{
  GstClockTime stream_time = GST_CLOCK_TIME_NONE;
  GstClockTime running_time = GST_CLOCK_TIME_NONE;
  if (segment->format == GST_FORMAT_TIME && GST_CLOCK_TIME_IS_VALID (scan->pts)) {
    stream_time = gst_segment_to_stream_time (segment, GST_FORMAT_TIME, scan->pts);
    running_time = gst_segment_to_running_time (segment, GST_FORMAT_TIME, scan->pts);
  }
  gst_structure_set (structure, "scan", G_TYPE_UINT64, scan->sequence, "pts", G_TYPE_UINT64,
      scan->pts, "stream-time", G_TYPE_UINT64, stream_time, "running-time", G_TYPE_UINT64,
      running_time, "duration", G_TYPE_UINT64, scan->duration, NULL);
}

static const gchar *
stop_to_string (NdtStop stop)
{
  switch (stop) {
  case NDT_STOP_CONVERGED:
    return "converged";
  case NDT_STOP_ITERATION_LIMIT:
    return "iteration-limit";
  case NDT_STOP_NO_PAIRS:
    return "no-pairs";
  default:
    return "not-finite";
  }
}

static const gchar *
covariance_to_string (NdtPoseCovariance covariance)
{
  switch (covariance) {
  case NDT_POSE_COVARIANCE_LAPLACE:
    return "laplace";
  case NDT_POSE_COVARIANCE_FIXED:
    return "fixed";
  case NDT_POSE_COVARIANCE_MULTI_NDT:
    return "multi-ndt";
  default:
    return "multi-ndt-score";
  }
}

/* Directions that the scan does not hold, six numbers each, one after another. */
static void
set_degenerate (GstStructure *structure, const NdtRegistration *registration)
{
  GValue array = G_VALUE_INIT;

  gst_value_array_init (&array, 6 * registration->n_degenerate);
  for (guint i = 0; i < 6 * registration->n_degenerate; i++) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, G_TYPE_DOUBLE);
    g_value_set_double (&value, registration->degenerate[i]);
    gst_value_array_append_and_take_value (&array, &value);
  }
  gst_structure_take_value (structure, "degenerate-axes", &array);
}

/* What the status rests on. */
static void
set_reasons (GstStructure *structure, const GstPoseMeta *meta, const NdtLocalization *localization)
{
  gst_structure_set (structure, "reason", G_TYPE_STRING,
      ndt_reason_to_string (localization->reason), "reason-value", G_TYPE_DOUBLE,
      localization->reason_value, "reason-bound", G_TYPE_DOUBLE, localization->reason_bound,
      "degenerate", G_TYPE_BOOLEAN, meta->degenerate, "fit", G_TYPE_DOUBLE, localization->fit,
      "fit-bound", G_TYPE_DOUBLE, localization->fit_bound, "overlap", G_TYPE_DOUBLE,
      localization->overlap, "innovation", G_TYPE_DOUBLE, localization->innovation, "sigma",
      G_TYPE_DOUBLE, localization->sigma, NULL);
}

GstMessage *
gst_ndt_estimate_message_new (GstObject *source, const GstPoseMeta *meta,
    const NdtLocalization *localization, const GstNdtScan *scan, const GstSegment *segment)
{
  const NdtRegistration *registration = &localization->registration;
  GstStructure *structure = gst_pose_meta_to_structure (meta);

  gst_structure_set_name (structure, "ndt-pose");
  set_times (structure, scan, segment);
  set_reasons (structure, meta, localization);
  gst_structure_set (structure, "prediction", G_TYPE_STRING,
      ndt_prediction_to_string (localization->prediction), "skipped", G_TYPE_UINT,
      localization->n_skipped, NULL);
  if (registration->evaluations > 0) {
    gst_structure_set (structure, "stop", G_TYPE_STRING, stop_to_string (registration->stop),
        "points", G_TYPE_UINT, registration->n_points, "pairs", G_TYPE_UINT64,
        registration->n_pairs, "starts", G_TYPE_UINT, registration->n_starts, "runner-up",
        G_TYPE_DOUBLE, registration->runner_up, "oscillation", G_TYPE_UINT,
        registration->oscillation, "deskewed", G_TYPE_BOOLEAN, localization->deskewed,
        "degenerate-directions", G_TYPE_UINT, registration->n_degenerate, "degenerate-lever",
        G_TYPE_DOUBLE, registration->degenerate_lever, "covariance-kind", G_TYPE_STRING,
        covariance_to_string (registration->covariance_kind), NULL);
    set_degenerate (structure, registration);
  }
  return gst_message_new_element (source, structure);
}

GstMessage *
gst_ndt_state_message_new (GstObject *source, const gchar *state, const gchar *previous,
    const GstPoseMeta *meta, const NdtLocalization *localization, const GstNdtScan *scan,
    const GstSegment *segment)
{
  g_autofree gchar *why = gst_pose_meta_describe_reason (meta);
  GstStructure *structure = gst_structure_new ("ndt-state", "state", G_TYPE_STRING, state,
      "previous", G_TYPE_STRING, previous, "prediction", G_TYPE_STRING,
      ndt_prediction_to_string (localization->prediction), NULL);
  set_reasons (structure, meta, localization);
  if (why)
    gst_structure_set (structure, "why", G_TYPE_STRING, why, "advice", G_TYPE_STRING,
        gst_pose_reason_get_advice (meta->reason), NULL);
  set_times (structure, scan, segment);
  return gst_message_new_element (source, structure);
}
