/* SPDX-License-Identifier: MIT */
#include "ndt-expr-objective.h"

typedef struct {
  NdtObjective parent;
  NdtExprProgram *program;
  const NdtExprRows *rows;
  NdtWorkers *workers;
  const NdtEvaluation *evaluation; /* that is running */
  gint cancelled;                  /* atomic */
} ExprObjective;

static void
evaluate_one (ExprObjective *self, guint i, NdtWorkers *workers)
{
  const NdtEvaluation *ev = self->evaluation;
  const gsize n = self->program->n_tangents;
  const guint problem = ev->problems ? ev->problems[i] : i;
  double *gradient = ev->order >= NDT_OBJECTIVE_GRADIENT ? ev->gradients + i * n : NULL;
  double *hessian =
      ev->order >= NDT_OBJECTIVE_HESSIAN ? ev->hessians + i * NDT_EXPR_N_NORMAL (n) : NULL;

  if (!g_atomic_int_get (&self->cancelled))
    ev->values[i] = ndt_expr_evaluate (self->program, ev->x + i * self->program->n_stored,
        &self->rows[problem], workers, gradient, hessian);
}

static void
evaluate_task (guint task, gpointer data)
{
  evaluate_one (data, task, NULL);
}

static gboolean
expr_evaluate (NdtObjective *objective, const NdtEvaluation *evaluation, GError **error)
{
  ExprObjective *self = (ExprObjective *)objective;

  self->evaluation = evaluation;
  if (self->workers && evaluation->n > 1) {
    ndt_workers_run (self->workers, evaluation->n, evaluate_task, self);
  } else {
    for (guint i = 0; i < evaluation->n; i++)
      evaluate_one (self, i, self->workers);
  }
  if (!g_atomic_int_get (&self->cancelled))
    return TRUE;
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "the evaluation was cancelled");
  return FALSE;
}

static void
expr_cancel (NdtObjective *objective, gboolean cancelled)
{
  g_atomic_int_set (&((ExprObjective *)objective)->cancelled, cancelled);
}

static void
expr_close (NdtObjective *objective)
{
  ExprObjective *self = (ExprObjective *)objective;
  ndt_expr_program_unref (self->program);
  g_free (self);
}

NdtObjective *
ndt_expr_objective_new (
    NdtExprProgram *program, const NdtExprRows *rows, guint n_problems, NdtWorkers *workers)
{
  static const NdtObjectiveClass klass = {
      .name = "residuals", .evaluate = expr_evaluate, .cancel = expr_cancel, .close = expr_close};
  ExprObjective *self = g_new0 (ExprObjective, 1);

  self->parent.klass = &klass;
  self->parent.n_poses = program->n_poses;
  self->parent.n_numbers = program->n_stored - 7 * program->n_poses;
  self->parent.n_problems = n_problems;
  self->parent.is_least_squares = TRUE;
  self->program = ndt_expr_program_ref (program);
  self->rows = rows;
  self->workers = workers;
  return &self->parent;
}
