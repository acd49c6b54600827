/* SPDX-License-Identifier: MIT */
/* The first way through a recording: where its frames are. */
#include <string.h>

#include "ndt-scans.h"

/* Poses that one source tells. */
typedef struct {
  gchar *name; /* topic; of those attached to clouds the role */
  gboolean is_tf;
  gboolean is_static;
  GArray *poses; /* of Pose */
  GArray *fixes; /* of ScansFix; NULL: these are poses */
} Source;

typedef struct {
  gint64 time;
  GQuark parent;
  GQuark child; /* 0: the clouds' frame */
  NdtPose pose;
} Pose;

typedef struct {
  GMutex lock; /* pads are pushed by one thread; this does not rely on it */
  const ScansOptions *options;
  GPtrArray *sources; /* of Source, in the order of their first poses */
  Source *attached[GST_POSE_ROLE_GROUND_TRUTH + 1];
  GQuark cloud_frame;
} Poses;

/* The roles of poses that are attached to clouds, the better ones first. */
static const GstPoseRole order[] = {GST_POSE_ROLE_ESTIMATE, GST_POSE_ROLE_GROUND_TRUTH,
    GST_POSE_ROLE_PRIOR, GST_POSE_ROLE_ODOMETRY};
static const gchar *const role_names[] = {
    [GST_POSE_ROLE_ESTIMATE] = "estimates that were recorded with the clouds",
    [GST_POSE_ROLE_PRIOR] = "priors that were recorded with the clouds",
    [GST_POSE_ROLE_ODOMETRY] = "odometry that was recorded with the clouds, which drifts",
    [GST_POSE_ROLE_GROUND_TRUTH] = "true poses that were recorded with the clouds",
};

static void
free_source (gpointer data)
{
  Source *source = data;
  g_free (source->name);
  g_array_unref (source->poses);
  g_clear_pointer (&source->fixes, g_array_unref);
  g_free (source);
}

static Source *
new_source (const gchar *name)
{
  Source *source = g_new0 (Source, 1);
  source->name = g_strdup (name);
  source->is_static = g_str_has_suffix (name, "tf_static");
  source->is_tf = source->is_static || g_str_has_suffix (name, "/tf") || g_str_equal (name, "tf");
  source->poses = g_array_new (FALSE, FALSE, sizeof (Pose));
  return source;
}

static void
add (Source *source, const GstPoseMeta *meta, GstBuffer *buffer)
{
  Pose pose = {.parent = meta->parent_frame, .child = meta->child_frame};
  const GstClockTime time = gst_pose_meta_get_time (meta, buffer);
  memcpy (pose.pose.position, meta->position, sizeof pose.pose.position);
  memcpy (pose.pose.orientation, meta->orientation, sizeof pose.pose.orientation);
  if (!meta->has_pose || !ndt_pose_normalize (&pose.pose) ||
      (!GST_CLOCK_TIME_IS_VALID (time) && !source->is_static))
    return;
  pose.time = (gint64)time;
  g_array_append_val (source->poses, pose);
}

static Source *
get_source (Poses *self, const gchar *topic)
{
  for (guint i = 0; i < self->sources->len; i++) {
    Source *other = g_ptr_array_index (self->sources, i);
    if (g_str_equal (other->name, topic))
      return other;
  }
  Source *source = new_source (topic);
  g_ptr_array_add (self->sources, source);
  return source;
}

static void
take_fix (const gchar *topic, const ScansFix *fix, gpointer user_data)
{
  Poses *self = user_data;
  g_mutex_lock (&self->lock);
  Source *source = get_source (self, topic);
  if (!source->fixes)
    source->fixes = g_array_new (FALSE, FALSE, sizeof (ScansFix));
  g_array_append_vals (source->fixes, fix, 1);
  g_mutex_unlock (&self->lock);
}

static void
take_pose (const gchar *topic, GstBuffer *buffer, gpointer user_data)
{
  Poses *self = user_data;
  gpointer state = NULL;
  GstMeta *meta;
  g_mutex_lock (&self->lock);
  Source *source = get_source (self, topic);
  while ((meta = gst_buffer_iterate_meta_filtered (buffer, &state, GST_POSE_META_API_TYPE)))
    add (source, (GstPoseMeta *)meta, buffer);
  g_mutex_unlock (&self->lock);
}

static gboolean
take_cloud (GstElement *sink, GstCaps *caps, GstBuffer *buffer, double done, gpointer user_data)
{
  Poses *self = user_data;
  gpointer state = NULL;
  GstMeta *meta;
  GstPointCloudInfo info;
  g_mutex_lock (&self->lock);
  if (!self->cloud_frame && gst_point_cloud_info_from_caps (&info, caps, NULL))
    self->cloud_frame = info.frame_id;
  while ((meta = gst_buffer_iterate_meta_filtered (buffer, &state, GST_POSE_META_API_TYPE))) {
    const GstPoseMeta *pose = (const GstPoseMeta *)meta;
    if (pose->role == GST_POSE_ROLE_ESTIMATE && pose->status != GST_POSE_STATUS_TRACKING)
      continue;
    if (!self->attached[pose->role])
      self->attached[pose->role] = new_source (role_names[pose->role]);
    add (self->attached[pose->role], pose, buffer);
  }
  g_mutex_unlock (&self->lock);
  return TRUE;
}

