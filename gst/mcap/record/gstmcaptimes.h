/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstmcappad.h"
#include "gstmcapsettings.h"

G_BEGIN_DECLS

/* Log times of a recording. */
typedef struct {
  GstMcapLogTime used; /* AUTO: not decided yet */
  gboolean has_offset;
  gint64 offset; /* time of day at running time 0, ns */
} GstMcapTimes;

/* What AUTO means for @pad: a query goes upstream, so that no lock may be held. */
GstMcapLogTime gst_mcap_times_decide (GstMcapLogTime wanted, GstPad *pad);
guint64 gst_mcap_times_get (
    GstMcapTimes *self, GstElement *element, GstMcapPad *pad, GstBuffer *buffer);

G_END_DECLS
