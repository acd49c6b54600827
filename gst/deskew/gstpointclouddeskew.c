/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-pointclouddeskew
 * @title: pointclouddeskew
 * @short_description: takes a sensor's motion during a scan out of its points
 *
 * Moves each point of a scan to where it is seen from at one instant, the scan's end unless
 * #GstPointCloudDeskew:instant says otherwise, by the points' field `time` (seconds from the PTS)
 * or `t` (nanoseconds) and by where the sensor was: from a trajectory file
 * (#GstPointCloudDeskew:location, its times are PTS), else from streams of poses on request pads
 * pose_%u, else from the poses of a role that the scans carry, between one scan's and the next.
 * Points move in a copy of the scan where others hold it too. A scan that cannot be compensated
 * passes as it is and is counted in #GstPointCloudDeskew:stats.
 *
 * To localize, ndtlocalize compensates by itself. What leaves here says in caps that it was done.
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

#include "gst/common/gstndtviews.h"
#include "gst/common/gstpointtimes.h"
#include "gst/common/gstposequeuepad.h"
#include "gst/common/gstrenamed.h"
#include "gstdeskewposes.h"

GST_DEBUG_CATEGORY_STATIC (gst_point_cloud_deskew_debug);
#define GST_CAT_DEFAULT gst_point_cloud_deskew_debug

/* Instant of a scan, as a fraction of its duration, in halves. */
typedef enum { INSTANT_START, INSTANT_MIDDLE, INSTANT_END } Instant;

enum {
  PROP_0,
  PROP_LOCATION,
  PROP_TS_OFFSET,
  PROP_MAX_POSE_GAP,
  PROP_POSE_LATENCY,
  PROP_ROLE,
  PROP_INSTANT,
  PROP_SENSOR_POSE,
  PROP_STATS,
  N_PROPERTIES
};

#define DEFAULT_MAX_POSE_GAP (2 * GST_SECOND)

struct _GstPointCloudDeskew {
  GstPointCloudFilter parent;

  /* under the object lock */
  gchar *location;
  GstPointCloudPose *sensor_pose; /* NULL: there is no body */
  gint64 ts_offset;
  guint64 max_pose_gap;
  guint64 pose_latency;
  GstPoseRole role;
  Instant instant;
  guint64 n_scans;
  guint64 n_compensated;
  guint64 n_points_left; /* of compensated scans: points that stayed where they were */

  /* streaming thread */
  gboolean is_compensated; /* caps say that it was done before */
  GstPointTimes *times;
  NdtDeskewer *deskewer;
  GstPoseQueue *poses; /* of the pose pads */
  GArray *window;      /* of those, around a scan; NdtTimedPose */
  GArray *trajectory;  /* of the file, empty without one */
  NdtPose mount;
  GstDeskewStations stations;
  gpointer points; /* packed, in the scan's type */
  gsize capacity;  /* bytes */
};

/* Of a stream of poses any tells the motion; drifting ones do it best, since they do not jump. */
static const GstPoseRole pose_roles[] = {GST_POSE_ROLE_ODOMETRY, GST_POSE_ROLE_ESTIMATE,
    GST_POSE_ROLE_GROUND_TRUTH, GST_POSE_ROLE_PRIOR};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE (GstPointCloudDeskew, gst_point_cloud_deskew, GST_TYPE_POINT_CLOUD_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    pointclouddeskew, "pointclouddeskew", GST_RANK_NONE, GST_TYPE_POINT_CLOUD_DESKEW)

/* In the order of Instant. */
static const GEnumValue instants[] = {{INSTANT_START, "The scan's time stamp", "start"},
    {INSTANT_MIDDLE, "Half the scan's duration later", "middle"},
    {INSTANT_END, "The scan's duration later", "end"}, {0, NULL, NULL}};

static GType
instant_get_type (void)
{
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstPointCloudDeskewInstant", instants));
  return type;
}

/* ---- Where the sensor was ---- */

/* The motion during one scan; times are seconds from its PTS. */
typedef struct {
  NdtPoseCurve curve;
  gint64 pts; /* on the curve's axis */
  const NdtPose *mount;
} Motion;

static gboolean
get_motion (double time, NdtPose *pose, gpointer user_data)
{
  Motion *motion = user_data;
  if (!(fabs (time) < 1e6) ||
      !ndt_pose_curve_get (&motion->curve, motion->pts + (gint64)llround (time * GST_SECOND), pose))
    return FALSE;
  ndt_pose_compose (pose, motion->mount, pose);
  return TRUE;
}

/* Of what comes by all sink pads. */
static gboolean
query_upstream (GstPointCloudDeskew *self, GstQuery *query)
{
  gboolean live;
  GstClockTime min;
  return gst_pose_queue_pads_query_latency (GST_ELEMENT (self), self->poses, query, &live, &min);
}

/* Until those have come that are of a scan's end. FALSE when flushing. */
static gboolean
wait_for_poses (GstPointCloudDeskew *self, gint64 begin, gint64 end, GstClockTime timeout)
{
  if (gst_pose_queue_reached (self->poses, end, timeout))
    return TRUE;
  /* No query need have passed: sinks send none on before their first buffer. */
  if (!gst_pose_queue_knows_sources (self->poses)) {
    GstQuery *query = gst_query_new_latency ();
    query_upstream (self, query);
    gst_query_unref (query);
  }
  gint64 deadline = gst_pose_queue_get_deadline (self->poses, GST_ELEMENT (self), begin, timeout);
  if (deadline == 0)
    deadline = g_get_monotonic_time () + (gint64)GST_TIME_AS_USECONDS (timeout);
  return gst_pose_queue_wait (self->poses, end, GST_CLOCK_TIME_NONE, deadline);
}

/* By the poses of a pad, once they have come. FALSE as well where the pad is being flushed. */
static gboolean
follow_pads (GstPointCloudDeskew *self, GstBuffer *buffer, gint64 max_gap, GstClockTime timeout,
    Motion *motion)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;
  const GstClockTime period = gst_point_cloud_info_get_duration (
      gst_point_cloud_filter_get_in_info (&self->parent), buffer);
  const GstClockTime duration = GST_CLOCK_TIME_IS_VALID (period) ? period : 0;
  const gint64 begin = gst_pose_queue_running_time (segment, GST_BUFFER_PTS (buffer));
  const gint64 end = gst_pose_queue_running_time (segment, GST_BUFFER_PTS (buffer) + duration);
  if (begin == GST_POSE_QUEUE_NO_TIME || end == GST_POSE_QUEUE_NO_TIME)
    return FALSE;
  gst_pose_queue_scan (self->poses, begin);
  if (!wait_for_poses (self, begin, end, timeout))
    return FALSE;
  g_array_set_size (self->window, 0);
  gst_pose_queue_get_window (self->poses, begin, end, self->window);
  g_autofree gchar *complaint = gst_pose_queue_take_complaint (self->poses);
  if (complaint)
    GST_ELEMENT_WARNING (self, STREAM, FAILED, ("%s.", complaint), (NULL));
  ndt_pose_curve_init (&motion->curve, (const NdtTimedPose *)(gconstpointer)self->window->data,
      self->window->len, max_gap, 0);
  motion->pts = begin;
  return self->window->len > 1;
}

