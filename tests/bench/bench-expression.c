/* SPDX-License-Identifier: MIT */
/* Residuals as expressions: one over 5,000 rows beside the same one written by hand; and many
 * problems to convergence by all processors and, where there is one, on a CUDA device.
 *
 *   bench-expression [PROBLEMS [CUBIN]]
 *
 * CUBIN has the device's code; where it does not exist it is written, for an H100. For hosts with a
 * device and no NVRTC. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/expression/ndt-expr-cuda-compile.h"
#include "cuda/expression/ndt-expr-cuda-source.h"
#include "cuda/expression/ndt-expr-cuda.h"
#include "ndtcore/expression/ndt-expr-objective.h"
#include "tests/objective/hand-residual.h"
#include "tests/objective/plane-batch.h"

#define N_ROWS 5000

static double
seconds (void)
{
  return 1e-6 * (double)g_get_monotonic_time ();
}

/* Least time of many rounds. */
static void
bench_hand (void)
{
  const NdtPose pose = {{1, 2, 3}, {0, 0, 0.6, 0.8}};
  g_autofree double *data = hand_data (N_ROWS, &pose, 5);
  g_autoptr (NdtExprProgram) program = hand_program ();
  const double *columns[HAND_COLUMNS];
  double best[4] = {1, 1, 1, 1}, gradient[6], normal[21];

  for (guint i = 0; i < HAND_COLUMNS; i++)
    columns[i] = data + i * N_ROWS;
  const NdtExprRows rows = {N_ROWS, columns};
  const double *x = (const double *)(gconstpointer)&pose;
  for (guint round = 0; round < 500; round++) {
    double t[5];
    t[0] = seconds ();
    for (guint i = 0; i < 10; i++)
      hand_evaluate (&pose, &rows, gradient);
    t[1] = seconds ();
    for (guint i = 0; i < 10; i++)
      ndt_expr_evaluate (program, x, &rows, NULL, gradient, NULL);
    t[2] = seconds ();
    for (guint i = 0; i < 10; i++)
      ndt_expr_evaluate (program, x, &rows, NULL, gradient, normal);
    t[3] = seconds ();
    for (guint i = 0; i < 10; i++)
      ndt_expr_evaluate (program, x, &rows, NULL, NULL, NULL);
    t[4] = seconds ();
    for (guint k = 0; k < 4; k++)
      best[k] = MIN (best[k], (t[k + 1] - t[k]) / 10);
  }
  printf (
      "%d rows: by hand %.1f us; compiled %.1f us, with normal equations %.1f us, the cost alone "
      "%.1f us\n",
      N_ROWS, 1e6 * best[0], 1e6 * best[1], 1e6 * best[2], 1e6 * best[3]);
}

typedef struct {
  const PlaneBatch *batch;
  double *x;
  NdtMinimum *minima;
} OnCpu;

static void
minimize_one (guint task, gpointer data)
{
  OnCpu *run = data;
  g_autoptr (NdtObjective) objective =
      ndt_expr_objective_new (run->batch->program, &run->batch->rows[task], 1, NULL);
  NdtMinimizeParams params;
  ndt_minimize_params_init (&params, NDT_MINIMIZER_LM);
  g_assert_true (
      ndt_minimize (objective, &params, run->x + 7 * task, NULL, &run->minima[task], NULL));
}

static void
report (const gchar *name, const PlaneBatch *batch, const double *x, const NdtMinimum *minima)
{
  double sum = 0, most = 0;
  guint64 evaluations = 0;
  for (guint i = 0; i < batch->n; i++) {
    NdtPose pose;
    double metres, radians;
    memcpy (&pose, x + 7 * i, sizeof pose);
    ndt_pose_difference (&pose, &batch->truths[i], &metres, &radians);
    sum += metres;
    most = MAX (most, metres);
    evaluations += minima[i].evaluations;
  }
  printf ("  %s: off by %.2f mm on average, %.2f mm at most; %.1f evaluations a problem\n", name,
      1000 * sum / batch->n, 1000 * most, (double)evaluations / batch->n);
}

