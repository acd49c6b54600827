/* SPDX-License-Identifier: MIT */
#include "mcap-reader.h"

#include "mcap-format.h"
#include "mcap-unpack.h"
#include "mcap-index.h"

struct _McapReader {
  McapFile file;
  McapIndex index;

  /* of the messages from a time on */
  GSequence *active; /* McapBlock with entries left, by the next one's time */
  guint next_block;  /* first in the index that is not active yet */
  guint64 from;
  McapBlock *finished; /* its last message was given out; dropped on the next call */
  gsize cached;        /* bytes of unpacked chunks */
  GByteArray *record;
  gboolean has_all_channels; /* all chunks were looked through for one */
};

static gint
compare_blocks (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const McapBlock *x = a, *y = b;
  const guint64 tx = x->entries[x->next].time, ty = y->entries[y->next].time;
  if (tx != ty)
    return tx < ty ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static void
drop_data (McapReader *self, McapBlock *block)
{
  if (block->data) {
    self->cached -= block->data->len;
    g_clear_pointer (&block->data, g_byte_array_unref);
  }
}

static void
drop_entries (McapReader *self, McapBlock *block)
{
  drop_data (self, block);
  if (block->is_chunk) {
    g_clear_pointer (&block->entries, g_free);
    block->n_entries = 0; /* reading it again may fail */
  }
  block->next = 0;
}

/* Reads and unpacks a chunk. FALSE without @error: it is damaged, which was noted. */
static gboolean
load_data (McapReader *self, McapBlock *block, GError **error)
{
  g_autoptr (GError) damage = NULL;
  McapChunk chunk;

  if (!mcap_file_read_record (&self->file, block->offset, MCAP_OP_CHUNK, self->record, &damage)) {
    if (g_error_matches (damage, MCAP_ERROR, MCAP_ERROR_FORMAT)) {
      mcap_index_add_damage (&self->index, block->offset, damage->message);
      return FALSE;
    }
    g_propagate_error (error, g_steal_pointer (&damage));
    return FALSE;
  }
  McapCursor cursor = {self->record->data, self->record->len, 0, FALSE};
  g_autoptr (GByteArray) out = g_byte_array_new ();
  const gboolean parsed = mcap_parse_chunk (&cursor, &chunk);
  const guint8 *records = parsed ? mcap_cursor_bytes (&cursor, chunk.records_size) : NULL;
  if (!records) {
    mcap_index_add_damage (&self->index, block->offset, "a chunk contradicts itself");
    return FALSE;
  }
  if (!mcap_unpack (&chunk, records, chunk.records_size, self->file.limit, out, &damage)) {
    mcap_index_add_damage (&self->index, block->offset, damage->message);
    return FALSE;
  }
  block->data = g_steal_pointer (&out);
  self->cached += block->data->len;
  return TRUE;
}

/* Lists the messages of a chunk that has just been unpacked. */
static void
list_entries (McapReader *self, McapBlock *block)
{
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (McapEntry));
  McapCursor cursor = {block->data->data, block->data->len, 0, FALSE};
  McapCursor content;
  McapMessage message;
  guint8 opcode;
  gboolean sorted = TRUE;

  while (mcap_cursor_record (&cursor, &opcode, &content)) {
    if (opcode == MCAP_OP_MESSAGE && mcap_parse_message (&content, &message)) {
      const McapEntry entry = {message.log_time, (guint64)(content.data - block->data->data)};
      sorted =
          sorted && (entries->len == 0 ||
                        g_array_index (entries, McapEntry, entries->len - 1).time <= entry.time);
      g_array_append_val (entries, entry);
    } else if (opcode == MCAP_OP_MESSAGE ||
               !mcap_table_take_record (&self->index.table, opcode, &content)) {
      mcap_index_add_damage (
          &self->index, block->offset, "a record in a chunk contradicts itself or is too large");
    }
  }
  block->has_channels = TRUE;
  if (cursor.failed)
    mcap_index_add_damage (
        &self->index, block->offset, "the last record of a chunk is longer than the chunk");
  if (!sorted)
    g_array_sort (entries, mcap_entry_compare);
  block->n_entries = entries->len;
  block->entries = (McapEntry *)g_array_free (g_steal_pointer (&entries), FALSE);
}

