/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstbagstreams.h"

#include <gst/base/gstflowcombiner.h>
#include <string.h>

#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/messages/gstbagrecords.h"
#include "gstbagmessages.h"

#define GST_CAT_DEFAULT (self->settings.log)

/* A pad that falls behind the others by this gets a GAP event, so that nothing waits for it. */
#define GAP_AFTER GST_SECOND

/* Poses that wait for their cloud; more are of clouds that do not come. */
#define MAX_PENDING 64

typedef struct {
  BagKind kind;
  GstPad *pad;  /* NULL: not wanted, or absorbed */
  gchar *cloud; /* topic of the cloud that poses are absorbed by */
  GstPoseRole role;
  GstCaps *caps;
  gboolean needs_segment;
  gboolean discont;
  GstClockTime position;
  guint64 n_bad;
} Stream;

/* The poses of a cloud that has not come yet. */
typedef struct {
  guint64 log_time;
  gchar *cloud;
  GstBuffer *poses;
  guint diagnosed;
} Pending;

struct _GstBagStreams {
  GstElement *element;
  GstBagSettings settings;
  GPtrArray *topics; /* GPatternSpec, NULL: all */
  GstPadEventFunction event;
  GstPadQueryFunction query;

  GPtrArray *streams; /* by the channel's number */
  GPtrArray *shown;   /* Stream, borrowed: those with pads */
  Stream *attachments;
  Stream *metadata;
  GQueue records; /* GstSample: those that wait for a pad of messages */
  GQueue pending;
  GstFlowCombiner *flow;
  GstCaps *publish_caps; /* of the meta with a message's publish time */
  GstCaps *stamp_caps;   /* of that with a cloud's stamp, where PTS is the log time */
  guint n_pads[3];
  guint group_id;
  GstSegment segment;
  guint32 seqnum;
  guint64 n_damaged; /* under the object lock */
};

static void
free_stream (gpointer data)
{
  Stream *stream = data;
  g_free (stream->cloud);
  gst_clear_caps (&stream->caps);
  g_free (stream);
}

static void
free_pending (gpointer data)
{
  Pending *pending = data;
  g_free (pending->cloud);
  gst_buffer_unref (pending->poses);
  g_free (pending);
}

GstBagStreams *
gst_bag_streams_new (GstElement *element, const GstBagSettings *settings, GstPadEventFunction event,
    GstPadQueryFunction query)
{
  GstBagStreams *self = g_new0 (GstBagStreams, 1);
  self->element = element;
  gst_bag_settings_copy (&self->settings, settings);
  self->event = event;
  self->query = query;
  self->streams = g_ptr_array_new_with_free_func (free_stream);
  self->shown = g_ptr_array_new ();
  self->flow = gst_flow_combiner_new ();
  self->publish_caps = gst_caps_new_empty_simple (GST_BAG_PUBLISH_CAPS);
  self->stamp_caps = gst_caps_new_empty_simple ("timestamp/x-unix");
  self->group_id = gst_util_group_id_next ();
  self->seqnum = gst_util_seqnum_next ();
  gst_segment_init (&self->segment, GST_FORMAT_TIME);
  if (settings->topics && *settings->topics) {
    self->topics = g_ptr_array_new_with_free_func ((GDestroyNotify)g_pattern_spec_free);
    for (gchar **topic = settings->topics; *topic; topic++)
      g_ptr_array_add (self->topics, g_pattern_spec_new (*topic));
  }
  return self;
}

void
gst_bag_streams_free (GstBagStreams *self)
{
  for (guint i = 0; i < self->shown->len; i++) {
    Stream *stream = g_ptr_array_index (self->shown, i);
    gst_flow_combiner_remove_pad (self->flow, stream->pad);
    gst_pad_set_active (stream->pad, FALSE);
    gst_element_remove_pad (self->element, stream->pad);
  }
  g_ptr_array_unref (self->shown);
  g_ptr_array_unref (self->streams);
  g_clear_pointer (&self->attachments, free_stream);
  g_clear_pointer (&self->metadata, free_stream);
  g_queue_clear_full (&self->records, (GDestroyNotify)gst_sample_unref);
  g_queue_clear_full (&self->pending, free_pending);
  gst_flow_combiner_free (self->flow);
  gst_caps_unref (self->publish_caps);
  gst_caps_unref (self->stamp_caps);
  g_clear_pointer (&self->topics, g_ptr_array_unref);
  gst_bag_settings_clear (&self->settings);
  g_free (self);
}

