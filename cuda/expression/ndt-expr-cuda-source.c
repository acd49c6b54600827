/* SPDX-License-Identifier: MIT */
#include "ndt-expr-cuda-source.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/math/ndt-descent.h"

/* Literals are read back to the same bits; hexadecimal ones have no infinity. */
static void
add_number (GString *out, double value)
{
  if (isfinite (value))
    g_string_append_printf (out, "%a", value);
  else
    g_string_append (out, isnan (value) ? "NAN" : value > 0 ? "INFINITY" : "-INFINITY");
}

/* An operation on operands that are named @prefix and a number. */
static void
add_operation (GString *out, const NdtExprInstruction *in, gchar prefix)
{
  static const gchar *const functions[NDT_EXPR_N_OPS] = {[NDT_EXPR_POW] = "pow",
      [NDT_EXPR_ATAN2] = "atan2",
      [NDT_EXPR_SQRT] = "sqrt",
      [NDT_EXPR_SIN] = "sin",
      [NDT_EXPR_COS] = "cos",
      [NDT_EXPR_TAN] = "tan",
      [NDT_EXPR_ASIN] = "asin",
      [NDT_EXPR_ACOS] = "acos",
      [NDT_EXPR_ATAN] = "atan",
      [NDT_EXPR_EXP] = "exp",
      [NDT_EXPR_LOG] = "log",
      [NDT_EXPR_ABS] = "fabs"};
  static const gchar *const formats[] = {[NDT_EXPR_ADD] = "A + B",
      [NDT_EXPR_SUB] = "A - B",
      [NDT_EXPR_MUL] = "A * B",
      [NDT_EXPR_DIV] = "A / B",
      [NDT_EXPR_MIN] = "B < A ? B : A",
      [NDT_EXPR_MAX] = "B > A ? B : A",
      [NDT_EXPR_LESS] = "A <= B ? 1.0 : 0.0",
      [NDT_EXPR_NEG] = "-A",
      [NDT_EXPR_SIGN] = "A > 0 ? 1.0 : A < 0 ? -1.0 : 0.0",
      [NDT_EXPR_MULADD] = "A * B + C",
      [NDT_EXPR_MULSUB] = "A * B - C",
      [NDT_EXPR_SUBMUL] = "C - A * B"};

  g_string_append_printf (out, "%c%u = ", prefix, in->out);
  if (in->op < NDT_EXPR_N_OPS && functions[in->op]) {
    g_string_append_printf (out, "%s(%c%u", functions[in->op], prefix, in->a);
    if (in->op == NDT_EXPR_POW || in->op == NDT_EXPR_ATAN2)
      g_string_append_printf (out, ", %c%u", prefix, in->b);
    g_string_append_c (out, ')');
  } else {
    for (const gchar *c = formats[in->op]; *c; c++) {
      if (*c >= 'A' && *c <= 'C')
        g_string_append_printf (
            out, "%c%u", prefix, *c == 'A' ? in->a : (*c == 'B' ? in->b : in->c));
      else
        g_string_append_c (out, *c);
    }
  }
  g_string_append (out, ";\n");
}

/* Scalars as constants of each thread: parameters, rotations, constants and what is made of them.
 */
static void
add_scalars (GString *out, const NdtExprProgram *program)
{
  const NdtExprCode *code = &program->full;

  for (guint i = 0; i < program->n_stored; i++)
    g_string_append_printf (out, "  const double s%u = x[%u];\n", i, i);
  for (guint p = 0; p < program->n_poses; p++) {
    g_string_append_printf (out, "  double r%u[9];\n  ndt_quat_to_matrix (x + %u, r%u);\n", p,
        program->pose_stored[p] + 3, p);
    for (guint k = 0; k < 9; k++)
      g_string_append_printf (
          out, "  const double s%u = r%u[%u];\n", program->n_stored + 9 * p + k, p, k);
  }
  for (guint i = 0; i < code->n_constants; i++) {
    g_string_append_printf (out, "  const double s%u = ", code->first_constant + i);
    add_number (out, code->constants[i]);
    g_string_append (out, ";\n");
  }
  for (guint i = 0; i < code->scalars->len; i++) {
    g_string_append (out, "  const double ");
    add_operation (out, &g_array_index (code->scalars, NdtExprInstruction, i), 's');
  }
  for (guint i = 0; i < code->n_broadcast; i++)
    g_string_append_printf (
        out, "  const double v%u = s%u;\n", code->n_columns + i, code->broadcast[i]);
}

