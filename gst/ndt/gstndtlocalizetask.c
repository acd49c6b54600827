/* SPDX-License-Identifier: MIT */
#include "gstndtlocalizetask.h"

#include <math.h>

#include "gst/common/gstndtviews.h"
#include "gstndtestimate.h"
#include "gstndtlocalizecontrol.h"
#include "gstndtlocalizelast.h"
#include "gstndtlocalizemap.h"
#include "gstndtlocalizereport.h"

#define GST_CAT_DEFAULT gst_ndt_localize_debug

typedef struct {
  GstNdtInput input;
  guint item; /* its buffer's */
} Scan;

/* A scan of which is to be measured whether it is distorted, when the backend has no other. */
typedef struct {
  GstBuffer *buffer; /* NULL: none */
  GstNdtInput input;
  NdtScanMotion motion;
  NdtPose sensor;
} Measured;

/* What is being worked on. Allocated once. */
struct _GstNdtBatch {
  GArray *items; /* GstNdtItem */
  guint cursor;  /* items before it have left */
  guint n_scans;
  guint first; /* of the scans that are being aligned … */
  guint end;   /* … which are those before this one */
  Scan scans[NDT_MAX_SCANS];
  NdtObservation observations[NDT_MAX_SCANS];

  GstNdtTaken taken; /* its changes are the task's no more */
  GQuark sensor_frame;
  GstNdtInstants instants;
  Measured measured;

  GstFlowReturn flow;
};

GstNdtBatch *
gst_ndt_batch_new (void)
{
  GstNdtBatch *batch = g_new0 (GstNdtBatch, 1);
  batch->items = g_array_sized_new (FALSE, FALSE, sizeof (GstNdtItem), 2 * NDT_MAX_SCANS);
  return batch;
}

void
gst_ndt_batch_free (GstNdtBatch *batch)
{
  g_array_unref (batch->items);
  g_free (batch);
}

static GstNdtItem *
item_at (GstNdtBatch *batch, guint index)
{
  return &g_array_index (batch->items, GstNdtItem, index);
}

void
gst_ndt_localize_reset_task (GstNdtLocalize *self)
{
  gst_segment_init (&self->segment, GST_FORMAT_UNDEFINED);
  gst_point_cloud_info_init (&self->info);
  gst_ndt_compensation_clear (&self->compensation);
  self->sequence = 0;
  self->has_map = FALSE;
  self->state = NULL;
  self->has_told_map = self->has_told_digest = self->has_told_sensor_pose = FALSE;
  self->warned = GST_CLOCK_TIME_NONE;
  self->n_unwarned = 0;
}

static void
post_change (GstNdtLocalize *self, GstStructure *structure)
{
  gst_ndt_localize_post_change (self, self->sequence, structure);
}

/* Checked when they were set. */
static void
set_params (GstNdtLocalize *self, const NdtLocalizerParams *params)
{
  g_autoptr (GError) error = NULL;
  self->params = *params;
  if (!gst_ndt_engine_set_params (self->engine, params, &error))
    GST_ERROR_OBJECT (self, "%s", error->message);
}

