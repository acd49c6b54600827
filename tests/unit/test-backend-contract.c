/* SPDX-License-Identifier: MIT */
/* The contract of a backend beside its numbers: threads, memory, errors. */
#include "backend-fixture.h"
#include "tests/ndt-limit.h"
#include "tests/ndt-wait.h"

/* ---- From other threads ---- */

typedef struct {
  NdtBackend *backend;
  NdtVoxelMap *maps[2];
  gint quit;
  guint n_swaps;
} Swapper;

static gpointer
swap_maps (gpointer data)
{
  Swapper *swapper = data;
  while (!g_atomic_int_get (&swapper->quit)) {
    g_assert_true (
        ndt_backend_set_map (swapper->backend, swapper->maps[swapper->n_swaps++ % 2], NULL));
    g_usleep (200);
  }
  return NULL;
}

/* An alignment sees one map from its start to its end. */
static void
test_set_map_meanwhile (void)
{
  g_autofree float *xyz = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 500, 9);
  NdtPose guess = truth;
  NdtAlignResult expected[2];
  guint seen[2] = {0, 0};
  Swapper swapper = {0};
  guess.position[1] += 0.2;
  for (guint m = 0; m < 2; m++) {
    swapper.maps[m] = ndt_test_scene_map (NDT_TEST_YARD, 30000 + 10000 * m, 2);
    g_autoptr (NdtBackend) backend = open_backend (1, swapper.maps[m]);
    set_scan (backend, 0, xyz, 500);
    expected[m] = align (backend, 0, &guess, 1);
  }
  g_assert_true (memcmp (&expected[0].sums, &expected[1].sums, sizeof expected[0].sums) != 0);
  g_autoptr (NdtBackend) backend = open_backend (2, swapper.maps[0]);
  set_scan (backend, 0, xyz, 500);
  swapper.backend = backend;
  GThread *thread = g_thread_new ("swap", swap_maps, &swapper);
  /* Many for ten seconds; each of the maps for as long as it takes. */
  const gint64 begin = g_get_monotonic_time ();
  for (guint i = 0;; i++) {
    const gint64 passed = g_get_monotonic_time () - begin;
    const gboolean seen_both = seen[0] > 0 && seen[1] > 0;
    if ((seen_both && (i >= 300 || passed > 10 * G_TIME_SPAN_SECOND)) ||
        passed > NDT_WAIT_SECONDS * G_TIME_SPAN_SECOND)
      break;
    const NdtAlignResult result = align (backend, 0, &guess, 1);
    const guint m = memcmp (&result.sums, &expected[0].sums, sizeof expected[0].sums) == 0 ? 0 : 1;
    assert_same_result (&result, &expected[m]);
    seen[m]++;
  }
  g_atomic_int_set (&swapper.quit, 1);
  g_thread_join (thread);
  g_assert_cmpuint (seen[0], >, 0);
  g_assert_cmpuint (seen[1], >, 0);
  ndt_voxel_map_unref (swapper.maps[0]);
  ndt_voxel_map_unref (swapper.maps[1]);
}

typedef struct {
  NdtBackend *backend;
  gint64 cancelled; /* when it was, in microseconds */
} Canceller;

static gpointer
cancel_soon (gpointer data)
{
  Canceller *canceller = data;
  g_usleep (20000);
  canceller->cancelled = g_get_monotonic_time ();
  ndt_backend_cancel (canceller->backend, TRUE);
  return NULL;
}

