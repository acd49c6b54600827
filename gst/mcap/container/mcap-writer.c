/* SPDX-License-Identifier: MIT */
#include "mcap-writer.h"

#include "mcap-buffer.h"
#include "mcap-compress.h"
#include "mcap-format.h"

/* An entry of a message index: log time and offset in the chunk. */
#define INDEX_ENTRY_SIZE 16

/* Parts of a chunk's record: header, data, message indexes. */
#define CHUNK_PARTS 3

G_DEFINE_QUARK (mcap - writer - error - quark, mcap_writer_error)

typedef struct {
  GByteArray *content; /* of its record */
  gboolean in_chunk;   /* the chunk at hand has it */
} Schema;

typedef struct {
  GByteArray *content;
  gboolean in_chunk;
  guint16 schema;
  guint32 sequence;
  guint64 n_messages; /* in written chunks */
  GByteArray *index;  /* of the chunk at hand */
} Channel;

struct _McapWriter {
  guint64 chunk_size;
  guint64 chunk_duration;
  McapWriteFunc write;
  gpointer user_data;
  McapCompressor *compressor;

  GByteArray *head; /* magic and header */
  guint64 position;
  guint32 data_crc; /* of all bytes so far */
  gboolean failed;

  GPtrArray *schemas;  /* id - 1 */
  GPtrArray *channels; /* id */

  /* The chunk at hand: grows to a chunk's size once and is used again. */
  GByteArray *chunk;
  guint32 chunk_crc;
  guint64 chunk_first_time;
  guint64 chunk_last_time;

  GByteArray *scratch;
  GByteArray *indexes; /* message indexes of the chunk being written */

  /* Records for the summary. */
  GByteArray *chunk_indexes;
  GByteArray *attachment_indexes;
  GByteArray *metadata_indexes;
  guint32 n_attachments;
  guint32 n_metadata;
  McapWriterStatistics statistics;
};

static void
schema_free (Schema *schema)
{
  g_byte_array_unref (schema->content);
  g_free (schema);
}

static void
channel_free (Channel *channel)
{
  g_byte_array_unref (channel->content);
  g_byte_array_unref (channel->index);
  g_free (channel);
}

McapWriter *
mcap_writer_new (McapWriterCompression compression, guint64 chunk_size, guint64 chunk_duration,
    McapWriteFunc write, gpointer user_data)
{
  McapWriter *self = g_new0 (McapWriter, 1);

  self->chunk_size = chunk_size;
  self->chunk_duration = chunk_duration;
  self->write = write;
  self->user_data = user_data;
  self->compressor = mcap_compressor_new (compression);
  self->schemas = g_ptr_array_new_with_free_func ((GDestroyNotify)schema_free);
  self->channels = g_ptr_array_new_with_free_func ((GDestroyNotify)channel_free);
  self->head = g_byte_array_new ();
  self->chunk = g_byte_array_new ();
  self->scratch = g_byte_array_new ();
  self->indexes = g_byte_array_new ();
  self->chunk_indexes = g_byte_array_new ();
  self->attachment_indexes = g_byte_array_new ();
  self->metadata_indexes = g_byte_array_new ();
  self->statistics.first_time = G_MAXUINT64;
  return self;
}

void
mcap_writer_free (McapWriter *self)
{
  mcap_compressor_free (self->compressor);
  g_ptr_array_unref (self->schemas);
  g_ptr_array_unref (self->channels);
  g_byte_array_unref (self->head);
  g_byte_array_unref (self->chunk);
  g_byte_array_unref (self->scratch);
  g_byte_array_unref (self->indexes);
  g_byte_array_unref (self->chunk_indexes);
  g_byte_array_unref (self->attachment_indexes);
  g_byte_array_unref (self->metadata_indexes);
  g_free (self);
}

/* The checksum of what is written goes on with @crc, that of the parts. */
static gboolean
write_parts (McapWriter *self, const McapPart *parts, guint n_parts, guint32 crc, GError **error)
{
  gsize size = 0;

  for (guint i = 0; i < n_parts; i++)
    size += parts[i].size;
  if (!self->write (self->user_data, parts, n_parts, error)) {
    self->failed = TRUE;
    return FALSE;
  }
  self->data_crc = crc32_combine (self->data_crc, crc, size);
  self->position += size;
  return TRUE;
}

