/* SPDX-License-Identifier: MIT */
/* The rolling map of odometry, which takes a scan in while the next one is received. */
#pragma once

#include "ndt-odometry.h"
#include "ndtcore/map/ndt-rolling-map.h"

G_BEGIN_DECLS

/**
 * NdtOdometryMap:
 *
 * A rolling map with a thread that extends it: adding a scan and computing voxels takes longer than
 * an alignment on a device. All functions but ndt_odometry_map_extend() and
 * ndt_odometry_map_get_n_cells() wait for it, so that results do not depend on timing. For one
 * thread at a time.
 */
typedef struct _NdtOdometryMap NdtOdometryMap;

/**
 * NdtMapExtension:
 * @points: packed x, y, z in the sensor frame; unchanged until the map was waited for
 * @sensor: where they were seen from
 * @radius: what is farther from there is dropped, metres; 0: nothing is
 */
typedef struct {
  const float *points;
  guint n_points;
  NdtPose sensor;
  double radius;
} NdtMapExtension;

/* Of parameters that are valid. */
NdtOdometryMap *ndt_odometry_map_new (const NdtOdometryParams *params);
void ndt_odometry_map_free (NdtOdometryMap *map);
void ndt_odometry_map_clear (NdtOdometryMap *map);
/* Begins to add a scan, and to build the map with it. An error is that of the next build. */
void ndt_odometry_map_extend (NdtOdometryMap *map, const NdtMapExtension *extension);
void ndt_odometry_map_wait (NdtOdometryMap *map);
/* As ndt_rolling_map_build(). */
NdtVoxelMap *ndt_odometry_map_build (NdtOdometryMap *map, guint n_levels, GError **error);
/* Gives a backend a map of no scan. A backend orders a scan's points by the cells of its map, also
 * the first scan's: what map was there before shall not matter. */
gboolean ndt_odometry_map_use_some (NdtOdometryMap *map, NdtBackend *backend, GError **error);
/* When it was last waited for. */
guint ndt_odometry_map_get_n_cells (const NdtOdometryMap *map);
void ndt_odometry_map_save (NdtOdometryMap *map, GByteArray *out);
gboolean ndt_odometry_map_restore (NdtOdometryMap *map, NdtSaved *saved);

G_END_DECLS
