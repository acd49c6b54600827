/* SPDX-License-Identifier: MIT */
/* Distance of single points from a map, for display. */
#pragma once

#include "ndt-voxel-map.h"

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

G_END_DECLS
