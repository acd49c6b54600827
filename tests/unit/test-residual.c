/* SPDX-License-Identifier: MIT */
/* Residuals of points against their formula in double, and points of a map for looking at. */
#include <glib/gstdio.h>

#include "ndtcore/mapfile/ndt-map-points.h"
#include "ndtcore/map/ndt-residual.h"
#include "voxel-map-fixture.h"

/* A floor of points at z = 0.3 + noise over 8 m × 8 m, far from the origin. */
#define CORNER 400000.0
#define N_FLOOR 40000

static double *
make_floor (void)
{
  double *xyz = g_new (double, 3 * N_FLOOR);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (guint i = 0; i < N_FLOOR; i++) {
    xyz[3 * i] = CORNER + g_rand_double_range (rand, 0, 8);
    xyz[3 * i + 1] = g_rand_double_range (rand, 0, 8);
    xyz[3 * i + 2] = 0.3 + g_rand_double_range (rand, -0.05, 0.05);
  }
  return xyz;
}

/* From the means and covariances that the map keeps in double. */
static double
expected (const NdtVoxelLevel *level, gint64 x, gint64 y, gint64 z, const double p[3])
{
  const gint64 index = find_absolute (level, x, y, z);
  const gint64 cell[] = {x, y, z};
  double q[3];

  if (index < 0)
    return INFINITY;
  const NdtVoxelDetail *detail = &level->details[index];
  for (guint i = 0; i < 3; i++)
    q[i] = p[i] - (double)cell[i] * level->resolution - detail->mean[i];
  const double *m = detail->icov;
  return sqrt (q[0] * (m[0] * q[0] + m[1] * q[1] + m[2] * q[2]) +
               q[1] * (m[1] * q[0] + m[3] * q[1] + m[4] * q[2]) +
               q[2] * (m[2] * q[0] + m[4] * q[1] + m[5] * q[2]));
}

static void
test_distance (void)
{
  const NdtVoxelMapParams params = make_params (2, 6, 1);
  g_autofree double *xyz = make_floor ();
  g_autoptr (NdtVoxelMap) map = build (&params, xyz, N_FLOOR);
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  const gint64 first = (gint64)(CORNER / 2);

  /* In the middle of a cell of the floor: it is the cell's own distribution. */
  for (double z = 0; z < 2; z += 0.1) {
    const double p[3] = {CORNER + 5, 3, z};
    const double distance = ndt_residual_of_point (level, p);
    /* Floats of a quarter of a million times their unit in the inverse, squared. */
    g_assert_cmpfloat_with_epsilon (
        distance, expected (level, first + 2, 1, 0, p), 1e-4 * (1 + distance));
  }
  /* Above the floor the cell is empty, and the one below it is the nearest. */
  const double above[3] = {CORNER + 5, 3, 2.2};
  const double distance = ndt_residual_of_point (level, above);
  g_assert_cmpfloat_with_epsilon (
      distance, expected (level, first + 2, 1, 0, above), 1e-4 * distance);
  g_assert_cmpfloat (distance, >, 4);
  /* Beside the floor the neighbour counts; two cells away there is none. */
  const double beside[3] = {CORNER - 0.1, 3, 0.3};
  g_assert_cmpfloat_with_epsilon (
      ndt_residual_of_point (level, beside), expected (level, first, 1, 0, beside), 1e-3);
  const double away[][3] = {{CORNER - 2.1, 3, 0.3}, {NAN, 0, 0}, {INFINITY, 0, 0}, {1e300, 0, 0}};
  for (guint i = 0; i < G_N_ELEMENTS (away); i++)
    g_assert_cmpfloat (ndt_residual_of_point (level, away[i]), ==, INFINITY);
}

static gchar *
write_map (const double *xyz, guint n)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gchar buffer[G_ASCII_DTOSTR_BUF_SIZE];
  gchar *path;
  g_autoptr (GError) error = NULL;
  const gint fd = g_file_open_tmp ("residual-XXXXXX.pcd", &path, &error);

  g_assert_no_error (error);
  g_close (fd, NULL);
  g_string_printf (text,
      "VERSION .7\nFIELDS x y z\nSIZE 8 8 8\nTYPE F F F\nCOUNT 1 1 1\nWIDTH %u\nHEIGHT 1\n"
      "POINTS %u\nDATA ascii\n",
      n, n);
  for (guint i = 0; i < 3 * n; i++)
    g_string_append_printf (
        text, "%s%c", g_ascii_dtostr (buffer, sizeof buffer, xyz[i]), i % 3 == 2 ? '\n' : ' ');
  g_assert_true (g_file_set_contents (path, text->str, (gssize)text->len, NULL));
  return path;
}

/* As many as are asked for at most, all of them the file's, and each part of the floor has some. */
static void
test_points (void)
{
  const NdtVoxelMapParams params = make_params (2, 6, 1);
  g_autofree double *xyz = make_floor ();
  g_autofree gchar *path = write_map (xyz, N_FLOOR);
  g_autoptr (GHashTable) known = g_hash_table_new (g_double_hash, g_double_equal);
  g_autoptr (GError) error = NULL;
  gint stop = FALSE;

  for (guint i = 0; i < N_FLOOR; i++)
    g_hash_table_add (known, &xyz[3 * i]);
  for (guint most = 1; most <= 4096; most *= 8) {
    g_autoptr (NdtMapPoints) points = ndt_map_points_read (path, most, &params, &stop, &error);
    guint quarters[4] = {0};

    g_assert_no_error (error);
    g_assert_cmpuint (points->n, <=, most);
    /* Doubling an edge leaves an eighth of the cubes at the least. */
    g_assert_cmpuint (8 * points->n, >=, most);
    g_assert_nonnull (points->voxels);
    g_assert_cmpuint (ndt_voxel_map_get_n_points (points->voxels), ==, N_FLOOR);
    for (gsize i = 0; i < points->n; i++) {
      g_assert_true (g_hash_table_contains (known, &points->xyz[3 * i]));
      quarters[(points->xyz[3 * i] > CORNER + 4) + 2 * (points->xyz[3 * i + 1] > 4)]++;
    }
    for (guint i = 0; most >= 64 && i < 4; i++)
      g_assert_cmpuint (8 * quarters[i], >, points->n);
  }
  /* Too few points for a voxel are points all the same. */
  g_autofree gchar *few = write_map (xyz, 3);
  g_autoptr (NdtMapPoints) points = ndt_map_points_read (few, 10, &params, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (points->n, ==, 3);
  g_assert_null (points->voxels);

  stop = TRUE;
  g_assert_null (ndt_map_points_read (path, 10, NULL, &stop, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
  g_clear_error (&error);
  g_unlink (few);
  g_unlink (path);
  g_assert_null (ndt_map_points_read (path, 10, NULL, NULL, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_IO);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/residual/distance", test_distance);
  g_test_add_func ("/residual/points", test_points);
  return g_test_run ();
}
