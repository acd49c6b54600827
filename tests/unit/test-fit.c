/* SPDX-License-Identifier: MIT */
/* The fit of scans at their true poses, on maps that are dense and sparse for their cells. */
#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/map/ndt-map-rays.h"
#include "ndtcore/map/ndt-residual.h"
#include "ndtcore/track/ndt-fit.h"

#define SPACING 0.25 /* of the map's points on its surfaces, metres */
#define NOISE 0.02
#define N_ROUND 360
#define N_RINGS 32

/* A hall with racks, whose floor is in the middle of a border of cells: 24 × 16 × 5 m. */
static const double boxes[][6] = {{-12, -8, 0, 12, 8, 5}, {-9, -5, 0, 3, -3.8, 3.1},
    {-9, -0.7, 0, 3, 0.5, 3.1}, {-9, 4.1, 0, 3, 5.2, 3.1}, {6.2, -6, 0, 7.3, -1, 2.2}};

static void
add_face (GArray *xyz, GRand *rand, const double *box, guint axis, guint side)
{
  const guint u = (axis + 1) % 3, v = (axis + 2) % 3;
  for (double a = box[u]; a < box[3 + u]; a += SPACING)
    for (double b = box[v]; b < box[3 + v]; b += SPACING) {
      double p[3];
      p[axis] = box[3 * side + axis];
      p[u] = a;
      p[v] = b;
      for (guint k = 0; k < 3; k++)
        p[k] += NOISE * g_rand_double_range (rand, -1.7, 1.7);
      g_array_append_vals (xyz, p, 3);
    }
}

/* Moved by @shift along each axis, so that surfaces lie elsewhere in their cells. */
static NdtVoxelMap *
make_map (double resolution, guint n_levels, double shift)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GArray) xyz = g_array_new (FALSE, FALSE, sizeof (double));
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  params.resolution = resolution;
  params.n_levels = n_levels;
  for (guint i = 0; i < G_N_ELEMENTS (boxes); i++)
    for (guint axis = 0; axis < 3; axis++)
      for (guint side = 0; side < 2; side++)
        add_face (xyz, rand, boxes[i], axis, side);
  for (guint i = 0; i < xyz->len; i++)
    g_array_index (xyz, double, i) += shift;
  const NdtCloudView view =
      ndt_cloud_view_xyz_f64 ((const double *)(gpointer)xyz->data, xyz->len / 3);
  NdtVoxelMap *map = ndt_voxel_map_new (&params, &view, NULL);
  g_assert_nonnull (map);
  return map;
}

/* Distance along a ray from within the first box, which is seen from inside. */
static double
cast (const double from[3], const double to[3])
{
  double nearest = INFINITY;
  for (guint i = 0; i < G_N_ELEMENTS (boxes); i++) {
    double enter = -INFINITY, leave = INFINITY;
    for (guint k = 0; k < 3; k++) {
      const double a = (boxes[i][k] - from[k]) / to[k], b = (boxes[i][3 + k] - from[k]) / to[k];
      enter = fmax (enter, fmin (a, b));
      leave = fmin (leave, fmax (a, b));
    }
    const double t = i == 0 ? leave : enter;
    if (i == 0 || (enter < leave && enter > 0))
      nearest = fmin (nearest, t);
  }
  return nearest;
}

static NdtBackend *
open_backend (NdtVoxelMap *map, double resolution, double shift, NdtPose *truth)
{
  const NdtBackendConfig config = {-1, 1, 0};
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  static float xyz[3 * N_ROUND * N_RINGS];
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  const double from[3] = {4.4, -2.2, 1.7};
  for (guint i = 0; i < N_ROUND; i++)
    for (guint k = 0; k < N_RINGS; k++) {
      const double azimuth = (i + 0.37) * 2 * G_PI / N_ROUND, up = -0.42 + 0.0261 * k;
      const double to[3] = {cos (up) * cos (azimuth), cos (up) * sin (azimuth), sin (up)};
      const double t = cast (from, to) + NOISE * g_rand_double_range (rand, -1.7, 1.7);
      for (guint axis = 0; axis < 3; axis++)
        xyz[3 * (i * N_RINGS + k) + axis] = (float)(t * to[axis]);
    }
  *truth = (NdtPose){{from[0] + shift, from[1] + shift, from[2] + shift}, {0, 0, 0, 1}};
  filter.leaf_size = (float)(0.5 * resolution);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, N_ROUND * N_RINGS);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  g_assert_true (ndt_backend_set_scan (backend, 0, &view, &filter, NULL));
  return backend;
}

