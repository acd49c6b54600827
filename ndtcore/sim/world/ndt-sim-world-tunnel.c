/* SPDX-License-Identifier: MIT */
/* A road tunnel that closes to a ring, with two lanes. Distances across are from the middle of
 * the right-hand lane, which is the path; the tunnel's axis lies to the left. */
#include "ndt-sim-builder.h"

#define AXIS 1.75
#define HALF_WIDTH 5.0
#define WALKWAY 0.9
#define BAND_STEP 4.0
#define N_CORNERS 9

static NdtSimPath *
make_path (NdtSimRandom *random)
{
  NdtSimPathCorner corners[N_CORNERS];
  guint i;

  for (i = 0; i < N_CORNERS; i++) {
    const double radius = ndt_sim_random_range (random, 0.75, 1.1);
    double s, c;

    ndt_sim_sincos (
        2 * NDT_SIM_PI * (i + ndt_sim_random_range (random, -0.2, 0.2)) / N_CORNERS, &s, &c);
    corners[i].x = 230 * radius * c;
    corners[i].y = 160 * radius * s;
    /* As long as there is room. */
    corners[i].turn_length = 1000;
  }
  return ndt_sim_path_new (corners, N_CORNERS);
}

void
ndt_sim_world_build_tunnel (NdtSimWorld *world, NdtSimRandom *random)
{
  static const NdtSimLane lanes[] = {{2 * AXIS, 1.15}, {0, 1}};
  /* Half of the arch: distance from the axis and height. */
  static const double arch[][2] = {
      {5.0, 0}, {5.0, 2.9}, {4.6, 4.2}, {3.6, 5.3}, {2.0, 6.0}, {0, 6.3}};
  double length, s, sign;
  gint side;
  guint i;

  world->path = make_path (random);
  length = ndt_sim_path_get_length (world->path);
  for (side = -1; side <= 1; side += 2) {
    const double wall = AXIS + side * HALF_WIDTH, walkway = AXIS + side * (HALF_WIDTH - WALKWAY);

    for (i = 0; i + 1 < G_N_ELEMENTS (arch); i++)
      ndt_sim_world_add_band (world, BAND_STEP, AXIS + side * arch[i][0], arch[i][1],
          AXIS + side * arch[i + 1][0], arch[i + 1][1], NDT_SIM_CONCRETE);
    ndt_sim_world_add_band (world, BAND_STEP, wall, 0.2, walkway, 0.2, NDT_SIM_CONCRETE);
    ndt_sim_world_add_band (world, BAND_STEP, walkway, 0.2, walkway, 0, NDT_SIM_CONCRETE);

    /* Ribs where the lining's parts meet. */
    for (s = ndt_sim_random_range (random, 0, 10); s < length - 5;
         s += ndt_sim_random_range (random, 11, 15))
      ndt_sim_world_add_beside (
          world, s, wall - side * 0.02, 0.5, 0.4, -NDT_SIM_SUNK, 3.0, NDT_SIM_CONCRETE);
    /* Doors' frames, cabinets. */
    for (s = ndt_sim_random_range (random, 5, 30); s < length - 10;
         s += ndt_sim_random_range (random, 18, 45)) {
      const double size = ndt_sim_random_range (random, 0.8, 2.2);
      const double depth = ndt_sim_random_range (random, 0.3, 0.9);
      ndt_sim_world_add_beside (world, s, wall - side * 0.1, size, depth, 0.2 - NDT_SIM_SUNK,
          ndt_sim_random_range (random, 1.2, 2.4), NDT_SIM_METAL);
    }
    /* A cable tray with gaps, lamps under it. */
    for (s = 0; s < length - 12; s += 12) {
      if (ndt_sim_random_chance (random, 0.8))
        ndt_sim_world_add_beside (
            world, s + 4, AXIS + side * 4.55, 8, 0.4, 3.7, 3.85, NDT_SIM_METAL);
      ndt_sim_world_add_beside (world, s + ndt_sim_random_range (random, 0, 6), AXIS + side * 3.3,
          1.3, 0.35, 5.05, 5.2, NDT_SIM_METAL);
    }
  }
  /* Fans in pairs, signs above the lanes. */
  for (s = ndt_sim_random_range (random, 20, 60); s < length - 20;
       s += ndt_sim_random_range (random, 60, 100)) {
    for (side = -1; side <= 1; side += 2)
      ndt_sim_world_add_beside (world, s, AXIS + side * 1.2, 3.5, 1.1, 4.7, 5.8, NDT_SIM_METAL);
    sign = s + ndt_sim_random_range (random, 15, 30);
    ndt_sim_world_add_beside (
        world, sign, AXIS, 0.15, ndt_sim_random_range (random, 2, 4), 4.7, 5.7, NDT_SIM_SIGN);
  }

  world->default_speed = 14;
  world->ground_margin = HALF_WIDTH + AXIS;
  world->ground_reflectivity = NDT_SIM_ASPHALT;
  world->n_lanes = G_N_ELEMENTS (lanes);
  memcpy (world->lanes, lanes, sizeof lanes);
  world->vehicle_size[0] = 4.8;
  world->vehicle_size[1] = 1.8;
  world->vehicle_size[2] = 1.7;
}
