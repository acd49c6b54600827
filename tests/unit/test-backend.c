/* SPDX-License-Identifier: MIT */
/* The CPU backend against the formulas of ndt-formulas.h, and the promises of ndt-backend.h. */
#include "ndtcore/align/ndt-backend.h"

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/align/ndt-kernel.h"
#include "tests/ndt-limit.h"
#include "tests/ndt-scene.h"
#include "tests/ndt-wait.h"

static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
static const NdtAlignParams default_params = NDT_ALIGN_PARAMS_DEFAULT;
static const NdtPose truth = {{1.5, -2.25, 1.8}, {0, 0, 0.14943813247359922, 0.98877107793604224}};

static NdtBackend *
open_backend (guint n_threads, NdtVoxelMap *map)
{
  const NdtBackendConfig config = {-1, n_threads, 0};
  GError *error = NULL;
  NdtBackend *backend = ndt_backend_open_cpu (&config, &error);
  g_assert_no_error (error);
  if (map)
    g_assert_true (ndt_backend_set_map (backend, map, NULL));
  return backend;
}

static void
set_scan (NdtBackend *backend, guint slot, const float *xyz, guint n)
{
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n);
  g_assert_true (ndt_backend_set_scan (backend, slot, &view, &no_filter, NULL));
}

static NdtSums
evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level, NdtKind kind,
    const NdtPose *pose)
{
  GError *error = NULL;
  NdtSums sums;
  ndt_backend_evaluate (backend, slot, params, level, kind, pose, 1, &sums, &error);
  g_assert_no_error (error);
  return sums;
}

static NdtAlignResult
align (NdtBackend *backend, guint slot, const NdtPose *guess, guint approach)
{
  const NdtStart start = {.guess = *guess, .approach = approach};
  GError *error = NULL;
  NdtAlignResult result;
  ndt_backend_align (backend, slot, &default_params, &start, 1, &result, &error);
  g_assert_no_error (error);
  return result;
}

static void
assert_same_result (const NdtAlignResult *a, const NdtAlignResult *b)
{
  g_assert_true (memcmp (&a->pose, &b->pose, sizeof a->pose) == 0);
  g_assert_true (memcmp (&a->sums, &b->sums, sizeof a->sums) == 0);
  g_assert_cmpuint (a->iterations, ==, b->iterations);
  g_assert_cmpuint (a->evaluations, ==, b->evaluations);
  g_assert_cmpuint (a->oscillation, ==, b->oscillation);
  g_assert_cmpuint (a->stop, ==, b->stop);
}

/* ---- A reference: the pairs by the rule in float, the rest in double ---- */

typedef struct {
  double p[3]; /* sensor frame */
  double mean[3];
  double icov[6];
  guint point;
} Pair;

static GArray *
find_pairs (const NdtVoxelLevel *level, NdtNeighbours neighbours, NdtKind kind, const NdtPose *pose,
    const float *xyz, guint n)
{
  const float r = (float)level->resolution, inverse = (float)(1 / level->resolution);
  GArray *pairs = g_array_new (FALSE, FALSE, sizeof (Pair));
  NdtTransformF transform;
  if (kind == NDT_KIND_LEAST_SQUARES)
    neighbours = NDT_NEIGHBOURS_DIRECT7;
  g_assert_true (
      ndt_transform_f_init (&transform, pose, pose->position, level->resolution, level->origin));
  for (guint i = 0; i < n; i++) {
    float a[3], cell[3], local[3];
    ndt_rotate_f (&transform, xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2], a);
    for (guint k = 0; k < 3; k++) {
      cell[k] = ndt_cell_f (a[k] + transform.t[k], inverse);
      local[k] = ndt_local_f (a[k] + transform.t[k], cell[k], r);
    }
    for (gint d = 0; d < 27; d++) {
      const gint offset[3] = {d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1};
      const gint n_off = (offset[0] != 0) + (offset[1] != 0) + (offset[2] != 0);
      gint32 c[3];
      float q[3];
      if ((neighbours == NDT_NEIGHBOURS_DIRECT1 && n_off > 0) ||
          (neighbours == NDT_NEIGHBOURS_DIRECT7 && n_off > 1))
        continue;
      for (guint k = 0; k < 3; k++)
        c[k] = (gint32)cell[k] + transform.anchor[k] + offset[k];
      const gint64 found = ndt_voxel_level_find (level, c[0], c[1], c[2]);
      if (found < 0)
        continue;
      const NdtVoxel *v = &level->voxels[found];
      for (guint k = 0; k < 3; k++)
        q[k] = local[k] - ndt_neighbour_mean_f (v->mean[k], (float)offset[k], r);
      if (neighbours == NDT_NEIGHBOURS_RADIUS && !(ndt_square_f (q) < r * r))
        continue;
      Pair pair = {.point = i};
      for (guint k = 0; k < 3; k++) {
        pair.p[k] = (double)xyz[3 * i + k];
        pair.mean[k] =
            (double)v->mean[k] + level->resolution * (double)(level->origin[k] + v->cell[k]);
      }
      for (guint k = 0; k < 6; k++)
        pair.icov[k] = (double)v->icov[k];
      g_array_append_val (pairs, pair);
    }
  }
  return pairs;
}

