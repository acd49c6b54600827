/* SPDX-License-Identifier: MIT */
/* From WGS84 to the coordinates of a map, by its georeference. */
#pragma once

#include "ndt-georeference.h"
#include "ndtcore/base/ndt-error.h"

G_BEGIN_DECLS

/**
 * NdtProjector:
 *
 * Converts as Autoware's geography_utils does, with PROJ: LocalCartesian is a plane with its axes
 * to east, north and up at the map's origin; LocalCartesianUTM is UTM less the origin's; MGRS is
 * UTM within the grid's square of 100 km. Heights are the ellipsoid's, less the origin's (MGRS: as
 * they are). The georeference's own origin, what was taken off, is taken off as well. Not
 * thread-safe.
 */
typedef struct _NdtProjector NdtProjector;

/* Whether this build has PROJ. */
gboolean ndt_projector_is_available (void);
/* NULL with NDT_ERROR_FAILED where the type of projection or its vertical datum is not one of
 * the above, or without PROJ; with NDT_ERROR_FORMAT where the georeference lacks a member. */
NdtProjector *ndt_projector_new (const NdtGeoreference *georeference, GError **error);
void ndt_projector_free (NdtProjector *projector);
/* @out: x, y, z in the map, metres. FALSE where the place has none. */
gboolean ndt_projector_forward (
    NdtProjector *projector, double latitude, double longitude, double altitude, double out[3]);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtProjector, ndt_projector_free)

G_END_DECLS
