/* SPDX-License-Identifier: MIT */
/* The map around a vehicle that makes it as it drives: points come scan by scan, cells go that lie
 * behind. */
#pragma once

#include <glib.h>

#include "ndt-voxel-map.h"

G_BEGIN_DECLS

/**
 * NdtRollingMap:
 *
 * Sums of points by cell, from which maps are made. Between two of them only those cells' voxels
 * are computed anew that gained a tenth of their points. The same calls give the same bits. Not
 * thread-safe.
 */
typedef struct _NdtRollingMap NdtRollingMap;

/* @params: keep_details is not read. @max_points: above so many points a cell's sums are halved,
 * so that what came lately counts; at least 2 × min_points. NULL with %NDT_ERROR_INVALID_ARGUMENT.
 */
NdtRollingMap *ndt_rolling_map_new (
    const NdtVoxelMapParams *params, guint max_points, GError **error);
void ndt_rolling_map_free (NdtRollingMap *map);
void ndt_rolling_map_clear (NdtRollingMap *map);
/* Adds points as @pose moves them into the map. Those that are not finite are dropped, and those
 * that lie 2^20 cells or more from the map's first one. FALSE with %NDT_ERROR_NO_MEMORY, what came
 * before it being in. */
gboolean ndt_rolling_map_add (
    NdtRollingMap *map, const NdtCloudView *points, const NdtPose *pose, GError **error);
/* Drops blocks of 4×4×4 cells whose middle is farther than @radius metres from @centre. */
void ndt_rolling_map_trim (NdtRollingMap *map, const double centre[3], double radius);
guint ndt_rolling_map_get_n_cells (const NdtRollingMap *map);
/* (transfer full): a map of @n_levels, at most those of the params; coarser levels are made anew
 * from all cells each time, which takes some times as long. NULL with %NDT_ERROR_EMPTY_MAP without
 * a voxel, or %NDT_ERROR_NO_MEMORY. */
NdtVoxelMap *ndt_rolling_map_build (NdtRollingMap *map, guint n_levels, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtRollingMap, ndt_rolling_map_free)

G_END_DECLS
