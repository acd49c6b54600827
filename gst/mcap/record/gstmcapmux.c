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
 * A flush of any input begins the stream anew: with its own header and indexes, for a sink that
 * starts over. Of inputs that a seek flushes, one after the other or at once, it is one flush, and
 * what the first has to say waits for the last.
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

#define GST_CAT_DEFAULT gst_mcap_base_debug

struct _GstMcapMux {
  GstMcapBase parent;

  GstPad *srcpad;

  /* under the source pad's stream lock */
  GstBufferList *pending;
  guint64 offset;
  gboolean has_started; /* stream-start, caps and segment are sent */

  /* Flushes, under the lock of their own. */
  GMutex flush_lock;
  GCond flush_cond;
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

/* As funnel does: what is pushed from several threads is pushed under this one. */
static GRecMutex *
gst_mcap_mux_get_lock (GstMcapBase *base)
{
  return GST_PAD_GET_STREAM_LOCK (GST_MCAP_MUX (base)->srcpad);
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
  gst_buffer_list_add (self->pending, buffer);
  return TRUE;
}

static gboolean
gst_mcap_mux_prepare (GstMcapBase *base, guint64 log_time, guint64 size, GError **error)
{
  return gst_mcap_base_get_writer (base) != NULL || gst_mcap_base_open (base, log_time, error);
}

static void
start_stream (GstMcapMux *self)
{
  g_autofree gchar *id = NULL;
  g_autoptr (GstCaps) caps = NULL;
  GstSegment segment;

  if (self->has_started)
    return;
  self->has_started = TRUE;
  /* Of several streams one is made, so that it has none's name. */
  id = g_strdup_printf ("mcap-%08x%08x", g_random_int (), g_random_int ());
  gst_pad_push_event (self->srcpad, gst_event_new_stream_start (id));
  caps = gst_pad_get_pad_template_caps (self->srcpad);
  gst_pad_push_event (self->srcpad, gst_event_new_caps (caps));
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  gst_pad_push_event (self->srcpad, gst_event_new_segment (&segment));
}

/* What downstream refuses because it is flushed is none of the input's that pushes: it goes on
 * after the flush. */
static GstFlowReturn
hide_flush (GstMcapMux *self, GstFlowReturn flow)
{
  gboolean flushing;

  g_mutex_lock (&self->flush_lock);
  flushing = self->flushing;
  g_mutex_unlock (&self->flush_lock);
  return flow == GST_FLOW_FLUSHING && flushing ? GST_FLOW_OK : flow;
}

static GstFlowReturn
gst_mcap_mux_drain (GstMcapBase *base)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  GstBufferList *pending = self->pending;

  if (gst_buffer_list_length (pending) == 0)
    return hide_flush (self, GST_PAD_IS_FLUSHING (self->srcpad) ? GST_FLOW_FLUSHING : GST_FLOW_OK);
  self->pending = gst_buffer_list_new ();
  start_stream (self);
  return hide_flush (self, gst_pad_push_list (self->srcpad, pending));
}

static gboolean
gst_mcap_mux_end (GstMcapBase *base, gboolean eos, GError **error)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  guint64 messages;
  gboolean ok = TRUE;

  if (!eos) {
    /* Nothing can be pushed any more. */
    gst_mcap_base_discard (base);
    return TRUE;
  }
  /* A recording of nothing is a file as well. */
  if (gst_mcap_base_get_writer (base) == NULL)
    ok = gst_mcap_base_open (base, 0, error);
  ok = ok && gst_mcap_base_finish (base, &messages, error);
  if (!ok)
    return FALSE;
  gst_mcap_mux_drain (base);
  gst_pad_push_event (self->srcpad, gst_event_new_eos ());
  return TRUE;
}

static void
restart (GstMcapMux *self)
{
  gst_mcap_base_discard (GST_MCAP_BASE (self));
  gst_buffer_list_unref (self->pending);
  self->pending = gst_buffer_list_new ();
  self->offset = 0;
  self->has_started = FALSE;
}

/* Flushes */

static GstFlowReturn
gst_mcap_mux_wait (GstMcapBase *base, GstPad *pad)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  gboolean flushing;

  g_mutex_lock (&self->flush_lock);
  while (!(flushing = GST_PAD_IS_FLUSHING (pad)) && self->flushing)
    g_cond_wait (&self->flush_cond, &self->flush_lock);
  g_mutex_unlock (&self->flush_lock);
  return flushing ? GST_FLOW_FLUSHING : GST_FLOW_OK;
}

