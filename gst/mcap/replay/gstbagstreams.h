/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/mcap/container/mcap-records.h"
#include "gst/mcap/bag/bag-topics.h"
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

/* All messages of the recording have the same log time: header stamps are used. Posts a warning. */
void gst_bag_streams_ignore_log (GstBagStreams *self);
/* Registers a channel; gst_bag_streams_add_pads() adds its pad. */
void gst_bag_streams_add_channel (GstBagStreams *self, const BagChannel *channel);
/* Takes the clock of a topic's stamps, and a cloud's caps, from a message before it is sent.
 * Returns its header stamp. */
GstClockTime gst_bag_streams_look_at (GstBagStreams *self, const BagMessage *message);
/* Whether there are topics of clouds whose caps are not known yet. */
gboolean gst_bag_streams_lack_caps (const GstBagStreams *self);
/* Makes the pads of all topics that are wanted and have none, with their caps where these are
 * known. */
void gst_bag_streams_add_pads (GstBagStreams *self);
/* Emits no-more-pads, once. */
void gst_bag_streams_end_pads (GstBagStreams *self);

/* The axis of time stamps. Its offset does not change after gst_bag_streams_set_segment(). */
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
/* To be called when all pads are added, and at the end. Posts an error, and returns TRUE, where
 * there is no pad, or none is linked or blocked (to be linked later): no sink would see the end of
 * the stream; and where all messages of linked pads are left out, none of which could be decoded.
 */
gboolean gst_bag_streams_fail_unlinked (GstBagStreams *self);
void gst_bag_streams_reset_flow (GstBagStreams *self);
guint64 gst_bag_streams_get_n_damaged (GstBagStreams *self);

G_END_DECLS
