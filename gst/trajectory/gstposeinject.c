/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-poseinject
 * @title: poseinject
 * @short_description: attaches poses of a trajectory file to scans
 *
 * Reads a trajectory in TUM, KITTI or CSV format and gives each scan its pose as a #GstPoseMeta of
 * the role asked for: a prior or odometry for ndtlocalize, or the true pose to compare with. The
 * points are neither touched nor copied. A pose of the same role that a scan has already is
 * replaced.
 *
 * With `match=time` the pose is interpolated at the scan's PTS plus #GstPoseInject:time-offset;
 * there is no extrapolation. The file's times count from where #GstPoseInject:time-origin says.
 * With `match=index` line n is of scan n. A scan for which the file has no pose passes without one
 * and is counted in #GstPoseInject:stats.
 *
 * Noise, the same for the same seed, makes priors and odometry as bad as real ones: on each pose by
 * itself, or with `role=odometry` on the increments from scan to scan, so that it adds up.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 multifilesrc location=kitti/scans/%06d.pcd ! pcddec framerate=5/1 ! \
 *     poseinject location=kitti/poses.txt match=index role=odometry \
 *     relative-translation-noise=0.05 rotation-noise=1 ! \
 *     poseinject location=kitti/poses.txt match=index count=1 ! fakesink
 * ]| Noisy odometry on all scans and the true pose of the first as a prior
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstposeinject.h"

#include <gst/pointcloud/gstpointcloudtimer.h>
#include <gst/pointcloud/pointcloud.h>

#include "gst/common/gstsinkevents.h"
#include "gstposenoise.h"
#include "gsttrajectorymatch.h"

GST_DEBUG_CATEGORY_STATIC (gst_pose_inject_debug);
#define GST_CAT_DEFAULT gst_pose_inject_debug

enum {
  PROP_0,
  PROP_LOCATION,
  PROP_MATCH,
  PROP_TIME_ORIGIN,
  PROP_TIME_OFFSET,
  PROP_MAX_GAP,
  PROP_ROLE,
  PROP_COUNT,
  PROP_TRANSLATION_NOISE,
  PROP_RELATIVE_TRANSLATION_NOISE,
  PROP_ROTATION_NOISE,
  PROP_SEED,
  PROP_PARENT_FRAME,
  PROP_CHILD_FRAME,
  PROP_TIMES_LOCATION,
  PROP_STATS
};

/* What properties say, as the streaming thread takes it at the start. */
typedef struct {
  gchar *location;
  gchar *times_location;
  gchar *parent_frame;
  gchar *child_frame;
  GstTrajectoryMatch match;
  GstTrajectoryTimeOrigin origin;
  gint64 time_offset;
  guint64 max_gap;
  GstPoseRole role;
  gint64 count;
  gdouble translation_noise;
  gdouble relative_translation_noise;
  gdouble rotation_noise;
  guint seed;
} Settings;

struct _GstPoseInject {
  GstBaseTransform parent;

  /* under the object lock */
  Settings settings;
  guint64 n_scans;
  guint64 n_posed;
  guint64 n_missed;

