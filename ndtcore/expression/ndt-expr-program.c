/* SPDX-License-Identifier: MIT */
#include "ndt-expr-program.h"

#include <string.h>

#include "ndt-expr-derive.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/math/ndt-pose.h"

/* What a compilation knows of each node. */
typedef struct {
  const NdtExprGraph *graph;
  guint n_nodes;
  guint8 *needed;   /* by node: an output is made of it */
  guint8 *varying;  /* depends on the row */
  guint8 *fused;    /* is part of the instruction of the one node that uses it */
  guint32 *uses;    /* nodes and outputs that use it */
  guint32 *scalars; /* its scalar, or NDT_EXPR_NO_VALUE */
  guint32 *values;  /* its value, likewise */
} Compiler;

/* What stands for a node: of NDT_EXPR_ROTATE the sum. */
static NdtExpr
resolve (const NdtExprGraph *graph, NdtExpr node)
{
  const NdtExprNode *n = ndt_expr_graph_get_node (graph, node);
  while (n->op == NDT_EXPR_ROTATE) {
    node = n->a;
    n = ndt_expr_graph_get_node (graph, node);
  }
  return node;
}

/* The operands of @node as they are resolved; how many. */
static guint
operands_of (const NdtExprGraph *graph, NdtExpr node, NdtExpr operands[2])
{
  const NdtExprNode *n = ndt_expr_graph_get_node (graph, node);
  const guint count = ndt_expr_op_get_n_operands (n->op);
  if (count > 0)
    operands[0] = resolve (graph, n->a);
  if (count > 1)
    operands[1] = resolve (graph, n->b);
  return count;
}

static void
compiler_init (Compiler *c, const NdtExprGraph *graph, const NdtExpr *outputs, guint n_outputs)
{
  const guint n = ndt_expr_graph_get_n_nodes (graph);
  *c = (Compiler){graph, n, g_new0 (guint8, n), g_new0 (guint8, n), g_new0 (guint8, n),
      g_new0 (guint32, n), g_new (guint32, n), g_new (guint32, n)};
  NdtExpr operands[2];

  memset (c->scalars, 0xff, n * sizeof *c->scalars);
  memset (c->values, 0xff, n * sizeof *c->values);
  for (guint i = 0; i < n_outputs; i++) {
    c->needed[outputs[i]] = TRUE;
    c->uses[outputs[i]] += 2; /* an output is never fused into another */
  }
  for (NdtExpr i = n; i-- > 0;) {
    if (!c->needed[i])
      continue;
    for (guint k = 0, count = operands_of (graph, i, operands); k < count; k++) {
      c->needed[operands[k]] = TRUE;
      c->uses[operands[k]]++;
    }
  }
  for (NdtExpr i = 0; i < n; i++) {
    if (!c->needed[i])
      continue;
    c->varying[i] = ndt_expr_graph_get_node (graph, i)->op == NDT_EXPR_COLUMN;
    for (guint k = 0, count = operands_of (graph, i, operands); k < count; k++)
      c->varying[i] |= c->varying[operands[k]];
  }
}

static void
compiler_clear (Compiler *c)
{
  g_free (c->needed);
  g_free (c->varying);
  g_free (c->fused);
  g_free (c->uses);
  g_free (c->scalars);
  g_free (c->values);
}

/* Scalars: parameters, rotations, constants, and what is computed of them. */
static void
emit_scalars (Compiler *c, NdtExprCode *code)
{
  g_autoptr (GArray) constants = g_array_new (FALSE, FALSE, sizeof (double));

  code->first_constant = code->n_stored + 9 * code->n_poses;
  for (NdtExpr i = 0; i < c->n_nodes; i++) {
    const NdtExprNode *n = ndt_expr_graph_get_node (c->graph, i);
    if (!c->needed[i])
      continue;
    if (n->op == NDT_EXPR_CONSTANT) {
      c->scalars[i] = code->first_constant + constants->len;
      g_array_append_val (constants, n->value);
    } else if (n->op == NDT_EXPR_PARAMETER) {
      c->scalars[i] = n->index;
    } else if (n->op == NDT_EXPR_ROTATION) {
      c->scalars[i] = code->n_stored + n->index;
    }
  }
  code->n_constants = constants->len;
  code->constants = g_memdup2 (constants->data, constants->len * sizeof (double));
  code->n_all_scalars = code->first_constant + code->n_constants;
  for (NdtExpr i = 0; i < c->n_nodes; i++) {
    NdtExpr operands[2] = {0, 0};
    if (!c->needed[i] || c->varying[i] || c->scalars[i] != NDT_EXPR_NO_VALUE)
      continue;
    const guint count = operands_of (c->graph, i, operands);
    c->scalars[i] = code->n_all_scalars++;
    const NdtExprInstruction instruction = {
        .op = (guint32)ndt_expr_graph_get_node (c->graph, i)->op,
        .out = c->scalars[i],
        .a = c->scalars[operands[0]],
        .b = c->scalars[operands[count > 1 ? 1 : 0]]};
    g_array_append_val (code->scalars, instruction);
  }
}

