/* SPDX-License-Identifier: MIT */
#pragma once

#include "mcap-records.h"

G_BEGIN_DECLS

/* Messages of an MCAP file in the order of their log times, those of one time in the order of the
 * file, with the help of its index, or of one made by reading the headers of its records where it
 * has none or was cut off. Not thread-safe.
 *
 * Memory: the index, 16 bytes for each message of the chunks that overlap in time (or that lie
 * outside of chunks), and MCAP_CACHE_SIZE of unpacked chunks beside the one being read. */

#define MCAP_CACHE_SIZE (256u << 20)

/* Reads up to @size bytes at @offset; fewer at the end only; -1 and @error on failure. */
typedef gssize (*McapReadFunc) (
    gpointer user_data, guint64 offset, guint8 *data, gsize size, GError **error);

typedef struct _McapReader McapReader;

typedef struct {
  guint64 n_damaged;         /* chunks and records left out */
  gboolean has_index;        /* of its own */
  gboolean is_complete;      /* not cut off */
  gboolean has_all_channels; /* known from the start */
} McapReaderStats;

/* @user_data is of use until mcap_reader_free(), and on failure not after the call. */
McapReader *mcap_reader_new (McapReadFunc read, gpointer user_data, guint64 size, GError **error);
/* Bytes of a record, or of a chunk unpacked, that are read at most (MCAP_READ_LIMIT). */
void mcap_reader_set_limit (McapReader *self, gsize limit);
void mcap_reader_free (McapReader *self);

/* FALSE where there are no messages. */
gboolean mcap_reader_get_range (const McapReader *self, guint64 *start, guint64 *end);
/* What is known of schemas and channels so far: of files without a summary more are found while
 * messages are read. */
const McapTable *mcap_reader_get_table (const McapReader *self);
void mcap_reader_get_stats (const McapReader *self, McapReaderStats *stats);
/* What was noticed since the last call, NULL: nothing. */
gchar *mcap_reader_take_warning (McapReader *self);

/* Messages from @time on come next. */
void mcap_reader_seek (McapReader *self, guint64 time);
/* FALSE at the end (no error) or when reading failed. Data stay until the next call. Its channel is
 * in the table. */
gboolean mcap_reader_next (McapReader *self, McapMessage *message, GError **error);

/* Attachments and metadata records, in the order of the file: @opcode, and the content, which goes
 * when the function returns; FALSE: no more of them. */
typedef gboolean (*McapRecordFunc) (gpointer user_data, guint8 opcode, McapCursor *content);

/* Whether there is one of @opcode. FALSE as well where reading failed. */
gboolean mcap_reader_has_record (McapReader *self, guint8 opcode);
/* Those that are damaged are left out, and counted. FALSE where reading failed. */
gboolean mcap_reader_foreach_record (
    McapReader *self, McapRecordFunc func, gpointer user_data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (McapReader, mcap_reader_free)

G_END_DECLS
