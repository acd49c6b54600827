/* SPDX-License-Identifier: MIT */
/* Which frames of a stream of video are due with each scan. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstRenderTimes:
 * @fps_n: frames per second, numerator; 0: one frame a scan
 * @fps_d: denominator
 * @base: time of the first frame, GST_CLOCK_TIME_NONE: none was due yet
 * @n: frames since then
 *
 * Frames of a fixed rate begin with the first scan. A frame shows the newest scan that is not more
 * than half a frame later than it.
 */
typedef struct {
  gint fps_n;
  gint fps_d;
  GstClockTime base;
  guint64 n;
} GstRenderTimes;

typedef enum {
  GST_RENDER_BEFORE, /* a frame is due before the scan is shown */
  GST_RENDER_WITH,   /* a frame is due that shows the scan */
  GST_RENDER_NONE    /* no frame is due; one may be with the next scan */
} GstRenderDue;

/* Of another rate, and after a flush or a new segment: frames begin anew. */
void gst_render_times_reset (GstRenderTimes *times, gint fps_n, gint fps_d);
/* What is due with the scan at @pts; of a frame its time and duration, after which it is the next's
 * turn. Where scans are missing for more than a second no frames are made up: they begin anew, and
 * @is_discont is set. */
GstRenderDue gst_render_times_next (GstRenderTimes *times, GstClockTime pts, GstClockTime *time,
    GstClockTime *duration, gboolean *is_discont);

G_END_DECLS