/* Sums over frozen pairs, and of their magnitudes. */
static void
sum_pairs (const GArray *pairs, const NdtGauss *gauss, double resolution, NdtKind kind,
    const NdtPose *pose, NdtSums *sums, NdtSums *magnitudes)
{
  memset (sums, 0, sizeof (*sums));
  memset (magnitudes, 0, sizeof (*magnitudes));
  double best = 0;
  for (guint i = 0; i < pairs->len; i++) {
    const Pair *pair = &g_array_index (pairs, Pair, i);
    NdtPairSums_d s = {0};
    double a[3], q[3], g[6], h[21];
    ndt_quat_rotate (pose->orientation, pair->p, a);
    for (guint k = 0; k < 3; k++)
      q[k] = a[k] + (pose->position[k] - pair->mean[k]);
    if (kind == NDT_KIND_SCORE)
      ndt_pair_score_d (&s, q, pair->icov, gauss->d1, gauss->d2);
    else
      ndt_pair_least_squares_d (&s, q, pair->icov, resolution * resolution);
    ndt_point_derivatives_d (&s, a, kind == NDT_KIND_SCORE, g, h);
    sums->score += s.s;
    for (guint k = 0; k < 6; k++) {
      sums->gradient[k] += g[k];
      magnitudes->gradient[k] += fabs (g[k]);
    }
    for (guint k = 0; k < 21; k++) {
      sums->hessian[k] += h[k];
      magnitudes->hessian[k] += fabs (h[k]);
    }
    sums->n_pairs++;
    best = MAX (best, s.s);
    if (i + 1 == pairs->len || g_array_index (pairs, Pair, i + 1).point != pair->point) {
      sums->n_matched++;
      sums->nvtl += kind == NDT_KIND_SCORE ? best : 0;
      best = 0;
    }
  }
}

/* Relative error that float arithmetic may leave: q comes of a subtraction at up to 20 m (2e-6 m of
 * rounding, 1e-4 standard deviations of 2 cm), and five deviations away that changes the term by
 * d2 · 5 · 1e-4. Terms farther down the bell have more; a thousandth of a pair at its top is
 * allowed for that. */
#define FLOAT_ERROR 4e-4
#define TAIL 1e-3

