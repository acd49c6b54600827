/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-sim-math.h"
#include "ndtcore/math/ndt-types.h"

G_BEGIN_DECLS

/**
 * NdtSimPath:
 *
 * A closed curve on the plane: a polygon whose corners are rounded so that the curvature has no
 * jumps. Immutable.
 */
typedef struct _NdtSimPath NdtSimPath;

typedef struct {
  double x, y;      /* metres */
  double heading;   /* rad, not wrapped: grows or falls by the turns taken since the start */
  double curvature; /* 1/m, positive to the left */
} NdtSimPathPoint;

typedef struct {
  double x, y;
  double turn_length; /* metres of curve that round this corner, > 0 */
} NdtSimPathCorner;

/* Starts in the middle of the edge from the last corner to the first, towards the first. Where
 * the edges are too short for the curves, these are shortened. At least three corners; no turn
 * may reach 180°. */
NdtSimPath *ndt_sim_path_new (const NdtSimPathCorner *corners, guint n_corners);
void ndt_sim_path_free (NdtSimPath *path);
/* Moves the path so that it starts at the origin, along x. Only before the path is shared. */
void ndt_sim_path_move_to_start (NdtSimPath *path);
double ndt_sim_path_get_length (const NdtSimPath *path);
/* @s: metres from the start; wraps around in both directions. @lateral: metres to the left of the
 * path. */
NdtSimPathPoint ndt_sim_path_at (const NdtSimPath *path, double s, double lateral);

/**
 * NdtSimMotion:
 *
 * A drive along a path: fast on straights, slower in turns. Periodic. Immutable.
 */
typedef struct _NdtSimMotion NdtSimMotion;

/**
 * NdtSimDriver:
 * @speed: m/s on straights; 0 stands still
 * @lateral_acceleration: in turns at most, m/s², > 0
 * @longitudinal_acceleration: of speeding up and braking, m/s², > 0
 */
typedef struct {
  double speed;
  double lateral_acceleration;
  double longitudinal_acceleration;
} NdtSimDriver;

/* @start: metres along the path at time 0. The path has to outlive the motion. */
NdtSimMotion *ndt_sim_motion_new (const NdtSimPath *path, const NdtSimDriver *driver, double start);
void ndt_sim_motion_free (NdtSimMotion *motion);
/* Distance along the path, in [0, length], at a time in seconds (negative as well). */
double ndt_sim_motion_distance (const NdtSimMotion *motion, double time);
/* Pose of a sensor @height metres above the road and @lateral metres left of the path; the body
 * rolls, pitches and heaves a little. */
void ndt_sim_motion_pose (
    const NdtSimMotion *motion, double time, double height, double lateral, NdtPose *pose);
/* Seconds for a round; 0 when standing still. */
double ndt_sim_motion_get_period (const NdtSimMotion *motion);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtSimPath, ndt_sim_path_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtSimMotion, ndt_sim_motion_free)

G_END_DECLS
