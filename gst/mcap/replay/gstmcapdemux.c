/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-mcapdemux
 * @title: mcapdemux
 * @short_description: takes MCAP streams and files apart
 *
 * What #GstRosbagSrc is for files it is for streams of MCAP from pipes and the network, with the
 * same pads and properties. Messages leave in the order of the file. Over a source that can seek,
 * such as filesrc, the file's index is used: messages leave by log time, and seeking by time works.
 *
 * A stream that ends before MCAP's end is a warning; whatever was whole has left by then.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=talker/talker.mcap ! mcapdemux topics="</topic>" ! fakesink
 * silent=false -v
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstmcapdemux.h"

#include <gio/gio.h>
#include <string.h>

#include "gst/common/gstsinkevents.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-stream.h"
#include "gstbagerror.h"
#include "gstbagstreams.h"

GST_DEBUG_CATEGORY_STATIC (gst_mcap_demux_debug);
#define GST_CAT_DEFAULT gst_mcap_demux_debug

/* Headers' stamps are of before the log time of the first message by no more than this, so that the
 * segment of a stream, which cannot be looked ahead in, begins so much earlier. */
#define STAMP_MARGIN GST_SECOND

struct _GstMcapDemux {
  GstBagBase parent;
  GstPad *sinkpad;

  /* push mode, streaming thread */
  McapStream *stream;
  BagChannels channels;
  GHashTable *by_id; /* channel's number in the file: BagChannel */
  GstBagStreams *streams;
  GstBagTimestamps timestamps;
  guint64 n_messages;
  gboolean has_segment;
  guint32 seqnum;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_MCAP_CAPS_NAME));

G_DEFINE_TYPE (GstMcapDemux, gst_mcap_demux, GST_TYPE_BAG_BASE)
GST_ELEMENT_REGISTER_DEFINE (mcapdemux, "mcapdemux", GST_RANK_PRIMARY, GST_TYPE_MCAP_DEMUX)

/* Push mode */

static void
clear_stream (GstMcapDemux *self)
{
  g_clear_pointer (&self->streams, gst_bag_streams_free);
  g_clear_pointer (&self->stream, mcap_stream_free);
  g_clear_pointer (&self->by_id, g_hash_table_unref);
  bag_channels_clear (&self->channels);
}

static void
start_stream (GstMcapDemux *self)
{
  clear_stream (self);
  GstBagSettings settings;
  gst_bag_base_get_settings (GST_BAG_BASE (self), &settings);
  self->n_messages = 0;
  gst_bag_base_set_stats (GST_BAG_BASE (self), 0, 0);
  self->timestamps = settings.timestamps;
  self->streams = gst_bag_streams_new (
      GST_ELEMENT (self), &settings, gst_bag_base_src_event, gst_bag_base_src_query);
  self->stream = mcap_stream_new ();
  mcap_stream_set_limit (self->stream, settings.limits.max_record_size);
  self->by_id = g_hash_table_new (NULL, NULL);
  bag_channels_init (&self->channels);
  self->has_segment = FALSE;
  self->seqnum = gst_util_seqnum_next ();
  gst_bag_settings_clear (&settings);
}

static void
take_warning (GstMcapDemux *self)
{
  g_autofree gchar *warning = mcap_stream_take_warning (self->stream);
  gst_bag_base_set_stats (GST_BAG_BASE (self), self->n_messages,
      mcap_stream_get_n_damaged (self->stream) + gst_bag_streams_get_n_damaged (self->streams));
  if (warning)
    GST_ELEMENT_WARNING (self, STREAM, DEMUX, ("%s", warning), (NULL));
}

static const BagChannel *
find_channel (GstMcapDemux *self, guint id)
{
  const BagChannel *channel = g_hash_table_lookup (self->by_id, GUINT_TO_POINTER (id));
  if (channel)
    return channel;
  const McapTable *table = mcap_stream_get_table (self->stream);
  const McapChannel *found = mcap_table_get_channel (table, id);
  if (!found)
    return NULL;
  channel = bag_channels_add (&self->channels, table, found);
  g_hash_table_insert (self->by_id, GUINT_TO_POINTER (id), (gpointer)channel);
  return channel;
}

static void
send_segment (GstMcapDemux *self, const BagMessage *message)
{
  GstSegment segment;
  const GstClockTime stamp = gst_bag_streams_look_at (self->streams, message);
  const GstBagTimes *times = gst_bag_streams_get_times (self->streams);
  const GstClockTime time = gst_bag_times_get (times, stamp, message->log_time);
  const GstClockTime logged = gst_bag_times_from_log (times, message->log_time);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  const GstClockTime margin = self->timestamps != GST_BAG_TIMESTAMPS_LOG ? STAMP_MARGIN : 0;
  const GstClockTime first = MIN (time, logged);
  segment.start = segment.position = first > margin ? first - margin : 0;
  segment.time = 0;
  gst_bag_streams_set_segment (self->streams, &segment, self->seqnum);
  self->has_segment = TRUE;
}

