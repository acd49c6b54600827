/* SPDX-License-Identifier: MIT */
/* Memory: that of a large map while it is loaded, and that of a long stream. */
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ndtcore/track/ndt-localizer.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "tests/ndt-scene.h"

#define N_POINTS 10000000

/* Sanitizers keep memory of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED TRUE
#else
#define SANITIZED FALSE
#endif

static const gchar *program;

/* A value in kB of /proc/self/status, such as "VmHWM:". */
static guint64
read_status (const gchar *name)
{
  g_autofree gchar *text = NULL;
  g_assert_true (g_file_get_contents ("/proc/self/status", &text, NULL, NULL));
  const gchar *at = strstr (text, name);
  g_assert_nonnull (at);
  return 1024 * g_ascii_strtoull (at + strlen (name), NULL, 10);
}

/* What the test runs itself again for: loads a map and prints the peak. */
static int
load (const gchar *path)
{
  const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtVoxelMap) map = ndt_map_load (path, &params, &error);
  if (!map) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  printf ("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %u\n", read_status ("VmHWM:"),
      ndt_voxel_map_get_n_points (map), ndt_voxel_map_get_level (map, 0)->n_voxels);
  return 0;
}

/* A town of blocks of 40 m as dense as town_starts (11 points a square metre of ground), in
 * millimetres, tile by tile as maps are written. */
static float *
make_town (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  float *xyz = g_new (float, 3 * N_POINTS);
  const guint side = 23, per_tile = N_POINTS / (side * side);
  for (guint i = 0; i < N_POINTS; i++) {
    const guint tile = MIN (i / per_tile, side * side - 1);
    double p[3] = {g_rand_double_range (rand, 0, 40), g_rand_double_range (rand, 0, 40),
        g_rand_double_range (rand, -0.05, 0.05)};
    if (i % 3 == 0) {
      /* The four walls of a house. */
      p[2] = g_rand_double_range (rand, 0, 8);
      p[i / 3 % 2] = i / 6 % 2 ? 10 : 30;
      p[1 - i / 3 % 2] = 10 + p[1 - i / 3 % 2] / 2;
    }
    for (guint k = 0; k < 3; k++) {
      const guint at = k == 0 ? tile % side : k == 1 ? tile / side : 0;
      xyz[3 * (gsize)i + k] = (float)(round (1000 * (p[k] + 40.0 * at)) / 1000);
    }
  }
  return xyz;
}

/* The peak while loading is at most twice the size of the points, whatever the encoding. */
static void
test_peak (void)
{
  static const struct {
    const gchar *name;
    NdtPcdEncoding encoding;
  } encodings[] = {{"binary", NDT_PCD_BINARY}, {"compressed", NDT_PCD_BINARY_COMPRESSED},
      {"ascii", NDT_PCD_ASCII}};
  if (SANITIZED) {
    g_test_skip ("memory is not measured under a sanitizer");
    return;
  }
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-large-map-XXXXXX", NULL);
  g_assert_nonnull (folder);
  g_autoptr (GFile) file = g_file_new_for_path (folder);
  g_autoptr (GFileInfo) info =
      g_file_query_filesystem_info (file, G_FILE_ATTRIBUTE_FILESYSTEM_FREE, NULL, NULL);
  const guint64 space =
      info ? g_file_info_get_attribute_uint64 (info, G_FILE_ATTRIBUTE_FILESYSTEM_FREE) : 0;
  if (space < G_GUINT64_CONSTANT (2000000000)) {
    g_rmdir (folder);
    g_test_skip ("less than 2 GB of space for temporary files");
    return;
  }
  g_autofree gchar *path = g_build_filename (folder, "map.pcd", NULL);
  const guint64 size = (guint64)N_POINTS * 12;
  gboolean all = TRUE;
  g_autofree float *xyz = make_town ();
  for (guint e = 0; e < G_N_ELEMENTS (encodings); e++) {
    const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, N_POINTS);
    g_autofree gchar *output = NULL;
    GError *error = NULL;
    guint64 peak, n_points;
    guint n_voxels;
    gint status;
    ndt_pcd_write (path, &view, encodings[e].encoding, &error);
    g_assert_no_error (error);
    const gchar *argv[] = {program, "--load", path, NULL};
    const gint64 begin = g_get_monotonic_time ();
    g_assert_true (g_spawn_sync (
        NULL, (gchar **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &output, NULL, &status, &error));
    g_assert_cmpint (status, ==, 0);
    g_assert_cmpint (sscanf (output, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %u", &peak,
                         &n_points, &n_voxels),
        ==, 3);
    g_test_message ("%s: peak %.1f MB for %.1f MB of points, %u voxels, %.1f s", encodings[e].name,
        1e-6 * (double)peak, 1e-6 * (double)size, n_voxels,
        1e-6 * (double)(g_get_monotonic_time () - begin));
    g_assert_cmpuint (n_points, ==, N_POINTS);
    g_assert_cmpuint (n_voxels, >, 200000);
    all = all && peak <= 2 * size;
  }
  g_unlink (path);
  g_rmdir (folder);
  g_assert_true (all);
}

/* 10,000 scans leave the process as large as 1,000. */
static void
test_flat (void)
{
  const NdtBackendConfig config = {-1, 2, 0};
  const NdtPose start = {{1.5, -2.25, 1.8}, {0, 0, 0, 1}};
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 60000, 2);
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_YARD, &start, 200, 5);
  NdtLocalizerParams params;
  NdtBackendCounters warm = {0}, end;
  guint64 resident = 0;
  guint n_tracking = 0;
  ndt_localizer_params_init (&params);
  params.filter.leaf_size = 0.5f;
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  for (guint i = 0; i < 10000; i++) {
    NdtObservation o = {
        .points = ndt_cloud_view_xyz_f32 (scan, i % 100 == 7 ? 3 : 200 - i % 50), .time = i};
    NdtLocalization l;
    if (i % 500 == 0)
      ndt_localizer_set_initial_pose (localizer, &start);
    if (i % 1000 == 999) /* a map that is replaced goes */
      g_assert_true (ndt_backend_set_map (backend, map, NULL));
    g_assert_true (ndt_localizer_process (localizer, &o, &l, NULL));
    n_tracking += l.status == NDT_TRACK_TRACKING;
    if (i == 1000) {
      resident = read_status ("VmRSS:");
      ndt_backend_get_counters (backend, &warm);
    }
  }
  const guint64 now = read_status ("VmRSS:");
  ndt_backend_get_counters (backend, &end);
  g_test_message ("%u of 10000 tracking; resident %.2f MB after 1,000 scans, %.2f MB at the end",
      n_tracking, 1e-6 * (double)resident, 1e-6 * (double)now);
  g_assert_cmpuint (n_tracking, >, 9500);
  g_assert_cmpuint (end.allocations, ==, warm.allocations);
  /* 256 kB are 28 bytes a scan. */
  if (!SANITIZED)
    g_assert_cmpuint (now, <=, resident + 256 * 1024);
}

int
main (int argc, char *argv[])
{
  if (argc == 3 && strcmp (argv[1], "--load") == 0)
    return load (argv[2]);
  program = argv[0];
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/large-map/peak", test_peak);
  g_test_add_func ("/large-map/flat", test_flat);
  return g_test_run ();
}
