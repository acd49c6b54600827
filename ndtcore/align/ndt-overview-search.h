/* SPDX-License-Identifier: MIT */
/* Where on a whole map a scan may have been taken by a body that stands upright: places that look
 * alike from above, best first, by branch and bound. docs/mathematics.md, "Whole map". */
#pragma once

#include "ndtcore/map/ndt-overview.h"

G_BEGIN_DECLS

#define NDT_OVERVIEW_HEIGHTS 4

/**
 * NdtOverviewPlace:
 * @pose: of the body, upright, at the first of @heights
 * @n_heights: at least one
 * @heights: where z may be, best first, metres
 * @share: of the scan's marks that have one of the map's there, 0 to 1
 */
typedef struct {
  NdtPose pose;
  guint n_heights;
  double heights[NDT_OVERVIEW_HEIGHTS];
  double share;
} NdtOverviewPlace;

/**
 * ndt_overview_search:
 * @xyz: packed points of the scan, in the frame of a body that stands upright
 * @n: of these
 * @most: places that @places has room for
 * @n_places: (out): how many there are, each some metres or degrees from those before it; 0 where
 *   nothing of the scan stands upright
 * @n_nodes: (out): what was looked at: windows of positions times directions
 *
 * Finds the places where most marks of the scan meet one of the map. What fits less than
 * 0.8 times as well as the best is none. The cost is bounded. The same input gives the same places.
 *
 * Returns: FALSE with NDT_ERROR_NO_MEMORY
 */
gboolean ndt_overview_search (const NdtOverview *overview, const float *xyz, guint n, guint most,
    NdtOverviewPlace *places, guint *n_places, guint *n_nodes, GError **error);

G_END_DECLS
