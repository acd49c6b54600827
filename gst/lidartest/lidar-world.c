/* SPDX-License-Identifier: MIT */
#include "lidar-world.h"

#include "lidar-builder.h"

/* Makes the start of the path the origin, with x along it: a first pose that is easy to give. */
static void
move_to_start (LidarWorld *world)
{
  const LidarPathPoint start = lidar_path_at (world->path, 0, 0);
  double s, c;
  guint i;

  lidar_sincos (start.heading, &s, &c);
  for (i = 0; i < world->shapes->len; i++)
    lidar_shape_move (&g_array_index (world->shapes, LidarShape, i), -(c * start.x + s * start.y),
        -(c * start.y - s * start.x), -start.heading);
  lidar_path_move_to_start (world->path);
}

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
  move_to_start (world);
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
