/* SPDX-License-Identifier: MIT */
/* What a CUDA backend counts, refuses and survives. */
#include "gpu-backends.h"
#include "gpu-scene.h"

static guint64
get_free_memory (void)
{
#ifdef HAVE_NDT_CUDA
  return ndt_cuda_testing_get_free_memory ();
#else
  return 0;
#endif
}

/* After the first alignment nothing is allocated, one synchronization an alignment, and nothing
 * goes up or down while it iterates. Returns whether device memory stayed as it was: a leak of 100
 * bytes an alignment takes 1 MB, and other processes on the device may take more. */
static gboolean
count_some (NdtBackend *cuda, const Scene *s, GRand *rand, guint n)
{
  g_autoptr (GError) error = NULL;
  const NdtCloudView view = scene_view (s);
  NdtBackendCounters before, after;
  NdtStart start = {.guess = s->truth, .approach = 0};
  NdtAlignResult result;
  ndt_backend_get_counters (cuda, &before);
  const guint64 n_free = get_free_memory ();
  for (guint i = 0; i < n; i++) {
    ndt_backend_cancel (cuda, FALSE); /* as an element says after each batch: no command */
    start.guess = scene_guess (s, rand, 0.2, 0.02);
    g_assert_true (ndt_backend_set_scan (cuda, 0, &view, &no_filter, &error));
    scene_align (cuda, &start, 1, &result);
    g_assert_cmpint (result.stop, ==, NDT_STOP_CONVERGED);
  }
  ndt_backend_get_counters (cuda, &after);
  g_assert_cmpuint (after.alignments - before.alignments, ==, n);
  g_assert_cmpuint (after.evaluations - before.evaluations, >, 3 * n);
  g_assert_cmpuint (after.allocations, ==, before.allocations);
  g_assert_cmpuint (after.device_bytes, ==, before.device_bytes);
  g_assert_cmpuint (after.host_bytes, ==, before.host_bytes);
  g_assert_cmpuint (after.synchronizations - before.synchronizations, ==, n);
  g_assert_cmpuint (after.launches - before.launches, ==, n);
  g_assert_cmpuint (after.uploads - before.uploads, ==, n);
  g_assert_cmpuint (after.upload_bytes - before.upload_bytes, ==, (guint64)n * s->n * 12);
  g_assert_cmpuint (after.downloads - before.downloads, ==, n);
  return get_free_memory () >= n_free - MIN (n_free, 1 << 20);
}

static void
check_counters (guint n)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  Scene s = scene_new (40, 30000, 1000, 2, NULL);
  GRand *rand = g_rand_new_with_seed (8);
  const NdtStart start = {.guess = s.truth, .approach = 0};
  NdtAlignResult result;
  gboolean stayed = FALSE;
  scene_give (cuda, &s);
  scene_align (cuda, &start, 1, &result);
  for (guint round = 0; round < 5 && !stayed; round++)
    stayed = count_some (cuda, &s, rand, n);
  g_assert_true (stayed);
  g_rand_free (rand);
  scene_clear (&s);
}

static void
test_counters (void)
{
  check_counters (g_test_quick () ? 10000 : 100000);
  for (scene_method = NDT_METHOD_LM; scene_method <= NDT_METHOD_LBFGS; scene_method++)
    check_counters (1000);
  scene_method = NDT_METHOD_NEWTON;
}

