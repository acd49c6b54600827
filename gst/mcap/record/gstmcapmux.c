/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-mcapmux
 * @title: mcapmux
 * @short_description: makes an MCAP stream of clouds, poses and anything else
 *
 * Records as mcapsink does, but into a stream for any sink or pipe. Buffers are taken in the order
 * in which they arrive; no input waits for another. A buffer goes downstream for each finished
 * chunk, and the summary with the indexes at the end of the last input. Without that end a reader
 * still gets all chunks that came through.
 *
 * A flush of any input begins a new stream, with its own header and indexes, as a sink that is
 * flushed writes from the start. A flushing seek flushes the inputs one after the other; downstream
 * gets one FLUSH_START, with the first, and one FLUSH_STOP, after the last. Buffers that an input
 * sends between the two wait.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidartestsrc num-buffers=20 ! mcapmux compression=lz4 ! filesink
 * location=drive.mcap
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstmcapmux.h"

#include <string.h>

#include "gst/mcap/container/mcap-format.h"

GST_DEBUG_CATEGORY_STATIC (gst_mcap_mux_debug);
#define GST_CAT_DEFAULT gst_mcap_mux_debug

struct _GstMcapMux {
  GstMcapBase parent;

  GstPad *srcpad;

  /* under the lock of the file */
  GQueue pending; /* GstBufferList and GstEvent, to be pushed in this order */
  guint64 offset;
  gboolean has_started; /* stream-start, caps and segment are in the queue, or sent */

  GMutex lock;
  GCond cond;
  /* Under it: one thread at a time pushes what is pending, without any lock. */
  gboolean pushing;
  GstFlowReturn flow; /* of what was pushed last */
  /* Under it: flushes. */
  gboolean flushing; /* downstream: from before FLUSH_START until after FLUSH_STOP */
  gboolean sending;  /* one of these, which is not overtaken by the next */
  guint n_flushing;  /* inputs */
  guint n_seeks;     /* on their way to the inputs, which they may flush */
  guint32 flush_seqnum;
  guint32 seek_seqnum; /* of the last that was done */
  gboolean reset_time;
};

G_DEFINE_TYPE (GstMcapMux, gst_mcap_mux, GST_TYPE_MCAP_BASE)
GST_ELEMENT_REGISTER_DEFINE (mcapmux, "mcapmux", GST_RANK_NONE, GST_TYPE_MCAP_MUX)

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (MCAP_CAPS));

/* The stream */

static void
queue_event (GstMcapMux *self, GstEvent *event, guint32 seqnum)
{
  if (seqnum != GST_SEQNUM_INVALID)
    gst_event_set_seqnum (event, seqnum);
  g_queue_push_tail (&self->pending, event);
}

static void
start_stream (GstMcapMux *self)
{
  const GstMcapOrigins origins = gst_mcap_base_get_session (GST_MCAP_BASE (self))->origins;
  g_autoptr (GstCaps) caps = gst_pad_get_pad_template_caps (self->srcpad);
  g_autofree gchar *id = NULL;
  GstSegment segment;
  GstEvent *event;

  if (self->has_started)
    return;
  self->has_started = TRUE;
  /* The stream is made of several: it has an id of its own. */
  id = g_strdup_printf ("mcap-%08x%08x", g_random_int (), g_random_int ());
  event = gst_event_new_stream_start (id);
  if (origins.group_id != GST_GROUP_ID_INVALID)
    gst_event_set_group_id (event, origins.group_id);
  queue_event (self, event, origins.stream_start);
  queue_event (self, gst_event_new_caps (caps), GST_SEQNUM_INVALID);
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  queue_event (self, gst_event_new_segment (&segment), origins.segment);
  GST_INFO_OBJECT (self, "stream %s begins", id);
}

static void
queue_buffer (GstMcapMux *self, GstBuffer *buffer)
{
  GstMiniObject *last = g_queue_peek_tail (&self->pending);

  if (last && GST_IS_BUFFER_LIST (last)) {
    gst_buffer_list_add (GST_BUFFER_LIST (last), buffer);
  } else {
    GstBufferList *list = gst_buffer_list_new ();

    gst_buffer_list_add (list, buffer);
    g_queue_push_tail (&self->pending, list);
  }
}

