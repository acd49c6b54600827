/* SPDX-License-Identifier: MIT */
#include "ndt-sim-builder.h"

void
ndt_sim_world_add_box (NdtSimWorld *world, double x0, double y0, double z0, double x1, double y1,
    double z1, float reflectivity)
{
  ndt_sim_world_add_turned_box (world, (x0 + x1) / 2, (y0 + y1) / 2, 0, fabs (x1 - x0),
      fabs (y1 - y0), MIN (z0, z1), MAX (z0, z1), reflectivity);
}

void
ndt_sim_world_add_turned_box (NdtSimWorld *world, double x, double y, double yaw, double length,
    double width, double z0, double z1, float reflectivity)
{
  NdtSimShape shape = {NDT_SIM_SHAPE_BOX, reflectivity};

  shape.box.centre[0] = x;
  shape.box.centre[1] = y;
  shape.box.centre[2] = (z0 + z1) / 2;
  shape.box.half[0] = length / 2;
  shape.box.half[1] = width / 2;
  shape.box.half[2] = (z1 - z0) / 2;
  ndt_sim_sincos (yaw, &shape.box.sin_yaw, &shape.box.cos_yaw);
  g_array_append_val (world->shapes, shape);
}

void
ndt_sim_world_add_frustum (NdtSimWorld *world, double x, double y, double z0, double z1, double r0,
    double r1, float reflectivity)
{
  NdtSimShape shape = {NDT_SIM_SHAPE_FRUSTUM, reflectivity};

  shape.frustum.x = x;
  shape.frustum.y = y;
  shape.frustum.z0 = z0;
  shape.frustum.z1 = z1;
  shape.frustum.r0 = r0;
  shape.frustum.r1 = r1;
  g_array_append_val (world->shapes, shape);
}

void
ndt_sim_world_add_ellipsoid (NdtSimWorld *world, double x, double y, double z, double radius,
    double height, float reflectivity)
{
  NdtSimShape shape = {NDT_SIM_SHAPE_ELLIPSOID, reflectivity};

  shape.ellipsoid.centre[0] = x;
  shape.ellipsoid.centre[1] = y;
  shape.ellipsoid.centre[2] = z;
  shape.ellipsoid.radius = radius;
  shape.ellipsoid.height = height;
  g_array_append_val (world->shapes, shape);
}

static void
add_triangle (
    NdtSimWorld *world, const double a[3], const double b[3], const double c[3], float reflectivity)
{
  NdtSimShape shape = {NDT_SIM_SHAPE_TRIANGLE, reflectivity};
  guint i;

  for (i = 0; i < 3; i++) {
    shape.triangle.p[i] = a[i];
    shape.triangle.u[i] = b[i] - a[i];
    shape.triangle.v[i] = c[i] - a[i];
  }
  g_array_append_val (world->shapes, shape);
}

void
ndt_sim_world_add_quad (NdtSimWorld *world, const double a[3], const double b[3], const double c[3],
    const double d[3], float reflectivity)
{
  add_triangle (world, b, c, a, reflectivity);
  add_triangle (world, d, a, c, reflectivity);
}

void
ndt_sim_world_add_sign (
    NdtSimWorld *world, double x, double y, double yaw, double height, double width)
{
  double s, c;

  ndt_sim_sincos (yaw, &s, &c);
  ndt_sim_world_add_frustum (world, x, y, -NDT_SIM_SUNK, height, 0.04, 0.04, NDT_SIM_METAL);
  ndt_sim_world_add_turned_box (
      world, x + 0.06 * c, y + 0.06 * s, yaw, 0.03, width, height - width, height, NDT_SIM_SIGN);
}

