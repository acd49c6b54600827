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
/* A search far away begins where the nearest way over a closure is as long. Odometry may be off by
 * that share of it, and turned by so much, rad. */
#define FAR_WAY APART
#define FAR_SHARE 0.05
#define FAR_TURN 0.5
/* Metres that it is searched for at most: what lies within is one map. */
#define FAR_MOST 100.0
/* Metres of drive within which another far closure confirms one. */
#define CONFIRM_WAY 60.0
/* Standard deviations of a closure, metres and rad. */
#define CLOSURE_SIGMA 0.03
#define CLOSURE_TURN 0.001
/* Closures after which the graph is optimized, so that the next ones are predicted better. */
#define CLOSURES_AT_ONCE 8

static gboolean
add_submap (NdtMapMaker *maker, NdtVoxelMapBuilder *builder, guint submap, GError **error)
{
  const NdtSubmap *part = ndt_map_maker_get_submap (maker, submap);
  for (guint k = part->first_key; k < part->first_key + part->n_keys; k++) {
    const NdtKeyScan *key = ndt_map_maker_get_key (maker, k);
    const NdtCloudView view = ndt_cloud_view_xyz_f32 (key->points, key->n_points);
    const NdtPose pose = ndt_map_maker_get_key_pose (maker, submap, k);
    if (!ndt_voxel_map_builder_add (builder, 0, &view, &pose, error))
      return FALSE;
  }
  return TRUE;
}

/* The backend's map of some submaps, in the optimized frame. */
static gboolean
set_map_of (NdtMapMaker *maker, const guint *submaps, guint n, GError **error)
{
  const NdtVoxelMapParams params = {.resolution = maker->params.odometry.resolution,
      .min_points = 6,
      .eigenvalue_ratio = 0.01,
      .covariance = NDT_COVARIANCE_UNBIASED,
      .n_levels = NDT_MAX_LEVELS};
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&params, error);
  for (guint i = 0; builder && i < n; i++)
    if (!add_submap (maker, builder, submaps[i], error))
      return FALSE;
  g_autoptr (NdtVoxelMap) map = builder ? ndt_voxel_map_builder_build (builder, error) : NULL;
  return map && ndt_backend_set_map (maker->backend, map, error);
}

/* The backend's map of a submap and its neighbours. */
static gboolean
set_map (NdtMapMaker *maker, guint submap, GError **error)
{
  const guint first = submap > 0 ? submap - 1 : 0;
  const guint last = MIN (submap + 1, maker->submaps->len - 1);
  const guint submaps[3] = {first, first + 1, first + 2};
  return set_map_of (maker, submaps, last - first + 1, error);
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
  const double fit = ndt_registration_get_quality (registration);
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

/* The one that the interrupted run tried here for @to. *@is_known: whether there is one; it is then
 * among the closures. */
static gboolean
recall (NdtMapMaker *maker, guint to, gboolean *is_known, GError **error)
{
  const guint n = maker->closures->len;
  *is_known = maker->known && n < maker->known->len;
  if (!*is_known)
    return TRUE;
  const NdtClosure *closure = &g_array_index (maker->known, NdtClosure, n);
  if (closure->edge.b != to || closure->edge.a >= to) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT,
        "Closure %u that was saved is of submaps %u and %u, and not of %u", n, closure->edge.a,
        closure->edge.b, to);
    return FALSE;
  }
  g_array_append_vals (maker->closures, closure, 1);
  return TRUE;
}

static void
append (NdtMapMaker *maker, const NdtClosure *closure)
{
  g_array_append_vals (maker->closures, closure, 1);
  if (maker->tried)
    maker->tried (closure, maker->tried_data);
}

static NdtClosure
begin_closure (guint from, guint to)
{
  return (NdtClosure){.edge = {.a = from,
                          .b = to,
                          .sigma = CLOSURE_SIGMA,
                          .sigma_turn = CLOSURE_TURN,
                          .is_closure = TRUE},
      .fit = INFINITY};
}

/* Whether submap @to is the place of submap @from, which is older, if it is moved by @correction,
 * from which it may be @gate metres off. Two of its scans agree to @agree metres. */
