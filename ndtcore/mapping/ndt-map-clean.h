/* SPDX-License-Identifier: MIT */
/* What moved while a map was made: points that later or earlier scans see through. */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-error.h"

G_BEGIN_DECLS

/**
 * ndt_map_clean:
 * @xyz: @n points of the map, packed
 * @keys: of NdtKeyScan, with their sensors' poses in the map
 * @max_range: metres around a sensor that are judged
 * @moved: (out): @n bytes: 1 where a point is gone
 *
 * A point is gone where more scans see through it than see it: of the beams within a degree and a
 * half all go on by half a metre and 3 %.
 *
 * Returns: how many are gone
 */
gsize ndt_map_clean (
    const double *xyz, gsize n, const GArray *keys, double max_range, guint8 *moved);

G_END_DECLS
