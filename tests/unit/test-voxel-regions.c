/* SPDX-License-Identifier: MIT */
/* Maps of regions that come and go, their levels, and parameters that are refused. */
#include "voxel-map-fixture.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "tests/ndt-scene.h"

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

/* @keep: one that keeps voxels from build to build, which does not change a bit. */
static NdtVoxelMapBuilder *
new_builder (const NdtVoxelMapParams *params, gconstpointer keep)
{
  NdtVoxelMapBuilder *builder = ndt_voxel_map_builder_new (params, NULL);
  if (GPOINTER_TO_INT (keep))
    ndt_voxel_map_builder_keep_voxels (builder);
  return builder;
}

static void
test_regions (gconstpointer keep)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (6);
  NdtVoxelMapParams params = make_params (1, 6, 3);
  const guint n = 14000;
  g_autofree double *xyz = ndt_test_scene_cloud (NDT_TEST_YARD, n, 7);
  g_autoptr (NdtVoxelMapBuilder) builder = new_builder (&params, keep);
  guint present[N_REGIONS] = {0}; /* how often its points were added */
  guint built = 0;
  for (guint step = 0; step < 150; step++) {
    const guint region = (guint)g_rand_int_range (rand, 0, N_REGIONS);
    if (present[region] > 0 && step % 4 == 0) {
      add_region (builder, xyz, n, region);
      present[region]++;
    } else if (present[region]) {
      g_assert_true (ndt_voxel_map_builder_remove (builder, 1000 - region));
      present[region] = 0;
    } else {
      g_assert_false (ndt_voxel_map_builder_remove (builder, 1000 - region));
      add_region (builder, xyz, n, region);
      present[region] = 1;
    }
    if (step % 5 && step % 3)
      continue;
    g_autoptr (NdtVoxelMapBuilder) fresh = ndt_voxel_map_builder_new (&params, NULL);
    guint n_present = 0;
    for (guint r = 0; r < N_REGIONS; r++)
      if (present[r]) {
        for (guint k = 0; k < present[r]; k++)
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
test_regions_far_apart (gconstpointer keep)
{
  NdtVoxelMapParams params = make_params (1, 6, 1);
  g_autoptr (NdtVoxelMapBuilder) builder = new_builder (&params, keep);
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
test_extent (gconstpointer keep)
{
  NdtVoxelMapParams params = make_params (1, 6, 3);
  for (guint axis = 0; axis < 3; axis++) {
    /* Where the first point lies decides how blocks align. */
    for (gint first = -17; first < 17; first += 3) {
      double xyz[18], moved[18];
      g_autoptr (NdtVoxelMapBuilder) builder = new_builder (&params, keep);
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
  g_test_add_data_func ("/voxel-regions/regions", GINT_TO_POINTER (FALSE), test_regions);
  g_test_add_data_func ("/voxel-regions/regions-kept", GINT_TO_POINTER (TRUE), test_regions);
  g_test_add_data_func (
      "/voxel-regions/regions-far-apart", GINT_TO_POINTER (FALSE), test_regions_far_apart);
  g_test_add_data_func (
      "/voxel-regions/regions-far-apart-kept", GINT_TO_POINTER (TRUE), test_regions_far_apart);
  g_test_add_data_func ("/voxel-regions/extent", GINT_TO_POINTER (FALSE), test_extent);
  g_test_add_data_func ("/voxel-regions/extent-kept", GINT_TO_POINTER (TRUE), test_extent);
  g_test_add_func ("/voxel-regions/levels", test_levels);
  g_test_add_func ("/voxel-regions/bounds-and-find", test_bounds_and_find);
  g_test_add_func ("/voxel-regions/bad-params", test_bad_params);
  g_test_add_func ("/voxel-regions/bytes", test_bytes);
  return g_test_run ();
}
