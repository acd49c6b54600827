/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-georeference.h"
#include "ndtcore/map/ndt-voxel-map.h"

G_BEGIN_DECLS

#define NDT_MAP_IMAGE_VERSION 1
#define NDT_MAP_IMAGE_MAX_INFO 65536

/**
 * NdtMapImage:
 *
 * An .ndtmap: a voxel map in a file in its memory layout, which is mapped and not read. Opening it
 * reads its header only (docs/maps.md, "Finished maps", has the layout); the data are checked at
 * the first call of ndt_map_image_get_map(). The file must not shrink while the image or its map
 * exists: the functions that write files replace them.
 */
typedef struct _NdtMapImage NdtMapImage;

/* TRUE where a file begins with the magic bytes; FALSE also where it cannot be read. */
gboolean ndt_map_image_is_image (const gchar *path);
gboolean ndt_map_image_has_magic (const guint8 *data, gsize size);

/**
 * ndt_map_image_open:
 *
 * Returns: (transfer full): NULL with %NDT_ERROR_IO, or with %NDT_ERROR_FORMAT where the file is
 *   foreign, cut, of another version, or its header is damaged; the message begins with the path
 */
NdtMapImage *ndt_map_image_open (const gchar *path, GError **error);
/* The same of bytes, which have to live as long as the image and its map; @name is for messages. */
NdtMapImage *ndt_map_image_open_data (
    gconstpointer data, gsize size, const gchar *name, GError **error);
void ndt_map_image_free (NdtMapImage *image);

/* Parameters of the map. */
const NdtVoxelMapParams *ndt_map_image_get_params (const NdtMapImage *image);
/* Where the map at @location is on Earth: of a finished map what lies in it, else what
 * ndt_georeference_find() finds. */
gboolean ndt_map_image_find_georeference (
    const gchar *location, NdtGeoreference *georeference, GError **error);
/* What map_projector_info.yaml said, see ndt-georeference.h; "" where nothing is known. */
const gchar *ndt_map_image_get_info (const NdtMapImage *image);
guint ndt_map_image_get_n_tiles (const NdtMapImage *image);
/* Edge of a tile along x and y, metres. */
double ndt_map_image_get_tile_size (const NdtMapImage *image);

/* TRUE where the map is what @params make of its points. FALSE with NDT_ERROR_INVALID_ARGUMENT that
 * names the properties to change. */
gboolean ndt_map_image_check_params (
    const NdtMapImage *image, const NdtVoxelMapParams *params, GError **error);

/**
 * ndt_map_image_get_map:
 *
 * The first call checks the checksums of all tiles and tables, and that what they say can be used
 * without looking again: a pass over the file, at the speed of memory.
 *
 * Returns: (transfer full): the map, which keeps the file mapped, also when the image is freed;
 * NULL with %NDT_ERROR_FORMAT where the file is damaged
 */
NdtVoxelMap *ndt_map_image_get_map (NdtMapImage *image, GError **error);

/* The means of the finest voxels, three doubles each, metres, to be drawn; errors as of
 * ndt_map_image_get_map(). */
double *ndt_map_image_dup_means (NdtMapImage *image, gsize *n, GError **error);

/**
 * ndt_map_image_write:
 * @info: (nullable): text of map_projector_info.yaml, at most %NDT_MAP_IMAGE_MAX_INFO bytes
 *
 * Writes through a temporary file that replaces @path when whole. Details of voxels
 * (NdtVoxelMapParams.keep_details) are left out. NDT_ERROR_IO, NDT_ERROR_INVALID_ARGUMENT.
 */
gboolean ndt_map_image_write (
    const gchar *path, const NdtVoxelMap *map, const gchar *info, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtMapImage, ndt_map_image_free)

G_END_DECLS
