/* SPDX-License-Identifier: MIT */
/* Levenberg–Marquardt for n parameters, as J. Moré, "The Levenberg–Marquardt algorithm:
 * implementation and theory", 1978 (MINPACK's lmder): the damping λ is chosen so that the scaled
 * step ‖D p‖ has the length of a trust region, whose radius follows the gain ratio.
 *
 * It works on normal equations instead of J, so that a matrix is n(n+1)/2 numbers however many
 * residuals there are; and takes any Hessian: where it is not definite, λ is above its least
 * eigenvalue. See ndt-descent.h for how a state machine is driven. */
#pragma once

#include "ndt-descent.h"

/**
 * NdtLmParams:
 * @value_tolerance: ends when the actual and the predicted decrease are below this fraction of the
 *   value; 0: not
 * @step_tolerance: ends when the radius is below this fraction of ‖D x‖; 0: not
 * @gradient_tolerance: least squares: ends when the cosine of the residuals with every column of J
 *   is at most this
 * @first_radius: as a fraction of ‖D x‖, or itself where that is 0; > 0
 * @max_radius: of the trust region, in units of @scale; 0: no limit
 * @max_evaluations: at least 1
 */
typedef struct {
  double value_tolerance;
  double step_tolerance;
  double gradient_tolerance;
  double first_radius;
  double max_radius;
  int32_t max_evaluations;
} NdtLmParams;

/* MINPACK's first radius; tolerances of half the digits of a double. */
#define NDT_LM_PARAMS_DEFAULT                                                                      \
  {                                                                                                \
    1e-8, 1e-8, 0, 100, 0, 2000                                                                    \
  }

/**
 * NdtLm:
 * @n: number of parameters
 * @step: from the best parameters to those to be evaluated next
 * @value: at the best parameters; also @gradient and @hessian (packed, NDT_PACKED)
 * @scale: D: the largest length so far of J's columns, or what the caller set
 * @stop: NdtDescentStop
 * @accepted: whether the parameters evaluated last are the best: the caller keeps them
 */
typedef struct {
  int32_t n;
  double *step;
  double value;
  double *gradient;
  double *hessian;
  double *scale;
  int32_t stop;
  int32_t accepted;
  int32_t iterations; /* accepted steps */
  int32_t evaluations;

  /*< private >*/
  int32_t is_scale_fixed;
  double *factor;
  double *work;
  double first_value;
  double radius;
  double damping;
  double predicted; /* decrease of the step */
  double slope;     /* gradient · step */
  double length;    /* ‖D step‖ */
  double size;      /* ‖D x‖ at best */
} NdtLm;

/* Numbers of memory that ndt_lm_init() is given. */
#define NDT_LM_MEMORY(n) (4 * (n) + 2 * NDT_PACKED_SIZE (n))

/* @memory: NDT_LM_MEMORY (n) numbers that outlive the state; @scale: (nullable): n units of the
 * parameters' steps, > 0, each the reciprocal of a typical step. NULL: by the columns of J. */
NDT_INLINE void
ndt_lm_init (NdtLm *lm, int32_t n, double *memory, const double *scale)
{
  const int32_t packed = NDT_PACKED_SIZE (n);
  lm->n = n;
  lm->step = memory;
  lm->gradient = memory + n;
  lm->scale = memory + 2 * n;
  lm->work = memory + 3 * n;
  lm->hessian = memory + 4 * n;
  lm->factor = memory + 4 * n + packed;
  lm->value = lm->radius = lm->damping = lm->predicted = lm->slope = lm->length = lm->size = 0;
  lm->stop = NDT_DESCENT_RUNNING;
  lm->accepted = lm->iterations = lm->evaluations = 0;
  lm->is_scale_fixed = scale != 0;
  for (int32_t i = 0; i < n; i++) {
    lm->step[i] = 0;
    lm->scale[i] = scale ? scale[i] : 0;
  }
}

/* Factors D⁻¹ H D⁻¹ + damping, rows of Lᵀ with the diagonal inverted. FALSE: it is not definite up
 * to rounding. */
