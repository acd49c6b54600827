/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-reader.h"
#include "gst/mcap/container/mcap-stream.h"

typedef struct {
  const guint8 *data;
  gsize size;
} Input;

static gssize
read_input (gpointer user_data, guint64 offset, guint8 *data, gsize size, GError **error)
{
  const Input *input = user_data;
  if (offset >= input->size)
    return 0;
  const gsize n = MIN (size, input->size - (gsize)offset);
  memcpy (data, input->data + offset, n);
  return (gssize)n;
}

/* Every byte is there to be read. */
static guint
sum (const guint8 *data, gsize size)
{
  guint total = 0;
  for (gsize i = 0; i < size; i++)
    total += data[i];
  return total;
}

static gboolean
take_record (gpointer total, guint8 opcode, McapCursor *content)
{
  g_assert_true (opcode == MCAP_OP_ATTACHMENT || opcode == MCAP_OP_METADATA);
  *(volatile guint *)total += sum (content->data, content->size);
  return TRUE;
}

static void
read_by_time (Input *input)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (McapReader) reader = mcap_reader_new (read_input, input, input->size, &error);
  McapMessage message;
  guint64 start, end, n = 0;
  volatile guint total = 0;

  g_assert_true ((reader != NULL) == (error == NULL));
  if (!reader)
    return;
  while (mcap_reader_next (reader, &message, &error)) {
    const McapTable *table = mcap_reader_get_table (reader);
    g_assert_nonnull (mcap_table_get_channel (table, message.channel_id));
    total += sum (message.data, message.size);
    /* No more messages than there are bytes, unpacked by at most what zstd can make of them. */
    g_assert_cmpuint (n++, <, 1u << 28);
  }
  g_clear_error (&error);
  mcap_reader_foreach_record (reader, take_record, (gpointer)&total, &error);
  mcap_reader_get_range (reader, &start, &end);
  mcap_reader_seek (reader, start / 2 + end / 2);
  g_clear_error (&error);
  mcap_reader_next (reader, &message, &error);
  g_free (mcap_reader_take_warning (reader));
}

static void
read_stream (const Input *input)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (McapStream) stream = mcap_stream_new ();
  const gsize step = 1 + input->size / 3;
  McapCursor content;
  guint8 opcode;
  volatile guint total = 0;

  for (gsize i = 0; i < input->size && !error; i += step) {
    mcap_stream_push (stream, input->data + i, MIN (step, input->size - i));
    while (mcap_stream_next (stream, &opcode, &content, &error)) {
      McapCursor copy = content;
      McapAttachment attachment = {0};
      McapMetadata metadata = {0};
      total += sum (content.data, content.size);
      mcap_parse_attachment (&content, &attachment);
      mcap_attachment_clear (&attachment);
      mcap_parse_metadata (&copy, &metadata);
      mcap_metadata_clear (&metadata);
    }
  }
  g_free (mcap_stream_take_warning (stream));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  Input input = {data, size};
  read_by_time (&input);
  read_stream (&input);
  return 0;
}