  /* streaming thread */
  GstPointCloudTimer *timer;
  GstTrajectoryMatcher matcher;
  GstPoseNoise noise;
  GstPoseRole role;
  guint64 count;
  guint seed;
  GQuark parent_frame;
  GQuark child_frame;
  GQuark caps_frame;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE (GstPoseInject, gst_pose_inject, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE (poseinject, "poseinject", GST_RANK_NONE, GST_TYPE_POSE_INJECT)

static void
post_error (GstPoseInject *self, const GError *error)
{
  gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR, error->domain, error->code,
      g_strdup (error->message), NULL, __FILE__, GST_FUNCTION, __LINE__);
}

static void
reset_stream (GstPoseInject *self)
{
  gst_point_cloud_timer_reset (self->timer);
  gst_pose_noise_start (&self->noise, self->seed);
  self->matcher.first = GST_CLOCK_TIME_NONE;
  GST_OBJECT_LOCK (self);
  self->n_scans = self->n_posed = self->n_missed = 0;
  GST_OBJECT_UNLOCK (self);
}

static const gchar *
default_parent_frame (GstPoseRole role)
{
  return role == GST_POSE_ROLE_ODOMETRY ? "odom" : "map";
}

static gboolean
gst_pose_inject_start (GstBaseTransform *transform)
{
  GstPoseInject *self = GST_POSE_INJECT (transform);
  g_autofree gchar *location = NULL, *times_location = NULL;
  g_autoptr (GError) error = NULL;

  GST_OBJECT_LOCK (self);
  const Settings *settings = &self->settings;
  location = g_strdup (settings->location);
  times_location = g_strdup (settings->times_location);
  self->matcher.match = settings->match;
  self->matcher.origin = settings->origin;
  self->matcher.offset = settings->time_offset;
  self->matcher.max_gap = (gint64)settings->max_gap;
  self->role = settings->role;
  self->count = settings->count < 0 ? G_MAXUINT64 : (guint64)settings->count;
  self->noise.translation = settings->translation_noise;
  self->noise.relative_translation = settings->relative_translation_noise;
  self->noise.rotation = settings->rotation_noise * G_PI / 180;
  self->noise.on_increments = settings->role == GST_POSE_ROLE_ODOMETRY;
  self->seed = settings->seed;
  self->parent_frame = g_quark_from_string (
      settings->parent_frame ? settings->parent_frame : default_parent_frame (settings->role));
  self->child_frame = g_quark_from_string (settings->child_frame);
  GST_OBJECT_UNLOCK (self);
  self->caps_frame = 0;

  if (!location) {
    GST_ELEMENT_ERROR (
        self, RESOURCE, NOT_FOUND, ("No trajectory file: set the property \"location\"."), (NULL));
    return FALSE;
  }
  if (!gst_trajectory_matcher_open (&self->matcher, location, &error) ||
      !gst_point_cloud_timer_set_times_location (self->timer, times_location, &error)) {
    post_error (self, error);
    return FALSE;
  }
  reset_stream (self);
  return TRUE;
}

static gboolean
gst_pose_inject_stop (GstBaseTransform *transform)
{
  GstPoseInject *self = GST_POSE_INJECT (transform);
  gst_trajectory_matcher_close (&self->matcher);
  return TRUE;
}

static gboolean
gst_pose_inject_set_caps (GstBaseTransform *transform, GstCaps *caps, GstCaps *out_caps)
{
  GstPoseInject *self = GST_POSE_INJECT (transform);
  g_autoptr (GError) error = NULL;
  GstPointCloudInfo info;
  if (!gst_point_cloud_info_from_caps (&info, caps, &error)) {
    post_error (self, error);
    return FALSE;
  }
  gst_point_cloud_timer_set_info (self->timer, &info);
  self->caps_frame = info.frame_id;
  return TRUE;
}

static void
warn_if_nothing_matched (GstPoseInject *self)
{
  guint64 n_scans, n_posed, n_missed;
  GST_OBJECT_LOCK (self);
  n_scans = self->n_scans;
  n_posed = self->n_posed;
  n_missed = self->n_missed;
  GST_OBJECT_UNLOCK (self);
  if (n_posed == 0 && n_missed > 0)
    GST_ELEMENT_WARNING (self, STREAM, FAILED,
        ("None of %" G_GUINT64_FORMAT " scans got a pose: their times are not in the file. Check "
         "\"time-origin\" and \"time-offset\", or match by index.",
            n_scans),
        (NULL));
}

static gboolean
gst_pose_inject_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstPoseInject *self = GST_POSE_INJECT (transform);
  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_SEGMENT:
    event = gst_point_cloud_timer_segment (self->timer, event);
    break;
  case GST_EVENT_FLUSH_STOP:
    reset_stream (self);
    break;
  case GST_EVENT_EOS:
    warn_if_nothing_matched (self);
    break;
  default:
    break;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_pose_inject_parent_class)->sink_event (transform, event);
}

static gboolean
remove_role (GstBuffer *buffer, GstMeta **meta, gpointer role)
{
  if ((*meta)->info->api == GST_POSE_META_API_TYPE &&
      ((GstPoseMeta *)*meta)->role == (GstPoseRole)GPOINTER_TO_INT (role))
    *meta = NULL;
  return TRUE;
}

