/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-pointcloudmerge
 * @title: pointcloudmerge
 * @short_description: merges the scans of several lidars on one body
 *
 * One sensor leads: each of its scans makes one cloud, with its time stamp, that has the scans of
 * the other sensors which ended since its scan before as well. Points come into the body's frame
 * (the pads' sensor-pose) and, where poses tell how the body moved, to the end of the leader's
 * scan. A sensor that sends nothing is left out with a warning; where it is the leader, clouds go
 * on at its pace.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidartestsrc sensor-pose=1,0.5,0 num-buffers=5 ! m. \
 *     lidartestsrc sensor-pose=-1,-0.5,0 start-time=50000000 num-buffers=5 ! m. \
 *     pointcloudmerge name=m sink_0::sensor-pose=1,0.5,0 sink_1::sensor-pose=-1,-0.5,0 ! fakesink
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstpointcloudmerge.h"

#include <string.h>

#include "gstpointcloudmergeprivate.h"

GST_DEBUG_CATEGORY (gst_point_cloud_merge_debug);
#define GST_CAT_DEFAULT gst_point_cloud_merge_debug

enum {
  PROP_0,
  PROP_LEADER,
  PROP_SCAN_LATENCY,
  PROP_COMPENSATE,
  PROP_ROLE,
  PROP_MAX_POSE_GAP,
  PROP_FRAME_ID,
  PROP_STATS
};

#define DEFAULT_SCAN_LATENCY (50 * GST_MSECOND)
#define DEFAULT_MAX_POSE_GAP (2 * GST_SECOND)
#define DEFAULT_FRAME_ID "base_link"
static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink_%u", GST_PAD_SINK,
    GST_PAD_REQUEST, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate pose_template = GST_STATIC_PAD_TEMPLATE (
    "pose_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS (GST_POSE_CAPS_NAME));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

static void child_proxy_init (gpointer iface, gpointer data);

G_DEFINE_TYPE_WITH_CODE (GstPointCloudMerge, gst_point_cloud_merge, GST_TYPE_AGGREGATOR,
    G_IMPLEMENT_INTERFACE (GST_TYPE_CHILD_PROXY, child_proxy_init))
GST_ELEMENT_REGISTER_DEFINE (
    pointcloudmerge, "pointcloudmerge", GST_RANK_NONE, GST_TYPE_POINT_CLOUD_MERGE)

static void
reset (GstPointCloudMerge *self)
{
  g_autoptr (GstCloudMergePads) pads = gst_cloud_merge_list_pads (self);

  for (GList *l = pads; l; l = l->next)
    gst_cloud_merge_pad_reset (l->data);
  self->has_tick = FALSE;
  self->has_failed = FALSE;
}

/* GstAggregator flushes in the thread of a sink pad and, where pads come and go meanwhile, does not
 * wait for the source pad's task: what is the task's is forgotten by it, before its next step. */
static void
take_flush (GstPointCloudMerge *self)
{
  if (g_atomic_int_compare_and_exchange (&self->is_flushed, TRUE, FALSE))
    reset (self);
}

static GstFlowReturn
gst_point_cloud_merge_aggregate (GstAggregator *aggregator, gboolean timeout)
{
  GstPointCloudMerge *self = GST_POINT_CLOUD_MERGE (aggregator);
  g_autoptr (GstCloudMergePads) pads = gst_cloud_merge_list_pads (self);
  GstCloudMergePad *leader = gst_cloud_merge_find_leader (self, pads);
  gboolean with_leader;
  GstCloudSpan tick;

  take_flush (self);
  const GstFlowReturn flow =
      gst_cloud_merge_choose_tick (self, pads, leader, timeout, &tick, &with_leader);
  if (flow != GST_FLOW_OK)
    return self->has_failed ? GST_FLOW_ERROR : flow;
  const gboolean is_complete = gst_cloud_merge_gather (self, pads, leader, &tick);
  if (self->has_failed)
    return GST_FLOW_ERROR;
  if (!is_complete && !timeout)
    return GST_AGGREGATOR_FLOW_NEED_DATA;
  if (with_leader)
    gst_cloud_merge_take_leader (self, leader);
  return gst_cloud_merge_push (self, pads, leader, &tick, with_leader);
}

static GstClockTime
gst_point_cloud_merge_get_next_time (GstAggregator *aggregator)
{
  take_flush (GST_POINT_CLOUD_MERGE (aggregator));
  return gst_cloud_merge_get_next_time (GST_POINT_CLOUD_MERGE (aggregator));
}

/* ---- Caps, segments, pads ---- */

/* That of the leader, or of who comes first. */
static void
choose_layout (GstPointCloudMerge *self, GstCloudMergePad *pad)
{
  g_autoptr (GstCloudMergePads) pads = gst_cloud_merge_list_pads (self);
  const GstCloudMergePad *leader = gst_cloud_merge_find_leader (self, pads);
  GstCloudLayout layout = {.info = pad->info};

  if (self->has_layout && pad != leader)
    return;
  layout.info.width = layout.info.height = 0;
  if (!self->has_layout || !gst_point_cloud_info_is_equal (&layout.info, &self->layout.info))
    for (GList *l = pads; l; l = l->next)
      g_clear_pointer (&GST_CLOUD_MERGE_PAD (l->data)->copy, gst_cloud_copy_free);
  self->layout = layout;
  self->has_layout = TRUE;
  gst_pad_mark_reconfigure (GST_AGGREGATOR_SRC_PAD (self));
}

static gboolean
take_caps (GstPointCloudMerge *self, GstCloudMergePad *pad, GstEvent *event)
{
  g_autoptr (GError) error = NULL;
  GstCaps *caps;

  if (pad->is_pose)
    return TRUE;
  gst_event_parse_caps (event, &caps);
  if (pad->scans->len > 0) {
    GST_OBJECT_LOCK (self);
    self->n_bad += pad->scans->len;
    GST_OBJECT_UNLOCK (self);
    GST_ELEMENT_WARNING (self, STREAM, DECODE,
        ("The caps of %s change within a cloud: %u scans before the change are left out.",
            GST_OBJECT_NAME (pad), pad->scans->len),
        (NULL));
  }
  if (!gst_cloud_merge_pad_set_caps (pad, GST_ELEMENT (self), caps, &error)) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT,
        ("The caps of %s describe no points: %s.", GST_OBJECT_NAME (pad), error->message), (NULL));
    return FALSE;
  }
  choose_layout (self, pad);
  if (!pad->is_compensated && !gst_cloud_join_find_time (&pad->info))
    GST_ELEMENT_WARNING (self, STREAM, FORMAT,
        ("The points of %s have none of the fields " GST_POINT_TIMES_FIELDS
         ": a scan is taken for one of its time stamp.",
            GST_OBJECT_NAME (pad)),
        (NULL));
  return TRUE;
}

