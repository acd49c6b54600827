/* SPDX-License-Identifier: MIT */
/* L-BFGS for n parameters: J. Nocedal, "Updating quasi-Newton matrices with limited storage", 1980,
 * with the line search of ndt-line-search.h. It reads values and gradients only. See ndt-descent.h
 * for how a state machine is driven. */
#pragma once

#include "ndt-line-search.h"

/**
 * NdtLbfgsParams:
 * @value_tolerance: ends when a step decreases the value by less than this fraction of it; 0: not
 * @gradient_tolerance: ends when ‖S⁻¹ g‖ ≤ this · max (1, ‖S x‖)
 * @curvature: of the line search's second condition, in (1e-4, 1)
 * @longest: step of a line search, in units of @scale; 0: no limit
 * @first_length: of the first step, as a fraction of −S⁻² g; 0: a step of length 1 in units of
 * @scale
 * @max_evaluations: at least 1
 */
typedef struct {
  double value_tolerance;
  double gradient_tolerance;
  double curvature;
  double longest;
  double first_length;
  int32_t max_evaluations;
} NdtLbfgsParams;

/* As liblbfgs. */
#define NDT_LBFGS_PARAMS_DEFAULT                                                                   \
  {                                                                                                \
    0, 1e-5, 0.9, 0, 0, 2000                                                                       \
  }

/* First condition of the line search. */
#define NDT_LBFGS_DECREASE 1e-4

/**
 * NdtLbfgs:
 * @n: number of parameters
 * @history: number of steps whose curvature is kept
 * @step: from the best parameters to those to be evaluated next
 * @value: at the best parameters; also @gradient
 * @stop: NdtDescentStop
 * @accepted: whether the parameters evaluated last are the best: the caller keeps them
 * @is_wolfe: with @accepted: whether the step met the strong Wolfe conditions. It did not where the
 *   limit of its length or rounding forbade it
 */
typedef struct {
  int32_t n;
  int32_t history;
  double *step;
  double value;
  double *gradient;
  int32_t stop;
  int32_t accepted;
  int32_t is_wolfe;
  int32_t iterations;
  int32_t evaluations;

  /*< private >*/
  NdtLineSearch search;
  double *scale; /* S */
  double *direction;
  double *steps;      /* rows of the last steps … */
  double *changes;    /* … and of the gradient's changes by them */
  double *curvatures; /* 1 / (step · change) */
  double *work;
  int32_t n_kept;
  int32_t next;
  int32_t is_falling_back; /* the search failed: its best point is evaluated */
} NdtLbfgs;

/* Numbers of memory that ndt_lbfgs_init() is given. */
#define NDT_LBFGS_MEMORY(n, history) (4 * (n) + 2 * (history) * ((n) + 1))

/* @memory: NDT_LBFGS_MEMORY (n, history) numbers that outlive the state; @scale: (nullable): n
 * units of the parameters' steps, > 0, each the reciprocal of a typical step. NULL: 1 */
NDT_INLINE void
ndt_lbfgs_init (NdtLbfgs *b, int32_t n, int32_t history, double *memory, const double *scale)
{
  b->n = n;
  b->history = history;
  b->step = memory;
  b->gradient = memory + n;
  b->scale = memory + 2 * n;
  b->direction = memory + 3 * n;
  b->steps = memory + 4 * n;
  b->changes = b->steps + history * n;
  b->curvatures = b->changes + history * n;
  b->work = b->curvatures + history;
  b->value = 0;
  b->stop = NDT_DESCENT_RUNNING;
  b->accepted = b->is_wolfe = b->iterations = b->evaluations = 0;
  b->n_kept = b->next = b->is_falling_back = 0;
  for (int32_t i = 0; i < n; i++) {
    b->step[i] = 0;
    b->scale[i] = scale ? scale[i] : 1;
  }
}

/* direction = −H⁻¹ g, by the two loops over the history. */
NDT_NOINLINE void
ndt_lbfgs_make_direction (NdtLbfgs *b)
{
  const int32_t n = b->n, m = b->history;
  double *d = b->direction;
  for (int32_t i = 0; i < n; i++)
    d[i] = -b->gradient[i];
  for (int32_t k = 1; k <= b->n_kept; k++) {
    const int32_t row = (b->next - k + m) % m;
    b->work[row] = b->curvatures[row] * ndt_descent_dot (b->steps + row * n, d, n);
    for (int32_t i = 0; i < n; i++)
      d[i] -= b->work[row] * b->changes[row * n + i];
  }
  /* Size of the first matrix by the last step: step · change / change² in units of the scale. */
  double size = 1;
  if (b->n_kept > 0) {
    const int32_t row = (b->next - 1 + m) % m;
    double square = 0;
    for (int32_t i = 0; i < n; i++) {
      const double change = b->changes[row * n + i] / b->scale[i];
      square += change * change;
    }
    size = 1 / (b->curvatures[row] * square);
  }
  for (int32_t i = 0; i < n; i++)
    d[i] *= size / (b->scale[i] * b->scale[i]);
  for (int32_t k = b->n_kept; k >= 1; k--) {
    const int32_t row = (b->next - k + m) % m;
    const double beta = b->curvatures[row] * ndt_descent_dot (b->changes + row * n, d, n);
    for (int32_t i = 0; i < n; i++)
      d[i] += b->steps[row * n + i] * (b->work[row] - beta);
  }
}

