/* SPDX-License-Identifier: MIT */
#include "ndtcore/registration/ndt-registration.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/math/ndt-formulas.h"
#include "tests/ndt-scene.h"

static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;

typedef struct {
  NdtVoxelMap *map;
  NdtBackend *backend;
  NdtPose truth;
  NdtRegistrationParams params;
} Fixture;

/* The scene turned by yaw about the origin, and a scan of it in slot 0. */
static void
set_up (Fixture *f, NdtTestScene scene, double yaw, guint n_map, guint n_scan)
{
  const NdtBackendConfig config = {-1, 1, 0};
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtPose turn = {{0, 0, 0}, {0, 0, sin (yaw / 2), cos (yaw / 2)}};
  NdtPose in_scene = {{1.5, scene == NDT_TEST_CORRIDOR ? 0.3 : -2.25, 1.4}, {0, 0, 0.2, 0.9}};
  g_autofree double *cloud = ndt_test_scene_cloud (scene, n_map, 1000);
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (cloud, n_map);
  ndt_pose_normalize (&in_scene);
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&params, NULL);
  g_assert_true (ndt_voxel_map_builder_add (builder, 0, &view, &turn, NULL));
  f->map = ndt_voxel_map_builder_build (builder, NULL);
  f->backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (f->backend, f->map, NULL));
  g_autofree float *scan = ndt_test_scene_scan (scene, &in_scene, n_scan, 7);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (scan, n_scan);
  g_assert_true (ndt_backend_set_scan (f->backend, 0, &points, &no_filter, NULL));
  ndt_pose_compose (&turn, &in_scene, &f->truth);
  ndt_registration_params_init (&f->params);
}

static void
tear_down (Fixture *f)
{
  ndt_backend_close (f->backend);
  ndt_voxel_map_unref (f->map);
}

static NdtRegistration
do_register (Fixture *f, NdtSearch search, const NdtPose *guesses, guint n)
{
  NdtRegistration out;
  GError *error = NULL;
  ndt_register (f->backend, 0, &f->params, search, guesses, n, &out, &error);
  g_assert_no_error (error);
  return out;
}

static NdtPose
off (const NdtPose *pose, GRand *rand, double metres, double degrees)
{
  double delta[6];
  NdtPose out;
  for (guint k = 0; k < 6; k++)
    delta[k] = g_rand_double_range (rand, -1, 1) * (k < 3 ? metres : degrees * G_PI / 180);
  delta[2] *= 0.3;
  ndt_pose_retract (pose, delta, &out);
  return out;
}

/* ---- Finding the pose ---- */

static void
test_known_pose (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  Fixture f;
  set_up (&f, NDT_TEST_YARD, 0.4, 60000, 1500);
  for (guint i = 0; i < 60; i++) {
    const gboolean far = i % 3 == 0;
    const NdtPose guess = off (&f.truth, rand, far ? 1.5 : 0.3, far ? 7 : 2);
    const NdtRegistration r = do_register (&f, far ? NDT_SEARCH_FAR : NDT_SEARCH_LOCAL, &guess, 1);
    double m, angle;
    ndt_pose_difference (&r.pose, &f.truth, &m, &angle);
    g_assert_cmpuint (r.stop, ==, NDT_STOP_CONVERGED);
    /* Noise of 2 cm averaged over 1500 points, in cells of 2 m: millimetres. */
    g_assert_cmpfloat (m, <, 0.02);
    g_assert_cmpfloat (angle, <, 0.003);
    g_assert_cmpuint (r.n_starts, ==, far ? 4 : 1);
    g_assert_cmpuint (r.n_degenerate, ==, 0);
    g_assert_cmpuint (r.covariance_kind, ==, NDT_POSE_COVARIANCE_LAPLACE);
  }
  tear_down (&f);
}

