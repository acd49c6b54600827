/* SPDX-License-Identifier: MIT */
/* Distance of single points from a map, and the share of a scan that is beside it. */
#pragma once

#include "ndt-voxel-map.h"
#include "ndtcore/math/ndt-pose.h"

G_BEGIN_DECLS

/**
 * ndt_residual_of_point:
 * @level: of a map
 * @p: a point in the map frame, metres
 *
 * The Mahalanobis distance of the point to the distribution of the voxel of its cell and, where
 * that is more than 1 or there is none, the least of this and those of the six cells that share a
 * face with it.
 *
 * Returns: in standard deviations; %INFINITY where none of the cells has a voxel or @p is not
 * finite
 */
double ndt_residual_of_point (const NdtVoxelLevel *level, const double p[3]);

/**
 * ndt_residual_off_map:
 * @map: in the host's memory
 * @xyz: packed points of a thinned scan
 * @n: of these
 * @pose: of their frame in the map
 *
 * The share of the points 2 to 60 m away that are more than three standard deviations from their
 * voxel, and from those beside it, beyond the share of the map's own points that lie in no voxel:
 * of the level by which scans are compared with it, ndt_voxel_map_get_fit_level().
 * In place it is next to 0; a scan that fits a place that only looks like its own has 0.03 and
 * more.
 */
double ndt_residual_off_map (
    const NdtVoxelMap *map, const float *xyz, guint n, const NdtPose *pose);

G_END_DECLS
