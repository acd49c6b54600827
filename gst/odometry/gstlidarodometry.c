/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-lidarodometry
 * @title: lidarodometry
 * @short_description: tells where a lidar goes by its scans alone
 *
 * Aligns each scan to a map of those before, which rolls along with the sensor, and attaches the
 * pose to it, with the role `odometry`: in a frame that begins at the first scan and drifts. No map
 * file is needed. The motion during a scan is compensated for the alignment where points have
 * times; the scan that leaves is untouched. ndtlocalize downstream predicts by these poses,
 * trajectorysink writes them.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidartestsrc num-buffers=20 ! lidarodometry ! \
 *     trajectorysink role=odometry location=odometry.txt
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstlidarodometry.h"

#include <math.h>
#include <string.h>

#include "gst/common/gstndtbackend.h"
#include "gst/common/gstndtviews.h"
#include "gst/common/gstpointtimes.h"
#include "ndtcore/odometry/ndt-odometry.h"

GST_DEBUG_CATEGORY_STATIC (gst_lidar_odometry_debug);
#define GST_CAT_DEFAULT gst_lidar_odometry_debug

/* Seconds from a scan's PTS to what its points or its DURATION say. */
#define MAX_OFFSET 3600

enum {
  PROP_0,
  PROP_RESOLUTION,
  PROP_LEAF_SIZE,
  PROP_MIN_RANGE,
  PROP_MAX_RANGE,
  PROP_DESKEW,
  PROP_SENSOR_POSE,
  PROP_ODOMETRY_FRAME,
  PROP_BODY_FRAME,
  PROP_BACKEND,
  PROP_CUDA_DEVICE_ID,
  PROP_MEMORY_BUDGET,
  PROP_DEVICE_PRIORITY,
  PROP_N_THREADS,
  PROP_ACTIVE_BACKEND,
  PROP_STATS,
};

#define N_STATUSES (NDT_ODOMETRY_SKIPPED + 1)

struct _GstLidarOdometry {
  GstPointCloudFilter parent;

  /* under the object lock */
  NdtOdometryParams params;       /* but the sensor's pose */
  gdouble leaf_size;              /* 0: a third of the resolution */
  GstPointCloudPose *sensor_pose; /* NULL: there is no body */
  gchar *odometry_frame;
  gchar *body_frame;
  GstNdtBackend choice;
  NdtBackendConfig config;
  NdtLog log;                  /* of the backend, into the element's category */
  const gchar *active_backend; /* NULL: none is open */
  guint64 counts[N_STATUSES];
  guint64 n_searched;
  guint n_cells;

