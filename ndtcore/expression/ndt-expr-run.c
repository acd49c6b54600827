/* SPDX-License-Identifier: MIT */
#include "ndt-expr-run.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/math/ndt-pose.h"

/* Loops over a block are compiled for each of the processor's vector units and chosen at load
 * time. None of the arithmetic is contracted or reordered, so that all make the same bits.
 * Sanitizers do not know the resolvers. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOR_EACH_PROCESSOR __attribute__ ((target_clones ("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

#define BLOCK NDT_EXPR_BLOCK
/* Partial sums of a chunk: rows i, i + LANES, i + 2 LANES, … of each block. */
#define LANES 8

typedef double Lanes
    __attribute__ ((vector_size (LANES * sizeof (double)), aligned (8), may_alias));

#define EACH(expression)                                                                           \
  _Pragma ("GCC ivdep") for (guint k = 0; k < BLOCK; k++) o[k] = expression;                       \
  break

/* Executes @n instructions for a block of rows; @values: by number, BLOCK doubles each. */
FOR_EACH_PROCESSOR
static void
execute (const NdtExprInstruction *instructions, guint n, double *const *values)
{
  for (guint i = 0; i < n; i++) {
    const NdtExprInstruction *in = &instructions[i];
    double *o = values[in->out];
    const double *a = values[in->a];
    const double *b = in->b != NDT_EXPR_NO_VALUE ? values[in->b] : a;
    const double *c = in->c != NDT_EXPR_NO_VALUE ? values[in->c] : a;
    switch (in->op) {
    case NDT_EXPR_ADD:
      EACH (a[k] + b[k]);
    case NDT_EXPR_SUB:
      EACH (a[k] - b[k]);
    case NDT_EXPR_MUL:
      EACH (a[k] * b[k]);
    case NDT_EXPR_MULADD:
      EACH (a[k] * b[k] + c[k]);
    case NDT_EXPR_MULSUB:
      EACH (a[k] * b[k] - c[k]);
    case NDT_EXPR_SUBMUL:
      EACH (c[k] - a[k] * b[k]);
    case NDT_EXPR_DIV:
      EACH (a[k] / b[k]);
    case NDT_EXPR_MIN:
      EACH (b[k] < a[k] ? b[k] : a[k]);
    case NDT_EXPR_MAX:
      EACH (b[k] > a[k] ? b[k] : a[k]);
    case NDT_EXPR_LESS:
      EACH (a[k] <= b[k] ? 1.0 : 0.0);
    case NDT_EXPR_NEG:
      EACH (-a[k]);
    case NDT_EXPR_ABS:
      EACH (fabs (a[k]));
    case NDT_EXPR_SIGN:
      EACH ((a[k] > 0 ? 1.0 : 0.0) - (a[k] < 0 ? 1.0 : 0.0));
    case NDT_EXPR_SQRT:
      EACH (sqrt (a[k]));
    case NDT_EXPR_SIN:
      EACH (sin (a[k]));
    case NDT_EXPR_COS:
      EACH (cos (a[k]));
    case NDT_EXPR_EXP:
      EACH (exp (a[k]));
    case NDT_EXPR_LOG:
      EACH (log (a[k]));
    case NDT_EXPR_POW:
      EACH (pow (a[k], b[k]));
    case NDT_EXPR_ATAN2:
      EACH (atan2 (a[k], b[k]));
    default:
      EACH (ndt_expr_op_evaluate ((NdtExprOp)in->op, a[k], b[k]));
    }
  }
}

/* @sums += a b over a block, lane by lane. */
#define ADD_PRODUCTS(sums, a, b)                                                                   \
  do {                                                                                             \
    Lanes sum = *(sums);                                                                           \
    for (guint k = 0; k < BLOCK; k += LANES)                                                       \
      sum += *(const Lanes *)((a) + k) * *(const Lanes *)((b) + k);                                \
    *(sums) = sum;                                                                                 \
  } while (0)

/* Adds a block's cost @ones · cost, gradient and normal equations of one residual. @weight: of the
 * block's rows, zero where there is no row. @list: the @n tangents with a derivative. */
