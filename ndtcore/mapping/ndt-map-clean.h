/* SPDX-License-Identifier: MIT */
/* What moved while a map was made: points that later or earlier scans see through. */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-error.h"

G_BEGIN_DECLS

/* What scans say of a point. */
typedef enum {
  NDT_MAP_UNSEEN, /* nothing */
  NDT_MAP_GONE,   /* more scans see through it than see it, two at least */
  NDT_MAP_SEEN,   /* it is there */
} NdtMapSight;

/**
 * ndt_map_look:
 * @xyz: @n points of the map, packed
 * @keys: of NdtKeyScan, with their sensors' poses in the map
 * @max_range: metres around a sensor that are judged
 * @sights: (out): @n of NdtMapSight
 *
 * A scan sees through a point where all of its beams within a degree and a half go on by half a
 * metre and 3 %; it sees the point where its nearest return in that direction is as far away.
 */
void ndt_map_look (
    const double *xyz, gsize n, const GArray *keys, double max_range, guint8 *sights);

/**
 * ndt_map_clean:
 * @xyz: @n points of the map, packed
 * @keys: of NdtKeyScan, with their sensors' poses in the map
 * @max_range: metres around a sensor that are judged
 * @moved: (out): @n bytes: 1 where a point is gone
 *
 * As ndt_map_look() tells it.
 *
 * Returns: how many are gone
 */
gsize ndt_map_clean (
    const double *xyz, gsize n, const GArray *keys, double max_range, guint8 *moved);

G_END_DECLS