  /* streaming thread */
  NdtBackend *backend;
  gboolean on_device;
  NdtOdometry *odometry;
  GstPointTimes *times;
  gboolean is_compensated; /* caps say so … */
  gdouble instant;         /* … and at which fraction of its duration the scan is seen from */
  gboolean has_body;
  guint64 n_scans;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE (GstLidarOdometry, gst_lidar_odometry, GST_TYPE_POINT_CLOUD_FILTER)
GST_ELEMENT_REGISTER_DEFINE (lidarodometry, "lidarodometry", GST_RANK_NONE, GST_TYPE_LIDAR_ODOMETRY)

/* ---- Scans ---- */

/* Offsets that no scan has are none. */
static GstClockTime
add_seconds (GstClockTime time, gdouble seconds)
{
  if (!(fabs (seconds) < MAX_OFFSET))
    return time;
  const gint64 offset = (gint64)llround (seconds * GST_SECOND);
  return offset < 0 && (GstClockTime)-offset > time ? 0 : time + (GstClockTime)offset;
}

/* The instant that a scan's pose is of: the scan's end where its motion is compensated here,
 * otherwise that which its points are seen from, or the mean of their times. */
static GstClockTime
get_pose_time (
    GstLidarOdometry *self, GstBuffer *buffer, const NdtPointTimes *times, gboolean compensates)
{
  const GstPointCloudInfo *info = gst_point_cloud_filter_get_in_info (&self->parent);
  const GstClockTime pts = GST_BUFFER_PTS (buffer);
  const GstClockTime period = gst_point_cloud_info_get_duration (info, buffer);
  const gdouble duration =
      GST_CLOCK_TIME_IS_VALID (period) ? (gdouble)period / GST_SECOND : MAX (times->span.last, 0);
  if (self->is_compensated)
    return add_seconds (pts, self->instant * duration);
  if (compensates)
    return add_seconds (pts, duration);
  return add_seconds (pts, times->span.n_points > 0 ? times->span.mean : 0.5 * duration);
}

static GstPoseStatus
get_status (NdtOdometryStatus status)
{
  switch (status) {
  case NDT_ODOMETRY_STARTED:
  case NDT_ODOMETRY_TRACKED:
    return GST_POSE_STATUS_TRACKING;
  case NDT_ODOMETRY_DEGRADED:
    return GST_POSE_STATUS_DEGRADED;
  default:
    return GST_POSE_STATUS_SKIPPED;
  }
}

static void
attach (GstLidarOdometry *self, GstBuffer *buffer, const NdtOdometryResult *result,
    GstClockTime pose_time)
{
  const GstPointCloudInfo *info = gst_point_cloud_filter_get_in_info (&self->parent);
  const NdtRegistration *registration = &result->registration;
  GstPoseMeta *meta;

  while ((meta = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ODOMETRY)))
    gst_buffer_remove_meta (buffer, &meta->meta);
  meta = gst_buffer_add_pose_meta (
      buffer, GST_POSE_ROLE_ODOMETRY, result->pose.position, result->pose.orientation);
  meta->status = get_status (result->status);
  meta->has_covariance = TRUE;
  memcpy (meta->covariance, result->covariance, sizeof meta->covariance);
  meta->timestamp = pose_time;
  meta->sequence = self->n_scans;
  meta->transformation_probability = registration->transformation_probability;
  meta->nvtl = registration->nvtl;
  meta->matched_ratio = registration->matched_ratio;
  meta->iterations = registration->iterations;
  GST_OBJECT_LOCK (self);
  meta->parent_frame = g_quark_from_string (self->odometry_frame);
  meta->child_frame = self->has_body ? g_quark_from_string (self->body_frame) : info->frame_id;
  self->counts[result->status]++;
  self->n_searched += result->searched ? 1 : 0;
  self->n_cells = ndt_odometry_get_n_cells (self->odometry);
  GST_OBJECT_UNLOCK (self);
}

static void
fail (GstLidarOdometry *self, const GError *error)
{
  if (g_error_matches (error, NDT_ERROR, NDT_ERROR_NO_MEMORY))
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("%s: set a larger “resolution” or “leaf-size”, or a smaller “max-range”.", error->message),
        (NULL));
  else
    GST_ELEMENT_ERROR (self, LIBRARY, FAILED, ("%s.", error->message), (NULL));
}

/* Takes the backend. */
static void
use_backend (GstLidarOdometry *self, NdtBackend *backend, gboolean on_device)
{
  self->backend = backend;
  self->on_device = on_device;
  GST_OBJECT_LOCK (self);
  self->active_backend = backend ? ndt_backend_get_name (backend) : NULL;
  GST_OBJECT_UNLOCK (self);
  if (backend)
    GST_INFO_OBJECT (self, "backend %s", ndt_backend_get_name (backend));
  g_object_notify (G_OBJECT (self), "active-backend");
}

static void
forward_log (NdtLogLevel level, const gchar *category, const gchar *message, gpointer user_data)
{
  GST_CAT_LEVEL_LOG (GST_CAT_DEFAULT, gst_ndt_backend_get_debug_level (level), G_OBJECT (user_data),
      "%s: %s", category, message);
}

/* Goes on with the CPU, for good; with @params where odometry is yet to begin. */
static gboolean
fall_back (
    GstLidarOdometry *self, const NdtOdometryParams *params, const GError *failure, GError **error)
{
  GST_OBJECT_LOCK (self);
  const NdtBackendConfig config = self->config;
  GST_OBJECT_UNLOCK (self);
  g_autoptr (NdtBackend) cpu = ndt_backend_open_cpu (&config, error);
  if (!cpu)
    return FALSE;
  if (!self->odometry)
    self->odometry = ndt_odometry_new (cpu, params, error);
  else if (!ndt_odometry_set_backend (self->odometry, cpu, error))
    return FALSE;
  if (!self->odometry)
    return FALSE;
  ndt_backend_close (self->backend);
  use_backend (self, g_steal_pointer (&cpu), FALSE);
  gst_ndt_backend_tell_failure (GST_ELEMENT (self), failure);
  return TRUE;
}

