/* SPDX-License-Identifier: MIT */
/* The step rule on objectives whose optimum is known. */
#include "ndtcore/math/ndt-optimizer.h"

#include <glib.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"
#include "tests/ndt-scene.h"

static const NdtOptimizerParams default_params = {1e-6, 1e-6, 1e9, 1e9, 100, 3, 2};

typedef struct _Problem Problem;
struct _Problem {
  /* Score, gradient and Hessian by the translation; rotation is added by evaluate(). */
  void (*score) (const double t[3], NdtOptimizerSums *sums);
  double turn[4];          /* orientation of the optimum */
  double hessian_factor;   /* what is told of the Hessian; 1: the truth */
  gint nan_at;             /* evaluation whose sums are not finite, from 1 */
  guint no_pairs_from;     /* evaluation from which there are no pairs, from 1; 0: never */
  gboolean approach_gives; /* least squares lead towards the optimum at 0 */
  gboolean approach_jumps; /* least squares lead away */
  gint levels[64];         /* evaluated, −1: the score */
  guint n;
  double last_score; /* at best */
};

/* Σ over the axes of b·a, a = R e, b where e lies at the optimum: 3 there, less elsewhere. */
static void
add_rotation (const double q[4], const double turn[4], NdtOptimizerSums *sums)
{
  double r[9], m[9];
  ndt_quat_to_matrix (q, r);
  ndt_quat_to_matrix (turn, m);
  for (int k = 0; k < 3; k++) {
    const double a[3] = {r[k], r[3 + k], r[6 + k]}, b[3] = {m[k], m[3 + k], m[6 + k]};
    const double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    sums->score += dot;
    sums->gradient[3] += a[1] * b[2] - a[2] * b[1];
    sums->gradient[4] += a[2] * b[0] - a[0] * b[2];
    sums->gradient[5] += a[0] * b[1] - a[1] * b[0];
    for (int i = 0; i < 3; i++)
      for (int j = i; j < 3; j++)
        sums->hessian[NDT_H6 (3 + i, 3 + j)] += 0.5 * (b[i] * a[j] + b[j] * a[i]) - (i == j) * dot;
  }
}

static void
evaluate (Problem *problem, const NdtOptimizer *o, NdtOptimizerSums *sums)
{
  memset (sums, 0, sizeof (*sums));
  sums->n_pairs = 1000;
  g_assert_cmpuint (problem->n, <, 5000); /* it has to end */
  if (problem->n < G_N_ELEMENTS (problem->levels))
    problem->levels[problem->n] = o->kind == NDT_KIND_SCORE ? -1 : o->level;
  problem->n++;
  if (o->kind == NDT_KIND_LEAST_SQUARES) {
    /* Of a quadratic around the origin, or around a place far away. */
    for (int i = 0; i < 6; i++)
      sums->hessian[NDT_H6 (i, i)] = -1;
    for (int i = 0; i < 3; i++)
      sums->gradient[i] = (problem->approach_jumps ? 50 : 0) - o->t[i];
    if (!problem->approach_gives && !problem->approach_jumps)
      sums->n_pairs = 0;
  } else {
    problem->score (o->t, sums);
    add_rotation (o->q, problem->turn, sums);
    for (int i = 0; i < 21; i++)
      sums->hessian[i] *= problem->hessian_factor;
  }
  if (problem->no_pairs_from && problem->n >= problem->no_pairs_from) {
    memset (sums, 0, sizeof (*sums));
    sums->n_pairs = 0;
  }
  if ((gint)problem->n == problem->nan_at)
    sums->hessian[problem->n % 21] = NAN;
}

