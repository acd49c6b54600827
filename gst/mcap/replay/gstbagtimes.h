/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/mcap/ros/bag-kinds.h"
#include "gstbagsettings.h"

G_BEGIN_DECLS

/* Which clock the time stamps of a recording's buffers are of. All of a run are on one axis: that
 * of the log times, or, where timestamps=header asks for it, that of the clouds' header stamps,
 * which then is the log times' moved by a constant. */
typedef struct {
  gboolean use_log; /* header stamps are not used at all */
  gboolean has_axis;
  gboolean wants_header;
  gint64 axis; /* ns, of the time stamps less the log times */
} GstBagTimes;

/* A header stamp that is further from the log time than this is of another clock. Stamps are taken
 * before the message is recorded, by the duration of a scan and what a driver and a network take:
 * below a second; results of slow programs by seconds. The nearest clocks that are told apart are
 * GPS and UTC, 18 s. */
#define GST_BAG_MAX_STAMP_DISTANCE (10 * GST_SECOND)

void gst_bag_times_init (GstBagTimes *self, GstBagTimestamps timestamps);
/* Decides on the axis by the first stamp of a topic of clouds, or of any where there are none of
 * clouds. TRUE where header stamps are of another clock than the log times. */
gboolean gst_bag_times_learn (GstBagTimes *self, BagKind kind, GstClockTime stamp, guint64 log);

/* The time of @log on the axis. */
GstClockTime gst_bag_times_from_log (const GstBagTimes *self, guint64 log);
/* The log time of @time, where messages from there on are looked for. */
guint64 gst_bag_times_to_log (const GstBagTimes *self, GstClockTime time);
/* Of a message with that header stamp (GST_CLOCK_TIME_NONE: it has none) and log time. */
GstClockTime gst_bag_times_get (const GstBagTimes *self, GstClockTime stamp, guint64 log);

G_END_DECLS
