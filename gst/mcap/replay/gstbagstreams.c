/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstbagstreams.h"

#include <gst/base/gstflowcombiner.h>
#include <string.h>

#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/messages/gstbagrecords.h"
#include "gst/mcap/bag/bag-info.h"
#include "gstbagmessages.h"
#include "gstbagposes.h"
#include "gstbagtimes.h"

#define GST_CAT_DEFAULT (self->settings.log)

/* A pad that is behind the others by this much gets a GAP event, so that no sink waits for it. */
#define GAP_AFTER GST_SECOND
/* How often pads are checked for that: there may be thousands. */
#define GAP_CHECK_INTERVAL (GAP_AFTER / 8)

/* Earlier stamps (2001) are not taken for a time of day. */
#define EARLIEST_UNIX (G_GUINT64_CONSTANT (1000000000) * GST_SECOND)

typedef struct {
  const BagTopic *topic;     /* NULL: attachments or metadata records */
  GstPad *pad;               /* NULL: none yet, not wanted, or poses that are attached */
  const BagChannel *channel; /* whose caps the pad has; of poses and messages */
  BagCloudCaps cloud;
  GstCaps *caps; /* that were sent; nothing that is sticky may go out before */
  gboolean needs_segment;
  gboolean discont;
  gboolean has_stamp; /* one was seen */
  GstClockTime position;
  guint64 n_bad;
  gchar *reason; /* of the last of these; NULL: none */
} Stream;

struct _GstBagStreams {
  GstElement *element;
  GstBagSettings settings;
  GstPadEventFunction event;
  GstPadQueryFunction query;

  BagTopics *topics;
  GPtrArray *streams;  /* Stream, by the topic's number */
  GPtrArray *channels; /* Stream, borrowed, by the channel's number */
  guint n_ready;       /* topics whose pads were made */
  gboolean has_all_pads;
  gboolean has_told_topics;
  gboolean has_told_names;
  GPtrArray *shown; /* Stream, borrowed: those with pads */
  Stream *attachments;
  Stream *metadata;
  GQueue records; /* GstSample: those that wait for a pad of messages */
  GstBagPoses poses;
  GstBagTimes times;
  gboolean has_told_clock;
  GstBagNames names;
  GstFlowCombiner *flow;
  GstCaps *publish_caps; /* of the meta with a message's publish time */
  GstCaps *stamp_caps;   /* of that with a cloud's stamp, where PTS is the log time */
  guint group_id;
  GstSegment segment;
  guint32 seqnum;
  GstClockTime newest;      /* time stamp since the segment began */
  GstClockTime gap_checked; /* the newest when pads were looked at */
  guint64 n_damaged;        /* under the object lock */
};

static Stream *
stream_new (const BagTopic *topic)
{
  Stream *stream = g_new0 (Stream, 1);
  stream->topic = topic;
  stream->position = GST_CLOCK_TIME_NONE;
  return stream;
}

static void
free_stream (gpointer data)
{
  Stream *stream = data;
  bag_cloud_caps_clear (&stream->cloud);
  gst_clear_caps (&stream->caps);
  g_free (stream->reason);
  g_free (stream);
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
  self->topics = bag_topics_new (
      settings->topics, settings->raw, settings->attach_poses, settings->max_topics);
  self->streams = g_ptr_array_new_with_free_func (free_stream);
  self->channels = g_ptr_array_new ();
  self->shown = g_ptr_array_new ();
  self->names.left = settings->max_names;
  gst_bag_times_init (&self->times, settings->timestamps);
  gst_bag_poses_init (&self->poses);
  self->flow = gst_flow_combiner_new ();
  self->publish_caps = gst_caps_new_empty_simple (GST_BAG_PUBLISH_CAPS);
  self->stamp_caps = gst_caps_new_empty_simple ("timestamp/x-unix");
  self->group_id = gst_util_group_id_next ();
  self->seqnum = gst_util_seqnum_next ();
  gst_segment_init (&self->segment, GST_FORMAT_TIME);
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
  g_ptr_array_unref (self->channels);
  g_ptr_array_unref (self->streams);
  bag_topics_free (self->topics);
  g_clear_pointer (&self->attachments, free_stream);
  g_clear_pointer (&self->metadata, free_stream);
  g_queue_clear_full (&self->records, (GDestroyNotify)gst_sample_unref);
  gst_bag_poses_clear (&self->poses);
  gst_flow_combiner_free (self->flow);
  gst_caps_unref (self->publish_caps);
  gst_caps_unref (self->stamp_caps);
  gst_bag_settings_clear (&self->settings);
  g_free (self);
}

