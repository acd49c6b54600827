/* SPDX-License-Identifier: MIT */
/* CUDA source of compiled residuals. Plain C: neither the toolkit nor a device is needed. */
#pragma once

#include "ndtcore/expression/ndt-expr-program.h"

G_BEGIN_DECLS

/* Most tangents: their sums are in registers. */
#define NDT_EXPR_CUDA_MAX_TANGENTS 16
/* Threads of a block, which has a problem. */
#define NDT_EXPR_CUDA_THREADS 128

/**
 * ndt_expr_cuda_source:
 *
 * The kernel "ndt_expr_lm": whole minimizations by ndt-lm.h, a block a problem. Threads take rows
 * in turn with all values and sums in registers; sums of threads are added in a fixed order.
 *
 * Returns: (transfer full) (nullable): NULL with %NDT_ERROR_INVALID_ARGUMENT of too many tangents
 */
gchar *ndt_expr_cuda_source (const NdtExprProgram *program, GError **error);

G_END_DECLS
