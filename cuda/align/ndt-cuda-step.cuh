/* SPDX-License-Identifier: MIT */
/* From sums to the next pose: a block's state of its alignment. Every block of a team computes the
 * same from the same sums. With NDT_CUDA_METHODS also other methods than Newton's, and extra terms,
 * in kernels of their own: those of Newton's method alone have neither their registers nor their
 * memory. Private to cuda/. */
#pragma once

#include "ndt-cuda-chunk.cuh"

#define NDT_OPTIMIZER_ON_DEVICE 1
#include "ndtcore/math/ndt-extra-terms.h"
#include "ndtcore/math/ndt-optimizer.h"

/* Replaces the number of points where the alignment is cancelled. */
#define CANCELLED 1e30f

/* Constants of all passes over a level. */
typedef struct {
  double corner[3]; /* of the anchor cell, metres */
  int32_t anchor[3];
  int32_t valid;
} Anchor;

typedef struct {
  Frame frame;
  Anchor anchors[NDT_CUDA_LEVELS];
  NdtOptimizer optimizer;
  NdtOptimizerParams params;
  NdtStart start;
  __align__ (16) double total[VALUES];
  double best[VALUES];
  __align__ (16) double held[VALUES];   /* total less the penalty of a factor */
  __align__ (16) float rounded[VALUES]; /* total */
  float reuse;                          /* as of NdtCudaJob */
  int32_t go_on;
  int32_t failed;
  int32_t is_plain; /* an alignment by Newton's method without a penalty along a line */
#if NDT_CUDA_METHODS
  const NdtExtraTerms *terms;
  double *scalars; /* of this block */
#endif
} Control;

/* Whether the alignment is cancelled. Read by one thread of a team in the first pass and every few
 * passes, since the load takes as long as a good part of a pass. */
__device__ __forceinline__ int32_t
look_for_cancel (const NdtCudaJob &job, uint32_t pass)
{
  return pass % 4 == 0 ? *(const volatile int32_t *)job.cancelled : 0;
}

__device__ __forceinline__ double
pick (const double v[3], int i)
{
  return i == 0 ? v[0] : i == 1 ? v[1] : v[2];
}

/* ndt_transform_f_init() and the rest of a level's frame, by the lanes of a warp: element i of the
 * rotation in lane i, and so on. The same bits as that function. @t: from the start; @q and it are
 * the same in all lanes. */
__device__ __forceinline__ void
set_frame (const NdtCudaJob &job, Control *c, int level, int kind, const double t[3],
    const double q[4], bool keep, uint32_t lane)
{
  Frame *f = &c->frame;
  const Anchor *anchor = &c->anchors[level];
  /* The part that depends on the level alone is unchanged from the pass before. */
  const bool same = f->level == level && f->kind == kind;
  __syncwarp ();
  if (lane < 9) {
    /* r[3 i + j] = δ_ij ± 2 (q_a q_b ± q_c q_d) */
    const int i = (int)lane / 3, j = (int)lane % 3;
    const bool diagonal = i == j, minus = (j - i + 3) % 3 == 1;
    const int a = diagonal ? (i + 1) % 3 : i, b = diagonal ? a : j;
    const int d = diagonal ? (i + 2) % 3 : 3 - i - j;
    const double u = __dmul_rn (pick (q, a), pick (q, b)), last = pick (q, d);
    const double v = __dmul_rn (diagonal ? last : q[3], last);
    const double twice = __dmul_rn (2.0, __dadd_rn (u, minus ? -v : v));
    f->transform.r[lane] = (float)(diagonal ? __dsub_rn (1.0, twice) : twice);
  } else if (lane < 12) {
    const int k = (int)lane - 9;
    const double p = __dadd_rn (c->start.guess.position[k], pick (t, k));
    f->transform.t[k] = (float)__dsub_rn (p, anchor->corner[k]);
  } else if (same) {
    if (lane == 12)
      f->keep = keep;
  } else if (lane < 15) {
    f->transform.anchor[lane - 12] = anchor->anchor[lane - 12];
  } else if (lane == 15) {
    f->valid = anchor->valid;
  } else if (lane == 16) {
    const NdtCudaLevel &l = job.levels[level];
    const float r = (float)l.resolution, reuse = c->reuse * r * 0.999f; /* less for rounding */
    f->resolution = r;
    f->inverse_resolution = job.inverse_resolution[level];
    f->level = level;
    f->kind = kind;
    f->neighbours = kind == NDT_KIND_LEAST_SQUARES ? NDT_NEIGHBOURS_DIRECT7 : job.neighbours;
    const bool by_radius = kind == NDT_KIND_SCORE && f->neighbours == NDT_NEIGHBOURS_RADIUS;
    f->square_limit = by_radius ? r * r : INFINITY;
    f->list_limit = r * (1 + c->reuse);
    f->reuse2 = reuse * reuse;
    f->keep = keep;
    f->tag = (uint32_t)(level << 3 | f->neighbours);
  } else if (lane == 17) {
    const NdtCudaLevel &l = job.levels[level];
    f->d1 = job.d1[level];
    f->d2 = job.d2[level];
    f->voxels = l.voxels;
    f->blocks = l.blocks;
    f->block_shift = l.block_shift;
    f->grid = l.grid;
    f->directory = l.directory;
    f->pages = l.pages;
  } else if (lane < 21) {
    f->grid_first[lane - 18] = job.levels[level].grid_first[lane - 18];
    f->grid_size[lane - 18] = job.levels[level].grid_size[lane - 18];
  }
}

