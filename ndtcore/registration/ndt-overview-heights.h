/* SPDX-License-Identifier: MIT */
/* Heights of an upright body at places of a map seen from above. Private to ndt_overview_search().
 */
#pragma once

#include "ndt-overview-search.h"

G_BEGIN_DECLS

/* Sets the heights of @n places, and z of their poses to the first; those that most of what lies
 * flat in the map and in the scan, @flats (NdtOverviewFlat), agree on, or the middle of the map.
 * @yaws: of the places, rad */
void ndt_overview_find_heights (const NdtOverview *overview, NdtWorkers *workers,
    const GArray *flats, const double *yaws, NdtOverviewPlace *places, guint n);

G_END_DECLS
