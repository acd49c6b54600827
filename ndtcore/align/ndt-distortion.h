/* SPDX-License-Identifier: MIT */
/* Whether a scan fits a map better with its motion compensated or as it is. */
#pragma once

#include "ndt-registration.h"

G_BEGIN_DECLS

/**
 * NdtDistortion:
 * @as_it_is: score of the scan as it is, per point …
 * @moved: … and as seen from one instant
 *
 * Both after an alignment of their own.
 */
typedef struct {
  double as_it_is;
  double moved;
} NdtDistortion;

/**
 * ndt_distortion_measure:
 * @backend: whose NDT_SEARCH_SLOT is used
 * @params: of the alignments
 * @filter: of the scan
 * @points: the scan
 * @times: of its points, seconds from any instant on
 * @motion: of the sensor during the scan
 * @sensor: where the sensor is at @motion's reference, in the map
 * @out: (out): what was found
 *
 * Returns: FALSE where the backend failed, or with %NDT_ERROR_NO_MEMORY
 */
gboolean ndt_distortion_measure (NdtBackend *backend, const NdtRegistrationParams *params,
    const NdtScanFilter *filter, const NdtCloudView *points, const NdtTimeView *times,
    const NdtScanMotion *motion, const NdtPose *sensor, NdtDistortion *out, GError **error);

G_END_DECLS
