/* SPDX-License-Identifier: MIT */
#include "gstmcapposes.h"

#include <string.h>

#include "gst/mcap/messages/gstrosmessages.h"
#include "gst/mcap/messages/gstrosnavigation.h"
#include "gstmcapchannels.h"

/* Poses of a path: of more every other one is left out, so that memory does not grow without end.
 */
#define MAX_PATH 100000

/* Between two poses that a velocity is of. */
#define MAX_TWIST_GAP ((gint64)GST_SECOND)

/* Last part of the topics of roles other than the estimate. */
static const gchar *const role_topics[GST_MCAP_N_ROLES] = {
    [GST_POSE_ROLE_ESTIMATE] = "estimate",
    [GST_POSE_ROLE_PRIOR] = "prior",
    [GST_POSE_ROLE_ODOMETRY] = "odometry",
    [GST_POSE_ROLE_GROUND_TRUTH] = "ground_truth",
};

static const gchar *
role_nick (GstPoseRole role)
{
  g_autoptr (GEnumClass) roles = g_type_class_ref (GST_TYPE_POSE_ROLE);

  return g_enum_get_value (roles, role)->value_nick;
}

/* The estimates of a topic in a file. */
typedef struct {
  gchar *topic;
  gchar *frame;
  guint64 log_time; /* of the first */
  GArray *poses;    /* RosPathPose */
  guint step;       /* every so many are taken */
  guint n_skipped;
} Path;

static void
free_path (gpointer data)
{
  Path *path = data;

  g_free (path->topic);
  g_free (path->frame);
  g_array_unref (path->poses);
  g_free (path);
}

void
gst_mcap_poses_init (GstMcapPoses *self)
{
  memset (self, 0, sizeof *self);
  self->scratch = g_byte_array_new ();
  self->paths = g_ptr_array_new_with_free_func (free_path);
  self->parents = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  gst_mcap_odometry_init (&self->odometry);
}

void
gst_mcap_poses_clear (GstMcapPoses *self)
{
  g_byte_array_unref (self->scratch);
  g_ptr_array_unref (self->paths);
  g_hash_table_unref (self->parents);
  g_free (self->conflict);
  gst_mcap_odometry_clear (&self->odometry);
}

void
gst_mcap_poses_reset (GstMcapPoses *self)
{
  gst_mcap_odometry_clear (&self->odometry);
  gst_mcap_odometry_init (&self->odometry);
  self->n_without_odometry = 0;
  g_hash_table_remove_all (self->parents);
  g_clear_pointer (&self->conflict, g_free);
}

void
gst_mcap_poses_open (GstMcapPoses *self, McapWriter *writer, const GstMcapSettings *settings)
{
  self->writer = writer;
  self->settings = settings;
  g_ptr_array_set_size (self->paths, 0);
}

/* One pose, with what it lacks filled in. */
typedef struct {
  const GstPoseMeta *meta;
  const gchar *parent;
  const gchar *child;
  GstPointCloudPose pose;
  gint64 stamp; /* its own instant */
  guint64 log_time;
} Pose;

static void
fill_pose (Pose *pose, const GstMcapPad *pad, GstBuffer *buffer, const GstPoseMeta *meta,
    guint64 log_time, gint64 stamp)
{
  *pose = (Pose){.meta = meta, .stamp = stamp, .log_time = log_time};
  pose->parent = g_quark_to_string (meta->parent_frame);
  pose->child = g_quark_to_string (meta->child_frame);
  if (pose->parent == NULL)
    pose->parent = pad->pose_parent_frame;
  if (pose->parent == NULL)
    pose->parent = meta->role == GST_POSE_ROLE_ODOMETRY ? "odom" : "map";
  if (pose->child == NULL)
    pose->child = pad->cloud_frame;
  memcpy (pose->pose.position, meta->position, sizeof pose->pose.position);
  memcpy (pose->pose.orientation, meta->orientation, sizeof pose->pose.orientation);
  if (GST_CLOCK_TIME_IS_VALID (meta->timestamp) && GST_BUFFER_PTS_IS_VALID (buffer))
    pose->stamp = gst_mcap_time_add (
        stamp, gst_mcap_time_subtract (gst_mcap_time_from_clock (meta->timestamp),
                   gst_mcap_time_from_clock (GST_BUFFER_PTS (buffer))));
}