/* ---- Streaming ---- */

/* Writes packed x, y, z of @size bytes each back to where they are. */
static void
put_points (const GstPointCloudMap *map, const guint8 *points, gsize size)
{
  static const gchar *const names[] = {"x", "y", "z"};
  for (guint k = 0; k < 3; k++) {
    const GstPointField *field = gst_point_cloud_info_find_field (&map->info, names[k]);
    const guint8 *from = points + k * size;
    guint8 *at = map->data + field->offset;
    for (gsize i = 0; i < map->n_points; i++, at += map->info.point_step, from += 3 * size)
      memcpy (at, from, size);
  }
}

/* Moves the points in their own precision, if they tell when they were measured. */
static GstFlowReturn
deskew (GstPointCloudDeskew *self, const GstPointCloudMap *map, const NdtTimeView *times,
    Motion *motion, double reference)
{
  const NdtCloudView view = gst_ndt_view_points (map);
  const gsize size = view.scalar == NDT_SCALAR_F32 ? sizeof (float) : sizeof (double);
  if (!times->data)
    return GST_FLOW_OK;
  if (3 * size * map->n_points > self->capacity) {
    self->capacity = 3 * size * (map->n_points + map->n_points / 4);
    g_free (self->points);
    self->points = g_try_malloc (self->capacity);
    if (!self->points) {
      self->capacity = 0;
      GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
          ("There is not the memory to move the %" G_GSIZE_FORMAT
           " points of a scan: thin scans upstream, or give the process more memory.",
              map->n_points),
          (NULL));
      return GST_FLOW_ERROR;
    }
  }
  const gsize n = view.scalar == NDT_SCALAR_F32
                      ? ndt_deskew (self->deskewer, &view, times, reference, get_motion, motion,
                            (float *)self->points)
                      : ndt_deskew_f64 (self->deskewer, &view, times, reference, get_motion, motion,
                            (double *)self->points);
  if (n == 0)
    return GST_FLOW_OK;
  put_points (map, self->points, size);
  GST_OBJECT_LOCK (self);
  self->n_compensated++;
  self->n_points_left += map->n_points - n;
  GST_OBJECT_UNLOCK (self);
  return GST_FLOW_OK;
}

