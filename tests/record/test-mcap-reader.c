/* SPDX-License-Identifier: MIT */
/* MCAP files that were cut off at every byte, and records whose lengths lie. */
#include <string.h>

#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-reader.h"
#include "gst/mcap/container/mcap-stream.h"

typedef struct {
  const guint8 *data;
  gsize size;
} Bytes;

static gssize
read_bytes (gpointer user_data, guint64 offset, guint8 *data, gsize size, GError **error)
{
  const Bytes *bytes = user_data;
  if (offset >= bytes->size)
    return 0;
  const gsize n = MIN (size, bytes->size - (gsize)offset);
  memcpy (data, bytes->data + offset, n);
  return (gssize)n;
}

/* Messages in the whole records of @size bytes, by the lengths of records alone; chunks are plain.
 */
static guint
count_whole (const guint8 *data, gsize size)
{
  guint n = 0;
  gsize at = MCAP_MAGIC_SIZE;
  while (at + MCAP_RECORD_HEADER_SIZE <= size) {
    const guint8 opcode = data[at];
    const gsize length = mcap_get_u64 (data + at + 1);
    const guint8 *content = data + at + MCAP_RECORD_HEADER_SIZE;
    at += MCAP_RECORD_HEADER_SIZE;
    if (size - at < length)
      break;
    at += length;
    if (opcode == MCAP_OP_MESSAGE) {
      n++;
    } else if (opcode == MCAP_OP_CHUNK) {
      const gsize name = mcap_get_u32 (content + 28);
      const guint64 unpacked = mcap_get_u64 (content + 16);
      const guint8 *records = content + 32 + name + 8;
      guint in_chunk = 0;
      g_assert_cmpuint (name, ==, 0);
      for (gsize i = 0; i < unpacked; i += MCAP_RECORD_HEADER_SIZE + mcap_get_u64 (records + i + 1))
        in_chunk += records[i] == MCAP_OP_MESSAGE;
      n += in_chunk;
    }
  }
  return n;
}

static guint
count_by_time (Bytes *bytes)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (McapReader) reader = mcap_reader_new (read_bytes, bytes, bytes->size, &error);
  McapMessage message;
  McapReaderStats stats;
  guint n = 0;
  guint64 last = 0;

  if (!reader) {
    g_assert_error (error, MCAP_ERROR, MCAP_ERROR_FORMAT);
    return 0;
  }
  while (mcap_reader_next (reader, &message, &error)) {
    g_assert_cmpuint (message.log_time, >=, last);
    last = message.log_time;
    n++;
  }
  g_assert_no_error (error);
  mcap_reader_get_stats (reader, &stats);
  g_assert_cmpuint (stats.n_damaged, ==, 0);
  /* A file that is cut off is noticed. */
  g_autofree gchar *warning = mcap_reader_take_warning (reader);
  g_assert_true (stats.is_complete == (warning == NULL));
  return n;
}

/* Messages after each byte: the first of @counts after none. */
static void
count_stream (const Bytes *bytes, guint *counts)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (McapStream) stream = mcap_stream_new ();
  McapCursor content;
  guint8 opcode;
  guint n = 0;

  counts[0] = 0;
  for (gsize i = 0; i < bytes->size; i++) {
    mcap_stream_push (stream, bytes->data + i, 1);
    while (mcap_stream_next (stream, &opcode, &content, &error))
      n += opcode == MCAP_OP_MESSAGE;
    g_assert_no_error (error);
    counts[i + 1] = n;
  }
  g_assert_cmpuint (mcap_stream_get_n_damaged (stream), ==, 0);
}

static void
test_cut (gconstpointer name)
{
  g_autofree gchar *path = g_build_filename (NDT_TEST_ROOT, "tests/fuzz/corpus/mcap", name, NULL);
  g_autofree gchar *data = NULL;
  g_autoptr (GError) error = NULL;
  gsize size;
  const gboolean is_packed = strstr (name, "lz4") || strstr (name, "zstd");

  g_file_get_contents (path, &data, &size, &error);
  g_assert_no_error (error);
  Bytes whole = {(const guint8 *)data, size};
  g_autofree guint *counts = g_new (guint, size + 1);
  count_stream (&whole, counts);
  g_assert_cmpuint (counts[size], ==, 6);
  for (gsize cut = 0; cut <= size; cut++) {
    Bytes bytes = {(const guint8 *)data, cut};
    /* In memory of just that size, so that a sanitizer sees a read beyond. */
    g_autofree guint8 *copy = g_memdup2 (data, cut);
    bytes.data = copy;
    if (cut > 0 && !is_packed)
      g_assert_cmpuint (counts[cut], ==, count_whole (bytes.data, cut));
    g_assert_cmpuint (count_by_time (&bytes), ==, counts[cut]);
  }
}

