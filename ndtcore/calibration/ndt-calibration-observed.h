/* SPDX-License-Identifier: MIT */
/* The result of a calibration, and what a drive says about each parameter. */
#pragma once

#include "ndtcore/math/ndt-pose-curve.h"

G_BEGIN_DECLS

/* Parameters: position along the body's axes (m), rotation about these (rad), and the time offset
 * (s). */
#define NDT_CALIBRATION_N 7

/* What the drive says about a parameter, by its standard deviation. */
typedef enum {
  NDT_OBSERVED,        /* at most NDT_CALIBRATION_METRES and so on */
  NDT_OBSERVED_WEAKLY, /* at most ten times as much */
  NDT_NOT_OBSERVED
} NdtObserved;

/* Standard deviations up to which a parameter is observed: m, rad, s. */
#define NDT_CALIBRATION_METRES 0.005
#define NDT_CALIBRATION_RADIANS 0.001
#define NDT_CALIBRATION_SECONDS 0.001

/**
 * NdtCalibrationResult:
 * @pose: of the sensor on the body
 * @time_offset: seconds by which the sensor's stamps are late: a point stamped t was measured at t
 * − time_offset
 * @covariance: row-major 7×7, in the order of the parameters: that of independent rows, and how far
 *   the result moves where parts of the drive, and of the directions around the sensor, are left
 *   out. Zero in the rows of a time that is not
 *   estimated; infinite on the diagonal of parameters about which nothing is known
 * @observed: of each parameter
 * @confused: the parameter that each is confused with most: a change of both leaves the residuals
 * as they are, or their correlation is above 0.95; −1: none
 * @n_rows: points on planes of the map
 * @n_points: points that were used
 * @sigma: of the residuals, metres, by their median
 * @rms_start: of the residuals at the start, among those within reach of a plane
 * @n_iterations: associations of points to planes
 * @is_converged: the last one moved nothing by more than a hundredth of what makes a parameter
 *   observed
 */
typedef struct {
  NdtPose pose;
  double time_offset;
  double covariance[NDT_CALIBRATION_N * NDT_CALIBRATION_N];
  NdtObserved observed[NDT_CALIBRATION_N];
  gint confused[NDT_CALIBRATION_N];
  gsize n_rows;
  gsize n_points;
  double sigma;
  double rms_start;
  guint n_iterations;
  gboolean is_converged;
} NdtCalibrationResult;

/* Sets covariance and confused by the packed matrix of the normal equations of the first @n
 * parameters, in units of the residuals' standard deviation. */
void ndt_calibration_invert (const double *normal, guint n, NdtCalibrationResult *result);
/* Sets observed, and confused where correlations show it, by the covariance. */
void ndt_calibration_judge (NdtCalibrationResult *result);

/* Names of the parameters: "x", …, "roll" …, "time offset". */
const gchar *ndt_calibration_parameter_name (guint parameter);

/* How the body moved: metres, the sum of turns in rad, and the least and greatest speed, m/s. */
typedef struct {
  double length;
  double turned;
  double slowest;
  double fastest;
} NdtCalibrationDrive;

void ndt_calibration_describe_drive (
    const NdtTimedPose *body, gsize n_body, NdtCalibrationDrive *drive);

/* A sentence: whether a parameter is observed, and why it is not: "time offset is not observed: the
 * body stands still". (transfer full). */
gchar *ndt_calibration_explain (
    const NdtCalibrationResult *result, guint parameter, const NdtCalibrationDrive *drive);

G_END_DECLS
