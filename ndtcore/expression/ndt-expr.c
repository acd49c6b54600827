/* SPDX-License-Identifier: MIT */
#include "ndt-expr.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/math/ndt-extra-terms.h"

typedef struct {
  guint pose;
  NdtExpr point[3];
  NdtExpr rotated[3];
} Rotated;

typedef struct {
  guint first_stored, first_tangent;
} Pose;

struct _NdtExprGraph {
  GArray *nodes;    /* NdtExprNode */
  GHashTable *find; /* NdtExprNode: its number */
  GArray *names;    /* NdtExprName */
  GArray *poses;    /* Pose */
  GArray *rotated;  /* Rotated */
  GArray *tangents; /* gint, by double of the parameters */
  guint n_tangents;
  guint n_columns;
};

static guint64
bits_of (double value)
{
  guint64 bits;
  memcpy (&bits, &value, sizeof bits);
  return bits;
}

static guint
hash_node (gconstpointer key)
{
  const NdtExprNode *n = key;
  guint64 h = (guint64)n->op;
  h = (h ^ n->a) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  h = (h ^ n->b ^ h >> 29) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  h = (h ^ n->index ^ h >> 32) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  h = (h ^ bits_of (n->value) ^ h >> 29) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return (guint)(h >> 32);
}

static gboolean
equal_nodes (gconstpointer a, gconstpointer b)
{
  const NdtExprNode *x = a, *y = b;
  return x->op == y->op && x->a == y->a && x->b == y->b && x->index == y->index &&
         bits_of (x->value) == bits_of (y->value);
}

static void
clear_name (gpointer name)
{
  g_free (((NdtExprName *)name)->name);
}

NdtExprGraph *
ndt_expr_graph_new (void)
{
  NdtExprGraph *graph = g_new0 (NdtExprGraph, 1);
  graph->nodes = g_array_new (FALSE, FALSE, sizeof (NdtExprNode));
  graph->find = g_hash_table_new_full (hash_node, equal_nodes, g_free, NULL);
  graph->names = g_array_new (FALSE, FALSE, sizeof (NdtExprName));
  g_array_set_clear_func (graph->names, clear_name);
  graph->poses = g_array_new (FALSE, FALSE, sizeof (Pose));
  graph->rotated = g_array_new (FALSE, FALSE, sizeof (Rotated));
  graph->tangents = g_array_new (FALSE, FALSE, sizeof (gint));
  return graph;
}

void
ndt_expr_graph_free (NdtExprGraph *graph)
{
  if (!graph)
    return;
  g_hash_table_unref (graph->find);
  g_array_unref (graph->nodes);
  g_array_unref (graph->names);
  g_array_unref (graph->poses);
  g_array_unref (graph->rotated);
  g_array_unref (graph->tangents);
  g_free (graph);
}

/* ---- Nodes ---- */

static NdtExpr
add_node (NdtExprGraph *graph, const NdtExprNode *node)
{
  gpointer known;
  if (g_hash_table_lookup_extended (graph->find, node, NULL, &known))
    return GPOINTER_TO_UINT (known);
  if (graph->nodes->len >= NDT_EXPR_MAX_NODES)
    return NDT_EXPR_NONE;
  g_array_append_vals (graph->nodes, node, 1);
  const NdtExpr number = graph->nodes->len - 1;
  g_hash_table_insert (graph->find, g_memdup2 (node, sizeof *node), GUINT_TO_POINTER (number));
  return number;
}

guint
ndt_expr_graph_get_n_nodes (const NdtExprGraph *graph)
{
  return graph->nodes->len;
}

const NdtExprNode *
ndt_expr_graph_get_node (const NdtExprGraph *graph, NdtExpr node)
{
  g_return_val_if_fail (node < graph->nodes->len, NULL);
  return &g_array_index (graph->nodes, NdtExprNode, node);
}

static gboolean
is_constant (const NdtExprGraph *graph, NdtExpr node, double *value)
{
  const NdtExprNode *n = &g_array_index (graph->nodes, NdtExprNode, node);
  *value = n->value;
  return n->op == NDT_EXPR_CONSTANT;
}