/* Runs to the end. The best score never falls; the result is what was accepted last. */
static NdtOptimizer
run (Problem *problem, const NdtOptimizerParams *params, const double start_q[4], guint approach)
{
  NdtOptimizer o;
  NdtOptimizerSums sums;
  int go_on, accepted;
  double best_t[3] = {0, 0, 0}, best_q[4];
  memcpy (best_q, start_q, sizeof best_q);
  problem->n = 0;
  problem->last_score = -INFINITY;
  ndt_optimizer_init (&o, params, start_q, approach);
  do {
    evaluate (problem, &o, &sums);
    const NdtOptimizer before = o;
    go_on = ndt_optimizer_update (&o, params, &sums, &accepted);
    if (accepted) {
      g_assert_cmpint (before.kind, ==, NDT_KIND_SCORE);
      g_assert_cmpfloat (sums.score, >=, problem->last_score);
      problem->last_score = sums.score;
      if (sums.n_pairs > 0) {
        memcpy (best_t, before.t, sizeof best_t);
        memcpy (best_q, before.q, sizeof best_q);
      }
    }
  } while (go_on);
  g_assert_true (memcmp (best_t, o.best_t, sizeof best_t) == 0);
  g_assert_true (memcmp (best_q, o.best_q, sizeof best_q) == 0);
  g_assert_cmpint (o.evaluations, ==, problem->n);
  for (int i = 0; i < 4; i++)
    g_assert_true (isfinite (o.best_q[i]) && (i == 3 || isfinite (o.best_t[i])));
  return o;
}

static double
angle_to (const double q[4], const double turn[4])
{
  const NdtPose a = {{0, 0, 0}, {q[0], q[1], q[2], q[3]}};
  const NdtPose b = {{0, 0, 0}, {turn[0], turn[1], turn[2], turn[3]}};
  double radians;
  ndt_pose_difference (&a, &b, NULL, &radians);
  return radians;
}

static const double identity[4] = {0, 0, 0, 1};

/* ---- Objectives ---- */

/* Maximum at (3, −2, 1); elongated and tilted. */
static void
quadratic (const double t[3], NdtOptimizerSums *sums)
{
  static const double a[9] = {500, 30, 0, 30, 2, 0, 0, 0, 0.1};
  const double d[3] = {t[0] - 3, t[1] + 2, t[2] - 1};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      sums->score -= 0.5 * a[3 * i + j] * d[i] * d[j];
      sums->gradient[i] -= a[3 * i + j] * d[j];
      if (j >= i)
        sums->hessian[NDT_H6 (i, j)] = -a[3 * i + j];
    }
}

/* The same as sums of floats give it: in steps. */
static void
quadratic_in_steps (const double t[3], NdtOptimizerSums *sums)
{
  quadratic (t, sums);
  sums->score = floor (sums->score * 1000) / 1000 + 1000;
}

/* Rosenbrock's valley, started at (−1.2, 1): maximum at (2.2, 0) from there. */
static void
valley (const double t[3], NdtOptimizerSums *sums)
{
  const double x = t[0] - 1.2, y = t[1] + 1, v = y - x * x;
  sums->score = -(1 - x) * (1 - x) - 100 * v * v - t[2] * t[2];
  sums->gradient[0] = 2 * (1 - x) + 400 * x * v;
  sums->gradient[1] = -200 * v;
  sums->gradient[2] = -2 * t[2];
  sums->hessian[NDT_H6 (0, 0)] = -2 + 400 * v - 800 * x * x;
  sums->hessian[NDT_H6 (0, 1)] = 400 * x;
  sums->hessian[NDT_H6 (1, 1)] = -200;
  sums->hessian[NDT_H6 (2, 2)] = -2;
}

