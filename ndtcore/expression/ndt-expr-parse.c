/* SPDX-License-Identifier: MIT */
#include "ndt-expr-parse.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-text.h"

typedef struct {
  NdtExprGraph *graph;
  const gchar *text;
  const gchar *at;
  guint depth;
  GError **error;
  gboolean failed;
} Parser;

static const struct {
  const gchar *name;
  NdtExprOp op;
} functions[] = {
    {"sqrt", NDT_EXPR_SQRT},
    {"sin", NDT_EXPR_SIN},
    {"cos", NDT_EXPR_COS},
    {"tan", NDT_EXPR_TAN},
    {"asin", NDT_EXPR_ASIN},
    {"acos", NDT_EXPR_ACOS},
    {"atan", NDT_EXPR_ATAN},
    {"exp", NDT_EXPR_EXP},
    {"log", NDT_EXPR_LOG},
    {"abs", NDT_EXPR_ABS},
    {"sign", NDT_EXPR_SIGN},
    {"atan2", NDT_EXPR_ATAN2},
    {"pow", NDT_EXPR_POW},
    {"min", NDT_EXPR_MIN},
    {"max", NDT_EXPR_MAX},
    {"huber", NDT_EXPR_HUBER},
    {"cauchy", NDT_EXPR_CAUCHY},
    {"tukey", NDT_EXPR_TUKEY},
};

static NdtExpr parse_sum (Parser *p);

/* Of the first fault; what comes after it follows from it. */
static NdtExpr
fail_at (Parser *p, const gchar *at, const gchar *what, const gchar *name)
{
  if (!p->failed) {
    g_autofree gchar *safe = name ? g_strescape (name, NULL) : NULL;
    ndt_text_fail (p->error, "residual, column %u: %s%s%s%s", (guint)(at - p->text) + 1, what,
        safe ? " \"" : "", safe ? safe : "", safe ? "\"" : "");
  }
  p->failed = TRUE;
  return NDT_EXPR_NONE;
}

/* Likewise, with what there is. */
static NdtExpr
fail_unknown (Parser *p, const gchar *at, const gchar *what, const gchar *name)
{
  g_autofree gchar *names = ndt_expr_graph_list_names (p->graph);
  g_autofree gchar *safe = g_strescape (name, NULL);
  if (!p->failed)
    ndt_text_fail (p->error, "residual, column %u: %s \"%s\"%s%s", (guint)(at - p->text) + 1, what,
        safe, *names ? "; there are " : "", names);
  p->failed = TRUE;
  return NDT_EXPR_NONE;
}

static void
skip_space (Parser *p)
{
  while (g_ascii_isspace (*p->at))
    p->at++;
}

/* Takes @c, after white space. */
static gboolean
take (Parser *p, gchar c)
{
  skip_space (p);
  if (*p->at != c)
    return FALSE;
  p->at++;
  return TRUE;
}

static gboolean
expect (Parser *p, gchar c)
{
  if (p->failed)
    return FALSE;
  if (take (p, c))
    return TRUE;
  const gchar name[] = {c, 0};
  fail_at (p, p->at, *p->at ? "expected" : "the text ends where there should be", name);
  return FALSE;
}

/* What an operation returned, or the fault that there is no node. */
static NdtExpr
made (Parser *p, const gchar *at, NdtExpr node)
{
  if (node == NDT_EXPR_NONE && !p->failed)
    return fail_at (
        p, at, "an operation on a robust kernel, or an expression that is too large", NULL);
  return node;
}

static gchar *
take_name (Parser *p)
{
  const gchar *start = p->at;
  while (g_ascii_isalnum (*p->at) || *p->at == '_')
    p->at++;
  return g_strndup (start, (gsize)(p->at - start));
}

static NdtExpr
parse_number (Parser *p)
{
  const gchar *start = p->at;
  while (g_ascii_isdigit (*p->at) || *p->at == '.')
    p->at++;
  if ((*p->at == 'e' || *p->at == 'E') &&
      (g_ascii_isdigit (p->at[1]) ||
          ((p->at[1] == '-' || p->at[1] == '+') && g_ascii_isdigit (p->at[2])))) {
    p->at += 2;
    while (g_ascii_isdigit (*p->at))
      p->at++;
  }
  const NdtToken token = {start, (gsize)(p->at - start)};
  double value;
  if (!ndt_token_to_double (&token, &value) || !isfinite (value)) {
    g_autofree gchar *shown = ndt_token_dup (&token);
    return fail_at (p, start, "no number:", shown);
  }
  return made (p, start, ndt_expr_constant (p->graph, value));
}

