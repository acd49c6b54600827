/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-ndtlocalize
 * @title: ndtlocalize
 * @short_description: localizes lidar scans in a map by the normal distributions transform
 *
 * Takes point clouds and passes each on untouched, with a #GstPoseMeta of role "estimate": where
 * in the map the sensor was. The map is a file of points (PCD, PLY, LAS), or a folder of them, of
 * which map-radius keeps only what is near the vehicle in memory. A scan starts from, best first,
 * the initial pose if one was just set, a pose of role "prior" on its buffer, the last estimate
 * moved by the increment of poses of role "odometry", or the last estimate moved with constant
 * velocity. A scan that cannot be localized passes with a status that says so. Priors and odometry
 * may also come as streams of their own, on request pads.
 *
 * Scans wait in a queue of its own while others are aligned, and leave from another thread; what
 * waits may be aligned together (batch-size). Poses do not depend on batches, threads or timing.
 *
 * ## Example launch line
 * |[
 * ndt-map simulate town.pcd
 * gst-launch-1.0 lidartestsrc num-buffers=20 ! \
 *   ndtlocalize map-location=town.pcd initial-pose=0,0,1.8 ! trajectorysink location=poses.txt
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gst/common/gstrenamed.h"
#include "gstndtlocalizecontrol.h"
#include "gstndtlocalizereport.h"
#include "gstndtlocalizetask.h"

GST_DEBUG_CATEGORY (gst_ndt_localize_debug);
#define GST_CAT_DEFAULT gst_ndt_localize_debug

enum { PROP_ACTIVE_BACKEND = GST_NDT_PROP_ELEMENT, PROP_STATS, PROP_SUMMARY, PROP_RENAMED };

static const GstRenamedProperty renamed_properties[] = {
    {"map", G_TYPE_STRING, "is called “map-location” since 0.2"},
    {"deadline", G_TYPE_UINT64, "is called “max-lateness” since 0.2"},
    {"threads", G_TYPE_UINT, "is called “n-threads” since 0.2"},
    {"step-size", G_TYPE_DOUBLE, "is called “max-translation-step” since 0.2"},
    {"pose-timeout", G_TYPE_UINT64,
        "is two since 0.2: “max-pose-gap”, between poses that are interpolated, and "
        "“pose-latency”, "
        "which live scans wait for poses"},
    {"times-location", G_TYPE_STRING, "is a property of rawpointcloudparse since 0.2"},
};

static const GstPoseRole pose_roles[] = {GST_POSE_ROLE_PRIOR, GST_POSE_ROLE_ODOMETRY};

enum { SIGNAL_SET_INITIAL_POSE, SIGNAL_RESET, N_SIGNALS };
static guint signals[N_SIGNALS];

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE_WITH_CODE (GstNdtLocalize, gst_ndt_localize, GST_TYPE_ELEMENT,
    G_IMPLEMENT_INTERFACE (GST_TYPE_PRESET, NULL))
GST_ELEMENT_REGISTER_DEFINE_WITH_CODE (ndtlocalize, "ndtlocalize", GST_RANK_NONE,
    GST_TYPE_NDT_LOCALIZE,
    GST_DEBUG_CATEGORY_INIT (gst_ndt_localize_debug, "ndtlocalize", 0, "NDT localization"))

static GstFlowReturn
gst_ndt_localize_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  GstNdtLocalize *self = GST_NDT_LOCALIZE (parent);

  if (!self->negotiated) {
    GST_ELEMENT_ERROR (self, CORE, NEGOTIATION,
        ("Scans came without usable caps: say what they hold, for example with "
         "caps=pointcloud/x-raw,format=XYZI_F32LE,framerate=10/1 at the source."),
        (NULL));
    gst_buffer_unref (buffer);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  const GstClockTime pts = GST_BUFFER_PTS (buffer);
  if (!GST_CLOCK_TIME_IS_VALID (pts)) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT,
        ("A scan has no time stamp: put rawpointcloudparse between the source and this element."),
        (NULL));
    gst_buffer_unref (buffer);
    return GST_FLOW_ERROR;
  }
  if (!self->checked && gst_buffer_get_size (buffer) > 0) {
    g_autoptr (GError) error = NULL;
    self->checked = TRUE;
    if (!gst_point_cloud_buffer_check (buffer, &self->sink_info, &error)) {
      GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("%s.", error->message), (NULL));
      gst_buffer_unref (buffer);
      return GST_FLOW_ERROR;
    }
  }
  const gboolean backwards = GST_CLOCK_TIME_IS_VALID (self->last_pts) && pts < self->last_pts;
  self->last_pts = pts;
  const gint64 time = gst_pose_queue_running_time (&self->sink_segment, pts);
  if (time != GST_POSE_QUEUE_NO_TIME)
    gst_pose_queue_scan (self->poses, time);
  GST_OBJECT_LOCK (self);
  const gboolean live = self->is_live;
  GST_OBJECT_UNLOCK (self);
  const GstNdtPlace place =
      gst_ndt_playback_scan (&self->playback, &self->sink_segment, buffer, live);
  GstNdtAhead *ahead = gst_ndt_ahead_open (self->sink_times, &self->sink_info, buffer);
  const GstFlowReturn flow = gst_ndt_fifo_put_buffer (self->fifo, buffer, ahead, time, place);
  if (flow == GST_FLOW_OK && backwards)
    gst_ndt_stats_backwards (self->stats);
  return flow;
}

