/* SPDX-License-Identifier: MIT */
/* The step rule of an alignment, as a state machine that allocates nothing: from the objective at a
 * trial pose it computes the next trial. The CPU's loop and the kernels run the same code; on the
 * device the matrix is factored in float. It does not depend on voxels.
 *
 * Approach: Gauss–Newton on the reweighted least squares, without a line search: that sum also
 * falls when pairs are lost, so that it cannot decide whether a step is accepted. Then the score:
 * Newton with a Hessian made definite, limited steps, backtracking; the score never decreases. A
 * start without approach whose Hessian is indefinite (the guess lies outside the score's basin)
 * takes a few steps of the finest level's approach, which are accepted if they raised the score.
 * Instead of Newton's method the score may be maximized by the minimizers of ndt-lm.h and
 * ndt-lbfgs.h, with the same limits and epsilons.
 *
 * "Score" here is the score less the penalties of a regularization, where there are any. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "ndt-lbfgs.h"
#include "ndt-lm.h"
#include "ndt-newton-step.h"
#include "ndtcore/base/ndt-tuning.h"

/* As in NdtAlignParams. */
typedef struct {
  NdtReal translation_epsilon;
  NdtReal rotation_epsilon;
  NdtReal max_translation_step;
  NdtReal max_rotation_step;
  int32_t max_iterations;
  int32_t n_levels;   /* of the map */
  NdtReal resolution; /* of the finest level */
  int32_t method;     /* NdtMethod */
  int32_t max_evaluations;
} NdtOptimizerParams;

#define NDT_OPTIMIZER_MEMORY                                                                       \
  (NDT_LBFGS_MEMORY (6, NDT_OPTIMIZER_HISTORY) > NDT_LM_MEMORY (6)                                 \
          ? NDT_LBFGS_MEMORY (6, NDT_OPTIMIZER_HISTORY)                                            \
          : NDT_LM_MEMORY (6))

/* The objective at the trial pose. */
typedef struct {
  NdtReal score;
  NdtReal gradient[6];
  NdtReal hessian[21];
  uint32_t n_pairs;
#if NDT_OPTIMIZER_ON_DEVICE
  NdtFactorReal *rounded; /* score, gradient and Hessian, in turn */
  int32_t is_finite;
#endif
} NdtOptimizerSums;

/* Of other methods than Newton's, which minimize −score: what they are told (value, gradient,
 * Hessian), their state, and its memory. A copy is not to be updated. Apart from NdtOptimizer, so
 * that kernels of Newton's method have no memory for it. */
typedef struct {
  NdtReal told[28];
  union {
    NdtLm lm;
    NdtLbfgs lbfgs;
  };
  NdtReal memory[NDT_OPTIMIZER_MEMORY];
} NdtOptimizerDescent;

/**
 * NdtOptimizer:
 * @t: trial: displacement in metres from the position of the start
 * @q: trial: orientation
 * @level: level of the map to evaluate the trial over
 * @kind: NdtKind to evaluate
 * @best_t: last accepted pose: the result, once done
 * @best_q: likewise
 * @stop: NdtStop, once done
 * @iterations: steps of the score's maximization
 * @approach_steps: steps of the approach
 * @evaluations: calls of ndt_optimizer_update()
 * @oscillation: longest run of reversing steps
 */
typedef struct {
  NdtReal t[3];
  NdtReal q[4];
  int32_t level;
  int32_t kind;

  NdtReal best_t[3];
  NdtReal best_q[4];
  int32_t stop;
  int32_t iterations;
  int32_t approach_steps;
  int32_t evaluations;
  int32_t oscillation;

  /*< private >*/
  NdtReal score;        /* at best */
  NdtReal held_pairs;   /* weight of the penalty; 0: not known yet */
  NdtReal step[6];      /* from best to the trial, at length 1 */
  NdtReal slope;        /* gradient · step */
  NdtReal length;       /* of the trial, as a fraction of step */
  NdtReal last_step[6]; /* that led to best */
  int32_t reversals;    /* current run */
  int32_t stage_steps;  /* left of the approach's stage */
  int32_t steps_per_stage;
  int32_t have_best; /* score is known */
  int32_t is_last;   /* the step is below both epsilons */
  int32_t may_detour;
  int32_t on_detour;      /* approach after an indefinite start; best is the start */
  NdtReal detour_step[6]; /* step from the start that is taken where the detour did not raise the
                             score */
  NdtReal detour_slope;
#if !NDT_OPTIMIZER_ON_DEVICE
  NdtOptimizerDescent descent;
#endif
} NdtOptimizer;

