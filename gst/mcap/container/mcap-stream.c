/* SPDX-License-Identifier: MIT */
#include "mcap-stream.h"

#include <string.h>

#include "mcap-format.h"
#include "mcap-unpack.h"

typedef enum { STATE_MAGIC, STATE_RECORDS, STATE_END, STATE_FAILED } State;

struct _McapStream {
  State state;
  GByteArray *pending; /* bytes that came, from @used on not looked at */
  gsize used;
  guint64 offset;    /* in the file, of what is at @used */
  guint64 skip;      /* bytes to come that are of no use */
  guint32 data_crc;  /* of all bytes before @used */
  GByteArray *chunk; /* unpacked records, from chunk_cursor on not given out */
  McapCursor chunk_cursor;
  gboolean in_chunk;
  McapTable table;
  guint64 n_damaged;
  gchar *warning;
  gsize limit;
};

McapStream *
mcap_stream_new (void)
{
  McapStream *self = g_new0 (McapStream, 1);
  self->pending = g_byte_array_new ();
  self->limit = MCAP_READ_LIMIT;
  self->chunk = g_byte_array_new ();
  mcap_table_init (&self->table);
  return self;
}

void
mcap_stream_set_limit (McapStream *self, gsize limit)
{
  self->limit = MIN (limit, MCAP_MAX_READ_LIMIT);
}

void
mcap_stream_free (McapStream *self)
{
  g_byte_array_unref (self->pending);
  g_byte_array_unref (self->chunk);
  mcap_table_clear (&self->table);
  g_free (self->warning);
  g_free (self);
}

void
mcap_stream_reset (McapStream *self)
{
  self->state = STATE_MAGIC;
  g_byte_array_set_size (self->pending, 0);
  self->used = 0;
  self->offset = 0;
  self->skip = 0;
  self->data_crc = 0;
  self->in_chunk = FALSE;
}

void
mcap_stream_push (McapStream *self, const guint8 *data, gsize size)
{
  if (self->state == STATE_END || self->state == STATE_FAILED)
    return;
  const gsize skipped = (gsize)MIN (self->skip, size);
  self->skip -= skipped;
  self->data_crc = mcap_crc32 (self->data_crc, data, skipped);
  self->offset += skipped;
  /* Once a record is out, what was before is moved out of the way. */
  if (self->used > 0) {
    g_byte_array_remove_range (self->pending, 0, (guint)self->used);
    self->used = 0;
  }
  g_byte_array_append (self->pending, data + skipped, (guint)(size - skipped));
}

gboolean
mcap_stream_is_complete (const McapStream *self)
{
  return self->state == STATE_END;
}

const McapTable *
mcap_stream_get_table (const McapStream *self)
{
  return &self->table;
}

guint64
mcap_stream_get_n_damaged (const McapStream *self)
{
  return self->n_damaged;
}

gchar *
mcap_stream_take_warning (McapStream *self)
{
  return g_steal_pointer (&self->warning);
}

static void
add_damage (McapStream *self, const gchar *what)
{
  self->n_damaged++;
  if (!self->warning)
    self->warning = g_strdup_printf (
        "Damaged near byte %" G_GUINT64_FORMAT ": %s; it is left out.", self->offset, what);
}

static void
take (McapStream *self, gsize size)
{
  self->data_crc = mcap_crc32 (self->data_crc, self->pending->data + self->used, size);
  self->used += size;
  self->offset += size;
}

/* At the end of the data, which has the checksum of all before it. What else was found damaged is
 * known already. */
static void
check_data (McapStream *self, McapCursor content)
{
  const guint32 crc = mcap_cursor_u32 (&content);
  if (crc != 0 && crc != self->data_crc && self->n_damaged == 0 && !self->warning)
    self->warning =
        g_strdup_printf ("The checksum of the data, which end at byte %" G_GUINT64_FORMAT
                         ", does not match them: something was changed.",
            self->offset);
}

