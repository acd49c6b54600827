/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-objective.h"

G_BEGIN_DECLS

typedef enum {
  NDT_MINIMIZER_LM,    /* Levenberg–Marquardt, ndt-lm.h: reads Hessians */
  NDT_MINIMIZER_LBFGS, /* ndt-lbfgs.h: reads values and gradients */
} NdtMinimizer;

/**
 * NdtMinimizeParams:
 * @minimizer: method
 * @value_tolerance: a problem ends when its decrease is below this fraction of its value; 0: not
 * @step_tolerance: LM: or when its steps are below this fraction of the parameters; 0: not
 * @gradient_tolerance: or when its gradient is below this, as of NdtLmParams (a cosine) and
 *   NdtLbfgsParams (absolute, relative to the parameters where these are above 1)
 * @first_radius: LM: longest first step, as of NdtLmParams; > 0
 * @history: L-BFGS: number of steps whose curvature is kept, 1 to 100
 * @max_evaluations: of a problem, at least 1
 * @scale: (nullable): units of a row of steps, > 0, each the reciprocal of a typical step, as of
 *   ndt_lm_init() and ndt_lbfgs_init()
 */
typedef struct {
  NdtMinimizer minimizer;
  double value_tolerance;
  double step_tolerance;
  double gradient_tolerance;
  double first_radius;
  guint history;
  guint max_evaluations;
  const double *scale;
} NdtMinimizeParams;

void ndt_minimize_params_init (NdtMinimizeParams *params, NdtMinimizer minimizer);

/**
 * NdtMinimum:
 * @value: at the parameters found
 * @stop: why it ended
 * @iterations: accepted steps
 * @evaluations: of this problem
 */
typedef struct {
  double value;
  NdtDescentStop stop;
  guint iterations;
  guint evaluations;
} NdtMinimum;

/**
 * ndt_minimize:
 * @objective: all of its problems are minimized, those that are not done together in one evaluation
 *   each time
 * @x: (inout): a row of parameters for each problem: starts; then the best that were found
 * @hessians: (out) (nullable): a packed matrix for each problem, at its result: of least squares
 *   its inverse times the residuals' variance is the covariance
 * @minima: (out): one for each problem
 *
 * Returns: FALSE with NDT_ERROR_INVALID_ARGUMENT, NDT_ERROR_CANCELLED or as the objective fails;
 * then @x has the best parameters so far
 */
gboolean ndt_minimize (NdtObjective *objective, const NdtMinimizeParams *params, double *x,
    double *hessians, NdtMinimum *minima, GError **error);

G_END_DECLS