/* Whether @node is an operation @op, and its operand. */
static gboolean
is_unary (const NdtExprGraph *graph, NdtExpr node, NdtExprOp op, NdtExpr *operand)
{
  const NdtExprNode *n = &g_array_index (graph->nodes, NdtExprNode, node);
  *operand = n->a;
  return n->op == op;
}

static gboolean
is_operand (const NdtExprGraph *graph, NdtExpr node)
{
  return node < graph->nodes->len &&
         g_array_index (graph->nodes, NdtExprNode, node).op < NDT_EXPR_HUBER;
}

guint
ndt_expr_op_get_n_operands (NdtExprOp op)
{
  if (op < NDT_EXPR_ROTATE)
    return 0;
  if (op == NDT_EXPR_ROTATE || (op >= NDT_EXPR_NEG && op <= NDT_EXPR_SIGN))
    return 1;
  return 2;
}

double
ndt_expr_op_evaluate (NdtExprOp op, double a, double b)
{
  if (op == NDT_EXPR_ROTATE)
    return a;
  g_return_val_if_fail (op >= NDT_EXPR_ADD && op <= NDT_EXPR_SIGN, NAN);
  return ndt_extra_operate (op - NDT_EXPR_ADD, a, b);
}

NdtExpr
ndt_expr_constant (NdtExprGraph *graph, double value)
{
  /* One zero: -0 and 0 differ in nothing that a residual is for, and simplification takes both. */
  const NdtExprNode node = {.op = NDT_EXPR_CONSTANT, .value = value == 0 ? 0 : value};
  return add_node (graph, &node);
}

NdtExpr
ndt_expr_unary (NdtExprGraph *graph, NdtExprOp op, NdtExpr a)
{
  double value;
  NdtExpr operand;

  g_return_val_if_fail (op >= NDT_EXPR_NEG && op <= NDT_EXPR_SIGN, NDT_EXPR_NONE);
  if (!is_operand (graph, a))
    return NDT_EXPR_NONE;
  if (is_constant (graph, a, &value))
    return ndt_expr_constant (graph, ndt_expr_op_evaluate (op, value, 0));
  if (op == NDT_EXPR_NEG && is_unary (graph, a, NDT_EXPR_NEG, &operand))
    return operand;
  if ((op == NDT_EXPR_ABS || op == NDT_EXPR_COS) && is_unary (graph, a, NDT_EXPR_NEG, &operand))
    a = operand;
  const NdtExprNode node = {.op = op, .a = a};
  return add_node (graph, &node);
}

static NdtExpr
negate (NdtExprGraph *graph, NdtExpr a)
{
  return ndt_expr_unary (graph, NDT_EXPR_NEG, a);
}

/* Sums and products with 0, 1 and −1, and of negated operands. NDT_EXPR_NONE: nothing to simplify.
 */