static gboolean
write_bytes (McapWriter *self, const GByteArray *bytes, GError **error)
{
  McapPart part = {bytes->data, bytes->len};
  return write_parts (self, &part, 1, mcap_crc32 (0, bytes->data, bytes->len), error);
}

gboolean
mcap_writer_start (McapWriter *self, const gchar *profile, const gchar *library, GError **error)
{
  GByteArray *out = self->head;
  gsize start;

  g_byte_array_set_size (out, 0);
  g_byte_array_append (out, (const guint8 *)MCAP_MAGIC, MCAP_MAGIC_SIZE);
  start = mcap_begin_record (out, MCAP_OP_HEADER);
  mcap_put_string (out, profile);
  mcap_put_string (out, library);
  mcap_end_record (out, start);
  return write_bytes (self, out, error);
}

/* After the id, which comes first in both records. */
static gboolean
content_is_equal (const GByteArray *a, const GByteArray *b)
{
  return a->len == b->len && memcmp (a->data + 2, b->data + 2, a->len - 2) == 0;
}

guint16
mcap_writer_add_schema (McapWriter *self, const gchar *name, const gchar *encoding,
    gconstpointer data, gsize size, GError **error)
{
  g_autoptr (GByteArray) content = g_byte_array_new ();
  Schema *schema;

  mcap_put_u16 (content, self->schemas->len + 1);
  mcap_put_string (content, name);
  mcap_put_string (content, encoding);
  mcap_put_u32 (content, size);
  g_byte_array_append (content, data, size);
  for (guint i = 0; i < self->schemas->len; i++) {
    schema = g_ptr_array_index (self->schemas, i);
    if (content_is_equal (schema->content, content))
      return i + 1;
  }
  if (self->schemas->len >= G_MAXUINT16) {
    g_set_error (error, MCAP_WRITER_ERROR, MCAP_WRITER_ERROR_TOO_MANY,
        "A file holds no more than %u schemas", G_MAXUINT16);
    return 0;
  }
  schema = g_new0 (Schema, 1);
  schema->content = g_steal_pointer (&content);
  g_ptr_array_add (self->schemas, schema);
  return self->schemas->len;
}

gboolean
mcap_writer_add_channel (McapWriter *self, guint16 schema, const gchar *topic,
    const gchar *message_encoding, GHashTable *metadata, guint16 *id, GError **error)
{
  g_autoptr (GByteArray) content = g_byte_array_new ();
  Channel *channel;

  g_return_val_if_fail (schema <= self->schemas->len, FALSE);

  mcap_put_u16 (content, self->channels->len);
  mcap_put_u16 (content, schema);
  mcap_put_string (content, topic);
  mcap_put_string (content, message_encoding);
  mcap_put_map (content, metadata);
  for (guint i = 0; i < self->channels->len; i++) {
    channel = g_ptr_array_index (self->channels, i);
    if (content_is_equal (channel->content, content)) {
      *id = i;
      return TRUE;
    }
  }
  if (self->channels->len > G_MAXUINT16) {
    g_set_error (error, MCAP_WRITER_ERROR, MCAP_WRITER_ERROR_TOO_MANY,
        "A file holds no more than %u channels", G_MAXUINT16 + 1);
    return FALSE;
  }
  channel = g_new0 (Channel, 1);
  channel->content = g_steal_pointer (&content);
  channel->schema = schema;
  channel->index = g_byte_array_new ();
  *id = self->channels->len;
  g_ptr_array_add (self->channels, channel);
  return TRUE;
}

static void
append_to_chunk (McapWriter *self, const guint8 *data, gsize size)
{
  g_byte_array_append (self->chunk, data, size);
  /* Now, while they are in the cache. */
  self->chunk_crc = mcap_crc32 (self->chunk_crc, data, size);
}

static void
append_record_to_chunk (McapWriter *self, McapOpcode opcode, const GByteArray *content)
{
  g_byte_array_set_size (self->scratch, 0);
  mcap_put_record (self->scratch, opcode, content);
  append_to_chunk (self, self->scratch->data, self->scratch->len);
}