/* Pads */

static void
set_caps (GstBagStreams *self, Stream *stream, GstCaps *caps)
{
  if (stream->caps && (stream->caps == caps || gst_caps_is_equal (stream->caps, caps)))
    return;
  GST_DEBUG_OBJECT (stream->pad, "caps %" GST_PTR_FORMAT, caps);
  gst_pad_push_event (stream->pad, gst_event_new_caps (caps));
  gst_caps_replace (&stream->caps, caps);
}

/* Keys of metadata that are left out of caps; a cloud or pose with such names is left out as a
 * whole. */
static void
tell_names (GstBagStreams *self)
{
  if (self->names.n_refused == 0 || self->has_told_names)
    return;
  self->has_told_names = TRUE;
  GST_ELEMENT_WARNING (self->element, STREAM, DEMUX,
      ("Metadata of the recording are left out: they have too many different keys, or longer ones "
       "than "
       "%u bytes (property max-names).",
          GST_BAG_NAME_MAX_LENGTH),
      (NULL));
}

/* Of poses and messages, whose caps are those of the channel. */
static void
set_channel_caps (GstBagStreams *self, Stream *stream, const BagChannel *channel)
{
  if (stream->channel == channel)
    return;
  stream->channel = channel;
  g_autoptr (GstCaps) caps = stream->topic->kind == BAG_KIND_MESSAGE
                                 ? bag_channel_get_message_caps (channel, &self->names)
                                 : bag_channel_get_pose_caps (channel, &self->names);
  tell_names (self);
  set_caps (self, stream, caps);
}

/* @id: what tells the stream from others. */
static void
add_pad (
    GstBagStreams *self, Stream *stream, const gchar *template, const gchar *name, const gchar *id)
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
  /* Sticky: a pad that is linked later receives it. */
  if (stream->cloud.caps)
    set_caps (self, stream, stream->cloud.caps);
  else if (stream->topic && stream->topic->kind != BAG_KIND_CLOUD)
    set_channel_caps (self, stream, stream->topic->channel);
  GST_INFO_OBJECT (self->element, "pad %s has %s", name, id);
  g_ptr_array_add (self->shown, stream);
  gst_flow_combiner_add_pad (self->flow, stream->pad);
  gst_element_add_pad (self->element, stream->pad);

  stream->needs_segment = TRUE;
  stream->discont = TRUE;
}

static Stream *
get_stream (GstBagStreams *self, const BagChannel *channel)
{
  if (channel->number >= self->channels->len)
    g_ptr_array_set_size (self->channels, (gint)channel->number + 1);
  Stream *stream = g_ptr_array_index (self->channels, channel->number);
  if (stream)
    return stream;
  const BagTopic *topic = bag_topics_add (self->topics, channel);
  if (topic->number == self->streams->len)
    g_ptr_array_add (self->streams, stream_new (topic));
  stream = g_ptr_array_index (self->streams, topic->number);
  g_ptr_array_index (self->channels, channel->number) = stream;
  return stream;
}

void
gst_bag_streams_add_channel (GstBagStreams *self, const BagChannel *channel)
{
  get_stream (self, channel);
}

gboolean
gst_bag_streams_lack_caps (const GstBagStreams *self)
{
  for (guint i = 0; i < self->streams->len; i++) {
    const Stream *stream = g_ptr_array_index (self->streams, i);
    if (stream->topic->pad && stream->topic->kind == BAG_KIND_CLOUD && !stream->cloud.caps)
      return TRUE;
  }
  return FALSE;
}

void
gst_bag_streams_add_pads (GstBagStreams *self)
{
  for (; self->n_ready < self->streams->len; self->n_ready++) {
    Stream *stream = g_ptr_array_index (self->streams, self->n_ready);
    if (stream->topic->pad)
      add_pad (self, stream, bag_kind_get_pad_template (stream->topic->kind), stream->topic->pad,
          stream->topic->channel->topic);
  }
  if (bag_topics_get_n_refused (self->topics) > 0 && !self->has_told_topics) {
    self->has_told_topics = TRUE;
    GST_ELEMENT_WARNING (self->element, STREAM, DEMUX,
        ("Only %u topics get pads, %u do not: choose by the property topics, or set max-topics.",
            self->settings.max_topics, bag_topics_get_n_refused (self->topics)),
        (NULL));
  }
}

