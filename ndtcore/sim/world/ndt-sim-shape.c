/* SPDX-License-Identifier: MIT */
#include "ndt-sim-shape.h"

static inline double
dot3 (const double a[3], const double b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void
cross3 (const double a[3], const double b[3], double out[3])
{
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

void
ndt_sim_shape_bounds (const NdtSimShape *shape, double min[3], double max[3])
{
  guint i;

  switch (shape->kind) {
  case NDT_SIM_SHAPE_BOX: {
    const double c = fabs (shape->box.cos_yaw), s = fabs (shape->box.sin_yaw);
    const double half[3] = {c * shape->box.half[0] + s * shape->box.half[1],
        s * shape->box.half[0] + c * shape->box.half[1], shape->box.half[2]};
    for (i = 0; i < 3; i++) {
      min[i] = shape->box.centre[i] - half[i];
      max[i] = shape->box.centre[i] + half[i];
    }
    break;
  }
  case NDT_SIM_SHAPE_FRUSTUM: {
    const double r = MAX (shape->frustum.r0, shape->frustum.r1);
    min[0] = shape->frustum.x - r;
    max[0] = shape->frustum.x + r;
    min[1] = shape->frustum.y - r;
    max[1] = shape->frustum.y + r;
    min[2] = shape->frustum.z0;
    max[2] = shape->frustum.z1;
    break;
  }
  case NDT_SIM_SHAPE_ELLIPSOID:
    for (i = 0; i < 3; i++) {
      const double r = i < 2 ? shape->ellipsoid.radius : shape->ellipsoid.height;
      min[i] = shape->ellipsoid.centre[i] - r;
      max[i] = shape->ellipsoid.centre[i] + r;
    }
    break;
  case NDT_SIM_SHAPE_TRIANGLE:
    for (i = 0; i < 3; i++) {
      const double u = shape->triangle.u[i], v = shape->triangle.v[i];
      min[i] = shape->triangle.p[i] + MIN (0, MIN (u, v));
      max[i] = shape->triangle.p[i] + MAX (0, MAX (u, v));
    }
    break;
  }
}

void
ndt_sim_shape_move (NdtSimShape *shape, double x, double y, double yaw)
{
  double s, c;

  ndt_sim_sincos (yaw, &s, &c);
  switch (shape->kind) {
  case NDT_SIM_SHAPE_BOX: {
    const double *centre = shape->box.centre;
    const double moved[2] = {x + c * centre[0] - s * centre[1], y + s * centre[0] + c * centre[1]};
    const double cosine = shape->box.cos_yaw, sine = shape->box.sin_yaw;
    memcpy (shape->box.centre, moved, sizeof moved);
    shape->box.cos_yaw = c * cosine - s * sine;
    shape->box.sin_yaw = s * cosine + c * sine;
    break;
  }
  case NDT_SIM_SHAPE_FRUSTUM: {
    const double old_x = shape->frustum.x, old_y = shape->frustum.y;
    shape->frustum.x = x + c * old_x - s * old_y;
    shape->frustum.y = y + s * old_x + c * old_y;
    break;
  }
  case NDT_SIM_SHAPE_ELLIPSOID: {
    const double *centre = shape->ellipsoid.centre;
    const double moved[2] = {x + c * centre[0] - s * centre[1], y + s * centre[0] + c * centre[1]};
    memcpy (shape->ellipsoid.centre, moved, sizeof moved);
    break;
  }
  case NDT_SIM_SHAPE_TRIANGLE: {
    double *const vectors[3] = {shape->triangle.p, shape->triangle.u, shape->triangle.v};
    guint i;
    for (i = 0; i < 3; i++) {
      const double old_x = vectors[i][0], old_y = vectors[i][1];
      vectors[i][0] = c * old_x - s * old_y;
      vectors[i][1] = s * old_x + c * old_y;
    }
    shape->triangle.p[0] += x;
    shape->triangle.p[1] += y;
    break;
  }
  }
}

/* The box's axes as the world's. */
static inline void
box_to_local (const NdtSimShape *shape, const double v[3], double out[3])
{
  out[0] = shape->box.cos_yaw * v[0] + shape->box.sin_yaw * v[1];
  out[1] = shape->box.cos_yaw * v[1] - shape->box.sin_yaw * v[0];
  out[2] = v[2];
}

static inline double
intersect_box (const NdtSimShape *shape, const NdtSimRay *ray, double near)
{
  const double relative[3] = {ray->origin[0] - shape->box.centre[0],
      ray->origin[1] - shape->box.centre[1], ray->origin[2] - shape->box.centre[2]};
  double enter = -INFINITY, leave = INFINITY;
  double o[3], d[3];
  guint i;

  box_to_local (shape, relative, o);
  box_to_local (shape, ray->direction, d);
  for (i = 0; i < 3; i++) {
    const double half = shape->box.half[i];
    double inverse, a, b;

    if (d[i] == 0) {
      if (fabs (o[i]) > half)
        return INFINITY;
      continue;
    }
    inverse = 1 / d[i];
    a = (-half - o[i]) * inverse;
    b = (half - o[i]) * inverse;
    enter = MAX (enter, MIN (a, b));
    leave = MIN (leave, MAX (a, b));
  }
  if (enter > leave)
    return INFINITY;
  return enter > near ? enter : leave > near ? leave : INFINITY;
}

static inline double
intersect_frustum (const NdtSimShape *shape, const NdtSimRay *ray, double near)
{
  const double z0 = shape->frustum.z0, z1 = shape->frustum.z1;
  const double slope = (shape->frustum.r1 - shape->frustum.r0) / (z1 - z0);
  const double ox = ray->origin[0] - shape->frustum.x, oy = ray->origin[1] - shape->frustum.y;
  const double *d = ray->direction;
  /* The radius at the height of the ray is r + k t. */
  const double r = shape->frustum.r0 + slope * (ray->origin[2] - z0), k = slope * d[2];
  const double a = d[0] * d[0] + d[1] * d[1] - k * k;
  const double b = ox * d[0] + oy * d[1] - r * k;
  const double c = ox * ox + oy * oy - r * r;
  double best = INFINITY;
  guint i;

  if (a != 0) {
    const double discriminant = b * b - a * c;
    if (discriminant >= 0) {
      const double root = sqrt (discriminant);
      for (i = 0; i < 2; i++) {
        const double t = (i == 0 ? -b - root : -b + root) / a;
        const double z = ray->origin[2] + t * d[2];
        if (t > near && t < best && z >= z0 && z <= z1 && r + k * t >= 0)
          best = t;
      }
    }
  }
  if (d[2] != 0) {
    for (i = 0; i < 2; i++) {
      const double radius = i == 0 ? shape->frustum.r0 : shape->frustum.r1;
      const double t = ((i == 0 ? z0 : z1) - ray->origin[2]) / d[2];
      const double x = ox + t * d[0], y = oy + t * d[1];
      if (t > near && t < best && x * x + y * y <= radius * radius)
        best = t;
    }
  }
  return best;
}

static inline double
intersect_ellipsoid (const NdtSimShape *shape, const NdtSimRay *ray, double near)
{
  /* Stretched along z to a sphere. */
  const double stretch = shape->ellipsoid.radius / shape->ellipsoid.height;
  const double o[3] = {ray->origin[0] - shape->ellipsoid.centre[0],
      ray->origin[1] - shape->ellipsoid.centre[1],
      (ray->origin[2] - shape->ellipsoid.centre[2]) * stretch};
  const double d[3] = {ray->direction[0], ray->direction[1], ray->direction[2] * stretch};
  const double a = dot3 (d, d);
  const double b = dot3 (o, d);
  const double c = dot3 (o, o) - shape->ellipsoid.radius * shape->ellipsoid.radius;
  const double discriminant = b * b - a * c;
  double root, t;

  if (discriminant < 0)
    return INFINITY;
  root = sqrt (discriminant);
  t = (-b - root) / a;
  if (t > near)
    return t;
  t = (-b + root) / a;
  return t > near ? t : INFINITY;
}

static inline double
intersect_triangle (const NdtSimShape *shape, const NdtSimRay *ray, double near)
{
  /* Larger than rounding, so that no ray passes between two triangles that share an edge. */
  const double margin = 1e-9;
  const double *u = shape->triangle.u, *v = shape->triangle.v;
  const double relative[3] = {ray->origin[0] - shape->triangle.p[0],
      ray->origin[1] - shape->triangle.p[1], ray->origin[2] - shape->triangle.p[2]};
  double normal[3], q[3];
  double determinant, inverse, a, b, t;

  cross3 (u, v, normal);
  determinant = -dot3 (ray->direction, normal);
  if (determinant == 0)
    return INFINITY;
  inverse = 1 / determinant;
  t = dot3 (relative, normal) * inverse;
  if (!(t > near))
    return INFINITY;
  cross3 (relative, ray->direction, q);
  a = dot3 (v, q) * inverse;
  b = -dot3 (u, q) * inverse;
  return a >= -margin && b >= -margin && a + b <= 1 + margin ? t : INFINITY;
}

double
ndt_sim_shape_intersect (const NdtSimShape *shape, const NdtSimRay *ray, double near)
{
  switch (shape->kind) {
  case NDT_SIM_SHAPE_BOX:
    return intersect_box (shape, ray, near);
  case NDT_SIM_SHAPE_FRUSTUM:
    return intersect_frustum (shape, ray, near);
  case NDT_SIM_SHAPE_ELLIPSOID:
    return intersect_ellipsoid (shape, ray, near);
  case NDT_SIM_SHAPE_TRIANGLE:
    return intersect_triangle (shape, ray, near);
  }
  g_return_val_if_reached (INFINITY);
}

void
ndt_sim_shape_normal (const NdtSimShape *shape, const double point[3], double normal[3])
{
  double length;

  switch (shape->kind) {
  case NDT_SIM_SHAPE_BOX: {
    const double relative[3] = {point[0] - shape->box.centre[0], point[1] - shape->box.centre[1],
        point[2] - shape->box.centre[2]};
    double local[3], n[3] = {0, 0, 0};
    guint i, face = 0;
    double nearest = INFINITY;

    box_to_local (shape, relative, local);
    for (i = 0; i < 3; i++) {
      const double distance = fabs (fabs (local[i]) - shape->box.half[i]);
      if (distance < nearest) {
        nearest = distance;
        face = i;
      }
    }
    n[face] = local[face] < 0 ? -1 : 1;
    normal[0] = shape->box.cos_yaw * n[0] - shape->box.sin_yaw * n[1];
    normal[1] = shape->box.sin_yaw * n[0] + shape->box.cos_yaw * n[1];
    normal[2] = n[2];
    return;
  }
  case NDT_SIM_SHAPE_FRUSTUM: {
    const double z0 = shape->frustum.z0, z1 = shape->frustum.z1;
    const double slope = (shape->frustum.r1 - shape->frustum.r0) / (z1 - z0);
    const double x = point[0] - shape->frustum.x, y = point[1] - shape->frustum.y;
    const double radius = sqrt (x * x + y * y);
    const double side = fabs (radius - (shape->frustum.r0 + slope * (point[2] - z0)));
    const double bottom = fabs (point[2] - z0), top = fabs (point[2] - z1);

    if (side <= MIN (bottom, top) && radius > 0) {
      normal[0] = x / radius;
      normal[1] = y / radius;
      normal[2] = -slope;
    } else {
      normal[0] = normal[1] = 0;
      normal[2] = bottom < top ? -1 : 1;
    }
    break;
  }
  case NDT_SIM_SHAPE_ELLIPSOID: {
    const double stretch = shape->ellipsoid.radius / shape->ellipsoid.height;
    normal[0] = point[0] - shape->ellipsoid.centre[0];
    normal[1] = point[1] - shape->ellipsoid.centre[1];
    normal[2] = (point[2] - shape->ellipsoid.centre[2]) * stretch * stretch;
    break;
  }
  case NDT_SIM_SHAPE_TRIANGLE:
    cross3 (shape->triangle.u, shape->triangle.v, normal);
    break;
  }
  length = sqrt (dot3 (normal, normal));
  normal[0] /= length;
  normal[1] /= length;
  normal[2] /= length;
}

gboolean
ndt_sim_shape_contains (const NdtSimShape *shape, const double point[3], double margin)
{
  switch (shape->kind) {
  case NDT_SIM_SHAPE_BOX: {
    const double relative[3] = {point[0] - shape->box.centre[0], point[1] - shape->box.centre[1],
        point[2] - shape->box.centre[2]};
    double local[3];

    box_to_local (shape, relative, local);
    return fabs (local[0]) <= shape->box.half[0] + margin &&
           fabs (local[1]) <= shape->box.half[1] + margin &&
           fabs (local[2]) <= shape->box.half[2] + margin;
  }
  case NDT_SIM_SHAPE_FRUSTUM: {
    const double z0 = shape->frustum.z0, z1 = shape->frustum.z1;
    const double x = point[0] - shape->frustum.x, y = point[1] - shape->frustum.y;
    const double radius = shape->frustum.r0 +
                          (shape->frustum.r1 - shape->frustum.r0) * (point[2] - z0) / (z1 - z0) +
                          margin;
    return point[2] >= z0 - margin && point[2] <= z1 + margin && radius >= 0 &&
           x * x + y * y <= radius * radius;
  }
  case NDT_SIM_SHAPE_ELLIPSOID: {
    const double radius = shape->ellipsoid.radius + margin;
    const double height = shape->ellipsoid.height + margin;
    const double x = (point[0] - shape->ellipsoid.centre[0]) / radius;
    const double y = (point[1] - shape->ellipsoid.centre[1]) / radius;
    const double z = (point[2] - shape->ellipsoid.centre[2]) / height;
    return radius > 0 && height > 0 && x * x + y * y + z * z <= 1;
  }
  case NDT_SIM_SHAPE_TRIANGLE:
    return FALSE;
  }
  g_return_val_if_reached (FALSE);
}

static guint
n_cells (double length, double spacing)
{
  return (guint)MAX (1, floor (length / spacing + 0.5));
}

/* A jittered position in cell i of n, as a fraction. */
static double
cell_position (guint i, guint n, NdtSimRandom *random)
{
  return (i + ndt_sim_random_range (random, 0, 1)) / n;
}

static void
sample_box (const NdtSimShape *shape, double spacing, NdtSimRandom *random, NdtSimSampleFunc func,
    gpointer user_data)
{
  const double *half = shape->box.half;
  const double c = shape->box.cos_yaw, s = shape->box.sin_yaw;
  guint face;

  for (face = 0; face < 6; face++) {
    const guint axis = face / 2, ua = (axis + 1) % 3, va = (axis + 2) % 3;
    const guint nu = n_cells (2 * half[ua], spacing), nv = n_cells (2 * half[va], spacing);
    const double sign = face % 2 ? 1 : -1;
    double n[3] = {0, 0, 0}, normal[3];
    guint i, j;

    n[axis] = sign;
    normal[0] = c * n[0] - s * n[1];
    normal[1] = s * n[0] + c * n[1];
    normal[2] = n[2];
    for (i = 0; i < nu; i++) {
      for (j = 0; j < nv; j++) {
        double local[3], point[3];
        local[axis] = sign * half[axis];
        local[ua] = half[ua] * (2 * cell_position (i, nu, random) - 1);
        local[va] = half[va] * (2 * cell_position (j, nv, random) - 1);
        point[0] = shape->box.centre[0] + c * local[0] - s * local[1];
        point[1] = shape->box.centre[1] + s * local[0] + c * local[1];
        point[2] = shape->box.centre[2] + local[2];
        func (point, normal, user_data);
      }
    }
  }
}

/* Points of a surface of revolution: a ring at height z with radius r. */
static void
sample_ring (const NdtSimShape *shape, double x, double y, double z, double r, double spacing,
    NdtSimRandom *random, NdtSimSampleFunc func, gpointer user_data)
{
  const guint n = n_cells (2 * NDT_SIM_PI * r, spacing);
  guint i;

  for (i = 0; i < n; i++) {
    double s, c, point[3], normal[3];
    ndt_sim_sincos (2 * NDT_SIM_PI * cell_position (i, n, random), &s, &c);
    point[0] = x + r * c;
    point[1] = y + r * s;
    point[2] = z;
    ndt_sim_shape_normal (shape, point, normal);
    func (point, normal, user_data);
  }
}

static void
sample_frustum (const NdtSimShape *shape, double spacing, NdtSimRandom *random,
    NdtSimSampleFunc func, gpointer user_data)
{
  const double z0 = shape->frustum.z0, z1 = shape->frustum.z1;
  const double r0 = shape->frustum.r0, r1 = shape->frustum.r1;
  const guint n = n_cells (z1 - z0, spacing);
  guint i, end;

  for (i = 0; i < n; i++) {
    const double f = cell_position (i, n, random);
    sample_ring (shape, shape->frustum.x, shape->frustum.y, z0 + (z1 - z0) * f, r0 + (r1 - r0) * f,
        spacing, random, func, user_data);
  }
  for (end = 0; end < 2; end++) {
    const double radius = end ? r1 : r0;
    const guint n_rings = n_cells (radius, spacing);
    if (radius == 0)
      continue;
    for (i = 0; i < n_rings; i++)
      sample_ring (shape, shape->frustum.x, shape->frustum.y, end ? z1 : z0,
          radius * cell_position (i, n_rings, random), spacing, random, func, user_data);
  }
}

static void
sample_ellipsoid (const NdtSimShape *shape, double spacing, NdtSimRandom *random,
    NdtSimSampleFunc func, gpointer user_data)
{
  const double radius = shape->ellipsoid.radius, height = shape->ellipsoid.height;
  const guint n = n_cells (NDT_SIM_PI * MAX (radius, height), spacing);
  guint i;

  for (i = 0; i < n; i++) {
    double s, c;
    ndt_sim_sincos (NDT_SIM_PI * cell_position (i, n, random), &s, &c);
    sample_ring (shape, shape->ellipsoid.centre[0], shape->ellipsoid.centre[1],
        shape->ellipsoid.centre[2] + height * c, radius * s, spacing, random, func, user_data);
  }
}

static void
sample_triangle (const NdtSimShape *shape, double spacing, NdtSimRandom *random,
    NdtSimSampleFunc func, gpointer user_data)
{
  const double *u = shape->triangle.u, *v = shape->triangle.v;
  const guint nu = n_cells (sqrt (dot3 (u, u)), spacing),
              nv = n_cells (sqrt (dot3 (v, v)), spacing);
  double normal[3];
  guint i, j, k;

  ndt_sim_shape_normal (shape, shape->triangle.p, normal);
  for (i = 0; i < nu; i++) {
    for (j = 0; j < nv; j++) {
      const double a = cell_position (i, nu, random), b = cell_position (j, nv, random);
      double point[3];
      if (a + b > 1)
        continue;
      for (k = 0; k < 3; k++)
        point[k] = shape->triangle.p[k] + a * u[k] + b * v[k];
      func (point, normal, user_data);
    }
  }
}

void
ndt_sim_shape_sample (const NdtSimShape *shape, double spacing, NdtSimRandom *random,
    NdtSimSampleFunc func, gpointer user_data)
{
  switch (shape->kind) {
  case NDT_SIM_SHAPE_BOX:
    sample_box (shape, spacing, random, func, user_data);
    break;
  case NDT_SIM_SHAPE_FRUSTUM:
    sample_frustum (shape, spacing, random, func, user_data);
    break;
  case NDT_SIM_SHAPE_ELLIPSOID:
    sample_ellipsoid (shape, spacing, random, func, user_data);
    break;
  case NDT_SIM_SHAPE_TRIANGLE:
    sample_triangle (shape, spacing, random, func, user_data);
    break;
  }
}