static gboolean
is_wanted (const GstBagStreams *self, const gchar *topic)
{
  for (guint i = 0; self->topics && i < self->topics->len; i++)
    if (g_pattern_spec_match_string (g_ptr_array_index (self->topics, i), topic))
      return TRUE;
  return self->topics == NULL;
}

/* @id: what tells the stream from others; @caps: NULL, they come with the first buffer. */
static void
add_pad (GstBagStreams *self, Stream *stream, const gchar *template, const gchar *name,
    const gchar *id, GstCaps *caps)
{
  GstElementClass *klass = GST_ELEMENT_GET_CLASS (self->element);

  stream->pad =
      gst_pad_new_from_template (gst_element_class_get_pad_template (klass, template), name);
  gst_pad_set_event_function (stream->pad, self->event);
  gst_pad_set_query_function (stream->pad, self->query);
  gst_pad_use_fixed_caps (stream->pad);
  gst_pad_set_active (stream->pad, TRUE);

  g_autofree gchar *stream_id = gst_pad_create_stream_id (stream->pad, self->element, id);
  GstEvent *start = gst_event_new_stream_start (stream_id);
  gst_event_set_group_id (start, self->group_id);
  gst_event_set_seqnum (start, self->seqnum);
  gst_pad_push_event (stream->pad, start);
  gst_caps_replace (&stream->caps, caps);
  /* Sticky: seen by whoever is linked when the pad turns up. */
  if (stream->caps)
    gst_pad_push_event (stream->pad, gst_event_new_caps (stream->caps));
  GST_INFO_OBJECT (self->element, "pad %s has %s", name, id);
  g_ptr_array_add (self->shown, stream);
  gst_flow_combiner_add_pad (self->flow, stream->pad);
  gst_element_add_pad (self->element, stream->pad);

  stream->needs_segment = TRUE;
  stream->discont = TRUE;
}

static void
add_channel_pad (GstBagStreams *self, Stream *stream, const BagChannel *channel)
{
  static const gchar *const names[] = {"cloud_%u", "pose_%u", "message_%u"};
  const guint which = stream->kind == BAG_KIND_CLOUD ? 0 : stream->kind == BAG_KIND_MESSAGE ? 2 : 1;
  g_autofree gchar *name = g_strdup_printf (names[which], self->n_pads[which]++);
  g_autoptr (GstCaps) caps = which == 1   ? bag_channel_get_pose_caps (channel)
                             : which == 2 ? bag_channel_get_message_caps (channel)
                                          : NULL;
  add_pad (self, stream, names[which], name, channel->topic, caps);
}

void
gst_bag_streams_add_channel (GstBagStreams *self, const BagChannel *channel)
{
  while (self->streams->len <= channel->number)
    g_ptr_array_add (self->streams, NULL);
  if (g_ptr_array_index (self->streams, channel->number))
    return;

  Stream *stream = g_new0 (Stream, 1);
  const gchar *cloud = bag_channel_get_cloud (channel);
  g_ptr_array_index (self->streams, channel->number) = stream;
  stream->kind = bag_channel_get_kind (channel);
  stream->role = bag_channel_get_role (channel, self->settings.pose_role);
  stream->position = GST_CLOCK_TIME_NONE;
  if (self->settings.raw)
    stream->kind = BAG_KIND_MESSAGE;
  else if (self->settings.attach_poses && cloud && stream->kind > BAG_KIND_CLOUD)
    stream->cloud = g_strdup (cloud);
  else if (stream->kind == BAG_KIND_DIAGNOSTICS)
    stream->kind = BAG_KIND_MESSAGE;
  if (!stream->cloud && is_wanted (self, channel->topic))
    add_channel_pad (self, stream, channel);
}

GstClockTime
gst_bag_streams_get_time (GstBagStreams *self, const BagMessage *message)
{
  const BagKind kind =
      self->settings.raw ? BAG_KIND_MESSAGE : bag_channel_get_kind (message->channel);
  GstClockTime time = GST_CLOCK_TIME_NONE;
  if (self->settings.timestamps == GST_BAG_TIMESTAMPS_HEADER)
    time = bag_message_get_stamp (message, kind);
  return GST_CLOCK_TIME_IS_VALID (time) ? time : MIN (message->log_time, (guint64)G_MAXINT64);
}