NDT_NOINLINE int
ndt_lm_factor (NdtLm *lm, double damping)
{
  const int32_t n = lm->n;
  double *l = lm->factor;
  for (int32_t i = 0; i < n; i++)
    for (int32_t j = i; j < n; j++) {
      double v = lm->hessian[NDT_PACKED (n, i, j)] / (lm->scale[i] * lm->scale[j]);
      if (i == j)
        v += damping;
      const double least = 1e-15 * fabs (v);
      for (int32_t k = 0; k < i; k++)
        v -= l[NDT_PACKED (n, k, i)] * l[NDT_PACKED (n, k, j)];
      if (i == j) {
        if (!(v > least))
          return 0;
        l[NDT_PACKED (n, i, i)] = 1 / sqrt (v);
      } else {
        l[NDT_PACKED (n, i, j)] = v * l[NDT_PACKED (n, i, i)];
      }
    }
  return 1;
}

/* v = L⁻¹ v */
NDT_INLINE void
ndt_lm_forward (const NdtLm *lm, double *v)
{
  const int32_t n = lm->n;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < i; k++)
      v[i] -= lm->factor[NDT_PACKED (n, k, i)] * v[k];
    v[i] *= lm->factor[NDT_PACKED (n, i, i)];
  }
}

/* step = −(D⁻¹ H D⁻¹ + damping)⁻¹ D⁻¹ g, which is D p. Returns its length. */
NDT_NOINLINE double
ndt_lm_solve (NdtLm *lm)
{
  const int32_t n = lm->n;
  double *q = lm->step;
  for (int32_t i = 0; i < n; i++)
    q[i] = -lm->gradient[i] / lm->scale[i];
  ndt_lm_forward (lm, q);
  for (int32_t i = n - 1; i >= 0; i--) {
    for (int32_t k = i + 1; k < n; k++)
      q[i] -= lm->factor[NDT_PACKED (n, i, k)] * q[k];
    q[i] *= lm->factor[NDT_PACKED (n, i, i)];
  }
  return sqrt (ndt_descent_dot (q, q, n));
}

/* −φ'(λ)/φ(λ) of φ = ‖D p‖: (‖L⁻¹ q‖/‖q‖)². */
NDT_INLINE double
ndt_lm_fall (NdtLm *lm, double length)
{
  for (int32_t i = 0; i < lm->n; i++)
    lm->work[i] = lm->step[i] / length;
  ndt_lm_forward (lm, lm->work);
  return ndt_descent_dot (lm->work, lm->work, lm->n);
}

/* Sets step, length, slope, predicted and damping from the best parameters' sums and the radius:
 * ‖D p‖ ≤ 1.1 radius, and within a tenth of it where damping > 0 (MINPACK's lmpar). */