/* Scores are what their definitions say, from the objective at the pose. */
static void
test_scores (void)
{
  Fixture f;
  set_up (&f, NDT_TEST_YARD, 0, 60000, 1500);
  const NdtStart start = {.guess = f.truth, .approach = 0};
  NdtAlignResult aligned;
  g_assert_true (ndt_backend_align (f.backend, 0, &f.params.align, &start, 1, &aligned, NULL));
  const NdtRegistration r = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  g_assert_true (memcmp (&r.pose, &aligned.pose, sizeof r.pose) == 0);
  g_assert_cmpfloat (r.score, ==, aligned.sums.score);
  g_assert_cmpuint (r.n_points, ==, 1500);
  g_assert_cmpfloat_with_epsilon (r.transformation_probability, r.score / 1500, 1e-12);
  g_assert_cmpfloat_with_epsilon (
      r.nvtl, aligned.sums.nvtl / (double)aligned.sums.n_matched, 1e-12);
  g_assert_cmpfloat_with_epsilon (r.matched_ratio, (double)aligned.sums.n_matched / 1500, 1e-12);
  g_assert_cmpfloat_with_epsilon (r.max_nvtl, 4.196518187, 1e-8); /* −d1 at 2 m */
  g_assert_cmpfloat (r.nvtl, >, 0.6 * r.max_nvtl);
  g_assert_cmpfloat (r.nvtl, <=, r.max_nvtl);
  g_assert_cmpfloat (r.matched_ratio, >, 0.95);

  /* Half of the scan off the map: NVTL stays, the matched ratio tells. */
  g_autofree float *scan = g_new (float, 6 * 1500);
  guint n;
  g_assert_true (ndt_backend_get_scan (f.backend, 0, scan, 1500, &n, NULL));
  for (guint i = 0; i < 3 * 1500; i++)
    scan[3 * 1500 + i] = scan[i] + (i % 3 == 2 ? 500.0f : 0);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan, 3000);
  g_assert_true (ndt_backend_set_scan (f.backend, 0, &view, &no_filter, NULL));
  const NdtRegistration half = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  g_assert_cmpfloat_with_epsilon (half.matched_ratio, r.matched_ratio / 2, 1e-3);
  g_assert_cmpfloat_with_epsilon (half.nvtl, r.nvtl, 1e-3);
  g_assert_cmpfloat_with_epsilon (
      half.transformation_probability, r.transformation_probability / 2, 1e-3);
  tear_down (&f);
}

/* The best of several guesses, whatever their order and number, counts that of all. */
static void
test_guesses (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  Fixture f;
  NdtPose guesses[100];
  set_up (&f, NDT_TEST_YARD, 0, 60000, 300);
  for (guint i = 0; i < 100; i++) {
    guesses[i] = off (&f.truth, rand, 1, 3);
    guesses[i].position[0] += i == 77 ? 0 : 12;
  }
  const NdtRegistration all = do_register (&f, NDT_SEARCH_LOCAL, guesses, 100);
  const NdtRegistration far = do_register (&f, NDT_SEARCH_FAR, guesses + 60, 20);
  guint evaluations = 0;
  double best = 0;
  for (guint i = 0; i < 100; i++) {
    const NdtRegistration one = do_register (&f, NDT_SEARCH_LOCAL, &guesses[i], 1);
    evaluations += one.evaluations;
    best = MAX (best, one.score);
  }
  g_assert_cmpuint (all.n_starts, ==, 100);
  g_assert_cmpuint (all.evaluations, ==, evaluations);
  g_assert_cmpfloat (all.score, ==, best);
  g_assert_cmpuint (far.n_starts, ==, 80);
  double m;
  ndt_pose_difference (&far.pose, &f.truth, &m, NULL);
  g_assert_cmpfloat (m, <, 0.03);
  tear_down (&f);
}

/* ---- Uncertainty ---- */

/* The covariance is the inverse of −H, scaled. */
static void
test_laplace (void)
{
  Fixture f;
  set_up (&f, NDT_TEST_YARD, 0.4, 60000, 1500);
  const NdtStart start = {.guess = f.truth, .approach = 0};
  NdtAlignResult aligned;
  g_assert_true (ndt_backend_align (f.backend, 0, &f.params.align, &start, 1, &aligned, NULL));
  for (guint s = 0; s < 2; s++) {
    f.params.covariance_scale = s ? 2.5 : 1;
    const NdtRegistration r = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
    for (guint i = 0; i < 6; i++)
      for (guint j = 0; j < 6; j++) {
        double product = 0, size = 0;
        for (guint k = 0; k < 6; k++) {
          const double h = aligned.sums.hessian[k <= j ? NDT_H6 (k, j) : NDT_H6 (j, k)];
          product -= r.covariance[6 * i + k] * h / f.params.covariance_scale;
          size += fabs (r.covariance[6 * i + k] * h);
        }
        g_assert_cmpfloat_with_epsilon (product, i == j, 1e-10 * size + 1e-12);
        g_assert_cmpfloat_with_epsilon (r.covariance[6 * i + j], r.covariance[6 * j + i], 1e-15);
      }
    for (guint i = 0; i < 6; i++)
      g_assert_cmpfloat (r.covariance[7 * i], >, 0);
  }
  tear_down (&f);
}

