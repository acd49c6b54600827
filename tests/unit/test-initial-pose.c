/* SPDX-License-Identifier: MIT */
#include "ndtcore/registration/ndt-initial-pose.h"

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-mount.h"
#include "tests/ndt-scene.h"

#define N_MAP 60000
#define N_SCAN 5000
#define SLOT 5

static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
/* Metres, and no yaw. */
static const NdtPoseSearch wide = {{3, 3, 0.3, 0.02, 0.02, G_PI}, 0, 1};

typedef struct {
  NdtVoxelMap *map;
  NdtBackend *backend;
  NdtPose truth;
  NdtRegistrationParams params;
} Fixture;

static void
set_up (Fixture *f, NdtTestScene scene, guint n_threads)
{
  const NdtBackendConfig config = {-1, n_threads, 0};
  f->map = ndt_test_scene_map (scene, N_MAP, 1);
  f->backend = ndt_backend_open_cpu (&config, NULL);
  f->truth = (NdtPose){{1.5, scene == NDT_TEST_CORRIDOR ? 0.2 : -2.25, 1.4}, {0, 0, 0.2, 0.9}};
  ndt_pose_normalize (&f->truth);
  ndt_registration_params_init (&f->params);
  g_autofree float *scan = ndt_test_scene_scan (scene, &f->truth, N_SCAN, 7);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan, N_SCAN);
  guint n;
  g_assert_true (ndt_backend_set_map (f->backend, f->map, NULL));
  g_assert_true (ndt_backend_set_scan (f->backend, SLOT, &view, &no_filter, NULL));
  g_assert_true (ndt_backend_get_scan (f->backend, SLOT, NULL, 0, &n, NULL));
}

static void
tear_down (Fixture *f)
{
  ndt_backend_close (f->backend);
  ndt_voxel_map_unref (f->map);
}

static NdtPose
off (const NdtPose *pose, double x, double y, double yaw)
{
  const double delta[6] = {x, y, 0.2, 0.01, -0.01, 0}, turn[6] = {0, 0, 0, 0, 0, yaw};
  NdtPose out;
  ndt_pose_retract (pose, delta, &out);
  ndt_pose_retract (&out, turn, &out);
  return out;
}

/* ---- Candidates ---- */

/* Within 2.5 standard deviations, all of the circle and of the disc about as often. */
static void
test_candidates (void)
{
  const NdtPose around = {{500000, 4000000, 30}, {0, 0, 0.6, 0.8}};
  const NdtPoseSearch search = {{4, 2, 1, 0.02, 0.01, G_PI}, 3600, 3};
  const NdtPose first = ndt_pose_search_get (&search, &around, 0);
  guint sectors[12] = {0}, turns[12] = {0}, n_inner = 0;
  g_assert_cmpmem (&first, sizeof first, &around, sizeof around);
  for (guint i = 1; i <= 3600; i++) {
    const NdtPose pose = ndt_pose_search_get (&search, &around, i);
    const double x = (pose.position[0] - around.position[0]) / 4;
    const double y = (pose.position[1] - around.position[1]) / 2;
    double roll, pitch, yaw;
    ndt_pose_to_rpy (&pose, &roll, &pitch, &yaw);
    g_assert_cmpfloat (hypot (x, y), <=, 2.5 + 1e-6);
    g_assert_cmpfloat (fabs (pose.position[2] - around.position[2]), <=, 2.5 + 1e-6);
    /* Both tilts together. */
    g_assert_cmpfloat (hypot (roll, pitch), <=, 2.5 * hypot (0.02, 0.01) + 1e-6);
    sectors[(guint)((atan2 (y, x) + G_PI) / (2 * G_PI) * 12) % 12]++;
    turns[(guint)((yaw + G_PI) / (2 * G_PI) * 12) % 12]++;
    n_inner += hypot (x, y) < 2.5 / sqrt (2);
  }
  /* By chance they would scatter by 17 about 300; these are more even. */
  for (guint i = 0; i < 12; i++) {
    g_assert_cmpint (ABS ((gint)sectors[i] - 300), <, 12);
    g_assert_cmpint (ABS ((gint)turns[i] - 300), <, 12);
  }
  g_assert_cmpint (ABS ((gint)n_inner - 1800), <, 20);

  NdtPoseSearch other = search;
  other.seed++;
  const NdtPose a = ndt_pose_search_get (&search, &around, 7);
  const NdtPose b = ndt_pose_search_get (&other, &around, 7);
  g_assert_cmpfloat (a.position[0], !=, b.position[0]);

  const NdtPoseSearch known = {{0, 0, 0, 0, 0, 0}, 100, 3};
  for (guint i = 0; i < 100; i++) {
    const NdtPose pose = ndt_pose_search_get (&known, &around, i);
    double metres, angle;
    ndt_pose_difference (&pose, &around, &metres, &angle);
    g_assert_cmpfloat (metres, <, 1e-9);
    g_assert_cmpfloat (angle, <, 1e-6);
  }
}

