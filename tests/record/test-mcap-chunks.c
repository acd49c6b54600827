/* SPDX-License-Identifier: MIT */
/* Chunks of every size around powers of two and multiples of 64 KiB, at which output buffers of the
 * readers fill exactly: what was written comes back, by both readers. */
#include <string.h>

#include "gst/mcap/container/mcap-compress.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-reader.h"
#include "gst/mcap/container/mcap-stream.h"
#include "gst/mcap/container/mcap-unpack.h"
#include "gst/mcap/container/mcap-writer.h"

#define MAX_SIZE (5u << 20)
#define BLOCK 65536u
#define AROUND 2

static const McapWriterCompression compressions[] = {
    MCAP_WRITER_COMPRESSION_NONE, MCAP_WRITER_COMPRESSION_LZ4, MCAP_WRITER_COMPRESSION_ZSTD};

/* Half noise, half zeros in turn, so that compressed data have literals and matches. */
static guint8 *
make_data (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  guint8 *data = g_malloc0 (MAX_SIZE + AROUND);
  for (gsize i = 0; i < MAX_SIZE; i++)
    if (i & 64)
      data[i] = (guint8)g_rand_int (random);
  return data;
}

static gint
compare_sizes (gconstpointer a, gconstpointer b)
{
  const gsize x = *(const gsize *)a, y = *(const gsize *)b;
  return (x > y) - (x < y);
}

/* @blocks: multiples of 64 KiB as well. */
static GArray *
make_sizes (gboolean blocks)
{
  GArray *sizes = g_array_new (FALSE, FALSE, sizeof (gsize));
  for (gsize power = 1; power <= MAX_SIZE; power *= 2)
    for (gsize size = power > AROUND ? power - AROUND : 1; size <= power + AROUND; size++)
      g_array_append_val (sizes, size);
  for (gsize size = BLOCK; blocks && size <= MAX_SIZE; size += BLOCK)
    g_array_append_val (sizes, size);
  g_array_sort (sizes, compare_sizes);
  return sizes;
}

/* The compressor's output unpacked, for chunks smaller than any with a message in it as well. */
static void
test_unpack (void)
{
  g_autofree guint8 *data = make_data ();
  g_autoptr (GArray) sizes = make_sizes (TRUE);
  g_autoptr (GByteArray) out = g_byte_array_new ();

  for (guint c = 0; c < G_N_ELEMENTS (compressions); c++) {
    g_autoptr (McapCompressor) compressor = mcap_compressor_new (compressions[c]);
    for (guint i = 0; i < sizes->len; i++) {
      const gsize size = g_array_index (sizes, gsize, i);
      g_autoptr (GError) error = NULL;
      McapPart packed;
      g_assert_true (mcap_compressor_run (compressor, data, size, &packed, &error));
      const McapChunk chunk = {
          .uncompressed_size = size,
          .crc = mcap_crc32 (0, data, size),
          .compression = mcap_compressor_get_name (compressor),
      };
      g_assert_true (mcap_unpack (&chunk, packed.data, packed.size, MCAP_READ_LIMIT, out, &error));
      g_assert_no_error (error);
      g_assert_cmpmem (out->data, out->len, data, size);
      /* One byte less is noticed. */
      g_assert_false (
          mcap_unpack (&chunk, packed.data, packed.size - 1, MCAP_READ_LIMIT, out, NULL));
    }
  }
}

/* Frames one behind the other are one run of bytes, each of which fills the buffer. */
static void
test_frames (void)
{
  g_autofree guint8 *data = make_data ();
  g_autoptr (McapCompressor) compressor = mcap_compressor_new (MCAP_WRITER_COMPRESSION_ZSTD);
  g_autoptr (GByteArray) packed = g_byte_array_new ();
  g_autoptr (GByteArray) out = g_byte_array_new ();
  g_autoptr (GError) error = NULL;
  McapPart frame;

  for (guint i = 0; i < 4; i++) {
    g_assert_true (mcap_compressor_run (compressor, data + i * BLOCK, BLOCK, &frame, &error));
    g_byte_array_append (packed, frame.data, (guint)frame.size);
  }
  g_assert_true (mcap_unpack_zstd (packed->data, packed->len, 4 * BLOCK, out, &error));
  g_assert_no_error (error);
  g_assert_cmpmem (out->data, out->len, data, 4 * BLOCK);
}

