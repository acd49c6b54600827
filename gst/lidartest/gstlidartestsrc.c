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
 * time of a round, and its poses are those at the end, PTS + DURATION. Points are in the sensor's
 * frame (x forward, y left, z up, metres) in the order of firing; beams without a return have no
 * point. With #GstLidarTestSrc:motion-distortion each column of points is seen from where the
 * sensor is when it fires; otherwise all are seen from the pose at the end.
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
 * gst-launch-1.0 lidartestsrc num-buffers=1 world=hall map-location=hall.pcd ! fakesink
 * ]| Writes a map of the hall.
 */
#include "config.h"

#include "gstlidartestsrc.h"

#include <stddef.h>
#include <string.h>

#include <gst/pointcloud/pointcloud.h>

#include "lidar-map.h"
#include "lidar-odometry.h"
#include "lidar-scanner.h"

GST_DEBUG_CATEGORY_STATIC (lidar_test_src_debug);
#define GST_CAT_DEFAULT lidar_test_src_debug

#define DEFAULT_FPS 10

typedef struct {
  gint world; /* LidarWorldKind */
  guint seed;
  guint noise_seed;
  gint rings;
  guint columns;
  gdouble max_range;
  gdouble range_noise;
  gdouble dropout;
  gboolean motion_distortion;
  gdouble mount_height;
  guint moving_objects;
  gdouble speed;
  gdouble start_offset;
  gdouble path_offset;
  gboolean odometry;
  gdouble odometry_translation_noise;
  gdouble odometry_rotation_noise;
  gchar *map_location;
  gdouble map_spacing;
  gchar *offset;
  guint n_threads;
} Settings;

static const Settings default_settings = {
    .world = LIDAR_WORLD_TOWN,
    .rings = 64,
    .columns = 1024,
    .max_range = 100,
    .range_noise = 0.02,
    .mount_height = 1.8,
    .moving_objects = 8,
    .speed = -1,
    .odometry_translation_noise = 0.02,
    .odometry_rotation_noise = 0.1,
    .map_spacing = 0.25,
};

struct _GstLidarTestSrc {
  GstPushSrc parent;

  Settings settings; /* object lock */

  /* Made on start from the settings. */
  gdouble origin[3]; /* of the world in the map's frame */
  gboolean with_odometry;
  guint n_rings, n_columns;
  LidarWorld *world;
  LidarMotion *motion;
  LidarMotion *traffic; /* NULL: the same as motion */
  LidarScanner *scanner;
  LidarReturn *returns;
  LidarOdometry odometry;
  guint64 n_scans; /* pushed since start */

  /* A change of the framerate counts from where it comes. */
  GstPointCloudInfo info;
  GstClockTime first_time; /* PTS of scan number first_scan */
  guint64 first_scan;
  GstClockTime latency; /* object lock: a round, NONE before caps */
};

enum {
  PROP_0,
  PROP_WORLD,
  PROP_SEED,
  PROP_NOISE_SEED,
  PROP_RINGS,
  PROP_COLUMNS,
  PROP_MAX_RANGE,
  PROP_RANGE_NOISE,
  PROP_DROPOUT,
  PROP_MOTION_DISTORTION,
  PROP_MOUNT_HEIGHT,
  PROP_MOVING_OBJECTS,
  PROP_SPEED,
  PROP_START_OFFSET,
  PROP_PATH_OFFSET,
  PROP_ODOMETRY,
  PROP_ODOMETRY_TRANSLATION_NOISE,
  PROP_ODOMETRY_ROTATION_NOISE,
  PROP_IS_LIVE,
  PROP_MAP_LOCATION,
  PROP_MAP_SPACING,
  PROP_OFFSET,
  PROP_N_THREADS,
};

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_NAME
            ", format=(string){ XYZIRT, XYZI_F32LE, XYZ_F32LE }, layout=(string)interleaved"
            ", framerate=(fraction)[ 1/1, 50/1 ]"));

