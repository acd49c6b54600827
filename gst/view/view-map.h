/* SPDX-License-Identifier: MIT */
/* Reads maps in a thread of its own, and thins them for the page. */
#pragma once

#include "view-server.h"

G_BEGIN_DECLS

typedef struct _ViewMap ViewMap;

/* @server gets maps as latched messages; @max_points: what is more is thinned to centroids of
 * cubes.
 * @failed: called by the reading thread with a sentence where a map cannot be read. */
ViewMap *view_map_new (ViewServer *server, guint max_points,
    void (*failed) (const gchar *sentence, gpointer user_data), gpointer user_data);
/* Stops reading, and waits for the file at hand. */
void view_map_free (ViewMap *map);
/* A PCD file or a folder of them. The same again is not read again. Returns at once. */
void view_map_show (ViewMap *map, const gchar *location);

G_END_DECLS
