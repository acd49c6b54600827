/* SPDX-License-Identifier: MIT */
/* The search of a whole map for a scan of an upright body: docs/mathematics.md, "Whole map".
 * Private to ndt_register_anywhere(). */
#pragma once

#include "ndt-registration.h"

G_BEGIN_DECLS

/**
 * ndt_whole_map_search:
 * @mount: of the sensor on the body; NULL: they are the same
 * @best: (out): as of ndt_initial_pose_search(); stopped with NDT_STOP_NO_PAIRS at the identity
 * where the scan has no upright surfaces, or none that match the map
 * @runner_up: (out): as of ndt_initial_pose_search()
 * @is_ambiguous: (out): see NdtRegistration
 * @n_places: (out): places with the same view from above
 * @evaluations: (inout): the passes over the scan or a sample of it are added
 *
 * Overwrites the scan of NDT_SEARCH_SLOT.
 */
gboolean ndt_whole_map_search (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *mount, NdtAlignResult *best, double *runner_up, gboolean *is_ambiguous,
    guint32 *n_places, guint32 *evaluations, GError **error);

G_END_DECLS
