/* SPDX-License-Identifier: MIT */
/* CUDA code of residuals: it compiles, with every operation, and without NVRTC there is a sentence.
 * What it computes is compared by the suite gpu. */
#include <string.h>

#include "cuda/expression/ndt-expr-cuda-compile.h"
#include "cuda/expression/ndt-expr-cuda-source.h"
#include "cuda/expression/ndt-expr-cuda.h"
#include "hand-residual.h"
#include "ndtcore/expression/ndt-expr-parse.h"

static const gchar all_operations[] =
    "u = transform_x(T, x, y, a) + T.yaw;"
    "huber(u*a + b - u/x + min(u, y)*max(u, a) - b*x, 0.1);"
    "cauchy(sqrt(1 + u^2) + sin(u) + cos(u) + tan(u) + asin(u/9) + acos(u/9) + atan(u), 2);"
    "tukey(exp(-u^2)*log(2 + u^2) + abs(u) + sign(u)*u^b + atan2(u, x) - y*u + u^2.5, 1); T.z - a";

static NdtExprProgram *
compile_text (const gchar *text, guint n_numbers)
{
  g_autoptr (NdtExprGraph) graph = ndt_expr_graph_new ();
  g_autoptr (GError) error = NULL;
  NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
  guint n;

  g_assert_true (ndt_expr_graph_add_pose (graph, "T", NULL));
  for (guint i = 0; i < n_numbers; i++) {
    const gchar name[] = {(gchar)('a' + i), 0};
    g_assert_true (ndt_expr_graph_add_number (graph, name, NULL));
  }
  g_assert_true (ndt_expr_graph_add_column (graph, "x", NULL));
  g_assert_true (ndt_expr_graph_add_column (graph, "y", NULL));
  ndt_expr_parse (graph, text, residuals, &n, &error);
  g_assert_no_error (error);
  NdtExprProgram *program = ndt_expr_compile (graph, residuals, n, &error);
  g_assert_no_error (error);
  return program;
}

static void
test_compiles (void)
{
  g_autoptr (NdtExprProgram) hand = hand_program ();
  g_autoptr (NdtExprProgram) all = compile_text (all_operations, 2);
  const NdtExprProgram *programs[] = {hand, all};

  for (guint i = 0; i < G_N_ELEMENTS (programs); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree gchar *source = ndt_expr_cuda_source (programs[i], &error);
    g_assert_no_error (error);
    const gint64 start = g_get_monotonic_time ();
    g_autoptr (GBytes) cubin = ndt_expr_cuda_compile (source, 90, &error);
    if (g_error_matches (error, NDT_ERROR, NDT_ERROR_NO_DEVICE)) {
      g_assert_nonnull (strstr (error->message, "libnvrtc.so"));
      if (g_strcmp0 (g_getenv ("CI"), "true") == 0)
        g_test_fail_printf ("nvidia-cuda-nvrtc-cu11 of tests/requirements.txt: %s", error->message);
      else
        g_test_skip (error->message);
      return;
    }
    g_assert_no_error (error);
    g_test_message ("%zu bytes in %.0f ms", g_bytes_get_size (cubin),
        (double)(g_get_monotonic_time () - start) / 1000);
    g_assert_cmpmem (g_bytes_get_data (cubin, NULL), 4, "\177ELF", 4);
  }
  g_autoptr (GError) error = NULL;
  g_assert_null (ndt_expr_cuda_compile ("no CUDA", 90, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "residuals.cu(1)"));
}

static void
test_too_many (void)
{
  g_autoptr (NdtExprProgram) program = compile_text ("x - a", 11);
  g_autoptr (GError) error = NULL;
  g_assert_null (ndt_expr_cuda_source (program, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
}

/* Without a device there is a sentence, and nothing else. */
static void
test_no_device (void)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (ndt_expr_cuda_open (1000, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE);
  g_assert_nonnull (strstr (error->message, "evaluated by the CPU"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/expression-nvrtc/compiles", test_compiles);
  g_test_add_func ("/expression-nvrtc/too-many", test_too_many);
  g_test_add_func ("/expression-nvrtc/no-device", test_no_device);
  return g_test_run ();
}