/* roll, pitch and yaw as ndt_pose_to_rpy(): of the columns of R. */
static NdtExpr
pose_angle (Parser *p, guint pose, guint angle)
{
  NdtExprGraph *graph = p->graph;
  const NdtExpr zero = ndt_expr_constant (graph, 0), one = ndt_expr_constant (graph, 1);
  NdtExpr x[3] = {one, zero, zero}, y[3] = {zero, one, zero}, z[3] = {zero, zero, one};
  ndt_expr_rotate (graph, pose, x, x);
  if (angle == 2)
    return ndt_expr_binary (graph, NDT_EXPR_ATAN2, x[1], x[0]);
  if (angle == 1)
    return ndt_expr_unary (graph, NDT_EXPR_ASIN, ndt_expr_unary (graph, NDT_EXPR_NEG, x[2]));
  ndt_expr_rotate (graph, pose, y, y);
  ndt_expr_rotate (graph, pose, z, z);
  return ndt_expr_binary (graph, NDT_EXPR_ATAN2, y[2], z[2]);
}

static NdtExpr
parse_member (Parser *p, const NdtExprName *pose, const gchar *at)
{
  static const gchar *const members[] = {"x", "y", "z", "roll", "pitch", "yaw"};
  const guint number = pose->pose;
  if (!take (p, '.'))
    return fail_at (p, at,
        "a pose is no number: .x, .y, .z, .roll, .pitch or .yaw is missing after", pose->name);
  skip_space (p);
  const gchar *start = p->at;
  g_autofree gchar *member = take_name (p);
  for (guint i = 0; i < G_N_ELEMENTS (members); i++) {
    if (strcmp (member, members[i]) != 0)
      continue;
    if (i >= 3)
      return made (p, at, pose_angle (p, number, i - 3));
    const NdtExpr zero = ndt_expr_constant (p->graph, 0);
    NdtExpr origin[3] = {zero, zero, zero};
    ndt_expr_transform (p->graph, number, origin, origin);
    return made (p, at, origin[i]);
  }
  return fail_at (p, start, "a pose has x, y, z, roll, pitch and yaw, not", member);
}

/* The next name, which is a pose's; its number, or -1. */
static gint
parse_pose (Parser *p)
{
  skip_space (p);
  const gchar *start = p->at;
  g_autofree gchar *name = take_name (p);
  const NdtExprName *pose = ndt_expr_graph_find (p->graph, name);
  if (pose && pose->kind == NDT_EXPR_NAME_POSE)
    return (gint)pose->pose;
  fail_unknown (p, start, "no pose:", name);
  return -1;
}

/* transform_x (T, x, y, z) and its like: 0 to 2 transform, 3 to 5 rotate. */
static NdtExpr
parse_pose_function (Parser *p, guint which, const gchar *at)
{
  NdtExpr point[3];
  const gint pose = parse_pose (p);
  if (pose < 0)
    return NDT_EXPR_NONE;
  const guint number = (guint)pose;
  for (guint i = 0; i < 3; i++) {
    if (!expect (p, ','))
      return NDT_EXPR_NONE;
    point[i] = parse_sum (p);
    if (p->failed)
      return NDT_EXPR_NONE;
  }
  if (!expect (p, ')'))
    return NDT_EXPR_NONE;
  if (which < 3)
    ndt_expr_transform (p->graph, number, point, point);
  else
    ndt_expr_rotate (p->graph, number, point, point);
  return made (p, at, point[which % 3]);
}

/* turn_x (A, B) and its like: with R = A Bᵀ, whose quaternion has w = ½ √(1 + trace R), twice the
 * vector part is (R_kj − R_jk) / 2w. */
