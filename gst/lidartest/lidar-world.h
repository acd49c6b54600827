/* SPDX-License-Identifier: MIT */
#pragma once

#include "lidar-bvh.h"
#include "lidar-path.h"
#include "lidar-shape.h"

G_BEGIN_DECLS

typedef enum {
  LIDAR_WORLD_TOWN,
  LIDAR_WORLD_TUNNEL,
  LIDAR_WORLD_HIGHWAY,
  LIDAR_WORLD_HALL,
} LidarWorldKind;

#define LIDAR_WORLD_MAX_LANES 6

/**
 * LidarLane:
 * @lateral: metres to the left of the path
 * @rate: speed as a multiple of the sensor's; negative: oncoming
 *
 * Where other vehicles drive.
 */
typedef struct {
  double lateral;
  double rate;
} LidarLane;

/**
 * LidarWorld:
 * @kind: what it is
 * @shapes: all static surfaces but the ground
 * @bvh: over @shapes
 * @path: what the sensor drives along, from the origin on, at first along x; a corridor around it
 *   is free
 * @default_speed: m/s that fit the world
 * @ground_margin: metres from the path within which the ground z = 0 (endless for rays) is
 *   part of a map
 * @ground_reflectivity: 0 to 1
 * @lanes: of other vehicles
 * @vehicle_size: largest length, width and height of these
 *
 * Immutable once made, so that threads may share it. The same seed gives the same world
 * anywhere.
 */
typedef struct {
  LidarWorldKind kind;
  GArray *shapes; /* of LidarShape */
  LidarBvh *bvh;
  LidarPath *path;
  double default_speed;
  double ground_margin;
  float ground_reflectivity;
  guint n_lanes;
  LidarLane lanes[LIDAR_WORLD_MAX_LANES];
  double vehicle_size[3];
} LidarWorld;

/* Half the width and the height of the free corridor around the path, metres. */
#define LIDAR_WORLD_CLEAR_WIDTH 1.1
#define LIDAR_WORLD_CLEAR_HEIGHT 4.2

LidarWorld *lidar_world_new (LidarWorldKind kind, guint64 seed);
void lidar_world_free (LidarWorld *world);

/* What a ray hit. */
typedef struct {
  double range;
  float reflectivity;
  float cosine; /* between the ray and the surface's normal, 0 to 1 */
} LidarHit;

/* Nearest static surface, the ground included. FALSE where none is between @near and @far. */
gboolean lidar_world_cast (
    const LidarWorld *world, const LidarRay *ray, double near, double far, LidarHit *hit);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LidarWorld, lidar_world_free)

G_END_DECLS