NDT_INLINE void
ndt_optimizer_enter_stage (NdtOptimizer *o, int32_t level)
{
  o->level = level < 0 ? 0 : level;
  o->kind = level < 0 ? NDT_KIND_SCORE : NDT_KIND_LEAST_SQUARES;
  o->stage_steps = o->steps_per_stage;
}

/* @q: orientation of the start; its position is the origin of displacements. */
NDT_INLINE void
ndt_optimizer_init (
    NdtOptimizer *o, const NdtOptimizerParams *params, const NdtReal q[4], uint32_t approach)
{
  for (int i = 0; i < 3; i++)
    o->t[i] = o->best_t[i] = 0;
  for (int i = 0; i < 4; i++)
    o->q[i] = o->best_q[i] = q[i];
  for (int i = 0; i < 6; i++)
    o->step[i] = o->last_step[i] = o->detour_step[i] = 0;
  o->stop = NDT_STOP_NO_PAIRS;
  o->iterations = o->approach_steps = o->evaluations = o->oscillation = o->reversals = 0;
  o->score = o->slope = o->detour_slope = 0;
  o->held_pairs = 0;
  o->length = 1;
  o->have_best = o->is_last = o->on_detour = 0;
  o->may_detour = approach == 0;
  /* Ten steps over one level, five each over two, four each over three: docs/mathematics.md. */
  o->steps_per_stage = approach <= 1 ? 10 : approach == 2 ? 5 : 4;
  int32_t level = (int32_t)approach - 1;
  if (level >= params->n_levels)
    level = params->n_levels - 1;
  ndt_optimizer_enter_stage (o, level);
}

NDT_INLINE int
ndt_optimizer_solve_sums (const NdtOptimizerSums *sums, NdtReal step[6])
{
#if NDT_OPTIMIZER_ON_DEVICE
  return ndt_optimizer_solve_rounded (
      sums->gradient, sums->hessian, sums->rounded + 1, sums->rounded + 7, step);
#else
  return ndt_optimizer_solve (sums->gradient, sums->hessian, step);
#endif
}

/* Lengths are compared squared: on a device a square root takes as long as the rest of the
 * function. */
NDT_INLINE NdtReal
ndt_optimizer_square3 (const NdtReal v[3])
{
  return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}

/* Shortens a step to the limits, its direction kept. */
NDT_INLINE void
ndt_optimizer_limit (NdtReal step[6], NdtReal max_translation, NdtReal max_rotation)
{
  const NdtReal translation2 = ndt_optimizer_square3 (step);
  const NdtReal rotation2 = ndt_optimizer_square3 (step + 3);
  NdtReal k = 1;
  if (translation2 > max_translation * max_translation)
    k = max_translation / (NdtReal)sqrt (translation2);
  if (rotation2 * k * k > max_rotation * max_rotation)
    k = max_rotation / (NdtReal)sqrt (rotation2);
  NDT_UNROLL
  for (int i = 0; i < 6; i++)
    step[i] *= k;
}

/* to = from ⊕ step, by ndt_pose_retract()'s perturbation. from may be to. */
NDT_INLINE void
ndt_optimizer_retract (const NdtReal step[6], const NdtReal from_t[3], const NdtReal from_q[4],
    NdtReal to_t[3], NdtReal to_q[4])
{
  const NdtReal *w = step + 3;
  for (int i = 0; i < 3; i++)
    to_t[i] = from_t[i] + step[i];
  /* sin (θ/2) / θ and cos (θ/2) of the quaternion: up to 0.5 rad by their series, with an error of
   * 1e-13. */
  const NdtReal h = ndt_optimizer_square3 (w) / 4;
  NdtReal k, a3;
  if (h < (NdtReal)0.0625) {
    k = (NdtReal)0.5 *
        (1 - h * (NdtReal)(1.0 / 6) *
                 (1 - h * (NdtReal)(1.0 / 20) *
                          (1 - h * (NdtReal)(1.0 / 42) * (1 - h * (NdtReal)(1.0 / 72)))));
    a3 = 1 - h * (NdtReal)(1.0 / 2) *
                 (1 - h * (NdtReal)(1.0 / 12) *
                          (1 - h * (NdtReal)(1.0 / 30) * (1 - h * (NdtReal)(1.0 / 56))));
  } else {
    const NdtReal half = (NdtReal)sqrt (h);
    k = (NdtReal)sin (half) / (2 * half);
    a3 = (NdtReal)cos (half);
  }
  const NdtReal a0 = k * w[0], a1 = k * w[1], a2 = k * w[2];
  const NdtReal *b = from_q;
  const NdtReal x = a3 * b[0] + a0 * b[3] + a1 * b[2] - a2 * b[1];
  const NdtReal y = a3 * b[1] - a0 * b[2] + a1 * b[3] + a2 * b[0];
  const NdtReal z = a3 * b[2] + a0 * b[1] - a1 * b[0] + a2 * b[3];
  const NdtReal c = a3 * b[3] - a0 * b[0] - a1 * b[1] - a2 * b[2];
  /* 1 / sqrt by one Newton step from 1: both factors have unit length up to rounding. */
  const NdtReal n = (NdtReal)1.5 - (NdtReal)0.5 * (x * x + y * y + z * z + c * c);
  to_q[0] = x * n;
  to_q[1] = y * n;
  to_q[2] = z * n;
  to_q[3] = c * n;
}

