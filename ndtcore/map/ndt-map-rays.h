/* SPDX-License-Identifier: MIT */
/* Whether a scan can have been measured at a pose, by its rays through the map. It does not use the
 * score: that counts what lies on the map, not what should be there or should not. */
#pragma once

#include "ndt-voxel-map.h"
#include "ndtcore/math/ndt-pose.h"

G_BEGIN_DECLS

/* Rays that are looked at: evenly spread over the points, and so over directions. */
#define NDT_MAP_RAYS 96

/**
 * NdtMapRays:
 * @n: rays of finite points in range, at most %NDT_MAP_RAYS
 * @n_unexplained: of these, ends that lie on no voxel
 * @n_pierced: of these, that pass through a voxel well before their end
 */
typedef struct {
  guint n;
  guint n_unexplained;
  guint n_pierced;
} NdtMapRays;

/* @points: in the sensor's frame; @sensor: its pose in the map; @min_range, @max_range: of points
 * that count, metres; 0: no limit. Ends are looked for in the level by which scans are compared
 * with
 * @map, ndt_voxel_map_get_fit_level(), and rays pass through voxels of the finest. */
void ndt_map_rays (const NdtVoxelMap *map, const NdtCloudView *points, const NdtPose *sensor,
    double min_range, double max_range, NdtMapRays *out);

/* Whether a point of the map lies on a voxel of the finest level, its own or one beside it. */
gboolean ndt_map_explains (const NdtVoxelMap *map, const double point[3]);

G_END_DECLS