/* Whether voxels that are found in a pass are kept for the next one. @moved2: squared motion from
 * the best pose to the trial, rotations counted at 20 m, a typical range. Each step is several
 * times shorter than the one before: voxels found now are valid in the next pass where this step is
 * not much longer than the limit of their validity. */
__device__ __forceinline__ bool
choose_keep (const NdtCudaJob &job, const Control *c, float moved2)
{
  const float reach = 4 * c->reuse * job.levels[0].resolution;
  return moved2 < reach * reach;
}

__device__ __forceinline__ void
set_trial_frame (const NdtCudaJob &job, Control *c, uint32_t lane)
{
  const NdtOptimizer *o = &c->optimizer;
  const float length = (float)o->length;
  float moved2 = 0;
#pragma unroll
  for (int k = 0; k < 6; k++) {
    const float step = (k < 3 ? 1.0f : 20.0f) * (float)o->step[k];
    moved2 += step * step;
  }
  const bool keep = o->evaluations > 0 && choose_keep (job, c, length * length * moved2);
  set_frame (job, c, o->level, o->kind, o->t, o->q, keep, lane);
}

/* Whether the start has penalties that hold() subtracts. */
__device__ __forceinline__ bool
is_held (const Control *c)
{
#if NDT_CUDA_METHODS
  if (c->terms && c->start.regularization.extra.weight > 0)
    return true;
#endif
  return c->start.regularization.factor.is_set;
}

/* Called by warp 0. @from: @n_words of an NdtStart; the rest is set to 0. Does not depend on the
 * scan. */
static __device__ void
begin (const NdtCudaJob &job, Control *c, const uint32_t *from, uint32_t n_words, uint32_t lane)
{
  uint32_t *to = (uint32_t *)&c->start;
  for (uint32_t i = lane; i < sizeof (NdtStart) / 4; i += 32)
    to[i] = i < n_words ? from[i] : 0;
  c->best[lane] = 0;
  __syncwarp ();
  const double *position = c->start.guess.position;
  if (lane < 3 * NDT_CUDA_LEVELS && (int)lane / 3 < job.n_levels) {
    const NdtCudaLevel &l = job.levels[lane / 3];
    const int axis = (int)lane % 3;
    const double cell = floor (position[axis] / l.resolution);
    const double relative = cell - (double)l.origin[axis];
    const bool in_range = fabs (relative) < 2.0 * NDT_KEY_LIMIT;
    c->anchors[lane / 3].anchor[axis] = in_range ? (int32_t)relative : INT32_MIN;
    c->anchors[lane / 3].corner[axis] = __dmul_rn (cell, l.resolution);
  }
  __syncwarp ();
  if (lane < NDT_CUDA_LEVELS) {
    Anchor *a = &c->anchors[lane];
    a->valid = 1;
    for (int k = 0; k < 3; k++)
      if (a->anchor[k] == INT32_MIN)
        a->valid = a->anchor[k] = 0;
  }
  if (lane == 0) {
    c->failed = 0;
    c->frame.level = -1;
    c->params.translation_epsilon = job.translation_epsilon;
    c->params.rotation_epsilon = job.rotation_epsilon;
    c->params.max_translation_step = job.max_translation_step;
    c->params.max_rotation_step = job.max_rotation_step;
    c->params.max_iterations = job.max_iterations;
    c->params.max_evaluations = job.max_evaluations;
#if NDT_CUDA_METHODS
    c->params.method = job.method;
    c->terms = job.terms;
    c->scalars = job.terms ? job.scalars + (size_t)blockIdx.x * job.terms->n_scalars : NULL;
#else
    c->params.method = NDT_METHOD_NEWTON;
#endif
    c->params.n_levels = job.n_levels;
    c->params.resolution = job.levels[0].resolution;
    c->is_plain = !job.evaluate && c->params.method == NDT_METHOD_NEWTON &&
                  !(c->start.regularization.scale > 0);
    ndt_optimizer_init (&c->optimizer, &c->params, c->start.guess.orientation, c->start.approach);
  }
  __syncwarp ();
}