/* A bell of one metre around (2.5, 0, 0): the start lies where it curves upwards. */
static void
bell (const double t[3], NdtOptimizerSums *sums)
{
  const double d[3] = {t[0] - 2.5, t[1], t[2]};
  const double e = 100 * exp (-0.5 * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
  sums->score = e;
  for (int i = 0; i < 3; i++) {
    sums->gradient[i] = -e * d[i];
    for (int j = i; j < 3; j++)
      sums->hessian[NDT_H6 (i, j)] = e * (d[i] * d[j] - (i == j));
  }
}

/* ---- Tests ---- */

static void
test_quadratic (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  for (guint n = 0; n < 200; n++) {
    const NdtPose turn = ndt_test_random_pose (rand, 1, 1.4);
    Problem p = {.score = quadratic, .hessian_factor = 1};
    memcpy (p.turn, turn.orientation, sizeof p.turn);
    const NdtOptimizer o = run (&p, &default_params, identity, 0);
    g_assert_cmpint (o.stop, ==, NDT_STOP_CONVERGED);
    g_assert_cmpfloat_with_epsilon (o.best_t[0], 3, 1e-6);
    g_assert_cmpfloat_with_epsilon (o.best_t[1], -2, 1e-6);
    g_assert_cmpfloat_with_epsilon (o.best_t[2], 1, 1e-6);
    g_assert_cmpfloat (angle_to (o.best_q, p.turn), <, 1e-6);
    /* Quadratic convergence, after a few steps that the turn takes to get near. */
    g_assert_cmpint (o.iterations, <=, 12);
    g_assert_cmpint (o.approach_steps, ==, 0);
  }
}

static void
test_valley (void)
{
  Problem p = {.score = valley, .turn = {0, 0, 0, 1}, .hessian_factor = 1};
  const NdtOptimizer o = run (&p, &default_params, identity, 0);
  g_assert_cmpint (o.stop, ==, NDT_STOP_CONVERGED);
  g_assert_cmpfloat_with_epsilon (o.best_t[0], 2.2, 1e-6);
  g_assert_cmpfloat_with_epsilon (o.best_t[1], 0, 1e-6);
  /* Newton's method with a line search is known to take about 20. */
  g_assert_cmpint (o.iterations, <=, 40);
}

/* The limits hold for every step, the direction is kept, and the limit of iterations is told. */
static void
test_limits (void)
{
  NdtOptimizerParams params = default_params;
  Problem p = {.score = bell, .turn = {0, 0, sin (0.5), cos (0.5)}, .hessian_factor = 1};
  params.max_translation_step = 0.1;
  params.max_rotation_step = 0.02;
  for (guint n = 1; n <= 60; n++) {
    params.max_iterations = (gint)n;
    const NdtOptimizer o = run (&p, &params, identity, 0);
    const double moved = sqrt (ndt_optimizer_square3 (o.best_t)),
                 turned = angle_to (o.best_q, identity);
    g_assert_cmpint (o.iterations, <=, (gint)n);
    g_assert_cmpfloat (moved, <=, 0.1 * n + 1e-9);
    g_assert_cmpfloat (turned, <=, 0.02 * n + 1e-9);
    if (o.stop != NDT_STOP_CONVERGED) {
      g_assert_cmpint (o.stop, ==, NDT_STOP_ITERATION_LIMIT);
      g_assert_cmpint (o.iterations, ==, (gint)n);
    }
    /* 1 rad in steps of 0.02 takes 50. */
    g_assert_true (n >= 50 || o.stop == NDT_STOP_ITERATION_LIMIT);
  }
}

/* No alignment takes more passes than it may, whatever its approach, its steps back and detours;
 * its end is the best that it has seen, and one that needs no more of them is the same bit for bit.
 */
static void
test_evaluations (void)
{
  static const double turn[4] = {0, 0, 0.247403959, 0.968912422};
  void (*const scores[]) (const double[3], NdtOptimizerSums *) = {quadratic, bell};
  for (guint method = NDT_METHOD_NEWTON; method <= NDT_METHOD_LBFGS; method++)
    for (guint s = 0; s < G_N_ELEMENTS (scores); s++)
      for (guint approach = 0; approach < 4; approach++)
        for (guint gives = 0; gives < 3; gives++) {
          NdtOptimizerParams params = default_params;
          Problem p = {.score = scores[s],
              .hessian_factor = 1,
              .approach_gives = gives == 1,
              .approach_jumps = gives == 2};
          memcpy (p.turn, turn, sizeof (turn));
          params.method = (gint32)method;
          const NdtOptimizer whole = run (&p, &params, identity, approach);
          for (gint n = approach > 0 ? 2 : 1; n <= whole.evaluations + 1; n++) {
            params.max_evaluations = n;
            const NdtOptimizer o = run (&p, &params, identity, approach);
            g_assert_cmpint (o.evaluations, <=, n);
            g_assert_true (isfinite (p.last_score));
            if (n < whole.evaluations)
              continue;
            g_assert_cmpint (o.stop, ==, whole.stop);
            g_assert_true (memcmp (o.best_t, whole.best_t, sizeof (o.best_t)) == 0);
            g_assert_true (memcmp (o.best_q, whole.best_q, sizeof (o.best_q)) == 0);
          }
        }
}

/* Steps cut below the epsilons by the limits are no sign of an optimum. */
static void
test_limits_below_epsilon (void)
{
  NdtOptimizerParams params = default_params;
  Problem p = {.score = quadratic, .turn = {0, 0, sin (0.2), cos (0.2)}, .hessian_factor = 1};
  params.translation_epsilon = 0.1;
  params.rotation_epsilon = 0.1;
  params.max_translation_step = 0.01;
  params.max_rotation_step = 0.01;
  params.max_iterations = 20;
  const NdtOptimizer o = run (&p, &params, identity, 0);
  g_assert_cmpint (o.stop, ==, NDT_STOP_ITERATION_LIMIT);
  g_assert_cmpint (o.iterations, ==, 20);
}

/* Converged means that the objective's own Newton step is below both epsilons, not one. */
static void
test_both_epsilons (void)
{
  NdtOptimizerParams params = default_params;
  params.translation_epsilon = 1e3; /* every translation passes */
  params.rotation_epsilon = 1e-9;
  Problem p = {.score = quadratic, .turn = {0, sin (0.3), 0, cos (0.3)}, .hessian_factor = 1};
  NdtOptimizer o = run (&p, &params, identity, 0);
  g_assert_cmpint (o.stop, ==, NDT_STOP_CONVERGED);
  g_assert_cmpfloat (angle_to (o.best_q, p.turn), <, 1e-8);
  params.translation_epsilon = 1e-9;
  params.rotation_epsilon = 1e3;
  o = run (&p, &params, identity, 0);
  g_assert_cmpint (o.stop, ==, NDT_STOP_CONVERGED);
  g_assert_cmpfloat_with_epsilon (o.best_t[2], 1, 1e-8);
}

/* Epsilons below what numbers can tell: it ends all the same, at the optimum. */
static void
test_tiny_epsilons (void)
{
  static const double epsilons[] = {1e-12, 1e-15, 1e-18, 1e-100, 1e-300};
  for (guint i = 0; i < G_N_ELEMENTS (epsilons); i++) {
    NdtOptimizerParams params = default_params;
    Problem p = {.score = quadratic, .turn = {0, 0, sin (0.2), cos (0.2)}, .hessian_factor = 1};
    params.translation_epsilon = params.rotation_epsilon = epsilons[i];
    const NdtOptimizer o = run (&p, &params, identity, 0);
    g_assert_cmpfloat_with_epsilon (o.best_t[0], 3, 1e-7);

    /* No step is shortened more than twenty times: scores that differ by rounding alone, and never
     * rise, would otherwise be compared down to where the square of a length is zero. */
    Problem rough = {.score = quadratic_in_steps, .turn = {0, 0, 0, 1}, .hessian_factor = 1.5};
    const NdtOptimizer r = run (&rough, &params, identity, 0);
    g_assert_cmpint (r.stop, ==, NDT_STOP_CONVERGED);
    g_assert_cmpint (r.evaluations, <, 60);
  }
}

/* Reversing steps are counted in their longest run, forward ones are not. */
static void
test_oscillation (void)
{
  /* Told 0.55 of the curvature, a step overshoots to −0.82 of the distance, and scores better. */
  NdtOptimizerParams params = default_params;
  Problem p = {.score = quadratic, .turn = {0, 0, 0, 1}, .hessian_factor = 0.55};
  params.max_iterations = 12;
  NdtOptimizer o = run (&p, &params, identity, 0);
  g_assert_cmpint (o.stop, ==, NDT_STOP_ITERATION_LIMIT);
  g_assert_cmpint (o.oscillation, ==, 11);
  /* Told twice the curvature, it creeps forward. */
  p.hessian_factor = 2;
  o = run (&p, &params, identity, 0);
  g_assert_cmpint (o.oscillation, ==, 0);
  g_assert_cmpint (o.stop, ==, NDT_STOP_ITERATION_LIMIT);
}

/* A sum that is not finite, at any evaluation, is told; the pose is the best before it. */
static void
test_not_finite (void)
{
  for (gint at = 1; at <= 6; at++) {
    Problem p = {.score = valley, .turn = {0, 0, 0, 1}, .hessian_factor = 1, .nan_at = at};
    const NdtOptimizer o = run (&p, &default_params, identity, 0);
    g_assert_cmpint (o.stop, ==, NDT_STOP_NOT_FINITE);
    g_assert_cmpint (o.evaluations, ==, at);
  }
  for (guint approach = 1; approach <= 3; approach++) {
    Problem p = {.score = valley,
        .turn = {0, 0, 0, 1},
        .hessian_factor = 1,
        .nan_at = 2,
        .approach_gives = TRUE};
    const NdtOptimizer o = run (&p, &default_params, identity, approach);
    g_assert_cmpint (o.stop, ==, NDT_STOP_NOT_FINITE);
    g_assert_cmpfloat (ndt_optimizer_square3 (o.best_t), ==, 0);
  }
}

/* Without a pair the pose is the guess, wherever an approach went meanwhile. */
static void
test_no_pairs (void)
{
  for (guint approach = 0; approach <= 3; approach++)
    for (guint from = 1; from <= 3; from++) {
      Problem p = {.score = bell,
          .turn = {0, 0, 0, 1},
          .hessian_factor = 1,
          .no_pairs_from = from,
          .approach_jumps = TRUE};
      if (approach == 0 && from > 1)
        continue;
      const NdtOptimizer o = run (&p, &default_params, identity, approach);
      g_assert_cmpint (o.stop, ==, NDT_STOP_NO_PAIRS);
      g_assert_cmpfloat (ndt_optimizer_square3 (o.best_t), ==, 0);
      g_assert_cmpint (o.iterations, ==, 0);
    }
}

/* A start outside the basin gets there, with an approach that leads nowhere, and away. */
static void
test_indefinite (void)
{
  NdtOptimizerParams params = default_params;
  params.max_translation_step = 1;
  params.max_rotation_step = 0.2;
  for (guint kind = 0; kind < 3; kind++) {
    Problem p = {.score = bell,
        .turn = {0, sin (0.6), 0, cos (0.6)},
        .hessian_factor = 1,
        .approach_gives = kind == 1,
        .approach_jumps = kind == 2};
    const NdtOptimizer o = run (&p, &params, identity, 0);
    g_assert_cmpint (o.stop, ==, NDT_STOP_CONVERGED);
    g_assert_cmpfloat_with_epsilon (o.best_t[0], 2.5, 1e-5);
    g_assert_cmpfloat (angle_to (o.best_q, p.turn), <, 1e-5);
  }
}

/* Stages of the approach: from the coarsest level that there is to the finest, then the score. */
static void
test_stages (void)
{
  for (guint approach = 1; approach <= 3; approach++)
    for (gint n_levels = 1; n_levels <= 3; n_levels++) {
      NdtOptimizerParams params = default_params;
      Problem p = {
          .score = quadratic, .turn = {0, 0, 0, 1}, .hessian_factor = 1, .approach_jumps = TRUE};
      params.n_levels = n_levels;
      params.resolution = 0.01; /* 50 m away in steps of a cell: no stage ends early */
      const NdtOptimizer o = run (&p, &params, identity, approach);
      const guint stages = MIN (approach, (guint)n_levels);
      const guint steps = approach == 1 ? 10 : approach == 2 ? 5 : 4;
      g_assert_cmpint (o.approach_steps, ==, (gint)(stages * steps));
      for (guint i = 0; i < stages * steps; i++)
        g_assert_cmpint (p.levels[i], ==, (gint)(stages - 1 - i / steps));
      g_assert_cmpint (p.levels[stages * steps], ==, -1);
      g_assert_cmpint (o.stop, ==, NDT_STOP_CONVERGED);
    }
  /* Near the optimum a stage ends as soon as its step is small. */
  Problem p = {.score = bell, .turn = {0, 0, 0, 1}, .hessian_factor = 1, .approach_gives = TRUE};
  const NdtOptimizer o = run (&p, &default_params, identity, 3);
  g_assert_cmpint (o.approach_steps, ==, 3);
}

/* The direction is uphill for any symmetric matrix and any gradient but zero, and Newton's where
 * the matrix is negative definite. */
static void
test_direction (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  guint n_definite = 0;
  for (guint n = 0; n < 100000; n++) {
    double g[6], h[21] = {0}, step[6], slope = 0, size = 0;
    const guint kind = n % 6;
    for (int i = 0; i < 6; i++)
      g[i] = ndt_test_normal (rand) * (i < 3 ? 1 : 100);
    for (int i = 0; i < 6; i++)
      for (int j = i; j < 6; j++) {
        const double scale = (i < 3 ? 1 : 30) * (j < 3 ? 1 : 30) * 1e3;
        double v = scale * ndt_test_normal (rand);
        if (kind == 1 && i == j)
          v = -8 * scale; /* definite */
        if (kind == 2 && i == j && i % 3 < 2)
          v = 0; /* most of the diagonal empty */
        if (kind == 3 && (i == 2 || j == 2))
          v = i == j ? 0 : v; /* one empty place of it */
        if (kind == 4)
          v = i == j ? (i == 0 ? -scale : 0) : i == 1 && j == 2 ? scale : 0;
        if (kind == 5 && (i == 4 || j == 4 || i == 0))
          v *= 1e-9;
        h[NDT_H6 (i, j)] = v;
      }
    const int definite = ndt_optimizer_solve (g, h, step);
    n_definite += definite != 0;
    for (int i = 0; i < 6; i++) {
      slope += g[i] * step[i];
      size += fabs (g[i] * step[i]);
      g_assert_true (isfinite (step[i]));
    }
    if (!(slope > 1e-12 * size))
      g_error ("kind %u: the direction is not uphill: %g of %g", kind, slope, size);
    if (definite)
      for (int i = 0; i < 6; i++) {
        double product = g[i], terms = fabs (g[i]);
        for (int j = 0; j < 6; j++) {
          const double v = h[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)] * step[j];
          product += v;
          terms += fabs (v);
        }
        /* H step = −g, to the conditioning that counts as definite. */
        g_assert_cmpfloat (fabs (product), <=, 1e-5 * terms);
      }
    if (kind == 1)
      g_assert_true (definite);
    if (kind == 2 || kind == 4)
      g_assert_false (definite);
  }
  g_assert_cmpuint (n_definite, >=, 100000 / 6);
  /* Nothing to go by. */
  const double zero[21] = {0};
  double step[6] = {1, 1, 1, 1, 1, 1};
  ndt_optimizer_solve (zero, zero, step);
  for (int i = 0; i < 6; i++)
    g_assert_cmpfloat (step[i], ==, 0);
}

