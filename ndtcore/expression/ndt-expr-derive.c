/* SPDX-License-Identifier: MIT */
#include "ndt-expr-derive.h"

#include <math.h>

static NdtExpr
add (NdtExprGraph *g, NdtExpr a, NdtExpr b)
{
  return ndt_expr_binary (g, NDT_EXPR_ADD, a, b);
}

static NdtExpr
sub (NdtExprGraph *g, NdtExpr a, NdtExpr b)
{
  return ndt_expr_binary (g, NDT_EXPR_SUB, a, b);
}

static NdtExpr
mul (NdtExprGraph *g, NdtExpr a, NdtExpr b)
{
  return ndt_expr_binary (g, NDT_EXPR_MUL, a, b);
}

static NdtExpr
divide (NdtExprGraph *g, NdtExpr a, NdtExpr b)
{
  return ndt_expr_binary (g, NDT_EXPR_DIV, a, b);
}

static NdtExpr
number (NdtExprGraph *g, double value)
{
  return ndt_expr_constant (g, value);
}

static NdtExpr
unary (NdtExprGraph *g, NdtExprOp op, NdtExpr a)
{
  return ndt_expr_unary (g, op, a);
}

/* Adds @term to the adjoint of @of. A full graph leaves NDT_EXPR_NONE, which is noticed by @full.
 */
typedef struct {
  NdtExprGraph *graph;
  NdtExpr *adjoints; /* by node; NDT_EXPR_NONE: zero so far */
  gboolean full;
} Pass;

static void
accumulate (Pass *pass, NdtExpr of, NdtExpr term)
{
  NdtExpr *adjoint = &pass->adjoints[of];
  *adjoint = *adjoint == NDT_EXPR_NONE ? term : add (pass->graph, *adjoint, term);
  if (*adjoint == NDT_EXPR_NONE)
    pass->full = TRUE;
}

/* ∂a and ∂b of the operation's value, @y; NDT_EXPR_NONE in place of zero. */
static void
partials (NdtExprGraph *g, const NdtExprNode *n, NdtExpr y, NdtExpr *da, NdtExpr *db)
{
  const NdtExpr a = n->a, b = n->b, one = number (g, 1);

  *da = *db = NDT_EXPR_NONE;
  switch (n->op) {
  case NDT_EXPR_ADD:
    *da = *db = one;
    break;
  case NDT_EXPR_SUB:
    *da = one;
    *db = number (g, -1);
    break;
  case NDT_EXPR_MUL:
    *da = b;
    *db = a;
    break;
  case NDT_EXPR_DIV:
    *da = divide (g, one, b);
    *db = unary (g, NDT_EXPR_NEG, divide (g, y, b));
    break;
  case NDT_EXPR_MIN:
    *da = ndt_expr_binary (g, NDT_EXPR_LESS, a, b);
    *db = sub (g, one, *da);
    break;
  case NDT_EXPR_MAX:
    *da = ndt_expr_binary (g, NDT_EXPR_LESS, b, a);
    *db = sub (g, one, *da);
    break;
  case NDT_EXPR_POW:
    *da = mul (g, b, ndt_expr_binary (g, NDT_EXPR_POW, a, sub (g, b, one)));
    if (ndt_expr_graph_get_node (g, b)->op != NDT_EXPR_CONSTANT)
      *db = mul (g, y, unary (g, NDT_EXPR_LOG, a));
    break;
  case NDT_EXPR_ATAN2: {
    const NdtExpr square = add (g, mul (g, a, a), mul (g, b, b));
    *da = divide (g, b, square);
    *db = unary (g, NDT_EXPR_NEG, divide (g, a, square));
    break;
  }
  case NDT_EXPR_NEG:
    *da = number (g, -1);
    break;
  case NDT_EXPR_SQRT:
    *da = divide (g, number (g, 0.5), y);
    break;
  case NDT_EXPR_SIN:
    *da = unary (g, NDT_EXPR_COS, a);
    break;
  case NDT_EXPR_COS:
    *da = unary (g, NDT_EXPR_NEG, unary (g, NDT_EXPR_SIN, a));
    break;
  case NDT_EXPR_TAN:
    *da = add (g, one, mul (g, y, y));
    break;
  case NDT_EXPR_ASIN:
    *da = divide (g, one, unary (g, NDT_EXPR_SQRT, sub (g, one, mul (g, a, a))));
    break;
  case NDT_EXPR_ACOS:
    *da = divide (g, number (g, -1), unary (g, NDT_EXPR_SQRT, sub (g, one, mul (g, a, a))));
    break;
  case NDT_EXPR_ATAN:
    *da = divide (g, one, add (g, one, mul (g, a, a)));
    break;
  case NDT_EXPR_EXP:
    *da = y;
    break;
  case NDT_EXPR_LOG:
    *da = divide (g, one, a);
    break;
  case NDT_EXPR_ABS:
    *da = unary (g, NDT_EXPR_SIGN, a);
    break;
  default:
    break;
  }
}