static GstBuffer *
add_pose (GstPoseInject *self, GstBuffer *buffer, guint64 index, const NdtPose *pose)
{
  buffer = gst_buffer_make_writable (buffer);
  gst_buffer_foreach_meta (buffer, remove_role, GINT_TO_POINTER (self->role));
  GstPoseMeta *meta =
      gst_buffer_add_pose_meta (buffer, self->role, pose->position, pose->orientation);
  meta->parent_frame = self->parent_frame;
  meta->child_frame = self->child_frame ? self->child_frame : self->caps_frame;
  meta->sequence = index;
  return buffer;
}

/* Before the base class takes the buffer: it passes on what it gets. */
static GstFlowReturn
gst_pose_inject_submit_input_buffer (
    GstBaseTransform *transform, gboolean is_discont, GstBuffer *buffer)
{
  GstPoseInject *self = GST_POSE_INJECT (transform);
  gboolean found = FALSE, wanted;
  guint64 index;
  NdtPose pose;

  buffer = gst_point_cloud_timer_stamp (self->timer, buffer);
  GST_OBJECT_LOCK (self);
  index = self->n_scans++;
  GST_OBJECT_UNLOCK (self);

  wanted = index < self->count;
  if (wanted)
    found = gst_trajectory_matcher_find (&self->matcher, index, buffer, &pose);
  if (found) {
    gst_pose_noise_apply (&self->noise, &pose);
    buffer = add_pose (self, buffer, index, &pose);
  }
  GST_OBJECT_LOCK (self);
  self->n_posed += found;
  self->n_missed += wanted && !found;
  GST_OBJECT_UNLOCK (self);
  return GST_BASE_TRANSFORM_CLASS (gst_pose_inject_parent_class)
      ->submit_input_buffer (transform, is_discont, buffer);
}

