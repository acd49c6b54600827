/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstbagsettings.h"

#include "gst/mcap/container/mcap-format.h"

enum { TOPICS, TIMESTAMPS, POSE_ROLE, ATTACH_POSES, RAW, N_SETTINGS };

#define GST_TYPE_BAG_TIMESTAMPS (gst_bag_timestamps_get_type ())

static GType
gst_bag_timestamps_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
      {GST_BAG_TIMESTAMPS_HEADER, "That of the message's header; its log time where it has none",
          "header"},
      {GST_BAG_TIMESTAMPS_LOG, "When it was recorded", "log"},
      {0, NULL, NULL},
  };
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstBagTimestamps", values));
  return (GType)type;
}

static GstStaticPadTemplate cloud_template = GST_STATIC_PAD_TEMPLATE (
    "cloud_%u", GST_PAD_SRC, GST_PAD_SOMETIMES, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE));
static GstStaticPadTemplate pose_template = GST_STATIC_PAD_TEMPLATE (
    "pose_%u", GST_PAD_SRC, GST_PAD_SOMETIMES, GST_STATIC_CAPS (GST_POSE_CAPS_NAME));
static GstStaticPadTemplate message_template = GST_STATIC_PAD_TEMPLATE (
    "message_%u", GST_PAD_SRC, GST_PAD_SOMETIMES, GST_STATIC_CAPS (MCAP_MESSAGE_CAPS));

static GstStaticPadTemplate attachments_template = GST_STATIC_PAD_TEMPLATE (GST_BAG_ATTACHMENTS_PAD,
    GST_PAD_SRC, GST_PAD_SOMETIMES, GST_STATIC_CAPS (MCAP_ATTACHMENT_CAPS));
static GstStaticPadTemplate metadata_template = GST_STATIC_PAD_TEMPLATE (
    GST_BAG_METADATA_PAD, GST_PAD_SRC, GST_PAD_SOMETIMES, GST_STATIC_CAPS (MCAP_METADATA_CAPS));

void
gst_bag_settings_init (GstBagSettings *self)
{
  *self = (GstBagSettings){
      .pose_role = GST_POSE_ROLE_ESTIMATE, .attach_poses = TRUE, .to = G_MAXUINT64};
}

void
gst_bag_settings_clear (GstBagSettings *self)
{
  g_clear_pointer (&self->topics, g_free);
}

guint
gst_bag_settings_install (GObjectClass *object_class, guint first)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;

  g_object_class_install_property (object_class, first + TOPICS,
      g_param_spec_string ("topics", "Topics",
          "Topics that get a pad: names or patterns with * and ?, with commas between them; "
          "none: all",
          NULL, flags));
  g_object_class_install_property (object_class, first + TIMESTAMPS,
      g_param_spec_enum ("timestamps", "Time stamps",
          "Where the time stamps of clouds and poses are from; those of other messages are log "
          "times",
          GST_TYPE_BAG_TIMESTAMPS, GST_BAG_TIMESTAMPS_HEADER, flags));
  g_object_class_install_property (object_class, first + POSE_ROLE,
      g_param_spec_enum ("pose-role", "Role of poses",
          "Role of poses whose channel says nothing of it and that are no odometry",
          GST_TYPE_POSE_ROLE, GST_POSE_ROLE_ESTIMATE, flags));
  g_object_class_install_property (object_class, first + ATTACH_POSES,
      g_param_spec_boolean ("attach-poses", "Attach poses",
          "Attach poses to the clouds that they were recorded from, in place of a pad of their own",
          TRUE, flags));
  g_object_class_install_property (object_class, first + RAW,
      g_param_spec_boolean ("raw", "Raw",
          "Pass all messages as they stand, clouds and poses as well, and attachments and metadata "
          "records, to be recorded anew",
          FALSE, flags));
  return first + N_SETTINGS;
}

gboolean
gst_bag_settings_set (GstBagSettings *self, guint id, const GValue *value)
{
  switch (id) {
  case TOPICS:
    g_free (self->topics);
    self->topics = g_value_dup_string (value);
    return TRUE;
  case TIMESTAMPS:
    self->timestamps = (GstBagTimestamps)g_value_get_enum (value);
    return TRUE;
  case POSE_ROLE:
    self->pose_role = (GstPoseRole)g_value_get_enum (value);
    return TRUE;
  case ATTACH_POSES:
    self->attach_poses = g_value_get_boolean (value);
    return TRUE;
  case RAW:
    self->raw = g_value_get_boolean (value);
    return TRUE;
  default:
    return FALSE;
  }
}

gboolean
gst_bag_settings_get (const GstBagSettings *self, guint id, GValue *value)
{
  switch (id) {
  case TOPICS:
    g_value_set_string (value, self->topics);
    return TRUE;
  case TIMESTAMPS:
    g_value_set_enum (value, self->timestamps);
    return TRUE;
  case POSE_ROLE:
    g_value_set_enum (value, self->pose_role);
    return TRUE;
  case ATTACH_POSES:
    g_value_set_boolean (value, self->attach_poses);
    return TRUE;
  case RAW:
    g_value_set_boolean (value, self->raw);
    return TRUE;
  default:
    return FALSE;
  }
}

void
gst_bag_settings_add_templates (GstElementClass *element_class)
{
  gst_element_class_add_static_pad_template (element_class, &cloud_template);
  gst_element_class_add_static_pad_template (element_class, &pose_template);
  gst_element_class_add_static_pad_template (element_class, &message_template);
  gst_element_class_add_static_pad_template (element_class, &attachments_template);
  gst_element_class_add_static_pad_template (element_class, &metadata_template);
  gst_type_mark_as_plugin_api (GST_TYPE_BAG_TIMESTAMPS, 0);
}
