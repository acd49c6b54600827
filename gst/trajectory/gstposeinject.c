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
 * With `match=time` the pose is interpolated at the scan's PTS plus #GstPoseInject:ts-offset;
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

#include <gst/pointcloud/pointcloud.h>

#include "gst/common/gstrenamed.h"
#include "gstposenoise.h"
#include "gsttrajectorymatch.h"

GST_DEBUG_CATEGORY_STATIC (gst_pose_inject_debug);
#define GST_CAT_DEFAULT gst_pose_inject_debug

enum {
  PROP_0,
  PROP_LOCATION,
  PROP_MATCH,
  PROP_TIME_ORIGIN,
  PROP_TS_OFFSET,
  PROP_MAX_POSE_GAP,
  PROP_ROLE,
  PROP_COUNT,
  PROP_TRANSLATION_NOISE,
  PROP_RELATIVE_TRANSLATION_NOISE,
  PROP_ROTATION_NOISE,
  PROP_SEED,
  PROP_PARENT_FRAME,
  PROP_CHILD_FRAME,
  PROP_STATS,
  N_PROPERTIES
};

/* What properties say, as the streaming thread takes it at the start. */
typedef struct {
  gchar *location;
  gchar *parent_frame;
  gchar *child_frame;
  GstTrajectoryMatch match;
  GstTrajectoryTimeOrigin origin;
  gint64 ts_offset;
  guint64 max_pose_gap;
  GstPoseRole role;
  gint64 count;
  gdouble translation_noise;
  gdouble relative_translation_noise;
  gdouble rotation_noise;
  guint seed;
} Settings;

struct _GstPoseInject {
  GstPointCloudFilter parent;

  /* under the object lock */
  Settings settings;
  guint64 n_scans;
  guint64 n_posed;
  guint64 n_missed;
  GstClockTime missed; /* PTS of the last scan that got none */

  /* streaming thread */
  GstTrajectoryMatcher matcher;
  GstPoseNoise noise;
  GstPoseRole role;
  guint64 count;
  guint seed;
  GQuark parent_frame;
  GQuark child_frame;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE (GstPoseInject, gst_pose_inject, GST_TYPE_POINT_CLOUD_FILTER)
GST_ELEMENT_REGISTER_DEFINE (poseinject, "poseinject", GST_RANK_NONE, GST_TYPE_POSE_INJECT)

static void
post_error (GstPoseInject *self, const GError *error)
{
  gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR, error->domain, error->code,
      g_strdup (error->message), NULL, __FILE__, GST_FUNCTION, __LINE__);
}

static void
gst_pose_inject_reset (GstPointCloudFilter *filter)
{
  GstPoseInject *self = GST_POSE_INJECT (filter);
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
  g_autofree gchar *location = NULL;
  g_autoptr (GError) error = NULL;

  GST_OBJECT_LOCK (self);
  const Settings *settings = &self->settings;
  location = g_strdup (settings->location);
  self->matcher.match = settings->match;
  self->matcher.origin = settings->origin;
  self->matcher.offset = settings->ts_offset;
  self->matcher.max_gap = (gint64)MIN (settings->max_pose_gap, (guint64)G_MAXINT64);
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

  if (!location) {
    GST_ELEMENT_ERROR (
        self, RESOURCE, NOT_FOUND, ("No trajectory file: set the property \"location\"."), (NULL));
    return FALSE;
  }
  if (!gst_trajectory_matcher_open (&self->matcher, location, &error)) {
    post_error (self, error);
    return FALSE;
  }
  GST_INFO_OBJECT (self, "%" G_GSIZE_FORMAT " poses of \"%s\"",
      ndt_trajectory_get_n_poses (self->matcher.trajectory), location);
  return GST_BASE_TRANSFORM_CLASS (gst_pose_inject_parent_class)->start (transform);
}

static gboolean
gst_pose_inject_stop (GstBaseTransform *transform)
{
  GstPoseInject *self = GST_POSE_INJECT (transform);
  gst_trajectory_matcher_close (&self->matcher);
  return TRUE;
}

/* Of the file; empty where it has none. */
static gchar *
dup_times (const NdtTrajectory *trajectory)
{
  const gsize n = trajectory ? ndt_trajectory_get_n_poses (trajectory) : 0;

  if (n == 0 || !ndt_trajectory_has_times (trajectory))
    return g_strdup ("");
  return g_strdup_printf (", which has %.3f to %.3f s",
      (gdouble)ndt_trajectory_get_time (trajectory, 0) / GST_SECOND,
      (gdouble)ndt_trajectory_get_time (trajectory, n - 1) / GST_SECOND);
}