static GstFlowReturn
push_message (GstMcapDemux *self, McapCursor *content)
{
  McapMessage read;
  const BagChannel *channel = NULL;
  if (mcap_parse_message (content, &read))
    channel = find_channel (self, read.channel_id);
  if (!channel) {
    GST_ELEMENT_WARNING (
        self, STREAM, DEMUX, ("A message of a channel that there is not is left out."), (NULL));
    return GST_FLOW_OK;
  }
  const BagMessage message = {
      channel, read.sequence, read.log_time, read.publish_time, read.data, read.size};
  if (!self->has_segment)
    send_segment (self, &message);
  self->n_messages++;
  return gst_bag_streams_push (self->streams, &message);
}

static GstFlowReturn
take_records (GstMcapDemux *self)
{
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = GST_FLOW_OK;
  McapCursor content;
  guint8 opcode;

  /* While nothing is linked: the pad that is waited for may turn up with any channel. */
  while ((flow == GST_FLOW_OK || flow == GST_FLOW_NOT_LINKED) &&
         mcap_stream_next (self->stream, &opcode, &content, &error)) {
    if (opcode == MCAP_OP_CHANNEL) {
      const guint id = mcap_cursor_u16 (&content);
      const BagChannel *channel = find_channel (self, id);
      if (channel)
        gst_bag_streams_add_channel (self->streams, channel);
      gst_bag_streams_add_pads (self->streams);
    } else if (opcode == MCAP_OP_MESSAGE) {
      flow = push_message (self, &content);
    } else if (opcode == MCAP_OP_ATTACHMENT || opcode == MCAP_OP_METADATA) {
      flow = gst_bag_streams_push_record (self->streams, opcode, &content);
    }
  }
  take_warning (self);
  if (flow == GST_FLOW_NOT_LINKED)
    flow = GST_FLOW_OK;
  if (error) {
    g_prefix_error (&error, "The stream cannot be read: ");
    gst_bag_error_post (GST_ELEMENT (self), error);
    return GST_FLOW_ERROR;
  }
  return flow;
}

static GstFlowReturn
gst_mcap_demux_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  GstMcapDemux *self = GST_MCAP_DEMUX (parent);
  GstMapInfo map;
  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    GST_ELEMENT_ERROR (self, RESOURCE, READ, ("A buffer cannot be mapped."), (NULL));
    gst_buffer_unref (buffer);
    return GST_FLOW_ERROR;
  }
  mcap_stream_push (self->stream, map.data, map.size);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  return take_records (self);
}

static gboolean
handle_eos (GstMcapDemux *self, GstEvent *event)
{
  gst_bag_streams_push_records (self->streams);
  if (self->channels.channels->len == 0 && !gst_bag_streams_has_pads (self->streams)) {
    GST_ELEMENT_ERROR (
        self, STREAM, DEMUX, ("The stream ended, and no message was whole in it."), (NULL));
  } else {
    if (!mcap_stream_is_complete (self->stream))
      GST_ELEMENT_WARNING (self, STREAM, DEMUX,
          ("The stream ended before MCAP's end: what was not whole is lost."), (NULL));
    gst_bag_streams_end_pads (self->streams);
    gst_bag_streams_fail_unlinked (self->streams);
  }
  return gst_bag_streams_push_end (self->streams, event);
}

static gboolean
gst_mcap_demux_sink_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstMcapDemux *self = GST_MCAP_DEMUX (parent);
  if (!self->streams) {
    gst_event_unref (event);
    return TRUE;
  }
  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_EOS:
    return handle_eos (self, event);
  case GST_EVENT_FLUSH_STOP:
    /* The source begins anew, or somewhere where records cannot be told from other bytes. */
    mcap_stream_reset (self->stream);
    self->has_segment = FALSE;
    gst_bag_streams_reset_flow (self->streams);
    return gst_bag_streams_push_event (self->streams, event);
  case GST_EVENT_FLUSH_START:
    return gst_bag_streams_push_event (self->streams, event);
  case GST_EVENT_STREAM_START:
  case GST_EVENT_CAPS:
  case GST_EVENT_SEGMENT:
  case GST_EVENT_GAP:
  case GST_EVENT_TAG:
    gst_event_unref (event);
    return TRUE;
  default:
    return gst_bag_streams_push_event (self->streams, event);
  }
}

/* Pull mode */

/* An application ends the source, as gst-launch-1.0 -e does: that is no end of the file. */
static gboolean
is_source_ended (GstMcapDemux *self, guint64 offset)
{
  GstBagPlayer *player;
  gint64 size;

  if (!gst_pad_peer_query_duration (self->sinkpad, GST_FORMAT_BYTES, &size) ||
      offset >= (guint64)size)
    return FALSE;
  player = gst_bag_base_get_player (GST_BAG_BASE (self));
  if (player)
    gst_bag_player_end (player);
  g_clear_pointer (&player, gst_bag_player_unref);
  return TRUE;
}

