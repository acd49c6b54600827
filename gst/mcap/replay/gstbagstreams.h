/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/mcap/container/mcap-records.h"
#include "gst/mcap/ros/bag-channels.h"
#include "gstbagsettings.h"

G_BEGIN_DECLS

/* The pads of rosbagsrc and mcapdemux: one for each topic of a recording, and what goes out there.
 * For the streaming thread, but for properties. */

/* Caps of the GstReferenceTimestampMeta of a message as it stands, where it was published at
 * another time than it was logged. BUFFER_OFFSET is its sequence number. */
#define GST_BAG_PUBLISH_CAPS "timestamp/x-mcap-publish-time"

/* Pads of what is no message. */
#define GST_BAG_ATTACHMENTS_PAD "attachments"
#define GST_BAG_METADATA_PAD "metadata"

typedef struct _GstBagStreams GstBagStreams;

/* Pads have these functions for events and queries. @settings are copied. */
GstBagStreams *gst_bag_streams_new (GstElement *element, const GstBagSettings *settings,
    GstPadEventFunction event, GstPadQueryFunction query);
/* Takes the pads off the element. */
void gst_bag_streams_free (GstBagStreams *self);

/* Makes the channel's pad, unless it is not wanted or is there. */
void gst_bag_streams_add_channel (GstBagStreams *self, const BagChannel *channel);
/* The time that a message goes out with. */
GstClockTime gst_bag_streams_get_time (GstBagStreams *self, const BagMessage *message);
/* The segment that goes out before the next buffers. */
void gst_bag_streams_set_segment (GstBagStreams *self, const GstSegment *segment, guint32 seqnum);
GstFlowReturn gst_bag_streams_push (GstBagStreams *self, const BagMessage *message);
/* The pad of attachments or metadata records (MCAP's opcode), where `raw` asks for them. */
void gst_bag_streams_add_record_pad (GstBagStreams *self, guint8 opcode);
/* An attachment or a metadata record, which goes out where `raw` asks for it: at once, but not
 * before there is another pad, so that what is linked first is one of messages. */
GstFlowReturn gst_bag_streams_push_record (GstBagStreams *self, guint8 opcode, McapCursor *content);
/* Those that wait for another pad. */
GstFlowReturn gst_bag_streams_push_records (GstBagStreams *self);
gboolean gst_bag_streams_has_pads (const GstBagStreams *self);
/* To all pads; takes the event. From any thread. */
gboolean gst_bag_streams_push_event (GstBagStreams *self, GstEvent *event);
/* When all pads are there: posts an error, and is TRUE, where nothing was wanted of what there is,
 * or nothing is linked, nor blocked by somebody who links it later. Nobody would learn of the end
 * otherwise. */
gboolean gst_bag_streams_fail_unheard (GstBagStreams *self);
void gst_bag_streams_reset_flow (GstBagStreams *self);
guint64 gst_bag_streams_get_n_damaged (GstBagStreams *self);

G_END_DECLS
