/* SPDX-License-Identifier: MIT */
/* Poses and scenes for tests of ndtcore, drawn from seeds. */
#pragma once

#include <glib.h>
#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-pose.h"
#include "ndtcore/map/ndt-voxel-map.h"

/* Normal deviate (of the Irwin–Hall kind, within ±6). */
static inline double
ndt_test_normal (GRand *rand)
{
  double sum = -6;
  for (guint i = 0; i < 12; i++)
    sum += g_rand_double (rand);
  return sum;
}

/* A position within ±range per axis and a turn by up to angle about any axis. */
static inline NdtPose
ndt_test_random_pose (GRand *rand, double range, double angle)
{
  double twist[6], norm = 0;
  NdtPose pose;
  for (guint i = 0; i < 6; i++)
    twist[i] = i < 3 ? 0 : ndt_test_normal (rand);
  for (guint i = 3; i < 6; i++)
    norm += twist[i] * twist[i];
  const double k = g_rand_double_range (rand, 0, angle) / sqrt (norm > 0 ? norm : 1);
  for (guint i = 3; i < 6; i++)
    twist[i] *= k;
  ndt_pose_exp (twist, &pose);
  for (guint i = 0; i < 3; i++)
    pose.position[i] = g_rand_double_range (rand, -range, range);
  return pose;
}

typedef enum {
  NDT_TEST_YARD,    /* ground, walls in several directions and poles within ±30 m */
  NDT_TEST_CORRIDOR /* two walls, floor and ceiling along x, without ends */
} NdtTestScene;

/* A point of the scene's surfaces within reach metres of (x, y), off by noise. */
static inline void
ndt_test_scene_point (
    NdtTestScene scene, GRand *rand, double x, double y, double reach, double noise, double p[3])
{
  static const double walls[][4] = {{-25, -20, 5, -24}, {-28, -15, -22, 18}, {-15, 22, 24, 20},
      {26, -18, 22, 15}, {8, -12, 16, -6}, {-12, 4, -6, 12}, {3, 9, 11, 9}, {-9, -11, -9, -4}};
  static const double poles[][2] = {
      {-18, -9}, {-3, -16}, {6, -3}, {14, 6}, {19, -10}, {-16, 15}, {0, 15}, {-4, 1}};
  for (;;) {
    const double u = g_rand_double (rand), s = g_rand_double (rand);
    double n[3] = {0, 0, 1};
    if (scene == NDT_TEST_CORRIDOR) {
      const double side = g_rand_boolean (rand) ? 1 : -1;
      p[0] = x + g_rand_double_range (rand, -reach, reach);
      if (u < 0.5) {
        p[1] = 2 * side;
        p[2] = 3 * s;
        n[1] = 1;
        n[2] = 0;
      } else {
        p[1] = 4 * s - 2;
        p[2] = side > 0 ? 3 : 0;
      }
    } else if (u < 0.45) {
      p[0] = g_rand_double_range (rand, -30, 30);
      p[1] = g_rand_double_range (rand, -30, 30);
      p[2] = 0;
    } else if (u < 0.85) {
      const double *w = walls[g_rand_int_range (rand, 0, G_N_ELEMENTS (walls))];
      p[0] = w[0] + s * (w[2] - w[0]);
      p[1] = w[1] + s * (w[3] - w[1]);
      p[2] = g_rand_double_range (rand, 0, 6);
      n[0] = w[3] - w[1];
      n[1] = w[0] - w[2];
      n[2] = 0;
    } else {
      const double *c = poles[g_rand_int_range (rand, 0, G_N_ELEMENTS (poles))];
      n[0] = cos (2 * G_PI * s);
      n[1] = sin (2 * G_PI * s);
      n[2] = 0;
      p[0] = c[0] + 0.15 * n[0];
      p[1] = c[1] + 0.15 * n[1];
      p[2] = g_rand_double_range (rand, 0, 5);
    }
    const double k =
        noise * ndt_test_normal (rand) / sqrt (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (guint i = 0; i < 3; i++)
      p[i] += k * n[i];
    if ((p[0] - x) * (p[0] - x) + (p[1] - y) * (p[1] - y) <= reach * reach)
      return;
  }
}

/* Points of the scene, packed x, y, z; 2 cm of noise. */
static inline double *
ndt_test_scene_cloud (NdtTestScene scene, guint n, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  double *xyz = g_new (double, 3 * n);
  for (guint i = 0; i < n; i++)
    ndt_test_scene_point (scene, rand, 0, 0, 60, 0.02, xyz + 3 * i);
  return xyz;
}

/* Points within 20 m of a sensor at @pose, in its frame; 1 cm of noise. */
static inline float *
ndt_test_scene_scan (NdtTestScene scene, const NdtPose *pose, guint n, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  float *xyz = g_new (float, 3 * n);
  NdtPose inverse;
  ndt_pose_invert (pose, &inverse);
  for (guint i = 0; i < n; i++) {
    double p[3];
    ndt_test_scene_point (scene, rand, pose->position[0], pose->position[1], 20, 0.01, p);
    ndt_pose_transform_point (&inverse, p, p);
    for (guint k = 0; k < 3; k++)
      xyz[3 * i + k] = (float)p[k];
  }
  return xyz;
}

/* A map of the scene with cells of the given size. */
static inline NdtVoxelMap *
ndt_test_scene_map (NdtTestScene scene, guint n, double resolution)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autofree double *xyz = ndt_test_scene_cloud (scene, n, 1000);
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, n);
  GError *error = NULL;
  params.resolution = resolution;
  params.keep_details = TRUE;
  NdtVoxelMap *map = ndt_voxel_map_new (&params, &view, &error);
  g_assert_no_error (error);
  return map;
}

