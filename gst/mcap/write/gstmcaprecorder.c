/* SPDX-License-Identifier: MIT */
#include "gstmcaprecorder.h"

#include <string.h>

#include "gst/mcap/messages/gstbagrecords.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/messages/gstrosmessages.h"
#include "gstmcapchannels.h"

#define DEFAULT_FRAME "lidar"
#define MAP_FRAME "map"
#define MAP_TOPIC "/map"

/* What is recorded with a cloud beyond its points: headers, poses of all roles and their schemas.
 */
#define POSES_SIZE 16384

void
gst_mcap_recorder_init (GstMcapRecorder *self)
{
  memset (self, 0, sizeof *self);
  self->scratch = g_byte_array_new ();
  gst_mcap_poses_init (&self->poses);
}

void
gst_mcap_recorder_clear (GstMcapRecorder *self)
{
  g_clear_pointer (&self->writer, mcap_writer_free);
  g_clear_pointer (&self->scratch, g_byte_array_unref);
  gst_mcap_poses_clear (&self->poses);
}

void
gst_mcap_recorder_open (GstMcapRecorder *self, McapWriter *writer, const GstMcapSettings *settings)
{
  self->writer = writer;
  self->generation++;
  gst_mcap_poses_open (&self->poses, writer, settings);
}

gboolean
gst_mcap_recorder_add_end (GstMcapRecorder *self, GError **error)
{
  return gst_mcap_poses_add_paths (&self->poses, error);
}

/* Channels */

static GHashTable *
new_metadata (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
}

static void
set_metadata (GHashTable *metadata, const gchar *key, const gchar *value)
{
  g_hash_table_insert (metadata, g_strdup (key), g_strdup (value));
}

static gboolean
copy_string_field (GQuark field, const GValue *value, gpointer metadata)
{
  if (G_VALUE_HOLDS_STRING (value))
    set_metadata (metadata, g_quark_to_string (field), g_value_get_string (value));
  return TRUE;
}

/* The definition of the messages that a stream of a recording has; NULL: none, and the type is none
 * that is known (SQLite files of before ROS 2 Iron have no definitions). */
static const GValue *
get_definition (const GstStructure *caps)
{
  const GValue *text = gst_structure_get_value (caps, MCAP_CAPS_SCHEMA_DATA);
  return text && GST_VALUE_HOLDS_BUFFER (text) && gst_value_get_buffer (text) &&
                 gst_buffer_get_size (gst_value_get_buffer (text)) > 0
             ? text
             : NULL;
}

/* Whether the bytes of a stream's buffers are messages of a recording. Poses have them beside their
 * metas, and what the metas do not say, such as a twist, is only there. */
static gboolean
has_messages (const GstStructure *caps)
{
  if (gst_structure_has_name (caps, MCAP_MESSAGE_CAPS))
    return TRUE;
  return gst_structure_has_name (caps, GST_POSE_CAPS_NAME) &&
         gst_structure_has_field (caps, MCAP_CAPS_MESSAGE_ENCODING) && get_definition (caps);
}

/* A channel as it stood in the recording that a stream came from. */
static gboolean
add_copied_channel (
    GstMcapRecorder *self, GstMcapPad *pad, const GstStructure *caps, GError **error)
{
  const gchar *encoding = gst_structure_get_string (caps, MCAP_CAPS_MESSAGE_ENCODING);
  const gchar *name = gst_structure_get_string (caps, MCAP_CAPS_SCHEMA_NAME);
  const gchar *schema_encoding = gst_structure_get_string (caps, MCAP_CAPS_SCHEMA_ENCODING);
  const GValue *text = gst_structure_get_value (caps, MCAP_CAPS_SCHEMA_DATA);
  const GValue *given = gst_structure_get_value (caps, MCAP_CAPS_CHANNEL_METADATA);
  g_autoptr (GHashTable) metadata = new_metadata ();
  guint16 schema = 0;

  if (given && GST_VALUE_HOLDS_STRUCTURE (given))
    gst_structure_foreach (gst_value_get_structure (given), copy_string_field, metadata);
  if (name) {
    GstBuffer *buffer = text && GST_VALUE_HOLDS_BUFFER (text) ? gst_value_get_buffer (text) : NULL;
    GstMapInfo map = GST_MAP_INFO_INIT;

    if (buffer && !gst_buffer_map (buffer, &map, GST_MAP_READ))
      buffer = NULL;
    schema =
        mcap_writer_add_schema (self->writer, name, schema_encoding, map.data, map.size, error);
    if (buffer)
      gst_buffer_unmap (buffer, &map);
    if (schema == 0)
      return FALSE;
  }
  return mcap_writer_add_channel (
      self->writer, schema, pad->main_topic, encoding, metadata, &pad->main_channel, error);
}

