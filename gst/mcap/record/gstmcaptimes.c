/* SPDX-License-Identifier: MIT */
#include "gstmcaptimes.h"

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
get_offset (GstElement *element, GstClockTime running)
{
  gint64 now = g_get_real_time () * 1000;
  GstClockTime elapsed = gst_element_get_current_running_time (element);

  return now - (gint64)(GST_CLOCK_TIME_IS_VALID (elapsed) ? elapsed : running);
}

guint64
gst_mcap_times_get (GstMcapTimes *self, GstElement *element, GstMcapPad *pad, GstBuffer *buffer)
{
  const GstSegment *segment =
      pad->timer ? gst_point_cloud_timer_get_segment (pad->timer) : &pad->segment;
  GstClockTime time = GST_BUFFER_PTS (buffer);
  GstClockTime running = GST_CLOCK_TIME_NONE;

  if (!GST_CLOCK_TIME_IS_VALID (time))
    time = GST_BUFFER_DTS (buffer);
  /* Without a stamp: with the buffer before it. */
  if (self->used == GST_MCAP_LOG_TIME_PTS)
    return GST_CLOCK_TIME_IS_VALID (time) ? time : pad->last_time;

  if (GST_CLOCK_TIME_IS_VALID (time) && segment->format == GST_FORMAT_TIME)
    running = gst_segment_to_running_time (segment, GST_FORMAT_TIME, time);
  if (!GST_CLOCK_TIME_IS_VALID (running))
    return g_get_real_time () * 1000;
  if (!self->has_offset) {
    self->offset = get_offset (element, running);
    self->has_offset = TRUE;
  }
  return MAX (self->offset + (gint64)running, 0);
}
