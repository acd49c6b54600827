/* SPDX-License-Identifier: MIT */
#include <glib/gstdio.h>
#include <string.h>

#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-pcd.h"

static gchar *folder;

static void
write_points (const gchar *name, const double *xyz, gsize n)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  GError *error = NULL;
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, n);
  g_assert_true (ndt_pcd_write (path, &view, NDT_PCD_BINARY, &error));
  g_assert_no_error (error);
}

/* A patch of 20 × 20 points, 0.2 m apart, not flat. */
static void
make_patch (double *xyz, double x0, double y0)
{
  for (guint i = 0; i < 400; i++) {
    xyz[3 * i] = x0 + 0.2 * (i % 20);
    xyz[3 * i + 1] = y0 + 0.2 * (i / 20);
    xyz[3 * i + 2] = 0.1 * ((i * 7) % 5);
  }
}

static void
empty_folder (void)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const gchar *name;
  while ((name = g_dir_read_name (dir))) {
    g_autofree gchar *path = g_build_filename (folder, name, NULL);
    g_unlink (path);
  }
}

static void
assert_fails (const gchar *path, gint code, const gchar *because)
{
  const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (GError) error = NULL;
  g_assert_null (ndt_map_load (path, &params, &error));
  g_assert_error (error, NDT_ERROR, code);
  if (!strstr (error->message, because))
    g_error ("'%s' is not in '%s'", because, error->message);
}

/* Tiles of a folder give the map of all their points. */
static void
test_folder (void)
{
  const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  GError *error = NULL;
  double xyz[3 * 800];
  make_patch (xyz, 500000.3, 4000000.1);
  make_patch (xyz + 1200, 500004.3, 4000000.1);
  write_points ("b.pcd", xyz, 400);
  write_points ("a.PCD", xyz + 1200, 400);
  g_autofree gchar *other = g_build_filename (folder, "notes.txt", NULL);
  g_assert_true (g_file_set_contents (other, "no cloud", -1, NULL));

  g_autoptr (GPtrArray) files = ndt_map_list_files (folder, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (files->len, ==, 2);
  g_assert_true (g_str_has_suffix (g_ptr_array_index (files, 0), "a.PCD"));

  g_autoptr (NdtVoxelMap) tiles = ndt_map_load (folder, &params, &error);
  g_assert_no_error (error);
  empty_folder ();
  write_points ("whole.pcd", xyz, 800);
  g_autofree gchar *path = g_build_filename (folder, "whole.pcd", NULL);
  g_autoptr (NdtVoxelMap) whole = ndt_map_load (path, &params, &error);
  g_assert_no_error (error);

  g_assert_cmpuint (ndt_voxel_map_get_n_points (tiles), ==, 800);
  g_assert_cmpuint (ndt_voxel_map_get_n_points (whole), ==, 800);
  double a[6], b[6];
  ndt_voxel_map_get_bounds (tiles, a, a + 3);
  ndt_voxel_map_get_bounds (whole, b, b + 3);
  for (guint i = 0; i < 6; i++)
    g_assert_cmpfloat (a[i], ==, b[i]);
  for (guint l = 0; l < 3; l++)
    g_assert_cmpuint (ndt_voxel_map_get_level (tiles, l)->n_voxels, ==,
        ndt_voxel_map_get_level (whole, l)->n_voxels);
  empty_folder ();
}

static void
test_errors (void)
{
  const double few[9] = {0};
  g_autofree gchar *path = g_build_filename (folder, "map.pcd", NULL);
  assert_fails ("/nonexistent.pcd", NDT_ERROR_IO, "/nonexistent.pcd");
  assert_fails (folder, NDT_ERROR_FORMAT, "has no PCD, PLY or LAS files");
  g_assert_true (g_file_set_contents (path, "", 0, NULL));
  assert_fails (path, NDT_ERROR_FORMAT, "map.pcd is empty");
  g_assert_true (g_file_set_contents (path, "{\"json\": 1}\n", -1, NULL));
  assert_fails (path, NDT_ERROR_FORMAT, "map.pcd is no PCD file");
  g_assert_true (g_file_set_contents (path, "ply\nformat ascii 1.0\n", -1, NULL));
  assert_fails (path, NDT_ERROR_FORMAT, "map.pcd ends within its PLY header");
  g_assert_true (g_file_set_contents (path, "FIELDS x y z\nWIDTH 9\nDATA binary\n1234", -1, NULL));
  assert_fails (folder, NDT_ERROR_FORMAT, "map.pcd is truncated");
  g_assert_true (g_file_set_contents (path, "FIELDS x y\nWIDTH 0\nDATA ascii\n", -1, NULL));
  assert_fails (path, NDT_ERROR_FORMAT, "has no field 'z'");
  write_points ("map.pcd", few, 3);
  assert_fails (path, NDT_ERROR_EMPTY_MAP, "map.pcd");
  const double far_apart[6] = {0, 0, 0, 1e8, 0, 0};
  write_points ("map.pcd", far_apart, 2);
  assert_fails (path, NDT_ERROR_INVALID_ARGUMENT, "map.pcd");
  empty_folder ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("ndt-map-XXXXXX", NULL);
  g_test_add_func ("/map-file/folder", test_folder);
  g_test_add_func ("/map-file/errors", test_errors);
  const int result = g_test_run ();
  g_rmdir (folder);
  g_free (folder);
  return result;
}
