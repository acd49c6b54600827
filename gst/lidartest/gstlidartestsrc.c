/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-lidartestsrc
 * @title: lidartestsrc
 *
 * A simulated rotating lidar that is driven through a generated world, with the true pose on every
 * scan (a #GstPoseMeta with the role `ground-truth`). The same properties give the same bytes on
 * every run and with any number of threads.
 *
 * A buffer is one round of the sensor. Its PTS is the instant of the first firing, its DURATION the
 * time of a round. Points are in the sensor's
 * frame (x forward, y left, z up, metres) in the order of firing; beams without a return have no
 * point. With #GstLidarTestSrc:motion-distortion each column of points is seen from where the
 * sensor is when it fires, which the field `time` says, and the poses are those at the end, PTS +
 * DURATION. Otherwise a scan is of one instant, the PTS: all points are seen from the pose at it,
 * `time` is 0, and the poses are those at it. The meta of a pose says which instant it is of.
 *
 * The path is a round that starts at the world's origin along x, so that the first pose is near
 * `0,0,1.8` with the default #GstLidarTestSrc:mount-height; the ground is at z = 0.
 *
 * #GstLidarTestSrc:seed makes the world, #GstLidarTestSrc:noise-seed everything else, so that two
 * runs can differ in noise, traffic, start and lane position and still see the same world.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -v lidartestsrc num-buffers=20 world=town rings=64 !
 * pointcloud/x-raw,format=XYZI_F32LE,framerate=10/1 ! fakesink dump=false
 * ]| Twenty scans of a town.
 * |[
 * ndt-map simulate --world=hall hall.pcd
 * gst-launch-1.0 lidartestsrc num-buffers=5 world=hall !
 * ndtlocalize map-location=hall.pcd initial-pose=0,0,1.8 ! fakesink
 * ]| A map of the hall, and scans of it localized in the map.
 */
#include "config.h"

#include "gstlidartestsrc.h"

#include <string.h>

#include <gst/pointcloud/pointcloud.h>

#include "gstlidartestsettings.h"
#include "gst/common/gstrenamed.h"
#include "ndtcore/sim/scanner/ndt-sim-odometry.h"
#include "ndtcore/sim/scanner/ndt-sim-scanner.h"

GST_DEBUG_CATEGORY_STATIC (lidar_test_src_debug);
#define GST_CAT_DEFAULT lidar_test_src_debug

#define DEFAULT_FPS 10

/* The other properties are those of the settings. */
#define PROP_IS_LIVE GST_LIDAR_TEST_SETTINGS_END
#define PROP_RENAMED (GST_LIDAR_TEST_SETTINGS_END + 1)

static const GstRenamedProperty renamed_properties[] = {
    {"map-location", G_TYPE_STRING,
        "is gone since 0.2: “ndt-map simulate OUT.pcd” writes the map, with options that are named "
        "like the properties world, seed, noise-seed, range-noise and offset"},
    {"map-spacing", G_TYPE_DOUBLE, "is the option “--map-spacing” of “ndt-map simulate” since 0.2"},
};

struct _GstLidarTestSrc {
  GstPushSrc parent;

  GstLidarTestSettings settings; /* object lock */

  /* Made on start from the settings. */
  gdouble origin[3]; /* of the world in the map's frame */
  gboolean motion_distortion;
  gboolean with_odometry;
  guint n_rings, n_columns;
  NdtSimWorld *world;
  NdtSimMotion *motion;
  NdtSimMotion *traffic; /* NULL: the same as motion */
  NdtSimScanner *scanner;
  NdtSimReturn *returns;
  NdtSimOdometry odometry;
  guint64 n_scans; /* pushed since start */

  /* A change of the framerate counts from where it comes. */
  GstPointCloudInfo info;
  GstClockTime first_time; /* PTS of scan number first_scan */
  guint64 first_scan;
  GstClockTime latency; /* object lock: a round, NONE before caps */
};

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_NAME
            ", format=(string){ XYZIRT, XYZI_F32LE, XYZ_F32LE }, layout=(string)interleaved"
            ", framerate=(fraction)[ 1/1, 50/1 ]"));

#define gst_lidar_test_src_parent_class parent_class
G_DEFINE_TYPE (GstLidarTestSrc, gst_lidar_test_src, GST_TYPE_PUSH_SRC)
GST_ELEMENT_REGISTER_DEFINE (lidartestsrc, "lidartestsrc", GST_RANK_NONE, GST_TYPE_LIDAR_TEST_SRC)