/* Marks products that a sum or difference takes in. */
static void
fuse (Compiler *c)
{
  for (NdtExpr i = 0; i < c->n_nodes; i++) {
    const NdtExprOp op = ndt_expr_graph_get_node (c->graph, i)->op;
    NdtExpr operands[2];
    if (!c->needed[i] || !c->varying[i] || (op != NDT_EXPR_ADD && op != NDT_EXPR_SUB))
      continue;
    operands_of (c->graph, i, operands);
    for (guint k = 0; k < 2; k++) {
      const NdtExpr m = operands[k];
      if (c->varying[m] && c->uses[m] == 1 &&
          ndt_expr_graph_get_node (c->graph, m)->op == NDT_EXPR_MUL) {
        c->fused[m] = TRUE;
        break;
      }
    }
  }
}

/* The instruction of a node by nodes in place of values. */
static NdtExprInstruction
node_instruction (const Compiler *c, NdtExpr i)
{
  NdtExpr operands[2] = {0, 0};
  const guint count = operands_of (c->graph, i, operands);
  NdtExprInstruction in = {.op = (guint32)ndt_expr_graph_get_node (c->graph, i)->op,
      .out = i,
      .a = operands[0],
      .b = count > 1 ? operands[1] : NDT_EXPR_NO_VALUE,
      .c = NDT_EXPR_NO_VALUE};

  if (in.op != NDT_EXPR_ADD && in.op != NDT_EXPR_SUB)
    return in;
  for (guint k = 0; k < 2; k++) {
    NdtExpr factors[2];
    if (!c->fused[operands[k]])
      continue;
    operands_of (c->graph, operands[k], factors);
    if (in.op == NDT_EXPR_ADD)
      in.op = NDT_EXPR_MULADD;
    else
      in.op = k == 0 ? NDT_EXPR_MULSUB : NDT_EXPR_SUBMUL;
    in.a = factors[0];
    in.b = factors[1];
    in.c = operands[1 - k];
    break;
  }
  return in;
}

/* The value of an operand, with a place among the broadcast scalars where it does not vary. */
static guint32
value_of (Compiler *c, NdtExprCode *code, GArray *broadcast, NdtExpr node)
{
  if (node == NDT_EXPR_NO_VALUE)
    return NDT_EXPR_NO_VALUE;
  if (c->values[node] == NDT_EXPR_NO_VALUE) {
    c->values[node] = code->n_columns + broadcast->len;
    g_array_append_val (broadcast, c->scalars[node]);
  }
  return c->values[node];
}