/* Covariance by clusters: P V P, V of the clusters' gradients and, without them, a constant. */
static void
test_clusters (void)
{
  Fixture f;
  set_up (&f, NDT_TEST_YARD, 0.4, 60000, 3000);
  const NdtStart start = {.guess = f.truth, .approach = 0};
  NdtAlignResult aligned, known;
  g_assert_true (ndt_backend_align (f.backend, 0, &f.params.align, &start, 1, &aligned, NULL));
  g_assert_cmpuint (aligned.n_clusters, ==, (aligned.n_points + NDT_CHUNK - 1) / NDT_CHUNK);
  /* Σ g gᵀ of g that add up to nearly nothing. */
  for (guint i = 0; i < 6; i++) {
    g_assert_cmpfloat (aligned.spread[NDT_H6 (i, i)], >, 0);
    for (guint j = i + 1; j < 6; j++)
      g_assert_cmpfloat (aligned.spread[NDT_H6 (i, j)] * aligned.spread[NDT_H6 (i, j)], <=,
          aligned.spread[NDT_H6 (i, i)] * aligned.spread[NDT_H6 (j, j)] * (1 + 1e-12));
    g_assert_cmpfloat (
        aligned.sums.gradient[i] * aligned.sums.gradient[i], <, aligned.spread[NDT_H6 (i, i)]);
  }
  NdtRegistration plain = {.pose = aligned.pose}, constant = plain, clustered = plain,
                  doubled = plain;
  g_assert_true (ndt_register_complete (f.backend, 0, &f.params, &aligned, &plain, NULL));
  f.params.clustering = 8;
  known = aligned;
  known.n_clusters = 0;
  g_assert_true (ndt_register_complete (f.backend, 0, &f.params, &known, &constant, NULL));
  for (guint i = 0; i < 36; i++)
    g_assert_cmpfloat_with_epsilon (
        constant.covariance[i], 8 * plain.covariance[i], 1e-9 * constant.covariance[7 * (i / 6)]);
  g_assert_true (ndt_register_complete (f.backend, 0, &f.params, &aligned, &clustered, NULL));
  known = aligned;
  for (guint i = 0; i < 21; i++)
    known.spread[i] *= 1000;
  g_assert_true (ndt_register_complete (f.backend, 0, &f.params, &known, &doubled, NULL));
  for (guint i = 0; i < 6; i++) {
    g_assert_cmpfloat (clustered.covariance[7 * i], >, 0);
    /* A part of it is the information's. */
    g_assert_cmpfloat (doubled.covariance[7 * i], >, 100 * clustered.covariance[7 * i]);
    g_assert_cmpfloat (doubled.covariance[7 * i], <, 1000 * clustered.covariance[7 * i]);
  }
  tear_down (&f);
}

/* Clusters whose gradients have three times the information in every direction: the covariance is a
 * multiple of the information's inverse, by docs/mathematics.md. Of few clusters it is larger. */
static void
test_dispersion (void)
{
  static const struct {
    guint n;
    double by_clusters, by_information, few;
  } cases[] = {{6, 0, 18, 0}, {7, 5.6, 1.96, 100 / 49.0}, {20, 16 / 14.0, 5.6 / 14, 0.25},
      {1006, 0.8048, 0.28168, 100 / 1012036.0}};
  Fixture f;
  set_up (&f, NDT_TEST_YARD, 0.4, 60000, 3000);
  const NdtStart start = {.guess = f.truth, .approach = 0};
  NdtAlignResult known;
  double share, density;
  ndt_backend_get_map_density (f.backend, &share, &density);
  g_assert_cmpfloat (density, >, 6);
  g_assert_true (ndt_backend_align (f.backend, 0, &f.params.align, &start, 1, &known, NULL));
  for (guint i = 0; i < 21; i++)
    known.spread[i] = -3 * known.sums.hessian[i];
  NdtRegistration plain = {.pose = known.pose};
  g_assert_true (ndt_register_complete (f.backend, 0, &f.params, &known, &plain, NULL));
  f.params.clustering = 8;
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    NdtRegistration clustered = {.pose = known.pose};
    known.n_clusters = cases[c].n;
    g_assert_true (ndt_register_complete (f.backend, 0, &f.params, &known, &clustered, NULL));
    const double sparse = 1 + 12.5 / density * 12.5 / density;
    const double factor =
        3 * cases[c].by_clusters * (sparse + cases[c].few) + cases[c].by_information;
    for (guint i = 0; i < 36; i++)
      g_assert_cmpfloat_with_epsilon (clustered.covariance[i], factor * plain.covariance[i],
          1e-9 * factor * sqrt (plain.covariance[7 * (i / 6)] * plain.covariance[7 * (i % 6)]));
  }
  tear_down (&f);
}

