/* SPDX-License-Identifier: MIT */
#pragma once

#include "bag-merger.h"
#include "bag-topics.h"

G_BEGIN_DECLS

/* Descriptions of a recording for people: the output of `ndt-bag info`, and the list in the errors
 * of rosbagsrc and mcapdemux. */

/* What a topic's messages can be used for, or what decoding them would need. */
const gchar *bag_topic_get_use (const BagTopic *topic);
/* A line for each topic, with its type, its pad and its use; of more than some dozens their number.
 */
gchar *bag_topics_describe (const BagTopics *topics);

/* Reads the recording, or its first @seconds (0: all of it), and returns a table of its topics:
 * types, pads, numbers and rates of messages, spans of log times, frames, how far header stamps are
 * from log times, and uses. */
gchar *bag_info_read (BagMerger *recording, guint64 seconds, GError **error);

G_END_DECLS
