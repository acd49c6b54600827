/* SPDX-License-Identifier: MIT */
#include "gstmcappad.h"

#include "gst/mcap/container/mcap-format.h"

enum {
  PROP_0,
  PROP_TOPIC,
  PROP_POSE_TOPIC,
  PROP_FRAME_ID,
  PROP_PARENT_FRAME_ID,
  PROP_ODOMETRY_TOPIC,
  PROP_PATH_TOPIC
};

G_DEFINE_TYPE (GstMcapPad, gst_mcap_pad, GST_TYPE_PAD)

static gchar **
get_string (GstMcapPad *self, guint id)
{
  switch (id) {
  case PROP_TOPIC:
    return &self->topic;
  case PROP_POSE_TOPIC:
    return &self->pose_topic;
  case PROP_FRAME_ID:
    return &self->frame_id;
  case PROP_PARENT_FRAME_ID:
    return &self->parent_frame_id;
  case PROP_ODOMETRY_TOPIC:
    return &self->odometry_topic;
  case PROP_PATH_TOPIC:
    return &self->path_topic;
  default:
    return NULL;
  }
}

static void
gst_mcap_pad_set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstMcapPad *self = GST_MCAP_PAD (object);
  gchar **string = get_string (self, id);

  if (string == NULL) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
    return;
  }
  GST_OBJECT_LOCK (self);
  g_free (*string);
  *string = g_value_dup_string (value);
  self->changed = TRUE;
  GST_OBJECT_UNLOCK (self);
}

static void
gst_mcap_pad_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstMcapPad *self = GST_MCAP_PAD (object);
  gchar **string = get_string (self, id);

  if (string == NULL) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
    return;
  }
  GST_OBJECT_LOCK (self);
  g_value_set_string (value, *string);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_mcap_pad_finalize (GObject *object)
{
  GstMcapPad *self = GST_MCAP_PAD (object);

  g_free (self->topic);
  g_free (self->pose_topic);
  g_free (self->frame_id);
  g_free (self->parent_frame_id);
  g_free (self->odometry_topic);
  g_free (self->path_topic);
  g_free (self->odometry_name);
  g_free (self->path_name);
  g_free (self->mount_parent);
  g_clear_pointer (&self->mount, gst_point_cloud_pose_free);
  g_free (self->main_topic);
  g_free (self->poses_topic);
  g_free (self->cloud_frame);
  g_free (self->pose_parent_frame);
  g_clear_pointer (&self->map, gst_mcap_digest_unref);
  gst_clear_caps (&self->caps);
  G_OBJECT_CLASS (gst_mcap_pad_parent_class)->finalize (object);
}

static void
install_string (
    GObjectClass *klass, guint id, const gchar *name, const gchar *nick, const gchar *blurb)
{
  g_object_class_install_property (klass, id,
      g_param_spec_string (name, nick, blurb, NULL,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING));
}

static void
gst_mcap_pad_class_init (GstMcapPadClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = gst_mcap_pad_set_property;
  object_class->get_property = gst_mcap_pad_get_property;
  object_class->finalize = gst_mcap_pad_finalize;

  /**
   * GstMcapPad:topic:
   *
   * Topic of the pad's messages. Unset: `/points`, `/pose` or `/data`, with the pad's number
   * behind it from the second pad on; of messages from a recording, the topic they had there.
   */
  install_string (object_class, PROP_TOPIC, "topic", "Topic",
      "Topic of the messages (unset: /points, /pose or /data, numbered from the second pad on)");
  /**
   * GstMcapPad:pose-topic:
   *
   * Topic of the estimated poses that clouds carry; other roles have theirs below it. Unset: the
   * cloud's topic and `/pose`. Empty: the poses of this pad are not recorded.
   */
  install_string (object_class, PROP_POSE_TOPIC, "pose-topic", "Pose Topic",
      "Topic of the poses on clouds (unset: the cloud's and /pose; empty: they are not recorded)");
  /**
   * GstMcapPad:odometry-topic:
   *
   * Topic of the estimates as nav_msgs/Odometry, whose twist is that between two of them. Unset:
   * of clouds the cloud's topic and `/odom`, of a pose_%u none. Empty: they are not recorded so.
   */
  install_string (object_class, PROP_ODOMETRY_TOPIC, "odometry-topic", "Odometry Topic",
      "Topic of the estimates as Odometry, with their velocity (unset: of clouds the cloud's and "
      "/odom, of a pose_%u none; empty: they are not recorded so)");
  /**
   * GstMcapPad:path-topic:
   *
   * Topic of a nav_msgs/Path of all estimates on clouds in a file, written at its end with the log
   * time of the first of them. Unset: none.
   */
  install_string (object_class, PROP_PATH_TOPIC, "path-topic", "Path Topic",
      "Topic of the path of a file's estimates on clouds (unset: it is not recorded)");
  install_string (object_class, PROP_FRAME_ID, "frame-id", "Frame ID",
      "Frame of the clouds, and child frame of poses that name none (unset: the caps', or lidar)");
  install_string (object_class, PROP_PARENT_FRAME_ID, "parent-frame-id", "Parent Frame ID",
      "Parent frame of poses that name none (unset: map, or odom for odometry)");
}

