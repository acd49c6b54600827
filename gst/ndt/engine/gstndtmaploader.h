/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/io/ndt-map-tiles.h"

G_BEGIN_DECLS

/**
 * GstNdtMapRequest:
 * @path: a file or folder
 * @params: of the voxel map
 * @radius: of what is to be in memory, metres; 0: all of it
 * @position: x and y, metres, that this is around
 * @log: (nullable): of the tiles; has to outlive them
 */
typedef struct {
  gchar *path;
  NdtVoxelMapParams params;
  gdouble radius;
  gdouble position[2];
  const NdtLog *log;
} GstNdtMapRequest;

/* Reads a map. With a radius @tiles receives (transfer full) what follows the vehicle, and a tile
 * that cannot be read is an error. */
NdtVoxelMap *gst_ndt_map_read (
    const GstNdtMapRequest *request, NdtMapTiles **tiles, GError **error);

/**
 * GstNdtMapWanted:
 * @request: (out): what to read; its path is (transfer full)
 *
 * Called from the loader's thread when it starts with a request, so that it reads what is wanted
 * by then.
 *
 * Returns: FALSE where nothing is
 */
typedef gboolean (*GstNdtMapWanted) (GstNdtMapRequest *request, gpointer user_data);

/**
 * GstNdtMapLoaded:
 * @request: what was wanted
 * @map: (transfer full) (nullable): the map, or NULL
 * @tiles: (transfer full) (nullable): of the map, where there was a radius
 * @error: (nullable): why there is none
 *
 * Called from the loader's thread. May request another.
 */
typedef void (*GstNdtMapLoaded) (const GstNdtMapRequest *request, NdtVoxelMap *map,
    NdtMapTiles *tiles, const GError *error, gpointer user_data);

/**
 * GstNdtMapMoved:
 * @map: (nullable): of the tiles around the new position
 * @error: (nullable): why there is none …
 * @failure: (nullable): … and why one of the tiles could not be read
 * @counts: of the tiles
 *
 * What has come of a move. gst_ndt_map_moved_clear() it.
 */
typedef struct {
  NdtVoxelMap *map;
  GError *error;
  GError *failure;
  NdtMapTilesCounts counts;
} GstNdtMapMoved;

void gst_ndt_map_moved_clear (GstNdtMapMoved *moved);

/**
 * GstNdtMapLoader:
 *
 * Reads maps in the background, one after another; requests that come while one is being read are
 * one request. Tiles of a map in use come first. Any thread, but no stop from a callback.
 */
typedef struct _GstNdtMapLoader GstNdtMapLoader;

GstNdtMapLoader *gst_ndt_map_loader_new (
    GstNdtMapWanted wanted, GstNdtMapLoaded loaded, gpointer user_data);
/* Stops first. */
void gst_ndt_map_loader_free (GstNdtMapLoader *loader);
void gst_ndt_map_loader_request (GstNdtMapLoader *loader);
/* Brings what is in memory of a map to another position, by ndt_map_tiles_move(). Replaces what was
 * asked for before. Takes a reference; the tiles are the loader's while it moves. */
void gst_ndt_map_loader_move (
    GstNdtMapLoader *loader, NdtMapTiles *tiles, const gdouble position[2], gdouble radius);
/* What has come of the last move, once. FALSE where it is not done; with @wait only when it was
 * forgotten, or while flushing. */
gboolean gst_ndt_map_loader_take_moved (
    GstNdtMapLoader *loader, gboolean wait, GstNdtMapMoved *moved);
/* Of the last move nothing is wanted any more. */
void gst_ndt_map_loader_forget_move (GstNdtMapLoader *loader);
void gst_ndt_map_loader_set_flushing (GstNdtMapLoader *loader, gboolean flushing);
/* Forgets what is waiting and waits for the map that is being read; its callback is not called
 * unless it already runs. */
void gst_ndt_map_loader_stop (GstNdtMapLoader *loader);

/* Called on the loader's thread before each move, where it is not NULL: a variable so that tests
 * can make moves last. */
extern void (*gst_ndt_map_loader_before_move) (void);

G_END_DECLS
