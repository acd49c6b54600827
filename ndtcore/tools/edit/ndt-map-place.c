/* SPDX-License-Identifier: MIT */
#include "ndt-map-place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndtcore/mapping/ndt-pose-graph.h"
#include "ndtcore/math/ndt-pose.h"
#include "ndtcore/registration/ndt-registration.h"
#include "ndtcore/tools/ndt-point-set.h"

/* Edge of the squares that places are chosen by, and how far they reach, metres. */
#define SQUARE 20.0
#define REACH 30.0
/* Edge of the cubes that their points are thinned to. */
#define LEAF 0.4
/* A place is seen from so high above the ground, metres. */
#define EYE 1.8
#define MAX_PLACES 16
/* Share of a place's points that lie on the map, at least: half of it overlaps. */
#define LEAST_MATCHED 0.5
/* Places agree to this, metres and rad … */
#define AGREE 0.3
#define AGREE_TURN 0.01
/* … and so many of them are needed. */
#define LEAST_PLACES 3

typedef struct {
  NdtPose at;        /* in the other map */
  NdtPose in_map;    /* as it was aligned */
  NdtPose transform; /* that this makes */
  gboolean is_found;
  gboolean agrees;
} Place;

typedef struct {
  gint64 key;
  guint n;
  double sum[2];
  double lowest;
} Square;

static gint
compare_squares (gconstpointer a, gconstpointer b)
{
  const Square *x = a, *y = b;
  if (x->n != y->n)
    return x->n < y->n ? 1 : -1;
  return (x->key > y->key) - (x->key < y->key);
}

/* The squares with points, those with most first. */
static GArray *
make_squares (const double *xyz, gsize n)
{
  g_autoptr (GHashTable) index = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  GArray *squares = g_array_new (FALSE, FALSE, sizeof (Square));
  for (gsize i = 0; i < n; i++) {
    const double *p = xyz + 3 * i;
    const guint64 column = (guint64)(gint64)floor (p[0] / SQUARE);
    const guint64 row = (guint64)(gint64)floor (p[1] / SQUARE);
    const gint64 key = (gint64)(column << 32 | (row & 0xffffffff));
    guint at = GPOINTER_TO_UINT (g_hash_table_lookup (index, &key));
    if (at == 0) {
      const Square square = {.key = key, .lowest = INFINITY};
      g_array_append_val (squares, square);
      at = squares->len;
      g_hash_table_insert (index, g_memdup2 (&key, sizeof key), GUINT_TO_POINTER (at));
    }
    Square *square = &g_array_index (squares, Square, at - 1);
    square->n++;
    square->sum[0] += p[0];
    square->sum[1] += p[1];
    square->lowest = MIN (square->lowest, p[2]);
  }
  g_array_sort (squares, compare_squares);
  return squares;
}

/* Dense squares that are apart from one another. */
static GArray *
choose_places (const double *xyz, gsize n)
{
  g_autoptr (GArray) squares = make_squares (xyz, n);
  GArray *places = g_array_new (FALSE, FALSE, sizeof (Place));
  for (guint i = 0; i < squares->len && places->len < MAX_PLACES; i++) {
    const Square *square = &g_array_index (squares, Square, i);
    Place place = {.at = NDT_POSE_IDENTITY};
    gboolean is_apart = TRUE;
    place.at.position[0] = square->sum[0] / square->n;
    place.at.position[1] = square->sum[1] / square->n;
    place.at.position[2] = square->lowest + EYE;
    for (guint k = 0; k < places->len; k++) {
      const double *other = g_array_index (places, Place, k).at.position;
      is_apart = is_apart &&
                 hypot (place.at.position[0] - other[0], place.at.position[1] - other[1]) >= SQUARE;
    }
    if (is_apart)
      g_array_append_val (places, place);
  }
  return places;
}

/* What lies around a place, as seen from it, becomes the backend's scan. */
static gboolean
set_scan (NdtBackend *backend, const double *xyz, gsize n, const Place *place, GError **error)
{
  static const NdtScanFilter all = NDT_SCAN_FILTER_NONE;
  g_autoptr (NdtPointSet) set = ndt_point_set_new (LEAF);
  for (gsize i = 0; i < n; i++) {
    double p[3];
    for (guint k = 0; k < 3; k++)
      p[k] = xyz[3 * i + k] - place->at.position[k];
    if (hypot (p[0], p[1]) <= REACH && !ndt_point_set_add (set, p, error))
      return FALSE;
  }
  const gsize m = ndt_point_set_get_n_points (set);
  g_autofree float *points = g_new (float, 3 * m + 1);
  for (gsize i = 0; i < m; i++) {
    double p[3];
    ndt_point_set_get (set, i, p);
    for (guint k = 0; k < 3; k++)
      points[3 * i + k] = (float)p[k];
  }
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (points, m);
  return ndt_backend_set_scan (backend, 0, &view, &all, error);
}

