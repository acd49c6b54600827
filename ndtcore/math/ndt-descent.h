/* SPDX-License-Identifier: MIT */
/* What the minimizers of n parameters (ndt-lm.h, ndt-lbfgs.h) have in common. They are state
 * machines that allocate nothing and call nobody: the caller evaluates the objective at the step
 * that they ask for and tells them the result, on the CPU or in a kernel. No GLib: nvcc compiles
 * these headers.
 *
 * They know steps, not parameters: a step is added to the best parameters by the caller, for a pose
 * by ndt_pose_retract(). Its derivatives are by a perturbation in the parent's axes, so that
 * gradients at different poses have the same axes and φ'(α) = g(α) · step holds along a step. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "ndt-types.h"

/* Index of (row, column), row <= column, in the packed upper triangle of a symmetric n×n matrix;
 * NDT_H6 for n = 6. Its number of elements is NDT_PACKED_SIZE. */
#define NDT_PACKED(n, row, col) ((row) * (n) - (row) * ((row)-1) / 2 + (col) - (row))
#define NDT_PACKED_SIZE(n) ((n) * ((n) + 1) / 2)

/* Why a minimization ended. */
typedef enum {
  NDT_DESCENT_RUNNING,
  NDT_DESCENT_GRADIENT,   /* the gradient is below its tolerance */
  NDT_DESCENT_VALUE,      /* the decrease is below its tolerance */
  NDT_DESCENT_STEP,       /* the step is below its tolerance */
  NDT_DESCENT_PRECISION,  /* rounding: no step decreases the value */
  NDT_DESCENT_LIMIT,      /* max_evaluations */
  NDT_DESCENT_NOT_FINITE, /* at the start: a value or a derivative is not finite */
} NdtDescentStop;

NDT_INLINE double
ndt_descent_dot (const double *a, const double *b, int32_t n)
{
  double sum = 0;
  for (int32_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/* Whether a value and its derivatives are finite: their sum of absolutes is. */
NDT_INLINE int
ndt_descent_is_finite (double value, const double *a, int32_t n, const double *b, int32_t m)
{
  double sum = fabs (value);
  for (int32_t i = 0; i < n; i++)
    sum += fabs (a[i]);
  for (int32_t i = 0; i < m; i++)
    sum += fabs (b[i]);
  return sum < (double)INFINITY;
}
