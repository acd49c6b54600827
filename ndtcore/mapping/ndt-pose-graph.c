/* SPDX-License-Identifier: MIT */
#include "ndt-pose-graph.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/math/ndt-pose.h"

#define MAX_ITERATIONS 30
/* Steps that move no node farther end it, metres and rad. */
#define EPSILON 1e-6
/* A closure's squared residual in units of its sigmas, at which its weight is a half (Cauchy): half
 * a metre of a closure that is good to 3 cm. Odometry may be off by as much before the first one.
 */
#define ROBUST 300.0

/* The lower triangle's rows from their first element that is not zero on; the first node is not in
 * it. */
typedef struct {
  guint n;
  guint *first;
  gsize *at; /* of element 0 of a row, were there one */
  double *values;
  double *x;
} Envelope;

static void
envelope_clear (Envelope *e)
{
  g_free (e->first);
  g_free (e->at);
  g_free (e->values);
  g_free (e->x);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Envelope, envelope_clear)

static gboolean
envelope_init (Envelope *e, guint n_nodes, const NdtPoseEdge *edges, guint n_edges)
{
  g_autofree guint *least = g_new (guint, n_nodes);
  gsize size = 0;
  memset (e, 0, sizeof (*e));
  e->n = 6 * (n_nodes - 1);
  e->first = g_try_new (guint, e->n);
  e->at = g_try_new (gsize, e->n);
  e->x = g_try_new (double, e->n);
  if (!e->first || !e->at || !e->x)
    return FALSE;
  for (guint i = 0; i < n_nodes; i++)
    least[i] = i;
  /* An edge to the first node, which stays, is in its other node's own block. */
  for (guint i = 0; i < n_edges; i++)
    if (edges[i].a > 0)
      least[edges[i].b] = MIN (least[edges[i].b], edges[i].a);
  for (guint i = 0; i < e->n; i++) {
    e->first[i] = 6 * (least[i / 6 + 1] - 1);
    e->at[i] = size - e->first[i]; /* may wrap; the sum with a column does not */
    size += i + 1 - e->first[i];
  }
  e->values = g_try_new (double, size);
  if (!e->values)
    return FALSE;
  memset (e->values, 0, size * sizeof (double));
  memset (e->x, 0, e->n * sizeof (double));
  return TRUE;
}

static double *
element (Envelope *e, guint row, guint column)
{
  return &e->values[e->at[row] + column];
}

