/* SPDX-License-Identifier: MIT */
/* The voxels of a map. */
#include "voxel-map-fixture.h"
#include "tests/ndt-scene.h"

/* ---- One voxel ---- */

/* Of the packed symmetric matrices. */
static const guint diagonal[] = {0, 3, 5}, rest[] = {1, 2, 4};

static void
test_six_points (void)
{
  static const double variance[] = {0.1, 0.2, 0.0625}; /* 2 · (0.25, 0.5, 0.15625) / 5 */
  NdtVoxelMapParams params = make_params (2, 6, 1);
  double xyz[18];
  octahedron (0.5, sqrt (0.5), sqrt (0.15625), xyz);
  g_autoptr (NdtVoxelMap) map = build (&params, xyz, 6);
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  g_assert_cmpuint (level->n_voxels, ==, 1);
  check_level (level);
  const NdtVoxelDetail *detail = level->details;
  const gint64 found = find_absolute (level, 0, 0, 0);
  g_assert_cmpint (found, ==, 0);
  g_assert_cmpuint (detail->n_points, ==, 6);
  for (guint k = 0; k < 3; k++) {
    g_assert_cmpfloat_with_epsilon (detail->mean[k], 1, 1e-15);
    g_assert_cmpfloat_with_epsilon (detail->cov[diagonal[k]], variance[k], 1e-15);
    g_assert_cmpfloat_with_epsilon (detail->cov[rest[k]], 0, 1e-15);
    g_assert_cmpfloat_with_epsilon (detail->icov[diagonal[k]], 1 / variance[k], 1e-13);
    g_assert_cmpfloat (level->voxels[0].mean[k], ==, (float)detail->mean[k]);
    g_assert_cmpfloat (level->voxels[0].icov[diagonal[k]], ==, (float)detail->icov[diagonal[k]]);
  }

  /* One point less is no voxel. */
  const NdtCloudView five = ndt_cloud_view_xyz_f64 (xyz, 5);
  g_autoptr (GError) error = NULL;
  g_assert_null (ndt_voxel_map_new (&params, &five, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP);
}

/* The three estimates by their formulas as ndt-voxel-map.h states them, from the raw sums. */
static void
test_estimates (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  for (guint run = 0; run < 60; run++) {
    const guint n = 6 + (guint)g_rand_int_range (rand, 0, 40);
    const NdtCovarianceEstimate estimate = (NdtCovarianceEstimate)(run % 3);
    NdtVoxelMapParams params = make_params (1, 6, 1);
    g_autofree double *xyz = g_new (double, 3 * n);
    double mu[3] = {0}, xx[9] = {0}, expected[9];
    params.covariance = estimate;
    params.eigenvalue_ratio = 1e-6;
    for (guint i = 0; i < 3 * n; i++) {
      xyz[i] = g_rand_double_range (rand, 0, 1);
      mu[i % 3] += xyz[i] / n;
    }
    for (guint i = 0; i < n; i++)
      for (guint k = 0; k < 9; k++)
        xx[k] += xyz[3 * i + k / 3] * xyz[3 * i + k % 3];
    for (guint k = 0; k < 9; k++) {
      const double identity = k % 4 == 0, mm = mu[k / 3] * mu[k % 3];
      if (estimate == NDT_COVARIANCE_UNBIASED)
        expected[k] = (xx[k] - n * mm) / (n - 1);
      else if (estimate == NDT_COVARIANCE_AUTOWARE)
        expected[k] = (xx[k] - n * mm + identity) / (n - 1);
      else
        expected[k] = ((identity + xx[k] - 2 * n * mm) / n + mm) * (n - 1) / n;
    }
    g_autoptr (NdtVoxelMap) map = build (&params, xyz, n);
    const NdtVoxelDetail *detail = ndt_voxel_map_get_level (map, 0)->details;
    static const guint packed[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    for (guint i = 0; i < 3; i++)
      for (guint j = 0; j < 3; j++) {
        double product = 0;
        for (guint k = 0; k < 3; k++)
          product += detail->cov[packed[3 * i + k]] * detail->icov[packed[3 * k + j]];
        g_assert_cmpfloat_with_epsilon (detail->cov[packed[3 * i + j]], expected[3 * i + j], 1e-13);
        g_assert_cmpfloat_with_epsilon (product, i == j, 1e-10);
      }
  }
}

/* Small eigenvalues are lifted to 0.01 of the largest, in place. */
static void
test_lifted (void)
{
  NdtVoxelMapParams params = make_params (2, 6, 1);
  double xyz[18];
  octahedron (0.5, 0, 0.02, xyz);
  g_autoptr (NdtVoxelMap) map = build (&params, xyz, 6);
  const NdtVoxelDetail *detail = ndt_voxel_map_get_level (map, 0)->details;
  g_assert_cmpfloat_with_epsilon (detail->cov[0], 0.1, 1e-15);
  g_assert_cmpfloat_with_epsilon (detail->cov[3], 0.001, 1e-15);
  g_assert_cmpfloat_with_epsilon (detail->cov[5], 0.001, 1e-15);
  params.eigenvalue_ratio = 1;
  g_autoptr (NdtVoxelMap) balls = build (&params, xyz, 6);
  detail = ndt_voxel_map_get_level (balls, 0)->details;
  for (guint k = 0; k < 3; k++)
    g_assert_cmpfloat_with_epsilon (detail->cov[diagonal[k]], 0.1, 1e-15);
}

/* ---- Which cells there are ---- */

/* The surface of a cube of 10 m with a point every 0.1 m, exactly coplanar, in cells of 0.4 m.
 * Counted in integers: 26 cells an edge, of which the last holds the two planes and lines at
 * 10.0 m alone. 3,752 cells are occupied; 3,676 have six points. Lines of points are voxels. */
static void
test_cube (void)
{
  GArray *points = g_array_new (FALSE, FALSE, 3 * sizeof (double));
  guint32 count[26][26][26] = {{{0}}};
  guint occupied = 0, valid = 0;
  for (gint x = 0; x <= 100; x++)
    for (gint y = 0; y <= 100; y++)
      for (gint z = 0; z <= 100; z++) {
        if (x % 100 && y % 100 && z % 100)
          continue;
        /* In the middle of the tenth, so that no point lies on a border where x / 0.4 rounds. */
        const double p[3] = {x * 0.1 + 0.05, y * 0.1 + 0.05, z * 0.1 + 0.05};
        g_array_append_val (points, p);
        count[x / 4][y / 4][z / 4]++;
      }
  for (guint i = 0; i < 26 * 26 * 26; i++) {
    const guint32 c = count[i / 676][i / 26 % 26][i % 26];
    occupied += c > 0;
    valid += c >= 6;
  }
  g_assert_cmpuint (occupied, ==, 3752);
  g_assert_cmpuint (valid, ==, 3676);

  NdtVoxelMapParams params = make_params (0.4, 6, 3);
  g_autoptr (NdtVoxelMap) map = build (&params, (const double *)points->data, points->len);
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  g_assert_cmpuint (level->n_voxels, ==, 3676);
  for (guint l = 0; l < 3; l++)
    check_level (ndt_voxel_map_get_level (map, l));
  for (gint i = 0; i < 26 * 26 * 26; i++) {
    const guint32 c = count[i / 676][i / 26 % 26][i % 26];
    const gint64 found = find_absolute (level, i / 676, i / 26 % 26, i % 26);
    g_assert_true ((c >= 6) == (found >= 0));
    if (found >= 0)
      g_assert_cmpuint (level->details[found].n_points, ==, c);
  }

  /* With three points lines of four at the edges count as well; what is left out are cells of one
   * point. */
  params.min_points = 3;
  g_autoptr (NdtVoxelMap) lines = build (&params, (const double *)points->data, points->len);
  valid = 0;
  for (guint i = 0; i < 26 * 26 * 26; i++)
    valid += count[i / 676][i / 26 % 26][i % 26] >= 3;
  g_assert_cmpuint (ndt_voxel_map_get_level (lines, 0)->n_voxels, ==, valid);
  for (guint32 i = 0; i < valid; i++)
    for (guint k = 0; k < 6; k++)
      g_assert_true (isfinite (ndt_voxel_map_get_level (lines, 0)->voxels[i].icov[k]));
  g_array_unref (points);
}

/* Six equal points, however often, have no extent: no voxel. A line has. */
static void
test_degenerate (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  NdtVoxelMapParams params = make_params (1, 6, 1);
  for (guint run = 0; run < 200; run++) {
    double xyz[30], at[3], direction[3];
    for (guint k = 0; k < 3; k++) {
      at[k] = g_rand_int_range (rand, -4000000, 4000000) + g_rand_double_range (rand, 0.3, 0.7);
      direction[k] = ndt_test_normal (rand) * 0.01;
    }
    for (guint i = 0; i < 30; i++)
      xyz[i] = at[i % 3];
    const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, 10);
    g_autoptr (GError) error = NULL;
    g_assert_null (ndt_voxel_map_new (&params, &view, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP);
    for (guint i = 0; i < 30; i++)
      xyz[i] += (i / 3) * direction[i % 3];
    g_autoptr (NdtVoxelMap) line = build (&params, xyz, 10);
    const NdtVoxelDetail *d = ndt_voxel_map_get_level (line, 0)->details;
    const double trace = d->cov[0] + d->cov[3] + d->cov[5];
    double expected = 0;
    /* Variance of 0 … 9 is 55/6; two more eigenvalues of 1 %. */
    for (guint k = 0; k < 3; k++)
      expected += 1.02 * direction[k] * direction[k] * 55 / 6;
    g_assert_cmpfloat_with_epsilon (trace, expected, 1e-6 * expected + 1e-9);
  }
}

/* Floor, not truncation; a border belongs to the cell that it begins. */
static void
test_borders (void)
{
  NdtVoxelMapParams params = make_params (0.5, 3, 1);
  /* Per axis a coordinate and its cell of 0.5 m. */
  static const struct {
    double p;
    gint64 cell;
  } cases[] = {{-0.1, -1}, {0, 0}, {-0.0, 0}, {0.5, 1}, {-0.5, -1}, {-0.5000001, -2},
      {0.4999999, 0}, {-1e-12, -1}, {1e6, 2000000}, {-1e6, -2000000}, {123456.75, 246913}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint axis = 0; axis < 3; axis++) {
      double xyz[9] = {0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.3, 0.1, 0.2};
      for (guint j = 0; j < 3; j++)
        xyz[3 * j + axis] = cases[i].p;
      g_autoptr (NdtVoxelMap) map = build (&params, xyz, 3);
      const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
      gint64 cell[3] = {0, 0, 0};
      cell[axis] = cases[i].cell;
      g_assert_cmpuint (level->n_voxels, ==, 1);
      g_assert_cmpint (find_absolute (level, cell[0], cell[1], cell[2]), ==, 0);
      g_assert_cmpfloat_with_epsilon (
          level->details[0].mean[axis] + 0.5 * (double)cell[axis], cases[i].p, 1e-9);
    }
}

/* A pose while adding is the same as points moved before; non-finite points are dropped. */
static void
test_pose_and_nan (void)
{
  NdtVoxelMapParams params = make_params (2, 6, 2);
  const NdtPose pose = {{388096.5, 3948996.25, -7}, {0.1, -0.1, 0.7, 0.7}};
  NdtPose unit = pose;
  const guint n = 3000;
  g_autofree double *xyz = ndt_test_scene_cloud (NDT_TEST_YARD, n, 3);
  g_autofree double *moved = g_new (double, 3 * n);
  g_autofree double *dirty = g_new (double, 6 * n);
  ndt_pose_normalize (&unit);
  for (guint i = 0; i < n; i++) {
    ndt_pose_transform_point (&unit, xyz + 3 * i, moved + 3 * i);
    memcpy (dirty + 6 * i, xyz + 3 * i, 3 * sizeof (double));
    dirty[6 * i + 3] = dirty[6 * i + 4] = dirty[6 * i + 5] = 1;
    dirty[6 * i + 3 + i % 3] = i % 2 ? NAN : i % 4 ? INFINITY : -INFINITY;
  }
  g_autoptr (NdtVoxelMap) expected = build (&params, moved, n);
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&params, NULL);
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (dirty, 2 * n);
  g_assert_true (ndt_voxel_map_builder_add (builder, 5, &view, &unit, NULL));
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_builder_build (builder, NULL);
  g_assert_cmpuint (ndt_voxel_map_get_n_points (map), ==, n);
  ndt_test_assert_maps_equal (map, expected);
}

/* Any layout of the same coordinates gives the same map. */
static void
test_layouts (void)
{
  NdtVoxelMapParams params = make_params (1, 6, 3);
  const guint n = 5000;
  g_autofree double *xyz = ndt_test_scene_cloud (NDT_TEST_YARD, n, 4);
  g_autofree float *f32 = g_new (float, 3 * n);
  for (guint i = 0; i < 3 * n; i++)
    xyz[i] = f32[i] = (float)xyz[i];
  g_autoptr (NdtVoxelMap) expected = build (&params, xyz, n);
  for (guint run = 0; run < 6; run++) {
    const gboolean is_f64 = run % 2;
    const gsize size = is_f64 ? 8 : 4;
    /* Packed, odd offsets in an odd stride, and one array an axis. */
    const gsize stride = run < 2 ? 3 * size : run < 4 ? 41 : size;
    const gsize offset[3] = {run < 2   ? 0
                             : run < 4 ? 17
                                       : 1,
        run < 2   ? size
        : run < 4 ? 1
                  : 1 + n * size,
        run < 2   ? 2 * size
        : run < 4 ? 31
                  : 1 + 2 * n * size};
    g_autofree guint8 *data = g_malloc (MAX (stride * n, 3 * size * n) + 64);
    for (guint i = 0; i < n; i++)
      for (guint k = 0; k < 3; k++)
        memcpy (data + i * stride + offset[k],
            is_f64 ? (const guint8 *)&xyz[3 * i + k] : (const guint8 *)&f32[3 * i + k], size);
    const NdtCloudView view = ndt_cloud_view (
        data, n, stride, offset[0], offset[1], offset[2], is_f64 ? NDT_SCALAR_F64 : NDT_SCALAR_F32);
    g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&params, &view, NULL);
    ndt_test_assert_maps_equal (map, expected);
  }
}