static void
test_cancel (void)
{
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 40000, 2);
  g_autoptr (NdtBackend) backend = open_backend (1, map);
  g_autofree float *xyz = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 3000, 10);
  const guint n = 20000; /* many seconds of work */
  g_autofree NdtStart *starts = g_new0 (NdtStart, n);
  g_autofree NdtAlignResult *results = g_new (NdtAlignResult, n);
  NdtSums sums;
  NdtBackendCounters counted, uncounted;
  set_scan (backend, 0, xyz, 3000);
  for (guint i = 0; i < n; i++) {
    starts[i].guess = truth;
    starts[i].approach = 3;
  }
  const NdtAlignResult before = align (backend, 0, &truth, 3);
  g_autoptr (GError) error = NULL, again = NULL, other = NULL;
  /* One evaluation is well below a millisecond. What else a machine does may take longer, but not
   * each time. */
  gint64 passed = G_MAXINT64;
  for (guint attempt = 0; attempt < 50 && passed > G_TIME_SPAN_SECOND / 2; attempt++) {
    Canceller canceller = {backend, 0};
    g_clear_error (&error);
    ndt_backend_cancel (backend, FALSE);
    GThread *thread = g_thread_new ("cancel", cancel_soon, &canceller);
    g_assert_false (ndt_backend_align (backend, 0, &default_params, starts, n, results, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
    const gint64 end = g_get_monotonic_time ();
    g_thread_join (thread);
    passed = end - canceller.cancelled;
  }
  g_assert_cmpint (passed, <=, G_TIME_SPAN_SECOND / 2);
  ndt_backend_get_counters (backend, &counted);
  g_assert_cmpuint (counted.alignments, <, n);
  g_assert_false (ndt_backend_align (backend, 0, &default_params, starts, 1, results, &again));
  g_assert_error (again, NDT_ERROR, NDT_ERROR_CANCELLED);
  /* What was cancelled is no alignment. */
  ndt_backend_get_counters (backend, &uncounted);
  g_assert_cmpuint (uncounted.alignments, ==, counted.alignments);
  g_assert_false (ndt_backend_evaluate (
      backend, 0, &default_params, 0, NDT_KIND_SCORE, &truth, 1, &sums, &other));
  g_assert_error (other, NDT_ERROR, NDT_ERROR_CANCELLED);
  ndt_backend_cancel (backend, FALSE);
  const NdtAlignResult after = align (backend, 0, &truth, 3);
  assert_same_result (&before, &after);
}

/* ---- Counters and arguments ---- */

static void
test_counters (void)
{
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 40000, 2);
  g_autoptr (NdtBackend) backend = open_backend (2, map);
  g_autofree float *xyz = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 5000, 11);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, 5000);
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  NdtBackendCounters empty, warm, after;
  guint64 evaluations = 0;
  filter.leaf_size = 0.5f;
  ndt_backend_get_counters (backend, &empty);
  g_assert_cmpuint (empty.scans + empty.alignments + empty.evaluations + empty.allocations, ==, 0);
  set_scan (backend, 0, xyz, 5000);
  g_assert_true (ndt_backend_set_scan (backend, 0, &view, &filter, NULL));
  align (backend, 0, &truth, 1);
  set_scan (backend, 0, xyz, 5000);
  align (backend, 0, &truth, 1);
  ndt_backend_get_counters (backend, &warm);
  g_assert_cmpuint (warm.allocations, >, 0);
  g_assert_cmpuint (warm.host_bytes, >, 5000 * 12);
  for (guint i = 0; i < 50; i++) {
    const NdtCloudView part = ndt_cloud_view_xyz_f32 (xyz, 5000 - i);
    g_assert_true (ndt_backend_set_scan (backend, 0, &part, i % 2 ? &filter : &no_filter, NULL));
    evaluations += align (backend, 0, &truth, i % 4).evaluations;
  }
  evaluate (backend, 0, &default_params, 0, NDT_KIND_SCORE, &truth);
  ndt_backend_get_counters (backend, &after);
  g_assert_cmpuint (after.allocations, ==, warm.allocations);
  g_assert_cmpuint (after.host_bytes, ==, warm.host_bytes);
  g_assert_cmpuint (after.scans, ==, warm.scans + 50);
  g_assert_cmpuint (after.alignments, ==, warm.alignments + 50);
  g_assert_cmpuint (after.evaluations, ==, warm.evaluations + evaluations + 1);
  g_assert_cmpuint (after.uploads + after.downloads + after.launches + after.device_bytes, ==, 0);
  g_assert_cmpstr (ndt_backend_get_name (backend), ==, "cpu");
}

/* A raw scan that is thinned takes memory for what is left of it, but for its coordinates. */
static void
test_memory_of_raw_scans (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1, NULL);
  const guint n = 100000;
  g_autofree float *xyz = ndt_test_scene_scan (NDT_TEST_YARD, &truth, n, 14);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n);
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  NdtBackendCounters counters;
  filter.leaf_size = 2;
  g_assert_true (ndt_backend_set_scan (backend, 0, &view, &filter, NULL));
  ndt_backend_get_counters (backend, &counters);
  /* Coordinates twice, order, leaves: below 200 bytes a point. */
  g_assert_cmpuint (counters.host_bytes, <, 200 * n);
}