static void
warn_if_nothing_matched (GstPoseInject *self)
{
  g_autofree gchar *times = dup_times (self->matcher.trajectory);
  guint64 n_scans, n_posed, n_missed;
  GstClockTime missed;
  GST_OBJECT_LOCK (self);
  missed = self->missed;
  n_scans = self->n_scans;
  n_posed = self->n_posed;
  n_missed = self->n_missed;
  GST_OBJECT_UNLOCK (self);
  if (n_posed == 0 && n_missed > 0)
    GST_ELEMENT_WARNING (self, STREAM, FAILED,
        ("None of %" G_GUINT64_FORMAT " scans got a pose: their times are not in the file%s; the "
         "last scan was at %.3f s. Check \"time-origin\" and \"ts-offset\", or match by index.",
            n_scans, times, (gdouble)missed / GST_SECOND),
        (NULL));
}

static gboolean
gst_pose_inject_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstPoseInject *self = GST_POSE_INJECT (transform);
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    warn_if_nothing_matched (self);
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

/* A pose is added to the buffer and none of its memory is written to: scans that others hold are
 * not copied. */
static GstFlowReturn
gst_pose_inject_prepare_output_buffer (
    GstBaseTransform *transform, GstBuffer *input, GstBuffer **output)
{
  *output = gst_buffer_is_writable (input) ? input : gst_buffer_copy (input);
  return GST_FLOW_OK;
}

/* For the same reason upstream may fill what downstream offers. */
static gboolean
gst_pose_inject_propose_allocation (GstBaseTransform *transform, GstQuery *decided, GstQuery *query)
{
  return gst_pad_peer_query (GST_BASE_TRANSFORM_SRC_PAD (transform), query);
}

/* The pose is of the instant that it was looked up for, and says so. */
static void
add_pose (GstPoseInject *self, GstBuffer *buffer, guint64 index, const NdtPose *pose)
{
  const GstPointCloudInfo *info =
      gst_point_cloud_filter_get_in_info (GST_POINT_CLOUD_FILTER (self));
  gst_buffer_foreach_meta (buffer, remove_role, GINT_TO_POINTER (self->role));
  GstPoseMeta *meta =
      gst_buffer_add_pose_meta (buffer, self->role, pose->position, pose->orientation);
  meta->parent_frame = self->parent_frame;
  meta->child_frame = self->child_frame ? self->child_frame : info->frame_id;
  meta->sequence = index;
  meta->timestamp = GST_BUFFER_PTS (buffer);
}

static GstFlowReturn
gst_pose_inject_transform_ip (GstBaseTransform *transform, GstBuffer *buffer)
{
  GstPoseInject *self = GST_POSE_INJECT (transform);
  gboolean found = FALSE, wanted;
  guint64 index;
  NdtPose pose;

  GST_OBJECT_LOCK (self);
  index = self->n_scans++;
  GST_OBJECT_UNLOCK (self);

  wanted = index < self->count;
  if (wanted)
    found =
        gst_trajectory_matcher_find (&self->matcher, index, buffer, GST_BUFFER_PTS (buffer), &pose);
  if (found) {
    gst_pose_noise_apply (&self->noise, &pose);
    add_pose (self, buffer, index, &pose);
  } else if (wanted) {
    GST_DEBUG_OBJECT (self, "no pose for scan %" G_GUINT64_FORMAT " at %" GST_TIME_FORMAT, index,
        GST_TIME_ARGS (GST_BUFFER_PTS (buffer)));
  }
  GST_OBJECT_LOCK (self);
  self->n_posed += found;
  self->n_missed += wanted && !found;
  if (wanted && !found)
    self->missed = GST_BUFFER_PTS (buffer);
  GST_OBJECT_UNLOCK (self);
  return GST_FLOW_OK;
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
  case PROP_TS_OFFSET:
    settings->ts_offset = g_value_get_int64 (value);
    break;
  case PROP_MAX_POSE_GAP:
    settings->max_pose_gap = g_value_get_uint64 (value);
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
  case PROP_TS_OFFSET:
    g_value_set_int64 (value, settings->ts_offset);
    break;
  case PROP_MAX_POSE_GAP:
    g_value_set_uint64 (value, settings->max_pose_gap);
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
  case PROP_STATS:
    g_value_take_boxed (value,
        gst_structure_new ("application/x-poseinject-stats", "scans", G_TYPE_UINT64, self->n_scans,
            "posed", G_TYPE_UINT64, self->n_posed, "missed", G_TYPE_UINT64, self->n_missed, "cut",
            G_TYPE_UINT64, gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)), NULL));
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
  g_free (self->settings.location);
  g_free (self->settings.parent_frame);
  g_free (self->settings.child_frame);
  G_OBJECT_CLASS (gst_pose_inject_parent_class)->finalize (object);
}

