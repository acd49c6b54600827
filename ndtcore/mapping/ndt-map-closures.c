/* SPDX-License-Identifier: MIT */
/* Where a drive comes by a place again. */
#include <math.h>

#include "ndt-map-maker-private.h"
#include "ndtcore/map/ndt-voxel-map.h"
#include "ndtcore/math/ndt-formulas.h"

/* Metres of drive between two submaps of which one may close onto the other. */
#define APART 60.0
/* Metres beyond what odometry may be off that closures are looked for at. */
#define NEAR 12.0
/* What a gate has at least, metres; and its rotation, rad. */
#define LEAST_GATE 1.0
#define TURN_GATE 0.1
/* Scans of a closure fit so well at least, of what one of the old place does there. */
#define LEAST_FIT 0.75
/* Two scans of a place agree to this, metres and rad. */
#define AGREE 0.15
#define AGREE_TURN 0.01
/* Standard deviations of a closure, metres and rad. */
#define CLOSURE_SIGMA 0.03
#define CLOSURE_TURN 0.001
/* Closures after which the graph is optimized, so that the next ones are predicted better. */
#define CLOSURES_AT_ONCE 8

/* The backend's map of a submap and its neighbours, in the optimized frame. */
static gboolean
set_map (NdtMapMaker *maker, guint submap, GError **error)
{
  const NdtVoxelMapParams params = {.resolution = maker->params.odometry.resolution,
      .min_points = 6,
      .eigenvalue_ratio = 0.01,
      .covariance = NDT_COVARIANCE_UNBIASED,
      .n_levels = NDT_MAX_LEVELS};
  const guint first = submap > 0 ? submap - 1 : 0;
  const guint last = MIN (submap + 1, maker->submaps->len - 1);
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&params, error);
  if (!builder)
    return FALSE;
  for (guint s = first; s <= last; s++) {
    const NdtSubmap *part = ndt_map_maker_get_submap (maker, s);
    for (guint k = part->first_key; k < part->first_key + part->n_keys; k++) {
      const NdtKeyScan *key = ndt_map_maker_get_key (maker, k);
      const NdtCloudView view = ndt_cloud_view_xyz_f32 (key->points, key->n_points);
      const NdtPose pose = ndt_map_maker_get_key_pose (maker, s, k);
      if (!ndt_voxel_map_builder_add (builder, 0, &view, &pose, error))
        return FALSE;
    }
  }
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_builder_build (builder, error);
  return map && ndt_backend_set_map (maker->backend, map, error);
}

static gboolean
set_scan (NdtMapMaker *maker, guint key, GError **error)
{
  static const NdtScanFilter all = NDT_SCAN_FILTER_NONE;
  const NdtKeyScan *scan = ndt_map_maker_get_key (maker, key);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan->points, scan->n_points);
  return ndt_backend_set_scan (maker->backend, 0, &view, &all, error);
}

static double
quality (const NdtRegistration *registration)
{
  const double fit = registration->nvtl * registration->matched_ratio;
  return isfinite (fit) && registration->stop != NDT_STOP_NOT_FINITE ? fit : 0;
}

/* Aligns a key to the backend's map. @gate: metres that its predicted pose may be off. */
static gboolean
align (NdtMapMaker *maker, guint key, const NdtPose *guess, double gate, NdtRegistration *out,
    GError **error)
{
  NdtRegistrationParams params;
  NdtPoseSearch search = {
      .stddev = {gate / 2.5, gate / 2.5, MIN (gate, 3) / 2.5, 0.02, 0.02, 0.04}};
  ndt_registration_params_init (&params);
  params.align = maker->params.odometry.align;
  return set_scan (maker, key, error) &&
         (gate <= 2
                 ? ndt_register (maker->backend, 0, &params, NDT_SEARCH_FAR, guess, 1, out, error)
                 : ndt_register_around (maker->backend, 0, &params, guess, &search, out, error));
}

static gboolean
is_open (const NdtRegistration *registration)
{
  const NdtObservability *seen = &registration->observability;
  gboolean open = registration->n_degenerate > 0;
  for (guint k = 0; k < 3; k++)
    open = open || seen->information[k] < NDT_OBSERVABILITY_OPEN * seen->flat;
  return open;
}

/* The one that the interrupted run tried here. TRUE without @closure: it tried none any more. */
static gboolean
recall (NdtMapMaker *maker, guint from, guint to, gboolean *is_known, GError **error)
{
  const guint n = maker->closures->len;
  *is_known = maker->known && n < maker->known->len;
  if (!*is_known)
    return TRUE;
  const NdtClosure *closure = &g_array_index (maker->known, NdtClosure, n);
  if (closure->edge.a != from || closure->edge.b != to) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT,
        "Closure %u that was saved is of submaps %u and %u, and not of %u and %u", n,
        closure->edge.a, closure->edge.b, from, to);
    return FALSE;
  }
  g_array_append_vals (maker->closures, closure, 1);
  return TRUE;
}

