/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstmcapfile.h"

#include <string.h>

#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-output.h"

typedef struct {
  GstMcapDigest *map;
  guint64 log_time; /* of the first that was recorded with it */
} MapUse;

static void
free_use (gpointer data)
{
  MapUse *use = data;

  gst_mcap_digest_unref (use->map);
  g_free (use);
}

static void
forget_maps (GstMcapFile *self)
{
  g_queue_clear_full (&self->maps, free_use);
  g_hash_table_remove_all (self->attached_maps);
}

void
gst_mcap_file_init (GstMcapFile *self, McapWriteFunc write, gpointer user_data)
{
  memset (self, 0, sizeof *self);
  self->write = write;
  self->user_data = user_data;
  gst_mcap_recorder_init (&self->recorder);
  gst_mcap_settings_init (&self->settings);
  g_queue_init (&self->maps);
  self->attached_maps = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

void
gst_mcap_file_clear (GstMcapFile *self)
{
  gst_mcap_file_reset (self);
  gst_mcap_recorder_clear (&self->recorder);
  gst_mcap_settings_clear (&self->settings);
  g_hash_table_unref (self->attached_maps);
}

void
gst_mcap_file_reset (GstMcapFile *self)
{
  gst_mcap_file_discard (self);
  forget_maps (self);
  g_clear_pointer (&self->pipeline, g_free);
  g_clear_pointer (&self->map, g_bytes_unref);
  self->recorder.generation = 0;
  gst_mcap_poses_reset (&self->recorder.poses);
  memset (&self->finished, 0, sizeof self->finished);
  self->chunk_number = 0;
}

gboolean
gst_mcap_file_is_open (const GstMcapFile *self)
{
  return self->recorder.writer != NULL;
}

static gboolean
put_field (GQuark field, const GValue *value, gpointer map)
{
  gchar *text =
      G_VALUE_HOLDS_STRING (value) ? g_value_dup_string (value) : gst_value_serialize (value);

  g_hash_table_insert (map, g_strdup (g_quark_to_string (field)), text ? text : g_strdup (""));
  return TRUE;
}

static gboolean
add_metadata (GstMcapFile *self, const GstMcapTimes *times, GError **error)
{
  g_autoptr (GHashTable) map = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  const gboolean uses_clock = times->used == GST_MCAP_LOG_TIME_CLOCK;
  const GstStructure *given = self->settings.metadata;

  g_hash_table_insert (map, g_strdup ("gstreamer"), gst_version_string ());
  g_hash_table_insert (map, g_strdup ("gst-ndt"), g_strdup (VERSION));
  g_hash_table_insert (map, g_strdup ("log-time"), g_strdup (uses_clock ? "clock" : "pts"));
  if (!uses_clock && times->offset != 0)
    g_hash_table_insert (
        map, g_strdup ("log-time-offset"), g_strdup_printf ("%" G_GINT64_FORMAT, times->offset));
  if (!mcap_writer_add_metadata (self->recorder.writer, "recorder", map, error))
    return FALSE;
  if (given == NULL)
    return TRUE;
  g_hash_table_remove_all (map);
  gst_structure_foreach (given, put_field, map);
  return mcap_writer_add_metadata (
      self->recorder.writer, gst_structure_get_name (given), map, error);
}

gboolean
gst_mcap_file_open (GstMcapFile *self, const GstMcapSettings *settings, const GstMcapTimes *times,
    guint64 log_time, GError **error)
{
  g_return_val_if_fail (self->recorder.writer == NULL, FALSE);

  gst_mcap_settings_copy (&self->settings, settings);
  gst_mcap_recorder_open (&self->recorder,
      mcap_writer_new (settings->compression, settings->chunk_size, settings->chunk_duration,
          self->write, self->user_data),
      &self->settings);
  self->finished.files++;
  self->has_map = FALSE;
  forget_maps (self);
  if (!mcap_writer_start (self->recorder.writer, MCAP_PROFILE_ROS2, "gst-ndt " VERSION, error) ||
      !add_metadata (self, times, error))
    return FALSE;
  return self->pipeline == NULL ||
         mcap_writer_add_attachment (self->recorder.writer, "pipeline.dot", "text/vnd.graphviz",
             log_time, log_time, self->pipeline, strlen (self->pipeline), error);
}

void
gst_mcap_file_set_map (GstMcapFile *self, GBytes *points)
{
  if (self->map != points) {
    g_clear_pointer (&self->map, g_bytes_unref);
    self->map = g_bytes_ref (points);
    self->has_map = FALSE;
  }
  g_bytes_unref (points);
}

gboolean
gst_mcap_file_add_map (GstMcapFile *self, guint64 log_time, gint64 stamp, GError **error)
{
  if (!self->map || self->has_map || !gst_mcap_file_is_open (self))
    return TRUE;
  self->has_map = TRUE;
  return gst_mcap_recorder_add_map (&self->recorder, self->map, log_time, stamp, error);
}

/* What @pad recorded at that time was aligned with its map. */
static void
note_map (GstMcapFile *self, GstMcapPad *pad, guint64 log_time)
{
  MapUse *use;

  if (pad->map == NULL || pad->map_generation == self->recorder.generation)
    return;
  pad->map_generation = self->recorder.generation;
  use = g_new (MapUse, 1);
  use->map = gst_mcap_digest_ref (pad->map);
  use->log_time = log_time;
  g_queue_push_tail (&self->maps, use);
}

/* Attaches the checksums of maps that were noted, as far as they are known: nothing is waited for.
 */
static gboolean
add_maps (GstMcapFile *self, GError **error)
{
  gboolean ok = TRUE;

  for (GList *l = self->maps.head, *next; ok && l; l = next) {
    MapUse *use = l->data;
    const gchar *text = gst_mcap_digest_get_text (use->map);

    next = l->next;
    if (text == NULL)
      continue;
    if (*text && g_hash_table_add (self->attached_maps, g_strdup (text)))
      ok = mcap_writer_add_attachment (self->recorder.writer, "map.sha256", "text/plain",
          use->log_time, use->log_time, text, strlen (text), error);
    free_use (use);
    g_queue_delete_link (&self->maps, l);
  }
  return ok;
}

static gboolean
has_open_chunk (GstMcapFile *self)
{
  return self->recorder.writer && mcap_writer_get_pending_size (self->recorder.writer) > 0;
}

/* A chunk is packed into a buffer of its own. */
#define CHUNK_COPIES 2

gboolean
gst_mcap_file_is_full (const GstMcapFile *self, guint64 size)
{
  const guint64 max = self->settings.max_memory;

  return max > 0 &&
         (size > max / CHUNK_COPIES ||
             mcap_writer_get_summary_size (self->recorder.writer) > max - CHUNK_COPIES * size);
}

/* Writes the chunk at hand where @size bytes more would be too much with it. */
static gboolean
make_room (GstMcapFile *self, guint64 size, GError **error)
{
  McapWriter *writer = self->recorder.writer;
  const guint64 pending = mcap_writer_get_pending_size (writer);

  if (pending > 0 && gst_mcap_file_is_full (self, size + pending) &&
      !mcap_writer_flush (writer, error))
    return FALSE;
  if (!gst_mcap_file_is_full (self, size))
    return TRUE;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
      "A message of %" G_GUINT64_FORMAT " bytes, and the index of the file, %" G_GUINT64_FORMAT
      " bytes so far, take more memory than “max-memory” (%" G_GUINT64_FORMAT
      " bytes) allows: record several files (a %%05d in “location”), or set it larger",
      size, mcap_writer_get_summary_size (writer), self->settings.max_memory);
  return FALSE;
}