static void
gst_pose_inject_init (GstPoseInject *self)
{
  self->settings.role = GST_POSE_ROLE_PRIOR;
  self->settings.count = -1;
  self->settings.max_pose_gap = 2 * GST_SECOND;
  gst_base_transform_set_in_place (GST_BASE_TRANSFORM (self), TRUE);
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
      g_param_spec_double ("translation-noise", "Translation Noise",
          "Standard deviation along each axis in m: of a pose, of an increment for odometry", 0,
          1e6, 0, flags));
  /**
   * GstPoseInject:relative-translation-noise:
   *
   * Standard deviation along each axis as a fraction of the length of each increment, with role
   * odometry; comes on top of #GstPoseInject:translation-noise. Other roles have no increments.
   */
  g_object_class_install_property (object_class, PROP_RELATIVE_TRANSLATION_NOISE,
      g_param_spec_double ("relative-translation-noise", "Relative Translation Noise",
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
      g_param_spec_double ("rotation-noise", "Rotation Noise",
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
      g_param_spec_enum ("time-origin", "Time Origin", "What the file's times count from",
          GST_TYPE_TRAJECTORY_TIME_ORIGIN, GST_TRAJECTORY_TIME_ORIGIN_STREAM, flags));
  /**
   * GstPoseInject:ts-offset:
   *
   * The file's clock minus that of the scans.
   */
  g_object_class_install_property (object_class, PROP_TS_OFFSET,
      g_param_spec_int64 ("ts-offset", "Timestamp Offset",
          "Nanoseconds to add to a scan's time before it is looked up in the file",
          -G_GINT64_CONSTANT (4000000000000000000), G_GINT64_CONSTANT (4000000000000000000), 0,
          flags));
  g_object_class_install_property (object_class, PROP_MAX_POSE_GAP,
      g_param_spec_uint64 ("max-pose-gap", "Maximum Pose Gap",
          "Nanoseconds between two poses of the file beyond which none is interpolated between "
          "them "
          "(0 = any)",
          0, G_MAXUINT64, 2 * GST_SECOND, flags));
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
      g_param_spec_string ("parent-frame", "Parent Frame",
          "Frame that the poses are in; NULL: \"odom\" for odometry, \"map\" otherwise", NULL,
          flags));
  g_object_class_install_property (object_class, PROP_CHILD_FRAME,
      g_param_spec_string ("child-frame", "Child Frame",
          "Frame that the poses are of; NULL: the frame-id of the caps", NULL, flags));
}

static const GstRenamedProperty renamed[] = {
    {"time-offset", G_TYPE_INT64, "is called “ts-offset” since 0.2"},
    {"max-gap", G_TYPE_UINT64, "is called “max-pose-gap” since 0.2"},
    {"times-location", G_TYPE_STRING, "is one of rawpointcloudparse since 0.2"},
};

static void
gst_pose_inject_class_init (GstPoseInjectClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstPointCloudFilterClass *filter_class = GST_POINT_CLOUD_FILTER_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_pose_inject_debug, "poseinject", 0, "poses from a file");
  object_class->set_property = gst_pose_inject_set_property;
  object_class->get_property = gst_pose_inject_get_property;
  object_class->finalize = gst_pose_inject_finalize;
  transform_class->start = gst_pose_inject_start;
  transform_class->stop = gst_pose_inject_stop;
  transform_class->sink_event = gst_pose_inject_sink_event;
  transform_class->prepare_output_buffer = gst_pose_inject_prepare_output_buffer;
  transform_class->propose_allocation = gst_pose_inject_propose_allocation;
  transform_class->transform_ip = gst_pose_inject_transform_ip;
  filter_class->reset = gst_pose_inject_reset;

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
  gst_element_class_set_static_metadata (element_class, "Pose injector", "Filter/Effect/PointCloud",
      "Attaches poses of a trajectory file to scans", "The gst-ndt developers");
  gst_type_mark_as_plugin_api (GST_TYPE_TRAJECTORY_MATCH, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_TRAJECTORY_TIME_ORIGIN, 0);
  gst_renamed_properties_install (object_class, N_PROPERTIES, renamed, G_N_ELEMENTS (renamed));
}