static void
check_against_reference (NdtBackend *backend, NdtVoxelMap *map, const NdtAlignParams *params,
    guint level_index, NdtKind kind, const NdtPose *pose, const float *xyz, guint n)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, level_index);
  const NdtGauss gauss = ndt_gauss (params->outlier_ratio, level->resolution);
  g_autoptr (GArray) pairs = find_pairs (level, params->neighbours, kind, pose, xyz, n);
  NdtSums expected, magnitudes;
  sum_pairs (pairs, &gauss, level->resolution, kind, pose, &expected, &magnitudes);
  const NdtSums sums = evaluate (backend, 0, params, level_index, kind, pose);
  g_assert_cmpuint (sums.n_pairs, ==, expected.n_pairs);
  g_assert_cmpuint (sums.n_matched, ==, expected.n_matched);
  g_assert_cmpfloat (fabs (sums.score - expected.score), <=,
      FLOAT_ERROR * (expected.score + TAIL * (double)expected.n_pairs));
  g_assert_cmpfloat (fabs (sums.nvtl - expected.nvtl), <=,
      FLOAT_ERROR * (expected.nvtl + TAIL * (double)expected.n_pairs));
  for (guint k = 0; k < 6; k++)
    g_assert_cmpfloat (fabs (sums.gradient[k] - expected.gradient[k]), <=,
        FLOAT_ERROR * (magnitudes.gradient[k] + TAIL * (double)expected.n_pairs));
  for (guint k = 0; k < 21; k++)
    g_assert_cmpfloat (fabs (sums.hessian[k] - expected.hessian[k]), <=,
        FLOAT_ERROR * (magnitudes.hessian[k] + TAIL * (double)expected.n_pairs));
  if (kind != NDT_KIND_SCORE)
    return;
  /* The gradient by central differences of the double score with these pairs frozen. */
  for (guint k = 0; k < 6; k++) {
    const double step = k < 3 ? 1e-6 : 1e-7;
    double delta[6] = {0};
    NdtSums plus, minus, unused;
    delta[k] = step;
    NdtPose moved = ndt_pose_retracted (pose, delta);
    sum_pairs (pairs, &gauss, level->resolution, kind, &moved, &plus, &unused);
    delta[k] = -step;
    moved = ndt_pose_retracted (pose, delta);
    sum_pairs (pairs, &gauss, level->resolution, kind, &moved, &minus, &unused);
    g_assert_cmpfloat (fabs ((plus.score - minus.score) / (2 * step) - sums.gradient[k]), <=,
        FLOAT_ERROR * (magnitudes.gradient[k] + TAIL * (double)expected.n_pairs) +
            1e-5 * fabs (expected.score));
  }
}

static void
test_evaluate (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  static const guint sizes[] = {1, 15, 16, 17, 127, 128, 129, 400, 1000};
  static const double resolutions[] = {0.7, 2};
  g_autofree float *xyz = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 1000, 5);
  guint64 n_pairs = 0;
  for (guint r = 0; r < 2; r++) {
    g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 120000, resolutions[r]);
    g_autoptr (NdtBackend) backend = open_backend (1, map);
    for (guint run = 0; run < 8 * G_N_ELEMENTS (sizes); run++) {
      NdtAlignParams params = default_params;
      NdtPose pose = truth;
      double delta[6];
      for (guint k = 0; k < 6; k++)
        delta[k] = ndt_test_normal (rand) * (k < 3 ? 0.3 : 0.05);
      ndt_pose_retract (&pose, delta, &pose);
      const guint n = sizes[run % G_N_ELEMENTS (sizes)];
      params.neighbours = (NdtNeighbours)(run / G_N_ELEMENTS (sizes) % 4);
      params.outlier_ratio = run % 2 ? 0.55 : 0.2;
      set_scan (backend, 0, xyz, n);
      for (guint level = 0; level < 3; level++) {
        check_against_reference (backend, map, &params, level, NDT_KIND_SCORE, &pose, xyz, n);
        check_against_reference (
            backend, map, &params, level, NDT_KIND_LEAST_SQUARES, &pose, xyz, n);
        n_pairs += evaluate (backend, 0, &params, level, NDT_KIND_SCORE, &pose).n_pairs;
      }
    }
  }
  g_assert_cmpuint (n_pairs, >, 100000); /* the scene is one */
}

/* What the caches keep between evaluations must not show: jumps to and fro, more cells than lists,
 * other levels, neighbours and maps in between. */
