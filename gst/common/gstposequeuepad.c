/* SPDX-License-Identifier: MIT */
#include "gstposequeuepad.h"

#include <stdio.h>
#include <string.h>

GST_DEBUG_CATEGORY_STATIC (gst_pose_queue_debug);
#define GST_CAT_DEFAULT gst_pose_queue_debug

/* Of a pad; but for the stream, its streaming thread's. */
typedef struct {
  GstPoseQueue *poses;
  GstPoseStream *stream;
  GstSegment segment;
  gboolean warned;
  GstPoseQueueState told;
} PosePad;

static GstStaticPadTemplate pose_template = GST_STATIC_PAD_TEMPLATE (
    "pose_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS (GST_POSE_CAPS_NAME));

static gchar *
format_time (gint64 time)
{
  return time == GST_POSE_QUEUE_NO_TIME || time == G_MININT64
             ? g_strdup ("none")
             : g_strdup_printf ("%.1f s", 1e-9 * (gdouble)time);
}

/* Each of the two once. */
static void
tell_state (GstPad *pad, GstElement *element, PosePad *own, GstPoseQueueState state)
{
  guint n;
  gint64 first, last, scan;

  if (state <= own->told)
    return;
  own->told = state;
  gst_pose_queue_get_extent (own->poses, own->stream, &n, &first, &last, &scan);
  g_autofree gchar *from = format_time (first), *to = format_time (last), *at = format_time (scan);
  if (state == GST_POSE_QUEUE_DROPS)
    GST_ELEMENT_WARNING (element, STREAM, FAILED,
        ("%u poses of %s wait for scans, and the oldest are dropped: they are of running time %s "
         "to "
         "%s, and the newest scan is of %s. Are both of one clock?",
            n, GST_OBJECT_NAME (pad), from, to, at),
        (NULL));
  else
    GST_ELEMENT_WARNING (element, STREAM, FAILED,
        ("%u poses of %s wait for scans, of running time %s to %s, and no scan has come for 5 s; "
         "the "
         "newest is of %s. Is a source of scans held up by its poses? Put queues between them.",
            n, GST_OBJECT_NAME (pad), from, to, at),
        (NULL));
}

/* Whoever waits to put leaves before its pad can stop. */
static gboolean
activate_mode (GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  PosePad *own = gst_pad_get_element_private (pad);

  if (mode != GST_PAD_MODE_PUSH)
    return FALSE;
  gst_pose_queue_set_stream_flushing (own->poses, own->stream, !active);
  return TRUE;
}

static GstFlowReturn
chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  PosePad *own = gst_pad_get_element_private (pad);
  const GstPoseMeta *meta = gst_pose_queue_find (own->poses, buffer);
  GstClockTime time = GST_BUFFER_PTS (buffer);

  if (meta && GST_CLOCK_TIME_IS_VALID (meta->timestamp))
    time = meta->timestamp;
  const gint64 running_time = gst_pose_queue_running_time (&own->segment, time);
  NdtPose pose;
  if (meta && meta->has_pose) {
    memcpy (pose.position, meta->position, sizeof pose.position);
    memcpy (pose.orientation, meta->orientation, sizeof pose.orientation);
  }
  if (running_time == GST_POSE_QUEUE_NO_TIME) {
    GST_DEBUG_OBJECT (pad, "a pose without a time");
  } else if (meta && meta->has_pose && ndt_pose_normalize (&pose)) {
    gdouble stddev[6];
    GST_LOG_OBJECT (pad, "pose of running time %" GST_STIME_FORMAT " at (%.3f, %.3f, %.3f)",
        GST_STIME_ARGS (running_time), pose.position[0], pose.position[1], pose.position[2]);
    const GstPoseQueueState state = gst_pose_queue_put (own->poses, own->stream, meta->role,
        running_time, &pose, gst_pose_queue_read_stddev (meta, stddev) ? stddev : NULL);
    tell_state (pad, GST_ELEMENT (parent), own, state);
  } else {
    gst_pose_queue_advance (own->poses, own->stream, running_time);
    if (!meta && !own->warned) {
      g_autofree gchar *roles = gst_pose_queue_dup_roles (own->poses);
      GST_ELEMENT_WARNING (parent, STREAM, WRONG_TYPE,
          ("Poses that have none of the roles %s are ignored: give them one where they come from, "
           "for example with pose-role=odometry at rosbagsrc.",
              roles),
          (NULL));
    }
    own->warned |= !meta;
  }
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

/* What the pads say of their latency has changed. */
static void
post_latency (GstElement *element)
{
  if (GST_STATE (element) > GST_STATE_READY)
    gst_element_post_message (element, gst_message_new_latency (GST_OBJECT (element)));
}

static gboolean
pose_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  PosePad *own = gst_pad_get_element_private (pad);
  GstClockTime time, duration;
  gint64 running_time;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_STREAM_START:
    /* There is somebody to ask now who says what its latency is. */
    post_latency (GST_ELEMENT (parent));
    gst_pose_queue_reset_stream (own->poses, own->stream);
    break;
  case GST_EVENT_FLUSH_START:
    GST_DEBUG_OBJECT (pad, "flush begins");
    gst_pose_queue_set_stream_flushing (own->poses, own->stream, TRUE);
    break;
  case GST_EVENT_FLUSH_STOP:
    GST_DEBUG_OBJECT (pad, "flush ends");
    gst_pose_queue_set_stream_flushing (own->poses, own->stream, FALSE);
    gst_pose_queue_reset_stream (own->poses, own->stream);
    break;
  case GST_EVENT_SEGMENT:
    gst_event_copy_segment (event, &own->segment);
    GST_DEBUG_OBJECT (pad, "segment %" GST_SEGMENT_FORMAT, &own->segment);
    break;
  case GST_EVENT_GAP:
    gst_event_parse_gap (event, &time, &duration);
    if (GST_CLOCK_TIME_IS_VALID (duration))
      time += duration;
    running_time = gst_pose_queue_running_time (&own->segment, time);
    if (running_time != GST_POSE_QUEUE_NO_TIME)
      gst_pose_queue_advance (own->poses, own->stream, running_time);
    break;
  case GST_EVENT_EOS:
    gst_pose_queue_advance (own->poses, own->stream, G_MAXINT64);
    break;
  default:
    break;
  }
  gst_event_unref (event);
  return TRUE;
}

