/* SPDX-License-Identifier: MIT */
#pragma once

#include "mcap-writer.h"

G_BEGIN_DECLS

/* Compresses chunks; keeps its memory from one to the next. */
typedef struct _McapCompressor McapCompressor;

McapCompressor *mcap_compressor_new (McapWriterCompression compression);
void mcap_compressor_free (McapCompressor *self);
/* As a chunk record names it. */
const gchar *mcap_compressor_get_name (const McapCompressor *self);
/* The result, @data itself without compression, stays as it is until the next call. */
gboolean mcap_compressor_run (
    McapCompressor *self, const guint8 *data, gsize size, McapPart *result, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (McapCompressor, mcap_compressor_free)

G_END_DECLS