/* Unpacked chunks whose next message is furthest away make room. */
static void
limit_cache (McapReader *self, const McapBlock *keep)
{
  GSequenceIter *iter = g_sequence_get_end_iter (self->active);
  while (self->cached > MCAP_CACHE_SIZE && !g_sequence_iter_is_begin (iter)) {
    iter = g_sequence_iter_prev (iter);
    if (g_sequence_get (iter) != keep)
      drop_data (self, g_sequence_get (iter));
  }
}

/* Puts the next block of the index among the active ones. */
static gboolean
activate_block (McapReader *self, GError **error)
{
  McapBlock *block = g_ptr_array_index (self->index.blocks, self->next_block++);
  GError *failure = NULL;

  if (block->is_chunk && block->end < self->from)
    return TRUE;
  if (block->is_chunk && load_data (self, block, &failure))
    list_entries (self, block);
  if (failure) {
    g_propagate_error (error, failure);
    return FALSE;
  }
  block->next = 0;
  while (block->next < block->n_entries && block->entries[block->next].time < self->from)
    block->next++;
  if (block->next == block->n_entries) {
    drop_entries (self, block);
    return TRUE;
  }
  g_sequence_insert_sorted (self->active, block, compare_blocks, NULL);
  limit_cache (self, block);
  return TRUE;
}

/* Looks for a channel in chunks that were not read: it stands once in a file, before its first
 * message, and the summary need not repeat it. */
static gboolean
find_channel (McapReader *self, guint id, GError **error)
{
  for (guint i = 0; i < self->index.blocks->len && !self->has_all_channels; i++) {
    McapBlock *block = g_ptr_array_index (self->index.blocks, i);
    GError *failure = NULL;
    if (mcap_table_get_channel (&self->index.table, id))
      return TRUE;
    if (!block->is_chunk || block->has_channels || block->data)
      continue;
    if (load_data (self, block, &failure)) {
      list_entries (self, block);
      drop_entries (self, block);
    }
    block->has_channels = TRUE;
    if (failure) {
      g_propagate_error (error, failure);
      return FALSE;
    }
  }
  self->has_all_channels = TRUE;
  return mcap_table_get_channel (&self->index.table, id) != NULL;
}

/* The message of an entry; FALSE without @error where it is damaged. */
static gboolean
read_message (
    McapReader *self, McapBlock *block, guint64 offset, McapMessage *message, GError **error)
{
  McapCursor content;

  if (block->is_chunk) {
    if (!block->data && !load_data (self, block, error))
      return FALSE;
    limit_cache (self, block);
    /* The record's header, whose length was found to be good, is before it. */
    McapCursor cursor = {
        block->data->data, block->data->len, offset - MCAP_RECORD_HEADER_SIZE, FALSE};
    guint8 opcode;
    if (offset > block->data->len || !mcap_cursor_record (&cursor, &opcode, &content))
      return FALSE;
  } else {
    GError *failure = NULL;
    if (!mcap_file_read_record (&self->file, offset, MCAP_OP_MESSAGE, self->record, &failure)) {
      if (g_error_matches (failure, MCAP_ERROR, MCAP_ERROR_FORMAT)) {
        mcap_index_add_damage (&self->index, offset, failure->message);
        g_error_free (failure);
      } else {
        g_propagate_error (error, failure);
      }
      return FALSE;
    }
    content = (McapCursor){self->record->data, self->record->len, 0, FALSE};
  }
  if (!mcap_parse_message (&content, message)) {
    mcap_index_add_damage (&self->index, offset, "a message is too short");
    return FALSE;
  }
  if (mcap_table_get_channel (&self->index.table, message->channel_id))
    return TRUE;
  GError *failure = NULL;
  const gboolean found = find_channel (self, message->channel_id, &failure);
  if (failure)
    g_propagate_error (error, failure);
  else if (!found)
    mcap_index_add_damage (&self->index, offset, "a message is of a channel that there is not");
  /* Data outside of chunks are where chunks are read to. */
  return found && (block->is_chunk || read_message (self, block, offset, message, error));
}