void
gst_bag_streams_set_segment (GstBagStreams *self, const GstSegment *segment, guint32 seqnum)
{
  self->segment = *segment;
  self->seqnum = seqnum;
  g_queue_clear_full (&self->pending, free_pending);
  for (guint i = 0; i < self->shown->len; i++) {
    Stream *stream = g_ptr_array_index (self->shown, i);
    stream->needs_segment = TRUE;
    stream->discont = TRUE;
    stream->position = GST_CLOCK_TIME_NONE;
  }
}

static void
send_segment (GstBagStreams *self, Stream *stream)
{
  if (!stream->needs_segment)
    return;
  GstEvent *event = gst_event_new_segment (&self->segment);
  gst_event_set_seqnum (event, self->seqnum);
  stream->needs_segment = FALSE;
  GST_DEBUG_OBJECT (stream->pad, "%" GST_SEGMENT_FORMAT, &self->segment);
  gst_pad_push_event (stream->pad, event);
}

/* A message that cannot be turned into what its pad has is left out. */
static GstFlowReturn
leave_out (GstBagStreams *self, Stream *stream, const BagMessage *message, const GError *error)
{
  GST_OBJECT_LOCK (self->element);
  self->n_damaged++;
  GST_OBJECT_UNLOCK (self->element);
  if (stream->n_bad++ == 0)
    GST_ELEMENT_WARNING (self->element, STREAM, DECODE,
        ("A message of topic \"%s\" is left out: %s.", message->channel->topic, error->message),
        ("Further ones of this topic are counted in stats only."));
  return GST_FLOW_OK;
}

static GstFlowReturn
absorb_pose (GstBagStreams *self, Stream *stream, const BagMessage *message)
{
  g_autoptr (GError) error = NULL;
  Pending *pending = NULL;

  for (GList *l = self->pending.tail; l && !pending; l = l->prev) {
    Pending *other = l->data;
    if (other->log_time == message->log_time && strcmp (other->cloud, stream->cloud) == 0)
      pending = other;
  }
  if (!pending) {
    pending = g_new0 (Pending, 1);
    pending->log_time = message->log_time;
    pending->cloud = g_strdup (stream->cloud);
    pending->poses = gst_buffer_new ();
    g_queue_push_tail (&self->pending, pending);
    if (self->pending.length > MAX_PENDING)
      free_pending (g_queue_pop_head (&self->pending));
  }
  if (!bag_message_complete_pose (
          message, stream->kind, pending->poses, &pending->diagnosed, &error))
    return leave_out (self, stream, message, error);
  return GST_FLOW_OK;
}

static void
attach_poses (GstBagStreams *self, const BagMessage *message, GstBuffer *cloud)
{
  for (GList *l = self->pending.head, *next; l; l = next) {
    Pending *pending = l->data;
    next = l->next;
    if (strcmp (pending->cloud, message->channel->topic) != 0 ||
        pending->log_time > message->log_time)
      continue;
    if (pending->log_time == message->log_time)
      gst_buffer_copy_into (cloud, pending->poses, GST_BUFFER_COPY_META, 0, -1);
    g_queue_delete_link (&self->pending, l);
    free_pending (pending);
  }
}

static void
set_caps (GstBagStreams *self, Stream *stream, GstCaps *caps)
{
  if (stream->caps && gst_caps_is_equal (stream->caps, caps))
    return;
  GST_DEBUG_OBJECT (stream->pad, "caps %" GST_PTR_FORMAT, caps);
  gst_pad_push_event (stream->pad, gst_event_new_caps (caps));
  gst_caps_replace (&stream->caps, caps);
}

/* The buffer of a message, with all but what is the same for all. NULL and @error where there can
 * be none. */