/* trial = from ⊕ length · step. from may be the trial. */
NDT_INLINE void
ndt_optimizer_move (NdtOptimizer *o, const NdtReal from_t[3], const NdtReal from_q[4])
{
  NdtReal step[6];
  NDT_UNROLL
  for (int i = 0; i < 6; i++)
    step[i] = o->length * o->step[i];
  ndt_optimizer_retract (step, from_t, from_q, o->t, o->q);
}

NDT_INLINE void
ndt_optimizer_accept (NdtOptimizer *o)
{
  for (int i = 0; i < 3; i++)
    o->best_t[i] = o->t[i];
  for (int i = 0; i < 4; i++)
    o->best_q[i] = o->q[i];
}

NDT_INLINE int
ndt_optimizer_is_finite (const NdtOptimizerSums *sums)
{
#if NDT_OPTIMIZER_ON_DEVICE
  return sums->is_finite;
#else
  /* Three independent sums, so that their additions overlap. */
  NdtFactorReal all[3] = {(NdtFactorReal)sums->score, 0, 0};
  NDT_UNROLL
  for (int i = 0; i < 6; i++)
    all[i % 3] += (NdtFactorReal)fabs (sums->gradient[i]);
  NDT_UNROLL
  for (int i = 0; i < 21; i++)
    all[i % 3] += (NdtFactorReal)fabs (sums->hessian[i]);
  return isfinite (all[0] + all[1] + all[2]);
#endif
}

/**
 * ndt_optimizer_add_factor:
 * @start: of the alignment; its factor is set
 * @score: (inout): the objective at the trial pose; the penalty of the factor is subtracted
 * @gradient: (inout): likewise
 * @hessian: (inout): likewise; of the penalty JᵀΛJ, which is positive semidefinite
 *
 * To be called before ndt_optimizer_regularize(). With e the quaternion from the mean to the trial,
 * a perturbation δω changes twice its vector part by (e_w I − [e_v]×) δω.
 */
