/* SPDX-License-Identifier: MIT */
/* Finished maps. Checksums keep damage out, not intent: they are made right, so that what lies
 * behind them is reached. */
#include <string.h>

#include "fuzz.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-hash.h"
#include "ndtcore/cloudfile/ndt-map-image-layout.h"

/* Where @n items of a section lie; NULL where they do not lie in the file. */
static gpointer
section (guint8 *data, gsize size, guint64 offset, guint64 n, gsize item)
{
  return offset <= size && n <= (size - offset) / item ? data + offset : NULL;
}

static void
make_right (guint8 *data, gsize size)
{
  ImageHeader header;
  if (size < sizeof header)
    return;
  memcpy (&header, data, sizeof header);
  memcpy (header.magic, IMAGE_MAGIC, IMAGE_MAGIC_SIZE);
  header.version = NDT_MAP_IMAGE_VERSION;
  header.file_size = size;
  ImageTile *tiles = section (data, size, sizeof header, header.n_tiles, sizeof (ImageTile));
  for (guint l = 0; l < NDT_MAX_LEVELS; l++) {
    ImageLevel *level = &header.levels[l];
    const gsize n_slots =
        level->block_shift > 30 && level->block_shift < 64 ? image_n_slots (level->block_shift) : 0;
    gpointer blocks = section (data, size, level->blocks_offset, n_slots, sizeof (NdtBlock));
    if (blocks)
      level->blocks_hash = ndt_hash64 (blocks, n_slots * sizeof (NdtBlock));
    for (guint i = 0; tiles && i < header.n_tiles; i++) {
      ImageTile tile;
      memcpy (&tile, &tiles[i], sizeof tile);
      ImageTilePart *part = &tile.parts[l];
      gpointer voxels = section (data, size, level->voxels_offset + part->first * sizeof (NdtVoxel),
          part->n, sizeof (NdtVoxel));
      if (voxels)
        part->hash = ndt_hash64 (voxels, part->n * sizeof (NdtVoxel));
      memcpy (&tiles[i], &tile, sizeof tile);
    }
  }
  memcpy (data, &header, sizeof header);
  const guint64 index = (guint64)header.n_tiles * sizeof (ImageTile) + header.info_size;
  if (index > size - sizeof header)
    return;
  header.index_hash = ndt_hash64 (data + IMAGE_HASHED, sizeof header - IMAGE_HASHED + (gsize)index);
  memcpy (data, &header, sizeof header);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autofree guint8 *copy = g_memdup2 (data, size);
  make_right (copy, size);
  g_autoptr (NdtMapImage) image = ndt_map_image_open_data (copy, size, "fuzz", &error);
  g_assert_true ((image != NULL) == (error == NULL));
  if (!image) {
    g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
    return 0;
  }
  g_autoptr (NdtVoxelMap) map = ndt_map_image_get_map (image, &error);
  g_assert_true ((map != NULL) == (error == NULL));
  if (!map)
    return 0;
  /* All that looking up may lead to is there. */
  float sum = 0;
  for (guint l = 0; l < ndt_voxel_map_get_n_levels (map); l++) {
    const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, l);
    for (guint32 i = 0; i < level->n_voxels; i++) {
      const gint32 *c = level->voxels[i].cell;
      for (gint d = -1; d <= 1; d++) {
        const gint64 at = ndt_voxel_level_find (level, c[0] + d, c[1], c[2] - d);
        g_assert_cmpint (at, <, level->n_voxels);
        if (at >= 0)
          sum += level->voxels[at].mean[0] + level->voxels[at].icov[5];
      }
    }
  }
  volatile float sink = sum;
  (void)sink;
  return 0;
}