/* Directions are the body's: where it goes along one, the sensor on it goes along the one that a
 * sensor without a body has. A floor leaves shifts and a turn. */
static void
test_degenerate_body (void)
{
  Fixture f;
  set_up (&f, NDT_TEST_YARD, 0.4, 60000, 3000);
  g_autofree float *points = g_new (float, 9000);
  guint n = 0, n_floor = 0;
  g_assert_true (ndt_backend_get_scan (f.backend, 0, points, 3000, &n, NULL));
  for (guint i = 0; i < n; i++) {
    double p[3];
    for (guint k = 0; k < 3; k++)
      p[k] = (double)points[3 * i + k];
    ndt_pose_transform_point (&f.truth, p, p);
    if (p[2] < 0.1)
      memmove (points + 3 * n_floor++, points + 3 * i, 3 * sizeof (float));
  }
  const NdtCloudView ground = ndt_cloud_view_xyz_f32 (points, n_floor);
  g_assert_true (ndt_backend_set_scan (f.backend, 0, &ground, &no_filter, NULL));
  const NdtRegistration sensor = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  f.params.has_mount = TRUE;
  const double at[3] = {3, -1, 2};
  ndt_pose_from_rpy (at, 0.1, -0.2, 1.5, &f.params.mount);
  const NdtRegistration body = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);

  NdtPose inverse, body_pose;
  ndt_pose_invert (&f.params.mount, &inverse);
  ndt_pose_compose (&sensor.pose, &inverse, &body_pose);
  g_assert_cmpuint (sensor.n_degenerate, >=, 3);
  g_assert_cmpuint (body.n_degenerate, ==, sensor.n_degenerate);
  g_assert_cmpfloat (body.degenerate_lever, ==, sensor.degenerate_lever);
  gboolean differs = FALSE;
  for (guint d = 0; d < body.n_degenerate; d++) {
    const double step = 1e-4, lever = body.degenerate_lever;
    double of_body[6], of_sensor[6], square = 0, moved = 0, length = 0;
    NdtPose to;
    for (guint k = 0; k < 6; k++) {
      const double v = body.degenerate[6 * d + k];
      square += v * v;
      of_body[k] = step * v / (k < 3 ? 1 : lever);
      differs = differs || fabs (v - sensor.degenerate[6 * d + k]) > 0.01;
    }
    g_assert_cmpfloat_with_epsilon (square, 1, 1e-9);
    ndt_pose_retract (&body_pose, of_body, &to);
    ndt_pose_compose (&to, &f.params.mount, &to);
    for (guint k = 0; k < 3; k++) {
      of_sensor[k] = to.position[k] - sensor.pose.position[k];
      of_sensor[3 + k] = of_body[3 + k] * lever;
    }
    for (guint k = 0; k < 6; k++) {
      length += of_sensor[k] * of_sensor[k];
      moved += of_sensor[k] * sensor.degenerate[6 * d + k];
    }
    /* Parallel, but for the curve that a turn by 1e-4 m / lever makes. */
    g_assert_cmpfloat_with_epsilon (moved / sqrt (length), 1, 1e-6);
  }
  g_assert_true (differs);
  tear_down (&f);
}

/* Along a corridor nothing holds: that direction is named, and the covariance is long there, in
 * the parent's axes however the corridor lies. */
