/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/base/ndt-log.h"
#include "ndtcore/map/ndt-voxel-map.h"

G_BEGIN_DECLS

/**
 * NdtMapTiles:
 *
 * A map in tiles, of which those near a position are in memory: the files of a folder, each with
 * its box. The boxes are those of the folder's pointcloud_map_metadata.yaml (in it or beside it,
 * as Autoware has it), or else of the points, for which all files are read once.
 *
 * References may be taken and given back by any thread; all else is for one thread at a time.
 */
typedef struct _NdtMapTiles NdtMapTiles;

/**
 * NdtMapTilesCounts:
 * @n_used: tiles in memory
 * @is_outside: no tile lies within the radius: the one in memory is the nearest
 * @n_loaded: tiles read since the map was opened …
 * @n_dropped: … those that are not in memory any more …
 * @n_failed: … and times that one could not be read
 * @bytes: of the tiles in memory; the map itself is not counted
 */
typedef struct {
  guint n_used;
  gboolean is_outside;
  guint64 n_loaded;
  guint64 n_dropped;
  guint64 n_failed;
  gsize bytes;
} NdtMapTilesCounts;

/**
 * ndt_map_tiles_open:
 * @path: a PCD, PLY or LAS file (one tile), or a folder of them
 * @params: of the voxel map
 *
 * No tile is in memory yet.
 *
 * Returns: (transfer full): NULL with the errors of ndt_map_list_files() and
 *   ndt_map_metadata_load(); %NDT_ERROR_FORMAT where metadata list a file that is not there, or not
 *   one that is; without metadata those of reading the files, and %NDT_ERROR_EMPTY_MAP where none
 *   has points
 */
NdtMapTiles *ndt_map_tiles_open (
    const gchar *path, const NdtVoxelMapParams *params, GError **error);
NdtMapTiles *ndt_map_tiles_ref (NdtMapTiles *tiles);
void ndt_map_tiles_unref (NdtMapTiles *tiles);
/* @log: (nullable): receives messages of ndt_map_tiles_move(); has to outlive @tiles. */
void ndt_map_tiles_set_log (NdtMapTiles *tiles, const NdtLog *log);

guint ndt_map_tiles_get_n_tiles (const NdtMapTiles *tiles);
/* In the order of names. */
const gchar *ndt_map_tiles_get_path (const NdtMapTiles *tiles, guint index);
/* x and y of a tile's box, metres. Of a file without points the minimum is above the maximum. */
void ndt_map_tiles_get_box (const NdtMapTiles *tiles, guint index, double min[2], double max[2]);
/* Horizontal distance from a position to a tile's box in metres, 0 inside; INFINITY of a tile
 * without points. */
double ndt_map_tiles_get_distance (const NdtMapTiles *tiles, guint index, const double position[2]);
gboolean ndt_map_tiles_is_used (const NdtMapTiles *tiles, guint index);
void ndt_map_tiles_get_counts (const NdtMapTiles *tiles, NdtMapTilesCounts *counts);

/**
 * ndt_map_tiles_move:
 * @position: x and y, metres
 * @radius: above 0, metres
 * @failure: (out) (transfer full) (nullable): why the first of the tiles that could not be read
 *   could not, NULL where all could
 *
 * Drops the tiles farther than @radius from @position, then reads those within that are not in
 * memory, one at a time; where there is none within, the nearest. What cannot be read is left out,
 * and tried again by the next call.
 *
 * Returns: (transfer full): the map of the tiles in memory, bitwise the same whatever came before,
 *   and the same object as long as the tiles are; NULL with %NDT_ERROR_EMPTY_MAP where they have no
 *   valid voxel, with %NDT_ERROR_NO_MEMORY where it does not fit
 */
NdtVoxelMap *ndt_map_tiles_move (
    NdtMapTiles *tiles, const double position[2], double radius, GError **failure, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtMapTiles, ndt_map_tiles_unref)

G_END_DECLS