/* A scene moved by multiples of the coarsest cell has the same voxels, up to what its coordinates
 * lose there: half a unit in the last place of 4e6 is 2.3e-10 m. */
static void
test_utm (void)
{
  static const double shifts[][3] = {{388096, 3948996, 0}, {89572, 42302, -80}, {-500000, 8, 8848}};
  NdtVoxelMapParams params = make_params (2, 6, 3);
  const guint n = 20000;
  g_autofree double *xyz = ndt_test_scene_cloud (NDT_TEST_YARD, n, 5);
  g_autofree double *moved = g_new (double, 3 * n);
  g_autoptr (NdtVoxelMap) map = build (&params, xyz, n);
  for (guint s = 0; s < G_N_ELEMENTS (shifts); s++) {
    for (guint i = 0; i < 3 * n; i++)
      moved[i] = xyz[i] + shifts[s][i % 3];
    g_autoptr (NdtVoxelMap) other = build (&params, moved, n);
    for (guint l = 0; l < 3; l++) {
      const NdtVoxelLevel *a = ndt_voxel_map_get_level (map, l);
      const NdtVoxelLevel *b = ndt_voxel_map_get_level (other, l);
      /* Multiples of 2 m all, of 8 m some. */
      if (fmod (shifts[s][0], a->resolution) != 0 || fmod (shifts[s][1], a->resolution) != 0)
        continue;
      check_level (b);
      g_assert_cmpuint (a->n_voxels, ==, b->n_voxels);
      for (guint32 i = 0; i < a->n_voxels; i++) {
        gint64 cell[3];
        for (guint k = 0; k < 3; k++)
          cell[k] = a->voxels[i].cell[k] + a->origin[k] + (gint64)(shifts[s][k] / a->resolution);
        const gint64 j = find_absolute (b, cell[0], cell[1], cell[2]);
        g_assert_cmpint (j, >=, 0);
        for (guint k = 0; k < 3; k++)
          g_assert_cmpfloat_with_epsilon (a->voxels[i].mean[k], b->voxels[j].mean[k], 5e-7);
        if (l == 0)
          for (guint k = 0; k < 6; k++) {
            g_assert_cmpfloat_with_epsilon (
                a->details[i].mean[k % 3], b->details[j].mean[k % 3], 1e-9);
            g_assert_cmpfloat_with_epsilon (a->details[i].cov[k], b->details[j].cov[k], 1e-9);
          }
      }
    }
  }
}