NDT_NOINLINE void
ndt_optimizer_add_factor (const NdtOptimizer *o, const NdtStart *start, NdtReal *score,
    NdtReal gradient[6], NdtReal hessian[21])
{
  const NdtPoseFactor *f = &start->regularization.factor;
  const double *m = f->mean.orientation;
  const NdtReal *q = o->q;
  /* q ⊗ m⁻¹, of the two of the sign that turns less. */
  NdtReal e[4] = {-q[3] * m[0] + q[0] * m[3] - q[1] * m[2] + q[2] * m[1],
      -q[3] * m[1] + q[0] * m[2] + q[1] * m[3] - q[2] * m[0],
      -q[3] * m[2] - q[0] * m[1] + q[1] * m[0] + q[2] * m[3],
      q[3] * m[3] + q[0] * m[0] + q[1] * m[1] + q[2] * m[2]};
  if (e[3] < 0)
    for (int i = 0; i < 4; i++)
      e[i] = -e[i];
  /* Rows of the residual's derivative by the perturbation's rotation. */
  const NdtReal j[3][3] = {{e[3], e[2], -e[1]}, {-e[2], e[3], e[0]}, {e[1], -e[0], e[3]}};
  NdtReal r[6], by[6][6], pull[6];
  for (int i = 0; i < 3; i++) {
    r[i] = start->guess.position[i] - f->mean.position[i] + o->t[i];
    r[3 + i] = 2 * e[i];
  }
  /* Λ r, and Λ J. */
  for (int a = 0; a < 6; a++) {
    NdtReal l[6];
    for (int b = 0; b < 6; b++)
      l[b] = f->information[a <= b ? NDT_H6 (a, b) : NDT_H6 (b, a)];
    pull[a] = l[0] * r[0] + l[1] * r[1] + l[2] * r[2] + l[3] * r[3] + l[4] * r[4] + l[5] * r[5];
    for (int b = 0; b < 3; b++) {
      by[a][b] = l[b];
      by[a][3 + b] = l[3] * j[0][b] + l[4] * j[1][b] + l[5] * j[2][b];
    }
  }
  NdtReal penalty = 0;
  for (int a = 0; a < 6; a++)
    penalty += r[a] * pull[a];
  *score -= (NdtReal)0.5 * penalty;
  for (int a = 0; a < 3; a++) {
    gradient[a] -= pull[a];
    gradient[3 + a] -= j[0][a] * pull[3] + j[1][a] * pull[4] + j[2][a] * pull[5];
  }
  for (int a = 0; a < 6; a++)
    for (int b = a; b < 6; b++)
      hessian[NDT_H6 (a, b)] -=
          a < 3 ? by[a][b]
                : j[0][a - 3] * by[3][b] + j[1][a - 3] * by[4][b] + j[2][a - 3] * by[5][b];
}

/**
 * ndt_optimizer_regularize:
 * @start: of the alignment
 * @n_pairs: at the trial pose
 * @sums: (inout): the objective there; the penalties are subtracted
 *
 * To be called before ndt_optimizer_update(). The scores of an alignment are compared with each
 * other, so that all penalties have the weight of the first one; steps of the approach are not
 * compared, and each has the weight of its own pairs.
 */
NDT_INLINE void
ndt_optimizer_regularize (
    NdtOptimizer *o, const NdtStart *start, NdtReal n_pairs, NdtOptimizerSums *sums)
{
  const NdtRegularization *r = &start->regularization;
#if !NDT_OPTIMIZER_ON_DEVICE
  /* On a device the caller does it, in shared memory: @sums are registers. */
  if (r->factor.is_set)
    ndt_optimizer_add_factor (o, start, &sums->score, sums->gradient, sums->hessian);
#endif
  if (!(r->scale > 0))
    return;
  if (o->kind == NDT_KIND_SCORE) {
    if (o->held_pairs == 0)
      o->held_pairs = n_pairs;
    n_pairs = o->held_pairs;
  }
  const NdtReal x = r->direction[0], y = r->direction[1];
  const NdtReal e = x * (r->target[0] - start->guess.position[0] - o->t[0]) +
                    y * (r->target[1] - start->guess.position[1] - o->t[1]);
  const NdtReal w = r->scale * n_pairs;
  sums->score -= w * e * e;
  sums->gradient[0] += 2 * w * e * x;
  sums->gradient[1] += 2 * w * e * y;
  sums->hessian[NDT_H6 (0, 0)] -= 2 * w * x * x;
  sums->hessian[NDT_H6 (0, 1)] -= 2 * w * x * y;
  sums->hessian[NDT_H6 (1, 1)] -= 2 * w * y * y;
#if NDT_OPTIMIZER_ON_DEVICE
  sums->rounded[0] = (NdtFactorReal)sums->score;
  sums->rounded[1] = (NdtFactorReal)sums->gradient[0];
  sums->rounded[2] = (NdtFactorReal)sums->gradient[1];
  sums->rounded[7 + NDT_H6 (0, 0)] = (NdtFactorReal)sums->hessian[NDT_H6 (0, 0)];
  sums->rounded[7 + NDT_H6 (0, 1)] = (NdtFactorReal)sums->hessian[NDT_H6 (0, 1)];
  sums->rounded[7 + NDT_H6 (1, 1)] = (NdtFactorReal)sums->hessian[NDT_H6 (1, 1)];
#endif
}

/* Returns 1 where there are not @n more evaluations. */
NDT_INLINE int
ndt_optimizer_is_spent (const NdtOptimizer *o, const NdtOptimizerParams *params, int n)
{
  return params->max_evaluations > 0 && o->evaluations + n > params->max_evaluations;
}

