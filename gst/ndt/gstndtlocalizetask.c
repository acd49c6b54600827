/* SPDX-License-Identifier: MIT */
#include "gstndtlocalizetask.h"

#include "gst/common/gstndtviews.h"
#include "gstndtestimate.h"
#include "gstndtlocalizecontrol.h"
#include "gstndtlocalizemap.h"
#include "gstndtlocalizereport.h"

#define GST_CAT_DEFAULT gst_ndt_localize_debug

typedef struct {
  GstNdtScan about;
  GstPointCloudMap map;
  gboolean mapped;
  gboolean malformed;
} Scan;

/* What is being worked on. Allocated once. */
struct _GstNdtBatch {
  GArray *items; /* GstNdtItem */
  guint cursor;  /* items before it have left */
  guint n_scans;
  guint first; /* of the scans that are being aligned */
  Scan scans[NDT_MAX_SCANS];
  NdtObservation observations[NDT_MAX_SCANS];

  GstNdtTaken taken; /* its changes are the task's no more */
  GQuark sensor_frame;

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
  self->sequence = 0;
  self->state = NULL;
  self->has_told_map = FALSE;
  self->warned = GST_CLOCK_TIME_NONE;
  self->n_unwarned = 0;
}

static void
post_change (GstNdtLocalize *self, GstStructure *structure)
{
  gst_ndt_localize_post_change (self, self->sequence, structure);
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
  gst_ndt_localize_update_log (self);
  g_autoptr (GError) error = NULL;

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
  if (taken->changes.map) {
    gst_ndt_localize_change_map (self, &taken->changes);
    gst_ndt_engine_forget_scores (self->engine);
  }
  if (taken->settings) {
    /* Checked when they were set. */
    if (!gst_ndt_engine_set_params (self->engine, &taken->params, &error))
      GST_ERROR_OBJECT (self, "%s", error->message);
    post_change (self, g_steal_pointer (&taken->settings));
  }
  if (taken->changes.has_initial_pose) {
    g_autofree gchar *pose = ndt_pose_to_string (&taken->changes.initial_pose);
    gst_ndt_engine_set_initial_pose (self->engine, &taken->changes.initial_pose);
    post_change (self, gst_structure_new ("ndt-initial-pose", "pose", G_TYPE_STRING, pose, NULL));
  }
  gst_ndt_changes_clear (&taken->changes);
}

static GstClockTime
pose_time (const GstBuffer *buffer, GstNdtPoseTime which)
{
  const GstClockTime pts = GST_BUFFER_PTS (buffer);
  const GstClockTime duration = GST_BUFFER_DURATION (buffer);
  if (!GST_CLOCK_TIME_IS_VALID (pts) || !GST_CLOCK_TIME_IS_VALID (duration))
    return pts;
  switch (which) {
  case GST_NDT_POSE_TIME_START:
    return pts;
  case GST_NDT_POSE_TIME_MIDDLE:
    return pts + duration / 2;
  default:
    return pts + duration;
  }
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
  for (guint i = batch->cursor; first < batch->n_scans; i++) {
    const GstNdtItem *item = item_at (batch, i);
    if (GST_IS_BUFFER (item->object))
      batch->observations[first++].deadline = deadline (self, batch, item, now);
  }
}

/* A buffer as an observation; one that cannot be read as points is one without points. */
static void
prepare_scan (GstNdtLocalize *self, GstNdtBatch *batch, const GstNdtItem *item, GstClockTime now)
{
  GstBuffer *buffer = GST_BUFFER_CAST (item->object);
  Scan *scan = &batch->scans[batch->n_scans];
  NdtObservation *observation = &batch->observations[batch->n_scans];
  g_autoptr (GError) error = NULL;

  scan->about.sequence = self->sequence++;
  scan->about.pts = GST_BUFFER_PTS (buffer);
  scan->about.duration = GST_BUFFER_DURATION (buffer);
  scan->about.pose_time = pose_time (buffer, batch->taken.scans.pose_time);
  scan->mapped = gst_point_cloud_map (&scan->map, &self->info, buffer, GST_MAP_READ, &error);
  scan->malformed = !scan->mapped;
  if (scan->malformed) {
    scan->map.n_points = 0;
    gst_ndt_stats_malformed (self->stats);
    gst_ndt_localize_warn_about_scan (
        self, scan->about.sequence, GST_NDT_NOT_ALIGNED, error->message);
  }
  observation->points = gst_ndt_view_points (&scan->map);
  observation->time =
      GST_CLOCK_TIME_IS_VALID (scan->about.pose_time) ? (gint64)scan->about.pose_time : -1;
  observation->point_times = (NdtTimeView){0};
  if (scan->mapped && scan->map.n_points > 0 && observation->time >= 0) {
    observation->point_times = gst_ndt_view_times (&scan->map);
    observation->time_on_points = (gdouble)(scan->about.pose_time - scan->about.pts) / GST_SECOND;
  }
  observation->deadline = deadline (self, batch, item, now);
  gst_ndt_pose_read (buffer, observation);
  gst_pose_queue_get (self->poses, running_time (self, scan->about.pose_time),
      batch->taken.scans.max_pose_gap, batch->taken.scans.pose_distance_limit, observation);
  batch->n_scans++;
}

