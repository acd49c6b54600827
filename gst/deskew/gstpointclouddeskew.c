/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-pointclouddeskew
 * @title: pointclouddeskew
 * @short_description: takes a sensor's motion during a scan out of its points
 *
 * Moves each point of a scan to where it is seen from at one instant, the scan's end unless
 * #GstPointCloudDeskew:instant says otherwise, by the points' field `time` (seconds from the PTS)
 * or `t` (nanoseconds) and by where the sensor was: from a trajectory file
 * (#GstPointCloudDeskew:location, its times are PTS), or from the poses of a
 * role that the scans carry, between one scan's and the next. Points move in a copy of the scan
 * where others hold it too. A scan that cannot be compensated passes as it is and is counted in
 * #GstPointCloudDeskew:stats.
 *
 * To localize, ndtlocalize compensates by itself: `deskew=true`.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidartestsrc num-buffers=5 motion-distortion=true ! \
 *     pointclouddeskew role=ground-truth ! fakesink
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstpointclouddeskew.h"

#include <math.h>
#include <string.h>

#include <gst/pointcloud/gstpointcloudtimer.h>
#include <gst/pointcloud/pointcloud.h>

#include "ndtcore/ndt-deskew.h"
#include "ndtcore/ndt-trajectory.h"

GST_DEBUG_CATEGORY_STATIC (gst_point_cloud_deskew_debug);
#define GST_CAT_DEFAULT gst_point_cloud_deskew_debug

/* Instant of a scan, as a fraction of its duration, in halves. */
typedef enum { INSTANT_START, INSTANT_MIDDLE, INSTANT_END } Instant;

enum {
  PROP_0,
  PROP_LOCATION,
  PROP_TIME_OFFSET,
  PROP_MAX_GAP,
  PROP_ROLE,
  PROP_INSTANT,
  PROP_SENSOR_POSE,
  PROP_TIMES_LOCATION,
  PROP_STATS
};

#define DEFAULT_MAX_GAP GST_SECOND

/* A pose and its instant on the PTS axis. */
typedef struct {
  gboolean known;
  gint64 time;
  NdtPose pose;
} Station;

struct _GstPointCloudDeskew {
  GstBaseTransform parent;

  /* under the object lock */
  gchar *location;
  gchar *sensor_pose;
  gchar *times_location;
  gint64 time_offset;
  guint64 max_gap;
  GstPoseRole role;
  Instant instant;
  guint64 n_scans;
  guint64 n_compensated;
  guint64 n_points_left; /* of compensated scans: points that stayed where they were */

  /* streaming thread */
  GstPointCloudTimer *timer;
  GstPointCloudInfo info;
  NdtDeskewer *deskewer;
  NdtTrajectory *trajectory;
  NdtPose mount;
  Station last;
  float *points;
  gsize capacity;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE));

