/* SPDX-License-Identifier: MIT */
#include "ndtcore/map/ndt-voxel-map.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/io/ndt-map-file.h"
#include "tests/ndt-scene.h"
#include "tests/ndt-test.h"

static NdtVoxelMapParams
make_params (double resolution, guint min_points, guint n_levels)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  params.resolution = resolution;
  params.min_points = min_points;
  params.n_levels = n_levels;
  params.keep_details = TRUE;
  return params;
}

static NdtVoxelMap *
build (const NdtVoxelMapParams *params, const double *xyz, gsize n)
{
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, n);
  GError *error = NULL;
  NdtVoxelMap *map = ndt_voxel_map_new (params, &view, &error);
  g_assert_no_error (error);
  return map;
}

/* Index of the voxel whose cell holds absolute cell (x, y, z), or −1. */
static gint64
find_absolute (const NdtVoxelLevel *level, gint64 x, gint64 y, gint64 z)
{
  return ndt_voxel_level_find (level, (gint32)(x - level->origin[0]),
      (gint32)(y - level->origin[1]), (gint32)(z - level->origin[2]));
}

/* The structure that alignment relies on. */
static void
check_level (const NdtVoxelLevel *level)
{
  guint64 n_in_blocks = 0;
  guint32 n_blocks = 0;
  gint32 least[3] = {G_MAXINT32, G_MAXINT32, G_MAXINT32};
  gint32 largest[3] = {G_MININT32, G_MININT32, G_MININT32};
  const gsize size = (gsize)1 << (64 - level->block_shift);
  for (gsize i = 0; i < size; i++) {
    if (level->blocks[i].key == NDT_BLOCK_EMPTY)
      continue;
    n_blocks++;
    n_in_blocks += (guint)__builtin_popcountll (level->blocks[i].mask);
  }
  g_assert_cmpuint (n_in_blocks, ==, level->n_voxels);
  g_assert_cmpuint (n_blocks, ==, level->n_blocks_used);
  g_assert_cmpuint (n_blocks, <, size); /* or a search would not end */
  for (guint32 i = 0; i < level->n_voxels; i++) {
    const NdtVoxel *v = &level->voxels[i];
    g_assert_cmpint (ndt_voxel_level_find (level, v->cell[0], v->cell[1], v->cell[2]), ==, i);
    for (guint k = 0; k < 3; k++) {
      g_assert_cmpint (level->origin[k] % 4, ==, 0);
      /* A mean of points of a cell is in the cell, but for rounding to float. */
      g_assert_cmpfloat (v->mean[k], >=, -1e-6 * level->resolution);
      g_assert_cmpfloat (v->mean[k], <=, level->resolution * (1 + 1e-6));
      least[k] = MIN (least[k], v->cell[k]);
      largest[k] = MAX (largest[k], v->cell[k]);
    }
  }
  g_assert_true (memcmp (least, level->cell_min, sizeof least) == 0);
  g_assert_true (memcmp (largest, level->cell_max, sizeof largest) == 0);
}

/* ---- One voxel ---- */

/* Of the packed symmetric matrices. */
static const guint diagonal[] = {0, 3, 5}, rest[] = {1, 2, 4};

/* Corners of an octahedron with half axes a, b, c around (1, 1, 1): mean (1, 1, 1), covariance
 * diag (2a², 2b², 2c²) / 5. */
static void
octahedron (double a, double b, double c, double xyz[18])
{
  for (guint i = 0; i < 18; i++)
    xyz[i] = 1;
  xyz[0] += a;
  xyz[3] -= a;
  xyz[7] += b;
  xyz[10] -= b;
  xyz[14] += c;
  xyz[17] -= c;
}

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

/* ---- Regions ---- */

#define N_REGIONS 7

/* Overlapping pieces of the scene, in an order that is not that of space. */
static void
add_region (NdtVoxelMapBuilder *builder, const double *xyz, guint n, guint region)
{
  GError *error = NULL;
  /* Two calls that share cells. */
  const guint first = n / N_REGIONS * region, half = n / N_REGIONS / 2;
  const NdtCloudView a = ndt_cloud_view_xyz_f64 (xyz + 3 * first, half);
  const NdtCloudView b = ndt_cloud_view_xyz_f64 (xyz + 3 * (first + half), half);
  ndt_voxel_map_builder_add (builder, 1000 - region, &a, NULL, &error);
  g_assert_no_error (error);
  ndt_voxel_map_builder_add (builder, 1000 - region, &b, NULL, &error);
  g_assert_no_error (error);
}

