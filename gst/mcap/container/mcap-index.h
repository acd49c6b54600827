/* SPDX-License-Identifier: MIT */
#pragma once

#include "mcap-reader.h"

G_BEGIN_DECLS

/* Where the messages of a file are: for mcap-reader.c. */

typedef struct {
  McapReadFunc read;
  gpointer user_data;
  guint64 size;
  gsize limit; /* bytes of a record, or of a chunk unpacked, that are read at most */
} McapFile;

/* The content of the record at @offset, which has to have that opcode. MCAP_ERROR_FORMAT where it
 * has not, or is longer than the file; MCAP_ERROR_UNSUPPORTED above the limit. */
gboolean mcap_file_read_record (
    const McapFile *file, guint64 offset, guint8 opcode, GByteArray *out, GError **error);

typedef struct {
  guint64 time;
  guint64 offset; /* of the message's content in the unpacked chunk, or of its record in the file */
} McapEntry;

/* By time, of equal ones by place: a GCompareFunc. */
gint mcap_entry_compare (gconstpointer a, gconstpointer b);

/* A chunk, or all messages outside of chunks. */
typedef struct {
  gboolean is_chunk;
  gboolean has_channels; /* those of the chunk are in the table */
  guint number;          /* in the order of the file */
  guint64 start;
  guint64 end;
  guint64 offset;

  McapEntry *entries; /* by time; of a chunk while it is active */
  guint n_entries;
  guint next;
  GByteArray *data; /* unpacked */
} McapBlock;

/* An attachment or a metadata record. */
typedef struct {
  guint8 opcode;
  guint64 offset;
} McapPlace;

typedef struct {
  McapTable table;
  GPtrArray *blocks; /* by start */
  GArray *places;    /* McapPlace, in the order of the file */
  gboolean has_all_places;
  gboolean has_unclear_chunks; /* whose times of 0 do not tell whether they have messages */
  gboolean has_range;
  guint64 start;
  guint64 end;
  gboolean has_summary;
  gboolean has_all_channels; /* in the table */
  gboolean is_complete;
  guint64 n_damaged;
  gchar *warning; /* not taken yet */
} McapIndex;

void mcap_index_init (McapIndex *self);
void mcap_index_clear (McapIndex *self);
gboolean mcap_index_read (McapIndex *self, const McapFile *file, GError **error);
/* Goes through the file for the places that its summary does not have. */
gboolean mcap_index_find_places (McapIndex *self, const McapFile *file, GError **error);
/* Counts something that is left out; the first since the last one taken becomes the warning. */
void mcap_index_add_damage (McapIndex *self, guint64 offset, const gchar *what);

G_END_DECLS