/* ---- Constants of ndt-tuning.h ---- */

static NdtOptimizerSums
make_sums (double score, double slope_x, double slope_yaw, double curvature)
{
  NdtOptimizerSums sums;
  memset (&sums, 0, sizeof sums);
  sums.n_pairs = 1000;
  sums.score = score;
  sums.gradient[0] = slope_x;
  sums.gradient[5] = slope_yaw;
  for (int i = 0; i < 6; i++)
    sums.hessian[NDT_H6 (i, i)] = curvature;
  return sums;
}

/* A step of the approach is at most a cell (of 2 m here) and 0.25 rad long, its direction kept. */
static void
test_approach_limits (void)
{
  static const double slopes[][2] = {{100, 0}, {0, 100}, {100, 100}};
  static const double expected[][2] = {{2, 0}, {0, 0.25}, {0.25, 0.25}};
  for (guint i = 0; i < G_N_ELEMENTS (slopes); i++) {
    const NdtOptimizerSums sums = make_sums (0, slopes[i][0], slopes[i][1], -1);
    NdtOptimizer o;
    int accepted;
    ndt_optimizer_init (&o, &default_params, identity, 1);
    g_assert_cmpint (ndt_optimizer_update (&o, &default_params, &sums, &accepted), ==, 1);
    g_assert_cmpint (o.kind, ==, NDT_KIND_LEAST_SQUARES);
    g_assert_cmpfloat_with_epsilon (o.t[0], expected[i][0], 1e-9);
    /* An angle near 0 has half of the digits of its cosine. */
    g_assert_cmpfloat_with_epsilon (angle_to (o.q, identity), expected[i][1], 1e-7);
  }
}