/* What an alignment works with, 500 bytes a point, is there once, and of the scan that is aligned
 * last, and once more for a search's sample: results do not tell. */
static void
test_memory_of_slots (void)
{
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 60000, 1);
  g_autoptr (NdtBackend) backend = open_backend (1, map);
  const guint n = 4000;
  float *scans[3];
  NdtAlignResult alone[3];
  NdtBackendCounters counters;
  for (guint i = 0; i < 3; i++) {
    g_autoptr (NdtBackend) own = open_backend (1, map);
    scans[i] = ndt_test_scene_scan (NDT_TEST_YARD, &truth, n - i, 20 + i);
    set_scan (own, 0, scans[i], n - i);
    alone[i] = align (own, 0, &truth, i);
  }
  for (guint slot = 0; slot < NDT_MAX_SCANS; slot++)
    set_scan (backend, slot, scans[slot % 3], n - slot % 3);
  ndt_backend_get_counters (backend, &counters);
  g_assert_cmpuint (counters.host_bytes, <, 1000 * n + NDT_MAX_SCANS * 60 * n);
  for (guint slot = 0; slot < NDT_MAX_SCANS; slot++) {
    NdtAlignResult r = align (backend, slot, &truth, slot % 3);
    assert_same_result (&r, &alone[slot % 3]);
    r = align (backend, slot / 2, &truth, slot / 2 % 3);
    assert_same_result (&r, &alone[slot / 2 % 3]);
    /* To and fro, the sample another one each time. */
    if (slot % 8 == 0) {
      set_scan (backend, NDT_SEARCH_SLOT, scans[slot % 3], n / 8);
      const NdtAlignResult sampled = align (backend, NDT_SEARCH_SLOT, &truth, 0);
      r = align (backend, slot / 2, &truth, slot / 2 % 3);
      assert_same_result (&r, &alone[slot / 2 % 3]);
      r = align (backend, NDT_SEARCH_SLOT, &truth, 0);
      assert_same_result (&r, &sampled);
    }
    set_scan (backend, slot, scans[(slot + 1) % 3], n - (slot + 1) % 3);
    r = align (backend, slot, &truth, (slot + 1) % 3);
    assert_same_result (&r, &alone[(slot + 1) % 3]);
    set_scan (backend, slot, scans[slot % 3], n - slot % 3);
  }
  for (guint i = 0; i < 3; i++)
    g_free (scans[i]);
}

/* Without memory a scan is refused, and nothing else happens. */
static void
test_no_memory (void)
{
  if (g_getenv ("NDT_TEST_SANITIZER")) {
    g_test_skip ("sanitizers reserve more address space than a limit leaves");
    return;
  }
  if (!g_test_subprocess ()) {
    g_test_trap_subprocess (NULL, 0, 0);
    g_test_trap_assert_passed ();
    return;
  }
  /* The second has room for its points and not for what their alignment takes. */
  static const gsize sizes[] = {200000000, 1500000};
  static const float point[3] = {1, 2, 3};
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 60000, 1);
  g_autoptr (NdtBackend) backend = open_backend (1, map);
  g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 2000, 3);
  set_scan (backend, 0, scan, 2000);
  const NdtAlignResult before = align (backend, 0, &truth, 1);
  ndt_test_limit_memory (ndt_test_used_memory () + (300 << 20));
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const NdtCloudView huge = ndt_cloud_view (point, sizes[i], 0, 0, 4, 8, NDT_SCALAR_F32);
    g_autoptr (GError) error = NULL;
    guint n = 1;
    g_assert_false (ndt_backend_set_scan (backend, 1, &huge, &no_filter, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
    g_assert_true (ndt_backend_get_scan (backend, 1, NULL, 0, &n, NULL));
    g_assert_cmpuint (n, ==, 0);
    const NdtAlignResult after = align (backend, 0, &truth, 1);
    assert_same_result (&after, &before);
  }

  /* Nor are there threads without end. */
  ndt_test_limit_memory (ndt_test_used_memory () + (64 << 20));
  g_autoptr (NdtBackend) many = open_backend (1024, map);
  set_scan (many, 0, scan, 2000);
  const NdtAlignResult threaded = align (many, 0, &truth, 1);
  assert_same_result (&threaded, &before);
}