static void
gst_mcap_pad_init (GstMcapPad *self)
{
  gst_mcap_pad_reset (self);
}

GstPad *
gst_mcap_pad_new (GstPadTemplate *templ, GstMcapPadKind kind, const gchar *name, guint index)
{
  GstMcapPad *self = g_object_new (
      GST_TYPE_MCAP_PAD, "name", name, "direction", GST_PAD_SINK, "template", templ, NULL);

  self->kind = kind;
  self->index = index;
  return GST_PAD (self);
}

void
gst_mcap_pad_reset (GstMcapPad *self)
{
  gst_point_cloud_info_init (&self->info);
  gst_clear_caps (&self->caps);
  self->is_attachment = self->is_metadata = FALSE;
  gst_segment_init (&self->segment, GST_FORMAT_TIME);
  self->last_time = 0;
  self->clock = (GstMcapClock){.has_offset = FALSE};
  g_clear_pointer (&self->map, gst_mcap_digest_unref);
  g_clear_pointer (&self->mount, gst_point_cloud_pose_free);
  g_clear_pointer (&self->mount_parent, g_free);
  self->has_last_pose = FALSE;
  self->eos = FALSE;
  self->warned = FALSE;
  self->generation = 0;
}

/* Caps of this plugin have what their records need; others are as they are. */
static gboolean
is_complete (const GstStructure *caps)
{
  if (gst_structure_has_name (caps, MCAP_MESSAGE_CAPS))
    return gst_structure_has_field_typed (caps, MCAP_CAPS_MESSAGE_ENCODING, G_TYPE_STRING) &&
           gst_structure_has_field (caps, MCAP_CAPS_SCHEMA_NAME) ==
               gst_structure_has_field (caps, MCAP_CAPS_SCHEMA_ENCODING);
  if (gst_structure_has_name (caps, MCAP_ATTACHMENT_CAPS) ||
      gst_structure_has_name (caps, MCAP_METADATA_CAPS))
    return gst_structure_has_field_typed (caps, MCAP_CAPS_NAME, G_TYPE_STRING);
  return TRUE;
}

gboolean
gst_mcap_pad_set_caps (GstMcapPad *self, GstCaps *caps, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const gboolean is_data = self->kind == GST_MCAP_PAD_DATA;
  GstPointCloudInfo info;

  gst_point_cloud_info_init (&info);
  if (self->kind == GST_MCAP_PAD_CLOUD) {
    if (!gst_point_cloud_info_from_caps (&info, caps, error))
      return FALSE;
  } else if (!is_complete (structure)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "Caps lack a name, or the encoding of messages or of their schema");
    return FALSE;
  }
  self->info = info;
  self->is_attachment = is_data && gst_structure_has_name (structure, MCAP_ATTACHMENT_CAPS);
  self->is_metadata = is_data && gst_structure_has_name (structure, MCAP_METADATA_CAPS);
  gst_caps_replace (&self->caps, caps);
  self->generation = 0;
  return TRUE;
}

void
gst_mcap_pad_set_mount (GstMcapPad *self, const GstStructure *structure)
{
  const gchar *parent = gst_structure_get_string (structure, "parent-frame");
  const GValue *pose = gst_structure_get_value (structure, "pose");

  g_clear_pointer (&self->mount, gst_point_cloud_pose_free);
  g_free (self->mount_parent);
  self->mount_parent = g_strdup (parent ? parent : "base_link");
  if (pose && G_VALUE_HOLDS (pose, GST_TYPE_POINT_CLOUD_POSE))
    self->mount = g_value_dup_boxed (pose);
  self->have_mount = FALSE;
}
