/* SPDX-License-Identifier: MIT */
/* Blocks of houses between straight streets; distances across a street are from its axis. */
#include "ndt-sim-builder.h"

#define N_X 4        /* streets along y */
#define N_Y 3        /* streets along x */
#define LANE 2.0     /* middle of a lane */
#define PARKING 5.55 /* middle of the parked cars */
#define KERB 6.5     /* edge of the pavement */
#define KERB_HEIGHT 0.12
#define PAVEMENT 3.0     /* from the kerb to the houses */
#define OUTER_BLOCK 34.0 /* depth of the blocks at the edge of town */
#define CROSSING 16.0    /* nothing is parked or planted nearer to another street's axis */
#define HOUSE_DEPTH 11.0
#define SPACING 72.0 /* between streets where all blocks are equal */

typedef struct {
  NdtSimWorld *world;
  NdtSimRandom *random;
  double x[N_X];
  double y[N_Y];
  double outer;     /* depth of the blocks at the edge of town */
  gboolean repeats; /* each block is built of the same random numbers */
} Town;

/* A rectangle with a front: @u runs along the front, @v into the house, both axis-parallel. */
typedef struct {
  double x, y;
  double ux, uy;
  double vx, vy;
} Front;

static void
add_front_box (Town *town, const Front *front, double u0, double u1, double v0, double v1,
    double z0, double z1, float reflectivity)
{
  ndt_sim_world_add_box (town->world, front->x + u0 * front->ux + v0 * front->vx,
      front->y + u0 * front->uy + v0 * front->vy, z0, front->x + u1 * front->ux + v1 * front->vx,
      front->y + u1 * front->uy + v1 * front->vy, z1, reflectivity);
}

/* Walls between the windows, whose panes are the house's body @recess behind the front. */
static void
add_facade (Town *town, const Front *front, double width, double height, double recess)
{
  NdtSimRandom *random = town->random;
  const double storey = ndt_sim_random_range (random, 2.8, 3.4);
  const guint n_storeys = (guint)MAX (1, floor (height / storey));
  const double bay_width = ndt_sim_random_range (random, 2.4, 3.6);
  const guint n_bays = (guint)MAX (1, floor (width / bay_width));
  const double bay = width / n_bays, window = bay * ndt_sim_random_range (random, 0.4, 0.6);
  const double sill = ndt_sim_random_range (random, 0.8, 1.0);
  const guint door = (guint)ndt_sim_random_range (random, 0, n_bays);
  const gboolean balconies = ndt_sim_random_chance (random, 0.4);
  const float wall = (float)ndt_sim_random_range (random, 0.3, 0.7);
  const double back = recess + NDT_SIM_SUNK;
  double edge = 0;
  guint i, k;

  for (i = 0; i <= n_bays; i++) {
    const double end = i < n_bays ? (i + 0.5) * bay - window / 2 : width;
    add_front_box (town, front, edge, end, 0, back, -NDT_SIM_SUNK, height, wall);
    edge = end + window;
  }
  /* From the head of one storey's windows to the sill of the next; a little behind the piers. */
  for (k = 0; k <= n_storeys; k++) {
    const double z0 = k == 0 ? -NDT_SIM_SUNK : k * storey - 0.45;
    const double z1 = k == n_storeys ? height - 0.02 : k * storey + sill;
    if (k == 0 && n_bays > 1) {
      const double door0 = (door + 0.5) * bay - window / 2, door1 = door0 + window;
      add_front_box (town, front, 0.02, door0 + 0.02, 0.02, back, z0, z1, wall);
      add_front_box (town, front, door1 - 0.02, width - 0.02, 0.02, back, z0, z1, wall);
    } else if (z1 > z0) {
      add_front_box (town, front, 0.02, width - 0.02, 0.02, back, z0, z1, wall);
    }
  }
  add_front_box (
      town, front, -0.1, width + 0.1, -0.25, back, height - 0.3, height + 0.2, NDT_SIM_CONCRETE);
  for (k = 1; balconies && k < n_storeys; k++) {
    for (i = 0; i < n_bays; i++) {
      const double u0 = i * bay + 0.2, u1 = (i + 1) * bay - 0.2, z = k * storey;
      if (!ndt_sim_random_chance (random, 0.4))
        continue;
      add_front_box (town, front, u0, u1, -1.1, NDT_SIM_SUNK, z - 0.15, z, NDT_SIM_CONCRETE);
      add_front_box (town, front, u0, u1, -1.1, -1.05, z - 0.1, z + 1, NDT_SIM_METAL);
      add_front_box (town, front, u0, u0 + 0.05, -1.1, 0.05, z - 0.1, z + 1, NDT_SIM_METAL);
      add_front_box (town, front, u1 - 0.05, u1, -1.1, 0.05, z - 0.1, z + 1, NDT_SIM_METAL);
    }
  }
}