/* NULL with an error: there are none. */
static Source *
choose (const Poses *self, GError **error)
{
  const gchar *topic = self->options->pose_topic;
  Source *transforms = NULL, *receiver = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (order) && !topic; i++)
    if (self->attached[order[i]] && self->attached[order[i]]->poses->len > 0)
      return self->attached[order[i]];
  for (guint i = 0; i < self->sources->len; i++) {
    Source *source = g_ptr_array_index (self->sources, i);
    if (topic ? g_str_equal (source->name, topic) : !source->is_tf && !source->fixes)
      return source;
    if (source->fixes && !receiver)
      receiver = source;
    if (source->is_tf && !source->is_static)
      transforms = source;
  }
  if (!topic && (receiver || transforms))
    return receiver ? receiver : transforms;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE,
      "there are no poses%s%s in it: `ndt-bag info` lists what it has; --trajectory takes them "
      "from "
      "a "
      "file",
      topic ? " of the topic " : "", topic ? topic : "");
  return NULL;
}

static void
fill (ScansFrames *frames, const Source *source, const gchar *cloud_frame)
{
  for (guint i = 0; i < source->poses->len; i++) {
    const Pose *pose = &g_array_index (source->poses, Pose, i);
    const gchar *parent = pose->parent ? g_quark_to_string (pose->parent) : "map";
    const gchar *child = pose->child ? g_quark_to_string (pose->child) : cloud_frame;
    scans_frames_add (frames, parent, child, pose->time, source->is_static, &pose->pose);
  }
}

static ScansFrames *
join (const Poses *self, const Source *chosen, const gchar *cloud_frame, GError **error)
{
  g_autoptr (ScansFrames) frames = scans_frames_new ();
  const Pose *first = (const Pose *)(gpointer)chosen->poses->data;
  const gchar *child =
      chosen->poses->len > 0 && first->child ? g_quark_to_string (first->child) : cloud_frame;
  NdtPose sensor;
  if (self->options->sensor_pose) {
    const gchar *body = chosen->is_tf ? "base_link" : child;
    if (!ndt_pose_parse (self->options->sensor_pose, &sensor, error))
      return NULL;
    if (!g_str_equal (body, cloud_frame))
      scans_frames_add (frames, body, cloud_frame, 0, TRUE, &sensor);
  }
  fill (frames, chosen, cloud_frame);
  for (guint i = 0; i < self->sources->len; i++) {
    const Source *source = g_ptr_array_index (self->sources, i);
    if (source->is_static)
      fill (frames, source, cloud_frame);
  }
  scans_frames_sort (frames);
  if (!scans_frames_find_root (frames, cloud_frame)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE,
        "its poses (%s) are of \"%s\" and its clouds of \"%s\", and no fixed transform says where "
        "that is on it: give it by --sensor-pose",
        chosen->name, child, cloud_frame);
    return NULL;
  }
  return g_steal_pointer (&frames);
}

/* An antenna's place on the vehicle is not taken into account. */
static ScansFrames *
join_fixes (const Poses *self, const Source *chosen, const gchar *cloud_frame, ScansFixes **fixes,
    GError **error)
{
  g_autoptr (ScansFrames) frames = scans_frames_new ();
  *fixes = scans_fixes_new (chosen->fixes, self->options->map_origin, frames, cloud_frame, error);
  scans_frames_sort (frames);
  return *fixes ? g_steal_pointer (&frames) : NULL;
}

ScansFrames *
scans_poses_read (
    const ScansOptions *options, gchar **frame, gchar **what, ScansFixes **fixes, GError **error)
{
  Poses poses = {.options = options};
  const ScansReader reader = {take_cloud, take_pose, options->with_fixes ? take_fix : NULL, &poses};
  ScansFrames *frames = NULL;
  g_mutex_init (&poses.lock);
  poses.sources = g_ptr_array_new_with_free_func (free_source);
  if (scans_run (options, &reader, error)) {
    const Source *chosen = choose (&poses, error);
    *frame = g_strdup (poses.cloud_frame ? g_quark_to_string (poses.cloud_frame) : "lidar");
    if (chosen && chosen->fixes)
      frames = join_fixes (&poses, chosen, *frame, fixes, error);
    else if (chosen)
      frames = join (&poses, chosen, *frame, error);
    if (frames && *fixes)
      *what = g_strdup_printf ("%u positions of %s, about latitude %.7f, longitude %.7f, %.2f m",
          chosen->fixes->len, chosen->name, (*fixes)->origin[0], (*fixes)->origin[1],
          (*fixes)->origin[2]);
    else if (frames)
      *what = g_strdup_printf (
          "%s, of %s in %s", chosen->name, *frame, scans_frames_find_root (frames, *frame));
    else
      g_clear_pointer (frame, g_free);
  }
  for (guint i = 0; i < G_N_ELEMENTS (poses.attached); i++)
    g_clear_pointer (&poses.attached[i], free_source);
  g_ptr_array_unref (poses.sources);
  g_mutex_clear (&poses.lock);
  return frames;
}