static void
test_no_map (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1, NULL);
  const NdtStart start = {.guess = truth, .approach = 0};
  const float xyz[3] = {1, 2, 3};
  NdtAlignResult result;
  NdtSums sums;
  g_autoptr (GError) error = NULL, other = NULL;
  set_scan (backend, 0, xyz, 1);
  g_assert_false (ndt_backend_align (backend, 0, &default_params, &start, 1, &result, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MAP);
  g_assert_false (ndt_backend_evaluate (
      backend, 0, &default_params, 0, NDT_KIND_SCORE, &truth, 1, &sums, &other));
  g_assert_error (other, NDT_ERROR, NDT_ERROR_NO_MAP);
}

static void
test_map_from_points (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1, NULL);
  g_autofree double *cloud = ndt_test_scene_cloud (NDT_TEST_YARD, 20000, 1000);
  g_autofree float *xyz = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 500, 12);
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (cloud, 20000);
  const NdtCloudView nothing = ndt_cloud_view_xyz_f64 (cloud, 0);
  const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (NdtVoxelMap) map = NULL;
  GError *error = NULL;
  ndt_backend_set_map_from_points (backend, &params, &view, &map, &error);
  g_assert_no_error (error);
  set_scan (backend, 0, xyz, 500);
  const NdtAlignResult a = align (backend, 0, &truth, 0);
  /* A map that cannot be built leaves the one that is set. */
  g_autoptr (GError) empty = NULL;
  g_assert_false (ndt_backend_set_map_from_points (backend, &params, &nothing, NULL, &empty));
  g_assert_error (empty, NDT_ERROR, NDT_ERROR_EMPTY_MAP);
  const NdtAlignResult b = align (backend, 0, &truth, 0);
  assert_same_result (&a, &b);
  g_autoptr (NdtBackend) other = open_backend (1, map);
  set_scan (other, 0, xyz, 500);
  const NdtAlignResult c = align (other, 0, &truth, 0);
  assert_same_result (&a, &c);
}

/* Nothing to align, nothing to align with: a status, not a crash. */
static void
test_no_pairs (void)
{
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 20000, 2);
  g_autoptr (NdtBackend) backend = open_backend (1, map);
  g_autofree float *xyz = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 300, 13);
  static const double far[] = {1e3, -1e6, 3e6, 1e9, -1e15, 1e300};
  for (guint approach = 0; approach < 4; approach++) {
    set_scan (backend, 0, xyz, 300);
    for (guint i = 0; i < 3 * G_N_ELEMENTS (far); i++) {
      NdtPose guess = truth;
      guess.position[i % 3] = far[i / 3];
      const NdtAlignResult result = align (backend, 0, &guess, approach);
      g_assert_cmpuint (result.stop, ==, NDT_STOP_NO_PAIRS);
      g_assert_true (memcmp (&result.pose, &guess, sizeof guess) == 0);
      g_assert_cmpuint (result.sums.n_pairs + result.sums.n_matched, ==, 0);
      g_assert_cmpfloat (result.sums.score, ==, 0);
    }
    set_scan (backend, 0, xyz, 0);
    const NdtAlignResult result = align (backend, 0, &truth, approach);
    g_assert_cmpuint (result.stop, ==, NDT_STOP_NO_PAIRS);
    g_assert_cmpuint (result.n_points, ==, 0);
    /* A slot that was never set is an empty scan. */
    g_assert_cmpuint (align (backend, 17, &truth, approach).stop, ==, NDT_STOP_NO_PAIRS);
    /* Points at the sensor say nothing about the turn; one point says little. */
    const float zero[6] = {0, 0, 0, 0, 0, 0}, one[3] = {3, 4, -1.8f};
    set_scan (backend, 0, zero, 2);
    g_assert_true (isfinite (align (backend, 0, &truth, approach).pose.position[0]));
    set_scan (backend, 0, one, 1);
    g_assert_true (isfinite (align (backend, 0, &truth, approach).pose.position[0]));
  }
}