/* The frame of the first pass, after begin(). Called by warp 0. */
__device__ __forceinline__ void
set_first_frame (const NdtCudaJob &job, Control *c, float reuse, uint32_t lane)
{
  if (lane == 0)
    c->reuse = reuse;
  __syncwarp ();
  const double none[3] = {0, 0, 0};
  if (job.evaluate)
    set_frame (job, c, job.evaluate_level, job.evaluate_kind, none, c->start.guess.orientation,
        false, lane);
  else
    set_trial_frame (job, c, lane);
  __syncwarp ();
}

/* Sets c->held and its rounded values. Called by one thread. */
static __device__ __noinline__ void
hold (Control *c)
{
  for (int i = 0; i < 28; i++)
    c->held[i] = c->total[i];
#if NDT_CUDA_METHODS
  const NdtExtraValues *extra = &c->start.regularization.extra;
  if (c->terms && extra->weight > 0) {
    double position[3];
    for (int k = 0; k < 3; k++)
      position[k] = c->start.guess.position[k] + c->optimizer.t[k];
    ndt_extra_terms_add (
        c->terms, extra, position, c->optimizer.q, c->scalars, c->held, c->held + 1, c->held + 7);
  }
  if (c->start.regularization.factor.is_set)
#endif
    ndt_optimizer_add_factor (&c->optimizer, &c->start, c->held, c->held + 1, c->held + 7);
  for (int i = 0; i < 28; i++)
    c->rounded[i] = (float)c->held[i];
}

#if NDT_CUDA_METHODS
/* Whether what hold() left is finite, which that of the total does not tell. */
__device__ __forceinline__ bool
is_held_finite (const Control *c)
{
  bool is_finite = true;
  for (int i = 0; i < 28; i++)
    is_finite = is_finite && isfinite (c->rounded[i]);
  return is_finite;
}

/* Called by one thread: the score by another method than Newton's. Returns as
 * ndt_optimizer_descend(). */
static __device__ __noinline__ int
descend (Control *c, bool is_finite)
{
  __shared__ NdtOptimizerDescent descent;
  NdtOptimizerSums sums;
  const double *total = c->total;
  if (is_held (c)) {
    total = c->held;
    is_finite = is_finite && is_held_finite (c);
  }
  sums.score = total[0];
  for (int i = 0; i < 6; i++)
    sums.gradient[i] = total[1 + i];
  for (int i = 0; i < 21; i++)
    sums.hessian[i] = total[7 + i];
  sums.n_pairs = c->rounded[30] > 0 ? 1 : 0;
  sums.rounded = c->rounded;
  c->optimizer.evaluations++;
  if (!is_finite) {
    c->optimizer.stop = NDT_STOP_NOT_FINITE;
    return 0;
  }
  ndt_optimizer_regularize (&c->optimizer, &c->start, c->total[30], &sums);
  return ndt_optimizer_descend (&c->optimizer, &descent, &c->params, &sums);
}
#endif

/* Called by one thread. */
__device__ __forceinline__ int
update (Control *c, bool is_finite, int *accepted)
{
#if NDT_CUDA_METHODS
  if (c->params.method != NDT_METHOD_NEWTON && c->optimizer.kind == NDT_KIND_SCORE) {
    const int state = descend (c, is_finite);
    *accepted = state >> 1;
    return state & 1;
  }
#endif
  NdtOptimizerSums sums;
  const bool held = is_held (c);
  const double *total = held ? c->held : c->total;
#if NDT_CUDA_METHODS
  is_finite = is_finite && (!held || is_held_finite (c));
#endif
  sums.score = total[0];
#pragma unroll
  for (int i = 0; i < 6; i++)
    sums.gradient[i] = total[1 + i];
#pragma unroll
  for (int i = 0; i < 21; i++)
    sums.hessian[i] = total[7 + i];
  sums.n_pairs = c->rounded[30] > 0 ? 1 : 0;
  sums.rounded = c->rounded;
  sums.is_finite = is_finite;
  ndt_optimizer_regularize (&c->optimizer, &c->start, c->total[30], &sums);
  return ndt_optimizer_update (&c->optimizer, &c->params, &sums, accepted);
}