/* Is the step, at its current length, below both epsilons? */
NDT_INLINE int
ndt_optimizer_is_small (const NdtOptimizer *o, const NdtOptimizerParams *params)
{
  const NdtReal translation = params->translation_epsilon, rotation = params->rotation_epsilon;
  const NdtReal l2 = o->length * o->length;
  /* Also TRUE for a step of zero where the squares of very small epsilons are zero. */
  return l2 * ndt_optimizer_square3 (o->step) <= translation * translation &&
         l2 * ndt_optimizer_square3 (o->step + 3) <= rotation * rotation;
}

/* Rotations are weighted by a lever of 10 m, about the distance at which most points lie. */
#define NDT_OPTIMIZER_LEVER2 100

/* By weighted products: of the new and the last step, and of each with itself. */
NDT_INLINE void
ndt_optimizer_count_turn (NdtOptimizer *o, NdtReal dot, NdtReal now, NdtReal last)
{
  o->reversals = dot < 0 && dot * dot > (NdtReal)0.81 * now * last ? o->reversals + 1 : 0;
  if (o->reversals > o->oscillation)
    o->oscillation = o->reversals;
}

NDT_INLINE void
ndt_optimizer_count_reversal (NdtOptimizer *o)
{
  NdtReal dot = 0, now = 0, last = 0;
  for (int i = 0; i < 6; i++) {
    const NdtReal k = i < 3 ? 1 : NDT_OPTIMIZER_LEVER2;
    dot += k * o->step[i] * o->last_step[i];
    now += k * o->step[i] * o->step[i];
    last += k * o->last_step[i] * o->last_step[i];
  }
  ndt_optimizer_count_turn (o, dot, now, last);
}

/* Whether a step of the approach, by its squared lengths, is far inside what the next stage
 * reaches. */
NDT_INLINE int
ndt_optimizer_ends_stage (NdtReal translation2, NdtReal rotation2, NdtReal cell)
{
  return translation2 < (NdtReal)NDT_OPTIMIZER_STAGE_CELL2 * cell * cell &&
         rotation2 < (NdtReal)NDT_OPTIMIZER_STAGE_TURN2;
}

/* ndt_optimizer_update() of the score by LM or L-BFGS; sums are finite, and their evaluation is
 * counted. Returns whether to go on, plus 2 where the trial was accepted. */