/* Every chunk has the schemas and channels of its messages, so that one alone can be read. */
static void
introduce_channel (McapWriter *self, Channel *channel)
{
  if (channel->in_chunk)
    return;
  if (channel->schema > 0) {
    Schema *schema = g_ptr_array_index (self->schemas, channel->schema - 1);

    if (!schema->in_chunk)
      append_record_to_chunk (self, MCAP_OP_SCHEMA, schema->content);
    schema->in_chunk = TRUE;
  }
  append_record_to_chunk (self, MCAP_OP_CHANNEL, channel->content);
  channel->in_chunk = TRUE;
}

static gboolean
chunk_is_full (McapWriter *self, guint64 more, guint64 log_time)
{
  guint64 first = MIN (self->chunk_first_time, log_time);
  guint64 last = MAX (self->chunk_last_time, log_time);

  if (self->chunk->len == 0)
    return FALSE;
  if (self->chunk->len + more > self->chunk_size)
    return TRUE;
  return self->chunk_duration > 0 && last - first >= self->chunk_duration;
}

gboolean
mcap_writer_make_room (McapWriter *self, guint64 size, guint64 log_time, GError **error)
{
  return !chunk_is_full (self, size, log_time) || mcap_writer_flush (self, error);
}

void
mcap_writer_set_sequence (McapWriter *self, guint16 id, guint32 sequence)
{
  g_return_if_fail (id < self->channels->len);

  ((Channel *)g_ptr_array_index (self->channels, id))->sequence = sequence;
}

gboolean
mcap_writer_add_message (McapWriter *self, guint16 id, guint64 log_time, guint64 publish_time,
    const McapPart *parts, guint n_parts, GError **error)
{
  guint8 header[MCAP_RECORD_HEADER_SIZE + MCAP_MESSAGE_HEADER_SIZE];
  guint64 size = 0;
  Channel *channel;

  g_return_val_if_fail (id < self->channels->len, FALSE);

  channel = g_ptr_array_index (self->channels, id);
  for (guint i = 0; i < n_parts; i++)
    size += parts[i].size;
  if (size > MCAP_WRITER_MAX_DATA) {
    g_set_error (error, MCAP_WRITER_ERROR, MCAP_WRITER_ERROR_TOO_LARGE,
        "A message of %" G_GUINT64_FORMAT " bytes is longer than the %" G_GUINT64_FORMAT
        " that are supported",
        size, MCAP_WRITER_MAX_DATA);
    return FALSE;
  }
  if (chunk_is_full (self, sizeof header + size, log_time) && !mcap_writer_flush (self, error))
    return FALSE;

  if (self->chunk->len == 0) {
    self->chunk_first_time = self->chunk_last_time = log_time;
    self->chunk_crc = 0;
  }
  introduce_channel (self, channel);
  mcap_put_u64 (channel->index, log_time);
  mcap_put_u64 (channel->index, self->chunk->len);
  self->chunk_first_time = MIN (self->chunk_first_time, log_time);
  self->chunk_last_time = MAX (self->chunk_last_time, log_time);
  header[0] = MCAP_OP_MESSAGE;
  mcap_set_u64 (header + 1, MCAP_MESSAGE_HEADER_SIZE + size);
  mcap_set_u16 (header + 9, id);
  mcap_set_u32 (header + 11, channel->sequence++);
  mcap_set_u64 (header + 15, log_time);
  mcap_set_u64 (header + 23, publish_time);
  append_to_chunk (self, header, sizeof header);
  for (guint i = 0; i < n_parts; i++)
    append_to_chunk (self, parts[i].data, parts[i].size);
  /* A full one is written at once, rather than when the next message comes. */
  return self->chunk->len < self->chunk_size || mcap_writer_flush (self, error);
}

static void
drop_chunk (McapWriter *self)
{
  g_byte_array_set_size (self->chunk, 0);
  for (guint i = 0; i < self->schemas->len; i++)
    ((Schema *)g_ptr_array_index (self->schemas, i))->in_chunk = FALSE;
  for (guint i = 0; i < self->channels->len; i++) {
    Channel *channel = g_ptr_array_index (self->channels, i);

    channel->in_chunk = FALSE;
    g_byte_array_set_size (channel->index, 0);
  }
}

/* Message indexes to indexes, and the map of a chunk index from channels to their place in the
 * file to @map; they stand at @position. */
