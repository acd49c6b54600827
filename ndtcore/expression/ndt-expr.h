/* SPDX-License-Identifier: MIT */
/* Expressions of residuals, as a graph. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * NdtExprGraph:
 *
 * Parameters that are estimated, columns of data (one number for each row), and expressions of
 * them. Equal expressions are one node, what is constant is folded, and a product with zero is zero
 * (also where the other factor is not finite), so that a graph has no more nodes than it needs. Not
 * for several threads at once.
 *
 * Parameters are stored one after the other in the order in which they were added, poses before
 * numbers: a pose is seven doubles, as an #NdtPose, a number one. Derivatives are by tangents: a
 * number has one, a pose six, the perturbation of ndt_pose_retract() (δt in m, δω in rad about the
 * parent's axes).
 */
typedef struct _NdtExprGraph NdtExprGraph;

/* A node of a graph. Its operands have lower numbers. */
typedef guint32 NdtExpr;

/* No node: what a full graph returns, and every operation on it. ndt_expr_compile() refuses it. */
#define NDT_EXPR_NONE G_MAXUINT32

/* Nodes of a graph; parameters' doubles; tangents; columns. Limits against texts that grow without
 * bound: a residual with 64 tangents has 2080 normal equations. */
#define NDT_EXPR_MAX_NODES 100000
#define NDT_EXPR_MAX_STORED 80
#define NDT_EXPR_MAX_TANGENTS 64
#define NDT_EXPR_MAX_COLUMNS 64

/**
 * NdtExprOp:
 * @NDT_EXPR_CONSTANT: a number
 * @NDT_EXPR_PARAMETER: a double of the parameters
 * @NDT_EXPR_ROTATION: an element of a pose's rotation matrix
 * @NDT_EXPR_COLUMN: the row's number of a column
 * @NDT_EXPR_ROTATE: a coordinate of a point rotated by a pose
 * @NDT_EXPR_ADD: a + b
 * @NDT_EXPR_SUB: a − b
 * @NDT_EXPR_MUL: a b
 * @NDT_EXPR_DIV: a / b
 * @NDT_EXPR_MIN: the lesser; a where equal
 * @NDT_EXPR_MAX: the greater; a where equal
 * @NDT_EXPR_LESS: 1 where a <= b, else 0; its derivative is zero
 * @NDT_EXPR_POW: a to the power of b. With a constant b that is whole, a may be negative; otherwise
 *   the derivative wants a > 0
 * @NDT_EXPR_ATAN2: the angle of (b, a), rad
 * @NDT_EXPR_NEG: −a
 * @NDT_EXPR_SQRT: √a
 * @NDT_EXPR_SIN: of a in rad
 * @NDT_EXPR_COS: of a in rad
 * @NDT_EXPR_TAN: of a in rad
 * @NDT_EXPR_ASIN: in rad
 * @NDT_EXPR_ACOS: in rad
 * @NDT_EXPR_ATAN: in rad
 * @NDT_EXPR_EXP: e to the power of a
 * @NDT_EXPR_LOG: natural logarithm
 * @NDT_EXPR_ABS: |a|; its derivative is 0 at 0
 * @NDT_EXPR_SIGN: −1, 0 or 1; its derivative is zero
 * @NDT_EXPR_HUBER: kernel with the threshold b over the residual a, see ndt_expr_kernel()
 * @NDT_EXPR_CAUCHY: likewise
 * @NDT_EXPR_TUKEY: likewise
 *
 * What a node is.
 */
typedef enum {
  NDT_EXPR_CONSTANT,
  NDT_EXPR_PARAMETER,
  NDT_EXPR_ROTATION,
  NDT_EXPR_COLUMN,
  NDT_EXPR_ROTATE,
  NDT_EXPR_ADD,
  NDT_EXPR_SUB,
  NDT_EXPR_MUL,
  NDT_EXPR_DIV,
  NDT_EXPR_MIN,
  NDT_EXPR_MAX,
  NDT_EXPR_LESS,
  NDT_EXPR_POW,
  NDT_EXPR_ATAN2,
  NDT_EXPR_NEG,
  NDT_EXPR_SQRT,
  NDT_EXPR_SIN,
  NDT_EXPR_COS,
  NDT_EXPR_TAN,
  NDT_EXPR_ASIN,
  NDT_EXPR_ACOS,
  NDT_EXPR_ATAN,
  NDT_EXPR_EXP,
  NDT_EXPR_LOG,
  NDT_EXPR_ABS,
  NDT_EXPR_SIGN,
  NDT_EXPR_HUBER,
  NDT_EXPR_CAUCHY,
  NDT_EXPR_TUKEY,
  NDT_EXPR_N_OPS
} NdtExprOp;

/**
 * NdtExprNode:
 * @op: what it is
 * @a: first operand; of %NDT_EXPR_ROTATE the sum that is its value
 * @b: second operand
 * @index: of a parameter its double; of a rotation 9 × pose + 3 × row + column; of a column its
 *   number; of %NDT_EXPR_ROTATE 3 × rotated point + coordinate
 * @value: of a constant
 */
typedef struct {
  NdtExprOp op;
  NdtExpr a, b;
  guint32 index;
  double value;
} NdtExprNode;