/* A scan of which the device fails is processed by the CPU. */
static gboolean
process (
    GstLidarOdometry *self, const NdtOdometryScan *scan, NdtOdometryResult *result, GError **error)
{
  g_autoptr (GError) failure = NULL;
  if (ndt_odometry_process (self->odometry, scan, result, &failure))
    return TRUE;
  if (!self->on_device || !ndt_backend_is_failure (failure)) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  return fall_back (self, NULL, failure, error) &&
         ndt_odometry_process (self->odometry, scan, result, error);
}

static GstFlowReturn
gst_lidar_odometry_transform_ip (GstBaseTransform *transform, GstBuffer *buffer)
{
  GstLidarOdometry *self = GST_LIDAR_ODOMETRY (transform);
  const GstPointCloudInfo *info = gst_point_cloud_filter_get_in_info (&self->parent);
  g_autoptr (GError) error = NULL;
  NdtOdometryScan scan = {0};
  NdtOdometryResult result;
  NdtPointTimes times = {0};
  GstPointCloudMap map = {0};
  const gboolean mapped = gst_buffer_get_size (buffer) > 0 &&
                          gst_point_cloud_map (&map, info, buffer, GST_MAP_READ, &error);

  if (error) {
    GST_ELEMENT_WARNING (
        self, STREAM, DECODE, ("A scan cannot be read: %s.", error->message), (NULL));
    g_clear_error (&error);
  }
  if (mapped) {
    gst_point_times_read (self->times, &map, buffer, &times);
    scan.points = gst_ndt_view_points (&map);
  }
  GST_OBJECT_LOCK (self);
  const gboolean deskew = self->params.deskew;
  GST_OBJECT_UNLOCK (self);
  const gboolean compensates =
      deskew && !self->is_compensated && times.view.data && times.span.last > times.span.first;
  const GstClockTime pose_time = get_pose_time (self, buffer, &times, compensates);
  scan.time = (gint64)pose_time;
  if (compensates) {
    scan.point_times = times.view;
    scan.time_on_points =
        (gdouble)((gint64)pose_time - (gint64)GST_BUFFER_PTS (buffer)) / GST_SECOND;
  }
  const gboolean done = process (self, &scan, &result, &error);
  ndt_point_times_clear (&times);
  if (mapped)
    gst_point_cloud_unmap (&map);
  if (!done) {
    fail (self, error);
    return GST_FLOW_ERROR;
  }
  attach (self, buffer, &result, pose_time);
  self->n_scans++;
  GST_LOG_OBJECT (self, "%s: fit %.2f, %u points, moved to %.3f, %.3f, %.3f",
      ndt_odometry_status_to_string (result.status), result.fit, result.registration.n_points,
      result.pose.position[0], result.pose.position[1], result.pose.position[2]);
  if (result.status == NDT_ODOMETRY_RESTARTED)
    GST_ELEMENT_WARNING (self, STREAM, FAILED,
        ("Scans up to %" GST_TIME_FORMAT " fit nowhere on those before: odometry goes on from a "
         "predicted pose, and is off by what that errs. Scans that overlap more (a higher rate), "
         "or "
         "a larger “resolution”, help.",
            GST_TIME_ARGS (GST_BUFFER_PTS (buffer))),
        (NULL));
  return GST_FLOW_OK;
}

static gboolean
gst_lidar_odometry_set_info (GstPointCloudFilter *filter, GstCaps *in_caps,
    const GstPointCloudInfo *in_info, GstCaps *out_caps, const GstPointCloudInfo *out_info)
{
  static const gchar *const instants[] = {"start", "middle", "end"};
  GstLidarOdometry *self = GST_LIDAR_ODOMETRY (filter);
  const GstStructure *structure = gst_caps_get_structure (in_caps, 0);
  const gchar *instant = gst_structure_get_string (structure, "instant");
  g_autoptr (GError) error = NULL;

  if (!gst_point_cloud_info_has_xyz (in_info, &error)) {
    GST_ELEMENT_ERROR (
        filter, STREAM, FORMAT, ("These are no points: %s.", error->message), (NULL));
    return FALSE;
  }
  self->is_compensated = FALSE;
  self->instant = 0;
  gst_structure_get_boolean (structure, "motion-compensated", &self->is_compensated);
  for (guint i = 0; i < G_N_ELEMENTS (instants); i++)
    if (g_strcmp0 (instant, instants[i]) == 0)
      self->instant = 0.5 * i;
  gst_point_times_set_info (self->times, in_info);
  return TRUE;
}

