/* SPDX-License-Identifier: MIT */
/* Residuals as expressions: their text form, derivatives, sums and limits. */
#include <math.h>
#include <string.h>

#include "hand-residual.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/expression/ndt-expr-parse.h"
#include "ndtcore/math/ndt-pose.h"
#include "random-expression.h"

static NdtExprGraph *
new_graph (void)
{
  NdtExprGraph *graph = ndt_expr_graph_new ();
  g_assert_true (ndt_expr_graph_add_pose (graph, "T", NULL));
  for (guint i = 0; i < RANDOM_NUMBERS; i++)
    g_assert_true (ndt_expr_graph_add_number (graph, random_numbers[i], NULL));
  for (guint i = 0; i < RANDOM_COLUMNS; i++)
    g_assert_true (ndt_expr_graph_add_column (graph, random_columns[i], NULL));
  return graph;
}

static NdtExprProgram *
compile (const gchar *text)
{
  g_autoptr (NdtExprGraph) graph = new_graph ();
  g_autoptr (GError) error = NULL;
  NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
  guint n;

  ndt_expr_parse (graph, text, residuals, &n, &error);
  if (error)
    g_error ("%s: %s", text, error->message);
  NdtExprProgram *program = ndt_expr_compile (graph, residuals, n, &error);
  if (error)
    g_error ("%s: %s", text, error->message);
  return program;
}

/* A pose, the numbers and a row, in both forms. */
static void
make_point (GRand *random, double *parameters, double *row, RandomPoint *point)
{
  NdtPose pose;
  double twist[6], rotation[9];

  /* Below a right angle, so that roll, pitch and yaw are smooth. */
  for (guint k = 0; k < 6; k++)
    twist[k] = g_rand_double_range (random, -0.6, 0.6);
  ndt_pose_exp (twist, &pose);
  memcpy (parameters, &pose, sizeof pose);
  for (guint i = 0; i < RANDOM_NUMBERS; i++)
    point->numbers[i] = parameters[7 + i] = g_rand_double_range (random, -2, 2);
  for (guint i = 0; i < RANDOM_COLUMNS; i++)
    point->columns[i] = row[i] = g_rand_double_range (random, -2, 2);
  ndt_pose_get_rotation (&pose, rotation);
  for (guint i = 0; i < 9; i++)
    point->rotation[i] = rotation[i];
  for (guint i = 0; i < 3; i++)
    point->position[i] = pose.position[i];
}

/* Central differences with Richardson's extrapolation in long double: with the step 2⁻¹² they err
 * by some step⁴ = 4e-15 times a fifth derivative, and rounding adds 1e-19 / step. */
static long double
difference (const RandomExpression *e, const RandomPoint *at, guint tangent)
{
  long double d[2];
  for (guint i = 0; i < 2; i++) {
    const long double step = ldexpl (1, -12 - (int)i);
    RandomPoint up, down;
    random_point_move (at, tangent, step, &up);
    random_point_move (at, tangent, -step, &down);
    d[i] = (random_expression_evaluate (e, &up, NULL).v -
               random_expression_evaluate (e, &down, NULL).v) /
           (2 * step);
  }
  return (4 * d[1] - d[0]) / 3;
}

static void
test_gradients (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (17);
  guint n = 0, n_derivatives[RANDOM_TANGENTS] = {0};

  while (n < 200) {
    g_autoptr (RandomExpression) e = random_expression_new (random, 6);
    g_autofree gchar *text = random_expression_to_text (e);
    double parameters[7 + RANDOM_NUMBERS], row[RANDOM_COLUMNS];
    const double *columns[RANDOM_COLUMNS];
    double value, jacobian[RANDOM_TANGENTS];
    RandomPoint point;

    make_point (random, parameters, row, &point);
    long double kink = INFINITY;
    const Dual dual = random_expression_evaluate (e, &point, &kink);
    if (kink < 0.01L) /* the steps would cross it */
      continue;
    g_autoptr (NdtExprProgram) program = compile (text);
    for (guint i = 0; i < RANDOM_COLUMNS; i++)
      columns[i] = &row[i];
    const NdtExprRows rows = {1, columns};
    ndt_expr_evaluate_rows (program, parameters, &rows, &value, NULL, jacobian);
    g_assert_cmpfloat (fabs (value - (double)dual.v), <=, 1e-10 * MAX (1, fabs (value)));
    for (guint t = 0; t < RANDOM_TANGENTS; t++) {
      const double bound = 1e-10 * MAX (1, fabs (jacobian[t]));
      const double forward = (double)dual.d[t], fd = (double)difference (e, &point, t);
      if (!(fabs (jacobian[t] - forward) <= bound) || !(fabs (jacobian[t] - fd) <= bound))
        g_error ("%s: tangent %u: %.17g, by dual numbers %.17g, by differences %.17g", text, t,
            jacobian[t], forward, fd);
      n_derivatives[t] += forward != 0;
    }
    n++;
  }
  /* Of the five kinds of leaves two are numbers and coordinates of the position, three of each: an
   * expression of a single leaf depends on each of these in one of fifteen cases, and on a rotation
   * more often. Those with more leaves do so more often, so that this is the least. */
  for (guint t = 0; t < RANDOM_TANGENTS; t++) {
    g_test_message ("tangent %u: not zero in %u of %u expressions", t, n_derivatives[t], n);
    g_assert_cmpuint (15 * n_derivatives[t], >=, n);
  }
}

