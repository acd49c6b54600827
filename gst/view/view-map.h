/* SPDX-License-Identifier: MIT */
/* Reads maps in a thread of its own, and thins them for the page. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _ViewMap ViewMap;

/**
 * ViewMapFuncs:
 * @loaded: gets the @n points of a map, three doubles each, in an order that shows all of it
 *   coarsely first
 * @failed: gets a sentence where a map cannot be read
 *
 * Called by the reading thread.
 */
typedef struct {
  void (*loaded) (const double *xyz, gsize n, gpointer user_data);
  void (*failed) (const gchar *sentence, gpointer user_data);
} ViewMapFuncs;

/* @max_points: of more one a cube is taken. */
ViewMap *view_map_new (guint max_points, const ViewMapFuncs *funcs, gpointer user_data);
/* Stops reading, and waits for the file at hand. */
void view_map_free (ViewMap *map);
/* A PCD file or a folder of them. The same again is not read again. Returns at once. */
void view_map_show (ViewMap *map, const gchar *location);

G_END_DECLS
