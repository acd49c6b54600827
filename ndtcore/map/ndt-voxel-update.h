/* SPDX-License-Identifier: MIT */
/* Levels of a map whose regions change, from those of the build before. Private to ndtcore/map. */
#pragma once

#include "ndt-cell-region.h"
#include "ndt-voxel-map.h"

G_BEGIN_DECLS

/**
 * NdtVoxelUpdate:
 *
 * The sorted cells of a builder's regions and their voxels, of all levels, as of the last build. A
 * build computes the cells of regions that are new, and those that lie in regions that are new or
 * gone: the results have the bits of ndt_voxel_levels_build().
 */
typedef struct _NdtVoxelUpdate NdtVoxelUpdate;

NdtVoxelUpdate *ndt_voxel_update_new (void);
void ndt_voxel_update_free (NdtVoxelUpdate *update);
/* A region will be freed, or its cells have changed. */
void ndt_voxel_update_drop (NdtVoxelUpdate *update, NdtCellRegion *region);
/* As ndt_voxel_levels_build(), without details. @first: the same while there are regions. FALSE:
 * there is not the memory; the next build begins anew. */
gboolean ndt_voxel_update_build (NdtVoxelUpdate *update, const NdtVoxelMapParams *params,
    const GPtrArray *regions, const gint64 first[3], NdtVoxelLevel levels[NDT_MAX_LEVELS]);
gsize ndt_voxel_update_get_bytes (const NdtVoxelUpdate *update);

G_END_DECLS
