/* SPDX-License-Identifier: MIT */
#include "ndtcore/registration/ndt-search.h"
#include "ndtcore/scan/ndt-scan-sample.h"

#include <math.h>
#include <string.h>

#include "ndtcore/registration/ndt-registration.h"
#include "tests/ndt-scene.h"

#define N_MAP 60000
#define N_SCAN 12000
#define N_SAMPLE 1500

static const NdtRegularization none;

static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;

typedef struct {
  NdtVoxelMap *map;
  NdtBackend *backend;
  NdtPose truth;
  float *scan;
} Fixture;

static void
set_up (Fixture *f, guint n_threads)
{
  const NdtBackendConfig config = {-1, n_threads, 0};
  f->map = ndt_test_scene_map (NDT_TEST_YARD, N_MAP, 1);
  f->backend = ndt_backend_open_cpu (&config, NULL);
  f->truth = (NdtPose){{1.5, -2.25, 1.4}, {0, 0, 0.2, 0.9}};
  ndt_pose_normalize (&f->truth);
  f->scan = ndt_test_scene_scan (NDT_TEST_YARD, &f->truth, N_SCAN, 7);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (f->scan, N_SCAN);
  g_assert_cmpfloat (ndt_backend_get_resolution (f->backend), ==, 0);
  g_assert_true (ndt_backend_set_map (f->backend, f->map, NULL));
  g_assert_cmpfloat_with_epsilon (ndt_backend_get_resolution (f->backend), 1, 1e-6);
  g_assert_true (ndt_backend_set_scan (f->backend, 5, &view, &no_filter, NULL));
}

static void
tear_down (Fixture *f)
{
  ndt_backend_close (f->backend);
  ndt_voxel_map_unref (f->map);
  g_free (f->scan);
}

static NdtPose
off (const NdtPose *pose, GRand *rand, double metres, double degrees)
{
  double delta[6];
  NdtPose out;
  for (guint k = 0; k < 6; k++)
    delta[k] = g_rand_double_range (rand, -1, 1) * (k < 3 ? metres : degrees * G_PI / 180);
  ndt_pose_retract (pose, delta, &out);
  return out;
}

/* ---- The sample ---- */

/* One point of each cube, the first, in order. */
static void
test_leaves (void)
{
  static const float xyz[] = {0.1f, 0.1f, 0.1f, 0.4f, 0.4f, 0.4f, /* the same cube */
      0.6f, 0.1f, 0.1f, -0.1f, 0.1f, 0.1f, 0.2f, 0.2f, 0.2f, 9e6f, 0, 0 /* beyond all cubes */};
  static const guint kept[] = {0, 2, 3};
  float out[18];
  g_assert_cmpuint (ndt_search_sample (xyz, 6, 0.5f, 100, out), ==, G_N_ELEMENTS (kept));
  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    g_assert_cmpmem (out + 3 * i, 12, xyz + 3 * kept[i], 12);
  g_assert_cmpuint (ndt_search_sample (xyz, 0, 0.5f, 100, out), ==, 0);
}

/* Of a scan with a period, each phase comes about as often; parts of the scan as well; and the
 * memory may be the same. */
static void
test_spread (void)
{
  static const guint periods[] = {16, 40, 64, 128};
  for (guint p = 0; p < G_N_ELEMENTS (periods); p++) {
    const guint rings = periods[p], n = 1024 * rings;
    g_autofree float *xyz = g_new (float, 3 * n), *out = g_new (float, 3 * n);
    g_autofree guint *of_ring = g_new0 (guint, rings);
    guint of_part[10] = {0};
    for (guint i = 0; i < n; i++) {
      xyz[3 * i] = (float)(i / rings);
      xyz[3 * i + 1] = (float)(i % rings);
      xyz[3 * i + 2] = 0;
    }
    g_assert_cmpuint (ndt_search_sample (xyz, n, 0.5f, N_SAMPLE, out), ==, N_SAMPLE);
    double last = -1;
    for (guint i = 0; i < N_SAMPLE; i++) {
      const double at = (double)out[3 * i] * rings + (double)out[3 * i + 1];
      g_assert_cmpfloat (at, >, last);
      last = at;
      of_ring[(guint)out[3 * i + 1]]++;
      of_part[(guint)out[3 * i] * 10 / 1024]++;
    }
    /* By chance a ring's number would scatter by its root, here 3.4 to 9.7; three of these. */
    const double mean = (double)N_SAMPLE / rings;
    for (guint i = 0; i < rings; i++)
      g_assert_cmpfloat (fabs (of_ring[i] - mean), <=, 3 * sqrt (mean));
    for (guint i = 0; i < 10; i++)
      g_assert_cmpfloat (fabs (of_part[i] - N_SAMPLE / 10.0), <=, 2);
    g_assert_cmpuint (ndt_search_sample (xyz, n, 0.5f, N_SAMPLE, xyz), ==, N_SAMPLE);
    g_assert_cmpmem (xyz, 12 * N_SAMPLE, out, 12 * N_SAMPLE);
  }
}