static gboolean
add_main_channel (GstMcapRecorder *self, GstMcapPad *pad, GError **error)
{
  g_autoptr (GHashTable) metadata = new_metadata ();
  g_autofree gchar *caps = NULL;
  const GstStructure *structure = pad->caps ? gst_caps_get_structure (pad->caps, 0) : NULL;

  pad->is_copy = structure && has_messages (structure);
  if (pad->is_copy)
    return add_copied_channel (self, pad, structure, error);
  if (pad->kind == GST_MCAP_PAD_POSE)
    return TRUE; /* its channels are those of the poses that come */
  if (pad->is_attachment || pad->is_metadata)
    return TRUE;
  caps = pad->caps ? gst_caps_to_string (pad->caps) : NULL;
  if (caps)
    set_metadata (metadata, MCAP_META_CAPS, caps);
  if (pad->kind == GST_MCAP_PAD_CLOUD)
    return gst_mcap_channel_add (
        self->writer, pad->main_topic, ROS_TYPE_POINT_CLOUD2, metadata, &pad->main_channel, error);
  return mcap_writer_add_channel (self->writer, 0, pad->main_topic,
      structure ? gst_structure_get_name (structure) : "", metadata, &pad->main_channel, error);
}

/* NULL stays NULL. Applications may set anything; readers want UTF-8. */
static gchar *
dup_valid (const gchar *name)
{
  return name ? g_utf8_make_valid (name, -1) : NULL;
}

static void
set_names (GstMcapPad *pad)
{
  static const gchar *const defaults[] = {"/points", "/pose", "/data"};
  const GstStructure *caps = pad->caps ? gst_caps_get_structure (pad->caps, 0) : NULL;
  /* Messages and poses of a recording keep its topic. */
  const gchar *from_caps = caps && pad->kind != GST_MCAP_PAD_CLOUD
                               ? gst_structure_get_string (caps, MCAP_CAPS_TOPIC)
                               : NULL;

  g_free (pad->main_topic);
  g_free (pad->poses_topic);
  g_free (pad->cloud_frame);
  g_free (pad->pose_parent_frame);
  GST_OBJECT_LOCK (pad);
  pad->changed = FALSE;
  if (pad->topic || from_caps)
    pad->main_topic = dup_valid (pad->topic ? pad->topic : from_caps);
  else if (pad->index == 0)
    pad->main_topic = g_strdup (defaults[pad->kind]);
  else
    pad->main_topic = g_strdup_printf ("%s_%u", defaults[pad->kind], pad->index);
  if (pad->kind == GST_MCAP_PAD_POSE)
    pad->poses_topic = g_strdup (pad->main_topic);
  else if (pad->pose_topic)
    pad->poses_topic = dup_valid (pad->pose_topic);
  else
    pad->poses_topic = g_strconcat (pad->main_topic, "/pose", NULL);
  if (pad->frame_id || pad->info.frame_id == 0)
    pad->cloud_frame = dup_valid (pad->frame_id ? pad->frame_id : DEFAULT_FRAME);
  else
    pad->cloud_frame = g_strdup (g_quark_to_string (pad->info.frame_id));
  pad->pose_parent_frame = dup_valid (pad->parent_frame_id);
  g_free (pad->odometry_name);
  g_free (pad->path_name);
  pad->odometry_name = dup_valid (pad->odometry_topic);
  if (!pad->odometry_name && pad->kind == GST_MCAP_PAD_CLOUD)
    pad->odometry_name = g_strconcat (pad->main_topic, "/odom", NULL);
  pad->path_name = dup_valid (pad->path_topic);
  GST_OBJECT_UNLOCK (pad);
}

