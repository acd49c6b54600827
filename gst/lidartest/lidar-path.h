/* SPDX-License-Identifier: MIT */
#pragma once

#include "lidar-math.h"
#include "ndtcore/math/ndt-types.h"

G_BEGIN_DECLS

/**
 * LidarPath:
 *
 * A closed curve on the plane: a polygon whose corners are rounded so that the curvature has no
 * jumps. Immutable.
 */
typedef struct _LidarPath LidarPath;

typedef struct {
  double x, y;      /* metres */
  double heading;   /* rad, not wrapped: grows or falls by the turns taken since the start */
  double curvature; /* 1/m, positive to the left */
} LidarPathPoint;

typedef struct {
  double x, y;
  double turn_length; /* metres of curve that round this corner, > 0 */
} LidarPathCorner;

/* Starts in the middle of the edge from the last corner to the first, towards the first. Where
 * the edges are too short for the curves, these are shortened. At least three corners; no turn
 * may reach 180°. */
LidarPath *lidar_path_new (const LidarPathCorner *corners, guint n_corners);
void lidar_path_free (LidarPath *path);
/* Moves the path so that it starts at the origin, along x. For whoever still makes it. */
void lidar_path_move_to_start (LidarPath *path);
double lidar_path_get_length (const LidarPath *path);
/* @s: metres from the start; wraps around in both directions. @lateral: metres to the left of the
 * path. */
LidarPathPoint lidar_path_at (const LidarPath *path, double s, double lateral);

/**
 * LidarMotion:
 *
 * A drive along a path: fast on straights, slower in turns, as a driver does it. Periodic.
 * Immutable.
 */
typedef struct _LidarMotion LidarMotion;

/**
 * LidarDriver:
 * @speed: m/s on straights; 0 stands still
 * @lateral_acceleration: in turns at most, m/s², > 0
 * @longitudinal_acceleration: of speeding up and braking, m/s², > 0
 */
typedef struct {
  double speed;
  double lateral_acceleration;
  double longitudinal_acceleration;
} LidarDriver;

/* @start: metres along the path at time 0. The path has to live as long. */
LidarMotion *lidar_motion_new (const LidarPath *path, const LidarDriver *driver, double start);
void lidar_motion_free (LidarMotion *motion);
/* Distance along the path, in [0, length], at a time in seconds (negative as well). */
double lidar_motion_distance (const LidarMotion *motion, double time);
/* Pose of a sensor @height metres above the road and @lateral metres left of the path; the body
 * rolls, pitches and heaves a little. */
void lidar_motion_pose (
    const LidarMotion *motion, double time, double height, double lateral, NdtPose *pose);
/* Seconds for a round; 0 when standing still. */
double lidar_motion_get_period (const LidarMotion *motion);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LidarPath, lidar_path_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LidarMotion, lidar_motion_free)

G_END_DECLS
