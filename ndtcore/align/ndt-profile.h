/* SPDX-License-Identifier: MIT */
/* The score along an axis that a scan leaves open. */
#pragma once

#include "ndt-backend.h"

G_BEGIN_DECLS

/* Passes over the scan that ndt_profile_along() takes at most. */
#define NDT_PROFILE_PASSES 5

/**
 * NdtProfile:
 * @at: from the pose to the maximum along the axis, metres
 * @information: on the position there, 1/m²; 0: the score has no such maximum
 * @passes: over the scan that it took
 */
typedef struct {
  double at;
  double information;
  guint passes;
} NdtProfile;

/**
 * ndt_profile_along:
 * @sensor: a maximum of the score
 * @axis: a unit vector in the map; one of the scan's #NdtObservability
 *
 * Along surfaces that a scan slides on the score has a maximum wherever an alignment ends, since
 * each voxel's points lie best about its mean, and its curvature there says nothing. Over two cells
 * these maxima are noise, and what remains is the maximum by the surfaces' shape: its middle is
 * taken of the sum of best terms (#NdtSums.nvtl) at five places, the rotation following. The score
 * itself counts a point once for each of its voxels, of which there are more where walls are cut by
 * borders of cells, so that its maxima are where that is.
 *
 * Returns: FALSE with an error of the backend
 */
gboolean ndt_profile_along (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *sensor, const double axis[3], NdtProfile *out, GError **error);

G_END_DECLS