static void
send_flush (GstMcapMux *self, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START) {
    gst_pad_push_event (self->srcpad, event);
    return;
  }
  /* Nothing comes between the stop and the new beginning; what is pushed has failed by now. */
  gst_mcap_base_lock (GST_MCAP_BASE (self));
  restart (self);
  gst_pad_push_event (self->srcpad, event);
  gst_mcap_base_unlock (GST_MCAP_BASE (self));
}

/* Downstream is flushed from the first input's start until the last one's stop, and a seek is
 * through with all inputs. */
static void
update_flush (GstMcapMux *self)
{
  g_mutex_lock (&self->flush_lock);
  while (!self->sending) {
    const gboolean flush = self->n_flushing > 0 || (self->flushing && self->n_seeks > 0);
    GstEvent *event;

    if (flush == self->flushing)
      break;
    event = flush ? gst_event_new_flush_start () : gst_event_new_flush_stop (self->reset_time);
    gst_event_set_seqnum (event, self->flush_seqnum);
    self->flushing = self->sending = TRUE;
    g_mutex_unlock (&self->flush_lock);
    send_flush (self, event);
    g_mutex_lock (&self->flush_lock);
    self->sending = FALSE;
    self->flushing = flush;
  }
  g_cond_broadcast (&self->flush_cond);
  g_mutex_unlock (&self->flush_lock);
}

static gboolean
gst_mcap_mux_flush (GstMcapBase *base, GstPad *sinkpad, GstEvent *event)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  GstMcapPad *pad = GST_MCAP_PAD (sinkpad);
  const gboolean flushing = event && GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START;

  g_mutex_lock (&self->flush_lock);
  if (flushing && !pad->flushing)
    self->n_flushing++;
  else if (!flushing && pad->flushing)
    self->n_flushing--;
  pad->flushing = flushing;
  if (event)
    self->flush_seqnum = gst_event_get_seqnum (event);
  if (event && !flushing)
    gst_event_parse_flush_stop (event, &self->reset_time);
  g_mutex_unlock (&self->flush_lock);
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
  g_mutex_lock (&self->flush_lock);
  done = seqnum == self->seek_seqnum;
  if (!done && (flags & GST_SEEK_FLAG_FLUSH))
    self->n_seeks++;
  g_mutex_unlock (&self->flush_lock);
  if (done) { /* by another sink behind this pad */
    gst_event_unref (event);
    return TRUE;
  }
  done = gst_pad_event_default (pad, parent, event);
  g_mutex_lock (&self->flush_lock);
  if (flags & GST_SEEK_FLAG_FLUSH)
    self->n_seeks--;
  if (done)
    self->seek_seqnum = seqnum;
  g_mutex_unlock (&self->flush_lock);
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
    g_mutex_lock (&self->flush_lock);
    self->seek_seqnum = GST_SEQNUM_INVALID;
    g_mutex_unlock (&self->flush_lock);
  }
  return result;
}

static void
gst_mcap_mux_finalize (GObject *object)
{
  GstMcapMux *self = GST_MCAP_MUX (object);

  gst_buffer_list_unref (self->pending);
  g_mutex_clear (&self->flush_lock);
  g_cond_clear (&self->flush_cond);
  G_OBJECT_CLASS (gst_mcap_mux_parent_class)->finalize (object);
}

static void
gst_mcap_mux_class_init (GstMcapMuxClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstMcapBaseClass *base_class = GST_MCAP_BASE_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_mcap_mux_finalize;
  element_class->change_state = gst_mcap_mux_change_state;
  base_class->write = gst_mcap_mux_write;
  base_class->prepare = gst_mcap_mux_prepare;
  base_class->drain = gst_mcap_mux_drain;
  base_class->end = gst_mcap_mux_end;
  base_class->get_lock = gst_mcap_mux_get_lock;
  base_class->wait = gst_mcap_mux_wait;
  base_class->flush = gst_mcap_mux_flush;

  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "MCAP muxer", "Codec/Muxer",
      "Makes an MCAP stream of clouds, poses and other data", "gst-ndt authors");
}

static void
gst_mcap_mux_init (GstMcapMux *self)
{
  self->srcpad = gst_pad_new_from_static_template (&src_template, "src");
  gst_pad_set_event_function (self->srcpad, gst_mcap_mux_src_event);
  gst_pad_set_query_function (self->srcpad, gst_mcap_mux_src_query);
  gst_pad_use_fixed_caps (self->srcpad);
  gst_element_add_pad (GST_ELEMENT (self), self->srcpad);
  self->pending = gst_buffer_list_new ();
  g_mutex_init (&self->flush_lock);
  g_cond_init (&self->flush_cond);
  self->reset_time = TRUE;
}