/* Of coordinate i of v = R p with R ← exp(δω) R: ∂v = δω × v, and ∂p = Rᵀ. */
static void
rotation_adjoints (Pass *pass, const NdtExprNode *n, NdtExpr adjoint, NdtExpr *tangents)
{
  NdtExprGraph *g = pass->graph;
  const guint i = n->index % 3, j = (i + 1) % 3, k = (i + 2) % 3;
  guint pose, stored, tangent;
  NdtExpr point[3], v[3];

  ndt_expr_graph_get_rotated (g, n->index, &pose, point, v);
  ndt_expr_graph_get_pose (g, pose, &stored, &tangent);
  /* (δω × v)_i = δω_j v_k − δω_k v_j */
  NdtExpr *w = tangents + tangent + 3;
  w[j] = add (g, w[j], mul (g, v[k], adjoint));
  w[k] = sub (g, w[k], mul (g, v[j], adjoint));
  if (w[j] == NDT_EXPR_NONE || w[k] == NDT_EXPR_NONE)
    pass->full = TRUE;
  const NdtExpr zero = number (g, 0), one = number (g, 1);
  for (guint c = 0; c < 3; c++) {
    /* R_ic is the rotated unit vector's coordinate; its node is the sum inside. */
    NdtExpr unit[3] = {zero, zero, zero};
    if (ndt_expr_graph_get_node (g, point[c])->op == NDT_EXPR_CONSTANT)
      continue;
    unit[c] = one;
    ndt_expr_rotate (g, pose, unit, unit);
    accumulate (pass, point[c], mul (g, unit[i], adjoint));
  }
}

