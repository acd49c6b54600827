/* SPDX-License-Identifier: MIT */
/* The usual step of an alignment by a warp: each lane computes all of it in registers, which takes
 * no longer than one lane does, and needs neither branches nor memory in between. Part of
 * ndt-cuda-step.cuh. */
#pragma once

/* Below this a diagonal element counts as zero; its inverse is a normal number, as is that of the
 * largest one. */
#define LEAST_PIVOT 1e-30f
#define LARGEST_PIVOT 1e30f

__device__ __forceinline__ float
reciprocal (float x)
{
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/* x = (LDLᵀ)⁻¹ b; l: L's columns below its unit diagonal; inverse: of D. */
__device__ __forceinline__ void
substitute (const float l[21], const float inverse[6], float b[6], float x[6])
{
#pragma unroll
  for (int i = 0; i < 6; i++)
#pragma unroll
    for (int j = i + 1; j < 6; j++)
      b[j] -= l[NDT_H6 (i, j)] * b[i];
#pragma unroll
  for (int i = 5; i >= 0; i--) {
    x[i] = b[i] * inverse[i];
#pragma unroll
    for (int k = 5; k > i; k--)
      x[i] -= l[NDT_H6 (i, k)] * x[k];
  }
}

/* ndt_optimizer_solve_rounded() of a definite matrix, the same up to rounding: LDLᵀ of the matrix
 * itself instead of LLᵀ of the scaled one, with the same bound of pivots. @total, @rounded: sums in
 * their order, aligned to 16 bytes. Returns whether it is definite. */
__device__ __forceinline__ bool
solve_definite (const double *total, const float *rounded, double gradient[6], double step[6])
{
  float v[28], l[21], inverse[6], b[6], x[6];
  double sums[28];
#pragma unroll
  for (int i = 0; i < 7; i++) {
    const float4 four = ((const float4 *)rounded)[i];
    v[4 * i] = four.x;
    v[4 * i + 1] = four.y;
    v[4 * i + 2] = four.z;
    v[4 * i + 3] = four.w;
  }
#pragma unroll
  for (int i = 0; i < 14; i++) {
    const double2 two = ((const double2 *)total)[i];
    sums[2 * i] = two.x;
    sums[2 * i + 1] = two.y;
  }
  float a[21];
#pragma unroll
  for (int i = 0; i < 21; i++)
    a[i] = -v[7 + i];
#pragma unroll
  for (int i = 0; i < 6; i++) {
    gradient[i] = sums[1 + i];
    b[i] = v[1 + i];
  }
  float diagonal[6], largest[2];
#pragma unroll
  for (int i = 0; i < 6; i++)
    diagonal[i] = fabsf (a[NDT_H6 (i, i)]);
  largest[0] = fmaxf (diagonal[0], fmaxf (diagonal[1], diagonal[2]));
  largest[1] = fmaxf (diagonal[3], fmaxf (diagonal[4], diagonal[5]));
  bool definite = true;
#pragma unroll
  for (int i = 0; i < 6; i++) {
    const float pivot = a[NDT_H6 (i, i)];
    const float scale = fmaxf (diagonal[i], largest[i / 3] * 1e-6f);
    definite = definite & (pivot > fmaxf (scale * NDT_OPTIMIZER_PIVOT, LEAST_PIVOT)) &
               (pivot < LARGEST_PIVOT);
    inverse[i] = reciprocal (pivot);
#pragma unroll
    for (int j = i + 1; j < 6; j++)
      l[NDT_H6 (i, j)] = a[NDT_H6 (i, j)] * inverse[i];
#pragma unroll
    for (int j = i + 1; j < 6; j++)
#pragma unroll
      for (int k = j; k < 6; k++)
        a[NDT_H6 (j, k)] -= l[NDT_H6 (i, j)] * a[NDT_H6 (i, k)];
  }
  substitute (l, inverse, b, x);
  float r[6], dx[6];
#pragma unroll
  for (int i = 0; i < 6; i++)
    step[i] = (double)x[i];
#pragma unroll
  for (int i = 0; i < 6; i++) {
    double w = gradient[i];
#pragma unroll
    for (int j = 0; j < 6; j++)
      w += sums[7 + (i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i))] * step[j];
    r[i] = (float)w;
  }
  substitute (l, inverse, r, dx);
#pragma unroll
  for (int i = 0; i < 6; i++)
    step[i] += (double)dx[i];
  return definite;
}

/* Takes the step of a pass whose trial is accepted, or of the approach, where nothing out of the
 * ordinary happens: advance() in fewer cycles. @total: less penalties, rounded in c->rounded;
 * @is_finite: of the sums; @value: as there. Returns false with nothing changed in other cases. */
