/* SPDX-License-Identifier: MIT */
#include "ndt-minimize.h"

#include <string.h>

#include "ndtcore/math/ndt-lbfgs.h"
#include "ndtcore/math/ndt-lm.h"

void
ndt_minimize_params_init (NdtMinimizeParams *params, NdtMinimizer minimizer)
{
  const NdtLmParams lm = NDT_LM_PARAMS_DEFAULT;
  const NdtLbfgsParams lbfgs = NDT_LBFGS_PARAMS_DEFAULT;
  const gboolean is_lm = minimizer == NDT_MINIMIZER_LM;
  memset (params, 0, sizeof *params);
  params->minimizer = minimizer;
  params->value_tolerance = is_lm ? lm.value_tolerance : lbfgs.value_tolerance;
  params->step_tolerance = lm.step_tolerance;
  params->gradient_tolerance = is_lm ? lm.gradient_tolerance : lbfgs.gradient_tolerance;
  params->first_radius = lm.first_radius;
  params->history = 6;
  params->max_evaluations = (guint)lm.max_evaluations;
}

/* Of one problem. */
typedef struct {
  gboolean is_done;
  union {
    NdtLm lm;
    NdtLbfgs lbfgs;
  };
} State;

typedef struct {
  NdtObjective *objective;
  const NdtMinimizeParams *params;
  gsize size, n_steps, packed;
  gsize n_memory; /* of one state */
  double *x;      /* best, a row for each problem */
  State *states;
  double *memory;
  double *tangent; /* a row of x by which tolerances are relative */
  /* Of the problems that are evaluated: rows in turn. */
  guint *problems;
  double *trials, *values, *gradients, *hessians;
} Run;

static void
init_state (Run *run, guint i)
{
  const gint32 n = (gint32)run->n_steps;
  double *memory = run->memory + i * run->n_memory;
  if (run->params->minimizer == NDT_MINIMIZER_LM)
    ndt_lm_init (&run->states[i].lm, n, memory, run->params->scale);
  else
    ndt_lbfgs_init (
        &run->states[i].lbfgs, n, (gint32)run->params->history, memory, run->params->scale);
}

static const double *
get_step (const Run *run, guint i)
{
  return run->params->minimizer == NDT_MINIMIZER_LM ? run->states[i].lm.step
                                                    : run->states[i].lbfgs.step;
}

/* Tells problem @i the result of its trial, row @row. */
static void
update (Run *run, guint i, guint row)
{
  const NdtMinimizeParams *p = run->params;
  State *state = &run->states[i];
  const double *trial = run->trials + row * run->size;
  const double *gradient = run->gradients + row * run->n_steps;
  const gsize n_poses = run->objective->n_poses;
  int go_on, accepted;
  for (gsize k = 0; k < 6 * n_poses; k++)
    run->tangent[k] = 1;
  for (gsize k = 0; k < run->objective->n_numbers; k++)
    run->tangent[6 * n_poses + k] = trial[7 * n_poses + k];
  if (p->minimizer == NDT_MINIMIZER_LM) {
    const NdtLmParams params = {.value_tolerance = p->value_tolerance,
        .step_tolerance = p->step_tolerance,
        .gradient_tolerance = p->gradient_tolerance,
        .first_radius = p->first_radius,
        .max_evaluations = (gint32)p->max_evaluations};
    go_on = ndt_lm_update (&state->lm, &params, run->values[row], gradient,
        run->hessians + row * run->packed, run->tangent);
    accepted = state->lm.accepted;
  } else {
    const NdtLbfgsParams params = {.value_tolerance = p->value_tolerance,
        .gradient_tolerance = p->gradient_tolerance,
        .curvature = 0.9,
        .max_evaluations = (gint32)p->max_evaluations};
    go_on = ndt_lbfgs_update (&state->lbfgs, &params, run->values[row], gradient, run->tangent);
    accepted = state->lbfgs.accepted;
  }
  if (accepted)
    memcpy (run->x + i * run->size, trial, run->size * sizeof *trial);
  state->is_done = !go_on;
}

