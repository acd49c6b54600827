/* SPDX-License-Identifier: MIT */
#include "gstbagtimes.h"

#include "gst/mcap/write/gstmcapstamps.h"

static GstClockTime
add (guint64 time, gint64 offset)
{
  time = MIN (time, (guint64)G_MAXINT64);
  if (offset < 0)
    return time > (guint64)-offset ? time - (guint64)-offset : 0;
  return MIN (time + (guint64)offset, (guint64)G_MAXINT64);
}

static gint64
to_signed (guint64 time)
{
  return (gint64)MIN (time, (guint64)G_MAXINT64);
}

static gboolean
is_near (GstClockTime a, GstClockTime b)
{
  return MAX (a, b) - MIN (a, b) <= (GstClockTime)GST_MCAP_MAX_STAMP_DISTANCE;
}

void
gst_bag_times_init (GstBagTimes *self, GstBagTimestamps timestamps)
{
  *self = (GstBagTimes){.use_log = timestamps == GST_BAG_TIMESTAMPS_LOG,
      .wants_header = timestamps == GST_BAG_TIMESTAMPS_HEADER};
}

gboolean
gst_bag_times_learn (GstBagTimes *self, BagKind kind, GstClockTime stamp, guint64 log)
{
  const gboolean is_cloud = kind == BAG_KIND_CLOUD;
  if (!GST_CLOCK_TIME_IS_VALID (stamp))
    return FALSE;
  const gboolean is_other = !self->has_no_log && !is_near (stamp, log);
  if (self->has_no_log) {
    if (!self->has_axis && (is_cloud || self->axis == 0))
      self->axis = to_signed (stamp) - to_signed (log);
    self->has_axis |= is_cloud;
  } else if (self->wants_header && !self->has_axis && (is_cloud || is_other)) {
    self->has_axis = is_cloud;
    self->axis = is_other ? to_signed (stamp) - to_signed (log) : 0;
  } else if (!self->wants_header && is_cloud && is_other) {
    /* Poses by another clock would not be found for the clouds. */
    self->use_log = TRUE;
  }
  return is_other;
}

void
gst_bag_times_ignore_log (GstBagTimes *self)
{
  self->has_no_log = !self->use_log;
}

GstClockTime
gst_bag_times_from_log (const GstBagTimes *self, guint64 log)
{
  return add (log, self->axis);
}

guint64
gst_bag_times_to_log (const GstBagTimes *self, GstClockTime time)
{
  return add (time, -self->axis);
}

GstClockTime
gst_bag_times_get (const GstBagTimes *self, GstClockTime stamp, guint64 log)
{
  const GstClockTime logged = gst_bag_times_from_log (self, log);
  if (self->use_log || !GST_CLOCK_TIME_IS_VALID (stamp) ||
      (!self->has_no_log && !is_near (stamp, logged)))
    return logged;
  return stamp;
}