static double
value_of (const gchar *text)
{
  const double parameters[] = {1, 2, 3, 0, 0, sin (0.25), cos (0.25), 5, 7, 11};
  const double row[] = {2, 3, 4, 8};
  const double *columns[] = {&row[0], &row[1], &row[2], &row[3]};
  const NdtExprRows rows = {1, columns};
  g_autoptr (NdtExprProgram) program = compile (text);
  double value;
  ndt_expr_evaluate_rows (program, parameters, &rows, &value, NULL, NULL);
  return value;
}

static void
test_text (void)
{
  static const struct {
    const gchar *text;
    double value;
  } cases[] = {
      {"1+2*3", 7},
      {"a - b - c", 5 - 7 - 11},
      {"a/b/c", 5.0 / 7 / 11},
      {"-x^2", -4},
      {"2^3^2", 512},
      {"2^-1", 0.5},
      {"(-x)^3", -8},
      {"(-x)^5", -32},
      {"- - x", 2},
      {"1.5e1 + .5 + 2.", 17.5},
      {"pi", G_PI},
      {"e1 = x + 1; e2 = e1*e1; e2 - e1;", 6},
      {"min(x, y) + 10*max(x, y)", 32},
      {"abs(-s) + sign(-a)", 7},
      {"pow(x, y) + log(exp(z)) + sqrt(s*2)", 16},
      {"T.x + 10*T.y + 100*T.z", 321},
      {"T.yaw + T.roll + T.pitch", 0.5},
      {"atan2(x, -y)", 2.5535900500422257},
      {"0*log(-1)", 0},
      {"x - x", 0},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const double value = value_of (cases[i].text);
    if (!(fabs (value - cases[i].value) <= 1e-14 * MAX (1, fabs (value)))) /* some roundings */
      g_error ("%s is %.17g, not %.17g", cases[i].text, value, cases[i].value);
  }
}