G_DEFINE_TYPE (GstPointCloudDeskew, gst_point_cloud_deskew, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE (
    pointclouddeskew, "pointclouddeskew", GST_RANK_NONE, GST_TYPE_POINT_CLOUD_DESKEW)

static GType
instant_get_type (void)
{
  static const GEnumValue values[] = {{INSTANT_START, "The scan's time stamp", "start"},
      {INSTANT_MIDDLE, "Half the scan's duration later", "middle"},
      {INSTANT_END, "The scan's duration later", "end"}, {0, NULL, NULL}};
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstPointCloudDeskewInstant", values));
  return type;
}

/* ---- Where the sensor was ---- */

/* The motion during one scan; times are seconds from its PTS. */
typedef struct {
  const NdtTrajectory *trajectory; /* NULL: between the two stations */
  gint64 pts;                      /* on the trajectory's axis */
  gint64 max_gap;
  double from_time;
  double span;
  NdtPose from;
  double twist[6]; /* over span */
  const NdtPose *mount;
} Motion;

static gboolean
get_motion (double time, NdtPose *pose, gpointer user_data)
{
  const Motion *motion = user_data;
  if (motion->trajectory) {
    if (!ndt_trajectory_interpolate (motion->trajectory,
            motion->pts + (gint64)llround (time * GST_SECOND), motion->max_gap, pose))
      return FALSE;
  } else {
    const double k = (time - motion->from_time) / motion->span;
    double twist[6];
    /* A little beyond both: the rings of a column fire one after the other. */
    if (!(k > -0.5 && k < 1.5))
      return FALSE;
    for (guint i = 0; i < 6; i++)
      twist[i] = k * motion->twist[i];
    NdtPose step;
    ndt_pose_exp (twist, &step);
    ndt_pose_compose (&motion->from, &step, pose);
  }
  ndt_pose_compose (pose, motion->mount, pose);
  return TRUE;
}

static gboolean
read_station (GstBuffer *buffer, GstPoseRole role, Station *station)
{
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, role);
  station->known = FALSE;
  if (!meta || !meta->has_pose)
    return FALSE;
  GstClockTime time = meta->timestamp;
  if (!GST_CLOCK_TIME_IS_VALID (time) && GST_BUFFER_DURATION_IS_VALID (buffer))
    time = GST_BUFFER_PTS (buffer) + GST_BUFFER_DURATION (buffer);
  if (!GST_CLOCK_TIME_IS_VALID (time))
    return FALSE;
  station->time = (gint64)time;
  memcpy (station->pose.position, meta->position, sizeof (meta->position));
  memcpy (station->pose.orientation, meta->orientation, sizeof (meta->orientation));
  station->known = ndt_pose_normalize (&station->pose);
  return station->known;
}

/* ---- Streaming ---- */

/* The field that tells when points were measured, or NULL. */
static const GstPointField *
find_times (const GstPointCloudInfo *info, NdtTimeType *type)
{
  const GstPointField *seconds = gst_point_cloud_info_find_field (info, "time");
  const GstPointField *nanoseconds = gst_point_cloud_info_find_field (info, "t");
  NdtTimeType found = NDT_TIME_U32;
  const GstPointField *field = NULL;
  if (seconds && seconds->type == GST_POINT_FIELD_TYPE_FLOAT32) {
    field = seconds;
    found = NDT_TIME_F32;
  } else if (seconds && seconds->type == GST_POINT_FIELD_TYPE_FLOAT64) {
    field = seconds;
    found = NDT_TIME_F64;
  } else if (nanoseconds && nanoseconds->type == GST_POINT_FIELD_TYPE_UINT32) {
    field = nanoseconds;
  }
  if (type)
    *type = found;
  return field;
}

/* Writes packed floats back to where x, y, z are. */
static void
put_points (const GstPointCloudMap *map, const float *points)
{
  static const gchar *const names[] = {"x", "y", "z"};
  for (guint k = 0; k < 3; k++) {
    const GstPointField *field = gst_point_cloud_info_find_field (&map->info, names[k]);
    guint8 *at = map->data + field->offset;
    for (gsize i = 0; i < map->n_points; i++, at += map->info.point_step) {
      if (field->type == GST_POINT_FIELD_TYPE_FLOAT32) {
        memcpy (at, &points[3 * i + k], sizeof (float));
      } else {
        const double value = (double)points[3 * i + k];
        memcpy (at, &value, sizeof (value));
      }
    }
  }
}