static gboolean
is_set (const gchar *topic)
{
  return topic && *topic;
}

static gboolean
write_scratch (
    GstMcapPoses *self, GstMcapPad *pad, GstMcapChannel which, const Pose *pose, GError **error)
{
  return gst_mcap_channel_write (
      self->writer, pad, which, self->scratch, pose->log_time, pose->stamp, error);
}

static gboolean
add_diagnostics (GstMcapPoses *self, GstMcapPad *pad, const Pose *pose, GError **error)
{
  const gchar *topic = self->settings->diagnostics_topic;

  if (!is_set (topic))
    return TRUE;
  g_byte_array_set_size (self->scratch, 0);
  ros_write_diagnostics (self->scratch, pose->stamp, pad->poses_topic, pose->meta);
  return gst_mcap_channel_prepare (self->writer, pad, GST_MCAP_CHANNEL_DIAGNOSTICS, topic,
             ROS_TYPE_DIAGNOSTICS, NULL, error) &&
         write_scratch (self, pad, GST_MCAP_CHANNEL_DIAGNOSTICS, pose, error);
}

static gboolean
add_pose (GstMcapPoses *self, GstMcapPad *pad, const Pose *pose, GError **error)
{
  const GstPoseRole role = pose->meta->role;
  const GstMcapChannel which = GST_MCAP_CHANNEL_POSES + role;
  g_autofree gchar *topic = role == GST_POSE_ROLE_ESTIMATE
                                ? g_strdup (pad->poses_topic)
                                : g_strconcat (pad->poses_topic, "/", role_topics[role], NULL);

  g_byte_array_set_size (self->scratch, 0);
  ros_write_pose (self->scratch, pose->stamp, pose->parent, pose->meta);
  return gst_mcap_channel_prepare (
             self->writer, pad, which, topic, ROS_TYPE_POSE, role_nick (role), error) &&
         write_scratch (self, pad, which, pose, error);
}

/* Transforms */

/* Frames whose parents are looked at. */
#define MAX_FRAMES 1000

static void
note_parent (GstMcapPoses *self, const gchar *parent, const gchar *child)
{
  const gchar *known = g_hash_table_lookup (self->parents, child);

  if (known == NULL && g_hash_table_size (self->parents) < MAX_FRAMES)
    g_hash_table_insert (self->parents, g_strdup (child), g_strdup (parent));
  else if (known && !g_str_equal (known, parent) && self->conflict == NULL)
    self->conflict = g_strdup_printf ("%s has two parents, %s and %s", child, known, parent);
}

static gboolean
write_transform (GstMcapPoses *self, GstMcapPad *pad, const Pose *pose, const gchar *child,
    const GstPointCloudPose *transform, GError **error)
{
  note_parent (self, pose->parent, child);
  g_byte_array_set_size (self->scratch, 0);
  ros_write_transform (self->scratch, pose->stamp, pose->parent, child, transform);
  return gst_mcap_channel_prepare (self->writer, pad, GST_MCAP_CHANNEL_TF, self->settings->tf_topic,
             ROS_TYPE_TF, NULL, error) &&
         write_scratch (self, pad, GST_MCAP_CHANNEL_TF, pose, error);
}

/* REP 105: the body has one parent, odom, and what localization finds is where odom is in the map.
 * An estimate without odometry of its instant gives no transform. */
static gboolean
add_map_to_odom (GstMcapPoses *self, GstMcapPad *pad, const Pose *pose, GError **error)
{
  GstPointCloudPose transform;

  if (g_strcmp0 (self->odometry.child, pose->child) != 0 ||
      !gst_mcap_odometry_get (&self->odometry, pose->stamp, &transform)) {
    self->n_without_odometry++;
    return TRUE;
  }
  gst_mcap_pose_invert (&transform, &transform);
  gst_mcap_pose_compose (&pose->pose, &transform, &transform);
  return write_transform (self, pad, pose, self->odometry.parent, &transform, error);
}

