/* SPDX-License-Identifier: MIT */
/* Folders of tiles, and maps that are cut into them. */
#pragma once

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ndtcore/mapfile/ndt-map-metadata.h"
#include "ndtcore/cloudfile/ndt-pcd.h"

static inline void
ndt_test_remove_folder (const gchar *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const gchar *name;
  while ((name = g_dir_read_name (dir))) {
    g_autofree gchar *path = g_build_filename (folder, name, NULL);
    g_unlink (path);
  }
  g_rmdir (folder);
}

static inline void
ndt_test_write_text (const gchar *folder, const gchar *name, const gchar *text)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* Cuts a map into squares, a file each in a folder, with Autoware's metadata. */
static inline void
ndt_test_cut_map (const gchar *path, const gchar *folder, double size)
{
  NdtCloudView points;
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtPcdFile) file = ndt_pcd_file_open (path, &error);
  g_assert_no_error (error);
  g_assert_true (ndt_pcd_file_get_points (file, &points, &error));
  g_autoptr (GHashTable) tiles =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
  g_autoptr (GString) metadata = g_string_new (NULL); /* numbers in C's locale, which tests have */
  g_string_append_printf (metadata, "x_resolution: %g\ny_resolution: %g\n", size, size);
  for (gsize i = 0; i < points.n_points; i++) {
    double p[3];
    ndt_cloud_view_get (&points, i, p);
    const double x = floor (p[0] / size) * size, y = floor (p[1] / size) * size;
    g_autofree gchar *name = g_strdup_printf ("%g_%g.pcd", x, y);
    GArray *tile = g_hash_table_lookup (tiles, name);
    if (!tile) {
      tile = g_array_new (FALSE, FALSE, sizeof (double));
      g_hash_table_insert (tiles, g_strdup (name), tile);
      g_string_append_printf (metadata, "%s: [%g, %g]\n", name, x, y);
    }
    g_array_append_vals (tile, p, 3);
  }
  GHashTableIter iter;
  gpointer name, tile;
  g_hash_table_iter_init (&iter, tiles);
  while (g_hash_table_iter_next (&iter, &name, &tile)) {
    const GArray *xyz = tile;
    const NdtCloudView view =
        ndt_cloud_view_xyz_f64 ((const double *)(gpointer)xyz->data, xyz->len / 3);
    g_autofree gchar *to = g_build_filename (folder, name, NULL);
    g_assert_true (ndt_pcd_write (to, &view, NDT_PCD_BINARY, &error));
  }
  ndt_test_write_text (folder, NDT_MAP_METADATA_NAME, metadata->str);
}