/* FALSE: the objective failed. */
static gboolean
run_all (Run *run, GError **error)
{
  const gboolean is_lm = run->params->minimizer == NDT_MINIMIZER_LM;
  NdtEvaluation evaluation = {.order = is_lm ? NDT_OBJECTIVE_HESSIAN : NDT_OBJECTIVE_GRADIENT,
      .problems = run->problems,
      .x = run->trials,
      .values = run->values,
      .gradients = run->gradients,
      .hessians = run->hessians};
  for (;;) {
    evaluation.n = 0;
    for (guint i = 0; i < run->objective->n_problems; i++)
      if (!run->states[i].is_done) {
        run->problems[evaluation.n] = i;
        ndt_objective_retract (run->objective, run->x + i * run->size, get_step (run, i),
            run->trials + evaluation.n++ * run->size);
      }
    if (evaluation.n == 0)
      return TRUE;
    if (!ndt_objective_evaluate (run->objective, &evaluation, error))
      return FALSE;
    for (guint row = 0; row < evaluation.n; row++)
      update (run, run->problems[row], row);
  }
}

static void
get_minimum (const Run *run, guint i, NdtMinimum *minimum)
{
  const State *state = &run->states[i];
  if (run->params->minimizer == NDT_MINIMIZER_LM)
    *minimum = (NdtMinimum){state->lm.value, (NdtDescentStop)state->lm.stop,
        (guint)state->lm.iterations, (guint)state->lm.evaluations};
  else
    *minimum = (NdtMinimum){state->lbfgs.value, (NdtDescentStop)state->lbfgs.stop,
        (guint)state->lbfgs.iterations, (guint)state->lbfgs.evaluations};
}

/* Matrices at the results: those that LM has kept, or one more evaluation. */
static gboolean
get_hessians (Run *run, double *hessians, GError **error)
{
  const guint n = run->objective->n_problems;
  if (run->params->minimizer == NDT_MINIMIZER_LM) {
    for (guint i = 0; i < n; i++)
      memcpy (
          hessians + i * run->packed, run->states[i].lm.hessian, run->packed * sizeof *hessians);
    return TRUE;
  }
  const NdtEvaluation evaluation = {.order = NDT_OBJECTIVE_HESSIAN,
      .n = n,
      .x = run->x,
      .values = run->values,
      .gradients = run->gradients,
      .hessians = hessians};
  return ndt_objective_evaluate (run->objective, &evaluation, error);
}

static gboolean
check (const NdtObjective *objective, const NdtMinimizeParams *p, GError **error)
{
  const guint n_steps = ndt_objective_get_n_steps (objective);
  gboolean ok = p->value_tolerance >= 0 && p->step_tolerance >= 0 && p->gradient_tolerance >= 0 &&
                p->first_radius > 0 && p->history >= 1 && p->history <= 100 &&
                p->max_evaluations >= 1 && p->max_evaluations <= G_MAXINT32 && n_steps >= 1 &&
                n_steps <= 10000 && objective->n_problems >= 1;
  for (guint i = 0; p->scale && i < n_steps; i++)
    ok = ok && p->scale[i] > 0;
  if (!ok)
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "Minimization of %s: a parameter is out of range", objective->klass->name);
  return ok;
}

gboolean
ndt_minimize (NdtObjective *objective, const NdtMinimizeParams *params, double *x, double *hessians,
    NdtMinimum *minima, GError **error)
{
  if (!check (objective, params, error))
    return FALSE;
  const gsize n = objective->n_problems, n_steps = ndt_objective_get_n_steps (objective);
  Run run = {.objective = objective,
      .params = params,
      .size = ndt_objective_get_size (objective),
      .n_steps = n_steps,
      .packed = NDT_PACKED_SIZE (n_steps),
      .x = x};
  run.n_memory = params->minimizer == NDT_MINIMIZER_LM
                     ? NDT_LM_MEMORY (n_steps)
                     : NDT_LBFGS_MEMORY (n_steps, params->history);
  const gsize n_hessians = params->minimizer == NDT_MINIMIZER_LM ? run.packed : 0;
  g_autofree State *states = g_new0 (State, n);
  g_autofree guint *problems = g_new (guint, n);
  g_autofree double *numbers =
      g_try_new (double, n_steps + n * (run.n_memory + run.size + 1 + n_steps + n_hessians));
  if (!numbers) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
        "There is no memory for %" G_GSIZE_FORMAT " problems of %" G_GSIZE_FORMAT " parameters", n,
        n_steps);
    return FALSE;
  }
  run.states = states;
  run.problems = problems;
  run.tangent = numbers;
  run.memory = run.tangent + n_steps;
  run.trials = run.memory + n * run.n_memory;
  run.values = run.trials + n * run.size;
  run.gradients = run.values + n;
  run.hessians = run.gradients + n * n_steps;
  for (guint i = 0; i < n; i++)
    init_state (&run, i);
  const gboolean ok = run_all (&run, error);
  for (guint i = 0; i < n; i++)
    get_minimum (&run, i, &minima[i]);
  return ok && (!hessians || get_hessians (&run, hessians, error));
}