void
ndt_sim_world_add_tree (NdtSimWorld *world, NdtSimRandom *random, double x, double y)
{
  const double trunk = ndt_sim_random_range (random, 0.12, 0.28);
  const double crown = ndt_sim_random_range (random, 1.1, 1.9);
  const double base = ndt_sim_random_range (random, 4.6, 5.6) + crown / 2;
  const guint n = 2 + (guint)ndt_sim_random_range (random, 0, 3);
  guint i;

  ndt_sim_world_add_frustum (world, x, y, -NDT_SIM_SUNK, base, trunk, trunk * 0.6, NDT_SIM_BARK);
  for (i = 0; i < n; i++) {
    const double radius = crown * ndt_sim_random_range (random, 0.6, 1);
    const double dx = ndt_sim_random_range (random, -0.4, 0.4) * crown;
    const double dy = ndt_sim_random_range (random, -0.4, 0.4) * crown;
    const double dz = ndt_sim_random_range (random, 0, 0.8) * crown;
    ndt_sim_world_add_ellipsoid (
        world, x + dx, y + dy, base + dz, radius, radius * 0.8, NDT_SIM_LEAVES);
  }
}

void
ndt_sim_world_add_car (NdtSimWorld *world, NdtSimRandom *random, double x, double y, double yaw)
{
  const gboolean van = ndt_sim_random_chance (random, 0.15);
  const double length = van ? 5.2 : ndt_sim_random_range (random, 3.8, 4.7);
  const double width = van ? 1.95 : ndt_sim_random_range (random, 1.65, 1.85);
  const double waist = ndt_sim_random_range (random, 0.85, 1.0);
  const double roof = van ? 2.1 : ndt_sim_random_range (random, 1.4, 1.65);
  const double cabin = van ? 4.2 : ndt_sim_random_range (random, 1.9, 2.6);
  const float paint = (float)ndt_sim_random_range (random, 0.2, 0.7);
  double s, c;

  ndt_sim_sincos (yaw, &s, &c);
  ndt_sim_world_add_turned_box (world, x, y, yaw, length, width, 0.25, waist, paint);
  ndt_sim_world_add_turned_box (world, x - 0.3 * c, y - 0.3 * s, yaw, cabin, width - 0.2,
      waist - NDT_SIM_SUNK, roof, van ? paint : NDT_SIM_GLASS);
}

static void
beside (const NdtSimWorld *world, double s, double lateral, double z, double point[3])
{
  const NdtSimPathPoint p = ndt_sim_path_at (world->path, s, lateral);
  point[0] = p.x;
  point[1] = p.y;
  point[2] = z;
}

void
ndt_sim_world_add_scaled_band (NdtSimWorld *world, double step, double lateral0, double z0,
    double lateral1, double z1, NdtSimHeightFunc scale, gpointer user_data, float reflectivity)
{
  const double length = ndt_sim_path_get_length (world->path);
  const guint n = (guint)(length / step) + 1;
  guint i;

  for (i = 0; i < n; i++) {
    /* Both sides of a seam use the same position, and the last one that of the first. */
    const double s0 = length * i / n, s1 = i + 1 < n ? length * (i + 1) / n : 0;
    const double h0 = scale ? scale (s0, user_data) : 1, h1 = scale ? scale (s1, user_data) : 1;
    double a[3], b[3], c[3], d[3];

    beside (world, s0, lateral0, z0 * h0, a);
    beside (world, s0, lateral1, z1 * h0, b);
    beside (world, s1, lateral1, z1 * h1, c);
    beside (world, s1, lateral0, z0 * h1, d);
    ndt_sim_world_add_quad (world, a, b, c, d, reflectivity);
  }
}

void
ndt_sim_world_add_band (NdtSimWorld *world, double step, double lateral0, double z0,
    double lateral1, double z1, float reflectivity)
{
  ndt_sim_world_add_scaled_band (world, step, lateral0, z0, lateral1, z1, NULL, NULL, reflectivity);
}

void
ndt_sim_world_add_beside (NdtSimWorld *world, double s, double lateral, double length, double width,
    double z0, double z1, float reflectivity)
{
  const NdtSimPathPoint p = ndt_sim_path_at (world->path, s, lateral);
  ndt_sim_world_add_turned_box (world, p.x, p.y, p.heading, length, width, z0, z1, reflectivity);
}
