/* SPDX-License-Identifier: MIT */
/* Residuals compiled to straight-line code over rows of data. */
#pragma once

#include "ndt-expr.h"

G_BEGIN_DECLS

/* Operations of code beside those of expressions (NDT_EXPR_ADD to NDT_EXPR_SIGN): with operands a,
 * b, c each rounded twice, as the two operations they stand for. */
typedef enum {
  NDT_EXPR_MULADD = NDT_EXPR_N_OPS, /* a b + c */
  NDT_EXPR_MULSUB,                  /* a b − c */
  NDT_EXPR_SUBMUL                   /* c − a b */
} NdtExprFusedOp;

/* No value of code: a derivative that is zero, a weight that is one. */
#define NDT_EXPR_NO_VALUE G_MAXUINT32

/* One operation: the numbers of values that it reads, and of the one that it writes. */
typedef struct {
  guint32 op; /* NdtExprOp or NdtExprFusedOp */
  guint32 out, a, b, c;
} NdtExprInstruction;

/**
 * NdtExprCode:
 * @n_stored: doubles of the parameters, which are the first scalars
 * @n_poses: rotation matrices, nine scalars each (row-major), follow
 * @first_constant: then come constants …
 * @constants: (array length=n_constants): … these
 * @scalars: instructions over scalars, once an evaluation: what does not depend on a row
 * @n_all_scalars: scalars in all
 * @n_columns: columns, which are the first values of a row
 * @broadcast: (array length=n_broadcast): the scalars that rows use; they follow as values
 * @rows: instructions over values, once a row
 * @n_values: values of a row in all
 * @residuals: (array length=n_residuals): value of each residual, without its kernel
 * @costs: likewise: its cost
 * @weights: likewise: its weight; %NDT_EXPR_NO_VALUE: one
 * @jacobian: n_residuals × n_tangents: values of derivatives; %NDT_EXPR_NO_VALUE: zero
 *
 * A temporary value's number is used again once it is not needed any more. Public for the
 * generator of CUDA code and for tests.
 */
typedef struct {
  guint n_stored, n_poses;
  guint first_constant;
  guint n_constants;
  double *constants;
  GArray *scalars; /* NdtExprInstruction */
  guint n_all_scalars;
  guint n_columns;
  guint n_broadcast;
  guint32 *broadcast;
  GArray *rows; /* NdtExprInstruction */
  guint n_values;
  guint n_residuals;
  guint n_tangents;
  guint32 *residuals, *costs, *weights, *jacobian;
} NdtExprCode;

/**
 * NdtExprProgram:
 * @full: code of residuals, costs, weights and derivatives
 * @value: code of costs alone; derivatives are %NDT_EXPR_NO_VALUE
 * @pose_stored: (array length=n_poses): each pose's first double
 * @pose_tangents: (array length=n_poses): and first tangent
 * @tangents: (array length=n_stored): the tangent of each double, −1 for those of a quaternion
 *
 * What a set of residuals was compiled to. Immutable, and not bound to its graph; any number of
 * threads may evaluate it.
 */
typedef struct {
  gint ref_count;
  NdtExprCode full, value;
  guint n_stored, n_tangents, n_columns, n_poses, n_residuals;
  guint *pose_stored, *pose_tangents;
  gint *tangents;
} NdtExprProgram;

/**
 * ndt_expr_compile:
 * @graph: has the nodes of derivatives afterwards
 * @residuals: (array length=n): nodes; robust kernels are outermost
 *
 * Derives the residuals in reverse mode and makes code of residuals, costs, weights and
 * derivatives, in which equal expressions are computed once, what does not depend on a row is
 * computed once an evaluation, and what nothing needs is left out.
 *
 * Returns: (transfer full) (nullable): the program; NULL with %NDT_ERROR_INVALID_ARGUMENT where a
 *   residual is no node or the graph is full
 */
NdtExprProgram *ndt_expr_compile (
    NdtExprGraph *graph, const NdtExpr *residuals, guint n, GError **error);
NdtExprProgram *ndt_expr_program_ref (NdtExprProgram *program);
void ndt_expr_program_unref (NdtExprProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtExprProgram, ndt_expr_program_unref)

/* @out = @parameters moved by the n_tangents of @delta: numbers are added to, poses by
 * ndt_pose_retract(). @out may be @parameters. */
void ndt_expr_program_retract (
    const NdtExprProgram *program, const double *parameters, const double *delta, double *out);

G_END_DECLS
