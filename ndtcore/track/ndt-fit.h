/* SPDX-License-Identifier: MIT */
/* The fit of a scan, as a fraction of the value expected on its map. docs/tracking-figures.md has
 * the measurements. */
#pragma once

#include "ndtcore/registration/ndt-registration.h"

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

/**
 * ndt_fit_measure:
 * @backend: with the scan in @slot
 * @params: of the alignment
 * @registration: of that scan, @pose of the sensor
 *
 * Sets the numbers that the fit is computed from (@fit_nvtl, @fit_max_nvtl, @fit_matched_ratio).
 * On a map that is sparse for its cells they are those of a coarser level
 * (ndt_backend_get_fit_level()), for which the scan is evaluated once more, which is counted in
 * @passes.
 *
 * Returns: FALSE with the error of the evaluation
 */
gboolean ndt_fit_measure (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    NdtRegistration *registration, GError **error);

/* Cache: @expected and the arguments that it was computed from. */
typedef struct {
  double outlier_ratio;
  double resolution;
  double share;
  double density;
  double expected;
} NdtFitModel;

/* For the map of the backend. */
void ndt_fit_model_set (NdtFitModel *model, const NdtBackend *backend, double outlier_ratio);
/* Fit of a registration that was measured; 0 where nothing is expected. */
double ndt_fit_of (const NdtFitModel *model, const NdtRegistration *registration);

G_END_DECLS
