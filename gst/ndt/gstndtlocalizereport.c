/* SPDX-License-Identifier: MIT */
#include "gstndtlocalizereport.h"

#include "gst/common/gstndtbackend.h"

#define GST_CAT_DEFAULT gst_ndt_localize_debug

/* Warnings about scans are posted at most this often. */
#define WARNING_INTERVAL (5 * GST_SECOND)

/* So many scans in a row that are not tracking are worth a warning. */
#define SCANS_BEFORE_WARNING 3

static void
forward_log (NdtLogLevel level, const gchar *category, const gchar *message, gpointer user_data)
{
  GST_CAT_LEVEL_LOG (gst_ndt_localize_debug, gst_ndt_backend_get_debug_level (level),
      G_OBJECT (user_data), "%s: %s", category, message);
}

void
gst_ndt_localize_init_log (GstNdtLocalize *self)
{
  self->log.func = forward_log;
  self->log.user_data = self;
  gst_ndt_localize_update_log (self);
}

void
gst_ndt_localize_update_log (GstNdtLocalize *self)
{
  ndt_log_set_level (&self->log, gst_ndt_backend_get_log_level (gst_ndt_localize_debug));
}

void
gst_ndt_localize_log_scan (
    GstNdtLocalize *self, const NdtLocalization *localization, const GstNdtScan *scan)
{
  const NdtRegistration *r = &localization->registration;
  const gdouble *p = r->pose.position;
  const gchar *prediction = ndt_prediction_to_string (localization->prediction);

  GST_LOG_OBJECT (self,
      "scan %" G_GUINT64_FORMAT " of %" GST_TIME_FORMAT ": %s, by %s at (%.3f, %.3f, %.3f), "
      "tp %.4g, nvtl %.4g, matched %.3f, %u points, %u iterations, upload %.3f ms, align %.3f ms",
      scan->sequence, GST_TIME_ARGS (scan->pose_time),
      ndt_track_status_to_string (localization->status), prediction, p[0], p[1], p[2],
      r->transformation_probability, r->nvtl, r->matched_ratio, r->n_points, r->iterations,
      1e-6 * (gdouble)localization->upload_time, 1e-6 * (gdouble)localization->align_time);
  if (localization->reason != NDT_REASON_NONE)
    GST_DEBUG_OBJECT (self,
        "scan %" G_GUINT64_FORMAT " rejected: %s, tp %.4g, nvtl %.4g, matched %.3f, %u points; "
        "%u in a row",
        scan->sequence, ndt_reason_to_string (localization->reason), r->transformation_probability,
        r->nvtl, r->matched_ratio, r->n_points, localization->n_skipped);
  if (r->n_starts > 1)
    GST_DEBUG_OBJECT (self,
        "scan %" G_GUINT64_FORMAT " searched by %s from %u poses: best nvtl %.4g, runner-up %.4g",
        scan->sequence, prediction, r->n_starts, r->nvtl, r->runner_up);
  if (localization->relocalized)
    GST_DEBUG_OBJECT (
        self, "scan %" G_GUINT64_FORMAT " found again by %s", scan->sequence, prediction);
}

void
gst_ndt_localize_report_failure (GstNdtLocalize *self)
{
  g_autoptr (GError) failure = gst_ndt_engine_take_failure (self->engine);
  g_autoptr (GError) search_failure = gst_ndt_engine_take_search_failure (self->engine);
  if (search_failure)
    gst_ndt_backend_tell_search_failure (GST_ELEMENT (self), search_failure);
  if (!failure)
    return;
  gst_ndt_stats_fallback (self->stats);
  gst_ndt_backend_tell_failure (GST_ELEMENT (self), failure);
  g_object_notify (G_OBJECT (self), "active-backend");
}

void
gst_ndt_localize_warn_about_scan (
    GstNdtLocalize *self, guint64 sequence, const gchar *what, const gchar *why)
{
  const GstClockTime now = gst_util_get_timestamp ();

  GST_WARNING_OBJECT (self, "scan %" G_GUINT64_FORMAT " %s: %s", sequence, what, why);
  if (GST_CLOCK_TIME_IS_VALID (self->warned) && now < self->warned + WARNING_INTERVAL) {
    self->n_unwarned++;
    return;
  }
  GST_ELEMENT_WARNING (self, STREAM, DECODE,
      ("Scan %" G_GUINT64_FORMAT " %s: %s.", sequence, what, why),
      ("%u more since the last warning", self->n_unwarned));
  self->warned = now;
  self->n_unwarned = 0;
}

