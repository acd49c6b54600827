/* SPDX-License-Identifier: MIT */
/* Reads maps in a thread of its own, and thins them. */
#pragma once

#include "ndtcore/mapfile/ndt-map-points.h"

G_BEGIN_DECLS

typedef struct _SceneMap SceneMap;

/**
 * SceneMapFuncs:
 * @loaded: gets the points of a map, and takes them
 * @failed: gets a sentence where a map cannot be read
 *
 * Called by the reading thread.
 */
typedef struct {
  void (*loaded) (NdtMapPoints *points, gpointer user_data);
  void (*failed) (const gchar *sentence, gpointer user_data);
} SceneMapFuncs;

/* @max_points: of more one a cube is taken. */
SceneMap *scene_map_new (guint max_points, const SceneMapFuncs *funcs, gpointer user_data);
/* Stops reading, and waits for the file at hand. */
void scene_map_free (SceneMap *map);
/* A PCD file or a folder of them; @resolution of its voxels in metres, 0: it is read without any.
 * The same again is not read again. Returns whether it is read, at once. */
gboolean scene_map_show (SceneMap *map, const gchar *location, double resolution);

G_END_DECLS