/* Bit for bit. */
static inline void
ndt_test_assert_maps_equal (const NdtVoxelMap *a, const NdtVoxelMap *b)
{
  double box[4][3];
  g_assert_cmpuint (ndt_voxel_map_get_n_levels (a), ==, ndt_voxel_map_get_n_levels (b));
  g_assert_cmpuint (ndt_voxel_map_get_n_points (a), ==, ndt_voxel_map_get_n_points (b));
  ndt_voxel_map_get_bounds (a, box[0], box[1]);
  ndt_voxel_map_get_bounds (b, box[2], box[3]);
  g_assert_true (memcmp (box[0], box[2], 2 * sizeof box[0]) == 0);
  for (guint l = 0; l < ndt_voxel_map_get_n_levels (a); l++) {
    const NdtVoxelLevel *x = ndt_voxel_map_get_level (a, l), *y = ndt_voxel_map_get_level (b, l);
    g_assert_cmpuint (x->n_voxels, ==, y->n_voxels);
    g_assert_cmpint (x->block_shift, ==, y->block_shift);
    g_assert_true (memcmp (x->origin, y->origin, sizeof x->origin) == 0);
    g_assert_true (memcmp (x->voxels, y->voxels, x->n_voxels * sizeof (NdtVoxel)) == 0);
    g_assert_true (memcmp (x->blocks, y->blocks,
                       ((gsize)1 << (64 - x->block_shift)) * sizeof (NdtBlock)) == 0);
    g_assert_true ((x->details == NULL) == (y->details == NULL));
    for (guint32 i = 0; x->details && i < x->n_voxels; i++) {
      const NdtVoxelDetail *d = &x->details[i], *e = &y->details[i];
      g_assert_cmpuint (d->n_points, ==, e->n_points);
      g_assert_true (memcmp (d->mean, e->mean, sizeof d->mean) == 0);
      g_assert_true (memcmp (d->cov, e->cov, sizeof d->cov) == 0);
      g_assert_true (memcmp (d->icov, e->icov, sizeof d->icov) == 0);
    }
  }
}