static void
make_message_indexes (McapWriter *self, guint64 position, GByteArray *map)
{
  g_byte_array_set_size (self->indexes, 0);
  for (guint i = 0; i < self->channels->len; i++) {
    Channel *channel = g_ptr_array_index (self->channels, i);
    gsize start;

    if (channel->index->len == 0)
      continue;
    mcap_put_u16 (map, i);
    mcap_put_u64 (map, position + self->indexes->len);
    start = mcap_begin_record (self->indexes, MCAP_OP_MESSAGE_INDEX);
    mcap_put_u16 (self->indexes, i);
    mcap_put_u32 (self->indexes, channel->index->len);
    g_byte_array_append (self->indexes, channel->index->data, channel->index->len);
    mcap_end_record (self->indexes, start);
  }
}

static void
count_chunk (McapWriter *self)
{
  for (guint i = 0; i < self->channels->len; i++) {
    Channel *channel = g_ptr_array_index (self->channels, i);
    guint64 n = channel->index->len / INDEX_ENTRY_SIZE;

    channel->n_messages += n;
    self->statistics.messages += n;
  }
  self->statistics.chunks++;
  self->statistics.first_time = MIN (self->statistics.first_time, self->chunk_first_time);
  self->statistics.last_time = MAX (self->statistics.last_time, self->chunk_last_time);
}

gboolean
mcap_writer_flush (McapWriter *self, GError **error)
{
  g_autoptr (GByteArray) map = g_byte_array_new ();
  const gchar *name = mcap_compressor_get_name (self->compressor);
  GByteArray *header = self->scratch;
  guint64 chunk_start = self->position;
  guint64 chunk_size;
  McapPart parts[CHUNK_PARTS];
  guint32 crc, packed_crc;
  gsize start;

  if (self->chunk->len == 0)
    return TRUE;
  if (!mcap_compressor_run (
          self->compressor, self->chunk->data, self->chunk->len, &parts[1], error)) {
    self->failed = TRUE;
    return FALSE;
  }
  g_byte_array_set_size (header, 0);
  start = mcap_begin_record (header, MCAP_OP_CHUNK);
  mcap_put_u64 (header, self->chunk_first_time);
  mcap_put_u64 (header, self->chunk_last_time);
  mcap_put_u64 (header, self->chunk->len);
  mcap_put_u32 (header, self->chunk_crc);
  mcap_put_string (header, name);
  mcap_put_u64 (header, parts[1].size);
  chunk_size = header->len + parts[1].size;
  mcap_set_u64 (header->data + start - 8, chunk_size - MCAP_RECORD_HEADER_SIZE);
  make_message_indexes (self, chunk_start + chunk_size, map);
  parts[0] = (McapPart){header->data, header->len};
  parts[2] = (McapPart){self->indexes->data, self->indexes->len};

  packed_crc = parts[1].data == self->chunk->data ? self->chunk_crc
                                                  : mcap_crc32 (0, parts[1].data, parts[1].size);
  crc = mcap_crc32 (0, header->data, header->len);
  crc = crc32_combine (crc, packed_crc, parts[1].size);
  crc = mcap_crc32 (crc, self->indexes->data, self->indexes->len);
  if (!write_parts (self, parts, CHUNK_PARTS, crc, error))
    return FALSE;

  start = mcap_begin_record (self->chunk_indexes, MCAP_OP_CHUNK_INDEX);
  mcap_put_u64 (self->chunk_indexes, self->chunk_first_time);
  mcap_put_u64 (self->chunk_indexes, self->chunk_last_time);
  mcap_put_u64 (self->chunk_indexes, chunk_start);
  mcap_put_u64 (self->chunk_indexes, chunk_size);
  mcap_put_u32 (self->chunk_indexes, map->len);
  g_byte_array_append (self->chunk_indexes, map->data, map->len);
  mcap_put_u64 (self->chunk_indexes, self->indexes->len);
  mcap_put_string (self->chunk_indexes, name);
  mcap_put_u64 (self->chunk_indexes, parts[1].size);
  mcap_put_u64 (self->chunk_indexes, self->chunk->len);
  mcap_end_record (self->chunk_indexes, start);
  count_chunk (self);
  drop_chunk (self);
  return TRUE;
}