NDT_NOINLINE void
ndt_lm_make_step (NdtLm *lm)
{
  const int32_t n = lm->n;
  const double radius = lm->radius;
  double norm = 0, trace = 0, low = 0, damping = 0, length = 0;
  for (int32_t i = 0; i < n; i++) {
    const double b = lm->gradient[i] / lm->scale[i];
    norm += b * b;
    trace += fabs (lm->hessian[NDT_PACKED (n, i, i)]) / (lm->scale[i] * lm->scale[i]);
  }
  norm = sqrt (norm);
  double high = norm / radius;

  int is_definite = ndt_lm_factor (lm, 0);
  if (!is_definite) {
    /* Of a singular matrix this is the shortest solution, to half the digits. */
    damping = 1e-14 * trace;
    is_definite = damping > 0 && ndt_lm_factor (lm, damping);
  }
  if (is_definite) {
    length = ndt_lm_solve (lm);
    if (length > 1.1 * radius)
      low = (length - radius) / radius / ndt_lm_fall (lm, length);
    else
      damping = 0;
  } else {
    /* Gershgorin's bound of the least eigenvalue. */
    double bound = 0;
    for (int32_t i = 0; i < n; i++) {
      double row = 0;
      for (int32_t j = 0; j < n; j++)
        row += fabs (lm->hessian[i <= j ? NDT_PACKED (n, i, j) : NDT_PACKED (n, j, i)]) /
               (lm->scale[i] * lm->scale[j]);
      if (row > bound)
        bound = row;
    }
    high += bound * 1.001;
    low = damping;
  }
  if (!is_definite || length > 1.1 * radius) {
    damping = lm->damping < low ? low : lm->damping > high ? high : lm->damping;
    if (!is_definite)
      damping = damping > 1e-3 * high ? damping : 1e-3 * high;
    else if (!(damping > 0))
      damping = norm / length;
    /* Ten as in MINPACK for a definite matrix; the bracket of an indefinite one is narrowed
     * besides, and its upper end is definite. */
    for (int attempt = 0; attempt < 40; attempt++) {
      if (!(damping > 0))
        damping = 1e-3 * high;
      if (attempt == 39)
        damping = high;
      if (!ndt_lm_factor (lm, damping)) {
        low = damping;
        damping = sqrt (damping * high);
        continue;
      }
      length = ndt_lm_solve (lm);
      const double excess = length - radius;
      if (fabs (excess) <= 0.1 * radius || (attempt >= 10 && excess < 0))
        break;
      if (excess > 0 && damping > low)
        low = damping;
      if (excess < 0 && damping < high)
        high = damping;
      /* Nearer to the least eigenvalue than the bracket tells: as good a step as there is. */
      if (high - low <= 1e-10 * high)
        break;
      const double next = damping + excess / radius / ndt_lm_fall (lm, length);
      if (is_definite)
        damping = next > low ? next : low;
      else
        damping = next > low && next < high ? next : sqrt (low * high);
    }
  }

  double dot = 0;
  for (int32_t i = 0; i < n; i++) {
    dot -= lm->gradient[i] / lm->scale[i] * lm->step[i];
    lm->step[i] /= lm->scale[i];
  }
  lm->damping = damping;
  lm->length = length;
  lm->slope = -dot;
  lm->predicted = 0.5 * (dot + damping * length * length);
}

/* D and ‖D x‖ at new best parameters. */
NDT_INLINE void
ndt_lm_rescale (NdtLm *lm, const double *x)
{
  double size = 0;
  for (int32_t i = 0; i < lm->n; i++) {
    if (!lm->is_scale_fixed) {
      const double column = sqrt (fabs (lm->hessian[NDT_PACKED (lm->n, i, i)]));
      if (column > lm->scale[i])
        lm->scale[i] = column;
      else if (!(lm->scale[i] > 0))
        lm->scale[i] = 1;
    }
    if (x)
      size += lm->scale[i] * lm->scale[i] * x[i] * x[i];
  }
  lm->size = sqrt (size);
}

NDT_INLINE int
ndt_lm_is_flat (const NdtLm *lm, double tolerance)
{
  const double value = sqrt (2 * fabs (lm->value));
  double largest = 0;
  for (int32_t i = 0; i < lm->n; i++) {
    const double column = sqrt (fabs (lm->hessian[NDT_PACKED (lm->n, i, i)]));
    const double cosine = column > 0 && value > 0 ? fabs (lm->gradient[i]) / (column * value)
                                                  : fabs (lm->gradient[i]);
    if (cosine > largest)
      largest = cosine;
  }
  return largest <= tolerance;
}

/* The radius and the damping by the ratio of the actual and the predicted decrease. */
NDT_INLINE void
ndt_lm_adapt (NdtLm *lm, const NdtLmParams *params, double actual, double ratio)
{
  if (ratio <= 0.25) {
    /* To the minimum of the parabola through both values and the slope. */
    double k = 0.5;
    if (actual < 0)
      k = 0.5 * lm->slope / (lm->slope + actual);
    if (!(k > 0.1))
      k = 0.1;
    lm->radius = k * (lm->radius < 10 * lm->length ? lm->radius : 10 * lm->length);
    lm->damping /= k;
  } else if (!(lm->damping > 0) || ratio >= 0.75) {
    lm->radius = 2 * lm->length;
    lm->damping *= 0.5;
  }
  if (params->max_radius > 0 && lm->radius > params->max_radius)
    lm->radius = params->max_radius;
}

