/* SPDX-License-Identifier: MIT */
/* Compiled residuals as an objective, for minimizers. */
#pragma once

#include "ndt-expr-run.h"
#include "ndtcore/objective/ndt-objective.h"

G_BEGIN_DECLS

/**
 * ndt_expr_objective_new:
 * @program: residuals; a reference is taken
 * @rows: (array length=n_problems): the data of each problem; they outlive the objective
 * @workers: (nullable): threads, likewise: over problems, or over the rows of a single one
 *
 * Least squares: of robust residuals the value is the sum of their kernels' costs, and the matrix
 * that of reweighted least squares. A problem has the bits that it has alone.
 *
 * Returns: (transfer full): to be closed by ndt_objective_close()
 */
NdtObjective *ndt_expr_objective_new (
    NdtExprProgram *program, const NdtExprRows *rows, guint n_problems, NdtWorkers *workers);

G_END_DECLS