/* A gap becomes the buffer that GstAggregator makes of it, here, in the thread of its pad:
 * GstAggregator does so in its own thread, by a segment that a flush may have reset meanwhile. A
 * gap without a segment of times, where another was refused, is dropped. */
static gboolean
take_gap (GstAggregatorPad *pad, GstEvent *gap)
{
  g_autoptr (GstEvent) event = gst_pad_get_sticky_event (GST_PAD (pad), GST_EVENT_SEGMENT, 0);
  const GstSegment *segment;
  GstClockTime begin, end, duration;

  if (!event)
    return TRUE;
  gst_event_parse_segment (event, &segment);
  gst_event_parse_gap (gap, &begin, &duration);
  end = duration < GST_CLOCK_TIME_NONE - begin ? begin + duration : GST_CLOCK_TIME_NONE;
  if (segment->format != GST_FORMAT_TIME ||
      !gst_segment_clip (segment, GST_FORMAT_TIME, begin, end, &begin, &end))
    return TRUE;
  GstBuffer *buffer = gst_buffer_new ();
  GST_BUFFER_PTS (buffer) = begin;
  if (GST_CLOCK_TIME_IS_VALID (begin) && GST_CLOCK_TIME_IS_VALID (end))
    GST_BUFFER_DURATION (buffer) = end - begin;
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_DROPPABLE);
  return gst_pad_chain (GST_PAD (pad), buffer) == GST_FLOW_OK;
}

static GstFlowReturn
gst_point_cloud_merge_sink_event_pre_queue (
    GstAggregator *aggregator, GstAggregatorPad *pad, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) != GST_EVENT_GAP)
    return GST_AGGREGATOR_CLASS (gst_point_cloud_merge_parent_class)
        ->sink_event_pre_queue (aggregator, pad, event);
  const gboolean done = take_gap (pad, event);
  gst_event_unref (event);
  return done ? GST_FLOW_OK : GST_FLOW_ERROR;
}

