/* SPDX-License-Identifier: MIT */
#pragma once

#include "mcap-records.h"

G_BEGIN_DECLS

/* Unpacks the records of a chunk, @limit bytes at most, into @out and checks their CRC. Memory
 * grows with what comes out, not with what the chunk says. */
gboolean mcap_unpack (const McapChunk *chunk, const guint8 *data, gsize size, gsize limit,
    GByteArray *out, GError **error);
/* MCAP_ERROR_UNSUPPORTED: @what has @size bytes, more than @limit. */
void mcap_set_too_large (const gchar *what, guint64 size, gsize limit, GError **error);

/* Unpacks zstd frames, as long as they give no more than @limit bytes. */
gboolean mcap_unpack_zstd (
    const guint8 *data, gsize size, gsize limit, GByteArray *out, GError **error);

G_END_DECLS