static gboolean
gst_mcap_mux_write (GstMcapBase *base, const McapPart *parts, guint n_parts, GError **error)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  gsize size = 0, filled = 0;
  GstBuffer *buffer;
  GstMapInfo map;

  for (guint i = 0; i < n_parts; i++)
    size += parts[i].size;
  buffer = gst_buffer_new_allocate (NULL, size, NULL);
  if (buffer == NULL || !gst_buffer_map (buffer, &map, GST_MAP_WRITE)) {
    gst_clear_buffer (&buffer);
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED,
        "No memory for a chunk of %" G_GSIZE_FORMAT " bytes", size);
    return FALSE;
  }
  for (guint i = 0; i < n_parts; filled += parts[i++].size)
    memcpy (map.data + filled, parts[i].data, parts[i].size);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_OFFSET (buffer) = self->offset;
  GST_BUFFER_OFFSET_END (buffer) = self->offset += size;
  start_stream (self);
  queue_buffer (self, buffer);
  return TRUE;
}

static gboolean
gst_mcap_mux_prepare (GstMcapBase *base, guint64 log_time, guint64 size, GError **error)
{
  return gst_mcap_file_is_open (&gst_mcap_base_get_session (base)->file) ||
         gst_mcap_base_open (base, log_time, error);
}

static gboolean
gst_mcap_mux_end (GstMcapBase *base, gboolean eos, GError **error)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  GstMcapFile *file = &gst_mcap_base_get_session (base)->file;
  guint64 messages;

  if (!eos) {
    /* After an error, or on the way to READY, nothing can be pushed. */
    gst_mcap_file_discard (file);
    return TRUE;
  }
  /* A recording of nothing is a file as well. */
  if (!gst_mcap_file_is_open (file) && !gst_mcap_base_open (base, 0, error))
    return FALSE;
  if (!gst_mcap_file_finish (file, FALSE, &messages, error))
    return FALSE;
  GST_INFO_OBJECT (self,
      "stream finished: %" G_GUINT64_FORMAT " bytes, %" G_GUINT64_FORMAT " messages", self->offset,
      messages);
  queue_event (self, gst_event_new_eos (), gst_mcap_base_get_session (base)->origins.eos);
  return TRUE;
}

/* With the lock of the file. */
static void
restart (GstMcapMux *self)
{
  gst_mcap_file_discard (&gst_mcap_base_get_session (GST_MCAP_BASE (self))->file);
  g_queue_clear_full (&self->pending, (GDestroyNotify)gst_mini_object_unref);
  self->offset = 0;
  self->has_started = FALSE;
}

/* Pushing */

/* Waits until no other thread pushes. FALSE: @pad, if any, is flushing and must not wait. With the
 * lock held. */
static gboolean
take_turn (GstMcapMux *self, GstPad *pad)
{
  while (self->pushing && !(pad && GST_PAD_IS_FLUSHING (pad)))
    g_cond_wait (&self->cond, &self->lock);
  if (self->pushing)
    return FALSE;
  self->pushing = TRUE;
  return TRUE;
}

/* With the lock held. */
static void
give_turn (GstMcapMux *self)
{
  self->pushing = FALSE;
  g_cond_broadcast (&self->cond);
}

/* All that is pending, by the thread that has the turn. @any: whether there was something. */
static GstFlowReturn
push_pending (GstMcapMux *self, gboolean *any)
{
  GstFlowReturn flow = GST_FLOW_OK;

  *any = FALSE;
  for (;;) {
    GstMiniObject *item;

    gst_mcap_base_lock (GST_MCAP_BASE (self));
    item = g_queue_pop_head (&self->pending);
    gst_mcap_base_unlock (GST_MCAP_BASE (self));
    if (item == NULL)
      return flow;
    *any = TRUE;
    if (GST_IS_EVENT (item)) {
      gst_pad_push_event (self->srcpad, GST_EVENT (item));
    } else {
      const GstFlowReturn pushed = gst_pad_push_list (self->srcpad, GST_BUFFER_LIST (item));

      if (pushed != GST_FLOW_OK) {
        GST_DEBUG_OBJECT (self, "downstream says %s", gst_flow_get_name (pushed));
        flow = pushed;
      }
    }
  }
}