NDT_NOINLINE int
ndt_optimizer_descend (NdtOptimizer *o, NdtOptimizerDescent *d, const NdtOptimizerParams *params,
    const NdtOptimizerSums *sums)
{
  d->told[0] = -sums->score;
  for (int i = 0; i < 6; i++)
    d->told[1 + i] = -sums->gradient[i];
  for (int i = 0; i < 21; i++)
    d->told[7 + i] = -sums->hessian[i];
  const int is_lm = params->method == NDT_METHOD_LM;
  const NdtReal *gradient = d->told + 1, *hessian = d->told + 7;
  NdtReal scale[6], first_length = 0;
  for (int i = 0; i < 6; i++)
    scale[i] = 1 / (i < 3 ? params->max_translation_step : params->max_rotation_step);
  if (!o->have_best && sums->n_pairs == 0) {
    o->stop = NDT_STOP_NO_PAIRS;
    return 2;
  }
  if (o->on_detour) {
    o->on_detour = 0;
    if (!(-d->told[0] > o->score)) {
      if (ndt_optimizer_is_spent (o, params, 1)) {
        o->stop = NDT_STOP_ITERATION_LIMIT;
        return 0;
      }
      /* Back to the start, whose sums are not kept. */
      o->length = 0;
      ndt_optimizer_move (o, o->best_t, o->best_q);
      return 1;
    }
  } else if (o->may_detour) {
    o->may_detour = 0;
    ndt_lm_init (&d->lm, 6, d->memory, scale);
    for (int i = 0; i < 21; i++)
      d->lm.hessian[i] = hessian[i];
    if (!ndt_lm_factor (&d->lm, 0) && !ndt_optimizer_is_spent (o, params, 2)) {
      ndt_optimizer_accept (o);
      o->score = -d->told[0];
      o->on_detour = 1;
      o->steps_per_stage = NDT_OPTIMIZER_DETOUR;
      ndt_optimizer_enter_stage (o, 0);
      return 3;
    }
  }
  if (!o->have_best && is_lm) {
    ndt_lm_init (&d->lm, 6, d->memory, scale);
  } else if (!o->have_best) {
    /* The first step, along the gradient, is as long as its curvature has it. */
    NdtReal square = 0, curvature = 0;
    for (int i = 0; i < 6; i++) {
      const NdtReal along = gradient[i] / (scale[i] * scale[i]);
      square += along * gradient[i];
      for (int j = 0; j < 6; j++)
        curvature += along * hessian[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)] * gradient[j] /
                     (scale[j] * scale[j]);
    }
    first_length = curvature > 0 ? square / curvature : 0;
    ndt_lbfgs_init (&d->lbfgs, 6, NDT_OPTIMIZER_HISTORY, d->memory, scale);
  }

  /* Lengths of steps in units of the limits: below 1, also with the tenth that LM's may be longer
   * than the radius. A short step of L-BFGS, whose matrix is a guess at first, is no sign of the
   * optimum; two in turn are, of a fraction of the epsilons. */
  const int was_last = o->is_last >= (is_lm ? 1 : 2);
  int go_on, accepted;
  if (is_lm) {
    const NdtLmParams p = {0, 0, -1, 0.9, 0.9, INT32_MAX};
    go_on = ndt_lm_update (&d->lm, &p, d->told[0], gradient, hessian, (const double *)0);
    accepted = d->lm.accepted;
    o->iterations = d->lm.iterations;
  } else {
    const NdtLbfgsParams p = {0, 0, 0.9, 1, first_length, INT32_MAX};
    go_on = ndt_lbfgs_update (&d->lbfgs, &p, d->told[0], gradient, (const double *)0);
    accepted = d->lbfgs.accepted;
    o->iterations = d->lbfgs.iterations;
  }
  if (accepted) {
    ndt_optimizer_accept (o);
    o->score = -d->told[0];
    for (int i = 0; i < 6; i++)
      o->last_step[i] = o->have_best ? o->step[i] : 0;
    o->have_best = 1;
  }
  if (!go_on || was_last || (accepted && o->iterations >= params->max_iterations) ||
      ndt_optimizer_is_spent (o, params, 1)) {
    o->stop = !go_on || was_last ? NDT_STOP_CONVERGED : NDT_STOP_ITERATION_LIMIT;
    return 2 * accepted;
  }
  for (int i = 0; i < 6; i++)
    o->step[i] = is_lm ? d->lm.step[i] : d->lbfgs.step[i];
  o->length = 1;
  if (accepted)
    ndt_optimizer_count_reversal (o);
  o->length = is_lm ? 1 : NDT_OPTIMIZER_SHORT;
  o->is_last = ndt_optimizer_is_small (o, params) ? o->is_last + 1 : 0;
  o->length = 1;
  ndt_optimizer_move (o, o->best_t, o->best_q);
  return 2 * accepted + 1;
}

/**
 * ndt_optimizer_update:
 * @sums: the objective of o->kind over o->level at the trial pose
 *
 * Returns: 1 when the trial pose (a new one) is to be evaluated, 0 when done. *@accepted tells
 * whether the pose that @sums are of is the best so far: its sums belong to the result.
 */
