/* SPDX-License-Identifier: MIT */
/* What several drives through a map agree to be different there. */
#pragma once

#include "ndt-map-maker.h"

G_BEGIN_DECLS

/**
 * NdtMapChangeParams:
 * @agree: drives that have to see a change, at least; none may see the contrary
 * @max_range: metres around a sensor that are judged
 * @min_points: of a change; what has fewer is none
 */
typedef struct {
  guint agree;
  double max_range;
  guint min_points;
} NdtMapChangeParams;

#define NDT_MAP_CHANGE_PARAMS_DEFAULT                                                              \
  {                                                                                                \
    2, 40, 20                                                                                      \
  }

/* Drives that can be compared, at most. */
#define NDT_MAP_CHANGE_MAX_DRIVES 64

/* Points that hang together, at most half a metre from one another. */
typedef struct {
  gboolean is_added; /* else gone */
  guint n_points;
  double min[3];
  double max[3];
} NdtMapChange;

/**
 * NdtMapChanges:
 * @changes: of NdtMapChange, gone ones first, larger ones first
 * @gone: of guint32: points of the map that are in one
 * @added: of three doubles a point, of the map's frame: one for each cell of 0.25 m
 * @n_judged: points of the map that at least so many drives as have to agree say something about
 */
typedef struct {
  GArray *changes;
  GArray *gone;
  GArray *added;
  gsize n_judged;
} NdtMapChanges;

void ndt_map_changes_clear (NdtMapChanges *changes);

/**
 * ndt_map_find_changes:
 * @xyz: @n points of the map, packed
 * @drives: of GArray of NdtKeyScan, whose @sensor is its pose in the map
 * @changes: (out): to be cleared
 *
 * Gone is what drives see through, added is what they see where the map has nothing: farther from
 * its points than a quarter of a metre, and from the surfaces that these lie on. Traffic is
 * neither, since other drives, or other scans of the same one, see through it. Changes within half
 * a metre and 3 % of the range of something that stays are not seen.
 */
gboolean ndt_map_find_changes (const double *xyz, gsize n, const GPtrArray *drives,
    const NdtMapChangeParams *params, NdtMapChanges *changes, GError **error);

G_END_DECLS
