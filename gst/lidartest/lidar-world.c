/* SPDX-License-Identifier: MIT */
#include "lidar-world.h"

#include "lidar-builder.h"

LidarWorld *
lidar_world_new (LidarWorldKind kind, guint64 seed)
{
  LidarWorld *world = g_new0 (LidarWorld, 1);
  LidarRandom random = {lidar_hash (seed, 1, kind), 0};

  world->kind = kind;
  world->shapes = g_array_new (FALSE, FALSE, sizeof (LidarShape));
  switch (kind) {
  case LIDAR_WORLD_TOWN:
    lidar_world_build_town (world, &random);
    break;
  case LIDAR_WORLD_TUNNEL:
    lidar_world_build_tunnel (world, &random);
    break;
  case LIDAR_WORLD_HIGHWAY:
    lidar_world_build_highway (world, &random);
    break;
  case LIDAR_WORLD_HALL:
    lidar_world_build_hall (world, &random);
    break;
  }
  world->bvh = lidar_bvh_new ((const LidarShape *)world->shapes->data, world->shapes->len);
  return world;
}

void
lidar_world_free (LidarWorld *world)
{
  if (world == NULL)
    return;
  lidar_bvh_free (world->bvh);
  g_array_unref (world->shapes);
  lidar_path_free (world->path);
  g_free (world);
}

gboolean
lidar_world_cast (
    const LidarWorld *world, const LidarRay *ray, double near, double far, LidarHit *hit)
{
  const LidarShape *shape;
  double range = far, ground = INFINITY;

  if (ray->direction[2] < 0) {
    ground = -ray->origin[2] / ray->direction[2];
    if (ground < near)
      ground = INFINITY;
    range = MIN (far, ground);
  }
  range = lidar_bvh_intersect (world->bvh, ray, near, range, &shape);
  if (shape != NULL) {
    double point[3], normal[3];
    guint i;

    for (i = 0; i < 3; i++)
      point[i] = ray->origin[i] + range * ray->direction[i];
    lidar_shape_normal (shape, point, normal);
    hit->range = range;
    hit->reflectivity = shape->reflectivity;
    hit->cosine = (float)fabs (normal[0] * ray->direction[0] + normal[1] * ray->direction[1] +
                               normal[2] * ray->direction[2]);
    return TRUE;
  }
  if (ground > far)
    return FALSE;
  hit->range = ground;
  hit->reflectivity = world->ground_reflectivity;
  hit->cosine = (float)-ray->direction[2];
  return TRUE;
}

typedef struct {
  const LidarWorld *world;
  GArray *points;
  LidarRandom random; /* of the noise */
  double noise;
  guint index; /* of the shape that is sampled; G_MAXUINT: the ground */
  const double *point;
} Sampler;

/* Where two surfaces coincide, the later shape's is the one that is left out. */
static gboolean
hides (const LidarShape *shape, guint index, gpointer user_data)
{
  const Sampler *sampler = user_data;

  if (index == sampler->index)
    return FALSE;
  return lidar_shape_contains (shape, sampler->point, index < sampler->index ? 0.001 : -0.001);
}

static void
take_sample (const double point[3], const double normal[3], gpointer user_data)
{
  Sampler *sampler = user_data;
  const double noise = sampler->noise * lidar_random_normal (&sampler->random);
  double moved[3];
  guint i;

  if (sampler->index != G_MAXUINT && point[2] < 0)
    return;
  sampler->point = point;
  if (lidar_bvh_foreach_at (sampler->world->bvh, point, 0.001, hides, sampler))
    return;
  for (i = 0; i < 3; i++)
    moved[i] = point[i] + noise * normal[i];
  g_array_append_val (sampler->points, moved);
}

/* The ground in squares of 5 m that have a part of the path near. */
static void
sample_ground (const LidarWorld *world, double spacing, LidarRandom *random, Sampler *sampler)
{
  const double size = 5;
  const double length = lidar_path_get_length (world->path);
  const double reach = world->ground_margin;
  double min[2] = {INFINITY, INFINITY}, max[2] = {-INFINITY, -INFINITY}, s;
  g_autofree guint8 *wanted = NULL;
  LidarShape ground = {LIDAR_SHAPE_TRIANGLE};
  guint nx, ny, i, j;

  for (s = 0; s < length; s += 1) {
    const LidarPathPoint p = lidar_path_at (world->path, s, 0);
    min[0] = MIN (min[0], p.x - reach);
    min[1] = MIN (min[1], p.y - reach);
    max[0] = MAX (max[0], p.x + reach);
    max[1] = MAX (max[1], p.y + reach);
  }
  nx = (guint)((max[0] - min[0]) / size) + 1;
  ny = (guint)((max[1] - min[1]) / size) + 1;
  wanted = g_malloc0 ((gsize)nx * ny);
  for (s = 0; s < length; s += 1) {
    const LidarPathPoint p = lidar_path_at (world->path, s, 0);
    const guint x0 = (guint)((p.x - reach - min[0]) / size);
    const guint x1 = MIN ((guint)((p.x + reach - min[0]) / size), nx - 1);
    const guint y0 = (guint)((p.y - reach - min[1]) / size);
    const guint y1 = MIN ((guint)((p.y + reach - min[1]) / size), ny - 1);
    for (j = y0; j <= y1; j++)
      memset (wanted + (gsize)j * nx + x0, 1, x1 - x0 + 1);
  }
  sampler->index = G_MAXUINT;
  ground.triangle.u[0] = size;
  ground.triangle.v[1] = size;
  for (j = 0; j < ny; j++) {
    for (i = 0; i < nx; i++) {
      if (!wanted[(gsize)j * nx + i])
        continue;
      /* Two triangles make a square. */
      ground.triangle.p[0] = min[0] + size * i;
      ground.triangle.p[1] = min[1] + size * j;
      ground.triangle.u[0] = ground.triangle.v[1] = size;
      lidar_shape_sample (&ground, spacing, random, take_sample, sampler);
      ground.triangle.p[0] += size;
      ground.triangle.p[1] += size;
      ground.triangle.u[0] = ground.triangle.v[1] = -size;
      lidar_shape_sample (&ground, spacing, random, take_sample, sampler);
    }
  }
}

GArray *
lidar_world_sample (const LidarWorld *world, double spacing, double noise, guint64 seed)
{
  GArray *points = g_array_new (FALSE, FALSE, 3 * sizeof (double));
  Sampler sampler = {world, points, {lidar_hash (seed, 2, 0), 0}, noise, 0, NULL};
  LidarRandom random = {lidar_hash (seed, 2, 1), 0};

  for (sampler.index = 0; sampler.index < world->shapes->len; sampler.index++)
    lidar_shape_sample (&g_array_index (world->shapes, LidarShape, sampler.index), spacing, &random,
        take_sample, &sampler);
  sample_ground (world, spacing, &random, &sampler);
  return points;
}