static gboolean
align (NdtBackend *backend, Place *place, const NdtPose *guess, GError **error)
{
  NdtRegistrationParams params;
  NdtRegistration found;
  ndt_registration_params_init (&params);
  if (guess) {
    NdtPose from;
    ndt_pose_compose (guess, &place->at, &from);
    if (!ndt_register (backend, 0, &params, NDT_SEARCH_FAR, &from, 1, &found, error))
      return FALSE;
  } else if (!ndt_register_anywhere (backend, 0, &params, &found, error)) {
    return FALSE;
  }
  NdtPose inverse;
  ndt_pose_invert (&place->at, &inverse);
  place->in_map = found.pose;
  ndt_pose_compose (&found.pose, &inverse, &place->transform);
  place->is_found = found.n_pairs > 0 && found.stop != NDT_STOP_NOT_FINITE &&
                    found.matched_ratio >= LEAST_MATCHED && (guess || !found.is_ambiguous);
  return TRUE;
}

/* Is a place where @transform puts it? */
static gboolean
is_at (const Place *place, const NdtPose *transform, double *metres, double *radians)
{
  NdtPose there;
  ndt_pose_compose (transform, &place->at, &there);
  ndt_pose_difference (&there, &place->in_map, metres, radians);
  return *metres <= AGREE && *radians <= AGREE_TURN;
}

/* The place whose transform most others agree with. */
static const Place *
find_consensus (GArray *places, NdtMapPlacing *out)
{
  const Place *best = NULL;
  double metres, radians;
  for (guint i = 0; i < places->len; i++) {
    const Place *place = &g_array_index (places, Place, i);
    guint n = 0;
    out->n_found += place->is_found;
    for (guint k = 0; place->is_found && k < places->len; k++) {
      const Place *other = &g_array_index (places, Place, k);
      n += other->is_found && is_at (other, &place->transform, &metres, &radians);
    }
    if (n > out->n_agree) {
      out->n_agree = n;
      best = place;
    }
  }
  return best;
}

/* The transform that all places that agree are nearest to: node 1 of a graph whose other nodes are
 * these places. */
static gboolean
average (GArray *places, NdtMapPlacing *out, GError **error)
{
  NdtPose nodes[MAX_PLACES + 2] = {NDT_POSE_IDENTITY, out->transform};
  NdtPoseEdge edges[2 * MAX_PLACES + 1] = {{.a = 0,
      .b = 1,
      .between = out->transform,
      .sigma = 1e3, /* as good as none */
      .sigma_turn = 1e3}};
  guint n_nodes = 2, n_edges = 1;
  for (guint i = 0; i < places->len; i++) {
    const Place *place = &g_array_index (places, Place, i);
    if (!place->agrees)
      continue;
    ndt_pose_compose (&out->transform, &place->at, &nodes[n_nodes]);
    edges[n_edges++] = (NdtPoseEdge){
        .a = 0, .b = n_nodes, .between = place->in_map, .sigma = 0.03, .sigma_turn = 0.001};
    edges[n_edges++] = (NdtPoseEdge){
        .a = 1, .b = n_nodes, .between = place->at, .sigma = 1e-4, .sigma_turn = 1e-6};
    n_nodes++;
  }
  if (!ndt_pose_graph_optimize (nodes, n_nodes, edges, n_edges, error))
    return FALSE;
  out->transform = nodes[1];
  for (guint i = 0; i < places->len; i++) {
    double metres, radians;
    const Place *place = &g_array_index (places, Place, i);
    if (!place->agrees)
      continue;
    is_at (place, &out->transform, &metres, &radians);
    out->residual = MAX (out->residual, metres);
    out->residual_turn = MAX (out->residual_turn, radians);
  }
  return TRUE;
}

gboolean
ndt_map_place (NdtBackend *backend, const double *xyz, gsize n, const NdtPose *guess,
    NdtMapPlacing *out, GError **error)
{
  g_autoptr (GArray) places = choose_places (xyz, n);
  memset (out, 0, sizeof (*out));
  out->n_places = places->len;
  for (guint i = 0; i < places->len; i++) {
    Place *place = &g_array_index (places, Place, i);
    if (!set_scan (backend, xyz, n, place, error) || !align (backend, place, guess, error))
      return FALSE;
  }
  const Place *best = find_consensus (places, out);
  if (!best || out->n_agree < LEAST_PLACES || 2 * out->n_agree <= out->n_found) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "the maps cannot be joined: of %u places %u fit on the other map, and %u of these agree on "
        "where it lies (three have to, and more than half): do they overlap? --transform says "
        "about "
        "where",
        out->n_places, out->n_found, out->n_agree);
    return FALSE;
  }
  out->transform = best->transform;
  for (guint i = 0; i < places->len; i++) {
    double metres, radians;
    Place *place = &g_array_index (places, Place, i);
    place->agrees = place->is_found && is_at (place, &out->transform, &metres, &radians);
  }
  return average (places, out, error);
}
