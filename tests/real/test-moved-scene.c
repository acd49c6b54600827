/* SPDX-License-Identifier: MIT */
/* Where on Earth a map lies must not show. */
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/registration/ndt-registration.h"
#include "town-starts.h"

/* What the scene may move the poses by: float's rounding of the scan's points and of sums, far
 * below what a millimetre of noise does. */
#define METRES 1e-4
#define RADIANS 1e-5

static NdtBackend *
open_backend (NdtVoxelMap *map)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  return backend;
}

static NdtRegistrationParams
tight_params (void)
{
  NdtRegistrationParams params;
  ndt_registration_params_init (&params);
  params.align.translation_epsilon = 1e-5;
  params.align.rotation_epsilon = 1e-6;
  return params;
}

static void
register_all (const float *target, guint n_target, const double shift[3], const float *scan,
    guint n_scan, const NdtPose *starts, guint n, NdtSearch search, NdtRegistration *out)
{
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtRegistrationParams params = tight_params ();
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  g_autofree double *xyz = g_new (double, 3 * (gsize)n_target);
  for (gsize i = 0; i < 3 * (gsize)n_target; i++)
    xyz[i] = (double)target[i] + shift[i % 3];
  const NdtCloudView target_view = ndt_cloud_view_xyz_f64 (xyz, n_target);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan, n_scan);
  map_params.resolution = 2;
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&map_params, &target_view, NULL);
  g_autoptr (NdtBackend) backend = open_backend (map);
  g_assert_true (ndt_backend_set_scan (backend, 0, &view, &no_filter, NULL));
  for (guint i = 0; i < n; i++) {
    NdtPose start = starts[i];
    GError *error = NULL;
    for (guint k = 0; k < 3; k++)
      start.position[k] += shift[k];
    ndt_register (backend, 0, &params, search, &start, 1, &out[i], &error);
    g_assert_no_error (error);
    for (guint k = 0; k < 3; k++)
      out[i].pose.position[k] -= shift[k];
  }
}

static void
test_town (void)
{
  /* Multiples of the cells of 2 m: of other cells the optimum would be another. The second is no
   * multiple of the coarser levels' cells, which a start from near does not need. */
  static const double shifts[][3] = {
      {0, 0, 0}, {388096, 3948996, 0}, {89572, 42302, 0}, {-388096, -3948996, -100}};
  NdtPose near[50], truth;
  NdtRegistration results[G_N_ELEMENTS (shifts)][50];
  guint n_target, n_scan;
  g_autofree float *target = town_read_points ("target.bin", &n_target);
  g_autofree float *scan = target ? town_read_points ("source_1500.bin", &n_scan) : NULL;
  if (!scan) {
    g_test_skip ("town_starts is missing: set NDT_TEST_DATA");
    return;
  }
  g_assert_cmpuint (town_read_poses ("truth.txt", &truth, 1), ==, 1);
  g_assert_cmpuint (town_read_poses ("guesses.txt", near, 50), ==, 50);
  for (guint s = 0; s < G_N_ELEMENTS (shifts); s++) {
    double worst_m = 0, worst_r = 0;
    register_all (
        target, n_target, shifts[s], scan, n_scan, near, 50, NDT_SEARCH_LOCAL, results[s]);
    for (guint i = 0; i < 50; i++) {
      double m, r;
      ndt_pose_difference (&results[s][i].pose, &truth, &m, NULL);
      g_assert_cmpfloat (m, <, 0.01);
      ndt_pose_difference (&results[s][i].pose, &results[0][i].pose, &m, &r);
      worst_m = MAX (worst_m, m);
      worst_r = MAX (worst_r, r);
      g_assert_cmpfloat (
          fabs (results[s][i].nvtl - results[0][i].nvtl), <, 1e-4 * results[0][i].nvtl);
    }
    g_test_message ("moved by (%g, %g, %g): %.4f mm, %.2g rad", shifts[s][0], shifts[s][1],
        shifts[s][2], 1e3 * worst_m, worst_r);
    g_assert_cmpfloat (worst_m, <=, METRES);
    g_assert_cmpfloat (worst_r, <=, RADIANS);
  }
}

