/* SPDX-License-Identifier: MIT */
#include "mcap-records.h"

#include <string.h>

#include "mcap-format.h"

G_DEFINE_QUARK (mcap - error - quark, mcap_error)

static guint64
read_le (McapCursor *cursor, gsize size)
{
  const guint8 *bytes = mcap_cursor_bytes (cursor, size);
  guint64 value = 0;
  for (gsize i = size; bytes && i-- > 0;)
    value = value << 8 | bytes[i];
  return value;
}

guint16
mcap_cursor_u16 (McapCursor *cursor)
{
  return (guint16)read_le (cursor, 2);
}

guint32
mcap_cursor_u32 (McapCursor *cursor)
{
  return (guint32)read_le (cursor, 4);
}

guint64
mcap_cursor_u64 (McapCursor *cursor)
{
  return read_le (cursor, 8);
}

const guint8 *
mcap_cursor_bytes (McapCursor *cursor, guint64 size)
{
  if (cursor->failed || size > cursor->size - cursor->position) {
    cursor->failed = TRUE;
    return NULL;
  }
  const guint8 *bytes = cursor->data + cursor->position;
  cursor->position += size;
  return bytes;
}

gchar *
mcap_cursor_string (McapCursor *cursor)
{
  const guint32 size = mcap_cursor_u32 (cursor);
  const guint8 *bytes = mcap_cursor_bytes (cursor, size);
  return bytes ? g_utf8_make_valid ((const gchar *)bytes, size) : NULL;
}

/* No writer has as many, and each takes ten times the memory that it has in the file. */
#define MAX_MAP_ENTRIES 65536

static GHashTable *
read_map (McapCursor *cursor)
{
  GHashTable *map = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  const guint32 size = mcap_cursor_u32 (cursor);
  McapCursor entries = {mcap_cursor_bytes (cursor, size), size, 0, cursor->failed};
  while (!entries.failed && entries.position < entries.size) {
    if (g_hash_table_size (map) == MAX_MAP_ENTRIES) {
      entries.failed = TRUE;
      break;
    }
    gchar *key = mcap_cursor_string (&entries);
    gchar *value = mcap_cursor_string (&entries);
    if (key && value) {
      g_hash_table_insert (map, key, value);
    } else {
      g_free (key);
      g_free (value);
    }
  }
  cursor->failed |= entries.failed;
  return map;
}

gboolean
mcap_cursor_record (McapCursor *cursor, guint8 *opcode, McapCursor *content)
{
  if (cursor->failed || cursor->position == cursor->size)
    return FALSE;
  *opcode = (guint8)read_le (cursor, 1);
  const guint64 size = mcap_cursor_u64 (cursor);
  const guint8 *bytes = mcap_cursor_bytes (cursor, size);
  *content = (McapCursor){bytes, (gsize)size, 0, FALSE};
  return bytes != NULL;
}

McapSchema *
mcap_schema_new (guint16 id, const gchar *name, const gchar *encoding, const gchar *text)
{
  McapSchema *schema = g_new0 (McapSchema, 1);
  schema->id = id;
  schema->name = g_strdup (name);
  schema->encoding = g_strdup (encoding);
  schema->data = g_bytes_new (text, strlen (text));
  return schema;
}

void
mcap_schema_free (McapSchema *schema)
{
  g_free (schema->name);
  g_free (schema->encoding);
  g_clear_pointer (&schema->data, g_bytes_unref);
  g_free (schema);
}

McapSchema *
mcap_parse_schema (McapCursor *cursor)
{
  McapSchema *schema = g_new0 (McapSchema, 1);
  schema->id = mcap_cursor_u16 (cursor);
  schema->name = mcap_cursor_string (cursor);
  schema->encoding = mcap_cursor_string (cursor);
  const guint32 size = mcap_cursor_u32 (cursor);
  const guint8 *bytes = mcap_cursor_bytes (cursor, size);
  if (bytes && schema->id != 0) {
    schema->data = g_bytes_new (bytes, size);
    return schema;
  }
  mcap_schema_free (schema);
  return NULL;
}

McapChannel *
mcap_channel_new (guint id, guint16 schema_id, const gchar *topic, const gchar *message_encoding)
{
  McapChannel *channel = g_new0 (McapChannel, 1);
  channel->id = id;
  channel->schema_id = schema_id;
  channel->topic = g_strdup (topic);
  channel->message_encoding = g_strdup (message_encoding);
  channel->metadata = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  return channel;
}

void
mcap_channel_free (McapChannel *channel)
{
  g_free (channel->topic);
  g_free (channel->message_encoding);
  g_hash_table_unref (channel->metadata);
  g_free (channel);
}

McapChannel *
mcap_parse_channel (McapCursor *cursor)
{
  McapChannel *channel = g_new0 (McapChannel, 1);
  channel->id = mcap_cursor_u16 (cursor);
  channel->schema_id = mcap_cursor_u16 (cursor);
  channel->topic = mcap_cursor_string (cursor);
  channel->message_encoding = mcap_cursor_string (cursor);
  channel->metadata = read_map (cursor);
  if (!cursor->failed)
    return channel;
  mcap_channel_free (channel);
  return NULL;
}

