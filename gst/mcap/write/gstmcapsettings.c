/* SPDX-License-Identifier: MIT */
#include "gstmcapsettings.h"

#include <string.h>

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

static GType
log_time_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_MCAP_LOG_TIME_AUTO,
          "clock in a live pipeline; in others the PTS, as times of day where the first buffer "
          "says "
          "which",
          "auto"},
      {GST_MCAP_LOG_TIME_PTS, "The buffer's PTS, as it is", "pts"},
      {GST_MCAP_LOG_TIME_CLOCK, "Time of day of the buffer's running time", "clock"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstMcapLogTime", values));
  return type;
}

static GType
tf_mode_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_MCAP_TF_MODE_POSE, "The poses of tf-role, as they are", "pose"},
      {GST_MCAP_TF_MODE_MAP_ODOM,
          "odom to the body from odometry, and map to odom from the poses of tf-role (REP 105)",
          "map-odom"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstMcapTfMode", values));
  return type;
}

static GType
header_stamp_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_MCAP_HEADER_STAMP_SENSOR, "The sensor's clock, as time of day", "sensor"},
      {GST_MCAP_HEADER_STAMP_CAPTURE, "The time of capture", "capture"},
      {GST_MCAP_HEADER_STAMP_LOG, "The log time", "log"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstMcapHeaderStamp", values));
  return type;
}

static GType
map_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_MCAP_RECORD_MAP_NONE, "No map", "none"},
      {GST_MCAP_RECORD_MAP_AUTO, "The map that the clouds are aligned with, thinned, once a file",
          "auto"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstMcapMap", values));
  return type;
}

typedef enum { ENUM, UINT, UINT64, BOOLEAN, STRING, STRUCTURE } Kind;

typedef struct {
  const gchar *name;
  const gchar *nick;
  const gchar *blurb;
  gsize at; /* in GstMcapSettings */
  Kind kind;
  GType (*type) (void); /* of an enum */
  guint64 min;          /* of a number */
  guint64 max;
  guint64 initial;
  const gchar *text; /* default of a string */
} Property;

#define AT(member) G_STRUCT_OFFSET (GstMcapSettings, member)

static const Property properties[] = {
    {"compression", "Compression", "Compression of chunks", AT (compression), ENUM,
        compression_get_type, .initial = MCAP_WRITER_COMPRESSION_NONE},
    {"chunk-size", "Chunk Size",
        "Bytes of messages after which a chunk is written; a longer message has its own",
        AT (chunk_size), UINT, .min = 1, .max = 1 << 30, .initial = 4 << 20},
    {"chunk-duration", "Chunk Duration",
        "Log time that a chunk spans at most, and time of day after which it is written in any "
        "case, ns (0: any)",
        AT (chunk_duration), UINT64, .max = G_MAXUINT64, .initial = GST_SECOND},
    {"max-memory", "Maximum Memory",
        "Bytes of memory that the file being written may take: the chunk at hand, twice, and the "
        "index that is written at its end; beyond it the next file begins where there are several, "
        "otherwise this one ends with an error (0: any)",
        AT (max_memory), UINT64, .max = G_MAXUINT64, .initial = G_GUINT64_CONSTANT (1) << 30},
    {"tf-topic", "TF Topic", "Topic of poses as transforms (empty: they are not recorded)",
        AT (tf_topic), STRING, .text = "/tf"},
    {"tf-role", "TF Role", "Role of the poses that are recorded as transforms", AT (tf_role), ENUM,
        gst_pose_role_get_type, .initial = GST_POSE_ROLE_ESTIMATE},
    {"tf-mode", "TF Mode",
        "Which transforms are recorded: where odometry is recorded and the body is to have one "
        "parent, map-odom",
        AT (tf_mode), ENUM, tf_mode_get_type, .initial = GST_MCAP_TF_MODE_POSE},
    {"diagnostics-topic", "Diagnostics Topic",
        "Topic of scores and status of poses (empty: they are not recorded)",
        AT (diagnostics_topic), STRING, .text = "/diagnostics"},
    {"log-time", "Log Time", "What the log time of messages is", AT (log_time), ENUM,
        log_time_get_type, .initial = GST_MCAP_LOG_TIME_AUTO},
    {"header-stamp", "Header Stamp",
        "What the stamps in messages' headers are, on the axis of the log times (each of these "
        "where a buffer has it, otherwise the next)",
        AT (header_stamp), ENUM, header_stamp_get_type, .initial = GST_MCAP_HEADER_STAMP_SENSOR},
    {"metadata", "Metadata", "Metadata of each file: its name and fields become a metadata record",
        AT (metadata), STRUCTURE},
    {"attach-pipeline", "Attach Pipeline",
        "Attach the pipeline's description and the checksums of the maps that its clouds were "
        "aligned with to each file",
        AT (attach_pipeline), BOOLEAN, .initial = TRUE},
    {"map", "Map", "Whether a map is recorded, as a cloud of the topic /map in the frame map",
        AT (map), ENUM, map_get_type, .initial = GST_MCAP_RECORD_MAP_NONE},
    {"max-map-points", "Maximum Map Points",
        "Points of the map that are recorded, 24 bytes each; more are thinned to one a cube",
        AT (max_map_points), UINT, .min = 1, .max = 10000000, .initial = 200000},
};

#define MEMBER(self, property, type) G_STRUCT_MEMBER (type, self, (property)->at)

