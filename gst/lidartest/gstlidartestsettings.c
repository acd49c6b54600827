/* SPDX-License-Identifier: MIT */
#include "gstlidartestsettings.h"

#include <stddef.h>

#include "ndtcore/sim/scanner/ndt-sim-scanner.h"

static const GstLidarTestSettings default_settings = {
    .world = NDT_SIM_WORLD_TOWN,
    .rings = 64,
    .columns = 1024,
    .max_range = 100,
    .range_noise = 0.02,
    .mount_height = 1.8,
    .moving_objects = 8,
    .speed = -1,
    .lateral_acceleration = 2,
    .longitudinal_acceleration = 1.5,
    .odometry_translation_noise = 0.02,
    .odometry_rotation_noise = 0.1,
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
  PROP_LATERAL_ACCELERATION,
  PROP_LONGITUDINAL_ACCELERATION,
  PROP_START_OFFSET,
  PROP_PATH_OFFSET,
  PROP_ODOMETRY,
  PROP_ODOMETRY_TRANSLATION_NOISE,
  PROP_ODOMETRY_ROTATION_NOISE,
  PROP_OFFSET,
  PROP_SENSOR_POSE,
  PROP_START_TIME,
  PROP_N_THREADS,
};

/* Members that the properties set. */
static const gsize field_offsets[] = {
    [PROP_WORLD] = offsetof (GstLidarTestSettings, world),
    [PROP_SEED] = offsetof (GstLidarTestSettings, seed),
    [PROP_NOISE_SEED] = offsetof (GstLidarTestSettings, noise_seed),
    [PROP_RINGS] = offsetof (GstLidarTestSettings, rings),
    [PROP_COLUMNS] = offsetof (GstLidarTestSettings, columns),
    [PROP_MAX_RANGE] = offsetof (GstLidarTestSettings, max_range),
    [PROP_RANGE_NOISE] = offsetof (GstLidarTestSettings, range_noise),
    [PROP_DROPOUT] = offsetof (GstLidarTestSettings, dropout),
    [PROP_MOTION_DISTORTION] = offsetof (GstLidarTestSettings, motion_distortion),
    [PROP_MOUNT_HEIGHT] = offsetof (GstLidarTestSettings, mount_height),
    [PROP_MOVING_OBJECTS] = offsetof (GstLidarTestSettings, moving_objects),
    [PROP_SPEED] = offsetof (GstLidarTestSettings, speed),
    [PROP_LATERAL_ACCELERATION] = offsetof (GstLidarTestSettings, lateral_acceleration),
    [PROP_LONGITUDINAL_ACCELERATION] = offsetof (GstLidarTestSettings, longitudinal_acceleration),
    [PROP_START_OFFSET] = offsetof (GstLidarTestSettings, start_offset),
    [PROP_PATH_OFFSET] = offsetof (GstLidarTestSettings, path_offset),
    [PROP_ODOMETRY] = offsetof (GstLidarTestSettings, odometry),
    [PROP_ODOMETRY_TRANSLATION_NOISE] = offsetof (GstLidarTestSettings, odometry_translation_noise),
    [PROP_ODOMETRY_ROTATION_NOISE] = offsetof (GstLidarTestSettings, odometry_rotation_noise),
    [PROP_OFFSET] = offsetof (GstLidarTestSettings, offset),
    [PROP_SENSOR_POSE] = offsetof (GstLidarTestSettings, sensor_pose),
    [PROP_START_TIME] = offsetof (GstLidarTestSettings, start_time),
    [PROP_N_THREADS] = offsetof (GstLidarTestSettings, n_threads),
};