/* Changes take effect here, before the scan self->sequence, and are announced with it. */
static void
take_changes (GstNdtLocalize *self, GstNdtBatch *batch)
{
  GstNdtTaken *taken = &batch->taken;
  /* Only the first scan of a batch is elsewhere: a flush or a new segment comes before it. */
  const GstNdtPlace place = item_at (batch, 0)->place;
  if (place != GST_NDT_PLACE_NEXT) {
    GST_DEBUG_OBJECT (self, "scan %" G_GUINT64_FORMAT " does not follow the one before: it is %s",
        self->sequence,
        place == GST_NDT_PLACE_BEGINNING ? "where the stream began" : "elsewhere in the stream");
    gst_ndt_localize_restart (self, place);
  }
  const gboolean any = gst_ndt_localize_take (self, taken);
  gst_ndt_engine_set_live (self->engine, taken->is_live);
  gst_ndt_localize_update_log (self);
  gst_ndt_compensation_get_instants (
      &self->compensation, GST_ELEMENT (self), &taken->scans, &batch->instants);

  batch->sensor_frame = taken->scans.sensor_frame;
  if (!batch->sensor_frame)
    batch->sensor_frame =
        self->info.frame_id ? self->info.frame_id : g_quark_from_static_string ("lidar");
  if (!any)
    return;

  if (taken->changes.reset) {
    gst_ndt_engine_reset (self->engine);
    post_change (self, gst_structure_new_empty ("ndt-reset"));
  }
  if (taken->changes.map)
    gst_ndt_localize_change_map (self, &taken->changes);
  if (taken->settings) {
    self->has_told_sensor_pose = FALSE;
    set_params (self, &taken->params);
    post_change (self, g_steal_pointer (&taken->settings));
  }
  if (taken->changes.has_initial_pose) {
    g_autofree gchar *pose = ndt_pose_to_string (&taken->changes.initial_pose);
    gst_ndt_engine_set_initial_pose (self->engine, &taken->changes.initial_pose);
    post_change (self, gst_structure_new ("ndt-initial-pose", "pose", G_TYPE_STRING, pose, NULL));
  }
  gst_ndt_changes_clear (&taken->changes);
}

static gint64
running_time (const GstNdtLocalize *self, GstClockTime time)
{
  return gst_pose_queue_running_time (&self->segment, time);
}

/* When a scan is due by its stamp, by gst_util_get_timestamp(). FALSE where nobody knows. */
static gboolean
due_time (GstNdtLocalize *self, const GstNdtTaken *taken, const GstBuffer *buffer, gint64 now,
    gint64 *due)
{
  const gint64 time = running_time (self, GST_BUFFER_PTS (buffer));
  if (time == GST_POSE_QUEUE_NO_TIME)
    return FALSE;
  const GstClockTime now_running = gst_element_get_current_running_time (GST_ELEMENT (self));
  if (!GST_CLOCK_TIME_IS_VALID (now_running))
    return FALSE;
  *due = now - ((gint64)now_running - time);
  if (taken->is_live)
    *due += (gint64)taken->upstream_latency;
  return TRUE;
}

/* Until when a scan's turn has to come, by g_get_monotonic_time(); 0: for ever. A scan waits from
 * its arrival on; where it comes from a live source, from when it could have come: queues
 * upstream have it before. Neither is late before its time: what waits until then waits for the
 * sink, which holds a replay's scans until their running time, and live ones until the pipeline's
 * latency is over. While the pipeline is paused no time runs. */
static gint64
deadline (GstNdtLocalize *self, const GstNdtBatch *batch, const GstNdtItem *item, GstClockTime now)
{
  const GstNdtTaken *taken = &batch->taken;
  gint64 since = (gint64)item->arrival, due;

  if (taken->scans.max_lateness == 0 || GST_STATE (self) != GST_STATE_PLAYING)
    return 0;
  if (due_time (self, taken, GST_BUFFER_CAST (item->object), (gint64)now, &due))
    since = taken->is_live ? MIN (since, due) + (gint64)taken->spare_latency : MAX (since, due);
  return MAX ((since + (gint64)taken->scans.max_lateness) / (gint64)GST_USECOND, 1);
}

/* Of the scans from @first on, whose buffers are those at the cursor. A push may take as long as
 * the pipeline is paused. */
static void
set_deadlines (GstNdtLocalize *self, GstNdtBatch *batch, guint first, GstClockTime now)
{
  for (guint i = batch->cursor; first < batch->end; i++) {
    const GstNdtItem *item = item_at (batch, i);
    if (GST_IS_BUFFER (item->object))
      batch->observations[first++].deadline = deadline (self, batch, item, now);
  }
}