static gboolean
gst_point_cloud_merge_sink_event (GstAggregator *aggregator, GstAggregatorPad *pad, GstEvent *event)
{
  GstPointCloudMerge *self = GST_POINT_CLOUD_MERGE (aggregator);

  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    take_flush (self);
    const gboolean done = take_caps (self, GST_CLOUD_MERGE_PAD (pad), event);
    gst_event_unref (event);
    return done;
  }
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT) {
    g_autoptr (GstCloudMergePads) pads = gst_cloud_merge_list_pads (self);
    const GstSegment *segment;

    if (!gst_point_cloud_require_time_segment (GST_ELEMENT (self), event)) {
      gst_event_unref (event);
      return FALSE;
    }
    gst_event_parse_segment (event, &segment);
    if (GST_CLOUD_MERGE_PAD (pad) == gst_cloud_merge_find_leader (self, pads))
      gst_aggregator_update_segment (aggregator, segment);
  }
  return GST_AGGREGATOR_CLASS (gst_point_cloud_merge_parent_class)
      ->sink_event (aggregator, pad, event);
}

static GstFlowReturn
gst_point_cloud_merge_update_src_caps (GstAggregator *aggregator, GstCaps *caps, GstCaps **out)
{
  GstPointCloudMerge *self = GST_POINT_CLOUD_MERGE (aggregator);

  if (!self->has_layout)
    return GST_AGGREGATOR_FLOW_NEED_DATA;
  *out = gst_cloud_merge_make_caps (self);
  return GST_FLOW_OK;
}

static GstFlowReturn
gst_point_cloud_merge_flush (GstAggregator *aggregator)
{
  g_atomic_int_set (&GST_POINT_CLOUD_MERGE (aggregator)->is_flushed, TRUE);
  return GST_FLOW_OK;
}

static gboolean
gst_point_cloud_merge_start (GstAggregator *aggregator)
{
  GstPointCloudMerge *self = GST_POINT_CLOUD_MERGE (aggregator);

  GST_OBJECT_LOCK (self);
  self->n_clouds = self->n_leaderless = self->n_compensated = self->n_points_left = self->n_bad = 0;
  GST_OBJECT_UNLOCK (self);
  self->has_layout = self->is_compensated = FALSE;
  g_atomic_int_set (&self->is_flushed, FALSE);
  reset (self);
  g_autoptr (GstCloudMergePads) pads = gst_cloud_merge_list_pads (self);
  if (!pads || gst_cloud_merge_find_leader (self, pads))
    return TRUE;
  GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
      ("There is no pad for clouds of the name in “leader”: set it to one such as sink_0."),
      (NULL));
  return FALSE;
}

static GstAggregatorPad *
gst_point_cloud_merge_create_new_pad (
    GstAggregator *aggregator, GstPadTemplate *template, const gchar *name, const GstCaps *caps)
{
  const gchar *pattern = GST_PAD_TEMPLATE_NAME_TEMPLATE (template);
  const gboolean is_pose = g_str_has_prefix (pattern, "pose_");
  g_autofree gchar *own = NULL;

  if (!name || strchr (name, '%')) {
    for (guint i = 0; !own; i++) {
      g_autofree gchar *candidate = g_strdup_printf (is_pose ? "pose_%u" : "sink_%u", i);
      GstPad *pad = gst_element_get_static_pad (GST_ELEMENT (aggregator), candidate);
      if (pad)
        gst_object_unref (pad);
      else
        own = g_steal_pointer (&candidate);
    }
    name = own;
  }
  GstCloudMergePad *pad = g_object_new (GST_TYPE_CLOUD_MERGE_PAD, "name", name, "direction",
      GST_PAD_SINK, "template", template, NULL);
  pad->is_pose = is_pose;
  return GST_AGGREGATOR_PAD (pad);
}

static GstPad *
gst_point_cloud_merge_request_new_pad (
    GstElement *element, GstPadTemplate *template, const gchar *name, const GstCaps *caps)
{
  GstPad *pad = GST_ELEMENT_CLASS (gst_point_cloud_merge_parent_class)
                    ->request_new_pad (element, template, name, caps);

  if (pad)
    gst_child_proxy_child_added (GST_CHILD_PROXY (element), G_OBJECT (pad), GST_OBJECT_NAME (pad));
  return pad;
}

static void
gst_point_cloud_merge_release_pad (GstElement *element, GstPad *pad)
{
  gst_child_proxy_child_removed (GST_CHILD_PROXY (element), G_OBJECT (pad), GST_OBJECT_NAME (pad));
  GST_ELEMENT_CLASS (gst_point_cloud_merge_parent_class)->release_pad (element, pad);
}

static GObject *
get_child_by_index (GstChildProxy *proxy, guint index)
{
  GST_OBJECT_LOCK (proxy);
  GObject *child = g_list_nth_data (GST_ELEMENT (proxy)->sinkpads, index);
  if (child)
    gst_object_ref (child);
  GST_OBJECT_UNLOCK (proxy);
  return child;
}

