/* SPDX-License-Identifier: MIT */
#include "ndt-score-objective.h"

#include <string.h>

typedef struct {
  NdtObjective parent;
  NdtBackend *backend;
  guint slot;
  NdtAlignParams params;
  guint level;
  NdtPose *poses; /* room for all problems */
  NdtSums *sums;
} ScoreObjective;

static gboolean
score_evaluate (NdtObjective *objective, const NdtEvaluation *e, GError **error)
{
  ScoreObjective *score = (ScoreObjective *)objective;
  for (guint i = 0; i < e->n; i++)
    memcpy (&score->poses[i], e->x + (gsize)7 * i, sizeof (NdtPose));
  if (!ndt_backend_evaluate (score->backend, score->slot, &score->params, score->level,
          NDT_KIND_SCORE, score->poses, e->n, score->sums, error))
    return FALSE;
  for (guint i = 0; i < e->n; i++) {
    const NdtSums *sums = &score->sums[i];
    e->values[i] = -sums->score;
    for (guint k = 0; e->gradients && k < 6; k++)
      e->gradients[6 * i + k] = -sums->gradient[k];
    for (guint k = 0; e->hessians && k < 21; k++)
      e->hessians[21 * i + k] = -sums->hessian[k];
  }
  return TRUE;
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
  g_free (score->poses);
  g_free (score->sums);
  g_free (score);
}

NdtObjective *
ndt_score_objective_new (
    NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level, guint n_problems)
{
  static const NdtObjectiveClass klass = {.name = "the score",
      .evaluate = score_evaluate,
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
  score->poses = g_new (NdtPose, n_problems);
  score->sums = g_new (NdtSums, n_problems);
  return &score->parent;
}
