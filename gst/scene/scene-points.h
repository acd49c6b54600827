/* SPDX-License-Identifier: MIT */
/* A scan as it is looked at, and the way driven. */
#pragma once

#include "ndtcore/map/ndt-voxel-map.h"

G_BEGIN_DECLS

/* The residual, in standard deviations, of which on the colours do not change. */
#define SCENE_MAX_RESIDUAL 4.0

/**
 * ScenePoints:
 * @n: number of points
 * @xyz: three floats each, all finite, metres
 * @intensity: (nullable): of each, 0 to 255
 * @ring: (nullable): of each, modulo 256
 * @residual: (nullable): of each, how far it is from the map: 0 to 255 for 0 to
 *   %SCENE_MAX_RESIDUAL standard deviations, and for what is farther
 */
typedef struct {
  guint n;
  float *xyz;
  guint8 *intensity;
  guint8 *ring;
  guint8 *residual;
} ScenePoints;

/**
 * SceneScan:
 * @points: in the frame of the pose
 * @status: a number of GstPoseStatus
 * @reason: a number of GstPoseReason
 * @seconds: of the stream, NaN: not known
 * @sequence: number of the scan
 * @has_pose: @pose is known
 * @has_covariance: @covariance is known: xx, xy, yy, zz in m², of yaw in rad²
 */
typedef struct {
  ScenePoints points;
  guint status;
  guint reason;
  double seconds;
  guint64 sequence;
  gboolean has_pose;
  NdtPose pose;
  gboolean has_covariance;
  double covariance[5];
  double nvtl;
  double matched_ratio;
  guint iterations;
} SceneScan;

/* A pose of the way driven so far. */
typedef struct {
  double position[3];
  guint status;
} SceneStep;

/**
 * SceneWay:
 * @steps: of SceneStep
 *
 * The way driven so far. Of more than 20000 steps every second is left out, and from then on of
 * those to come.
 */
typedef struct {
  GArray *steps;
  guint stride;
  guint64 n_seen;
} SceneWay;

void scene_points_clear (ScenePoints *points);
/* Sets the residuals of points that @pose puts into the frame of @map. */
void scene_points_set_residual (ScenePoints *points, const NdtVoxelMap *map, const NdtPose *pose);

void scene_way_init (SceneWay *way);
void scene_way_clear (SceneWay *way);
/* Forgets the steps. */
void scene_way_reset (SceneWay *way);
/* A scan without a pose is no step. */
void scene_way_add (SceneWay *way, const SceneScan *scan);

G_END_DECLS
