/* SPDX-License-Identifier: MIT */
#include "gstmcaprecorder.h"

#include <string.h>

#include "gst/mcap/messages/gstbagrecords.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/messages/gstrosmessages.h"

#define DEFAULT_FRAME "lidar"

/* What is recorded with a cloud beyond its points: headers, poses of all roles and their schemas.
 */
#define POSES_SIZE 16384

/* Last part of the topics of roles other than the estimate. */
static const gchar *const role_topics[GST_MCAP_N_ROLES] = {
    [GST_POSE_ROLE_ESTIMATE] = "estimate",
    [GST_POSE_ROLE_PRIOR] = "prior",
    [GST_POSE_ROLE_ODOMETRY] = "odometry",
    [GST_POSE_ROLE_GROUND_TRUTH] = "ground_truth",
};

void
gst_mcap_recorder_init (GstMcapRecorder *self)
{
  memset (self, 0, sizeof *self);
  self->scratch = g_byte_array_new ();
}

void
gst_mcap_recorder_clear (GstMcapRecorder *self)
{
  g_clear_pointer (&self->writer, mcap_writer_free);
  g_clear_pointer (&self->scratch, g_byte_array_unref);
}

/* Channels */

static gboolean
add_ros_channel (GstMcapRecorder *self, const gchar *topic, const gchar *type, GHashTable *metadata,
    guint16 *channel, GError **error)
{
  const gchar *text = ros_schema (type);
  guint16 schema = mcap_writer_add_schema (
      self->writer, type, MCAP_ENCODING_ROS2MSG, text, strlen (text), error);

  return schema > 0 && mcap_writer_add_channel (self->writer, schema, topic, MCAP_ENCODING_CDR,
                           metadata, channel, error);
}

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
    return add_ros_channel (
        self, pad->main_topic, ROS_TYPE_POINT_CLOUD2, metadata, &pad->main_channel, error);
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
  /* Messages and poses of a recording have it; it goes on. */
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
  GST_OBJECT_UNLOCK (pad);
}

/* What the file at hand has of a pad, made anew for each file, each caps and what properties are
 * set to. */
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
  pad->have_pose_channels = 0;
  pad->have_diagnostics_channel = pad->have_duration_channel = pad->have_tf_channel = FALSE;
  if (!add_main_channel (self, pad, error))
    return FALSE;
  pad->generation = self->generation;
  return TRUE;
}

static gboolean
prepare_pose_channel (GstMcapRecorder *self, GstMcapPad *pad, GstPoseRole role, GError **error)
{
  g_autoptr (GHashTable) metadata = NULL;
  g_autoptr (GEnumClass) roles = NULL;
  g_autofree gchar *topic = NULL;

  if (pad->have_pose_channels & (1u << role))
    return TRUE;
  metadata = new_metadata ();
  roles = g_type_class_ref (GST_TYPE_POSE_ROLE);
  set_metadata (metadata, MCAP_META_ROLE, g_enum_get_value (roles, role)->value_nick);
  if (pad->kind == GST_MCAP_PAD_CLOUD)
    set_metadata (metadata, MCAP_META_CLOUD, pad->main_topic);
  topic = role == GST_POSE_ROLE_ESTIMATE
              ? g_strdup (pad->poses_topic)
              : g_strconcat (pad->poses_topic, "/", role_topics[role], NULL);
  if (!add_ros_channel (self, topic, ROS_TYPE_POSE, metadata, &pad->pose_channels[role], error))
    return FALSE;
  pad->have_pose_channels |= 1u << role;
  return TRUE;
}

static gboolean
prepare_diagnostics_channel (GstMcapRecorder *self, GstMcapPad *pad, GError **error)
{
  g_autoptr (GHashTable) metadata = NULL;

  if (pad->have_diagnostics_channel)
    return TRUE;
  metadata = new_metadata ();
  if (pad->kind == GST_MCAP_PAD_CLOUD)
    set_metadata (metadata, MCAP_META_CLOUD, pad->main_topic);
  pad->have_diagnostics_channel = add_ros_channel (self, self->settings->diagnostics_topic,
      ROS_TYPE_DIAGNOSTICS, metadata, &pad->diagnostics_channel, error);
  return pad->have_diagnostics_channel;
}

static gboolean
prepare_duration_channel (GstMcapRecorder *self, GstMcapPad *pad, GError **error)
{
  if (pad->have_duration_channel)
    return TRUE;
  g_autoptr (GHashTable) metadata = new_metadata ();
  g_autofree gchar *topic = g_strconcat (pad->main_topic, "/duration", NULL);
  set_metadata (metadata, MCAP_META_CLOUD, pad->main_topic);
  pad->have_duration_channel =
      add_ros_channel (self, topic, ROS_TYPE_DURATION, metadata, &pad->duration_channel, error);
  return pad->have_duration_channel;
}