gboolean
gst_mcap_file_add (GstMcapFile *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time,
    gint64 stamp, GError **error)
{
  guint64 number;

  if (!gst_mcap_file_add_map (self, log_time, stamp, error) ||
      !make_room (self, gst_buffer_get_size (buffer), error) ||
      !gst_mcap_recorder_add (&self->recorder, pad, buffer, log_time, stamp, error))
    return FALSE;
  note_map (self, pad, log_time);
  if (!add_maps (self, error))
    return FALSE;
  number = self->finished.chunks + mcap_writer_get_statistics (self->recorder.writer).chunks + 1;
  if (has_open_chunk (self) && number != self->chunk_number) {
    self->chunk_number = number;
    self->chunk_time = g_get_monotonic_time ();
  }
  return TRUE;
}

gint64
gst_mcap_file_get_due (GstMcapFile *self)
{
  const guint64 duration = self->settings.chunk_duration / GST_USECOND;

  return duration > 0 && has_open_chunk (self) ? self->chunk_time + (gint64)duration : 0;
}

gboolean
gst_mcap_file_flush (GstMcapFile *self, GError **error)
{
  return mcap_writer_flush (self->recorder.writer, error);
}

gboolean
gst_mcap_file_finish (GstMcapFile *self, gboolean failed, guint64 *messages, GError **error)
{
  McapWriter *writer = self->recorder.writer;
  McapWriterStatistics statistics;
  gboolean ok;

  g_return_val_if_fail (writer != NULL, FALSE);

  ok = failed || (add_maps (self, error) && gst_mcap_recorder_add_end (&self->recorder, error) &&
                     mcap_writer_flush (writer, error));
  self->finishing = TRUE;
  ok = mcap_writer_finish (writer, ok ? error : NULL) && ok;
  self->finishing = FALSE;
  statistics = mcap_writer_get_statistics (writer);
  *messages = statistics.messages;
  self->finished.messages += statistics.messages;
  self->finished.chunks += statistics.chunks;
  self->finished.bytes += mcap_writer_get_position (writer);
  gst_mcap_file_discard (self);
  return ok;
}

