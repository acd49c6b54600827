/* SPDX-License-Identifier: MIT */
#include "gstsinkevents.h"

static gboolean
is_flushing (GstElement *element)
{
  gboolean flushing = FALSE;

  GST_OBJECT_LOCK (element);
  for (GList *l = element->srcpads; l && !flushing; l = l->next)
    flushing = GST_PAD_IS_FLUSHING (l->data);
  GST_OBJECT_UNLOCK (element);
  return flushing;
}

/* What the pad's event function was, in the pad's event data. */
typedef struct {
  GstPadEventFunction function;
} Wrapped;

static GstFlowReturn
handle_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  const Wrapped *wrapped = pad->eventdata;
  const GstEventType type = GST_EVENT_TYPE (event);

  if (wrapped->function (pad, parent, event))
    return GST_FLOW_OK;
  if (is_flushing (GST_ELEMENT (parent)))
    return GST_FLOW_FLUSHING;
  /* As GStreamer makes it of a function that returns FALSE. */
  return type == GST_EVENT_CAPS ? GST_FLOW_NOT_NEGOTIATED : GST_FLOW_ERROR;
}

void
gst_sink_events_tell_flushing (GstPad *sinkpad)
{
  Wrapped *wrapped = g_new (Wrapped, 1);

  wrapped->function = GST_PAD_EVENTFUNC (sinkpad);
  gst_pad_set_event_full_function_full (sinkpad, handle_event, wrapped, g_free);
}
