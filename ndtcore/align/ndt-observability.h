/* SPDX-License-Identifier: MIT */
/* What a scan tells of its position, by direction. */
#pragma once

#include "ndtcore/math/ndt-types.h"

/**
 * NdtObservability:
 * @axes: three orthogonal unit vectors in the map, rows
 * @information: along each, 1/m²: the curvature of the score there, the rotation being free
 * @flat: what each has of that from surfaces that lie along it
 *
 * A flat surface says nothing of the position along itself. A voxel's Gaussian ends with its cell
 * all the same, and feigns a curvature there: at most 1/100 of that across, since eigenvalues are
 * lifted to 0.01 of the largest, which makes 1/102 of the trace; less where a point meets several
 * voxels of the surface, the less the more of them their width, d2, lets count. Only what is above
 * that is information.
 */
typedef struct {
  double axes[3][3];
  double information[3];
  double flat;
} NdtObservability;

/* An axis is open, that is surfaces across it are missing, where its information is below this many
 * times @flat: docs/tracking.md has what towns, tunnels and recorded drives have. */
#define NDT_OBSERVABILITY_OPEN 1.3

/* @sums: of the score at the pose; @d2: of the objective. */
void ndt_observability (const NdtSums *sums, double d2, NdtObservability *out);