/* The second of two scans on a map of the first, at UTM coordinates and near the origin. */
static void
test_apollo (void)
{
  g_autofree gchar *folder = ndt_test_data ("pair_apollo_utm/pcds");
  if (!folder) {
    g_test_skip ("pair_apollo_utm is missing: set NDT_TEST_DATA");
    return;
  }
  g_autofree gchar *poses_path = g_build_filename (folder, "poses.txt", NULL);
  g_autofree gchar *text = NULL;
  NdtPose poses[2], found[2];
  GError *error = NULL;
  g_assert_true (g_file_get_contents (poses_path, &text, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (g_strstrip (text), "\n", -1);
  for (guint i = 0; i < 2; i++) {
    double *p = poses[i].position, *q = poses[i].orientation;
    g_assert_cmpint (sscanf (lines[i], "%*d %*f %lf %lf %lf %lf %lf %lf %lf", p, p + 1, p + 2, q,
                         q + 1, q + 2, q + 3),
        ==, 7);
    g_assert_true (ndt_pose_normalize (&poses[i]));
  }
  for (guint moved = 0; moved < 2; moved++) {
    static const double back[3] = {588348, 4141240, -32}; /* multiples of 4 m */
    NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
    NdtRegistrationParams params = tight_params ();
    /* The car itself is not seen twice at the same place. */
    NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
    NdtPose at[2] = {poses[0], poses[1]};
    map_params.resolution = 1;
    filter.min_range = 3;
    filter.leaf_size = 0.5f;
    for (guint i = 0; i < 2 && moved; i++)
      for (guint k = 0; k < 3; k++)
        at[i].position[k] -= back[k];
    g_autofree gchar *first = g_build_filename (folder, "1.pcd", NULL);
    g_autofree gchar *second = g_build_filename (folder, "2.pcd", NULL);
    g_autoptr (NdtPcdFile) map_file = ndt_pcd_file_open (first, &error);
    g_assert_no_error (error);
    g_autoptr (NdtPcdFile) scan_file = ndt_pcd_file_open (second, &error);
    g_assert_no_error (error);
    NdtCloudView map_points, scan_points;
    g_assert_true (ndt_pcd_file_get_points (map_file, &map_points, &error));
    g_assert_true (ndt_pcd_file_get_points (scan_file, &scan_points, &error));
    g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&map_params, NULL);
    g_assert_true (ndt_voxel_map_builder_add (builder, 0, &map_points, &at[0], NULL));
    g_autoptr (NdtVoxelMap) map = ndt_voxel_map_builder_build (builder, NULL);
    g_autoptr (NdtBackend) backend = open_backend (map);
    g_assert_true (ndt_backend_set_scan (backend, 0, &scan_points, &filter, NULL));
    NdtRegistration r;
    double m, angle;
    /* From where the first scan was: 0.8 m behind. */
    ndt_register (backend, 0, &params, NDT_SEARCH_FAR, &at[0], 1, &r, &error);
    g_assert_no_error (error);
    ndt_pose_difference (&r.pose, &at[1], &m, &angle);
    g_test_message ("%s: %.1f mm, %.3f deg from the given pose, %u points, NVTL %.2f of %.2f",
        moved ? "near the origin" : "at UTM coordinates", 1e3 * m, angle * 180 / G_PI, r.n_points,
        r.nvtl, r.max_nvtl);
    /* The poses are good to 1 cm, and another program's registration differs by 1 cm and 0.08°. */
    g_assert_cmpfloat (m, <, 0.05);
    g_assert_cmpfloat (angle, <, 0.2 * G_PI / 180);
    found[moved] = r.pose;
    for (guint k = 0; k < 3 && moved; k++)
      found[moved].position[k] += back[k];
  }
  double m, angle;
  ndt_pose_difference (&found[0], &found[1], &m, &angle);
  g_test_message ("between the two: %.4f mm, %.2g rad", 1e3 * m, angle);
  g_assert_cmpfloat (m, <=, METRES);
  g_assert_cmpfloat (angle, <=, RADIANS);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/moved-scene/town", test_town);
  g_test_add_func ("/moved-scene/apollo", test_apollo);
  return g_test_run ();
}
