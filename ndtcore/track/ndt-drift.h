/* SPDX-License-Identifier: MIT */
/* How well a position is known from scan to scan, by direction: it grows with the way where scans
 * leave a direction open, and shrinks where they tell it. */
#pragma once

#include "ndtcore/align/ndt-observability.h"

/* Points of one surface err together: variances are this many times those of independent ones. Of
 * KITTI's and BALM's drives (docs/tracking.md). */
#define NDT_DRIFT_CLUSTERING 8.0

/**
 * NdtDrift:
 * @position: 3×3 variance of the position, m², in the map
 * @velocity: 3×3 variance of the velocity, m²/s²
 */
typedef struct {
  double position[3][3];
  double velocity[3][3];
} NdtDrift;

/**
 * NdtDriftStep:
 * @seconds: since the scan before
 * @by_odometry: odometry leads to the prediction; constant velocity otherwise
 * @way: metres from the scan before to the prediction
 * @prior_variance: of a prior that the prediction is, or that holds it, m²; 0: none
 *
 * What leads from the scan before to the prediction of this one.
 */
typedef struct {
  double seconds;
  int by_odometry;
  double way;
  double prior_variance;
} NdtDriftStep;

/* A position that is known to @stddev metres along each axis, and a velocity that is not. */
void ndt_drift_reset (NdtDrift *drift, double stddev);

/* A new place: what scans tell of it counts, and beyond that it is known worse than before by
 * @stddev metres. */
void ndt_drift_widen (NdtDrift *drift, double stddev);

/* Takes a scan. @shift: from the prediction to where it was aligned, metres in the map; (inout):
 * along open axes only as far as the scan tells more than the prediction, and the same bits where
 * none is open. Returns the largest standard deviation of the position, metres, and @axis that it
 * is along. */
double ndt_drift_take (NdtDrift *drift, const NdtDriftStep *step, const NdtObservability *seen,
    double shift[3], double axis[3]);
/* A scan that says nothing. Returns the largest standard deviation along an axis of the map. */
double ndt_drift_skip (NdtDrift *drift, const NdtDriftStep *step);