static gboolean
check (NdtMapMaker *maker, NdtClosure *closure, const NdtPose *correction, double gate,
    double agree, GError **error)
{
  const guint from = closure->edge.a, to = closure->edge.b;
  const NdtSubmap *old = ndt_map_maker_get_submap (maker, from);
  const NdtSubmap *new = ndt_map_maker_get_submap (maker, to);
  const guint keys[2] = {new->first_key, new->first_key + new->n_keys / 2};
  const guint middle = old->first_key + old->n_keys / 2;
  NdtRegistration seen, known;
  NdtPose nodes[2];
  const NdtPose at_home = ndt_map_maker_get_key_pose (maker, from, middle);
  if (!set_map (maker, from, error) || !align (maker, middle, &at_home, 0, &known, error))
    return FALSE;
  for (guint i = 0; i < 2 && closure->verdict == NDT_CLOSURE_ACCEPTED; i++) {
    double metres, radians;
    const NdtPose odometry = ndt_map_maker_get_key_pose (maker, to, keys[i]);
    const NdtPose guess = ndt_pose_mul (correction, &odometry);
    const NdtPose inverse = ndt_pose_inverse (&odometry);
    if (!align (maker, keys[i], &guess, gate, &seen, error))
      return FALSE;
    ndt_pose_difference (&guess, &seen.pose, &metres, &radians);
    closure->fit = MIN (closure->fit, quality (&seen) / MAX (quality (&known), 1e-9));
    if (!(closure->fit >= LEAST_FIT))
      closure->verdict = NDT_CLOSURE_MISFIT;
    else if (metres > gate || radians > TURN_GATE)
      closure->verdict = NDT_CLOSURE_TOO_FAR;
    else if (seen.is_ambiguous || is_open (&seen))
      closure->verdict = NDT_CLOSURE_AMBIGUOUS;
    /* Where that moves the submap's own pose. */
    const NdtPose moved = ndt_pose_mul (&seen.pose, &inverse);
    nodes[i] = ndt_pose_mul (&moved, &maker->nodes[to]);
  }
  if (closure->verdict == NDT_CLOSURE_ACCEPTED) {
    double metres, radians;
    ndt_pose_difference (&nodes[0], &nodes[1], &metres, &radians);
    if (metres > agree || radians > AGREE_TURN)
      closure->verdict = NDT_CLOSURE_DISAGREES;
    const NdtPose inverse = ndt_pose_inverse (&maker->nodes[from]);
    NdtPose mean;
    ndt_pose_interpolate (&nodes[0], &nodes[1], 0.5, &mean);
    closure->edge.between = ndt_pose_mul (&inverse, &mean);
  }
  return TRUE;
}

static gboolean
try_closure (NdtMapMaker *maker, guint from, guint to, double gate, GError **error)
{
  static const NdtPose identity = NDT_POSE_IDENTITY;
  NdtClosure closure = begin_closure (from, to);
  gboolean is_known;
  if (!recall (maker, to, &is_known, error) || is_known)
    return is_known;
  if (!check (maker, &closure, &identity, gate, AGREE, error))
    return FALSE;
  append (maker, &closure);
  return TRUE;
}

/* ---- Far from where odometry says ---- */

/* The older submaps that may be the place of @to, if odometry is off by @gate metres. */
static guint
find_far_candidates (const NdtMapMaker *maker, guint to, double gate, guint *submaps)
{
  guint n = 0;
  for (guint from = 0; from < to; from++) {
    double metres, radians;
    if (ndt_map_maker_get_submap (maker, to)->way - ndt_map_maker_get_submap (maker, from)->way <
        APART)
      continue;
    ndt_pose_difference (&maker->nodes[from], &maker->nodes[to], &metres, &radians);
    if (metres <= NEAR + gate)
      submaps[n++] = from;
  }
  return n;
}

static guint
find_nearest (const NdtMapMaker *maker, const guint *submaps, guint n, const NdtPose *pose)
{
  double nearest = INFINITY;
  guint best = submaps[0];
  for (guint i = 0; i < n; i++) {
    const NdtSubmap *part = ndt_map_maker_get_submap (maker, submaps[i]);
    double metres, radians;
    const NdtPose middle =
        ndt_map_maker_get_key_pose (maker, submaps[i], part->first_key + part->n_keys / 2);
    ndt_pose_difference (&middle, pose, &metres, &radians);
    if (metres < nearest) {
      nearest = metres;
      best = submaps[i];
    }
  }
  return best;
}

/* Searches all that was driven before, as far as odometry may be off in a bad drive, for the place
 * of @to: seen from above, whatever its distance. What is found has to fit as any closure does; it
 * stays unconfirmed until another submap says the same. */
static gboolean
try_far (NdtMapMaker *maker, guint to, const guint *submaps, guint n, double gate, GError **error)
{
  const guint first = ndt_map_maker_get_submap (maker, to)->first_key;
  const NdtPose guess = ndt_map_maker_get_key_pose (maker, to, first);
  const NdtPose inverse = ndt_pose_inverse (&guess);
  NdtRegistrationParams params;
  NdtRegistration found;
  gboolean is_known;
  double metres, radians;
  if (!recall (maker, to, &is_known, error) || is_known)
    return is_known;
  ndt_registration_params_init (&params);
  params.align = maker->params.odometry.align;
  if (!set_map_of (maker, submaps, n, error) || !set_scan (maker, first, error) ||
      !ndt_register_anywhere (maker->backend, 0, &params, &found, error))
    return FALSE;
  NdtClosure closure = begin_closure (find_nearest (maker, submaps, n, &found.pose), to);
  ndt_pose_difference (&guess, &found.pose, &metres, &radians);
  if (found.n_pairs == 0)
    closure.verdict = NDT_CLOSURE_MISFIT;
  else if (metres > gate || radians > FAR_TURN)
    closure.verdict = NDT_CLOSURE_TOO_FAR;
  else if (found.is_ambiguous)
    closure.verdict = NDT_CLOSURE_AMBIGUOUS;
  const NdtPose correction = ndt_pose_mul (&found.pose, &inverse);
  /* Odometry that is off by so much is so between the two scans, too. */
  const double agree = AGREE + FAR_SHARE * maker->params.submap;
  if (closure.verdict == NDT_CLOSURE_ACCEPTED &&
      !check (maker, &closure, &correction, LEAST_GATE, agree, error))
    return FALSE;
  if (closure.verdict == NDT_CLOSURE_ACCEPTED)
    closure.verdict = NDT_CLOSURE_UNCONFIRMED;
  else if (!isfinite (closure.fit))
    closure.fit = 0;
  append (maker, &closure);
  return TRUE;
}