static void
test_corridor (void)
{
  static const double yaws[] = {0, 0.7, -1.9};
  for (guint y = 0; y < G_N_ELEMENTS (yaws); y++) {
    Fixture f;
    set_up (&f, NDT_TEST_CORRIDOR, yaws[y], 120000, 2000);
    const double c = cos (yaws[y]), s = sin (yaws[y]);
    const NdtRegistration r = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
    /* Roll is held weakly in a tunnel as narrow as this, and may be named as well. */
    double best = 0;
    g_assert_cmpuint (r.n_degenerate, >=, 1);
    g_assert_cmpuint (r.n_degenerate, <=, 2);
    for (guint d = 0; d < r.n_degenerate; d++) {
      const double *v = r.degenerate + 6 * d;
      double norm = 0;
      for (guint k = 0; k < 6; k++)
        norm += v[k] * v[k];
      g_assert_cmpfloat_with_epsilon (norm, 1, 1e-9);
      best = MAX (best, fabs (c * v[0] + s * v[1]));
    }
    g_assert_cmpfloat (best, >, 0.9);
    /* The Hessian is definite at each yaw: noise holds a little. Five to eight times as long. */
    g_assert_cmpuint (r.covariance_kind, ==, NDT_POSE_COVARIANCE_LAPLACE);
    const double *l = r.covariance;
    const double l_along = c * c * l[0] + 2 * c * s * l[1] + s * s * l[7];
    const double l_across = s * s * l[0] - 2 * c * s * l[1] + c * c * l[7];
    g_assert_cmpfloat (sqrt (l_along), >, 4 * sqrt (l_across));

    /* Alignments from offset poses stay along the corridor about where they were put. The standard
     * deviation of the offsets is 0.71 m along the body's x and 0.32 m along its y, which lie 25°
     * from the corridor: 0.65 m, from which each slips to some bump of the noise. Across they agree
     * within the uncertainty of one. */
    f.params.covariance = NDT_POSE_COVARIANCE_MULTI_NDT;
    for (guint k = 0; k < 6; k++)
      f.params.fixed_variance[k] = 1e-8;
    const NdtRegistration m = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
    g_assert_cmpuint (m.covariance_kind, ==, NDT_POSE_COVARIANCE_MULTI_NDT);
    const double *v = m.covariance;
    const double along = c * c * v[0] + 2 * c * s * v[1] + s * s * v[7];
    const double across = s * s * v[0] - 2 * c * s * v[1] + c * c * v[7];
    g_assert_cmpfloat (sqrt (along), >, 0.4);
    g_assert_cmpfloat (sqrt (along), <, 1);
    g_assert_cmpfloat (sqrt (across), <, 0.003);
    tear_down (&f);
  }
}

static void
test_fixed (void)
{
  Fixture f;
  static const double variances[6] = {1, 4, 9, 0.01, 0.02, 0.03};
  set_up (&f, NDT_TEST_YARD, 0.4, 60000, 500);
  f.params.covariance = NDT_POSE_COVARIANCE_FIXED;
  memcpy (f.params.fixed_variance, variances, sizeof variances);
  const NdtRegistration r = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  double rotation[9];
  ndt_pose_get_rotation (&r.pose, rotation);
  g_assert_cmpuint (r.covariance_kind, ==, NDT_POSE_COVARIANCE_FIXED);
  /* Seen from the body it is the diagonal again: Rᵀ C R. */
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++) {
      double v = 0;
      if (i / 3 == j / 3)
        for (guint k = 0; k < 3; k++)
          for (guint l = 0; l < 3; l++)
            v += rotation[3 * k + i % 3] * r.covariance[6 * (i / 3 * 3 + k) + j / 3 * 3 + l] *
                 rotation[3 * l + j % 3];
      else
        v = r.covariance[6 * i + j];
      g_assert_cmpfloat_with_epsilon (v, i == j ? variances[i] : 0, 1e-12);
    }
  tear_down (&f);
}

/* In a scene that holds all directions the alignments agree: the floor is what remains, in the
 * body's axes. */
static void
test_floor (void)
{
  Fixture f;
  set_up (&f, NDT_TEST_YARD, 0.4, 60000, 1000);
  f.params.covariance = NDT_POSE_COVARIANCE_MULTI_NDT;
  f.params.fixed_variance[0] = 0.09;
  f.params.fixed_variance[1] = 0.01;
  const NdtRegistration r = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  double rotation[9];
  ndt_pose_get_rotation (&r.pose, rotation);
  const double yaw = atan2 (rotation[3], rotation[0]), c = cos (yaw), s = sin (yaw);
  const double *v = r.covariance;
  g_assert_cmpuint (r.covariance_kind, ==, NDT_POSE_COVARIANCE_MULTI_NDT);
  g_assert_cmpfloat_with_epsilon (c * c * v[0] + 2 * c * s * v[1] + s * s * v[7], 0.09, 1e-9);
  g_assert_cmpfloat_with_epsilon (s * s * v[0] - 2 * c * s * v[1] + c * c * v[7], 0.01, 1e-9);
  g_assert_cmpfloat (v[0] * v[7], >, v[1] * v[6]);
  /* The others are the fixed ones. */
  g_assert_cmpfloat_with_epsilon (v[14], f.params.fixed_variance[2], 1e-4);

  /* Without offsets there is nothing to estimate from but the floor. */
  f.params.n_offsets = 0;
  const NdtRegistration none = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  g_assert_cmpfloat_with_epsilon (none.covariance[0], v[0], 1e-6);
  tear_down (&f);
}