/* Channels and names of a pad in the file at hand: for each file, and again after new caps or
 * properties. */
static gboolean
prepare_pad (GstMcapRecorder *self, GstMcapPad *pad, GError **error)
{
  gboolean changed;

  GST_OBJECT_LOCK (pad);
  changed = pad->changed;
  GST_OBJECT_UNLOCK (pad);
  if (pad->generation == self->generation && !changed)
    return TRUE;
  pad->generation = 0;
  set_names (pad);
  pad->have_channels = 0;
  pad->have_mount = FALSE;
  if (!add_main_channel (self, pad, error))
    return FALSE;
  pad->generation = self->generation;
  return TRUE;
}

/* Messages */

/* A PointCloud2 has no duration. Where the framerate in the caps gives it, it is not written. */
static gboolean
add_duration (GstMcapRecorder *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time,
    gint64 stamp, GError **error)
{
  const GstClockTime duration = GST_BUFFER_DURATION (buffer);
  const GstPointCloudInfo *info = &pad->info;
  g_autofree gchar *topic = NULL;

  if (!GST_CLOCK_TIME_IS_VALID (duration) ||
      (info->fps_n > 0 &&
          duration == gst_util_uint64_scale_int (GST_SECOND, info->fps_d, info->fps_n)))
    return TRUE;
  topic = g_strconcat (pad->main_topic, "/duration", NULL);
  g_byte_array_set_size (self->scratch, 0);
  ros_write_duration (self->scratch, duration);
  return gst_mcap_channel_prepare (
             self->writer, pad, GST_MCAP_CHANNEL_DURATION, topic, ROS_TYPE_DURATION, NULL, error) &&
         gst_mcap_channel_write (
             self->writer, pad, GST_MCAP_CHANNEL_DURATION, self->scratch, log_time, stamp, error);
}

static gboolean
add_cloud (GstMcapRecorder *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time,
    gint64 stamp, GError **error)
{
  const guint8 is_dense =
      GST_BUFFER_FLAG_IS_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE) != 0;
  g_autoptr (GError) invalid = NULL;
  GstPointCloudMap map;
  McapPart parts[3];
  gboolean ok;

  if (!gst_point_cloud_map (&map, &pad->info, buffer, GST_MAP_READ, &invalid)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A buffer is no scan and was not recorded: %s", invalid->message);
    return FALSE;
  }
  ok = mcap_writer_make_room (self->writer, map.map.size + POSES_SIZE, log_time, error) &&
       add_duration (self, pad, buffer, log_time, stamp, error) &&
       gst_mcap_poses_add_mount (&self->poses, pad, log_time, stamp, error) &&
       gst_mcap_poses_add (&self->poses, pad, buffer, log_time, stamp, error);
  if (ok) {
    g_byte_array_set_size (self->scratch, 0);
    ros_write_point_cloud2_head (self->scratch, stamp, pad->cloud_frame, &pad->info, map.n_points);
    parts[0] = (McapPart){self->scratch->data, self->scratch->len};
    parts[1] = (McapPart){map.data, map.map.size};
    parts[2] = (McapPart){&is_dense, 1};
    ok = mcap_writer_add_message (
        self->writer, pad->main_channel, log_time, MAX (stamp, 0), parts, 3, error);
  }
  gst_point_cloud_unmap (&map);
  return ok;
}

gboolean
gst_mcap_recorder_add_map (
    GstMcapRecorder *self, GBytes *points, guint64 log_time, gint64 stamp, GError **error)
{
  static const guint8 is_dense = 1;
  g_autoptr (GHashTable) metadata = g_hash_table_new (g_str_hash, g_str_equal);
  GstPointCloudInfo info;
  guint16 channel;
  gsize size;
  gconstpointer data = g_bytes_get_data (points, &size);

  g_hash_table_insert (metadata, (gpointer)MCAP_META_ROLE, (gpointer)MCAP_META_ROLE_MAP);
  gst_mcap_channel_set_latched (metadata);
  if (!gst_mcap_channel_add (
          self->writer, MAP_TOPIC, ROS_TYPE_POINT_CLOUD2, metadata, &channel, error))
    return FALSE;
  gst_point_cloud_info_init (&info);
  gst_point_cloud_info_set_format (&info, GST_POINT_CLOUD_FORMAT_XYZ_F64LE);
  g_byte_array_set_size (self->scratch, 0);
  ros_write_point_cloud2_head (
      self->scratch, stamp, MAP_FRAME, &info, size / (3 * sizeof (double)));
  const McapPart parts[] = {
      {self->scratch->data, self->scratch->len}, {data, size}, {&is_dense, 1}};
  return mcap_writer_add_message (
      self->writer, channel, log_time, MAX (stamp, 0), parts, G_N_ELEMENTS (parts), error);
}