/* Every byte of a file becomes 0xff: no crash, no endless loop, and never more than was written. */
static void
test_changed (gconstpointer name)
{
  g_autofree gchar *path = g_build_filename (NDT_TEST_ROOT, "tests/fuzz/corpus/mcap", name, NULL);
  g_autofree gchar *data = NULL;
  gsize size;

  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  for (gsize i = 0; i < size; i++) {
    g_autoptr (GError) error = NULL;
    const gchar was = data[i];
    data[i] = (gchar)0xff;
    Bytes bytes = {(const guint8 *)data, size};
    g_autoptr (McapReader) reader = mcap_reader_new (read_bytes, &bytes, size, &error);
    McapMessage message;
    guint n = 0;
    while (reader && mcap_reader_next (reader, &message, &error))
      n++;
    g_assert_cmpuint (n, <=, 6);
    data[i] = was;
  }
}

/* A file that has been read becomes shorter and is read again: what is not there any more is
 * damage.
 */
static void
test_shrunk (gconstpointer name)
{
  g_autofree gchar *path = g_build_filename (NDT_TEST_ROOT, "tests/fuzz/corpus/mcap", name, NULL);
  g_autofree gchar *data = NULL;
  gsize size;

  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  for (gsize cut = 0; cut < size; cut++) {
    g_autoptr (GError) error = NULL;
    Bytes bytes = {(const guint8 *)data, size};
    g_autoptr (McapReader) reader = mcap_reader_new (read_bytes, &bytes, size, &error);
    McapReaderStats stats;
    McapMessage message;
    guint n = 0, again = 0;

    g_assert_no_error (error);
    while (mcap_reader_next (reader, &message, &error))
      n++;
    g_assert_no_error (error);
    g_assert_cmpuint (n, ==, 6);
    bytes.size = cut;
    mcap_reader_seek (reader, 0);
    while (mcap_reader_next (reader, &message, &error))
      again++;
    g_assert_no_error (error);
    mcap_reader_get_stats (reader, &stats);
    g_assert_true ((again < n) == (stats.n_damaged > 0));
  }
}

/* The data section's checksum: a changed byte of what no other checksum has is noticed. */
static void
test_data_checksum (void)
{
  static const guint8 head[] = MCAP_MAGIC "\x01\x08\0\0\0\0\0\0\0" /* header, two strings: */
                                          "\0\0\0\0\0\0\0\0"
                                          "\x0f\x04\0\0\0\0\0\0\0"; /* data end, with the sum */
  guint8 data[sizeof head - 1 + 4];
  for (gint changed = 0; changed < 3; changed++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (McapStream) stream = mcap_stream_new ();
    McapCursor content;
    guint8 opcode;
    memcpy (data, head, sizeof head - 1);
    const guint32 crc = mcap_crc32 (0, data, MCAP_MAGIC_SIZE + MCAP_RECORD_HEADER_SIZE + 8);
    /* None is no wrong one. */
    mcap_set_u16 (data + sizeof head - 1, changed == 2 ? 0 : crc & 0xffff);
    mcap_set_u16 (data + sizeof head + 1, changed == 2 ? 0 : crc >> 16);
    if (changed == 1)
      data[MCAP_MAGIC_SIZE] = 0x7f; /* a record that is not known */
    for (gsize i = 0; i < sizeof data; i++) {
      mcap_stream_push (stream, data + i, 1);
      while (mcap_stream_next (stream, &opcode, &content, &error))
        ;
      g_assert_no_error (error);
    }
    g_autofree gchar *warning = mcap_stream_take_warning (stream);
    g_assert_true ((warning != NULL) == (changed == 1));
  }
}

int
main (int argc, char **argv)
{
  static const gchar *const names[] = {
      "plain.mcap", "lz4.mcap", "zstd.mcap", "unchunked.mcap", "no-index.mcap"};
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree gchar *cut = g_strconcat ("/mcap-reader/cut/", names[i], NULL);
    g_autofree gchar *shrunk = g_strconcat ("/mcap-reader/shrunk/", names[i], NULL);
    g_autofree gchar *changed = g_strconcat ("/mcap-reader/changed/", names[i], NULL);
    g_test_add_data_func (cut, names[i], test_cut);
    g_test_add_data_func (changed, names[i], test_changed);
    g_test_add_data_func (shrunk, names[i], test_shrunk);
  }
  g_test_add_func ("/mcap-reader/data-checksum", test_data_checksum);
  return g_test_run ();
}