void
gst_bag_streams_end_pads (GstBagStreams *self)
{
  if (!self->has_all_pads)
    gst_element_no_more_pads (self->element);
  self->has_all_pads = TRUE;
}

/* Times */

static void
tell_clock (GstBagStreams *self, const BagMessage *message, GstClockTime stamp)
{
  const gdouble seconds = ((gdouble)message->log_time - (gdouble)stamp) / GST_SECOND;
  const gboolean is_long = ABS (seconds) > 1e6;
  const BagChannel *channel = message->channel;
  const gchar *result =
      self->times.wants_header ? "Log times are moved by as much to meet the stamps"
      : self->times.use_log    ? "The log times are used for all topics, so that clouds and poses "
                                 "meet; timestamps=header keeps the stamps"
                               : "Its log times are used";
  g_autofree gchar *text = g_strdup_printf (
      "The header stamps of topic \"%s\" are of another clock than the times at which its messages "
      "were logged, %.3f %s %s them. %s.",
      channel->topic, ABS (seconds) / (is_long ? 86400 : 1), is_long ? "days" : "s",
      seconds > 0 ? "before" : "after", result);

  /* mcapsink log-time=pts writes the stream's PTS, which may begin at 0, as log times: no fault. */
  if (g_hash_table_contains (channel->metadata, MCAP_META_CAPS) || self->has_told_clock) {
    GST_INFO_OBJECT (self->element, "%s", text);
    return;
  }
  self->has_told_clock = TRUE;
  GST_ELEMENT_WARNING (self->element, STREAM, DECODE, ("%s", text), (NULL));
}

void
gst_bag_streams_ignore_log (GstBagStreams *self)
{
  if (self->times.use_log || self->times.has_no_log)
    return;
  gst_bag_times_ignore_log (&self->times);
  GST_ELEMENT_WARNING (self->element, STREAM, DEMUX,
      ("All messages have the same log time: header stamps are used, and there is no duration and "
       "no "
       "seeking (timestamps=log uses the log time)."),
      (NULL));
}

/* Compares the first stamp of each topic with its log time. */
static void
learn_clock (GstBagStreams *self, Stream *stream, const BagMessage *message, GstClockTime stamp)
{
  if (stream->has_stamp || stream->topic->kind == BAG_KIND_MESSAGE || stream->topic->cloud)
    return;
  stream->has_stamp = GST_CLOCK_TIME_IS_VALID (stamp);
  /* Static transforms have the stamp of their first publication. */
  if (g_str_has_suffix (message->channel->topic, "tf_static"))
    return;
  const gboolean uses_log = self->times.use_log;
  if (gst_bag_times_learn (&self->times, stream->topic->kind, stamp, message->log_time) &&
      !uses_log)
    tell_clock (self, message, stamp);
}

GstClockTime
gst_bag_streams_look_at (GstBagStreams *self, const BagMessage *message)
{
  Stream *stream = get_stream (self, message->channel);
  const GstClockTime stamp = bag_message_get_stamp (message, stream->topic->kind);
  learn_clock (self, stream, message, stamp);
  /* Errors are reported when the message is sent. */
  if (stream->topic->kind == BAG_KIND_CLOUD && stream->topic->pad && !stream->cloud.caps)
    bag_message_get_cloud_caps (message, &self->names, &stream->cloud, NULL);
  return stream->topic->cloud ? GST_CLOCK_TIME_NONE : stamp;
}

const GstBagTimes *
gst_bag_streams_get_times (const GstBagStreams *self)
{
  return &self->times;
}

void
gst_bag_streams_set_segment (GstBagStreams *self, const GstSegment *segment, guint32 seqnum)
{
  self->segment = *segment;
  self->seqnum = seqnum;
  self->newest = self->gap_checked = segment->start;
  self->times.has_axis = TRUE;
  gst_bag_poses_clear (&self->poses);
  for (guint i = 0; i < self->shown->len; i++) {
    Stream *stream = g_ptr_array_index (self->shown, i);
    stream->needs_segment = TRUE;
    stream->discont = TRUE;
    stream->position = GST_CLOCK_TIME_NONE;
  }
}

/* FALSE where caps, which have to go before it, are not known. */
static gboolean
send_segment (GstBagStreams *self, Stream *stream)
{
  if (!stream->caps)
    return FALSE;
  if (!stream->needs_segment)
    return TRUE;
  GstEvent *event = gst_event_new_segment (&self->segment);
  gst_event_set_seqnum (event, self->seqnum);
  stream->needs_segment = FALSE;
  GST_DEBUG_OBJECT (stream->pad, "%" GST_SEGMENT_FORMAT, &self->segment);
  gst_pad_push_event (stream->pad, event);
  return TRUE;
}

