/* SPDX-License-Identifier: MIT */
/* Line search of J. Moré and D. Thuente, "Line search algorithms with guaranteed sufficient
 * decrease", 1994 (MINPACK-2's dcsrch): of φ(α), the value along a descent direction, finds an α
 * with the strong Wolfe conditions
 *
 *   φ(α) ≤ φ(0) + decrease · α φ'(0),   |φ'(α)| ≤ curvature · |φ'(0)|.
 *
 * A state machine: see ndt-descent.h. */
#pragma once

#include "ndt-descent.h"

typedef enum {
  NDT_LINE_SEARCH_EVALUATE, /* φ and φ' at the length */
  NDT_LINE_SEARCH_DONE,     /* the conditions are met at the length */
  NDT_LINE_SEARCH_LONGEST,  /* the longest step is the result: φ still falls there */
  NDT_LINE_SEARCH_FAILED,   /* rounding, or too many evaluations: best is all there is */
} NdtLineSearchState;

/**
 * NdtLineSearch:
 * @length: α to evaluate, or the result
 * @best: α with the least value so far: 0, the start, or one that was evaluated
 * @best_value: φ there
 */
typedef struct {
  double length;
  double best;
  double best_value;

  /*< private >*/
  double decrease, curvature;
  double least, longest; /* bounds of α */
  double value0, slope0;
  double best_slope;
  double other, other_value, other_slope; /* the other end of the interval */
  double low, high;                       /* bounds of the next α */
  double width, width_before;
  int32_t has_bracket;
  int32_t is_second_stage;
  int32_t left; /* evaluations */
} NdtLineSearch;

/* @slope: φ'(0) < 0; @length: the first α, > 0; @longest: the largest; @decrease < @curvature, both
 * in (0, 1) */
NDT_INLINE void
ndt_line_search_init (NdtLineSearch *s, double value, double slope, double length, double longest,
    double decrease, double curvature)
{
  s->length = length < longest ? length : longest;
  s->best = s->other = 0;
  s->best_value = s->other_value = s->value0 = value;
  s->best_slope = s->other_slope = s->slope0 = slope;
  s->decrease = decrease;
  s->curvature = curvature;
  s->least = 1e-20;
  s->longest = longest;
  s->low = 0;
  s->high = 5 * s->length;
  s->width = longest;
  s->width_before = 2 * longest;
  s->has_bracket = s->is_second_stage = 0;
  s->left = 40;
}

/* Discriminant of the cubic that interpolates two values and slopes, kept from overflowing. */
NDT_INLINE double
ndt_line_search_root (double theta, double a, double b)
{
  double s = fabs (theta);
  s = fabs (a) > s ? fabs (a) : s;
  s = fabs (b) > s ? fabs (b) : s;
  if (!(s > 0))
    return 0;
  const double d = theta / s * (theta / s) - a / s * (b / s);
  return d > 0 ? s * sqrt (d) : 0;
}

/* The next α, and the interval narrowed (dcstep). @f, @d: value and slope at s->length. */
NDT_NOINLINE void
ndt_line_search_interpolate (NdtLineSearch *s, double f, double d)
{
  const double x = s->best, fx = s->best_value, dx = s->best_slope, t = s->length;
  const int reverses = (d < 0) != (dx < 0);
  double theta = 3 * (fx - f) / (t - x) + dx + d, gamma = ndt_line_search_root (theta, dx, d);
  double cubic, quadratic, next;
  if (f > fx) {
    /* Higher: the minimum is between. */
    if (t < x)
      gamma = -gamma;
    cubic = x + ((gamma - dx) + theta) / (((gamma - dx) + gamma) + d) * (t - x);
    quadratic = x + dx / ((fx - f) / (t - x) + dx) / 2 * (t - x);
    next = fabs (cubic - x) < fabs (quadratic - x) ? cubic : cubic + (quadratic - cubic) / 2;
    s->has_bracket = 1;
  } else if (reverses) {
    /* Lower, and rising: between. */
    if (t > x)
      gamma = -gamma;
    cubic = t + ((gamma - d) + theta) / (((gamma - d) + gamma) + dx) * (x - t);
    quadratic = t + d / (d - dx) * (x - t);
    next = fabs (cubic - t) > fabs (quadratic - t) ? cubic : quadratic;
    s->has_bracket = 1;
  } else if (fabs (d) < fabs (dx)) {
    /* Lower, and falling less. */
    if (t > x)
      gamma = -gamma;
    const double r = ((gamma - d) + theta) / ((gamma + (dx - d)) + gamma);
    if (r < 0 && gamma < 0)
      cubic = t + r * (x - t);
    else if (r < 0 && gamma > 0)
      cubic = t + r * (x - t);
    else
      cubic = t > x ? s->high : s->low;
    quadratic = t + d / (d - dx) * (x - t);
    if (s->has_bracket) {
      next = fabs (cubic - t) < fabs (quadratic - t) ? cubic : quadratic;
      const double limit = t + 0.66 * (s->other - t);
      if (t > x ? next > limit : next < limit)
        next = limit;
    } else {
      next = fabs (cubic - t) > fabs (quadratic - t) ? cubic : quadratic;
      next = next < s->low ? s->low : next > s->high ? s->high : next;
    }
  } else if (s->has_bracket) {
    /* Lower, and falling more: towards the other end. */
    theta = 3 * (f - s->other_value) / (s->other - t) + s->other_slope + d;
    gamma = ndt_line_search_root (theta, s->other_slope, d);
    if (t > s->other)
      gamma = -gamma;
    next = t + ((gamma - d) + theta) / (((gamma - d) + gamma) + s->other_slope) * (s->other - t);
  } else {
    next = t > x ? s->high : s->low;
  }
  if (f > fx) {
    s->other = t;
    s->other_value = f;
    s->other_slope = d;
  } else {
    if (reverses) {
      s->other = x;
      s->other_value = fx;
      s->other_slope = dx;
    }
    s->best = t;
    s->best_value = f;
    s->best_slope = d;
  }
  s->length = next;
}

