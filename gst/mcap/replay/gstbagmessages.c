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
set_metadata (GstStructure *caps, GHashTable *metadata)
{
  GHashTableIter iter;
  gpointer key, value;
  if (g_hash_table_size (metadata) == 0)
    return;
  g_autoptr (GstStructure) map = gst_structure_new_empty ("metadata");
  g_hash_table_iter_init (&iter, metadata);
  while (g_hash_table_iter_next (&iter, &key, &value))
    gst_structure_set (map, key, G_TYPE_STRING, value, NULL);
  gst_structure_set (caps, MCAP_CAPS_CHANNEL_METADATA, GST_TYPE_STRUCTURE, map, NULL);
}

GstCaps *
bag_channel_get_message_caps (const BagChannel *channel)
{
  GstCaps *caps = gst_caps_new_simple (MCAP_MESSAGE_CAPS, MCAP_CAPS_TOPIC, G_TYPE_STRING,
      channel->topic, MCAP_CAPS_MESSAGE_ENCODING, G_TYPE_STRING, channel->message_encoding, NULL);
  GstStructure *structure = gst_caps_get_structure (caps, 0);
  if (channel->schema_name) {
    gsize size;
    const guint8 *data = g_bytes_get_data (channel->schema_data, &size);
    g_autoptr (GstBuffer) text = size > 0 ? gst_buffer_new_memdup (data, size) : gst_buffer_new ();
    gst_structure_set (structure, MCAP_CAPS_SCHEMA_NAME, G_TYPE_STRING, channel->schema_name,
        MCAP_CAPS_SCHEMA_ENCODING, G_TYPE_STRING, channel->schema_encoding, MCAP_CAPS_SCHEMA_DATA,
        GST_TYPE_BUFFER, text, NULL);
  }
  set_metadata (structure, channel->metadata);
  return caps;
}

GstCaps *
bag_channel_get_pose_caps (const BagChannel *channel)
{
  return gst_caps_new_simple (GST_POSE_CAPS_NAME, MCAP_CAPS_TOPIC, G_TYPE_STRING, channel->topic,
      MCAP_CAPS_SCHEMA_NAME, G_TYPE_STRING, channel->schema_name, NULL);
}

/* Clouds */

/* The caps that the recorded stream had, where the message's points are as they say. They know what
 * a message does not: the framerate. */
static GstCaps *
get_recorded_caps (const BagChannel *channel, const GstPointCloudInfo *info)
{
  const gchar *text = g_hash_table_lookup (channel->metadata, MCAP_META_CAPS);
  g_autoptr (GstCaps) caps = text ? gst_caps_from_string (text) : NULL;
  GstPointCloudInfo recorded;

  if (!caps || !gst_caps_is_fixed (caps) || !gst_point_cloud_info_from_caps (&recorded, caps, NULL))
    return NULL;
  GstPointCloudInfo expected = *info;
  expected.format = recorded.format;
  expected.fps_n = recorded.fps_n;
  expected.fps_d = recorded.fps_d;
  /* A stream that names no frame gets one when it is recorded. */
  if (recorded.frame_id == 0)
    expected.frame_id = 0;
  return gst_point_cloud_info_is_equal (&expected, &recorded) ? g_steal_pointer (&caps) : NULL;
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
bag_message_to_cloud (const BagMessage *message, GstCaps **caps, GError **error)
{
  RosPointCloud2 cloud;
  GstPointCloudInfo held;
  if (!ros_read_point_cloud2 (&cloud, message->data, message->size, error))
    return NULL;
  *caps = get_recorded_caps (message->channel, &cloud.info);
  if (!*caps)
    *caps = gst_point_cloud_info_to_caps (&cloud.info);
  /* Types that there are not and names with commas come back otherwise, or not at all. */
  if (!gst_point_cloud_info_from_caps (&held, *caps, error)) {
    gst_clear_caps (caps);
    ros_point_cloud2_clear (&cloud);
    return NULL;
  }
  GstBuffer *buffer = copy_points (&cloud);
  if (cloud.is_dense)
    GST_BUFFER_FLAG_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE);
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

static GQuark
get_frame (const gchar *name)
{
  return name && *name ? g_quark_from_string (name) : 0;
}

/* Zeros stand for no covariance. */
static gboolean
has_covariance (const RosPose *pose)
{
  for (guint i = 0; i < 36; i++)
    if (pose->covariance[i] != 0)
      return TRUE;
  return FALSE;
}

static void
set_pose (GstPoseMeta *meta, const RosPose *pose)
{
  meta->has_pose = TRUE;
  memcpy (meta->position, pose->position, sizeof meta->position);
  memcpy (meta->orientation, pose->orientation, sizeof meta->orientation);
  meta->parent_frame = get_frame (pose->parent_frame);
  if (pose->child_frame)
    meta->child_frame = get_frame (pose->child_frame);
  meta->timestamp = pose->stamp >= 0 ? (GstClockTime)pose->stamp : GST_CLOCK_TIME_NONE;
  meta->has_covariance = has_covariance (pose);
  memcpy (meta->covariance, pose->covariance, sizeof meta->covariance);
}

gboolean
bag_message_add_poses (
    const BagMessage *message, BagKind kind, GstPoseRole role, GstBuffer *buffer, GError **error)
{
  g_autoptr (GArray) poses = read_poses (message, kind, error);
  for (guint i = 0; poses && i < poses->len; i++) {
    GstPoseMeta *meta = gst_buffer_add_pose_meta (buffer, role, NULL, NULL);
    set_pose (meta, &g_array_index (poses, RosPose, i));
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
complete_by_diagnostics (
    const BagMessage *message, GstBuffer *buffer, guint *diagnosed, GError **error)
{
  GstPoseMeta known = {.timestamp = GST_CLOCK_TIME_NONE};
  gint64 stamp;
  GError *failure = NULL;
  if (!ros_read_diagnostics (&known, &stamp, message->data, message->size, &failure)) {
    if (failure)
      g_propagate_error (error, failure);
    return failure == NULL;
  }
  GstPoseMeta *meta = get_pose (buffer, known.role);
  ros_read_diagnostics (meta, &stamp, message->data, message->size, NULL);
  if (!GST_CLOCK_TIME_IS_VALID (meta->timestamp) && stamp >= 0)
    meta->timestamp = (GstClockTime)stamp;
  *diagnosed |= 1u << known.role;
  return TRUE;
}

gboolean
bag_message_complete_pose (
    const BagMessage *message, BagKind kind, GstBuffer *buffer, guint *diagnosed, GError **error)
{
  if (kind == BAG_KIND_DIAGNOSTICS)
    return complete_by_diagnostics (message, buffer, diagnosed, error);
  /* A transform says what the pose said, of which role it does not. */
  if (kind == BAG_KIND_TF)
    return TRUE;

  g_autoptr (GArray) poses = read_poses (message, kind, error);
  if (!poses)
    return FALSE;
  const GstPoseRole role = bag_channel_get_role (message->channel, GST_POSE_ROLE_ESTIMATE);
  GstPoseMeta *meta = get_pose (buffer, role);
  const GstPoseMeta before = *meta;
  set_pose (meta, &g_array_index (poses, RosPose, 0));
  if (*diagnosed & 1u << role) {
    meta->has_pose = before.has_pose;
    meta->has_covariance = before.has_covariance;
    meta->parent_frame = before.parent_frame;
    meta->child_frame = before.child_frame;
  }
  return TRUE;
}
