/* SPDX-License-Identifier: MIT */
#include "ndt-expr-terms.h"

#include <string.h>

#include "ndt-expr-parse.h"
#include "ndt-expr-program.h"
#include "ndtcore/base/ndt-error.h"

G_STATIC_ASSERT (NDT_EXTRA_SIGN - NDT_EXTRA_ADD == NDT_EXPR_SIGN - NDT_EXPR_ADD);
G_STATIC_ASSERT (NDT_EXTRA_RESIDUALS == NDT_EXPR_MAX_RESIDUALS);

/* In the order of NdtExtraValues, after the one that is estimated. */
static const gchar *const names[NDT_EXTRA_POSES] = {"pose", "prior", "odometry", "first"};

/* By scalar of a code. */
typedef struct {
  const NdtExprCode *code;
  guint8 *needed; /* by what is added to the terms */
  guint8 *poses;  /* bits of the poses that it depends on, the estimated one's first */
  guint16 *to;    /* its number in the terms */
} Scalars;

static guint32
scalar_of (const NdtExprCode *code, guint32 value)
{
  return value == NDT_EXPR_NO_VALUE ? value : code->broadcast[value - code->n_columns];
}

static const NdtExprInstruction *
instruction (const NdtExprCode *code, guint i)
{
  return &g_array_index (code->scalars, NdtExprInstruction, i);
}

static gboolean
is_unary (const NdtExprInstruction *in)
{
  return ndt_expr_op_get_n_operands ((NdtExprOp)in->op) == 1;
}

/* Marks what residuals need: their costs, weights, and derivatives by the estimated pose. */
static void
find_needed (Scalars *s)
{
  const NdtExprCode *code = s->code;
  for (guint r = 0; r < code->n_residuals; r++) {
    const guint32 *j = code->jacobian + (gsize)r * code->n_tangents;
    const guint32 values[] = {
        code->residuals[r], code->costs[r], code->weights[r], j[0], j[1], j[2], j[3], j[4], j[5]};
    for (guint i = 0; i < G_N_ELEMENTS (values); i++)
      if (values[i] != NDT_EXPR_NO_VALUE)
        s->needed[scalar_of (code, values[i])] = TRUE;
  }
  for (guint i = code->scalars->len; i-- > 0;) {
    const NdtExprInstruction *in = instruction (code, i);
    if (!s->needed[in->out])
      continue;
    s->needed[in->a] = TRUE;
    if (!is_unary (in))
      s->needed[in->b] = TRUE;
  }
}

static gboolean
refuse (GError **error, const gchar *what, guint most)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
      "the residuals have more than %u %s with their derivatives", most, what);
  return FALSE;
}

/* Poses and rotations have the same numbers in both. */
static gboolean
take_scalars (Scalars *s, NdtExtraTerms *terms, GError **error)
{
  const NdtExprCode *code = s->code;
  for (guint i = 0; i < code->first_constant; i++) {
    s->to[i] = (guint16)i;
    s->poses[i] =
        (guint8)(1u << (i < NDT_EXTRA_FIRST_ROTATION ? i / 7 : (i - NDT_EXTRA_FIRST_ROTATION) / 9));
  }
  for (guint i = 0; i < code->n_constants; i++) {
    if (!s->needed[code->first_constant + i])
      continue;
    if (terms->n_constants == NDT_EXTRA_CONSTANTS)
      return refuse (error, "constants", NDT_EXTRA_CONSTANTS);
    s->to[code->first_constant + i] = (guint16)(NDT_EXTRA_FIRST_CONSTANT + terms->n_constants);
    terms->constants[terms->n_constants++] = code->constants[i];
  }
  terms->n_scalars = NDT_EXTRA_FIRST_CONSTANT + terms->n_constants;
  for (guint i = 0; i < code->scalars->len; i++) {
    const NdtExprInstruction *in = instruction (code, i);
    if (!s->needed[in->out])
      continue;
    if (terms->n_operations == NDT_EXTRA_OPERATIONS)
      return refuse (error, "operations", NDT_EXTRA_OPERATIONS);
    const guint32 b = is_unary (in) ? in->a : in->b;
    s->to[in->out] = (guint16)terms->n_scalars++;
    s->poses[in->out] = s->poses[in->a] | s->poses[b];
    terms->operations[terms->n_operations++] = (NdtExtraOperation){
        (guint16)(in->op - NDT_EXPR_ADD), s->to[in->out], s->to[in->a], s->to[b]};
  }
  return TRUE;
}

static gboolean
take_residuals (const Scalars *s, NdtExtraTerms *terms, GError **error)
{
  const NdtExprCode *code = s->code;
  for (guint r = 0; r < code->n_residuals; r++) {
    NdtExtraResidual *out = &terms->residuals[terms->n_residuals++];
    const guint32 *jacobian = code->jacobian + (gsize)r * code->n_tangents;
    const guint32 weight = scalar_of (code, code->weights[r]);
    const guint32 residual = scalar_of (code, code->residuals[r]);
    gboolean depends = FALSE;
    out->residual = s->to[residual];
    out->cost = s->to[scalar_of (code, code->costs[r])];
    out->weight = weight == NDT_EXPR_NO_VALUE ? NDT_EXTRA_NO_SCALAR : s->to[weight];
    for (guint k = 0; k < 6; k++) {
      const guint32 derivative = scalar_of (code, jacobian[k]);
      depends = depends || derivative != NDT_EXPR_NO_VALUE;
      out->jacobian[k] = derivative == NDT_EXPR_NO_VALUE ? NDT_EXTRA_NO_SCALAR : s->to[derivative];
    }
    out->poses = s->poses[residual] >> 1;
    if (!depends) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "residual %u does not depend on the pose", r + 1);
      return FALSE;
    }
  }
  return TRUE;
}

static NdtExtraTerms *
make_terms (const NdtExprCode *code, GError **error)
{
  static guint64 serial;
  static GMutex lock;
  g_autoptr (NdtExtraTerms) terms = g_atomic_rc_box_new0 (NdtExtraTerms);
  const gsize n = code->n_all_scalars;
  g_autofree guint8 *needed = g_new0 (guint8, n), *poses = g_new0 (guint8, n);
  g_autofree guint16 *to = g_new0 (guint16, n);
  Scalars s = {code, needed, poses, to};

  g_mutex_lock (&lock);
  terms->serial = ++serial;
  g_mutex_unlock (&lock);
  find_needed (&s);
  if (!take_scalars (&s, terms, error) || !take_residuals (&s, terms, error))
    return NULL;
  return g_steal_pointer (&terms);
}

NdtExtraTerms *
ndt_expr_terms_new (const gchar *text, GError **error)
{
  g_autoptr (NdtExprGraph) graph = ndt_expr_graph_new ();
  NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
  guint n;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (!ndt_expr_graph_add_pose (graph, names[i], error))
      return NULL;
  if (!ndt_expr_parse (graph, text, residuals, &n, error))
    return NULL;
  g_autoptr (NdtExprProgram) program = ndt_expr_compile (graph, residuals, n, error);
  return program ? make_terms (&program->full, error) : NULL;
}

NdtExtraTerms *
ndt_expr_terms_ref (NdtExtraTerms *terms)
{
  return g_atomic_rc_box_acquire (terms);
}

void
ndt_expr_terms_unref (NdtExtraTerms *terms)
{
  if (terms)
    g_atomic_rc_box_release (terms);
}

guint32
ndt_expr_terms_get_poses (const NdtExtraTerms *terms)
{
  guint32 poses = 0;
  for (guint i = 0; i < terms->n_residuals; i++)
    poses |= terms->residuals[i].poses;
  return poses;
}