static void
gst_lidar_test_src_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (object);
  gboolean known;

  if (id == PROP_IS_LIVE) {
    gst_base_src_set_live (GST_BASE_SRC (self), g_value_get_boolean (value));
    return;
  }
  GST_OBJECT_LOCK (self);
  known = gst_lidar_test_settings_set (&self->settings, id, value);
  GST_OBJECT_UNLOCK (self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
gst_lidar_test_src_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (object);
  gboolean known;

  if (id == PROP_IS_LIVE) {
    g_value_set_boolean (value, gst_base_src_is_live (GST_BASE_SRC (self)));
    return;
  }
  GST_OBJECT_LOCK (self);
  known = gst_lidar_test_settings_get (&self->settings, id, value);
  GST_OBJECT_UNLOCK (self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static gboolean
gst_lidar_test_src_stop (GstBaseSrc *base)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (base);

  g_clear_pointer (&self->scanner, ndt_sim_scanner_free);
  g_clear_pointer (&self->traffic, ndt_sim_motion_free);
  g_clear_pointer (&self->motion, ndt_sim_motion_free);
  g_clear_pointer (&self->world, ndt_sim_world_free);
  g_clear_pointer (&self->returns, g_free);
  return TRUE;
}

static void
make_scanner (GstLidarTestSrc *self, const GstLidarTestSettings *settings)
{
  NdtSimSensor sensor = {
      .n_rings = (guint)settings->rings,
      .n_columns = settings->columns,
      .max_range = settings->max_range,
      .range_noise = settings->range_noise,
      .dropout = settings->dropout,
      .motion_distortion = settings->motion_distortion,
      .mount_height = settings->mount_height,
      .lateral = settings->path_offset,
      .noise_seed = settings->noise_seed,
      .n_vehicles = settings->moving_objects,
  };
  if (settings->sensor_pose) {
    sensor.is_mounted = TRUE;
    memcpy (sensor.mount.position, settings->sensor_pose->position, sizeof sensor.mount.position);
    memcpy (sensor.mount.orientation, settings->sensor_pose->orientation,
        sizeof sensor.mount.orientation);
  }
  self->world = ndt_sim_world_new ((NdtSimWorldKind)settings->world, settings->seed);
  NdtSimDriver driver = {
      .speed = settings->speed < 0 ? self->world->default_speed : settings->speed,
      .lateral_acceleration = settings->lateral_acceleration,
      .longitudinal_acceleration = settings->longitudinal_acceleration,
  };
  self->motion = ndt_sim_motion_new (self->world->path, &driver, settings->start_offset);
  if (driver.speed == 0) {
    driver.speed = self->world->default_speed;
    self->traffic = ndt_sim_motion_new (self->world->path, &driver, settings->start_offset);
  }
  self->scanner = ndt_sim_scanner_new (self->world, self->motion,
      self->traffic ? self->traffic : self->motion, &sensor, settings->n_threads);
  self->n_rings = (guint)settings->rings;
  self->n_columns = settings->columns;
  self->returns = g_new (NdtSimReturn, (gsize)self->n_rings * self->n_columns);
}

/* Makes everything from the settings. */
static gboolean
set_up (GstLidarTestSrc *self, const GstLidarTestSettings *settings)
{
  const GstPointCloudPose *offset = settings->offset;

  memset (self->origin, 0, sizeof self->origin);
  if (offset) {
    if (fabs (offset->orientation[3]) != 1) {
      GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
          ("The property “offset” has a rotation: give three numbers of metres like "
           "388096,3948996,0."),
          (NULL));
      return FALSE;
    }
    memcpy (self->origin, offset->position, sizeof self->origin);
  }
  make_scanner (self, settings);
  self->motion_distortion = settings->motion_distortion;
  self->with_odometry = settings->odometry;
  ndt_sim_odometry_init (&self->odometry, settings->odometry_translation_noise,
      settings->odometry_rotation_noise * NDT_SIM_DEG, settings->noise_seed);
  gst_point_cloud_info_init (&self->info);
  self->n_scans = 0;
  self->first_time = settings->start_time;
  self->first_scan = 0;
  GST_INFO_OBJECT (self,
      "world of seed %u: %u surfaces, round of %.0f m; %u rings, %u columns, %u other vehicles",
      settings->seed, self->world->shapes->len, ndt_sim_path_get_length (self->world->path),
      self->n_rings, self->n_columns, settings->moving_objects);
  return TRUE;
}