/* The softmax by its definition, with a floor too low to matter. */
static void
test_score_weights (void)
{
  Fixture f;
  NdtPose poses[7];
  NdtSums sums[7];
  double w[7], total = 0, mean[2] = {0, 0}, c[3] = {0, 0, 0};
  set_up (&f, NDT_TEST_YARD, 0.4, 60000, 1000);
  f.params.covariance = NDT_POSE_COVARIANCE_MULTI_NDT_SCORE;
  f.params.temperature = 0.4;
  f.params.covariance_scale = 1.5;
  for (guint k = 0; k < 6; k++)
    f.params.fixed_variance[k] = 1e-9;
  const NdtRegistration r = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  poses[0] = r.pose;
  for (guint i = 0; i < 6; i++) {
    const NdtPose offset = {{f.params.offset_x[i], f.params.offset_y[i], 0}, {0, 0, 0, 1}};
    ndt_pose_compose (&r.pose, &offset, &poses[i + 1]);
  }
  g_assert_true (ndt_backend_evaluate (
      f.backend, 0, &f.params.align, 0, NDT_KIND_SCORE, poses, 7, sums, NULL));
  for (guint i = 0; i < 7; i++)
    total += w[i] = exp (sums[i].nvtl / (double)sums[i].n_matched / 0.4);
  for (guint i = 0; i < 7; i++)
    for (guint k = 0; k < 2; k++)
      mean[k] += w[i] / total * poses[i].position[k];
  for (guint i = 0; i < 7; i++) {
    const double dx = poses[i].position[0] - mean[0], dy = poses[i].position[1] - mean[1];
    c[0] += 1.5 * w[i] / total * dx * dx;
    c[1] += 1.5 * w[i] / total * dx * dy;
    c[2] += 1.5 * w[i] / total * dy * dy;
  }
  g_assert_cmpfloat (c[0], >, 1e-3);
  g_assert_cmpfloat_with_epsilon (r.covariance[0], c[0], 1e-9);
  g_assert_cmpfloat_with_epsilon (r.covariance[1], c[1], 1e-9);
  g_assert_cmpfloat_with_epsilon (r.covariance[6], c[1], 1e-9);
  g_assert_cmpfloat_with_epsilon (r.covariance[7], c[2], 1e-9);
  tear_down (&f);
}

/* With a sensor that is not the body, all of it is of the body: where it lies, about it, and along
 * its axes. */