static void
test_count (void)
{
  NdtPoseSearch search = {{0, 0, 0, 0, 0, 0}, 0, 0};
  const guint least = ndt_pose_search_count (&search, 1);
  g_assert_cmpuint (least, >=, 1);
  search.stddev[5] = G_PI;
  search.stddev[0] = search.stddev[1] = 5;
  const guint five = ndt_pose_search_count (&search, 1);
  g_assert_cmpuint (five, >, least);
  /* All of the circle is all that there is. */
  search.stddev[5] = 10;
  g_assert_cmpuint (ndt_pose_search_count (&search, 1), ==, five);
  /* Four times the area, and smaller cells. */
  search.stddev[0] = search.stddev[1] = 10;
  g_assert_cmpuint (ndt_pose_search_count (&search, 1), >, 3 * five);
  g_assert_cmpuint (ndt_pose_search_count (&search, 0.5), >, 3 * 3 * five);
  search.stddev[0] = search.stddev[1] = 1e9;
  g_assert_cmpuint (ndt_pose_search_count (&search, 1), <=, NDT_POSE_SEARCH_MAX_CANDIDATES);
  search.n_candidates = 7;
  g_assert_cmpuint (ndt_pose_search_count (&search, 1), ==, 7);
  /* GNSS that says 0.1 rad² for what it does not measure: a body stands upright all the same. */
  const NdtPoseSearch gnss = {{1, 1, 1, 0.32, 0.32, 1}, 0, 0};
  const NdtPoseSearch upright = {{1, 1, 1, 0.1, 0.1, 1}, 0, 0};
  const NdtPose around = {{0, 0, 0}, {0, 0, 0, 1}};
  g_assert_cmpuint (ndt_pose_search_count (&gnss, 1), ==, ndt_pose_search_count (&upright, 1));
  for (guint i = 1; i < 100; i++) {
    const NdtPose pose = ndt_pose_search_get (&gnss, &around, i);
    double roll, pitch, yaw;
    ndt_pose_to_rpy (&pose, &roll, &pitch, &yaw);
    g_assert_cmpfloat (hypot (roll, pitch), <=, 2.5 * hypot (0.1, 0.1) + 1e-6);
  }
}

