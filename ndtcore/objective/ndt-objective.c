/* SPDX-License-Identifier: MIT */
#include "ndt-objective.h"

#include <string.h>

#include "ndtcore/math/ndt-pose.h"

guint
ndt_objective_get_size (const NdtObjective *objective)
{
  return 7 * objective->n_poses + objective->n_numbers;
}

guint
ndt_objective_get_n_steps (const NdtObjective *objective)
{
  return 6 * objective->n_poses + objective->n_numbers;
}

void
ndt_objective_retract (
    const NdtObjective *objective, const double *x, const double *step, double *out)
{
  for (guint i = 0; i < objective->n_poses; i++, x += 7, step += 6, out += 7) {
    NdtPose pose;
    memcpy (&pose, x, sizeof pose);
    ndt_pose_retract (&pose, step, &pose);
    memcpy (out, &pose, sizeof pose);
  }
  for (guint i = 0; i < objective->n_numbers; i++)
    out[i] = x[i] + step[i];
}

static gboolean
refuse (const NdtObjective *objective, const gchar *why, GError **error)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "Evaluation of %s: %s",
      objective->klass->name, why);
  return FALSE;
}

static gboolean
check (const NdtObjective *objective, const NdtEvaluation *e, GError **error)
{
  if (objective->has_begun)
    return refuse (objective, "another has begun", error);
  if (e->n == 0 || e->n > objective->n_problems)
    return refuse (objective, "its number of problems is out of range", error);
  for (guint i = 0; e->problems && i < e->n; i++)
    if (e->problems[i] >= objective->n_problems)
      return refuse (objective, "there is no such problem", error);
  if (!e->x || !e->values || (e->order >= NDT_OBJECTIVE_GRADIENT && !e->gradients) ||
      (e->order >= NDT_OBJECTIVE_HESSIAN && !e->hessians))
    return refuse (objective, "memory is missing", error);
  return TRUE;
}

static gboolean
check_cancelled (NdtObjective *objective, GError **error)
{
  if (!g_atomic_int_get (&objective->cancelled))
    return TRUE;
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "Cancelled");
  return FALSE;
}

/* Takes the evaluation, without what is not to be computed. */
static gboolean
prepare (NdtObjective *objective, const NdtEvaluation *evaluation, GError **error)
{
  if (!check (objective, evaluation, error) || !check_cancelled (objective, error))
    return FALSE;
  objective->begun = *evaluation;
  if (evaluation->order < NDT_OBJECTIVE_GRADIENT)
    objective->begun.gradients = NULL;
  if (evaluation->order < NDT_OBJECTIVE_HESSIAN)
    objective->begun.hessians = NULL;
  return TRUE;
}

gboolean
ndt_objective_evaluate (NdtObjective *objective, const NdtEvaluation *evaluation, GError **error)
{
  if (!prepare (objective, evaluation, error))
    return FALSE;
  if (objective->klass->evaluate)
    return objective->klass->evaluate (objective, &objective->begun, error);
  return objective->klass->begin (objective, &objective->begun, error) &&
         objective->klass->end (objective, error);
}

gboolean
ndt_objective_begin (NdtObjective *objective, const NdtEvaluation *evaluation, GError **error)
{
  if (!prepare (objective, evaluation, error))
    return FALSE;
  if (objective->klass->begin && !objective->klass->begin (objective, &objective->begun, error))
    return FALSE;
  objective->has_begun = TRUE;
  return TRUE;
}

gboolean
ndt_objective_end (NdtObjective *objective, GError **error)
{
  if (!objective->has_begun)
    return refuse (objective, "none has begun", error);
  objective->has_begun = FALSE;
  if (objective->klass->end)
    return objective->klass->end (objective, error);
  return check_cancelled (objective, error) &&
         objective->klass->evaluate (objective, &objective->begun, error);
}

void
ndt_objective_cancel (NdtObjective *objective, gboolean cancelled)
{
  g_atomic_int_set (&objective->cancelled, cancelled);
  if (objective->klass->cancel)
    objective->klass->cancel (objective, cancelled);
}

void
ndt_objective_close (NdtObjective *objective)
{
  if (objective && objective->klass->close)
    objective->klass->close (objective);
}