static void
test_regions (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (6);
  NdtVoxelMapParams params = make_params (1, 6, 3);
  const guint n = 14000;
  g_autofree double *xyz = ndt_test_scene_cloud (NDT_TEST_YARD, n, 7);
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&params, NULL);
  gboolean present[N_REGIONS] = {FALSE};
  guint built = 0;
  for (guint step = 0; step < 150; step++) {
    const guint region = (guint)g_rand_int_range (rand, 0, N_REGIONS);
    if (present[region]) {
      g_assert_true (ndt_voxel_map_builder_remove (builder, 1000 - region));
    } else {
      g_assert_false (ndt_voxel_map_builder_remove (builder, 1000 - region));
      add_region (builder, xyz, n, region);
    }
    present[region] = !present[region];
    if (step % 5)
      continue;
    g_autoptr (NdtVoxelMapBuilder) fresh = ndt_voxel_map_builder_new (&params, NULL);
    guint n_present = 0;
    for (guint r = 0; r < N_REGIONS; r++)
      if (present[r]) {
        add_region (fresh, xyz, n, r);
        n_present++;
      }
    g_autoptr (GError) error = NULL;
    g_autoptr (NdtVoxelMap) map = ndt_voxel_map_builder_build (builder, &error);
    g_autoptr (NdtVoxelMap) expected = ndt_voxel_map_builder_build (fresh, NULL);
    if (n_present == 0) {
      g_assert_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP);
      continue;
    }
    ndt_test_assert_maps_equal (map, expected);
    built++;
  }
  g_assert_cmpuint (built, >, 20);
}

/* A builder that was emptied is as a new one: the next region may lie anywhere. */
static void
test_regions_far_apart (void)
{
  NdtVoxelMapParams params = make_params (1, 6, 1);
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&params, NULL);
  for (guint i = 0; i < 10; i++) {
    double xyz[18];
    GError *error = NULL;
    octahedron (0.1, 0.1, 0.1, xyz);
    for (guint k = 0; k < 6; k++)
      xyz[3 * k] += 0.25 + 900000.0 * i;
    for (guint k = 0; k < 18; k++)
      xyz[k] += 0.3;
    const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, 6);
    ndt_voxel_map_builder_add (builder, i, &view, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (NdtVoxelMap) map = ndt_voxel_map_builder_build (builder, &error);
    g_assert_no_error (error);
    g_assert_true (ndt_voxel_map_builder_remove (builder, i));
    g_assert_cmpint (find_absolute (ndt_voxel_map_get_level (map, 0), 1 + 900000 * i, 1, 1), ==, 0);
  }
}