static void
test_caches (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  g_autofree float *xyz = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 700, 6);
  g_autoptr (NdtVoxelMap) fine = ndt_test_scene_map (NDT_TEST_YARD, 150000, 0.5);
  g_autoptr (NdtVoxelMap) coarse = ndt_test_scene_map (NDT_TEST_YARD, 120000, 0.5);
  g_autoptr (NdtBackend) used = open_backend (1, fine);
  guint64 n_pairs = 0;
  set_scan (used, 0, xyz, 700);
  for (guint run = 0; run < 300; run++) {
    NdtAlignParams params = default_params;
    NdtVoxelMap *map = run % 7 == 0 ? coarse : fine;
    const guint level = run % 11 == 0 ? 1 : 0;
    const NdtKind kind = run % 5 == 0 ? NDT_KIND_LEAST_SQUARES : NDT_KIND_SCORE;
    NdtPose pose = truth;
    double delta[6];
    params.neighbours = (NdtNeighbours)(run % 13 < 9 ? 0 : run % 4);
    for (guint k = 0; k < 6; k++)
      delta[k] = ndt_test_normal (rand) * (run % 3 ? 0.01 : 0.5);
    ndt_pose_retract (&pose, delta, &pose);
    g_assert_true (ndt_backend_set_map (used, map, NULL));
    const NdtSums a = evaluate (used, 0, &params, level, kind, &pose);
    g_autoptr (NdtBackend) fresh = open_backend (1, map);
    set_scan (fresh, 0, xyz, 700);
    const NdtSums b = evaluate (fresh, 0, &params, level, kind, &pose);
    g_assert_true (memcmp (&a, &b, sizeof a) == 0);
    n_pairs += a.n_pairs;
  }
  g_assert_cmpuint (n_pairs, >, 100000);
}

/* All kernels that this processor runs. */
static void
test_kernels (void)
{
  static const gchar *const names[] = {"generic", "avx2", "avx512"};
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 40000, 1);
  g_autofree float *xyz = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 2000, 7);
  g_autofree gchar *before = g_strdup (g_getenv ("NDT_KERNEL"));
  NdtBackend *backends[3];
  guint n = 0;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    const gchar *chosen;
    g_setenv ("NDT_KERNEL", names[i], TRUE);
    ndt_kernel_choose (&chosen);
    if (!g_str_equal (chosen, names[i])) {
      g_test_message ("this processor has no %s", names[i]);
      continue;
    }
    backends[n] = open_backend (1, map);
    set_scan (backends[n++], 0, xyz, 2000);
  }
  if (before)
    g_setenv ("NDT_KERNEL", before, TRUE);
  else
    g_unsetenv ("NDT_KERNEL");

  for (guint run = 0; run < 60; run++) {
    NdtAlignParams params = default_params;
    NdtPose pose = truth;
    double delta[6];
    const NdtKind kind = run % 5 ? NDT_KIND_SCORE : NDT_KIND_LEAST_SQUARES;
    params.neighbours = (NdtNeighbours)(run % 4);
    for (guint k = 0; k < 6; k++)
      delta[k] = ndt_test_normal (rand) * (k < 3 ? 0.2 : 0.03);
    ndt_pose_retract (&pose, delta, &pose);
    const NdtSums first = evaluate (backends[0], 0, &params, run % 3, kind, &pose);
    for (guint i = 1; i < n; i++) {
      const NdtSums other = evaluate (backends[i], 0, &params, run % 3, kind, &pose);
      g_assert_cmpuint (other.n_pairs, ==, first.n_pairs);
      g_assert_cmpuint (other.n_matched, ==, first.n_matched);
      /* They differ in contraction alone. */
      g_assert_cmpfloat (fabs (other.score - first.score), <=, 1e-5 * first.score);
      g_assert_cmpfloat (fabs (other.nvtl - first.nvtl), <=, 1e-5 * first.nvtl);
      double size[2] = {0, 0};
      for (guint k = 0; k < 6; k++)
        size[k / 3] += fabs (first.hessian[NDT_H6 (k, k)]);
      for (guint k = 0; k < 6; k++)
        g_assert_cmpfloat (fabs (other.hessian[NDT_H6 (k, k)] - first.hessian[NDT_H6 (k, k)]), <=,
            1e-5 * size[k / 3]);
    }
  }
  /* And they find the same place. */
  NdtPose guess = truth;
  guess.position[0] += 0.3;
  const NdtAlignResult first = align (backends[0], 0, &guess, 0);
  for (guint i = 1; i < n; i++) {
    const NdtAlignResult other = align (backends[i], 0, &guess, 0);
    double m, r;
    ndt_pose_difference (&first.pose, &other.pose, &m, &r);
    g_assert_cmpfloat (m, <, 1e-4);
    g_assert_cmpfloat (r, <, 2e-5);
  }
  for (guint i = 0; i < n; i++)
    ndt_backend_close (backends[i]);
}