static void
test_mount (void)
{
  Fixture f;
  static const double variances[6] = {0.01, 0.04, 0.09, 1e-4, 2e-4, 3e-4};
  const NdtPose mount = {{3, -1, 1.2}, {0, 0, sqrt (0.5), sqrt (0.5)}};
  NdtPose inverse, body;
  double rotation[9];
  set_up (&f, NDT_TEST_YARD, 0.4, 60000, 1000);
  const NdtRegistration sensor = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  ndt_pose_invert (&mount, &inverse);
  ndt_pose_compose (&sensor.pose, &inverse, &body);
  ndt_pose_get_rotation (&body, rotation);
  f.params.has_mount = TRUE;
  f.params.mount = mount;

  /* Laplace's is that of the sensor's pose, carried there by J with turns δω about the parent's
   * axes: body = sensor + δt + δω × l. Numerically, from ndt_pose_retract(). */
  const NdtRegistration laplace = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  double j[36] = {0};
  for (guint k = 0; k < 6; k++) {
    double delta[6] = {0}, moved[3];
    NdtPose turned;
    delta[k] = 1e-6;
    ndt_pose_retract (&sensor.pose, delta, &turned);
    ndt_pose_transform_point (&turned, inverse.position, moved);
    for (guint i = 0; i < 3; i++)
      j[6 * i + k] = (moved[i] - body.position[i]) / 1e-6;
    if (k >= 3)
      j[7 * k] = 1;
  }
  g_assert_cmpuint (laplace.covariance_kind, ==, NDT_POSE_COVARIANCE_LAPLACE);
  for (guint a = 0; a < 6; a++)
    for (guint b = 0; b < 6; b++) {
      double c = 0;
      for (guint i = 0; i < 6; i++)
        for (guint k = 0; k < 6; k++)
          c += j[6 * a + i] * sensor.covariance[6 * i + k] * j[6 * b + k];
      g_assert_cmpfloat_with_epsilon (laplace.covariance[6 * a + b], c,
          1e-5 * sqrt (laplace.covariance[7 * a] * laplace.covariance[7 * b]));
    }

  /* The diagonal is along the body's axes, and not lengthened by the way to the sensor. */
  f.params.covariance = NDT_POSE_COVARIANCE_FIXED;
  memcpy (f.params.fixed_variance, variances, sizeof variances);
  const NdtRegistration fixed = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  NdtRegistration skipped;
  ndt_registration_set_fixed_covariance (&skipped, &f.params, &body);
  for (guint i = 0; i < 6; i++)
    for (guint k = 0; k < 6; k++) {
      double c = 0;
      for (guint m = 0; m < 3 && i / 3 == k / 3; m++)
        c += rotation[3 * (i % 3) + m] * variances[i / 3 * 3 + m] * rotation[3 * (k % 3) + m];
      g_assert_cmpfloat_with_epsilon (fixed.covariance[6 * i + k], c, 1e-12);
      g_assert_cmpfloat_with_epsilon (skipped.covariance[6 * i + k], c, 1e-12);
    }

  /* Alignments that agree leave the floor, along the body's axes. */
  f.params.covariance = NDT_POSE_COVARIANCE_MULTI_NDT;
  const NdtRegistration multi = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  const double yaw = atan2 (rotation[3], rotation[0]), c = cos (yaw), s = sin (yaw);
  const double *v = multi.covariance;
  g_assert_cmpuint (multi.covariance_kind, ==, NDT_POSE_COVARIANCE_MULTI_NDT);
  g_assert_cmpfloat_with_epsilon (c * c * v[0] + 2 * c * s * v[1] + s * s * v[7], 0.01, 1e-9);
  g_assert_cmpfloat_with_epsilon (s * s * v[0] - 2 * c * s * v[1] + c * c * v[7], 0.04, 1e-9);

  /* So are offsets: scores that tell nothing apart leave their spread, √0.357 m along the body's x
   * and √0.071 m along its y, by their seven poses. */
  f.params.covariance = NDT_POSE_COVARIANCE_MULTI_NDT_SCORE;
  f.params.temperature = 1e6;
  f.params.fixed_variance[0] = f.params.fixed_variance[1] = 1e-9;
  const NdtRegistration score = do_register (&f, NDT_SEARCH_LOCAL, &f.truth, 1);
  v = score.covariance;
  g_assert_cmpfloat_with_epsilon (c * c * v[0] + 2 * c * s * v[1] + s * s * v[7], 2.5 / 7, 1e-3);
  g_assert_cmpfloat_with_epsilon (s * s * v[0] - 2 * c * s * v[1] + c * c * v[7], 0.5 / 7, 1e-3);
  tear_down (&f);
}

/* ---- Nothing to register ---- */

static void
test_no_pairs (void)
{
  Fixture f;
  set_up (&f, NDT_TEST_YARD, 0, 60000, 500);
  NdtPose guess = f.truth;
  guess.position[1] += 5000;
  for (guint kind = 0; kind < 4; kind++)
    for (guint search = 0; search < 2; search++) {
      f.params.covariance = (NdtPoseCovariance)kind;
      const NdtRegistration r = do_register (&f, (NdtSearch)search, &guess, 1);
      g_assert_cmpuint (r.stop, ==, NDT_STOP_NO_PAIRS);
      g_assert_cmpuint (r.covariance_kind, ==, NDT_POSE_COVARIANCE_FIXED);
      g_assert_cmpuint (r.n_degenerate, ==, 6);
      g_assert_cmpfloat (r.score + r.nvtl + r.matched_ratio, ==, 0);
      g_assert_true (memcmp (&r.pose, &guess, sizeof guess) == 0);
      for (guint i = 0; i < 36; i++)
        g_assert_true (isfinite (r.covariance[i]));
    }
  tear_down (&f);
}