static void
gst_pose_inject_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstPoseInject *self = GST_POSE_INJECT (object);
  Settings *settings = &self->settings;
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_free (settings->location);
    settings->location = g_value_dup_string (value);
    break;
  case PROP_MATCH:
    settings->match = (GstTrajectoryMatch)g_value_get_enum (value);
    break;
  case PROP_TIME_ORIGIN:
    settings->origin = (GstTrajectoryTimeOrigin)g_value_get_enum (value);
    break;
  case PROP_TIME_OFFSET:
    settings->time_offset = g_value_get_int64 (value);
    break;
  case PROP_MAX_GAP:
    settings->max_gap = g_value_get_uint64 (value);
    break;
  case PROP_ROLE:
    settings->role = (GstPoseRole)g_value_get_enum (value);
    break;
  case PROP_COUNT:
    settings->count = g_value_get_int64 (value);
    break;
  case PROP_TRANSLATION_NOISE:
    settings->translation_noise = g_value_get_double (value);
    break;
  case PROP_RELATIVE_TRANSLATION_NOISE:
    settings->relative_translation_noise = g_value_get_double (value);
    break;
  case PROP_ROTATION_NOISE:
    settings->rotation_noise = g_value_get_double (value);
    break;
  case PROP_SEED:
    settings->seed = g_value_get_uint (value);
    break;
  case PROP_PARENT_FRAME:
    g_free (settings->parent_frame);
    settings->parent_frame = g_value_dup_string (value);
    break;
  case PROP_CHILD_FRAME:
    g_free (settings->child_frame);
    settings->child_frame = g_value_dup_string (value);
    break;
  case PROP_TIMES_LOCATION:
    g_free (settings->times_location);
    settings->times_location = g_value_dup_string (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_pose_inject_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstPoseInject *self = GST_POSE_INJECT (object);
  const Settings *settings = &self->settings;
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_value_set_string (value, settings->location);
    break;
  case PROP_MATCH:
    g_value_set_enum (value, settings->match);
    break;
  case PROP_TIME_ORIGIN:
    g_value_set_enum (value, settings->origin);
    break;
  case PROP_TIME_OFFSET:
    g_value_set_int64 (value, settings->time_offset);
    break;
  case PROP_MAX_GAP:
    g_value_set_uint64 (value, settings->max_gap);
    break;
  case PROP_ROLE:
    g_value_set_enum (value, settings->role);
    break;
  case PROP_COUNT:
    g_value_set_int64 (value, settings->count);
    break;
  case PROP_TRANSLATION_NOISE:
    g_value_set_double (value, settings->translation_noise);
    break;
  case PROP_RELATIVE_TRANSLATION_NOISE:
    g_value_set_double (value, settings->relative_translation_noise);
    break;
  case PROP_ROTATION_NOISE:
    g_value_set_double (value, settings->rotation_noise);
    break;
  case PROP_SEED:
    g_value_set_uint (value, settings->seed);
    break;
  case PROP_PARENT_FRAME:
    g_value_set_string (value, settings->parent_frame);
    break;
  case PROP_CHILD_FRAME:
    g_value_set_string (value, settings->child_frame);
    break;
  case PROP_TIMES_LOCATION:
    g_value_set_string (value, settings->times_location);
    break;
  case PROP_STATS:
    g_value_take_boxed (value,
        gst_structure_new ("application/x-poseinject-stats", "scans", G_TYPE_UINT64, self->n_scans,
            "posed", G_TYPE_UINT64, self->n_posed, "missed", G_TYPE_UINT64, self->n_missed, NULL));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_pose_inject_finalize (GObject *object)
{
  GstPoseInject *self = GST_POSE_INJECT (object);
  gst_trajectory_matcher_close (&self->matcher);
  gst_pose_noise_clear (&self->noise);
  gst_point_cloud_timer_free (self->timer);
  g_free (self->settings.location);
  g_free (self->settings.times_location);
  g_free (self->settings.parent_frame);
  g_free (self->settings.child_frame);
  G_OBJECT_CLASS (gst_pose_inject_parent_class)->finalize (object);
}

static void
gst_pose_inject_init (GstPoseInject *self)
{
  self->settings.role = GST_POSE_ROLE_PRIOR;
  self->settings.count = -1;
  self->timer = gst_point_cloud_timer_new (GST_ELEMENT (self));
  gst_base_transform_set_passthrough (GST_BASE_TRANSFORM (self), TRUE);
  gst_sink_events_tell_flushing (GST_BASE_TRANSFORM_SINK_PAD (self));
}

static void
install_noise_properties (GObjectClass *object_class)
{
  const GParamFlags flags =
      (GParamFlags)(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
  /**
   * GstPoseInject:translation-noise:
   *
   * Standard deviation along each axis in metres: of each pose, or with role odometry of each
   * increment.
   */
  g_object_class_install_property (object_class, PROP_TRANSLATION_NOISE,
      g_param_spec_double ("translation-noise", "Translation noise",
          "Standard deviation along each axis in m: of a pose, of an increment for odometry", 0,
          1e6, 0, flags));
  /**
   * GstPoseInject:relative-translation-noise:
   *
   * Standard deviation along each axis as a fraction of the length of each increment, with role
   * odometry; comes on top of #GstPoseInject:translation-noise. Other roles have no increments.
   */
  g_object_class_install_property (object_class, PROP_RELATIVE_TRANSLATION_NOISE,
      g_param_spec_double ("relative-translation-noise", "Relative translation noise",
          "Standard deviation along each axis as a fraction of an increment's length; odometry "
          "only",
          0, 1e3, 0, flags));
  /**
   * GstPoseInject:rotation-noise:
   *
   * Standard deviation about each axis in degrees: of each pose, or with role odometry of each
   * increment.
   */
  g_object_class_install_property (object_class, PROP_ROTATION_NOISE,
      g_param_spec_double ("rotation-noise", "Rotation noise",
          "Standard deviation about each axis in degrees: of a pose, of an increment for odometry",
          0, 180, 0, flags));
  /**
   * GstPoseInject:seed:
   *
   * The same seed gives the same noise, also after a flush or a restart.
   */
  g_object_class_install_property (object_class, PROP_SEED,
      g_param_spec_uint ("seed", "Seed", "Seed of the noise", 0, G_MAXUINT, 0, flags));
}

static void
install_matching_properties (GObjectClass *object_class)
{
  const GParamFlags flags =
      (GParamFlags)(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
  /**
   * GstPoseInject:location:
   *
   * A trajectory: TUM (8 columns), KITTI (12) or CSV with a line of column names.
   */
  g_object_class_install_property (object_class, PROP_LOCATION,
      g_param_spec_string (
          "location", "Location", "Trajectory file: TUM, KITTI or CSV", NULL, flags));
  g_object_class_install_property (object_class, PROP_MATCH,
      g_param_spec_enum ("match", "Match", "How poses are assigned to scans",
          GST_TYPE_TRAJECTORY_MATCH, GST_TRAJECTORY_MATCH_TIME, flags));
  /**
   * GstPoseInject:time-origin:
   *
   * What the file's times count from. `stream` takes them as PTS, which is right for what
   * trajectorysink wrote of the same stream. `first-scan` lays the file's first time on the first
   * scan, which is right where both begin together, whatever epoch the file has. `reference`
   * compares them with the scans' #GstReferenceTimestampMeta, the sensor's own clock.
   */
  g_object_class_install_property (object_class, PROP_TIME_ORIGIN,
      g_param_spec_enum ("time-origin", "Time origin", "What the file's times count from",
          GST_TYPE_TRAJECTORY_TIME_ORIGIN, GST_TRAJECTORY_TIME_ORIGIN_STREAM, flags));
  /**
   * GstPoseInject:time-offset:
   *
   * Nanoseconds to add to a scan's time before it is looked up: the difference of two clocks, or
   * the scan's period where the file has the times of the scans' ends.
   */
  g_object_class_install_property (object_class, PROP_TIME_OFFSET,
      g_param_spec_int64 ("time-offset", "Time offset",
          "Nanoseconds to add to a scan's time before it is looked up in the file",
          -G_GINT64_CONSTANT (4000000000000000000), G_GINT64_CONSTANT (4000000000000000000), 0,
          flags));
  g_object_class_install_property (object_class, PROP_MAX_GAP,
      g_param_spec_uint64 ("max-gap", "Maximum gap",
          "Longest time in nanoseconds between two poses to interpolate over; 0: any", 0,
          G_MAXINT64, 0, flags));
  g_object_class_install_property (object_class, PROP_ROLE,
      g_param_spec_enum (
          "role", "Role", "Role of the poses", GST_TYPE_POSE_ROLE, GST_POSE_ROLE_PRIOR, flags));
  /**
   * GstPoseInject:count:
   *
   * Only so many scans of the stream, from its first on, get a pose; -1: all.
   */
  g_object_class_install_property (object_class, PROP_COUNT,
      g_param_spec_int64 ("count", "Count",
          "Number of scans, from the first on, that get a pose; -1: all", -1, G_MAXINT64, -1,
          flags));
  g_object_class_install_property (object_class, PROP_PARENT_FRAME,
      g_param_spec_string ("parent-frame", "Parent frame",
          "Frame that the poses are in; NULL: \"odom\" for odometry, \"map\" otherwise", NULL,
          flags));
  g_object_class_install_property (object_class, PROP_CHILD_FRAME,
      g_param_spec_string ("child-frame", "Child frame",
          "Frame that the poses are of; NULL: the frame-id of the caps", NULL, flags));
  g_object_class_install_property (object_class, PROP_TIMES_LOCATION,
      g_param_spec_string ("times-location", "Location of times",
          "File with the time of each scan in seconds, one a line, for buffers without PTS", NULL,
          flags));
}

static void
gst_pose_inject_class_init (GstPoseInjectClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_pose_inject_debug, "poseinject", 0, "poses from a file");
  object_class->set_property = gst_pose_inject_set_property;
  object_class->get_property = gst_pose_inject_get_property;
  object_class->finalize = gst_pose_inject_finalize;
  transform_class->start = gst_pose_inject_start;
  transform_class->stop = gst_pose_inject_stop;
  transform_class->set_caps = gst_pose_inject_set_caps;
  transform_class->sink_event = gst_pose_inject_sink_event;
  transform_class->submit_input_buffer = gst_pose_inject_submit_input_buffer;

  install_matching_properties (object_class);
  install_noise_properties (object_class);
  /**
   * GstPoseInject:stats:
   *
   * Since the start: `scans`, those `posed`, and those `missed` because the file has no pose for
   * them (guint64).
   */
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics", "Numbers of scans, posed and missed",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Pose injector", "Filter/PointCloud",
      "Attaches poses of a trajectory file to scans", "gst-ndt");
  gst_type_mark_as_plugin_api (GST_TYPE_TRAJECTORY_MATCH, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_TRAJECTORY_TIME_ORIGIN, 0);
}