gboolean
mcap_parse_message (McapCursor *cursor, McapMessage *message)
{
  message->channel_id = mcap_cursor_u16 (cursor);
  message->sequence = mcap_cursor_u32 (cursor);
  message->log_time = mcap_cursor_u64 (cursor);
  message->publish_time = mcap_cursor_u64 (cursor);
  message->data = cursor->data + cursor->position;
  message->size = cursor->size - cursor->position;
  return !cursor->failed;
}

gboolean
mcap_parse_chunk (McapCursor *cursor, McapChunk *chunk)
{
  chunk->start_time = mcap_cursor_u64 (cursor);
  chunk->end_time = mcap_cursor_u64 (cursor);
  chunk->uncompressed_size = mcap_cursor_u64 (cursor);
  chunk->crc = mcap_cursor_u32 (cursor);
  const guint32 size = mcap_cursor_u32 (cursor);
  const guint8 *name = mcap_cursor_bytes (cursor, size);
  chunk->records_size = mcap_cursor_u64 (cursor);
  if (cursor->failed)
    return FALSE;
  chunk->compression = NULL;
  if (size == 0)
    chunk->compression = "";
  else if (size == 3 && memcmp (name, "lz4", 3) == 0)
    chunk->compression = "lz4";
  else if (size == 4 && memcmp (name, "zstd", 4) == 0)
    chunk->compression = "zstd";
  return TRUE;
}

gboolean
mcap_parse_attachment (McapCursor *cursor, McapAttachment *attachment)
{
  attachment->log_time = mcap_cursor_u64 (cursor);
  attachment->create_time = mcap_cursor_u64 (cursor);
  attachment->name = mcap_cursor_string (cursor);
  attachment->media_type = mcap_cursor_string (cursor);
  attachment->size = mcap_cursor_u64 (cursor);
  attachment->data = mcap_cursor_bytes (cursor, attachment->size);
  const gsize checked = cursor->position;
  const guint32 crc = mcap_cursor_u32 (cursor);
  return !cursor->failed && (crc == 0 || crc == mcap_crc32 (0, cursor->data, checked));
}

void
mcap_attachment_clear (McapAttachment *attachment)
{
  g_clear_pointer (&attachment->name, g_free);
  g_clear_pointer (&attachment->media_type, g_free);
}

gboolean
mcap_parse_metadata (McapCursor *cursor, McapMetadata *metadata)
{
  metadata->name = mcap_cursor_string (cursor);
  metadata->entries = read_map (cursor);
  return !cursor->failed;
}

void
mcap_metadata_clear (McapMetadata *metadata)
{
  g_clear_pointer (&metadata->name, g_free);
  g_clear_pointer (&metadata->entries, g_hash_table_unref);
}

void
mcap_table_init (McapTable *table)
{
  table->schemas = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)mcap_schema_free);
  table->channels = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)mcap_channel_free);
}

void
mcap_table_clear (McapTable *table)
{
  g_clear_pointer (&table->schemas, g_hash_table_unref);
  g_clear_pointer (&table->channels, g_hash_table_unref);
}

/* An entry of a map: two strings and their places in a hash table. */
#define MAP_ENTRY_SIZE 128

gboolean
mcap_table_take_record (McapTable *table, guint8 opcode, McapCursor *content)
{
  gsize size = content->size - content->position;
  if (table->size + size > MCAP_MAX_TABLE_SIZE)
    return FALSE;
  if (opcode == MCAP_OP_SCHEMA) {
    McapSchema *schema = mcap_parse_schema (content);
    if (!schema)
      return FALSE;
    if (g_hash_table_contains (table->schemas, GUINT_TO_POINTER (schema->id)))
      mcap_schema_free (schema);
    else if (g_hash_table_insert (table->schemas, GUINT_TO_POINTER (schema->id), schema))
      table->size += size;
  } else if (opcode == MCAP_OP_CHANNEL) {
    McapChannel *channel = mcap_parse_channel (content);
    if (!channel)
      return FALSE;
    size += MAP_ENTRY_SIZE * g_hash_table_size (channel->metadata);
    if (table->size + size > MCAP_MAX_TABLE_SIZE) {
      mcap_channel_free (channel);
      return FALSE;
    }
    if (g_hash_table_contains (table->channels, GUINT_TO_POINTER (channel->id)))
      mcap_channel_free (channel);
    else if (g_hash_table_insert (table->channels, GUINT_TO_POINTER (channel->id), channel))
      table->size += size;
  }
  return TRUE;
}

const McapChannel *
mcap_table_get_channel (const McapTable *table, guint id)
{
  return g_hash_table_lookup (table->channels, GUINT_TO_POINTER (id));
}

const McapSchema *
mcap_table_get_schema (const McapTable *table, const McapChannel *channel)
{
  return g_hash_table_lookup (table->schemas, GUINT_TO_POINTER (channel->schema_id));
}
