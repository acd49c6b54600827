/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/ndt-voxel-map.h"

G_BEGIN_DECLS

/**
 * GstNdtMapWanted:
 * @path: (out) (transfer full): what to read …
 * @params: (out): … and how
 *
 * Called from the loader's thread when it starts with a request, so that it reads what is wanted
 * by then.
 *
 * Returns: FALSE where nothing is
 */
typedef gboolean (*GstNdtMapWanted) (gchar **path, NdtVoxelMapParams *params, gpointer user_data);

/**
 * GstNdtMapLoaded:
 * @path: what was wanted …
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
 * Reads maps in the background, one after another; requests that come while one is being read are
 * one request. Requests and stop come from any thread, but no stop from a callback.
 */
typedef struct _GstNdtMapLoader GstNdtMapLoader;

GstNdtMapLoader *gst_ndt_map_loader_new (
    GstNdtMapWanted wanted, GstNdtMapLoaded loaded, gpointer user_data);
/* Stops first. */
void gst_ndt_map_loader_free (GstNdtMapLoader *loader);
void gst_ndt_map_loader_request (GstNdtMapLoader *loader);
/* Forgets what is waiting and waits for the map that is being read; its callback is not called
 * unless it already runs. */
void gst_ndt_map_loader_stop (GstNdtMapLoader *loader);

G_END_DECLS