static GstBuffer *
make_buffer (GstBagStreams *self, Stream *stream, const BagMessage *message, GError **error)
{
  GstBuffer *buffer;
  GstCaps *caps = NULL;

  if (stream->kind == BAG_KIND_MESSAGE) {
    buffer = message->size > 0 ? gst_buffer_new_memdup (message->data, message->size)
                               : gst_buffer_new ();
    if (message->publish_time != message->log_time)
      gst_buffer_add_reference_timestamp_meta (
          buffer, self->publish_caps, message->publish_time, GST_CLOCK_TIME_NONE);
    return buffer;
  }
  if (stream->kind != BAG_KIND_CLOUD) {
    buffer = gst_buffer_new ();
    if (!bag_message_add_poses (message, stream->kind, stream->role, buffer, error))
      gst_clear_buffer (&buffer);
    return buffer;
  }
  buffer = bag_message_to_cloud (message, &caps, error);
  if (!buffer)
    return NULL;
  set_caps (self, stream, caps);
  gint n, d;
  if (gst_structure_get_fraction (gst_caps_get_structure (caps, 0), "framerate", &n, &d) && n > 0)
    GST_BUFFER_DURATION (buffer) = gst_util_uint64_scale_int (GST_SECOND, d, n);
  gst_caps_unref (caps);
  if (self->settings.timestamps == GST_BAG_TIMESTAMPS_LOG) {
    const GstClockTime stamp = bag_message_get_stamp (message, BAG_KIND_CLOUD);
    if (GST_CLOCK_TIME_IS_VALID (stamp) && stamp != message->log_time)
      gst_buffer_add_reference_timestamp_meta (
          buffer, self->stamp_caps, stamp, GST_CLOCK_TIME_NONE);
  }
  attach_poses (self, message, buffer);
  return buffer;
}

/* Keeps the other pads from being waited for. */
static void
send_gaps (GstBagStreams *self, const Stream *current)
{
  if (!GST_CLOCK_TIME_IS_VALID (current->position))
    return;
  for (guint i = 0; i < self->shown->len; i++) {
    Stream *stream = g_ptr_array_index (self->shown, i);
    if (stream == current || !gst_pad_is_linked (stream->pad))
      continue;
    const GstClockTime from =
        GST_CLOCK_TIME_IS_VALID (stream->position) ? stream->position : self->segment.start;
    if (current->position < from || current->position - from < GAP_AFTER)
      continue;
    send_segment (self, stream);
    GST_DEBUG_OBJECT (stream->pad, "gap %" GST_TIME_FORMAT " to %" GST_TIME_FORMAT,
        GST_TIME_ARGS (from), GST_TIME_ARGS (current->position));
    gst_pad_push_event (stream->pad, gst_event_new_gap (from, current->position - from));
    stream->position = current->position;
  }
}

static Stream **
get_record_stream (GstBagStreams *self, guint8 opcode)
{
  return opcode == MCAP_OP_ATTACHMENT ? &self->attachments : &self->metadata;
}

void
gst_bag_streams_add_record_pad (GstBagStreams *self, guint8 opcode)
{
  const gchar *name = opcode == MCAP_OP_ATTACHMENT ? GST_BAG_ATTACHMENTS_PAD : GST_BAG_METADATA_PAD;
  Stream **stream = get_record_stream (self, opcode);
  if (*stream || !self->settings.raw)
    return;
  *stream = g_new0 (Stream, 1);
  (*stream)->position = GST_CLOCK_TIME_NONE;
  add_pad (self, *stream, name, name, name, NULL);
}

static GstFlowReturn
push_sample (GstBagStreams *self, GstSample *sample)
{
  GstCaps *caps = gst_sample_get_caps (sample);
  const guint8 opcode =
      gst_structure_has_name (gst_caps_get_structure (caps, 0), MCAP_ATTACHMENT_CAPS)
          ? MCAP_OP_ATTACHMENT
          : MCAP_OP_METADATA;

  gst_bag_streams_add_record_pad (self, opcode);
  Stream *stream = *get_record_stream (self, opcode);
  set_caps (self, stream, caps);
  send_segment (self, stream);
  return gst_flow_combiner_update_pad_flow (self->flow, stream->pad,
      gst_pad_push (stream->pad, gst_buffer_ref (gst_sample_get_buffer (sample))));
}

GstFlowReturn
gst_bag_streams_push_records (GstBagStreams *self)
{
  GstFlowReturn flow = GST_FLOW_OK;
  while (flow == GST_FLOW_OK && self->records.length > 0) {
    GstSample *sample = g_queue_pop_head (&self->records);
    flow = push_sample (self, sample);
    gst_sample_unref (sample);
  }
  return flow;
}

