/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/scan/ndt-cloud.h"
#include "ndtcore/base/ndt-error.h"

G_BEGIN_DECLS

/**
 * NdtTileCutter:
 *
 * Writes points into a folder of tiles: squares along x and y whose corners are multiples of their
 * size, a PCD file each, with Autoware's metadata. At most 64 MiB of points are in memory, and at
 * the end one tile at a time; the others are in temporary files in the folder.
 */
typedef struct _NdtTileCutter NdtTileCutter;

/* @folder: existing; @size: metres, above 0; @scalar: of the files. */
NdtTileCutter *ndt_tile_cutter_new (const gchar *folder, double size, NdtScalar scalar);
/* Removes all files that were written, unless ndt_tile_cutter_finish() succeeded. */
void ndt_tile_cutter_free (NdtTileCutter *cutter);
/* Adds the finite points. NDT_ERROR_IO, or NDT_ERROR_INVALID_ARGUMENT where there are more than
 * 100,000 tiles. */
gboolean ndt_tile_cutter_add (NdtTileCutter *cutter, const NdtCloudView *points, GError **error);
guint ndt_tile_cutter_get_n_tiles (const NdtTileCutter *cutter);
guint64 ndt_tile_cutter_get_n_points (const NdtTileCutter *cutter);
/* Writes the tiles, with their points in the order in which they were added, and the metadata last:
 * a folder with metadata is complete. */
gboolean ndt_tile_cutter_finish (NdtTileCutter *cutter, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtTileCutter, ndt_tile_cutter_free)

G_END_DECLS