static gboolean
gst_lidar_test_src_start (GstBaseSrc *base)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (base);
  GstLidarTestSettings settings;
  gboolean done;

  GST_OBJECT_LOCK (self);
  gst_lidar_test_settings_copy (&self->settings, &settings);
  GST_OBJECT_UNLOCK (self);
  done = set_up (self, &settings);
  gst_lidar_test_settings_clear (&settings);
  if (!done)
    gst_lidar_test_src_stop (base);
  return done;
}

static GstCaps *
gst_lidar_test_src_fixate (GstBaseSrc *base, GstCaps *caps)
{
  GstPointCloudInfo info;
  g_autoptr (GError) error = NULL;
  GstStructure *structure;

  caps = gst_caps_make_writable (gst_caps_truncate (caps));
  structure = gst_caps_get_structure (caps, 0);
  gst_structure_fixate_field_nearest_fraction (structure, "framerate", DEFAULT_FPS, 1);
  caps = GST_BASE_SRC_CLASS (parent_class)->fixate (base, caps);

  /* A format's name alone says what the points are; spelled out for those who read the rest. */
  if (!gst_point_cloud_info_from_caps (&info, caps, &error)) {
    GST_WARNING_OBJECT (base, "cannot provide %" GST_PTR_FORMAT ": %s", caps, error->message);
    return caps;
  }
  if (info.frame_id == 0)
    info.frame_id = g_quark_from_static_string ("lidar");
  gst_caps_unref (caps);
  caps = gst_point_cloud_info_to_caps (&info);
  gst_caps_set_simple (caps, "motion-compensated", G_TYPE_BOOLEAN,
      !GST_LIDAR_TEST_SRC (base)->motion_distortion, NULL);
  return caps;
}

static GstClockTime
scan_time (const GstLidarTestSrc *self, guint64 scan)
{
  return self->first_time + gst_util_uint64_scale (scan - self->first_scan,
                                (guint64)self->info.fps_d * GST_SECOND, self->info.fps_n);
}

static gboolean
gst_lidar_test_src_set_caps (GstBaseSrc *base, GstCaps *caps)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (base);
  g_autoptr (GError) error = NULL;
  GstPointCloudInfo info;
  gboolean changed;

  if (!gst_point_cloud_info_from_caps (&info, caps, &error)) {
    GST_ERROR_OBJECT (self, "%s", error->message);
    return FALSE;
  }
  if (info.width != 0) {
    GST_ERROR_OBJECT (self, "scans have as many points as beams return: not width × height");
    return FALSE;
  }
  if (self->info.fps_n != 0) {
    self->first_time = scan_time (self, self->n_scans);
    self->first_scan = self->n_scans;
  }
  self->info = info;
  GST_INFO_OBJECT (
      self, "from scan %" G_GUINT64_FORMAT " on: %" GST_PTR_FORMAT, self->n_scans, caps);

  GST_OBJECT_LOCK (self);
  {
    const GstClockTime latency =
        gst_util_uint64_scale (GST_SECOND, (guint64)info.fps_d, (guint64)info.fps_n);
    changed = self->latency != latency;
    self->latency = latency;
  }
  GST_OBJECT_UNLOCK (self);
  if (changed && gst_base_src_is_live (base))
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
  return TRUE;
}

static gsize
max_size (const GstLidarTestSrc *self)
{
  return (gsize)self->n_rings * self->n_columns * self->info.point_step;
}

/* Room for a return of every beam, in a pool that comes from downstream or is our own. */
static gboolean
gst_lidar_test_src_decide_allocation (GstBaseSrc *base, GstQuery *query)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (base);
  g_autoptr (GstBufferPool) pool = NULL;
  const gboolean proposed = gst_query_get_n_allocation_pools (query) > 0;
  guint size = 0, min = 0, max = 0;

  if (proposed)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  if (pool == NULL)
    pool = gst_buffer_pool_new ();
  size = MAX (size, (guint)max_size (self));
  if (proposed)
    gst_query_set_nth_allocation_pool (query, 0, pool, size, min, max);
  else
    gst_query_add_allocation_pool (query, pool, size, min, max);
  return GST_BASE_SRC_CLASS (parent_class)->decide_allocation (base, query);
}