/* Sums of a row: a0 the cost, a1 … the gradient, then the normal equations. */
static void
add_sums (GString *out, const NdtExprCode *code)
{
  const guint n = code->n_tangents;

  for (guint r = 0; r < code->n_residuals; r++) {
    const guint32 *jacobian = code->jacobian + (gsize)r * n;
    g_string_append_printf (out, "    a0 += v%u;\n", code->costs[r]);
    for (guint i = 0; i < n; i++) {
      if (jacobian[i] == NDT_EXPR_NO_VALUE)
        continue;
      g_string_append_printf (out, "    {\n      const double w = v%u", jacobian[i]);
      if (code->weights[r] != NDT_EXPR_NO_VALUE)
        g_string_append_printf (out, " * v%u", code->weights[r]);
      g_string_append_printf (out, ";\n      a%u += w * v%u;\n", 1 + i, code->residuals[r]);
      for (guint k = i; k < n; k++)
        if (jacobian[k] != NDT_EXPR_NO_VALUE)
          g_string_append_printf (
              out, "      a%u += w * v%u;\n", 1 + n + NDT_PACKED (n, i, k), jacobian[k]);
      g_string_append (out, "    }\n");
    }
  }
}

static void
add_evaluate (GString *out, const NdtExprProgram *program)
{
  const NdtExprCode *code = &program->full;
  const guint n = program->n_tangents, n_sums = 1 + n + NDT_PACKED_SIZE (n);
  guint first = code->n_columns + code->n_broadcast;

  g_string_append (out, "static __device__ __forceinline__ void\nevaluate (const double *x, const "
                        "double *const *columns, unsigned n_rows, double *partial, double *sums)\n"
                        "{\n");
  add_scalars (out, program);
  for (guint i = 0; i < code->n_columns; i++)
    g_string_append_printf (out, "  const double *c%u = columns[%u];\n", i, i);
  for (guint i = 0; i < n_sums; i++)
    g_string_append_printf (out, "  double a%u = 0;\n", i);
  g_string_append (out, "  for (unsigned row = threadIdx.x; row < n_rows; row += THREADS) {\n");
  for (guint i = 0; i < code->n_columns; i++)
    g_string_append_printf (out, "    const double v%u = c%u[row];\n", i, i);
  for (; first < code->n_values; first++)
    g_string_append_printf (out, "    double v%u;\n", first);
  for (guint i = 0; i < code->rows->len; i++) {
    g_string_append (out, "    ");
    add_operation (out, &g_array_index (code->rows, NdtExprInstruction, i), 'v');
  }
  add_sums (out, code);
  g_string_append (out, "  }\n");
  for (guint i = 0; i < n_sums; i++)
    g_string_append_printf (out, "  reduce (a%u, partial + %u);\n", i, i);
  g_string_append (out, "  __syncthreads ();\n"
                        "  for (unsigned i = threadIdx.x; i < SUMS; i += THREADS) {\n"
                        "    double sum = 0;\n"
                        "    for (unsigned warp = 0; warp < THREADS / 32; warp++)\n"
                        "      sum += partial[warp * SUMS + i];\n"
                        "    sums[i] = sum;\n"
                        "  }\n"
                        "  __syncthreads ();\n"
                        "}\n\n");
}

static const gchar before[] =
    "#include \"ndt-lm.h\"\n"
    "#include \"ndt-formulas.h\"\n"
    "#define SUMS (1 + N + NDT_PACKED_SIZE (N))\n"
    "struct Result { double value; int stop, iterations, evaluations, reserved; };\n\n"
    "/* Sum of a warp, always in the same order; its first lane keeps it. */\n"
    "static __device__ __forceinline__ void\n"
    "reduce (double a, double *partial)\n"
    "{\n"
    "  for (int offset = 16; offset > 0; offset /= 2)\n"
    "    a += __shfl_down_sync (0xffffffffu, a, offset);\n"
    "  if (threadIdx.x % 32 == 0)\n"
    "    partial[threadIdx.x / 32 * SUMS] = a;\n"
    "}\n\n";

