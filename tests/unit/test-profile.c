/* SPDX-License-Identifier: MIT */
/* What the score over some cells tells along an axis that a scan leaves open. */
#include <math.h>

#include "ndtcore/align/ndt-observability.h"
#include "ndtcore/align/ndt-profile.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/odometry/ndt-drift.h"

#define CELL 1.0
#define N_SCAN 4000

static guint32 state;

static double
uniform (double low, double high)
{
  state = state * 1664525u + 1013904223u;
  return low + (high - low) * (state >> 8) / 16777216.0;
}

/* A road along x between walls; its ground rises and falls by @height over 2π @length. */
static void
make_point (double height, double length, double reach, float p[3])
{
  const double x = uniform (-reach, reach), side = uniform (0, 3);
  const double ground = height * sin (x / length);
  const double noise = uniform (-0.03, 0.03);
  p[0] = (float)x;
  p[1] = (float)(side < 2 ? uniform (-8, 8) : (side < 2.5 ? -8.4 : 8.4) + noise);
  p[2] = (float)(side < 2 ? ground + noise : ground + uniform (0, 4));
}

static NdtBackend *
open_road (double height, double length)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  const NdtBackendConfig config = {-1, 1, 0};
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const guint n = 60000;
  g_autofree float *xyz = g_new (float, 3 * n);
  GError *error = NULL;
  params.resolution = CELL;
  state = 1;
  for (guint i = 0; i < n; i++)
    make_point (height, length, 60, xyz + 3 * i);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (xyz, n);
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&params, &points, &error);
  g_assert_no_error (error);
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  for (guint i = 0; i < N_SCAN; i++)
    make_point (height, length, 30, xyz + 3 * i);
  const NdtCloudView scan = ndt_cloud_view_xyz_f32 (xyz, N_SCAN);
  g_assert_true (ndt_backend_set_scan (backend, 0, &scan, &no_filter, NULL));
  return backend;
}

/* Ground that rises and falls by some centimetres a cell is open by the curvature at an alignment,
 * and over some cells tells the place. */
static void
test_place (void)
{
  static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  static const double along[3] = {1, 0, 0};
  g_autoptr (NdtBackend) backend = open_road (0.4, 6);
  GError *error = NULL;
  for (gint i = -2; i <= 2; i++) {
    const NdtPose sensor = {{0.3 * i, 0, 0}, {0, 0, 0, 1}};
    NdtProfile profile;
    g_assert_true (ndt_profile_along (backend, 0, &params, &sensor, along, &profile, &error));
    g_assert_no_error (error);
    g_assert_cmpfloat (profile.information, >, 0);
    g_assert_cmpuint (profile.passes, ==, NDT_PROFILE_PASSES);
    g_test_message (
        "at %.2f: %.3f, sigma %.3f", 0.3 * i, profile.at, 1 / sqrt (profile.information));
    g_assert_cmpfloat (fabs (0.3 * i + profile.at), <, 3 / sqrt (profile.information));
    g_assert_cmpfloat (1 / sqrt (profile.information), <, 0.3);
  }
}

/* From a place that is farther off than the sum of best terms is looked at, its middle is not that
 * far, and the variance says so: odometry that has drifted by more than a cell, before the ground
 * rises again, is not taken for right after some such scans. */
static void
test_far (void)
{
  static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  static const double along[3] = {1, 0, 0};
  static const double lengths[] = {6, 15};
  for (guint k = 0; k < G_N_ELEMENTS (lengths); k++) {
    g_autoptr (NdtBackend) backend = open_road (0.4, lengths[k]);
    for (gint i = -8; i <= 8; i++) {
      const NdtPose sensor = {{0.25 * i, 0, 0}, {0, 0, 0, 1}};
      NdtProfile profile;
      g_assert_true (ndt_profile_along (backend, 0, &params, &sensor, along, &profile, NULL));
      const double sigma = 1 / sqrt (profile.information);
      g_test_message ("at %.2f: %.3f, sigma %.3f", 0.25 * i, profile.at, sigma);
      g_assert_cmpfloat (fabs (0.25 * i + profile.at), <, 3 * sigma);
    }
  }
}

