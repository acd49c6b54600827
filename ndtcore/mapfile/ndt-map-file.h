/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/map/ndt-voxel-map.h"

G_BEGIN_DECLS

/**
 * ndt_map_list_files:
 * @path: a file, or a folder, as of ndt_file_resolve()
 *
 * Returns: (transfer full): the file itself, or the folder's files of points, as of
 *   ndt_file_is_points(), in the order of names, numbers in them by their value; NULL with
 * %NDT_ERROR_IO (missing, unreadable) or %NDT_ERROR_FORMAT (a folder without any)
 */
GPtrArray *ndt_map_list_files (const gchar *path, GError **error);

/**
 * NdtMapWatch:
 * @step: called with the fraction of the points that has been read, 0 to 1; FALSE cancels
 * @user_data: for @step
 */
typedef struct {
  gboolean (*step) (double fraction, gpointer user_data);
  gpointer user_data;
} NdtMapWatch;

/**
 * ndt_map_load:
 * @path: an .ndtmap, which is used as it is; a PCD, PLY or LAS file, or a folder of them (tiles;
 * each file becomes a region, in the order of names as of ndt_map_list_files())
 * @params: of the voxel map
 *
 * Reads point files and builds their voxel map; the points of one file at a time are in memory.
 *
 * Returns: (transfer full): the map, or NULL with %NDT_ERROR_IO (missing, unreadable),
 *   %NDT_ERROR_INVALID_ARGUMENT (an .ndtmap that was made with other @params),
 *   %NDT_ERROR_FORMAT (foreign, truncated; the message names file and cause) or
 *   %NDT_ERROR_EMPTY_MAP (no valid voxel)
 */
NdtVoxelMap *ndt_map_load (const gchar *path, const NdtVoxelMapParams *params, GError **error);
/* The same, @watch: (nullable). %NDT_ERROR_CANCELLED where it says so. Voxels are made when all
 * points are read, without a step. */
NdtVoxelMap *ndt_map_load_watched (
    const gchar *path, const NdtVoxelMapParams *params, const NdtMapWatch *watch, GError **error);

/* Adds the points of a file to a region. Errors: those of ndt_map_load(); points before the error
 * may be in the region then. */
gboolean ndt_map_add_file (
    NdtVoxelMapBuilder *builder, guint64 region, const gchar *path, GError **error);

G_END_DECLS
