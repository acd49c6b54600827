/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/ndt-voxel-map.h"

G_BEGIN_DECLS

/**
 * GstNdtMapLoaded:
 * @path: what was asked for …
 * @params: … and how
 * @map: (transfer full) (nullable): the map, or NULL
 * @error: (nullable): why there is none
 *
 * Called from the loader's thread. May request another.
 */
typedef void (*GstNdtMapLoaded) (const gchar *path, const NdtVoxelMapParams *params,
    NdtVoxelMap *map, const GError *error, gpointer user_data);

/**
 * GstNdtMapLoader:
 *
 * Reads maps in the background, one after another; of requests that come while one is being
 * read only the last is kept. Requests and stop come from any thread, but no stop from the
 * callback.
 */
typedef struct _GstNdtMapLoader GstNdtMapLoader;

GstNdtMapLoader *gst_ndt_map_loader_new (GstNdtMapLoaded loaded, gpointer user_data);
/* Stops first. */
void gst_ndt_map_loader_free (GstNdtMapLoader *loader);
void gst_ndt_map_loader_request (
    GstNdtMapLoader *loader, const gchar *path, const NdtVoxelMapParams *params);
/* Forgets what is waiting and waits for the map that is being read; its callback is not called
 * unless it already runs. */
void gst_ndt_map_loader_stop (GstNdtMapLoader *loader);

G_END_DECLS
