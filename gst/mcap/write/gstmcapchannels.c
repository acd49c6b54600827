/* SPDX-License-Identifier: MIT */
#include "gstmcapchannels.h"

#include <string.h>

#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/ros/ros-schemas.h"

/* What rosbag2 plays a topic with: the last message is there for those that come later (durability
 * 1, transient local). Read by rosbag2 from Foxy to Jazzy. */
#define QOS_LATCHED                                                                                \
  "- history: 1\n"                                                                                 \
  "  depth: 1\n"                                                                                   \
  "  reliability: 1\n"                                                                             \
  "  durability: 1\n"                                                                              \
  "  deadline:\n    sec: 9223372036\n    nsec: 854775807\n"                                        \
  "  lifespan:\n    sec: 9223372036\n    nsec: 854775807\n"                                        \
  "  liveliness: 1\n"                                                                              \
  "  liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n"                       \
  "  avoid_ros_namespace_conventions: false\n"

gboolean
gst_mcap_channel_add (McapWriter *writer, const gchar *topic, const gchar *type,
    GHashTable *metadata, guint16 *channel, GError **error)
{
  const gchar *text = ros_schema (type);
  const guint16 schema =
      mcap_writer_add_schema (writer, type, MCAP_ENCODING_ROS2MSG, text, strlen (text), error);

  return schema > 0 && mcap_writer_add_channel (
                           writer, schema, topic, MCAP_ENCODING_CDR, metadata, channel, error);
}

void
gst_mcap_channel_set_latched (GHashTable *metadata)
{
  g_hash_table_insert (metadata, (gpointer) "offered_qos_profiles", (gpointer)QOS_LATCHED);
}

gboolean
gst_mcap_channel_prepare (McapWriter *writer, GstMcapPad *pad, GstMcapChannel which,
    const gchar *topic, const gchar *type, const gchar *role, GError **error)
{
  g_autoptr (GHashTable) metadata = NULL;

  if (pad->have_channels & (1u << which))
    return TRUE;
  metadata = g_hash_table_new (g_str_hash, g_str_equal);
  if (role)
    g_hash_table_insert (metadata, (gpointer)MCAP_META_ROLE, (gpointer)role);
  /* Transforms of poses are of no cloud: several clouds share a topic. */
  if (pad->kind == GST_MCAP_PAD_CLOUD && which != GST_MCAP_CHANNEL_TF)
    g_hash_table_insert (metadata, (gpointer)MCAP_META_CLOUD, pad->main_topic);
  if (which == GST_MCAP_CHANNEL_TF_STATIC)
    gst_mcap_channel_set_latched (metadata);
  if (!gst_mcap_channel_add (writer, topic, type, metadata, &pad->channels[which], error))
    return FALSE;
  pad->have_channels |= 1u << which;
  return TRUE;
}

gboolean
gst_mcap_channel_write (McapWriter *writer, const GstMcapPad *pad, GstMcapChannel which,
    const GByteArray *message, guint64 log_time, gint64 stamp, GError **error)
{
  const McapPart part = {message->data, message->len};

  return mcap_writer_add_message (
      writer, pad->channels[which], log_time, MAX (stamp, 0), &part, 1, error);
}
