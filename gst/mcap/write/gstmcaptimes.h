/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstmcappad.h"
#include "gstmcapsettings.h"

G_BEGIN_DECLS

/* Log times of a recording. */
typedef struct {
  GstMcapLogTime used; /* AUTO: not decided yet */
  gboolean is_exact;   /* PTS as they are, whatever axis header stamps are on */
  gboolean has_offset;
  gint64 offset;          /* ns: of CLOCK, time of day at running time 0; of PTS, added to it */
  GstClockTime base_time; /* of the element, that the offset of CLOCK is for */
  GQueue waiting;         /* buffers that came before the offset of PTS was decided */
  gsize waiting_bytes;
} GstMcapTimes;

void gst_mcap_times_init (GstMcapTimes *self);
/* As at first; frees what waits. */
void gst_mcap_times_reset (GstMcapTimes *self);

/* What AUTO means for @pad: a query goes upstream, so that no lock may be held. */
GstMcapLogTime gst_mcap_times_decide (GstMcapLogTime wanted, GstPad *pad);

/* PTS may count from anywhere. Where buffers say what time of day they are of, an offset moves all
 * PTS of a recording to times of day, so that log times and header stamps are on one axis. It is
 * decided by the first buffer with a time of day, or by the first cloud; what comes before it
 * waits, a few buffers at most. */

/* Keeps @buffer of @pad until then: TRUE. @has_clouds: there are inputs that a cloud may come on.
 */
gboolean gst_mcap_times_hold (
    GstMcapTimes *self, GstMcapPad *pad, GstBuffer *buffer, gboolean has_clouds);
/* Decides on the offset, if that is not done yet, by @buffer (NULL: it is 0). */
void gst_mcap_times_fix (GstMcapTimes *self, GstBuffer *buffer);
/* The first that waits; both are the caller's. */
gboolean gst_mcap_times_take (GstMcapTimes *self, GstMcapPad **pad, GstBuffer **buffer);
/* Whether something waits, of @pad (NULL: of any). */
gboolean gst_mcap_times_is_waiting (const GstMcapTimes *self, const GstMcapPad *pad);
/* Forgets what waits of @pad. */
void gst_mcap_times_forget (GstMcapTimes *self, GstMcapPad *pad);

/* The log time of @buffer, ns. CLOCK: the time of day of its running time. PTS: see above. */
guint64 gst_mcap_times_get (
    GstMcapTimes *self, GstElement *element, GstMcapPad *pad, GstBuffer *buffer);

G_END_DECLS