static void
test_check (void)
{
  static const double bad[] = {-1, NAN, INFINITY};
  g_assert_true (ndt_pose_search_check (&wide, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    for (guint k = 0; k < 6; k++) {
      g_autoptr (GError) error = NULL;
      NdtPoseSearch search = wide;
      search.stddev[k] = bad[i];
      g_assert_false (ndt_pose_search_check (&search, &error));
      g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    }
  NdtPoseSearch search = wide;
  search.n_candidates = NDT_POSE_SEARCH_MAX_CANDIDATES + 1;
  g_assert_false (ndt_pose_search_check (&search, NULL));
}

/* ---- The search ---- */

static void
assert_found (const NdtRegistration *r, const NdtPose *truth)
{
  double metres, angle;
  ndt_pose_difference (&r->pose, truth, &metres, &angle);
  g_assert_cmpuint (r->stop, ==, NDT_STOP_CONVERGED);
  /* The scene's noise and cells hold a scan to centimetres. */
  g_assert_cmpfloat (metres, <, 0.05);
  g_assert_cmpfloat (angle, <, 0.01);
}

/* Metres off and turned by anything, the scan is found; by any number of threads and time and time
 * again with the same bits; it stays in its slot. */
static void
test_found (void)
{
  static const guint n_threads[] = {1, 2, 7};
  static const double offsets[][3] = {{5, -4, 2}, {-6, 2, -3}, {0, 6.5, 1}};
  NdtRegistration first[G_N_ELEMENTS (offsets)];
  for (guint t = 0; t < G_N_ELEMENTS (n_threads); t++) {
    Fixture f;
    set_up (&f, NDT_TEST_YARD, n_threads[t]);
    for (guint i = 0; i < G_N_ELEMENTS (offsets); i++) {
      const NdtPose around = off (&f.truth, offsets[i][0], offsets[i][1], offsets[i][2]);
      NdtRegistration r;
      GError *error = NULL;
      ndt_register_around (f.backend, SLOT, &f.params, &around, &wide, &r, &error);
      g_assert_no_error (error);
      assert_found (&r, &f.truth);
      g_assert_cmpuint (r.n_points, ==, N_SCAN);
      g_assert_cmpuint (r.n_starts, ==, ndt_pose_search_count (&wide, 1));
      g_assert_cmpuint (r.evaluations, >, r.n_starts);
      g_assert_cmpfloat (r.runner_up, >, 0);
      g_assert_cmpfloat (r.runner_up, <, NDT_AMBIGUOUS);
      g_assert_false (r.is_ambiguous);
      if (t == 0)
        first[i] = r;
      else
        g_assert_cmpmem (&r, sizeof r, &first[i], sizeof first[i]);
    }
    tear_down (&f);
  }
}

/* What the passes are that are reported is what the backend counts. */
static void
test_counts (void)
{
  Fixture f;
  NdtBackendCounters before, after;
  NdtRegistration r;
  set_up (&f, NDT_TEST_YARD, 1);
  const NdtPose around = off (&f.truth, 3, 3, 3);
  f.params.covariance = NDT_POSE_COVARIANCE_FIXED;
  ndt_backend_get_counters (f.backend, &before);
  g_assert_true (ndt_register_around (f.backend, SLOT, &f.params, &around, &wide, &r, NULL));
  ndt_backend_get_counters (f.backend, &after);
  g_assert_cmpuint (after.evaluations - before.evaluations, ==, r.evaluations);
  tear_down (&f);
}

/* Any number of candidates works, and other seeds find the same. */
static void
test_numbers (void)
{
  static const guint numbers[] = {1, 2, 15, 17, 63, 65};
  Fixture f;
  set_up (&f, NDT_TEST_YARD, 1);
  const NdtPose near = off (&f.truth, 0.3, -0.3, 0.05);
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    NdtPoseSearch search = {{0.2, 0.2, 0.1, 0.01, 0.01, 0.05}, numbers[i], i};
    NdtRegistration r;
    g_assert_true (ndt_register_around (f.backend, SLOT, &f.params, &near, &search, &r, NULL));
    assert_found (&r, &f.truth);
    g_assert_cmpuint (r.n_starts, ==, numbers[i]);
  }
  const NdtPose around = off (&f.truth, 4, 4, 2);
  for (guint seed = 0; seed < 4; seed++) {
    NdtPoseSearch search = wide;
    NdtRegistration r;
    search.seed = seed;
    g_assert_true (ndt_register_around (f.backend, SLOT, &f.params, &around, &search, &r, NULL));
    assert_found (&r, &f.truth);
  }
  tear_down (&f);
}

/* The body's pose is what is uncertain; what is found is the sensor's. */
static void
test_mount (void)
{
  Fixture f;
  NdtRegistration r;
  set_up (&f, NDT_TEST_YARD, 1);
  f.params.has_mount = TRUE;
  f.params.mount = (NdtPose){{2, -1, 0.5}, {0, 0, 0.7071067811865476, 0.7071067811865476}};
  const NdtPose body = ndt_mount_body_of_sensor (&f.params.mount, &f.truth);
  const NdtPose around = off (&body, -5, 4, 2.5);
  g_assert_true (ndt_register_around (f.backend, SLOT, &f.params, &around, &wide, &r, NULL));
  assert_found (&r, &f.truth);
  tear_down (&f);
}

/* Along a corridor a scan fits in many places, which is told. */
static void
test_ambiguous (void)
{
  Fixture f;
  NdtRegistration r;
  set_up (&f, NDT_TEST_CORRIDOR, 1);
  g_assert_true (ndt_register_around (f.backend, SLOT, &f.params, &f.truth, &wide, &r, NULL));
  g_assert_cmpfloat (r.runner_up, >, NDT_AMBIGUOUS);
  g_assert_cmpfloat (r.runner_up, <=, 1);
  g_assert_true (r.is_ambiguous);
  tear_down (&f);
}

/* Nor is a place believed where the scan is not, but which is the best that there is. */
static void
test_elsewhere (void)
{
  Fixture f;
  set_up (&f, NDT_TEST_YARD, 1);
  for (guint i = 0; i < 4; i++) {
    const double angle = i * G_PI / 2;
    const NdtPose around = off (&f.truth, 22 * cos (angle), 22 * sin (angle), 1);
    NdtRegistration r;
    g_assert_true (ndt_register_around (f.backend, SLOT, &f.params, &around, &wide, &r, NULL));
    g_assert_true (r.is_ambiguous);
  }
  tear_down (&f);
}

/* A car park: the ground, a wall, and rows of parked cars, 2.5 m from one to the next. */
static void
car_park_point (GRand *rand, double p[3])
{
  const double choice = g_rand_double (rand);
  p[0] = g_rand_double_range (rand, -40, 40);
  p[1] = g_rand_double_range (rand, -40, 40);
  p[2] = 0;
  if (choice < 0.35)
    return;
  if (choice < 0.45) {
    p[1] = 38;
    p[2] = g_rand_double_range (rand, 0, 6);
    return;
  }
  /* On one of the four sides of a car of 1.8 m by 4.3 m. */
  const double along = g_rand_double_range (rand, 0, 1.8 + 4.3);
  const double side = g_rand_boolean (rand) ? 0.5 : -0.5;
  const int row = g_rand_int_range (rand, -2, 3);
  p[0] = 2.5 * g_rand_int_range (rand, -12, 13) + (along < 1.8 ? along - 0.9 : side * 1.8);
  p[1] = 9 * row + (row > 0 ? 4.5 : -4.5) + (along < 1.8 ? side * 4.3 : along - 1.8 - 2.15);
  p[2] = g_rand_double_range (rand, 0, 1.4);
}

/* Points of it within 25 m of a sensor; of all where there is none. */
static float *
car_park (GRand *rand, guint n, const NdtPose *sensor)
{
  float *xyz = g_new (float, 3 * n);
  NdtPose inverse;
  if (sensor)
    ndt_pose_invert (sensor, &inverse);
  for (guint i = 0; i < n;) {
    double p[3];
    car_park_point (rand, p);
    if (sensor && hypot (p[0] - sensor->position[0], p[1] - sensor->position[1]) > 25)
      continue;
    for (guint k = 0; k < 3; k++)
      p[k] += 0.015 * ndt_test_normal (rand);
    if (sensor)
      ndt_pose_transform_point (&inverse, p, p);
    for (guint k = 0; k < 3; k++)
      xyz[3 * i + k] = (float)p[k];
    i++;
  }
  return xyz;
}

/* Where all repeats itself a scan is not taken to be in a place that candidates happened to lead
 * to: none is wrong and said to be reliable. Where it is known well enough to tell one from the
 * next, that is no rival. */
static void
test_repeats (void)
{
  const NdtBackendConfig config = {-1, 1, 0};
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  NdtRegistrationParams params;
  guint n_near = 0;
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  g_autofree float *map_points = car_park (rand, N_MAP, NULL);
  const NdtCloudView map_view = ndt_cloud_view_xyz_f32 (map_points, N_MAP);
  map_params.resolution = 1;
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&map_params, &map_view, NULL);
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  ndt_registration_params_init (&params);
  for (guint i = 0; i < 8; i++) {
    const double position[3] = {
        g_rand_double_range (rand, -7, 7), g_rand_double_range (rand, -2, 2), 1.5};
    const double x = 5 * g_rand_double_range (rand, -1.5, 1.5);
    const double y = 5 * g_rand_double_range (rand, -1.5, 1.5);
    NdtPose truth;
    ndt_pose_from_rpy (position, 0, 0, g_rand_double_range (rand, -3, 3), &truth);
    g_autofree float *scan = car_park (rand, N_SCAN, &truth);
    const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan, N_SCAN);
    const NdtPoseSearch anywhere = {{5, 5, 0.3, 0.02, 0.02, G_PI}, 0, i};
    const NdtPoseSearch near = {{0.2, 0.2, 0.1, 0.02, 0.02, 0.5}, 0, i};
    const NdtPose around = off (&truth, x, y, 2);
    const NdtPose beside = off (&truth, 0.2, -0.2, 0.5);
    NdtRegistration r;
    double metres, angle;
    g_assert_true (ndt_backend_set_scan (backend, SLOT, &view, &no_filter, NULL));
    g_assert_true (ndt_register_around (backend, SLOT, &params, &around, &anywhere, &r, NULL));
    ndt_pose_difference (&r.pose, &truth, &metres, &angle);
    g_test_message ("%.2f m and %.2f rad off, runner-up %.2f", metres, angle, r.runner_up);
    g_assert_true ((metres < 0.15 && angle < 0.03) || r.runner_up >= NDT_AMBIGUOUS);
    g_assert_true (ndt_register_around (backend, SLOT, &params, &beside, &near, &r, NULL));
    ndt_pose_difference (&r.pose, &truth, &metres, &angle);
    g_test_message ("near: %.2f m and %.2f rad off, runner-up %.2f", metres, angle, r.runner_up);
    g_assert_true ((metres < 0.15 && angle < 0.03) || r.is_ambiguous);
    n_near += r.runner_up < NDT_AMBIGUOUS;
  }
  /* Four of them. The others end half a metre beside it. */
  g_assert_cmpuint (n_near, >=, 2);
}

