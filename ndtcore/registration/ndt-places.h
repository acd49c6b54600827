/* SPDX-License-Identifier: MIT */
/* Selection of the place where a scan fits best, of several candidates, and of the second best.
 * Private to the searches. */
#pragma once

#include "ndt-registration.h"

G_BEGIN_DECLS

#define NDT_PLACES_MOST_STARTS 64

/* Returns TRUE where the pose is within the searched region. */
typedef gboolean (*NdtPlacesWithin) (const NdtPose *sensor, gconstpointer data);

/* NVTL times matched ratio. In the score a point would count once for each voxel around it. */
double ndt_places_quality (const NdtAlignResult *result);

/**
 * ndt_places_choose:
 * @picked: poses of the sensor to align a sample of the scan from
 * @n_picked: 1 to %NDT_PLACES_MOST_STARTS
 * @is_within: (nullable): places outside are not compared
 * @best: (out): the alignment of the whole scan with the highest quality; of quality 0 where no
 *   point has a voxel anywhere
 * @runner_up: (out): as of ndt_initial_pose_search()
 * @is_ambiguous: (out): see NdtRegistration
 * @evaluations: (inout): the passes over the scan or a sample of it are added
 *
 * Overwrites the scan of NDT_SEARCH_SLOT.
 */
gboolean ndt_places_choose (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *picked, guint n_picked, NdtPlacesWithin is_within, gconstpointer data,
    NdtAlignResult *best, double *runner_up, gboolean *is_ambiguous, guint32 *evaluations,
    GError **error);

G_END_DECLS