/* The widest map that there may be, and one cell more. */
static void
test_extent (void)
{
  NdtVoxelMapParams params = make_params (1, 6, 3);
  for (guint axis = 0; axis < 3; axis++) {
    /* Where the first point lies decides how blocks align. */
    for (gint first = -17; first < 17; first += 3) {
      double xyz[18], moved[18];
      g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&params, NULL);
      const NdtCloudView view = ndt_cloud_view_xyz_f64 (moved, 6);
      const double ends[] = {0, -1048576, 1048559};
      octahedron (0.2, 0.2, 0.2, xyz);
      for (guint e = 0; e < 3; e++) {
        for (guint i = 0; i < 18; i++)
          moved[i] = xyz[i] - 0.5 + (i % 3 == axis ? first + ends[e] : 0);
        g_assert_true (ndt_voxel_map_builder_add (builder, e, &view, NULL, NULL));
      }
      g_autoptr (NdtVoxelMap) map = ndt_voxel_map_builder_build (builder, NULL);
      const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
      g_assert_cmpuint (level->n_voxels, ==, 3);
      for (guint l = 0; l < 3; l++)
        check_level (ndt_voxel_map_get_level (map, l));
      for (guint e = 0; e < 3; e++) {
        gint64 cell[3] = {0, 0, 0};
        cell[axis] = first + (gint64)ends[e];
        g_assert_cmpint (find_absolute (level, cell[0], cell[1], cell[2]), >=, 0);
      }
    }
  }
  const double too_far[] = {-1048577, 1048560, 1e15, -1e15, 1e300};
  for (guint e = 0; e < G_N_ELEMENTS (too_far); e++) {
    const double xyz[6] = {0.5, 0.5, 0.5, 0.5, too_far[e], 0.5};
    const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, 2);
    g_autoptr (GError) error = NULL;
    g_assert_null (ndt_voxel_map_new (&params, &view, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  }
  /* Cells that a double does not count. */
  const double xyz[6] = {1e300, 0.5, 0.5, 0.5, 0.5, 0.5};
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, 2);
  g_autoptr (GError) error = NULL;
  g_assert_null (ndt_voxel_map_new (&params, &view, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
}

/* ---- Coarser levels ---- */

static void
test_levels (void)
{
  const guint n = 30000;
  g_autofree double *xyz = ndt_test_scene_cloud (NDT_TEST_YARD, n, 8);
  for (guint i = 0; i < 3 * n; i++)
    xyz[i] += i % 3 == 0 ? -1234.5 : 77.25; /* negative cells as well */
  NdtVoxelMapParams params = make_params (0.7, 6, 3);
  g_autoptr (NdtVoxelMap) map = build (&params, xyz, n);
  for (guint l = 0; l < 3; l++) {
    NdtVoxelMapParams direct_params = make_params (0.7 * (1 << l), 6, 1);
    g_autoptr (NdtVoxelMap) direct = build (&direct_params, xyz, n);
    const NdtVoxelLevel *a = ndt_voxel_map_get_level (map, l);
    const NdtVoxelLevel *b = ndt_voxel_map_get_level (direct, 0);
    check_level (a);
    check_level (b);
    g_assert_cmpfloat (a->resolution, ==, b->resolution);
    g_assert_cmpuint (a->n_voxels, ==, b->n_voxels);
    for (guint32 i = 0; i < a->n_voxels; i++) {
      const NdtVoxel *v = &a->voxels[i];
      const gint64 j = find_absolute (
          b, v->cell[0] + a->origin[0], v->cell[1] + a->origin[1], v->cell[2] + a->origin[2]);
      g_assert_cmpint (j, >=, 0);
      /* Rounding of float, relative to the largest element (1e-16 of the sums is lost before). */
      double scale = 0;
      for (guint k = 0; k < 6; k++)
        scale = MAX (scale, fabs ((double)v->icov[k]));
      for (guint k = 0; k < 6; k++)
        g_assert_cmpfloat_with_epsilon (v->icov[k], b->voxels[j].icov[k], 1e-6 * scale);
      for (guint k = 0; k < 3; k++)
        g_assert_cmpfloat_with_epsilon (v->mean[k], b->voxels[j].mean[k], 1e-6);
    }
  }
  g_assert_null (ndt_voxel_map_get_level (map, 3));
}

/* ---- The rest of the contract ---- */

static void
test_bounds_and_find (void)
{
  NdtVoxelMapParams params = make_params (2, 6, 3);
  const guint n = 5000;
  g_autofree double *xyz = ndt_test_scene_cloud (NDT_TEST_YARD, n, 9);
  g_autoptr (NdtVoxelMap) map = build (&params, xyz, n);
  double min[3], max[3], least[3] = {1e9, 1e9, 1e9}, largest[3] = {-1e9, -1e9, -1e9};
  for (guint i = 0; i < 3 * n; i++) {
    least[i % 3] = MIN (least[i % 3], xyz[i]);
    largest[i % 3] = MAX (largest[i % 3], xyz[i]);
  }
  ndt_voxel_map_get_bounds (map, min, max);
  g_assert_true (memcmp (min, least, sizeof min) == 0 && memcmp (max, largest, sizeof max) == 0);
  g_assert_cmpuint (ndt_voxel_map_get_n_points (map), ==, n);
  g_assert_cmpuint (ndt_voxel_map_get_detail_bytes (map), ==,
      ndt_voxel_map_get_level (map, 0)->n_voxels * sizeof (NdtVoxelDetail));

  /* Absent cells: beside the map, and so far away that keys would wrap. */
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  const gint32 far[] = {-1, 1000, 1 << 23, -(1 << 23), G_MAXINT32, G_MININT32};
  for (guint i = 0; i < G_N_ELEMENTS (far); i++)
    for (guint k = 0; k < 3; k++) {
      gint32 c[3];
      memcpy (c, level->voxels[0].cell, sizeof c);
      c[k] = far[i];
      g_assert_cmpint (ndt_voxel_level_find (level, c[0], c[1], c[2]), ==, -1);
    }
}

static void
test_bad_params (void)
{
  const double xyz[3] = {0, 0, 0};
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, 1),
                     nothing = ndt_cloud_view_xyz_f64 (xyz, 0);
  for (guint i = 0; i < 12; i++) {
    NdtVoxelMapParams params = make_params (2, 6, 3);
    g_autoptr (GError) error = NULL;
    switch (i) {
    case 0:
      params.resolution = 0;
      break;
    case 1:
      params.resolution = NAN;
      break;
    case 2:
      params.resolution = -1;
      break;
    case 3:
      params.resolution = 1001;
      break;
    case 4:
      params.min_points = 2;
      break;
    case 5:
      params.eigenvalue_ratio = 0.9e-6;
      break;
    case 6:
      params.eigenvalue_ratio = 1.01;
      break;
    case 7:
      params.eigenvalue_ratio = NAN;
      break;
    case 8:
      params.n_levels = 0;
      break;
    case 9:
      params.n_levels = NDT_MAX_LEVELS + 1;
      break;
    case 10:
      params.covariance = (NdtCovarianceEstimate)3;
      break;
    case 11:
      params.resolution = 0.0099;
      break;
    }
    g_assert_null (ndt_voxel_map_new (&params, &view, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  }
  NdtVoxelMapParams params = make_params (2, 6, 3);
  g_autoptr (GError) error = NULL, other = NULL;
  g_assert_null (ndt_voxel_map_new (&params, &view, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP);
  g_assert_null (ndt_voxel_map_new (&params, &nothing, &other));
  g_assert_error (other, NDT_ERROR, NDT_ERROR_EMPTY_MAP);
}

/* On real maps: at most 192 bytes for alignment per valid voxel, all levels and look-up included.
 */
static void
test_bytes (void)
{
  static const struct {
    const gchar *name;
    double resolution;
  } maps[] = {{"seq_kitti_drive0005/map_even_0.25.pcd", 1},
      {"seq_kitti_drive0005/map_even_0.25.pcd", 2}, {"seq_kitti_drive0005/map_even_0.50.pcd", 2},
      {"seq_balm_os0/map_even_0.20.pcd", 1}, {"seq_balm_os0/map_even_0.20.pcd", 2}};
  for (guint i = 0; i < G_N_ELEMENTS (maps); i++) {
    g_autofree gchar *path = ndt_test_data (maps[i].name);
    if (!path) {
      g_test_skip ("recorded maps are missing: set NDT_TEST_DATA");
      return;
    }
    NdtVoxelMapParams params = make_params (maps[i].resolution, 6, 3);
    g_autoptr (NdtVoxelMap) map = ndt_map_load (path, &params, NULL);
    g_assert_nonnull (map);
    const double bytes =
        (double)ndt_voxel_map_get_bytes (map) / ndt_voxel_map_get_level (map, 0)->n_voxels;
    g_test_message ("%s at %g m: %.1f bytes per voxel", maps[i].name, maps[i].resolution, bytes);
    g_assert_cmpfloat (bytes, <=, 192);
    for (guint l = 0; l < 3; l++)
      check_level (ndt_voxel_map_get_level (map, l));
  }
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
  g_test_add_func ("/voxel-map/regions", test_regions);
  g_test_add_func ("/voxel-map/regions-far-apart", test_regions_far_apart);
  g_test_add_func ("/voxel-map/extent", test_extent);
  g_test_add_func ("/voxel-map/levels", test_levels);
  g_test_add_func ("/voxel-map/bounds-and-find", test_bounds_and_find);
  g_test_add_func ("/voxel-map/bad-params", test_bad_params);
  g_test_add_func ("/voxel-map/bytes", test_bytes);
  return g_test_run ();
}
