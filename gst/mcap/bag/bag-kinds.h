/* SPDX-License-Identifier: MIT */
#pragma once

#include "bag-channels.h"

G_BEGIN_DECLS

/* Kinds of messages, by the type that their channel names. */

/* No header stamp; GST_CLOCK_TIME_NONE's value. */
#define BAG_NO_STAMP G_MAXUINT64

typedef enum {
  BAG_KIND_MESSAGE, /* any other type: passed without decoding */
  BAG_KIND_CLOUD,
  BAG_KIND_POSE,
  BAG_KIND_POSE_WITH_COVARIANCE,
  BAG_KIND_ODOMETRY,
  BAG_KIND_TF,
  BAG_KIND_DURATION,    /* only of clouds that mcapsink recorded */
  BAG_KIND_DIAGNOSTICS, /* only of poses that were attached to clouds */
} BagKind;

BagKind bag_channel_get_kind (const BagChannel *channel);
/* Whether a schema's name is the type @type, with "msg/" between package and type or without. */
gboolean bag_is_type (const gchar *name, const gchar *type);
/* Whether the messages of a channel are a map that mcapsink recorded: a cloud, but no scan. */
gboolean bag_channel_is_map (const BagChannel *channel);
/* The topic of the cloud that the poses of a channel were attached to; NULL: none. */
const gchar *bag_channel_get_cloud (const BagChannel *channel);

/* The header's stamp of a cloud or pose; BAG_NO_STAMP where there is none (other kinds, a
 * stamp of 0 or before the epoch, damaged). */
guint64 bag_message_get_stamp (const BagMessage *message, BagKind kind);

G_END_DECLS