static void
emit_rows (Compiler *c, NdtExprCode *code, const NdtExpr *outputs, guint n_outputs)
{
  g_autoptr (GArray) broadcast = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) free_values = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree guint32 *last = g_new0 (guint32, c->n_nodes); /* last instruction that reads a node */

  fuse (c);
  for (NdtExpr i = 0; i < c->n_nodes; i++) {
    const NdtExprNode *n = ndt_expr_graph_get_node (c->graph, i);
    if (!c->needed[i] || !c->varying[i] || c->fused[i])
      continue;
    if (n->op == NDT_EXPR_COLUMN) {
      c->values[i] = n->index;
      continue;
    }
    const NdtExprInstruction in = node_instruction (c, i);
    g_array_append_val (code->rows, in);
  }
  for (guint k = 0; k < code->rows->len; k++) {
    const NdtExprInstruction *in = &g_array_index (code->rows, NdtExprInstruction, k);
    const guint32 read[] = {in->a, in->b, in->c};
    for (guint r = 0; r < 3; r++) {
      if (read[r] == NDT_EXPR_NO_VALUE)
        continue;
      last[read[r]] = k;
      if (!c->varying[read[r]])
        value_of (c, code, broadcast, read[r]);
    }
  }
  for (guint k = 0; k < n_outputs; k++) {
    last[outputs[k]] = G_MAXUINT32;
    if (!c->varying[outputs[k]])
      value_of (c, code, broadcast, outputs[k]);
  }
  code->n_broadcast = broadcast->len;
  code->broadcast = g_memdup2 (broadcast->data, broadcast->len * sizeof (guint32));
  code->n_values = code->n_columns + code->n_broadcast;
  for (guint k = 0; k < code->rows->len; k++) {
    NdtExprInstruction *in = &g_array_index (code->rows, NdtExprInstruction, k);
    guint32 *read[] = {&in->a, &in->b, &in->c};
    const NdtExpr node = in->out;
    for (guint r = 0; r < 3; r++) {
      const guint32 operand = *read[r];
      if (operand == NDT_EXPR_NO_VALUE)
        continue;
      *read[r] = c->values[operand];
      /* Temporaries that are read for the last time; once where one is read twice. */
      if (last[operand] == k && c->values[operand] >= code->n_columns + code->n_broadcast) {
        g_array_append_val (free_values, c->values[operand]);
        last[operand] = G_MAXUINT32;
      }
    }
    if (free_values->len > 0) {
      c->values[node] = g_array_index (free_values, guint32, free_values->len - 1);
      g_array_set_size (free_values, free_values->len - 1);
    } else {
      c->values[node] = code->n_values++;
    }
    in->out = c->values[node];
  }
}

/* What each residual's code has to make. */
typedef struct {
  guint n_residuals, n_tangents;
  NdtExpr *residuals, *costs, *weights, *jacobian;
} Outputs;

static void
code_init (NdtExprCode *code, const NdtExprGraph *graph, const Outputs *want, gboolean full)
{
  const guint n = want->n_residuals, n_derivatives = n * want->n_tangents;
  g_autoptr (GArray) outputs = g_array_new (FALSE, FALSE, sizeof (NdtExpr));
  Compiler c;

  code->n_stored = ndt_expr_graph_get_n_stored (graph);
  code->n_poses = ndt_expr_graph_get_n_poses (graph);
  code->n_columns = ndt_expr_graph_get_n_columns (graph);
  code->n_residuals = n;
  code->n_tangents = want->n_tangents;
  code->scalars = g_array_new (FALSE, FALSE, sizeof (NdtExprInstruction));
  code->rows = g_array_new (FALSE, FALSE, sizeof (NdtExprInstruction));
  g_array_append_vals (outputs, want->costs, n);
  if (full) {
    g_array_append_vals (outputs, want->residuals, n);
    g_array_append_vals (outputs, want->weights, n);
    g_array_append_vals (outputs, want->jacobian, n_derivatives);
  }
  NdtExpr *nodes = (NdtExpr *)outputs->data;
  for (guint i = 0; i < outputs->len; i++)
    nodes[i] = resolve (graph, nodes[i]);

  /* Zeros of the Jacobian and weights of one are no values. */
  g_autoptr (GArray) needed = g_array_new (FALSE, FALSE, sizeof (NdtExpr));
  for (guint i = 0; i < outputs->len; i++) {
    const NdtExprNode *node = ndt_expr_graph_get_node (graph, nodes[i]);
    const gboolean is_constant = node->op == NDT_EXPR_CONSTANT;
    if ((i >= 3 * n && is_constant && node->value == 0) ||
        (i >= 2 * n && i < 3 * n && is_constant && node->value == 1))
      nodes[i] = NDT_EXPR_NO_VALUE;
    else
      g_array_append_val (needed, nodes[i]);
  }
  compiler_init (&c, graph, (const NdtExpr *)needed->data, needed->len);
  emit_scalars (&c, code);
  emit_rows (&c, code, (const NdtExpr *)needed->data, needed->len);

  guint32 *values[] = {code->costs = g_new (guint32, n), code->residuals = g_new (guint32, n),
      code->weights = g_new (guint32, n), code->jacobian = g_new (guint32, n_derivatives)};
  for (guint k = 0, at = 0; k < 4; k++) {
    for (guint i = 0; i < (k < 3 ? n : n_derivatives); i++, at++)
      values[k][i] = at < outputs->len && nodes[at] != NDT_EXPR_NO_VALUE ? c.values[nodes[at]]
                                                                         : NDT_EXPR_NO_VALUE;
  }
  compiler_clear (&c);
}