/* ---- The search ---- */

/* A scan that is sampled ends where alignments of the whole from near the truth do, for less than
 * four alignments of the whole; the scan stays in its slot; any number of threads gives the same
 * bits. */
static void
test_sampled (void)
{
  static const guint n_threads[] = {1, 2, 64};
  NdtAlignResult first[20];
  for (guint t = 0; t < G_N_ELEMENTS (n_threads); t++) {
    Fixture f;
    g_autoptr (GRand) rand = g_rand_new_with_seed (1);
    const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
    guint n;
    set_up (&f, n_threads[t]);
    const NdtStart near = {.guess = f.truth, .approach = 0};
    NdtAlignResult whole;
    g_assert_true (ndt_backend_align (f.backend, 5, &params, &near, 1, &whole, NULL));
    for (guint i = 0; i < G_N_ELEMENTS (first); i++) {
      const NdtPose guess = off (&f.truth, rand, 1.5, 8);
      NdtAlignResult best;
      NdtSearchCost cost = {0};
      double metres, angle;
      g_assert_true (ndt_search_far (f.backend, 5, &params, &none, &guess, 1, &best, &cost, NULL));
      g_assert_cmpuint (best.n_points, ==, N_SCAN);
      g_assert_cmpuint (best.stop, ==, NDT_STOP_CONVERGED);
      g_assert_cmpuint (cost.evaluations, >, best.evaluations);
      /* The score has maxima millimetres apart. */
      ndt_pose_difference (&best.pose, &whole.pose, &metres, &angle);
      g_assert_cmpfloat (metres, <, 0.01);
      g_assert_cmpfloat (angle, <, 0.001);
      g_assert_cmpfloat (best.sums.score, >, 0.999 * whole.sums.score);
      if (t == 0)
        first[i] = best;
      else
        g_assert_cmpmem (&best, sizeof best, &first[i], sizeof first[i]);
    }
    g_autofree float *scan = g_new (float, 3 * N_SCAN);
    g_assert_true (ndt_backend_get_scan (f.backend, 5, scan, N_SCAN, &n, NULL));
    g_assert_cmpuint (n, ==, N_SCAN);
    g_assert_cmpmem (scan, 12 * N_SCAN, f.scan, 12 * N_SCAN);
    tear_down (&f);
  }
}

/* No end beside the best: the whole scan is searched with, so that the result is no worse than that
 * of its four candidates. */
static void
test_astray (void)
{
  Fixture f;
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  guint n_searched = 0;
  set_up (&f, 1);
  for (guint i = 0; i < 40; i++) {
    const NdtPose guess = off (&f.truth, rand, 6, 40);
    NdtBackendCounters before, after;
    NdtAlignResult best, four[4];
    NdtSearchCost cost = {0};
    double highest = -INFINITY;
    ndt_backend_get_counters (f.backend, &before);
    g_assert_true (ndt_search_far (f.backend, 5, &params, &none, &guess, 1, &best, &cost, NULL));
    ndt_backend_get_counters (f.backend, &after);
    g_assert_cmpuint (after.evaluations - before.evaluations, ==, cost.evaluations);
    /* Four of the sample, four finalists at most: any more are of the whole. */
    if (after.alignments - before.alignments <= 8)
      continue;
    n_searched++;
    for (guint k = 0; k < 4; k++) {
      const NdtStart start = {.guess = guess, .approach = k};
      g_assert_true (ndt_backend_align (f.backend, 5, &params, &start, 1, &four[k], NULL));
      if (k == 1 || k == 3)
        highest = MAX (highest, four[k].sums.score);
    }
    g_assert_cmpfloat (best.sums.score, >=, highest);
  }
  g_assert_cmpuint (n_searched, >, 3);
  tear_down (&f);
}

