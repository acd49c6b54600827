/* SPDX-License-Identifier: MIT */
/* The file that mcapsink and mcapmux write: its begin, its chunks over time, its end. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstmcapbase-private.h"

#include <string.h>

#include "gst/mcap/container/mcap-format.h"

McapWriter *
gst_mcap_base_get_writer (GstMcapBase *self)
{
  return gst_mcap_base_get_private (self)->recorder.writer;
}

static gboolean
write_parts (gpointer user_data, const McapPart *parts, guint n_parts, GError **error)
{
  return GST_MCAP_BASE_GET_CLASS (user_data)->write (user_data, parts, n_parts, error);
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
add_metadata (GstMcapBase *self, GError **error)
{
  GstMcapBasePrivate *priv = gst_mcap_base_get_private (self);
  g_autoptr (GHashTable) map = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autofree gchar *version = gst_version_string ();
  g_autoptr (GstStructure) given = NULL;
  gboolean uses_clock = priv->times.used == GST_MCAP_LOG_TIME_CLOCK;

  g_hash_table_insert (map, g_strdup ("gstreamer"), g_strdup (version));
  g_hash_table_insert (map, g_strdup ("gst-ndt"), g_strdup (VERSION));
  g_hash_table_insert (map, g_strdup ("log-time"), g_strdup (uses_clock ? "clock" : "pts"));
  if (!mcap_writer_add_metadata (priv->recorder.writer, "recorder", map, error))
    return FALSE;

  GST_OBJECT_LOCK (self);
  given = priv->settings.metadata ? gst_structure_copy (priv->settings.metadata) : NULL;
  GST_OBJECT_UNLOCK (self);
  if (given == NULL)
    return TRUE;
  g_hash_table_remove_all (map);
  gst_structure_foreach (given, put_field, map);
  return mcap_writer_add_metadata (
      priv->recorder.writer, gst_structure_get_name (given), map, error);
}

typedef struct {
  GstMcapMap *map;
  guint64 log_time; /* of the first that was recorded with it */
} MapUse;

static void
free_use (gpointer data)
{
  MapUse *use = data;

  gst_mcap_map_unref (use->map);
  g_free (use);
}

void
gst_mcap_base_note_map (GstMcapBase *self, GstMcapPad *pad, guint64 log_time)
{
  GstMcapBasePrivate *priv = gst_mcap_base_get_private (self);
  MapUse *use;

  if (pad->map == NULL || pad->map_generation == priv->recorder.generation)
    return;
  pad->map_generation = priv->recorder.generation;
  use = g_new (MapUse, 1);
  use->map = gst_mcap_map_ref (pad->map);
  use->log_time = log_time;
  g_queue_push_tail (&priv->maps, use);
}

gboolean
gst_mcap_base_add_maps (GstMcapBase *self, gboolean wait, GError **error)
{
  GstMcapBasePrivate *priv = gst_mcap_base_get_private (self);
  const gchar *digests;
  gboolean ok = TRUE;
  MapUse *use;

  while (ok && (use = g_queue_peek_head (&priv->maps)) &&
         (digests = gst_mcap_map_get_digests (use->map, wait))) {
    if (*digests && g_hash_table_add (priv->attached_maps, g_strdup (digests)))
      ok = mcap_writer_add_attachment (priv->recorder.writer, "map.sha256", "text/plain",
          use->log_time, use->log_time, digests, strlen (digests), error);
    free_use (g_queue_pop_head (&priv->maps));
  }
  return ok;
}

void
gst_mcap_base_forget_maps (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = gst_mcap_base_get_private (self);

  g_queue_clear_full (&priv->maps, free_use);
  g_hash_table_remove_all (priv->attached_maps);
}

gboolean
gst_mcap_base_open (GstMcapBase *self, guint64 log_time, GError **error)
{
  GstMcapBasePrivate *priv = gst_mcap_base_get_private (self);
  McapWriterCompression compression;
  guint64 chunk_size, chunk_duration;

  GST_OBJECT_LOCK (self);
  compression = priv->settings.compression;
  chunk_size = priv->settings.chunk_size;
  chunk_duration = priv->settings.chunk_duration;
  g_free (priv->recorder.tf_topic);
  g_free (priv->recorder.diagnostics_topic);
  priv->recorder.tf_topic = g_strdup (priv->settings.tf_topic);
  priv->recorder.tf_role = priv->settings.tf_role;
  priv->recorder.diagnostics_topic = g_strdup (priv->settings.diagnostics_topic);
  priv->counts.files++;
  GST_OBJECT_UNLOCK (self);

  priv->chunk_duration = (gint64)(chunk_duration / GST_USECOND);
  priv->recorder.writer =
      mcap_writer_new (compression, chunk_size, chunk_duration, write_parts, self);
  priv->recorder.generation++;
  gst_mcap_base_forget_maps (self);
  if (!mcap_writer_start (priv->recorder.writer, MCAP_PROFILE_ROS2, "gst-ndt " VERSION, error) ||
      !add_metadata (self, error))
    return FALSE;
  if (priv->pipeline &&
      !mcap_writer_add_attachment (priv->recorder.writer, "pipeline.dot", "text/vnd.graphviz",
          log_time, log_time, priv->pipeline, strlen (priv->pipeline), error))
    return FALSE;
  return TRUE;
}

