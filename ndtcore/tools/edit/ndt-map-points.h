/* SPDX-License-Identifier: MIT */
/* All points of a map in memory, for commands that write another map of them. */
#pragma once

#include "ndtcore/cloudfile/ndt-georeference.h"
#include "ndtcore/map/ndt-voxel-map.h"
#include "ndtcore/tools/ndt-map-tool.h"

G_BEGIN_DECLS

/**
 * NdtMapPoints:
 * @xyz: of doubles, three a point, finite
 * @intensities: of floats, one a point; NULL: some file has none
 * @is_wide: a file has doubles: written as doubles as well
 * @georeference: that lies beside the first file
 */
typedef struct {
  GArray *xyz;
  GArray *intensities;
  gboolean is_wide;
  NdtGeoreference georeference;
} NdtMapPoints;

/* @inputs: PCD, PLY or LAS files, or folders of them. @n_files: (out) (nullable). */
gboolean ndt_map_points_read (NdtMapPoints *points, gchar **inputs, guint *n_files, GError **error);
void ndt_map_points_clear (NdtMapPoints *points);
guint ndt_map_points_get_n (const NdtMapPoints *points);
const double *ndt_map_points_get_xyz (const NdtMapPoints *points);
/* Keeps the points whose byte is not 0. */
void ndt_map_points_keep (NdtMapPoints *points, const guint8 *keep);

/* Writes a PCD, with the georeference beside it, or with @params an .ndtmap, which contains it.
 * Folders are made. Refused, where the folder has the georeference of another map. */
gboolean ndt_map_points_write (const NdtMapPoints *points, const gchar *output,
    const NdtVoxelMapParams *params, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (NdtMapPoints, ndt_map_points_clear)

G_END_DECLS
