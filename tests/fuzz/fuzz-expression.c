/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/expression/ndt-expr-parse.h"
#include "ndtcore/expression/ndt-expr-run.h"
#include "ndtcore/expression/ndt-expr-terms.h"

/* The same text as extra terms, which are evaluated at a pose. */
static void
try_terms (const gchar *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtExtraTerms) terms = ndt_expr_terms_new (text, &error);
  const NdtPose identity = {{1, 2, 3}, {0, 0, 0, 1}};
  const NdtExtraValues values = {1, 7, 0, identity, {identity, identity, identity}};
  double scalars[NDT_EXTRA_SCALARS], score = 0, gradient[6] = {0}, hessian[21] = {0};

  g_assert_true ((terms != NULL) == (error == NULL));
  if (!terms)
    return;
  g_assert_cmpuint (terms->n_scalars, <=, NDT_EXTRA_SCALARS);
  ndt_extra_terms_add (
      terms, &values, identity.position, identity.orientation, scalars, &score, gradient, hessian);
}

/* A text that parses compiles, unless it is too large, and is evaluated over some rows. */
int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (NdtExprGraph) graph = ndt_expr_graph_new ();
  g_autoptr (GError) error = NULL;
  g_autofree gchar *text = g_strndup ((const gchar *)data, size);
  NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
  guint n;

  try_terms (text);
  g_assert_true (ndt_expr_graph_add_pose (graph, "T", NULL));
  g_assert_true (ndt_expr_graph_add_number (graph, "a", NULL));
  g_assert_true (ndt_expr_graph_add_column (graph, "x", NULL));
  g_assert_true (ndt_expr_graph_add_column (graph, "y", NULL));
  const gboolean ok = ndt_expr_parse (graph, text, residuals, &n, &error);
  g_assert_true (ok == (error == NULL));
  if (!ok) {
    g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
    g_assert_true (g_utf8_validate (error->message, -1, NULL));
    return 0;
  }
  g_autoptr (NdtExprProgram) program = ndt_expr_compile (graph, residuals, n, &error);
  g_assert_true ((program != NULL) == (error == NULL));
  if (!program)
    return 0;
  const double parameters[] = {1, 2, 3, 0, 0, 0, 1, 0.5}, x[] = {1, 2, 3}, y[] = {0, -1, 1e300};
  const double *const columns[] = {x, y};
  const NdtExprRows rows = {3, columns};
  double gradient[7], normal[28];
  ndt_expr_evaluate (program, parameters, &rows, NULL, gradient, normal);
  ndt_expr_evaluate (program, parameters, &rows, NULL, NULL, NULL);
  return 0;
}
