/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/mapfile/ndt-map-tiles.h"

G_BEGIN_DECLS

/**
 * GstNdtMapRequest:
 * @path: a file or folder
 * @params: of the voxel map
 * @radius: of what is to be in memory, metres; 0: all of it
 * @position: x and y, metres, that this is around
 * @log: (nullable): of the tiles; has to outlive them. The loader sets it
 * @is_searched: the first scan may be anywhere: what a search of the whole map needs is made when
 *   the map has been handed over
 */
typedef struct {
  gchar *path;
  NdtVoxelMapParams params;
  gdouble radius;
  gdouble position[2];
  const NdtLog *log;
  gboolean is_searched;
} GstNdtMapRequest;

/* Reads a map, or finds that it is another element's. With a radius @tiles receives (transfer full)
 * what follows the vehicle, and a tile that cannot be read is an error. @watch: (nullable), of maps
 * without a radius. */
NdtVoxelMap *gst_ndt_map_read (
    const GstNdtMapRequest *request, const NdtMapWatch *watch, NdtMapTiles **tiles, GError **error);

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

/* Called from the loader's thread now and then: the part of the map that is read, 0 to 1. */
typedef void (*GstNdtMapProgress) (gdouble fraction, gpointer user_data);

/* None of them may stop the loader. */
typedef struct {
  GstNdtMapWanted wanted;
  GstNdtMapLoaded loaded;
  GstNdtMapProgress progress;
} GstNdtMapCallbacks;

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

/* @log: of tiles; has to outlive the loader. */
GstNdtMapLoader *gst_ndt_map_loader_new (
    const GstNdtMapCallbacks *callbacks, const NdtLog *log, gpointer user_data);
/* Stops first. */
void gst_ndt_map_loader_free (GstNdtMapLoader *loader);
void gst_ndt_map_loader_request (GstNdtMapLoader *loader);
/* Until what was requested has been read, and told. @until: g_get_monotonic_time(), or -1: for
 * ever, but not while flushing. FALSE where it has not. */
gboolean gst_ndt_map_loader_wait (GstNdtMapLoader *loader, gint64 until);
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
/* Forgets what is waiting, and leaves what is being read alone: its thread ends when it notices,
 * and touches nothing of the user. Waits for a callback that runs; none is called after. */
void gst_ndt_map_loader_stop (GstNdtMapLoader *loader);

/* Called on the loader's thread before each move, where it is not NULL: a variable so that tests
 * can make moves last. */
extern void (*gst_ndt_map_loader_before_move) (void);
/* The same before each map that is read. */
extern void (*gst_ndt_map_loader_before_read) (void);

G_END_DECLS
