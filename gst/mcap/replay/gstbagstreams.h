/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/mcap/container/mcap-records.h"
#include "gst/mcap/ros/bag-topics.h"
#include "gstbagtimes.h"

G_BEGIN_DECLS

/* The pads of rosbagsrc and mcapdemux: one for each topic of a recording, and what goes out there.
 * For the streaming thread, but for properties. */

/* Caps of the GstReferenceTimestampMeta of a message as it stands, where it was published at
 * another time than it was logged. BUFFER_OFFSET is its sequence number. */
#define GST_BAG_PUBLISH_CAPS MCAP_PUBLISH_TIME_CAPS

/* Pads of what is no message. */
#define GST_BAG_ATTACHMENTS_PAD "attachments"
#define GST_BAG_METADATA_PAD "metadata"

typedef struct _GstBagStreams GstBagStreams;

/* Pads have these functions for events and queries. @settings are copied. */
GstBagStreams *gst_bag_streams_new (GstElement *element, const GstBagSettings *settings,
    GstPadEventFunction event, GstPadQueryFunction query);
/* Takes the pads off the element. */
void gst_bag_streams_free (GstBagStreams *self);

/* Learns of a channel; its pad waits for gst_bag_streams_add_pads(). */
void gst_bag_streams_add_channel (GstBagStreams *self, const BagChannel *channel);
/* Learns from a message that is looked at before it is sent: the clock of its topic's stamps, and a
 * cloud's caps. Returns its header stamp. */
GstClockTime gst_bag_streams_look_at (GstBagStreams *self, const BagMessage *message);
/* Whether there are topics of clouds whose caps are not known yet. */
gboolean gst_bag_streams_lack_caps (const GstBagStreams *self);
/* Makes the pads of all topics that are wanted and have none, with their caps where these are
 * known. */
void gst_bag_streams_add_pads (GstBagStreams *self);
/* Tells the application that there are all, once. */
void gst_bag_streams_end_pads (GstBagStreams *self);

/* Which clock time stamps are of; once all is looked at that comes first it does not change. */
const GstBagTimes *gst_bag_streams_get_times (const GstBagStreams *self);

/* The segment that goes out before the next buffers. */
void gst_bag_streams_set_segment (GstBagStreams *self, const GstSegment *segment, guint32 seqnum);
/* Sends a message; the pad of a topic that is new turns up before. */
GstFlowReturn gst_bag_streams_push (GstBagStreams *self, const BagMessage *message);
/* The pad of attachments or metadata records (MCAP's opcode), where `raw` asks for them. */
void gst_bag_streams_add_record_pad (GstBagStreams *self, guint8 opcode);
/* An attachment or a metadata record, which goes out where `raw` asks for it: at once, but not
 * before there is another pad, so that what is linked first is one of messages. */
GstFlowReturn gst_bag_streams_push_record (GstBagStreams *self, guint8 opcode, McapCursor *content);
/* Those that wait for another pad. */
GstFlowReturn gst_bag_streams_push_records (GstBagStreams *self);
gboolean gst_bag_streams_has_pads (const GstBagStreams *self);
/* Ends all pads: takes EOS or SEGMENT_DONE. */
gboolean gst_bag_streams_push_end (GstBagStreams *self, GstEvent *event);
/* To all pads; takes the event. From any thread. */
gboolean gst_bag_streams_push_event (GstBagStreams *self, GstEvent *event);
/* When all pads are there: posts an error, and is TRUE, where nothing was wanted of what there is,
 * or nothing is linked, nor blocked by somebody who links it later. Nobody would learn of the end
 * otherwise. */
gboolean gst_bag_streams_fail_unheard (GstBagStreams *self);
void gst_bag_streams_reset_flow (GstBagStreams *self);
guint64 gst_bag_streams_get_n_damaged (GstBagStreams *self);

G_END_DECLS