static NdtExpr
parse_turn (Parser *p, guint which, const gchar *at)
{
  NdtExprGraph *g = p->graph;
  NdtExpr columns[2][3][3], r[3][3];
  for (guint side = 0; side < 2; side++) {
    const gint pose = side == 1 && !expect (p, ',') ? -1 : parse_pose (p);
    if (pose < 0)
      return NDT_EXPR_NONE;
    for (guint c = 0; c < 3; c++) {
      NdtExpr *v = columns[side][c];
      for (guint i = 0; i < 3; i++)
        v[i] = ndt_expr_constant (g, i == c);
      ndt_expr_rotate (g, (guint)pose, v, v);
    }
  }
  if (!expect (p, ')'))
    return NDT_EXPR_NONE;
  for (guint i = 0; i < 3; i++)
    for (guint j = 0; j < 3; j++) {
      r[i][j] = ndt_expr_constant (g, 0);
      for (guint c = 0; c < 3; c++)
        r[i][j] = ndt_expr_binary (g, NDT_EXPR_ADD, r[i][j],
            ndt_expr_binary (g, NDT_EXPR_MUL, columns[0][c][i], columns[1][c][j]));
    }
  NdtExpr sum = ndt_expr_constant (g, 1);
  for (guint i = 0; i < 3; i++)
    sum = ndt_expr_binary (g, NDT_EXPR_ADD, sum, r[i][i]);
  const guint j = (which + 1) % 3, k = (which + 2) % 3;
  return made (p, at,
      ndt_expr_binary (g, NDT_EXPR_DIV, ndt_expr_binary (g, NDT_EXPR_SUB, r[k][j], r[j][k]),
          ndt_expr_unary (g, NDT_EXPR_SQRT, sum)));
}

static NdtExpr
parse_call (Parser *p, const gchar *name, const gchar *at)
{
  static const gchar *const turns[] = {"turn_x", "turn_y", "turn_z"};
  static const gchar *const of_poses[] = {
      "transform_x", "transform_y", "transform_z", "rotate_x", "rotate_y", "rotate_z"};
  NdtExpr a, b = NDT_EXPR_NONE;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (of_poses); i++) {
    if (strcmp (name, of_poses[i]) == 0)
      return parse_pose_function (p, i, at);
  }
  for (i = 0; i < G_N_ELEMENTS (turns); i++) {
    if (strcmp (name, turns[i]) == 0)
      return parse_turn (p, i, at);
  }
  for (i = 0; i < G_N_ELEMENTS (functions); i++) {
    if (strcmp (name, functions[i].name) == 0)
      break;
  }
  if (i == G_N_ELEMENTS (functions))
    return fail_at (p, at, "no function:", name);
  const NdtExprOp op = functions[i].op;
  a = parse_sum (p);
  const gboolean two = ndt_expr_op_get_n_operands (op) == 2;
  if (two && expect (p, ','))
    b = parse_sum (p);
  if (!expect (p, ')'))
    return NDT_EXPR_NONE;
  if (op >= NDT_EXPR_HUBER) {
    const NdtExpr node = ndt_expr_kernel (p->graph, op, a, b);
    if (node == NDT_EXPR_NONE && !p->failed)
      return fail_at (p, at,
          "the threshold of a kernel is a positive constant, and its residual "
          "has no kernel:",
          name);
    return node;
  }
  return made (
      p, at, two ? ndt_expr_binary (p->graph, op, a, b) : ndt_expr_unary (p->graph, op, a));
}

static NdtExpr
parse_primary (Parser *p)
{
  skip_space (p);
  const gchar *at = p->at;
  if (take (p, '(')) {
    const NdtExpr node = parse_sum (p);
    expect (p, ')');
    return p->failed ? NDT_EXPR_NONE : node;
  }
  if (g_ascii_isdigit (*at) || *at == '.')
    return parse_number (p);
  if (!g_ascii_isalpha (*at) && *at != '_') {
    const gchar shown[] = {*at, 0};
    return *at ? fail_at (p, at, "expected a number, a name or (, not", shown)
               : fail_at (p, at, "the text ends where a number or a name should be", NULL);
  }
  g_autofree gchar *name = take_name (p);
  if (take (p, '('))
    return parse_call (p, name, at);
  const NdtExprName *entry = ndt_expr_graph_find (p->graph, name);
  if (!entry && strcmp (name, "pi") == 0)
    return made (p, at, ndt_expr_constant (p->graph, G_PI));
  if (!entry)
    return fail_unknown (p, at, "no parameter, column or definition has the name", name);
  return entry->kind == NDT_EXPR_NAME_POSE ? parse_member (p, entry, at) : entry->node;
}

