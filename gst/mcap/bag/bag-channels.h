/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/mcap/container/mcap-records.h"

G_BEGIN_DECLS

typedef struct {
  guint number; /* in the order of bag_merger_get_channel() */
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

/* The channels of one or more files, numbered; those that say the same are one. */
typedef struct {
  GPtrArray *channels;  /* BagChannel */
  GHashTable *by_topic; /* GPtrArray of these */
} BagChannels;

void bag_channels_init (BagChannels *self);
void bag_channels_clear (BagChannels *self);
const BagChannel *bag_channels_add (
    BagChannels *self, const McapTable *table, const McapChannel *channel);

G_END_DECLS
