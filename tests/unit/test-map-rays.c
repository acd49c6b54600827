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
  g_test_add_func ("/map-rays/confidence", test_confidence);
  return g_test_run ();
}
