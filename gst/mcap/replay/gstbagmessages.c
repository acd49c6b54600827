/* SPDX-License-Identifier: MIT */
#include "gstbagmessages.h"

#include <string.h>

#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/messages/gstrosmessages.h"
#include "gst/mcap/ros/cdr.h"

GstPoseRole
bag_channel_get_role (const BagChannel *channel, GstPoseRole role)
{
  const gchar *nick = g_hash_table_lookup (channel->metadata, MCAP_META_ROLE);
  g_autoptr (GEnumClass) klass = g_type_class_ref (GST_TYPE_POSE_ROLE);
  const GEnumValue *value = nick ? g_enum_get_value_by_nick (klass, nick) : NULL;
  if (value)
    return (GstPoseRole)value->value;
  return bag_channel_get_kind (channel) == BAG_KIND_ODOMETRY ? GST_POSE_ROLE_ODOMETRY : role;
}

static void
set_metadata (GstStructure *caps, GHashTable *metadata, GstBagNames *names)
{
  GHashTableIter iter;
  gpointer key, value;
  GQuark quark;
  if (g_hash_table_size (metadata) == 0)
    return;
  g_autoptr (GstStructure) map = gst_structure_new_empty ("metadata");
  g_hash_table_iter_init (&iter, metadata);
  while (g_hash_table_iter_next (&iter, &key, &value))
    if (gst_bag_names_take (names, key, &quark) && quark)
      gst_structure_id_set (map, quark, G_TYPE_STRING, value, NULL);
  gst_structure_set (caps, MCAP_CAPS_CHANNEL_METADATA, GST_TYPE_STRUCTURE, map, NULL);
}

/* Caps that say all that a channel does, so that its messages can be recorded as they stood. */
static GstCaps *
get_channel_caps (const gchar *name, const BagChannel *channel, GstBagNames *names)
{
  GstCaps *caps = gst_caps_new_simple (name, MCAP_CAPS_TOPIC, G_TYPE_STRING, channel->topic,
      MCAP_CAPS_MESSAGE_ENCODING, G_TYPE_STRING, channel->message_encoding, NULL);
  GstStructure *structure = gst_caps_get_structure (caps, 0);
  if (channel->schema_name) {
    gsize size;
    const guint8 *data = g_bytes_get_data (channel->schema_data, &size);
    g_autoptr (GstBuffer) text = size > 0 ? gst_buffer_new_memdup (data, size) : gst_buffer_new ();
    gst_structure_set (structure, MCAP_CAPS_SCHEMA_NAME, G_TYPE_STRING, channel->schema_name,
        MCAP_CAPS_SCHEMA_ENCODING, G_TYPE_STRING, channel->schema_encoding, MCAP_CAPS_SCHEMA_DATA,
        GST_TYPE_BUFFER, text, NULL);
  }
  set_metadata (structure, channel->metadata, names);
  return caps;
}

GstCaps *
bag_channel_get_message_caps (const BagChannel *channel, GstBagNames *names)
{
  return get_channel_caps (MCAP_MESSAGE_CAPS, channel, names);
}

GstCaps *
bag_channel_get_pose_caps (const BagChannel *channel, GstBagNames *names)
{
  return get_channel_caps (GST_POSE_CAPS_NAME, channel, names);
}

/* Clouds */

/* Ours has some hundred bytes and no list in a list; parsing is recursive. */
#define MAX_CAPS_LENGTH 4096
#define MAX_CAPS_BRACKETS 16

/* The caps that the recorded stream had; NULL where the channel does not say them, or not in a
 * form that a stream can have. */
static GstCaps *
parse_recorded_caps (const BagChannel *channel, GstBagNames *names)
{
  const gchar *text = g_hash_table_lookup (channel->metadata, MCAP_META_CAPS);
  GstPointCloudInfo info;
  guint n = 1, n_brackets = 0;

  if (!text || strlen (text) > MAX_CAPS_LENGTH)
    return NULL;
  /* A name stands before each equals sign. */
  for (const gchar *p = text; *p; p++) {
    n += *p == '=';
    n_brackets += strchr ("<{[", *p) != NULL;
  }
  if (n_brackets > MAX_CAPS_BRACKETS || !gst_bag_names_take_some (names, n))
    return NULL;
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  if (!caps || !gst_caps_is_fixed (caps) || !gst_point_cloud_info_from_caps (&info, caps, NULL))
    return NULL;
  return g_steal_pointer (&caps);
}

/* The recorded caps have a format and a framerate, which a message does not have. They are used
 * where the message has the layout that they describe. */