/* Fit at a pose; @fine: what it would be by the finest level. */
static double
fit_at (NdtBackend *backend, const NdtPose *pose, NdtRegistration *r, double *fine)
{
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  NdtFitModel model = {0};
  NdtSums sums;
  guint n;
  double share, density;
  memset (r, 0, sizeof (*r));
  g_assert_true (
      ndt_backend_evaluate (backend, 0, &params, 0, NDT_KIND_SCORE, pose, 1, &sums, NULL));
  g_assert_true (ndt_backend_get_scan (backend, 0, NULL, 0, &n, NULL));
  r->pose = *pose;
  r->n_points = n;
  r->n_pairs = sums.n_pairs;
  r->nvtl = sums.nvtl / (double)sums.n_matched;
  r->matched_ratio = (double)sums.n_matched / n;
  r->max_nvtl = -ndt_gauss (params.outlier_ratio, ndt_backend_get_resolution (backend)).d1;
  ndt_backend_get_map_density (backend, &share, &density);
  *fine = r->nvtl * r->matched_ratio /
          (r->max_nvtl * ndt_fit_expected (params.outlier_ratio,
                             ndt_backend_get_resolution (backend), share, density));
  g_assert_true (ndt_fit_measure (backend, 0, &params, r, NULL));
  ndt_fit_model_set (&model, backend, params.outlier_ratio);
  return ndt_fit_of (&model, r);
}

/* Where surfaces lie in the cells is of no influence on the fit in place, although a scan's share
 * of points in voxels of the finest level is; elsewhere it is below the bound of a start. */
static void
test_sparse (void)
{
  double least = INFINITY, most = 0;
  for (guint i = 0; i < 4; i++) {
    const double shift = 0.137 * i;
    double resolution, share, density, fine;
    NdtPose truth;
    NdtRegistration r;
    g_autoptr (NdtVoxelMap) map = make_map (0.5, 3, shift);
    NdtBackend *backend = open_backend (map, 0.5, shift, &truth);
    g_assert_cmpuint (ndt_backend_get_fit_level (backend, &resolution, &share, &density), ==, 1);
    g_assert_cmpfloat (resolution, ==, 1);
    g_assert_cmpfloat (share, >=, NDT_LEAST_SHARE);
    const double fit = fit_at (backend, &truth, &r, &fine);
    least = MIN (least, fine);
    most = MAX (most, fine);
    g_test_message ("moved by %.3f: fit %.3f, by the finest level %.3f", shift, fit, fine);
    g_assert_cmpfloat (fit, >, 1.0);
    g_assert_cmpfloat (fit, <, 1.4);
    g_assert_cmpfloat (r.passes, ==, 1);
    g_assert_cmpfloat (r.fit_matched_ratio, >, r.matched_ratio);
    /* Across the racks and along them. */
    for (guint axis = 0; axis < 2; axis++) {
      NdtPose wrong = truth;
      wrong.position[axis] += 1.5;
      g_assert_cmpfloat (fit_at (backend, &wrong, &r, &fine), <, 0.75 * fit);
    }
    ndt_backend_close (backend);
  }
  g_assert_cmpfloat (least, <, 0.5);
  g_assert_cmpfloat (most, >, 1.2);
}

/* Share of the points of the scan in slot 0 that lie beside the map. */
static double
get_off_map (NdtBackend *backend, const NdtVoxelMap *map, const NdtPose *pose)
{
  guint n;
  g_assert_true (ndt_backend_get_scan (backend, 0, NULL, 0, &n, NULL));
  g_autofree float *xyz = g_new (float, 3 * n);
  g_assert_true (ndt_backend_get_scan (backend, 0, xyz, n, &n, NULL));
  return ndt_residual_off_map (map, xyz, n, pose);
}

/* What lies beside the map is told by the same level: in place next to nothing, wherever surfaces
 * lie in the cells, and elsewhere much. */
