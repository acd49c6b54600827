/* SPDX-License-Identifier: MIT */
#include "gstmcapsettings.h"

#include <string.h>

#define DEFAULT_CHUNK_SIZE (4 << 20)
#define MAX_CHUNK_SIZE (1 << 30)
#define DEFAULT_CHUNK_DURATION GST_SECOND
#define DEFAULT_COMPRESSION MCAP_WRITER_COMPRESSION_NONE
#define DEFAULT_TF_TOPIC "/tf"
#define DEFAULT_DIAGNOSTICS_TOPIC "/diagnostics"
#define DEFAULT_TF_ROLE GST_POSE_ROLE_ESTIMATE
#define DEFAULT_LOG_TIME GST_MCAP_LOG_TIME_AUTO
#define DEFAULT_ATTACH_PIPELINE TRUE

enum {
  COMPRESSION,
  CHUNK_SIZE,
  CHUNK_DURATION,
  TF_TOPIC,
  TF_ROLE,
  DIAGNOSTICS_TOPIC,
  LOG_TIME,
  METADATA,
  ATTACH_PIPELINE,
  N_SETTINGS
};

#define TYPE_COMPRESSION (compression_get_type ())
static GType
compression_get_type (void)
{
  static const GEnumValue values[] = {
      {MCAP_WRITER_COMPRESSION_NONE, "Not compressed", "none"},
      {MCAP_WRITER_COMPRESSION_LZ4, "LZ4: fast", "lz4"},
      {MCAP_WRITER_COMPRESSION_ZSTD, "Zstandard at level 1: smaller", "zstd"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstMcapCompression", values));
  return type;
}

#define TYPE_LOG_TIME (log_time_get_type ())
static GType
log_time_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_MCAP_LOG_TIME_AUTO, "clock in a live pipeline, pts otherwise", "auto"},
      {GST_MCAP_LOG_TIME_PTS, "The buffer's PTS", "pts"},
      {GST_MCAP_LOG_TIME_CLOCK, "Time of day of the buffer's running time", "clock"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstMcapLogTime", values));
  return type;
}

void
gst_mcap_settings_init (GstMcapSettings *self)
{
  memset (self, 0, sizeof *self);
  self->compression = DEFAULT_COMPRESSION;
  self->chunk_size = DEFAULT_CHUNK_SIZE;
  self->chunk_duration = DEFAULT_CHUNK_DURATION;
  self->tf_topic = g_strdup (DEFAULT_TF_TOPIC);
  self->tf_role = DEFAULT_TF_ROLE;
  self->diagnostics_topic = g_strdup (DEFAULT_DIAGNOSTICS_TOPIC);
  self->log_time = DEFAULT_LOG_TIME;
  self->attach_pipeline = DEFAULT_ATTACH_PIPELINE;
}

void
gst_mcap_settings_clear (GstMcapSettings *self)
{
  g_clear_pointer (&self->tf_topic, g_free);
  g_clear_pointer (&self->diagnostics_topic, g_free);
  g_clear_pointer (&self->metadata, gst_structure_free);
}

#define READY_PROPERTY (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)

guint
gst_mcap_settings_install (GObjectClass *klass, guint first)
{
  g_object_class_install_property (klass, first + COMPRESSION,
      g_param_spec_enum ("compression", "compression", "Compression of chunks", TYPE_COMPRESSION,
          DEFAULT_COMPRESSION, READY_PROPERTY));
  g_object_class_install_property (klass, first + CHUNK_SIZE,
      g_param_spec_uint ("chunk-size", "chunk-size",
          "Bytes of messages after which a chunk is written; a longer message has its own", 1,
          MAX_CHUNK_SIZE, DEFAULT_CHUNK_SIZE, READY_PROPERTY));
  g_object_class_install_property (klass, first + CHUNK_DURATION,
      g_param_spec_uint64 ("chunk-duration", "chunk-duration",
          "Log time that a chunk spans at most, and time of day after which it is written in any "
          "case, ns (0: any)",
          0, G_MAXUINT64, DEFAULT_CHUNK_DURATION, READY_PROPERTY));
  g_object_class_install_property (klass, first + TF_TOPIC,
      g_param_spec_string ("tf-topic", "tf-topic",
          "Topic of poses as transforms (empty: they are not recorded)", DEFAULT_TF_TOPIC,
          READY_PROPERTY));
  g_object_class_install_property (klass, first + TF_ROLE,
      g_param_spec_enum ("tf-role", "tf-role", "Role of the poses that are recorded as transforms",
          GST_TYPE_POSE_ROLE, DEFAULT_TF_ROLE, READY_PROPERTY));
  g_object_class_install_property (klass, first + DIAGNOSTICS_TOPIC,
      g_param_spec_string ("diagnostics-topic", "diagnostics-topic",
          "Topic of scores and status of poses (empty: they are not recorded)",
          DEFAULT_DIAGNOSTICS_TOPIC, READY_PROPERTY));
  g_object_class_install_property (klass, first + LOG_TIME,
      g_param_spec_enum ("log-time", "log-time", "What the log time of messages is", TYPE_LOG_TIME,
          DEFAULT_LOG_TIME, READY_PROPERTY));
  g_object_class_install_property (klass, first + METADATA,
      g_param_spec_boxed ("metadata", "metadata",
          "Metadata of each file: its name and fields become a metadata record", GST_TYPE_STRUCTURE,
          READY_PROPERTY));
  g_object_class_install_property (klass, first + ATTACH_PIPELINE,
      g_param_spec_boolean ("attach-pipeline", "attach-pipeline",
          "Attach the pipeline's description and the checksums of the maps that its clouds were "
          "aligned with to each file",
          DEFAULT_ATTACH_PIPELINE, READY_PROPERTY));

  gst_type_mark_as_plugin_api (TYPE_COMPRESSION, 0);
  gst_type_mark_as_plugin_api (TYPE_LOG_TIME, 0);
  return first + N_SETTINGS;
}

gboolean
gst_mcap_settings_set (GstMcapSettings *self, guint id, const GValue *value)
{
  switch (id) {
  case COMPRESSION:
    self->compression = g_value_get_enum (value);
    return TRUE;
  case CHUNK_SIZE:
    self->chunk_size = g_value_get_uint (value);
    return TRUE;
  case CHUNK_DURATION:
    self->chunk_duration = g_value_get_uint64 (value);
    return TRUE;
  case TF_TOPIC:
    g_free (self->tf_topic);
    self->tf_topic = g_value_dup_string (value);
    return TRUE;
  case TF_ROLE:
    self->tf_role = g_value_get_enum (value);
    return TRUE;
  case DIAGNOSTICS_TOPIC:
    g_free (self->diagnostics_topic);
    self->diagnostics_topic = g_value_dup_string (value);
    return TRUE;
  case LOG_TIME:
    self->log_time = g_value_get_enum (value);
    return TRUE;
  case METADATA:
    g_clear_pointer (&self->metadata, gst_structure_free);
    self->metadata = g_value_dup_boxed (value);
    return TRUE;
  case ATTACH_PIPELINE:
    self->attach_pipeline = g_value_get_boolean (value);
    return TRUE;
  default:
    return FALSE;
  }
}

gboolean
gst_mcap_settings_get (const GstMcapSettings *self, guint id, GValue *value)
{
  switch (id) {
  case COMPRESSION:
    g_value_set_enum (value, self->compression);
    return TRUE;
  case CHUNK_SIZE:
    g_value_set_uint (value, self->chunk_size);
    return TRUE;
  case CHUNK_DURATION:
    g_value_set_uint64 (value, self->chunk_duration);
    return TRUE;
  case TF_TOPIC:
    g_value_set_string (value, self->tf_topic);
    return TRUE;
  case TF_ROLE:
    g_value_set_enum (value, self->tf_role);
    return TRUE;
  case DIAGNOSTICS_TOPIC:
    g_value_set_string (value, self->diagnostics_topic);
    return TRUE;
  case LOG_TIME:
    g_value_set_enum (value, self->log_time);
    return TRUE;
  case METADATA:
    g_value_set_boxed (value, self->metadata);
    return TRUE;
  case ATTACH_PIPELINE:
    g_value_set_boolean (value, self->attach_pipeline);
    return TRUE;
  default:
    return FALSE;
  }
}
