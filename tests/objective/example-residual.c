/* SPDX-License-Identifier: MIT */
/* The example of docs/objective.md: a circle through noisy points, one in ten of which is none of
 * its points, by a residual as text. tests/objective/test-example.py runs it. */
#include <math.h>
#include <stdio.h>

#include "ndtcore/expression/ndt-expr-objective.h"
#include "ndtcore/expression/ndt-expr-parse.h"
#include "ndtcore/objective/ndt-minimize.h"

#define N 200

static NdtExprProgram *
compile (GError **error)
{
  g_autoptr (NdtExprGraph) graph = ndt_expr_graph_new ();
  NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
  guint n;

  /* What is estimated, in the order of the parameters; and the columns of data. */
  if (!ndt_expr_graph_add_number (graph, "cx", error) ||
      !ndt_expr_graph_add_number (graph, "cy", error) ||
      !ndt_expr_graph_add_number (graph, "r", error) ||
      !ndt_expr_graph_add_column (graph, "x", error) ||
      !ndt_expr_graph_add_column (graph, "y", error))
    return NULL;
  if (!ndt_expr_parse (
          graph, "huber(sqrt((x - cx)^2 + (y - cy)^2) - r, 0.05)", residuals, &n, error))
    return NULL;
  return ndt_expr_compile (graph, residuals, n, error);
}

int
main (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtExprProgram) program = compile (&error);
  double x[N], y[N], parameters[] = {0, 0, 1};
  const double *columns[] = {x, y};
  const NdtExprRows rows = {N, columns};
  NdtMinimizeParams params;
  NdtMinimum minimum;

  if (!program) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  for (int i = 0; i < N; i++) {
    const double angle = 0.1 * i, noise = 0.01 * sin (37.0 * i), off = i % 10 == 0 ? 1.5 : 0;
    x[i] = 3 + (2 + noise + off) * cos (angle);
    y[i] = -1 + (2 + noise + off) * sin (angle);
  }
  g_autoptr (NdtObjective) objective = ndt_expr_objective_new (program, &rows, 1, NULL);
  ndt_minimize_params_init (&params, NDT_MINIMIZER_LM);
  if (!ndt_minimize (objective, &params, parameters, NULL, &minimum, &error)) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  printf ("centre %.2f, %.2f, radius %.2f, %u evaluations\n", parameters[0], parameters[1],
      parameters[2], minimum.evaluations);
  return 0;
}
