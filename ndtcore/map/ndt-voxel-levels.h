/* SPDX-License-Identifier: MIT */
/* Levels of a map from the sums of cells. Private to ndtcore/map. */
#pragma once

#include "ndt-voxel-map.h"

G_BEGIN_DECLS

/* Makes all levels of the map of @regions (element-type NdtCellRegion, ordered by id), whose cells
 * are relative to the cell @first. FALSE where there is not the memory; the caller clears the
 * partial levels. */
gboolean ndt_voxel_levels_build (const NdtVoxelMapParams *params, const GPtrArray *regions,
    const gint64 first[3], NdtVoxelLevel levels[NDT_MAX_LEVELS]);
/* Makes the hash table of a level from its voxels. FALSE where there is not the memory. */
gboolean ndt_voxel_level_build_blocks (NdtVoxelLevel *level);
/* Frees the arrays of a level, not the level. */
void ndt_voxel_level_clear (NdtVoxelLevel *level);

G_END_DECLS
