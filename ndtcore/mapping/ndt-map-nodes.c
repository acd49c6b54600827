/* SPDX-License-Identifier: MIT */
/* The poses of submaps, and the graph that moves them. */
#include <string.h>

#include "ndt-map-maker-private.h"
#include "ndtcore/math/ndt-formulas.h"

/* Of the first submap, so that nothing is open where fixes leave it so: metres and rad about the
 * frame that the fixes make. */
#define GAUGE_SIGMA 1e3
#define GAUGE_TURN 0.1

NdtPose
ndt_map_maker_get_key_pose (const NdtMapMaker *maker, guint submap, guint key)
{
  const NdtPose inverse = ndt_pose_inverse (
      &ndt_map_maker_get_key (maker, ndt_map_maker_get_submap (maker, submap)->first_key)
           ->odometry);
  const NdtPose step = ndt_pose_mul (&inverse, &ndt_map_maker_get_key (maker, key)->odometry);
  return ndt_pose_mul (&maker->nodes[submap], &step);
}

/* All edges into one array. */
static GArray *
gather_edges (const NdtMapMaker *maker)
{
  GArray *edges = g_array_copy (maker->edges);
  for (guint i = 0; i < maker->closures->len; i++) {
    const NdtClosure *closure = &g_array_index (maker->closures, NdtClosure, i);
    if (closure->verdict == NDT_CLOSURE_ACCEPTED)
      g_array_append_val (edges, closure->edge);
  }
  return edges;
}

/* With fixes the frame that they are of is node 0: the nodes with it, and the edges numbered so,
 * with those of fixes and one that holds the first submap. */
static NdtPose *
number_in_frame (const NdtMapMaker *maker, GArray *edges)
{
  const guint n = maker->submaps->len;
  NdtPose *nodes = g_new (NdtPose, n + 1);
  const NdtPoseEdge gauge = {
      .a = 0, .b = 1, .between = maker->nodes[0], .sigma = GAUGE_SIGMA, .sigma_turn = GAUGE_TURN};
  ndt_pose_set_identity (&nodes[0]);
  memcpy (nodes + 1, maker->nodes, n * sizeof (NdtPose));
  for (guint i = 0; i < edges->len; i++) {
    g_array_index (edges, NdtPoseEdge, i).a++;
    g_array_index (edges, NdtPoseEdge, i).b++;
  }
  for (guint i = 0; i < maker->fixes->len; i++) {
    NdtPoseEdge fix = g_array_index (maker->fixes, NdtPoseEdge, i);
    fix.b++;
    g_array_append_val (edges, fix);
  }
  g_array_append_val (edges, gauge);
  return nodes;
}

static gboolean
optimize_in_frame (NdtMapMaker *maker, GArray *edges, GError **error)
{
  const guint n = maker->submaps->len, n_edges = edges->len;
  g_autofree NdtPose *nodes = number_in_frame (maker, edges);
  if (!ndt_pose_graph_optimize (
          nodes, n + 1, (NdtPoseEdge *)(gpointer)edges->data, edges->len, error))
    return FALSE;
  memcpy (maker->nodes, nodes + 1, n * sizeof (NdtPose));
  for (guint i = 0; i < n_edges; i++) {
    g_array_index (edges, NdtPoseEdge, i).a--;
    g_array_index (edges, NdtPoseEdge, i).b--;
  }
  for (guint i = 0; i < maker->fixes->len; i++) {
    const NdtPoseEdge *fix = &g_array_index (edges, NdtPoseEdge, n_edges + i);
    g_array_index (maker->fixes, NdtPoseEdge, i).residual = fix->residual;
    g_array_index (maker->fixes, NdtPoseEdge, i).residual_turn = fix->residual_turn;
  }
  g_array_set_size (edges, n_edges);
  return TRUE;
}

gboolean
ndt_map_maker_optimize (NdtMapMaker *maker, GError **error)
{
  g_autoptr (GArray) edges = gather_edges (maker);
  guint n = maker->edges->len;
  if (maker->fixes->len > 0) {
    if (!optimize_in_frame (maker, edges, error))
      return FALSE;
  } else if (!ndt_pose_graph_optimize (maker->nodes, maker->submaps->len,
                 (NdtPoseEdge *)(gpointer)edges->data, edges->len, error))
    return FALSE;
  if (n > 0)
    memcpy (maker->edges->data, edges->data, n * sizeof (NdtPoseEdge));
  for (guint i = 0; i < maker->closures->len; i++) {
    NdtClosure *closure = &g_array_index (maker->closures, NdtClosure, i);
    if (closure->verdict == NDT_CLOSURE_ACCEPTED)
      closure->edge = g_array_index (edges, NdtPoseEdge, n++);
  }
  return TRUE;
}

gboolean
ndt_map_maker_find_covariances (NdtMapMaker *maker, GError **error)
{
  const guint n = maker->submaps->len;
  g_autoptr (GArray) edges = gather_edges (maker);
  if (maker->fixes->len == 0) {
    maker->covariances = g_new (double, 36 * (gsize)n);
    return ndt_pose_graph_get_covariances (maker->nodes, n, (NdtPoseEdge *)(gpointer)edges->data,
        edges->len, maker->covariances, error);
  }
  g_autofree NdtPose *nodes = number_in_frame (maker, edges);
  g_autofree double *all = g_new (double, 36 * ((gsize)n + 1));
  if (!ndt_pose_graph_get_covariances (
          nodes, n + 1, (NdtPoseEdge *)(gpointer)edges->data, edges->len, all, error))
    return FALSE;
  maker->covariances = g_memdup2 (all + 36, 36 * (gsize)n * sizeof (double));
  return TRUE;
}
