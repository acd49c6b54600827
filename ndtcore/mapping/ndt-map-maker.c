/* SPDX-License-Identifier: MIT */
#include "ndt-map-maker-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-heading.h"
#include "ndtcore/map/ndt-voxel-map.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/math/ndt-pose.h"

/* A closure is dropped that the optimized graph is farther from, metres and rad. */
#define DROP 0.5
#define DROP_TURN 0.03
/* Standard deviations of an edge of odometry, and what that grows by with the way, metres and rad a
 * metre. */
#define STEP_SIGMA 0.02
#define STEP_TURN 0.0005
#define SIGMA_GROWTH 0.001
#define TURN_GROWTH 0.00005
/* Metres that fixes without a rotation have to be apart, so that they tell a heading. */
#define LEAST_WAY 5.0

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
  maker->scans = g_array_new (FALSE, FALSE, sizeof (NdtMapScan));
  maker->keys = g_array_new (FALSE, FALSE, sizeof (NdtKeyScan));
  g_array_set_clear_func (maker->keys, clear_key);
  maker->submaps = g_array_new (FALSE, FALSE, sizeof (NdtSubmap));
  maker->edges = g_array_new (FALSE, FALSE, sizeof (NdtPoseEdge));
  maker->closures = g_array_new (FALSE, FALSE, sizeof (NdtClosure));
  maker->given = g_array_new (FALSE, FALSE, sizeof (NdtGiven));
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
  g_free (maker->covariances);
  g_free (maker);
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
  const NdtSubmap *last =
      maker->submaps->len ? ndt_map_maker_get_submap (maker, maker->submaps->len - 1) : NULL;
  if (!last || maker->way - last->way >= maker->params.submap) {
    const NdtSubmap submap = {maker->keys->len - 1, 0, maker->way, 0};
    g_array_append_val (maker->submaps, submap);
  }
  ndt_map_maker_get_submap (maker, maker->submaps->len - 1)->n_keys++;
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
      ndt_pose_difference (&ndt_map_maker_get_key (maker, maker->keys->len - 1)->odometry, &sensor,
          &metres, &radians);
    if ((maker->keys->len == 0 || metres >= maker->params.key_step ||
            radians >= maker->params.key_turn) &&
        !add_key (maker, error))
      return FALSE;
  }
  NdtMapScan entry = {.has_pose = has_pose, .odometry = result->pose};
  if (maker->submaps->len > 0) {
    entry.submap = maker->submaps->len - 1;
    entry.part = CLAMP (
        (maker->way - ndt_map_maker_get_submap (maker, entry.submap)->way) / maker->params.submap,
        0, 1);
  }
  g_array_append_val (maker->scans, entry);
  /* In all runs at the same scans, whether one saves its state there or not. */
  maker->is_settled = FALSE;
  if (maker->scans->len % NDT_MAP_MAKER_SAVE_STEP == 0) {
    g_autoptr (GError) failure = NULL;
    maker->is_settled = ndt_odometry_settle (maker->odometry, &failure);
    if (failure) {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
  }
  return TRUE;
}

