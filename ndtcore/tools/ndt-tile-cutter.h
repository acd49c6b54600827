/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/scan/ndt-cloud.h"
#include "ndtcore/base/ndt-error.h"

G_BEGIN_DECLS

/**
 * NdtTileCutter:
 *
 * Points on their way into a folder of tiles: squares along x and y whose corners are multiples of
 * their size, a PCD file each, with Autoware's metadata. In memory are 64 MiB of them at most, and
 * then a tile at a time; what is beyond waits in the folder.
 */
typedef struct _NdtTileCutter NdtTileCutter;

/* @folder: existing; @size: metres, above 0; @scalar: of the files. */
NdtTileCutter *ndt_tile_cutter_new (const gchar *folder, double size, NdtScalar scalar);
/* Removes what was written, unless it was finished. */
void ndt_tile_cutter_free (NdtTileCutter *cutter);
/* Adds the finite points. NDT_ERROR_IO, or NDT_ERROR_INVALID_ARGUMENT where there are more than
 * 100,000 tiles. */
gboolean ndt_tile_cutter_add (NdtTileCutter *cutter, const NdtCloudView *points, GError **error);
guint ndt_tile_cutter_get_n_tiles (const NdtTileCutter *cutter);
guint64 ndt_tile_cutter_get_n_points (const NdtTileCutter *cutter);
/* Writes the tiles, with their points in the order in which they were added, and then the metadata:
 * where those are, all is. */
gboolean ndt_tile_cutter_finish (NdtTileCutter *cutter, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtTileCutter, ndt_tile_cutter_free)

G_END_DECLS