/* Empty scans, scans off the map, poses beyond its cells. */
static void
test_edges (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (40, 30000, 500, 2, NULL);
  NdtBackend *backends[] = {cpu, cuda};
  static const double far_away[] = {0, 1e4, 1e7, 1e300};
  for (guint b = 0; b < 2; b++) {
    NdtAlignResult result;
    NdtStart start = {.guess = s.truth, .approach = 3};
    const NdtCloudView empty = ndt_cloud_view_xyz_f32 (s.scan, 0);
    g_assert_false (
        ndt_backend_align (backends[b], 0, &default_params, &start, 1, &result, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MAP);
    g_clear_error (&error);
    scene_give (backends[b], &s);
    for (guint i = 0; i < G_N_ELEMENTS (far_away); i++) {
      if (i == 0)
        g_assert_true (ndt_backend_set_scan (backends[b], 0, &empty, &no_filter, &error));
      else
        scene_give (backends[b], &s);
      start.guess = s.truth;
      start.guess.position[0] += far_away[i];
      scene_align (backends[b], &start, 1, &result);
      g_assert_cmpint (result.stop, ==, NDT_STOP_NO_PAIRS);
      g_assert_cmpuint (result.n_points, ==, i == 0 ? 0 : s.n);
      g_assert_cmpuint (result.sums.n_pairs, ==, 0);
      g_assert_cmpfloat (result.pose.position[0], ==, start.guess.position[0]);
    }
    ndt_backend_cancel (backends[b], TRUE);
    g_assert_false (
        ndt_backend_align (backends[b], 0, &default_params, &start, 1, &result, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
    g_clear_error (&error);
    ndt_backend_cancel (backends[b], FALSE);
    start.guess = s.truth;
    scene_align (backends[b], &start, 1, &result);
    g_assert_cmpint (result.stop, ==, NDT_STOP_CONVERGED);
  }
  scene_clear (&s);
}

static gpointer
cancel_soon (gpointer backend)
{
  g_usleep (3000);
  ndt_backend_cancel (backend, TRUE);
  return NULL;
}

/* A batch that would take long ends soon. */
static void
check_cancel (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (60, 60000, 20000, 2, NULL);
  enum { N = 4000 };
  NdtStart *starts = g_new0 (NdtStart, N);
  NdtAlignResult *results = g_new (NdtAlignResult, N);
  GRand *rand = g_rand_new_with_seed (8);
  for (guint i = 0; i < N; i++) {
    starts[i].guess = scene_guess (&s, rand, 2, 0.2);
    starts[i].approach = 3;
  }
  scene_give (cuda, &s);
  scene_align (cuda, starts, 1, results);
  gint64 before = g_get_monotonic_time ();
  scene_align (cuda, starts, N, results);
  const gint64 whole = g_get_monotonic_time () - before;
  GThread *thread = g_thread_new ("cancel", cancel_soon, cuda);
  before = g_get_monotonic_time ();
  NdtAlignParams params = default_params;
  params.method = scene_method;
  g_assert_false (ndt_backend_align (cuda, 0, &params, starts, N, results, &error));
  const gint64 cancelled = g_get_monotonic_time () - before;
  g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
  g_thread_join (thread);
  g_test_message ("%u starts: %.1f ms, cancelled after %.1f ms", N, 1e-3 * (double)whole,
      1e-3 * (double)cancelled);
  g_assert_cmpint (cancelled, <, whole / 2);
  ndt_backend_cancel (cuda, FALSE);
  scene_align (cuda, starts, 1, results);
  g_rand_free (rand);
  g_free (starts);
  g_free (results);
  scene_clear (&s);
}

static void
test_cancel (void)
{
  for (scene_method = NDT_METHOD_NEWTON; scene_method <= NDT_METHOD_LBFGS; scene_method++)
    check_cancel ();
  scene_method = NDT_METHOD_NEWTON;
}

/* Each allocation refused in turn: other memory does, or there is an error and the next try works.
 * A failed launch ends the backend, and it says so. */
static void
test_failures (void)
{
  g_autoptr (NdtBackend) probe = open_cuda (0);
  if (!probe)
    return;
#ifdef HAVE_NDT_CUDA
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  static const NdtScanFilter filter = {1, 100, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f};
  Scene s = scene_new (40, 30000, 2000, 2, NULL);
  const NdtCloudView view = scene_view (&s);
  NdtStart starts[3] = {
      {.guess = s.truth}, {.guess = s.truth, .approach = 1}, {.guess = s.truth, .approach = 2}};
  NdtAlignResult results[3];
  gboolean failed = TRUE;
  guint n_refused = 0;
  for (guint n = 1; n <= 24; n++) {
    gchar text[32];
    GError *error = NULL;
    NdtBackend *backend;
    g_snprintf (text, sizeof (text), "alloc:%u", n);
    TEST_CUDA (FAIL, text);
    backend = ndt_cuda_backend_open (&config, &error);
    failed = backend == NULL;
    if (backend) {
      for (guint try = 0; try < 2; try++) {
        g_clear_error (&error);
        if (!ndt_backend_set_map (backend, s.map, &error) ||
            !ndt_backend_set_scan (backend, 0, &view, &filter, &error) ||
            !ndt_backend_align (backend, 0, &default_params, starts, 3, results, &error)) {
          g_assert_cmpuint (try, ==, 0);
          failed = TRUE;
        } else {
          for (guint i = 0; i < 3; i++)
            g_assert_cmpint (results[i].stop, ==, NDT_STOP_CONVERGED);
          if (try == 0)
            break;
        }
        if (error)
          g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
      }
      ndt_backend_close (backend);
    } else {
      g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
    }
    n_refused += failed;
    g_clear_error (&error);
  }
  /* Of the backend's state, and page-locked memory for signals, scan, starts and results. */
  g_assert_cmpuint (n_refused, >=, 5);
  g_assert_false (failed);

  {
    GError *error = NULL;
    g_autoptr (NdtBackend) backend = ndt_cuda_backend_open (&config, &error);
    g_assert_no_error (error);
    g_assert_true (ndt_backend_set_map (backend, s.map, &error));
    g_assert_true (ndt_backend_set_scan (backend, 0, &view, &no_filter, &error));
    g_assert_true (ndt_backend_align (backend, 0, &default_params, starts, 1, results, &error));
    TEST_CUDA (FAIL, "launch:1");
    g_assert_false (ndt_backend_align (backend, 0, &default_params, starts, 1, results, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_DEVICE);
    g_clear_error (&error);
    TEST_CUDA (FAIL, NULL);
    g_assert_false (ndt_backend_set_scan (backend, 0, &view, &no_filter, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_DEVICE);
    g_clear_error (&error);
  }
  TEST_CUDA (FAIL, NULL);

  scene_clear (&s);
#endif
}

/* What is beyond a budget lies in the host's memory: the same answers, to the bit, and never more
 * of the device's. Sizes from nothing to more than enough. */
static void
test_budgets (void)
{
  static const guint64 budgets[] = {1, 200000, 3 << 20, 12 << 20, 256 << 20};
  static const NdtScanFilter filter = {1, 100, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f};
  enum { N = 5000, N_THIN = 60000 };
  g_autoptr (NdtBackend) all = open_cuda (0);
  if (!all)
    return;
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (150, 400000, N_THIN, 1, NULL);
  const NdtCloudView view = scene_view (&s);
  const NdtCloudView points = ndt_cloud_view_xyz_f64 (s.points, s.n_map_points);
  NdtStart *starts = g_new0 (NdtStart, N);
  NdtAlignResult *a = g_new0 (NdtAlignResult, N), *b = g_new0 (NdtAlignResult, N);
  float *xyz[2] = {g_new (float, 3 * N_THIN), g_new (float, 3 * N_THIN)};
  g_autoptr (NdtVoxelMap) built = NULL;
  guint n[2];
  GRand *rand = g_rand_new_with_seed (6);
  for (guint i = 0; i < N; i++) {
    starts[i].guess = scene_guess (&s, rand, 0.5, 0.05);
    starts[i].approach = i % 4;
  }
  g_assert_true (ndt_backend_set_map_from_points (all, &s.params, &points, &built, &error));
  g_assert_true (ndt_backend_set_scan (all, 0, &view, &filter, &error));
  g_assert_true (ndt_backend_get_scan (all, 0, xyz[0], N_THIN, &n[0], &error));
  g_assert_cmpuint (n[0], >, 5000);
  scene_align (all, starts, 100, a);
  for (guint i = 0; i < G_N_ELEMENTS (budgets); i++) {
    g_autoptr (NdtBackend) some = open_cuda (budgets[i]);
    g_autoptr (NdtVoxelMap) other = NULL;
    NdtBackendCounters counters, before;
    ndt_backend_get_counters (some, &before);
    for (guint round = 0; round < 2; round++) {
      /* A map made there, and the same uploaded. */
      if (round == 0)
        g_assert_true (ndt_backend_set_map_from_points (some, &s.params, &points, &other, &error));
      else
        g_assert_true (ndt_backend_set_map (some, built, &error));
      g_assert_no_error (error);
      g_assert_true (ndt_backend_set_scan (some, 0, &view, &filter, &error));
      g_assert_true (ndt_backend_get_scan (some, 0, xyz[1], N_THIN, &n[1], &error));
      g_assert_cmpmem (xyz[0], 12 * (gsize)n[0], xyz[1], 12 * (gsize)n[1]);
      scene_align (some, starts, 100, b);
      g_assert_cmpmem (a, 100 * sizeof (a[0]), b, 100 * sizeof (b[0]));
      scene_align (some, starts, 1, b);
      g_assert_cmpmem (a, sizeof (a[0]), b, sizeof (b[0]));
    }
    for (guint l = 0; l < 3; l++) {
      const NdtVoxelLevel *x = ndt_voxel_map_get_level (built, l),
                          *y = ndt_voxel_map_get_level (other, l);
      g_assert_cmpmem (
          x->voxels, x->n_voxels * sizeof (NdtVoxel), y->voxels, y->n_voxels * sizeof (NdtVoxel));
    }
    ndt_backend_get_counters (some, &counters);
    g_assert_cmpuint (counters.device_bytes, <=, MAX (budgets[i], before.device_bytes));
    g_test_message ("budget %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT
                    " bytes on the device, %" G_GUINT64_FORMAT " on the host",
        budgets[i], counters.device_bytes, counters.host_bytes);
  }
  /* More starts than one launch takes. */
  scene_align (all, starts, N, b);
  g_assert_cmpmem (a, 100 * sizeof (a[0]), b, 100 * sizeof (b[0]));
  scene_align (all, starts + N - 7, 7, a);
  g_assert_cmpmem (a, 7 * sizeof (a[0]), b + N - 7, 7 * sizeof (b[0]));
  g_rand_free (rand);
  g_free (starts);
  g_free (a);
  g_free (b);
  g_free (xyz[0]);
  g_free (xyz[1]);
  scene_clear (&s);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/faults/counters", test_counters);
  g_test_add_func ("/gpu/faults/edges", test_edges);
  g_test_add_func ("/gpu/faults/cancel", test_cancel);
  g_test_add_func ("/gpu/faults/failures", test_failures);
  g_test_add_func ("/gpu/faults/budgets", test_budgets);
  return g_test_run ();
}