FOR_EACH_PROCESSOR
static void
add_block (double *const *values, const NdtExprCode *code, guint residual, const double *weight,
    const double *ones, const guint *list, guint n, Lanes *sums, Lanes *normal)
{
  const guint32 *jacobian = code->jacobian + (gsize)residual * code->n_tangents;
  double weighted[BLOCK];

  ADD_PRODUCTS (&sums[0], values[code->costs[residual]], ones);
  if (code->residuals[residual] == NDT_EXPR_NO_VALUE)
    return;
  const double *e = values[code->residuals[residual]];
  for (guint i = 0; i < n; i++) {
    const double *column = values[jacobian[list[i]]];
    const guint row = list[i];
    for (guint k = 0; k < BLOCK; k++)
      weighted[k] = weight[k] * column[k];
    ADD_PRODUCTS (&sums[1 + row], weighted, e);
    if (!normal)
      continue;
    Lanes *first = normal + row * code->n_tangents - row * (row + 1) / 2;
    for (guint j = i; j < n; j++)
      ADD_PRODUCTS (&first[list[j]], weighted, values[jacobian[list[j]]]);
  }
}

/* Scalars of an evaluation. */
static double *
make_scalars (const NdtExprProgram *program, const NdtExprCode *code, const double *parameters)
{
  double *s = g_new (double, MAX (code->n_all_scalars, 1));

  memcpy (s, parameters, program->n_stored * sizeof *s);
  for (guint i = 0; i < program->n_poses; i++) {
    NdtPose pose;
    memcpy (&pose, parameters + program->pose_stored[i], sizeof pose);
    ndt_pose_get_rotation (&pose, s + program->n_stored + 9 * i);
  }
  if (code->n_constants > 0)
    memcpy (s + code->first_constant, code->constants, code->n_constants * sizeof *s);
  for (guint i = 0; i < code->scalars->len; i++) {
    const NdtExprInstruction *in = &g_array_index (code->scalars, NdtExprInstruction, i);
    s[in->out] = ndt_expr_op_evaluate ((NdtExprOp)in->op, s[in->a], s[in->b]);
  }
  return s;
}

/* What a thread evaluates blocks with. */
typedef struct {
  const NdtExprCode *code;
  const NdtExprRows *rows;
  double *memory;
  double **values; /* by number; of columns, the block's */
} Machine;

static void
machine_init (Machine *m, const NdtExprCode *code, const NdtExprRows *rows, const double *scalars)
{
  const gsize n_own = code->n_values - code->n_columns;
  m->code = code;
  m->rows = rows;
  m->values = g_new (double *, MAX (code->n_values, 1));
  /* Columns have room in it for the last block, which is padded. */
  m->memory = g_new (double, MAX ((gsize)code->n_values * BLOCK, 1));
  for (gsize i = 0; i < n_own; i++)
    m->values[code->n_columns + i] = m->memory + (code->n_columns + i) * BLOCK;
  for (guint i = 0; i < code->n_broadcast; i++) {
    for (guint k = 0; k < BLOCK; k++)
      m->values[code->n_columns + i][k] = scalars[code->broadcast[i]];
  }
}

static void
machine_clear (Machine *m)
{
  g_free (m->values);
  g_free (m->memory);
}

/* Evaluates the block at @row; a last one that is not whole repeats the last row. */
static guint
machine_run (Machine *m, gsize row)
{
  const guint n = (guint)MIN (BLOCK, m->rows->n_rows - row);

  for (guint i = 0; i < m->code->n_columns; i++) {
    const double *column = m->rows->columns[i] + row;
    if (n == BLOCK) {
      m->values[i] = (double *)column; /* instructions write to no column */
      continue;
    }
    m->values[i] = m->memory + (gsize)i * BLOCK;
    for (guint k = 0; k < BLOCK; k++)
      m->values[i][k] = column[MIN (k, n - 1)];
  }
  execute ((const NdtExprInstruction *)(gconstpointer)m->code->rows->data, m->code->rows->len,
      m->values);
  return n;
}

/* ---- Sums ---- */

typedef struct {
  const NdtExprCode *code;
  const NdtExprRows *rows;
  const double *scalars;
  const guint *lists; /* of each residual: how many tangents have a derivative, and these */
  gboolean gradient, normal;
  guint n_sums;
  double *chunks; /* n_sums of each chunk */
} Evaluation;