/* ---- Shared maps ---- */

static NdtVoxelMap *
make_shared (double resolution, double shift)
{
  NdtVoxelMapParams params = make_params (resolution, 6, 2);
  double xyz[18];
  octahedron (0.5, sqrt (0.5), sqrt (0.15625), xyz);
  xyz[2] += shift;
  params.keep_details = FALSE;
  return ndt_voxel_map_share (build (&params, xyz, 6));
}

/* Maps of the same bits are one; those that differ in a point, or in the parameters, are not. Once
 * all have gone another one is. */
static void
test_shared (void)
{
  for (guint run = 0; run < 2; run++) {
    g_autoptr (NdtVoxelMap) a = make_shared (2, 0);
    g_autoptr (NdtVoxelMap) b = make_shared (2, 0);
    g_autoptr (NdtVoxelMap) c = make_shared (2, 0.01);
    g_autoptr (NdtVoxelMap) d = make_shared (2.5, 0);
    g_assert_true (a == b);
    g_assert_true (a != c && a != d && c != d);
    g_clear_pointer (&a, ndt_voxel_map_unref);
    a = make_shared (2, 0);
    g_assert_true (a == b);
    /* One with another number of points outside of voxels is another map. */
    NdtVoxelMapParams params = make_params (2, 6, 2);
    double xyz[21];
    octahedron (0.5, sqrt (0.5), sqrt (0.15625), xyz);
    memcpy (xyz + 18, (const double[]){1, 1, 5}, 3 * sizeof (double));
    params.keep_details = FALSE;
    g_autoptr (NdtVoxelMap) other = ndt_voxel_map_share (build (&params, xyz, 7));
    g_assert_cmpuint (
        ndt_voxel_map_get_level (other, 0)->n_voxels, ==, ndt_voxel_map_get_level (b, 0)->n_voxels);
    g_assert_true (other != b);
  }
}