/* @value and @slope: φ and φ' at s->length; not finite: the step is too long. Returns an
 * NdtLineSearchState. */
NDT_INLINE int32_t
ndt_line_search_update (NdtLineSearch *s, double value, double slope)
{
  const double required = s->decrease * s->slope0;
  if (!ndt_descent_is_finite (value, &slope, 1, &slope, 0)) {
    /* Nothing beyond is of use. */
    s->longest = s->length;
    s->high = s->length;
    s->length = s->best + 0.1 * (s->length - s->best);
    return --s->left > 0 && s->length > s->best + s->least ? NDT_LINE_SEARCH_EVALUATE
                                                           : NDT_LINE_SEARCH_FAILED;
  }
  const double limit = s->value0 + s->length * required;
  if (!s->is_second_stage && value <= limit && slope >= 0)
    s->is_second_stage = 1;
  if (value <= limit && fabs (slope) <= -s->curvature * s->slope0)
    return NDT_LINE_SEARCH_DONE;
  if (s->length >= s->longest && value <= limit && slope <= required)
    return NDT_LINE_SEARCH_LONGEST;
  if (--s->left <= 0 || (s->length <= s->least && (value > limit || slope >= required)) ||
      (s->has_bracket &&
          (s->length <= s->low || s->length >= s->high || s->high - s->low <= 1e-15 * s->high)))
    return NDT_LINE_SEARCH_FAILED;

  /* While no point with a sufficient decrease and a slope ≥ 0 is known, φ less the required
   * decrease is minimized. */
  if (!s->is_second_stage && value <= s->best_value && value > limit) {
    s->best_value -= s->best * required;
    s->other_value -= s->other * required;
    s->best_slope -= required;
    s->other_slope -= required;
    ndt_line_search_interpolate (s, value - s->length * required, slope - required);
    s->best_value += s->best * required;
    s->other_value += s->other * required;
    s->best_slope += required;
    s->other_slope += required;
  } else {
    ndt_line_search_interpolate (s, value, slope);
  }
  if (s->has_bracket) {
    const double width = fabs (s->other - s->best);
    if (width >= 0.66 * s->width_before)
      s->length = s->best + 0.5 * (s->other - s->best);
    s->width_before = s->width;
    s->width = width;
    s->low = s->best < s->other ? s->best : s->other;
    s->high = s->best < s->other ? s->other : s->best;
  } else {
    const double step = s->length - s->best;
    s->low = s->length + 1.1 * step;
    s->high = s->length + 4 * step;
  }
  s->length = s->length < s->least ? s->least : s->length > s->longest ? s->longest : s->length;
  if (s->has_bracket &&
      (s->length <= s->low || s->length >= s->high || s->high - s->low <= 1e-15 * s->high)) {
    if (!(s->best > 0))
      return NDT_LINE_SEARCH_FAILED;
    s->length = s->best;
  }
  return NDT_LINE_SEARCH_EVALUATE;
}
