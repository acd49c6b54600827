/* SPDX-License-Identifier: MIT */
/* Information of a scan about its position, by direction. */
#pragma once

#include "ndtcore/math/ndt-types.h"

/**
 * NdtObservability:
 * @axes: three orthogonal unit vectors in the map, rows
 * @information: along each, 1/m²: the curvature of the score there, the rotation being free
 * @flat: the part of it that is due to surfaces along the axis
 *
 * A flat surface does not determine the position along itself. A voxel's Gaussian has a curvature
 * along it nevertheless, as eigenvalues are raised to 0.01 of the largest: at most 1/100 of that
 * across, 1/102 of the trace; less where a point has several voxels of the surface, of which more
 * count the smaller d2 is. Only the excess over that is information.
 */
typedef struct {
  double axes[3][3];
  double information[3];
  double flat;
} NdtObservability;

/* An axis is open, that is, there are no surfaces across it, where its information is below this
 * many times @flat. docs/tracking.md has the values of towns, tunnels and recorded drives. */
#define NDT_OBSERVABILITY_OPEN 1.3

/* Axes that are open, 0 to 3. */
static inline int
ndt_observability_count_open (const NdtObservability *seen)
{
  int n = 0;
  for (int i = 0; i < 3; i++)
    n += seen->information[i] < NDT_OBSERVABILITY_OPEN * seen->flat;
  return n;
}

/* @sums: of the score at the pose; @d2: of the score (NdtGauss). */
void ndt_observability (const NdtSums *sums, double d2, NdtObservability *out);
/* The rotation, rad for each metre, that keeps the score highest where the position moves along
 * @axis. Returns 0 where the score does not determine one. */
int ndt_observability_turn (const NdtSums *sums, const double axis[3], double turn[3]);