/* What happens to a scan that is not tracking, or NULL where it is too early for a warning. */
static gchar *
say_what (guint64 sequence, const NdtLocalization *localization)
{
  const guint n = localization->n_skipped;

  switch (localization->reason) {
  case NDT_REASON_NO_START:
    /* What the search finds is not known yet: nothing is wrong. */
    return localization->is_searched_for ? NULL : g_strdup (GST_NDT_NOT_ALIGNED);
  case NDT_REASON_TOO_FEW_POINTS:
  case NDT_REASON_NO_MAP:
  case NDT_REASON_TOO_LATE:
    return g_strdup (GST_NDT_NOT_ALIGNED);
  case NDT_REASON_AMBIGUOUS:
    return g_strdup ("was not found reliably");
  case NDT_REASON_IMPLAUSIBLE_MOTION:
    if (n == 0)
      return g_strdup ("is compensated by the velocity of an earlier one");
    break;
  default:
    break;
  }
  return n == SCANS_BEFORE_WARNING
             ? g_strdup_printf ("is not tracking, as are those since %" G_GUINT64_FORMAT,
                   sequence + 1 - MIN (n, sequence + 1))
             : NULL;
}

/* The fit expects points half a cell apart; a leaf larger than a cell lowers it. */
#define MOST_LEAF 1.0
/* Of a map in tiles this part of its radius is in memory all around the vehicle (docs/maps.md). */
#define TILES_REACH 0.875
/* Scans with a smaller overlap reach beyond it. */
#define WHOLE_OVERLAP 0.9

/* Until when odometry that contradicts the motion is not used. */
#define ODOMETRY_OFF                                                                               \
  "its odometry has contradicted the motion, and is not used until a scan that leaves no "         \
  "direction open agrees with it"

/* What to do about a reason: with odometry none is to be given. */
static const gchar *
get_advice (const NdtLocalization *localization)
{
  const NdtReason reason = localization->reason;
  if ((reason == NDT_REASON_DEGENERATE || reason == NDT_REASON_STALE_PREDICTION) &&
      localization->is_odometry_off)
    return ODOMETRY_OFF ": check it, or give poses of role prior";
  if (reason == NDT_REASON_DEGENERATE && localization->prediction == NDT_PREDICTION_ODOMETRY)
    return "scans say nothing of the way there, and odometry alone is not that exact; give it "
           "poses of role prior, or set max-sigma";
  return gst_pose_reason_get_advice ((GstPoseReason)reason);
}

/* Properties that may be the cause of a misfit, each as "; what to set". */
static gchar *
say_settings (const GstNdtLocalize *self, const NdtLocalization *localization)
{
  const gdouble leaf = (gdouble)self->params.filter.leaf_size;
  const gdouble range = (gdouble)self->params.filter.max_range;
  const gdouble reach = TILES_REACH * self->tiles.radius;
  GString *text = g_string_new (NULL);
  GstNdtSummary summary;

  if (!ndt_reason_is_misfit (localization->reason))
    return g_string_free (text, FALSE);
  if (localization->reason == NDT_REASON_BAD_FIT && self->sparse_map)
    g_string_append_printf (text, "; %s", self->sparse_map);
  if (leaf > MOST_LEAF * self->used_resolution)
    g_string_append_printf (text,
        "; scan-leaf-size=%g leaves too few points for cells of %g m: leave it at -1", leaf,
        self->used_resolution);
  if (self->tiles.tiles && (range <= 0 || range > reach) && localization->overlap < WHOLE_OVERLAP)
    g_string_append_printf (text,
        "; of the map only what lies within map-radius=%g is in memory: set max-range to %g or "
        "less",
        self->tiles.radius, reach);
  gst_ndt_stats_get_summary (self->stats, &summary);
  if (localization->is_odometry_off)
    g_string_append (text, "; " ODOMETRY_OFF);
  else if (localization->prediction == NDT_PREDICTION_CONSTANT_VELOCITY &&
           summary.status[GST_POSE_STATUS_TRACKING] > 0)
    g_string_append (text, "; where the sensor turns or speeds up between scans, give it odometry");
  return g_string_free (text, FALSE);
}

