/* SPDX-License-Identifier: MIT */
/* What the files of the map maker share. */
#pragma once

#include "ndt-map-maker.h"

G_BEGIN_DECLS

/* A part of the drive; its pose is its first key's. */
typedef struct {
  guint first_key;
  guint n_keys;
  double way;        /* metres of drive to its first key */
  double closed_way; /* @way of the last submap up to this one that a closure holds */
} NdtSubmap;

typedef struct {
  gboolean has_pose;
  NdtPose odometry; /* of the body */
  guint submap;
  double part; /* of the way to the next submap's first key, 0 to 1 */
} NdtMapScan;

/* A key's pose from elsewhere. */
typedef struct {
  guint key;
  guint submap;
  NdtPose pose;
  double sigma;
  double sigma_up;
  double sigma_turn;
} NdtGiven;

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
  GArray *fixes;       /* of NdtPoseEdge: @b is the submap, @between its pose */
  NdtPose *nodes;      /* of submaps, as optimized */
  double *covariances; /* of nodes, 36 each */
  double way;
  NdtPose last; /* of the sensor */
  gboolean has_last;
  gboolean is_settled; /* its state can be saved */
  const GArray *known; /* (nullable): closures that another run tried */
  void (*tried) (const NdtClosure *closure, gpointer data);
  gpointer tried_data;
};

static inline NdtKeyScan *
ndt_map_maker_get_key (const NdtMapMaker *maker, guint i)
{
  return &g_array_index (maker->keys, NdtKeyScan, i);
}

static inline NdtSubmap *
ndt_map_maker_get_submap (const NdtMapMaker *maker, guint i)
{
  return &g_array_index (maker->submaps, NdtSubmap, i);
}

/* The optimized pose of a key: its submap's, and odometry from there. */
NdtPose ndt_map_maker_get_key_pose (const NdtMapMaker *maker, guint submap, guint key);
/* Moves the nodes to where they agree best with edges, fixes and accepted closures. */
gboolean ndt_map_maker_optimize (NdtMapMaker *maker, GError **error);
/* After the last one: sets the covariances of the nodes. */
gboolean ndt_map_maker_find_covariances (NdtMapMaker *maker, GError **error);
gboolean ndt_map_maker_find_closures (
    NdtMapMaker *maker, void (*progress) (guint, guint, gpointer), gpointer data, GError **error);

G_END_DECLS
