/* SPDX-License-Identifier: MIT */
#include "mcap-compress.h"

#include <lz4frame.h>
#include <zstd.h>

#include "mcap-format.h"

/* A recorder has to keep up: of both formats the fast end. */
#define ZSTD_LEVEL 1

struct _McapCompressor {
  McapWriterCompression compression;
  ZSTD_CCtx *zstd;
  guint8 *buffer;
  gsize capacity;
};

McapCompressor *
mcap_compressor_new (McapWriterCompression compression)
{
  McapCompressor *self = g_new0 (McapCompressor, 1);

  self->compression = compression;
  return self;
}

void
mcap_compressor_free (McapCompressor *self)
{
  ZSTD_freeCCtx (self->zstd);
  g_free (self->buffer);
  g_free (self);
}

const gchar *
mcap_compressor_get_name (const McapCompressor *self)
{
  switch (self->compression) {
  case MCAP_WRITER_COMPRESSION_LZ4:
    return MCAP_COMPRESSION_LZ4;
  case MCAP_WRITER_COMPRESSION_ZSTD:
    return MCAP_COMPRESSION_ZSTD;
  default:
    return MCAP_COMPRESSION_NONE;
  }
}

static void
reserve (McapCompressor *self, gsize capacity)
{
  if (capacity <= self->capacity)
    return;
  g_free (self->buffer);
  self->buffer = g_malloc (capacity);
  self->capacity = capacity;
}

static gboolean
run_lz4 (McapCompressor *self, const guint8 *data, gsize size, McapPart *result, GError **error)
{
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;

  preferences.frameInfo.contentSize = size;
  preferences.frameInfo.blockSizeID = LZ4F_max4MB;
  reserve (self, LZ4F_compressFrameBound (size, &preferences));
  result->data = self->buffer;
  result->size = LZ4F_compressFrame (self->buffer, self->capacity, data, size, &preferences);
  if (LZ4F_isError (result->size)) {
    g_set_error (error, MCAP_WRITER_ERROR, MCAP_WRITER_ERROR_COMPRESSION,
        "A chunk could not be compressed: %s", LZ4F_getErrorName (result->size));
    return FALSE;
  }
  return TRUE;
}

static gboolean
run_zstd (McapCompressor *self, const guint8 *data, gsize size, McapPart *result, GError **error)
{
  if (self->zstd == NULL)
    self->zstd = ZSTD_createCCtx ();
  if (self->zstd == NULL)
    g_error ("Out of memory");
  reserve (self, ZSTD_compressBound (size));
  result->data = self->buffer;
  result->size =
      ZSTD_compressCCtx (self->zstd, self->buffer, self->capacity, data, size, ZSTD_LEVEL);
  if (ZSTD_isError (result->size)) {
    g_set_error (error, MCAP_WRITER_ERROR, MCAP_WRITER_ERROR_COMPRESSION,
        "A chunk could not be compressed: %s", ZSTD_getErrorName (result->size));
    return FALSE;
  }
  return TRUE;
}

gboolean
mcap_compressor_run (
    McapCompressor *self, const guint8 *data, gsize size, McapPart *result, GError **error)
{
  switch (self->compression) {
  case MCAP_WRITER_COMPRESSION_LZ4:
    return run_lz4 (self, data, size, result, error);
  case MCAP_WRITER_COMPRESSION_ZSTD:
    return run_zstd (self, data, size, result, error);
  default:
    result->data = data;
    result->size = size;
    return TRUE;
  }
}