void
ndt_map_maker_add_fix (
    NdtMapMaker *maker, const NdtPose *sensor, double sigma, double sigma_up, double sigma_turn)
{
  const guint n = maker->keys->len;
  if (n == 0 || ndt_map_maker_get_key (maker, n - 1)->scan != maker->scans->len - 1)
    return;
  const NdtGiven given = {n - 1, maker->submaps->len - 1, *sensor, sigma, sigma_up, sigma_turn};
  g_array_append_val (maker->given, given);
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

static void
add_edges (NdtMapMaker *maker)
{
  for (guint i = 1; i < maker->submaps->len; i++) {
    const NdtSubmap *a = ndt_map_maker_get_submap (maker, i - 1),
                    *b = ndt_map_maker_get_submap (maker, i);
    const double way = b->way - a->way;
    NdtPoseEdge edge = {.a = i - 1,
        .b = i,
        .sigma = STEP_SIGMA + SIGMA_GROWTH * way,
        .sigma_turn = STEP_TURN + TURN_GROWTH * way};
    ndt_pose_between (&ndt_map_maker_get_key (maker, a->first_key)->odometry,
        &ndt_map_maker_get_key (maker, b->first_key)->odometry, &edge.between);
    g_array_append_val (maker->edges, edge);
  }
}

static const NdtGiven *
get_given (const NdtMapMaker *maker, guint i)
{
  return &g_array_index (maker->given, NdtGiven, i);
}

static gboolean
find_heading (const NdtMapMaker *maker, NdtPose *transform)
{
  const guint n = maker->given->len;
  g_autofree double *from = g_new (double, 3 * n), *to = g_new (double, 3 * n);
  for (guint i = 0; i < n; i++) {
    const NdtGiven *given = get_given (maker, i);
    const NdtKeyScan *key = ndt_map_maker_get_key (maker, given->key);
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
  const NdtGiven *given = get_given (maker, first);
  NdtPoseEdge fix = {.b = given->submap,
      .between = maker->nodes[given->submap],
      .sigma = given->sigma,
      .sigma_up = given->sigma_up,
      .sigma_turn = given->sigma_turn,
      .is_closure = TRUE};
  g_autofree double *off = g_new (double, n);
  for (guint k = 0; k < 3; k++) {
    for (guint i = 0; i < n; i++) {
      const NdtGiven *one = get_given (maker, first + i);
      const NdtPose pose = ndt_map_maker_get_key_pose (maker, one->submap, one->key);
      off[i] = one->pose.position[k] - pose.position[k];
    }
    qsort (off, n, sizeof (double), compare_doubles);
    fix.between.position[k] += off[n / 2];
  }
  const NdtPose node = maker->nodes[given->submap];
  const NdtPose key = ndt_map_maker_get_key_pose (maker, given->submap, given->key);
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
  const NdtPose inverse =
      ndt_pose_inverse (&ndt_map_maker_get_key (maker, get_given (maker, 0)->key)->odometry);
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
  const NdtPose inverse = ndt_pose_inverse (
      &ndt_map_maker_get_key (maker, ndt_map_maker_get_submap (maker, submap)->first_key)
           ->odometry);
  return ndt_pose_mul (&maker->nodes[submap], &inverse);
}

/* Between two submaps it goes from one's correction to the other's. */
static NdtPose
correct (const NdtMapMaker *maker, guint scan, const NdtPose *odometry)
{
  const NdtMapScan *entry = &g_array_index (maker->scans, NdtMapScan, scan);
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
    maker->nodes[i] =
        ndt_map_maker_get_key (maker, ndt_map_maker_get_submap (maker, i)->first_key)->odometry;
  add_edges (maker);
  if (!enter_frame (maker, error) ||
      (maker->fixes->len > 0 && !ndt_map_maker_optimize (maker, error)) ||
      !ndt_map_maker_find_closures (maker, progress, data, error))
    return FALSE;
  while (dropped) {
    if (!ndt_map_maker_optimize (maker, error))
      return FALSE;
    drop_closures (maker, &dropped);
  }
  if (!ndt_map_maker_find_covariances (maker, error))
    return FALSE;
  for (guint i = 0; i < maker->keys->len; i++) {
    NdtKeyScan *key = ndt_map_maker_get_key (maker, i);
    key->sensor = correct (maker, key->scan, &key->odometry);
  }
  return TRUE;
}

void
ndt_map_maker_set_known_closures (NdtMapMaker *maker, const GArray *known,
    void (*tried) (const NdtClosure *closure, gpointer data), gpointer data)
{
  maker->known = known;
  maker->tried = tried;
  maker->tried_data = data;
}

guint
ndt_map_maker_get_n_scans (const NdtMapMaker *maker)
{
  return maker->scans->len;
}

gboolean
ndt_map_maker_get_pose (const NdtMapMaker *maker, guint scan, NdtPose *body)
{
  const NdtMapScan *entry = &g_array_index (maker->scans, NdtMapScan, scan);
  if (!entry->has_pose)
    return FALSE;
  *body = maker->nodes ? correct (maker, scan, &entry->odometry) : entry->odometry;
  return TRUE;
}

void
ndt_map_maker_get_covariance (const NdtMapMaker *maker, guint scan, double covariance[36])
{
  const NdtMapScan *entry = &g_array_index (maker->scans, NdtMapScan, scan);
  const gsize here = entry->submap, there = MIN (entry->submap + 1, maker->submaps->len - 1);
  for (guint i = 0; i < 36; i++)
    covariance[i] = entry->has_pose && maker->covariances
                        ? (1 - entry->part) * maker->covariances[36 * here + i] +
                              entry->part * maker->covariances[36 * there + i]
                        : 0;
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
  scans[0] = ndt_map_maker_get_key (maker, ndt_map_maker_get_submap (maker, a)->first_key)->scan;
  scans[1] = ndt_map_maker_get_key (maker, ndt_map_maker_get_submap (maker, b)->first_key)->scan;
}

const gchar *
ndt_closure_verdict_to_string (NdtClosureVerdict verdict)
{
  static const gchar *const names[] = {
      "accepted", "misfit", "too-far", "ambiguous", "unconfirmed", "disagrees"};
  return names[verdict];
}
