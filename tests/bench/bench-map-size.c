/* SPDX-License-Identifier: MIT */
/* Alignment time over the size of the map: the generated town, set beside itself up to 100 times
 * (2 million voxels). The scan of 5,000 points is aligned in the same copy of the town each time,
 * and in another one each time, so that what it needs is in no cache. One thread, its processor's
 * clock; ratios to the single town.
 *
 *   bench-map-size [MOST-COPIES-A-SIDE] */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "bench-data.h"
#include "ndtcore/align/ndt-backend.h"
#include "tests/ndt-test.h"

#define TOWN 240.0 /* metres, a multiple of the cells' size */

static double
now_ms (void)
{
  struct timespec t;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* The median alignment from every start, in a random copy each or all in the middle one. */
static double
align_all (NdtBackend *backend, const BenchCase *c, guint side, gboolean wander)
{
  static const NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (c->scans[0].xyz, c->scans[0].n);
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autofree double *ms = g_new (double, c->n_starts);
  for (guint i = 0; i < c->n_starts; i++) {
    NdtStart start = {.guess = c->starts[i].guess};
    NdtAlignResult result;
    for (guint k = 0; k < 2; k++)
      start.guess.position[k] +=
          TOWN * (wander ? (guint)g_rand_int_range (rand, 0, (gint)side) : side / 2);
    const double t = now_ms ();
    if (!ndt_backend_set_scan (backend, 0, &points, &filter, NULL) ||
        !ndt_backend_align (backend, 0, &params, &start, 1, &result, NULL))
      return NAN;
    ms[i] = now_ms () - t;
  }
  qsort (ms, c->n_starts, sizeof (double), compare_doubles);
  return ms[c->n_starts / 2];
}

int
main (int argc, char **argv)
{
  static const guint sides[] = {1, 2, 3, 5, 7, 10};
  const guint most = argc > 1 ? (guint)atoi (argv[1]) : 10;
  g_autoptr (GPtrArray) cases = bench_cases_load ("town-5000", 0);
  if (cases->len == 0)
    return NDT_TEST_SKIP;
  const BenchCase *c = g_ptr_array_index (cases, 0);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (c->map.xyz, c->map.n);
  double first[2] = {0, 0};
  g_print (
      "%9s %9s %10s %10s %9s %9s\n", "voxels", "map MB", "same ms", "ratio", "other ms", "ratio");
  for (guint s = 0; s < G_N_ELEMENTS (sides) && sides[s] <= most; s++) {
    const guint side = sides[s];
    const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
    NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
    config.n_threads = 1;
    g_autoptr (NdtVoxelMap) map = NULL;
    {
      g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&params, NULL);
      for (guint i = 0; i < side * side; i++) {
        const NdtPose pose = {{TOWN * (i % side), TOWN * (i / side), 0}, {0, 0, 0, 1}};
        if (!ndt_voxel_map_builder_add (builder, i, &view, &pose, NULL))
          return 1;
      }
      map = ndt_voxel_map_builder_build (builder, NULL);
    }
    NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
    if (!map || !ndt_backend_set_map (backend, map, NULL))
      return 1;
    align_all (backend, c, side, FALSE);
    const double same = align_all (backend, c, side, FALSE);
    const double other = align_all (backend, c, side, TRUE);
    if (s == 0) {
      first[0] = same;
      first[1] = other;
    }
    g_print ("%9u %9.1f %10.3f %10.2f %9.3f %9.2f\n", ndt_voxel_map_get_level (map, 0)->n_voxels,
        (double)ndt_voxel_map_get_bytes (map) / 1e6, same, same / first[0], other,
        other / first[1]);
    ndt_backend_close (backend);
  }
  return 0;
}