static void
test_faults (void)
{
  static const struct {
    const gchar *text;
    const gchar *message; /* a part of it */
  } cases[] = {
      {"", "column 1: there is no residual"},
      {"x +", "column 4: the text ends"},
      {"x + * y", "column 5: expected a number"},
      {"x y", "column 3: expected an operator"},
      {"(x", "column 3: the text ends"},
      {"x)", "column 2: expected an operator"},
      {"sin x", "column 1: no parameter"},
      {"sin(x, y)", "column 6: expected"},
      {"atan2(x)", "column 8: expected"},
      {"foo(x)", "column 1: no function: \"foo\""},
      {"x + unknown", "column 5: no parameter"},
      {"T", "column 1: a pose is no number"},
      {"T.w", "column 3: a pose has"},
      {"transform_x(x, 1, 2, 3)", "column 13: no pose: \"x\""},
      {"transform_x(T, 1, 2)", "column 20: expected"},
      {"1.2.3", "column 1: no number: \"1.2.3\""},
      {"1e999", "column 1: no number"},
      {"huber(x, 0)", "column 1: the threshold"},
      {"huber(x, y)", "column 1: the threshold"},
      {"1 + huber(x, 1)", "column 3: an operation on a robust kernel"},
      {"huber(huber(x, 1), 1)", "column 1: the threshold"},
      {"k = huber(x, 1); k", "column 1: \"k\" is no value"},
      {"x = 3; x", "column 1: \"x\" is in use"},
      {"a b = 3", "column 3: expected an operator"},
      {"x + \303\244", "column 5: expected a number, a name or (, not \"\\303\""},
      {"u = 3;", "there is no residual"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (NdtExprGraph) graph = new_graph ();
    g_autoptr (GError) error = NULL;
    NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
    guint n;
    g_assert_false (ndt_expr_parse (graph, cases[i].text, residuals, &n, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
    if (!strstr (error->message, cases[i].message))
      g_error ("\"%s\": %s", cases[i].text, error->message);
  }
}

/* @n times @part around or after "x". */
static gchar *
repeat (const gchar *before, const gchar *after, guint n)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < n; i++)
    g_string_append (text, before);
  g_string_append (text, "x");
  for (guint i = 0; i < n; i++)
    g_string_append (text, after);
  return g_string_free (text, FALSE);
}

static void
test_limits (void)
{
  static const struct {
    const gchar *before, *after;
    guint n;
    gboolean parses;
    const gchar *message;
  } cases[] = {
      {"(", ")", NDT_EXPR_MAX_DEPTH - 1, TRUE, NULL},
      {"(", ")", NDT_EXPR_MAX_DEPTH, FALSE, "too deep"},
      {"-", "", NDT_EXPR_MAX_DEPTH, FALSE, "too deep"},
      {"sin(", ")", NDT_EXPR_MAX_DEPTH, FALSE, "too deep"},
      {"2^", "", NDT_EXPR_MAX_DEPTH, FALSE, "too deep"},
      {"", "+sin(a)", 2000, TRUE, NULL},
      {"", "+sin(a)", 2500, FALSE, "more than 16384"},
      {"", ";x", NDT_EXPR_MAX_RESIDUALS, FALSE, "more residuals"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (NdtExprGraph) graph = new_graph ();
    g_autoptr (GError) error = NULL;
    NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
    guint n;
    g_autofree gchar *text = repeat (cases[i].before, cases[i].after, cases[i].n);
    const gboolean ok = ndt_expr_parse (graph, text, residuals, &n, &error);
    g_assert_cmpint (ok, ==, cases[i].parses);
    if (!ok && !strstr (error->message, cases[i].message))
      g_error ("case %u: %s", i, error->message);
  }

  /* A graph that is full is refused by the compiler. */
  g_autoptr (NdtExprGraph) graph = new_graph ();
  g_autoptr (GError) error = NULL;
  NdtExpr node = ndt_expr_named (graph, "a");
  for (guint i = 0; i < NDT_EXPR_MAX_NODES; i++)
    node = ndt_expr_unary (graph, NDT_EXPR_SIN, node);
  g_assert_cmpuint (node, ==, NDT_EXPR_NONE);
  g_assert_null (ndt_expr_compile (graph, &node, 1, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  /* One that has no room for the derivatives as well. */
  node = ndt_expr_graph_get_n_nodes (graph) - 1;
  g_assert_null (ndt_expr_compile (graph, &node, 1, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);

  g_autoptr (NdtExprGraph) many = ndt_expr_graph_new ();
  guint n = 0;
  for (gboolean ok = TRUE; ok; n += ok) {
    g_autofree gchar *name = g_strdup_printf ("p%u", n);
    ok = ndt_expr_graph_add_number (many, name, NULL);
  }
  g_assert_cmpuint (n, ==, NDT_EXPR_MAX_TANGENTS);
  g_assert_false (ndt_expr_graph_add_pose (many, "late", &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
}

/* Equal parts once, what does not depend on a row once an evaluation, what nothing needs never. */
static void
test_code (void)
{
  g_autoptr (NdtExprProgram) program = compile ("sin(a)*x + cos(b*2 + 3 - 3)");
  /* sin (a) x + …: one fused instruction; derivatives: cos (a) x, and −2 sin (…) as a scalar. The
   * cost, ½e²: two. */
  g_assert_cmpuint (program->full.rows->len, ==, 4);
  g_autoptr (NdtExprProgram) twice = compile ("exp(x*a)*y - exp(a*x)*y + exp(x*a)");
  guint n = 0;
  for (guint i = 0; i < twice->full.rows->len; i++)
    n += g_array_index (twice->full.rows, NdtExprInstruction, i).op == NDT_EXPR_EXP;
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpuint (twice->value.rows->len, <, twice->full.rows->len);
}

/* Cost, gradient and normal equations are the sums over rows, with the kernels' weights; whatever
 * the number of rows; the same bits with threads. */
static void
test_sums (void)
{
  static const gsize counts[] = {0, 1, 63, 64, 65, 5000, 4 * NDT_EXPR_CHUNK + 7};
  static const gchar *const text =
      "huber(x*a + y*b - c, 0.7); cauchy(transform_x(T, x, y, z), 0.5);"
      "tukey(x - s*a, 1); T.z - s";
  g_autoptr (NdtExprProgram) program = compile (text);
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  const guint n = RANDOM_TANGENTS, n_normal = NDT_EXPR_N_NORMAL (RANDOM_TANGENTS);
  NdtWorkers *workers = ndt_workers_new (2);
  double parameters[7 + RANDOM_NUMBERS], row[RANDOM_COLUMNS];
  RandomPoint point;

  make_point (random, parameters, row, &point);
  for (guint c = 0; c < G_N_ELEMENTS (counts); c++) {
    const gsize n_rows = counts[c];
    const double *columns[RANDOM_COLUMNS];
    g_autofree double *data = g_new (double, MAX (n_rows, 1) * RANDOM_COLUMNS);
    for (gsize i = 0; i < n_rows * RANDOM_COLUMNS; i++)
      data[i] = g_rand_double_range (random, -2, 2);
    for (guint i = 0; i < RANDOM_COLUMNS; i++)
      columns[i] = data + i * n_rows;
    const NdtExprRows rows = {n_rows, columns};
    g_autofree double *e = g_new (double, n_rows * 4 + 1);
    g_autofree double *w = g_new (double, n_rows * 4 + 1);
    g_autofree double *j = g_new (double, n_rows * 4 * n + 1);
    double gradient[RANDOM_TANGENTS], normal[64], again[64], cost = 0;
    double want_gradient[RANDOM_TANGENTS] = {0}, want_normal[64] = {0};

    ndt_expr_evaluate_rows (program, parameters, &rows, e, w, j);
    for (gsize i = 0; i < n_rows * 4; i++) {
      const double size = fabs (e[i]);
      const double u = MAX (0, 1 - size * size);
      const double costs[] = {size <= 0.7 ? size * size / 2 : 0.7 * (size - 0.35),
          0.125 * log1p (size * size / 0.25), (1 - u * u * u) / 6, size * size / 2};
      cost += costs[i % 4];
      for (guint p = 0, at = 0; p < n; p++) {
        want_gradient[p] += w[i] * e[i] * j[i * n + p];
        for (guint q = p; q < n; q++, at++)
          want_normal[at] += w[i] * j[i * n + p] * j[i * n + q];
      }
    }
    const double value = ndt_expr_evaluate (program, parameters, &rows, NULL, gradient, normal);
    /* Sums in another order: some roundings of each term, at most some ten in size. */
    const double bound = 1e-14 * (double)(n_rows + 1) * 10;
    g_assert_cmpfloat (fabs (value - cost), <=, bound);
    for (guint i = 0; i < n; i++)
      g_assert_cmpfloat (fabs (gradient[i] - want_gradient[i]), <=, bound);
    for (guint i = 0; i < n_normal; i++)
      g_assert_cmpfloat (fabs (normal[i] - want_normal[i]), <=, bound);

    g_assert_true (ndt_expr_evaluate (program, parameters, &rows, workers, NULL, again) == value);
    g_assert_cmpmem (again, n_normal * sizeof *again, normal, n_normal * sizeof *normal);
    g_assert_true (ndt_expr_evaluate (program, parameters, &rows, workers, NULL, NULL) == value);

    /* The gradient is the cost's derivative. */
    for (guint t = 0; n_rows == 5000 && t < n; t++) {
      double delta[RANDOM_TANGENTS] = {0}, moved[7 + RANDOM_NUMBERS], d = 0;
      for (gint sign = 1; sign >= -1; sign -= 2) {
        delta[t] = sign * 1e-5;
        ndt_expr_program_retract (program, parameters, delta, moved);
        d += sign * ndt_expr_evaluate (program, moved, &rows, NULL, NULL, NULL) / 2e-5;
      }
      /* step² times third derivatives, and 1e-16 of a cost of some thousands / step. */
      g_assert_cmpfloat (fabs (d - gradient[t]), <=, 1e-6 * MAX (1, fabs (d)));
    }
  }
  ndt_workers_free (workers);
}

/* The residual that is written by hand, and the compiled one: the same sums. */
static void
test_hand (void)
{
  const NdtPose pose = {{1, 2, 3}, {0, 0, 0.6, 0.8}};
  g_autofree double *data = hand_data (5000, &pose, 5);
  const double *columns[HAND_COLUMNS];
  g_autoptr (NdtExprProgram) program = hand_program ();
  double gradient[6], by_hand[6];
  for (guint i = 0; i < HAND_COLUMNS; i++)
    columns[i] = data + i * 5000;
  const NdtExprRows rows = {5000, columns};
  const double cost = ndt_expr_evaluate (
      program, (const double *)(gconstpointer)&pose, &rows, NULL, gradient, NULL);
  const double expected = hand_evaluate (&pose, &rows, by_hand);
  /* 5000 terms of at most 3 × 30 × 0.1, summed in another order. */
  g_assert_cmpfloat (fabs (cost - expected), <=, 1e-12 * expected);
  for (guint i = 0; i < 6; i++)
    g_assert_cmpfloat (fabs (gradient[i] - by_hand[i]), <=, 1e-10);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/expression/text", test_text);
  g_test_add_func ("/expression/faults", test_faults);
  g_test_add_func ("/expression/limits", test_limits);
  g_test_add_func ("/expression/gradients", test_gradients);
  g_test_add_func ("/expression/code", test_code);
  g_test_add_func ("/expression/sums", test_sums);
  g_test_add_func ("/expression/hand", test_hand);
  return g_test_run ();
}
