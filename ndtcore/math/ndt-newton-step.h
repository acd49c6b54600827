/* SPDX-License-Identifier: MIT */
/* The step of Newton's method for a pose: a 6×6 system made definite. Part of ndt-optimizer.h. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "ndt-types.h"
#include "ndtcore/base/ndt-tuning.h"

/* One switch, set before this header is included: NDT_OPTIMIZER_ON_DEVICE is for nvcc. Poses, sums
 * and steps are double in either case, so that both take the same steps. Unlike ndt-terms.h this is
 * not instantiated twice in one file: a translation unit contains either the CPU's loop or a
 * kernel.
 *
 * On a device the 6×6 matrix is factored in float, since a factorization in double takes several
 * times as long there, and one step of iterative refinement restores the precision of double. The
 * caller passes the sums in float as well, and whether they are finite, since a warp converts and
 * tests all of them at once. */
#ifndef NDT_OPTIMIZER_ON_DEVICE
#define NDT_OPTIMIZER_ON_DEVICE 0
#endif

typedef double NdtReal;
#if NDT_OPTIMIZER_ON_DEVICE
typedef float NdtFactorReal;
#define NDT_OPTIMIZER_RSQRT(x) rsqrtf (x)
/* Smallest pivot of a matrix with unit diagonal that counts as positive; below it is rounding. */
#define NDT_OPTIMIZER_PIVOT 1e-5f
#else
typedef double NdtFactorReal;
#define NDT_OPTIMIZER_RSQRT(x) (1 / sqrt (x))
#define NDT_OPTIMIZER_PIVOT 1e-10
#endif

/* y = (LLᵀ)⁻¹ b, with the factor's diagonal inverted. */
NDT_INLINE void
ndt_optimizer_substitute (const NdtFactorReal l[21], const NdtFactorReal b[6], NdtFactorReal y[6])
{
  NDT_UNROLL
  for (int i = 0; i < 6; i++) {
    NdtFactorReal v = b[i];
    NDT_UNROLL
    for (int k = 0; k < i; k++)
      v -= l[NDT_H6 (k, i)] * y[k];
    y[i] = v * l[NDT_H6 (i, i)];
  }
  NDT_UNROLL
  for (int i = 5; i >= 0; i--) {
    NdtFactorReal v = y[i];
    NDT_UNROLL
    for (int k = i + 1; k < 6; k++)
      v -= l[NDT_H6 (i, k)] * y[k];
    y[i] = v * l[NDT_H6 (i, i)];
  }
}

/* step = (−H made positive definite)⁻¹ g. The matrix is scaled to a unit diagonal, which removes
 * the units, and damped until its Cholesky factor exists. Returns whether it was definite without
 * damping. @g and @h: gradient and Hessian in the factor's type. */
NDT_INLINE int
ndt_optimizer_solve_rounded (const NdtReal gradient[6], const NdtReal hessian[21],
    const NdtFactorReal g[6], const NdtFactorReal h[21], NdtReal step[6])
{
  NdtFactorReal s[6], n[21], l[21], b[6], y[6];
  NdtFactorReal largest[2] = {0, 0};
  NDT_UNROLL
  for (int i = 0; i < 6; i++) {
    const NdtFactorReal d = fabs (h[NDT_H6 (i, i)]);
    if (d > largest[i / 3])
      largest[i / 3] = d;
  }
  NDT_UNROLL
  for (int i = 0; i < 6; i++) {
    NdtFactorReal d = fabs (h[NDT_H6 (i, i)]);
    const NdtFactorReal least = largest[i / 3] * (NdtFactorReal)1e-6;
    if (d < least)
      d = least;
    s[i] = d > (NdtFactorReal)1e-30 ? (NdtFactorReal)NDT_OPTIMIZER_RSQRT (d) : 0;
  }
  NDT_UNROLL
  for (int i = 0; i < 6; i++) {
    NDT_UNROLL
    for (int j = i; j < 6; j++)
      n[NDT_H6 (i, j)] = -h[NDT_H6 (i, j)] * s[i] * s[j];
    b[i] = g[i] * s[i];
  }

  NdtFactorReal damping = 0;
  /* Up to 3e8: scaled elements are 1e6 at most, a row of them 6e6. */
  for (int attempt = 0; attempt < 24; attempt++) {
    int definite = 1;
    /* Row i of Lᵀ in l[NDT_H6 (i, ·)]. */
    NDT_UNROLL
    for (int i = 0; i < 6; i++) {
      NDT_UNROLL
      for (int j = i; j < 6; j++) {
        NdtFactorReal v = n[NDT_H6 (i, j)];
        if (i == j)
          v += damping;
        NDT_UNROLL
        for (int k = 0; k < i; k++)
          v -= l[NDT_H6 (k, i)] * l[NDT_H6 (k, j)];
        if (i == j) {
          if (!(v > (NdtFactorReal)NDT_OPTIMIZER_PIVOT)) {
            definite = 0;
            v = 1;
          }
          l[NDT_H6 (i, i)] = (NdtFactorReal)NDT_OPTIMIZER_RSQRT (v);
        } else {
          l[NDT_H6 (i, j)] = v * l[NDT_H6 (i, i)];
        }
      }
    }
    if (definite)
      break;
    damping = damping > 0 ? 3 * damping : (NdtFactorReal)NDT_OPTIMIZER_DAMPING;
  }
  ndt_optimizer_substitute (l, b, y);
  NDT_UNROLL
  for (int i = 0; i < 6; i++)
    step[i] = (NdtReal)(y[i] * s[i]);
#if NDT_OPTIMIZER_ON_DEVICE
  NdtFactorReal r[6];
  NDT_UNROLL
  for (int i = 0; i < 6; i++) {
    NdtReal v = gradient[i];
    NDT_UNROLL
    for (int j = 0; j < 6; j++)
      v += hessian[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)] * step[j];
    r[i] = (NdtFactorReal)v * s[i] - damping * y[i];
  }
  ndt_optimizer_substitute (l, r, y);
  NDT_UNROLL
  for (int i = 0; i < 6; i++)
    step[i] += (NdtReal)(y[i] * s[i]);
#endif
  return damping == 0;
}

NDT_INLINE int
ndt_optimizer_solve (const NdtReal gradient[6], const NdtReal hessian[21], NdtReal step[6])
{
  NdtFactorReal g[6], h[21];
  NDT_UNROLL
  for (int i = 0; i < 6; i++)
    g[i] = (NdtFactorReal)gradient[i];
  NDT_UNROLL
  for (int i = 0; i < 21; i++)
    h[i] = (NdtFactorReal)hessian[i];
  return ndt_optimizer_solve_rounded (gradient, hessian, g, h, step);
}
