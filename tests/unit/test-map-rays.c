/* SPDX-License-Identifier: MIT */
/* Rays of a scan through a map, and what is made of them: a probability that its pose is right. */
#include <math.h>
#include <string.h>

#include "ndtcore/map/ndt-map-rays.h"
#include "ndtcore/track/ndt-confidence.h"
#include "tests/ndt-scene.h"

enum { N = 4000 };

/* In place rays end on the map and pass through nothing. Elsewhere they do not end on it; where the
 * sensor is behind a wall they pass through that. */
static void
test_rays (void)
{
  const NdtPose pose = {{1.5, 0.3, 1.4}, {0, 0, 0, 1}};
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_CORRIDOR, 120000, 1);
  g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_CORRIDOR, &pose, N, 7);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (scan, N);
  NdtMapRays rays, again;
  NdtPose off = pose;
  ndt_map_rays (map, &points, &pose, 0, 0, &rays);
  ndt_map_rays (map, &points, &pose, 0, 0, &again);
  g_assert_cmpmem (&rays, sizeof (rays), &again, sizeof (again));
  g_assert_cmpuint (rays.n, ==, NDT_MAP_RAYS);
  /* Two of a hundred near the corridor's ends. */
  g_assert_cmpuint (rays.n_unexplained, <=, 2);
  g_assert_cmpuint (rays.n_pierced, <=, 2);
  off.position[1] += 3;
  ndt_map_rays (map, &points, &off, 0, 0, &rays);
  g_assert_cmpuint (rays.n_unexplained, >, rays.n / 4);
  off.position[1] += 20;
  ndt_map_rays (map, &points, &off, 0, 0, &rays);
  g_assert_cmpuint (rays.n_unexplained, >, 9 * rays.n / 10);
  off.position[0] = 1e300;
  ndt_map_rays (map, &points, &off, 0, 0, &rays);
  g_assert_cmpuint (rays.n, ==, 0);
}

/* A wall that is in the map only, across the rays: they pass through it. */
static void
test_wall (void)
{
  enum { ROW = 200 };
  g_autofree float *wall = g_new (float, 2 * 3 * ROW * ROW);
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  g_autoptr (GError) error = NULL;
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  for (guint i = 0; i < 2 * ROW * ROW; i++) {
    /* At x = 10 and at x = 20, where the rays end. */
    wall[3 * i] = (float)(i % 2 ? 10.5 : 20.5) + 0.02f * (float)ndt_test_normal (rand);
    wall[3 * i + 1] = (float)g_rand_double_range (rand, -10, 10);
    wall[3 * i + 2] = (float)g_rand_double_range (rand, -5, 5);
  }
  params.resolution = 1;
  const NdtCloudView all = ndt_cloud_view_xyz_f32 (wall, 2 * ROW * ROW);
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&params, &all, &error);
  g_assert_no_error (error);
  const NdtPose pose = {{0, 0, 0}, {0, 0, 0, 1}};
  NdtMapRays rays;
  for (guint far = 0; far < 2; far++) {
    float points[3 * N];
    for (guint i = 0; i < N; i++) {
      points[3 * i] = far ? 20.5f : 10.5f;
      points[3 * i + 1] = (float)g_rand_double_range (rand, -4, 4);
      points[3 * i + 2] = (float)g_rand_double_range (rand, -2, 2);
    }
    const NdtCloudView scan = ndt_cloud_view_xyz_f32 (points, N);
    ndt_map_rays (map, &scan, &pose, 0, 0, &rays);
    g_assert_cmpuint (rays.n, ==, NDT_MAP_RAYS);
    g_assert_cmpuint (rays.n_unexplained, ==, 0);
    if (far)
      /* π σ² of a cell's square is within one deviation, σ² being 1/12 of it: a quarter. */
      g_assert_cmpuint (rays.n_pierced, >, rays.n / 8);
    else
      g_assert_cmpuint (rays.n_pierced, ==, 0);
    /* Points out of range do not count; nor do those that are none. */
    ndt_map_rays (map, &scan, &pose, 30, 0, &rays);
    g_assert_cmpuint (rays.n, ==, 0);
    for (guint i = 0; i < 3 * N; i++)
      points[i] = i % 2 ? NAN : INFINITY;
    ndt_map_rays (map, &scan, &pose, 0, 0, &rays);
    g_assert_cmpuint (rays.n, ==, 0);
  }
}

/* ---- Ray by ray and sample by sample ---- */

