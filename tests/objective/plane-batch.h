/* SPDX-License-Identifier: MIT */
/* Many problems of one kind: point to plane with a Huber kernel, a pose each, data of its own. */
#pragma once

#include "ndtcore/expression/ndt-expr-run.h"
#include "ndtcore/math/ndt-pose.h"

#define PLANE_COLUMNS 7

/**
 * PlaneBatch:
 * @n: problems
 * @n_rows: residuals of each
 * @rows: their data
 * @starts: (array length=n): poses to start from, 0.3 m and 5° off
 * @truths: (array length=n): poses that residuals are about
 */
typedef struct {
  guint n;
  gsize n_rows;
  NdtExprProgram *program;
  NdtExprRows *rows;
  NdtPose *starts, *truths;
  /*< private >*/
  double *data;
  const double **columns;
} PlaneBatch;

/* 1 cm of noise, a tenth of the rows outliers. */
void plane_batch_init (PlaneBatch *batch, guint n, gsize n_rows, NdtWorkers *workers);
void plane_batch_clear (PlaneBatch *batch);