/* Counts a message that cannot be decoded; the first of a topic is a warning. */
static GstFlowReturn
leave_out (GstBagStreams *self, Stream *stream, const BagMessage *message, const GError *error)
{
  GST_OBJECT_LOCK (self->element);
  self->n_damaged++;
  GST_OBJECT_UNLOCK (self->element);
  g_free (stream->reason);
  stream->reason = g_strdup (error->message);
  if (stream->n_bad++ == 0)
    GST_ELEMENT_WARNING (self->element, STREAM, DECODE,
        ("A message of topic \"%s\" is left out: %s.", message->channel->topic, error->message),
        ("Further ones of this topic are counted in stats only."));
  return GST_FLOW_OK;
}

/* The buffer of a message, with all but what is the same for all. NULL and @error where there can
 * be none. @stamp: of its header; @time: its time stamp. */
static GstBuffer *
make_buffer (GstBagStreams *self, Stream *stream, const BagMessage *message, GstClockTime stamp,
    GstClockTime time, GError **error)
{
  const gint64 shift = GST_CLOCK_TIME_IS_VALID (stamp) ? (gint64)time - (gint64)stamp : 0;
  GstBuffer *buffer;

  if (stream->topic->kind != BAG_KIND_CLOUD)
    set_channel_caps (self, stream, message->channel);
  if (stream->topic->kind != BAG_KIND_CLOUD) {
    /* Poses as well have the bytes, which say more than a GstPoseMeta (a twist, say). */
    buffer = message->size > 0 ? gst_buffer_new_memdup (message->data, message->size)
                               : gst_buffer_new ();
    if (message->publish_time != message->log_time)
      gst_buffer_add_reference_timestamp_meta (
          buffer, self->publish_caps, message->publish_time, GST_CLOCK_TIME_NONE);
    if (stream->topic->kind != BAG_KIND_MESSAGE &&
        !bag_message_add_poses (message, stream->topic->kind,
            bag_channel_get_role (message->channel, self->settings.pose_role), shift, time,
            &self->names, buffer, error))
      gst_clear_buffer (&buffer);
    return buffer;
  }
  buffer = bag_message_to_cloud (message, &self->names, &stream->cloud, error);
  if (!buffer)
    return NULL;
  set_caps (self, stream, stream->cloud.caps);
  gint n, d;
  if (gst_structure_get_fraction (
          gst_caps_get_structure (stream->cloud.caps, 0), "framerate", &n, &d) &&
      n > 0)
    GST_BUFFER_DURATION (buffer) = gst_util_uint64_scale_int (GST_SECOND, d, n);
  if (self->times.use_log && GST_CLOCK_TIME_IS_VALID (stamp) && stamp != time &&
      stamp >= EARLIEST_UNIX)
    gst_buffer_add_reference_timestamp_meta (buffer, self->stamp_caps, stamp, GST_CLOCK_TIME_NONE);
  gst_bag_poses_attach (&self->poses, message, shift, buffer);
  return buffer;
}