static void
test_beside (void)
{
  for (guint i = 0; i < 4; i++) {
    const double shift = 0.137 * i;
    NdtPose truth;
    NdtMapRays rays;
    g_autoptr (NdtVoxelMap) map = make_map (0.5, 3, shift);
    NdtBackend *backend = open_backend (map, 0.5, shift, &truth);
    g_autofree float *xyz = g_new (float, 3 * N_ROUND * N_RINGS);
    guint n;
    g_assert_true (ndt_backend_get_scan (backend, 0, xyz, N_ROUND * N_RINGS, &n, NULL));
    const NdtCloudView points = ndt_cloud_view_xyz_f32 (xyz, n);
    NdtPose wrong = truth;
    wrong.position[1] += 1.5;
    ndt_map_rays (map, &points, &truth, 0, 0, &rays);
    const double off = get_off_map (backend, map, &truth);
    const double elsewhere = get_off_map (backend, map, &wrong);
    g_test_message ("moved by %.3f: %u of %u rays, %.3f and elsewhere %.3f off the map", shift,
        rays.n_unexplained, rays.n, off, elsewhere);
    g_assert_cmpuint (rays.n, ==, NDT_MAP_RAYS);
    g_assert_cmpuint (rays.n_unexplained, <, rays.n / 10);
    /* CLOSING_OFF_MAP, with which it is compared. */
    g_assert_cmpfloat (off, <, 0.02);
    g_assert_cmpfloat (elsewhere, >, 0.02);
    ndt_backend_close (backend);
  }
}

/* Of a map that is dense for its cells, or has no coarser level, nothing else is evaluated. */
static void
test_finest (void)
{
  static const struct {
    double resolution;
    guint n_levels;
  } cases[] = {{1, 3}, {2, 1}, {0.5, 1}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    double resolution, share, density, fine;
    NdtPose truth;
    NdtRegistration r;
    g_autoptr (NdtVoxelMap) map = make_map (cases[i].resolution, cases[i].n_levels, 0.1);
    NdtBackend *backend = open_backend (map, cases[i].resolution, 0.1, &truth);
    g_assert_cmpuint (ndt_backend_get_fit_level (backend, &resolution, &share, &density), ==, 0);
    g_assert_cmpfloat (resolution, ==, cases[i].resolution);
    const double fit = fit_at (backend, &truth, &r, &fine);
    g_assert_cmpfloat (fit, ==, fine);
    g_assert_cmpfloat (r.passes, ==, 0);
    g_assert_cmpfloat (r.fit_nvtl, ==, r.nvtl);
    g_assert_cmpfloat (r.fit_max_nvtl, ==, r.max_nvtl);
    g_assert_cmpfloat (r.fit_matched_ratio, ==, r.matched_ratio);
    ndt_backend_close (backend);
  }
}

/* What is not aligned is not evaluated; without a map nothing is expected. */
static void
test_none (void)
{
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  const NdtBackendConfig config = {-1, 1, 0};
  NdtRegistration r = {.n_points = 10};
  NdtFitModel model = {0};
  double resolution, share, density;
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_cmpuint (ndt_backend_get_fit_level (backend, &resolution, &share, &density), ==, 0);
  g_assert_true (ndt_fit_measure (backend, 0, &params, &r, NULL));
  ndt_fit_model_set (&model, backend, params.outlier_ratio);
  g_assert_cmpfloat (ndt_fit_of (&model, &r), ==, 0);
  g_autoptr (NdtVoxelMap) map = make_map (0.5, 3, 0);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  g_assert_true (ndt_fit_measure (backend, 0, &params, &r, NULL));
  g_assert_cmpfloat (r.passes, ==, 0);
  r.n_pairs = 1;
  /* No scan was set. */
  g_autoptr (GError) error = NULL;
  g_assert_false (ndt_fit_measure (backend, 0, &params, &r, &error));
  g_assert_nonnull (error);
  ndt_backend_close (backend);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fit/sparse", test_sparse);
  g_test_add_func ("/fit/beside", test_beside);
  g_test_add_func ("/fit/finest", test_finest);
  g_test_add_func ("/fit/none", test_none);
  return g_test_run ();
}
