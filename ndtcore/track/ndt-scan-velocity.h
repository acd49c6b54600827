/* SPDX-License-Identifier: MIT */
/* The velocity that a scan tells by itself. */
#pragma once

#include "ndt-course.h"
#include "ndt-moving-scan.h"

G_BEGIN_DECLS

/**
 * ndt_scan_velocity:
 * @scan: has its scan
 * @backend: whose NDT_SEARCH_SLOT is used
 * @params: of alignments
 * @filter: of the scan
 * @mount: the sensor in the body frame
 * @course: of the scan, without a velocity; (inout): takes it where one is found, with no
 *   acceleration
 * @sensor: where the sensor is about in the scan's middle; (inout): with a velocity, where it is
 *   then
 *
 * Looks for the pose and the velocity by which the scan fits the map best, without any prediction.
 * The points are dealt by their times into parts that may each be moved against the others.
 *
 * Returns: FALSE where the backend failed
 */
gboolean ndt_scan_velocity (NdtMovingScan *scan, NdtBackend *backend, const NdtAlignParams *params,
    const NdtScanFilter *filter, const NdtPose *mount, NdtCourse *course, NdtPose *sensor,
    GError **error);

G_END_DECLS