void
gst_mcap_base_update_counts (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = gst_mcap_base_get_private (self);
  McapWriterStatistics statistics = {0};
  guint64 bytes = 0;

  if (priv->recorder.writer) {
    statistics = mcap_writer_get_statistics (priv->recorder.writer);
    bytes = mcap_writer_get_position (priv->recorder.writer);
  }
  GST_OBJECT_LOCK (self);
  priv->counts.messages = priv->finished_messages + statistics.messages;
  priv->counts.chunks = priv->finished_chunks + statistics.chunks;
  priv->counts.bytes = priv->finished_bytes + bytes;
  GST_OBJECT_UNLOCK (self);
}

gboolean
gst_mcap_base_finish (GstMcapBase *self, guint64 *messages, GError **error)
{
  GstMcapBasePrivate *priv = gst_mcap_base_get_private (self);
  McapWriter *writer = priv->recorder.writer;
  McapWriterStatistics statistics;
  gboolean ok;

  g_return_val_if_fail (writer != NULL, FALSE);

  statistics = mcap_writer_get_statistics (writer);
  ok = priv->has_failed ||
       (gst_mcap_base_add_maps (self, TRUE, error) && mcap_writer_flush (writer, error));
  priv->finishing = TRUE;
  ok = mcap_writer_finish (writer, ok ? error : NULL) && ok;
  priv->finishing = FALSE;
  statistics = mcap_writer_get_statistics (writer);
  *messages = statistics.messages;
  priv->finished_messages += statistics.messages;
  priv->finished_chunks += statistics.chunks;
  priv->finished_bytes += mcap_writer_get_position (writer);
  gst_mcap_base_discard (self);
  return ok;
}

gboolean
gst_mcap_base_is_finishing (GstMcapBase *self)
{
  return gst_mcap_base_get_private (self)->finishing;
}

void
gst_mcap_base_discard (GstMcapBase *self)
{
  g_clear_pointer (&gst_mcap_base_get_private (self)->recorder.writer, mcap_writer_free);
  gst_mcap_base_update_counts (self);
}

gboolean
gst_mcap_base_has_ended (GstMcapBase *self)
{
  return gst_mcap_base_get_private (self)->has_ended;
}

/* What has been written becomes a complete file, whose end has its room. */
void
gst_mcap_base_fail (GstMcapBase *self, const GError *error)
{
  gst_mcap_base_get_private (self)->has_failed = TRUE;
  GST_MCAP_BASE_GET_CLASS (self)->end (self, FALSE, NULL);
  gst_mcap_base_post_error (self, error);
}

static gboolean
has_open_chunk (GstMcapBase *self)
{
  McapWriter *writer = gst_mcap_base_get_private (self)->recorder.writer;
  return writer && mcap_writer_get_pending_size (writer) > 0;
}

void
gst_mcap_base_watch_chunk (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = gst_mcap_base_get_private (self);
  guint64 number;

  if (priv->chunk_duration == 0 || !has_open_chunk (self))
    return;
  number = priv->finished_chunks + mcap_writer_get_statistics (priv->recorder.writer).chunks + 1;
  if (number == priv->chunk_number)
    return;
  priv->chunk_number = number;
  priv->chunk_time = g_get_monotonic_time ();
  gst_mcap_alarm_set (priv->alarm, priv->chunk_time + priv->chunk_duration);
}

gint64
gst_mcap_base_on_alarm (gpointer user_data)
{
  GstMcapBase *self = user_data;
  GstMcapBasePrivate *priv = gst_mcap_base_get_private (self);
  g_autoptr (GError) error = NULL;
  gint64 due = 0;

  gst_mcap_base_lock (self);
  gst_mcap_base_check_end (self);
  if (priv->chunk_duration > 0 && has_open_chunk (self) && !priv->has_failed) {
    due = priv->chunk_time + priv->chunk_duration;
    if (due <= g_get_monotonic_time ()) {
      due = 0;
      if (mcap_writer_flush (priv->recorder.writer, &error)) {
        gst_mcap_base_update_counts (self);
        GST_MCAP_BASE_GET_CLASS (self)->drain (self);
      } else {
        gst_mcap_base_fail (self, error);
      }
    }
  }
  gst_mcap_base_unlock (self);
  return due;
}
