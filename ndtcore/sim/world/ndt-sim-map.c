/* SPDX-License-Identifier: MIT */
#include "ndt-sim-map.h"

#include "ndtcore/cloudfile/ndt-pcd.h"

typedef struct {
  const NdtSimWorld *world;
  GArray *points;
  NdtSimRandom random; /* of the noise */
  double noise;
  guint index; /* of the shape that is sampled; G_MAXUINT: the ground */
  const double *point;
} Sampler;

/* TRUE where the sampled point is inside another shape. Of two surfaces that coincide, that of the
 * later shape is left out. */
static gboolean
hides (const NdtSimShape *shape, guint index, gpointer user_data)
{
  const Sampler *sampler = user_data;

  if (index == sampler->index)
    return FALSE;
  return ndt_sim_shape_contains (shape, sampler->point, index < sampler->index ? 0.001 : -0.001);
}

static void
take_sample (const double point[3], const double normal[3], gpointer user_data)
{
  Sampler *sampler = user_data;
  const double noise = sampler->noise * ndt_sim_random_normal (&sampler->random);
  double moved[3];
  guint i;

  if (sampler->index != G_MAXUINT && point[2] < 0)
    return;
  sampler->point = point;
  if (ndt_sim_bvh_foreach_at (sampler->world->bvh, point, 0.001, hides, sampler))
    return;
  for (i = 0; i < 3; i++)
    moved[i] = point[i] + noise * normal[i];
  g_array_append_val (sampler->points, moved);
}

/* The ground in squares of 5 m that have a part of the path near. */
static void
sample_ground (const NdtSimWorld *world, double spacing, NdtSimRandom *random, Sampler *sampler)
{
  const double size = 5;
  const double length = ndt_sim_path_get_length (world->path);
  const double reach = world->ground_margin;
  double min[2] = {INFINITY, INFINITY}, max[2] = {-INFINITY, -INFINITY}, s;
  g_autofree guint8 *wanted = NULL;
  NdtSimShape ground = {NDT_SIM_SHAPE_TRIANGLE};
  guint nx, ny, i, j;

  for (s = 0; s < length; s += 1) {
    const NdtSimPathPoint p = ndt_sim_path_at (world->path, s, 0);
    min[0] = MIN (min[0], p.x - reach);
    min[1] = MIN (min[1], p.y - reach);
    max[0] = MAX (max[0], p.x + reach);
    max[1] = MAX (max[1], p.y + reach);
  }
  nx = (guint)((max[0] - min[0]) / size) + 1;
  ny = (guint)((max[1] - min[1]) / size) + 1;
  wanted = g_malloc0 ((gsize)nx * ny);
  for (s = 0; s < length; s += 1) {
    const NdtSimPathPoint p = ndt_sim_path_at (world->path, s, 0);
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
      ndt_sim_shape_sample (&ground, spacing, random, take_sample, sampler);
      ground.triangle.p[0] += size;
      ground.triangle.p[1] += size;
      ground.triangle.u[0] = ground.triangle.v[1] = -size;
      ndt_sim_shape_sample (&ground, spacing, random, take_sample, sampler);
    }
  }
}

GArray *
ndt_sim_map_sample (const NdtSimWorld *world, double spacing, double noise, guint64 seed)
{
  GArray *points = g_array_new (FALSE, FALSE, 3 * sizeof (double));
  Sampler sampler = {world, points, {ndt_sim_hash (seed, 2, 0), 0}, noise, 0, NULL};
  NdtSimRandom random = {ndt_sim_hash (seed, 2, 1), 0};

  for (sampler.index = 0; sampler.index < world->shapes->len; sampler.index++)
    ndt_sim_shape_sample (&g_array_index (world->shapes, NdtSimShape, sampler.index), spacing,
        &random, take_sample, &sampler);
  sample_ground (world, spacing, &random, &sampler);
  return points;
}

guint64
ndt_sim_map_noise_seed (guint noise_seed)
{
  return ndt_sim_hash (noise_seed, 5, 0);
}

gboolean
ndt_sim_map_write (GArray *points, const gchar *path, const double offset[3], GError **error)
{
  double *p = (double *)points->data;
  const gsize n = points->len;
  NdtCloudView view;
  gsize i;

  if (offset) {
    for (i = 0; i < 3 * n; i++)
      p[i] += offset[i % 3];
    view = ndt_cloud_view_xyz_f64 (p, n);
  } else {
    /* In place: the write position of floats never passes the read position of doubles. */
    float *f = (float *)points->data;
    for (i = 0; i < 3 * n; i++) {
      const float rounded = (float)p[i];
      memcpy (&f[i], &rounded, sizeof rounded);
    }
    view = ndt_cloud_view_xyz_f32 (f, n);
  }
  return ndt_pcd_write (path, &view, NDT_PCD_BINARY, error);
}

gboolean
ndt_sim_map_parse_offset (const gchar *text, double out[3])
{
  for (guint i = 0; i < 3; i++) {
    gchar *end;
    out[i] = g_ascii_strtod (text, &end);
    if (end == text || !isfinite (out[i]))
      return FALSE;
    text = end + strspn (end, " ");
    if (i < 2 && *text++ != ',')
      return FALSE;
  }
  return *text == '\0';
}