/* All of the batch's: their times are known before their poses are waited for. */
static void
open_scans (GstNdtLocalize *self, GstNdtBatch *batch)
{
  batch->n_scans = 0;
  for (guint i = 0; i < batch->items->len; i++) {
    GstNdtItem *item = item_at (batch, i);
    g_autoptr (GError) error = NULL;
    if (!GST_IS_BUFFER (item->object))
      continue;
    if (!item->ahead)
      item->object = GST_MINI_OBJECT_CAST (gst_point_cloud_element_take_scan (
          GST_ELEMENT (self), &self->info, GST_BUFFER_CAST (item->object)));
    Scan *scan = &batch->scans[batch->n_scans++];
    scan->item = i;
    if (gst_ndt_input_open (&scan->input, self->times, &self->info, &batch->instants,
            GST_BUFFER_CAST (item->object), g_steal_pointer (&item->ahead), &error))
      continue;
    gst_ndt_stats_malformed (self->stats);
    gst_ndt_localize_warn_about_scan (
        self, self->sequence + batch->n_scans - 1, GST_NDT_NOT_ALIGNED, error->message);
  }
}

static void
warn_about_poses (GstNdtLocalize *self)
{
  g_autofree gchar *complaint = gst_pose_queue_take_complaint (self->poses);
  if (complaint)
    GST_ELEMENT_WARNING (self, STREAM, FAILED, ("%s.", complaint), (NULL));
}

static void
prepare_scan (GstNdtLocalize *self, GstNdtBatch *batch, guint index, GstClockTime now)
{
  Scan *scan = &batch->scans[index];
  NdtObservation *observation = &batch->observations[index];
  const GstNdtItem *item = item_at (batch, scan->item);

  scan->input.about.sequence = self->sequence++;
  gst_ndt_input_observe (&scan->input, GST_BUFFER_CAST (item->object), observation);
  observation->deadline = deadline (self, batch, item, now);
  gst_pose_queue_get (self->poses, running_time (self, scan->input.about.pose_time),
      batch->taken.scans.max_pose_gap, batch->taken.scans.pose_distance_limit, observation);
  warn_about_poses (self);
}

/* As gstqueue does where downstream takes no more: sticky events stay on the pad, which sends them
 * when it is linked or a flush is over. */
static void
keep_event (GstNdtLocalize *self, GstEvent *event)
{
  if (GST_EVENT_IS_STICKY (event))
    gst_pad_store_sticky_event (self->srcpad, event);
  gst_event_unref (event);
}

/* Pushes the events at the cursor, up to the next buffer. */
static void
push_events (GstNdtLocalize *self, GstNdtBatch *batch)
{
  while (batch->cursor < batch->items->len) {
    GstMiniObject *object = item_at (batch, batch->cursor)->object;
    if (!GST_IS_EVENT (object))
      return;
    batch->cursor++;
    if (batch->flow == GST_FLOW_OK)
      gst_pad_push_event (self->srcpad, GST_EVENT_CAST (object));
    else
      keep_event (self, GST_EVENT_CAST (object));
  }
}

/* Nobody takes results any more: do not compute what remains. */
static void
end_batch (GstNdtLocalize *self, GstNdtBatch *batch, GstFlowReturn flow)
{
  batch->flow = flow;
  gst_ndt_engine_cancel (self->engine, GST_NDT_CANCEL_DOWNSTREAM, TRUE);
}

static void
count_scan (GstNdtLocalize *self, const NdtLocalization *localization)
{
  const GstClockTime upload = (GstClockTime)localization->upload_time;
  const GstClockTime align = (GstClockTime)localization->align_time;

  if (localization->reason == NDT_REASON_TOO_LATE || !self->has_map)
    return;
  gst_ndt_stats_time (self->stats, GST_NDT_TIME_UPLOAD, upload);
  gst_ndt_stats_time (self->stats, GST_NDT_TIME_ALIGN, align);
  if (upload + align > self->batch->taken.scans.processing_deadline)
    gst_ndt_stats_late (self->stats);
}

static void
end_measurement (Measured *measured)
{
  if (!measured->buffer)
    return;
  gst_ndt_input_close (&measured->input);
  g_clear_pointer (&measured->buffer, gst_buffer_unref);
}