static gboolean
add_transform (GstMcapPoses *self, GstMcapPad *pad, const Pose *pose, GError **error)
{
  if (!is_set (self->settings->tf_topic))
    return TRUE;
  if (self->settings->tf_mode != GST_MCAP_TF_MODE_MAP_ODOM)
    return pose->meta->role != self->settings->tf_role ||
           write_transform (self, pad, pose, pose->child, &pose->pose, error);
  if (pose->meta->role == self->settings->tf_role)
    return add_map_to_odom (self, pad, pose, error);
  return pose->meta->role != GST_POSE_ROLE_ODOMETRY ||
         write_transform (self, pad, pose, pose->child, &pose->pose, error);
}

/* Before the others of a buffer, which may need it. */
static void
note_odometry (
    GstMcapPoses *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time, gint64 stamp)
{
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ODOMETRY);
  Pose pose;

  if (self->settings->tf_mode != GST_MCAP_TF_MODE_MAP_ODOM || meta == NULL || !meta->has_pose)
    return;
  fill_pose (&pose, pad, buffer, meta, log_time, stamp);
  gst_mcap_odometry_add (&self->odometry, pose.stamp, pose.parent, pose.child, &pose.pose);
}

gboolean
gst_mcap_poses_add_mount (
    GstMcapPoses *self, GstMcapPad *pad, guint64 log_time, gint64 stamp, GError **error)
{
  g_autofree gchar *topic = NULL;

  if (pad->mount == NULL || pad->have_mount || !is_set (self->settings->tf_topic))
    return TRUE;
  pad->have_mount = TRUE;
  topic = g_strconcat (self->settings->tf_topic, "_static", NULL);
  g_byte_array_set_size (self->scratch, 0);
  ros_write_transform (self->scratch, stamp, pad->mount_parent, pad->cloud_frame, pad->mount);
  note_parent (self, pad->mount_parent, pad->cloud_frame);
  return gst_mcap_channel_prepare (
             self->writer, pad, GST_MCAP_CHANNEL_TF_STATIC, topic, ROS_TYPE_TF, NULL, error) &&
         gst_mcap_channel_write (
             self->writer, pad, GST_MCAP_CHANNEL_TF_STATIC, self->scratch, log_time, stamp, error);
}

/* Odometry and paths */

static gboolean
is_found (const GstPoseMeta *meta)
{
  return meta->status == GST_POSE_STATUS_NONE || meta->status == GST_POSE_STATUS_TRACKING ||
         meta->status == GST_POSE_STATUS_DEGRADED;
}

/* The velocity is that between two estimates that were found, not predicted. */
static gboolean
add_odometry (GstMcapPoses *self, GstMcapPad *pad, const Pose *pose, GError **error)
{
  const gint64 step = gst_mcap_time_subtract (pose->stamp, pad->last_stamp);
  const gboolean found = is_found (pose->meta);
  gboolean has_twist = FALSE;
  gdouble twist[6];

  if (found && pad->has_last_pose && step > 0 && step <= MAX_TWIST_GAP) {
    gst_mcap_pose_get_twist (&pad->last_pose, &pose->pose, (gdouble)step / GST_SECOND, twist);
    has_twist = TRUE;
  }
  pad->has_last_pose = found;
  pad->last_pose = pose->pose;
  pad->last_stamp = pose->stamp;
  if (!is_set (pad->odometry_name))
    return TRUE;
  g_byte_array_set_size (self->scratch, 0);
  ros_write_odometry (
      self->scratch, pose->stamp, pose->parent, pose->child, pose->meta, has_twist ? twist : NULL);
  return gst_mcap_channel_prepare (self->writer, pad, GST_MCAP_CHANNEL_ODOMETRY, pad->odometry_name,
             ROS_TYPE_ODOMETRY, role_nick (pose->meta->role), error) &&
         write_scratch (self, pad, GST_MCAP_CHANNEL_ODOMETRY, pose, error);
}

static Path *
get_path (GstMcapPoses *self, const gchar *topic, const Pose *pose)
{
  Path *path;

  for (guint i = 0; i < self->paths->len; i++) {
    path = g_ptr_array_index (self->paths, i);
    if (g_str_equal (path->topic, topic))
      return path;
  }
  path = g_new0 (Path, 1);
  path->topic = g_strdup (topic);
  path->frame = g_strdup (pose->parent);
  path->log_time = pose->log_time;
  path->poses = g_array_new (FALSE, FALSE, sizeof (RosPathPose));
  path->step = 1;
  g_ptr_array_add (self->paths, path);
  return path;
}

