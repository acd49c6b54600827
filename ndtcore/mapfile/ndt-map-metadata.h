/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define NDT_MAP_METADATA_NAME "pointcloud_map_metadata.yaml"

/**
 * NdtMapMetadata:
 * @size: edges of a tile along x and y, metres, above 0
 * @corners: (element-type gchar* double*): least x and y of a tile, metres, by its file's name
 *
 * Contents of Autoware's pointcloud_map_metadata.yaml: size and corners of a map's tiles.
 */
typedef struct {
  double size[2];
  GHashTable *corners;
} NdtMapMetadata;

/* NULL with NDT_ERROR_IO, or with NDT_ERROR_FORMAT where it is no YAML, or other than Autoware's;
 * the message names file, line and cause. Keys that are no names of point files are ignored. */
NdtMapMetadata *ndt_map_metadata_load (const gchar *path, GError **error);
/* The same of bytes; @name is for messages. */
NdtMapMetadata *ndt_map_metadata_parse (
    const gchar *text, gsize size, const gchar *name, GError **error);
void ndt_map_metadata_free (NdtMapMetadata *metadata);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtMapMetadata, ndt_map_metadata_free)

G_END_DECLS
