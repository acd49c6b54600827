/* SPDX-License-Identifier: MIT */
/* How long it takes to bring what is in memory of a map in tiles to where the vehicle is:
 *
 *   bench-tiles FOLDER [RADIUS [RESOLUTION]]
 *
 * Goes across the map from corner to corner and back in steps of an eighth of the radius, as
 * ndtlocalize does. Times are of the calling thread, files in the page cache. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ndtcore/mapfile/ndt-map-tiles.h"

static int
compare (const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Corners of all boxes together. */
static void
get_extent (const NdtMapTiles *tiles, double low[2], double high[2])
{
  for (guint k = 0; k < 2; k++) {
    low[k] = INFINITY;
    high[k] = -INFINITY;
  }
  for (guint i = 0; i < ndt_map_tiles_get_n_tiles (tiles); i++) {
    double min[2], max[2];
    ndt_map_tiles_get_box (tiles, i, min, max);
    for (guint k = 0; k < 2; k++) {
      low[k] = MIN (low[k], min[k]);
      high[k] = MAX (high[k], max[k]);
    }
  }
}

int
main (int argc, char **argv)
{
  const double radius = argc > 2 ? g_ascii_strtod (argv[2], NULL) : 150;
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (GError) error = NULL;
  if (argc > 3)
    params.resolution = g_ascii_strtod (argv[3], NULL);
  const gint64 opening = g_get_monotonic_time ();
  g_autoptr (NdtMapTiles) tiles = argc > 1 ? ndt_map_tiles_open (argv[1], &params, &error) : NULL;
  if (!tiles || !(radius > 0)) {
    fprintf (stderr, "bench-tiles: %s\n", error ? error->message : "FOLDER [RADIUS [RESOLUTION]]");
    return EXIT_FAILURE;
  }
  const double opened = 1e-3 * (double)(g_get_monotonic_time () - opening);

  double low[2], high[2];
  get_extent (tiles, low, high);
  const guint n = 1 + (guint)(hypot (high[0] - low[0], high[1] - low[1]) / (radius / 8));
  g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (double));
  NdtMapTilesCounts before = {0}, counts;
  gsize bytes = 0, map_bytes = 0;
  guint most = 0;
  for (guint i = 0; i < 2 * n; i++) {
    const double at = (double)(i < n ? i : 2 * n - 1 - i) / MAX (n - 1, 1);
    const double position[2] = {low[0] + at * (high[0] - low[0]), low[1] + at * (high[1] - low[1])};
    const gint64 since = g_get_monotonic_time ();
    g_autoptr (NdtVoxelMap) map = ndt_map_tiles_move (tiles, position, radius, NULL, &error);
    const double took = 1e-3 * (double)(g_get_monotonic_time () - since);
    if (!map) {
      fprintf (stderr, "bench-tiles: %s\n", error->message);
      return EXIT_FAILURE;
    }
    ndt_map_tiles_get_counts (tiles, &counts);
    if (i > 0 && counts.n_loaded + counts.n_dropped > before.n_loaded + before.n_dropped)
      g_array_append_val (times, took);
    before = counts;
    bytes = MAX (bytes, counts.bytes);
    map_bytes = MAX (map_bytes, ndt_voxel_map_get_bytes (map));
    most = MAX (most, counts.n_used);
  }
  if (times->len == 0) {
    fprintf (stderr, "bench-tiles: all tiles are always in memory: a smaller radius\n");
    return EXIT_FAILURE;
  }
  g_array_sort (times, compare);
  printf ("tiles: %u, opened in %.1f ms\n", ndt_map_tiles_get_n_tiles (tiles), opened);
  printf ("in memory at most: %u tiles, %.1f MB of sums, %.1f MB of voxels\n", most,
      1e-6 * (double)bytes, 1e-6 * (double)map_bytes);
  printf ("moves: %u, of %.1f tiles read on average\n", times->len,
      (double)counts.n_loaded / times->len);
  printf ("a move: median %.1f ms, 95th percentile %.1f ms, longest %.1f ms\n",
      g_array_index (times, double, times->len / 2),
      g_array_index (times, double, (times->len - 1) * 95 / 100),
      g_array_index (times, double, times->len - 1));
  return EXIT_SUCCESS;
}
