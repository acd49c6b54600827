/* SPDX-License-Identifier: MIT */
/* The test problems of J. Moré, B. Garbow, K. Hillstrom, "Testing unconstrained optimization
 * software", ACM TOMS 7 (1981), as least squares: numbers and names are the paper's. */
#pragma once

#include "ndtcore/objective/ndt-objective.h"

#define MGH_MAX_N 40
#define MGH_MAX_M 100

/**
 * MghProblem:
 * @n: parameters
 * @m: residuals
 * @optimum: Σ r² there, as the paper has it; of several the one that Levenberg–Marquardt reaches
 */
typedef struct _MghProblem MghProblem;
struct _MghProblem {
  const gchar *name;
  gint n;
  gint m;
  double optimum;
  void (*residuals) (const MghProblem *problem, const _Complex double *x, _Complex double *r);
  void (*start) (const MghProblem *problem, double *x);
};

extern const MghProblem mgh_problems[];
extern const guint mgh_n_problems;

/* @r: m; @jacobian: (nullable): m × n, row-major, by the complex step, which has the precision of a
 * double. */
void mgh_evaluate (const MghProblem *problem, const double *x, double *r, double *jacobian);
/* ½ Σ r²; @gradient: n; @hessian: (nullable): JᵀJ, packed. */
double mgh_sums (const MghProblem *problem, const double *x, double *gradient, double *hessian);

/* @n_problems of them, all the same. Counts evaluations in *@n_evaluations (nullable), a problem
 * each. */
NdtObjective *mgh_objective_new (const MghProblem *problem, guint n_problems, guint *n_evaluations);