static gboolean
set_caps (GstNdtLocalize *self, GstEvent *event)
{
  GstPointCloudInfo info;
  GstCaps *caps;
  g_autoptr (GError) error = NULL;

  gst_event_parse_caps (event, &caps);
  self->negotiated = gst_point_cloud_info_from_caps (&info, caps, &error) &&
                     gst_point_cloud_info_has_xyz (&info, &error);
  if (!self->negotiated) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("These scans cannot be aligned: %s.", error->message),
        ("caps %" GST_PTR_FORMAT, caps));
    return FALSE;
  }
  GST_INFO_OBJECT (self, "caps %" GST_PTR_FORMAT, caps);
  self->sink_info = info;
  gst_point_times_set_info (self->sink_times, &info);
  self->checked = FALSE;

  const GstClockTime duration = info.fps_n > 0
                                    ? gst_util_uint64_scale (GST_SECOND, info.fps_d, info.fps_n)
                                    : GST_CLOCK_TIME_NONE;
  GST_OBJECT_LOCK (self);
  const gboolean changed = self->scan_duration != duration;
  self->scan_duration = duration;
  GST_OBJECT_UNLOCK (self);
  if (changed)
    gst_ndt_localize_post_latency (self);
  return TRUE;
}

/* A queue that has stopped refuses an event with the flow of buffers, not with FALSE: GStreamer
 * pushes a refused sticky event again before the next buffer and returns the result as that
 * buffer's flow, and combiners (a funnel, a tee) tolerate NOT_LINKED and FLUSHING but no ERROR.
 * After EOS no buffer follows that could return the flow, so the element posts the error itself. */
static GstFlowReturn
queue_event (GstNdtLocalize *self, GstEvent *event)
{
  const gboolean eos = GST_EVENT_TYPE (event) == GST_EVENT_EOS;
  const GstFlowReturn flow = gst_ndt_fifo_put_event (self->fifo, event);

  if (eos && (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS))
    GST_ELEMENT_FLOW_ERROR (self, flow);
  return flow;
}

static void
cancel (GstNdtLocalize *self, gboolean on)
{
  /* Under the lock: a flush may come from a thread that nobody waits for when closing. */
  GST_OBJECT_LOCK (self);
  if (self->engine)
    gst_ndt_engine_cancel (self->engine, GST_NDT_CANCEL_FLUSH, on);
  GST_OBJECT_UNLOCK (self);
}

/* Everybody who waits leaves. */
static void
begin_flushing (GstNdtLocalize *self)
{
  gst_ndt_fifo_flush (self->fifo);
  gst_ndt_map_loader_set_flushing (self->loader, TRUE);
  gst_pose_queue_flush (self->poses);
}

static void
end_flushing (GstNdtLocalize *self)
{
  gst_pose_queue_start (self->poses);
  gst_ndt_map_loader_set_flushing (self->loader, FALSE);
  gst_ndt_fifo_start (self->fifo);
}

static gboolean
flush_start (GstNdtLocalize *self, GstEvent *event)
{
  GST_DEBUG_OBJECT (self, "flush begins");
  /* Downstream first: the task may be blocked in a push. */
  const gboolean ret = gst_pad_push_event (self->srcpad, event);
  begin_flushing (self);
  cancel (self, TRUE);
  gst_pad_pause_task (self->srcpad);
  gst_ndt_fifo_clear (self->fifo, self->srcpad);
  return ret;
}