/* Writes the returns of the scan as points and returns how many there are. @duration: seconds over
 * which they were fired, 0 for a scan of one instant. */
static gsize
write_points (const GstLidarTestSrc *self, gdouble duration, guint8 *out)
{
  const gsize step = self->info.point_step;
  const GstPointCloudFormat format = self->info.format;
  const NdtSimReturn *returns = self->returns;
  gsize n = 0;
  guint column, ring;

  for (column = 0; column < self->n_columns; column++) {
    const gfloat time = (gfloat)(duration * column / self->n_columns);

    for (ring = 0; ring < self->n_rings; ring++, returns++) {
      gfloat point[6] = {0};
      gdouble beam[3];
      guint i;

      if (returns->range == 0)
        continue;
      ndt_sim_scanner_get_beam (self->scanner, column, ring, beam);
      for (i = 0; i < 3; i++)
        point[i] = (gfloat)(returns->range * beam[i]);
      point[3] = returns->intensity;
      if (format == GST_POINT_CLOUD_FORMAT_XYZIRT) {
        const guint16 number = (guint16)ring;
        memcpy (&point[4], &number, sizeof number);
        point[5] = time;
      }
      memcpy (out + n * step, point, step);
      n++;
    }
  }
  return n;
}

static void
add_pose (GstLidarTestSrc *self, GstBuffer *buffer, GstPoseRole role, const NdtPose *pose,
    GstClockTime time, const gchar *frame)
{
  GstPoseMeta *meta = gst_buffer_add_pose_meta (buffer, role, pose->position, pose->orientation);

  meta->parent_frame = g_quark_from_string (frame);
  meta->child_frame = self->info.frame_id;
  meta->timestamp = time;
  meta->sequence = self->n_scans;
}

static GstFlowReturn
gst_lidar_test_src_fill (GstPushSrc *push, GstBuffer *buffer)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (push);
  const GstClockTime start = scan_time (self, self->n_scans);
  const GstClockTime end = scan_time (self, self->n_scans + 1);
  const gdouble start_seconds = (gdouble)start / GST_SECOND;
  /* Of the poses, and of the last firing. */
  const GstClockTime last = self->motion_distortion ? end : start;
  const gdouble last_seconds = (gdouble)last / GST_SECOND;
  GstMapInfo map = GST_MAP_INFO_INIT;
  NdtPose pose;
  gsize n_points;
  guint i;

  if (!gst_buffer_map (buffer, &map, GST_MAP_WRITE) || map.size < max_size (self)) {
    GST_ELEMENT_ERROR (self, RESOURCE, WRITE,
        ("The buffers that the next element offers cannot hold a scan of %u points.",
            self->n_rings * self->n_columns),
        (NULL));
    if (map.memory)
      gst_buffer_unmap (buffer, &map);
    return GST_FLOW_ERROR;
  }
  ndt_sim_scanner_cast (self->scanner, self->n_scans, start_seconds, last_seconds, self->returns);
  n_points = write_points (self, last_seconds - start_seconds, map.data);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_resize (buffer, 0, (gssize)(n_points * self->info.point_step));

  GST_BUFFER_PTS (buffer) = start;
  GST_BUFFER_DTS (buffer) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION (buffer) = end - start;
  GST_BUFFER_OFFSET (buffer) = self->n_scans;
  GST_BUFFER_OFFSET_END (buffer) = self->n_scans + 1;
  GST_BUFFER_FLAG_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE);

  ndt_sim_scanner_get_body_pose (self->scanner, last_seconds, &pose);
  if (self->with_odometry) {
    NdtPose odometry;
    ndt_sim_odometry_step (&self->odometry, &pose, &odometry);
    add_pose (self, buffer, GST_POSE_ROLE_ODOMETRY, &odometry, last, "odom");
  }
  for (i = 0; i < 3; i++)
    pose.position[i] += self->origin[i];
  add_pose (self, buffer, GST_POSE_ROLE_GROUND_TRUTH, &pose, last, "map");
  GST_LOG_OBJECT (self,
      "scan %" G_GUINT64_FORMAT " at %" GST_TIME_FORMAT ": %" G_GSIZE_FORMAT
      " points, truth %.3f, %.3f, %.3f",
      self->n_scans, GST_TIME_ARGS (start), n_points, pose.position[0], pose.position[1],
      pose.position[2]);
  self->n_scans++;
  return GST_FLOW_OK;
}

