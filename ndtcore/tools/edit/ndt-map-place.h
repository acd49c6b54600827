/* SPDX-License-Identifier: MIT */
/* Where one map lies in another. */
#pragma once

#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

/**
 * NdtMapPlacing:
 * @transform: of the other map in the map
 * @n_places: of the other map that were aligned
 * @n_found: of these, that fit on the map, at one place only
 * @n_agree: of these, that agree with @transform
 * @residual: of the places that agree, how far the worst one is from @transform, metres …
 * @residual_turn: … and rad
 */
typedef struct {
  NdtPose transform;
  guint n_places;
  guint n_found;
  guint n_agree;
  double residual;
  double residual_turn;
} NdtMapPlacing;

/**
 * ndt_map_place:
 * @backend: with the map; slots 0 and the search's are used
 * @xyz: @n points of the other map, packed
 * @guess: (nullable): about where the other map is; NULL: it may be anywhere, upright
 *
 * Aligns places of the other map, 30 m around each, as if they were scans.
 *
 * Returns: FALSE with %NDT_ERROR_INVALID_ARGUMENT where fewer than three places, or no more than
 * half of those that fit, agree
 */
gboolean ndt_map_place (NdtBackend *backend, const double *xyz, gsize n, const NdtPose *guess,
    NdtMapPlacing *out, GError **error);

G_END_DECLS