GstFlowReturn
gst_bag_streams_push_record (GstBagStreams *self, guint8 opcode, McapCursor *content)
{
  if (!self->settings.raw)
    return GST_FLOW_OK;
  GstSample *sample = bag_record_to_sample (opcode, content);
  if (sample) {
    g_queue_push_tail (&self->records, sample);
    return gst_bag_streams_has_pads (self) ? gst_bag_streams_push_records (self) : GST_FLOW_OK;
  }
  GST_OBJECT_LOCK (self->element);
  self->n_damaged++;
  GST_OBJECT_UNLOCK (self->element);
  GST_ELEMENT_WARNING (self->element, STREAM, DECODE,
      ("%s is damaged and left out.",
          opcode == MCAP_OP_ATTACHMENT ? "An attachment" : "A metadata record"),
      (NULL));
  return GST_FLOW_OK;
}

GstFlowReturn
gst_bag_streams_push (GstBagStreams *self, const BagMessage *message)
{
  g_autoptr (GError) error = NULL;
  gst_bag_streams_add_channel (self, message->channel);
  Stream *stream = g_ptr_array_index (self->streams, message->channel->number);

  if (self->records.length > 0 && gst_bag_streams_has_pads (self)) {
    const GstFlowReturn flow = gst_bag_streams_push_records (self);
    if (flow != GST_FLOW_OK)
      return flow;
  }
  if (stream->cloud)
    return absorb_pose (self, stream, message);
  const GstClockTime time = gst_bag_streams_get_time (self, message);
  if (!stream->pad || time < self->settings.from || time > self->settings.to)
    return GST_FLOW_OK;
  GstBuffer *buffer = make_buffer (self, stream, message, &error);
  if (!buffer)
    return leave_out (self, stream, message, error);
  send_segment (self, stream);
  GST_BUFFER_PTS (buffer) = time;
  GST_BUFFER_OFFSET (buffer) = message->sequence;
  if (stream->discont)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  stream->discont = FALSE;
  stream->position = GST_BUFFER_PTS (buffer);
  send_gaps (self, stream);
  GST_LOG_OBJECT (
      stream->pad, "logged at %" G_GUINT64_FORMAT ": %" GST_PTR_FORMAT, message->log_time, buffer);
  return gst_flow_combiner_update_pad_flow (
      self->flow, stream->pad, gst_pad_push (stream->pad, buffer));
}

gboolean
gst_bag_streams_push_event (GstBagStreams *self, GstEvent *event)
{
  gboolean result = TRUE;
  for (guint i = 0; i < self->shown->len; i++) {
    Stream *stream = g_ptr_array_index (self->shown, i);
    if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
      send_segment (self, stream);
    result &= gst_pad_push_event (stream->pad, gst_event_ref (event));
  }
  gst_event_unref (event);
  return result;
}

gboolean
gst_bag_streams_has_pads (const GstBagStreams *self)
{
  return self->shown->len > 0;
}

static void
fail_without_topics (GstBagStreams *self)
{
  g_autofree gchar *wanted =
      self->topics ? g_strjoinv ("\", \"", self->settings.topics) : g_strdup ("*");
  GST_ELEMENT_ERROR (self->element, STREAM, FAILED,
      ("The recording has nothing of what is wanted: no topic is one of \"%s\".", wanted), (NULL));
}

gboolean
gst_bag_streams_fail_unheard (GstBagStreams *self)
{
  for (guint i = 0; i < self->shown->len; i++) {
    GstPad *pad = ((Stream *)g_ptr_array_index (self->shown, i))->pad;
    /* Who blocks a pad links it later. */
    if (gst_pad_is_linked (pad) || gst_pad_is_blocked (pad))
      return FALSE;
  }
  if (gst_bag_streams_has_pads (self))
    GST_ELEMENT_FLOW_ERROR (self->element, GST_FLOW_NOT_LINKED);
  else
    fail_without_topics (self);
  return TRUE;
}

void
gst_bag_streams_reset_flow (GstBagStreams *self)
{
  gst_flow_combiner_reset (self->flow);
}

guint64
gst_bag_streams_get_n_damaged (GstBagStreams *self)
{
  return self->n_damaged;
}
