/* SPDX-License-Identifier: MIT */
#include "gstmcaptimes.h"

#include <string.h>

#include "gstmcapstamps.h"

static gboolean
is_live (GstPad *pad)
{
  GstQuery *query = gst_query_new_latency ();
  gboolean live = FALSE;

  if (gst_pad_peer_query (pad, query))
    gst_query_parse_latency (query, &live, NULL, NULL);
  gst_query_unref (query);
  return live;
}

GstMcapLogTime
gst_mcap_times_decide (GstMcapLogTime wanted, GstPad *pad)
{
  if (wanted != GST_MCAP_LOG_TIME_AUTO)
    return wanted;
  return is_live (pad) ? GST_MCAP_LOG_TIME_CLOCK : GST_MCAP_LOG_TIME_PTS;
}

/* Where no clock runs yet @running is now. */
static gint64
get_clock_offset (GstElement *element, GstClockTime running)
{
  const gint64 now = g_get_real_time () * 1000;
  const GstClockTime elapsed = gst_element_get_current_running_time (element);

  return gst_mcap_time_subtract (
      now, gst_mcap_time_from_clock (GST_CLOCK_TIME_IS_VALID (elapsed) ? elapsed : running));
}

static guint64
get_clock_time (
    GstMcapTimes *self, GstElement *element, const GstSegment *segment, GstClockTime time)
{
  const GstClockTime base_time = gst_element_get_base_time (element);
  GstClockTime running = GST_CLOCK_TIME_NONE;

  if (GST_CLOCK_TIME_IS_VALID (time) && segment->format == GST_FORMAT_TIME)
    running = gst_segment_to_running_time (segment, GST_FORMAT_TIME, time);
  if (!GST_CLOCK_TIME_IS_VALID (running))
    return g_get_real_time () * 1000;
  /* Running time stands still in PAUSED, and begins anew with a flush: the base time changes. */
  if (!self->has_offset || self->base_time != base_time) {
    self->offset = get_clock_offset (element, running);
    self->base_time = base_time;
    self->has_offset = TRUE;
  }
  return (guint64)MAX (gst_mcap_time_add (self->offset, gst_mcap_time_from_clock (running)), 0);
}

static guint64
get_pts_time (GstMcapTimes *self, GstMcapPad *pad, GstClockTime time)
{
  /* Without a stamp: with the buffer before it. */
  if (!GST_CLOCK_TIME_IS_VALID (time))
    return pad->last_time;
  return (guint64)MAX (gst_mcap_time_add (self->offset, gst_mcap_time_from_clock (time)), 0);
}

static GstClockTime
get_time (GstBuffer *buffer)
{
  return GST_BUFFER_PTS_IS_VALID (buffer) ? GST_BUFFER_PTS (buffer) : GST_BUFFER_DTS (buffer);
}

guint64
gst_mcap_times_get (GstMcapTimes *self, GstElement *element, GstMcapPad *pad, GstBuffer *buffer)
{
  const GstClockTime time = get_time (buffer);

  return self->used == GST_MCAP_LOG_TIME_PTS ? get_pts_time (self, pad, time)
                                             : get_clock_time (self, element, &pad->segment, time);
}

/* The offset of PTS */

/* What waits at most: sources that are not live are in step within the queues of a pipeline. */
#define MAX_WAITING 64
#define MAX_WAITING_BYTES (16u << 20)

typedef struct {
  GstMcapPad *pad;
  GstBuffer *buffer;
} Waiting;

static void
free_waiting (gpointer data)
{
  Waiting *waiting = data;

  gst_object_unref (waiting->pad);
  gst_buffer_unref (waiting->buffer);
  g_free (waiting);
}

void
gst_mcap_times_init (GstMcapTimes *self)
{
  memset (self, 0, sizeof *self);
  g_queue_init (&self->waiting);
}

void
gst_mcap_times_reset (GstMcapTimes *self)
{
  g_queue_clear_full (&self->waiting, free_waiting);
  gst_mcap_times_init (self);
}

gboolean
gst_mcap_times_hold (GstMcapTimes *self, GstMcapPad *pad, GstBuffer *buffer, gboolean has_clouds)
{
  const gsize size = gst_buffer_get_size (buffer);
  gint64 time_of_day;
  Waiting *waiting;

  if (self->used != GST_MCAP_LOG_TIME_PTS || self->has_offset || !has_clouds ||
      pad->kind == GST_MCAP_PAD_CLOUD || pad->is_attachment || pad->is_metadata ||
      gst_mcap_stamp_get_time_of_day (buffer, &time_of_day))
    return FALSE;
  if (self->waiting.length >= MAX_WAITING || self->waiting_bytes + size > MAX_WAITING_BYTES)
    return FALSE;
  waiting = g_new (Waiting, 1);
  waiting->pad = gst_object_ref (pad);
  waiting->buffer = gst_buffer_ref (buffer);
  g_queue_push_tail (&self->waiting, waiting);
  self->waiting_bytes += size;
  return TRUE;
}

void
gst_mcap_times_fix (GstMcapTimes *self, GstBuffer *buffer)
{
  gint64 time_of_day;

  if (self->used != GST_MCAP_LOG_TIME_PTS || self->has_offset)
    return;
  self->has_offset = TRUE;
  if (!buffer || !GST_CLOCK_TIME_IS_VALID (get_time (buffer)) ||
      !gst_mcap_stamp_get_time_of_day (buffer, &time_of_day))
    return;
  self->offset = gst_mcap_time_subtract (time_of_day, gst_mcap_time_from_clock (get_time (buffer)));
  if (self->offset >= -GST_MCAP_MAX_STAMP_DISTANCE && self->offset <= GST_MCAP_MAX_STAMP_DISTANCE)
    self->offset = 0;
}

gboolean
gst_mcap_times_take (GstMcapTimes *self, GstMcapPad **pad, GstBuffer **buffer)
{
  Waiting *waiting = g_queue_pop_head (&self->waiting);

  if (waiting == NULL)
    return FALSE;
  *pad = waiting->pad;
  *buffer = waiting->buffer;
  self->waiting_bytes -= gst_buffer_get_size (waiting->buffer);
  g_free (waiting);
  return TRUE;
}

gboolean
gst_mcap_times_is_waiting (const GstMcapTimes *self, const GstMcapPad *pad)
{
  for (GList *l = self->waiting.head; l; l = l->next)
    if (pad == NULL || ((Waiting *)l->data)->pad == pad)
      return TRUE;
  return FALSE;
}

void
gst_mcap_times_forget (GstMcapTimes *self, GstMcapPad *pad)
{
  for (GList *l = self->waiting.head, *next; l; l = next) {
    Waiting *waiting = l->data;

    next = l->next;
    if (waiting->pad != pad)
      continue;
    self->waiting_bytes -= gst_buffer_get_size (waiting->buffer);
    free_waiting (waiting);
    g_queue_delete_link (&self->waiting, l);
  }
}
