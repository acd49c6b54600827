/* SPDX-License-Identifier: MIT */
/* The search around a pose that is known to metres, and of the whole map, on both backends. */
#include <math.h>
#include <string.h>

#include "gpu-device.h"
#include "ndtcore/registration/ndt-registration.h"
#include "tests/ndt-scene.h"

#define N_MAP 60000

static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;

static void
give (NdtBackend *backend, NdtVoxelMap *map, const float *scan, guint n)
{
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan, n);
  g_autoptr (GError) error = NULL;
  guint n_set;
  g_assert_true (ndt_backend_set_map (backend, map, &error));
  g_assert_true (ndt_backend_set_scan (backend, 0, &view, &no_filter, &error));
  g_assert_true (ndt_backend_get_scan (backend, 0, NULL, 0, &n_set, &error));
  g_assert_no_error (error);
}

static NdtRegistration
find (NdtBackend *backend, const NdtPose *around, const NdtPoseSearch *search)
{
  NdtRegistrationParams params;
  NdtRegistration r;
  GError *error = NULL;
  ndt_registration_params_init (&params);
  ndt_register_around (backend, 0, &params, around, search, &r, &error);
  g_assert_no_error (error);
  return r;
}

static void
assert_near (const NdtPose *a, const NdtPose *b, double metres, double radians)
{
  double m, angle;
  ndt_pose_difference (a, b, &m, &angle);
  g_assert_cmpfloat (m, <, metres);
  g_assert_cmpfloat (angle, <, radians);
}

/* Both find the truth, with any yaw, and say so; the device the same bits again and again. The
 * backends round differently, so that of candidates that fit alike others may be aligned, and the
 * score has maxima millimetres apart. */
static void
search_points (guint n_points, double resolution, guint n_candidates)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, N_MAP, resolution);
  NdtPose truth = {{1.5, -2.25, 1.4}, {0, 0, 0.2, 0.9}};
  ndt_pose_normalize (&truth);
  g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_YARD, &truth, n_points, 7);
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  give (cpu, map, scan, n_points);
  give (cuda, map, scan, n_points);
  for (guint i = 0; i < 6; i++) {
    const NdtPoseSearch search = {{3, 3, 0.3, 0.02, 0.02, G_PI}, n_candidates, i};
    const double shift[6] = {
        g_rand_double_range (rand, -5, 5), g_rand_double_range (rand, -5, 5), 0.2, 0.01, 0, 0};
    const double turn[6] = {0, 0, 0, 0, 0, g_rand_double_range (rand, -G_PI, G_PI)};
    NdtPose around;
    ndt_pose_retract (&truth, shift, &around);
    ndt_pose_retract (&around, turn, &around);
    const NdtRegistration a = find (cpu, &around, &search), b = find (cuda, &around, &search);
    const NdtRegistration again = find (cuda, &around, &search);
    assert_near (&b.pose, &truth, 0.05, 0.01);
    assert_near (&a.pose, &b.pose, 0.01, 0.001);
    g_assert_cmpuint (a.n_starts, ==, b.n_starts);
    g_assert_false (a.is_ambiguous);
    g_assert_false (b.is_ambiguous);
    g_assert_cmpmem (&again, sizeof again, &b, sizeof b);
  }
}

static void
test_found (void)
{
  search_points (5000, 1, 0);
  search_points (5000, 2, 0);
  search_points (500, 1, 3000);
}

/* Along a corridor neither is sure. */
static void
test_ambiguous (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_CORRIDOR, N_MAP, 1);
  const NdtPose truth = {{1.5, 0.2, 1.4}, {0, 0, 0, 1}};
  const NdtPoseSearch search = {{3, 3, 0.3, 0.02, 0.02, G_PI}, 0, 1};
  g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_CORRIDOR, &truth, 5000, 7);
  give (cpu, map, scan, 5000);
  give (cuda, map, scan, 5000);
  const NdtRegistration a = find (cpu, &truth, &search), b = find (cuda, &truth, &search);
  g_assert_true (a.is_ambiguous);
  g_assert_true (b.is_ambiguous);
}

static NdtRegistration
find_anywhere (NdtBackend *backend)
{
  NdtRegistrationParams params;
  NdtRegistration r;
  GError *error = NULL;
  ndt_registration_params_init (&params);
  ndt_register_anywhere (backend, 0, &params, &r, &error);
  g_assert_no_error (error);
  return r;
}

/* Without a guess: the same places are aligned, and the device ends where the CPU does. */
static void
test_anywhere (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  for (guint i = 0; i < 2; i++) {
    g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, N_MAP, 1 + i);
    NdtPose truth = {{1.5, -2.25, 1.4}, {0, 0, 0.2, 0.9}};
    ndt_pose_normalize (&truth);
    g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 5000, 7);
    give (cpu, map, scan, 5000);
    give (cuda, map, scan, 5000);
    const NdtRegistration a = find_anywhere (cpu), b = find_anywhere (cuda);
    const NdtRegistration again = find_anywhere (cuda);
    g_assert_cmpuint (b.n_starts, >, 0);
    g_assert_cmpuint (a.n_starts, ==, b.n_starts);
    assert_near (&a.pose, &b.pose, 0.01, 0.001);
    g_assert_cmpint (a.is_ambiguous, ==, b.is_ambiguous);
    g_assert_cmpmem (&again, sizeof again, &b, sizeof b);
  }
}

/* In the background, on half of a device of any size: to the bit what the stream's backend finds.
 */
static void
test_background (void)
{
  static const gchar *limits[] = {NULL, "40:65536:1:40:80", "16:166912:1:16:32", "8:166912:1:8:16"};
  const NdtPoseSearch search = {{2, 2, 0.3, 0.02, 0.02, G_PI}, 0, 1};
  NdtPose truth = {{1.5, -2.25, 1.4}, {0, 0, 0.2, 0.9}};
  ndt_pose_normalize (&truth);
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, N_MAP, 1);
  g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 5000, 7);
  NdtRegistration anywhere, around;
  for (guint i = 0; i < G_N_ELEMENTS (limits); i++) {
    TEST_CUDA (LIMITS, limits[i]);
    g_autoptr (NdtBackend) cuda = open_cuda (0);
    if (cuda) {
      g_autoptr (GError) error = NULL;
      g_autoptr (NdtBackend) background = ndt_backend_open_background (cuda, &error);
      g_assert_no_error (error);
      if (i == 0) {
        give (cuda, map, scan, 5000);
        anywhere = find_anywhere (cuda);
        around = find (cuda, &truth, &search);
      }
      give (background, map, scan, 5000);
      const NdtRegistration a = find_anywhere (background), b = find (background, &truth, &search);
      g_assert_cmpmem (&a, sizeof a, &anywhere, sizeof anywhere);
      g_assert_cmpmem (&b, sizeof b, &around, sizeof around);
    }
    TEST_CUDA (LIMITS, NULL);
    if (!cuda)
      return;
  }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/search/found", test_found);
  g_test_add_func ("/gpu/search/ambiguous", test_ambiguous);
  g_test_add_func ("/gpu/search/anywhere", test_anywhere);
  g_test_add_func ("/gpu/search/background", test_background);
  return g_test_run ();
}