static gboolean
prepare_tf_channel (GstMcapRecorder *self, GstMcapPad *pad, GError **error)
{
  if (!pad->have_tf_channel)
    pad->have_tf_channel = add_ros_channel (
        self, self->settings->tf_topic, ROS_TYPE_TF, NULL, &pad->tf_channel, error);
  return pad->have_tf_channel;
}

/* Messages */

static gboolean
add_scratch (GstMcapRecorder *self, guint16 channel, guint64 log_time, gint64 stamp, GError **error)
{
  McapPart part = {self->scratch->data, self->scratch->len};

  return mcap_writer_add_message (self->writer, channel, log_time, MAX (stamp, 0), &part, 1, error);
}

static gboolean
is_set (const gchar *topic)
{
  return topic && *topic;
}

static gboolean
add_pose (GstMcapRecorder *self, GstMcapPad *pad, const GstPoseMeta *meta, guint64 log_time,
    gint64 stamp, GError **error)
{
  const gchar *parent = g_quark_to_string (meta->parent_frame);
  const gchar *child = g_quark_to_string (meta->child_frame);

  if (parent == NULL)
    parent = pad->pose_parent_frame;
  if (parent == NULL)
    parent = meta->role == GST_POSE_ROLE_ODOMETRY ? "odom" : "map";
  if (child == NULL)
    child = pad->cloud_frame;

  if (is_set (self->settings->diagnostics_topic)) {
    if (!prepare_diagnostics_channel (self, pad, error))
      return FALSE;
    g_byte_array_set_size (self->scratch, 0);
    ros_write_diagnostics (self->scratch, stamp, pad->poses_topic, meta);
    if (!add_scratch (self, pad->diagnostics_channel, log_time, stamp, error))
      return FALSE;
  }
  if (!meta->has_pose)
    return TRUE;
  if (is_set (self->settings->tf_topic) && meta->role == self->settings->tf_role) {
    if (!prepare_tf_channel (self, pad, error))
      return FALSE;
    g_byte_array_set_size (self->scratch, 0);
    ros_write_tf (self->scratch, stamp, parent, child, meta);
    if (!add_scratch (self, pad->tf_channel, log_time, stamp, error))
      return FALSE;
  }
  if (!prepare_pose_channel (self, pad, meta->role, error))
    return FALSE;
  g_byte_array_set_size (self->scratch, 0);
  ros_write_pose (self->scratch, stamp, parent, meta);
  return add_scratch (self, pad->pose_channels[meta->role], log_time, stamp, error);
}

static gboolean
add_poses (GstMcapRecorder *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time,
    gint64 stamp, GError **error)
{
  gpointer state = NULL;
  const GstPoseMeta *meta;

  if (!is_set (pad->poses_topic))
    return TRUE;
  while ((meta = (const GstPoseMeta *)gst_buffer_iterate_meta_filtered (
              buffer, &state, GST_POSE_META_API_TYPE))) {
    gint64 pose_stamp = stamp;

    if ((guint)meta->role >= GST_MCAP_N_ROLES)
      continue;
    /* The instant that the pose is of, on the header's clock. */
    if (GST_CLOCK_TIME_IS_VALID (meta->timestamp) && GST_BUFFER_PTS_IS_VALID (buffer))
      pose_stamp += GST_CLOCK_DIFF (GST_BUFFER_PTS (buffer), meta->timestamp);
    if (!add_pose (self, pad, meta, log_time, pose_stamp, error))
      return FALSE;
  }
  return TRUE;
}

/* A PointCloud2 has no duration. Where the framerate in the caps gives it, it is not written. */
static gboolean
add_duration (GstMcapRecorder *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time,
    gint64 stamp, GError **error)
{
  const GstClockTime duration = GST_BUFFER_DURATION (buffer);
  const GstPointCloudInfo *info = &pad->info;

  if (!GST_CLOCK_TIME_IS_VALID (duration) ||
      (info->fps_n > 0 &&
          duration == gst_util_uint64_scale_int (GST_SECOND, info->fps_d, info->fps_n)))
    return TRUE;
  if (!prepare_duration_channel (self, pad, error))
    return FALSE;
  g_byte_array_set_size (self->scratch, 0);
  ros_write_duration (self->scratch, duration);
  return add_scratch (self, pad->duration_channel, log_time, stamp, error);
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
       add_poses (self, pad, buffer, log_time, stamp, error);
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
    if (pad->is_copy)
      return add_data (self, pad, buffer, log_time, stamp, error);
    return add_poses (self, pad, buffer, log_time, stamp, error);
  default:
    if (pad->is_attachment)
      return add_attachment (self, pad, buffer, log_time, error);
    if (pad->is_metadata)
      return add_metadata (self, pad, error);
    return add_data (self, pad, buffer, log_time, stamp, error);
  }
}
