/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * BagMetadata:
 * @paths: files of the bag (gchar *), as they are listed: relative to its folder or absolute
 * @names: the last parts of these, a set
 * @messages_are_packed: each message is compressed by zstd
 *
 * What rosbag2's metadata.yaml says of the files of a bag.
 */
typedef struct {
  GPtrArray *paths;
  GHashTable *names;
  gboolean messages_are_packed;
} BagMetadata;

/* Takes the few lines of interest, in the form in which rosbag2 writes them; others are left out.
 * To be cleared. */
void bag_metadata_parse (BagMetadata *metadata, const gchar *text);
void bag_metadata_clear (BagMetadata *metadata);

G_END_DECLS