/* The threads of the inputs push what they wrote, one at a time and in order. A thread whose pad is
 * deactivated does not wait for one that blocks downstream. */
static GstFlowReturn
gst_mcap_mux_drain (GstMcapBase *base, GstPad *pad)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  gboolean waited, any, flushing;
  GstFlowReturn flow;

  g_mutex_lock (&self->lock);
  waited = self->pushing;
  if (!take_turn (self, pad)) {
    g_mutex_unlock (&self->lock);
    return GST_FLOW_FLUSHING;
  }
  g_mutex_unlock (&self->lock);

  flow = push_pending (self, &any);
  if (!any && GST_PAD_IS_FLUSHING (self->srcpad))
    flow = GST_FLOW_FLUSHING;

  g_mutex_lock (&self->lock);
  if (any)
    self->flow = flow;
  else if (waited && flow == GST_FLOW_OK)
    flow = self->flow; /* what was written here was pushed by the thread before */
  give_turn (self);
  flushing = self->flushing;
  g_mutex_unlock (&self->lock);
  /* FLUSHING from downstream while it is flushed is no result for an input that is not: its next
   * buffer waits for the end of the flush. */
  return flow == GST_FLOW_FLUSHING && flushing ? GST_FLOW_OK : flow;
}

/* Flushes */

static GstFlowReturn
gst_mcap_mux_wait (GstMcapBase *base, GstPad *pad)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  gboolean flushing;

  g_mutex_lock (&self->lock);
  while (!(flushing = GST_PAD_IS_FLUSHING (pad)) && self->flushing)
    g_cond_wait (&self->cond, &self->lock);
  g_mutex_unlock (&self->lock);
  return flushing ? GST_FLOW_FLUSHING : GST_FLOW_OK;
}

static void
send_flush (GstMcapMux *self, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START) {
    gst_pad_push_event (self->srcpad, event);
    return;
  }
  /* Nothing comes between the stop and the new beginning: what is pushed fails, as downstream is
   * flushing, and what follows waits for the stop. */
  g_mutex_lock (&self->lock);
  take_turn (self, NULL);
  g_mutex_unlock (&self->lock);
  gst_mcap_base_lock (GST_MCAP_BASE (self));
  restart (self);
  gst_mcap_base_unlock (GST_MCAP_BASE (self));
  gst_pad_push_event (self->srcpad, event);
  g_mutex_lock (&self->lock);
  self->flow = GST_FLOW_OK;
  give_turn (self);
  g_mutex_unlock (&self->lock);
}

/* Sends FLUSH_START when the first input begins to flush, and FLUSH_STOP when the last one has
 * stopped and no flushing seek is on its way to the inputs. */
static void
update_flush (GstMcapMux *self)
{
  g_mutex_lock (&self->lock);
  while (!self->sending) {
    const gboolean flush = self->n_flushing > 0 || (self->flushing && self->n_seeks > 0);
    GstEvent *event;

    if (flush == self->flushing)
      break;
    event = flush ? gst_event_new_flush_start () : gst_event_new_flush_stop (self->reset_time);
    gst_event_set_seqnum (event, self->flush_seqnum);
    self->flushing = self->sending = TRUE;
    g_mutex_unlock (&self->lock);
    send_flush (self, event);
    g_mutex_lock (&self->lock);
    self->sending = FALSE;
    self->flushing = flush;
  }
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
}

static gboolean
gst_mcap_mux_flush (GstMcapBase *base, GstPad *sinkpad, GstEvent *event)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  GstMcapPad *pad = GST_MCAP_PAD (sinkpad);
  const gboolean flushing = event && GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START;

  g_mutex_lock (&self->lock);
  if (flushing && !pad->flushing)
    self->n_flushing++;
  else if (!flushing && pad->flushing)
    self->n_flushing--;
  pad->flushing = flushing;
  if (event)
    self->flush_seqnum = gst_event_get_seqnum (event);
  if (event && !flushing)
    gst_event_parse_flush_stop (event, &self->reset_time);
  g_mutex_unlock (&self->lock);
  update_flush (self);
  return TRUE;
}

