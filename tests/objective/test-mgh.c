/* SPDX-License-Identifier: MIT */
/* The minimizers on the problems of mgh.c, against two oracles: cminpack's lmder for
 * Levenberg–Marquardt, liblbfgs for L-BFGS. The oracles minimize the same functions with the same
 * derivatives and tolerances. Reached is what they reach, with at most 1.5 times as many
 * evaluations. --table prints the numbers. */
#include "mgh.h"

#include <cminpack.h>
#include <lbfgs.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/math/ndt-lbfgs.h"
#include "ndtcore/objective/ndt-minimize.h"

static gboolean print_table;

/* cminpack's interface has Jacobians by columns. */
static int
evaluate_lmder (
    void *data, int m, int n, const double *x, double *r, double *jacobian, int ld, int what)
{
  const MghProblem *problem = data;
  double rows[MGH_MAX_M * MGH_MAX_N], residuals[MGH_MAX_M];
  mgh_evaluate (problem, x, what == 1 ? r : residuals, what == 1 ? NULL : rows);
  for (int i = 0; what == 2 && i < m; i++)
    for (int j = 0; j < n; j++)
      jacobian[i + j * ld] = rows[i * n + j];
  return 0;
}

/* ½ Σ r² that the oracle reaches. */
static double
run_lmder (const MghProblem *problem, guint *n_evaluations)
{
  double x[MGH_MAX_N], r[MGH_MAX_M], jacobian[MGH_MAX_M * MGH_MAX_N], diagonal[MGH_MAX_N];
  double qtf[MGH_MAX_N], work[3 * MGH_MAX_N], work_m[MGH_MAX_M], value = 0;
  int pivots[MGH_MAX_N], n_values = 0, n_jacobians = 0;
  problem->start (problem, x);
  lmder (evaluate_lmder, (void *)problem, problem->m, problem->n, x, r, jacobian, problem->m, 1e-8,
      1e-8, 0, 2000, diagonal, 1, 100, 0, &n_values, &n_jacobians, pivots, qtf, work,
      work + MGH_MAX_N, work + 2 * MGH_MAX_N, work_m);
  for (int i = 0; i < problem->m; i++)
    value += r[i] * r[i] / 2;
  *n_evaluations = (guint)n_values;
  return value;
}

typedef struct {
  const MghProblem *problem;
  guint n_evaluations;
} Liblbfgs;

static lbfgsfloatval_t
evaluate_liblbfgs (void *data, const lbfgsfloatval_t *x, lbfgsfloatval_t *gradient, const int n,
    const lbfgsfloatval_t step)
{
  Liblbfgs *run = data;
  (void)n;
  (void)step;
  run->n_evaluations++;
  return mgh_sums (run->problem, x, gradient, NULL);
}

static double
run_liblbfgs (const MghProblem *problem, guint *n_evaluations)
{
  Liblbfgs run = {problem, 0};
  lbfgs_parameter_t parameters;
  double x[MGH_MAX_N], value = 0;
  lbfgs_parameter_init (&parameters);
  problem->start (problem, x);
  lbfgs (problem->n, x, &value, evaluate_liblbfgs, NULL, &run, &parameters);
  *n_evaluations = run.n_evaluations;
  return value;
}

