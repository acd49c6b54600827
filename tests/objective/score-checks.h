/* SPDX-License-Identifier: MIT */
/* The score as an objective of a backend: asynchronous, cancelled, and by reweighted least squares.
 * For the CPU (test-score) and a device (/gpu/terms). */
#pragma once

#include "ndtcore/align/ndt-score-objective.h"
#include "ndtcore/objective/ndt-minimize.h"
#include "tests/gpu/gpu-scene.h"

typedef struct {
  guint n;
  double *x, *values, *gradients, *hessians;
  NdtEvaluation evaluation;
} ScoreMemory;

static inline void
score_memory_init (ScoreMemory *m, const Scene *s, guint n)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);
  m->n = n;
  m->x = g_new (double, 7 * (gsize)n);
  m->values = g_new0 (double, n);
  m->gradients = g_new0 (double, 6 * (gsize)n);
  m->hessians = g_new0 (double, 21 * (gsize)n);
  for (guint i = 0; i < n; i++) {
    const NdtPose guess = scene_guess (s, rand, 0.1, 0.01);
    memcpy (m->x + (gsize)7 * i, &guess, sizeof guess);
  }
  m->evaluation = (NdtEvaluation){.order = NDT_OBJECTIVE_HESSIAN,
      .n = n,
      .x = m->x,
      .values = m->values,
      .gradients = m->gradients,
      .hessians = m->hessians};
}

static inline void
score_memory_clear (ScoreMemory *m)
{
  g_free (m->x);
  g_free (m->values);
  g_free (m->gradients);
  g_free (m->hessians);
}

/* Both matrices lead to the same optimum, each value the least of its neighbourhood: the gradients
 * are the same. */
static inline void
check_reweighted (NdtBackend *backend, const Scene *s)
{
  enum { N = 12 };
  static const double scale[6] = {1, 1, 1, 10, 10, 10};
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  g_autoptr (NdtObjective) newton = ndt_score_objective_new (backend, 0, &params, 0, N);
  g_autoptr (NdtObjective) reweighted = ndt_reweighted_objective_new (backend, 0, &params, 0, N);
  g_autoptr (GError) error = NULL;
  ScoreMemory a, b;
  NdtMinimum minima[2][N];
  NdtMinimizeParams minimize;
  score_memory_init (&a, s, N);
  score_memory_init (&b, s, N);
  g_assert_true (ndt_objective_evaluate (newton, &a.evaluation, &error));
  g_assert_true (ndt_objective_evaluate (reweighted, &b.evaluation, &error));
  g_assert_cmpmem (a.values, N * sizeof (double), b.values, N * sizeof (double));
  g_assert_cmpmem (a.gradients, 6 * N * sizeof (double), b.gradients, 6 * N * sizeof (double));
  g_assert_cmpfloat (a.hessians[0], !=, b.hessians[0]);

  ndt_minimize_params_init (&minimize, NDT_MINIMIZER_LM);
  minimize.scale = scale;
  minimize.first_radius = 0.3 / sqrt (303);
  minimize.value_tolerance = 1e-10;
  ndt_minimize (newton, &minimize, a.x, NULL, minima[0], &error);
  g_assert_no_error (error);
  ndt_minimize (reweighted, &minimize, b.x, NULL, minima[1], &error);
  g_assert_no_error (error);
  for (guint i = 0; i < N; i++) {
    NdtPose p, q;
    double metres, radians;
    memcpy (&p, a.x + (gsize)7 * i, sizeof p);
    memcpy (&q, b.x + (gsize)7 * i, sizeof q);
    ndt_pose_difference (&p, &q, &metres, &radians);
    g_test_message ("%u: %g m, %g rad apart, %u and %u evaluations, values %.9g and %.9g", i,
        metres, radians, minima[0][i].evaluations, minima[1][i].evaluations, minima[0][i].value,
        minima[1][i].value);
    /* The score jumps where a voxel comes into a point's reach, at which either may end: they agree
     * to what alignments end with. */
    g_assert_cmpfloat (metres, <, params.translation_epsilon);
    g_assert_cmpfloat (radians, <, params.rotation_epsilon);
  }
  score_memory_clear (&a);
  score_memory_clear (&b);
}

/* An evaluation that has begun has the bits of one at once; it can be cancelled in the middle, and
 * the next ones are whole. @n: poses that take the backend long enough. */
static inline void
check_asynchronous (NdtBackend *backend, const Scene *s, guint n)
{
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  g_autoptr (GError) error = NULL;
  ScoreMemory a, b;
  score_memory_init (&a, s, n);
  score_memory_init (&b, s, n);
  for (guint is_reweighted = 0; is_reweighted < 2; is_reweighted++) {
    g_autoptr (NdtObjective) objective =
        (is_reweighted ? ndt_reweighted_objective_new : ndt_score_objective_new) (
            backend, 0, &params, 0, n);
    gint64 began = g_get_monotonic_time ();
    g_assert_true (ndt_objective_evaluate (objective, &a.evaluation, &error));
    const gint64 whole = g_get_monotonic_time () - began;
    g_assert_true (ndt_objective_begin (objective, &b.evaluation, &error));
    g_assert_false (ndt_objective_begin (objective, &b.evaluation, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    g_clear_error (&error);
    g_assert_true (ndt_objective_end (objective, &error));
    g_assert_cmpmem (a.values, n * sizeof (double), b.values, n * sizeof (double));
    g_assert_cmpmem (
        a.hessians, 21 * (gsize)n * sizeof (double), b.hessians, 21 * (gsize)n * sizeof (double));

    began = g_get_monotonic_time ();
    g_assert_true (ndt_objective_begin (objective, &b.evaluation, &error));
    ndt_objective_cancel (objective, TRUE);
    g_assert_false (ndt_objective_end (objective, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
    g_clear_error (&error);
    g_test_message ("whole evaluation %.2f ms, cancelled %.2f ms", (double)whole / 1000,
        (double)(g_get_monotonic_time () - began) / 1000);
    g_assert_false (ndt_objective_begin (objective, &b.evaluation, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
    g_clear_error (&error);
    ndt_objective_cancel (objective, FALSE);
    memset (b.values, 0, n * sizeof (double));
    g_assert_true (ndt_objective_begin (objective, &b.evaluation, &error));
    g_assert_true (ndt_objective_end (objective, &error));
    g_assert_cmpmem (a.values, n * sizeof (double), b.values, n * sizeof (double));
    /* One that nobody ended is, by closing. */
    g_assert_true (ndt_objective_begin (objective, &b.evaluation, &error));
  }
  score_memory_clear (&a);
  score_memory_clear (&b);
}
