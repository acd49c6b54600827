/* SPDX-License-Identifier: MIT */
/* The map around a vehicle, built while it drives: points are added scan by scan, and distant cells
 * are dropped. */
#pragma once

#include <glib.h>

#include "ndt-voxel-map.h"
#include "ndtcore/base/ndt-saved.h"

G_BEGIN_DECLS

/**
 * NdtRollingMap:
 *
 * Sums of points by cell, from which maps are made. From one map to the next, only voxels of cells
 * that gained a tenth of their points are recomputed. The same calls give the same bits. Not
 * thread-safe.
 */
typedef struct _NdtRollingMap NdtRollingMap;

/* @params: keep_details is not read. @max_points: above this number of points a cell's sums are
 *   halved, so that recent points have more weight; at least 2 × min_points. NULL with
 *   %NDT_ERROR_INVALID_ARGUMENT. */
NdtRollingMap *ndt_rolling_map_new (
    const NdtVoxelMapParams *params, guint max_points, GError **error);
void ndt_rolling_map_free (NdtRollingMap *map);
void ndt_rolling_map_clear (NdtRollingMap *map);
/* Adds points, transformed into the map by @pose. Points that are not finite, or 2^20 cells or more
 * from the map's first one, are dropped. FALSE with %NDT_ERROR_NO_MEMORY; the points before the
 * failure are in the map. */
gboolean ndt_rolling_map_add (
    NdtRollingMap *map, const NdtCloudView *points, const NdtPose *pose, GError **error);
/* Drops blocks of 4×4×4 cells whose middle is farther than @radius metres from @centre. */
void ndt_rolling_map_trim (NdtRollingMap *map, const double centre[3], double radius);
guint ndt_rolling_map_get_n_cells (const NdtRollingMap *map);
/* (transfer full): a map of @n_levels, at most those of the params; coarser levels are recomputed
 * from all cells each time, which takes several times as long. NULL with %NDT_ERROR_EMPTY_MAP
 * without a voxel, or %NDT_ERROR_NO_MEMORY. */
NdtVoxelMap *ndt_rolling_map_build (NdtRollingMap *map, guint n_levels, GError **error);
/* All that later calls depend on, for the same build. Restoring into a map of the same parameters
 * gives the bits that the saved one would have given; FALSE, and the map is empty, where the bytes
 * are none of such a map. */
void ndt_rolling_map_save (const NdtRollingMap *map, GByteArray *out);
gboolean ndt_rolling_map_restore (NdtRollingMap *map, NdtSaved *saved);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtRollingMap, ndt_rolling_map_free)

G_END_DECLS