/* Nothing goes on from here. */
static GstIterator *
iterate_internal_links (GstPad *pad, GstObject *parent)
{
  return gst_iterator_new_single (GST_TYPE_PAD, NULL);
}

void
gst_pose_queue_pad_class_init (GstElementClass *klass)
{
  GST_DEBUG_CATEGORY_INIT (gst_pose_queue_debug, "posequeue", 0, "streams of poses");
  gst_element_class_add_static_pad_template (klass, &pose_template);
}

GstPad *
gst_pose_queue_pad_request (
    GstElement *element, GstPoseQueue *poses, GstPadTemplate *template, const gchar *name)
{
  PosePad *own = g_new0 (PosePad, 1);
  g_autofree gchar *own_name = NULL;
  guint n;

  if (name && sscanf (name, "pose_%u", &n) != 1)
    name = NULL;
  if (!name)
    n = G_MAXUINT;
  own->poses = poses;
  own->stream = gst_pose_queue_add_stream (poses, &n);
  if (!name)
    name = own_name = g_strdup_printf ("pose_%u", n);

  GstPad *pad = gst_pad_new_from_template (template, name);
  gst_segment_init (&own->segment, GST_FORMAT_UNDEFINED);
  gst_pad_set_element_private (pad, own);
  g_object_set_data_full (G_OBJECT (pad), "pose-pad", own, g_free);
  gst_pad_set_chain_function (pad, chain);
  gst_pad_set_event_function (pad, pose_event);
  gst_pad_set_activatemode_function (pad, activate_mode);
  gst_pad_set_iterate_internal_links_function (pad, iterate_internal_links);
  if (GST_STATE (element) > GST_STATE_READY || GST_STATE_TARGET (element) > GST_STATE_READY)
    gst_pad_set_active (pad, TRUE);
  if (!gst_element_add_pad (element, pad)) {
    gst_pose_queue_remove_stream (poses, own->stream);
    return NULL;
  }
  post_latency (element);
  return pad;
}

