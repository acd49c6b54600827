/* SPDX-License-Identifier: MIT */
#include "ndt-map-maker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-heading.h"
#include "ndtcore/map/ndt-voxel-map.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/math/ndt-pose.h"

/* Metres of drive between two submaps of which one may close onto the other. */
#define APART 60.0
/* Metres beyond what odometry may be off that closures are looked for at. */
#define NEAR 12.0
/* What a gate has at least, metres; and its rotation, rad. */
#define LEAST_GATE 1.0
#define TURN_GATE 0.1
/* Scans of a closure fit so well at least, of what one of the old place does there. */
#define LEAST_FIT 0.75
/* Two scans of a place agree to this, metres and rad … */
#define AGREE 0.15
#define AGREE_TURN 0.01
/* … and a closure is dropped that the optimized graph is farther from. */
#define DROP 0.5
#define DROP_TURN 0.03
/* Standard deviations of an edge: of a closure; of odometry, and what that grows by with the way,
 * metres and rad a metre. */
#define CLOSURE_SIGMA 0.03
#define CLOSURE_TURN 0.001
#define STEP_SIGMA 0.02
#define STEP_TURN 0.0005
#define SIGMA_GROWTH 0.001
#define TURN_GROWTH 0.00005
/* Metres that fixes without a rotation have to be apart, so that they tell a heading. */
#define LEAST_WAY 5.0
/* Of the first submap, so that nothing is open where fixes leave it so: metres and rad about the
 * frame that the fixes make. */
#define GAUGE_SIGMA 1e3
#define GAUGE_TURN 0.1
/* Closures after which the graph is optimized, so that the next ones are predicted better. */
#define CLOSURES_AT_ONCE 8

/* A part of the drive; its pose is its first key's. */
typedef struct {
  guint first_key;
  guint n_keys;
  double way;        /* metres of drive to its first key */
  double closed_way; /* @way of the last submap up to this one that a closure holds */
} Submap;

typedef struct {
  gboolean has_pose;
  NdtPose odometry; /* of the body */
  guint submap;
  double part; /* of the way to the next submap's first key, 0 to 1 */
} Scan;

/* A key's pose from elsewhere. */
typedef struct {
  guint key;
  guint submap;
  NdtPose pose;
  double sigma;
  double sigma_turn;
} Given;

struct _NdtMapMaker {
  NdtBackend *backend;
  NdtMapMakerParams params;
  NdtOdometry *odometry;
  GArray *scans;
  GArray *keys;
  GArray *submaps;
  GArray *edges;
  GArray *closures;
  GArray *given;
  GArray *fixes;  /* of NdtPoseEdge: @b is the submap, @between its pose */
  NdtPose *nodes; /* of submaps, as optimized */
  double way;
  NdtPose last; /* of the sensor */
  gboolean has_last;
};

void
ndt_map_maker_params_init (NdtMapMakerParams *params)
{
  ndt_odometry_params_init (&params->odometry);
  params->key_step = 1;
  params->key_turn = 0.2;
  params->submap = 15;
  params->drift = 0.01;
}

static void
clear_key (gpointer key)
{
  g_free (((NdtKeyScan *)key)->points);
}

NdtMapMaker *
ndt_map_maker_new (NdtBackend *backend, const NdtMapMakerParams *params, GError **error)
{
  NdtOdometry *odometry = ndt_odometry_new (backend, &params->odometry, error);
  if (!odometry)
    return NULL;
  NdtMapMaker *maker = g_new0 (NdtMapMaker, 1);
  maker->backend = backend;
  maker->params = *params;
  maker->odometry = odometry;
  maker->scans = g_array_new (FALSE, FALSE, sizeof (Scan));
  maker->keys = g_array_new (FALSE, FALSE, sizeof (NdtKeyScan));
  g_array_set_clear_func (maker->keys, clear_key);
  maker->submaps = g_array_new (FALSE, FALSE, sizeof (Submap));
  maker->edges = g_array_new (FALSE, FALSE, sizeof (NdtPoseEdge));
  maker->closures = g_array_new (FALSE, FALSE, sizeof (NdtClosure));
  maker->given = g_array_new (FALSE, FALSE, sizeof (Given));
  maker->fixes = g_array_new (FALSE, FALSE, sizeof (NdtPoseEdge));
  return maker;
}

