/* SPDX-License-Identifier: MIT */
/* Evaluation of compiled residuals on the CPU. */
#pragma once

#include "ndt-expr-program.h"
#include "ndtcore/base/ndt-workers.h"

G_BEGIN_DECLS

/**
 * NdtExprRows:
 * @n_rows: rows
 * @columns: the program's n_columns arrays of @n_rows doubles
 *
 * The data that residuals are over, column by column. Not finite numbers make sums that are not
 * finite.
 */
typedef struct {
  gsize n_rows;
  const double *const *columns;
} NdtExprRows;

/* Rows that instructions are executed for at a time: their values stay in the first-level cache. */
#define NDT_EXPR_BLOCK 64
/* Rows whose sums are made by one thread; a multiple of the block. Sums of chunks are added in
 * order, so that they do not depend on threads. */
#define NDT_EXPR_CHUNK 4096

/* Entries of the packed upper triangle of normal equations, row by row. */
#define NDT_EXPR_N_NORMAL(n) ((n) * ((n) + 1) / 2)

/**
 * ndt_expr_evaluate:
 * @parameters: n_stored doubles; quaternions of unit length
 * @rows: the data
 * @workers: (nullable): threads to run on
 * @gradient: (nullable): n_tangents: Σ w e ∂e, the gradient of the cost
 * @normal: (nullable): %NDT_EXPR_N_NORMAL (n_tangents): Σ w ∂e ∂eᵀ
 *
 * Without @gradient and @normal only what the cost is made of is computed. The same input gives
 * the same bits, whatever the threads and the processor's vector unit.
 *
 * Returns: the cost, Σ ½e² or the kernels' over all rows and residuals
 */
double ndt_expr_evaluate (const NdtExprProgram *program, const double *parameters,
    const NdtExprRows *rows, NdtWorkers *workers, double *gradient, double *normal);

/**
 * ndt_expr_evaluate_rows:
 * @residuals: (nullable): @rows->n_rows × n_residuals: each residual, without its kernel
 * @weights: (nullable): likewise: the kernels' weights
 * @jacobian: (nullable): @rows->n_rows × n_residuals × n_tangents: derivatives of the residuals
 */
void ndt_expr_evaluate_rows (const NdtExprProgram *program, const double *parameters,
    const NdtExprRows *rows, double *residuals, double *weights, double *jacobian);

G_END_DECLS