static gssize
read_peer (gpointer user_data, guint64 offset, guint8 *data, gsize size, GError **error)
{
  GstMcapDemux *self = user_data;
  GstBuffer *buffer = NULL;
  const guint wanted = (guint)MIN (size, (gsize)G_MAXINT);
  const GstFlowReturn flow = gst_pad_pull_range (self->sinkpad, offset, wanted, &buffer);

  if (flow == GST_FLOW_EOS && !is_source_ended (self, offset))
    return 0;
  if (flow != GST_FLOW_OK) {
    if (flow == GST_FLOW_FLUSHING || flow == GST_FLOW_EOS)
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "reading was stopped");
    else
      g_set_error (error, MCAP_ERROR, MCAP_ERROR_READ, "upstream: %s", gst_flow_get_name (flow));
    return -1;
  }
  const gsize n = gst_buffer_extract (buffer, 0, data, wanted);
  gst_buffer_unref (buffer);
  return (gssize)n;
}

static BagMerger *
open_peer (gpointer user_data, const BagLimits *limits, GError **error)
{
  GstMcapDemux *self = user_data;
  gint64 size;
  if (!gst_pad_peer_query_duration (self->sinkpad, GST_FORMAT_BYTES, &size) || size < 0) {
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_READ, "The size of the file is not known");
    return NULL;
  }
  BagMerger *reader = bag_merger_new_mcap (read_peer, self, (guint64)size, limits, error);
  if (!reader)
    g_prefix_error (error, "The file cannot be read: ");
  return reader;
}

static gboolean
start_player (GstMcapDemux *self)
{
  GstBagPlayerSettings settings = {.post_progress = FALSE};
  gst_bag_base_get_settings (GST_BAG_BASE (self), &settings.streams);
  GstBagPlayer *player = gst_bag_player_new (GST_ELEMENT (self), &settings, gst_bag_base_src_event,
      gst_bag_base_src_query, open_peer, self);
  gst_bag_settings_clear (&settings.streams);
  gst_bag_base_start (GST_BAG_BASE (self), player);
  return TRUE;
}

static gboolean
gst_mcap_demux_activate (GstPad *pad, GstObject *parent)
{
  g_autoptr (GstQuery) query = gst_query_new_scheduling ();
  const gboolean can_pull =
      gst_pad_peer_query (pad, query) && gst_query_has_scheduling_mode_with_flags (query,
                                             GST_PAD_MODE_PULL, GST_SCHEDULING_FLAG_SEEKABLE);
  return gst_pad_activate_mode (pad, can_pull ? GST_PAD_MODE_PULL : GST_PAD_MODE_PUSH, TRUE);
}

static gboolean
gst_mcap_demux_activate_mode (GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  GstMcapDemux *self = GST_MCAP_DEMUX (parent);
  if (mode == GST_PAD_MODE_PUSH && active)
    start_stream (self);
  else if (mode == GST_PAD_MODE_PULL && active)
    return start_player (self);
  else if (mode == GST_PAD_MODE_PULL)
    gst_bag_base_stop (GST_BAG_BASE (self));
  return TRUE;
}

static GstStateChangeReturn
gst_mcap_demux_change_state (GstElement *element, GstStateChange transition)
{
  GstMcapDemux *self = GST_MCAP_DEMUX (element);
  GstStateChangeReturn result =
      GST_ELEMENT_CLASS (gst_mcap_demux_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    clear_stream (self);
  return result;
}

static void
gst_mcap_demux_finalize (GObject *object)
{
  GstMcapDemux *self = GST_MCAP_DEMUX (object);
  clear_stream (self);
  G_OBJECT_CLASS (gst_mcap_demux_parent_class)->finalize (object);
}

static void
gst_mcap_demux_init (GstMcapDemux *self)
{
  self->sinkpad = gst_pad_new_from_static_template (&sink_template, "sink");
  gst_pad_set_chain_function (self->sinkpad, gst_mcap_demux_chain);
  gst_pad_set_event_function (self->sinkpad, gst_mcap_demux_sink_event);
  gst_sink_events_tell_flushing (self->sinkpad);
  gst_pad_set_activate_function (self->sinkpad, gst_mcap_demux_activate);
  gst_pad_set_activatemode_function (self->sinkpad, gst_mcap_demux_activate_mode);
  gst_element_add_pad (GST_ELEMENT (self), self->sinkpad);
}

static void
gst_mcap_demux_class_init (GstMcapDemuxClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_mcap_demux_debug, "mcapdemux", 0, "MCAP demuxer");
  object_class->finalize = gst_mcap_demux_finalize;
  element_class->change_state = gst_mcap_demux_change_state;
  GST_BAG_BASE_CLASS (klass)->log = gst_mcap_demux_debug;
  GST_BAG_BASE_CLASS (klass)->stats_name = "application/x-mcapdemux-stats";

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_set_static_metadata (element_class, "MCAP Demuxer", "Codec/Demuxer",
      "Takes recordings in MCAP apart", "The gst-ndt developers");
}
