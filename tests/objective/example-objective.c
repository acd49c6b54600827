/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "ndtcore/objective/ndt-minimize.h"

/* Rosenbrock's valley as least squares: r = (10 (y − x²), 1 − x). */
static gboolean
evaluate (NdtObjective *objective, const NdtEvaluation *e, GError **error)
{
  (void)objective;
  (void)error;
  for (guint i = 0; i < e->n; i++) {
    const double x = e->x[2 * i], y = e->x[2 * i + 1];
    const double r[2] = {10 * (y - x * x), 1 - x};
    const double jacobian[2][2] = {{-20 * x, 10}, {-1, 0}};
    e->values[i] = (r[0] * r[0] + r[1] * r[1]) / 2;
    for (guint j = 0; e->gradients && j < 2; j++)
      e->gradients[2 * i + j] = jacobian[0][j] * r[0] + jacobian[1][j] * r[1];
    for (gint j = 0; e->hessians && j < 2; j++)
      for (gint k = j; k < 2; k++)
        e->hessians[3 * i + NDT_PACKED (2, j, k)] =
            jacobian[0][j] * jacobian[0][k] + jacobian[1][j] * jacobian[1][k];
  }
  return TRUE;
}

int
main (void)
{
  static const NdtObjectiveClass klass = {.name = "valley", .evaluate = evaluate};
  NdtObjective objective = {
      .klass = &klass, .n_numbers = 2, .n_problems = 2, .is_least_squares = TRUE};
  double x[4] = {-1.2, 1, 3, -2}; /* two starts, a problem each */
  NdtMinimum minima[2];
  NdtMinimizeParams params;
  g_autoptr (GError) error = NULL;
  ndt_minimize_params_init (&params, NDT_MINIMIZER_LM);
  if (!ndt_minimize (&objective, &params, x, NULL, minima, &error)) {
    fprintf (stderr, "%s\n", error->message);
    return 1;
  }
  for (guint i = 0; i < 2; i++)
    printf ("%.6f %.6f\n", x[2 * i], x[2 * i + 1]);
  return 0;
}
