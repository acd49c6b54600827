/* SPDX-License-Identifier: MIT */
/* What the CPU backend computes. */
#include "backend-fixture.h"
#include "ndtcore/align/ndt-kernel.h"
#include "ndtcore/math/ndt-formulas.h"

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

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/backend/evaluate", test_evaluate);
  g_test_add_func ("/backend/caches", test_caches);
  g_test_add_func ("/backend/kernels", test_kernels);
  g_test_add_func ("/backend/threads", test_threads);
  g_test_add_func ("/backend/slots", test_slots);
  return g_test_run ();
}