/* A house whose front starts at @front; @left and @right: that side faces a street as well. */
static void
add_house (Town *town, const Front *front, double width, gboolean left, gboolean right)
{
  NdtSimRandom *random = town->random;
  const double height = ndt_sim_random_range (random, 6.5, 17);
  const double depth = HOUSE_DEPTH - 1.5, recess = ndt_sim_random_range (random, 0.15, 0.35);
  const double u0 = left ? recess : 0, u1 = right ? width - recess : width;
  const Front left_front = {front->x + depth * front->vx, front->y + depth * front->vy, -front->vx,
      -front->vy, front->ux, front->uy};
  const Front right_front = {front->x + width * front->ux, front->y + width * front->uy, front->vx,
      front->vy, -front->ux, -front->uy};

  add_front_box (town, front, u0, u1, recess, depth, -NDT_SIM_SUNK, height, NDT_SIM_GLASS);
  add_facade (town, front, width, height, recess);
  if (left)
    add_facade (town, &left_front, depth, height, recess);
  if (right)
    add_facade (town, &right_front, depth, height, recess);
}

/* Houses side by side along @front over @length metres. */
static void
add_row (Town *town, const Front *front, double length, gboolean corners)
{
  NdtSimRandom *random = town->random;
  double at = 0;

  while (at < length) {
    const double left = length - at;
    double width = ndt_sim_random_range (random, 9, 20), setback = 0;
    Front house = *front;

    if (left - width < 9)
      width = left;
    if (width < 4)
      break;
    if (ndt_sim_random_chance (random, 0.5))
      setback = ndt_sim_random_range (random, 0.2, 1.5);
    house.x += at * front->ux + setback * front->vx;
    house.y += at * front->uy + setback * front->vy;
    add_house (town, &house, width, corners && at == 0, corners && width == left);
    at += width;
    if (width < left && ndt_sim_random_chance (random, 0.35)) {
      /* A yard behind a wall. */
      const double gap = ndt_sim_random_range (random, 2.5, 5);
      const double v = ndt_sim_random_range (random, 0.3, 3);
      if (length - at - gap < 9)
        continue;
      add_front_box (town, front, at - 0.5, at + gap + 0.5, v, v + 0.25, -NDT_SIM_SUNK,
          ndt_sim_random_range (random, 1.2, 2.2), NDT_SIM_CONCRETE);
      at += gap;
    }
  }
}

/* What stands on the pavement and at the kerb along one side of a block; @front runs along the
 * kerb, @v towards the houses. */
static void
add_kerbside (Town *town, const Front *front, double length)
{
  NdtSimRandom *random = town->random;
  const double yaw = ndt_sim_atan2 (front->uy, front->ux);
  const double clear = CROSSING - KERB;
  double at;

  for (at = 1.5; at < length - 1; at += ndt_sim_random_range (random, 6, 11)) {
    const double v = ndt_sim_random_range (random, 0.5, 0.9);
    const double x = front->x + at * front->ux + v * front->vx;
    const double y = front->y + at * front->uy + v * front->vy;
    const double what = ndt_sim_random_range (random, 0, 1);
    const gboolean backwards = ndt_sim_random_chance (random, 0.5);

    if (what < 0.35 && at > clear && at < length - clear) {
      ndt_sim_world_add_tree (town->world, random, x, y);
    } else if (what < 0.6) {
      ndt_sim_world_add_frustum (town->world, x, y, -NDT_SIM_SUNK, 7.5, 0.1, 0.06, NDT_SIM_METAL);
      add_front_box (town, front, at - 0.1, at + 0.1, v - 2.2, v, 7.4, 7.6, NDT_SIM_METAL);
    } else if (what < 0.75) {
      ndt_sim_world_add_sign (town->world, x, y, backwards ? yaw + NDT_SIM_PI : yaw,
          ndt_sim_random_range (random, 2.3, 3), 0.6);
    } else if (what < 0.87) {
      add_front_box (
          town, front, at, at + 1.2, v, v + 0.8, KERB_HEIGHT - NDT_SIM_SUNK, 1.4, NDT_SIM_PLASTER);
    } else {
      ndt_sim_world_add_frustum (town->world, x, y, -NDT_SIM_SUNK, 1, 0.12, 0.12, NDT_SIM_METAL);
    }
  }
  for (at = clear; at < length - clear; at += ndt_sim_random_range (random, 5.8, 7)) {
    const double v = PARKING - KERB + ndt_sim_random_range (random, -0.15, 0.1);
    const double skew = ndt_sim_random_range (random, -0.03, 0.03);
    const gboolean backwards = ndt_sim_random_chance (random, 0.2);
    if (!ndt_sim_random_chance (random, 0.6))
      continue;
    ndt_sim_world_add_car (town->world, random, front->x + at * front->ux + v * front->vx,
        front->y + at * front->uy + v * front->vy, yaw + skew + (backwards ? NDT_SIM_PI : 0));
  }
}