/* Sends GAP events on pads that are behind. */
static void
send_gaps (GstBagStreams *self, const Stream *current)
{
  self->newest = MAX (self->newest, current->position);
  if (self->newest - self->gap_checked < GAP_CHECK_INTERVAL)
    return;
  self->gap_checked = self->newest;
  for (guint i = 0; i < self->shown->len; i++) {
    Stream *stream = g_ptr_array_index (self->shown, i);
    if (stream == current || !gst_pad_is_linked (stream->pad))
      continue;
    const GstClockTime from =
        GST_CLOCK_TIME_IS_VALID (stream->position) ? stream->position : self->segment.start;
    if (self->newest < from || self->newest - from < GAP_AFTER || !send_segment (self, stream))
      continue;
    GST_DEBUG_OBJECT (stream->pad, "gap %" GST_TIME_FORMAT " to %" GST_TIME_FORMAT,
        GST_TIME_ARGS (from), GST_TIME_ARGS (self->newest));
    gst_pad_push_event (stream->pad, gst_event_new_gap (from, self->newest - from));
    stream->position = self->newest;
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
  *stream = stream_new (NULL);
  add_pad (self, *stream, name, name, name);
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
  GstSample *sample = bag_record_to_sample (opcode, content, &self->names);
  tell_names (self);
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
  Stream *stream = get_stream (self, message->channel);
  const GstClockTime stamp = gst_bag_streams_look_at (self, message);
  gst_bag_streams_add_pads (self);

  if (self->records.length > 0 && gst_bag_streams_has_pads (self)) {
    const GstFlowReturn flow = gst_bag_streams_push_records (self);
    if (flow != GST_FLOW_OK)
      return flow;
  }
  if (stream->topic->cloud) {
    if (gst_bag_poses_add (
            &self->poses, stream->topic->cloud, stream->topic->kind, message, &self->names, &error))
      return GST_FLOW_OK;
    return leave_out (self, stream, message, error);
  }
  const GstClockTime time = gst_bag_times_get (&self->times, stamp, message->log_time);
  if (!stream->pad || time < self->settings.from || time > self->settings.to)
    return GST_FLOW_OK;
  GstBuffer *buffer = make_buffer (self, stream, message, stamp, time, &error);
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
gst_bag_streams_push_end (GstBagStreams *self, GstEvent *event)
{
  for (guint i = 0; i < self->shown->len; i++)
    send_segment (self, g_ptr_array_index (self->shown, i));
  return gst_bag_streams_push_event (self, event);
}

typedef struct {
  GstEvent *event;
  gboolean result;
} Pushed;

static gboolean
push_event (GstElement *element, GstPad *pad, gpointer user_data)
{
  Pushed *pushed = user_data;
  pushed->result &= gst_pad_push_event (pad, gst_event_ref (pushed->event));
  return TRUE;
}

gboolean
gst_bag_streams_push_event (GstBagStreams *self, GstEvent *event)
{
  /* The element's list of pads is copied under its lock; the streaming thread may add pads. */
  Pushed pushed = {event, TRUE};
  gst_element_foreach_src_pad (self->element, push_event, &pushed);
  gst_event_unref (event);
  return pushed.result;
}

gboolean
gst_bag_streams_has_pads (const GstBagStreams *self)
{
  return self->shown->len > 0;
}

/* The error lists the topics, and what decoding them would need. */
static void
fail_unlinked (GstBagStreams *self)
{
  g_autofree gchar *topics = bag_topics_describe (self->topics);
  gboolean has_clouds = FALSE;

  for (guint i = 0; i < bag_topics_get_n (self->topics) && !has_clouds; i++)
    has_clouds = bag_topics_get (self->topics, i)->kind == BAG_KIND_CLOUD;
  if (!gst_bag_streams_has_pads (self)) {
    g_autofree gchar *wanted =
        self->settings.topics ? g_strjoinv ("\", \"", self->settings.topics) : g_strdup ("*");
    GST_ELEMENT_ERROR (self->element, STREAM, FAILED,
        ("The recording has nothing of what is wanted: no topic is one of \"%s\" (property "
         "topics). It has:\n%s",
            wanted, topics),
        (NULL));
  } else if (!has_clouds && !self->settings.raw) {
    GST_ELEMENT_ERROR (self->element, STREAM, FORMAT,
        ("The recording has no topic of clouds that can be decoded, and no other pad is linked. It "
         "has:\n%s",
            topics),
        (NULL));
  } else {
    GST_ELEMENT_ERROR (self->element, STREAM, FAILED,
        ("No pad of the recording is linked. It has:\n%s", topics), (NULL));
  }
}

gboolean
gst_bag_streams_fail_unlinked (GstBagStreams *self)
{
  gboolean is_linked = FALSE, has_sent = FALSE;
  const Stream *bad = NULL;

  for (guint i = 0; i < self->shown->len; i++) {
    const Stream *stream = g_ptr_array_index (self->shown, i);
    /* The application links a blocked pad later. */
    if (!gst_pad_is_linked (stream->pad) && !gst_pad_is_blocked (stream->pad))
      continue;
    is_linked = TRUE;
    has_sent |= stream->caps != NULL;
    if (stream->n_bad > 0)
      bad = stream;
  }
  if (!is_linked) {
    fail_unlinked (self);
    return TRUE;
  }
  if (!bad || has_sent)
    return FALSE;
  GST_ELEMENT_ERROR (self->element, STREAM, DECODE,
      ("Not a single message of the topics that are wanted can be decoded: %" G_GUINT64_FORMAT
       " of topic \"%s\" are left out, the last one for this: %s.",
          bad->n_bad, bad->topic->channel->topic, bad->reason),
      (NULL));
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
