/* SPDX-License-Identifier: MIT */
/* Residuals minimized on a device: as on the CPU, in one launch, the same bits alone and in a
 * batch. */
#include <math.h>
#include <string.h>

#include "cuda/expression/ndt-expr-cuda.h"
#include "ndtcore/expression/ndt-expr-objective.h"
#include "ndtcore/expression/ndt-expr-parse.h"
#include "tests/objective/plane-batch.h"

/* The device and NVRTC, or the reason why the test is skipped. */
static NdtExprCuda *
open_or_skip (void)
{
  g_autoptr (GError) error = NULL;
  NdtExprCuda *cuda = ndt_expr_cuda_open (0, &error);
  if (!cuda)
    g_test_skip (error->message);
  return cuda;
}

static gboolean
minimize_or_skip (NdtExprCuda *cuda, const PlaneBatch *batch, guint first, guint n, double *x,
    double *hessians, NdtMinimum *minima, NdtExprCudaReport *report)
{
  g_autoptr (GError) error = NULL;
  NdtMinimizeParams params;
  ndt_minimize_params_init (&params, NDT_MINIMIZER_LM);
  memcpy (x, batch->starts + first, n * sizeof (NdtPose));
  if (ndt_expr_cuda_minimize (cuda, batch->program, batch->rows + first, n, &params, x, hessians,
          minima, report, &error))
    return TRUE;
  if (g_error_matches (error, NDT_ERROR, NDT_ERROR_NO_DEVICE))
    g_test_skip (error->message);
  else
    g_assert_no_error (error);
  return FALSE;
}

static void
test_batch (void)
{
  enum { N_PROBLEMS = 300, N_ROWS = 777 };
  g_autoptr (NdtExprCuda) cuda = open_or_skip ();
  static double x[7 * N_PROBLEMS], on_cpu[7 * N_PROBLEMS], alone[7];
  static double hessians[21 * N_PROBLEMS], cpu_hessians[21 * N_PROBLEMS], alone_hessian[21];
  static NdtMinimum minima[N_PROBLEMS], cpu_minima[N_PROBLEMS], alone_minimum;
  g_autoptr (GError) error = NULL;
  NdtMinimizeParams params;
  NdtExprCudaReport report;
  PlaneBatch batch;

  if (!cuda)
    return;
  NdtWorkers *workers = ndt_workers_new (0);
  plane_batch_init (&batch, N_PROBLEMS, N_ROWS, workers);
  if (minimize_or_skip (cuda, &batch, 0, N_PROBLEMS, x, hessians, minima, &report)) {
    g_assert_cmpuint (report.launches, ==, 1);
    g_assert_cmpuint (report.compilations, ==, 1);
    g_autoptr (NdtObjective) objective =
        ndt_expr_objective_new (batch.program, batch.rows, N_PROBLEMS, workers);
    ndt_minimize_params_init (&params, NDT_MINIMIZER_LM);
    memcpy (on_cpu, batch.starts, sizeof on_cpu);
    ndt_minimize (objective, &params, on_cpu, cpu_hessians, cpu_minima, &error);
    g_assert_no_error (error);
    double most_metres = 0, most_radians = 0;
    for (guint i = 0; i < N_PROBLEMS; i++) {
      NdtPose a, b;
      double metres, radians;
      memcpy (&a, x + 7 * i, sizeof a);
      memcpy (&b, on_cpu + 7 * i, sizeof b);
      ndt_pose_difference (&a, &b, &metres, &radians);
      most_metres = MAX (most_metres, metres);
      most_radians = MAX (most_radians, radians);
      g_assert_cmpint (minima[i].stop, !=, NDT_DESCENT_LIMIT);
      g_assert_cmpfloat (
          fabs (minima[i].value - cpu_minima[i].value), <=, 1e-8 * cpu_minima[i].value);
      ndt_pose_difference (&a, &batch.truths[i], &metres, &radians);
      /* 1 cm of noise over 700 rows, and five standard deviations. */
      g_assert_cmpfloat (metres, <=, 0.005);
    }
    g_test_message ("device and CPU differ by %.2g m, %.2g rad at most", most_metres, most_radians);
    /* Both end where a step decreases the value by less than 1e-8 of it. */
    g_assert_cmpfloat (most_metres, <=, 1e-6);
    g_assert_cmpfloat (most_radians, <=, 1e-6);

    const gboolean ok =
        minimize_or_skip (cuda, &batch, 123, 1, alone, alone_hessian, &alone_minimum, &report);
    g_assert_true (ok);
    g_assert_cmpmem (alone, sizeof alone, x + 7 * 123, sizeof alone);
    g_assert_cmpmem (
        alone_hessian, sizeof alone_hessian, hessians + 21 * 123, sizeof alone_hessian);
    g_assert_cmpuint (report.launches, ==, 2);
    g_assert_cmpuint (report.compilations, ==, 1); /* kept */
    g_assert_cmpfloat (report.compile_s, ==, 0);
  }
  plane_batch_clear (&batch);
  ndt_workers_free (workers);
}