static GstFlowReturn
gst_point_cloud_deskew_transform_ip (GstBaseTransform *transform, GstBuffer *buffer)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  g_autoptr (GError) error = NULL;
  GstPointCloudMap map;
  Motion motion = {.mount = &self->mount};
  gboolean known;

  GST_OBJECT_LOCK (self);
  const GstPoseRole role = self->role;
  const Instant instant = self->instant;
  const gint64 offset = self->ts_offset;
  const gint64 max_gap = (gint64)MIN (self->max_pose_gap, (guint64)G_MAXINT64);
  const GstClockTime timeout = self->pose_latency;
  self->n_scans++;
  GST_OBJECT_UNLOCK (self);

  const GstPointCloudInfo *info = gst_point_cloud_filter_get_in_info (&self->parent);
  const GstClockTime period = gst_point_cloud_info_get_duration (info, buffer);
  const double duration = GST_CLOCK_TIME_IS_VALID (period) ? (double)period / GST_SECOND : 0;
  const double reference = 0.5 * (double)instant * duration;
  if (self->trajectory->len > 0) {
    known = TRUE;
    ndt_pose_curve_init (&motion.curve, (const NdtTimedPose *)(gconstpointer)self->trajectory->data,
        self->trajectory->len, max_gap, 0);
    motion.pts = (gint64)GST_BUFFER_PTS (buffer) + offset;
  } else if (gst_pose_queue_has_streams (self->poses)) {
    known = follow_pads (self, buffer, max_gap, timeout, &motion);
  } else {
    known = gst_deskew_stations_follow (&self->stations, buffer, role, max_gap, &motion.curve);
    motion.pts = (gint64)GST_BUFFER_PTS (buffer);
  }
  if (!known)
    GST_DEBUG_OBJECT (self, "no motion is known for the scan at %" GST_TIME_FORMAT,
        GST_TIME_ARGS (GST_BUFFER_PTS (buffer)));
  if (!known || self->is_compensated || gst_buffer_get_size (buffer) == 0)
    return GST_FLOW_OK;

  if (!gst_point_cloud_map (&map, info, buffer, GST_MAP_READWRITE, &error)) {
    GST_ELEMENT_WARNING (
        self, STREAM, DECODE, ("A scan passes as it is: %s.", error->message), (NULL));
    return GST_FLOW_OK;
  }
  NdtPointTimes times;
  gst_point_times_read (self->times, &map, buffer, &times);
  const GstFlowReturn flow = deskew (self, &map, &times.view, &motion, reference);
  ndt_point_times_clear (&times);
  gst_point_cloud_unmap (&map);
  return flow;
}

/* What a scan may wait for poses makes it late. */
static gboolean
query_latency (GstPointCloudDeskew *self, GstQuery *query)
{
  gboolean live;
  GstClockTime min, max;
  if (!query_upstream (self, query))
    return FALSE;
  gst_query_parse_latency (query, &live, &min, &max);
  if (live && gst_pose_queue_has_streams (self->poses)) {
    GST_OBJECT_LOCK (self);
    min += self->pose_latency;
    GST_OBJECT_UNLOCK (self);
  }
  gst_query_set_latency (query, live, min, max);
  return TRUE;
}

static gboolean
gst_point_cloud_deskew_query (
    GstBaseTransform *transform, GstPadDirection direction, GstQuery *query)
{
  if (GST_QUERY_TYPE (query) == GST_QUERY_LATENCY && direction == GST_PAD_SRC)
    return query_latency (GST_POINT_CLOUD_DESKEW (transform), query);
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_deskew_parent_class)
      ->query (transform, direction, query);
}