static NdtExpr
simplify (NdtExprGraph *graph, NdtExprOp op, NdtExpr a, NdtExpr b)
{
  double x, y;
  NdtExpr p, q;
  const gboolean a_is = is_constant (graph, a, &x), b_is = is_constant (graph, b, &y);
  const gboolean a_neg = is_unary (graph, a, NDT_EXPR_NEG, &p),
                 b_neg = is_unary (graph, b, NDT_EXPR_NEG, &q);

  switch (op) {
  case NDT_EXPR_ADD:
    if (a_is && x == 0)
      return b;
    if (b_is && y == 0)
      return a;
    if (b_neg)
      return ndt_expr_binary (graph, NDT_EXPR_SUB, a, q);
    if (a_neg)
      return ndt_expr_binary (graph, NDT_EXPR_SUB, b, p);
    break;
  case NDT_EXPR_SUB:
    if (b_is && y == 0)
      return a;
    if (a_is && x == 0)
      return negate (graph, b);
    if (a == b)
      return ndt_expr_constant (graph, 0);
    if (b_neg)
      return ndt_expr_binary (graph, NDT_EXPR_ADD, a, q);
    break;
  case NDT_EXPR_MUL:
    if ((a_is && x == 0) || (b_is && y == 0))
      return ndt_expr_constant (graph, 0);
    if (a_is && fabs (x) == 1)
      return x > 0 ? b : negate (graph, b);
    if (b_is && fabs (y) == 1)
      return y > 0 ? a : negate (graph, a);
    if (a_neg && b_neg)
      return ndt_expr_binary (graph, NDT_EXPR_MUL, p, q);
    if (a_neg)
      return negate (graph, ndt_expr_binary (graph, NDT_EXPR_MUL, p, b));
    if (b_neg)
      return negate (graph, ndt_expr_binary (graph, NDT_EXPR_MUL, a, q));
    break;
  case NDT_EXPR_DIV:
    if (a_is && x == 0)
      return a;
    if (b_is && fabs (y) == 1)
      return y > 0 ? a : negate (graph, a);
    if (a_neg)
      return negate (graph, ndt_expr_binary (graph, NDT_EXPR_DIV, p, b));
    break;
  case NDT_EXPR_POW:
    if (b_is && y == 0)
      return ndt_expr_constant (graph, 1);
    if (b_is && y == 1)
      return a;
    if (b_is && y == 2)
      return ndt_expr_binary (graph, NDT_EXPR_MUL, a, a);
    if (b_is && (y == 3 || y == 4)) {
      const NdtExpr square = ndt_expr_binary (graph, NDT_EXPR_MUL, a, a);
      return ndt_expr_binary (graph, NDT_EXPR_MUL, square, y == 3 ? a : square);
    }
    if (b_is && y == 0.5)
      return ndt_expr_unary (graph, NDT_EXPR_SQRT, a);
    if (b_is && y == -1)
      return ndt_expr_binary (graph, NDT_EXPR_DIV, ndt_expr_constant (graph, 1), a);
    break;
  default:
    break;
  }
  return NDT_EXPR_NONE;
}

NdtExpr
ndt_expr_binary (NdtExprGraph *graph, NdtExprOp op, NdtExpr a, NdtExpr b)
{
  double x, y;

  g_return_val_if_fail (op >= NDT_EXPR_ADD && op <= NDT_EXPR_ATAN2, NDT_EXPR_NONE);
  if (!is_operand (graph, a) || !is_operand (graph, b))
    return NDT_EXPR_NONE;
  const NdtExpr simple = simplify (graph, op, a, b);
  if (simple != NDT_EXPR_NONE)
    return simple;
  if (is_constant (graph, a, &x) && is_constant (graph, b, &y))
    return ndt_expr_constant (graph, ndt_expr_op_evaluate (op, x, y));
  const gboolean swap = (op == NDT_EXPR_ADD || op == NDT_EXPR_MUL) && b < a;
  const NdtExprNode node = {.op = op, .a = swap ? b : a, .b = swap ? a : b};
  return add_node (graph, &node);
}

void
ndt_expr_rotate (NdtExprGraph *graph, guint pose, const NdtExpr point[3], NdtExpr out[3])
{
  Rotated rotated = {.pose = pose, .point = {point[0], point[1], point[2]}};

  g_return_if_fail (pose < graph->poses->len);
  for (guint i = 0; i < graph->rotated->len; i++) {
    const Rotated *r = &g_array_index (graph->rotated, Rotated, i);
    if (r->pose == pose && memcmp (r->point, rotated.point, sizeof r->point) == 0) {
      memcpy (out, r->rotated, sizeof r->rotated);
      return;
    }
  }
  for (guint i = 0; i < 3; i++) {
    NdtExpr sum = NDT_EXPR_NONE;
    for (guint j = 0; j < 3; j++) {
      const NdtExprNode element = {.op = NDT_EXPR_ROTATION, .index = 9 * pose + 3 * i + j};
      const NdtExpr product =
          ndt_expr_binary (graph, NDT_EXPR_MUL, add_node (graph, &element), rotated.point[j]);
      sum = j == 0 ? product : ndt_expr_binary (graph, NDT_EXPR_ADD, sum, product);
    }
    const NdtExprNode node = {
        .op = NDT_EXPR_ROTATE, .a = sum, .index = 3 * graph->rotated->len + i};
    rotated.rotated[i] = sum == NDT_EXPR_NONE ? NDT_EXPR_NONE : add_node (graph, &node);
  }
  /* The nodes of a rotation that is full are of no use. */
  for (guint i = 0; i < 3; i++) {
    if (rotated.rotated[i] == NDT_EXPR_NONE)
      rotated.rotated[0] = rotated.rotated[1] = rotated.rotated[2] = NDT_EXPR_NONE;
  }
  g_array_append_val (graph->rotated, rotated);
  memcpy (out, rotated.rotated, sizeof rotated.rotated);
}