/* A scan is there when its round is over. */
static void
gst_lidar_test_src_get_times (
    GstBaseSrc *base, GstBuffer *buffer, GstClockTime *start, GstClockTime *end)
{
  *start = *end = GST_CLOCK_TIME_NONE;
  if (gst_base_src_is_live (base)) {
    *start = GST_BUFFER_PTS (buffer) + GST_BUFFER_DURATION (buffer);
    *end = *start + GST_BUFFER_DURATION (buffer);
  }
}

static gboolean
gst_lidar_test_src_query (GstBaseSrc *base, GstQuery *query)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (base);
  const gboolean live = gst_base_src_is_live (base);
  GstClockTime latency;

  if (GST_QUERY_TYPE (query) != GST_QUERY_LATENCY)
    return GST_BASE_SRC_CLASS (parent_class)->query (base, query);

  GST_OBJECT_LOCK (self);
  latency = self->latency;
  GST_OBJECT_UNLOCK (self);
  if (live && latency == GST_CLOCK_TIME_NONE)
    return FALSE;
  /* A simulation that is kept waiting loses nothing: there is no maximum. */
  GST_DEBUG_OBJECT (self, "latency: live %d, %" GST_TIME_FORMAT, live, GST_TIME_ARGS (latency));
  gst_query_set_latency (query, live, live ? latency : 0, GST_CLOCK_TIME_NONE);
  return TRUE;
}

static void
gst_lidar_test_src_finalize (GObject *object)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (object);

  gst_lidar_test_settings_clear (&self->settings);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
gst_lidar_test_src_init (GstLidarTestSrc *self)
{
  gst_lidar_test_settings_init (&self->settings);
  self->latency = GST_CLOCK_TIME_NONE;
  gst_point_cloud_info_init (&self->info);
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

/* The world is driven through in order. GstBaseSrc seeks on what an element is sent without asking
 * whether it can (1.22), and while the state changes that starts a thread which nobody stops. */
static gboolean
gst_lidar_test_src_send_event (GstElement *element, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) != GST_EVENT_SEEK)
    return GST_ELEMENT_CLASS (gst_lidar_test_src_parent_class)->send_event (element, event);
  gst_event_unref (event);
  return FALSE;
}

static void
gst_lidar_test_src_class_init (GstLidarTestSrcClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSrcClass *base_class = GST_BASE_SRC_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (lidar_test_src_debug, "lidartestsrc", 0, "simulated lidar");

  object_class->set_property = gst_lidar_test_src_set_property;
  object_class->get_property = gst_lidar_test_src_get_property;
  object_class->finalize = gst_lidar_test_src_finalize;
  gst_lidar_test_settings_install (object_class);
  g_object_class_install_property (object_class, PROP_IS_LIVE,
      g_param_spec_boolean ("is-live", "Is Live",
          "Push each scan when its round is over by the pipeline's clock", FALSE,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY));

  element_class->send_event = gst_lidar_test_src_send_event;
  gst_element_class_set_static_metadata (element_class, "Lidar test source", "Source/PointCloud",
      "Scans of a generated world by a simulated lidar, with true poses", "The gst-ndt developers");
  gst_element_class_add_static_pad_template (element_class, &src_template);

  base_class->start = gst_lidar_test_src_start;
  base_class->stop = gst_lidar_test_src_stop;
  base_class->fixate = gst_lidar_test_src_fixate;
  base_class->set_caps = gst_lidar_test_src_set_caps;
  base_class->decide_allocation = gst_lidar_test_src_decide_allocation;
  base_class->get_times = gst_lidar_test_src_get_times;
  base_class->query = gst_lidar_test_src_query;
  GST_PUSH_SRC_CLASS (klass)->fill = gst_lidar_test_src_fill;

  gst_type_mark_as_plugin_api (GST_TYPE_LIDAR_TEST_SRC_WORLD, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_LIDAR_TEST_SRC_RINGS, 0);
  gst_renamed_properties_install (
      object_class, PROP_RENAMED, renamed_properties, G_N_ELEMENTS (renamed_properties));
}