static float
get_height (const NdtVoxelMap *map)
{
  return ndt_voxel_map_get_level (map, 0)->voxels->mean[2];
}

/* @data: heights of the voxel of the one map and of the other. */
static gpointer
share_often (gpointer data)
{
  const float *heights = data;
  for (guint i = 0; i < 2000; i++) {
    const gboolean is_lifted = i % 3 == 0;
    g_autoptr (NdtVoxelMap) map = make_shared (2, is_lifted ? 0.01 : 0);
    g_assert_cmpfloat (get_height (map), ==, heights[is_lifted]);
  }
  return NULL;
}

/* Threads that share maps while others free the last reference. */
static void
test_share_threads (void)
{
  GThread *threads[4];
  float heights[2];
  for (guint k = 0; k < 2; k++) {
    g_autoptr (NdtVoxelMap) map = make_shared (2, 0.01 * k);
    heights[k] = get_height (map);
  }
  g_assert_cmpfloat (heights[0], <, heights[1]);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("share", share_often, heights);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/voxel-map/six-points", test_six_points);
  g_test_add_func ("/voxel-map/estimates", test_estimates);
  g_test_add_func ("/voxel-map/lifted", test_lifted);
  g_test_add_func ("/voxel-map/cube", test_cube);
  g_test_add_func ("/voxel-map/degenerate", test_degenerate);
  g_test_add_func ("/voxel-map/borders", test_borders);
  g_test_add_func ("/voxel-map/pose-and-nan", test_pose_and_nan);
  g_test_add_func ("/voxel-map/layouts", test_layouts);
  g_test_add_func ("/voxel-map/utm", test_utm);
  g_test_add_func ("/voxel-map/shared", test_shared);
  g_test_add_func ("/voxel-map/share-threads", test_share_threads);
  return g_test_run ();
}