static void
code_clear (NdtExprCode *code)
{
  g_array_unref (code->scalars);
  g_array_unref (code->rows);
  g_free (code->constants);
  g_free (code->broadcast);
  g_free (code->residuals);
  g_free (code->costs);
  g_free (code->weights);
  g_free (code->jacobian);
}

static gboolean
derive_all (NdtExprGraph *graph, const NdtExpr *residuals, Outputs *out, GError **error)
{
  for (guint i = 0; i < out->n_residuals; i++) {
    out->residuals[i] = ndt_expr_inside_kernel (graph, residuals[i]);
    gboolean ok =
        ndt_expr_derive (graph, out->residuals[i], out->jacobian + (gsize)i * out->n_tangents);
    if (ok)
      ndt_expr_cost (graph, residuals[i], &out->costs[i], &out->weights[i]);
    ok = ok && out->costs[i] != NDT_EXPR_NONE && out->weights[i] != NDT_EXPR_NONE;
    if (!ok) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "residual %u is no expression of the graph, or too large with its derivatives", i + 1);
      return FALSE;
    }
  }
  return TRUE;
}

NdtExprProgram *
ndt_expr_compile (NdtExprGraph *graph, const NdtExpr *residuals, guint n, GError **error)
{
  const guint n_tangents = ndt_expr_graph_get_n_tangents (graph);
  g_autofree NdtExpr *nodes = g_new (NdtExpr, (gsize)n * (3 + n_tangents));
  Outputs out = {n, n_tangents, nodes, nodes + n, nodes + 2 * n, nodes + 3 * n};

  g_return_val_if_fail (n > 0, NULL);
  if (!derive_all (graph, residuals, &out, error))
    return NULL;
  NdtExprProgram *program = g_new0 (NdtExprProgram, 1);
  program->ref_count = 1;
  program->n_residuals = n;
  program->n_tangents = n_tangents;
  program->n_stored = ndt_expr_graph_get_n_stored (graph);
  program->n_columns = ndt_expr_graph_get_n_columns (graph);
  program->n_poses = ndt_expr_graph_get_n_poses (graph);
  program->pose_stored = g_new (guint, program->n_poses);
  program->pose_tangents = g_new (guint, program->n_poses);
  for (guint i = 0; i < program->n_poses; i++)
    ndt_expr_graph_get_pose (graph, i, &program->pose_stored[i], &program->pose_tangents[i]);
  program->tangents = g_new (gint, program->n_stored);
  for (guint i = 0; i < program->n_stored; i++)
    program->tangents[i] = ndt_expr_graph_get_tangent (graph, i);
  code_init (&program->full, graph, &out, TRUE);
  code_init (&program->value, graph, &out, FALSE);
  return program;
}

NdtExprProgram *
ndt_expr_program_ref (NdtExprProgram *program)
{
  g_atomic_int_inc (&program->ref_count);
  return program;
}

void
ndt_expr_program_unref (NdtExprProgram *program)
{
  if (!program || !g_atomic_int_dec_and_test (&program->ref_count))
    return;
  code_clear (&program->full);
  code_clear (&program->value);
  g_free (program->pose_stored);
  g_free (program->pose_tangents);
  g_free (program->tangents);
  g_free (program);
}

void
ndt_expr_program_retract (
    const NdtExprProgram *program, const double *parameters, const double *delta, double *out)
{
  memmove (out, parameters, program->n_stored * sizeof *out);
  for (guint i = 0; i < program->n_poses; i++) {
    NdtPose pose;
    memcpy (&pose, out + program->pose_stored[i], sizeof pose);
    ndt_pose_retract (&pose, delta + program->pose_tangents[i], &pose);
    memcpy (out + program->pose_stored[i], &pose, sizeof pose);
  }
  for (guint i = 7 * program->n_poses; i < program->n_stored; i++)
    out[i] += delta[program->tangents[i]];
}
