/* SPDX-License-Identifier: MIT */
#pragma once

#include "bag-channels.h"
#include "bag-limits.h"
#include "gst/mcap/container/mcap-reader.h"

G_BEGIN_DECLS

/* Merges the messages of one or more files (MCAP, rosbag2's SQLite3) in the order of their log
 * times. Not thread-safe. */

typedef struct _BagMerger BagMerger;

/* Opens these files. The message of an error names the file. @limits: NULL for the defaults. */
BagMerger *bag_merger_new (const GPtrArray *paths, const BagLimits *limits, GError **error);
/* MCAP from somewhere else, as mcap_reader_new(). */
BagMerger *bag_merger_new_mcap (
    McapReadFunc read, gpointer user_data, guint64 size, const BagLimits *limits, GError **error);
void bag_merger_free (BagMerger *self);
/* What may take long is done: reads have no time limit from here on. */
void bag_merger_end_opening (BagMerger *self);
/* Lets reads of files fail with G_IO_ERROR_CANCELLED, from any thread. */
void bag_merger_cancel (BagMerger *self);

/* FALSE where there are no messages. */
gboolean bag_merger_get_range (const BagMerger *self, guint64 *start, guint64 *end);
/* Those known so far; more may be found while messages are read. */
guint bag_merger_get_n_channels (const BagMerger *self);
const BagChannel *bag_merger_get_channel (const BagMerger *self, guint number);
/* TRUE: no more will be found. */
gboolean bag_merger_has_all_channels (const BagMerger *self);
/* Chunks, records and messages left out since they were damaged. */
guint64 bag_merger_get_n_damaged (const BagMerger *self);
/* The first warning since the last call; NULL: none. The caller's to free. */
gchar *bag_merger_take_warning (BagMerger *self);

gboolean bag_merger_seek (BagMerger *self, guint64 time, GError **error);
/* FALSE at the end (no error) or when reading failed. Data stay until the next call. */
gboolean bag_merger_next (BagMerger *self, BagMessage *message, GError **error);

/* Attachments and metadata records of all files, as mcap_reader_has_record() and
 * mcap_reader_foreach_record(). */
gboolean bag_merger_has_record (BagMerger *self, guint8 opcode);
gboolean bag_merger_foreach_record (
    BagMerger *self, McapRecordFunc func, gpointer user_data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (BagMerger, bag_merger_free)

G_END_DECLS
