/* SPDX-License-Identifier: MIT */
#include "mcap-unpack.h"

#include <lz4frame.h>
#include <zstd.h>

#include "mcap-format.h"

/* Makes room for more output, at most @limit bytes of it in all. Returns where it goes and how much
 * there is room for; 0 at the limit. */
static gsize
make_room (GByteArray *out, gsize used, gsize limit, guint8 **room)
{
  if (out->len == used && used < limit)
    g_byte_array_set_size (out, (guint)MIN (limit, MAX ((gsize)65536, used * 2)));
  *room = out->data ? out->data + used : NULL;
  return out->len - used;
}

/* Whether to stop after a step of either decompressor. @result is 0 at the end of a frame, all of
 * which has come out by then. Input that is used up is the end of the data there, also where the
 * output is full: another step would begin the next frame. Within a frame it is the end only where
 * room was left, as what remains in the decompressor would have come out. */
static gboolean
is_done (gsize result, gsize input_left, gsize room_left)
{
  return input_left == 0 && (result == 0 || room_left > 0);
}

gboolean
mcap_unpack_zstd (const guint8 *data, gsize size, gsize limit, GByteArray *out, GError **error)
{
  ZSTD_DStream *stream = ZSTD_createDStream ();
  ZSTD_inBuffer input = {data, size, 0};
  gsize used = 0, result = 1;
  const gchar *problem = NULL;

  while (!problem) {
    guint8 *room;
    /* One byte more than the limit, so that what goes beyond is noticed. */
    const gsize left = make_room (out, used, limit + 1, &room);
    ZSTD_outBuffer output = {room, left, 0};
    result = ZSTD_decompressStream (stream, &output, &input);
    used += output.pos;
    if (ZSTD_isError (result))
      problem = ZSTD_getErrorName (result);
    else if (used > limit)
      problem = "more comes out than there should";
    else if (is_done (result, size - input.pos, left - output.pos))
      break;
  }
  ZSTD_freeDStream (stream);
  g_byte_array_set_size (out, (guint)used);
  if (!problem && result != 0)
    problem = "it ends early";
  if (problem)
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_FORMAT, "zstd data are damaged: %s", problem);
  return problem == NULL;
}

static gboolean
unpack_lz4 (const guint8 *data, gsize size, gsize limit, GByteArray *out, GError **error)
{
  LZ4F_dctx *context = NULL;
  gsize used = 0, taken = 0, result = 1;
  const gchar *problem = NULL;

  if (LZ4F_isError (LZ4F_createDecompressionContext (&context, LZ4F_VERSION)))
    problem = "no memory";
  while (!problem) {
    guint8 *room;
    const gsize left = make_room (out, used, limit + 1, &room);
    gsize n_out = left, n_in = size - taken;
    result = LZ4F_decompress (context, room, &n_out, data + taken, &n_in, NULL);
    used += n_out;
    taken += n_in;
    if (LZ4F_isError (result))
      problem = LZ4F_getErrorName (result);
    else if (used > limit)
      problem = "more comes out than there should";
    else if (is_done (result, size - taken, left - n_out))
      break;
  }
  LZ4F_freeDecompressionContext (context);
  g_byte_array_set_size (out, (guint)used);
  if (!problem && result != 0)
    problem = "it ends early";
  if (problem)
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_FORMAT, "lz4 data are damaged: %s", problem);
  return problem == NULL;
}

void
mcap_set_too_large (const gchar *what, guint64 size, gsize limit, GError **error)
{
  g_set_error (error, MCAP_ERROR, MCAP_ERROR_UNSUPPORTED,
      "%s has %" G_GUINT64_FORMAT " bytes, and %" G_GSIZE_FORMAT
      " are read at most (property max-record-size)",
      what, size, limit);
}

gboolean
mcap_unpack (const McapChunk *chunk, const guint8 *data, gsize size, gsize limit, GByteArray *out,
    GError **error)
{
  gboolean unpacked = TRUE;
  g_byte_array_set_size (out, 0);
  if (!chunk->compression) {
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_UNSUPPORTED,
        "a chunk is compressed in a way that is neither lz4 nor zstd");
    return FALSE;
  }
  if (chunk->uncompressed_size > limit || size > limit) {
    mcap_set_too_large ("a chunk", MAX (chunk->uncompressed_size, size), limit, error);
    return FALSE;
  }
  if (chunk->compression[0] == '\0')
    g_byte_array_append (out, data, (guint)size);
  else if (chunk->compression[0] == 'l')
    unpacked = unpack_lz4 (data, size, chunk->uncompressed_size, out, error);
  else
    unpacked = mcap_unpack_zstd (data, size, chunk->uncompressed_size, out, error);
  if (!unpacked)
    return FALSE;
  if (out->len != chunk->uncompressed_size) {
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_FORMAT,
        "a chunk says that it has %" G_GUINT64_FORMAT " bytes but has %u", chunk->uncompressed_size,
        out->len);
    return FALSE;
  }
  if (chunk->crc != 0 && chunk->crc != mcap_crc32 (0, out->data, out->len)) {
    g_set_error_literal (
        error, MCAP_ERROR, MCAP_ERROR_FORMAT, "the checksum of a chunk does not match its data");
    return FALSE;
  }
  return TRUE;
}
