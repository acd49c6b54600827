/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* Sequence numbers and the group of the events that came last on any input, for what is made of
 * them. */
typedef struct {
  guint32 stream_start; /* GST_SEQNUM_INVALID: none came */
  guint32 segment;
  guint32 eos;
  guint group_id; /* GST_GROUP_ID_INVALID: the inputs have none, or not all the same */
  gboolean differ;
} GstMcapOrigins;

void gst_mcap_origins_init (GstMcapOrigins *self);
/* TRUE: @event is the first STREAM_START, or of another group than those before it. */
gboolean gst_mcap_origins_take_stream_start (GstMcapOrigins *self, GstEvent *event);

G_END_DECLS
