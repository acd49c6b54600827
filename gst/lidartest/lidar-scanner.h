/* SPDX-License-Identifier: MIT */
#pragma once

#include "lidar-world.h"

G_BEGIN_DECLS

/* Hits that are nearer are the vehicle's own: no return, metres. */
#define LIDAR_MIN_RANGE 0.5
#define LIDAR_MAX_VEHICLES 200

/**
 * LidarSensor:
 * @n_rings: 16, 32, 64 or 128
 * @n_columns: firings of all rings in a round, at least 1
 * @max_range: metres
 * @range_noise: standard deviation along the beam, metres
 * @dropout: fraction of returns that are lost, 0 to 1
 * @motion_distortion: each column is fired from where the sensor is at that instant; otherwise all
 *   from where it is at the end of the scan
 * @mount_height: metres above the road
 * @lateral: metres to the left of the path
 * @noise_seed: of noise and dropout
 * @n_vehicles: other vehicles in the world, at most %LIDAR_MAX_VEHICLES
 *
 * A rotating lidar. Column 0 looks back (−x); the rotation is clockwise seen from above.
 */
typedef struct {
  guint n_rings;
  guint n_columns;
  double max_range;
  double range_noise;
  double dropout;
  gboolean motion_distortion;
  double mount_height;
  double lateral;
  guint64 noise_seed;
  guint n_vehicles;
} LidarSensor;

/* @range 0: no return. */
typedef struct {
  float range;     /* metres */
  float intensity; /* 0 to 1 */
} LidarReturn;

/**
 * LidarScanner:
 *
 * Casts the rays of scans. The world and the motions have to live as long.
 */
typedef struct _LidarScanner LidarScanner;

/* Elevation of a ring in degrees, ring 0 the lowest; 0 and FALSE where there is no such sensor. */
gboolean lidar_sensor_get_elevation (guint n_rings, guint ring, double *degrees);

/* @traffic: how other vehicles move; may be @motion. @n_threads: 0: one per processor
 * that the process may use. */
LidarScanner *lidar_scanner_new (const LidarWorld *world, const LidarMotion *motion,
    const LidarMotion *traffic, const LidarSensor *sensor, guint n_threads);
void lidar_scanner_free (LidarScanner *scanner);

/* Casts scan number @scan, which lasts from @start to @end seconds, into n_columns × n_rings
 * returns, column by column in the order of firing. The result depends on the arguments alone, not
 * on the calls before or on the number of threads. */
void lidar_scanner_cast (
    LidarScanner *scanner, guint64 scan, double start, double end, LidarReturn *returns);
/* Unit vector of a beam in the sensor's frame (x forward, y left, z up). */
void lidar_scanner_get_beam (
    const LidarScanner *scanner, guint column, guint ring, double direction[3]);
/* Pose of the sensor in the world @seconds after time 0. */
void lidar_scanner_get_pose (const LidarScanner *scanner, double seconds, NdtPose *pose);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LidarScanner, lidar_scanner_free)

G_END_DECLS
