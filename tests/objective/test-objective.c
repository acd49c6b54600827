/* SPDX-License-Identifier: MIT */
/* The interface of objectives, and the minimizers on what the classical problems lack: poses,
 * batches, Hessians that are not definite, values that are not finite, cancellation. */
#include "ndtcore/objective/ndt-objective.h"

#include <math.h>
#include <string.h>

#include "mgh.h"
#include "ndtcore/math/ndt-pose.h"
#include "ndtcore/objective/ndt-minimize.h"
#include "tests/ndt-scene.h"

/* ---- Arguments ---- */

static void
refuse (NdtObjective *objective, NdtEvaluation e)
{
  g_autoptr (GError) error = NULL;
  g_assert_false (ndt_objective_evaluate (objective, &e, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
}

static void
test_arguments (void)
{
  g_autoptr (NdtObjective) objective = mgh_objective_new (&mgh_problems[0], 2, NULL);
  const double x[4] = {1, 1, 1, 1};
  double values[2] = {7, 7}, gradients[4];
  const guint one = 1, two = 2;
  const NdtEvaluation good = {.order = NDT_OBJECTIVE_VALUE, .n = 2, .x = x, .values = values};
  NdtEvaluation bad = good;
  g_autoptr (GError) error = NULL;
  g_assert_true (ndt_objective_evaluate (objective, &good, &error));
  g_assert_cmpfloat (values[0], ==, 0);
  bad.n = 0;
  refuse (objective, bad);
  bad.n = 3;
  refuse (objective, bad);
  bad = good;
  bad.order = NDT_OBJECTIVE_GRADIENT;
  refuse (objective, bad);
  bad.gradients = gradients;
  bad.order = NDT_OBJECTIVE_HESSIAN;
  refuse (objective, bad);
  bad = good;
  bad.n = 1;
  bad.problems = &two;
  refuse (objective, bad);
  bad.problems = &one;
  g_assert_true (ndt_objective_evaluate (objective, &bad, &error));

  g_assert_false (ndt_objective_end (objective, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_true (ndt_objective_begin (objective, &good, &error));
  refuse (objective, good);
  g_assert_true (ndt_objective_end (objective, &error));
  g_assert_no_error (error);
}

static void
test_params (void)
{
  g_autoptr (NdtObjective) objective = mgh_objective_new (&mgh_problems[0], 1, NULL);
  NdtMinimizeParams good, bad;
  ndt_minimize_params_init (&good, NDT_MINIMIZER_LBFGS);
  for (guint i = 0; i < 5; i++) {
    static const double scale[2] = {1, -1};
    g_autoptr (GError) error = NULL;
    double x[2] = {1, 1};
    NdtMinimum minimum;
    bad = good;
    if (i == 0)
      bad.history = 0;
    else if (i == 1)
      bad.first_radius = 0;
    else if (i == 2)
      bad.value_tolerance = NAN;
    else if (i == 3)
      bad.max_evaluations = 0;
    else
      bad.scale = scale;
    g_assert_false (ndt_minimize (objective, &bad, x, NULL, &minimum, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  }
}

/* ---- Begun in a thread, cancelled in the middle ---- */

typedef struct {
  NdtObjective parent;
  GThread *thread;
  gint is_running; /* atomic */
  gint stop;       /* atomic */
} Endless;

static gpointer
wait_for_cancel (gpointer data)
{
  Endless *endless = data;
  g_atomic_int_set (&endless->is_running, TRUE);
  while (!g_atomic_int_get (&endless->stop))
    g_usleep (100);
  return NULL;
}

static gboolean
endless_begin (NdtObjective *objective, const NdtEvaluation *evaluation, GError **error)
{
  Endless *endless = (Endless *)objective;
  (void)evaluation;
  (void)error;
  endless->thread = g_thread_new ("endless", wait_for_cancel, endless);
  return TRUE;
}

static gboolean
endless_end (NdtObjective *objective, GError **error)
{
  g_thread_join (((Endless *)objective)->thread);
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "Cancelled");
  return FALSE;
}

static void
endless_cancel (NdtObjective *objective, gboolean cancelled)
{
  g_atomic_int_set (&((Endless *)objective)->stop, cancelled);
}

static gpointer
cancel_when_running (gpointer data)
{
  Endless *endless = data;
  while (!g_atomic_int_get (&endless->is_running))
    g_usleep (100);
  ndt_objective_cancel (&endless->parent, TRUE);
  return NULL;
}

static void
test_cancel (void)
{
  static const NdtObjectiveClass klass = {
      .name = "endless", .begin = endless_begin, .end = endless_end, .cancel = endless_cancel};
  Endless endless = {.parent = {.klass = &klass, .n_numbers = 1, .n_problems = 1}};
  double x = 3;
  NdtMinimizeParams params;
  NdtMinimum minimum;
  g_autoptr (GError) error = NULL;
  ndt_minimize_params_init (&params, NDT_MINIMIZER_LM);
  GThread *thread = g_thread_new ("cancel", cancel_when_running, &endless);
  g_assert_false (ndt_minimize (&endless.parent, &params, &x, NULL, &minimum, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
  g_assert_cmpfloat (x, ==, 3);
  g_thread_join (thread);
  /* Until it is taken back, evaluations are not even begun. */
  g_clear_error (&error);
  g_atomic_int_set (&endless.is_running, FALSE);
  g_assert_false (ndt_minimize (&endless.parent, &params, &x, NULL, &minimum, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
  g_assert_false (g_atomic_int_get (&endless.is_running));
}

/* Without methods of its own, an objective is cancelled between evaluations. */
static void
test_cancel_between (void)
{
  g_autoptr (NdtObjective) objective = mgh_objective_new (&mgh_problems[0], 1, NULL);
  const double x[2] = {1, 1};
  double value = 7;
  const NdtEvaluation e = {.order = NDT_OBJECTIVE_VALUE, .n = 1, .x = x, .values = &value};
  g_autoptr (GError) error = NULL;
  g_assert_true (ndt_objective_begin (objective, &e, &error));
  ndt_objective_cancel (objective, TRUE);
  g_assert_false (ndt_objective_end (objective, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
  g_assert_cmpfloat (value, ==, 7);
  g_clear_error (&error);
  ndt_objective_cancel (objective, FALSE);
  g_assert_true (ndt_objective_evaluate (objective, &e, &error));
  g_assert_cmpfloat (value, ==, 0);
}

/* ---- Batches ---- */

/* Each problem of a batch has the bits, and the evaluations, of that problem alone. */
static void
check_batch (NdtMinimizer minimizer)
{
  enum { N = 50 };
  guint n_evaluations = 0, sum = 0;
  g_autoptr (NdtObjective) batch = mgh_objective_new (&mgh_problems[13], N, &n_evaluations);
  g_autoptr (NdtObjective) single = mgh_objective_new (&mgh_problems[13], 1, NULL);
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (GError) error = NULL;
  double x[4 * N], starts[4 * N], hessians[10 * N];
  NdtMinimum minima[N];
  NdtMinimizeParams params;
  ndt_minimize_params_init (&params, minimizer);
  for (guint i = 0; i < 4 * N; i++)
    x[i] = starts[i] = g_rand_double_range (rand, -3, 3);
  ndt_minimize (batch, &params, x, hessians, minima, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < N; i++) {
    double alone[4], hessian[10], gradient[4];
    NdtMinimum minimum;
    memcpy (alone, starts + 4 * i, sizeof alone);
    ndt_minimize (single, &params, alone, hessian, &minimum, &error);
    g_assert_no_error (error);
    g_assert_true (memcmp (alone, x + 4 * i, sizeof alone) == 0);
    g_assert_true (memcmp (hessian, hessians + 10 * i, sizeof hessian) == 0);
    g_assert_cmpuint (minimum.evaluations, ==, minima[i].evaluations);
    g_assert_cmpint (minimum.stop, ==, minima[i].stop);
    sum += minima[i].evaluations;
    mgh_sums (&mgh_problems[13], alone, gradient, hessian);
    g_assert_true (memcmp (hessian, hessians + 10 * i, sizeof hessian) == 0);
  }
  /* Problems that are done are not evaluated; L-BFGS evaluates all once more for their matrices. */
  g_assert_cmpuint (n_evaluations, ==, sum + (minimizer == NDT_MINIMIZER_LBFGS ? N : 0));
}

static void
test_batches (void)
{
  check_batch (NDT_MINIMIZER_LM);
  check_batch (NDT_MINIMIZER_LBFGS);
}

/* ---- A pose and a number ---- */

#define N_POINTS 30

/* Points seen from an unknown pose with an unknown factor on their ranges: r = T (k p) − q. */
typedef struct {
  NdtObjective parent;
  double p[N_POINTS][3], q[N_POINTS][3];
} Fit;

static gboolean
fit_evaluate (NdtObjective *objective, const NdtEvaluation *e, GError **error)
{
  const Fit *fit = (Fit *)objective;
  NdtPose pose;
  (void)error;
  memcpy (&pose, e->x, sizeof pose);
  const double k = e->x[7];
  e->values[0] = 0;
  if (e->gradients)
    memset (e->gradients, 0, 7 * sizeof (double));
  if (e->hessians)
    memset (e->hessians, 0, 28 * sizeof (double));
  for (guint i = 0; i < N_POINTS; i++) {
    const double p[3] = {k * fit->p[i][0], k * fit->p[i][1], k * fit->p[i][2]};
    double x[3];
    ndt_pose_transform_point (&pose, p, x);
    double a[3], r[3];
    for (guint c = 0; c < 3; c++) {
      a[c] = x[c] - pose.position[c];
      r[c] = x[c] - fit->q[i][c];
      e->values[0] += r[c] * r[c] / 2;
    }
    /* Rows of ∂x/∂(δt, δω, k): I, −[a]×, a / k. */
    const double rows[3][7] = {{1, 0, 0, 0, a[2], -a[1], a[0] / k},
        {0, 1, 0, -a[2], 0, a[0], a[1] / k}, {0, 0, 1, a[1], -a[0], 0, a[2] / k}};
    for (guint c = 0; c < 3; c++)
      for (gint j = 0; j < 7; j++) {
        if (e->gradients)
          e->gradients[j] += rows[c][j] * r[c];
        for (gint l = j; e->hessians && l < 7; l++)
          e->hessians[NDT_PACKED (7, j, l)] += rows[c][j] * rows[c][l];
      }
  }
  return TRUE;
}

static void
test_pose (void)
{
  static const NdtObjectiveClass klass = {.name = "fit", .evaluate = fit_evaluate};
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  for (guint n = 0; n < 50; n++) {
    Fit fit = {.parent = {.klass = &klass,
                   .n_poses = 1,
                   .n_numbers = 1,
                   .n_problems = 1,
                   .is_least_squares = TRUE}};
    const NdtPose truth = ndt_test_random_pose (rand, 3, 1.0);
    for (guint i = 0; i < N_POINTS; i++) {
      double p[3];
      for (guint c = 0; c < 3; c++) {
        fit.p[i][c] = g_rand_double_range (rand, -10, 10);
        p[c] = 1.1 * fit.p[i][c];
      }
      ndt_pose_transform_point (&truth, p, fit.q[i]);
    }
    g_assert_cmpuint (ndt_objective_get_size (&fit.parent), ==, 8);
    g_assert_cmpuint (ndt_objective_get_n_steps (&fit.parent), ==, 7);

    /* The derivatives are by the retraction: central differences of 1e-5 have errors of 1e-10 of
     * the third derivative and of rounding, 1e-11 of the value. */
    double x[8] = {1, 2, 3, 0, 0, 0, 1, 0.9}, gradient[7], value;
    const NdtEvaluation at = {
        .order = NDT_OBJECTIVE_GRADIENT, .n = 1, .x = x, .values = &value, .gradients = gradient};
    g_assert_true (ndt_objective_evaluate (&fit.parent, &at, NULL));
    for (guint j = 0; j < 7; j++) {
      double step[7] = {0}, moved[8], values[2];
      for (guint side = 0; side < 2; side++) {
        step[j] = side ? 1e-5 : -1e-5;
        ndt_objective_retract (&fit.parent, x, step, moved);
        const NdtEvaluation there = {.n = 1, .x = moved, .values = &values[side]};
        g_assert_true (ndt_objective_evaluate (&fit.parent, &there, NULL));
      }
      g_assert_cmpfloat_with_epsilon ((values[1] - values[0]) / 2e-5, gradient[j], 1e-5 * value);
    }

    for (NdtMinimizer minimizer = NDT_MINIMIZER_LM; minimizer <= NDT_MINIMIZER_LBFGS; minimizer++) {
      const double start[8] = {0, 0, 0, 0, 0, 0, 1, 1};
      NdtMinimizeParams params;
      NdtMinimum minimum;
      NdtPose pose;
      double metres, radians;
      ndt_minimize_params_init (&params, minimizer);
      params.gradient_tolerance = minimizer == NDT_MINIMIZER_LM ? 0 : 1e-8;
      memcpy (x, start, sizeof x);
      g_assert_true (ndt_minimize (&fit.parent, &params, x, NULL, &minimum, NULL));
      memcpy (&pose, x, sizeof pose);
      ndt_pose_difference (&pose, &truth, &metres, &radians);
      /* Of a curvature of some 30, a gradient of 1e-8 times the size. */
      g_assert_cmpfloat (metres, <, 1e-7);
      g_assert_cmpfloat (radians, <, 1e-7);
      g_assert_cmpfloat_with_epsilon (x[7], 1.1, 1e-7);
    }
  }
}

/* ---- Hard for a minimizer ---- */

/* x⁴/4 − x²/2 + y² (1 + x²): a saddle at the origin, minima of −1/4 at (±1, 0). */
static gboolean
saddle_evaluate (NdtObjective *objective, const NdtEvaluation *e, GError **error)
{
  const double x = e->x[0], y = e->x[1];
  (void)objective;
  (void)error;
  e->values[0] = x * x * x * x / 4 - x * x / 2 + y * y * (1 + x * x);
  if (e->gradients) {
    e->gradients[0] = x * x * x - x + 2 * y * y * x;
    e->gradients[1] = 2 * y * (1 + x * x);
  }
  if (e->hessians) {
    e->hessians[0] = 3 * x * x - 1 + 2 * y * y;
    e->hessians[1] = 4 * x * y;
    e->hessians[2] = 2 * (1 + x * x);
  }
  return TRUE;
}

/* x − ln x − 1 + (y − 2)²: not a number below 0, minimum of 0 at (1, 2). */
static gboolean
barrier_evaluate (NdtObjective *objective, const NdtEvaluation *e, GError **error)
{
  const double x = e->x[0], y = e->x[1];
  (void)objective;
  (void)error;
  e->values[0] = x - log (x) - 1 + (y - 2) * (y - 2);
  if (e->gradients) {
    e->gradients[0] = 1 - 1 / x;
    e->gradients[1] = 2 * (y - 2);
  }
  if (e->hessians) {
    e->hessians[0] = 1 / (x * x);
    e->hessians[1] = 0;
    e->hessians[2] = 2;
  }
  return TRUE;
}

static void
check_hard (gboolean (*evaluate) (NdtObjective *, const NdtEvaluation *, GError **),
    NdtMinimizer minimizer, const double start[2], const double optimum[2], double least)
{
  const NdtObjectiveClass klass = {.name = "hard", .evaluate = evaluate};
  NdtObjective objective = {.klass = &klass, .n_numbers = 2, .n_problems = 1};
  double x[2] = {start[0], start[1]};
  NdtMinimizeParams params;
  NdtMinimum minimum;
  ndt_minimize_params_init (&params, minimizer);
  g_assert_true (ndt_minimize (&objective, &params, x, NULL, &minimum, NULL));
  /* A value tolerance of 1e-8 leaves its square root; a gradient of 1e-5 less. */
  g_assert_cmpfloat_with_epsilon (fabs (x[0]), optimum[0], 1e-4);
  g_assert_cmpfloat_with_epsilon (x[1], optimum[1], 1e-4);
  g_assert_cmpfloat_with_epsilon (minimum.value, least, 1e-8);
  g_assert_cmpuint (minimum.evaluations, <, 60);
}

static void
test_hard (void)
{
  static const double valley[2] = {1, 0}, bowl[2] = {1, 2};
  static const double starts[][2] = {
      {0.01, 0.3}, {-0.2, 5}, {0.5, -1}, {1e-3, 1e-3}, {-30, 40}, {0.577, 0}};
  static const double inside[][2] = {{0.001, 0}, {50, 3}, {1.9, -1000}, {3, 2}};
  for (NdtMinimizer minimizer = NDT_MINIMIZER_LM; minimizer <= NDT_MINIMIZER_LBFGS; minimizer++) {
    for (guint i = 0; i < G_N_ELEMENTS (starts); i++)
      check_hard (saddle_evaluate, minimizer, starts[i], valley, -0.25);
    for (guint i = 0; i < G_N_ELEMENTS (inside); i++)
      check_hard (barrier_evaluate, minimizer, inside[i], bowl, 0);
  }
}

static void
test_not_finite (void)
{
  static const NdtObjectiveClass klass = {.name = "barrier", .evaluate = barrier_evaluate};
  NdtObjective objective = {.klass = &klass, .n_numbers = 2, .n_problems = 1};
  for (NdtMinimizer minimizer = NDT_MINIMIZER_LM; minimizer <= NDT_MINIMIZER_LBFGS; minimizer++) {
    double x[2] = {-1, 5};
    NdtMinimizeParams params;
    NdtMinimum minimum;
    ndt_minimize_params_init (&params, minimizer);
    g_assert_true (ndt_minimize (&objective, &params, x, NULL, &minimum, NULL));
    g_assert_cmpint (minimum.stop, ==, NDT_DESCENT_NOT_FINITE);
    g_assert_cmpuint (minimum.evaluations, ==, 1);
    g_assert_cmpfloat (x[0], ==, -1);
    /* The limit of evaluations is told, and kept. */
    x[0] = 50;
    params.max_evaluations = 3;
    g_assert_true (ndt_minimize (&objective, &params, x, NULL, &minimum, NULL));
    g_assert_cmpint (minimum.stop, ==, NDT_DESCENT_LIMIT);
    g_assert_cmpuint (minimum.evaluations, ==, 3);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/objective/arguments", test_arguments);
  g_test_add_func ("/objective/params", test_params);
  g_test_add_func ("/objective/cancel", test_cancel);
  g_test_add_func ("/objective/cancel-between", test_cancel_between);
  g_test_add_func ("/objective/batches", test_batches);
  g_test_add_func ("/objective/pose", test_pose);
  g_test_add_func ("/objective/hard", test_hard);
  g_test_add_func ("/objective/not-finite", test_not_finite);
  return g_test_run ();
}
