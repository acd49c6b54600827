/* SPDX-License-Identifier: MIT */
#include "gstrendertimes.h"

#define MAX_GAP GST_SECOND

void
gst_render_times_reset (GstRenderTimes *times, gint fps_n, gint fps_d)
{
  times->fps_n = fps_n;
  times->fps_d = fps_d;
  times->base = GST_CLOCK_TIME_NONE;
  times->n = 0;
}

static GstClockTime
time_of (const GstRenderTimes *times, guint64 n)
{
  return times->base +
         gst_util_uint64_scale (n, (guint64)times->fps_d * GST_SECOND, (guint64)times->fps_n);
}

GstRenderDue
gst_render_times_next (GstRenderTimes *times, GstClockTime pts, GstClockTime *time,
    GstClockTime *duration, gboolean *is_discont)
{
  *is_discont = FALSE;
  if (times->fps_n == 0) {
    *time = pts;
    *duration = GST_CLOCK_TIME_NONE;
    return GST_RENDER_WITH;
  }
  if (!GST_CLOCK_TIME_IS_VALID (times->base) || pts > time_of (times, times->n) + MAX_GAP ||
      pts + MAX_GAP < time_of (times, times->n)) {
    *is_discont = GST_CLOCK_TIME_IS_VALID (times->base);
    times->base = pts;
    times->n = 0;
  }
  *time = time_of (times, times->n);
  *duration = time_of (times, times->n + 1) - *time;
  if (*time > pts + *duration / 2)
    return GST_RENDER_NONE;
  times->n++;
  return *time + *duration / 2 < pts ? GST_RENDER_BEFORE : GST_RENDER_WITH;
}