/* Returns whether the scan was compensated. */
static gboolean
deskew (
    GstPointCloudDeskew *self, const GstPointCloudMap *map, const Motion *motion, double reference)
{
  const GstPointCloudInfo *info = &map->info;
  const GstPointField *x = gst_point_cloud_info_find_field (info, "x");
  const GstPointField *y = gst_point_cloud_info_find_field (info, "y");
  const GstPointField *z = gst_point_cloud_info_find_field (info, "z");
  NdtTimeView times = {NULL, info->point_step, NDT_TIME_F32};
  const GstPointField *time = find_times (info, &times.type);
  if (!time || map->n_points == 0)
    return FALSE;
  times.data = map->data + time->offset;
  const NdtCloudView view =
      ndt_cloud_view (map->data, map->n_points, info->point_step, x->offset, y->offset, z->offset,
          x->type == GST_POINT_FIELD_TYPE_FLOAT64 ? NDT_SCALAR_F64 : NDT_SCALAR_F32);
  if (map->n_points > self->capacity) {
    self->capacity = map->n_points + map->n_points / 4;
    self->points = g_renew (float, self->points, 3 * self->capacity);
  }
  const gsize n = ndt_deskew (
      self->deskewer, &view, &times, reference, get_motion, (gpointer)motion, self->points);
  if (n == 0)
    return FALSE;
  put_points (map, self->points);
  GST_OBJECT_LOCK (self);
  self->n_points_left += map->n_points - n;
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

static GstFlowReturn
gst_point_cloud_deskew_transform_ip (GstBaseTransform *transform, GstBuffer *buffer)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  g_autoptr (GError) error = NULL;
  GstPointCloudMap map;
  Motion motion = {.mount = &self->mount};
  gboolean known, done = FALSE;

  GST_OBJECT_LOCK (self);
  const GstPoseRole role = self->role;
  const Instant instant = self->instant;
  const gint64 offset = self->time_offset;
  motion.max_gap = (gint64)MIN (self->max_gap, (guint64)G_MAXINT64);
  self->n_scans++;
  GST_OBJECT_UNLOCK (self);

  const gboolean timed = GST_BUFFER_PTS_IS_VALID (buffer);
  const double duration =
      GST_BUFFER_DURATION_IS_VALID (buffer) ? (double)GST_BUFFER_DURATION (buffer) / GST_SECOND : 0;
  const double reference = 0.5 * (double)instant * duration;
  motion.pts = (gint64)GST_BUFFER_PTS (buffer) + offset;
  if (self->trajectory) {
    motion.trajectory = self->trajectory;
    known = timed;
  } else {
    Station now;
    known = read_station (buffer, role, &now) && self->last.known && timed &&
            now.time > self->last.time && now.time - self->last.time <= motion.max_gap;
    if (known) {
      NdtPose step;
      motion.from = self->last.pose;
      motion.from_time = (double)(self->last.time - (gint64)GST_BUFFER_PTS (buffer)) / GST_SECOND;
      motion.span = (double)(now.time - self->last.time) / GST_SECOND;
      ndt_pose_between (&self->last.pose, &now.pose, &step);
      ndt_pose_log (&step, motion.twist);
    }
    self->last = now;
  }
  if (!known)
    return GST_FLOW_OK;

  if (!gst_point_cloud_map (&map, &self->info, buffer, GST_MAP_READWRITE, &error)) {
    GST_ELEMENT_WARNING (
        self, STREAM, DECODE, ("A scan passes as it is: %s.", error->message), (NULL));
    return GST_FLOW_OK;
  }
  done = deskew (self, &map, &motion, reference);
  gst_point_cloud_unmap (&map);
  if (done) {
    GST_OBJECT_LOCK (self);
    self->n_compensated++;
    GST_OBJECT_UNLOCK (self);
  }
  return GST_FLOW_OK;
}

static GstFlowReturn
gst_point_cloud_deskew_submit_input_buffer (
    GstBaseTransform *transform, gboolean is_discont, GstBuffer *input)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  input = gst_point_cloud_timer_stamp (self->timer, input);
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_deskew_parent_class)
      ->submit_input_buffer (transform, is_discont, input);
}

static gboolean
gst_point_cloud_deskew_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT) {
    event = gst_point_cloud_timer_segment (self->timer, event);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP) {
    gst_point_cloud_timer_reset (self->timer);
    self->last.known = FALSE;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_deskew_parent_class)
      ->sink_event (transform, event);
}

static gboolean
gst_point_cloud_deskew_set_caps (GstBaseTransform *transform, GstCaps *in, GstCaps *out)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  g_autoptr (GError) error = NULL;
  if (!gst_point_cloud_info_from_caps (&self->info, in, &error) ||
      !gst_point_cloud_info_has_xyz (&self->info, &error)) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("These are no points: %s.", error->message), (NULL));
    return FALSE;
  }
  if (!find_times (&self->info, NULL))
    GST_ELEMENT_WARNING (self, STREAM, FORMAT,
        ("The points have neither a field \"time\" nor \"t\": scans pass as they are."), (NULL));
  gst_point_cloud_timer_set_info (self->timer, &self->info);
  return TRUE;
}

