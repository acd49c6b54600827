/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/mcap/bag/bag-kinds.h"
#include "gstbagsettings.h"

G_BEGIN_DECLS

/* The axis of a run's time stamps: that of the log times, or with timestamps=header that of the
 * clouds' header stamps, which is the log times moved by a constant. */
typedef struct {
  gboolean use_log;    /* header stamps are not used at all */
  gboolean has_no_log; /* log times say nothing; only header stamps do */
  gboolean has_axis;
  gboolean wants_header;
  gint64 axis; /* ns, of the time stamps less the log times */
} GstBagTimes;

void gst_bag_times_init (GstBagTimes *self, GstBagTimestamps timestamps);
/* Decides the axis by the first stamp of a topic; clouds have precedence. Returns TRUE where the
 * stamp is of another clock than the log time. */
gboolean gst_bag_times_learn (GstBagTimes *self, BagKind kind, GstClockTime stamp, guint64 log);

/* Of a recording all of whose log times are the same, as some writers leave them: header stamps are
 * the only times. */
void gst_bag_times_ignore_log (GstBagTimes *self);

/* The time of @log on the axis. */
GstClockTime gst_bag_times_from_log (const GstBagTimes *self, guint64 log);
/* The log time of @time, where messages from there on are looked for. */
guint64 gst_bag_times_to_log (const GstBagTimes *self, GstClockTime time);
/* Of a message with that header stamp (GST_CLOCK_TIME_NONE: it has none) and log time. */
GstClockTime gst_bag_times_get (const GstBagTimes *self, GstClockTime stamp, guint64 log);

G_END_DECLS