static guint
get_children_count (GstChildProxy *proxy)
{
  GST_OBJECT_LOCK (proxy);
  const guint n = GST_ELEMENT (proxy)->numsinkpads;
  GST_OBJECT_UNLOCK (proxy);
  return n;
}

static void
child_proxy_init (gpointer iface, gpointer data)
{
  GstChildProxyInterface *proxy = iface;

  proxy->get_child_by_index = get_child_by_index;
  proxy->get_children_count = get_children_count;
}

/* ---- Properties ---- */

static GstStructure *
make_stats (GstPointCloudMerge *self)
{
  g_autoptr (GstCloudMergePads) pads = gst_cloud_merge_list_pads (self);
  guint64 n_late = 0, n_losses = 0;
  GstStructure *stats;

  GST_OBJECT_LOCK (self);
  stats = gst_structure_new ("application/x-pointcloudmerge-stats", "clouds", G_TYPE_UINT64,
      self->n_clouds, "without-leader", G_TYPE_UINT64, self->n_leaderless, "compensated",
      G_TYPE_UINT64, self->n_compensated, "points-left", G_TYPE_UINT64, self->n_points_left, "bad",
      G_TYPE_UINT64, self->n_bad, NULL);
  GST_OBJECT_UNLOCK (self);
  for (GList *l = pads; l; l = l->next) {
    GstCloudMergePad *pad = l->data;

    if (pad->is_pose)
      continue;
    GST_OBJECT_LOCK (pad);
    g_autoptr (GstStructure) own = gst_structure_new ("pad", "scans", G_TYPE_UINT64, pad->n_scans,
        "late", G_TYPE_UINT64, pad->n_late, "losses", G_TYPE_UINT64, pad->n_losses, "lost",
        G_TYPE_BOOLEAN, pad->is_lost, NULL);
    n_late += pad->n_late;
    n_losses += pad->n_losses;
    GST_OBJECT_UNLOCK (pad);
    gst_structure_set (stats, GST_OBJECT_NAME (pad), GST_TYPE_STRUCTURE, own, NULL);
  }
  gst_structure_set (stats, "late", G_TYPE_UINT64, n_late, "losses", G_TYPE_UINT64, n_losses, "cut",
      G_TYPE_UINT64, gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)), NULL);
  return stats;
}

static void
gst_point_cloud_merge_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstPointCloudMerge *self = GST_POINT_CLOUD_MERGE (object);
  GstClockTime latency = GST_CLOCK_TIME_NONE;

  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LEADER:
    g_free (self->leader);
    self->leader = g_value_dup_string (value);
    break;
  case PROP_SCAN_LATENCY:
    latency = self->scan_latency = g_value_get_uint64 (value);
    break;
  case PROP_COMPENSATE:
    self->compensate = g_value_get_boolean (value);
    break;
  case PROP_ROLE:
    self->role = (GstPoseRole)g_value_get_enum (value);
    break;
  case PROP_MAX_POSE_GAP:
    self->max_pose_gap = g_value_get_uint64 (value);
    break;
  case PROP_FRAME_ID:
    g_free (self->frame_id);
    /* Strings in caps are UTF-8. */
    self->frame_id =
        g_value_get_string (value) ? g_utf8_make_valid (g_value_get_string (value), -1) : NULL;
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
  if (GST_CLOCK_TIME_IS_VALID (latency))
    gst_aggregator_set_latency (GST_AGGREGATOR (self), latency, GST_CLOCK_TIME_NONE);
}

