/* SPDX-License-Identifier: MIT */
/* Two carriageways between embankments: long stretches with few features along the road. Distances
 * across are from the middle of the right-hand lane, which is the path. */
#include "ndt-sim-builder.h"

#define RAIL_RIGHT -4.2
#define RAIL_MEDIAN_RIGHT 6.6
#define RAIL_MEDIAN_LEFT 8.6
#define RAIL_LEFT 19.4
#define BANK_RIGHT -6.5
#define BANK_LEFT 21.7
#define BAND_STEP 10.0
#define POST_STEP 4.0

static NdtSimPath *
make_path (NdtSimRandom *random)
{
  static const double base[][2] = {
      {0, 0}, {650, -60}, {1250, 0}, {1300, 720}, {600, 640}, {-50, 720}};
  NdtSimPathCorner corners[G_N_ELEMENTS (base)];
  guint i;

  for (i = 0; i < G_N_ELEMENTS (base); i++) {
    corners[i].x = base[i][0] + ndt_sim_random_range (random, -40, 40);
    corners[i].y = base[i][1] + ndt_sim_random_range (random, -40, 40);
    corners[i].turn_length = 500;
  }
  return ndt_sim_path_new (corners, G_N_ELEMENTS (base));
}

typedef struct {
  double length;
  double phase[3];
} Bank;

/* Height of an embankment along the road. */
static double
bank_height (double s, gpointer user_data)
{
  const Bank *bank = user_data;
  const double u = 2 * NDT_SIM_PI * s / bank->length;
  return 4 + 0.8 * ndt_sim_sin (7 * u + bank->phase[0]) +
         0.6 * ndt_sim_sin (17 * u + bank->phase[1]) + 0.3 * ndt_sim_sin (43 * u + bank->phase[2]);
}

static void
add_bank (NdtSimWorld *world, NdtSimRandom *random, double foot, double direction)
{
  Bank bank = {ndt_sim_path_get_length (world->path)};
  guint i;

  for (i = 0; i < G_N_ELEMENTS (bank.phase); i++)
    bank.phase[i] = ndt_sim_random_range (random, 0, 6);
  ndt_sim_world_add_scaled_band (
      world, BAND_STEP, foot, -0.01, foot + direction * 9, 1, bank_height, &bank, NDT_SIM_GRASS);
  ndt_sim_world_add_scaled_band (world, BAND_STEP, foot + direction * 9, 1, foot + direction * 26,
      1.1, bank_height, &bank, NDT_SIM_GRASS);
}

static void
add_rail (NdtSimWorld *world, double lateral)
{
  const double length = ndt_sim_path_get_length (world->path);
  const guint n = (guint)(length / POST_STEP);
  guint i;

  for (i = 0; i < n; i++) {
    const double s = i * POST_STEP;
    const NdtSimPathPoint post = ndt_sim_path_at (world->path, s, lateral);
    /* Overlaps the next one a little, at the outside of a bend as well. */
    ndt_sim_world_add_beside (
        world, s + POST_STEP / 2, lateral, POST_STEP * 1.12, 0.08, 0.45, 0.75, NDT_SIM_METAL);
    ndt_sim_world_add_turned_box (
        world, post.x, post.y, post.heading, 0.1, 0.12, -NDT_SIM_SUNK, 0.7, NDT_SIM_METAL);
  }
}

void
ndt_sim_world_build_highway (NdtSimWorld *world, NdtSimRandom *random)
{
  static const NdtSimLane lanes[] = {{3.75, 1.15}, {11.6, -1.05}, {0, 1}, {15.4, -0.9}};
  static const double rails[] = {RAIL_RIGHT, RAIL_MEDIAN_RIGHT, RAIL_MEDIAN_LEFT, RAIL_LEFT};
  double length, s;
  guint i;

  world->path = make_path (random);
  length = ndt_sim_path_get_length (world->path);
  for (i = 0; i < G_N_ELEMENTS (rails); i++)
    add_rail (world, rails[i]);
  add_bank (world, random, BANK_RIGHT, -1);
  add_bank (world, random, BANK_LEFT, 1);

  for (s = ndt_sim_random_range (random, 10, 60); s < length - 10;
       s += ndt_sim_random_range (random, 60, 160)) {
    const NdtSimPathPoint p = ndt_sim_path_at (world->path, s, RAIL_RIGHT - 1);
    const double height = ndt_sim_random_range (random, 1.8, 3.2);
    const double width = ndt_sim_random_range (random, 0.6, 1.2);
    ndt_sim_world_add_sign (world, p.x, p.y, p.heading + NDT_SIM_PI, height, width);
  }
  /* Bridges of signs over both carriageways. */
  for (s = ndt_sim_random_range (random, 50, 200); s < length - 50;
       s += ndt_sim_random_range (random, 300, 500)) {
    static const double posts[] = {RAIL_RIGHT - 0.9, 7.6, RAIL_LEFT + 0.9};
    for (i = 0; i < G_N_ELEMENTS (posts); i++)
      ndt_sim_world_add_beside (world, s, posts[i], 0.4, 0.4, -NDT_SIM_SUNK, 6.5, NDT_SIM_METAL);
    ndt_sim_world_add_beside (world, s, (posts[0] + posts[2]) / 2, 0.5, posts[2] - posts[0] + 0.2,
        6.0, 6.6, NDT_SIM_METAL);
    for (i = 0; i < 2; i++)
      ndt_sim_world_add_beside (world, s - 0.3, i * 3.75, 0.1, 3.2, 5.2, 7.6, NDT_SIM_SIGN);
  }
  /* Overpasses. */
  for (s = ndt_sim_random_range (random, 250, 400); s < length - 100;
       s += ndt_sim_random_range (random, 700, 1000)) {
    ndt_sim_world_add_beside (world, s, 7.6, 9, 44, 5.6, 6.8, NDT_SIM_CONCRETE);
    for (i = 0; i < 4; i++)
      ndt_sim_world_add_beside (
          world, s - 3 + 2 * i, 7.6, 0.7, 0.7, -NDT_SIM_SUNK, 5.7, NDT_SIM_CONCRETE);
    ndt_sim_world_add_beside (world, s, -8, 9, 1.2, -NDT_SIM_SUNK, 5.7, NDT_SIM_CONCRETE);
    ndt_sim_world_add_beside (world, s, 23.2, 9, 1.2, -NDT_SIM_SUNK, 5.7, NDT_SIM_CONCRETE);
  }

  world->default_speed = 25;
  world->ground_margin = 24;
  world->ground_reflectivity = NDT_SIM_ASPHALT;
  world->n_lanes = G_N_ELEMENTS (lanes);
  memcpy (world->lanes, lanes, sizeof lanes);
  world->vehicle_size[0] = 7;
  world->vehicle_size[1] = 2.2;
  world->vehicle_size[2] = 2.6;
}