static gboolean
is_as_recorded (const GstPointCloudInfo *info, const GstCaps *caps)
{
  GstPointCloudInfo recorded;
  GstPointCloudInfo expected = *info;
  if (!gst_point_cloud_info_from_caps (&recorded, caps, NULL))
    return FALSE;
  expected.format = recorded.format;
  expected.fps_n = recorded.fps_n;
  expected.fps_d = recorded.fps_d;
  /* mcapsink writes its default frame for a stream without one. */
  if (recorded.frame_id == 0)
    expected.frame_id = 0;
  return gst_point_cloud_info_is_equal (&expected, &recorded);
}

void
bag_cloud_caps_clear (BagCloudCaps *self)
{
  gst_clear_caps (&self->caps);
  gst_clear_caps (&self->recorded);
  self->channel = NULL;
}

static gboolean
update_caps (BagCloudCaps *self, const BagChannel *channel, const GstPointCloudInfo *info,
    GstBagNames *names, GError **error)
{
  GstPointCloudInfo held;

  if (self->caps && self->channel == channel && gst_point_cloud_info_is_equal (&self->info, info))
    return TRUE;
  if (self->channel != channel) {
    gst_clear_caps (&self->recorded);
    self->recorded = parse_recorded_caps (channel, names);
  }
  gst_clear_caps (&self->caps);
  self->channel = channel;
  self->info = *info;
  g_autoptr (GstCaps) caps = self->recorded && is_as_recorded (info, self->recorded)
                                 ? gst_caps_ref (self->recorded)
                                 : gst_point_cloud_info_to_caps (info);
  /* Unknown types, and names with commas, do not survive the conversion to caps. */
  if (!gst_point_cloud_info_from_caps (&held, caps, error))
    return FALSE;
  self->caps = g_steal_pointer (&caps);
  return TRUE;
}

gboolean
bag_message_get_cloud_caps (
    const BagMessage *message, GstBagNames *names, BagCloudCaps *caps, GError **error)
{
  RosPointCloud2 cloud;
  if (!ros_read_point_cloud2 (&cloud, message->data, message->size, names, error))
    return FALSE;
  const gboolean done = update_caps (caps, message->channel, &cloud.info, names, error);
  ros_point_cloud2_clear (&cloud);
  return done;
}

static GstBuffer *
copy_points (const RosPointCloud2 *cloud)
{
  const gsize row = (gsize)cloud->width * cloud->info.point_step;
  const gsize rows = cloud->width > 0 ? cloud->height : 0;
  GstMapInfo map;

  GstBuffer *buffer = gst_buffer_new_allocate (NULL, row * rows, NULL);
  if (row * rows > 0 && gst_buffer_map (buffer, &map, GST_MAP_WRITE)) {
    for (gsize i = 0; i < rows; i++)
      memcpy (map.data + i * row, cloud->data + i * cloud->row_step, row);
    gst_buffer_unmap (buffer, &map);
  }
  return buffer;
}

GstBuffer *
bag_message_to_cloud (
    const BagMessage *message, GstBagNames *names, BagCloudCaps *caps, GError **error)
{
  RosPointCloud2 cloud;
  GstBuffer *buffer = NULL;
  if (!ros_read_point_cloud2 (&cloud, message->data, message->size, names, error))
    return NULL;
  if (update_caps (caps, message->channel, &cloud.info, names, error)) {
    buffer = copy_points (&cloud);
    if (cloud.is_dense)
      GST_BUFFER_FLAG_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE);
  }
  ros_point_cloud2_clear (&cloud);
  return buffer;
}

/* Poses */

static gboolean
read_pose_stamped (RosPose *pose, const BagMessage *message, BagKind kind, GError **error)
{
  CdrReader reader;
  memset (pose, 0, sizeof *pose);
  cdr_reader_init (&reader, message->data, message->size);
  const gint64 seconds = cdr_read_i32 (&reader);
  pose->stamp = seconds * (gint64)GST_SECOND + cdr_read_u32 (&reader);
  pose->parent_frame = cdr_read_string (&reader);
  if (kind == BAG_KIND_ODOMETRY)
    pose->child_frame = cdr_read_string (&reader);
  for (guint i = 0; i < 3; i++)
    pose->position[i] = cdr_read_f64 (&reader);
  for (guint i = 0; i < 4; i++)
    pose->orientation[i] = cdr_read_f64 (&reader);
  for (guint i = 0; i < 36 && kind == BAG_KIND_ODOMETRY; i++)
    pose->covariance[i] = cdr_read_f64 (&reader);
  if (!cdr_reader_failed (&reader))
    return TRUE;
  ros_pose_clear (pose);
  g_set_error (error, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_DAMAGED,
      "A %s message is damaged or no little-endian CDR", message->channel->schema_name);
  return FALSE;
}