/* Shared columns are uploaded once, and kernels that were not used are evicted. */
static void
test_kept (void)
{
  g_autoptr (NdtExprCuda) cuda = open_or_skip ();
  NdtMinimizeParams params;
  NdtExprCudaReport report = {0};
  const guint n_rows = 1000;

  if (!cuda)
    return;
  ndt_minimize_params_init (&params, NDT_MINIMIZER_LM);
  g_autofree double *column = g_new (double, n_rows);
  for (guint i = 0; i < n_rows; i++)
    column[i] = i / 500.0;
  const double *columns[] = {column};
  const NdtExprRows rows[] = {{n_rows, columns}, {n_rows, columns}, {n_rows / 2, columns}};
  for (guint i = 0; i < NDT_EXPR_CUDA_KERNELS + 2; i++) {
    g_autoptr (NdtExprGraph) graph = ndt_expr_graph_new ();
    g_autoptr (GError) error = NULL;
    g_autofree gchar *text = g_strdup_printf ("a - x*%u", i + 1);
    NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
    NdtMinimum minima[3];
    double x[3] = {0, 50, 0};
    guint n;
    g_assert_true (ndt_expr_graph_add_number (graph, "a", NULL));
    g_assert_true (ndt_expr_graph_add_column (graph, "x", NULL));
    g_assert_true (ndt_expr_parse (graph, text, residuals, &n, NULL));
    g_autoptr (NdtExprProgram) program = ndt_expr_compile (graph, residuals, n, NULL);
    if (!ndt_expr_cuda_minimize (
            cuda, program, rows, 3, &params, x, NULL, minima, &report, &error)) {
      g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE);
      g_test_skip (error->message);
      return;
    }
    /* The mean. */
    for (guint k = 0; k < 3; k++)
      g_assert_cmpfloat (fabs (x[k] - (i + 1) * (k < 2 ? 0.999 : 0.499)), <=, 1e-6 * (i + 1));
    /* A column, three addresses, three numbers of rows and of parameters. */
    g_assert_cmpuint (report.uploaded, ==, n_rows * 8 + 3 * (8 + 4 + 8));
  }
  g_assert_cmpuint (report.n_kernels, ==, NDT_EXPR_CUDA_KERNELS);
  g_assert_cmpuint (report.compilations, ==, NDT_EXPR_CUDA_KERNELS + 2);
}

/* Little of it, for tools under which it takes a thousand times as long. */
static void
test_sanitize (void)
{
  enum { N_PROBLEMS = 5, N_ROWS = 70 };
  g_autoptr (NdtExprCuda) cuda = open_or_skip ();
  double x[7 * N_PROBLEMS], hessians[21 * N_PROBLEMS];
  NdtMinimum minima[N_PROBLEMS];
  NdtExprCudaReport report;
  PlaneBatch batch;

  if (!cuda)
    return;
  NdtWorkers *workers = ndt_workers_new (1);
  plane_batch_init (&batch, N_PROBLEMS, N_ROWS, workers);
  if (minimize_or_skip (cuda, &batch, 0, N_PROBLEMS, x, hessians, minima, &report))
    for (guint i = 0; i < N_PROBLEMS; i++)
      g_assert_cmpint (minima[i].stop, !=, NDT_DESCENT_LIMIT);
  plane_batch_clear (&batch);
  ndt_workers_free (workers);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/expression/batch", test_batch);
  g_test_add_func ("/gpu/expression/kept", test_kept);
  g_test_add_func ("/gpu/expression/sanitize", test_sanitize);
  return g_test_run ();
}
