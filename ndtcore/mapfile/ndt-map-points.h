/* SPDX-License-Identifier: MIT */
/* Thinned points of a map, for drawing and recording. */
#pragma once

#include "ndtcore/map/ndt-voxel-map.h"

G_BEGIN_DECLS

/**
 * NdtMapPoints:
 * @xyz: @n points, three doubles each, metres
 * @voxels: (nullable): the voxels of all points that were read
 */
typedef struct {
  double *xyz;
  gsize n;
  NdtVoxelMap *voxels;
} NdtMapPoints;

/**
 * ndt_map_points_read:
 * @location: a file of points or a folder of them, as of ndt_map_list_files(); or an .ndtmap, whose
 *   points are the means of its voxels, and whose voxels are what they are
 * @max_points: at least 1. Of more one a cube is taken, the first that was read; the edge of the
 *   cubes is 0.1 m and doubles until they are few enough
 * @params: (nullable): of the voxels to make; NULL: none. A map without any valid voxel has none
 * @stop: (nullable): read atomically; where it is set, reading ends with %NDT_ERROR_CANCELLED
 *
 * In memory are the points of one file, the thinned points and the sums of cells. Points are in an
 * order in which each prefix covers the whole map; the same files give the same points.
 *
 * Returns: (transfer full): NULL with the errors of ndt_map_list_files() and of reading a file
 */
NdtMapPoints *ndt_map_points_read (const gchar *location, guint max_points,
    const NdtVoxelMapParams *params, const gint *stop, GError **error);
void ndt_map_points_free (NdtMapPoints *points);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtMapPoints, ndt_map_points_free)

G_END_DECLS