/* Flat ground tells nothing, whatever maxima the score has. */
static void
test_flat (void)
{
  static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  static const double along[3] = {1, 0, 0};
  g_autoptr (NdtBackend) backend = open_road (0, 6);
  for (gint i = -2; i <= 2; i++) {
    const NdtPose sensor = {{0.3 * i, 0, 0}, {0, 0, 0, 1}};
    NdtProfile profile;
    g_assert_true (ndt_profile_along (backend, 0, &params, &sensor, along, &profile, NULL));
    g_test_message ("at %.2f: %.3f, information %.3f", 0.3 * i, profile.at, profile.information);
    g_assert_cmpfloat (profile.information, <, 1);
  }
}

/* Where the scan meets no voxel one pass shows that. */
static void
test_nothing (void)
{
  static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  static const double along[3] = {1, 0, 0};
  static const NdtPose sensor = {{0, 0, 1000}, {0, 0, 0, 1}};
  g_autoptr (NdtBackend) backend = open_road (0.4, 6);
  NdtProfile profile;
  g_assert_true (ndt_profile_along (backend, 0, &params, &sensor, along, &profile, NULL));
  g_assert_cmpfloat (profile.information, ==, 0);
  g_assert_cmpuint (profile.passes, ==, 1);
}

/* The rotation goes with the position where the scan lies to one side. */
static void
test_turn (void)
{
  const double axis[3] = {1, 0, 0};
  NdtSums sums = {0};
  double turn[3];
  g_assert_false (ndt_observability_turn (&sums, axis, turn));
  for (gint i = 0; i < 6; i++)
    sums.hessian[NDT_H6 (i, i)] = i < 3 ? -4 : -2;
  sums.hessian[NDT_H6 (0, 5)] = -1;
  sums.hessian[NDT_H6 (4, 5)] = -1;
  g_assert_true (ndt_observability_turn (&sums, axis, turn));
  /* −D⁻¹ Bᵀ u with D = ((2, 1), (1, 2)) about y and z. */
  g_assert_cmpfloat_with_epsilon (turn[0], 0, 1e-12);
  g_assert_cmpfloat_with_epsilon (turn[1], 1 / 3.0, 1e-12);
  g_assert_cmpfloat_with_epsilon (turn[2], -2 / 3.0, 1e-12);
}

/* Along the axis of a profile the pose is the mean of where odometry has led and of the place that
 * the profile tells, wherever the alignment ended; 0.7 of the profile's variance, which those
 * before it have in common with it, remain, unless the prediction was better. */
static void
test_mean (void)
{
  const NdtObservability seen = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {1.2e4, 1e6, 1e6}, 1e4};
  static const double stddevs[] = {0.5, 0.3, 0.2, 0.02};
  for (guint i = 0; i < G_N_ELEMENTS (stddevs); i++) {
    const double told = stddevs[i] * stddevs[i];
    NdtDriftStep step = {.seconds = 0.1,
        .by_odometry = 1,
        .profile_axis = 0,
        .profile_information = 1 / told,
        .profile_at = -0.5};
    double shift[3] = {0.2, 0.1, 0}, axis[3];
    NdtDrift drift;
    ndt_drift_reset (&drift, 0.4);
    const double predicted = ndt_drift_predict (&drift, &step, seen.axes[0]);
    ndt_drift_take (&drift, &step, &seen, shift, axis);
    const double mean = 1 / (1 / predicted + 1 / told), weight = predicted / (predicted + told);
    g_assert_cmpfloat_with_epsilon (
        drift.position[0][0], MAX (mean, MIN (0.7 * told, predicted)), 1e-12);
    g_assert_cmpfloat_with_epsilon (shift[0], weight * (0.2 - 0.5), 1e-12);
    g_assert_cmpfloat (shift[1], ==, 0.1);
  }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/profile/place", test_place);
  g_test_add_func ("/profile/far", test_far);
  g_test_add_func ("/profile/flat", test_flat);
  g_test_add_func ("/profile/nothing", test_nothing);
  g_test_add_func ("/profile/turn", test_turn);
  g_test_add_func ("/profile/mean", test_mean);
  return g_test_run ();
}