/* An indefinite start is followed by three steps of the approach, unless a smaller one ends them.
 */
static void
test_detour (void)
{
  NdtOptimizerSums sums = make_sums (1, 1, 0, 1);
  NdtOptimizer o;
  int accepted;
  ndt_optimizer_init (&o, &default_params, identity, 0);
  g_assert_cmpint (ndt_optimizer_update (&o, &default_params, &sums, &accepted), ==, 1);
  sums = make_sums (0, 100, 0, -1);
  for (int i = 0; i < 3; i++) {
    g_assert_cmpint (o.kind, ==, NDT_KIND_LEAST_SQUARES);
    g_assert_cmpint (ndt_optimizer_update (&o, &default_params, &sums, &accepted), ==, 1);
  }
  g_assert_cmpint (o.kind, ==, NDT_KIND_SCORE);
  g_assert_cmpint (o.approach_steps, ==, 3);
}

/* Backtracking goes to the maximum of the parabola: half of the step where the score is the same,
 * which is as far as it can be; and a tenth at least. */
static void
test_backtracking (void)
{
  static const double scores[] = {0, -1, -1e6}, lengths[] = {0.5, 0.25, 0.1};
  for (guint i = 0; i < G_N_ELEMENTS (scores); i++) {
    NdtOptimizerSums sums = make_sums (0, 1, 0, -1);
    NdtOptimizer o;
    int accepted;
    ndt_optimizer_init (&o, &default_params, identity, 0);
    g_assert_cmpint (ndt_optimizer_update (&o, &default_params, &sums, &accepted), ==, 1);
    /* A pivot of the scaled matrix may be damped by rounding. */
    g_assert_cmpfloat_with_epsilon (o.t[0], 1, 1e-9);
    sums = make_sums (scores[i], 0, 0, -1);
    g_assert_cmpint (ndt_optimizer_update (&o, &default_params, &sums, &accepted), ==, 1);
    g_assert_false (accepted);
    g_assert_cmpfloat_with_epsilon (o.t[0], lengths[i], 1e-9);
  }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/optimizer/quadratic", test_quadratic);
  g_test_add_func ("/optimizer/valley", test_valley);
  g_test_add_func ("/optimizer/limits", test_limits);
  g_test_add_func ("/optimizer/evaluations", test_evaluations);
  g_test_add_func ("/optimizer/limits-below-epsilon", test_limits_below_epsilon);
  g_test_add_func ("/optimizer/both-epsilons", test_both_epsilons);
  g_test_add_func ("/optimizer/tiny-epsilons", test_tiny_epsilons);
  g_test_add_func ("/optimizer/oscillation", test_oscillation);
  g_test_add_func ("/optimizer/not-finite", test_not_finite);
  g_test_add_func ("/optimizer/no-pairs", test_no_pairs);
  g_test_add_func ("/optimizer/indefinite", test_indefinite);
  g_test_add_func ("/optimizer/stages", test_stages);
  g_test_add_func ("/optimizer/direction", test_direction);
  g_test_add_func ("/optimizer/approach-limits", test_approach_limits);
  g_test_add_func ("/optimizer/detour", test_detour);
  g_test_add_func ("/optimizer/backtracking", test_backtracking);
  return g_test_run ();
}
