/* SPDX-License-Identifier: MIT */
/* Terms that users add to the score of a pose: residuals compiled to a list of operations, which
 * the CPU's loop and the kernels execute alike. What makes them is
 * ndtcore/expression/ndt-expr-terms.h. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "ndt-types.h"

/* In the order of NdtExprOp, from NDT_EXPR_ADD on. */
typedef enum {
  NDT_EXTRA_ADD,
  NDT_EXTRA_SUB,
  NDT_EXTRA_MUL,
  NDT_EXTRA_DIV,
  NDT_EXTRA_MIN,
  NDT_EXTRA_MAX,
  NDT_EXTRA_LESS,
  NDT_EXTRA_POW,
  NDT_EXTRA_ATAN2,
  NDT_EXTRA_NEG,
  NDT_EXTRA_SQRT,
  NDT_EXTRA_SIN,
  NDT_EXTRA_COS,
  NDT_EXTRA_TAN,
  NDT_EXTRA_ASIN,
  NDT_EXTRA_ACOS,
  NDT_EXTRA_ATAN,
  NDT_EXTRA_EXP,
  NDT_EXTRA_LOG,
  NDT_EXTRA_ABS,
  NDT_EXTRA_SIGN
} NdtExtraOp;

/* Limits of one set of terms: of its operations, the different constants, the residuals; and the
 * numbers that an evaluation computes. */
#define NDT_EXTRA_OPERATIONS 2000
#define NDT_EXTRA_CONSTANTS 128
#define NDT_EXTRA_RESIDUALS 32
#define NDT_EXTRA_SCALARS (NDT_EXTRA_FIRST_CONSTANT + NDT_EXTRA_CONSTANTS + NDT_EXTRA_OPERATIONS)

/* Poses that terms may name: the body's, which is estimated, and those that are given. */
#define NDT_EXTRA_POSES 4
/* Scalars: these poses (seven numbers each), their rotation matrices, constants, results. */
#define NDT_EXTRA_FIRST_ROTATION (7 * NDT_EXTRA_POSES)
#define NDT_EXTRA_FIRST_CONSTANT (16 * NDT_EXTRA_POSES)

#define NDT_EXTRA_NO_SCALAR UINT16_MAX

/* Numbers of scalars. */
typedef struct {
  uint16_t op; /* NdtExtraOp */
  uint16_t out, a, b;
} NdtExtraOperation;

/* Likewise; NDT_EXTRA_NO_SCALAR: a weight of one, a derivative of zero. @poses: bits of the given
 * poses that it depends on. */
typedef struct {
  uint16_t residual, cost, weight;
  uint16_t jacobian[6];
  uint16_t poses;
} NdtExtraResidual;

/**
 * NdtExtraTerms:
 * @serial: differs between all that the process made; not 0
 *
 * Immutable. A plain structure, so that a device gets it as it is.
 */
typedef struct {
  uint64_t serial;
  uint32_t n_operations;
  uint32_t n_constants;
  uint32_t n_residuals;
  uint32_t n_scalars;
  NdtExtraResidual residuals[NDT_EXTRA_RESIDUALS];
  double constants[NDT_EXTRA_CONSTANTS];
  NdtExtraOperation operations[NDT_EXTRA_OPERATIONS];
} NdtExtraTerms;

NDT_INLINE double
ndt_extra_operate (uint32_t op, double a, double b)
{
  switch (op) {
  case NDT_EXTRA_ADD:
    return a + b;
  case NDT_EXTRA_SUB:
    return a - b;
  case NDT_EXTRA_MUL:
    return a * b;
  case NDT_EXTRA_DIV:
    return a / b;
  case NDT_EXTRA_MIN:
    return b < a ? b : a;
  case NDT_EXTRA_MAX:
    return b > a ? b : a;
  case NDT_EXTRA_LESS:
    return a <= b ? 1 : 0;
  case NDT_EXTRA_POW:
    return pow (a, b);
  case NDT_EXTRA_ATAN2:
    return atan2 (a, b);
  case NDT_EXTRA_NEG:
    return -a;
  case NDT_EXTRA_SQRT:
    return sqrt (a);
  case NDT_EXTRA_SIN:
    return sin (a);
  case NDT_EXTRA_COS:
    return cos (a);
  case NDT_EXTRA_TAN:
    return tan (a);
  case NDT_EXTRA_ASIN:
    return asin (a);
  case NDT_EXTRA_ACOS:
    return acos (a);
  case NDT_EXTRA_ATAN:
    return atan (a);
  case NDT_EXTRA_EXP:
    return exp (a);
  case NDT_EXTRA_LOG:
    return log (a);
  case NDT_EXTRA_ABS:
    return fabs (a);
  case NDT_EXTRA_SIGN:
    return a > 0 ? 1 : (a < 0 ? -1 : 0);
  default:
    return NAN;
  }
}

