/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstbagmessages.h"

G_BEGIN_DECLS

/* Poses and DURATIONs that were recorded from the metas of clouds wait here for their cloud, which
 * has the same log time and stands after them in the recording. */
typedef struct {
  GQueue pending;
} GstBagPoses;

void gst_bag_poses_init (GstBagPoses *self);
void gst_bag_poses_clear (GstBagPoses *self);

/* Takes a pose, transform, diagnostics or duration of a cloud of the topic @cloud. */
gboolean gst_bag_poses_add (GstBagPoses *self, const gchar *cloud, BagKind kind,
    const BagMessage *message, GstBagNames *names, GError **error);
/* Attaches those of the cloud @message to @buffer, whose DURATION is set where one was recorded.
 * @shift is added to their instants, which are their headers' stamps. */
void gst_bag_poses_attach (
    GstBagPoses *self, const BagMessage *message, gint64 shift, GstBuffer *buffer);

G_END_DECLS
