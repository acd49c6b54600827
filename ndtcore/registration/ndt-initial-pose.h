/* SPDX-License-Identifier: MIT */
/* The search around a pose with an error of metres and perhaps without a yaw: docs/mathematics.md,
 * "Initial pose". Private to ndt_register_around(). */
#pragma once

#include "ndt-registration.h"

G_BEGIN_DECLS

#define NDT_POSE_SEARCH_MAX_CANDIDATES 1000000

/* Number of candidates: search->n_candidates, or the number for its volume in a map with cells of
 * edge @resolution. */
guint ndt_pose_search_count (const NdtPoseSearch *search, double resolution);

/* The @index-th candidate about the body's pose @around; number 0 is @around. */
NdtPose ndt_pose_search_get (const NdtPoseSearch *search, const NdtPose *around, guint index);

/* TRUE where the region exceeds the range of NDT_SEARCH_FAR, 2 m and 10°. */
gboolean ndt_pose_search_is_wide (const NdtPoseSearch *search);

/* FALSE with NDT_ERROR_INVALID_ARGUMENT. */
gboolean ndt_pose_search_check (const NdtPoseSearch *search, GError **error);

/**
 * ndt_initial_pose_search:
 * @mount: of the sensor on the body; NULL: they are the same
 * @around: of the body
 * @best: (out): the alignment of the whole scan with the highest NVTL times matched ratio
 * @runner_up: (out): that of the best one that ended elsewhere, as a fraction of it, above 1 where
 *   the sample fits better there; 0 without one
 * @is_ambiguous: (out): see NdtRegistration
 * @evaluations: (inout): the passes over the scan or a sample of it are added
 *
 * Overwrites the scan of NDT_SEARCH_SLOT.
 */
gboolean ndt_initial_pose_search (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *mount, const NdtPose *around, const NdtPoseSearch *search, NdtAlignResult *best,
    double *runner_up, gboolean *is_ambiguous, guint32 *evaluations, GError **error);

G_END_DECLS