static double
form (const NdtVoxel *voxel, const double d[3], const double e[3])
{
  static const guint at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
  double sum = 0;
  for (guint i = 0; i < 3; i++)
    for (guint k = 0; k < 3; k++)
      sum += d[i] * (double)voxel->icov[at[i][k]] * e[k];
  return sum;
}

/* The voxel of the cell, and the way from @p to its mean. */
static const NdtVoxel *
find (const NdtVoxelLevel *level, const gint32 cell[3], const double p[3], double d[3])
{
  const gint64 at = ndt_voxel_level_find (level, cell[0], cell[1], cell[2]);
  for (guint k = 0; k < 3 && at >= 0; k++)
    d[k] = level->resolution * cell[k] + (double)level->voxels[at].mean[k] - p[k];
  return at < 0 ? NULL : &level->voxels[at];
}

static void
get_cell (const NdtVoxelLevel *level, const double p[3], gint32 cell[3])
{
  for (guint k = 0; k < 3; k++)
    cell[k] = (gint32)floor (p[k] / level->resolution);
}

/* The rays of at most NDT_MAP_RAYS points, all of them in range. */
static NdtMapRays
follow_slowly (const NdtVoxelMap *map, const float *points, guint n, const NdtPose *sensor)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  const NdtVoxelLevel *ends_in = ndt_voxel_map_get_level (map, ndt_voxel_map_get_fit_level (map));
  const double r = level->resolution;
  NdtMapRays rays = {.n = n};
  double rotation[9], o[3];
  ndt_pose_get_rotation (sensor, rotation);
  for (guint k = 0; k < 3; k++)
    o[k] = sensor->position[k] - r * (double)level->origin[k];
  for (guint i = 0; i < n; i++) {
    const double p[3] = {
        (double)points[3 * i], (double)points[3 * i + 1], (double)points[3 * i + 2]};
    const double range = sqrt (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    double u[3], at[3], end[3], d[3];
    gint32 cell[3], beside[3];
    gboolean ends = FALSE, pierces = FALSE;
    for (guint k = 0; k < 3; k++) {
      u[k] = (rotation[3 * k] * p[0] + rotation[3 * k + 1] * p[1] + rotation[3 * k + 2] * p[2]) /
             range;
      at[k] = o[k] + range * u[k];
    }
    for (guint k = 0; k < 3; k++)
      end[k] =
          at[k] + r * (double)level->origin[k] - ends_in->resolution * (double)ends_in->origin[k];
    get_cell (ends_in, end, cell);
    for (gint k = 0; k < 27; k++) {
      beside[0] = cell[0] + k % 3 - 1;
      beside[1] = cell[1] + k / 3 % 3 - 1;
      beside[2] = cell[2] + k / 9 - 1;
      const NdtVoxel *voxel = find (ends_in, beside, end, d);
      ends = ends || (voxel && form (voxel, d, d) < 16);
    }
    const double to = range - MAX (1.5 * r, 0.1 * range);
    for (double t = 1; t < to; t += 0.5 * r) {
      for (guint k = 0; k < 3; k++)
        at[k] = o[k] + t * u[k];
      get_cell (level, at, cell);
      const NdtVoxel *voxel = find (level, cell, o, d);
      const double across = voxel ? form (voxel, u, u) : 0;
      if (across * (0.12 * r) * (0.12 * r) < 1)
        continue;
      const double nearest = form (voxel, u, d) / across;
      for (guint k = 0; k < 3; k++)
        d[k] -= nearest * u[k];
      pierces = pierces || (nearest > 1 && nearest < to && form (voxel, d, d) < 1);
    }
    rays.n_unexplained += !ends;
    rays.n_pierced += pierces;
  }
  return rays;
}