static gboolean
add_attachment (
    GstMcapRecorder *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time, GError **error)
{
  const GstStructure *caps = gst_caps_get_structure (pad->caps, 0);
  const gchar *name = gst_structure_get_string (caps, MCAP_CAPS_NAME);
  const gchar *media_type = gst_structure_get_string (caps, MCAP_CAPS_MEDIA_TYPE);
  const guint64 create_time = bag_record_get_time (buffer, MCAP_CREATE_TIME_CAPS, log_time);
  GstMapInfo map;
  gboolean ok;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A buffer could not be read and was not attached");
    return FALSE;
  }
  ok = mcap_writer_add_attachment (
      self->writer, name, media_type, log_time, create_time, map.data, map.size, error);
  gst_buffer_unmap (buffer, &map);
  return ok;
}

static gboolean
add_metadata (GstMcapRecorder *self, GstMcapPad *pad, GError **error)
{
  const GstStructure *caps = gst_caps_get_structure (pad->caps, 0);
  const GValue *map = gst_structure_get_value (caps, MCAP_CAPS_METADATA);
  g_autoptr (GHashTable) metadata = new_metadata ();

  if (map && GST_VALUE_HOLDS_STRUCTURE (map))
    gst_structure_foreach (gst_value_get_structure (map), copy_string_field, metadata);
  return mcap_writer_add_metadata (
      self->writer, gst_structure_get_string (caps, MCAP_CAPS_NAME), metadata, error);
}

static gboolean
add_data (GstMcapRecorder *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time, gint64 stamp,
    GError **error)
{
  GstMapInfo map;
  McapPart part;
  gboolean ok;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A buffer could not be read and was not recorded");
    return FALSE;
  }
  part = (McapPart){map.data, map.size};
  /* A recording's message keeps its number. */
  if (pad->is_copy && GST_BUFFER_OFFSET_IS_VALID (buffer))
    mcap_writer_set_sequence (self->writer, pad->main_channel, (guint32)GST_BUFFER_OFFSET (buffer));
  ok = mcap_writer_add_message (
      self->writer, pad->main_channel, log_time, MAX (stamp, 0), &part, 1, error);
  gst_buffer_unmap (buffer, &map);
  return ok;
}

/* Of a pad with messages of a recording. */
static gboolean
is_tf (const GstMcapPad *pad)
{
  return g_strcmp0 (gst_structure_get_string (
                        gst_caps_get_structure (pad->caps, 0), MCAP_CAPS_SCHEMA_NAME),
             ROS_TYPE_TF) == 0;
}

gboolean
gst_mcap_recorder_add (GstMcapRecorder *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time,
    gint64 stamp, GError **error)
{
  if (!prepare_pad (self, pad, error))
    return FALSE;
  switch (pad->kind) {
  case GST_MCAP_PAD_CLOUD:
    return add_cloud (self, pad, buffer, log_time, stamp, error);
  case GST_MCAP_PAD_POSE:
    /* A message's stamp is its publish time: instants of its poses follow from the log time. */
    if (pad->is_copy)
      return add_data (self, pad, buffer, log_time, stamp, error) &&
             gst_mcap_poses_add_transforms (
                 &self->poses, pad, buffer, is_tf (pad), log_time, (gint64)log_time, error);
    return gst_mcap_poses_add (&self->poses, pad, buffer, log_time, stamp, error);
  default:
    if (pad->is_attachment)
      return add_attachment (self, pad, buffer, log_time, error);
    if (pad->is_metadata)
      return add_metadata (self, pad, error);
    return add_data (self, pad, buffer, log_time, stamp, error);
  }
}
