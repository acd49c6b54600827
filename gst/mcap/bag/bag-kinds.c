/* SPDX-License-Identifier: MIT */
#include "bag-kinds.h"

#include <string.h>

#include "gst/mcap/ros/cdr.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/ros/ros-schemas.h"

#define NS_PER_SECOND G_GUINT64_CONSTANT (1000000000)

gboolean
bag_is_type (const gchar *name, const gchar *type)
{
  const gchar *middle = strstr (type, "/msg/");
  const gsize package = (gsize)(middle - type);
  return strcmp (name, type) == 0 ||
         (strncmp (name, type, package) == 0 && strcmp (name + package, middle + 4) == 0);
}

gboolean
bag_channel_is_map (const BagChannel *channel)
{
  return g_strcmp0 (g_hash_table_lookup (channel->metadata, MCAP_META_ROLE), MCAP_META_ROLE_MAP) ==
         0;
}

BagKind
bag_channel_get_kind (const BagChannel *channel)
{
  static const struct {
    const gchar *type;
    BagKind kind;
  } types[] = {
      {ROS_TYPE_POINT_CLOUD2, BAG_KIND_CLOUD},
      {ROS_TYPE_POSE_STAMPED, BAG_KIND_POSE},
      {ROS_TYPE_POSE, BAG_KIND_POSE_WITH_COVARIANCE},
      {ROS_TYPE_ODOMETRY, BAG_KIND_ODOMETRY},
      {ROS_TYPE_TF, BAG_KIND_TF},
  };
  if (!channel->schema_name || strcmp (channel->message_encoding, MCAP_ENCODING_CDR) != 0)
    return BAG_KIND_MESSAGE;
  if (bag_channel_is_map (channel))
    return BAG_KIND_MESSAGE;
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (bag_is_type (channel->schema_name, types[i].type))
      return types[i].kind;
  if (bag_channel_get_cloud (channel) && bag_is_type (channel->schema_name, ROS_TYPE_DIAGNOSTICS))
    return BAG_KIND_DIAGNOSTICS;
  if (bag_channel_get_cloud (channel) && bag_is_type (channel->schema_name, ROS_TYPE_DURATION))
    return BAG_KIND_DURATION;
  return BAG_KIND_MESSAGE;
}

const gchar *
bag_channel_get_cloud (const BagChannel *channel)
{
  return g_hash_table_lookup (channel->metadata, MCAP_META_CLOUD);
}

guint64
bag_message_get_stamp (const BagMessage *message, BagKind kind)
{
  CdrReader reader;
  if (kind == BAG_KIND_MESSAGE || kind == BAG_KIND_DURATION ||
      !cdr_reader_init (&reader, message->data, message->size))
    return BAG_NO_STAMP;
  if (kind == BAG_KIND_TF && cdr_read_length (&reader, 1) == 0)
    return BAG_NO_STAMP;
  const gint64 seconds = cdr_read_i32 (&reader);
  const guint32 nanoseconds = cdr_read_u32 (&reader);
  if (cdr_reader_failed (&reader) || seconds < 0 || (seconds == 0 && nanoseconds == 0))
    return BAG_NO_STAMP;
  return (guint64)seconds * NS_PER_SECOND + nanoseconds;
}
