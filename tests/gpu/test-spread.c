/* SPDX-License-Identifier: MIT */
/* Gradients of clusters, for the covariance: the CUDA backend's beside the CPU's. */
#include "gpu-backends.h"
#include "gpu-scene.h"

/* The spreads of clusters at one pose agree: each is a product of two gradients, sums of floats
 * whose terms cancel to about a thirtieth of their size, so 1e-5 of the terms (assert_close()) is
 * 3e-4 of a gradient, and twice that of a product; 1e-3 of its bound, √(S_ii S_jj). Both order
 * points alike, so that the clusters are the same ones. */
static void
assert_spreads_agree (const NdtAlignResult *a, const NdtAlignResult *b)
{
  g_assert_cmpuint (a->n_clusters, ==, b->n_clusters);
  for (guint i = 0; i < 6; i++)
    for (guint j = i; j < 6; j++) {
      const guint at = NDT_H6 (i, j);
      const double bound = sqrt (b->spread[NDT_H6 (i, i)] * b->spread[NDT_H6 (j, j)]);
      if (!(fabs (a->spread[at] - b->spread[at]) <= 1e-3 * bound))
        g_error (
            "spread %u, %u: %.9g and %.9g, bound %.9g", i, j, a->spread[at], b->spread[at], bound);
    }
}

static void
spread_points (guint n_points, double resolution, NdtNeighbours neighbours, float leaf)
{
  static const double utm[3] = {388096, 3948992, 64};
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (GError) error = NULL;
  const NdtScanFilter filter = {0, 0, FALSE, {0, 0, 0}, {0, 0, 0}, leaf};
  NdtAlignParams params = default_params;
  Scene s = scene_new (60, 60000, n_points, resolution, utm);
  const NdtCloudView view = scene_view (&s);
  NdtStart start = {.guess = s.truth};
  NdtAlignResult a, b, c;
  /* No points, which have no place in the order. */
  for (guint i = 7; i < s.n; i += 501)
    s.scan[3 * i + i % 3] = i % 2 ? NAN : INFINITY;
  params.neighbours = neighbours;
  params.clusters = TRUE;
  for (guint k = 0; k < 2; k++) {
    NdtBackend *backend = k ? cuda : cpu;
    g_assert_true (ndt_backend_set_map (backend, s.map, &error));
    g_assert_true (ndt_backend_set_scan (backend, 0, &view, &filter, &error));
  }
  g_assert_true (ndt_backend_align (cpu, 0, &params, &start, 1, &b, &error));
  g_assert_true (ndt_backend_align (cuda, 0, &params, &start, 1, &a, &error));
  g_assert_cmpuint (a.n_clusters, ==, 0);
  g_assert_cmpuint (b.n_clusters, >, 5);
  /* Where the CPU's alignment ended. */
  c = b;
  c.n_clusters = 0;
  memset (c.spread, 0, sizeof (c.spread));
  g_assert_true (ndt_backend_spread (cuda, 0, &params, &c, &error));
  assert_spreads_agree (&c, &b);
  /* Launched by the end of an alignment, and asked for later: the same bits, again and again. */
  g_assert_true (ndt_backend_spread (cuda, 0, &params, &a, &error));
  for (guint i = 0; i < 20; i++) {
    g_assert_true (ndt_backend_align_begin (cuda, 0, &params, &start, i % 2, &error));
    g_assert_true (ndt_backend_align_end (cuda, &c, &error));
    g_assert_cmpuint (c.n_clusters, ==, 0);
    if (i % 4 == 3) /* nobody asks */
      continue;
    g_assert_true (ndt_backend_spread (cuda, 0, &params, &c, &error));
    g_assert_cmpuint (c.n_clusters, ==, a.n_clusters);
    g_assert_cmpmem (c.spread, sizeof (c.spread), a.spread, sizeof (a.spread));
  }
  scene_clear (&s);
}

static void
test_spread (void)
{
  spread_points (1001, 2, NDT_NEIGHBOURS_RADIUS, 0);
  spread_points (5000, 2, NDT_NEIGHBOURS_RADIUS, 0);
  spread_points (9001, 1, NDT_NEIGHBOURS_DIRECT7, 0);
  spread_points (33001, 2, NDT_NEIGHBOURS_RADIUS, 0);
  spread_points (33001, 2, NDT_NEIGHBOURS_RADIUS, 1);
  spread_points (33001, 1, NDT_NEIGHBOURS_DIRECT1, 0.5f);
  /* More than are merged at once, and odd numbers of runs. */
  spread_points (600001, 2, NDT_NEIGHBOURS_RADIUS, 0);
}

/* Shortest of a few, µs: the points are ordered anew, and their gradients summed. */
static gint64
time_of_order (NdtBackend *cuda, const Scene *s, gsize n)
{
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (s->scan, n);
  const NdtStart start = {.guess = s->truth};
  g_autoptr (GError) error = NULL;
  gint64 shortest = G_MAXINT64;
  for (guint i = 0; i < 5; i++) {
    NdtAlignResult result;
    g_assert_true (ndt_backend_set_scan (cuda, 0, &view, &no_filter, &error));
    g_assert_true (ndt_backend_align (cuda, 0, &default_params, &start, 1, &result, &error));
    const gint64 since = g_get_monotonic_time ();
    g_assert_true (ndt_backend_spread (cuda, 0, &default_params, &result, &error));
    shortest = MIN (shortest, g_get_monotonic_time () - since);
    g_assert_cmpuint (result.n_clusters, >, 1);
  }
  return shortest;
}

/* Six times as many points take 6.9 times as long by n log n, and 36 times by n²; half as long
 * again for what memory near the multiprocessors has no room for. */
static void
test_order_time (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  g_autoptr (GError) error = NULL;
  if (!cuda)
    return;
  Scene s = scene_new (60, 60000, 600000, 2, NULL);
  g_assert_true (ndt_backend_set_map (cuda, s.map, &error));
  const gint64 few = time_of_order (cuda, &s, 100000), many = time_of_order (cuda, &s, 600000);
  g_test_message ("100,000 points ordered and summed in %" G_GINT64_FORMAT
                  " µs, 600,000 in %" G_GINT64_FORMAT,
      few, many);
  g_assert_cmpint (many, <, 10 * few);
  scene_clear (&s);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/spread/clusters", test_spread);
  g_test_add_func ("/gpu/spread/time", test_order_time);
  return g_test_run ();
}
