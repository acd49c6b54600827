/* SPDX-License-Identifier: MIT */
#include "gstndtplace.h"

/* A scan that comes at most so long after the one before has ended follows on: what a flush or a
 * switch may lose. Constant velocity bridges it. */
#define MAX_GAP GST_SECOND

void
gst_ndt_playback_reset (GstNdtPlayback *playback)
{
  g_free (playback->stream_id);
  g_free (playback->first_id);
  g_free (playback->scan_id);
  *playback = (GstNdtPlayback){0};
}

void
gst_ndt_playback_stream_start (GstNdtPlayback *playback, GstEvent *stream_start)
{
  const gchar *id;
  gst_event_parse_stream_start (stream_start, &id);
  g_free (playback->stream_id);
  playback->stream_id = g_strdup (id);
}

/* FALSE where it has none. */
static gboolean
get_stream_time (const GstSegment *segment, GstClockTime time, gint64 *stream_time)
{
  guint64 magnitude;
  if (segment->format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID (time))
    return FALSE;
  const gint sign = gst_segment_to_stream_time_full (segment, GST_FORMAT_TIME, time, &magnitude);
  if (sign == 0 || magnitude > G_MAXINT64)
    return FALSE;
  *stream_time = sign * (gint64)magnitude;
  return TRUE;
}

void
gst_ndt_playback_segment (GstNdtPlayback *playback, const GstSegment *segment)
{
  /* Before a scan has come only a flush ends what has begun. */
  if (playback->has_scan || (playback->has_beginning && playback->is_flushed) ||
      !get_stream_time (
          segment, segment->rate > 0 ? segment->start : segment->stop, &playback->begin))
    return;
  playback->has_beginning = TRUE;
  g_free (playback->first_id);
  playback->first_id = g_strdup (playback->stream_id);
  playback->end = playback->begin;
}

void
gst_ndt_playback_flush (GstNdtPlayback *playback, gboolean reset_time)
{
  playback->is_flushed |= reset_time;
}

static gboolean
are_equal (const GstSegment *a, const GstSegment *b)
{
  return a->rate == b->rate && a->applied_rate == b->applied_rate && a->base == b->base &&
         a->offset == b->offset && a->start == b->start && a->time == b->time;
}

static gboolean
follows_on (const GstNdtPlayback *playback, const GstSegment *segment, gint64 time, gboolean live)
{
  if (g_strcmp0 (playback->stream_id, playback->scan_id) != 0)
    return FALSE;
  /* A live source has but one place to go on from, however its times begin anew. */
  if (are_equal (segment, &playback->scan_segment) && (live || !playback->is_flushed))
    return TRUE;
  const gint64 gap = segment->rate > 0 ? time - playback->scan_time : playback->scan_time - time;
  return gap > 0 && (guint64)gap <= MAX_GAP + playback->scan_duration;
}

static gboolean
is_beginning (const GstNdtPlayback *playback, gint64 time, GstClockTime duration)
{
  return playback->has_beginning && g_strcmp0 (playback->stream_id, playback->first_id) == 0 &&
         time >= MIN (playback->begin, playback->end) &&
         time <= MAX (playback->begin, playback->end) + (gint64)duration;
}

GstNdtPlace
gst_ndt_playback_scan (
    GstNdtPlayback *playback, const GstSegment *segment, const GstBuffer *scan, gboolean live)
{
  const GstClockTime duration =
      GST_BUFFER_DURATION_IS_VALID (scan) ? GST_BUFFER_DURATION (scan) : 0;
  gint64 time;

  if (!get_stream_time (segment, GST_BUFFER_PTS (scan), &time))
    return GST_NDT_PLACE_NEXT;
  GstNdtPlace place = GST_NDT_PLACE_NEXT;
  if (!playback->has_scan && !playback->is_flushed)
    playback->end = time;
  else if (!playback->has_scan || !follows_on (playback, segment, time, live))
    place =
        is_beginning (playback, time, duration) ? GST_NDT_PLACE_BEGINNING : GST_NDT_PLACE_ELSEWHERE;

  if (g_strcmp0 (playback->scan_id, playback->stream_id) != 0) {
    g_free (playback->scan_id);
    playback->scan_id = g_strdup (playback->stream_id);
  }
  playback->has_scan = TRUE;
  playback->is_flushed = FALSE;
  playback->scan_segment = *segment;
  playback->scan_time = time;
  playback->scan_duration = duration;
  return place;
}
