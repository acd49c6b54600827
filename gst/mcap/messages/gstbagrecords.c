/* SPDX-License-Identifier: MIT */
#include "gstbagrecords.h"

#include "gst/mcap/container/mcap-format.h"

static void
add_time (GstBuffer *buffer, const gchar *name, guint64 time)
{
  g_autoptr (GstCaps) caps = gst_caps_new_empty_simple (name);
  gst_buffer_add_reference_timestamp_meta (buffer, caps, time, GST_CLOCK_TIME_NONE);
}

guint64
bag_record_get_time (GstBuffer *buffer, const gchar *name, guint64 fallback)
{
  g_autoptr (GstCaps) caps = gst_caps_new_empty_simple (name);
  const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, caps);
  return meta ? meta->timestamp : fallback;
}

static GstSample *
attachment_to_sample (McapCursor *content)
{
  McapAttachment attachment = {0};
  GstSample *sample = NULL;
  if (mcap_parse_attachment (content, &attachment)) {
    g_autoptr (GstCaps) caps =
        gst_caps_new_simple (MCAP_ATTACHMENT_CAPS, MCAP_CAPS_NAME, G_TYPE_STRING, attachment.name,
            MCAP_CAPS_MEDIA_TYPE, G_TYPE_STRING, attachment.media_type, NULL);
    g_autoptr (GstBuffer) buffer = attachment.size > 0
                                       ? gst_buffer_new_memdup (attachment.data, attachment.size)
                                       : gst_buffer_new ();
    add_time (buffer, MCAP_LOG_TIME_CAPS, attachment.log_time);
    add_time (buffer, MCAP_CREATE_TIME_CAPS, attachment.create_time);
    sample = gst_sample_new (buffer, caps, NULL, NULL);
  }
  mcap_attachment_clear (&attachment);
  return sample;
}

static GstSample *
metadata_to_sample (McapCursor *content, GstBagNames *names)
{
  McapMetadata metadata = {0};
  GstSample *sample = NULL;
  if (mcap_parse_metadata (content, &metadata)) {
    GHashTableIter iter;
    gpointer key, value;
    GQuark quark;
    g_autoptr (GstStructure) map = gst_structure_new_empty (MCAP_CAPS_METADATA);
    g_hash_table_iter_init (&iter, metadata.entries);
    while (g_hash_table_iter_next (&iter, &key, &value))
      if (gst_bag_names_take (names, key, &quark) && quark)
        gst_structure_id_set (map, quark, G_TYPE_STRING, value, NULL);
    g_autoptr (GstCaps) caps = gst_caps_new_simple (MCAP_METADATA_CAPS, MCAP_CAPS_NAME,
        G_TYPE_STRING, metadata.name, MCAP_CAPS_METADATA, GST_TYPE_STRUCTURE, map, NULL);
    g_autoptr (GstBuffer) buffer = gst_buffer_new ();
    sample = gst_sample_new (buffer, caps, NULL, NULL);
  }
  mcap_metadata_clear (&metadata);
  return sample;
}

GstSample *
bag_record_to_sample (guint8 opcode, McapCursor *content, GstBagNames *names)
{
  return opcode == MCAP_OP_ATTACHMENT ? attachment_to_sample (content)
                                      : metadata_to_sample (content, names);
}
