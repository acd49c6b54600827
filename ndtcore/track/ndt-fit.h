/* SPDX-License-Identifier: MIT */
/* The fit of a scan, as a fraction of the value expected on its map. docs/tracking-figures.md has
 * the measurements. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * ndt_fit_expected:
 * @outlier_ratio: ρ of the objective
 * @resolution: of the map's cells, metres
 * @share: of the map's points, those that lie in voxels, 0 to 1
 * @density: points of a voxel, mean, 6 or more
 *
 * Expected NVTL × matched ratio of a scan at its true pose, as a fraction of the largest NVTL:
 * @share √(g g∞). g∞ = (1 + d2)^(−3/2) is the mean term of points drawn from a voxel's own
 * distribution; g is that where the distribution was estimated from @density points, whose squared
 * Mahalanobis distance has Hotelling's distribution. A point takes the best of its voxels and so
 * lies between the two.
 *
 * Returns: 0 where there is no map
 */
double ndt_fit_expected (double outlier_ratio, double resolution, double share, double density);

/* Cache: @expected and the arguments that it was computed from. */
typedef struct {
  double outlier_ratio;
  double resolution;
  double share;
  double density;
  double expected;
} NdtFitModel;

void ndt_fit_model_set (
    NdtFitModel *model, double outlier_ratio, double resolution, double share, double density);

G_END_DECLS
