/* SPDX-License-Identifier: MIT */
#include "ndtcore/map/ndt-rolling-map.h"
#include "voxel-map-fixture.h"

#define N 60000

/* A floor, a wall and a slope over 60 m, with a hash for noise. */
static double *
make_points (void)
{
  double *xyz = g_new (double, 3 * N);
  for (guint i = 0; i < N; i++) {
    guint32 h = i * 2654435761u;
    double u[3];
    for (guint k = 0; k < 3; k++) {
      h = (h ^ (h >> 15)) * 0x2c1b3c6du;
      h = (h ^ (h >> 12)) * 0x297a2d39u;
      h ^= h >> 15;
      u[k] = h / 4294967296.0;
    }
    xyz[3 * i] = 60 * u[0] - 30;
    xyz[3 * i + 1] = i % 3 == 1 ? 8 + 0.1 * u[1] : 30 * u[1] - 15;
    xyz[3 * i + 2] = i % 3 == 1 ? 5 * u[2] : 0.1 * u[2] + (i % 3 == 2 ? 0.2 * xyz[3 * i] : 0);
  }
  return xyz;
}

static NdtRollingMap *
make_map (const NdtVoxelMapParams *params, guint most)
{
  GError *error = NULL;
  NdtRollingMap *map = ndt_rolling_map_new (params, most, &error);
  g_assert_no_error (error);
  return map;
}

static void
add (NdtRollingMap *map, const double *xyz, gsize n)
{
  const NdtPose identity = NDT_POSE_IDENTITY;
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, n);
  GError *error = NULL;
  g_assert_true (ndt_rolling_map_add (map, &view, &identity, &error));
  g_assert_no_error (error);
}

static NdtVoxelMap *
make (NdtRollingMap *map, guint n_levels)
{
  GError *error = NULL;
  NdtVoxelMap *out = ndt_rolling_map_build (map, n_levels, &error);
  g_assert_no_error (error);
  return out;
}

/* Voxels are those of an ordinary map, but for cells whose points lie on a line. */
static void
test_voxels (void)
{
  const NdtVoxelMapParams params = make_params (1, 6, 3);
  g_autofree double *xyz = make_points ();
  g_autoptr (NdtVoxelMap) expected = build (&params, xyz, N);
  g_autoptr (NdtRollingMap) rolling = make_map (&params, G_MAXUINT32);
  add (rolling, xyz, N);
  g_autoptr (NdtVoxelMap) map = make (rolling, 1);
  const NdtVoxelLevel *a = ndt_voxel_map_get_level (expected, 0);
  const NdtVoxelLevel *b = ndt_voxel_map_get_level (map, 0);
  guint n_missing = 0;
  check_level (b);
  g_assert_cmpuint (ndt_voxel_map_get_n_levels (map), ==, 1);
  for (guint i = 0; i < a->n_voxels; i++) {
    const NdtVoxel *voxel = &a->voxels[i];
    const gint64 at = find_absolute (b, a->origin[0] + voxel->cell[0],
        a->origin[1] + voxel->cell[1], a->origin[2] + voxel->cell[2]);
    if (at < 0) {
      n_missing++;
      continue;
    }
    for (guint k = 0; k < 3; k++)
      g_assert_cmpfloat_with_epsilon (b->voxels[at].mean[k], voxel->mean[k], 1e-6);
    for (guint k = 0; k < 6; k++)
      g_assert_cmpfloat_with_epsilon (
          b->voxels[at].icov[k], voxel->icov[k], 1e-3 * (1 + ABS (voxel->icov[k])));
  }
  g_assert_cmpuint (a->n_voxels, ==, b->n_voxels + n_missing);
  /* Slivers of the slope at cells' edges. */
  g_assert_cmpuint (n_missing, <, a->n_voxels / 10);
}

/* With coarser levels it is the ordinary map of all cells. */
static void
test_levels (void)
{
  const NdtVoxelMapParams params = make_params (1, 6, 3);
  g_autofree double *xyz = make_points ();
  g_autoptr (NdtVoxelMap) expected = build (&params, xyz, N);
  g_autoptr (NdtRollingMap) rolling = make_map (&params, G_MAXUINT32);
  add (rolling, xyz, N);
  g_autoptr (NdtVoxelMap) map = make (rolling, 3);
  g_assert_cmpuint (ndt_voxel_map_get_n_levels (map), ==, 3);
  for (guint l = 0; l < 3; l++) {
    const NdtVoxelLevel *a = ndt_voxel_map_get_level (expected, l);
    const NdtVoxelLevel *b = ndt_voxel_map_get_level (map, l);
    check_level (b);
    g_assert_cmpuint (a->n_voxels, ==, b->n_voxels);
    g_assert_cmpint (memcmp (a->origin, b->origin, sizeof (a->origin)), ==, 0);
  }
}