/* A bound holds for any number of guesses, and the guess that is at the place is among those that
 * are left. A last alignment takes some passes more than it has iterations: three by a detour, and
 * each that goes back. */
static void
test_bound (void)
{
  Fixture f;
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  set_up (&f, 1);
  const NdtStart near = {.guess = f.truth};
  NdtAlignResult whole;
  g_assert_true (ndt_backend_align (f.backend, 5, &params, &near, 1, &whole, NULL));
  guint n_found = 0;
  for (guint i = 0; i < 20; i++) {
    NdtSearchCost free = {0}, bound = {.most = 30};
    NdtAlignResult best;
    NdtPose guesses[8];
    double metres;
    for (guint k = 0; k < 8; k++)
      guesses[k] = off (&f.truth, rand, k == 5 ? 1 : 20, k == 5 ? 5 : 90);
    g_assert_true (ndt_search_far (f.backend, 5, &params, &none, guesses, 8, &best, &free, NULL));
    g_assert_cmpfloat (free.passes, >, 40);
    g_assert_cmpfloat (free.passes, <, free.evaluations);
    g_assert_true (ndt_search_far (f.backend, 5, &params, &none, guesses, 8, &best, &bound, NULL));
    g_assert_cmpfloat (bound.passes, <, 36);
    ndt_pose_difference (&best.pose, &whole.pose, &metres, NULL);
    n_found += metres < 0.05;
  }
  g_assert_cmpuint (n_found, >=, 18);
  tear_down (&f);
}

/* Off the map, and without one. */
static void
test_nothing_there (void)
{
  Fixture f;
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  const NdtBackendConfig config = {-1, 1, 0};
  NdtAlignResult best;
  NdtSearchCost cost = {0};
  set_up (&f, 1);
  NdtPose guess = f.truth;
  guess.position[0] += 5000;
  g_assert_true (ndt_search_far (f.backend, 5, &params, &none, &guess, 1, &best, &cost, NULL));
  g_assert_cmpuint (best.stop, ==, NDT_STOP_NO_PAIRS);
  g_assert_cmpmem (&best.pose, sizeof guess, &guess, sizeof guess);
  /* An empty slot. */
  g_assert_true (ndt_search_far (f.backend, 6, &params, &none, &guess, 1, &best, &cost, NULL));
  g_assert_cmpuint (best.stop, ==, NDT_STOP_NO_PAIRS);

  g_autoptr (NdtBackend) empty = ndt_backend_open_cpu (&config, NULL);
  g_autoptr (GError) error = NULL;
  g_assert_false (ndt_search_far (empty, 0, &params, &none, &guess, 1, &best, &cost, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MAP);
  tear_down (&f);
}

/* Two fifths of the scan's points, 600 to 1,500: docs/mathematics.md, "Far starts". */
static void
test_sizes (void)
{
  static const guint sizes[][2] = {
      {601, 600}, {1500, 600}, {2000, 800}, {3750, 1500}, {3800, 1500}, {130000, 1500}};
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    g_assert_cmpuint (ndt_sample_most (sizes[i][0]), ==, sizes[i][1]);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/search/sizes", test_sizes);
  g_test_add_func ("/search/leaves", test_leaves);
  g_test_add_func ("/search/spread", test_spread);
  g_test_add_func ("/search/sampled", test_sampled);
  g_test_add_func ("/search/astray", test_astray);
  g_test_add_func ("/search/bound", test_bound);
  g_test_add_func ("/search/nothing-there", test_nothing_there);
  return g_test_run ();
}
