/* SPDX-License-Identifier: MIT */
/* What the properties of lidartestsrc set. */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

typedef struct {
  gint world; /* NdtSimWorldKind */
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
  gdouble lateral_acceleration;
  gdouble longitudinal_acceleration;
  gdouble start_offset;
  gdouble path_offset;
  gboolean odometry;
  gdouble odometry_translation_noise;
  gdouble odometry_rotation_noise;
  GstPointCloudPose *offset;      /* nullable */
  GstPointCloudPose *sensor_pose; /* nullable */
  guint64 start_time;
  guint n_threads;
} GstLidarTestSettings;

/* Ids of these properties are below. */
#define GST_LIDAR_TEST_SETTINGS_END 100

void gst_lidar_test_settings_init (GstLidarTestSettings *settings);
/* @copy is overwritten; clear it. */
void gst_lidar_test_settings_copy (
    const GstLidarTestSettings *settings, GstLidarTestSettings *copy);
void gst_lidar_test_settings_clear (GstLidarTestSettings *settings);

void gst_lidar_test_settings_install (GObjectClass *klass);
/* FALSE where @id is no property of these. */
gboolean gst_lidar_test_settings_set (
    GstLidarTestSettings *settings, guint id, const GValue *value);
gboolean gst_lidar_test_settings_get (
    const GstLidarTestSettings *settings, guint id, GValue *value);

GType gst_lidar_test_src_world_get_type (void);
GType gst_lidar_test_src_rings_get_type (void);
#define GST_TYPE_LIDAR_TEST_SRC_WORLD (gst_lidar_test_src_world_get_type ())
#define GST_TYPE_LIDAR_TEST_SRC_RINGS (gst_lidar_test_src_rings_get_type ())

G_END_DECLS