void
gst_mcap_file_discard (GstMcapFile *self)
{
  g_clear_pointer (&self->recorder.writer, mcap_writer_free);
}

GstMcapCounts
gst_mcap_file_get_counts (const GstMcapFile *self)
{
  GstMcapCounts counts = self->finished;

  if (self->recorder.writer) {
    const McapWriterStatistics statistics = mcap_writer_get_statistics (self->recorder.writer);

    counts.messages += statistics.messages;
    counts.chunks += statistics.chunks;
    counts.bytes += mcap_writer_get_position (self->recorder.writer);
  }
  return counts;
}

GError *
gst_mcap_file_make_error (const GError *error)
{
  static const gint codes[] = {
      [MCAP_OUTPUT_ERROR_OPEN] = GST_RESOURCE_ERROR_OPEN_WRITE,
      [MCAP_OUTPUT_ERROR_EXISTS] = GST_RESOURCE_ERROR_OPEN_WRITE,
      [MCAP_OUTPUT_ERROR_BUSY] = GST_RESOURCE_ERROR_BUSY,
      [MCAP_OUTPUT_ERROR_WRITE] = GST_RESOURCE_ERROR_WRITE,
      [MCAP_OUTPUT_ERROR_FULL] = GST_RESOURCE_ERROR_NO_SPACE_LEFT,
      [MCAP_OUTPUT_ERROR_CLOSE] = GST_RESOURCE_ERROR_CLOSE,
      [MCAP_OUTPUT_ERROR_LOST] = GST_RESOURCE_ERROR_WRITE,
  };

  if (error->domain == MCAP_OUTPUT_ERROR)
    return g_error_new_literal (GST_RESOURCE_ERROR, codes[error->code], error->message);
  if (error->domain == MCAP_WRITER_ERROR)
    return g_error_new_literal (GST_STREAM_ERROR, GST_STREAM_ERROR_ENCODE, error->message);
  return g_error_copy (error);
}