static void
test_refused (void)
{
  Fixture f;
  NdtRegistration out;
  set_up (&f, NDT_TEST_YARD, 0, 60000, 100);
  g_autofree NdtPose *guesses = g_new (NdtPose, 1025);
  for (guint i = 0; i < 1025; i++)
    guesses[i] = f.truth;
  static const guint counts[] = {0, 1025};
  for (guint i = 0; i < 4; i++) {
    g_autoptr (GError) error = NULL;
    NdtRegistrationParams params = f.params;
    guesses[0].position[0] = i == 3 ? NAN : 0;
    params.n_offsets = i == 2 ? NDT_MAX_OFFSETS + 1 : 0;
    g_assert_false (ndt_register (
        f.backend, 0, &params, NDT_SEARCH_LOCAL, guesses, i < 2 ? counts[i] : 1, &out, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  }
  guesses[0] = f.truth;
  g_assert_cmpuint (do_register (&f, NDT_SEARCH_LOCAL, guesses, 1024).n_starts, ==, 1024);
  tear_down (&f);
}

/* ---- Euler derivatives ---- */

/* A smooth function of the pose: three points and three bells. */
static NdtSums
bells (const NdtPose *pose)
{
  static const double points[3][3] = {{3, -1, 2}, {-4, 2, 1}, {1, 5, -2}};
  static const double means[3][3] = {{13, 19, 33}, {5, 22, 30}, {12, 26, 27}};
  static const double icov[6] = {0.02, 0.005, -0.003, 0.03, 0.004, 0.01};
  NdtSums out = {0};
  for (guint i = 0; i < 3; i++) {
    NdtPairSums_d s = {0};
    double a[3], q[3], g[6], h[21];
    ndt_quat_rotate (pose->orientation, points[i], a);
    for (guint k = 0; k < 3; k++)
      q[k] = a[k] + pose->position[k] - means[i][k];
    ndt_pair_score_d (&s, q, icov, -4, 0.5);
    ndt_point_derivatives_d (&s, a, 1, g, h);
    out.score += s.s;
    for (guint k = 0; k < 6; k++)
      out.gradient[k] += g[k];
    for (guint k = 0; k < 21; k++)
      out.hessian[k] += h[k];
  }
  return out;
}

static void
test_euler (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  for (guint n = 0; n < 300; n++) {
    double e[6], gradient[6], hessian[36];
    for (guint k = 0; k < 6; k++)
      e[k] = k < 3    ? 10.0 * (k + 1) + g_rand_double_range (rand, -3, 3)
             : k == 4 ? g_rand_double_range (rand, -1.4, 1.4)
                      : g_rand_double_range (rand, -G_PI, G_PI);
    NdtPose pose;
    ndt_pose_from_xyz_euler (e, e[3], e[4], e[5], &pose);
    NdtSums sums = bells (&pose);
    ndt_sums_to_xyz_euler (&sums, e[3], e[4], e[5], gradient, hessian);
    ndt_sums_to_xyz_euler (&sums, e[3], e[4], e[5], NULL, NULL);
    for (guint j = 0; j < 6; j++) {
      /* Values and derivatives are of order 1 to 30; truncation and rounding stay below 1e-7. */
      const double h = 1e-5;
      double g[2][6], score[2];
      for (guint side = 0; side < 2; side++) {
        double moved[6];
        memcpy (moved, e, sizeof moved);
        moved[j] += side ? h : -h;
        ndt_pose_from_xyz_euler (moved, moved[3], moved[4], moved[5], &pose);
        sums = bells (&pose);
        score[side] = sums.score;
        ndt_sums_to_xyz_euler (&sums, moved[3], moved[4], moved[5], g[side], NULL);
      }
      g_assert_cmpfloat_with_epsilon ((score[1] - score[0]) / (2 * h), gradient[j], 1e-7);
      for (guint i = 0; i < 6; i++)
        g_assert_cmpfloat_with_epsilon ((g[1][i] - g[0][i]) / (2 * h), hessian[6 * i + j], 1e-6);
    }
  }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/registration/known-pose", test_known_pose);
  g_test_add_func ("/registration/scores", test_scores);
  g_test_add_func ("/registration/guesses", test_guesses);
  g_test_add_func ("/registration/laplace", test_laplace);
  g_test_add_func ("/registration/clusters", test_clusters);
  g_test_add_func ("/registration/dispersion", test_dispersion);
  g_test_add_func ("/registration/corridor", test_corridor);
  g_test_add_func ("/registration/degenerate-body", test_degenerate_body);
  g_test_add_func ("/registration/fixed", test_fixed);
  g_test_add_func ("/registration/floor", test_floor);
  g_test_add_func ("/registration/score-weights", test_score_weights);
  g_test_add_func ("/registration/mount", test_mount);
  g_test_add_func ("/registration/no-pairs", test_no_pairs);
  g_test_add_func ("/registration/refused", test_refused);
  g_test_add_func ("/registration/euler", test_euler);
  return g_test_run ();
}