/* Off the map, an empty scan, no map, a search that is none, one that is cancelled. */
static void
test_nothing_there (void)
{
  const NdtBackendConfig config = {-1, 1, 0};
  Fixture f;
  NdtRegistration r;
  set_up (&f, NDT_TEST_YARD, 1);
  NdtPose around = f.truth;
  around.position[0] += 5000;
  g_assert_true (ndt_register_around (f.backend, SLOT, &f.params, &around, &wide, &r, NULL));
  g_assert_cmpuint (r.stop, ==, NDT_STOP_NO_PAIRS);
  g_assert_cmpmem (&r.pose, sizeof r.pose, &around, sizeof around);
  g_assert_true (ndt_register_around (f.backend, SLOT + 1, &f.params, &around, &wide, &r, NULL));
  g_assert_cmpuint (r.stop, ==, NDT_STOP_NO_PAIRS);

  g_autoptr (GError) invalid = NULL, no_map = NULL, cancelled = NULL, offsets = NULL;
  NdtPoseSearch bad = wide;
  bad.stddev[2] = -1;
  g_assert_false (ndt_register_around (f.backend, SLOT, &f.params, &around, &bad, &r, &invalid));
  g_assert_error (invalid, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  NdtRegistrationParams many = f.params;
  many.n_offsets = NDT_MAX_OFFSETS + 1;
  g_assert_false (ndt_register_around (f.backend, SLOT, &many, &f.truth, &wide, &r, &offsets));
  g_assert_error (offsets, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_autoptr (NdtBackend) empty = ndt_backend_open_cpu (&config, NULL);
  g_assert_false (ndt_register_around (empty, SLOT, &f.params, &around, &wide, &r, &no_map));
  g_assert_error (no_map, NDT_ERROR, NDT_ERROR_NO_MAP);
  ndt_backend_cancel (f.backend, TRUE);
  g_assert_false (
      ndt_register_around (f.backend, SLOT, &f.params, &f.truth, &wide, &r, &cancelled));
  g_assert_error (cancelled, NDT_ERROR, NDT_ERROR_CANCELLED);
  tear_down (&f);
}

/* A map with one level is ranked and approached by that. */
static void
test_one_level (void)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  Fixture f;
  NdtRegistration r;
  set_up (&f, NDT_TEST_YARD, 1);
  params.resolution = 2;
  params.n_levels = 1;
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autofree float *xyz = g_new (float, 3 * N_MAP);
  for (guint i = 0; i < N_MAP; i++) {
    double p[3];
    ndt_test_scene_point (NDT_TEST_YARD, rand, 0, 0, 30, 0.02, p);
    for (guint k = 0; k < 3; k++)
      xyz[3 * i + k] = (float)p[k];
  }
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, N_MAP);
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&params, &view, NULL);
  g_assert_true (ndt_backend_set_map (f.backend, map, NULL));
  const NdtPose around = off (&f.truth, 3, -3, 2);
  g_assert_true (ndt_register_around (f.backend, SLOT, &f.params, &around, &wide, &r, NULL));
  assert_found (&r, &f.truth);
  tear_down (&f);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/initial-pose/candidates", test_candidates);
  g_test_add_func ("/initial-pose/count", test_count);
  g_test_add_func ("/initial-pose/check", test_check);
  g_test_add_func ("/initial-pose/found", test_found);
  g_test_add_func ("/initial-pose/counts", test_counts);
  g_test_add_func ("/initial-pose/numbers", test_numbers);
  g_test_add_func ("/initial-pose/mount", test_mount);
  g_test_add_func ("/initial-pose/ambiguous", test_ambiguous);
  g_test_add_func ("/initial-pose/elsewhere", test_elsewhere);
  g_test_add_func ("/initial-pose/repeats", test_repeats);
  g_test_add_func ("/initial-pose/nothing-there", test_nothing_there);
  g_test_add_func ("/initial-pose/one-level", test_one_level);
  return g_test_run ();
}