static void
add_block (Town *town, double x0, double y0, double x1, double y1)
{
  const double width = x1 - x0, height = y1 - y0, p = PAVEMENT, d = PAVEMENT + HOUSE_DEPTH;
  const Front south = {x0, y0, 1, 0, 0, 1}, east = {x1, y0, 0, 1, -1, 0};
  const Front north = {x1, y1, -1, 0, 0, -1}, west = {x0, y1, 0, -1, 1, 0};
  const Front south_row = {x0 + p, y0 + p, 1, 0, 0, 1};
  const Front east_row = {x1 - p, y0 + d, 0, 1, -1, 0};
  const Front north_row = {x1 - p, y1 - p, -1, 0, 0, -1};
  const Front west_row = {x0 + p, y1 - d, 0, -1, 1, 0};

  if (town->repeats)
    town->random->counter = 0;

  ndt_sim_world_add_box (town->world, x0, y0, -NDT_SIM_SUNK, x1, y1, KERB_HEIGHT, NDT_SIM_CONCRETE);
  add_row (town, &south_row, width - 2 * p, TRUE);
  add_row (town, &north_row, width - 2 * p, TRUE);
  add_row (town, &east_row, height - 2 * d, FALSE);
  add_row (town, &west_row, height - 2 * d, FALSE);
  add_kerbside (town, &south, width);
  add_kerbside (town, &east, height);
  add_kerbside (town, &north, width);
  add_kerbside (town, &west, height);
}

/* A round on the right-hand side of the streets, with turns to both sides. */
static NdtSimPath *
make_path (const Town *town)
{
  static const guint nodes[][2] = {{0, 0}, {1, 0}, {1, 1}, {2, 1}, {2, 0}, {3, 0}, {3, 2}, {0, 2}};
  NdtSimPathCorner corners[G_N_ELEMENTS (nodes)];
  const guint n = G_N_ELEMENTS (nodes);
  guint i;

  for (i = 0; i < n; i++) {
    const guint *before = nodes[(i + n - 1) % n], *here = nodes[i], *after = nodes[(i + 1) % n];
    /* Unit steps into the crossing and out of it. */
    const double ax = (here[0] > before[0]) - (here[0] < before[0]);
    const double ay = (here[1] > before[1]) - (here[1] < before[1]);
    const double bx = (after[0] > here[0]) - (after[0] < here[0]);
    const double by = (after[1] > here[1]) - (after[1] < here[1]);

    corners[i].x = town->x[here[0]] + LANE * (ay + by);
    corners[i].y = town->y[here[1]] - LANE * (ax + bx);
    corners[i].turn_length = ax * by - ay * bx > 0 ? 24 : 16;
  }
  return ndt_sim_path_new (corners, n);
}

/* Blocks around streets whose places are set. */
static void
build (Town *town)
{
  static const NdtSimLane lanes[] = {{2 * LANE, -1}, {0, 1}};
  NdtSimWorld *world = town->world;
  const double outer = town->outer;
  gint i, j;

  for (i = 0; i <= N_X; i++) {
    for (j = 0; j <= N_Y; j++)
      add_block (town, i > 0 ? town->x[i - 1] + KERB : town->x[0] - KERB - outer,
          j > 0 ? town->y[j - 1] + KERB : town->y[0] - KERB - outer,
          i < N_X ? town->x[i] - KERB : town->x[N_X - 1] + KERB + outer,
          j < N_Y ? town->y[j] - KERB : town->y[N_Y - 1] + KERB + outer);
  }
  world->path = make_path (town);
  world->default_speed = 8;
  world->ground_margin = 60;
  world->ground_reflectivity = NDT_SIM_ASPHALT;
  world->n_lanes = G_N_ELEMENTS (lanes);
  memcpy (world->lanes, lanes, sizeof lanes);
  world->vehicle_size[0] = 4.6;
  world->vehicle_size[1] = 1.8;
  world->vehicle_size[2] = 1.6;
}

void
ndt_sim_world_build_town (NdtSimWorld *world, NdtSimRandom *random)
{
  Town town = {.world = world, .random = random, .outer = OUTER_BLOCK};
  gint i;

  for (i = 1; i < N_X; i++)
    town.x[i] = town.x[i - 1] + ndt_sim_random_range (random, 62, 82);
  for (i = 1; i < N_Y; i++)
    town.y[i] = town.y[i - 1] + ndt_sim_random_range (random, 62, 82);
  build (&town);
}

void
ndt_sim_world_build_blocks (NdtSimWorld *world, NdtSimRandom *random)
{
  Town town = {.world = world, .random = random, .outer = SPACING - 2 * KERB, .repeats = TRUE};
  gint i;

  for (i = 1; i < N_X; i++)
    town.x[i] = SPACING * i;
  for (i = 1; i < N_Y; i++)
    town.y[i] = SPACING * i;
  build (&town);
}