/* TRUE where the device's code is in @path or was put there. */
static gboolean
use_cubin (NdtExprCuda *cuda, const PlaneBatch *batch, const gchar *path, GError **error)
{
  gchar *data;
  gsize size;
  if (g_file_get_contents (path, &data, &size, NULL)) {
    g_autoptr (GBytes) cubin = g_bytes_new_take (data, size);
    return !cuda || ndt_expr_cuda_add_kernel (cuda, batch->program, cubin, error);
  }
  g_autofree gchar *source = ndt_expr_cuda_source (batch->program, error);
  g_autoptr (GBytes) cubin = source ? ndt_expr_cuda_compile (source, 90, error) : NULL;
  return cubin && g_file_set_contents (path, g_bytes_get_data (cubin, NULL),
                      (gssize)g_bytes_get_size (cubin), error);
}

static void
bench_device (const PlaneBatch *batch, const double *on_cpu, const gchar *cubin)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtExprCuda) cuda = ndt_expr_cuda_open (0, &error);
  NdtMinimizeParams params;
  NdtExprCudaReport r;
  g_autofree double *x = g_new (double, 7 * (gsize)batch->n);
  g_autofree double *again = g_new (double, 7 * (gsize)batch->n);
  g_autofree NdtMinimum *minima = g_new (NdtMinimum, batch->n);

  ndt_minimize_params_init (&params, NDT_MINIMIZER_LM);
  if (!cuda || (cubin && !use_cubin (cuda, batch, cubin, &error))) {
    printf ("  no device: %s\n", error->message);
    if (!cuda && cubin)
      use_cubin (NULL, batch, cubin, NULL);
    return;
  }
  for (guint round = 0; round < 3; round++) {
    memcpy (x, batch->starts, 7 * batch->n * sizeof *x);
    if (!ndt_expr_cuda_minimize (
            cuda, batch->program, batch->rows, batch->n, &params, x, NULL, minima, &r, &error)) {
      printf ("  device: %s\n", error->message);
      return;
    }
    printf ("  device: compilation %.3f s, upload of %.2f GB %.3f s, one launch %.4f s\n",
        r.compile_s, 1e-9 * (double)r.uploaded, r.upload_s, r.run_s);
    if (round == 1)
      memcpy (again, x, 7 * batch->n * sizeof *x);
  }
  report ("device", batch, x, minima);
  double most = 0;
  for (gsize i = 0; i < 7 * (gsize)batch->n; i++)
    most = MAX (most, fabs (x[i] - on_cpu[i]));
  printf ("  device and CPU differ by %.2g at most; rounds have %s bits\n", most,
      memcmp (again, x, 7 * batch->n * sizeof *x) == 0 ? "the same" : "OTHER");
}

int
main (int argc, char **argv)
{
  const guint n = argc > 1 ? (guint)strtoul (argv[1], NULL, 10) : 100;
  NdtWorkers *workers = ndt_workers_new (0);
  PlaneBatch batch;

  bench_hand ();
  plane_batch_init (&batch, MAX (n, 1), N_ROWS, workers);
  g_autofree double *x = g_new (double, 7 * (gsize)batch.n);
  g_autofree NdtMinimum *minima = g_new (NdtMinimum, batch.n);
  printf ("%u problems of %d residuals to convergence:\n", batch.n, N_ROWS);
  OnCpu run = {&batch, x, minima};
  for (guint round = 0; round < 2; round++) {
    memcpy (x, batch.starts, 7 * batch.n * sizeof *x);
    const double start = seconds ();
    ndt_workers_run (workers, batch.n, minimize_one, &run);
    printf ("  CPU, %u threads: %.3f s\n", ndt_workers_get_n_threads (workers), seconds () - start);
  }
  report ("CPU", &batch, x, minima);
  fflush (stdout);
  bench_device (&batch, x, argc > 2 ? argv[2] : NULL);
  plane_batch_clear (&batch);
  ndt_workers_free (workers);
  return EXIT_SUCCESS;
}
