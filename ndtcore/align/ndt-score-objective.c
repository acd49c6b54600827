/* SPDX-License-Identifier: MIT */
#include "ndt-score-objective.h"

#include <string.h>

#include "ndtcore/math/ndt-formulas.h"

typedef struct {
  NdtObjective parent;
  NdtBackend *backend;
  guint slot;
  NdtAlignParams params;
  guint level;
  gboolean is_reweighted;
  NdtPose *poses; /* room for all problems */
  NdtSums *sums;
  GThread *thread; /* of an evaluation that has begun */
  const NdtEvaluation *begun;
  GError *error; /* the thread's */
} ScoreObjective;

static gboolean
evaluate_kind (ScoreObjective *score, NdtKind kind, guint n, GError **error)
{
  return ndt_backend_evaluate (score->backend, score->slot, &score->params, score->level, kind,
      score->poses, n, score->sums, error);
}

/* The factor of the reweighted normal equations; edges of cells double from level to level. */
static double
get_weight (const ScoreObjective *score)
{
  const double cell = ndt_backend_get_resolution (score->backend) * (1u << score->level);
  const NdtGauss gauss = ndt_gauss (score->params.outlier_ratio, cell);
  return -gauss.d1 * gauss.d2;
}

static gboolean
score_evaluate (NdtObjective *objective, const NdtEvaluation *e, GError **error)
{
  ScoreObjective *score = (ScoreObjective *)objective;
  double weight = 1;
  for (guint i = 0; i < e->n; i++)
    memcpy (&score->poses[i], e->x + (gsize)7 * i, sizeof (NdtPose));
  if (!evaluate_kind (score, NDT_KIND_SCORE, e->n, error))
    return FALSE;
  for (guint i = 0; i < e->n; i++) {
    e->values[i] = -score->sums[i].score;
    for (guint k = 0; e->gradients && k < 6; k++)
      e->gradients[6 * i + k] = -score->sums[i].gradient[k];
  }
  if (!e->hessians)
    return TRUE;
  if (score->is_reweighted) {
    if (!evaluate_kind (score, NDT_KIND_LEAST_SQUARES, e->n, error))
      return FALSE;
    weight = get_weight (score);
  }
  for (guint i = 0; i < e->n; i++)
    for (guint k = 0; k < 21; k++)
      e->hessians[21 * i + k] = -weight * score->sums[i].hessian[k];
  return TRUE;
}

static gpointer
run (gpointer data)
{
  ScoreObjective *score = data;
  score_evaluate (&score->parent, score->begun, &score->error);
  return NULL;
}

static gboolean
score_begin (NdtObjective *objective, const NdtEvaluation *e, GError **error)
{
  ScoreObjective *score = (ScoreObjective *)objective;
  g_autoptr (GError) why = NULL;
  score->begun = e;
  score->thread = g_thread_try_new ("ndt-objective", run, score, &why);
  if (!score->thread)
    g_set_error (
        error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "No thread for an evaluation: %s", why->message);
  return score->thread != NULL;
}

static gboolean
score_end (NdtObjective *objective, GError **error)
{
  ScoreObjective *score = (ScoreObjective *)objective;
  g_thread_join (g_steal_pointer (&score->thread));
  if (!score->error)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&score->error));
  return FALSE;
}

static void
score_cancel (NdtObjective *objective, gboolean cancelled)
{
  ndt_backend_cancel (((ScoreObjective *)objective)->backend, cancelled);
}

static void
score_close (NdtObjective *objective)
{
  ScoreObjective *score = (ScoreObjective *)objective;
  if (score->thread)
    score_end (objective, NULL);
  g_free (score->poses);
  g_free (score->sums);
  g_free (score);
}

static NdtObjective *
objective_new (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level,
    guint n_problems, gboolean is_reweighted)
{
  static const NdtObjectiveClass klass = {.name = "the score",
      .evaluate = score_evaluate,
      .begin = score_begin,
      .end = score_end,
      .cancel = score_cancel,
      .close = score_close};
  ScoreObjective *score = g_new0 (ScoreObjective, 1);
  score->parent.klass = &klass;
  score->parent.n_poses = 1;
  score->parent.n_problems = n_problems;
  score->backend = backend;
  score->slot = slot;
  score->params = *params;
  score->level = level;
  score->is_reweighted = is_reweighted;
  score->poses = g_new (NdtPose, n_problems);
  score->sums = g_new (NdtSums, n_problems);
  return &score->parent;
}

NdtObjective *
ndt_score_objective_new (
    NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level, guint n_problems)
{
  return objective_new (backend, slot, params, level, n_problems, FALSE);
}

NdtObjective *
ndt_reweighted_objective_new (
    NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level, guint n_problems)
{
  return objective_new (backend, slot, params, level, n_problems, TRUE);
}
