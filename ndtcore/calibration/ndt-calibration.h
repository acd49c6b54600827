/* SPDX-License-Identifier: MIT */
/* Where a sensor is on the body, and how late its clock is, from a drive in a map. */
#pragma once

#include "ndt-calibration-observed.h"
#include "ndtcore/map/ndt-voxel-map.h"
#include "ndtcore/math/ndt-pose-curve.h"
#include "ndtcore/motion/ndt-deskew.h"

G_BEGIN_DECLS

/**
 * NdtCalibrationParams:
 * @estimate_time: the time offset is a parameter; otherwise it is 0
 * @points_per_scan: most points of a scan that are used, at least 100, every n-th
 * @min_range: nearer points are left out, metres
 * @max_range: farther ones, metres; 0: none
 * @n_threads: 0: one per processor that the process may use
 */
typedef struct {
  gboolean estimate_time;
  guint points_per_scan;
  double min_range;
  double max_range;
  guint n_threads;
} NdtCalibrationParams;

#define NDT_CALIBRATION_PARAMS_DEFAULT                                                             \
  {                                                                                                \
    TRUE, 1500, 1.0, 60.0, 0                                                                       \
  }

/**
 * NdtCalibration:
 *
 * The scans of one sensor, and what their points are matched with.
 */
typedef struct _NdtCalibration NdtCalibration;

/* @body: poses of the body in the map, in order of strictly increasing times; with @map they
 * outlive the calibration. */
NdtCalibration *ndt_calibration_new (
    NdtVoxelMap *map, const NdtTimedPose *body, gsize n_body, const NdtCalibrationParams *params);
void ndt_calibration_free (NdtCalibration *calibration);
/* Takes points of a scan. @time: its stamp by the sensor's clock; @times: (nullable): of the
 * points, seconds from @time on. */
void ndt_calibration_add_scan (
    NdtCalibration *calibration, gint64 time, const NdtCloudView *points, const NdtTimeView *times);
guint ndt_calibration_get_n_scans (const NdtCalibration *calibration);

/**
 * ndt_calibration_solve:
 * @start: of the sensor on the body: within some metres and some ten degrees, as of
 *   %NDT_SEARCH_FAR
 *
 * Registers some scans in the map from @start, and from the pose on which most of these agree
 * minimizes the distances of all points from the planes of the cells that they lie in, with a Tukey
 * kernel, over the pose and the time offset, until the cells stay.
 *
 * Returns: FALSE with %NDT_ERROR_FAILED where scans do not fit the map, or with an error of the
 *   backend
 */
gboolean ndt_calibration_solve (NdtCalibration *calibration, const NdtPose *start,
    NdtCalibrationResult *result, GError **error);

/**
 * ndt_calibration_get_residuals:
 * @residuals: (out) (transfer full): distances from planes, metres …
 * @times: (out) (transfer full): … and seconds from the body's first pose on
 *
 * Of the last ndt_calibration_solve(), for pictures.
 *
 * Returns: their number
 */
gsize ndt_calibration_get_residuals (
    const NdtCalibration *calibration, double **residuals, double **times);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtCalibration, ndt_calibration_free)

G_END_DECLS