NDT_INLINE int
ndt_optimizer_update (
    NdtOptimizer *o, const NdtOptimizerParams *params, const NdtOptimizerSums *sums, int *accepted)
{
  o->evaluations++;
  *accepted = 0;
  if (!ndt_optimizer_is_finite (sums)) {
    o->stop = NDT_STOP_NOT_FINITE;
    return 0;
  }

  if (o->kind == NDT_KIND_LEAST_SQUARES) {
    int stage_done = --o->stage_steps == 0;
    if (sums->n_pairs == 0) {
      stage_done = 1;
    } else {
      const NdtReal cell = params->resolution * (NdtReal)(1 << o->level);
      ndt_optimizer_solve_sums (sums, o->step);
      ndt_optimizer_limit (o->step, cell, (NdtReal)NDT_OPTIMIZER_APPROACH_TURN);
      o->length = 1;
      ndt_optimizer_move (o, o->t, o->q);
      o->approach_steps++;
      if (ndt_optimizer_ends_stage (
              ndt_optimizer_square3 (o->step), ndt_optimizer_square3 (o->step + 3), cell))
        stage_done = 1;
    }
    /* The last evaluation is of the score. */
    if (ndt_optimizer_is_spent (o, params, 2))
      ndt_optimizer_enter_stage (o, -1);
    else if (stage_done)
      ndt_optimizer_enter_stage (o, o->level - 1);
    return 1;
  }

#if !NDT_OPTIMIZER_ON_DEVICE
  /* On a device the caller does it: this function is inlined there, and its registers are few. */
  if (params->method != NDT_METHOD_NEWTON) {
    const int state = ndt_optimizer_descend (o, &o->descent, params, sums);
    *accepted = state >> 1;
    return state & 1;
  }
#endif

  if (o->on_detour) {
    o->on_detour = 0;
    if (!(sums->score > o->score)) {
      if (ndt_optimizer_is_spent (o, params, 1)) {
        o->stop = NDT_STOP_ITERATION_LIMIT;
        return 0;
      }
      for (int i = 0; i < 6; i++)
        o->step[i] = o->detour_step[i];
      o->slope = o->detour_slope;
      o->iterations++;
      o->length = 1;
      ndt_optimizer_move (o, o->best_t, o->best_q);
      return 1;
    }
  } else if (o->have_best && !(sums->score > o->score)) {
    /* Backtrack to the maximum of the parabola through both scores and the slope at best, within
     * a tenth and a half of the length. Below the epsilons the best is the optimum as far as the
     * stop test can tell; and as far as scores can, where they do not rise along a millionth of an
     * ascent: twenty halvings. */
    if (o->is_last || o->length < (NdtReal)NDT_OPTIMIZER_LEAST_LENGTH ||
        ndt_optimizer_is_small (o, params)) {
      o->stop = NDT_STOP_CONVERGED;
      return 0;
    }
    if (ndt_optimizer_is_spent (o, params, 1)) {
      o->stop = NDT_STOP_ITERATION_LIMIT;
      return 0;
    }
    const NdtReal rise = o->slope * o->length;
    NdtReal k = rise / (2 * (rise - (sums->score - o->score)));
    if (!(k > (NdtReal)NDT_OPTIMIZER_BACKTRACK_LEAST))
      k = (NdtReal)NDT_OPTIMIZER_BACKTRACK_LEAST;
    if (k > (NdtReal)NDT_OPTIMIZER_BACKTRACK_MOST)
      k = (NdtReal)NDT_OPTIMIZER_BACKTRACK_MOST;
    o->length *= k;
    ndt_optimizer_move (o, o->best_t, o->best_q);
    return 1;
  }

  if (!o->have_best && sums->n_pairs == 0) {
    /* Best is still the start, from which an approach may have led away. */
    *accepted = 1;
    o->stop = NDT_STOP_NO_PAIRS;
    return 0;
  }
  ndt_optimizer_accept (o);
  *accepted = 1;
  o->score = sums->score;
  for (int i = 0; i < 6; i++)
    o->last_step[i] = o->have_best ? o->step[i] : 0;
  o->have_best = 1;
  if (o->is_last) {
    o->stop = NDT_STOP_CONVERGED;
    return 0;
  }
  if (o->iterations >= params->max_iterations || ndt_optimizer_is_spent (o, params, 1)) {
    o->stop = NDT_STOP_ITERATION_LIMIT;
    return 0;
  }

  const int definite = ndt_optimizer_solve_sums (sums, o->step);
  o->length = 1;
  /* Before the limits, which might shorten any step below the epsilons. */
  const int is_small = ndt_optimizer_is_small (o, params);
  ndt_optimizer_limit (o->step, params->max_translation_step, params->max_rotation_step);
  o->slope = 0;
  for (int i = 0; i < 6; i++)
    o->slope += sums->gradient[i] * o->step[i];
  if (!isfinite (o->slope)) {
    o->stop = NDT_STOP_NOT_FINITE;
    return 0;
  }
  if (o->may_detour) {
    o->may_detour = 0;
    /* It needs an evaluation of the approach and one of the score. */
    if (!definite && !ndt_optimizer_is_spent (o, params, 2)) {
      for (int i = 0; i < 6; i++)
        o->detour_step[i] = o->step[i];
      o->detour_slope = o->slope;
      o->on_detour = 1;
      o->steps_per_stage = NDT_OPTIMIZER_DETOUR;
      ndt_optimizer_enter_stage (o, 0);
      return 1;
    }
  }
  o->iterations++;
  ndt_optimizer_count_reversal (o);
  o->is_last = is_small;
  ndt_optimizer_move (o, o->best_t, o->best_q);
  return 1;
}