/* Keeps a scan that shows whether scans are distorted, where that is not known. Takes its input. */
static void
keep_for_measurement (GstNdtLocalize *self, GstNdtInput *input, GstBuffer *buffer,
    const NdtLocalization *localization)
{
  Measured *measured = &self->batch->measured;
  /* Scans that were aligned the wrong way fit less well. */
  const gboolean tracks =
      localization->status == NDT_TRACK_TRACKING || localization->status == NDT_TRACK_DEGRADED;
  NdtPose sensor;
  NdtScanMotion motion;

  const GstNdtDeskew deskew = self->batch->taken.scans.deskew;
  if (!gst_ndt_compensation_is_open (&self->compensation, deskew, input) &&
      !gst_ndt_compensation_is_open_for_turns (&self->compensation, deskew, input))
    return;
  ndt_pose_compose (&localization->registration.pose, &self->params.sensor_pose, &sensor);
  if (!gst_ndt_compensation_see (&self->compensation, input, tracks ? &sensor : NULL, &motion))
    return;
  end_measurement (measured);
  measured->buffer = gst_buffer_ref (buffer);
  measured->input = *input;
  measured->motion = motion;
  measured->sensor = sensor;
  input->mapped = FALSE;
  input->times.converted = NULL;
}

/* Of a scan whose points bear no times. */
static void
measure_turns (GstNdtLocalize *self, const NdtCloudView *points)
{
  GstNdtCompensation *compensation = &self->compensation;
  const Measured *measured = &self->batch->measured;
  const gdouble *v = measured->motion.velocity;
  const gdouble duration = (gdouble)measured->input.about.duration / GST_SECOND;
  NdtDistortion distortion;

  /* Two of the ways a scan: a live stream has to go on. */
  for (guint i = 0; i < 2; i++) {
    const guint turn = compensation->next_turn++ % GST_NDT_N_TURNS;
    g_autofree gfloat *times = gst_ndt_compensation_make_times (points, duration, turn);
    const NdtTimeView view = {(const guint8 *)times, sizeof *times, NDT_TIME_F32};
    if (times && gst_ndt_engine_measure_distortion (self->engine, &self->params, points, &view,
                     &measured->motion, &measured->sensor, &distortion))
      gst_ndt_compensation_take_turn (compensation, GST_ELEMENT (self), turn, &distortion, duration,
          sqrt (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
  }
}

static void
measure (GstNdtLocalize *self)
{
  Measured *measured = &self->batch->measured;
  NdtDistortion distortion;

  if (!measured->buffer)
    return;
  const NdtCloudView points = gst_ndt_view_points (&measured->input.map);
  if (measured->input.times.span.n_points == 0) {
    measure_turns (self, &points);
  } else if (gst_ndt_engine_measure_distortion (self->engine, &self->params, &points,
                 &measured->input.times.view, &measured->motion, &measured->sensor, &distortion)) {
    gst_ndt_compensation_take (&self->compensation, GST_ELEMENT (self), &distortion);
    gst_ndt_compensation_get_instants (
        &self->compensation, GST_ELEMENT (self), &self->batch->taken.scans, &self->batch->instants);
  }
  end_measurement (measured);
}

/* Each scan's result, in order: the scan leaves. */
static void
push_scan (guint index, const NdtLocalization *localization, gpointer user_data)
{
  GstNdtLocalize *self = user_data;
  GstNdtBatch *batch = self->batch;
  GstNdtInput *input = &batch->scans[batch->first + index].input;
  GstNdtScan *about = &input->about;
  GstBuffer *buffer = GST_BUFFER_CAST (item_at (batch, batch->cursor++)->object);
  const GstClockTime done = gst_util_get_timestamp ();

  gst_ndt_localize_report_failure (self);
  /* Its motion was not known: as it is, a scan is aligned where it was in the mean. */
  if (input->is_moving && !localization->deskewed)
    about->pose_time = input->mean_time;
  gst_ndt_localize_scan_done (self, about->sequence, localization);
  if (batch->flow != GST_FLOW_OK) {
    GST_DEBUG_OBJECT (self, "scan %" G_GUINT64_FORMAT " dropped: downstream returned %s",
        about->sequence, gst_flow_get_name (batch->flow));
    gst_ndt_input_close (input);
    gst_buffer_unref (buffer);
    gst_ndt_stats_dropped (self->stats);
    push_events (self, batch);
    return;
  }

  const gboolean malformed = !input->mapped;
  count_scan (self, localization);
  keep_for_measurement (self, input, buffer, localization);
  gst_ndt_input_close (input);
  gst_ndt_localize_log_scan (self, localization, about);
  buffer = gst_buffer_make_writable (buffer);
  const GstPoseMeta *meta = gst_ndt_estimate_attach (
      buffer, localization, about, batch->taken.scans.map_frame, batch->sensor_frame);
  gst_ndt_stats_localization (self->stats, localization, meta, running_time (self, about->pts));
  gst_ndt_localize_warn_odometry (self, about->sequence, localization);
  /* Of a buffer that is no scan it is said when it comes, and of one without a map before. */
  if (!malformed && self->has_map)
    gst_ndt_localize_warn_rejected (self, about->sequence, meta, localization);
  gst_ndt_localize_post_state (self, meta, localization, about);
  gst_ndt_localize_keep_last_pose (self, localization, about->pose_time);
  if (batch->taken.scans.post_messages)
    gst_element_post_message (GST_ELEMENT (self), gst_ndt_estimate_message_new (GST_OBJECT (self),
                                                      meta, localization, about, &self->segment));

  gst_ndt_stats_scan_out (self->stats);
  const GstFlowReturn flow = gst_pad_push (self->srcpad, buffer);
  if (flow != GST_FLOW_OK)
    end_batch (self, batch, flow);
  push_events (self, batch);

  const GstClockTime pushed = gst_util_get_timestamp ();
  gst_ndt_stats_time (self->stats, GST_NDT_TIME_PUSH, pushed - done);
  if (batch->taken.scans.max_lateness > 0)
    set_deadlines (self, batch, batch->first + index + 1, pushed);
}

static gint64
pose_running_time (const GstNdtLocalize *self, const Scan *scan)
{
  return running_time (self, scan->input.about.pose_time);
}

/* Waits for what the pose pads say of a scan. Upstream may be the thread that brings it. */
static gboolean
wait_for_poses (GstNdtLocalize *self, GstNdtBatch *batch, const Scan *scan)
{
  const gint64 time = pose_running_time (self, scan);

  if (gst_pose_queue_reached (self->poses, time, batch->taken.scans.pose_latency))
    return TRUE;
  /* No query need have passed: sinks send none on before their first buffer. */
  if (!gst_pose_queue_knows_sources (self->poses)) {
    GstQuery *query = gst_query_new_latency ();
    gst_ndt_localize_query_upstream (self, query);
    gst_query_unref (query);
  }
  /* A source that brings both by one thread is held up by a full queue of scans, and with it the
   * poses that they wait for: take scans until its GAPs come, which rosbagsrc sends after a second.
   */
  const GstClockTime timeout = batch->taken.scans.pose_latency, begin = gst_util_get_timestamp ();
  const gint64 deadline = gst_pose_queue_get_deadline (
      self->poses, GST_ELEMENT (self), running_time (self, scan->input.about.pts), timeout);
  gst_ndt_fifo_open (self->fifo, time + (gint64)gst_ndt_localize_get_reach (timeout));
  const gboolean ok = gst_pose_queue_wait (self->poses, time, timeout, deadline);
  gst_ndt_fifo_open (self->fifo, G_MININT64);
  GST_LOG_OBJECT (self, "waited %.3f ms for the poses of running time %" GST_STIME_FORMAT,
      1e-6 * (gdouble)(gst_util_get_timestamp () - begin), GST_STIME_ARGS (time));
  return ok;
}

/* Prepares the scan at @first and those that follow whose poses are known as well: the next ones to
 * be aligned. */
static void
prepare_scans (GstNdtLocalize *self, GstNdtBatch *batch, guint first)
{
  const GstClockTime taken = gst_util_get_timestamp ();
  NdtLocalizerParams params = self->params;
  guint i;

  params.deskew = FALSE;
  for (i = first; i < batch->n_scans; i++) {
    const Scan *scan = &batch->scans[i];
    if (i > first && !gst_pose_queue_reached (self->poses, pose_running_time (self, scan),
                         batch->taken.scans.pose_latency))
      break;
    gst_ndt_stats_time (
        self->stats, GST_NDT_TIME_WAIT, taken - item_at (batch, scan->item)->arrival);
    prepare_scan (self, batch, i, taken);
    params.deskew |= scan->input.is_moving;
  }
  /* Where no motion is to be compensated, scans are uploaded ahead. */
  if (params.deskew != self->params.deskew)
    set_params (self, &params);
  batch->first = first;
  batch->end = i;
  gst_ndt_stats_batch (self->stats, i - first);
  GST_LOG_OBJECT (self, "batch of %u scans", i - first);
}

/* As many of the scans as are aligned with one map. */
static GstFlowReturn
localize_some (GstNdtLocalize *self, GstNdtBatch *batch)
{
  const NdtObservation *observations = batch->observations + batch->first;
  const guint64 sequence = batch->scans[batch->first].input.about.sequence;
  g_autoptr (GError) error = NULL;
  guint n_done = 0;

  if (!gst_ndt_localize_follow (self, sequence, observations, batch->taken.is_live))
    return GST_FLOW_FLUSHING;
  const gboolean alone = gst_ndt_compensation_is_open (
      &self->compensation, batch->taken.scans.deskew, &batch->scans[batch->first].input);
  const guint n = gst_ndt_localize_count_followed (
      self, sequence, observations, alone ? 1 : batch->end - batch->first);
  const gboolean ok =
      gst_ndt_engine_process (self->engine, observations, n, push_scan, self, &n_done, &error);
  gst_ndt_engine_cancel (self->engine, GST_NDT_CANCEL_DOWNSTREAM, FALSE);
  batch->first += n_done;
  measure (self);
  if (ok || batch->flow != GST_FLOW_OK)
    return batch->flow;
  if (g_error_matches (error, NDT_ERROR, NDT_ERROR_CANCELLED))
    return GST_FLOW_FLUSHING;
  if (g_error_matches (error, NDT_ERROR, NDT_ERROR_NO_MEMORY))
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("Alignment failed: %s; thin scans upstream, or give the process more memory.",
            error->message),
        (NULL));
  else
    GST_ELEMENT_ERROR (self, LIBRARY, FAILED, ("Alignment failed: %s.", error->message), (NULL));
  return GST_FLOW_ERROR;
}

static GstFlowReturn
localize_scans (GstNdtLocalize *self, GstNdtBatch *batch)
{
  GstFlowReturn flow = GST_FLOW_OK;

  while (flow == GST_FLOW_OK && batch->first < batch->end)
    flow = localize_some (self, batch);
  return flow;
}

/* Without a map they leave as they are. */
static void
pass_scans (GstNdtLocalize *self, GstNdtBatch *batch)
{
  const NdtLocalization none = {
      .status = NDT_TRACK_SKIPPED, .reason = NDT_REASON_NO_MAP, .reason_bound = 1};

  batch->first = 0;
  batch->end = batch->n_scans;
  for (guint i = 0; i < batch->n_scans; i++)
    batch->scans[i].input.about.sequence = self->sequence++;
  gst_ndt_localize_warn_about_scan (self, batch->scans[0].input.about.sequence, GST_NDT_NOT_ALIGNED,
      "the map is still being read");
  for (guint i = 0; i < batch->n_scans; i++)
    push_scan (i, &none, self);
  gst_ndt_engine_cancel (self->engine, GST_NDT_CANCEL_DOWNSTREAM, FALSE);
}

static GstFlowReturn
localize_batch (GstNdtLocalize *self, GstNdtBatch *batch)
{
  GstFlowReturn flow;
  guint next = 0;

  const gboolean has_map = gst_ndt_localize_wait_for_map (self, &flow);
  take_changes (self, batch);
  gst_ndt_localize_tell_map (self);
  gst_ndt_localize_tell_sensor_pose (self);
  batch->cursor = 0;
  batch->flow = GST_FLOW_OK;
  open_scans (self, batch);
  if (!has_map && flow == GST_FLOW_OK) {
    pass_scans (self, batch);
    flow = batch->flow;
    next = batch->n_scans;
  }
  while (flow == GST_FLOW_OK && next < batch->n_scans) {
    if (wait_for_poses (self, batch, &batch->scans[next])) {
      prepare_scans (self, batch, next);
      flow = localize_scans (self, batch);
      next = batch->end;
    } else {
      flow = GST_FLOW_FLUSHING;
    }
  }
  for (guint i = 0; i < batch->n_scans; i++)
    gst_ndt_input_close (&batch->scans[i].input);
  if (batch->cursor < batch->items->len)
    GST_DEBUG_OBJECT (self, "%u scans and events dropped: %s", batch->items->len - batch->cursor,
        gst_flow_get_name (flow));
  for (; batch->cursor < batch->items->len; batch->cursor++) {
    GstMiniObject *object = item_at (batch, batch->cursor)->object;
    if (GST_IS_EVENT (object)) {
      keep_event (self, GST_EVENT_CAST (object));
    } else {
      gst_ndt_stats_dropped (self->stats);
      gst_mini_object_unref (object);
    }
  }
  return flow;
}

void
gst_ndt_localize_set_task_caps (GstNdtLocalize *self, GstCaps *caps)
{
  gst_point_cloud_info_from_caps (&self->info, caps, NULL); /* checked on the sink pad */
  gst_ndt_compensation_set_caps (
      &self->compensation, caps, gst_point_times_set_info (self->times, &self->info));
}

static void
handle_event (GstNdtLocalize *self, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    GstCaps *caps;
    gst_event_parse_caps (event, &caps);
    gst_ndt_localize_set_task_caps (self, caps);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT) {
    gst_event_copy_segment (event, &self->segment);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START) {
    self->has_told_map = self->has_told_digest = self->has_told_sensor_pose = FALSE;
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_EOS) {
    if (self->has_told_map)
      gst_ndt_localize_tell_map (self); /* its checksums */
    gst_ndt_localize_flush_last_pose (self);
    gst_ndt_localize_post_summary (self);
  }
  gst_pad_push_event (self->srcpad, event);
}

