/* SPDX-License-Identifier: MIT */
/* A generated street of ground, walls and poles, with its map and scans, for tests of backends. */
#pragma once

#include <math.h>
#include <string.h>

#include "ndtcore/align/ndt-backend.h"
#include "ndtcore/math/ndt-formulas.h"

typedef struct {
  NdtVoxelMap *map;
  NdtVoxelMapParams params;
  double *points; /* of the map */
  gsize n_map_points;
  float *scan; /* packed, sensor frame */
  guint n;
  NdtPose truth;
} Scene;

/* How scores are maximized, of scene_align() and where backends are compared. */
static NdtMethod scene_method;

/* A point of the street, 2·half metres long and wide, centred at the origin. */
static inline void
scene_point (GRand *rand, double half, double p[3])
{
  const guint what = (guint)g_rand_int_range (rand, 0, 10);
  const double noise = g_rand_double_range (rand, -0.03, 0.03);
  if (what < 5) {
    p[0] = g_rand_double_range (rand, -half, half);
    p[1] = g_rand_double_range (rand, -half, half);
    p[2] = 0.02 * p[0] + noise;
  } else if (what < 9) {
    /* Walls of houses, 14 m apart, 10 m long. */
    const int row = g_rand_int_range (rand, -(int)(half / 14), (int)(half / 14) + 1);
    const int column = g_rand_int_range (rand, -(int)(half / 14), (int)(half / 14) + 1);
    const double along = g_rand_double_range (rand, 0, 10);
    p[what % 2] = 14 * row + along;
    p[1 - what % 2] = 14 * column + 2 + noise;
    p[2] = g_rand_double_range (rand, 0, 6);
  } else {
    const double angle = g_rand_double_range (rand, 0, 2 * G_PI);
    p[0] = 7 * g_rand_int_range (rand, -(int)(half / 7), (int)(half / 7) + 1) + 0.2 * cos (angle);
    p[1] =
        21 * g_rand_int_range (rand, -(int)(half / 21), (int)(half / 21) + 1) + 0.2 * sin (angle);
    p[2] = g_rand_double_range (rand, 0, 8);
  }
}

/* @offset: of the whole scene, metres; multiples of 4 · resolution do not change its voxels. */
static inline Scene
scene_new (double half, gsize n_map_points, guint n, double resolution, const double offset[3])
{
  Scene s;
  g_autoptr (GError) error = NULL;
  GRand *rand = g_rand_new_with_seed (17);
  const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const double twist[6] = {1.3, -0.7, 1.6, 0.01, -0.02, 0.6};
  memset (&s, 0, sizeof (s));
  s.params = params;
  s.params.resolution = resolution;
  s.n_map_points = n_map_points;
  s.points = g_new (double, 3 * n_map_points);
  for (gsize i = 0; i < n_map_points; i++) {
    scene_point (rand, half, s.points + 3 * i);
    for (guint k = 0; k < 3; k++)
      s.points[3 * i + k] += offset ? offset[k] : 0;
  }
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (s.points, n_map_points);
  s.map = ndt_voxel_map_new (&s.params, &view, &error);
  g_assert_no_error (error);

  s.truth = ndt_pose_from_twist (twist);
  const NdtPose inverse = ndt_pose_inverse (&s.truth);
  s.scan = g_new (float, 3 * (gsize)MAX (n, 1));
  s.n = n;
  for (guint i = 0; i < n; i++) {
    double p[3], q[3];
    do
      scene_point (rand, half, p);
    while (p[0] * p[0] + p[1] * p[1] > 0.64 * half * half);
    ndt_quat_rotate (inverse.orientation, p, q);
    for (guint k = 0; k < 3; k++)
      s.scan[3 * i + k] = (float)(q[k] + inverse.position[k]);
  }
  for (guint k = 0; k < 3; k++)
    s.truth.position[k] += offset ? offset[k] : 0;
  g_rand_free (rand);
  return s;
}

static inline void
scene_clear (Scene *s)
{
  ndt_voxel_map_unref (s->map);
  g_free (s->points);
  g_free (s->scan);
}

static inline NdtCloudView
scene_view (const Scene *s)
{
  return ndt_cloud_view_xyz_f32 (s->scan, s->n);
}

/* The truth, moved within ±metres and ±radians about each axis. */
static inline NdtPose
scene_guess (const Scene *s, GRand *rand, double metres, double radians)
{
  double delta[6];
  for (guint i = 0; i < 6; i++)
    delta[i] = g_rand_double_range (rand, -1, 1) * (i < 3 ? metres : radians);
  return ndt_pose_retracted (&s->truth, delta);
}

/* Sets the map, and the scan as slot 0. */
static inline void
scene_give (NdtBackend *backend, const Scene *s)
{
  static const NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  g_autoptr (GError) error = NULL;
  const NdtCloudView view = scene_view (s);
  g_assert_true (ndt_backend_set_map (backend, s->map, &error));
  g_assert_no_error (error);
  g_assert_true (ndt_backend_set_scan (backend, 0, &view, &filter, &error));
  g_assert_no_error (error);
}

/* Aligns slot 0 from some starts; an error fails the test. */
static inline void
scene_align (NdtBackend *backend, const NdtStart *starts, guint n, NdtAlignResult *results)
{
  NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  params.method = scene_method;
  g_autoptr (GError) error = NULL;
  ndt_backend_align (backend, 0, &params, starts, n, results, &error);
  g_assert_no_error (error);
}