/* Starts the next line search. FALSE: there is no direction in which the value falls. */
NDT_NOINLINE int
ndt_lbfgs_start_search (NdtLbfgs *b, const NdtLbfgsParams *params)
{
  const int32_t n = b->n;
  ndt_lbfgs_make_direction (b);
  double slope = ndt_descent_dot (b->gradient, b->direction, n);
  if (!(slope < 0) && b->n_kept > 0) {
    b->n_kept = 0;
    ndt_lbfgs_make_direction (b);
    slope = ndt_descent_dot (b->gradient, b->direction, n);
  }
  double square = 0;
  for (int32_t i = 0; i < n; i++)
    square += b->scale[i] * b->scale[i] * b->direction[i] * b->direction[i];
  const double size = sqrt (square);
  if (!(slope < 0) || !(size > 0) || !(size < (double)INFINITY))
    return 0;
  const double first = params->first_length > 0 ? params->first_length : 1 / size;
  ndt_line_search_init (&b->search, b->value, slope, b->n_kept > 0 ? 1 : first,
      params->longest > 0 ? params->longest / size : 1e20, NDT_LBFGS_DECREASE, params->curvature);
  return 1;
}

/* Keeps the step that was taken and the gradient's change. */
NDT_INLINE void
ndt_lbfgs_keep (NdtLbfgs *b, const double *gradient)
{
  const int32_t n = b->n;
  double *s = b->steps + b->next * n, *y = b->changes + b->next * n, product = 0, square = 0;
  for (int32_t i = 0; i < n; i++) {
    s[i] = b->step[i];
    y[i] = gradient[i] - b->gradient[i];
    product += s[i] * y[i];
    square += y[i] * y[i] / (b->scale[i] * b->scale[i]);
  }
  /* Not positive where the curvature condition does not hold. */
  if (!(product > 1e-16 * square))
    return;
  b->curvatures[b->next] = 1 / product;
  b->next = (b->next + 1) % b->history;
  b->n_kept += b->n_kept < b->history;
}

/**
 * ndt_lbfgs_update:
 * @value: at the parameters that were asked for; in the first call at the start
 * @gradient: likewise
 * @x: (nullable): these n parameters, to which the gradient's tolerance is relative; for those of a
 *   pose 1 (metre, rad)
 *
 * Returns: 1 when the best parameters plus b->step are to be evaluated, 0 when done: b->stop says
 * why. b->accepted is set.
 */
NDT_INLINE int
ndt_lbfgs_update (NdtLbfgs *b, const NdtLbfgsParams *params, double value, const double *gradient,
    const double *x)
{
  const int32_t n = b->n;
  const int is_first = b->evaluations == 0;
  b->evaluations++;
  b->accepted = b->is_wolfe = 0;
  if (is_first && !ndt_descent_is_finite (value, gradient, n, gradient, 0)) {
    b->stop = NDT_DESCENT_NOT_FINITE;
    return 0;
  }

  int32_t state = NDT_LINE_SEARCH_DONE;
  if (!is_first && !b->is_falling_back) {
    state = ndt_line_search_update (&b->search, value, ndt_descent_dot (gradient, b->direction, n));
    b->is_wolfe = state == NDT_LINE_SEARCH_DONE;
  }
  if (state == NDT_LINE_SEARCH_FAILED) {
    const int is_lower = b->search.best > 0 && b->search.best_value < b->value;
    /* Twice the decrease that a quasi-Newton step promises, below what values resolve. */
    const int is_rounding = b->n_kept > 0 && -b->search.slope0 <= 1e-13 * fabs (b->value);
    if (is_rounding || (!is_lower && b->n_kept == 0)) {
      b->stop = NDT_DESCENT_PRECISION;
      return 0;
    }
    if (is_lower) {
      b->is_falling_back = 1;
      b->search.length = b->search.best;
    } else {
      b->n_kept = 0;
      if (!ndt_lbfgs_start_search (b, params)) {
        b->stop = NDT_DESCENT_PRECISION;
        return 0;
      }
    }
  } else if (state != NDT_LINE_SEARCH_EVALUATE) {
    const double decrease = b->value - value;
    double norm = 0, size = 0;
    b->accepted = 1;
    b->iterations += !is_first;
    if (!is_first)
      ndt_lbfgs_keep (b, gradient);
    b->is_falling_back = 0;
    b->value = value;
    for (int32_t i = 0; i < n; i++) {
      b->gradient[i] = gradient[i];
      norm += gradient[i] * gradient[i] / (b->scale[i] * b->scale[i]);
      size += x ? b->scale[i] * b->scale[i] * x[i] * x[i] : 0;
    }
    if (sqrt (norm) <= params->gradient_tolerance * (size > 1 ? sqrt (size) : 1))
      b->stop = NDT_DESCENT_GRADIENT;
    else if (!is_first && decrease <= params->value_tolerance * fabs (value) &&
             params->value_tolerance > 0)
      b->stop = NDT_DESCENT_VALUE;
    else if (b->evaluations < params->max_evaluations && !ndt_lbfgs_start_search (b, params))
      b->stop = NDT_DESCENT_PRECISION;
  }
  if (b->stop == NDT_DESCENT_RUNNING && b->evaluations >= params->max_evaluations)
    b->stop = NDT_DESCENT_LIMIT;
  if (b->stop != NDT_DESCENT_RUNNING)
    return 0;
  for (int32_t i = 0; i < n; i++)
    b->step[i] = b->search.length * b->direction[i];
  return 1;
}