/* Σ over columns from @from below @to of two rows. */
static double
dot (const double *a, const double *b, gsize n)
{
  double sums[4] = {0, 0, 0, 0};
  gsize i = 0;
  for (; i + 4 <= n; i += 4)
    for (guint k = 0; k < 4; k++)
      sums[k] += a[i + k] * b[i + k];
  for (; i < n; i++)
    sums[0] += a[i] * b[i];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

/* Replaces the matrix by its factor, and x by the solution. FALSE where it is not definite. */
static gboolean
envelope_solve (Envelope *e)
{
  for (guint i = 0; i < e->n; i++) {
    for (guint j = e->first[i]; j <= i; j++) {
      const guint from = MAX (e->first[i], e->first[j]);
      double *value = element (e, i, j);
      if (j > from)
        *value -= dot (element (e, i, from), element (e, j, from), j - from);
      if (j < i)
        *value /= *element (e, j, j);
      else if (!(*value > 1e-12))
        return FALSE;
      else
        *value = sqrt (*value);
    }
    const double *row = element (e, i, e->first[i]);
    e->x[i] = (e->x[i] - dot (row, &e->x[e->first[i]], i - e->first[i])) / *element (e, i, i);
  }
  for (guint i = e->n; i-- > 0;) {
    e->x[i] /= *element (e, i, i);
    for (guint j = e->first[i]; j < i; j++)
      e->x[j] -= *element (e, i, j) * e->x[i];
  }
  return TRUE;
}

/* Of a pose, for twists (shift, rotation). */
static void
adjoint (const NdtPose *pose, double out[36])
{
  double r[9];
  const double *t = pose->position;
  ndt_quat_to_matrix (pose->orientation, r);
  const double cross[9] = {0, -t[2], t[1], t[2], 0, -t[0], -t[1], t[0], 0};
  memset (out, 0, 36 * sizeof (double));
  for (guint i = 0; i < 3; i++)
    for (guint j = 0; j < 3; j++) {
      out[6 * i + j] = out[6 * (i + 3) + j + 3] = r[3 * i + j];
      for (guint k = 0; k < 3; k++)
        out[6 * i + j + 3] += cross[3 * i + k] * r[3 * k + j];
    }
}

/* The residual of an edge as a twist, and how @a's own twist changes it; @b's does so one to one.
 */
static void
get_residual (NdtPoseEdge *edge, const NdtPose *nodes, double residual[6], double jacobian[36])
{
  const NdtPose inverse_a = ndt_pose_inverse (&nodes[edge->a]);
  const NdtPose measured = ndt_pose_inverse (&edge->between);
  const NdtPose between = ndt_pose_mul (&inverse_a, &nodes[edge->b]);
  const NdtPose error = ndt_pose_mul (&measured, &between);
  const NdtPose back = ndt_pose_inverse (&between);
  ndt_pose_to_twist (&error, residual);
  adjoint (&back, jacobian);
  for (guint i = 0; i < 36; i++)
    jacobian[i] = -jacobian[i];
  edge->residual =
      sqrt (residual[0] * residual[0] + residual[1] * residual[1] + residual[2] * residual[2]);
  edge->residual_turn =
      sqrt (residual[3] * residual[3] + residual[4] * residual[4] + residual[5] * residual[5]);
}

static void
add_edge (Envelope *e, NdtPoseEdge *edge, const NdtPose *nodes)
{
  double r[6], ja[36], w[6], factor = 1;
  get_residual (edge, nodes, r, ja);
  for (guint k = 0; k < 6; k++) {
    const double up = edge->sigma_up > 0 ? edge->sigma_up : edge->sigma;
    const double sigma = k < 2 ? edge->sigma : k == 2 ? up : edge->sigma_turn;
    w[k] = 1 / (sigma * sigma);
  }
  if (edge->is_closure) {
    double square = 0;
    for (guint k = 0; k < 6; k++)
      square += w[k] * r[k] * r[k];
    factor = 1 / (1 + square / ROBUST);
  }
  const gint at_a = 6 * ((gint)edge->a - 1), at_b = 6 * ((gint)edge->b - 1);
  for (guint i = 0; i < 6; i++) {
    for (guint j = 0; j <= i; j++) {
      double sum = 0;
      for (guint k = 0; k < 6 && at_a >= 0; k++)
        sum += ja[6 * k + i] * w[k] * ja[6 * k + j];
      if (at_a >= 0)
        *element (e, (guint)at_a + i, (guint)at_a + j) += factor * sum;
    }
    *element (e, (guint)at_b + i, (guint)at_b + i) += factor * w[i];
    e->x[(guint)at_b + i] -= factor * w[i] * r[i];
    for (guint j = 0; j < 6 && at_a >= 0; j++)
      *element (e, (guint)at_b + i, (guint)at_a + j) += factor * w[i] * ja[6 * i + j];
    double sum = 0;
    for (guint k = 0; k < 6; k++)
      sum += ja[6 * k + i] * w[k] * r[k];
    if (at_a >= 0)
      e->x[(guint)at_a + i] -= factor * sum;
  }
}

gboolean
ndt_pose_graph_optimize (
    NdtPose *nodes, guint n_nodes, NdtPoseEdge *edges, guint n_edges, GError **error)
{
  double r[6], jacobian[36], largest = INFINITY;
  for (guint iteration = 0; n_nodes > 1 && iteration < MAX_ITERATIONS && largest > EPSILON;
       iteration++) {
    g_auto (Envelope) e = {0};
    if (!envelope_init (&e, n_nodes, edges, n_edges))
      return ndt_refuse_memory (error, "the graph of %u poses", n_nodes);
    for (guint i = 0; i < n_edges; i++)
      add_edge (&e, &edges[i], nodes);
    if (!envelope_solve (&e)) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "The edges of the graph do not hold all of its %u poses", n_nodes);
      return FALSE;
    }
    largest = 0;
    for (guint i = 1; i < n_nodes; i++) {
      const double *twist = &e.x[6 * (i - 1)];
      const NdtPose step = ndt_pose_from_twist (twist);
      nodes[i] = ndt_pose_mul (&nodes[i], &step);
      for (guint k = 0; k < 6; k++)
        largest = MAX (largest, fabs (twist[k]));
    }
  }
  for (guint i = 0; i < n_edges; i++)
    get_residual (&edges[i], nodes, r, jacobian);
  for (guint i = 0; i < n_nodes; i++)
    if (!ndt_pose_normalize (&nodes[i])) {
      g_set_error_literal (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "The graph of poses has no finite solution");
      return FALSE;
    }
  return TRUE;
}