void
ndt_map_maker_free (NdtMapMaker *maker)
{
  ndt_odometry_free (maker->odometry);
  g_array_unref (maker->scans);
  g_array_unref (maker->keys);
  g_array_unref (maker->submaps);
  g_array_unref (maker->edges);
  g_array_unref (maker->closures);
  g_array_unref (maker->given);
  g_array_unref (maker->fixes);
  g_free (maker->nodes);
  g_free (maker);
}

static NdtKeyScan *
get_key (const NdtMapMaker *maker, guint i)
{
  return &g_array_index (maker->keys, NdtKeyScan, i);
}

static Submap *
get_submap (const NdtMapMaker *maker, guint i)
{
  return &g_array_index (maker->submaps, Submap, i);
}

/* ---- The drive ---- */

static gboolean
add_key (NdtMapMaker *maker, GError **error)
{
  NdtKeyScan key = {.scan = maker->scans->len};
  const float *points = ndt_odometry_get_points (maker->odometry, &key.n_points, &key.odometry);
  key.points = g_try_new (float, 3 * (gsize)key.n_points + 1);
  if (!key.points) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
        "There is not the memory for the points of %u scans", maker->keys->len + 1);
    return FALSE;
  }
  memcpy (key.points, points, 3 * sizeof (float) * key.n_points);
  key.sensor = key.odometry;
  g_array_append_val (maker->keys, key);
  const Submap *last = maker->submaps->len ? get_submap (maker, maker->submaps->len - 1) : NULL;
  if (!last || maker->way - last->way >= maker->params.submap) {
    const Submap submap = {maker->keys->len - 1, 0, maker->way, 0};
    g_array_append_val (maker->submaps, submap);
  }
  get_submap (maker, maker->submaps->len - 1)->n_keys++;
  return TRUE;
}

gboolean
ndt_map_maker_add (
    NdtMapMaker *maker, const NdtOdometryScan *scan, NdtOdometryResult *result, GError **error)
{
  NdtPose sensor;
  guint n;
  if (!ndt_odometry_process (maker->odometry, scan, result, error))
    return FALSE;
  ndt_odometry_get_points (maker->odometry, &n, &sensor);
  const gboolean has_pose = maker->has_last || result->status != NDT_ODOMETRY_SKIPPED;
  if (has_pose && result->status != NDT_ODOMETRY_SKIPPED) {
    double metres = 0, radians = 0;
    if (maker->has_last)
      ndt_pose_difference (&maker->last, &sensor, &metres, &radians);
    maker->way += metres;
    maker->last = sensor;
    maker->has_last = TRUE;
    if (maker->keys->len > 0)
      ndt_pose_difference (
          &get_key (maker, maker->keys->len - 1)->odometry, &sensor, &metres, &radians);
    if ((maker->keys->len == 0 || metres >= maker->params.key_step ||
            radians >= maker->params.key_turn) &&
        !add_key (maker, error))
      return FALSE;
  }
  Scan entry = {.has_pose = has_pose, .odometry = result->pose};
  if (maker->submaps->len > 0) {
    entry.submap = maker->submaps->len - 1;
    entry.part =
        CLAMP ((maker->way - get_submap (maker, entry.submap)->way) / maker->params.submap, 0, 1);
  }
  g_array_append_val (maker->scans, entry);
  return TRUE;
}

void
ndt_map_maker_add_fix (NdtMapMaker *maker, const NdtPose *sensor, double sigma, double sigma_turn)
{
  const guint n = maker->keys->len;
  if (n == 0 || get_key (maker, n - 1)->scan != maker->scans->len - 1)
    return;
  const Given given = {n - 1, maker->submaps->len - 1, *sensor, sigma, sigma_turn};
  g_array_append_val (maker->given, given);
}