static gboolean
append (gpointer file, const McapPart *parts, guint n_parts, GError **error)
{
  for (guint i = 0; i < n_parts; i++)
    g_byte_array_append (file, parts[i].data, (guint)parts[i].size);
  return TRUE;
}

static gssize
read_file (gpointer user_data, guint64 offset, guint8 *data, gsize size, GError **error)
{
  const GByteArray *file = user_data;
  const gsize n = offset < file->len ? MIN (size, file->len - (gsize)offset) : 0;
  if (n > 0)
    memcpy (data, file->data + offset, n);
  return (gssize)n;
}

/* A file of one chunk of @size bytes; NULL: no message fits. */
static GByteArray *
write_file (McapWriterCompression compression, const guint8 *data, gsize size, McapPart *message)
{
  g_autoptr (GByteArray) file = g_byte_array_new ();
  g_autoptr (McapWriter) writer = mcap_writer_new (compression, MAX_SIZE * 2, 0, append, file);
  g_autoptr (GError) error = NULL;
  guint16 channel;
  gsize overhead;

  g_assert_true (mcap_writer_start (writer, "", "test", &error));
  g_assert_true (mcap_writer_add_channel (writer, 0, "/t", "raw", NULL, &channel, &error));
  g_assert_true (mcap_writer_add_message (writer, channel, 1, 1, NULL, 0, &error));
  overhead =
      mcap_writer_get_pending_size (writer) + MCAP_RECORD_HEADER_SIZE + MCAP_MESSAGE_HEADER_SIZE;
  if (size < overhead)
    return NULL;
  *message = (McapPart){data, size - overhead};
  g_assert_true (mcap_writer_add_message (writer, channel, 2, 2, message, 1, &error));
  g_assert_cmpuint (mcap_writer_get_pending_size (writer), ==, size);
  g_assert_true (mcap_writer_finish (writer, &error));
  return g_steal_pointer (&file);
}

static void
check_by_time (GByteArray *file, const McapPart *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (McapReader) reader = mcap_reader_new (read_file, file, file->len, &error);
  McapReaderStats stats;
  McapMessage message;

  g_assert_no_error (error);
  g_assert_true (mcap_reader_next (reader, &message, &error));
  g_assert_cmpuint (message.size, ==, 0);
  g_assert_true (mcap_reader_next (reader, &message, &error));
  g_assert_cmpmem (message.data, message.size, expected->data, expected->size);
  g_assert_false (mcap_reader_next (reader, &message, &error));
  g_assert_no_error (error);
  mcap_reader_get_stats (reader, &stats);
  g_assert_cmpuint (stats.n_damaged, ==, 0);
}

static void
check_stream (GByteArray *file, const McapPart *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (McapStream) stream = mcap_stream_new ();
  McapCursor content;
  guint8 opcode;
  guint n = 0;

  mcap_stream_push (stream, file->data, file->len);
  while (mcap_stream_next (stream, &opcode, &content, &error)) {
    McapMessage message;
    if (opcode != MCAP_OP_MESSAGE)
      continue;
    g_assert_true (mcap_parse_message (&content, &message));
    if (n++ == 1)
      g_assert_cmpmem (message.data, message.size, expected->data, expected->size);
  }
  g_assert_no_error (error);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpuint (mcap_stream_get_n_damaged (stream), ==, 0);
}

static void
test_files (void)
{
  g_autofree guint8 *data = make_data ();
  g_autoptr (GArray) sizes = make_sizes (FALSE);
  guint n_files = 0;

  for (guint c = 0; c < G_N_ELEMENTS (compressions); c++)
    for (guint i = 0; i < sizes->len; i++) {
      McapPart message;
      g_autoptr (GByteArray) file =
          write_file (compressions[c], data, g_array_index (sizes, gsize, i), &message);
      if (!file)
        continue;
      check_by_time (file, &message);
      check_stream (file, &message);
      n_files++;
    }
  g_assert_cmpuint (n_files, >, 200);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/mcap-chunks/unpack", test_unpack);
  g_test_add_func ("/mcap-chunks/frames", test_frames);
  g_test_add_func ("/mcap-chunks/files", test_files);
  return g_test_run ();
}