__device__ __forceinline__ bool
step_as_usual (const NdtCudaJob &job, Control *c, const double *total, bool is_finite, double value,
    uint32_t lane)
{
  NdtOptimizer *o = &c->optimizer;
  const NdtOptimizerParams *params = &c->params;
  const double score = total[0];
  const int kind = o->kind, level = o->level, have_best = o->have_best;
  const bool is_score = kind == NDT_KIND_SCORE;
  const bool is_usual = c->is_plain & is_finite & (isfinite (c->rounded[0]) != 0) &
                        (c->rounded[30] > 0) & (c->rounded[31] < CANCELLED) & !c->failed;
  const bool is_ascent =
      !is_score | (!o->on_detour & !o->is_last & (o->iterations < params->max_iterations) &
                      (!have_best | (score > o->score)));
  /* As ndt_optimizer_is_spent() after this pass, of one more and, in the approach, of two: a bound
   * that is not reached leaves the bits as they are. */
  const bool has_passes = (params->max_evaluations == 0) |
                          (o->evaluations + (is_score ? 2 : 3) <= params->max_evaluations);
  if (!(is_usual & is_ascent & has_passes))
    return false;

  double t[3], q[4], before[6];
#pragma unroll
  for (int i = 0; i < 3; i++)
    t[i] = o->t[i];
#pragma unroll
  for (int i = 0; i < 4; i++)
    q[i] = o->q[i];
#pragma unroll
  for (int i = 0; i < 6; i++)
    before[i] = have_best ? o->step[i] : 0;
  const double cell = params->resolution * (double)(1 << level);
  const double max_translation = is_score ? params->max_translation_step : cell;
  const double max_rotation = is_score ? params->max_rotation_step : NDT_OPTIMIZER_APPROACH_TURN;
  const double translation_epsilon = params->translation_epsilon,
               rotation_epsilon = params->rotation_epsilon;

  double gradient[6], step[6];
  const bool definite = solve_definite (total, c->rounded, gradient, step);
  double translation2 = ndt_optimizer_square3 (step), rotation2 = ndt_optimizer_square3 (step + 3);
  const bool is_small = (translation2 <= translation_epsilon * translation_epsilon) &
                        (rotation2 <= rotation_epsilon * rotation_epsilon);
  const bool is_long = (translation2 > max_translation * max_translation) |
                       (rotation2 > max_rotation * max_rotation);
  if (!definite)
    return false;
  if (is_long) {
    ndt_optimizer_limit (step, max_translation, max_rotation);
    translation2 = ndt_optimizer_square3 (step);
    rotation2 = ndt_optimizer_square3 (step + 3);
  }
  double slope = 0, dot = 0, last = 0;
#pragma unroll
  for (int i = 0; i < 6; i++) {
    const double k = i < 3 ? 1 : NDT_OPTIMIZER_LEVER2;
    slope += gradient[i] * step[i];
    dot += k * step[i] * before[i];
    last += k * before[i] * before[i];
  }
  if (!isfinite (slope))
    return false;
  double to_t[3], to_q[4];
  ndt_optimizer_retract (step, t, q, to_t, to_q);
  const bool stage_ends = !is_score & ((o->stage_steps == 1) |
                                          ndt_optimizer_ends_stage (translation2, rotation2, cell));
  const int next = is_score ? level : stage_ends ? max (level - 1, 0) : level;
  const int next_kind = is_score | (stage_ends & (level == 0)) ? NDT_KIND_SCORE : kind;
  set_frame (job, c, next, next_kind, to_t, to_q,
      choose_keep (job, c, (float)(translation2 + 400 * rotation2)), lane);
  if (is_score)
    c->best[lane] = value;
  if (lane == 0) {
    c->go_on = 1;
    o->evaluations++;
    o->length = 1;
#pragma unroll
    for (int i = 0; i < 3; i++)
      o->t[i] = to_t[i];
#pragma unroll
    for (int i = 0; i < 4; i++)
      o->q[i] = to_q[i];
#pragma unroll
    for (int i = 0; i < 6; i++)
      o->step[i] = step[i];
    if (is_score) {
#pragma unroll
      for (int i = 0; i < 3; i++)
        o->best_t[i] = t[i];
#pragma unroll
      for (int i = 0; i < 4; i++)
        o->best_q[i] = q[i];
#pragma unroll
      for (int i = 0; i < 6; i++)
        o->last_step[i] = before[i];
      o->score = score;
      o->slope = slope;
      o->have_best = 1;
      o->may_detour = 0;
      o->iterations++;
      o->is_last = is_small;
      ndt_optimizer_count_turn (o, dot, translation2 + NDT_OPTIMIZER_LEVER2 * rotation2, last);
    } else {
      o->approach_steps++;
      o->stage_steps--;
      if (stage_ends)
        ndt_optimizer_enter_stage (o, level - 1);
    }
  }
  return true;
}
