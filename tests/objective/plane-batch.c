/* SPDX-License-Identifier: MIT */
#include "plane-batch.h"

#include <math.h>

#include "ndtcore/expression/ndt-expr-parse.h"

static const gchar *const columns[PLANE_COLUMNS] = {"x", "y", "z", "nx", "ny", "nz", "d"};
static const gchar text[] = "huber(nx*transform_x(T, x, y, z) + ny*transform_y(T, x, y, z) + "
                            "nz*transform_z(T, x, y, z) - d, 0.03)";

/* Uniform in −1 to 1: SplitMix64, as GRand takes seconds for what fills a device. */
static double
uniform (guint64 *state)
{
  guint64 z = (*state += G_GUINT64_CONSTANT (0x9e3779b97f4a7c15));
  z = (z ^ z >> 30) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-52 - 1;
}

static void
make_problem (guint task, gpointer data)
{
  PlaneBatch *batch = data;
  const gsize n = batch->n_rows;
  double *d = batch->data + task * n * PLANE_COLUMNS;
  guint64 state = task + 1;
  double twist[6], off[6], length[2] = {0, 0};

  for (guint k = 0; k < 6; k++) {
    twist[k] = uniform (&state) * (k < 3 ? 10 : 2);
    off[k] = uniform (&state);
    length[k / 3] += off[k] * off[k];
  }
  for (guint k = 0; k < 6; k++)
    off[k] *= (k < 3 ? 0.3 : 5 * G_PI / 180) / sqrt (length[k / 3]);
  ndt_pose_exp (twist, &batch->truths[task]);
  ndt_pose_retract (&batch->truths[task], off, &batch->starts[task]);
  for (gsize i = 0; i < n; i++) {
    double p[3], q[3], normal[3], size = 0, distance = 0;
    for (guint k = 0; k < 3; k++) {
      p[k] = 30 * uniform (&state);
      normal[k] = uniform (&state);
      size += normal[k] * normal[k];
    }
    ndt_pose_transform_point (&batch->truths[task], p, q);
    for (guint k = 0; k < 3; k++) {
      normal[k] /= sqrt (size);
      distance += normal[k] * q[k];
      d[k * n + i] = p[k];
      d[(3 + k) * n + i] = normal[k];
    }
    /* The sum of three is nearly normal, with a standard deviation of 1. */
    const double noise = uniform (&state) + uniform (&state) + uniform (&state);
    d[6 * n + i] = distance + (i % 10 == 0 ? 1.0 : 0.01) * noise;
  }
  batch->rows[task] = (NdtExprRows){n, batch->columns + (gsize)task * PLANE_COLUMNS};
  for (guint k = 0; k < PLANE_COLUMNS; k++)
    batch->columns[(gsize)task * PLANE_COLUMNS + k] = d + k * n;
}

void
plane_batch_init (PlaneBatch *batch, guint n, gsize n_rows, NdtWorkers *workers)
{
  g_autoptr (NdtExprGraph) graph = ndt_expr_graph_new ();
  g_autoptr (GError) error = NULL;
  NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
  guint n_residuals;

  g_assert_true (ndt_expr_graph_add_pose (graph, "T", NULL));
  for (guint k = 0; k < PLANE_COLUMNS; k++)
    g_assert_true (ndt_expr_graph_add_column (graph, columns[k], NULL));
  ndt_expr_parse (graph, text, residuals, &n_residuals, &error);
  g_assert_no_error (error);
  *batch = (PlaneBatch){.n = n, .n_rows = n_rows};
  batch->program = ndt_expr_compile (graph, residuals, n_residuals, &error);
  g_assert_no_error (error);
  batch->rows = g_new (NdtExprRows, n);
  batch->starts = g_new (NdtPose, n);
  batch->truths = g_new (NdtPose, n);
  batch->data = g_new (double, n *n_rows *PLANE_COLUMNS);
  batch->columns = g_new (const double *, (gsize)n *PLANE_COLUMNS);
  ndt_workers_run (workers, n, make_problem, batch);
}

void
plane_batch_clear (PlaneBatch *batch)
{
  ndt_expr_program_unref (batch->program);
  g_free (batch->rows);
  g_free (batch->starts);
  g_free (batch->truths);
  g_free (batch->data);
  g_free (batch->columns);
}
