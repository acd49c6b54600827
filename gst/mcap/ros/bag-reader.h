/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/mcap/container/mcap-reader.h"

G_BEGIN_DECLS

/* One recording in one or more files of MCAP or rosbag2's SQLite3, as one run of messages in the
 * order of their log times. Not thread-safe. */

typedef struct {
  guint number; /* in the order of bag_reader_get_channel() */
  gchar *topic;
  gchar *message_encoding; /* "cdr" */
  gchar *schema_name;      /* "sensor_msgs/msg/PointCloud2", NULL: none */
  gchar *schema_encoding;  /* "ros2msg"; "" where a file has names only; NULL: none */
  GBytes *schema_data;     /* NULL: none */
  GHashTable *metadata;    /* string to string */
} BagChannel;

typedef struct {
  const BagChannel *channel;
  guint32 sequence;
  guint64 log_time;
  guint64 publish_time;
  const guint8 *data;
  gsize size;
} BagMessage;

typedef struct _BagReader BagReader;

/* @location is a file, a folder (those that its metadata.yaml lists, or all .mcap and .db3 files in
 * it) or a pattern with * and ?. Adds the paths to @paths; FALSE where there are none. */
gboolean bag_reader_find_files (const gchar *location, GPtrArray *paths, GError **error);

/* Opens these files. The message of an error names the file. */
BagReader *bag_reader_new (const GPtrArray *paths, GError **error);
/* MCAP from somewhere else, as mcap_reader_new(). */
BagReader *bag_reader_new_mcap (
    McapReadFunc read, gpointer user_data, guint64 size, GError **error);
void bag_reader_free (BagReader *self);

/* FALSE where there are no messages. */
gboolean bag_reader_get_range (const BagReader *self, guint64 *start, guint64 *end);
/* Those known so far; more may be found while messages are read. */
guint bag_reader_get_n_channels (const BagReader *self);
const BagChannel *bag_reader_get_channel (const BagReader *self, guint number);
/* No more will be found. */
gboolean bag_reader_has_all_channels (const BagReader *self);
/* Chunks, records and messages left out since they were damaged. */
guint64 bag_reader_get_n_damaged (const BagReader *self);
/* What was noticed since the last call; NULL: nothing. */
gchar *bag_reader_take_warning (BagReader *self);

gboolean bag_reader_seek (BagReader *self, guint64 time, GError **error);
/* FALSE at the end (no error) or when reading failed. Data stay until the next call. */
gboolean bag_reader_next (BagReader *self, BagMessage *message, GError **error);

/* Attachments and metadata records of all files, as mcap_reader_has_record() and
 * mcap_reader_foreach_record(). */
gboolean bag_reader_has_record (BagReader *self, guint8 opcode);
gboolean bag_reader_foreach_record (
    BagReader *self, McapRecordFunc func, gpointer user_data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (BagReader, bag_reader_free)

/* The channels of one or more files, numbered; those that say the same are one. */
typedef struct {
  GPtrArray *channels; /* BagChannel */
} BagChannels;

void bag_channels_init (BagChannels *self);
void bag_channels_clear (BagChannels *self);
const BagChannel *bag_channels_add (
    BagChannels *self, const McapTable *table, const McapChannel *channel);

G_END_DECLS