/* Scans in memory that the device uploads fast are what we would like best. */
static gboolean
answer_query (GstNdtLocalize *self, GstQuery *query)
{
  gboolean answered = gst_pad_peer_query (self->srcpad, query);

  if (GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION && self->allocator &&
      gst_ndt_engine_has_host_memory (self->engine)) {
    gst_ndt_pool_propose (self->allocator, query);
    answered = TRUE;
  }
  return answered;
}

static void
stop (GstNdtLocalize *self, GstFlowReturn flow)
{
  const gboolean upstream_gone = gst_ndt_fifo_stop (self->fifo, flow);

  GST_DEBUG_OBJECT (self, "no more scans: %s", gst_flow_get_name (flow));
  if (upstream_gone && (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS))
    GST_ELEMENT_FLOW_ERROR (self, flow);
}

void
gst_ndt_localize_task (gpointer user_data)
{
  GstNdtLocalize *self = user_data;
  GstNdtBatch *batch = self->batch;

  if (!gst_ndt_fifo_take (self->fifo, batch->items)) {
    gst_pad_pause_task (self->srcpad);
    return;
  }
  GstMiniObject *first = item_at (batch, 0)->object;
  if (GST_IS_QUERY (first)) {
    gst_ndt_fifo_answer (self->fifo, answer_query (self, GST_QUERY_CAST (first)));
  } else if (GST_IS_EVENT (first)) {
    handle_event (self, GST_EVENT_CAST (first));
  } else {
    const GstFlowReturn flow = localize_batch (self, batch);
    if (flow == GST_FLOW_EOS)
      gst_ndt_fifo_refuse (self->fifo);
    else if (flow != GST_FLOW_OK)
      stop (self, flow);
  }
}