static void
gst_lidar_odometry_reset (GstPointCloudFilter *filter)
{
  GstLidarOdometry *self = GST_LIDAR_ODOMETRY (filter);
  if (self->odometry)
    ndt_odometry_reset (self->odometry);
  self->n_scans = 0;
}

static gboolean
gst_lidar_odometry_stop (GstBaseTransform *transform)
{
  GstLidarOdometry *self = GST_LIDAR_ODOMETRY (transform);
  g_clear_pointer (&self->odometry, ndt_odometry_free);
  if (self->backend) {
    ndt_backend_close (self->backend);
    use_backend (self, NULL, FALSE);
  }
  return TRUE;
}

static gboolean
gst_lidar_odometry_start (GstBaseTransform *transform)
{
  GstLidarOdometry *self = GST_LIDAR_ODOMETRY (transform);
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) reason = NULL;
  gboolean on_device;

  GST_OBJECT_LOCK (self);
  NdtOdometryParams params = self->params;
  params.leaf_size = self->leaf_size > 0 ? self->leaf_size : params.resolution / 3;
  const GstNdtBackend choice = self->choice;
  const NdtBackendConfig config = self->config;
  self->has_body = self->sensor_pose != NULL;
  if (self->sensor_pose) {
    memcpy (params.sensor_pose.position, self->sensor_pose->position,
        sizeof params.sensor_pose.position);
    memcpy (params.sensor_pose.orientation, self->sensor_pose->orientation,
        sizeof params.sensor_pose.orientation);
  }
  memset (self->counts, 0, sizeof self->counts);
  self->n_searched = 0;
  self->n_cells = 0;
  GST_OBJECT_UNLOCK (self);

  ndt_log_set_level (&self->log, gst_ndt_backend_get_log_level (GST_CAT_DEFAULT));
  NdtBackend *backend = gst_ndt_backend_open (choice, &config, &on_device, &reason, &error);
  if (!backend) {
    gst_ndt_backend_post_error (GST_ELEMENT (self), "Cannot open the backend", error);
    return FALSE;
  }
  if (reason)
    gst_ndt_backend_tell_reason (GST_ELEMENT (self), GST_CAT_DEFAULT, reason);
  use_backend (self, backend, on_device);
  self->odometry = ndt_odometry_new (backend, &params, &error);
  if (!self->odometry && on_device && ndt_backend_is_failure (error)) {
    g_autoptr (GError) failure = g_steal_pointer (&error);
    fall_back (self, &params, failure, &error);
  }
  if (!self->odometry) {
    gst_ndt_backend_post_error (GST_ELEMENT (self), "Odometry cannot begin", error);
    gst_lidar_odometry_stop (transform);
    return FALSE;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_lidar_odometry_parent_class)->start (transform);
}

/* ---- Properties ---- */

static void
gst_lidar_odometry_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstLidarOdometry *self = GST_LIDAR_ODOMETRY (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_RESOLUTION:
    self->params.resolution = g_value_get_double (value);
    break;
  case PROP_LEAF_SIZE:
    self->leaf_size = g_value_get_double (value);
    break;
  case PROP_MIN_RANGE:
    self->params.min_range = g_value_get_double (value);
    break;
  case PROP_MAX_RANGE:
    self->params.max_range = g_value_get_double (value);
    break;
  case PROP_DESKEW:
    self->params.deskew = g_value_get_boolean (value);
    break;
  case PROP_SENSOR_POSE:
    g_clear_pointer (&self->sensor_pose, gst_point_cloud_pose_free);
    self->sensor_pose = g_value_dup_boxed (value);
    break;
  case PROP_ODOMETRY_FRAME:
    g_free (self->odometry_frame);
    self->odometry_frame = g_value_dup_string (value);
    break;
  case PROP_BODY_FRAME:
    g_free (self->body_frame);
    self->body_frame = g_value_dup_string (value);
    break;
  case PROP_BACKEND:
    self->choice = (GstNdtBackend)g_value_get_enum (value);
    break;
  case PROP_CUDA_DEVICE_ID:
    self->config.device_id = g_value_get_int (value);
    break;
  case PROP_MEMORY_BUDGET:
    self->config.memory_budget = g_value_get_uint64 (value);
    break;
  case PROP_DEVICE_PRIORITY:
    self->config.priority = (NdtDevicePriority)g_value_get_enum (value);
    break;
  case PROP_N_THREADS:
    self->config.n_threads = g_value_get_uint (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

/* Under the object lock. */
static GstStructure *
make_stats (GstLidarOdometry *self)
{
  GstStructure *stats = gst_structure_new_empty ("application/x-lidarodometry-stats");
  guint64 n = 0;
  for (guint i = 0; i < N_STATUSES; i++) {
    n += self->counts[i];
    gst_structure_set (stats, ndt_odometry_status_to_string ((NdtOdometryStatus)i), G_TYPE_UINT64,
        self->counts[i], NULL);
  }
  gst_structure_set (stats, "scans", G_TYPE_UINT64, n, "searched", G_TYPE_UINT64, self->n_searched,
      "cells", G_TYPE_UINT, self->n_cells, "cut", G_TYPE_UINT64,
      gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)), NULL);
  return stats;
}