static gboolean
gst_point_cloud_deskew_start (GstBaseTransform *transform)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  g_autofree gchar *location = NULL, *mount = NULL, *times_location = NULL;
  g_autoptr (GError) error = NULL;

  GST_OBJECT_LOCK (self);
  location = g_strdup (self->location);
  mount = g_strdup (self->sensor_pose);
  times_location = g_strdup (self->times_location);
  self->n_scans = self->n_compensated = self->n_points_left = 0;
  GST_OBJECT_UNLOCK (self);

  ndt_pose_set_identity (&self->mount);
  if (mount && *mount && !ndt_pose_parse (mount, &self->mount, &error)) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS, ("sensor-pose: %s.", error->message), (NULL));
    return FALSE;
  }
  if (location && *location) {
    self->trajectory = ndt_trajectory_load (location, NDT_TRAJECTORY_AUTO, &error);
    if (!self->trajectory) {
      GST_ELEMENT_ERROR (self, RESOURCE, OPEN_READ, ("%s.", error->message), (NULL));
      return FALSE;
    }
    if (!ndt_trajectory_has_times (self->trajectory)) {
      g_clear_pointer (&self->trajectory, ndt_trajectory_free);
      GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
          ("The trajectory \"%s\" has no times: use a TUM or CSV file.", location), (NULL));
      return FALSE;
    }
  }
  if (!gst_point_cloud_timer_set_times_location (self->timer, times_location, &error)) {
    g_clear_pointer (&self->trajectory, ndt_trajectory_free);
    GST_ELEMENT_ERROR (self, RESOURCE, OPEN_READ, ("%s.", error->message), (NULL));
    return FALSE;
  }
  self->deskewer = ndt_deskewer_new ();
  self->last.known = FALSE;
  gst_point_cloud_timer_reset (self->timer);
  return TRUE;
}

static gboolean
gst_point_cloud_deskew_stop (GstBaseTransform *transform)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  g_clear_pointer (&self->trajectory, ndt_trajectory_free);
  g_clear_pointer (&self->deskewer, ndt_deskewer_free);
  g_clear_pointer (&self->points, g_free);
  self->capacity = 0;
  return TRUE;
}

/* ---- Properties ---- */

static void
gst_point_cloud_deskew_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_free (self->location);
    self->location = g_value_dup_string (value);
    break;
  case PROP_TIME_OFFSET:
    self->time_offset = g_value_get_int64 (value);
    break;
  case PROP_MAX_GAP:
    self->max_gap = g_value_get_uint64 (value);
    break;
  case PROP_ROLE:
    self->role = (GstPoseRole)g_value_get_enum (value);
    break;
  case PROP_INSTANT:
    self->instant = (Instant)g_value_get_enum (value);
    break;
  case PROP_SENSOR_POSE:
    g_free (self->sensor_pose);
    self->sensor_pose = g_value_dup_string (value);
    break;
  case PROP_TIMES_LOCATION:
    g_free (self->times_location);
    self->times_location = g_value_dup_string (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_point_cloud_deskew_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_value_set_string (value, self->location);
    break;
  case PROP_TIME_OFFSET:
    g_value_set_int64 (value, self->time_offset);
    break;
  case PROP_MAX_GAP:
    g_value_set_uint64 (value, self->max_gap);
    break;
  case PROP_ROLE:
    g_value_set_enum (value, (gint)self->role);
    break;
  case PROP_INSTANT:
    g_value_set_enum (value, (gint)self->instant);
    break;
  case PROP_SENSOR_POSE:
    g_value_set_string (value, self->sensor_pose);
    break;
  case PROP_TIMES_LOCATION:
    g_value_set_string (value, self->times_location);
    break;
  case PROP_STATS:
    g_value_take_boxed (
        value, gst_structure_new ("application/x-pointclouddeskew-stats", "scans", G_TYPE_UINT64,
                   self->n_scans, "compensated", G_TYPE_UINT64, self->n_compensated, "points-left",
                   G_TYPE_UINT64, self->n_points_left, NULL));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_point_cloud_deskew_finalize (GObject *object)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (object);
  gst_point_cloud_timer_free (self->timer);
  g_free (self->location);
  g_free (self->sensor_pose);
  g_free (self->times_location);
  G_OBJECT_CLASS (gst_point_cloud_deskew_parent_class)->finalize (object);
}