static void
open_chunk (McapStream *self, McapCursor *content)
{
  g_autoptr (GError) damage = NULL;
  McapChunk chunk;

  const gboolean parsed = mcap_parse_chunk (content, &chunk);
  const guint8 *records = parsed ? mcap_cursor_bytes (content, chunk.records_size) : NULL;
  if (!records) {
    add_damage (self, "a chunk contradicts itself");
  } else if (!mcap_unpack (
                 &chunk, records, chunk.records_size, self->limit, self->chunk, &damage)) {
    add_damage (self, damage->message);
  } else {
    self->chunk_cursor = (McapCursor){self->chunk->data, self->chunk->len, 0, FALSE};
    self->in_chunk = TRUE;
  }
}

static gboolean
next_of_chunk (McapStream *self, guint8 *opcode, McapCursor *content)
{
  if (!self->in_chunk)
    return FALSE;
  if (mcap_cursor_record (&self->chunk_cursor, opcode, content))
    return TRUE;
  if (self->chunk_cursor.failed)
    add_damage (self, "the last record of a chunk is longer than the chunk");
  self->in_chunk = FALSE;
  return FALSE;
}

/* The next record of the file itself, which is taken off what is pending. */
static gboolean
next_of_file (McapStream *self, guint8 *opcode, McapCursor *content, GError **error)
{
  const guint8 *data = self->pending->data + self->used;
  const gsize left = self->pending->len - self->used;

  if (left < MCAP_RECORD_HEADER_SIZE)
    return FALSE;
  *opcode = data[0];
  const guint64 size = mcap_get_u64 (data + 1);
  if (*opcode == 0 || size > G_MAXINT64) {
    self->state = STATE_FAILED;
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_FORMAT,
        "what is at byte %" G_GUINT64_FORMAT " is no record", self->offset);
    return FALSE;
  }
  if (size > self->limit) {
    g_autoptr (GError) damage = NULL;
    mcap_set_too_large ("a record", size, self->limit, &damage);
    add_damage (self, damage->message);
    const guint64 whole = size + MCAP_RECORD_HEADER_SIZE;
    self->skip = whole - MIN (whole, left);
    take (self, (gsize)MIN (whole, left));
    return FALSE;
  }
  if (left - MCAP_RECORD_HEADER_SIZE < size)
    return FALSE;
  *content = (McapCursor){data + MCAP_RECORD_HEADER_SIZE, (gsize)size, 0, FALSE};
  if (*opcode == MCAP_OP_DATA_END)
    check_data (self, *content);
  take (self, (gsize)size + MCAP_RECORD_HEADER_SIZE);
  return TRUE;
}

gboolean
mcap_stream_next (McapStream *self, guint8 *opcode, McapCursor *content, GError **error)
{
  if (self->state == STATE_MAGIC) {
    const gsize left = self->pending->len - self->used;
    if (left < MCAP_MAGIC_SIZE)
      return FALSE;
    if (memcmp (self->pending->data + self->used, MCAP_MAGIC, MCAP_MAGIC_SIZE) != 0) {
      self->state = STATE_FAILED;
      g_set_error_literal (
          error, MCAP_ERROR, MCAP_ERROR_FORMAT, "it does not begin as MCAP files of version 0 do");
      return FALSE;
    }
    take (self, MCAP_MAGIC_SIZE);
    self->state = STATE_RECORDS;
  }
  while (self->state == STATE_RECORDS) {
    const gboolean inner = next_of_chunk (self, opcode, content);
    if (!inner && !next_of_file (self, opcode, content, error))
      return FALSE;
    if (!inner && *opcode == MCAP_OP_CHUNK) {
      open_chunk (self, content);
      continue;
    }
    if (*opcode == MCAP_OP_FOOTER)
      self->state = STATE_END;
    if (*opcode == MCAP_OP_SCHEMA || *opcode == MCAP_OP_CHANNEL) {
      McapCursor copy = *content;
      if (!mcap_table_take_record (&self->table, *opcode, &copy)) {
        add_damage (self, "a schema or channel contradicts itself or is too large");
        continue;
      }
    }
    return TRUE;
  }
  return FALSE;
}