/* ---- Reproducible ---- */

static void
test_threads (void)
{
  static const guint threads[] = {1, 2, 3, 7, 64, 0};
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 40000, 2);
  g_autofree float *xyz = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 3000, 8);
  const NdtPose guess = {{1.1, -2, 1.9}, {0, 0.02, 0.1, 0.99479}};
  NdtPose unit = guess;
  NdtAlignResult expected[4];
  ndt_pose_normalize (&unit);
  for (guint t = 0; t < G_N_ELEMENTS (threads); t++) {
    g_autoptr (NdtBackend) backend = open_backend (threads[t], map);
    for (guint repeat = 0; repeat < 3; repeat++) {
      NdtStart starts[4] = {0};
      NdtAlignResult results[4];
      set_scan (backend, 0, xyz, 3000);
      for (guint a = 0; a < 4; a++) {
        starts[a].guess = unit;
        starts[a].approach = a;
        const NdtAlignResult result = align (backend, 0, &unit, a);
        if (t == 0 && repeat == 0)
          expected[a] = result;
        assert_same_result (&result, &expected[a]);
        g_assert_cmpuint (result.stop, ==, NDT_STOP_CONVERGED);
      }
      /* Several starts in one call, each as if alone. */
      g_assert_true (ndt_backend_align (backend, 0, &default_params, starts, 4, results, NULL));
      for (guint a = 0; a < 4; a++)
        assert_same_result (&results[a], &expected[a]);
    }
  }
}

static void
test_slots (void)
{
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 40000, 2);
  g_autoptr (NdtBackend) all = open_backend (2, map);
  float *scans[NDT_MAX_SCANS];
  for (guint slot = 0; slot < NDT_MAX_SCANS; slot++) {
    scans[slot] = ndt_test_scene_scan (NDT_TEST_YARD, &truth, 200 + 10 * slot, 100 + slot);
    set_scan (all, slot, scans[slot], 200 + 10 * slot);
  }
  for (guint i = 0; i < NDT_MAX_SCANS; i++) {
    const guint slot = i * 29 % NDT_MAX_SCANS;
    g_autoptr (NdtBackend) alone = open_backend (1, map);
    set_scan (alone, 0, scans[slot], 200 + 10 * slot);
    const NdtAlignResult a = align (all, slot, &truth, slot % 4);
    const NdtAlignResult b = align (alone, 0, &truth, slot % 4);
    assert_same_result (&a, &b);
    g_assert_cmpuint (a.n_points, ==, 200 + 10 * slot);
    /* Another slot is set again meanwhile. */
    set_scan (all, (slot + 1) % NDT_MAX_SCANS, scans[(slot + 1) % NDT_MAX_SCANS],
        200 + 10 * ((slot + 1) % NDT_MAX_SCANS));
  }
  for (guint slot = 0; slot < NDT_MAX_SCANS; slot++)
    g_free (scans[slot]);
}

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
  for (guint i = 0; i < 21; i++) {
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

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/backend/evaluate", test_evaluate);
  g_test_add_func ("/backend/caches", test_caches);
  g_test_add_func ("/backend/kernels", test_kernels);
  g_test_add_func ("/backend/threads", test_threads);
  g_test_add_func ("/backend/slots", test_slots);
  g_test_add_func ("/backend/set-map-meanwhile", test_set_map_meanwhile);
  g_test_add_func ("/backend/cancel", test_cancel);
  g_test_add_func ("/backend/counters", test_counters);
  g_test_add_func ("/backend/memory-of-raw-scans", test_memory_of_raw_scans);
  g_test_add_func ("/backend/memory-of-slots", test_memory_of_slots);
  g_test_add_func ("/backend/no-memory", test_no_memory);
  g_test_add_func ("/backend/no-map", test_no_map);
  g_test_add_func ("/backend/map-from-points", test_map_from_points);
  g_test_add_func ("/backend/no-pairs", test_no_pairs);
  g_test_add_func ("/backend/refused", test_refused);
  return g_test_run ();
}
