/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/base/ndt-log.h"
#include "ndtcore/map/ndt-voxel-map.h"

G_BEGIN_DECLS

/**
 * NdtMapTiles:
 *
 * A map in tiles, the files of a folder, of which those near a position are in memory. The boxes of
 * tiles are those of pointcloud_map_metadata.yaml (in the folder or beside it, as Autoware places
 * it), or else those of the points, for which all files are read once.
 *
 * Reference counting is thread-safe; all other functions are for one thread at a time.
 */
typedef struct _NdtMapTiles NdtMapTiles;

/**
 * NdtMapTilesCounts:
 * @n_used: tiles in memory
 * @is_outside: no tile lies within the radius; the nearest one is in memory
 * @n_loaded: tiles read since the map was opened …
 * @n_dropped: … those that are not in memory any more …
 * @n_failed: … and times that one could not be read
 * @n_announced: tiles that the system was asked to read ahead
 * @bytes: of the tiles in memory; the map itself is not counted
 */
typedef struct {
  guint n_used;
  gboolean is_outside;
  guint64 n_loaded;
  guint64 n_dropped;
  guint64 n_failed;
  guint64 n_announced;
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
/* Path of a tile; tiles are in the order of names. */
const gchar *ndt_map_tiles_get_path (const NdtMapTiles *tiles, guint index);
/* x and y of a tile's box, metres. Of a file without points the minimum is above the maximum. */
void ndt_map_tiles_get_box (const NdtMapTiles *tiles, guint index, double min[2], double max[2]);
/* Horizontal distance from a position to a tile's box in metres, 0 inside; INFINITY of a tile
 * without points. */
double ndt_map_tiles_get_distance (const NdtMapTiles *tiles, guint index, const double position[2]);
/* Tells maps in tiles apart: of the names, sizes and boxes of all files and the edge of cells, as
 * they were when the map was opened. No contents: most of them are never read. */
guint64 ndt_map_tiles_get_hash (const NdtMapTiles *tiles);
gboolean ndt_map_tiles_is_used (const NdtMapTiles *tiles, guint index);
void ndt_map_tiles_get_counts (const NdtMapTiles *tiles, NdtMapTilesCounts *counts);

/**
 * ndt_map_tiles_move:
 * @position: x and y, metres
 * @radius: above 0, metres
 * @failure: (out) (transfer full) (nullable): the error of the first tile that could not be read,
 *   NULL where all were read
 *
 * Drops the tiles farther than @radius from @position, then reads the missing ones within it, one
 * at a time; the nearest one where none lies within. Tiles that cannot be read are left out, and
 * read again by the next call. Files of tiles that the next moves will need, if the vehicle goes on
 * as it came from the move before, are announced to the system (posix_fadvise()), which reads them
 * into its cache meanwhile; that changes no map.
 *
 * Returns: (transfer full): the map of the tiles in memory, which to the bit does not depend on
 *   earlier calls; the same object while the tiles are the same. NULL with %NDT_ERROR_EMPTY_MAP
 *   where they have no valid voxel, with %NDT_ERROR_NO_MEMORY where it does not fit
 */
NdtVoxelMap *ndt_map_tiles_move (
    NdtMapTiles *tiles, const double position[2], double radius, GError **failure, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtMapTiles, ndt_map_tiles_unref)

G_END_DECLS