/* -a^b is −(a^b), and a^-b a^(−b). */
static NdtExpr
parse_unary (Parser *p)
{
  NdtExpr node;
  skip_space (p);
  const gchar *at = p->at;
  if (p->depth >= NDT_EXPR_MAX_DEPTH)
    return fail_at (p, at, "operations are too deep within each other", NULL);
  p->depth++;
  if (take (p, '-')) {
    node = parse_unary (p);
    node = p->failed ? node : made (p, at, ndt_expr_unary (p->graph, NDT_EXPR_NEG, node));
  } else if (take (p, '+')) {
    node = parse_unary (p);
  } else {
    node = parse_primary (p);
    skip_space (p);
    at = p->at;
    if (!p->failed && take (p, '^')) {
      const NdtExpr power = parse_unary (p);
      if (!p->failed)
        node = made (p, at, ndt_expr_binary (p->graph, NDT_EXPR_POW, node, power));
    }
  }
  p->depth--;
  return node;
}

static NdtExpr
parse_product (Parser *p)
{
  NdtExpr node = parse_unary (p);
  while (!p->failed) {
    skip_space (p);
    const gchar *at = p->at;
    const NdtExprOp op = *at == '*' ? NDT_EXPR_MUL : NDT_EXPR_DIV;
    if (*at != '*' && *at != '/')
      break;
    p->at++;
    const NdtExpr other = parse_unary (p);
    if (!p->failed)
      node = made (p, at, ndt_expr_binary (p->graph, op, node, other));
  }
  return node;
}

static NdtExpr
parse_sum (Parser *p)
{
  NdtExpr node = parse_product (p);
  while (!p->failed) {
    skip_space (p);
    const gchar *at = p->at;
    const NdtExprOp op = *at == '+' ? NDT_EXPR_ADD : NDT_EXPR_SUB;
    if (*at != '+' && *at != '-')
      break;
    p->at++;
    const NdtExpr other = parse_product (p);
    if (!p->failed)
      node = made (p, at, ndt_expr_binary (p->graph, op, node, other));
  }
  return p->failed ? NDT_EXPR_NONE : node;
}

/* The name of "name = …", with the rest as what is next; NULL: no definition. */
static gchar *
take_definition (Parser *p)
{
  skip_space (p);
  const gchar *start = p->at;
  g_autofree gchar *name = take_name (p);
  if (*name && take (p, '='))
    return g_steal_pointer (&name);
  p->at = start;
  return NULL;
}

gboolean
ndt_expr_parse (
    NdtExprGraph *graph, const gchar *text, NdtExpr *residuals, guint *n_residuals, GError **error)
{
  Parser p = {.graph = graph, .text = text, .at = text, .error = error};

  *n_residuals = 0;
  if (strnlen (text, NDT_EXPR_MAX_TEXT + 1) > NDT_EXPR_MAX_TEXT)
    return ndt_text_fail (error, "a residual has more than %d characters", NDT_EXPR_MAX_TEXT);
  do {
    skip_space (&p);
    if (!*p.at)
      break;
    const gchar *at = p.at;
    g_autofree gchar *name = take_definition (&p);
    const NdtExpr node = parse_sum (&p);
    if (p.failed)
      return FALSE;
    if (name) {
      g_autoptr (GError) why = NULL;
      if (!ndt_expr_graph_add_name (graph, name, node, &why)) {
        fail_at (&p, at, why->message, NULL);
        return FALSE;
      }
    } else if (*n_residuals == NDT_EXPR_MAX_RESIDUALS) {
      fail_at (&p, at, "there are more residuals than may be", NULL);
      return FALSE;
    } else {
      residuals[(*n_residuals)++] = node;
    }
  } while (take (&p, ';'));
  skip_space (&p);
  if (*p.at) {
    const gchar shown[] = {*p.at, 0};
    fail_at (&p, p.at, "expected an operator or ; not", shown);
    return FALSE;
  }
  if (*n_residuals == 0) {
    fail_at (&p, p.at, "there is no residual", NULL);
    return FALSE;
  }
  return TRUE;
}
