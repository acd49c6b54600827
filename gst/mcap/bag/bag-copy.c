/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "bag-copy.h"

#include <errno.h>
#include <glib/gstdio.h>

#include "bag-files.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-output.h"

/* Of mcapsink: what a reader unpacks at once. */
#define CHUNK_SIZE (4u << 20)
#define CHUNK_DURATION (G_GUINT64_CONSTANT (1000000000))
#define LIBRARY "gst-ndt"

typedef struct {
  McapWriter *to;
  BagCopyCounts *counts;
  GError **error;
  gboolean ok;
} RecordCopy;

static gboolean
copy_record (gpointer user_data, guint8 opcode, McapCursor *content)
{
  RecordCopy *copy = user_data;

  if (opcode == MCAP_OP_ATTACHMENT) {
    McapAttachment attachment = {0};
    if (mcap_parse_attachment (content, &attachment)) {
      copy->ok = mcap_writer_add_attachment (copy->to, attachment.name, attachment.media_type,
          attachment.log_time, attachment.create_time, attachment.data, attachment.size,
          copy->error);
      copy->counts->records++;
    }
    mcap_attachment_clear (&attachment);
  } else if (opcode == MCAP_OP_METADATA) {
    McapMetadata metadata = {0};
    if (mcap_parse_metadata (content, &metadata)) {
      copy->ok = mcap_writer_add_metadata (copy->to, metadata.name, metadata.entries, copy->error);
      copy->counts->records++;
    }
    mcap_metadata_clear (&metadata);
  }
  return copy->ok;
}

/* The numbers of channels in the file that is written, by those of the reader. */
static gboolean
find_channel (
    McapWriter *to, GArray *numbers, const BagChannel *channel, guint16 *number, GError **error)
{
  while (numbers->len <= channel->number) {
    const gint none = -1;
    g_array_append_val (numbers, none);
  }
  gint *known = &g_array_index (numbers, gint, channel->number);
  if (*known < 0) {
    guint16 schema = 0, added;
    if (channel->schema_name) {
      gsize size = 0;
      gconstpointer data =
          channel->schema_data ? g_bytes_get_data (channel->schema_data, &size) : NULL;
      schema = mcap_writer_add_schema (to, channel->schema_name,
          channel->schema_encoding ? channel->schema_encoding : "", data, size, error);
      if (schema == 0)
        return FALSE;
    }
    if (!mcap_writer_add_channel (to, schema, channel->topic, channel->message_encoding,
            channel->metadata, &added, error))
      return FALSE;
    *known = added;
  }
  *number = (guint16)*known;
  return TRUE;
}

static gboolean
copy_messages (BagMerger *from, McapWriter *to, GCancellable *cancellable, BagCopyCounts *counts,
    GError **error)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (gint));
  g_autoptr (GError) failure = NULL;
  BagMessage message;

  while (bag_merger_next (from, &message, &failure)) {
    const McapPart part = {message.data, message.size};
    guint16 number;
    if (g_cancellable_set_error_if_cancelled (cancellable, error) ||
        !find_channel (to, numbers, message.channel, &number, error))
      return FALSE;
    mcap_writer_set_sequence (to, number, message.sequence);
    if (!mcap_writer_add_message (
            to, number, message.log_time, message.publish_time, &part, 1, error))
      return FALSE;
    counts->messages++;
  }
  if (failure) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  return TRUE;
}

static gboolean
write_parts (gpointer user_data, const McapPart *parts, guint n_parts, GError **error)
{
  return mcap_output_write (user_data, parts, n_parts, error);
}

/* The records of the first @n_records inputs, then the messages of all. */
static gboolean
copy_inputs (gchar *const *inputs, guint n_records, const BagLimits *limits, McapWriter *writer,
    GCancellable *cancellable, BagCopyCounts *counts, gchar **warning, GError **error)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; inputs[i]; i++) {
    g_autoptr (GPtrArray) own = g_ptr_array_new_with_free_func (g_free);
    if (!bag_files_find (inputs[i], own, error) || !bag_files_find (inputs[i], paths, error))
      return FALSE;
    if (i >= n_records)
      continue;
    g_autoptr (BagMerger) input = bag_merger_new (own, limits, error);
    RecordCopy copy = {writer, counts, error, TRUE};
    if (!input || !bag_merger_foreach_record (input, copy_record, &copy, error) || !copy.ok)
      return FALSE;
  }
  g_autoptr (BagMerger) merger = bag_merger_new (paths, limits, error);
  if (!merger)
    return FALSE;
  bag_merger_end_opening (merger);
  if (!copy_messages (merger, writer, cancellable, counts, error))
    return FALSE;
  counts->damaged = bag_merger_get_n_damaged (merger);
  *warning = bag_merger_take_warning (merger);
  return TRUE;
}

gboolean
bag_copy_files (gchar *const *inputs, guint n_records, const gchar *path,
    McapWriterCompression compression, const gchar *cache, const gchar *metadata_name,
    GHashTable *metadata, GCancellable *cancellable, BagCopyCounts *counts, gchar **warning,
    GError **error)
{
  g_autofree gchar *part = g_strconcat (path, ".part", NULL);

  BagLimits limits = BAG_LIMITS_INIT;
  limits.cache = cache;
  *counts = (BagCopyCounts){0};
  *warning = NULL;
  McapOutput *output = mcap_output_open (part, TRUE, G_USEC_PER_SEC, error);
  if (!output)
    return FALSE;
  g_autoptr (McapWriter) writer =
      mcap_writer_new (compression, CHUNK_SIZE, CHUNK_DURATION, write_parts, output);
  gboolean ok =
      mcap_writer_start (writer, MCAP_PROFILE_ROS2, LIBRARY, error) &&
      (!metadata_name || mcap_writer_add_metadata (writer, metadata_name, metadata, error)) &&
      copy_inputs (inputs, n_records, &limits, writer, cancellable, counts, warning, error) &&
      mcap_writer_finish (writer, error);
  ok = mcap_output_close (output, ok ? error : NULL) && ok;
  if (ok && g_rename (part, path) != 0) {
    const int code = errno;
    g_set_error (
        error, G_FILE_ERROR, g_file_error_from_errno (code), "%s: %s", path, g_strerror (code));
    ok = FALSE;
  }
  if (!ok)
    g_remove (part);
  return ok;
}
