/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* Header stamps: the sensor's clock as the time of day.
 *
 * A buffer has the sensor's time in a GstReferenceTimestampMeta whose caps name the clock's epoch:
 * timestamp/x-unix, x-ntp, x-ptp, and timestamp/x-lidar with the field epoch (unix, utc, ntp, ptp,
 * tai, gps, hour; anything else counts from an instant that nobody knows). timestamp/x-unix with
 * source=arrival is the time of day at which it was captured. */

/* Log times and stamps from here on are times of day, ns: 2000-01-01. */
#define GST_MCAP_EARLIEST_TIME_OF_DAY (G_GINT64_CONSTANT (946684800) * (gint64)GST_SECOND)

/* A header stamp farther from the log time than this, ns, is of another clock; recording and replay
 * have the same limit. Stamps precede log times by the duration of a scan and the delays of a
 * driver and a network, below 1 s; results of slow programs by seconds. The nearest two clocks, GPS
 * and UTC, are 18 s apart. */
#define GST_MCAP_MAX_STAMP_DISTANCE ((gint64)(10 * GST_SECOND))

/* Times of others are anything: sums and differences end at the ends of their type. */
static inline gint64
gst_mcap_time_add (gint64 a, gint64 b)
{
  gint64 sum;

  if (__builtin_add_overflow (a, b, &sum))
    return b > 0 ? G_MAXINT64 : G_MININT64;
  return sum;
}

static inline gint64
gst_mcap_time_subtract (gint64 a, gint64 b)
{
  gint64 difference;

  if (__builtin_sub_overflow (a, b, &difference))
    return b < 0 ? G_MAXINT64 : G_MININT64;
  return difference;
}

/* Of GStreamer's type, which is valid. */
static inline gint64
gst_mcap_time_from_clock (GstClockTime time)
{
  return (gint64)MIN (time, (GstClockTime)G_MAXINT64);
}

typedef enum {
  GST_MCAP_HEADER_STAMP_SENSOR,
  GST_MCAP_HEADER_STAMP_CAPTURE,
  GST_MCAP_HEADER_STAMP_LOG,
} GstMcapHeaderStamp;

/* What was found out about the clock of a stream. All zeros at first. */
typedef struct {
  gboolean has_offset;
  gint64 offset; /* ns, of the axis of log times to the sensor's clock */
} GstMcapClock;

typedef enum {
  GST_MCAP_STAMP_AS_IT_IS,
  GST_MCAP_STAMP_UNKNOWN_EPOCH, /* the offset was fixed: the clock counts from anywhere */
  GST_MCAP_STAMP_WRONG_CLOCK,   /* as well: it should be the time of day and is not */
  GST_MCAP_STAMP_JUMPED,        /* it was fixed anew */
} GstMcapStampNews;

/* The header stamp of @buffer, on the axis of @log_time: the sensor's time, where its epoch is
 * known; one of the hour is resolved by the time of capture or @log_time. Otherwise, and where it
 * is further than GST_MCAP_MAX_STAMP_DISTANCE from @log_time, the sensor's time moved by an offset
 * that is fixed with the first such buffer. @apart: log times are no times of day and a stamp that
 * is one stays. @news: what became of the clock with this one. */
gint64 gst_mcap_stamp_get (GstMcapClock *clock, GstBuffer *buffer, GstMcapHeaderStamp wanted,
    guint64 log_time, gboolean apart, GstMcapStampNews *news);

/* What to tell of @news (one of those with an offset), of a clock that is on @input. */
gchar *gst_mcap_stamp_describe (
    const GstMcapClock *clock, GstMcapStampNews news, const gchar *input);

/* The time of day at @buffer's PTS: that of its capture or of its sensor. FALSE: it says none. */
gboolean gst_mcap_stamp_get_time_of_day (GstBuffer *buffer, gint64 *time);

G_END_DECLS