/* @self: all zeros. */
static void
set_default (GstMcapSettings *self, const Property *property)
{
  switch (property->kind) {
  case ENUM:
    MEMBER (self, property, gint) = (gint)property->initial;
    break;
  case UINT:
    MEMBER (self, property, guint) = (guint)property->initial;
    break;
  case UINT64:
    MEMBER (self, property, guint64) = property->initial;
    break;
  case BOOLEAN:
    MEMBER (self, property, gboolean) = property->initial != 0;
    break;
  case STRING:
    MEMBER (self, property, gchar *) = g_strdup (property->text);
    break;
  case STRUCTURE:
    break;
  }
}

void
gst_mcap_settings_init (GstMcapSettings *self)
{
  memset (self, 0, sizeof *self);
  for (guint i = 0; i < G_N_ELEMENTS (properties); i++)
    set_default (self, &properties[i]);
}

void
gst_mcap_settings_clear (GstMcapSettings *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (properties); i++) {
    if (properties[i].kind == STRING)
      g_clear_pointer (&MEMBER (self, &properties[i], gchar *), g_free);
    else if (properties[i].kind == STRUCTURE)
      g_clear_pointer (&MEMBER (self, &properties[i], GstStructure *), gst_structure_free);
  }
}

void
gst_mcap_settings_copy (GstMcapSettings *to, const GstMcapSettings *from)
{
  gst_mcap_settings_clear (to);
  *to = *from;
  for (guint i = 0; i < G_N_ELEMENTS (properties); i++) {
    const Property *property = &properties[i];

    if (property->kind == STRING)
      MEMBER (to, property, gchar *) = g_strdup (MEMBER (from, property, gchar *));
    else if (property->kind == STRUCTURE && MEMBER (from, property, GstStructure *))
      MEMBER (to, property, GstStructure *) =
          gst_structure_copy (MEMBER (from, property, GstStructure *));
  }
}

#define FLAGS (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)

static GParamSpec *
make_pspec (const Property *p)
{
  switch (p->kind) {
  case ENUM:
    return g_param_spec_enum (p->name, p->nick, p->blurb, p->type (), (gint)p->initial, FLAGS);
  case UINT:
    return g_param_spec_uint (
        p->name, p->nick, p->blurb, (guint)p->min, (guint)p->max, (guint)p->initial, FLAGS);
  case UINT64:
    return g_param_spec_uint64 (p->name, p->nick, p->blurb, p->min, p->max, p->initial, FLAGS);
  case BOOLEAN:
    return g_param_spec_boolean (p->name, p->nick, p->blurb, p->initial != 0, FLAGS);
  case STRING:
    return g_param_spec_string (p->name, p->nick, p->blurb, p->text, FLAGS);
  case STRUCTURE:
  default:
    return g_param_spec_boxed (p->name, p->nick, p->blurb, GST_TYPE_STRUCTURE, FLAGS);
  }
}

guint
gst_mcap_settings_install (GObjectClass *klass, guint first)
{
  for (guint i = 0; i < G_N_ELEMENTS (properties); i++)
    g_object_class_install_property (klass, first + i, make_pspec (&properties[i]));
  gst_type_mark_as_plugin_api (compression_get_type (), 0);
  gst_type_mark_as_plugin_api (log_time_get_type (), 0);
  gst_type_mark_as_plugin_api (header_stamp_get_type (), 0);
  gst_type_mark_as_plugin_api (tf_mode_get_type (), 0);
  gst_type_mark_as_plugin_api (map_get_type (), 0);
  return first + G_N_ELEMENTS (properties);
}

gboolean
gst_mcap_settings_set (GstMcapSettings *self, guint id, const GValue *value)
{
  const Property *property;

  if (id >= G_N_ELEMENTS (properties))
    return FALSE;
  property = &properties[id];
  switch (property->kind) {
  case ENUM:
    MEMBER (self, property, gint) = g_value_get_enum (value);
    break;
  case UINT:
    MEMBER (self, property, guint) = g_value_get_uint (value);
    break;
  case UINT64:
    MEMBER (self, property, guint64) = g_value_get_uint64 (value);
    break;
  case BOOLEAN:
    MEMBER (self, property, gboolean) = g_value_get_boolean (value);
    break;
  case STRING:
    g_free (MEMBER (self, property, gchar *));
    MEMBER (self, property, gchar *) = g_value_dup_string (value);
    break;
  case STRUCTURE:
    g_clear_pointer (&MEMBER (self, property, GstStructure *), gst_structure_free);
    MEMBER (self, property, GstStructure *) = g_value_dup_boxed (value);
    break;
  }
  return TRUE;
}

gboolean
gst_mcap_settings_get (const GstMcapSettings *self, guint id, GValue *value)
{
  const Property *property;

  if (id >= G_N_ELEMENTS (properties))
    return FALSE;
  property = &properties[id];
  switch (property->kind) {
  case ENUM:
    g_value_set_enum (value, MEMBER (self, property, gint));
    break;
  case UINT:
    g_value_set_uint (value, MEMBER (self, property, guint));
    break;
  case UINT64:
    g_value_set_uint64 (value, MEMBER (self, property, guint64));
    break;
  case BOOLEAN:
    g_value_set_boolean (value, MEMBER (self, property, gboolean));
    break;
  case STRING:
    g_value_set_string (value, MEMBER (self, property, gchar *));
    break;
  case STRUCTURE:
    g_value_set_boxed (value, MEMBER (self, property, GstStructure *));
    break;
  }
  return TRUE;
}
