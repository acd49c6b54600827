/* SPDX-License-Identifier: MIT */
/* Where in what is played a scan lies: whether the vehicle can be followed there from the scan
 * before. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstNdtPlace:
 * @GST_NDT_PLACE_NEXT: it follows on
 * @GST_NDT_PLACE_ELSEWHERE: after a seek, or of another stream: the vehicle may be anywhere
 * @GST_NDT_PLACE_BEGINNING: so, but it lies where the element began, where initial-pose is of
 */
typedef enum {
  GST_NDT_PLACE_NEXT,
  GST_NDT_PLACE_ELSEWHERE,
  GST_NDT_PLACE_BEGINNING,
} GstNdtPlace;

/**
 * GstNdtPlayback:
 * @stream_id: as the last STREAM_START says, nullable
 * @is_flushed: time was reset by a flush since the last scan
 * @has_beginning: @first_id is known, and the stream times in nanoseconds from @begin, where the
 *   first segment begins, to @end, the first scan's
 * @has_scan: the others are those of the last scan
 *
 * Stream time is the time in a recording, whatever was played before. For the sink pad's streaming
 * thread.
 */
typedef struct {
  gchar *stream_id;
  gboolean is_flushed;

  gboolean has_beginning;
  gchar *first_id;
  gint64 begin;
  gint64 end;

  gboolean has_scan;
  gchar *scan_id;
  GstSegment scan_segment;
  gint64 scan_time;
  GstClockTime scan_duration;
} GstNdtPlayback;

/* To begin with, and to end. */
void gst_ndt_playback_reset (GstNdtPlayback *playback);
/* What has come. @segment is of TIME. */
void gst_ndt_playback_stream_start (GstNdtPlayback *playback, GstEvent *stream_start);
void gst_ndt_playback_segment (GstNdtPlayback *playback, const GstSegment *segment);
void gst_ndt_playback_flush (GstNdtPlayback *playback, gboolean reset_time);
/* @live: whether scans come from a live source. */
GstNdtPlace gst_ndt_playback_scan (
    GstNdtPlayback *playback, const GstSegment *segment, const GstBuffer *scan, gboolean live);

G_END_DECLS
