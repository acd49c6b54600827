/* SPDX-License-Identifier: MIT */
#pragma once

#include "bag-kinds.h"

G_BEGIN_DECLS

/* The topics of a recording and the pads that rosbagsrc and mcapdemux give them. Channels of one
 * topic whose messages are of one kind are one topic: publishers with different QoS profiles, and a
 * stream of ours whose caps changed, have a channel each. */

typedef struct {
  guint number;              /* in the order in which topics were added */
  BagKind kind;              /* BAG_KIND_MESSAGE where messages are passed as they stand */
  const BagChannel *channel; /* the first */
  gchar *cloud;              /* topic of the cloud that its poses are attached to; NULL: none */
  gchar *pad; /* "cloud_0"; NULL: none, since the topic is not wanted or its poses are attached */
} BagTopic;

typedef struct _BagTopics BagTopics;

/* @patterns: names, or patterns with * and ?, of topics that get pads; NULL or none: all. @raw: all
 * messages are passed as they stand. @attach_poses: poses are attached to the clouds that they were
 * recorded with. */
BagTopics *bag_topics_new (
    gchar *const *patterns, gboolean raw, gboolean attach_poses, guint max_pads);
/* Topics that got no pad since @max_pads others have one. */
guint bag_topics_get_n_refused (const BagTopics *self);
void bag_topics_free (BagTopics *self);

/* The topic that @channel is of, new or known. */
const BagTopic *bag_topics_add (BagTopics *self, const BagChannel *channel);
guint bag_topics_get_n (const BagTopics *self);
const BagTopic *bag_topics_get (const BagTopics *self, guint number);

/* "cloud_%u", "pose_%u" or "message_%u". */
const gchar *bag_kind_get_pad_template (BagKind kind);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (BagTopics, bag_topics_free)

G_END_DECLS