static void
gst_point_cloud_merge_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstPointCloudMerge *self = GST_POINT_CLOUD_MERGE (object);

  if (id == PROP_STATS) {
    g_value_take_boxed (value, make_stats (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LEADER:
    g_value_set_string (value, self->leader);
    break;
  case PROP_SCAN_LATENCY:
    g_value_set_uint64 (value, self->scan_latency);
    break;
  case PROP_COMPENSATE:
    g_value_set_boolean (value, self->compensate);
    break;
  case PROP_ROLE:
    g_value_set_enum (value, (gint)self->role);
    break;
  case PROP_MAX_POSE_GAP:
    g_value_set_uint64 (value, self->max_pose_gap);
    break;
  case PROP_FRAME_ID:
    g_value_set_string (value, self->frame_id);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_point_cloud_merge_finalize (GObject *object)
{
  GstPointCloudMerge *self = GST_POINT_CLOUD_MERGE (object);

  gst_cloud_join_free (self->join);
  g_array_unref (self->poses);
  g_free (self->leader);
  g_free (self->frame_id);
  G_OBJECT_CLASS (gst_point_cloud_merge_parent_class)->finalize (object);
}

static void
gst_point_cloud_merge_class_init (GstPointCloudMergeClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstAggregatorClass *aggregator_class = GST_AGGREGATOR_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  object_class->set_property = gst_point_cloud_merge_set_property;
  object_class->get_property = gst_point_cloud_merge_get_property;
  object_class->finalize = gst_point_cloud_merge_finalize;

  g_object_class_install_property (object_class, PROP_LEADER,
      g_param_spec_string ("leader", "Leader",
          "Name of the pad whose scans give the clouds their time stamps, such as sink_1 (unset = "
          "the first pad)",
          NULL, flags | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (object_class, PROP_SCAN_LATENCY,
      g_param_spec_uint64 ("scan-latency", "Scan Latency",
          "Live: nanoseconds that a cloud waits at most for scans and poses that are later than "
          "their sources say; part of the reported latency",
          0, 3600 * GST_SECOND, DEFAULT_SCAN_LATENCY, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_COMPENSATE,
      g_param_spec_boolean ("compensate", "Compensate",
          "Bring points to the end of the leader's scan where poses tell the motion; otherwise "
          "they "
          "stay as they were seen, in the body's frame, with their times, for ndtlocalize",
          TRUE, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_ROLE,
      g_param_spec_enum ("role", "Role",
          "Role of the poses on the scans to take the body's motion from, where no pose pad is",
          GST_TYPE_POSE_ROLE, GST_POSE_ROLE_ODOMETRY, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_MAX_POSE_GAP,
      g_param_spec_uint64 ("max-pose-gap", "Maximum Pose Gap",
          "Nanoseconds between two poses beyond which the motion between them is not known (0 = "
          "any)",
          0, G_MAXUINT64, DEFAULT_MAX_POSE_GAP, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_FRAME_ID,
      g_param_spec_string ("frame-id", "Frame", "Frame of the body, for caps", DEFAULT_FRAME_ID,
          flags | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Counts since the start: clouds, without-leader (of those, made at its pace without its "
          "scan), compensated (brought to one instant), points-left (of those clouds, points that "
          "stayed as they were seen), bad (scans that are none), late (scans left out), losses (of "
          "sensors); of each sink pad scans, late, losses and lost (boolean)",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_set_static_metadata (element_class, "Point cloud merger",
      "Filter/Muxer/PointCloud", "Merges the scans of several lidars on one body",
      "The gst-ndt developers");
  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &sink_template, GST_TYPE_CLOUD_MERGE_PAD);
  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &pose_template, GST_TYPE_CLOUD_MERGE_PAD);
  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &src_template, GST_TYPE_AGGREGATOR_PAD);
  gst_type_mark_as_plugin_api (GST_TYPE_CLOUD_MERGE_PAD, 0);

  element_class->request_new_pad = gst_point_cloud_merge_request_new_pad;
  element_class->release_pad = gst_point_cloud_merge_release_pad;
  aggregator_class->create_new_pad = gst_point_cloud_merge_create_new_pad;
  aggregator_class->start = gst_point_cloud_merge_start;
  aggregator_class->flush = gst_point_cloud_merge_flush;
  aggregator_class->sink_event_pre_queue = gst_point_cloud_merge_sink_event_pre_queue;
  aggregator_class->sink_event = gst_point_cloud_merge_sink_event;
  aggregator_class->update_src_caps = gst_point_cloud_merge_update_src_caps;
  aggregator_class->get_next_time = gst_point_cloud_merge_get_next_time;
  aggregator_class->aggregate = gst_point_cloud_merge_aggregate;

  GST_DEBUG_CATEGORY_INIT (
      gst_point_cloud_merge_debug, "pointcloudmerge", 0, "clouds of several lidars");
}

static void
gst_point_cloud_merge_init (GstPointCloudMerge *self)
{
  self->join = gst_cloud_join_new ();
  self->poses = g_array_new (FALSE, FALSE, sizeof (NdtTimedPose));
  self->frame_id = g_strdup (DEFAULT_FRAME_ID);
  self->scan_latency = DEFAULT_SCAN_LATENCY;
  self->compensate = TRUE;
  self->role = GST_POSE_ROLE_ODOMETRY;
  self->max_pose_gap = DEFAULT_MAX_POSE_GAP;
  gst_aggregator_set_latency (GST_AGGREGATOR (self), DEFAULT_SCAN_LATENCY, GST_CLOCK_TIME_NONE);
}
