/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndt-voxel-map.h"

G_BEGIN_DECLS

/* The objective in plain C and double precision, from the map's details: the slow reference that
 * the backends, and numbers of other programs, are compared with. */

typedef struct {
  guint32 point;
  guint32 voxel;
} NdtPair;

/**
 * ndt_reference_pairs:
 * @map: any map
 * @xyz: packed float points in the map frame, near enough to its origin for floats
 * @n_points: number of points
 * @neighbours: the rule
 *
 * Pairs of points and voxels of the finest level by distances in float at map coordinates, which is
 * how PCL, ndt_omp and Autoware decide.
 *
 * Returns: (transfer full): array of NdtPair, ordered by point
 */
GArray *ndt_reference_pairs (
    const NdtVoxelMap *map, const float *xyz, gsize n_points, NdtNeighbours neighbours);

/**
 * ndt_reference_sums:
 * @map: with details
 * @pairs: of NdtPair; those of a point are adjacent
 * @xyz: points in the map frame, metres, packed
 * @arms: R x of each point: its position less the pose's; packed
 * @outlier_ratio: (0, 1)
 *
 * Score, gradient and Hessian over given pairs, in double.
 */
void ndt_reference_sums (const NdtVoxelMap *map, const GArray *pairs, const double *xyz,
    const double *arms, double outlier_ratio, NdtSums *sums);

G_END_DECLS