/* Rays in all directions from places in and around the map, with every instruction set. */
static void
test_samples (void)
{
  static const double resolutions[] = {2, 1, 0.7, 0.25};
  static const gchar *const sets[] = {"generic", "avx2", "avx512"};
  guint n_pierced = 0, n_unexplained = 0;
  /* A map for each: it keeps what the first rays through it found. */
  for (guint i = 0; i < G_N_ELEMENTS (sets) * G_N_ELEMENTS (resolutions); i++) {
    const double resolution = resolutions[i % G_N_ELEMENTS (resolutions)];
    g_setenv ("NDT_KERNEL", sets[i / G_N_ELEMENTS (resolutions)], TRUE);
    g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_CORRIDOR, 120000, resolution);
    g_autoptr (GRand) rand = g_rand_new_with_seed (5);
    for (guint round = 0; round < 100; round++) {
      float points[3 * NDT_MAP_RAYS];
      NdtPose pose = {{g_rand_double_range (rand, -20, 20), g_rand_double_range (rand, -3, 3),
                          g_rand_double_range (rand, 0, 3)},
          {0, 0, 0, 1}};
      const double yaw = g_rand_double_range (rand, -1, 1);
      pose.orientation[2] = sin (yaw);
      pose.orientation[3] = cos (yaw);
      for (guint k = 0; k < NDT_MAP_RAYS; k++) {
        /* Flat ones, steep ones, and some along an axis. */
        const double range = g_rand_double_range (rand, 2.5, 40); /* 57 m with the way up */
        const double angle = k % 8 ? g_rand_double_range (rand, -G_PI, G_PI) : k / 8 * G_PI / 2;
        const double up =
            k % 3 ? g_rand_double_range (rand, -0.15, 0.15) : g_rand_double_range (rand, -1, 1);
        points[3 * k] = (float)(range * cos (angle));
        points[3 * k + 1] = (float)(range * sin (angle));
        points[3 * k + 2] = (float)(range * up);
      }
      const NdtMapRays slow = follow_slowly (map, points, NDT_MAP_RAYS, &pose);
      const NdtCloudView view = ndt_cloud_view_xyz_f32 (points, NDT_MAP_RAYS);
      NdtMapRays rays;
      ndt_map_rays (map, &view, &pose, 0, 0, &rays);
      g_assert_cmpuint (rays.n, ==, NDT_MAP_RAYS);
      g_assert_cmpuint (rays.n_pierced, ==, slow.n_pierced);
      g_assert_cmpuint (rays.n_unexplained, ==, slow.n_unexplained);
      n_pierced += rays.n_pierced;
      n_unexplained += rays.n_unexplained;
    }
  }
  g_unsetenv ("NDT_KERNEL");
  g_assert_cmpuint (n_pierced, >, 1000);
  g_assert_cmpuint (n_unexplained, >, 1000);
}

/* It is a probability, falls with what speaks against the pose, and is not there without rays. */
static void
test_confidence (void)
{
  NdtLocalization l, worse;
  double in_place, confidence;
  memset (&l, 0, sizeof (l));
  l.has_pose = TRUE;
  l.fit = 1.05;
  l.sigma = 0.05;
  l.rays.n = NDT_MAP_RAYS;
  g_assert_true (ndt_confidence (&l, &in_place));
  g_assert_cmpfloat (in_place, >, 0.95);
  g_assert_cmpfloat (in_place, <=, 1);
  for (guint i = 0; i < 4; i++) {
    worse = l;
    if (i == 0)
      worse.rays.n_unexplained = worse.rays.n / 2;
    else if (i == 1)
      worse.fit = 0.5;
    else if (i == 2)
      worse.innovation = 3;
    else
      worse.sigma = 2;
    g_assert_true (ndt_confidence (&worse, &confidence));
    g_assert_cmpfloat (confidence, >=, 0);
    g_assert_cmpfloat (confidence, <, in_place);
  }
  /* Within half a metre with σ of 2 m: 20 %. */
  g_assert_cmpfloat (confidence, <, 0.21);
  /* What the status says does not fit is not right, whatever the rays say. */
  const NdtReason misfits[] = {NDT_REASON_BAD_FIT, NDT_REASON_WEAK_OVERLAP, NDT_REASON_NO_MAP};
  for (guint i = 0; i < G_N_ELEMENTS (misfits); i++) {
    worse = l;
    worse.reason = misfits[i];
    g_assert_true (ndt_confidence (&worse, &confidence));
    g_assert_cmpfloat (confidence, <=, 0.5);
  }
  worse = l;
  worse.reason = NDT_REASON_DEGENERATE;
  g_assert_true (ndt_confidence (&worse, &confidence));
  g_assert_cmpfloat (confidence, ==, in_place);
  l.rays.n = NDT_CONFIDENCE_RAYS - 1;
  g_assert_false (ndt_confidence (&l, &confidence));
  g_assert_cmpfloat (confidence, ==, 0);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/map-rays/rays", test_rays);
  g_test_add_func ("/map-rays/wall", test_wall);
  g_test_add_func ("/map-rays/samples", test_samples);
  g_test_add_func ("/map-rays/confidence", test_confidence);
  return g_test_run ();
}