static gboolean
gst_point_cloud_deskew_src_event (GstBaseTransform *transform, GstEvent *event)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEEK)
    return gst_pose_queue_pads_seek (GST_ELEMENT (self), self->poses, event);
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_deskew_parent_class)
      ->src_event (transform, event);
}

static GstPad *
gst_point_cloud_deskew_request_new_pad (
    GstElement *element, GstPadTemplate *template, const gchar *name, const GstCaps *caps)
{
  return gst_pose_queue_pad_request (
      element, GST_POINT_CLOUD_DESKEW (element)->poses, template, name);
}

/* A scan that waits for poses has to leave before its pad can stop. */
static GstStateChangeReturn
gst_point_cloud_deskew_change_state (GstElement *element, GstStateChange transition)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED)
    gst_pose_queue_start (self->poses);
  else if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    gst_pose_queue_flush (self->poses);
  return GST_ELEMENT_CLASS (gst_point_cloud_deskew_parent_class)
      ->change_state (element, transition);
}

static gboolean
gst_point_cloud_deskew_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START)
    gst_pose_queue_flush (self->poses);
  else if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    gst_pose_queue_start (self->poses);
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_deskew_parent_class)
      ->sink_event (transform, event);
}

static void
gst_point_cloud_deskew_reset (GstPointCloudFilter *filter)
{
  GST_POINT_CLOUD_DESKEW (filter)->stations.n = 0;
}

/* A cloud whose points tell when they were measured. */
static gboolean
can_compensate (const GstCaps *caps)
{
  GstPointCloudInfo info;
  g_autoptr (GstPointTimes) times = gst_point_times_new (NULL);
  return gst_caps_is_fixed (caps) && gst_point_cloud_info_from_caps (&info, caps, NULL) &&
         gst_point_times_set_info (times, &info);
}

/* What leaves is of one instant, and says so; what comes may say anything. */
static GstCaps *
gst_point_cloud_deskew_transform_caps (
    GstBaseTransform *transform, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  GstCaps *out = gst_caps_copy (caps);

  GST_OBJECT_LOCK (self);
  const gchar *instant = instants[self->instant].value_nick;
  GST_OBJECT_UNLOCK (self);
  for (guint i = 0; i < gst_caps_get_size (out); i++) {
    GstStructure *structure = gst_caps_get_structure (out, i);
    gboolean is_compensated = FALSE;
    gst_structure_get_boolean (structure, "motion-compensated", &is_compensated);
    if (direction == GST_PAD_SRC)
      gst_structure_remove_fields (structure, "motion-compensated", "instant", NULL);
    else if (!is_compensated && can_compensate (caps))
      gst_structure_set (structure, "motion-compensated", G_TYPE_BOOLEAN, TRUE, "instant",
          G_TYPE_STRING, instant, NULL);
  }
  if (filter) {
    GstCaps *filtered = gst_caps_intersect_full (filter, out, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (out);
    out = filtered;
  }
  return out;
}

static gboolean
gst_point_cloud_deskew_set_info (GstPointCloudFilter *filter, GstCaps *in_caps,
    const GstPointCloudInfo *in_info, GstCaps *out_caps, const GstPointCloudInfo *out_info)
{
  g_autoptr (GError) error = NULL;
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (filter);
  if (!gst_point_cloud_info_has_xyz (in_info, &error)) {
    GST_ELEMENT_ERROR (
        filter, STREAM, FORMAT, ("These are no points: %s.", error->message), (NULL));
    return FALSE;
  }
  self->is_compensated = FALSE;
  gst_structure_get_boolean (
      gst_caps_get_structure (in_caps, 0), "motion-compensated", &self->is_compensated);
  if (!gst_point_times_set_info (self->times, in_info))
    GST_ELEMENT_WARNING (filter, STREAM, FORMAT,
        ("The points have none of the fields " GST_POINT_TIMES_FIELDS ": scans pass as they are."),
        (NULL));
  else if (self->is_compensated)
    GST_ELEMENT_WARNING (filter, STREAM, FORMAT,
        ("Caps say that the motion during scans was compensated before: they pass as they are."),
        (NULL));
  return TRUE;
}

static gboolean
gst_point_cloud_deskew_start (GstBaseTransform *transform)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  g_autofree gchar *location = NULL;

  ndt_pose_set_identity (&self->mount);
  GST_OBJECT_LOCK (self);
  location = g_strdup (self->location);
  if (self->sensor_pose) {
    memcpy (self->mount.position, self->sensor_pose->position, sizeof self->mount.position);
    memcpy (
        self->mount.orientation, self->sensor_pose->orientation, sizeof self->mount.orientation);
  }
  self->n_scans = self->n_compensated = self->n_points_left = 0;
  GST_OBJECT_UNLOCK (self);

  if (!ndt_pose_normalize (&self->mount)) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("The pose in sensor-pose is not finite, or its quaternion is zero."), (NULL));
    return FALSE;
  }
  if (location && *location) {
    if (!gst_deskew_load_poses (GST_ELEMENT (self), location, self->trajectory))
      return FALSE;
    GST_INFO_OBJECT (self, "%u poses of \"%s\"", self->trajectory->len, location);
  }
  self->deskewer = ndt_deskewer_new ();
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_deskew_parent_class)->start (transform);
}