/* RosPose each. */
static GArray *
read_poses (const BagMessage *message, BagKind kind, GError **error)
{
  RosPose pose;
  if (kind == BAG_KIND_TF)
    return ros_read_tf (message->data, message->size, error);
  if (kind == BAG_KIND_POSE_WITH_COVARIANCE
          ? !ros_read_pose (&pose, message->data, message->size, error)
          : !read_pose_stamped (&pose, message, kind, error))
    return NULL;
  GArray *poses = g_array_new (FALSE, FALSE, sizeof pose);
  g_array_set_clear_func (poses, (GDestroyNotify)ros_pose_clear);
  g_array_append_val (poses, pose);
  return poses;
}

/* A covariance of zeros is an unknown one. */
static gboolean
has_covariance (const RosPose *pose)
{
  for (guint i = 0; i < 36; i++)
    if (pose->covariance[i] != 0)
      return TRUE;
  return FALSE;
}

/* The meta's time is left to the caller. */
static gboolean
set_pose (GstPoseMeta *meta, const RosPose *pose, GstBagNames *names, GError **error)
{
  meta->has_pose = TRUE;
  memcpy (meta->position, pose->position, sizeof meta->position);
  memcpy (meta->orientation, pose->orientation, sizeof meta->orientation);
  meta->has_covariance = has_covariance (pose);
  memcpy (meta->covariance, pose->covariance, sizeof meta->covariance);
  if (!gst_bag_names_take (names, pose->parent_frame, &meta->parent_frame) ||
      (pose->child_frame && !gst_bag_names_take (names, pose->child_frame, &meta->child_frame)))
    return ros_set_too_many_names (error);
  return TRUE;
}

gboolean
bag_message_add_poses (const BagMessage *message, BagKind kind, GstPoseRole role, gint64 shift,
    GstClockTime time, GstBagNames *names, GstBuffer *buffer, GError **error)
{
  g_autoptr (GArray) poses = read_poses (message, kind, error);
  for (guint i = 0; poses && i < poses->len; i++) {
    const RosPose *pose = &g_array_index (poses, RosPose, i);
    GstPoseMeta *meta = gst_buffer_add_pose_meta (buffer, role, NULL, NULL);
    if (!set_pose (meta, pose, names, error))
      return FALSE;
    /* A stamp of 0 is none. */
    meta->timestamp =
        pose->stamp > 0 && pose->stamp + shift >= 0 ? (GstClockTime)(pose->stamp + shift) : time;
    meta->sequence = message->sequence;
  }
  return poses != NULL;
}

static GstPoseMeta *
get_pose (GstBuffer *buffer, GstPoseRole role)
{
  GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, role);
  return meta ? meta : gst_buffer_add_pose_meta (buffer, role, NULL, NULL);
}

static gboolean
complete_by_diagnostics (const BagMessage *message, GstBagNames *names, GstBuffer *buffer,
    guint *diagnosed, GError **error)
{
  GstPoseMeta known = {.timestamp = GST_CLOCK_TIME_NONE};
  gint64 stamp;
  GError *failure = NULL;
  if (!ros_read_diagnostics (&known, &stamp, message->data, message->size, names, &failure)) {
    if (failure)
      g_propagate_error (error, failure);
    return failure == NULL;
  }
  GstPoseMeta *meta = get_pose (buffer, known.role);
  ros_read_diagnostics (meta, &stamp, message->data, message->size, names, NULL);
  if (!GST_CLOCK_TIME_IS_VALID (meta->timestamp) && stamp >= 0)
    meta->timestamp = (GstClockTime)stamp;
  *diagnosed |= 1u << known.role;
  return TRUE;
}

gboolean
bag_message_complete_pose (const BagMessage *message, BagKind kind, GstBagNames *names,
    GstBuffer *buffer, guint *diagnosed, GError **error)
{
  if (kind == BAG_KIND_DIAGNOSTICS)
    return complete_by_diagnostics (message, names, buffer, diagnosed, error);
  /* A transform repeats the pose, without its role. */
  if (kind == BAG_KIND_TF)
    return TRUE;

  g_autoptr (GArray) poses = read_poses (message, kind, error);
  if (!poses)
    return FALSE;
  const GstPoseRole role = bag_channel_get_role (message->channel, GST_POSE_ROLE_ESTIMATE);
  GstPoseMeta *meta = get_pose (buffer, role);
  const GstPoseMeta before = *meta;
  const RosPose *pose = &g_array_index (poses, RosPose, 0);
  if (!set_pose (meta, pose, names, error))
    return FALSE;
  meta->timestamp = pose->stamp >= 0 ? (GstClockTime)pose->stamp : GST_CLOCK_TIME_NONE;
  if (*diagnosed & 1u << role) {
    meta->has_pose = before.has_pose;
    meta->has_covariance = before.has_covariance;
    meta->parent_frame = before.parent_frame;
    meta->child_frame = before.child_frame;
  }
  return TRUE;
}
