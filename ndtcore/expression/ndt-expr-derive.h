/* SPDX-License-Identifier: MIT */
/* Derivatives of expressions, as expressions of the same graph. */
#pragma once

#include "ndt-expr.h"

G_BEGIN_DECLS

/**
 * ndt_expr_derive:
 * @node: an expression; no robust kernel
 * @gradient: room for as many nodes as the graph has tangents
 *
 * Adds the derivatives of @node by all tangents in one reverse pass: what the expression and its
 * derivatives have in common is one node.
 *
 * Returns: FALSE where the graph is full
 */
gboolean ndt_expr_derive (NdtExprGraph *graph, NdtExpr node, NdtExpr *gradient);

/* The residual's own expression: @node, or what a kernel is over. */
NdtExpr ndt_expr_inside_kernel (const NdtExprGraph *graph, NdtExpr node);
/* Adds the cost of a residual, ½e² or that of its kernel, and the weight w that its gradient
 * w e ∂e and its normal equations w ∂e ∂eᵀ have. Nodes may be NDT_EXPR_NONE where the graph is
 * full. */
void ndt_expr_cost (NdtExprGraph *graph, NdtExpr node, NdtExpr *cost, NdtExpr *weight);

G_END_DECLS
