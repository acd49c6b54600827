/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-sim-bvh.h"
#include "ndt-sim-path.h"
#include "ndt-sim-shape.h"

G_BEGIN_DECLS

typedef enum {
  NDT_SIM_WORLD_TOWN,
  NDT_SIM_WORLD_TUNNEL,
  NDT_SIM_WORLD_HIGHWAY,
  NDT_SIM_WORLD_HALL,
  NDT_SIM_WORLD_BLOCKS, /* a town whose blocks are all equal */
} NdtSimWorldKind;

/* "town", "tunnel", "highway", "hall" or "blocks". FALSE where @name is none of these. */
gboolean ndt_sim_world_kind_from_name (const gchar *name, NdtSimWorldKind *kind);

#define NDT_SIM_WORLD_MAX_LANES 6

/**
 * NdtSimLane:
 * @lateral: metres to the left of the path
 * @rate: speed as a multiple of the sensor's; negative: oncoming
 *
 * Where other vehicles drive.
 */
typedef struct {
  double lateral;
  double rate;
} NdtSimLane;

/**
 * NdtSimWorld:
 * @kind: what it is
 * @shapes: all static surfaces but the ground
 * @bvh: over @shapes
 * @path: of the sensor, from the origin on, at first along x; a corridor around it is free of
 *   shapes
 * @default_speed: m/s that fit the world
 * @ground_margin: metres from the path within which the ground z = 0 (endless for rays) is part of
 *   a map
 * @ground_reflectivity: 0 to 1
 * @lanes: of other vehicles
 * @vehicle_size: largest length, width and height of these
 *
 * Immutable, so that threads may share it. A seed gives the same world on any machine.
 */
typedef struct {
  NdtSimWorldKind kind;
  GArray *shapes; /* of NdtSimShape */
  NdtSimBvh *bvh;
  NdtSimPath *path;
  double default_speed;
  double ground_margin;
  float ground_reflectivity;
  guint n_lanes;
  NdtSimLane lanes[NDT_SIM_WORLD_MAX_LANES];
  double vehicle_size[3];
} NdtSimWorld;

/* Half the width and the height of the free corridor around the path, metres. */
#define NDT_SIM_WORLD_CLEAR_WIDTH 1.1
#define NDT_SIM_WORLD_CLEAR_HEIGHT 4.2

NdtSimWorld *ndt_sim_world_new (NdtSimWorldKind kind, guint64 seed);
void ndt_sim_world_free (NdtSimWorld *world);

/* What a ray hit. */
typedef struct {
  double range;
  float reflectivity;
  float cosine; /* between the ray and the surface's normal, 0 to 1 */
} NdtSimHit;

/* Nearest static surface, the ground included. FALSE where none is between @near and @far. */
gboolean ndt_sim_world_cast (
    const NdtSimWorld *world, const NdtSimRay *ray, double near, double far, NdtSimHit *hit);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtSimWorld, ndt_sim_world_free)

G_END_DECLS