void
ndt_expr_transform (NdtExprGraph *graph, guint pose, const NdtExpr point[3], NdtExpr out[3])
{
  g_return_if_fail (pose < graph->poses->len);
  const guint first = g_array_index (graph->poses, Pose, pose).first_stored;

  ndt_expr_rotate (graph, pose, point, out);
  for (guint i = 0; i < 3; i++) {
    const NdtExprNode position = {.op = NDT_EXPR_PARAMETER, .index = first + i};
    out[i] = ndt_expr_binary (graph, NDT_EXPR_ADD, out[i], add_node (graph, &position));
  }
}

NdtExpr
ndt_expr_kernel (NdtExprGraph *graph, NdtExprOp kernel, NdtExpr residual, NdtExpr threshold)
{
  double k;

  g_return_val_if_fail (kernel >= NDT_EXPR_HUBER && kernel <= NDT_EXPR_TUKEY, NDT_EXPR_NONE);
  if (!is_operand (graph, residual) || !is_operand (graph, threshold) ||
      !is_constant (graph, threshold, &k) || !isfinite (k) || k <= 0)
    return NDT_EXPR_NONE;
  const NdtExprNode node = {.op = kernel, .a = residual, .b = threshold};
  return add_node (graph, &node);
}

/* ---- Names ---- */

static gboolean
refuse (GError **error, const gchar *format, const gchar *name)
{
  g_autofree gchar *safe = g_strescape (name, NULL);
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, format, safe);
  return FALSE;
}

static gboolean
check_name (const NdtExprGraph *graph, const gchar *name, GError **error)
{
  gsize n = 0;
  while (g_ascii_isalpha (name[n]) || name[n] == '_' || (n > 0 && g_ascii_isdigit (name[n])))
    n++;
  if (n == 0 || n > 63 || name[n])
    return refuse (error,
        "\"%s\" is no name: letters, digits and underscores, at most 63, not a digit first", name);
  if (ndt_expr_graph_find (graph, name))
    return refuse (error, "\"%s\" is in use already", name);
  return TRUE;
}

gboolean
ndt_expr_graph_add_name (NdtExprGraph *graph, const gchar *name, NdtExpr node, GError **error)
{
  if (!check_name (graph, name, error))
    return FALSE;
  if (!is_operand (graph, node))
    return refuse (
        error, "\"%s\" is no value: a robust kernel, or the expression is too large", name);
  const NdtExprName entry = {g_strdup (name), NDT_EXPR_NAME_VALUE, node, 0};
  g_array_append_val (graph->names, entry);
  return TRUE;
}

/* Room for @stored doubles with @tangents more. */
static gboolean
check_room (
    const NdtExprGraph *graph, guint stored, guint tangents, const gchar *name, GError **error)
{
  if (graph->tangents->len + stored > NDT_EXPR_MAX_STORED ||
      graph->n_tangents + tangents > NDT_EXPR_MAX_TANGENTS)
    return refuse (error, "no room for the parameter \"%s\": there are too many", name);
  return TRUE;
}

static void
add_stored (NdtExprGraph *graph, gboolean has_tangent)
{
  const gint tangent = has_tangent ? (gint)graph->n_tangents++ : -1;
  g_array_append_val (graph->tangents, tangent);
}

gboolean
ndt_expr_graph_add_number (NdtExprGraph *graph, const gchar *name, GError **error)
{
  const NdtExprNode node = {.op = NDT_EXPR_PARAMETER, .index = graph->tangents->len};
  if (!check_room (graph, 1, 1, name, error) ||
      !ndt_expr_graph_add_name (graph, name, add_node (graph, &node), error))
    return FALSE;
  add_stored (graph, TRUE);
  return TRUE;
}