static void
unmap_scan (Scan *scan)
{
  if (scan->mapped)
    gst_point_cloud_unmap (&scan->map);
  scan->mapped = FALSE;
}

/* Pushes the events at the cursor, up to the next buffer; drops them where downstream takes no
 * more. */
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
      gst_mini_object_unref (object);
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
count_scan (GstNdtLocalize *self, const Scan *scan, const NdtLocalization *localization)
{
  const GstClockTime upload = (GstClockTime)localization->upload_time;
  const GstClockTime align = (GstClockTime)localization->align_time;

  gst_ndt_stats_localization (self->stats, localization);
  if (localization->reject == NDT_REJECT_DEADLINE)
    return;
  gst_ndt_stats_time (self->stats, GST_NDT_TIME_UPLOAD, upload);
  gst_ndt_stats_time (self->stats, GST_NDT_TIME_ALIGN, align);
  if (upload + align > self->batch->taken.scans.processing_deadline)
    gst_ndt_stats_late (self->stats);
  gst_ndt_localize_warn_rejected (self, scan->about.sequence, localization, scan->malformed);
}

/* Each scan's result, in order: the scan leaves. */
static void
push_scan (guint index, const NdtLocalization *localization, gpointer user_data)
{
  GstNdtLocalize *self = user_data;
  GstNdtBatch *batch = self->batch;
  Scan *scan = &batch->scans[batch->first + index];
  GstBuffer *buffer = GST_BUFFER_CAST (item_at (batch, batch->cursor++)->object);
  const GstClockTime done = gst_util_get_timestamp ();

  gst_ndt_localize_report_failure (self);
  unmap_scan (scan);
  gst_ndt_localize_scan_done (self, scan->about.sequence, localization);
  if (batch->flow != GST_FLOW_OK) {
    GST_DEBUG_OBJECT (self, "scan %" G_GUINT64_FORMAT " dropped: downstream returned %s",
        scan->about.sequence, gst_flow_get_name (batch->flow));
    gst_buffer_unref (buffer);
    gst_ndt_stats_dropped (self->stats);
    push_events (self, batch);
    return;
  }

  count_scan (self, scan, localization);
  gst_ndt_localize_log_scan (self, localization, &scan->about);
  buffer = gst_buffer_make_writable (buffer);
  const GstPoseMeta *meta = gst_ndt_estimate_attach (
      buffer, localization, &scan->about, batch->taken.scans.map_frame, batch->sensor_frame);
  gst_ndt_localize_post_state (self, localization, &scan->about);
  if (batch->taken.scans.post_messages)
    gst_element_post_message (
        GST_ELEMENT (self), gst_ndt_estimate_message_new (GST_OBJECT (self), meta, localization,
                                &scan->about, &self->segment));

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
pose_running_time (const GstNdtLocalize *self, const GstNdtBatch *batch, const GstNdtItem *item)
{
  return running_time (
      self, pose_time (GST_BUFFER_CAST (item->object), batch->taken.scans.pose_time));
}

/* Waits for what the pose pads say of a scan. Upstream may be the thread that brings it. */
static gboolean
wait_for_poses (GstNdtLocalize *self, GstNdtBatch *batch, const GstNdtItem *item)
{
  const gint64 time = pose_running_time (self, batch, item);

  if (gst_pose_queue_reached (self->poses, time))
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
  const GstClockTime pts = GST_BUFFER_PTS (GST_BUFFER_CAST (item->object));
  const gint64 deadline = gst_pose_queue_get_deadline (
      self->poses, GST_ELEMENT (self), running_time (self, pts), timeout);
  gst_ndt_fifo_open (self->fifo, time + (gint64)gst_ndt_localize_get_reach (timeout));
  const gboolean ok = gst_pose_queue_wait (self->poses, time, timeout, deadline);
  gst_ndt_fifo_open (self->fifo, G_MININT64);
  GST_LOG_OBJECT (self, "waited %.3f ms for the poses of running time %" GST_STIME_FORMAT,
      1e-6 * (gdouble)(gst_util_get_timestamp () - begin), GST_STIME_ARGS (time));
  return ok;
}

/* Prepares the scan at @first and those that follow whose poses are known as well. Returns the item
 * that comes after. */
static guint
prepare_scans (GstNdtLocalize *self, GstNdtBatch *batch, guint first)
{
  const GstClockTime taken = gst_util_get_timestamp ();
  guint i;

  batch->n_scans = 0;
  for (i = first; i < batch->items->len; i++) {
    const GstNdtItem *item = item_at (batch, i);
    if (!GST_IS_BUFFER (item->object))
      continue;
    if (i > first && !gst_pose_queue_reached (self->poses, pose_running_time (self, batch, item)))
      break;
    gst_ndt_stats_time (self->stats, GST_NDT_TIME_WAIT, taken - item->arrival);
    prepare_scan (self, batch, item, taken);
  }
  gst_ndt_stats_batch (self->stats, batch->n_scans);
  GST_LOG_OBJECT (self, "batch of %u scans", batch->n_scans);
  return i;
}

/* As many of the scans as are aligned with one map. */
static GstFlowReturn
localize_some (GstNdtLocalize *self, GstNdtBatch *batch)
{
  const NdtObservation *observations = batch->observations + batch->first;
  const guint64 sequence = batch->scans[batch->first].about.sequence;
  g_autoptr (GError) error = NULL;
  guint n_done = 0;

  if (!gst_ndt_localize_follow (self, sequence, observations, batch->taken.is_live))
    return GST_FLOW_FLUSHING;
  const guint n =
      gst_ndt_localize_count_followed (self, sequence, observations, batch->n_scans - batch->first);
  const gboolean ok =
      gst_ndt_engine_process (self->engine, observations, n, push_scan, self, &n_done, &error);
  gst_ndt_engine_cancel (self->engine, GST_NDT_CANCEL_DOWNSTREAM, FALSE);
  batch->first += n_done;
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

  batch->first = 0;
  while (flow == GST_FLOW_OK && batch->first < batch->n_scans)
    flow = localize_some (self, batch);
  for (guint i = batch->first; i < batch->n_scans; i++)
    unmap_scan (&batch->scans[i]);
  return flow;
}

static GstFlowReturn
localize_batch (GstNdtLocalize *self, GstNdtBatch *batch)
{
  GstFlowReturn flow = GST_FLOW_OK;
  guint next = 0;

  take_changes (self, batch);
  gst_ndt_localize_tell_map (self);
  batch->cursor = 0;
  batch->flow = GST_FLOW_OK;
  while (flow == GST_FLOW_OK && next < batch->items->len) {
    if (!wait_for_poses (self, batch, item_at (batch, next))) {
      flow = GST_FLOW_FLUSHING;
    } else {
      next = prepare_scans (self, batch, next);
      flow = localize_scans (self, batch);
    }
  }
  if (batch->cursor < batch->items->len)
    GST_DEBUG_OBJECT (self, "%u scans and events dropped: %s", batch->items->len - batch->cursor,
        gst_flow_get_name (flow));
  for (; batch->cursor < batch->items->len; batch->cursor++) {
    GstMiniObject *object = item_at (batch, batch->cursor)->object;
    if (GST_IS_BUFFER (object))
      gst_ndt_stats_dropped (self->stats);
    gst_mini_object_unref (object);
  }
  return flow;
}

static void
handle_event (GstNdtLocalize *self, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    GstCaps *caps;
    gst_event_parse_caps (event, &caps);
    gst_point_cloud_info_from_caps (&self->info, caps, NULL); /* checked on the sink pad */
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT) {
    gst_event_copy_segment (event, &self->segment);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START) {
    self->has_told_map = FALSE;
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