/* What a name of the text form stands for. */
typedef enum {
  NDT_EXPR_NAME_VALUE, /* a node: a number that is estimated, a column, a constant */
  NDT_EXPR_NAME_POSE
} NdtExprNameKind;

/**
 * NdtExprName:
 * @name: letters, digits and underscores
 * @kind: which of the members below is meant
 * @node: its node
 * @pose: its number, for ndt_expr_rotate() and ndt_expr_transform()
 */
typedef struct {
  gchar *name;
  NdtExprNameKind kind;
  NdtExpr node;
  guint pose;
} NdtExprName;

NdtExprGraph *ndt_expr_graph_new (void);
void ndt_expr_graph_free (NdtExprGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtExprGraph, ndt_expr_graph_free)

/* These declare a name, which no other has. FALSE with NDT_ERROR_INVALID_ARGUMENT where the name is
 * in use or no name, or a limit is reached, or a pose comes after a number. Columns are numbered
 * from 0 in order. */
gboolean ndt_expr_graph_add_number (NdtExprGraph *graph, const gchar *name, GError **error);
gboolean ndt_expr_graph_add_pose (NdtExprGraph *graph, const gchar *name, GError **error);
gboolean ndt_expr_graph_add_column (NdtExprGraph *graph, const gchar *name, GError **error);
gboolean ndt_expr_graph_add_constant (
    NdtExprGraph *graph, const gchar *name, double value, GError **error);
/* Names @node: what the text form says as "name = expression;". */
gboolean ndt_expr_graph_add_name (
    NdtExprGraph *graph, const gchar *name, NdtExpr node, GError **error);
/* NULL: there is no such name. Of the graph, until the next name is added. */
const NdtExprName *ndt_expr_graph_find (const NdtExprGraph *graph, const gchar *name);
/* (transfer full): its names, separated by commas. */
gchar *ndt_expr_graph_list_names (const NdtExprGraph *graph);
/* The node of a name, NDT_EXPR_NONE where there is none. */
NdtExpr ndt_expr_named (const NdtExprGraph *graph, const gchar *name);

guint ndt_expr_graph_get_n_nodes (const NdtExprGraph *graph);
const NdtExprNode *ndt_expr_graph_get_node (const NdtExprGraph *graph, NdtExpr node);
/* Doubles of the parameters, tangents, columns, poses. */
guint ndt_expr_graph_get_n_stored (const NdtExprGraph *graph);
guint ndt_expr_graph_get_n_tangents (const NdtExprGraph *graph);
guint ndt_expr_graph_get_n_columns (const NdtExprGraph *graph);
guint ndt_expr_graph_get_n_poses (const NdtExprGraph *graph);
/* First double and first tangent of a pose. */
void ndt_expr_graph_get_pose (
    const NdtExprGraph *graph, guint pose, guint *first_stored, guint *first_tangent);
/* The tangent of a double, -1 for those of a quaternion. */
gint ndt_expr_graph_get_tangent (const NdtExprGraph *graph, guint stored);
/* The rotation that a node of NDT_EXPR_ROTATE is of: pose, the point, and the rotated point. */
void ndt_expr_graph_get_rotated (
    const NdtExprGraph *graph, guint index, guint *pose, NdtExpr point[3], NdtExpr rotated[3]);

NdtExpr ndt_expr_constant (NdtExprGraph *graph, double value);
/* NDT_EXPR_NEG to NDT_EXPR_SIGN. */
NdtExpr ndt_expr_unary (NdtExprGraph *graph, NdtExprOp op, NdtExpr a);
/* NDT_EXPR_ADD to NDT_EXPR_ATAN2. */
NdtExpr ndt_expr_binary (NdtExprGraph *graph, NdtExprOp op, NdtExpr a, NdtExpr b);
/* @out = R @point, and R @point + position; @out may be @point. */
void ndt_expr_rotate (NdtExprGraph *graph, guint pose, const NdtExpr point[3], NdtExpr out[3]);
void ndt_expr_transform (NdtExprGraph *graph, guint pose, const NdtExpr point[3], NdtExpr out[3]);
/**
 * ndt_expr_kernel:
 * @kernel: %NDT_EXPR_HUBER, %NDT_EXPR_CAUCHY or %NDT_EXPR_TUKEY
 * @residual: e
 * @threshold: a positive constant k in the unit of @residual
 *
 * A robust residual, for ndt_expr_compile() only: nothing else takes the node as an operand. Its
 * cost replaces ½e² by, for Huber, k (|e| − ½k) where |e| > k; Cauchy, ½k² log (1 + (e/k)²); Tukey,
 * k²/6 (1 − (1 − (e/k)²)³), which is k²/6 where |e| > k.
 *
 * Returns: the node, or %NDT_EXPR_NONE where @threshold is no positive finite constant
 */
NdtExpr ndt_expr_kernel (
    NdtExprGraph *graph, NdtExprOp kernel, NdtExpr residual, NdtExpr threshold);

/* Operands of an operation: 0, 1 or 2. */
guint ndt_expr_op_get_n_operands (NdtExprOp op);
/* The operation's value for numbers: what constants are folded with, and programs compute. */
double ndt_expr_op_evaluate (NdtExprOp op, double a, double b);

G_END_DECLS
