/* SPDX-License-Identifier: MIT */
/* Search of a whole map for the pose of a scan of an upright body: places with the same view from
 * above, best first, by branch and bound. docs/mathematics.md, "Whole map". */
#pragma once

#include "ndtcore/align/ndt-backend.h"
#include "ndtcore/base/ndt-workers.h"
#include "ndtcore/map/ndt-overview.h"

G_BEGIN_DECLS

#define NDT_OVERVIEW_HEIGHTS 4

/**
 * NdtOverviewPlace:
 * @pose: of the body, upright, at the first of @heights
 * @n_heights: at least one
 * @heights: candidates for z, best first, metres
 * @share: fraction of the scan's marks that match one of the map's, 0 to 1
 */
typedef struct {
  NdtPose pose;
  guint n_heights;
  double heights[NDT_OVERVIEW_HEIGHTS];
  double share;
} NdtOverviewPlace;

/**
 * ndt_overview_search:
 * @backend: (nullable): whose device searches; the CPU where it has none, with the same places
 * @workers: that search; the result does not depend on their number
 * @xyz: packed points of the scan, in the frame of an upright body
 * @n: of these
 * @most: places that @places has room for, at most %NDT_OVERVIEW_MOST
 * @n_places: (out): their number, each some metres or degrees from those before it; 0 where the
 *   scan has no upright surfaces
 * @n_nodes: (out): nodes of the search: windows of positions times directions
 *
 * Finds the places where most marks of the scan match one of the map. Places with less than 0.8
 * times the matches of the best are left out. The number of nodes is bounded. The same input gives
 * the same places.
 *
 * Returns: FALSE with NDT_ERROR_NO_MEMORY, NDT_ERROR_CANCELLED and, of a device, NDT_ERROR_DEVICE
 */
gboolean ndt_overview_search (NdtOverview *overview, NdtBackend *backend, NdtWorkers *workers,
    const float *xyz, guint n, guint most, NdtOverviewPlace *places, guint *n_places,
    guint *n_nodes, GError **error);

G_END_DECLS
