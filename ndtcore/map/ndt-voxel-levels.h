/* SPDX-License-Identifier: MIT */
/* From the sums of cells to the levels of a map. Private to ndtcore/map. */
#pragma once

#include "ndt-voxel-map.h"

G_BEGIN_DECLS

/* All levels of the map of some regions (of NdtCellRegion, ordered by id), whose cells are relative
 * to the cell @first. FALSE without the memory for them; what there is of them is the caller's to
 * clear. */
gboolean ndt_voxel_levels_build (const NdtVoxelMapParams *params, const GPtrArray *regions,
    const gint64 first[3], NdtVoxelLevel levels[NDT_MAX_LEVELS]);
/* Frees what the level has. */
void ndt_voxel_level_clear (NdtVoxelLevel *level);

G_END_DECLS