gboolean
mcap_writer_add_attachment (McapWriter *self, const gchar *name, const gchar *media_type,
    guint64 log_time, guint64 create_time, gconstpointer data, gsize size, GError **error)
{
  g_autoptr (GByteArray) record = g_byte_array_new ();
  const gsize indexed = self->attachment_indexes->len;
  guint64 offset = self->position;
  gsize start;

  if (size > MCAP_WRITER_MAX_DATA) {
    g_set_error (error, MCAP_WRITER_ERROR, MCAP_WRITER_ERROR_TOO_LARGE,
        "The attachment %s is longer than %" G_GUINT64_FORMAT " bytes", name, MCAP_WRITER_MAX_DATA);
    return FALSE;
  }
  start = mcap_begin_record (record, MCAP_OP_ATTACHMENT);
  mcap_put_u64 (record, log_time);
  mcap_put_u64 (record, create_time);
  mcap_put_string (record, name);
  mcap_put_string (record, media_type);
  mcap_put_u64 (record, size);
  g_byte_array_append (record, data, size);
  mcap_put_u32 (record, mcap_crc32 (0, record->data + start, record->len - start));
  mcap_end_record (record, start);
  /* First, so that its room is reserved with the record's. */
  start = mcap_begin_record (self->attachment_indexes, MCAP_OP_ATTACHMENT_INDEX);
  mcap_put_u64 (self->attachment_indexes, offset);
  mcap_put_u64 (self->attachment_indexes, record->len);
  mcap_put_u64 (self->attachment_indexes, log_time);
  mcap_put_u64 (self->attachment_indexes, create_time);
  mcap_put_u64 (self->attachment_indexes, size);
  mcap_put_string (self->attachment_indexes, name);
  mcap_put_string (self->attachment_indexes, media_type);
  mcap_end_record (self->attachment_indexes, start);
  if (!write_bytes (self, record, error)) {
    g_byte_array_set_size (self->attachment_indexes, (guint)indexed);
    return FALSE;
  }
  self->n_attachments++;
  return TRUE;
}

gboolean
mcap_writer_add_metadata (McapWriter *self, const gchar *name, GHashTable *metadata, GError **error)
{
  g_autoptr (GByteArray) record = g_byte_array_new ();
  const gsize indexed = self->metadata_indexes->len;
  guint64 offset = self->position;
  gsize start;

  start = mcap_begin_record (record, MCAP_OP_METADATA);
  mcap_put_string (record, name);
  mcap_put_map (record, metadata);
  mcap_end_record (record, start);
  /* First, so that its room is reserved with the record's. */
  start = mcap_begin_record (self->metadata_indexes, MCAP_OP_METADATA_INDEX);
  mcap_put_u64 (self->metadata_indexes, offset);
  mcap_put_u64 (self->metadata_indexes, record->len);
  mcap_put_string (self->metadata_indexes, name);
  mcap_end_record (self->metadata_indexes, start);
  if (!write_bytes (self, record, error)) {
    g_byte_array_set_size (self->metadata_indexes, (guint)indexed);
    return FALSE;
  }
  self->n_metadata++;
  return TRUE;
}

/* Ends a group of records of the summary, which began at @start: its summary offset, if it has
 * any records. */
static void
end_group (McapWriter *self, const GByteArray *summary, gsize start, McapOpcode opcode,
    GByteArray *offsets)
{
  gsize record;

  if (summary->len == start)
    return;
  record = mcap_begin_record (offsets, MCAP_OP_SUMMARY_OFFSET);
  g_byte_array_append (offsets, &(guint8){opcode}, 1);
  mcap_put_u64 (offsets, self->position + start);
  mcap_put_u64 (offsets, summary->len - start);
  mcap_end_record (offsets, record);
}

static void
put_statistics (McapWriter *self, GByteArray *out)
{
  const McapWriterStatistics *statistics = &self->statistics;
  gsize start = mcap_begin_record (out, MCAP_OP_STATISTICS);
  gsize map;

  mcap_put_u64 (out, statistics->messages);
  mcap_put_u16 (out, self->schemas->len);
  mcap_put_u32 (out, self->channels->len);
  mcap_put_u32 (out, self->n_attachments);
  mcap_put_u32 (out, self->n_metadata);
  mcap_put_u32 (out, statistics->chunks);
  mcap_put_u64 (out, statistics->messages ? statistics->first_time : 0);
  mcap_put_u64 (out, statistics->last_time);
  map = out->len;
  mcap_put_u32 (out, 0);
  for (guint i = 0; i < self->channels->len; i++) {
    Channel *channel = g_ptr_array_index (self->channels, i);

    if (channel->n_messages == 0)
      continue;
    mcap_put_u16 (out, i);
    mcap_put_u64 (out, channel->n_messages);
  }
  mcap_set_u32 (out->data + map, out->len - map - 4);
  mcap_end_record (out, start);
}

