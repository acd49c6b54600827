/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/mcap/container/mcap-writer.h"
#include "gstmcappad.h"

G_BEGIN_DECLS

/* Channels of ROS 2's messages that a pad writes beside what comes on it. */

/* @which of @pad, made where it has none in the file at hand: of a @topic and a @type of ROS.
 * @role: of the poses in it, by its nick, NULL: none. */
gboolean gst_mcap_channel_prepare (McapWriter *writer, GstMcapPad *pad, GstMcapChannel which,
    const gchar *topic, const gchar *type, const gchar *role, GError **error);
/* A message. */
gboolean gst_mcap_channel_write (McapWriter *writer, const GstMcapPad *pad, GstMcapChannel which,
    const GByteArray *message, guint64 log_time, gint64 stamp, GError **error);

/* The metadata of a channel whose last message is there for those that come later. */
void gst_mcap_channel_set_latched (GHashTable *metadata);

/* A channel of a @type of ROS. @metadata: string → string. */
gboolean gst_mcap_channel_add (McapWriter *writer, const gchar *topic, const gchar *type,
    GHashTable *metadata, guint16 *channel, GError **error);

G_END_DECLS