static gboolean
gst_mcap_mux_src_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstMcapMux *self = GST_MCAP_MUX (parent);
  const guint32 seqnum = gst_event_get_seqnum (event);
  GstSeekFlags flags;
  gboolean done;

  if (GST_EVENT_TYPE (event) != GST_EVENT_SEEK)
    return gst_pad_event_default (pad, parent, event);
  gst_event_parse_seek (event, NULL, NULL, &flags, NULL, NULL, NULL, NULL);
  g_mutex_lock (&self->lock);
  done = seqnum == self->seek_seqnum;
  if (!done && (flags & GST_SEEK_FLAG_FLUSH))
    self->n_seeks++;
  g_mutex_unlock (&self->lock);
  if (done) { /* by another sink behind this pad */
    gst_event_unref (event);
    return TRUE;
  }
  done = gst_pad_event_default (pad, parent, event);
  g_mutex_lock (&self->lock);
  if (flags & GST_SEEK_FLAG_FLUSH)
    self->n_seeks--;
  if (done)
    self->seek_seqnum = seqnum;
  g_mutex_unlock (&self->lock);
  update_flush (self);
  return done;
}

static gboolean
gst_mcap_mux_src_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  GstFormat format;

  if (GST_QUERY_TYPE (query) != GST_QUERY_SEEKING)
    return gst_pad_query_default (pad, parent, query);
  /* Bytes are made once; where the inputs can seek is asked for in their own format. */
  gst_query_parse_seeking (query, &format, NULL, NULL, NULL);
  if (format != GST_FORMAT_BYTES)
    return gst_pad_query_default (pad, parent, query);
  gst_query_set_seeking (query, format, FALSE, 0, -1);
  return TRUE;
}

static GstStateChangeReturn
gst_mcap_mux_change_state (GstElement *element, GstStateChange transition)
{
  GstMcapMux *self = GST_MCAP_MUX (element);
  GstStateChangeReturn result =
      GST_ELEMENT_CLASS (gst_mcap_mux_parent_class)->change_state (element, transition);

  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    gst_mcap_base_lock (GST_MCAP_BASE (self));
    restart (self);
    gst_mcap_base_unlock (GST_MCAP_BASE (self));
    g_mutex_lock (&self->lock);
    self->seek_seqnum = GST_SEQNUM_INVALID;
    g_mutex_unlock (&self->lock);
  }
  return result;
}

static void
gst_mcap_mux_finalize (GObject *object)
{
  GstMcapMux *self = GST_MCAP_MUX (object);

  g_queue_clear_full (&self->pending, (GDestroyNotify)gst_mini_object_unref);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->cond);
  G_OBJECT_CLASS (gst_mcap_mux_parent_class)->finalize (object);
}

static void
gst_mcap_mux_class_init (GstMcapMuxClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstMcapBaseClass *base_class = GST_MCAP_BASE_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_mcap_mux_finalize;
  element_class->change_state = gst_mcap_mux_change_state;
  GST_DEBUG_CATEGORY_INIT (gst_mcap_mux_debug, "mcapmux", 0, "MCAP muxer");
  base_class->category = gst_mcap_mux_debug;
  base_class->write = gst_mcap_mux_write;
  base_class->prepare = gst_mcap_mux_prepare;
  base_class->drain = gst_mcap_mux_drain;
  base_class->end = gst_mcap_mux_end;
  base_class->wait = gst_mcap_mux_wait;
  base_class->flush = gst_mcap_mux_flush;

  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "MCAP muxer", "Codec/Muxer",
      "Makes an MCAP stream of clouds, poses and other data", "The gst-ndt developers");
}

static void
gst_mcap_mux_init (GstMcapMux *self)
{
  self->srcpad = gst_pad_new_from_static_template (&src_template, "src");
  gst_pad_set_event_function (self->srcpad, gst_mcap_mux_src_event);
  gst_pad_set_query_function (self->srcpad, gst_mcap_mux_src_query);
  gst_pad_use_fixed_caps (self->srcpad);
  gst_element_add_pad (GST_ELEMENT (self), self->srcpad);
  g_queue_init (&self->pending);
  g_mutex_init (&self->lock);
  g_cond_init (&self->cond);
  self->reset_time = TRUE;
}