static void
run_chunk (guint task, gpointer data)
{
  const Evaluation *ev = data;
  const NdtExprCode *code = ev->code;
  const gsize first = (gsize)task * NDT_EXPR_CHUNK;
  const gsize end = MIN (first + NDT_EXPR_CHUNK, ev->rows->n_rows);
  g_autofree Lanes *sums = g_new0 (Lanes, ev->n_sums);
  Lanes *normal = ev->normal ? sums + 1 + code->n_tangents : NULL;
  double ones[BLOCK], masked[BLOCK];
  Machine m;

  machine_init (&m, code, ev->rows, ev->scalars);
  for (guint k = 0; k < BLOCK; k++)
    ones[k] = 1;
  for (gsize row = first; row < end; row += BLOCK) {
    const guint n = machine_run (&m, row);
    for (guint k = n; k < BLOCK; k++)
      ones[k] = 0;
    for (guint r = 0; r < code->n_residuals; r++) {
      const guint *list = ev->lists + (gsize)r * (1 + code->n_tangents);
      const double *weight = ones;
      if (code->weights[r] != NDT_EXPR_NO_VALUE)
        weight = m.values[code->weights[r]];
      if (n < BLOCK && weight != ones) {
        for (guint k = 0; k < BLOCK; k++)
          masked[k] = weight[k] * ones[k];
        weight = masked;
      }
      add_block (m.values, code, r, weight, ones, list + 1, list[0], sums, normal);
    }
  }
  machine_clear (&m);
  for (guint i = 0; i < ev->n_sums; i++) {
    double sum = 0;
    for (guint lane = 0; lane < LANES; lane++)
      sum += sums[i][lane];
    ev->chunks[(gsize)task * ev->n_sums + i] = sum;
  }
}

static guint *
make_lists (const NdtExprCode *code)
{
  guint *lists = g_new0 (guint, (gsize)code->n_residuals * (1 + code->n_tangents));
  for (guint r = 0; r < code->n_residuals; r++) {
    guint *list = lists + (gsize)r * (1 + code->n_tangents);
    for (guint t = 0; t < code->n_tangents; t++) {
      if (code->jacobian[(gsize)r * code->n_tangents + t] != NDT_EXPR_NO_VALUE)
        list[++list[0]] = t;
    }
  }
  return lists;
}

double
ndt_expr_evaluate (const NdtExprProgram *program, const double *parameters, const NdtExprRows *rows,
    NdtWorkers *workers, double *gradient, double *normal)
{
  const gboolean derivatives = gradient || normal;
  const NdtExprCode *code = derivatives ? &program->full : &program->value;
  const guint n = program->n_tangents, n_normal = NDT_EXPR_N_NORMAL (n);
  const guint n_sums = 1 + n + (normal ? n_normal : 0);
  const guint n_chunks = (guint)((rows->n_rows + NDT_EXPR_CHUNK - 1) / NDT_EXPR_CHUNK);
  g_autofree double *scalars = make_scalars (program, code, parameters);
  g_autofree guint *lists = make_lists (code);
  g_autofree double *chunks = g_new (double, (gsize)MAX (n_chunks, 1) * n_sums);
  g_autofree double *total = g_new0 (double, n_sums);
  Evaluation ev = {code, rows, scalars, lists, derivatives, normal != NULL, n_sums, chunks};

  if (workers && n_chunks > 1) {
    ndt_workers_run (workers, n_chunks, run_chunk, &ev);
  } else {
    for (guint i = 0; i < n_chunks; i++)
      run_chunk (i, &ev);
  }
  for (guint i = 0; i < n_chunks; i++) {
    for (guint k = 0; k < n_sums; k++)
      total[k] += chunks[(gsize)i * n_sums + k];
  }
  if (gradient && n > 0)
    memcpy (gradient, total + 1, n * sizeof *gradient);
  if (normal && n > 0)
    memcpy (normal, total + 1 + n, n_normal * sizeof *normal);
  return total[0];
}

void
ndt_expr_evaluate_rows (const NdtExprProgram *program, const double *parameters,
    const NdtExprRows *rows, double *residuals, double *weights, double *jacobian)
{
  const NdtExprCode *code = &program->full;
  const guint n_residuals = code->n_residuals, n_tangents = code->n_tangents;
  g_autofree double *scalars = make_scalars (program, code, parameters);
  Machine m;

  machine_init (&m, code, rows, scalars);
  for (gsize row = 0; row < rows->n_rows; row += BLOCK) {
    const guint n = machine_run (&m, row);
    for (guint k = 0; k < n; k++) {
      for (guint r = 0; r < n_residuals; r++) {
        const gsize at = (row + k) * n_residuals + r;
        if (residuals)
          residuals[at] = m.values[code->residuals[r]][k];
        if (weights)
          weights[at] = code->weights[r] == NDT_EXPR_NO_VALUE ? 1 : m.values[code->weights[r]][k];
        for (guint t = 0; jacobian && t < n_tangents; t++) {
          const guint32 value = code->jacobian[(gsize)r * n_tangents + t];
          jacobian[at * n_tangents + t] = value == NDT_EXPR_NO_VALUE ? 0 : m.values[value][k];
        }
      }
    }
  }
  machine_clear (&m);
}