static const gchar after[] =
    "/* out = x + step; poses, which are first, by ndt_pose_retract(). */\n"
    "static __device__ void\n"
    "retract (const double *x, const double *step, double *out)\n"
    "{\n"
    "  for (int i = 0; i < POSES; i++) {\n"
    "    NdtPose pose;\n"
    "    for (int k = 0; k < 7; k++)\n"
    "      (k < 3 ? pose.position[k] : pose.orientation[k - 3]) = x[7 * i + k];\n"
    "    pose = ndt_pose_retracted (&pose, step + 6 * i);\n"
    "    for (int k = 0; k < 7; k++)\n"
    "      out[7 * i + k] = k < 3 ? pose.position[k] : pose.orientation[k - 3];\n"
    "  }\n"
    "  for (int i = 7 * POSES; i < STORED; i++)\n"
    "    out[i] = x[i] + step[i - POSES];\n"
    "}\n\n"
    "extern \"C\" __global__ void __launch_bounds__ (THREADS)\n"
    "ndt_expr_lm (const double *const *columns, const unsigned *n_rows, unsigned n_problems,\n"
    "    NdtLmParams params, double *parameters, double *hessians, Result *results)\n"
    "{\n"
    "  __shared__ double x[STORED], trial[STORED], tangent[N], memory[NDT_LM_MEMORY (N)];\n"
    "  __shared__ double partial[THREADS / 32 * SUMS], sums[SUMS];\n"
    "  __shared__ NdtLm lm;\n"
    "  __shared__ int go_on;\n"
    "  for (unsigned p = blockIdx.x; p < n_problems; p += gridDim.x) {\n"
    "    if (threadIdx.x == 0) {\n"
    "      for (int i = 0; i < STORED; i++)\n"
    "        x[i] = trial[i] = parameters[(size_t)p * STORED + i];\n"
    "      ndt_lm_init (&lm, N, memory, 0);\n"
    "    }\n"
    "    __syncthreads ();\n"
    "    do {\n"
    "      evaluate (trial, columns + (size_t)p * COLUMNS, n_rows[p], partial, sums);\n"
    "      if (threadIdx.x == 0) {\n"
    "        for (int i = 0; i < N; i++)\n"
    "          tangent[i] = i < 6 * POSES ? 1 : trial[i + POSES];\n"
    "        go_on = ndt_lm_update (&lm, &params, sums[0], sums + 1, sums + 1 + N, tangent);\n"
    "        if (lm.accepted)\n"
    "          for (int i = 0; i < STORED; i++)\n"
    "            x[i] = trial[i];\n"
    "        if (go_on)\n"
    "          retract (x, lm.step, trial);\n"
    "      }\n"
    "      __syncthreads ();\n"
    "    } while (go_on);\n"
    "    for (int i = threadIdx.x; i < STORED; i += THREADS)\n"
    "      parameters[(size_t)p * STORED + i] = x[i];\n"
    "    for (int i = threadIdx.x; i < NDT_PACKED_SIZE (N); i += THREADS)\n"
    "      hessians[(size_t)p * NDT_PACKED_SIZE (N) + i] = lm.hessian[i];\n"
    "    if (threadIdx.x == 0) {\n"
    "      const Result result = {lm.value, lm.stop, lm.iterations, lm.evaluations, 0};\n"
    "      results[p] = result;\n"
    "    }\n"
    "    __syncthreads ();\n"
    "  }\n"
    "}\n";

gchar *
ndt_expr_cuda_source (const NdtExprProgram *program, GError **error)
{
  if (program->n_tangents == 0 || program->n_tangents > NDT_EXPR_CUDA_MAX_TANGENTS) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "residuals have %u tangents: on a device they have 1 to %d", program->n_tangents,
        NDT_EXPR_CUDA_MAX_TANGENTS);
    return NULL;
  }
  GString *out = g_string_new (NULL);
  g_string_append_printf (out,
      "#define N %u\n#define POSES %u\n#define STORED %u\n#define COLUMNS %u\n#define THREADS %d\n",
      program->n_tangents, program->n_poses, program->n_stored, program->n_columns,
      NDT_EXPR_CUDA_THREADS);
  g_string_append (out, before);
  add_evaluate (out, program);
  g_string_append (out, after);
  return g_string_free (out, FALSE);
}
