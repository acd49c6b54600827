/* SPDX-License-Identifier: MIT */
/* A warehouse: racks along x with aisles between them, columns, walls, a roof. */
#include "ndt-sim-builder.h"

#define N_AISLES 6
#define AISLE 4.0
#define RACK_DEPTH 2.4 /* two racks back to back */
#define PITCH (AISLE + RACK_DEPTH)
#define LENGTH 52.0 /* of the racks */
#define HEAD 5.0    /* free at both ends of the racks */
#define ROOF 8.5

/* Through one aisle after the other and back along the wall. */
static NdtSimPath *
make_path (void)
{
  NdtSimPathCorner corners[2 * N_AISLES + 2];
  guint n = 0, i;

  for (i = 0; i < N_AISLES; i++) {
    const double near = i == 0 || i == N_AISLES - 1 ? -HEAD - 3 : -HEAD / 2;
    const double far = LENGTH + HEAD / 2;
    corners[n++] = (NdtSimPathCorner){i % 2 ? far : near, i * PITCH, 4.5};
    corners[n++] = (NdtSimPathCorner){i % 2 ? near : far, i * PITCH, 4.5};
  }
  return ndt_sim_path_new (corners, n);
}

/* One side of a rack, @front its face, @inward towards its back (+1 or −1 along y). */
static void
add_rack (NdtSimWorld *world, NdtSimRandom *random, double front, double inward)
{
  static const double levels[] = {0.12, 1.9, 3.5, 5.1};
  const double bay = 2.6, depth = RACK_DEPTH / 2 - 0.1;
  const guint n_bays = (guint)(LENGTH / bay);
  guint i, k, side;

  for (i = 0; i <= n_bays; i++) {
    for (side = 0; side < 2; side++) {
      const double y = front + inward * (side ? depth - 0.1 : 0);
      ndt_sim_world_add_box (
          world, i * bay, y, -NDT_SIM_SUNK, i * bay + 0.1, y + inward * 0.1, 6.4, NDT_SIM_METAL);
    }
  }
  for (i = 0; i < n_bays; i++) {
    for (k = 0; k < G_N_ELEMENTS (levels); k++) {
      double x = i * bay + 0.15;
      ndt_sim_world_add_box (world, i * bay + 0.05, front + inward * 0.02, levels[k],
          (i + 1) * bay + 0.05, front + inward * (depth - 0.02), levels[k] + 0.1, NDT_SIM_METAL);
      while (x < (i + 1) * bay - 0.8) {
        const double width = ndt_sim_random_range (random, 0.7, 1.15);
        const double room = (i + 1) * bay - 0.02 - x;
        const double back = ndt_sim_random_range (random, 0.05, 0.3);
        if (ndt_sim_random_chance (random, 0.7))
          ndt_sim_world_add_box (world, x, front + inward * back, levels[k] + 0.05,
              x + MIN (width, room), front + inward * (depth - 0.05),
              levels[k] + ndt_sim_random_range (random, 0.5, 1.5), NDT_SIM_PLASTER);
        x += width + ndt_sim_random_range (random, 0.05, 0.4);
      }
    }
  }
}

/* Sometimes something that stands at the wall x = @wall; @inward is +1 or −1. */
static void
add_cabinet (NdtSimWorld *world, NdtSimRandom *random, double wall, double inward, double y)
{
  const double depth = ndt_sim_random_range (random, 0.2, 1.2);
  const double width = ndt_sim_random_range (random, 1, 3);
  const double height = ndt_sim_random_range (random, 0.9, 3);

  if (ndt_sim_random_chance (random, 0.6))
    ndt_sim_world_add_box (world, wall - inward * NDT_SIM_SUNK, y + 1, -NDT_SIM_SUNK,
        wall + inward * depth, y + 1 + width, height, NDT_SIM_METAL);
}

void
ndt_sim_world_build_hall (NdtSimWorld *world, NdtSimRandom *random)
{
  static const NdtSimLane lanes[] = {{0, 1}};
  const double x0 = -HEAD - 7, x1 = LENGTH + HEAD + 4;
  const double y0 = -PITCH / 2 - 5, y1 = (N_AISLES - 0.5) * PITCH + 5;
  double at;
  guint i;

  world->path = make_path ();
  for (i = 0; i <= N_AISLES; i++) {
    const double middle = (i - 0.5) * PITCH;
    if (i > 0)
      add_rack (world, random, middle - RACK_DEPTH / 2, 1);
    if (i < N_AISLES)
      add_rack (world, random, middle + RACK_DEPTH / 2, -1);
    for (at = 6.5; at < LENGTH; at += 13)
      ndt_sim_world_add_box (world, at - 0.2, middle - 0.2, -NDT_SIM_SUNK, at + 0.2, middle + 0.2,
          ROOF + NDT_SIM_SUNK, NDT_SIM_CONCRETE);
  }

  ndt_sim_world_add_box (world, x0 - 0.3, y0, -NDT_SIM_SUNK, x0, y1, ROOF, NDT_SIM_PLASTER);
  ndt_sim_world_add_box (world, x1, y0, -NDT_SIM_SUNK, x1 + 0.3, y1, ROOF, NDT_SIM_PLASTER);
  ndt_sim_world_add_box (world, x0, y0 - 0.3, -NDT_SIM_SUNK, x1, y0, ROOF, NDT_SIM_PLASTER);
  ndt_sim_world_add_box (world, x0, y1, -NDT_SIM_SUNK, x1, y1 + 0.3, ROOF, NDT_SIM_PLASTER);
  ndt_sim_world_add_box (world, x0, y0, ROOF, x1, y1, ROOF + 0.3, NDT_SIM_METAL);
  /* Half columns, doors' frames and cabinets at the walls; beams under the roof. */
  for (at = x0 + 3; at < x1 - 2; at += 6.5) {
    ndt_sim_world_add_box (world, at, y0 - NDT_SIM_SUNK, -NDT_SIM_SUNK, at + 0.4, y0 + 0.35,
        ROOF + NDT_SIM_SUNK, NDT_SIM_CONCRETE);
    ndt_sim_world_add_box (world, at, y1 - 0.35, -NDT_SIM_SUNK, at + 0.4, y1 + NDT_SIM_SUNK,
        ROOF + NDT_SIM_SUNK, NDT_SIM_CONCRETE);
    ndt_sim_world_add_box (
        world, at, y0, ROOF - 0.6, at + 0.3, y1, ROOF + NDT_SIM_SUNK, NDT_SIM_METAL);
  }
  for (at = y0 + 3; at < y1 - 2; at += 6) {
    ndt_sim_world_add_box (world, x0 - NDT_SIM_SUNK, at, -NDT_SIM_SUNK, x0 + 0.35, at + 0.4,
        ROOF + NDT_SIM_SUNK, NDT_SIM_CONCRETE);
    ndt_sim_world_add_box (world, x1 - 0.35, at, -NDT_SIM_SUNK, x1 + NDT_SIM_SUNK, at + 0.4,
        ROOF + NDT_SIM_SUNK, NDT_SIM_CONCRETE);
    add_cabinet (world, random, x0, 1, at);
    add_cabinet (world, random, x1, -1, at);
  }

  world->default_speed = 1.5;
  world->ground_margin = 8;
  world->ground_reflectivity = NDT_SIM_CONCRETE;
  world->n_lanes = G_N_ELEMENTS (lanes);
  memcpy (world->lanes, lanes, sizeof lanes);
  world->vehicle_size[0] = 1.4;
  world->vehicle_size[1] = 0.9;
  world->vehicle_size[2] = 2;
}
