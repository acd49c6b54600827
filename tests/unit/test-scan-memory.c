/* SPDX-License-Identifier: MIT */
/* What raw scans of a backlog take of memory on the CPU: VmHWM, the most that was resident. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/align/ndt-backend.h"
#include "tests/ndt-scene.h"

#define N_RAW 130000
/* docs/localizing.md, "Memory of scans". */
#define MOST_KB (60 * 1024)

/* Of this process, kB. */
static guint64
resident (const gchar *name)
{
  g_autofree gchar *text = NULL;
  GError *error = NULL;
  g_file_get_contents ("/proc/self/status", &text, NULL, &error);
  g_assert_no_error (error);
  const gchar *at = strstr (text, name);
  g_assert_nonnull (at);
  return g_ascii_strtoull (at + strlen (name) + 1, NULL, 10);
}

/* VmHWM begins anew from what is resident. */
static gboolean
forget_peak (void)
{
  FILE *file = fopen ("/proc/self/clear_refs", "w");
  if (!file)
    return FALSE;
  const gboolean ok = fputs ("5", file) >= 0;
  return fclose (file) == 0 && ok;
}

/* A street as a lidar sees it: ground and two walls, 14,000 leaves of half a metre. */
static float *
make_scan (guint n, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  float *xyz = g_new (float, 3 * n);
  for (guint i = 0; i < n; i++) {
    const float along = (float)g_rand_double_range (rand, -50, 50);
    const float across = (float)g_rand_double_range (rand, -10, 10);
    const float up = (float)g_rand_double_range (rand, 0, 8);
    const guint side = i % 4;
    xyz[3 * i] = along;
    xyz[3 * i + 1] = side < 2 ? across : side == 2 ? -10.2f : 10.2f;
    xyz[3 * i + 2] = side < 2 ? 0.1f : up;
  }
  return xyz;
}

static void
test_backlog (gconstpointer data)
{
  const guint n_threads = GPOINTER_TO_UINT (data);
  const NdtBackendConfig config = {.device_id = -1, .n_threads = n_threads};
  const NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  const NdtStart start = {.guess = NDT_POSE_IDENTITY};
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, &error);
  g_assert_no_error (error);
  g_autofree float *xyz = make_scan (N_RAW, 1);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (xyz, N_RAW);
  g_assert_true (ndt_backend_set_map_from_points (backend, &map_params, &points, NULL, &error));
  filter.leaf_size = 0.5f;
  if (!forget_peak ()) {
    g_test_skip ("/proc/self/clear_refs cannot be written");
    return;
  }
  const guint64 before = resident ("VmRSS:");
  for (guint turn = 0; turn < 2; turn++) {
    for (guint i = 0; i < NDT_MAX_SCANS; i++)
      g_assert_true (ndt_backend_set_scan (backend, i, &points, &filter, &error));
    for (guint i = 0; i < NDT_MAX_SCANS; i++) {
      NdtAlignResult result;
      g_assert_true (ndt_backend_align (backend, i, &params, &start, 1, &result, &error));
      g_assert_cmpuint (result.n_points, >, 10000);
      g_assert_cmpuint (result.n_points, <, 15000);
    }
  }
  const guint64 peak = resident ("VmHWM:");
  g_test_message ("%u threads: %" G_GUINT64_FORMAT " kB", n_threads, peak - before);
  g_assert_cmpuint (peak - before, >, 1024); /* it does measure */
  g_assert_cmpuint (peak - before, <, MOST_KB);

  NdtBackendCounters counters;
  ndt_backend_get_counters (backend, &counters);
  g_assert_cmpuint (counters.host_bytes, <, MOST_KB * 1024);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (g_getenv ("NDT_TEST_SANITIZER")) {
    g_print ("1..0 # SKIP sanitizers have memory of their own\n");
    return 0;
  }
  g_test_add_data_func ("/scan-memory/eight-threads", GUINT_TO_POINTER (8), test_backlog);
  /* After it, whose memory the allocator may keep. */
  g_test_add_data_func ("/scan-memory/one-thread", GUINT_TO_POINTER (1), test_backlog);
  return g_test_run ();
}
