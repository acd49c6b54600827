/* SPDX-License-Identifier: MIT */
#include "mcap-index.h"

#include <string.h>

#include "mcap-format.h"
#include "mcap-unpack.h"

/* What is read ahead while the headers of records are looked at. */
#define WINDOW_SIZE 65536

/* A chunk's content before its records: times, sizes, CRC and the name of the compression, which
 * is longer than this only where it is damaged. */
#define CHUNK_HEAD_SIZE 256

static gboolean
read_exactly (const McapFile *file, guint64 offset, guint8 *data, gsize size, GError **error)
{
  gsize done = 0;
  while (done < size) {
    const gssize n = file->read (file->user_data, offset + done, data + done, size - done, error);
    if (n < 0)
      return FALSE;
    if (n == 0) {
      g_set_error (error, MCAP_ERROR, MCAP_ERROR_FORMAT, "the file ends at byte %" G_GUINT64_FORMAT,
          offset + done);
      return FALSE;
    }
    done += (gsize)n;
  }
  return TRUE;
}

gboolean
mcap_file_read_record (
    const McapFile *file, guint64 offset, guint8 opcode, GByteArray *out, GError **error)
{
  guint8 header[MCAP_RECORD_HEADER_SIZE];
  if (offset > file->size || file->size - offset < sizeof header) {
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_FORMAT,
        "the index has a record at byte %" G_GUINT64_FORMAT ", beyond the file's end", offset);
    return FALSE;
  }
  if (!read_exactly (file, offset, header, sizeof header, error))
    return FALSE;
  const guint64 size = mcap_get_u64 (header + 1);
  if (header[0] != opcode || size > file->size - offset - sizeof header) {
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_FORMAT,
        "the record at byte %" G_GUINT64_FORMAT " is another one than the index says, or not whole",
        offset);
    return FALSE;
  }
  if (size > file->limit) {
    g_autofree gchar *what = g_strdup_printf ("the record at byte %" G_GUINT64_FORMAT, offset);
    mcap_set_too_large (what, size, file->limit, error);
    return FALSE;
  }
  g_byte_array_set_size (out, (guint)size);
  return read_exactly (file, offset + sizeof header, out->data, (gsize)size, error);
}

static void
free_block (gpointer data)
{
  McapBlock *block = data;
  g_free (block->entries);
  g_clear_pointer (&block->data, g_byte_array_unref);
  g_free (block);
}

void
mcap_index_init (McapIndex *self)
{
  memset (self, 0, sizeof *self);
  mcap_table_init (&self->table);
  self->blocks = g_ptr_array_new_with_free_func (free_block);
  self->places = g_array_new (FALSE, FALSE, sizeof (McapPlace));
}

void
mcap_index_clear (McapIndex *self)
{
  mcap_table_clear (&self->table);
  g_ptr_array_unref (self->blocks);
  g_array_unref (self->places);
  g_free (self->warning);
}

void
mcap_index_add_damage (McapIndex *self, guint64 offset, const gchar *what)
{
  self->n_damaged++;
  if (!self->warning)
    self->warning = g_strdup_printf (
        "Damaged near byte %" G_GUINT64_FORMAT ": %s; it is left out.", offset, what);
}

static void
note (McapIndex *self, gchar *text)
{
  if (self->warning)
    g_free (text);
  else
    self->warning = text;
}

static void
extend_range (McapIndex *self, guint64 start, guint64 end)
{
  self->start = self->has_range ? MIN (self->start, start) : start;
  self->end = self->has_range ? MAX (self->end, end) : end;
  self->has_range = TRUE;
}

static void
add_chunk (McapIndex *self, guint64 offset, guint64 start, guint64 end)
{
  McapBlock *block = g_new0 (McapBlock, 1);
  block->is_chunk = TRUE;
  block->offset = offset;
  block->start = start;
  block->end = end;
  block->number = self->blocks->len;
  g_ptr_array_add (self->blocks, block);
}

static void
add_place (McapIndex *self, guint8 opcode, guint64 offset)
{
  const McapPlace place = {opcode, offset};
  g_array_append_val (self->places, place);
}