static void
gst_point_cloud_deskew_class_init (GstPointCloudDeskewClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  object_class->set_property = gst_point_cloud_deskew_set_property;
  object_class->get_property = gst_point_cloud_deskew_get_property;
  object_class->finalize = gst_point_cloud_deskew_finalize;

  g_object_class_install_property (object_class, PROP_LOCATION,
      g_param_spec_string ("location", "location",
          "Trajectory file (TUM or CSV) of the sensor or the body; its times are PTS (unset = the "
          "poses on the scans)",
          NULL, flags | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (object_class, PROP_TIME_OFFSET,
      g_param_spec_int64 ("time-offset", "time-offset",
          "Nanoseconds added to a PTS to find its pose in the file", G_MININT64, G_MAXINT64, 0,
          flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_MAX_GAP,
      g_param_spec_uint64 ("max-gap", "max-gap",
          "Nanoseconds between two poses beyond which the motion between them is not known (0 = "
          "any, in a file)",
          0, G_MAXUINT64, DEFAULT_MAX_GAP, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_ROLE,
      g_param_spec_enum ("role", "role", "Role of the poses on the scans to take the motion from",
          GST_TYPE_POSE_ROLE, GST_POSE_ROLE_ODOMETRY, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_INSTANT,
      g_param_spec_enum ("instant", "instant", "Instant of a scan that its points are brought to",
          instant_get_type (), INSTANT_END, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_SENSOR_POSE,
      g_param_spec_string ("sensor-pose", "sensor-pose",
          "Where the sensor is on the body whose poses are given: \"x,y,z[,yaw]\", "
          "\"x,y,z,roll,pitch,yaw\" (m, degrees) or \"x,y,z,qx,qy,qz,qw\" (unset = they are the "
          "sensor's)",
          NULL, flags | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (object_class, PROP_TIMES_LOCATION,
      g_param_spec_string ("times-location", "times-location",
          "File with one time in seconds per line for scans without a time stamp (unset = from the "
          "framerate)",
          NULL, flags | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "stats",
          "Counts since the start: scans, compensated (scans), points-left (points of those that "
          "stayed where they were)",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_set_static_metadata (element_class, "Point cloud motion compensation",
      "Filter/Effect/PointCloud", "Takes a sensor's motion during a scan out of its points",
      "The gst-ndt authors");
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_type_mark_as_plugin_api (instant_get_type (), 0);

  transform_class->start = gst_point_cloud_deskew_start;
  transform_class->stop = gst_point_cloud_deskew_stop;
  transform_class->set_caps = gst_point_cloud_deskew_set_caps;
  transform_class->sink_event = gst_point_cloud_deskew_sink_event;
  transform_class->submit_input_buffer = gst_point_cloud_deskew_submit_input_buffer;
  transform_class->transform_ip = gst_point_cloud_deskew_transform_ip;

  GST_DEBUG_CATEGORY_INIT (
      gst_point_cloud_deskew_debug, "pointclouddeskew", 0, "motion compensation of point clouds");
}

static void
gst_point_cloud_deskew_init (GstPointCloudDeskew *self)
{
  self->timer = gst_point_cloud_timer_new (GST_ELEMENT (self));
  self->max_gap = DEFAULT_MAX_GAP;
  self->role = GST_POSE_ROLE_ODOMETRY;
  self->instant = INSTANT_END;
  gst_point_cloud_info_init (&self->info);
  gst_base_transform_set_in_place (GST_BASE_TRANSFORM (self), TRUE);
}
