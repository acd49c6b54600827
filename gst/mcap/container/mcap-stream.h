/* SPDX-License-Identifier: MIT */
#pragma once

#include "mcap-records.h"

G_BEGIN_DECLS

/* The records of an MCAP file as its bytes come, those of chunks unpacked, in the order of the
 * file. What is whole comes out. Memory: one record, and one unpacked chunk. Not thread-safe. */

typedef struct _McapStream McapStream;

McapStream *mcap_stream_new (void);
/* Bytes of a record, or of a chunk unpacked, that are read at most (MCAP_READ_LIMIT). */
void mcap_stream_set_limit (McapStream *self, gsize limit);
void mcap_stream_free (McapStream *self);
/* Forgets all but schemas and channels; bytes of the beginning of a file come next. */
void mcap_stream_reset (McapStream *self);

void mcap_stream_push (McapStream *self, const guint8 *data, gsize size);
/* The next record: schemas and channels are in the table already, chunks and their indexes do not
 * appear. The content stays until the next call. FALSE where more bytes are needed, and (with
 * @error) where what came is no MCAP. */
gboolean mcap_stream_next (McapStream *self, guint8 *opcode, McapCursor *content, GError **error);
/* Whether the file ended as it should: after its footer. */
gboolean mcap_stream_is_complete (const McapStream *self);

const McapTable *mcap_stream_get_table (const McapStream *self);
guint64 mcap_stream_get_n_damaged (const McapStream *self);
/* What was left out since the last call; NULL: nothing. */
gchar *mcap_stream_take_warning (McapStream *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (McapStream, mcap_stream_free)

G_END_DECLS