#include "ndt-cuda-newton.cuh"

/* Takes the total, value i in lane i; sets the next frame and c->go_on. Called by warp 0. */
__device__ __forceinline__ void
advance (const NdtCudaJob &job, Control *c, double value, uint32_t lane)
{
  const float rounded = (float)value;
  c->total[lane] = value;
  c->rounded[lane] = rounded;
  __syncwarp ();
  /* Of score, gradient and Hessian. */
  const bool is_finite = __all_sync (0xffffffffu, lane > 27 || isfinite (rounded));
  int accepted = 0;
  const bool held = is_held (c);
  if (held) {
    if (lane == 0)
      hold (c);
    __syncwarp ();
  }
  if (step_as_usual (job, c, held ? c->held : c->total, is_finite, value, lane))
    return;
  __syncwarp (); /* all lanes have read what one of them changes */
  if (lane == 0) {
    if (c->total[31] >= (double)CANCELLED || c->failed) {
      c->go_on = 0;
    } else if (job.evaluate) {
      accepted = 1;
      c->go_on = 0;
    } else {
      c->go_on = update (c, is_finite, &accepted);
    }
  }
  __syncwarp ();
  accepted = __shfl_sync (0xffffffffu, accepted, 0);
  if (accepted)
    c->best[lane] = value;
  if (c->go_on)
    set_trial_frame (job, c, lane);
}

/* The same apart: fewer registers stay occupied, where they are few. */
static __device__ __noinline__ void
advance_apart (const NdtCudaJob &job, Control *c, double value, uint32_t lane)
{
  advance (job, c, value, lane);
}

/* Called by warp 0 of one block of the team, last. */
static __device__ void
write_result (const NdtCudaJob &job, Control *c, uint32_t start, uint32_t lane)
{
  const NdtOptimizer *o = &c->optimizer;
  /* All but the values, in the place of what is not needed any more. */
  double *rest = c->held;
  uint32_t *counts = (uint32_t *)(rest + 8);
  __syncwarp ();
  if (lane == 0) {
    for (int k = 0; k < 3; k++)
      rest[k] = c->start.guess.position[k] + o->best_t[k];
    for (int k = 0; k < 4; k++)
      rest[3 + k] = o->best_q[k];
    rest[7] = o->score;
    counts[0] = (uint32_t)(o->iterations + o->approach_steps);
    counts[1] = (uint32_t)o->evaluations;
    counts[2] = (uint32_t)o->oscillation;
    counts[3] = c->total[31] >= (double)CANCELLED ? NDT_CUDA_STOP_CANCELLED : (uint32_t)o->stop;
    counts[4] = (uint32_t)c->total[31];
    counts[5] = 0;
  }
  __syncwarp ();
  constexpr uint32_t FIRST = offsetof (NdtCudaResult, values) / 4;
  constexpr uint32_t END = offsetof (NdtCudaResult, objective) / 4;
  for (uint32_t i = lane; i < NDT_CUDA_RESULT_WORDS; i += 32) {
    const uint32_t word = i < FIRST ? ((const uint32_t *)rest)[i]
                          : i < END ? ((const uint32_t *)c->best)[i - FIRST]
                                    : ((const uint32_t *)rest)[i - END + FIRST];
    if (job.words) {
      const uint64_t tagged = (uint64_t)(job.ticket + start) << 32 | word;
      asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(
                       job.words + start * NDT_CUDA_RESULT_WORDS + i),
                   "l"(tagged)
                   : "memory");
    } else {
      ((uint32_t *)&job.results[start])[i] = word;
    }
  }
  __syncwarp ();
  if (lane == 0 && !job.words) {
    __threadfence_system (); /* for all lanes */
    bool last = true;
    if (job.n_starts > 1) {
      last = atomicAdd (job.n_done, 1u) + 1 == job.n_starts;
      __threadfence_system ();
      if (last)
        *job.n_done = 0;
    }
    if (last)
      *job.finished = job.ticket;
  }
}
