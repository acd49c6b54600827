/* SPDX-License-Identifier: MIT */
#include <gst/pointcloud/pointcloud.h>
#include <string.h>

#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/messages/gstrosmessages.h"
#include "gst/mcap/bag/bag-kinds.h"
#include "ndt-bag.h"
#include "ndtcore/posefile/ndt-trajectory.h"

/* What is known of an instant. */
typedef struct {
  gint64 stamp;
  gboolean has_pose;
  NdtPose pose;
  gboolean is_diagnosed;
  GstPoseMeta meta; /* of the diagnostics */
} Row;

typedef struct {
  GHashTable *rows; /* stamp to Row */
  const BagChannel *channel;
  const gchar *cloud; /* that the poses were attached to, NULL: none */
} Poses;

static gboolean
is_pose (BagKind kind)
{
  return kind == BAG_KIND_POSE || kind == BAG_KIND_POSE_WITH_COVARIANCE ||
         kind == BAG_KIND_ODOMETRY;
}

static gboolean
is_estimate (const BagChannel *channel)
{
  return g_strcmp0 (g_hash_table_lookup (channel->metadata, MCAP_META_ROLE), "estimate") == 0;
}

static const BagChannel *
choose (BagMerger *recording, const gchar *topic)
{
  const BagChannel *chosen = NULL;

  for (guint i = 0; i < bag_merger_get_n_channels (recording); i++) {
    const BagChannel *channel = bag_merger_get_channel (recording, i);

    if (!is_pose (bag_channel_get_kind (channel)) ||
        (topic && !g_str_equal (topic, channel->topic)))
      continue;
    if (!chosen || (is_estimate (channel) && !is_estimate (chosen)))
      chosen = channel;
  }
  return chosen;
}

static Row *
get_row (Poses *poses, gint64 stamp)
{
  Row *row = g_hash_table_lookup (poses->rows, &stamp);

  if (!row) {
    row = g_new0 (Row, 1);
    row->stamp = stamp;
    g_hash_table_insert (poses->rows, &row->stamp, row);
  }
  return row;
}

static gboolean
take_pose (Poses *poses, const BagMessage *message, GError **error)
{
  RosPose read;

  if (!ros_read_pose (&read, message->data, message->size, error))
    return FALSE;
  Row *row = get_row (poses, read.stamp);
  memcpy (row->pose.position, read.position, sizeof read.position);
  memcpy (row->pose.orientation, read.orientation, sizeof read.orientation);
  row->has_pose = ndt_pose_normalize (&row->pose);
  ros_pose_clear (&read);
  return TRUE;
}

static gboolean
take_diagnostics (Poses *poses, const BagMessage *message, GError **error)
{
  GstPoseMeta meta = {.role = GST_POSE_ROLE_ESTIMATE};
  GError *fault = NULL;
  gint64 stamp;

  if (!ros_read_diagnostics (&meta, &stamp, message->data, message->size, NULL, &fault)) {
    if (!fault)
      return TRUE; /* of something else */
    g_propagate_error (error, fault);
    return FALSE;
  }
  if (meta.role != GST_POSE_ROLE_ESTIMATE)
    return TRUE;
  Row *row = get_row (poses, stamp);
  row->meta = meta;
  row->is_diagnosed = TRUE;
  return TRUE;
}

static gboolean
take (Poses *poses, const BagMessage *message, GError **error)
{
  const BagKind kind = bag_channel_get_kind (message->channel);

  if (g_str_equal (message->channel->topic, poses->channel->topic) && is_pose (kind))
    return take_pose (poses, message, error);
  if (kind == BAG_KIND_DIAGNOSTICS && is_estimate (poses->channel) &&
      g_strcmp0 (bag_channel_get_cloud (message->channel), poses->cloud) == 0)
    return take_diagnostics (poses, message, error);
  return TRUE;
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  const Row *x = *(const Row *const *)a, *y = *(const Row *const *)b;

  return (x->stamp > y->stamp) - (x->stamp < y->stamp);
}

static gchar *
write_rows (const Poses *poses)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new ();
  GEnumClass *statuses = g_type_class_ref (GST_TYPE_POSE_STATUS);
  GString *text = g_string_new (NULL);
  GHashTableIter iter;
  gpointer row;

  g_hash_table_iter_init (&iter, poses->rows);
  while (g_hash_table_iter_next (&iter, NULL, &row))
    g_ptr_array_add (rows, row);
  g_ptr_array_sort (rows, compare);
  ndt_trajectory_write_header (text, NDT_TRAJECTORY_CSV);
  for (guint i = 0; i < rows->len; i++) {
    const Row *at = g_ptr_array_index (rows, i);
    const GEnumValue *status = g_enum_get_value (statuses, at->meta.status);
    const NdtTrajectoryRecord record = {.index = i,
        .time = at->stamp,
        .status = at->is_diagnosed && status ? status->value_nick : "",
        .pose = at->has_pose ? &at->pose : NULL,
        .transformation_probability = at->meta.transformation_probability,
        .nvtl = at->meta.nvtl,
        .matched_ratio = at->meta.matched_ratio,
        .iterations = at->meta.iterations};
    ndt_trajectory_write_line (text, NDT_TRAJECTORY_CSV, &record);
  }
  g_type_class_unref (statuses);
  return g_string_free (text, FALSE);
}

gchar *
ndt_bag_read_poses (BagMerger *recording, const gchar *topic, GError **error)
{
  Poses poses = {.channel = choose (recording, topic)};
  GError *failure = NULL;
  BagMessage message;
  gchar *text;

  if (!poses.channel) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT,
        topic ? "there are no poses of the topic %s" : "there are no poses%s", topic ? topic : "");
    return NULL;
  }
  poses.cloud = bag_channel_get_cloud (poses.channel);
  poses.rows = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, g_free);
  if (!bag_merger_seek (recording, 0, &failure)) {
    g_hash_table_unref (poses.rows);
    g_propagate_error (error, failure);
    return NULL;
  }
  while (!failure && bag_merger_next (recording, &message, &failure))
    take (&poses, &message, &failure);
  text = failure ? NULL : write_rows (&poses);
  g_hash_table_unref (poses.rows);
  if (failure)
    g_propagate_error (error, failure);
  return text;
}