gboolean
ndt_expr_graph_add_pose (NdtExprGraph *graph, const gchar *name, GError **error)
{
  if (!check_name (graph, name, error) || !check_room (graph, 7, 6, name, error))
    return FALSE;
  if (graph->tangents->len != 7 * graph->poses->len)
    return refuse (error, "the pose \"%s\" comes after a number: poses are first", name);
  const Pose pose = {graph->tangents->len, graph->n_tangents};
  const NdtExprName entry = {g_strdup (name), NDT_EXPR_NAME_POSE, NDT_EXPR_NONE, graph->poses->len};
  g_array_append_val (graph->poses, pose);
  g_array_append_val (graph->names, entry);
  for (guint k = 0; k < 7; k++)
    add_stored (graph, k < 3);
  graph->n_tangents += 3; /* the rotation's */
  return TRUE;
}

gboolean
ndt_expr_graph_add_column (NdtExprGraph *graph, const gchar *name, GError **error)
{
  const NdtExprNode node = {.op = NDT_EXPR_COLUMN, .index = graph->n_columns};
  if (graph->n_columns >= NDT_EXPR_MAX_COLUMNS)
    return refuse (error, "no room for the column \"%s\": there are too many", name);
  if (!ndt_expr_graph_add_name (graph, name, add_node (graph, &node), error))
    return FALSE;
  graph->n_columns++;
  return TRUE;
}

gboolean
ndt_expr_graph_add_constant (NdtExprGraph *graph, const gchar *name, double value, GError **error)
{
  return ndt_expr_graph_add_name (graph, name, ndt_expr_constant (graph, value), error);
}

const NdtExprName *
ndt_expr_graph_find (const NdtExprGraph *graph, const gchar *name)
{
  for (guint i = 0; i < graph->names->len; i++) {
    const NdtExprName *entry = &g_array_index (graph->names, NdtExprName, i);
    if (strcmp (entry->name, name) == 0)
      return entry;
  }
  return NULL;
}

gchar *
ndt_expr_graph_list_names (const NdtExprGraph *graph)
{
  GString *names = g_string_new (NULL);
  for (guint i = 0; i < graph->names->len; i++) {
    g_string_append (names, i > 0 ? ", " : "");
    g_string_append (names, g_array_index (graph->names, NdtExprName, i).name);
  }
  return g_string_free (names, FALSE);
}

NdtExpr
ndt_expr_named (const NdtExprGraph *graph, const gchar *name)
{
  const NdtExprName *entry = ndt_expr_graph_find (graph, name);
  return entry ? entry->node : NDT_EXPR_NONE;
}

/* ---- What there is ---- */

guint
ndt_expr_graph_get_n_stored (const NdtExprGraph *graph)
{
  return graph->tangents->len;
}

guint
ndt_expr_graph_get_n_tangents (const NdtExprGraph *graph)
{
  return graph->n_tangents;
}

guint
ndt_expr_graph_get_n_columns (const NdtExprGraph *graph)
{
  return graph->n_columns;
}

guint
ndt_expr_graph_get_n_poses (const NdtExprGraph *graph)
{
  return graph->poses->len;
}

void
ndt_expr_graph_get_pose (
    const NdtExprGraph *graph, guint pose, guint *first_stored, guint *first_tangent)
{
  g_return_if_fail (pose < graph->poses->len);
  const Pose *p = &g_array_index (graph->poses, Pose, pose);
  *first_stored = p->first_stored;
  *first_tangent = p->first_tangent;
}

gint
ndt_expr_graph_get_tangent (const NdtExprGraph *graph, guint stored)
{
  g_return_val_if_fail (stored < graph->tangents->len, -1);
  return g_array_index (graph->tangents, gint, stored);
}

void
ndt_expr_graph_get_rotated (
    const NdtExprGraph *graph, guint index, guint *pose, NdtExpr point[3], NdtExpr rotated[3])
{
  g_return_if_fail (index / 3 < graph->rotated->len);
  const Rotated *r = &g_array_index (graph->rotated, Rotated, index / 3);
  *pose = r->pose;
  memcpy (point, r->point, sizeof r->point);
  memcpy (rotated, r->rotated, sizeof r->rotated);
}
