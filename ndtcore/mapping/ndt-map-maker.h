/* SPDX-License-Identifier: MIT */
/* A map of a drive: odometry, closures where it comes by a place again, and poses that agree with
 * both. */
#pragma once

#include "ndt-pose-graph.h"
#include "ndtcore/odometry/ndt-odometry.h"

G_BEGIN_DECLS

/**
 * NdtMapMakerParams:
 * @odometry: of the drive
 * @key_step: metres between scans whose points are kept for the map …
 * @key_turn: … or rad
 * @submap: metres of the drive whose poses are one node of the graph
 * @drift: how far odometry may be off, as a fraction of the way: closures are looked for as far
 *   away as that; where there is none for a while, five times as far by a search of all that was
 *   driven before, and accepted where two submaps agree
 */
typedef struct {
  NdtOdometryParams odometry;
  double key_step;
  double key_turn;
  double submap;
  double drift;
} NdtMapMakerParams;

void ndt_map_maker_params_init (NdtMapMakerParams *params);

/* Why a closure was refused. */
typedef enum {
  NDT_CLOSURE_ACCEPTED,
  NDT_CLOSURE_MISFIT,      /* the scans do not fit there */
  NDT_CLOSURE_TOO_FAR,     /* they fit farther away than odometry may be off */
  NDT_CLOSURE_AMBIGUOUS,   /* they fit elsewhere as well, or leave a direction open */
  NDT_CLOSURE_UNCONFIRMED, /* found far from where odometry says, by this submap alone */
  NDT_CLOSURE_DISAGREES,   /* two scans of the place do not agree, or the graph does not with it */
} NdtClosureVerdict;

/* The edge, between submaps, and what became of it; of refused ones residuals are 0. */
typedef struct {
  NdtPoseEdge edge;
  NdtClosureVerdict verdict;
  double fit; /* of the worse of two scans, of what a scan of the old place has there */
} NdtClosure;

/* Scans between two states that can be saved. */
#define NDT_MAP_MAKER_SAVE_STEP 100

/* A scan that the map is made from: packed points, thinned and compensated, in the sensor's frame.
 */
typedef struct {
  float *points;
  guint n_points;
  guint scan; /* its number, the first one's being 0 */
  NdtPose odometry;
  NdtPose sensor; /* as optimized */
} NdtKeyScan;

/**
 * NdtMapMaker:
 *
 * Takes a drive scan by scan. Deterministic. Keeps the points of key scans in memory: about 0.1 MB
 * each.
 */
typedef struct _NdtMapMaker NdtMapMaker;

/* @backend: whose map it sets; its own while it works. */
NdtMapMaker *ndt_map_maker_new (
    NdtBackend *backend, const NdtMapMakerParams *params, GError **error);
void ndt_map_maker_free (NdtMapMaker *maker);
/* @result: (out): of the odometry. */
gboolean ndt_map_maker_add (
    NdtMapMaker *maker, const NdtOdometryScan *scan, NdtOdometryResult *result, GError **error);
/* The sensor's pose in the middle of the scan that was added last, from elsewhere (GNSS, a survey),
 * in a frame of its own, which becomes the map's. Of key scans they are used: the median of those
 * of a submap is a factor, which counts the less the farther it is off. @sigma: standard deviation
 * of its position, metres; @sigma_up: of its height; @sigma_turn: of its rotation, rad; INFINITY:
 * it has none. */
void ndt_map_maker_add_fix (
    NdtMapMaker *maker, const NdtPose *sensor, double sigma, double sigma_up, double sigma_turn);
/* Closures that an interrupted run tried, of NdtClosure, in its order: taken in place of trying
 * them again. @known: (nullable) (transfer none): valid until ndt_map_maker_close() returns.
 * @tried: called with each one that this run tries. */
void ndt_map_maker_set_known_closures (NdtMapMaker *maker, const GArray *known,
    void (*tried) (const NdtClosure *closure, gpointer data), gpointer data);
/* The drive so far, for the same build, without the points of key scans. FALSE where it cannot be
 * saved at this scan: it can every NDT_MAP_MAKER_SAVE_STEP scans, where there is a map. */
gboolean ndt_map_maker_save (const NdtMapMaker *maker, GByteArray *out);
/* Into a maker of the same parameters without a scan, which then goes on as the saved one. @points:
 * those of its key scans, three floats each, one scan after the other. FALSE with
 * %NDT_ERROR_FORMAT. */
gboolean ndt_map_maker_restore (
    NdtMapMaker *maker, NdtSaved *saved, NdtSaved *points, GError **error);
/* After the last scan, once: closures and poses. @progress: (nullable): called with how many of how
 * many submaps are done. */
gboolean ndt_map_maker_close (NdtMapMaker *maker,
    void (*progress) (guint done, guint all, gpointer data), gpointer data, GError **error);
guint ndt_map_maker_get_n_scans (const NdtMapMaker *maker);
/* The body's pose at a scan; FALSE where it has none, since scans before had no points. */
gboolean ndt_map_maker_get_pose (const NdtMapMaker *maker, guint scan, NdtPose *body);
/* Covariance of that pose: row-major 6×6: position (m²) then rotation (rad²) about the map's axes
 * through the pose, against the first submap or, with fixes, their frame. It is what the graph of
 * submaps says, interpolated between two. @covariance: zeros where the scan has no pose. */
void ndt_map_maker_get_covariance (const NdtMapMaker *maker, guint scan, double covariance[36]);
/* (transfer none): of NdtKeyScan. */
const GArray *ndt_map_maker_get_keys (const NdtMapMaker *maker);
/* (transfer none): of NdtClosure, tried in this order. */
const GArray *ndt_map_maker_get_closures (const NdtMapMaker *maker);
/* (transfer none): of NdtPoseEdge: from submap to submap. */
const GArray *ndt_map_maker_get_edges (const NdtMapMaker *maker);
/* (transfer none): of NdtPoseEdge, from the map's frame to submap @b. */
const GArray *ndt_map_maker_get_fixes (const NdtMapMaker *maker);
/* The scans that the poses of two submaps are of. */
void ndt_map_maker_get_submap_scans (const NdtMapMaker *maker, guint a, guint b, guint scans[2]);
const gchar *ndt_closure_verdict_to_string (NdtClosureVerdict verdict);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtMapMaker, ndt_map_maker_free)

G_END_DECLS
