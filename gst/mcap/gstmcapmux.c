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
 * A flush begins the stream anew: with its own header and indexes, for a sink that starts over.
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

#include "mcap-format.h"

#define GST_CAT_DEFAULT gst_mcap_base_debug

struct _GstMcapMux {
  GstMcapBase parent;

  GstPad *srcpad;

  /* under the source pad's stream lock */
  GstBufferList *pending;
  guint64 offset;
  gboolean has_started; /* stream-start, caps and segment are sent */
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

static GstFlowReturn
gst_mcap_mux_drain (GstMcapBase *base)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  GstBufferList *pending = self->pending;

  if (gst_buffer_list_length (pending) == 0)
    return GST_PAD_IS_FLUSHING (self->srcpad) ? GST_FLOW_FLUSHING : GST_FLOW_OK;
  self->pending = gst_buffer_list_new ();
  start_stream (self);
  return gst_pad_push_list (self->srcpad, pending);
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

static GstFlowReturn
gst_mcap_mux_wait (GstMcapBase *base, GstPad *pad)
{
  return GST_FLOW_OK;
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

static gboolean
gst_mcap_mux_flush (GstMcapBase *base, GstPad *pad, GstEvent *event)
{
  GstMcapMux *self = GST_MCAP_MUX (base);
  gboolean ok;

  if (event == NULL)
    return TRUE;
  if (GST_EVENT_TYPE (event) != GST_EVENT_FLUSH_STOP)
    return gst_pad_push_event (self->srcpad, gst_event_ref (event));
  /* Of inputs that are flushed together the first one's stop is all of them's. */
  if (!GST_PAD_IS_FLUSHING (self->srcpad))
    return TRUE;
  /* Nothing comes between the stop and the new beginning; what is pushed has failed by now. */
  gst_mcap_base_lock (base);
  restart (self);
  ok = gst_pad_push_event (self->srcpad, gst_event_ref (event));
  gst_mcap_base_unlock (base);
  return ok;
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
  }
  return result;
}

static void
gst_mcap_mux_finalize (GObject *object)
{
  gst_buffer_list_unref (GST_MCAP_MUX (object)->pending);
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
  gst_pad_set_query_function (self->srcpad, gst_mcap_mux_src_query);
  gst_pad_use_fixed_caps (self->srcpad);
  gst_element_add_pad (GST_ELEMENT (self), self->srcpad);
  self->pending = gst_buffer_list_new ();
}
