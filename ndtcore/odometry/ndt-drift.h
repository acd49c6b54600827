/* SPDX-License-Identifier: MIT */
/* Variance of the position from scan to scan, by direction: it grows along directions that scans
 * leave open, and shrinks along those that they determine. */
#pragma once

#include "ndtcore/align/ndt-observability.h"

/* Errors of points of one surface are correlated: variances are this many times those of
 * independent points. Measured on KITTI and BALM (docs/tracking-figures.md). */
#define NDT_DRIFT_CLUSTERING 8.0

/**
 * NdtDrift:
 * @position: 3×3 variance of the position, m², in the map
 * @velocity: 3×3 variance of the velocity, m²/s²
 * @cross: 3×3 covariance of both, m²/s, along axes on which a prior leads; elsewhere 0: it is not
 *   known, and a prediction takes them for correlated fully
 */
typedef struct {
  double position[3][3];
  double velocity[3][3];
  double cross[3][3];
} NdtDrift;

/**
 * NdtDriftStep:
 * @seconds: since the scan before
 * @by_odometry: the prediction is by odometry, and otherwise by constant velocity
 * @way: metres from the scan before to the prediction
 * @prior: 3×3 information on the position, 1/m², of a prior that is part of the objective; 0: none
 * @is_led: motion and that prior lead along open axes of which it tells something
 *   (ndt_drift_is_led()): there the scan has little weight, and none as long as motion alone does
 *   not lead well
 * @is_filtered: and there the caller corrects the velocity of the scan before by
 *   ndt_drift_get_gain(); otherwise it is that from one position to the next
 * @open: an axis is open whose information is below this many times what flat surfaces feign, and
 *   the scan has no weight along it; 0: NDT_OBSERVABILITY_OPEN, and it has little
 * @profile_axis: index of the axis of @profile_information …
 * @profile_information: 1/m², of the score over two cells along that axis (NdtProfile): used where
 *   the axis is open, and that of the alignment is not; 0: none …
 * @profile_at: … metres along the axis from the alignment to the place that it tells
 *
 * The step from the scan before to the prediction of this one.
 */
typedef struct {
  double seconds;
  int by_odometry;
  double way;
  double prior[3][3];
  int is_led;
  int is_filtered;
  double open;
  int profile_axis;
  double profile_information;
  double profile_at;
} NdtDriftStep;

/* Sets the standard deviation of the position along each axis, metres, and an unknown velocity. */
void ndt_drift_reset (NdtDrift *drift, double stddev);

/* A new place: adds @stddev, metres, to the standard deviation of the position, and makes the
 * velocity unknown. */
void ndt_drift_widen (NdtDrift *drift, double stddev);

/* Sets the prior's information to @told, 1/m², of a standard deviation of at least @least metres
 * along each direction. */
void ndt_drift_set_prior (NdtDriftStep *step, const double told[3][3], double least);

/* Variance of the prediction along a unit vector, m². */
double ndt_drift_predict (const NdtDrift *drift, const NdtDriftStep *step, const double u[3]);

/* Returns 1 where motion and the prior lead along a unit vector, if it is open. */
int ndt_drift_is_led (const NdtDrift *drift, const NdtDriftStep *step, const double u[3]);

/* Metres a second by which the velocity along a unit vector changes for each metre that the scan's
 * pose is off the prediction: as of a Kalman filter, where they are not known to be correlated of
 * one in which they are not. */
double ndt_drift_get_gain (const NdtDrift *drift, const NdtDriftStep *step, const double u[3]);

/* Adds a scan. @shift: (inout): from the prediction to the alignment, metres in the map; it is
 * weighted with the scan's information along open axes, and unchanged, to the bit, where none is
 * open. Returns the largest standard deviation of the position, metres, and its @axis. */
double ndt_drift_take (NdtDrift *drift, const NdtDriftStep *step, const NdtObservability *seen,
    double shift[3], double axis[3]);
/* Adds a step without an alignment; directions stay correlated as they were. Returns the largest
 * standard deviation along an axis of the map. */
double ndt_drift_skip (NdtDrift *drift, const NdtDriftStep *step);
/* The body may also be @apart from where it is said to be, metres in the map: adds the second
 * moment of that, the covariance of a mixture of both. */
void ndt_drift_spread (NdtDrift *drift, const double apart[3]);
/* Two predictions for a step of so many @seconds that contradict each other, @apart in metres: the
 * position is that of a mixture of both, and so is the velocity. */
void ndt_drift_contradict (NdtDrift *drift, const double apart[3], double seconds);
/* The largest standard deviation of the position, metres, and its @axis. */
double ndt_drift_get_sigma (const NdtDrift *drift, double axis[3]);