/* A line of points is no voxel, a plane is. */
static void
test_lines (void)
{
  const NdtVoxelMapParams params = make_params (1, 6, 1);
  double xyz[3 * 20];
  for (guint i = 0; i < 20; i++) {
    xyz[3 * i] = 0.05 * i;
    xyz[3 * i + 1] = 0.5;
    xyz[3 * i + 2] = 0.5;
  }
  g_autoptr (NdtRollingMap) rolling = make_map (&params, 1000);
  g_autoptr (GError) error = NULL;
  add (rolling, xyz, 20);
  g_assert_null (ndt_rolling_map_build (rolling, 1, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP);
  for (guint i = 0; i < 20; i++)
    xyz[3 * i + 1] = 0.9;
  add (rolling, xyz, 20);
  g_autoptr (NdtVoxelMap) map = make (rolling, 1);
  g_assert_cmpuint (ndt_voxel_map_get_level (map, 0)->n_voxels, ==, 1);
}

/* What came lately counts where a cell is full. */
static void
test_limit (void)
{
  const NdtVoxelMapParams params = make_params (1, 6, 1);
  g_autoptr (NdtRollingMap) rolling = make_map (&params, 40);
  float means[2];
  for (guint pass = 0; pass < 2; pass++) {
    double xyz[3 * 400];
    for (guint i = 0; i < 400; i++) {
      xyz[3 * i] = 0.05 * (i % 20);
      xyz[3 * i + 1] = 0.05 * (i * 7 % 19);
      xyz[3 * i + 2] = pass ? 0.8 : 0.2;
    }
    add (rolling, xyz, 400);
    g_autoptr (NdtVoxelMap) map = make (rolling, 1);
    g_assert_cmpuint (ndt_voxel_map_get_level (map, 0)->n_voxels, ==, 1);
    means[pass] = ndt_voxel_map_get_level (map, 0)->voxels[0].mean[2];
  }
  g_assert_cmpfloat_with_epsilon (means[0], 0.2f, 1e-6f);
  g_assert_cmpfloat_with_epsilon (means[1], 0.8f, 1e-3f);
}

/* Trimmed it is what is near, and grows again; far beyond its first point as well. */
static void
test_trim (void)
{
  const NdtVoxelMapParams params = make_params (1, 6, 1);
  const double centre[3] = {20, 0, 0};
  g_autofree double *xyz = make_points ();
  g_autoptr (NdtRollingMap) rolling = make_map (&params, 1000);
  add (rolling, xyz, N);
  const guint before = ndt_rolling_map_get_n_cells (rolling);
  ndt_rolling_map_trim (rolling, centre, 12);
  const guint after = ndt_rolling_map_get_n_cells (rolling);
  g_assert_cmpuint (after, >, 0);
  g_assert_cmpuint (after, <, before / 2);
  g_autoptr (NdtVoxelMap) map = make (rolling, 1);
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  check_level (level);
  for (guint i = 0; i < level->n_voxels; i++)
    g_assert_cmpfloat (
        ABS ((double)(level->origin[0] + level->voxels[i].cell[0]) - centre[0]), <=, 12 + 4);
  for (guint i = 0; i < N; i++)
    xyz[3 * i] += 5000;
  add (rolling, xyz, N);
  ndt_rolling_map_trim (rolling, (const double[3]){5000, 0, 0}, 100);
  g_autoptr (NdtVoxelMap) moved = make (rolling, 1);
  check_level (ndt_voxel_map_get_level (moved, 0));
  g_assert_cmpuint (ndt_rolling_map_get_n_cells (rolling), >, before / 2);
}

static void
test_refused (void)
{
  NdtVoxelMapParams params = make_params (1, 6, 1);
  g_autoptr (GError) error = NULL;
  g_assert_null (ndt_rolling_map_new (&params, 11, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  params.resolution = 0;
  g_assert_null (ndt_rolling_map_new (&params, 100, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  /* Points that are none, or beyond reach, are left out. */
  const double xyz[9] = {0, 0, 0, NAN, 0, 0, 1e9, 0, 0};
  params.resolution = 1;
  g_autoptr (NdtRollingMap) rolling = make_map (&params, 100);
  add (rolling, xyz, 3);
  g_assert_cmpuint (ndt_rolling_map_get_n_cells (rolling), ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rolling-map/voxels", test_voxels);
  g_test_add_func ("/rolling-map/levels", test_levels);
  g_test_add_func ("/rolling-map/lines", test_lines);
  g_test_add_func ("/rolling-map/limit", test_limit);
  g_test_add_func ("/rolling-map/trim", test_trim);
  g_test_add_func ("/rolling-map/refused", test_refused);
  return g_test_run ();
}