static gboolean
flush_stop (GstNdtLocalize *self, GstEvent *event)
{
  gboolean reset_time;
  gst_event_parse_flush_stop (event, &reset_time);
  GST_DEBUG_OBJECT (self, "flush ends, time %s", reset_time ? "begins anew" : "goes on");

  const gboolean ret = gst_pad_push_event (self->srcpad, event);
  cancel (self, FALSE);
  gst_segment_init (&self->sink_segment, GST_FORMAT_UNDEFINED);
  self->last_pts = GST_CLOCK_TIME_NONE;
  /* The task may not have come to the caps. What is the task's is changed under the lock that it
   * holds while it runs; one that was not paused comes to them by itself. */
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (self->sinkpad);
  if (caps && self->negotiated && gst_pad_get_task_state (self->srcpad) != GST_TASK_STARTED) {
    GST_PAD_STREAM_LOCK (self->srcpad);
    gst_ndt_localize_set_task_caps (self, caps);
    GST_PAD_STREAM_UNLOCK (self->srcpad);
  }
  gst_ndt_playback_flush (&self->playback, reset_time);
  if (GST_PAD_MODE (self->srcpad) == GST_PAD_MODE_PUSH) {
    end_flushing (self);
    gst_pad_start_task (self->srcpad, gst_ndt_localize_task, self, NULL);
  }
  return ret;
}

static GstFlowReturn
gst_ndt_localize_sink_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstNdtLocalize *self = GST_NDT_LOCALIZE (parent);

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_FLUSH_START:
    return flush_start (self, event) ? GST_FLOW_OK : GST_FLOW_ERROR;
  case GST_EVENT_FLUSH_STOP:
    return flush_stop (self, event) ? GST_FLOW_OK : GST_FLOW_ERROR;
  case GST_EVENT_CAPS:
    if (!set_caps (self, event)) {
      gst_event_unref (event);
      return GST_FLOW_NOT_NEGOTIATED;
    }
    break;
  case GST_EVENT_STREAM_START:
    gst_ndt_playback_stream_start (&self->playback, event);
    break;
  case GST_EVENT_SEGMENT:
    if (!gst_point_cloud_require_time_segment (GST_ELEMENT (self), event)) {
      gst_event_unref (event);
      return GST_FLOW_ERROR;
    }
    gst_event_copy_segment (event, &self->sink_segment);
    self->last_pts = GST_CLOCK_TIME_NONE;
    gst_ndt_playback_segment (&self->playback, &self->sink_segment);
    GST_INFO_OBJECT (self, "segment %" GST_SEGMENT_FORMAT, &self->sink_segment);
    break;
  case GST_EVENT_EOS:
    gst_pose_queue_scan (self->poses, G_MAXINT64);
    break;
  default:
    break;
  }
  if (GST_EVENT_IS_SERIALIZED (event))
    return queue_event (self, event);
  return gst_pad_event_default (pad, parent, event) ? GST_FLOW_OK : GST_FLOW_ERROR;
}

static gboolean
gst_ndt_localize_sink_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  GstNdtLocalize *self = GST_NDT_LOCALIZE (parent);

  if (GST_QUERY_IS_SERIALIZED (query))
    return gst_ndt_fifo_run_query (self->fifo, query);
  return gst_pad_query_default (pad, parent, query);
}

static gboolean
gst_ndt_localize_src_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstNdtLocalize *self = GST_NDT_LOCALIZE (parent);
  GstClockTime latency;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_QOS:
    gst_ndt_stats_qos (self->stats);
    break;
  case GST_EVENT_CUSTOM_UPSTREAM:
    if (gst_ndt_localize_request_pose (self, event)) {
      gst_event_unref (event);
      return TRUE;
    }
    break;
  case GST_EVENT_SEEK:
    return gst_pose_queue_pads_seek (GST_ELEMENT (self), self->poses, event);
  case GST_EVENT_RECONFIGURE:
    gst_ndt_fifo_resume (self->fifo);
    break;
  case GST_EVENT_LATENCY:
    gst_event_parse_latency (event, &latency);
    GST_OBJECT_LOCK (self);
    self->pipeline_latency = latency;
    GST_OBJECT_UNLOCK (self);
    GST_DEBUG_OBJECT (self, "the pipeline's latency is %" GST_TIME_FORMAT, GST_TIME_ARGS (latency));
    break;
  default:
    break;
  }
  return gst_pad_event_default (pad, parent, event);
}