void
gst_pose_queue_pad_release (GstElement *element, GstPad *pad)
{
  PosePad *own = gst_pad_get_element_private (pad);

  gst_object_ref (pad);
  gst_pad_set_active (pad, FALSE);
  gst_element_remove_pad (element, pad);
  gst_pose_queue_remove_stream (own->poses, own->stream);
  gst_object_unref (pad);
  post_latency (element);
}

GstIterator *
gst_pose_queue_pad_iterate_scans (GstPad *pad, GstObject *parent)
{
  g_autoptr (GstPad) other = gst_element_get_static_pad (
      GST_ELEMENT (parent), gst_pad_get_direction (pad) == GST_PAD_SRC ? "sink" : "src");
  GValue value = G_VALUE_INIT;

  g_value_init (&value, GST_TYPE_PAD);
  g_value_set_object (&value, other);
  GstIterator *iterator = gst_iterator_new_single (GST_TYPE_PAD, &value);
  g_value_unset (&value);
  return iterator;
}

static gboolean
is_pose_pad (GstPad *pad)
{
  return g_str_has_prefix (GST_OBJECT_NAME (pad), "pose_");
}

gboolean
gst_pose_queue_pads_seek (GstElement *element, GstPoseQueue *poses, GstEvent *seek)
{
  const guint32 seqnum = gst_event_get_seqnum (seek);
  g_autoptr (GstPad) sink = gst_element_get_static_pad (element, "sink");
  g_autolist (GstPad) pads = NULL;
  gboolean result;

  if (!gst_pose_queue_begin_seek (poses, seqnum, &result)) {
    gst_event_unref (seek);
    return result;
  }
  GST_OBJECT_LOCK (element);
  pads = g_list_copy_deep (element->sinkpads, (GCopyFunc)(void (*) (void))gst_object_ref, NULL);
  GST_OBJECT_UNLOCK (element);
  /* Poses first: scans from there would take the streams of poses for as far as they were. */
  for (GList *l = pads; l; l = l->next) {
    GstPad *pad = l->data;
    if (is_pose_pad (pad) && gst_pad_is_linked (pad) &&
        !gst_pad_push_event (pad, gst_event_ref (seek)))
      GST_ELEMENT_WARNING (element, RESOURCE, SEEK,
          ("The source of the poses at %s does not seek: after a seek scans have none from it, or "
           "wrong ones.",
              GST_OBJECT_NAME (pad)),
          (NULL));
  }
  result = gst_pad_push_event (sink, seek);
  gst_pose_queue_end_seek (poses, seqnum, result);
  return result;
}

typedef struct {
  gboolean live;
  GstClockTime min;
  GstClockTime max;
} Latency;

static void
add_latency (const GValue *item, gpointer user_data)
{
  GstPad *pad = g_value_get_object (item);
  Latency *latency = user_data;
  GstQuery *query = gst_query_new_latency ();
  gboolean live;
  GstClockTime min, max;

  if (is_pose_pad (pad) && gst_pad_peer_query (pad, query)) {
    gst_query_parse_latency (query, &live, &min, &max);
    if (live) {
      latency->min = latency->live ? MAX (latency->min, min) : min;
      latency->max = latency->live ? MIN (latency->max, max) : max;
      latency->live = TRUE;
    }
  }
  gst_query_unref (query);
}

static void
add_pose_pads (GstElement *element, Latency *latency)
{
  GstIterator *pads = gst_element_iterate_sink_pads (element);
  const Latency scans = *latency;

  while (gst_iterator_foreach (pads, add_latency, latency) == GST_ITERATOR_RESYNC) {
    *latency = scans;
    gst_iterator_resync (pads);
  }
  gst_iterator_free (pads);
}

gboolean
gst_pose_queue_pads_query_latency (GstElement *element, GstPoseQueue *poses, GstQuery *query,
    gboolean *scans_live, GstClockTime *scans_min)
{
  g_autoptr (GstPad) sink = gst_element_get_static_pad (element, "sink");
  Latency latency;

  if (!gst_pad_peer_query (sink, query))
    return FALSE;
  gst_query_parse_latency (query, &latency.live, &latency.min, &latency.max);
  *scans_live = latency.live;
  *scans_min = latency.min;
  add_pose_pads (element, &latency);
  gst_pose_queue_set_sources (poses, latency.live, latency.min);
  gst_query_set_latency (query, latency.live, latency.min, latency.max);
  return TRUE;
}