/* ---- Covariances ---- */

/* The elements of the inverse within the envelope of the factor L: Z L = L⁻ᵀ, whose upper triangle
 * is zero and whose diagonal is 1 / L, gives column by column, from the last one on,
 *   Z(i, j) = ((i = j) / L(j, j) − Σ k > j: L(k, j) Z(i, k)) / L(j, j).
 * Rows i and k that reach to the left of column j have their common element in the envelope. @rows
 * and @column: room for @e->n numbers. */
static void
invert_within (Envelope *e, double *inverse, guint *rows, double *column)
{
  for (guint j = e->n; j-- > 0;) {
    const double pivot = *element (e, j, j);
    guint n = 0;
    for (guint i = j + 1; i < e->n; i++)
      if (e->first[i] <= j) {
        column[n] = *element (e, i, j);
        rows[n++] = i;
      }
    double diagonal = 1 / pivot;
    for (guint a = 0; a < n; a++) {
      const gsize row = e->at[rows[a]];
      double sum = 0;
      for (guint b = 0; b <= a; b++)
        sum += column[b] * inverse[row + rows[b]];
      for (guint b = a + 1; b < n; b++)
        sum += column[b] * inverse[e->at[rows[b]] + rows[a]];
      inverse[e->at[rows[a]] + j] = -sum / pivot;
    }
    for (guint a = 0; a < n; a++)
      diagonal -= column[a] * inverse[e->at[rows[a]] + j];
    inverse[e->at[j] + j] = diagonal / pivot;
  }
}

/* Of a twist of the pose itself, to its parent's axes. */
static void
turn_block (const NdtPose *pose, const double in[36], double out[36])
{
  double r[9];
  ndt_quat_to_matrix (pose->orientation, r);
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++) {
      double sum = 0;
      for (guint k = 0; k < 3; k++)
        for (guint l = 0; l < 3; l++)
          sum += r[3 * (i % 3) + k] * in[6 * (i / 3 * 3 + k) + j / 3 * 3 + l] * r[3 * (j % 3) + l];
      out[6 * i + j] = sum;
    }
}

gboolean
ndt_pose_graph_get_covariances (const NdtPose *nodes, guint n_nodes, NdtPoseEdge *edges,
    guint n_edges, double *covariances, GError **error)
{
  g_auto (Envelope) e = {0};
  memset (covariances, 0, 36 * sizeof (double) * n_nodes);
  if (n_nodes < 2)
    return TRUE;
  if (!envelope_init (&e, n_nodes, edges, n_edges))
    return ndt_refuse_memory (error, "the graph of %u poses", n_nodes);
  for (guint i = 0; i < n_edges; i++)
    add_edge (&e, &edges[i], nodes);
  const gsize size = e.at[e.n - 1] + e.n;
  g_autofree double *inverse = g_try_new (double, size);
  g_autofree double *column = g_new (double, e.n);
  g_autofree guint *rows = g_new (guint, e.n);
  if (!inverse)
    return ndt_refuse_memory (error, "the graph of %u poses", n_nodes);
  if (!envelope_solve (&e)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "The edges of the graph do not hold all of its %u poses", n_nodes);
    return FALSE;
  }
  invert_within (&e, inverse, rows, column);
  for (guint i = 1; i < n_nodes; i++) {
    double block[36];
    for (guint k = 0; k < 6; k++)
      for (guint l = 0; l <= k; l++)
        block[6 * k + l] = block[6 * l + k] = inverse[e.at[6 * (i - 1) + k] + 6 * (i - 1) + l];
    turn_block (&nodes[i], block, covariances + 36 * (gsize)i);
  }
  return TRUE;
}