/* Writes a pose and its rotation matrix among the scalars. */
NDT_INLINE void
ndt_extra_put_pose (double *scalars, int pose, const double position[3], const double q[4])
{
  double *p = scalars + 7 * pose, *r = scalars + NDT_EXTRA_FIRST_ROTATION + 9 * pose;
  for (int i = 0; i < 3; i++)
    p[i] = position[i];
  for (int i = 0; i < 4; i++)
    p[3 + i] = q[i];
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    r[4 * i] = 1 - 2 * (q[j] * q[j] + q[k] * q[k]);
    r[3 * i + j] = 2 * (q[i] * q[j] - q[3] * q[k]);
    r[3 * i + k] = 2 * (q[i] * q[k] + q[3] * q[j]);
  }
}

/**
 * ndt_extra_terms_add:
 * @values: of the start, with a weight above 0
 * @position: of the sensor in the map, at the trial pose
 * @q: its orientation
 * @scalars: room for @terms->n_scalars numbers
 * @score: (inout): the objective there; the terms' costs times the weight are subtracted
 * @gradient: (inout): likewise
 * @hessian: (inout): likewise; of the costs Σ w JᵀJ, as of iteratively reweighted least squares
 *
 * Terms that name a pose which @values do not have are left out.
 */
NDT_NOINLINE void
ndt_extra_terms_add (const NdtExtraTerms *terms, const NdtExtraValues *values,
    const double position[3], const double q[4], double *scalars, double *score, double gradient[6],
    double hessian[21])
{
  /* The body's pose: q ⊗ b, and p + R(q) b. */
  const double *b = values->body.orientation, *v = values->body.position;
  const double body[4] = {q[3] * b[0] + q[0] * b[3] + q[1] * b[2] - q[2] * b[1],
      q[3] * b[1] - q[0] * b[2] + q[1] * b[3] + q[2] * b[0],
      q[3] * b[2] + q[0] * b[1] - q[1] * b[0] + q[2] * b[3],
      q[3] * b[3] - q[0] * b[0] - q[1] * b[1] - q[2] * b[2]};
  double at[3], lever[3];
  ndt_extra_put_pose (scalars, 0, position, q);
  for (int i = 0; i < 3; i++) {
    const double *r = scalars + NDT_EXTRA_FIRST_ROTATION + 3 * i;
    lever[i] = r[0] * v[0] + r[1] * v[1] + r[2] * v[2];
    at[i] = position[i] + lever[i];
  }
  ndt_extra_put_pose (scalars, 0, at, body);
  for (int i = 1; i < NDT_EXTRA_POSES; i++)
    ndt_extra_put_pose (
        scalars, i, values->poses[i - 1].position, values->poses[i - 1].orientation);
  for (uint32_t i = 0; i < terms->n_constants; i++)
    scalars[NDT_EXTRA_FIRST_CONSTANT + i] = terms->constants[i];
  for (uint32_t i = 0; i < terms->n_operations; i++) {
    const NdtExtraOperation o = terms->operations[i];
    scalars[o.out] = ndt_extra_operate (o.op, scalars[o.a], scalars[o.b]);
  }
  for (uint32_t i = 0; i < terms->n_residuals; i++) {
    const NdtExtraResidual *r = &terms->residuals[i];
    double j[6];
    if (r->poses & ~values->has)
      continue;
    for (int k = 0; k < 6; k++)
      j[k] = r->jacobian[k] == NDT_EXTRA_NO_SCALAR ? 0 : scalars[r->jacobian[k]];
    /* The body moves by δt + δω × lever where its sensor moves by (δt, δω). */
    const double turn[3] = {lever[1] * j[2] - lever[2] * j[1], lever[2] * j[0] - lever[0] * j[2],
        lever[0] * j[1] - lever[1] * j[0]};
    for (int k = 0; k < 3; k++)
      j[3 + k] += turn[k];
    const double weight =
        values->weight * (r->weight == NDT_EXTRA_NO_SCALAR ? 1 : scalars[r->weight]);
    const double pull = weight * scalars[r->residual];
    *score -= values->weight * scalars[r->cost];
    for (int k = 0; k < 6; k++) {
      gradient[k] -= pull * j[k];
      for (int m = k; m < 6; m++)
        hessian[NDT_H6 (k, m)] -= weight * j[k] * j[m];
    }
  }
}