static void
note_path (GstMcapPoses *self, GstMcapPad *pad, const Pose *pose)
{
  const RosPathPose entry = {pose->stamp, pose->pose};
  Path *path;

  if (!is_set (pad->path_name) || !is_found (pose->meta))
    return;
  path = get_path (self, pad->path_name, pose);
  if (++path->n_skipped < path->step)
    return;
  path->n_skipped = 0;
  g_array_append_val (path->poses, entry);
  if (path->poses->len < MAX_PATH)
    return;
  for (guint i = 0; i < path->poses->len / 2; i++)
    g_array_index (path->poses, RosPathPose, i) = g_array_index (path->poses, RosPathPose, 2 * i);
  g_array_set_size (path->poses, path->poses->len / 2);
  path->step *= 2;
}

/* At the log time of the first pose, so that a viewer has the path from there on; in a chunk of its
 * own, which what comes before need not be read with. */
gboolean
gst_mcap_poses_add_paths (GstMcapPoses *self, GError **error)
{
  for (guint i = 0; i < self->paths->len; i++) {
    const Path *path = g_ptr_array_index (self->paths, i);
    const RosPathPose *poses = (const RosPathPose *)path->poses->data;
    guint16 channel;

    if (path->poses->len == 0)
      continue;
    g_byte_array_set_size (self->scratch, 0);
    ros_write_path (self->scratch, poses[0].stamp, path->frame, poses, path->poses->len);
    const McapPart part = {self->scratch->data, self->scratch->len};
    if (!mcap_writer_flush (self->writer, error) ||
        !gst_mcap_channel_add (self->writer, path->topic, ROS_TYPE_PATH, NULL, &channel, error) ||
        !mcap_writer_add_message (
            self->writer, channel, path->log_time, MAX (poses[0].stamp, 0), &part, 1, error))
      return FALSE;
  }
  return TRUE;
}

/* All of a buffer */

static gboolean
add_all (GstMcapPoses *self, GstMcapPad *pad, const Pose *pose, GError **error)
{
  if (!add_diagnostics (self, pad, pose, error))
    return FALSE;
  if (!pose->meta->has_pose)
    return TRUE;
  if (!add_transform (self, pad, pose, error) || !add_pose (self, pad, pose, error))
    return FALSE;
  if (pose->meta->role != GST_POSE_ROLE_ESTIMATE)
    return TRUE;
  note_path (self, pad, pose);
  return add_odometry (self, pad, pose, error);
}

typedef gboolean (*AddFunc) (GstMcapPoses *self, GstMcapPad *pad, const Pose *pose, GError **error);

static gboolean
foreach_pose (GstMcapPoses *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time,
    gint64 stamp, AddFunc add, GError **error)
{
  const GstPoseMeta *meta;
  gpointer state = NULL;
  Pose pose;

  note_odometry (self, pad, buffer, log_time, stamp);
  while ((meta = (const GstPoseMeta *)gst_buffer_iterate_meta_filtered (
              buffer, &state, GST_POSE_META_API_TYPE))) {
    if ((guint)meta->role >= GST_MCAP_N_ROLES)
      continue;
    fill_pose (&pose, pad, buffer, meta, log_time, stamp);
    if (!add (self, pad, &pose, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
gst_mcap_poses_add (GstMcapPoses *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time,
    gint64 stamp, GError **error)
{
  return !is_set (pad->poses_topic) ||
         foreach_pose (self, pad, buffer, log_time, stamp, add_all, error);
}

static gboolean
note_transform (GstMcapPoses *self, GstMcapPad *pad, const Pose *pose, GError **error)
{
  note_parent (self, pose->parent, pose->child);
  return TRUE;
}

gboolean
gst_mcap_poses_add_transforms (GstMcapPoses *self, GstMcapPad *pad, GstBuffer *buffer,
    gboolean is_tf, guint64 log_time, gint64 stamp, GError **error)
{
  if (is_tf)
    return foreach_pose (self, pad, buffer, log_time, stamp, note_transform, error);
  return self->settings->tf_mode != GST_MCAP_TF_MODE_MAP_ODOM ||
         foreach_pose (self, pad, buffer, log_time, stamp, add_transform, error);
}