static void
put_summary (McapWriter *self, GByteArray *out)
{
  g_autoptr (GByteArray) offsets = g_byte_array_new ();
  guint64 summary_start = self->position;
  guint64 offset_start;
  gsize start;

  for (guint i = 0; i < self->schemas->len; i++)
    mcap_put_record (
        out, MCAP_OP_SCHEMA, ((Schema *)g_ptr_array_index (self->schemas, i))->content);
  end_group (self, out, 0, MCAP_OP_SCHEMA, offsets);
  start = out->len;
  for (guint i = 0; i < self->channels->len; i++)
    mcap_put_record (
        out, MCAP_OP_CHANNEL, ((Channel *)g_ptr_array_index (self->channels, i))->content);
  end_group (self, out, start, MCAP_OP_CHANNEL, offsets);
  start = out->len;
  put_statistics (self, out);
  end_group (self, out, start, MCAP_OP_STATISTICS, offsets);
  start = out->len;
  g_byte_array_append (out, self->chunk_indexes->data, self->chunk_indexes->len);
  end_group (self, out, start, MCAP_OP_CHUNK_INDEX, offsets);
  start = out->len;
  g_byte_array_append (out, self->attachment_indexes->data, self->attachment_indexes->len);
  end_group (self, out, start, MCAP_OP_ATTACHMENT_INDEX, offsets);
  start = out->len;
  g_byte_array_append (out, self->metadata_indexes->data, self->metadata_indexes->len);
  end_group (self, out, start, MCAP_OP_METADATA_INDEX, offsets);

  offset_start = summary_start + out->len;
  g_byte_array_append (out, offsets->data, offsets->len);
  mcap_put_record_header (out, MCAP_OP_FOOTER, MCAP_FOOTER_SIZE);
  mcap_put_u64 (out, summary_start);
  mcap_put_u64 (out, offset_start);
  mcap_put_u32 (out, mcap_crc32 (0, out->data, out->len));
  g_byte_array_append (out, (const guint8 *)MCAP_MAGIC, MCAP_MAGIC_SIZE);
}

gboolean
mcap_writer_finish (McapWriter *self, GError **error)
{
  g_autoptr (GByteArray) out = g_byte_array_new ();
  guint32 data_crc;

  if (self->failed)
    drop_chunk (self);
  else if (!mcap_writer_flush (self, error))
    return FALSE;
  /* Where the first write failed, a file without messages is a file still. */
  if (self->position == 0 && !write_bytes (self, self->head, error))
    return FALSE;
  data_crc = self->data_crc;
  mcap_put_record_header (out, MCAP_OP_DATA_END, 4);
  mcap_put_u32 (out, data_crc);
  if (!write_bytes (self, out, error))
    return FALSE;
  g_byte_array_set_size (out, 0);
  put_summary (self, out);
  return write_bytes (self, out, error);
}

guint64
mcap_writer_get_position (const McapWriter *self)
{
  return self->position;
}

guint64
mcap_writer_get_summary_size (const McapWriter *self)
{
  /* Data end, footer, magic, summary offsets and statistics. */
  guint64 size = 13 + 29 + MCAP_MAGIC_SIZE + 6 * 26 + 64;

  for (guint i = 0; i < self->schemas->len; i++)
    size +=
        MCAP_RECORD_HEADER_SIZE + ((Schema *)g_ptr_array_index (self->schemas, i))->content->len;
  /* A channel is counted in the statistics and has an entry in the index of the chunk at hand. */
  for (guint i = 0; i < self->channels->len; i++)
    size += MCAP_RECORD_HEADER_SIZE + 2 * 10 +
            ((Channel *)g_ptr_array_index (self->channels, i))->content->len;
  size += self->chunk_indexes->len + self->attachment_indexes->len + self->metadata_indexes->len;
  return size + 128; /* the index of the chunk at hand */
}

guint64
mcap_writer_get_pending_size (const McapWriter *self)
{
  return self->chunk->len;
}

McapWriterStatistics
mcap_writer_get_statistics (const McapWriter *self)
{
  return self->statistics;
}