static double
minimize (const MghProblem *problem, NdtMinimizer minimizer, NdtMinimum *minimum)
{
  guint n_evaluations = 0;
  g_autoptr (NdtObjective) objective = mgh_objective_new (problem, 1, &n_evaluations);
  g_autoptr (GError) error = NULL;
  double x[MGH_MAX_N], gradient[MGH_MAX_N];
  NdtMinimizeParams params;
  ndt_minimize_params_init (&params, minimizer);
  problem->start (problem, x);
  ndt_minimize (objective, &params, x, NULL, minimum, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (minimum->evaluations, ==, n_evaluations);
  g_assert_cmpfloat (minimum->value, ==, mgh_sums (problem, x, gradient, NULL));
  return minimum->value;
}

/* Where both end by their tolerances, values differ by what these leave open: of lmder's 1e-8 its
 * square root is more than enough; a gradient below 1e-5 leaves some 1e-5 of the distance to the
 * optimum, a hundredth on these problems. Rounding is relative to where they started. */
static void
compare (const MghProblem *problem, NdtMinimizer minimizer)
{
  const gboolean is_lm = minimizer == NDT_MINIMIZER_LM;
  NdtMinimum minimum;
  guint oracle_evaluations;
  const double value = minimize (problem, minimizer, &minimum);
  const double oracle = is_lm ? run_lmder (problem, &oracle_evaluations)
                              : run_liblbfgs (problem, &oracle_evaluations);
  double x[MGH_MAX_N], gradient[MGH_MAX_N];
  problem->start (problem, x);
  const double rounding = 1e-24 * mgh_sums (problem, x, gradient, NULL);
  if (print_table) {
    printf ("%-30s %2d %3d %14.6e %14.6e %5u %5u\n", problem->name, problem->n, problem->m,
        2 * value, 2 * oracle, minimum.evaluations, oracle_evaluations);
    return;
  }
  g_test_message ("%s: %g in %u, oracle %g in %u", problem->name, 2 * value, minimum.evaluations,
      2 * oracle, oracle_evaluations);
  g_assert_cmpuint (2 * minimum.evaluations, <=, 3 * oracle_evaluations);
  g_assert_cmpfloat (value, <=, oracle * (1 + 1e-6) + (is_lm ? 0 : 1e-7) + rounding);
  /* The paper has six digits. */
  if (is_lm)
    g_assert_cmpfloat (fabs (2 * value - problem->optimum), <=, 1e-5 * problem->optimum + rounding);
}

static void
test_lm (void)
{
  for (guint i = 0; i < mgh_n_problems; i++)
    compare (&mgh_problems[i], NDT_MINIMIZER_LM);
}

static void
test_lbfgs (void)
{
  for (guint i = 0; i < mgh_n_problems; i++)
    compare (&mgh_problems[i], NDT_MINIMIZER_LBFGS);
}

/* The state machine by hand: every step that it accepts as one meets both conditions, computed
 * here from values and gradients; others are few, and are those of rounding. Returns the number of
 * accepted steps. */
static guint
check_wolfe (const MghProblem *problem, double curvature, guint *n_others)
{
  const gint n = problem->n;
  double memory[NDT_LBFGS_MEMORY (MGH_MAX_N, 6)];
  double x[MGH_MAX_N], trial[MGH_MAX_N], gradient[MGH_MAX_N], last[MGH_MAX_N] = {0}, value,
                                                              last_value = 0;
  NdtLbfgsParams params = NDT_LBFGS_PARAMS_DEFAULT;
  NdtLbfgs lbfgs;
  int go_on;
  params.curvature = curvature;
  problem->start (problem, x);
  ndt_lbfgs_init (&lbfgs, n, 6, memory, NULL);
  do {
    double slope = 0, slope_before = 0;
    for (gint i = 0; i < n; i++)
      trial[i] = x[i] + lbfgs.step[i];
    value = mgh_sums (problem, trial, gradient, NULL);
    for (gint i = 0; i < n; i++) {
      slope += gradient[i] * lbfgs.step[i];
      slope_before += last[i] * lbfgs.step[i];
    }
    go_on = ndt_lbfgs_update (&lbfgs, &params, value, gradient, trial);
    if (!lbfgs.accepted)
      continue;
    if (lbfgs.iterations > 0 && lbfgs.is_wolfe) {
      /* α φ'(α) on both sides; sums of products in another order round differently. */
      g_assert_cmpfloat (slope_before, <, 0);
      g_assert_cmpfloat (value, <=, last_value + 1e-4 * slope_before * (1 - 1e-9));
      g_assert_cmpfloat (fabs (slope), <=, -curvature * slope_before * (1 + 1e-9));
    } else if (lbfgs.iterations > 0) {
      g_assert_cmpfloat (value, <, last_value);
      ++*n_others;
    }
    memcpy (x, trial, sizeof x);
    memcpy (last, gradient, sizeof last);
    last_value = value;
  } while (go_on);
  return (guint)lbfgs.iterations;
}

static void
test_wolfe (void)
{
  static const double curvatures[] = {0.9, 0.1, 0.001};
  for (guint k = 0; k < G_N_ELEMENTS (curvatures); k++) {
    guint n_steps = 0, n_others = 0;
    for (guint i = 0; i < mgh_n_problems; i++)
      n_steps += check_wolfe (&mgh_problems[i], curvatures[k], &n_others);
    g_test_message ("curvature %g: %u steps, %u without", curvatures[k], n_steps, n_others);
    g_assert_cmpuint (n_steps, >, 1000);
    g_assert_cmpuint (100 * n_others, <=, n_steps);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  print_table = argc > 1 && g_strcmp0 (argv[1], "--table") == 0;
  if (print_table) {
    puts ("Levenberg-Marquardt: problem, n, m, sums of squares and evaluations, here and lmder");
    test_lm ();
    puts ("L-BFGS: here and liblbfgs");
    test_lbfgs ();
    return 0;
  }
  g_test_add_func ("/mgh/lm", test_lm);
  g_test_add_func ("/mgh/lbfgs", test_lbfgs);
  g_test_add_func ("/mgh/wolfe", test_wolfe);
  return g_test_run ();
}