gboolean
ndt_expr_derive (NdtExprGraph *graph, NdtExpr node, NdtExpr *gradient)
{
  const guint n_tangents = ndt_expr_graph_get_n_tangents (graph);

  if (node == NDT_EXPR_NONE || ndt_expr_graph_get_node (graph, node)->op >= NDT_EXPR_HUBER)
    return FALSE;
  /* Which nodes depend on a parameter. */
  g_autofree guint8 *depends = g_new0 (guint8, node + 1);
  for (NdtExpr i = 0; i <= node; i++) {
    const NdtExprNode *n = ndt_expr_graph_get_node (graph, i);
    const guint operands = n->op < NDT_EXPR_HUBER ? ndt_expr_op_get_n_operands (n->op) : 0;
    depends[i] = n->op == NDT_EXPR_PARAMETER || n->op == NDT_EXPR_ROTATE ||
                 (operands > 0 && depends[n->a]) || (operands > 1 && depends[n->b]);
  }

  Pass pass = {graph, g_new (NdtExpr, node + 1), FALSE};
  g_autofree NdtExpr *adjoints = pass.adjoints;
  for (NdtExpr i = 0; i <= node; i++)
    adjoints[i] = NDT_EXPR_NONE;
  for (guint t = 0; t < n_tangents; t++)
    gradient[t] = number (graph, 0);
  adjoints[node] = number (graph, 1);
  for (NdtExpr i = node + 1; i-- > 0 && !pass.full;) {
    const NdtExpr adjoint = adjoints[i];
    /* By value: the array moves when nodes are added. */
    const NdtExprNode n = *ndt_expr_graph_get_node (graph, i);
    NdtExpr d[2];
    if (adjoint == NDT_EXPR_NONE || !depends[i])
      continue;
    if (n.op == NDT_EXPR_PARAMETER) {
      const gint tangent = ndt_expr_graph_get_tangent (graph, n.index);
      gradient[tangent] = add (graph, gradient[tangent], adjoint);
      pass.full |= gradient[tangent] == NDT_EXPR_NONE;
      continue;
    }
    if (n.op == NDT_EXPR_ROTATE) {
      rotation_adjoints (&pass, &n, adjoint, gradient);
      continue;
    }
    partials (graph, &n, i, &d[0], &d[1]);
    for (guint k = 0; k < ndt_expr_op_get_n_operands (n.op); k++) {
      const NdtExpr operand = k == 0 ? n.a : n.b;
      if (depends[operand] && d[k] != NDT_EXPR_NONE)
        accumulate (&pass, operand, mul (graph, d[k], adjoint));
    }
    pass.full |= ndt_expr_graph_get_n_nodes (graph) >= NDT_EXPR_MAX_NODES;
  }
  for (guint t = 0; t < n_tangents; t++)
    pass.full |= gradient[t] == NDT_EXPR_NONE;
  return !pass.full;
}

NdtExpr
ndt_expr_inside_kernel (const NdtExprGraph *graph, NdtExpr node)
{
  if (node == NDT_EXPR_NONE)
    return node;
  const NdtExprNode *n = ndt_expr_graph_get_node (graph, node);
  return n->op >= NDT_EXPR_HUBER ? n->a : node;
}

void
ndt_expr_cost (NdtExprGraph *g, NdtExpr node, NdtExpr *cost, NdtExpr *weight)
{
  const NdtExprNode n = *ndt_expr_graph_get_node (g, node);
  const NdtExpr one = number (g, 1), half = number (g, 0.5);

  if (n.op < NDT_EXPR_HUBER) {
    *cost = mul (g, half, mul (g, node, node));
    *weight = one;
    return;
  }
  const double k = ndt_expr_graph_get_node (g, n.b)->value;
  if (n.op == NDT_EXPR_HUBER) {
    /* With m = min (|e|, k): ½m² + m (|e| − m), without a branch. */
    const NdtExpr size = unary (g, NDT_EXPR_ABS, n.a);
    const NdtExpr m = ndt_expr_binary (g, NDT_EXPR_MIN, size, n.b);
    *cost = mul (g, m, sub (g, size, mul (g, half, m)));
    *weight = divide (g, n.b, ndt_expr_binary (g, NDT_EXPR_MAX, size, n.b));
    return;
  }
  const NdtExpr ratio = mul (g, n.a, number (g, 1 / k));
  const NdtExpr square = mul (g, ratio, ratio);
  if (n.op == NDT_EXPR_CAUCHY) {
    const NdtExpr sum = add (g, one, square);
    *cost = mul (g, number (g, k * k / 2), unary (g, NDT_EXPR_LOG, sum));
    *weight = divide (g, one, sum);
  } else {
    const NdtExpr u = ndt_expr_binary (g, NDT_EXPR_MAX, sub (g, one, square), number (g, 0));
    const NdtExpr u2 = mul (g, u, u);
    *cost = mul (g, number (g, k * k / 6), sub (g, one, mul (g, u2, u)));
    *weight = u2;
  }
}