static gboolean
gst_point_cloud_deskew_stop (GstBaseTransform *transform)
{
  GstPointCloudDeskew *self = GST_POINT_CLOUD_DESKEW (transform);
  g_array_set_size (self->trajectory, 0);
  gst_pose_queue_clear (self->poses);
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
  case PROP_TS_OFFSET:
    self->ts_offset = g_value_get_int64 (value);
    break;
  case PROP_MAX_POSE_GAP:
    self->max_pose_gap = g_value_get_uint64 (value);
    break;
  case PROP_POSE_LATENCY:
    self->pose_latency = g_value_get_uint64 (value);
    break;
  case PROP_ROLE:
    self->role = (GstPoseRole)g_value_get_enum (value);
    break;
  case PROP_INSTANT:
    self->instant = (Instant)g_value_get_enum (value);
    break;
  case PROP_SENSOR_POSE:
    if (self->sensor_pose)
      gst_point_cloud_pose_free (self->sensor_pose);
    self->sensor_pose = g_value_dup_boxed (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
  if (id == PROP_INSTANT)
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  if (id == PROP_POSE_LATENCY && GST_STATE (self) > GST_STATE_READY)
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
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
  case PROP_TS_OFFSET:
    g_value_set_int64 (value, self->ts_offset);
    break;
  case PROP_MAX_POSE_GAP:
    g_value_set_uint64 (value, self->max_pose_gap);
    break;
  case PROP_POSE_LATENCY:
    g_value_set_uint64 (value, self->pose_latency);
    break;
  case PROP_ROLE:
    g_value_set_enum (value, (gint)self->role);
    break;
  case PROP_INSTANT:
    g_value_set_enum (value, (gint)self->instant);
    break;
  case PROP_SENSOR_POSE:
    g_value_set_boxed (value, self->sensor_pose);
    break;
  case PROP_STATS:
    g_value_take_boxed (
        value, gst_structure_new ("application/x-pointclouddeskew-stats", "scans", G_TYPE_UINT64,
                   self->n_scans, "compensated", G_TYPE_UINT64, self->n_compensated, "points-left",
                   G_TYPE_UINT64, self->n_points_left, "cut", G_TYPE_UINT64,
                   gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)), NULL));
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
  gst_pose_queue_free (self->poses);
  gst_point_times_free (self->times);
  g_array_unref (self->window);
  g_array_unref (self->trajectory);
  g_free (self->location);
  g_clear_pointer (&self->sensor_pose, gst_point_cloud_pose_free);
  G_OBJECT_CLASS (gst_point_cloud_deskew_parent_class)->finalize (object);
}

static const GstRenamedProperty renamed[] = {
    {"time-offset", G_TYPE_INT64, "is called “ts-offset” since 0.2"},
    {"max-gap", G_TYPE_UINT64, "is called “max-pose-gap” since 0.2"},
    {"pose-timeout", G_TYPE_UINT64, "is called “pose-latency” since 0.2"},
    {"times-location", G_TYPE_STRING, "is one of rawpointcloudparse since 0.2"},
};