/* Whether submap @to is the place of submap @from, which is older. */
static gboolean
try_closure (NdtMapMaker *maker, guint from, guint to, double gate, GError **error)
{
  const NdtSubmap *old = ndt_map_maker_get_submap (maker, from),
                  *new = ndt_map_maker_get_submap (maker, to);
  const guint keys[2] = {new->first_key, new->first_key + new->n_keys / 2};
  const guint middle = old->first_key + old->n_keys / 2;
  NdtClosure closure = {.edge = {.a = from,
                            .b = to,
                            .sigma = CLOSURE_SIGMA,
                            .sigma_turn = CLOSURE_TURN,
                            .is_closure = TRUE},
      .fit = INFINITY};
  NdtRegistration seen, known;
  NdtPose nodes[2];
  gboolean is_known;
  if (!recall (maker, from, to, &is_known, error) || is_known)
    return is_known;
  const NdtPose at_home = ndt_map_maker_get_key_pose (maker, from, middle);
  if (!set_map (maker, from, error) || !align (maker, middle, &at_home, 0, &known, error))
    return FALSE;
  for (guint i = 0; i < 2 && closure.verdict == NDT_CLOSURE_ACCEPTED; i++) {
    double metres, radians;
    const NdtPose guess = ndt_map_maker_get_key_pose (maker, to, keys[i]);
    const NdtPose inverse = ndt_pose_inverse (&guess);
    if (!align (maker, keys[i], &guess, gate, &seen, error))
      return FALSE;
    ndt_pose_difference (&guess, &seen.pose, &metres, &radians);
    closure.fit = MIN (closure.fit, quality (&seen) / MAX (quality (&known), 1e-9));
    if (!(closure.fit >= LEAST_FIT))
      closure.verdict = NDT_CLOSURE_MISFIT;
    else if (metres > gate || radians > TURN_GATE)
      closure.verdict = NDT_CLOSURE_TOO_FAR;
    else if (seen.is_ambiguous || is_open (&seen))
      closure.verdict = NDT_CLOSURE_AMBIGUOUS;
    /* Where that moves the submap's own pose. */
    const NdtPose moved = ndt_pose_mul (&seen.pose, &inverse);
    nodes[i] = ndt_pose_mul (&moved, &maker->nodes[to]);
  }
  if (closure.verdict == NDT_CLOSURE_ACCEPTED) {
    double metres, radians;
    ndt_pose_difference (&nodes[0], &nodes[1], &metres, &radians);
    if (metres > AGREE || radians > AGREE_TURN)
      closure.verdict = NDT_CLOSURE_DISAGREES;
    const NdtPose inverse = ndt_pose_inverse (&maker->nodes[from]);
    NdtPose mean;
    ndt_pose_interpolate (&nodes[0], &nodes[1], 0.5, &mean);
    closure.edge.between = ndt_pose_mul (&inverse, &mean);
  }
  g_array_append_val (maker->closures, closure);
  if (maker->tried)
    maker->tried (&closure, maker->tried_data);
  return TRUE;
}

/* The nearest older submap that may be the same place, or -1. @gate: (out): metres. */
static gint
find_candidate (const NdtMapMaker *maker, guint to, double *gate)
{
  const NdtSubmap *new = ndt_map_maker_get_submap (maker, to);
  gint best = -1;
  double nearest = INFINITY;
  for (guint from = 0; from < to; from++) {
    const NdtSubmap *old = ndt_map_maker_get_submap (maker, from);
    const double way = MIN (new->way - old->way, new->way - new->closed_way);
    double metres, radians;
    if (new->way - old->way < APART)
      continue;
    ndt_pose_difference (&maker->nodes[from], &maker->nodes[to], &metres, &radians);
    const double may_be_off = LEAST_GATE + maker->params.drift * way;
    if (metres > NEAR + may_be_off || metres >= nearest)
      continue;
    nearest = metres;
    best = (gint)from;
    *gate = may_be_off;
  }
  return best;
}

gboolean
ndt_map_maker_find_closures (
    NdtMapMaker *maker, void (*progress) (guint, guint, gpointer), gpointer data, GError **error)
{
  guint n_new = 0;
  double closed_way = 0;
  for (guint to = 1; to < maker->submaps->len; to++) {
    double gate = 0;
    ndt_map_maker_get_submap (maker, to)->closed_way = closed_way;
    const gint from = find_candidate (maker, to, &gate);
    if (progress)
      progress (to, maker->submaps->len, data);
    if (from < 0)
      continue;
    if (!try_closure (maker, (guint)from, to, gate, error))
      return FALSE;
    if (g_array_index (maker->closures, NdtClosure, maker->closures->len - 1).verdict !=
        NDT_CLOSURE_ACCEPTED)
      continue;
    /* The first one after a while moves all that follow. */
    const gboolean is_first = ndt_map_maker_get_submap (maker, to)->way - closed_way > APART;
    closed_way = ndt_map_maker_get_submap (maker, to)->way;
    if ((is_first || ++n_new == CLOSURES_AT_ONCE) && !ndt_map_maker_optimize (maker, error))
      return FALSE;
    n_new %= CLOSURES_AT_ONCE;
  }
  return TRUE;
}
