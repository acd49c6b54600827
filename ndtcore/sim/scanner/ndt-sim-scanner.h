/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/sim/world/ndt-sim-world.h"

G_BEGIN_DECLS

/* Hits that are nearer are the vehicle's own: no return, metres. */
#define NDT_SIM_MIN_RANGE 0.5
#define NDT_SIM_MAX_VEHICLES 200

/**
 * NdtSimSensor:
 * @n_rings: 16, 32, 64 or 128
 * @n_columns: firings of all rings in a round, at least 1
 * @max_range: metres
 * @range_noise: standard deviation along the beam, metres
 * @dropout: fraction of returns that are lost, 0 to 1
 * @motion_distortion: each column is fired from where the sensor is at that instant; otherwise all
 *   from where it is at the end of the scan, which may be its start
 * @mount_height: of the body, metres above the road
 * @lateral: of the body, metres to the left of the path
 * @noise_seed: of noise and dropout
 * @is_mounted: the sensor is at @mount on the body; otherwise it is the body
 * @mount: in the body's frame
 * @n_vehicles: other vehicles in the world, at most %NDT_SIM_MAX_VEHICLES
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
  gboolean is_mounted;
  NdtPose mount;
  guint n_vehicles;
} NdtSimSensor;

/* @range 0: no return. */
typedef struct {
  float range;     /* metres */
  float intensity; /* 0 to 1 */
} NdtSimReturn;

/**
 * NdtSimScanner:
 *
 * Casts the rays of scans. The world and the motions have to outlive it.
 */
typedef struct _NdtSimScanner NdtSimScanner;

/* Elevation of a ring in degrees, ring 0 the lowest; 0 and FALSE where there is no such sensor. */
gboolean ndt_sim_sensor_get_elevation (guint n_rings, guint ring, double *degrees);

/* @traffic: how other vehicles move; may be @motion. @n_threads: 0: one per processor
 * that the process may use. */
NdtSimScanner *ndt_sim_scanner_new (const NdtSimWorld *world, const NdtSimMotion *motion,
    const NdtSimMotion *traffic, const NdtSimSensor *sensor, guint n_threads);
void ndt_sim_scanner_free (NdtSimScanner *scanner);

/* Casts scan number @scan, which lasts from @start to @end seconds, into n_columns × n_rings
 * returns, column by column in the order of firing. The result depends on the arguments alone, not
 * on earlier calls or the number of threads. */
void ndt_sim_scanner_cast (
    NdtSimScanner *scanner, guint64 scan, double start, double end, NdtSimReturn *returns);
/* Unit vector of a beam in the sensor's frame (x forward, y left, z up). */
void ndt_sim_scanner_get_beam (
    const NdtSimScanner *scanner, guint column, guint ring, double direction[3]);
/* Pose of the body that carries the sensor, in the world @seconds after time 0. */
void ndt_sim_scanner_get_body_pose (const NdtSimScanner *scanner, double seconds, NdtPose *pose);
/* Pose of the sensor. */
void ndt_sim_scanner_get_pose (const NdtSimScanner *scanner, double seconds, NdtPose *pose);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtSimScanner, ndt_sim_scanner_free)

G_END_DECLS
