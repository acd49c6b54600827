/* SPDX-License-Identifier: MIT */
/* Poses that are held together by what was measured between them. */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/math/ndt-types.h"

G_BEGIN_DECLS

/**
 * NdtPoseEdge:
 * @a: a node …
 * @b: … and another, @a < @b
 * @between: pose of @b as seen from @a, as it was measured
 * @sigma: standard deviation of its position, metres
 * @sigma_up: of its height, if that is another one, metres, where the pose stands upright; 0:
 * @sigma
 * @sigma_turn: of its rotation, rad
 * @is_closure: it may be wrong: counts the less the farther the nodes are from it
 * @residual: (out): how far they are, metres …
 * @residual_turn: (out): … and rad
 */
typedef struct {
  guint a;
  guint b;
  NdtPose between;
  double sigma;
  double sigma_up;
  double sigma_turn;
  gboolean is_closure;
  double residual;
  double residual_turn;
} NdtPoseEdge;

/**
 * ndt_pose_graph_optimize:
 * @nodes: (inout): @n_nodes poses from which the edges are not far; the first one stays
 * @edges: (inout): @n_edges; each node but the first has one to a node before it
 *
 * Moves the nodes to where the weighted squares of the edges' residuals are least, by Gauss-Newton
 * with Cholesky's factor within the envelope of the normal equations: the more memory and time the
 * more nodes lie between those that closures join. The same input gives the same bits.
 *
 * Returns: FALSE with %NDT_ERROR_NO_MEMORY, or with %NDT_ERROR_INVALID_ARGUMENT where edges do not
 *   hold all nodes
 */
gboolean ndt_pose_graph_optimize (
    NdtPose *nodes, guint n_nodes, NdtPoseEdge *edges, guint n_edges, GError **error);

/**
 * ndt_pose_graph_get_covariances:
 * @nodes: @n_nodes poses as ndt_pose_graph_optimize() left them
 * @edges: @n_edges edges as it left them
 * @covariances: (out): 36 doubles a node, row-major 6×6: position (m²) then rotation (rad²) about
 *   the parent's axes through the pose
 *
 * Marginal covariances of the nodes, the first of which is known exactly: the diagonal blocks of
 * the inverse of the normal equations' matrix, by Takahashi's recurrence within its envelope. They
 * are what the edges' standard deviations say, a closure's by the weight that it has.
 *
 * Returns: FALSE with the errors of ndt_pose_graph_optimize()
 */
gboolean ndt_pose_graph_get_covariances (const NdtPose *nodes, guint n_nodes, NdtPoseEdge *edges,
    guint n_edges, double *covariances, GError **error);

G_END_DECLS