static void
gst_lidar_odometry_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstLidarOdometry *self = GST_LIDAR_ODOMETRY (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_RESOLUTION:
    g_value_set_double (value, self->params.resolution);
    break;
  case PROP_LEAF_SIZE:
    g_value_set_double (value, self->leaf_size);
    break;
  case PROP_MIN_RANGE:
    g_value_set_double (value, self->params.min_range);
    break;
  case PROP_MAX_RANGE:
    g_value_set_double (value, self->params.max_range);
    break;
  case PROP_DESKEW:
    g_value_set_boolean (value, self->params.deskew);
    break;
  case PROP_SENSOR_POSE:
    g_value_set_boxed (value, self->sensor_pose);
    break;
  case PROP_ODOMETRY_FRAME:
    g_value_set_string (value, self->odometry_frame);
    break;
  case PROP_BODY_FRAME:
    g_value_set_string (value, self->body_frame);
    break;
  case PROP_BACKEND:
    g_value_set_enum (value, self->choice);
    break;
  case PROP_CUDA_DEVICE_ID:
    g_value_set_int (value, self->config.device_id);
    break;
  case PROP_MEMORY_BUDGET:
    g_value_set_uint64 (value, self->config.memory_budget);
    break;
  case PROP_DEVICE_PRIORITY:
    g_value_set_enum (value, (gint)self->config.priority);
    break;
  case PROP_N_THREADS:
    g_value_set_uint (value, self->config.n_threads);
    break;
  case PROP_ACTIVE_BACKEND:
    g_value_set_string (value, self->active_backend);
    break;
  case PROP_STATS:
    g_value_take_boxed (value, make_stats (self));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_lidar_odometry_finalize (GObject *object)
{
  GstLidarOdometry *self = GST_LIDAR_ODOMETRY (object);
  gst_point_times_free (self->times);
  g_clear_pointer (&self->sensor_pose, gst_point_cloud_pose_free);
  g_free (self->odometry_frame);
  g_free (self->body_frame);
  G_OBJECT_CLASS (gst_lidar_odometry_parent_class)->finalize (object);
}

static void
gst_lidar_odometry_class_init (GstLidarOdometryClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstPointCloudFilterClass *filter_class = GST_POINT_CLOUD_FILTER_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;
  NdtOdometryParams params;

  ndt_odometry_params_init (&params);
  object_class->set_property = gst_lidar_odometry_set_property;
  object_class->get_property = gst_lidar_odometry_get_property;
  object_class->finalize = gst_lidar_odometry_finalize;

  g_object_class_install_property (object_class, PROP_RESOLUTION,
      g_param_spec_double ("resolution", "Resolution",
          "Edge of the rolling map's cells in metres (0.05 to 100); smaller ones indoors", 0.05,
          100, params.resolution, flags));
  g_object_class_install_property (object_class, PROP_LEAF_SIZE,
      g_param_spec_double ("leaf-size", "Leaf Size",
          "Edge of the cubes that a scan is thinned to before it is aligned, metres (0 = a third "
          "of "
          "the resolution)",
          0, 100, 0, flags));
  g_object_class_install_property (object_class, PROP_MIN_RANGE,
      g_param_spec_double ("min-range", "Minimum Range",
          "Points nearer to the sensor are not used, metres: those of the vehicle itself", 0, 1000,
          params.min_range, flags));
  g_object_class_install_property (object_class, PROP_MAX_RANGE,
      g_param_spec_double ("max-range", "Maximum Range",
          "Points farther from the sensor are not used, and what of the rolling map is farther is "
          "dropped, metres; more than min-range",
          1, 10000, params.max_range, flags));
  g_object_class_install_property (object_class, PROP_DESKEW,
      g_param_spec_boolean ("deskew", "Deskew",
          "Compensate the motion during a scan for the alignment, where points have times and caps "
          "do not say that it was done; the scan that leaves is untouched",
          params.deskew, flags));
  g_object_class_install_property (object_class, PROP_SENSOR_POSE,
      g_param_spec_boxed ("sensor-pose", "Sensor Pose",
          "Where the sensor is on the body whose poses are told: \"x,y,z[,yaw]\", "
          "\"x,y,z,roll,pitch,yaw\" (m, degrees) or \"x,y,z,qx,qy,qz,qw\" (unset = they are the "
          "sensor's)",
          GST_TYPE_POINT_CLOUD_POSE, flags));
  g_object_class_install_property (object_class, PROP_ODOMETRY_FRAME,
      g_param_spec_string ("odometry-frame", "Odometry Frame",
          "Name of the frame that poses are in: that of the first one", "odom", flags));
  g_object_class_install_property (object_class, PROP_BODY_FRAME,
      g_param_spec_string ("body-frame", "Body Frame",
          "Name of the body's frame in poses, where sensor-pose is set", "base_link", flags));
  g_object_class_install_property (object_class, PROP_BACKEND,
      g_param_spec_enum (
          "backend", "Backend", "What aligns", GST_TYPE_NDT_BACKEND, GST_NDT_BACKEND_AUTO, flags));
  g_object_class_install_property (object_class, PROP_CUDA_DEVICE_ID,
      g_param_spec_int ("cuda-device-id", "CUDA Device ID",
          "CUDA device to use (-1 = the first that works)", -1, G_MAXINT, -1, flags));
  g_object_class_install_property (object_class, PROP_MEMORY_BUDGET,
      g_param_spec_uint64 ("memory-budget", "Memory Budget",
          "Bytes of device memory that scans and the map take at most; what is beyond lies in the "
          "host's memory, slower and with the same results (0 = no limit)",
          0, G_GUINT64_CONSTANT (1) << 62, 0, flags));
  g_object_class_install_property (object_class, PROP_DEVICE_PRIORITY,
      g_param_spec_enum ("device-priority", "Device Priority",
          "Priority of scans and alignments on a device that is used for other work as well",
          GST_TYPE_NDT_DEVICE_PRIORITY, NDT_DEVICE_PRIORITY_HIGH, flags));
  g_object_class_install_property (object_class, PROP_N_THREADS,
      g_param_spec_uint ("n-threads", "Threads",
          "Threads of the CPU backend (0 = one per processor); poses do not depend on it", 0, 256,
          1, flags));
  /**
   * GstLidarOdometry:active-backend:
   *
   * "cpu" or "cuda"; %NULL where the element is not started. Notified when it changes.
   */
  g_object_class_install_property (object_class, PROP_ACTIVE_BACKEND,
      g_param_spec_string ("active-backend", "Active Backend",
          "What aligns: \"cpu\" or \"cuda\" (unset in state READY and below)", NULL,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Counts of scans since the start: scans, started, tracked, degraded, restarted, skipped, "
          "searched; and cells of the rolling map",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_set_static_metadata (element_class, "Lidar odometry",
      "Filter/Analyzer/PointCloud", "Tells where a lidar goes by its scans alone",
      "The gst-ndt developers");
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);

  transform_class->start = gst_lidar_odometry_start;
  transform_class->stop = gst_lidar_odometry_stop;
  transform_class->transform_ip = gst_lidar_odometry_transform_ip;
  filter_class->set_info = gst_lidar_odometry_set_info;
  filter_class->reset = gst_lidar_odometry_reset;

  GST_DEBUG_CATEGORY_INIT (gst_lidar_odometry_debug, "lidarodometry", 0, "odometry by lidar scans");
}

static void
gst_lidar_odometry_init (GstLidarOdometry *self)
{
  static const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  ndt_odometry_params_init (&self->params);
  self->times = gst_point_times_new (GST_ELEMENT (self));
  self->odometry_frame = g_strdup ("odom");
  self->body_frame = g_strdup ("base_link");
  self->config = config;
  self->config.n_threads = 1;
  self->log.func = forward_log;
  self->log.user_data = self;
  self->config.log = &self->log;
  gst_base_transform_set_in_place (GST_BASE_TRANSFORM (self), TRUE);
}