static void
test_refused (void)
{
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 20000, 2);
  g_autoptr (NdtBackend) backend = open_backend (1, map);
  const float xyz[3] = {1, 2, 3};
  NdtAlignResult result;
  NdtSums sums;
  set_scan (backend, 0, xyz, 1);
  for (guint i = 0; i < 22; i++) {
    NdtAlignParams params = default_params;
    NdtStart start = {.guess = truth, .approach = 0};
    guint slot = 0, level = 0;
    gboolean of_align = TRUE;
    g_autoptr (GError) error = NULL, other = NULL;
    switch (i) {
    case 0:
      params.outlier_ratio = 0;
      break;
    case 1:
      params.outlier_ratio = 1;
      break;
    case 2:
      params.outlier_ratio = NAN;
      break;
    case 3:
      params.neighbours = (NdtNeighbours)4;
      break;
    case 4:
      params.max_iterations = 0;
      break;
    case 5:
      params.translation_epsilon = 0.9e-9;
      break;
    case 6:
      params.rotation_epsilon = -1;
      break;
    case 7:
      params.translation_epsilon = NAN;
      break;
    case 8:
      params.max_translation_step = 0;
      break;
    case 9:
      params.max_rotation_step = NAN;
      break;
    case 10:
      slot = NDT_N_SLOTS;
      break;
    case 11:
      start.guess.position[0] = NAN;
      break;
    case 12:
      start.guess.position[2] = INFINITY;
      break;
    case 13:
      start.guess.orientation[3] = 0.5;
      break;
    case 14:
      start.guess.orientation[0] = NAN;
      break;
    case 15:
      memset (start.guess.orientation, 0, sizeof start.guess.orientation);
      break;
    case 16:
      level = 3;
      of_align = FALSE;
      break;
    case 17:
      level = G_MAXUINT;
      of_align = FALSE;
      break;
    case 18:
      start.guess.orientation[1] = INFINITY;
      break;
    case 19:
      params.max_iterations = G_MAXUINT;
      break;
    case 20:
      slot = G_MAXUINT;
      break;
    case 21:
      params.method = (NdtMethod)(NDT_METHOD_LBFGS + 1);
      break;
    }
    if (of_align) {
      g_assert_false (ndt_backend_align (backend, slot, &params, &start, 1, &result, &error));
      g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    }
    g_assert_false (ndt_backend_evaluate (
        backend, slot, &params, level, NDT_KIND_SCORE, &start.guess, 1, &sums, &other));
    g_assert_error (other, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  }
  /* And works on. */
  align (backend, 0, &truth, 0);
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (GError) error = NULL;
  config.n_threads = 1025;
  g_assert_null (ndt_backend_open_cpu (&config, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
}

/* Field by field: bytes between them are whatever was there before. */
static void
test_params_equal (void)
{
  static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  static const struct {
    gsize at, size;
  } fields[] = {
#define FIELD(name) {offsetof (NdtAlignParams, name), sizeof (params.name)}
      FIELD (outlier_ratio), FIELD (neighbours), FIELD (max_iterations), FIELD (max_evaluations),
      FIELD (translation_epsilon), FIELD (rotation_epsilon), FIELD (max_translation_step),
      FIELD (max_rotation_step), FIELD (method), FIELD (clusters), FIELD (terms)};
#undef FIELD
  NdtAlignParams a, b;
  memset (&a, 0xff, sizeof a);
  memset (&b, 0, sizeof b);
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++) {
    const guint8 *from = (const guint8 *)&params + fields[i].at;
    memcpy ((guint8 *)&a + fields[i].at, from, fields[i].size);
    memcpy ((guint8 *)&b + fields[i].at, from, fields[i].size);
  }
  g_assert_true (ndt_align_params_equal (&a, &b));
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++) {
    guint8 *first = (guint8 *)&b + fields[i].at;
    *first ^= 1;
    g_assert_false (ndt_align_params_equal (&a, &b));
    *first ^= 1;
    g_assert_true (ndt_align_params_equal (&a, &b));
  }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/backend-contract/set-map-meanwhile", test_set_map_meanwhile);
  g_test_add_func ("/backend-contract/cancel", test_cancel);
  g_test_add_func ("/backend-contract/counters", test_counters);
  g_test_add_func ("/backend-contract/memory-of-raw-scans", test_memory_of_raw_scans);
  g_test_add_func ("/backend-contract/memory-of-slots", test_memory_of_slots);
  g_test_add_func ("/backend-contract/no-memory", test_no_memory);
  g_test_add_func ("/backend-contract/no-map", test_no_map);
  g_test_add_func ("/backend-contract/map-from-points", test_map_from_points);
  g_test_add_func ("/backend-contract/no-pairs", test_no_pairs);
  g_test_add_func ("/backend-contract/refused", test_refused);
  g_test_add_func ("/backend-contract/params-equal", test_params_equal);
  return g_test_run ();
}