GType
gst_lidar_test_src_world_get_type (void)
{
  static GType type = 0;
  static const GEnumValue values[] = {
      {NDT_SIM_WORLD_TOWN, "Streets with houses, poles, trees and parked cars", "town"},
      {NDT_SIM_WORLD_TUNNEL, "A road tunnel closed to a ring", "tunnel"},
      {NDT_SIM_WORLD_HIGHWAY, "A highway with few features", "highway"},
      {NDT_SIM_WORLD_HALL, "A warehouse with racks and columns", "hall"},
      {NDT_SIM_WORLD_BLOCKS, "A town whose blocks are all equal", "blocks"},
      {0, NULL, NULL},
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstLidarTestSrcWorld", values));
  return type;
}

GType
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

gboolean
gst_lidar_test_settings_set (GstLidarTestSettings *settings, guint id, const GValue *value)
{
  gpointer field;

  if (id == 0 || id >= G_N_ELEMENTS (field_offsets))
    return FALSE;
  field = (guint8 *)settings + field_offsets[id];
  switch (G_TYPE_FUNDAMENTAL (G_VALUE_TYPE (value))) {
  case G_TYPE_ENUM:
    *(gint *)field = g_value_get_enum (value);
    break;
  case G_TYPE_UINT:
    *(guint *)field = g_value_get_uint (value);
    break;
  case G_TYPE_UINT64:
    *(guint64 *)field = g_value_get_uint64 (value);
    break;
  case G_TYPE_DOUBLE:
    *(gdouble *)field = g_value_get_double (value);
    break;
  case G_TYPE_BOOLEAN:
    *(gboolean *)field = g_value_get_boolean (value);
    break;
  default:
    g_clear_pointer ((GstPointCloudPose **)field, gst_point_cloud_pose_free);
    *(GstPointCloudPose **)field = g_value_dup_boxed (value);
    break;
  }
  return TRUE;
}

gboolean
gst_lidar_test_settings_get (const GstLidarTestSettings *settings, guint id, GValue *value)
{
  gconstpointer field;

  if (id == 0 || id >= G_N_ELEMENTS (field_offsets))
    return FALSE;
  field = (const guint8 *)settings + field_offsets[id];
  switch (G_TYPE_FUNDAMENTAL (G_VALUE_TYPE (value))) {
  case G_TYPE_ENUM:
    g_value_set_enum (value, *(const gint *)field);
    break;
  case G_TYPE_UINT:
    g_value_set_uint (value, *(const guint *)field);
    break;
  case G_TYPE_UINT64:
    g_value_set_uint64 (value, *(const guint64 *)field);
    break;
  case G_TYPE_DOUBLE:
    g_value_set_double (value, *(const gdouble *)field);
    break;
  case G_TYPE_BOOLEAN:
    g_value_set_boolean (value, *(const gboolean *)field);
    break;
  default:
    g_value_set_boxed (value, *(GstPointCloudPose *const *)field);
    break;
  }
  return TRUE;
}

void
gst_lidar_test_settings_init (GstLidarTestSettings *settings)
{
  *settings = default_settings;
}

void
gst_lidar_test_settings_copy (const GstLidarTestSettings *settings, GstLidarTestSettings *copy)
{
  *copy = *settings;
  if (settings->offset)
    copy->offset = gst_point_cloud_pose_copy (settings->offset);
  if (settings->sensor_pose)
    copy->sensor_pose = gst_point_cloud_pose_copy (settings->sensor_pose);
}

void
gst_lidar_test_settings_clear (GstLidarTestSettings *settings)
{
  g_clear_pointer (&settings->offset, gst_point_cloud_pose_free);
  g_clear_pointer (&settings->sensor_pose, gst_point_cloud_pose_free);
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

void
gst_lidar_test_settings_install (GObjectClass *klass)
{
  g_object_class_install_property (klass, PROP_WORLD,
      g_param_spec_enum ("world", "World", "What the sensor is driven through",
          GST_TYPE_LIDAR_TEST_SRC_WORLD, default_settings.world, FLAGS));
  install_uint (klass, PROP_SEED, "seed", "Seed", "Seed of the world; any", 0, G_MAXUINT);
  install_uint (klass, PROP_NOISE_SEED, "noise-seed", "Noise Seed",
      "Seed of noise, dropout, odometry and traffic; any", 0, G_MAXUINT);
  g_object_class_install_property (klass, PROP_RINGS,
      g_param_spec_enum ("rings", "Rings", "Model of the sensor by its number of rings",
          GST_TYPE_LIDAR_TEST_SRC_RINGS, default_settings.rings, FLAGS));
  install_uint (
      klass, PROP_COLUMNS, "columns", "Columns", "Firings of all rings in a round", 16, 8192);
  install_double (
      klass, PROP_MAX_RANGE, "max-range", "Maximum Range", "Farthest return, metres", 1, 1000);
  install_double (klass, PROP_RANGE_NOISE, "range-noise", "Range Noise",
      "Standard deviation of a range, metres", 0, 1);
  install_double (klass, PROP_DROPOUT, "dropout", "Dropout",
      "Fraction of the returns that are lost, 0 to 1", 0, 1);
  install_boolean (klass, PROP_MOTION_DISTORTION, "motion-distortion", "Motion Distortion",
      "Fire each column from where the sensor is at that instant, with poses of the scan's end; "
      "otherwise points and poses are of the PTS");
  install_double (klass, PROP_MOUNT_HEIGHT, "mount-height", "Mount Height",
      "Height of the sensor above the ground, metres", 0.3, 4);
  install_uint (klass, PROP_MOVING_OBJECTS, "moving-objects", "Moving Objects",
      "Number of other vehicles on the round; they are not in the map", 0, NDT_SIM_MAX_VEHICLES);
  install_double (klass, PROP_SPEED, "speed", "Speed",
      "Speed on straights in m/s, lower in turns; 0 stands still, -1 takes what fits the world "
      "(town and blocks 8, tunnel 14, highway 25, hall 1.5)",
      -1, 60);
  install_double (klass, PROP_LATERAL_ACCELERATION, "lateral-acceleration", "Lateral Acceleration",
      "Turns are taken so fast that the acceleration across is at most this, m/s²", 0.1, 30);
  install_double (klass, PROP_LONGITUDINAL_ACCELERATION, "longitudinal-acceleration",
      "Longitudinal Acceleration", "Acceleration of speeding up and of braking, m/s²", 0.1, 30);
  install_double (klass, PROP_START_OFFSET, "start-offset", "Start Offset",
      "Place on the round at time 0, metres along the path; wraps around", -1e6, 1e6);
  install_double (klass, PROP_PATH_OFFSET, "path-offset", "Path Offset",
      "Distance of the sensor to the left of the path, metres", -1, 1);
  install_boolean (klass, PROP_ODOMETRY, "odometry", "Odometry",
      "Attach a pose with the role odometry as well: the true steps with noise, accumulated from "
      "the identity at the first");
  install_double (klass, PROP_ODOMETRY_TRANSLATION_NOISE, "odometry-translation-noise",
      "Odometry Translation Noise",
      "Standard deviation of each axis of a step, as a fraction of the step's length", 0, 1);
  install_double (klass, PROP_ODOMETRY_ROTATION_NOISE, "odometry-rotation-noise",
      "Odometry Rotation Noise", "Standard deviation of each axis of a step's rotation, degrees", 0,
      45);
  g_object_class_install_property (klass, PROP_OFFSET,
      g_param_spec_boxed ("offset", "Offset",
          "Coordinates \"x,y,z\" in metres of the world's origin in the map's frame, added to "
          "ground truth (ndt-map simulate --offset moves the map); not turned",
          GST_TYPE_POINT_CLOUD_POSE, FLAGS));
  g_object_class_install_property (klass, PROP_SENSOR_POSE,
      g_param_spec_boxed ("sensor-pose", "Sensor Pose",
          "Where the sensor is on the body that drives: \"x,y,z[,yaw]\", \"x,y,z,roll,pitch,yaw\" "
          "(m, degrees) or \"x,y,z,qx,qy,qz,qw\"; poses are the body's (unset = they are the same)",
          GST_TYPE_POINT_CLOUD_POSE, FLAGS));
  g_object_class_install_property (klass, PROP_START_TIME,
      g_param_spec_uint64 ("start-time", "Start Time",
          "PTS of the first scan in nanoseconds; the drive is the same, which begins at 0: sensors "
          "of different phase on one body",
          0, 3600 * GST_SECOND, 0, FLAGS));
  install_uint (klass, PROP_N_THREADS, "n-threads", "Threads",
      "Threads that cast rays; 0: one per processor; the result is the same", 0, 256);
}
