/* SPDX-License-Identifier: MIT */
/* Estimate of the velocity from a single scan. */
#pragma once

#include "ndt-course.h"
#include "ndt-moving-scan.h"

G_BEGIN_DECLS

/**
 * ndt_scan_velocity:
 * @scan: with its scan set
 * @backend: whose NDT_SEARCH_SLOT is used
 * @params: of alignments
 * @filter: of the scan
 * @mount: the sensor in the body frame
 * @course: (inout): of the scan, without a velocity; receives it where one is found, without
 *   acceleration
 * @most_points: points that are evaluated at most; 0: no bound. Where it does not suffice no
 *   velocity is found, and the course is doubtful
 * @n_points: (inout): those that were evaluated are added
 * @sensor: (inout): approximate pose of the sensor in the scan's middle; refined where a velocity
 *   is found
 *
 * Estimates the pose and the velocity with which the scan fits the map best, without a prediction.
 * The points are divided by their times into parts that move relative to each other.
 *
 * Returns: FALSE where the backend failed
 */
gboolean ndt_scan_velocity (NdtMovingScan *scan, NdtBackend *backend, const NdtAlignParams *params,
    const NdtScanFilter *filter, const NdtPose *mount, guint64 most_points, guint64 *n_points,
    NdtCourse *course, NdtPose *sensor, GError **error);

G_END_DECLS