static void
gst_point_cloud_deskew_class_init (GstPointCloudDeskewClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstPointCloudFilterClass *filter_class = GST_POINT_CLOUD_FILTER_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  object_class->set_property = gst_point_cloud_deskew_set_property;
  object_class->get_property = gst_point_cloud_deskew_get_property;
  object_class->finalize = gst_point_cloud_deskew_finalize;

  g_object_class_install_property (object_class, PROP_LOCATION,
      g_param_spec_string ("location", "Location",
          "Trajectory file (TUM or CSV) of the sensor or the body; its times are PTS (unset = "
          "poses of a pose pad, or on the scans)",
          NULL, flags | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (object_class, PROP_TS_OFFSET,
      g_param_spec_int64 ("ts-offset", "Timestamp Offset",
          "Nanoseconds added to a PTS to find its pose in the file", G_MININT64, G_MAXINT64, 0,
          flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_MAX_POSE_GAP,
      g_param_spec_uint64 ("max-pose-gap", "Maximum Pose Gap",
          "Nanoseconds between two poses beyond which the motion between them is not known (0 = "
          "any)",
          0, G_MAXUINT64, DEFAULT_MAX_POSE_GAP, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_POSE_LATENCY,
      g_param_spec_uint64 ("pose-latency", "Pose Latency",
          "Live: nanoseconds that a scan waits at most for the poses of a pose pad; part of the "
          "reported latency",
          0, 3600 * GST_SECOND, GST_POSE_QUEUE_DEFAULT_LATENCY, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_ROLE,
      g_param_spec_enum ("role", "Role", "Role of the poses on the scans to take the motion from",
          GST_TYPE_POSE_ROLE, GST_POSE_ROLE_ODOMETRY, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_INSTANT,
      g_param_spec_enum ("instant", "Instant", "Instant of a scan that its points are brought to",
          instant_get_type (), INSTANT_END, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_SENSOR_POSE,
      g_param_spec_boxed ("sensor-pose", "Sensor Pose",
          "Where the sensor is on the body whose poses are given: \"x,y,z[,yaw]\", "
          "\"x,y,z,roll,pitch,yaw\" (m, degrees) or \"x,y,z,qx,qy,qz,qw\" (unset = they are the "
          "sensor's)",
          GST_TYPE_POINT_CLOUD_POSE, flags | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Counts since the start: scans, compensated (scans), points-left (points of those that "
          "stayed where they were)",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_set_static_metadata (element_class, "Point cloud motion compensation",
      "Filter/Effect/PointCloud", "Takes a sensor's motion during a scan out of its points",
      "The gst-ndt developers");
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_pose_queue_pad_class_init (element_class);
  gst_type_mark_as_plugin_api (instant_get_type (), 0);

  element_class->request_new_pad = gst_point_cloud_deskew_request_new_pad;
  element_class->release_pad = gst_pose_queue_pad_release;
  element_class->change_state = gst_point_cloud_deskew_change_state;
  transform_class->transform_caps = gst_point_cloud_deskew_transform_caps;
  transform_class->query = gst_point_cloud_deskew_query;
  transform_class->start = gst_point_cloud_deskew_start;
  transform_class->stop = gst_point_cloud_deskew_stop;
  transform_class->src_event = gst_point_cloud_deskew_src_event;
  transform_class->sink_event = gst_point_cloud_deskew_sink_event;
  transform_class->transform_ip = gst_point_cloud_deskew_transform_ip;
  filter_class->set_info = gst_point_cloud_deskew_set_info;
  filter_class->reset = gst_point_cloud_deskew_reset;

  gst_renamed_properties_install (object_class, N_PROPERTIES, renamed, G_N_ELEMENTS (renamed));

  GST_DEBUG_CATEGORY_INIT (
      gst_point_cloud_deskew_debug, "pointclouddeskew", 0, "motion compensation of point clouds");
}

static void
gst_point_cloud_deskew_init (GstPointCloudDeskew *self)
{
  self->poses = gst_pose_queue_new (pose_roles, G_N_ELEMENTS (pose_roles));
  self->times = gst_point_times_new (GST_ELEMENT (self));
  self->window = g_array_new (FALSE, FALSE, sizeof (NdtTimedPose));
  self->trajectory = g_array_new (FALSE, FALSE, sizeof (NdtTimedPose));
  self->max_pose_gap = DEFAULT_MAX_POSE_GAP;
  self->pose_latency = GST_POSE_QUEUE_DEFAULT_LATENCY;
  self->role = GST_POSE_ROLE_ODOMETRY;
  self->instant = INSTANT_END;
  gst_base_transform_set_in_place (GST_BASE_TRANSFORM (self), TRUE);
  gst_pad_set_iterate_internal_links_function (
      GST_BASE_TRANSFORM_SINK_PAD (self), gst_pose_queue_pad_iterate_scans);
  gst_pad_set_iterate_internal_links_function (
      GST_BASE_TRANSFORM_SRC_PAD (self), gst_pose_queue_pad_iterate_scans);
}