/* What waits in the queue adds to what a sink may see late at most; what a scan waits for, a batch
 * or live poses, and what an alignment takes, to what it sees late at least. */
static gboolean
query_latency (GstNdtLocalize *self, GstQuery *query)
{
  gboolean live;
  GstClockTime min, max;

  if (!gst_ndt_localize_query_upstream (self, query))
    return FALSE;
  gst_query_parse_latency (query, &live, &min, &max);
  const gboolean waits = live && gst_pose_queue_has_streams (self->poses);

  GST_OBJECT_LOCK (self);
  min += gst_ndt_localize_get_own_latency (self);
  if (waits)
    min += self->settings.pose_latency;
  if (!GST_CLOCK_TIME_IS_VALID (max) || !GST_CLOCK_TIME_IS_VALID (self->scan_duration))
    max = GST_CLOCK_TIME_NONE;
  else
    max += gst_ndt_fifo_get_capacity (self->settings.batch_size) * self->scan_duration +
           (waits ? gst_ndt_localize_get_reach (self->settings.pose_latency) : 0);
  GST_OBJECT_UNLOCK (self);

  GST_DEBUG_OBJECT (self,
      "latency: live %d, minimum %" GST_TIME_FORMAT ", maximum %" GST_TIME_FORMAT, live,
      GST_TIME_ARGS (min), GST_TIME_ARGS (max));
  gst_query_set_latency (query, live, min, max);
  return TRUE;
}

static gboolean
gst_ndt_localize_src_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  if (GST_QUERY_TYPE (query) == GST_QUERY_LATENCY)
    return query_latency (GST_NDT_LOCALIZE (parent), query);
  return gst_pad_query_default (pad, parent, query);
}

static gboolean
gst_ndt_localize_sink_activate_mode (
    GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  GstNdtLocalize *self = GST_NDT_LOCALIZE (parent);

  if (mode != GST_PAD_MODE_PUSH)
    return FALSE;
  if (!active)
    begin_flushing (self);
  return TRUE;
}

static gboolean
gst_ndt_localize_src_activate_mode (
    GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  GstNdtLocalize *self = GST_NDT_LOCALIZE (parent);

  if (mode != GST_PAD_MODE_PUSH)
    return FALSE;
  if (active) {
    cancel (self, FALSE);
    end_flushing (self);
    return gst_pad_start_task (pad, gst_ndt_localize_task, self, NULL);
  }
  begin_flushing (self);
  cancel (self, TRUE);
  const gboolean stopped = gst_pad_stop_task (pad);
  gst_ndt_fifo_clear (self->fifo, NULL);
  return stopped;
}

static GstPad *
gst_ndt_localize_request_new_pad (
    GstElement *element, GstPadTemplate *template, const gchar *name, const GstCaps *caps)
{
  return gst_pose_queue_pad_request (element, GST_NDT_LOCALIZE (element)->poses, template, name);
}

static GstStateChangeReturn
gst_ndt_localize_change_state (GstElement *element, GstStateChange transition)
{
  GstNdtLocalize *self = GST_NDT_LOCALIZE (element);

  if (transition == GST_STATE_CHANGE_NULL_TO_READY && !gst_ndt_localize_open (self))
    return GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) {
    gst_ndt_localize_reset_task (self);
    gst_ndt_playback_reset (&self->playback);
    self->negotiated = FALSE;
    if (!gst_ndt_localize_start (self))
      return GST_STATE_CHANGE_FAILURE;
  }

  const GstStateChangeReturn ret =
      GST_ELEMENT_CLASS (gst_ndt_localize_parent_class)->change_state (element, transition);

  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    gst_ndt_localize_stop (self);
  } else if (transition == GST_STATE_CHANGE_READY_TO_NULL) {
    gst_ndt_localize_close (self);
  } else if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && ret == GST_STATE_CHANGE_FAILURE) {
    /* Nobody comes back for it: pads that were activated before one failed are still active. */
    gst_pad_set_active (self->srcpad, FALSE);
    gst_pad_set_active (self->sinkpad, FALSE);
    gst_ndt_localize_stop (self);
  }
  return ret;
}

static void
gst_ndt_localize_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  if (!gst_ndt_localize_set_setting (GST_NDT_LOCALIZE (object), id, value, pspec))
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

