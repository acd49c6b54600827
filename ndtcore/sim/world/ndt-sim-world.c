/* SPDX-License-Identifier: MIT */
#include "ndt-sim-world.h"

#include "ndt-sim-builder.h"

gboolean
ndt_sim_world_kind_from_name (const gchar *name, NdtSimWorldKind *kind)
{
  static const gchar *const names[] = {
      [NDT_SIM_WORLD_TOWN] = "town",
      [NDT_SIM_WORLD_TUNNEL] = "tunnel",
      [NDT_SIM_WORLD_HIGHWAY] = "highway",
      [NDT_SIM_WORLD_HALL] = "hall",
      [NDT_SIM_WORLD_BLOCKS] = "blocks",
  };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (name, names[i])) {
      *kind = (NdtSimWorldKind)i;
      return TRUE;
    }
  return FALSE;
}

/* Makes the start of the path the origin and its direction x, so that the first pose is simple. */
static void
move_to_start (NdtSimWorld *world)
{
  const NdtSimPathPoint start = ndt_sim_path_at (world->path, 0, 0);
  double s, c;
  guint i;

  ndt_sim_sincos (start.heading, &s, &c);
  for (i = 0; i < world->shapes->len; i++)
    ndt_sim_shape_move (&g_array_index (world->shapes, NdtSimShape, i),
        -(c * start.x + s * start.y), -(c * start.y - s * start.x), -start.heading);
  ndt_sim_path_move_to_start (world->path);
}

NdtSimWorld *
ndt_sim_world_new (NdtSimWorldKind kind, guint64 seed)
{
  NdtSimWorld *world = g_new0 (NdtSimWorld, 1);
  NdtSimRandom random = {ndt_sim_hash (seed, 1, kind), 0};

  world->kind = kind;
  world->shapes = g_array_new (FALSE, FALSE, sizeof (NdtSimShape));
  switch (kind) {
  case NDT_SIM_WORLD_TOWN:
    ndt_sim_world_build_town (world, &random);
    break;
  case NDT_SIM_WORLD_TUNNEL:
    ndt_sim_world_build_tunnel (world, &random);
    break;
  case NDT_SIM_WORLD_HIGHWAY:
    ndt_sim_world_build_highway (world, &random);
    break;
  case NDT_SIM_WORLD_HALL:
    ndt_sim_world_build_hall (world, &random);
    break;
  case NDT_SIM_WORLD_BLOCKS:
    ndt_sim_world_build_blocks (world, &random);
    break;
  }
  move_to_start (world);
  world->bvh = ndt_sim_bvh_new ((const NdtSimShape *)world->shapes->data, world->shapes->len);
  return world;
}

void
ndt_sim_world_free (NdtSimWorld *world)
{
  if (world == NULL)
    return;
  ndt_sim_bvh_free (world->bvh);
  g_array_unref (world->shapes);
  ndt_sim_path_free (world->path);
  g_free (world);
}

gboolean
ndt_sim_world_cast (
    const NdtSimWorld *world, const NdtSimRay *ray, double near, double far, NdtSimHit *hit)
{
  const NdtSimShape *shape;
  double range = far, ground = INFINITY;

  if (ray->direction[2] < 0) {
    ground = -ray->origin[2] / ray->direction[2];
    if (ground < near)
      ground = INFINITY;
    range = MIN (far, ground);
  }
  range = ndt_sim_bvh_intersect (world->bvh, ray, near, range, &shape);
  if (shape != NULL) {
    double point[3], normal[3];
    guint i;

    for (i = 0; i < 3; i++)
      point[i] = ray->origin[i] + range * ray->direction[i];
    ndt_sim_shape_normal (shape, point, normal);
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