/**
 * ndt_lm_update:
 * @value: at the parameters that were asked for; in the first call at the start. Of least squares ½
 *   Σ r²
 * @gradient: likewise: Jᵀr
 * @hessian: likewise: JᵀJ, or any symmetric matrix; packed
 * @x: (nullable): these n parameters, to which tolerances and the first radius are relative; for
 *   those of a pose 1 (metre, rad). NULL: step_tolerance is not read
 *
 * Values that are not finite are those of a step that is too long.
 *
 * Returns: 1 when the best parameters plus lm->step are to be evaluated, 0 when done: lm->stop says
 * why. lm->accepted is set.
 */
NDT_INLINE int
ndt_lm_update (NdtLm *lm, const NdtLmParams *params, double value, const double *gradient,
    const double *hessian, const double *x)
{
  const int32_t n = lm->n, packed = NDT_PACKED_SIZE (n);
  const int is_first = lm->evaluations == 0;
  const int is_finite = ndt_descent_is_finite (value, gradient, n, hessian, packed);
  double actual = 0, ratio = 1;
  lm->evaluations++;
  lm->accepted = 0;
  if (is_first && !is_finite) {
    lm->stop = NDT_DESCENT_NOT_FINITE;
    return 0;
  }
  if (!is_first) {
    if (lm->iterations == 0 && lm->length < lm->radius)
      lm->radius = lm->length;
    actual = is_finite ? lm->value - value : -(double)INFINITY;
    ratio = lm->predicted > 0 ? actual / lm->predicted : 0;
    ndt_lm_adapt (lm, params, actual, ratio);
  }
  const double before = lm->value;
  if (is_first || ratio >= 1e-4) {
    lm->accepted = 1;
    lm->iterations += !is_first;
    lm->value = value;
    for (int32_t i = 0; i < n; i++)
      lm->gradient[i] = gradient[i];
    for (int32_t i = 0; i < packed; i++)
      lm->hessian[i] = hessian[i];
    ndt_lm_rescale (lm, x);
    if (is_first) {
      lm->first_value = value;
      lm->radius = params->first_radius * (lm->size > 0 ? lm->size : 1);
      if (params->max_radius > 0 && lm->radius > params->max_radius)
        lm->radius = params->max_radius;
    }
  }
  if (!is_first) {
    const double unit = fabs (before), digit = 2.220446049250313e-16;
    if (fabs (actual) <= params->value_tolerance * unit &&
        lm->predicted <= params->value_tolerance * unit && ratio <= 2)
      lm->stop = NDT_DESCENT_VALUE;
    else if (lm->value >= 0 && lm->value <= digit * digit * lm->first_value)
      lm->stop = NDT_DESCENT_PRECISION;
    else if (x && lm->radius <= params->step_tolerance * lm->size)
      lm->stop = NDT_DESCENT_STEP;
    else if ((fabs (actual) <= digit * unit && lm->predicted <= digit * unit && ratio <= 2) ||
             !(lm->length > 0) || lm->radius < 1e-300)
      lm->stop = NDT_DESCENT_PRECISION;
  }
  if (lm->stop == NDT_DESCENT_RUNNING && lm->accepted && params->gradient_tolerance >= 0 &&
      ndt_lm_is_flat (lm, params->gradient_tolerance))
    lm->stop = NDT_DESCENT_GRADIENT;
  if (lm->stop == NDT_DESCENT_RUNNING && lm->evaluations >= params->max_evaluations)
    lm->stop = NDT_DESCENT_LIMIT;
  if (lm->stop != NDT_DESCENT_RUNNING)
    return 0;
  ndt_lm_make_step (lm);
  return 1;
}