McapReader *
mcap_reader_new (McapReadFunc read, gpointer user_data, guint64 size, GError **error)
{
  g_autoptr (McapReader) self = g_new0 (McapReader, 1);
  self->file = (McapFile){read, user_data, size, MCAP_READ_LIMIT};
  self->active = g_sequence_new (NULL);
  self->record = g_byte_array_new ();
  mcap_index_init (&self->index);
  if (!mcap_index_read (&self->index, &self->file, error))
    return NULL;
  mcap_reader_seek (self, 0);
  return g_steal_pointer (&self);
}

void
mcap_reader_set_limit (McapReader *self, gsize limit)
{
  self->file.limit = MIN (limit, MCAP_MAX_READ_LIMIT);
}

void
mcap_reader_free (McapReader *self)
{
  g_sequence_free (self->active);
  mcap_index_clear (&self->index);
  g_byte_array_unref (self->record);
  g_free (self);
}

gboolean
mcap_reader_get_range (const McapReader *self, guint64 *start, guint64 *end)
{
  *start = self->index.start;
  *end = self->index.end;
  return self->index.has_range;
}

const McapTable *
mcap_reader_get_table (const McapReader *self)
{
  return &self->index.table;
}

void
mcap_reader_get_stats (const McapReader *self, McapReaderStats *stats)
{
  stats->n_damaged = self->index.n_damaged;
  stats->has_index = self->index.has_summary;
  stats->is_complete = self->index.is_complete;
  stats->has_all_channels = self->index.has_all_channels;
}

gchar *
mcap_reader_take_warning (McapReader *self)
{
  return g_steal_pointer (&self->index.warning);
}

void
mcap_reader_seek (McapReader *self, guint64 time)
{
  for (guint i = 0; i < self->index.blocks->len; i++)
    drop_entries (self, g_ptr_array_index (self->index.blocks, i));
  g_sequence_free (self->active);
  self->active = g_sequence_new (NULL);
  self->next_block = 0;
  self->finished = NULL;
  self->from = time;
}

gboolean
mcap_reader_next (McapReader *self, McapMessage *message, GError **error)
{
  for (;;) {
    if (self->finished)
      drop_entries (self, g_steal_pointer (&self->finished));
    GSequenceIter *first = g_sequence_get_begin_iter (self->active);
    McapBlock *block = g_sequence_iter_is_end (first) ? NULL : g_sequence_get (first);
    GError *failure = NULL;

    if (self->next_block < self->index.blocks->len) {
      const McapBlock *coming = g_ptr_array_index (self->index.blocks, self->next_block);
      if (!block || coming->start <= block->entries[block->next].time) {
        if (!activate_block (self, error))
          return FALSE;
        continue;
      }
    }
    if (!block)
      return FALSE;
    const guint64 offset = block->entries[block->next++].offset;
    const gboolean read = read_message (self, block, offset, message, &failure);
    if (block->next < block->n_entries) {
      g_sequence_sort_changed (first, compare_blocks, NULL);
    } else {
      g_sequence_remove (first);
      self->finished = block;
    }
    if (failure) {
      g_propagate_error (error, failure);
      return FALSE;
    }
    if (read)
      return TRUE;
  }
}

gboolean
mcap_reader_has_record (McapReader *self, guint8 opcode)
{
  mcap_index_find_places (&self->index, &self->file, NULL);
  for (guint i = 0; i < self->index.places->len; i++)
    if (g_array_index (self->index.places, McapPlace, i).opcode == opcode)
      return TRUE;
  return FALSE;
}

gboolean
mcap_reader_foreach_record (
    McapReader *self, McapRecordFunc func, gpointer user_data, GError **error)
{
  if (!mcap_index_find_places (&self->index, &self->file, error))
    return FALSE;
  for (guint i = 0; i < self->index.places->len; i++) {
    const McapPlace *place = &g_array_index (self->index.places, McapPlace, i);
    GError *failure = NULL;
    if (mcap_file_read_record (&self->file, place->offset, place->opcode, self->record, &failure)) {
      McapCursor content = {self->record->data, self->record->len, 0, FALSE};
      if (!func (user_data, place->opcode, &content))
        return TRUE;
    } else if (failure->domain != MCAP_ERROR ||
               g_error_matches (failure, MCAP_ERROR, MCAP_ERROR_READ)) {
      g_propagate_error (error, failure);
      return FALSE;
    } else {
      mcap_index_add_damage (&self->index, place->offset, failure->message);
      g_error_free (failure);
    }
  }
  return TRUE;
}
