/* SPDX-License-Identifier: MIT */
/* Prints what the readers find, a JSON object a line, for programs that compare it.
 *
 *   bag-dump LOCATION [FROM]    messages of a recording, by time
 *   bag-dump --stream FILE [N]  records of an MCAP file, pushed N bytes at a time
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gst/mcap/bag/bag-files.h"
#include "gst/mcap/bag/bag-merger.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-stream.h"

static void
print_string (const gchar *key, const gchar *value)
{
  printf ("\"%s\": \"", key);
  for (; *value; value++)
    if (*value == '"' || *value == '\\' || (guchar)*value < 32)
      printf ("\\u%04x", (guchar)*value);
    else
      putchar (*value);
  printf ("\", ");
}

static void
print_hash (const gchar *key, const guint8 *data, gsize size)
{
  g_autofree gchar *hash = g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, size);
  printf ("\"%s\": \"%s\", ", key, hash);
}

static void
print_map (const gchar *key, GHashTable *map)
{
  GHashTableIter iter;
  gpointer name, value;
  printf ("\"%s\": {", key);
  g_hash_table_iter_init (&iter, map);
  while (g_hash_table_iter_next (&iter, &name, &value)) {
    print_string (name, value);
  }
  printf ("\"\": \"\"}, ");
}

static int
fail (const GError *error)
{
  fprintf (stderr, "%s\n", error->message);
  return 1;
}

static void
print_channel (const BagChannel *channel)
{
  printf ("{\"record\": \"channel\", \"number\": %u, ", channel->number);
  print_string ("topic", channel->topic);
  print_string ("message_encoding", channel->message_encoding);
  print_map ("metadata", channel->metadata);
  if (channel->schema_name) {
    gsize size;
    const guint8 *data = g_bytes_get_data (channel->schema_data, &size);
    print_string ("schema", channel->schema_name);
    print_string ("schema_encoding", channel->schema_encoding);
    print_hash ("schema_data", data, size);
  }
  printf ("\"\": 0}\n");
}

static int
dump_bag (const gchar *location, guint64 from)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  guint64 start = 0, end = 0;
  guint n_channels = 0;
  BagMessage message;

  if (!bag_files_find (location, paths, &error))
    return fail (error);
  g_autoptr (BagMerger) reader = bag_merger_new (paths, NULL, &error);
  if (!reader)
    return fail (error);
  bag_merger_end_opening (reader);
  const gboolean has_range = bag_merger_get_range (reader, &start, &end);
  printf ("{\"record\": \"range\", \"has\": %d, \"start\": %" G_GUINT64_FORMAT
          ", \"end\": %" G_GUINT64_FORMAT "}\n",
      has_range, start, end);
  if (!bag_merger_seek (reader, from, &error))
    return fail (error);
  while (bag_merger_next (reader, &message, &error)) {
    for (; n_channels < bag_merger_get_n_channels (reader); n_channels++)
      print_channel (bag_merger_get_channel (reader, n_channels));
    printf ("{\"record\": \"message\", \"channel\": %u, \"sequence\": %u, \"log_time\": "
            "%" G_GUINT64_FORMAT ", \"publish_time\": %" G_GUINT64_FORMAT ", ",
        message.channel->number, message.sequence, message.log_time, message.publish_time);
    print_hash ("data", message.data, message.size);
    printf ("\"size\": %" G_GSIZE_FORMAT "}\n", message.size);
  }
  if (error)
    return fail (error);
  for (; n_channels < bag_merger_get_n_channels (reader); n_channels++)
    print_channel (bag_merger_get_channel (reader, n_channels));
  g_autofree gchar *warning = bag_merger_take_warning (reader);
  printf ("{\"record\": \"end\", ");
  print_string ("warning", warning ? warning : "");
  printf ("\"damaged\": %" G_GUINT64_FORMAT "}\n", bag_merger_get_n_damaged (reader));
  return 0;
}

static gboolean
print_record (guint8 opcode, McapCursor *content)
{
  McapMessage message;
  McapAttachment attachment;
  McapMetadata metadata;
  gboolean parsed = TRUE;

  printf ("{\"opcode\": %u, ", opcode);
  switch (opcode) {
  case MCAP_OP_SCHEMA: {
    McapSchema *schema = mcap_parse_schema (content);
    if (!(parsed = schema != NULL))
      break;
    print_string ("name", schema->name);
    print_string ("encoding", schema->encoding);
    print_hash ("data", g_bytes_get_data (schema->data, NULL), g_bytes_get_size (schema->data));
    printf ("\"id\": %u, ", schema->id);
    mcap_schema_free (schema);
    break;
  }
  case MCAP_OP_CHANNEL: {
    McapChannel *channel = mcap_parse_channel (content);
    if (!(parsed = channel != NULL))
      break;
    print_string ("topic", channel->topic);
    print_string ("message_encoding", channel->message_encoding);
    print_map ("metadata", channel->metadata);
    printf ("\"id\": %u, \"schema_id\": %u, ", channel->id, channel->schema_id);
    mcap_channel_free (channel);
    break;
  }
  case MCAP_OP_MESSAGE:
    if (!(parsed = mcap_parse_message (content, &message)))
      break;
    print_hash ("data", message.data, message.size);
    printf ("\"channel_id\": %u, \"sequence\": %u, \"log_time\": %" G_GUINT64_FORMAT
            ", \"publish_time\": %" G_GUINT64_FORMAT ", ",
        message.channel_id, message.sequence, message.log_time, message.publish_time);
    break;
  case MCAP_OP_ATTACHMENT:
    if ((parsed = mcap_parse_attachment (content, &attachment))) {
      print_string ("name", attachment.name);
      print_string ("media_type", attachment.media_type);
      print_hash ("data", attachment.data, attachment.size);
      printf ("\"log_time\": %" G_GUINT64_FORMAT ", \"create_time\": %" G_GUINT64_FORMAT ", ",
          attachment.log_time, attachment.create_time);
    }
    mcap_attachment_clear (&attachment);
    break;
  case MCAP_OP_METADATA:
    if ((parsed = mcap_parse_metadata (content, &metadata))) {
      print_string ("name", metadata.name);
      print_map ("metadata", metadata.entries);
    }
    mcap_metadata_clear (&metadata);
    break;
  default:
    break;
  }
  printf ("\"parsed\": %d}\n", parsed);
  return parsed;
}

static int
dump_stream (const gchar *path, gsize step)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *bytes = NULL;
  g_autoptr (McapStream) stream = mcap_stream_new ();
  McapCursor content;
  guint8 opcode;
  gsize size;

  if (!g_file_get_contents (path, &bytes, &size, &error))
    return fail (error);
  for (gsize i = 0; i < size; i += step) {
    mcap_stream_push (stream, (const guint8 *)bytes + i, MIN (step, size - i));
    while (mcap_stream_next (stream, &opcode, &content, &error))
      print_record (opcode, &content);
    if (error)
      return fail (error);
  }
  printf ("{\"complete\": %d, \"damaged\": %" G_GUINT64_FORMAT "}\n",
      mcap_stream_is_complete (stream), mcap_stream_get_n_damaged (stream));
  return 0;
}

int
main (int argc, char **argv)
{
  if (argc >= 3 && strcmp (argv[1], "--stream") == 0)
    return dump_stream (argv[2], argc > 3 ? (gsize)MAX (1, atoi (argv[3])) : 65536);
  if (argc < 2)
    return 2;
  return dump_bag (argv[1], argc > 2 ? g_ascii_strtoull (argv[2], NULL, 10) : 0);
}