static gint
compare_places (gconstpointer a, gconstpointer b)
{
  const McapPlace *x = a, *y = b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static gint
compare_starts (gconstpointer a, gconstpointer b)
{
  const McapBlock *x = *(McapBlock *const *)a, *y = *(McapBlock *const *)b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

gint
mcap_entry_compare (gconstpointer a, gconstpointer b)
{
  const McapEntry *x = a, *y = b;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* What a Chunk Index says, and the number of messages that its message indexes list. */
static gboolean
take_chunk_index (McapIndex *self, McapCursor *cursor, guint64 *n_messages, gboolean *has_counts)
{
  const guint64 start = mcap_cursor_u64 (cursor);
  const guint64 end = mcap_cursor_u64 (cursor);
  const guint64 offset = mcap_cursor_u64 (cursor);
  mcap_cursor_u64 (cursor); /* the record's length */
  const guint32 map_size = mcap_cursor_u32 (cursor);
  mcap_cursor_bytes (cursor, map_size);
  const guint64 index_size = mcap_cursor_u64 (cursor);
  if (cursor->failed)
    return FALSE;
  /* Each Message Index: header, channel, size of the list, 16 bytes a message. */
  const guint64 heads = (guint64)(map_size / 10) * (MCAP_RECORD_HEADER_SIZE + 2 + 4);
  if (map_size == 0 || index_size < heads)
    *has_counts = FALSE;
  else
    *n_messages += (index_size - heads) / 16;
  add_chunk (self, offset, start, end);
  /* A chunk without messages, of schemas and channels, has times of 0, as one whose messages were
   * all logged at 0. */
  if (start != 0 || end != 0 || map_size > 0)
    extend_range (self, start, end);
  else
    self->has_unclear_chunks = TRUE;
  return TRUE;
}

/* Forgets what a part of a summary said. */
static void
reset_index (McapIndex *self)
{
  g_ptr_array_set_size (self->blocks, 0);
  g_array_set_size (self->places, 0);
  self->has_range = self->has_all_channels = self->has_unclear_chunks = FALSE;
}

/* Whether two chunks are at one place: what a few bytes of an index name may be unpacked over and
 * over. */
static gboolean
has_chunk_twice (const McapIndex *self)
{
  g_autoptr (GHashTable) offsets = g_hash_table_new (g_int64_hash, g_int64_equal);
  for (guint i = 0; i < self->blocks->len; i++)
    if (!g_hash_table_add (offsets, &((McapBlock *)g_ptr_array_index (self->blocks, i))->offset))
      return TRUE;
  return FALSE;
}

/* Takes the summary's records. FALSE where they do not list all messages. */
static gboolean
take_summary (McapIndex *self, const guint8 *data, gsize size)
{
  McapCursor cursor = {data, size, 0, FALSE};
  McapCursor content;
  guint8 opcode;
  gboolean has_statistics = FALSE, has_counts = TRUE;
  guint64 n_messages = 0, n_indexed = 0, start = 0, end = 0, n_places = 0;
  guint32 n_chunks = 0, n_channels = 0;

  while (mcap_cursor_record (&cursor, &opcode, &content)) {
    if (opcode == MCAP_OP_CHUNK_INDEX) {
      if (!take_chunk_index (self, &content, &n_indexed, &has_counts))
        return FALSE;
    } else if (opcode == MCAP_OP_ATTACHMENT_INDEX) {
      add_place (self, MCAP_OP_ATTACHMENT, mcap_cursor_u64 (&content));
    } else if (opcode == MCAP_OP_METADATA_INDEX) {
      add_place (self, MCAP_OP_METADATA, mcap_cursor_u64 (&content));
    } else if (opcode == MCAP_OP_STATISTICS) {
      has_statistics = TRUE;
      n_messages = mcap_cursor_u64 (&content);
      mcap_cursor_u16 (&content); /* number of schemas */
      n_channels = mcap_cursor_u32 (&content);
      n_places = mcap_cursor_u32 (&content);
      n_places += mcap_cursor_u32 (&content);
      n_chunks = mcap_cursor_u32 (&content);
      start = mcap_cursor_u64 (&content);
      end = mcap_cursor_u64 (&content);
      if (content.failed)
        return FALSE;
    } else if (!mcap_table_take_record (&self->table, opcode, &content)) {
      return FALSE;
    }
  }
  if (cursor.failed)
    return FALSE;
  self->has_all_channels = has_statistics && n_channels == g_hash_table_size (self->table.channels);
  self->has_all_places = has_statistics && n_places == self->places->len;
  if (has_statistics && n_messages == 0)
    return TRUE;
  /* Messages outside of chunks are in no index. */
  if (self->blocks->len == 0 || has_chunk_twice (self) ||
      (has_statistics && n_chunks != self->blocks->len) ||
      (has_statistics && has_counts && n_indexed != n_messages))
    return FALSE;
  /* Times of chunks are those of their messages; some writers leave those of the statistics at 0.
   */
  if (has_statistics && !self->has_range)
    extend_range (self, start, end);
  return TRUE;
}

/* Reads the summary, where the file has a whole and sound one that lists all messages. */
static gboolean
read_summary (McapIndex *self, const McapFile *file, GError **error)
{
  guint8 tail[MCAP_RECORD_HEADER_SIZE + MCAP_FOOTER_SIZE + MCAP_MAGIC_SIZE];
  const guint8 *footer = tail + MCAP_RECORD_HEADER_SIZE;

  if (file->size < MCAP_MAGIC_SIZE + sizeof tail)
    return FALSE;
  const guint64 footer_offset = file->size - sizeof tail;
  if (!read_exactly (file, footer_offset, tail, sizeof tail, error))
    return FALSE;
  if (memcmp (footer + MCAP_FOOTER_SIZE, MCAP_MAGIC, MCAP_MAGIC_SIZE) != 0 ||
      tail[0] != MCAP_OP_FOOTER || mcap_get_u64 (tail + 1) != MCAP_FOOTER_SIZE)
    return FALSE;
  const guint64 summary = mcap_get_u64 (footer);
  guint64 end = mcap_get_u64 (footer + 8); /* of the summary offsets */
  const guint32 crc = mcap_get_u32 (footer + 16);
  if (end == 0)
    end = footer_offset;
  if (summary < MCAP_MAGIC_SIZE || summary > end || end > footer_offset ||
      footer_offset - summary > file->limit)
    return FALSE;

  const gsize size = (gsize)(footer_offset - summary);
  g_autofree guint8 *data = g_malloc (size + MCAP_RECORD_HEADER_SIZE + 16);
  if (!read_exactly (file, summary, data, size + MCAP_RECORD_HEADER_SIZE + 16, error))
    return FALSE;
  if (crc != 0 && crc != mcap_crc32 (0, data, size + MCAP_RECORD_HEADER_SIZE + 16)) {
    note (self,
        g_strdup ("The checksum of the summary does not match it; the file is indexed anew."));
    return FALSE;
  }
  return take_summary (self, data, (gsize)(end - summary));
}

/* The file's bytes through a window, for many small reads one after another. */
typedef struct {
  const McapFile *file;
  guint64 offset;
  gsize size;
  guint8 data[WINDOW_SIZE];
} Window;

/* @size bytes at @offset, which the file has; NULL and @error where they cannot be read. */
static const guint8 *
look (Window *window, guint64 offset, gsize size, GError **error)
{
  if (offset < window->offset || offset + size > window->offset + window->size) {
    const gsize wanted = (gsize)MIN (WINDOW_SIZE, window->file->size - offset);
    window->size = 0;
    if (!read_exactly (window->file, offset, window->data, wanted, error))
      return NULL;
    window->offset = offset;
    window->size = wanted;
  }
  return window->data + (offset - window->offset);
}

typedef struct {
  Window window;
  gboolean only_places;
  GArray *plain; /* McapEntry of messages outside of chunks */
  GByteArray *record;
} Scan;

/* Takes what the record at @offset, which is whole, says of the file. FALSE and @error where it
 * cannot be read. */
static gboolean
scan_record (
    McapIndex *self, Scan *scan, guint64 offset, guint8 opcode, guint64 size, GError **error)
{
  const guint64 at = offset + MCAP_RECORD_HEADER_SIZE;
  McapCursor cursor = {NULL, 0, 0, FALSE};
  McapChunk chunk;
  McapMessage message;

  if (opcode == MCAP_OP_ATTACHMENT || opcode == MCAP_OP_METADATA)
    add_place (self, opcode, offset);
  if (scan->only_places)
    return TRUE;
  switch (opcode) {
  case MCAP_OP_CHUNK:
    cursor.size = (gsize)MIN (size, CHUNK_HEAD_SIZE);
    if (!(cursor.data = look (&scan->window, at, cursor.size, error)))
      return FALSE;
    if (mcap_parse_chunk (&cursor, &chunk)) {
      add_chunk (self, offset, chunk.start_time, chunk.end_time);
      if (chunk.start_time != 0 || chunk.end_time != 0)
        extend_range (self, chunk.start_time, chunk.end_time);
      else if (chunk.records_size > 0)
        self->has_unclear_chunks = TRUE;
    } else {
      mcap_index_add_damage (self, offset, "a chunk contradicts itself");
    }
    return TRUE;
  case MCAP_OP_MESSAGE:
    cursor.size = (gsize)MIN (size, MCAP_MESSAGE_HEADER_SIZE);
    if (!(cursor.data = look (&scan->window, at, cursor.size, error)))
      return FALSE;
    if (mcap_parse_message (&cursor, &message)) {
      const McapEntry entry = {message.log_time, offset};
      g_array_append_val (scan->plain, entry);
      extend_range (self, message.log_time, message.log_time);
    } else {
      mcap_index_add_damage (self, offset, "a message is too short");
    }
    return TRUE;
  case MCAP_OP_SCHEMA:
  case MCAP_OP_CHANNEL:
    if (!mcap_file_read_record (scan->window.file, offset, opcode, scan->record, error))
      return FALSE;
    cursor = (McapCursor){scan->record->data, scan->record->len, 0, FALSE};
    if (!mcap_table_take_record (&self->table, opcode, &cursor))
      mcap_index_add_damage (
          self, offset, "a schema or channel contradicts itself or is too large");
    return TRUE;
  default:
    return TRUE;
  }
}

/* Goes through the headers of all records, up to the end of the data or of what is whole. */
static gboolean
scan_file (McapIndex *self, Scan *scan, GError **error)
{
  const guint64 size = scan->window.file->size;
  guint64 offset = MCAP_MAGIC_SIZE;
  gboolean ended = FALSE;

  while (!ended && size - offset >= MCAP_RECORD_HEADER_SIZE) {
    const guint8 *header = look (&scan->window, offset, MCAP_RECORD_HEADER_SIZE, error);
    if (!header)
      return FALSE;
    const guint8 opcode = header[0];
    const guint64 length = mcap_get_u64 (header + 1);
    if (opcode == 0 || length > size - offset - MCAP_RECORD_HEADER_SIZE)
      break;
    if (!scan_record (self, scan, offset, opcode, length, error))
      return FALSE;
    offset += MCAP_RECORD_HEADER_SIZE + length;
    ended = opcode == MCAP_OP_DATA_END || opcode == MCAP_OP_FOOTER;
  }
  self->is_complete = ended;
  if (!ended)
    note (self, g_strdup_printf ("The file was cut off or is damaged: what is whole ends at byte "
                                 "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT ".",
                    offset, size));
  return TRUE;
}

static void
add_plain_messages (McapIndex *self, GArray *plain)
{
  if (plain->len == 0)
    return;
  McapBlock *block = g_new0 (McapBlock, 1);
  g_array_sort (plain, mcap_entry_compare);
  block->n_entries = plain->len;
  block->entries = g_array_steal (plain, NULL);
  block->start = block->entries[0].time;
  block->end = block->entries[block->n_entries - 1].time;
  block->number = self->blocks->len;
  g_ptr_array_add (self->blocks, block);
}

static gboolean
scan_records (McapIndex *self, const McapFile *file, gboolean only_places, GError **error)
{
  Scan *scan = g_new0 (Scan, 1);
  scan->window.file = file;
  scan->only_places = only_places;
  scan->plain = g_array_new (FALSE, FALSE, sizeof (McapEntry));
  scan->record = g_byte_array_new ();
  const gboolean done = scan_file (self, scan, error);
  if (done)
    add_plain_messages (self, scan->plain);
  self->has_all_places = TRUE;
  g_array_unref (scan->plain);
  g_byte_array_unref (scan->record);
  g_free (scan);
  return done;
}

gboolean
mcap_index_find_places (McapIndex *self, const McapFile *file, GError **error)
{
  if (!self->has_all_places) {
    g_array_set_size (self->places, 0);
    if (!scan_records (self, file, TRUE, error))
      return FALSE;
  }
  g_array_sort (self->places, compare_places);
  return TRUE;
}

static gboolean
lacks_schema (gpointer id, gpointer channel, gpointer table)
{
  return ((McapChannel *)channel)->schema_id != 0 && !mcap_table_get_schema (table, channel);
}

static gboolean
has_messages (const McapFile *file, guint64 offset, GByteArray *record, GByteArray *records)
{
  McapChunk chunk;
  McapCursor content;
  guint8 opcode;

  if (!mcap_file_read_record (file, offset, MCAP_OP_CHUNK, record, NULL))
    return FALSE;
  McapCursor cursor = {record->data, record->len, 0, FALSE};
  if (!mcap_parse_chunk (&cursor, &chunk))
    return FALSE;
  const guint8 *bytes = mcap_cursor_bytes (&cursor, chunk.records_size);
  if (!bytes || !mcap_unpack (&chunk, bytes, chunk.records_size, file->limit, records, NULL))
    return FALSE;
  McapCursor inner = {records->data, records->len, 0, FALSE};
  while (mcap_cursor_record (&inner, &opcode, &content))
    if (opcode == MCAP_OP_MESSAGE)
      return TRUE;
  return FALSE;
}

/* Looks into the chunks whose times say nothing, until one has messages. What is damaged in them is
 * said when they are read. */
static void
look_into_chunks (McapIndex *self, const McapFile *file)
{
  g_autoptr (GByteArray) record = g_byte_array_new ();
  g_autoptr (GByteArray) records = g_byte_array_new ();
  for (guint i = 0; i < self->blocks->len && !(self->has_range && self->start == 0); i++) {
    const McapBlock *block = g_ptr_array_index (self->blocks, i);
    if (block->is_chunk && block->start == 0 && block->end == 0 &&
        has_messages (file, block->offset, record, records))
      extend_range (self, 0, 0);
  }
}

gboolean
mcap_index_read (McapIndex *self, const McapFile *file, GError **error)
{
  guint8 magic[MCAP_MAGIC_SIZE];
  GError *failure = NULL;

  if (file->size < sizeof magic) {
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_FORMAT,
        file->size == 0 ? "the file is empty" : "the file ends within MCAP's first 8 bytes");
    return FALSE;
  }
  if (!read_exactly (file, 0, magic, sizeof magic, error))
    return FALSE;
  if (memcmp (magic, MCAP_MAGIC, sizeof magic) != 0) {
    g_set_error_literal (
        error, MCAP_ERROR, MCAP_ERROR_FORMAT, "it does not begin as MCAP files of version 0 do");
    return FALSE;
  }

  self->has_summary = self->is_complete = read_summary (self, file, &failure);
  /* A summary may repeat channels without their schemas: the chunks have both. */
  if (g_hash_table_foreach_remove (self->table.channels, lacks_schema, &self->table) > 0)
    self->has_all_channels = FALSE;
  if (!self->has_summary && !failure) {
    reset_index (self);
    scan_records (self, file, FALSE, &failure);
  }
  if (failure) {
    g_propagate_error (error, failure);
    return FALSE;
  }
  if (self->has_unclear_chunks)
    look_into_chunks (self, file);
  g_ptr_array_sort (self->blocks, compare_starts);
  return TRUE;
}
