/* SPDX-License-Identifier: MIT */
/* The text form of residuals. */
#pragma once

#include "ndt-expr.h"

G_BEGIN_DECLS

/* Limits of a text: bytes, and operations within each other. The second bounds the stack. */
#define NDT_EXPR_MAX_TEXT 16384
#define NDT_EXPR_MAX_DEPTH 64
/* Residuals of a text. */
#define NDT_EXPR_MAX_RESIDUALS 32

/**
 * ndt_expr_parse:
 * @graph: has the names of parameters, columns and constants. Gets the definitions of the text
 * @text: statements separated by semicolons: "name = expression", or an expression, which is a
 *   residual. Bytes from anywhere
 * @residuals: (array length=n_residuals): room for %NDT_EXPR_MAX_RESIDUALS nodes
 * @n_residuals: (out): residuals of the text, at least one
 *
 * Operators are + − * / and ^ (power, right to left, before the sign), with parentheses. Numbers
 * have a point and may have an exponent, whatever the locale. Functions: sqrt, sin, cos, tan, asin,
 * acos, atan, exp, log, abs, sign of one argument; atan2, pow, min, max of two. Of a pose T:
 * transform_x, transform_y and transform_z (T, x, y, z), the point (x, y, z) in the pose's parent;
 * rotate_x, … without the position; T.x, T.y, T.z in metres; T.roll, T.pitch, T.yaw in rad
 * (ndt_pose_to_rpy()). turn_x, turn_y and turn_z (A, B): twice the vector part of the quaternion
 * from the pose B to A, about the parent's axes: the angle in rad where that is small. huber,
 * cauchy and tukey (residual, threshold) are a whole residual, with a constant threshold. "pi" is a
 * number where it is no other name.
 *
 * Returns: FALSE with %NDT_ERROR_FORMAT and the column, from 1, where the text is none of these
 *   or too large; definitions before it stay in @graph
 */
gboolean ndt_expr_parse (
    NdtExprGraph *graph, const gchar *text, NdtExpr *residuals, guint *n_residuals, GError **error);

G_END_DECLS
