/* SPDX-License-Identifier: MIT */
#include "hand-residual.h"

#include <math.h>

#include "ndtcore/expression/ndt-expr-parse.h"
#include "ndtcore/math/ndt-pose.h"

const gchar *const hand_columns[HAND_COLUMNS] = {"x", "y", "z", "mx", "my", "nx"};

double
hand_evaluate (const NdtPose *pose, const NdtExprRows *rows, double *gradient)
{
  const double *x = rows->columns[0], *y = rows->columns[1], *z = rows->columns[2];
  const double *mx = rows->columns[3], *my = rows->columns[4], *nx = rows->columns[5];
  const double k = 0.1;
  double r[9], cost = 0;
  double g0 = 0, g1 = 0, g3 = 0, g4 = 0, g5 = 0;

  ndt_pose_get_rotation (pose, r);
  for (gsize i = 0; i < rows->n_rows; i++) {
    const double vx = r[0] * x[i] + r[1] * y[i] + r[2] * z[i];
    const double vy = r[3] * x[i] + r[4] * y[i] + r[5] * z[i];
    const double vz = r[6] * x[i] + r[7] * y[i] + r[8] * z[i];
    const double a = nx[i], b = sqrt (1 - a * a);
    const double e = (vx + pose->position[0] - mx[i]) * a + (vy + pose->position[1] - my[i]) * b;
    const double size = fabs (e);
    double w = e;
    if (size <= k) {
      cost += 0.5 * e * e;
    } else {
      cost += k * (size - 0.5 * k);
      w = e < 0 ? -k : k;
    }
    g0 += w * a;
    g1 += w * b;
    g3 -= w * b * vz;
    g4 += w * a * vz;
    g5 += w * (b * vx - a * vy);
  }
  gradient[0] = g0;
  gradient[1] = g1;
  gradient[2] = 0;
  gradient[3] = g3;
  gradient[4] = g4;
  gradient[5] = g5;
  return cost;
}

double *
hand_data (gsize n, const NdtPose *pose, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  double *data = g_new (double, n *HAND_COLUMNS);
  for (gsize i = 0; i < n; i++) {
    double p[3], m[3];
    for (guint k = 0; k < 3; k++)
      data[k * n + i] = p[k] = g_rand_double_range (random, -30, 30);
    ndt_pose_transform_point (pose, p, m);
    /* One in ten is an outlier. */
    const double spread = g_rand_double (random) < 0.1 ? 3 : 0.05;
    data[3 * n + i] = m[0] + g_rand_double_range (random, -spread, spread);
    data[4 * n + i] = m[1] + g_rand_double_range (random, -spread, spread);
    data[5 * n + i] = g_rand_double_range (random, -1, 1);
  }
  return data;
}

NdtExprProgram *
hand_program (void)
{
  g_autoptr (NdtExprGraph) graph = ndt_expr_graph_new ();
  g_autoptr (GError) error = NULL;
  NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
  guint n;

  ndt_expr_graph_add_pose (graph, "T", &error);
  g_assert_no_error (error);
  for (guint i = 0; i < HAND_COLUMNS; i++)
    ndt_expr_graph_add_column (graph, hand_columns[i], &error);
  g_assert_no_error (error);
  ndt_expr_parse (graph, HAND_TEXT, residuals, &n, &error);
  g_assert_no_error (error);
  NdtExprProgram *program = ndt_expr_compile (graph, residuals, n, &error);
  g_assert_no_error (error);
  return program;
}