/* With the object lock held. */
static GstStructure *
get_stats (GstNdtLocalize *self)
{
  NdtBackendCounters counters;
  guint64 n_pinned = 0, n_plain = 0, n_poses, n_missing;

  if (self->engine)
    gst_ndt_engine_get_counters (self->engine, &counters);
  if (self->allocator)
    gst_ndt_allocator_get_counts (self->allocator, &n_pinned, &n_plain);
  GstStructure *stats = gst_ndt_stats_to_structure (self->stats, self->engine ? &counters : NULL);
  gst_pose_queue_get_counts (self->poses, &n_poses, &n_missing);
  gst_structure_set (stats, "pinned-memories", G_TYPE_UINT64, n_pinned, "plain-memories",
      G_TYPE_UINT64, n_plain, "poses", G_TYPE_UINT64, n_poses, "poses-missing", G_TYPE_UINT64,
      n_missing, "cut", G_TYPE_UINT64, gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)),
      NULL);
  if (self->engine)
    gst_structure_set (stats, "search-backend", G_TYPE_STRING,
        gst_ndt_engine_get_search_name (self->engine), NULL);
  return stats;
}

static void
gst_ndt_localize_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstNdtLocalize *self = GST_NDT_LOCALIZE (object);
  gboolean known = TRUE;

  GST_OBJECT_LOCK (self);
  GstNdtEngine *engine = self->engine;
  switch (id) {
  case PROP_ACTIVE_BACKEND:
    g_value_set_string (value, engine ? gst_ndt_engine_get_name (engine) : NULL);
    break;
  case PROP_STATS:
    g_value_take_boxed (value, get_stats (self));
    break;
  case PROP_SUMMARY: {
    GstNdtSummary summary;
    gst_ndt_stats_get_summary (self->stats, &summary);
    g_value_take_string (value, gst_ndt_summary_to_string (&summary));
    break;
  }
  default:
    known = gst_ndt_settings_get_property (&self->settings, id, value);
    break;
  }
  GST_OBJECT_UNLOCK (self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
gst_ndt_localize_finalize (GObject *object)
{
  GstNdtLocalize *self = GST_NDT_LOCALIZE (object);

  gst_ndt_map_loader_free (self->loader);
  gst_ndt_batch_free (self->batch);
  gst_pose_queue_free (self->poses);
  gst_point_times_free (self->times);
  gst_point_times_free (self->sink_times);
  gst_ndt_compensation_clear (&self->compensation);
  gst_ndt_fifo_free (self->fifo);
  gst_ndt_playback_reset (&self->playback);
  gst_ndt_stats_free (self->stats);
  gst_ndt_settings_clear (&self->settings);
  g_free (self->map);
  g_free (self->used_map);
  g_free (self->sparse_map);
  g_clear_pointer (&self->digest, gst_ndt_digest_free);
  G_OBJECT_CLASS (gst_ndt_localize_parent_class)->finalize (object);
}

static const GstNdtMapCallbacks map_callbacks = {
    gst_ndt_localize_wants_map, gst_ndt_localize_map_loaded, gst_ndt_localize_map_progress};

static void
gst_ndt_localize_init (GstNdtLocalize *self)
{
  self->stats = gst_ndt_stats_new ();
  self->fifo = gst_ndt_fifo_new (self->stats);
  self->poses = gst_pose_queue_new (pose_roles, G_N_ELEMENTS (pose_roles));
  gst_segment_init (&self->sink_segment, GST_FORMAT_UNDEFINED);
  self->last_pts = GST_CLOCK_TIME_NONE;
  self->times = gst_point_times_new (GST_ELEMENT (self));
  self->sink_times = gst_point_times_new (GST_ELEMENT (self));
  self->loader = gst_ndt_map_loader_new (&map_callbacks, &self->log, self);
  self->batch = gst_ndt_batch_new ();
  self->scan_duration = GST_CLOCK_TIME_NONE;
  gst_ndt_settings_init (&self->settings);
  gst_ndt_localize_init_log (self);
  gst_ndt_fifo_set_limits (self->fifo, self->settings.batch_size, self->settings.batch_timeout);
  gst_ndt_localize_reset_task (self);

  self->sinkpad = gst_pad_new_from_static_template (&sink_template, "sink");
  gst_pad_set_chain_function (self->sinkpad, gst_ndt_localize_chain);
  gst_pad_set_event_full_function (self->sinkpad, gst_ndt_localize_sink_event);
  gst_pad_set_query_function (self->sinkpad, gst_ndt_localize_sink_query);
  gst_pad_set_activatemode_function (self->sinkpad, gst_ndt_localize_sink_activate_mode);
  gst_pad_set_iterate_internal_links_function (self->sinkpad, gst_pose_queue_pad_iterate_scans);
  GST_PAD_SET_PROXY_CAPS (self->sinkpad);
  /* Whether caps will do is said by set_caps(), with a reason. */
  GST_PAD_SET_ACCEPT_INTERSECT (self->sinkpad);
  gst_element_add_pad (GST_ELEMENT (self), self->sinkpad);

  self->srcpad = gst_pad_new_from_static_template (&src_template, "src");
  gst_pad_set_event_function (self->srcpad, gst_ndt_localize_src_event);
  gst_pad_set_query_function (self->srcpad, gst_ndt_localize_src_query);
  gst_pad_set_activatemode_function (self->srcpad, gst_ndt_localize_src_activate_mode);
  gst_pad_set_iterate_internal_links_function (self->srcpad, gst_pose_queue_pad_iterate_scans);
  GST_PAD_SET_PROXY_CAPS (self->srcpad);
  gst_element_add_pad (GST_ELEMENT (self), self->srcpad);
}

static void
install_signals (GObjectClass *klass)
{
  /**
   * GstNdtLocalize::set-initial-pose:
   * @pose: as the property initial-pose takes it
   *
   * The next scan starts from this pose, from far, whatever the state.
   *
   * Returns: FALSE when @pose cannot be read or the element is not at least PAUSED
   */
  signals[SIGNAL_SET_INITIAL_POSE] =
      g_signal_new_class_handler ("set-initial-pose", G_OBJECT_CLASS_TYPE (klass),
          G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION, G_CALLBACK (gst_ndt_localize_set_initial_pose), NULL,
          NULL, NULL, G_TYPE_BOOLEAN, 1, G_TYPE_STRING);
  /**
   * GstNdtLocalize::reset:
   *
   * The next scan is localized as the first after the start: what was tracked is forgotten,
   * initial-pose applies.
   */
  signals[SIGNAL_RESET] = g_signal_new_class_handler ("reset", G_OBJECT_CLASS_TYPE (klass),
      G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION, G_CALLBACK (gst_ndt_localize_reset), NULL, NULL, NULL,
      G_TYPE_NONE, 0);
}

static void
gst_ndt_localize_class_init (GstNdtLocalizeClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  object_class->set_property = gst_ndt_localize_set_property;
  object_class->get_property = gst_ndt_localize_get_property;
  object_class->finalize = gst_ndt_localize_finalize;
  element_class->change_state = GST_DEBUG_FUNCPTR (gst_ndt_localize_change_state);
  element_class->request_new_pad = GST_DEBUG_FUNCPTR (gst_ndt_localize_request_new_pad);
  element_class->release_pad = GST_DEBUG_FUNCPTR (gst_pose_queue_pad_release);

  gst_ndt_settings_install_properties (object_class);
  /**
   * GstNdtLocalize:active-backend:
   *
   * "cpu" or "cuda"; %NULL in state NULL. Notified when it changes.
   */
  g_object_class_install_property (object_class, PROP_ACTIVE_BACKEND,
      g_param_spec_string ("active-backend", "Active Backend",
          "What aligns now: \"cpu\" or \"cuda\" (unset in state NULL)", NULL,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Counts since the element left READY; times in nanoseconds", GST_TYPE_STRUCTURE,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  /**
   * GstNdtLocalize:summary:
   *
   * Notified at the end of the stream, so that gst-launch-1.0 -v prints it.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_SUMMARY,
      g_param_spec_string ("summary", "Summary",
          "What became of the scans since the element left READY, as name=value words", NULL,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  install_signals (object_class);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_pose_queue_pad_class_init (element_class);
  gst_element_class_set_static_metadata (element_class, "NDT localizer",
      "Filter/Analyzer/PointCloud",
      "Localizes lidar scans in a map by the normal distributions transform",
      "The gst-ndt developers");
  gst_renamed_properties_install (
      object_class, PROP_RENAMED, renamed_properties, G_N_ELEMENTS (renamed_properties));
}