#define GST_TYPE_LIDAR_TEST_SRC_WORLD (gst_lidar_test_src_world_get_type ())
static GType
gst_lidar_test_src_world_get_type (void)
{
  static GType type = 0;
  static const GEnumValue values[] = {
      {LIDAR_WORLD_TOWN, "Streets with houses, poles, trees and parked cars", "town"},
      {LIDAR_WORLD_TUNNEL, "A road tunnel closed to a ring", "tunnel"},
      {LIDAR_WORLD_HIGHWAY, "A highway with few features", "highway"},
      {LIDAR_WORLD_HALL, "A warehouse with racks and columns", "hall"},
      {0, NULL, NULL},
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstLidarTestSrcWorld", values));
  return type;
}

#define GST_TYPE_LIDAR_TEST_SRC_RINGS (gst_lidar_test_src_rings_get_type ())
static GType
gst_lidar_test_src_rings_get_type (void)
{
  static GType type = 0;
  static const GEnumValue values[] = {
      {16, "16 rings, -15 to 15 degrees", "16"},
      {32, "32 rings, -30.67 to 10.67 degrees", "32"},
      {64, "64 rings, -24.33 to 2 degrees, denser above", "64"},
      {128, "128 rings, -22.5 to 22.5 degrees", "128"},
      {0, NULL, NULL},
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstLidarTestSrcRings", values));
  return type;
}

#define gst_lidar_test_src_parent_class parent_class
G_DEFINE_TYPE (GstLidarTestSrc, gst_lidar_test_src, GST_TYPE_PUSH_SRC)
GST_ELEMENT_REGISTER_DEFINE (lidartestsrc, "lidartestsrc", GST_RANK_NONE, GST_TYPE_LIDAR_TEST_SRC)

/* Members of Settings that properties set; is-live is the base class's. */
static const gsize field_offsets[] = {
    [PROP_WORLD] = offsetof (Settings, world),
    [PROP_SEED] = offsetof (Settings, seed),
    [PROP_NOISE_SEED] = offsetof (Settings, noise_seed),
    [PROP_RINGS] = offsetof (Settings, rings),
    [PROP_COLUMNS] = offsetof (Settings, columns),
    [PROP_MAX_RANGE] = offsetof (Settings, max_range),
    [PROP_RANGE_NOISE] = offsetof (Settings, range_noise),
    [PROP_DROPOUT] = offsetof (Settings, dropout),
    [PROP_MOTION_DISTORTION] = offsetof (Settings, motion_distortion),
    [PROP_MOUNT_HEIGHT] = offsetof (Settings, mount_height),
    [PROP_MOVING_OBJECTS] = offsetof (Settings, moving_objects),
    [PROP_SPEED] = offsetof (Settings, speed),
    [PROP_START_OFFSET] = offsetof (Settings, start_offset),
    [PROP_PATH_OFFSET] = offsetof (Settings, path_offset),
    [PROP_ODOMETRY] = offsetof (Settings, odometry),
    [PROP_ODOMETRY_TRANSLATION_NOISE] = offsetof (Settings, odometry_translation_noise),
    [PROP_ODOMETRY_ROTATION_NOISE] = offsetof (Settings, odometry_rotation_noise),
    [PROP_MAP_LOCATION] = offsetof (Settings, map_location),
    [PROP_MAP_SPACING] = offsetof (Settings, map_spacing),
    [PROP_OFFSET] = offsetof (Settings, offset),
    [PROP_N_THREADS] = offsetof (Settings, n_threads),
};

static void
gst_lidar_test_src_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (object);
  gpointer field;

  if (id == PROP_IS_LIVE) {
    gst_base_src_set_live (GST_BASE_SRC (self), g_value_get_boolean (value));
    return;
  }
  g_return_if_fail (id < G_N_ELEMENTS (field_offsets));
  field = (guint8 *)&self->settings + field_offsets[id];
  GST_OBJECT_LOCK (self);
  switch (G_TYPE_FUNDAMENTAL (G_PARAM_SPEC_VALUE_TYPE (pspec))) {
  case G_TYPE_ENUM:
    *(gint *)field = g_value_get_enum (value);
    break;
  case G_TYPE_UINT:
    *(guint *)field = g_value_get_uint (value);
    break;
  case G_TYPE_DOUBLE:
    *(gdouble *)field = g_value_get_double (value);
    break;
  case G_TYPE_BOOLEAN:
    *(gboolean *)field = g_value_get_boolean (value);
    break;
  case G_TYPE_STRING:
    g_free (*(gchar **)field);
    *(gchar **)field = g_value_dup_string (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_lidar_test_src_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (object);
  gconstpointer field;

  if (id == PROP_IS_LIVE) {
    g_value_set_boolean (value, gst_base_src_is_live (GST_BASE_SRC (self)));
    return;
  }
  g_return_if_fail (id < G_N_ELEMENTS (field_offsets));
  field = (const guint8 *)&self->settings + field_offsets[id];
  GST_OBJECT_LOCK (self);
  switch (G_TYPE_FUNDAMENTAL (G_PARAM_SPEC_VALUE_TYPE (pspec))) {
  case G_TYPE_ENUM:
    g_value_set_enum (value, *(const gint *)field);
    break;
  case G_TYPE_UINT:
    g_value_set_uint (value, *(const guint *)field);
    break;
  case G_TYPE_DOUBLE:
    g_value_set_double (value, *(const gdouble *)field);
    break;
  case G_TYPE_BOOLEAN:
    g_value_set_boolean (value, *(const gboolean *)field);
    break;
  case G_TYPE_STRING:
    g_value_set_string (value, *(gchar *const *)field);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

/* "x,y,z" */
static gboolean
parse_offset (const gchar *text, gdouble out[3])
{
  guint i;

  for (i = 0; i < 3; i++) {
    gchar *end;
    out[i] = g_ascii_strtod (text, &end);
    if (end == text || !isfinite (out[i]))
      return FALSE;
    text = end + strspn (end, " ");
    if (i < 2 && *text++ != ',')
      return FALSE;
  }
  return *text == '\0';
}

static gboolean
write_map (GstLidarTestSrc *self, const Settings *settings)
{
  g_autoptr (GError) error = NULL;

  /* The map has noise of its own: it is not what the sensor sees. */
  if (lidar_map_write (self->world, settings->map_location, settings->map_spacing,
          settings->range_noise, lidar_hash (settings->noise_seed, 5, 0),
          settings->offset ? self->origin : NULL, &error))
    return TRUE;
  GST_ELEMENT_ERROR (self, RESOURCE, OPEN_WRITE,
      ("The map could not be written to \"%s\"; check that the folder exists and that you may "
       "write to it.",
          settings->map_location),
      ("%s", error->message));
  return FALSE;
}

static gboolean
gst_lidar_test_src_stop (GstBaseSrc *base)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (base);

  g_clear_pointer (&self->scanner, lidar_scanner_free);
  g_clear_pointer (&self->traffic, lidar_motion_free);
  g_clear_pointer (&self->motion, lidar_motion_free);
  g_clear_pointer (&self->world, lidar_world_free);
  g_clear_pointer (&self->returns, g_free);
  return TRUE;
}

static void
make_scanner (GstLidarTestSrc *self, const Settings *settings)
{
  const LidarSensor sensor = {
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
  gdouble speed;

  self->world = lidar_world_new ((LidarWorldKind)settings->world, settings->seed);
  speed = settings->speed < 0 ? self->world->default_speed : settings->speed;
  self->motion = lidar_motion_new (self->world->path, speed, settings->start_offset);
  if (speed == 0)
    self->traffic =
        lidar_motion_new (self->world->path, self->world->default_speed, settings->start_offset);
  self->scanner = lidar_scanner_new (self->world, self->motion,
      self->traffic ? self->traffic : self->motion, &sensor, settings->n_threads);
  self->n_rings = (guint)settings->rings;
  self->n_columns = settings->columns;
  self->returns = g_new (LidarReturn, (gsize)self->n_rings * self->n_columns);
}

static gboolean
gst_lidar_test_src_start (GstBaseSrc *base)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (base);
  g_autofree gchar *map_location = NULL;
  g_autofree gchar *offset = NULL;
  Settings settings;

  GST_OBJECT_LOCK (self);
  settings = self->settings;
  settings.map_location = map_location = g_strdup (settings.map_location);
  settings.offset = offset = g_strdup (settings.offset);
  GST_OBJECT_UNLOCK (self);

  memset (self->origin, 0, sizeof self->origin);
  if (settings.offset && !parse_offset (settings.offset, self->origin)) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("The offset \"%s\" is not three numbers of metres like \"388096,3948996,0\".",
            settings.offset),
        (NULL));
    return FALSE;
  }
  make_scanner (self, &settings);
  if (settings.map_location && !write_map (self, &settings)) {
    gst_lidar_test_src_stop (base);
    return FALSE;
  }
  self->with_odometry = settings.odometry;
  lidar_odometry_init (&self->odometry, settings.odometry_translation_noise,
      settings.odometry_rotation_noise * LIDAR_DEG, settings.noise_seed);
  gst_point_cloud_info_init (&self->info);
  self->n_scans = 0;
  self->first_time = 0;
  self->first_scan = 0;
  return TRUE;
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
  return gst_point_cloud_info_to_caps (&info);
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

/* Writes the returns of the scan as points and returns how many there are. */
static gsize
write_points (const GstLidarTestSrc *self, gdouble duration, guint8 *out)
{
  const gsize step = self->info.point_step;
  const GstPointCloudFormat format = self->info.format;
  const LidarReturn *returns = self->returns;
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
      lidar_scanner_get_beam (self->scanner, column, ring, beam);
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
    const gchar *frame)
{
  GstPoseMeta *meta = gst_buffer_add_pose_meta (buffer, role, pose->position, pose->orientation);

  meta->parent_frame = g_quark_from_string (frame);
  meta->child_frame = self->info.frame_id;
  meta->timestamp = GST_BUFFER_PTS (buffer) + GST_BUFFER_DURATION (buffer);
  meta->sequence = self->n_scans;
}

static GstFlowReturn
gst_lidar_test_src_fill (GstPushSrc *push, GstBuffer *buffer)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (push);
  const GstClockTime start = scan_time (self, self->n_scans);
  const GstClockTime end = scan_time (self, self->n_scans + 1);
  const gdouble start_seconds = (gdouble)start / GST_SECOND;
  const gdouble end_seconds = (gdouble)end / GST_SECOND;
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
  lidar_scanner_cast (self->scanner, self->n_scans, start_seconds, end_seconds, self->returns);
  n_points = write_points (self, end_seconds - start_seconds, map.data);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_resize (buffer, 0, (gssize)(n_points * self->info.point_step));

  GST_BUFFER_PTS (buffer) = start;
  GST_BUFFER_DTS (buffer) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION (buffer) = end - start;
  GST_BUFFER_OFFSET (buffer) = self->n_scans;
  GST_BUFFER_OFFSET_END (buffer) = self->n_scans + 1;
  GST_BUFFER_FLAG_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE);

  lidar_scanner_get_pose (self->scanner, end_seconds, &pose);
  if (self->with_odometry) {
    NdtPose odometry;
    lidar_odometry_step (&self->odometry, &pose, &odometry);
    add_pose (self, buffer, GST_POSE_ROLE_ODOMETRY, &odometry, "odom");
  }
  for (i = 0; i < 3; i++)
    pose.position[i] += self->origin[i];
  add_pose (self, buffer, GST_POSE_ROLE_GROUND_TRUTH, &pose, "map");
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
  gst_query_set_latency (query, live, live ? latency : 0, GST_CLOCK_TIME_NONE);
  return TRUE;
}

static void
gst_lidar_test_src_finalize (GObject *object)
{
  GstLidarTestSrc *self = GST_LIDAR_TEST_SRC (object);

  g_free (self->settings.map_location);
  g_free (self->settings.offset);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
gst_lidar_test_src_init (GstLidarTestSrc *self)
{
  self->settings = default_settings;
  self->latency = GST_CLOCK_TIME_NONE;
  gst_point_cloud_info_init (&self->info);
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

#define FLAGS (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)

static void
install_double (GObjectClass *klass, guint id, const gchar *name, const gchar *nick,
    const gchar *blurb, gdouble minimum, gdouble maximum)
{
  const gdouble value = *(const gdouble *)((const guint8 *)&default_settings + field_offsets[id]);
  g_object_class_install_property (
      klass, id, g_param_spec_double (name, nick, blurb, minimum, maximum, value, FLAGS));
}

static void
install_uint (GObjectClass *klass, guint id, const gchar *name, const gchar *nick,
    const gchar *blurb, guint minimum, guint maximum)
{
  const guint value = *(const guint *)((const guint8 *)&default_settings + field_offsets[id]);
  g_object_class_install_property (
      klass, id, g_param_spec_uint (name, nick, blurb, minimum, maximum, value, FLAGS));
}

static void
install_boolean (
    GObjectClass *klass, guint id, const gchar *name, const gchar *nick, const gchar *blurb)
{
  g_object_class_install_property (
      klass, id, g_param_spec_boolean (name, nick, blurb, FALSE, FLAGS));
}

static void
install_properties (GObjectClass *klass)
{
  g_object_class_install_property (klass, PROP_WORLD,
      g_param_spec_enum ("world", "World", "What the sensor is driven through",
          GST_TYPE_LIDAR_TEST_SRC_WORLD, default_settings.world, FLAGS));
  install_uint (klass, PROP_SEED, "seed", "Seed", "Seed of the world; any", 0, G_MAXUINT);
  install_uint (klass, PROP_NOISE_SEED, "noise-seed", "Noise seed",
      "Seed of noise, dropout, odometry, traffic and the map's noise; any", 0, G_MAXUINT);
  g_object_class_install_property (klass, PROP_RINGS,
      g_param_spec_enum ("rings", "Rings", "Model of the sensor by its number of rings",
          GST_TYPE_LIDAR_TEST_SRC_RINGS, default_settings.rings, FLAGS));
  install_uint (
      klass, PROP_COLUMNS, "columns", "Columns", "Firings of all rings in a round", 16, 8192);
  install_double (
      klass, PROP_MAX_RANGE, "max-range", "Maximum range", "Farthest return, metres", 1, 1000);
  install_double (klass, PROP_RANGE_NOISE, "range-noise", "Range noise",
      "Standard deviation of a range and of the map's points, metres", 0, 1);
  install_double (klass, PROP_DROPOUT, "dropout", "Dropout",
      "Fraction of the returns that are lost, 0 to 1", 0, 1);
  install_boolean (klass, PROP_MOTION_DISTORTION, "motion-distortion", "Motion distortion",
      "Fire each column from where the sensor is at that instant; otherwise all from the pose at "
      "the end of the scan");
  install_double (klass, PROP_MOUNT_HEIGHT, "mount-height", "Mount height",
      "Height of the sensor above the ground, metres", 0.3, 4);
  install_uint (klass, PROP_MOVING_OBJECTS, "moving-objects", "Moving objects",
      "Number of other vehicles on the round; they are not in the map", 0, LIDAR_MAX_VEHICLES);
  install_double (klass, PROP_SPEED, "speed", "Speed",
      "Speed on straights in m/s, lower in turns; 0 stands still, -1 takes what fits the world "
      "(town 8, tunnel 14, highway 25, hall 1.5)",
      -1, 60);
  install_double (klass, PROP_START_OFFSET, "start-offset", "Start offset",
      "Place on the round at time 0, metres along the path; wraps around", -1e6, 1e6);
  install_double (klass, PROP_PATH_OFFSET, "path-offset", "Path offset",
      "Distance of the sensor to the left of the path, metres", -1, 1);
  install_boolean (klass, PROP_ODOMETRY, "odometry", "Odometry",
      "Attach a pose with the role odometry as well: the true steps with noise, accumulated from "
      "the identity at the end of the first scan");
  install_double (klass, PROP_ODOMETRY_TRANSLATION_NOISE, "odometry-translation-noise",
      "Odometry translation noise",
      "Standard deviation of each axis of a step, as a fraction of the step's length", 0, 1);
  install_double (klass, PROP_ODOMETRY_ROTATION_NOISE, "odometry-rotation-noise",
      "Odometry rotation noise", "Standard deviation of each axis of a step's rotation, degrees", 0,
      45);
  g_object_class_install_property (klass, PROP_IS_LIVE,
      g_param_spec_boolean ("is-live", "Is live",
          "Push each scan when its round is over by the pipeline's clock", FALSE, FLAGS));
  g_object_class_install_property (klass, PROP_MAP_LOCATION,
      g_param_spec_string ("map-location", "Map location",
          "PCD file that a map of the world is written to on start; none if not set", NULL, FLAGS));
  install_double (klass, PROP_MAP_SPACING, "map-spacing", "Map spacing",
      "Distance between the map's points on a surface, metres", 0.1, 10);
  g_object_class_install_property (klass, PROP_OFFSET,
      g_param_spec_string ("offset", "Offset",
          "Coordinates \"x,y,z\" in metres of the world's origin in the map's frame, added to "
          "ground truth and map; the map is then stored in double; none if not set",
          NULL, FLAGS));
  install_uint (klass, PROP_N_THREADS, "n-threads", "Threads",
      "Threads that cast rays; 0: one per processor; the result is the same", 0, 256);
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
  install_properties (object_class);

  gst_element_class_set_static_metadata (element_class, "Lidar test source", "Source/PointCloud",
      "Scans of a generated world by a simulated lidar, with true poses", "gst-ndt");
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
}
