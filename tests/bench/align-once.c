/* SPDX-License-Identifier: MIT */
/* One alignment, the first start of a case of bench-align, by one thread: something for callgrind
 * to count (tests/unit/test-instructions.sh). With `far` a search from there follows, as where a
 * tracker does not trust the alignment.
 *
 *   align-once CASE radius|direct7|direct1 [far] */
#include "bench-data.h"
#include "ndtcore/align/ndt-backend.h"
#include "ndtcore/registration/ndt-registration.h"
#include "tests/ndt-test.h"

int
main (int argc, char **argv)
{
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  const NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  NdtAlignResult result;
  g_autoptr (GError) error = NULL;
  if (argc != 3 && !(argc == 4 && g_str_equal (argv[3], "far"))) {
    g_printerr ("align-once CASE radius|direct7|direct1 [far]\n");
    return 2;
  }
  params.neighbours = g_str_equal (argv[2], "direct1")   ? NDT_NEIGHBOURS_DIRECT1
                      : g_str_equal (argv[2], "direct7") ? NDT_NEIGHBOURS_DIRECT7
                                                         : NDT_NEIGHBOURS_RADIUS;
  config.n_threads = 1;
  g_autoptr (GPtrArray) cases = bench_cases_load (argv[1], 1);
  if (cases->len == 0)
    return NDT_TEST_SKIP;
  const BenchCase *c = g_ptr_array_index (cases, 0);
  const BenchCloud *scan = &c->scans[c->starts[0].scan];
  const NdtCloudView map_points = ndt_cloud_view_xyz_f32 (c->map.xyz, c->map.n);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (scan->xyz, scan->n);
  const NdtStart start = {.guess = c->starts[0].guess};
  map_params.resolution = c->resolution;
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&map_params, &map_points, &error);
  NdtBackend *backend = map ? ndt_backend_open_cpu (&config, &error) : NULL;
  gboolean ok = backend && ndt_backend_set_map (backend, map, &error) &&
                ndt_backend_set_scan (backend, 0, &points, &filter, &error) &&
                ndt_backend_align (backend, 0, &params, &start, 1, &result, &error);
  if (ok)
    g_print ("%u points, %" G_GUINT64_FORMAT " pairs, %u iterations, %u evaluations\n",
        result.n_points, result.sums.n_pairs, result.iterations, result.evaluations);
  if (ok && argc == 4) {
    NdtRegistrationParams registration;
    NdtRegistration found;
    ndt_registration_params_init (&registration);
    registration.align = params;
    ok = ndt_register (backend, 0, &registration, NDT_SEARCH_FAR, &start.guess, 1, &found, &error);
    if (ok)
      g_print ("from far: %u evaluations, score %g\n", found.evaluations, found.score);
  }
  if (!ok)
    g_printerr ("align-once: %s\n", error->message);
  if (backend)
    ndt_backend_close (backend);
  return !ok;
}