void
gst_ndt_localize_warn_rejected (GstNdtLocalize *self, guint64 sequence, const GstPoseMeta *meta,
    const NdtLocalization *localization)
{
  g_autofree gchar *why = gst_pose_meta_describe_reason (meta);
  g_autofree gchar *what = why ? say_what (sequence, localization) : NULL;
  if (!what)
    return;
  g_autofree gchar *settings = say_settings (self, localization);
  g_autofree gchar *text = g_strconcat (why, "; ", get_advice (localization), settings, NULL);
  gst_ndt_localize_warn_about_scan (self, sequence, what, text);
}

void
gst_ndt_localize_warn_odometry (
    GstNdtLocalize *self, guint64 sequence, const NdtLocalization *localization)
{
  if (!(localization->odometry_apart > 0))
    return;
  g_autofree gchar *why = g_strdup_printf (
      "it leads %.1f m from where the sensor's motion so far does; check the poses of role "
      "odometry and their stamps",
      localization->odometry_apart);
  gst_ndt_localize_warn_about_scan (self, sequence,
      "has odometry that contradicts the motion, and is not used until a scan that leaves no "
      "direction open agrees with it",
      why);
}

void
gst_ndt_localize_post_change (GstNdtLocalize *self, guint64 scan, GstStructure *structure)
{
  gst_structure_set (structure, "scan", G_TYPE_UINT64, scan, NULL);
  GST_INFO_OBJECT (self, "from scan %" G_GUINT64_FORMAT " on: %" GST_PTR_FORMAT, scan, structure);
  gst_element_post_message (
      GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), structure));
}

void
gst_ndt_localize_tell_sensor_pose (GstNdtLocalize *self)
{
  g_autoptr (GstPointCloudPose) pose = NULL;
  g_autofree gchar *body = NULL;

  if (self->has_told_sensor_pose)
    return;
  self->has_told_sensor_pose = TRUE;
  GST_OBJECT_LOCK (self);
  if (self->settings.sensor_pose) {
    pose = gst_point_cloud_pose_copy (self->settings.sensor_pose);
    body = g_strdup (self->settings.body_frame);
  }
  GST_OBJECT_UNLOCK (self);
  if (pose)
    gst_pad_push_event (
        self->srcpad, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY,
                          gst_structure_new ("sensor-pose", "parent-frame", G_TYPE_STRING, body,
                              "pose", GST_TYPE_POINT_CLOUD_POSE, pose, NULL)));
}

void
gst_ndt_localize_post_state (GstNdtLocalize *self, const GstPoseMeta *meta,
    const NdtLocalization *localization, const GstNdtScan *scan)
{
  if (localization->status == NDT_TRACK_SKIPPED)
    return;
  const gchar *state = ndt_track_status_to_string (localization->status);
  if (g_strcmp0 (state, self->state) == 0)
    return;

  GST_INFO_OBJECT (self, "scan %" G_GUINT64_FORMAT ": state %s after %s", scan->sequence, state,
      self->state ? self->state : "none");
  const gboolean recovered = localization->status == NDT_TRACK_TRACKING && self->state &&
                             g_str_equal (self->state, ndt_track_status_to_string (NDT_TRACK_LOST));
  gst_element_post_message (GST_ELEMENT (self),
      gst_ndt_state_message_new (GST_OBJECT (self), recovered ? "relocalized" : state, self->state,
          meta, localization, scan, &self->segment));
  self->state = state;
}

void
gst_ndt_localize_post_summary (GstNdtLocalize *self)
{
  GstStructure *structure = gst_structure_new_empty ("ndt-summary");
  GstNdtSummary summary;

  gst_ndt_stats_get_summary (self->stats, &summary);
  gst_ndt_summary_to_structure (&summary, structure);
  gst_structure_set (structure, "tracking", G_TYPE_UINT64, summary.status[GST_POSE_STATUS_TRACKING],
      "degraded", G_TYPE_UINT64, summary.status[GST_POSE_STATUS_DEGRADED], "lost", G_TYPE_UINT64,
      summary.status[GST_POSE_STATUS_LOST], "initializing", G_TYPE_UINT64,
      summary.status[GST_POSE_STATUS_INITIALIZING], "skipped", G_TYPE_UINT64,
      summary.status[GST_POSE_STATUS_SKIPPED], "too-late", G_TYPE_UINT64,
      summary.reason[GST_POSE_REASON_TOO_LATE], "too-few-points", G_TYPE_UINT64,
      summary.reason[GST_POSE_REASON_TOO_FEW_POINTS], NULL);
  gst_element_post_message (
      GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), structure));
  g_object_notify (G_OBJECT (self), "summary");
}