/* Whether two closures move the drive alike: the way around over both of them ends where it began,
 * but for what odometry may be off between them. */
static gboolean
confirms (const NdtMapMaker *maker, const NdtClosure *one, const NdtClosure *other)
{
  const NdtPose *nodes = maker->nodes;
  const double way = ndt_map_maker_get_submap (maker, other->edge.b)->way -
                     ndt_map_maker_get_submap (maker, one->edge.b)->way;
  const NdtPose ends[2] = {ndt_pose_mul (&nodes[one->edge.a], &one->edge.between),
      ndt_pose_mul (&nodes[other->edge.a], &other->edge.between)};
  NdtPose seen, odometry;
  double metres, radians;
  if (way > CONFIRM_WAY)
    return FALSE;
  ndt_pose_between (&ends[0], &ends[1], &seen);
  ndt_pose_between (&nodes[one->edge.b], &nodes[other->edge.b], &odometry);
  ndt_pose_difference (&seen, &odometry, &metres, &radians);
  return metres <= LEAST_GATE + FAR_SHARE * way && radians <= TURN_GATE;
}

/* Accepts the last closure with one before that it agrees with. Both count in full at first, since
 * the graph is far from them, and as any closure afterwards. */
static gboolean
confirm (NdtMapMaker *maker, gboolean *is_confirmed, GError **error)
{
  const guint last = maker->closures->len - 1;
  NdtClosure *new = &g_array_index (maker->closures, NdtClosure, last);
  *is_confirmed = FALSE;
  for (guint i = last; i-- > 0 && !*is_confirmed;) {
    NdtClosure *old = &g_array_index (maker->closures, NdtClosure, i);
    if (old->verdict != NDT_CLOSURE_UNCONFIRMED || !confirms (maker, old, new))
      continue;
    *is_confirmed = TRUE;
    old->verdict = new->verdict = NDT_CLOSURE_ACCEPTED;
    old->edge.is_closure = new->edge.is_closure = FALSE;
    if (!ndt_map_maker_optimize (maker, error))
      return FALSE;
    old->edge.is_closure = new->edge.is_closure = TRUE;
  }
  return TRUE;
}

static gboolean
find_far_closure (NdtMapMaker *maker, guint to, gboolean *is_confirmed, GError **error)
{
  const NdtSubmap *new = ndt_map_maker_get_submap (maker, to);
  const double way = new->way - new->closed_way;
  const double gate = MIN (LEAST_GATE + MAX (FAR_SHARE, maker->params.drift) * way, FAR_MOST);
  g_autofree guint *submaps = g_new (guint, to);
  const guint n = way > FAR_WAY ? find_far_candidates (maker, to, gate, submaps) : 0;
  *is_confirmed = FALSE;
  if (n == 0)
    return TRUE;
  if (!try_far (maker, to, submaps, n, gate, error))
    return FALSE;
  return g_array_index (maker->closures, NdtClosure, maker->closures->len - 1).verdict !=
             NDT_CLOSURE_UNCONFIRMED ||
         confirm (maker, is_confirmed, error);
}

/* ---- All ---- */

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

static gboolean
is_accepted (const NdtMapMaker *maker)
{
  return g_array_index (maker->closures, NdtClosure, maker->closures->len - 1).verdict ==
         NDT_CLOSURE_ACCEPTED;
}

gboolean
ndt_map_maker_find_closures (
    NdtMapMaker *maker, void (*progress) (guint, guint, gpointer), gpointer data, GError **error)
{
  guint n_new = 0;
  double closed_way = 0;
  for (guint to = 1; to < maker->submaps->len; to++) {
    double gate = 0;
    gboolean is_far = FALSE;
    NdtSubmap *submap = ndt_map_maker_get_submap (maker, to);
    submap->closed_way = closed_way;
    const gint from = find_candidate (maker, to, &gate);
    if (progress)
      progress (to, maker->submaps->len, data);
    if (from >= 0 && !try_closure (maker, (guint)from, to, gate, error))
      return FALSE;
    const gboolean is_near = from >= 0 && is_accepted (maker);
    if (!is_near && !find_far_closure (maker, to, &is_far, error))
      return FALSE;
    if (!is_near && !is_far)
      continue;
    /* The first one after a while moves all that follow. */
    const gboolean is_first = submap->way - closed_way > APART;
    closed_way = submap->way;
    if ((is_first || ++n_new == CLOSURES_AT_ONCE) && !ndt_map_maker_optimize (maker, error))
      return FALSE;
    n_new %= CLOSURES_AT_ONCE;
  }
  return TRUE;
}
