/* SPDX-License-Identifier: MIT */
/* Comparison of a scan's fit with and without motion compensation. */
#pragma once

#include "ndt-registration.h"

G_BEGIN_DECLS

/**
 * NdtDistortion:
 * @as_it_is: score per point of the scan without motion compensation …
 * @moved: … and with it
 *
 * Each after an alignment of its own.
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
 * @sensor: pose of the sensor in the map at @motion's reference
 * @out: (out): the scores
 *
 * Returns: FALSE where the backend failed, or with %NDT_ERROR_NO_MEMORY
 */
gboolean ndt_distortion_measure (NdtBackend *backend, const NdtRegistrationParams *params,
    const NdtScanFilter *filter, const NdtCloudView *points, const NdtTimeView *times,
    const NdtScanMotion *motion, const NdtPose *sensor, NdtDistortion *out, GError **error);

G_END_DECLS