/* ---- Closures ---- */

/* The optimized pose of a key: its submap's, and odometry from there. */
static NdtPose
get_key_pose (const NdtMapMaker *maker, guint submap, guint key)
{
  const NdtPose inverse =
      ndt_pose_inverse (&get_key (maker, get_submap (maker, submap)->first_key)->odometry);
  const NdtPose step = ndt_pose_mul (&inverse, &get_key (maker, key)->odometry);
  return ndt_pose_mul (&maker->nodes[submap], &step);
}

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
    const Submap *part = get_submap (maker, s);
    for (guint k = part->first_key; k < part->first_key + part->n_keys; k++) {
      const NdtKeyScan *key = get_key (maker, k);
      const NdtCloudView view = ndt_cloud_view_xyz_f32 (key->points, key->n_points);
      const NdtPose pose = get_key_pose (maker, s, k);
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
  const NdtKeyScan *scan = get_key (maker, key);
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

/* Whether submap @to is the place of submap @from, which is older. */
static gboolean
try_closure (NdtMapMaker *maker, guint from, guint to, double gate, GError **error)
{
  const Submap *old = get_submap (maker, from), *new = get_submap (maker, to);
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
  const NdtPose at_home = get_key_pose (maker, from, middle);
  if (!set_map (maker, from, error) || !align (maker, middle, &at_home, 0, &known, error))
    return FALSE;
  for (guint i = 0; i < 2 && closure.verdict == NDT_CLOSURE_ACCEPTED; i++) {
    double metres, radians;
    const NdtPose guess = get_key_pose (maker, to, keys[i]);
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
  return TRUE;
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

/* The same with fixes: the frame that they are of is node 0. */
static gboolean
optimize_in_frame (NdtMapMaker *maker, GArray *edges, GError **error)
{
  const guint n = maker->submaps->len, n_edges = edges->len;
  g_autofree NdtPose *nodes = g_new (NdtPose, n + 1);
  const NdtPoseEdge gauge = {
      .a = 0, .b = 1, .between = maker->nodes[0], .sigma = GAUGE_SIGMA, .sigma_turn = GAUGE_TURN};
  ndt_pose_set_identity (&nodes[0]);
  memcpy (nodes + 1, maker->nodes, n * sizeof (NdtPose));
  for (guint i = 0; i < n_edges; i++) {
    g_array_index (edges, NdtPoseEdge, i).a++;
    g_array_index (edges, NdtPoseEdge, i).b++;
  }
  for (guint i = 0; i < maker->fixes->len; i++) {
    NdtPoseEdge fix = g_array_index (maker->fixes, NdtPoseEdge, i);
    fix.b++;
    g_array_append_val (edges, fix);
  }
  g_array_append_val (edges, gauge);
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

static gboolean
optimize (NdtMapMaker *maker, GError **error)
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

/* Drops the closures that the graph does not agree with. *@dropped: whether there was one. */
static void
drop_closures (NdtMapMaker *maker, gboolean *dropped)
{
  *dropped = FALSE;
  for (guint i = 0; i < maker->closures->len; i++) {
    NdtClosure *closure = &g_array_index (maker->closures, NdtClosure, i);
    if (closure->verdict != NDT_CLOSURE_ACCEPTED ||
        (closure->edge.residual <= DROP && closure->edge.residual_turn <= DROP_TURN))
      continue;
    closure->verdict = NDT_CLOSURE_DISAGREES;
    *dropped = TRUE;
  }
}

/* The nearest older submap that may be the same place, or -1. @gate: (out): metres. */
static gint
find_candidate (const NdtMapMaker *maker, guint to, double *gate)
{
  const Submap *new = get_submap (maker, to);
  gint best = -1;
  double nearest = INFINITY;
  for (guint from = 0; from < to; from++) {
    const Submap *old = get_submap (maker, from);
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
find_closures (
    NdtMapMaker *maker, void (*progress) (guint, guint, gpointer), gpointer data, GError **error)
{
  guint n_new = 0;
  double closed_way = 0;
  for (guint to = 1; to < maker->submaps->len; to++) {
    double gate = 0;
    get_submap (maker, to)->closed_way = closed_way;
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
    const gboolean is_first = get_submap (maker, to)->way - closed_way > APART;
    closed_way = get_submap (maker, to)->way;
    if ((is_first || ++n_new == CLOSURES_AT_ONCE) && !optimize (maker, error))
      return FALSE;
    n_new %= CLOSURES_AT_ONCE;
  }
  return TRUE;
}

static void
add_edges (NdtMapMaker *maker)
{
  for (guint i = 1; i < maker->submaps->len; i++) {
    const Submap *a = get_submap (maker, i - 1), *b = get_submap (maker, i);
    const double way = b->way - a->way;
    NdtPoseEdge edge = {.a = i - 1,
        .b = i,
        .sigma = STEP_SIGMA + SIGMA_GROWTH * way,
        .sigma_turn = STEP_TURN + TURN_GROWTH * way};
    ndt_pose_between (&get_key (maker, a->first_key)->odometry,
        &get_key (maker, b->first_key)->odometry, &edge.between);
    g_array_append_val (maker->edges, edge);
  }
}

static const Given *
get_given (const NdtMapMaker *maker, guint i)
{
  return &g_array_index (maker->given, Given, i);
}

static gboolean
find_heading (const NdtMapMaker *maker, NdtPose *transform)
{
  const guint n = maker->given->len;
  g_autofree double *from = g_new (double, 3 * n), *to = g_new (double, 3 * n);
  for (guint i = 0; i < n; i++) {
    const Given *given = get_given (maker, i);
    const NdtKeyScan *key = get_key (maker, given->key);
    memcpy (from + 3 * i, key->odometry.position, 3 * sizeof (double));
    memcpy (to + 3 * i, given->pose.position, 3 * sizeof (double));
  }
  return ndt_map_find_heading (from, to, n, transform) >= LEAST_WAY;
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* One fix for a submap: its pose moved by the median of what its keys are off, and turned as the
 * first of them says. */
static void
add_fix (NdtMapMaker *maker, guint first, guint n)
{
  const Given *given = get_given (maker, first);
  NdtPoseEdge fix = {.b = given->submap,
      .between = maker->nodes[given->submap],
      .sigma = given->sigma,
      .sigma_turn = given->sigma_turn,
      .is_closure = TRUE};
  g_autofree double *off = g_new (double, n);
  for (guint k = 0; k < 3; k++) {
    for (guint i = 0; i < n; i++) {
      const Given *one = get_given (maker, first + i);
      const NdtPose pose = get_key_pose (maker, one->submap, one->key);
      off[i] = one->pose.position[k] - pose.position[k];
    }
    qsort (off, n, sizeof (double), compare_doubles);
    fix.between.position[k] += off[n / 2];
  }
  const NdtPose node = maker->nodes[given->submap];
  const NdtPose key = get_key_pose (maker, given->submap, given->key);
  NdtPose step;
  ndt_pose_between (&key, &node, &step);
  const NdtPose turned = ndt_pose_mul (&given->pose, &step);
  memcpy (fix.between.orientation, turned.orientation, sizeof (turned.orientation));
  g_array_append_val (maker->fixes, fix);
}

/* Moves all nodes into the frame of what was given, and makes fixes of that. */
static gboolean
enter_frame (NdtMapMaker *maker, GError **error)
{
  const guint n = maker->given->len;
  if (n == 0)
    return TRUE;
  const NdtPose inverse = ndt_pose_inverse (&get_key (maker, get_given (maker, 0)->key)->odometry);
  NdtPose transform = ndt_pose_mul (&get_given (maker, 0)->pose, &inverse);
  if (!isfinite (get_given (maker, 0)->sigma_turn) && !find_heading (maker, &transform)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "The %u given positions lie within %.0f m of each other, and tell no heading", n,
        LEAST_WAY);
    return FALSE;
  }
  for (guint i = 0; i < maker->submaps->len; i++)
    maker->nodes[i] = ndt_pose_mul (&transform, &maker->nodes[i]);
  for (guint first = 0, i = 1; i <= n; i++)
    if (i == n || get_given (maker, i)->submap != get_given (maker, first)->submap) {
      add_fix (maker, first, i - first);
      first = i;
    }
  return TRUE;
}

/* How a submap's pose moved, from odometry. */
static NdtPose
get_correction (const NdtMapMaker *maker, guint submap)
{
  const NdtPose inverse =
      ndt_pose_inverse (&get_key (maker, get_submap (maker, submap)->first_key)->odometry);
  return ndt_pose_mul (&maker->nodes[submap], &inverse);
}

/* Between two submaps it goes from one's correction to the other's. */
static NdtPose
correct (const NdtMapMaker *maker, guint scan, const NdtPose *odometry)
{
  const Scan *entry = &g_array_index (maker->scans, Scan, scan);
  const NdtPose here = get_correction (maker, entry->submap);
  const NdtPose there = get_correction (maker, MIN (entry->submap + 1, maker->submaps->len - 1));
  const NdtPose ends[2] = {ndt_pose_mul (&here, odometry), ndt_pose_mul (&there, odometry)};
  NdtPose out;
  ndt_pose_interpolate (&ends[0], &ends[1], entry->part, &out);
  return out;
}

gboolean
ndt_map_maker_close (NdtMapMaker *maker, void (*progress) (guint done, guint all, gpointer data),
    gpointer data, GError **error)
{
  gboolean dropped = TRUE;
  if (maker->keys->len == 0) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP, "No scan has enough points");
    return FALSE;
  }
  maker->nodes = g_new (NdtPose, maker->submaps->len);
  for (guint i = 0; i < maker->submaps->len; i++)
    maker->nodes[i] = get_key (maker, get_submap (maker, i)->first_key)->odometry;
  add_edges (maker);
  if (!enter_frame (maker, error) || (maker->fixes->len > 0 && !optimize (maker, error)) ||
      !find_closures (maker, progress, data, error))
    return FALSE;
  while (dropped) {
    if (!optimize (maker, error))
      return FALSE;
    drop_closures (maker, &dropped);
  }
  for (guint i = 0; i < maker->keys->len; i++) {
    NdtKeyScan *key = get_key (maker, i);
    key->sensor = correct (maker, key->scan, &key->odometry);
  }
  return TRUE;
}

guint
ndt_map_maker_get_n_scans (const NdtMapMaker *maker)
{
  return maker->scans->len;
}

gboolean
ndt_map_maker_get_pose (const NdtMapMaker *maker, guint scan, NdtPose *body)
{
  const Scan *entry = &g_array_index (maker->scans, Scan, scan);
  if (!entry->has_pose)
    return FALSE;
  *body = maker->nodes ? correct (maker, scan, &entry->odometry) : entry->odometry;
  return TRUE;
}

const GArray *
ndt_map_maker_get_keys (const NdtMapMaker *maker)
{
  return maker->keys;
}

const GArray *
ndt_map_maker_get_closures (const NdtMapMaker *maker)
{
  return maker->closures;
}

const GArray *
ndt_map_maker_get_edges (const NdtMapMaker *maker)
{
  return maker->edges;
}

const GArray *
ndt_map_maker_get_fixes (const NdtMapMaker *maker)
{
  return maker->fixes;
}

void
ndt_map_maker_get_submap_scans (const NdtMapMaker *maker, guint a, guint b, guint scans[2])
{
  scans[0] = get_key (maker, get_submap (maker, a)->first_key)->scan;
  scans[1] = get_key (maker, get_submap (maker, b)->first_key)->scan;
}

const gchar *
ndt_closure_verdict_to_string (NdtClosureVerdict verdict)
{
  static const gchar *const names[] = {"accepted", "misfit", "too-far", "ambiguous", "disagrees"};
  return names[verdict];
}
