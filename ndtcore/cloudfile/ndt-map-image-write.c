/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-image-layout.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-hash.h"

/* A voxel of a level, by tile and then in the order of the map. */
typedef struct {
  gint32 cell[2]; /* y, x of its tile */
  guint32 index;
} Place;

typedef struct {
  NdtVoxel *voxels;
  NdtBlock *blocks;
  Place *places;
} Level;

typedef struct {
  const NdtVoxelMap *map;
  const gchar *info;
  ImageHeader header;
  GArray *tiles; /* ImageTile, by y and x */
  Level levels[NDT_MAX_LEVELS];
} Writer;

static gint
compare_places (gconstpointer a, gconstpointer b)
{
  const Place *x = a, *y = b;
  for (guint k = 0; k < 2; k++)
    if (x->cell[k] != y->cell[k])
      return x->cell[k] < y->cell[k] ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static gint
compare_tiles (gconstpointer a, gconstpointer b)
{
  const ImageTile *x = a, *y = b;
  for (guint k = 2; k-- > 0;)
    if (x->cell[k] != y->cell[k])
      return x->cell[k] < y->cell[k] ? -1 : 1;
  return 0;
}

static gint32
floor_divide (gint64 a, gint64 b)
{
  return (gint32)(a >= 0 ? a / b : -((b - 1 - a) / b));
}

/* Orders voxels by tiles, and updates the blocks: a block lies in one tile, so that its voxels
 * remain adjacent. */
static void
arrange (Writer *writer, guint l)
{
  const NdtVoxelLevel *from = ndt_voxel_map_get_level (writer->map, l);
  const gsize n_slots = image_n_slots (from->block_shift);
  Level *level = &writer->levels[l];
  level->places = g_new (Place, from->n_voxels + 1);
  level->voxels = g_new (NdtVoxel, from->n_voxels + 1);
  level->blocks = g_memdup2 (from->blocks, n_slots * sizeof (NdtBlock));
  g_autofree guint32 *moved = g_new (guint32, from->n_voxels + 1);

  for (guint32 i = 0; i < from->n_voxels; i++) {
    Place *place = &level->places[i];
    for (guint k = 0; k < 2; k++)
      place->cell[k] =
          floor_divide ((gint64)from->voxels[i].cell[1 - k] * (1 << l), writer->header.tile_cells);
    place->index = i;
  }
  qsort (level->places, from->n_voxels, sizeof (Place), compare_places);
  for (guint32 i = 0; i < from->n_voxels; i++) {
    moved[level->places[i].index] = i;
    level->voxels[i] = from->voxels[level->places[i].index];
  }
  for (gsize i = 0; i < n_slots; i++)
    if (level->blocks[i].key != NDT_BLOCK_EMPTY)
      level->blocks[i].first = moved[level->blocks[i].first];
}

/* Collects the tiles, and the voxels of each level in each. */
static void
index_tiles (Writer *writer)
{
  for (guint l = 0; l < writer->header.n_levels; l++) {
    const guint32 n = ndt_voxel_map_get_level (writer->map, l)->n_voxels;
    const Place *places = writer->levels[l].places;
    for (guint32 i = 0; i < n; i++)
      if (i == 0 || memcmp (places[i].cell, places[i - 1].cell, sizeof places[i].cell) != 0) {
        const ImageTile tile = {.cell = {places[i].cell[1], places[i].cell[0]}};
        g_array_append_val (writer->tiles, tile);
      }
  }
  g_array_sort (writer->tiles, compare_tiles);
  guint n_tiles = 0;
  ImageTile *tiles = (gpointer)writer->tiles->data;
  for (guint i = 0; i < writer->tiles->len; i++)
    if (i == 0 || compare_tiles (&tiles[i], &tiles[n_tiles - 1]) != 0)
      tiles[n_tiles++] = tiles[i];
  g_array_set_size (writer->tiles, n_tiles);
  writer->header.n_tiles = n_tiles;

  for (guint l = 0; l < writer->header.n_levels; l++) {
    const guint32 n = ndt_voxel_map_get_level (writer->map, l)->n_voxels;
    const Level *level = &writer->levels[l];
    guint32 at = 0;
    for (guint t = 0; t < n_tiles; t++) {
      ImageTilePart *part = &tiles[t].parts[l];
      part->first = at;
      while (at < n && level->places[at].cell[0] == tiles[t].cell[1] &&
             level->places[at].cell[1] == tiles[t].cell[0])
        at++;
      part->n = at - part->first;
      part->hash = ndt_hash64 (level->voxels + part->first, part->n * sizeof (NdtVoxel));
    }
  }
}

static void
lay_out (Writer *writer)
{
  ImageHeader *header = &writer->header;
  guint64 offset =
      sizeof *header + (guint64)header->n_tiles * sizeof (ImageTile) + header->info_size;
  for (guint l = 0; l < header->n_levels; l++) {
    const NdtVoxelLevel *from = ndt_voxel_map_get_level (writer->map, l);
    const gsize table = image_n_slots (from->block_shift) * sizeof (NdtBlock);
    ImageLevel *level = &header->levels[l];
    level->resolution = from->resolution;
    memcpy (level->origin, from->origin, sizeof level->origin);
    level->n_points = from->n_points;
    level->n_voxels = from->n_voxels;
    level->n_blocks_used = from->n_blocks_used;
    level->block_shift = from->block_shift;
    memcpy (level->cell_min, from->cell_min, sizeof level->cell_min);
    memcpy (level->cell_max, from->cell_max, sizeof level->cell_max);
    level->blocks_hash = ndt_hash64 (writer->levels[l].blocks, table);
    level->voxels_offset = image_align (offset);
    level->blocks_offset =
        image_align (level->voxels_offset + (guint64)from->n_voxels * sizeof (NdtVoxel));
    offset = level->blocks_offset + table;
  }
  header->file_size = offset;
}

static gboolean
put (FILE *out, guint64 *at, guint64 offset, gconstpointer data, gsize size)
{
  static const guint8 zeros[IMAGE_PAGE];
  const gsize gap = (gsize)(offset - *at);
  *at = offset + size;
  return fwrite (zeros, 1, gap, out) == gap && fwrite (data, 1, size, out) == size;
}

static gboolean
write_all (FILE *out, gpointer user_data)
{
  const Writer *writer = user_data;
  const ImageHeader *header = &writer->header;
  const gsize tiles = header->n_tiles * sizeof (ImageTile);
  guint64 at = 0;
  gboolean ok = put (out, &at, 0, header, sizeof *header) &&
                put (out, &at, at, writer->tiles->data, tiles) &&
                put (out, &at, at, writer->info, header->info_size);
  for (guint l = 0; ok && l < header->n_levels; l++) {
    const ImageLevel *level = &header->levels[l];
    ok = put (out, &at, level->voxels_offset, writer->levels[l].voxels,
             level->n_voxels * sizeof (NdtVoxel)) &&
         put (out, &at, level->blocks_offset, writer->levels[l].blocks,
             image_n_slots (level->block_shift) * sizeof (NdtBlock));
  }
  return ok;
}

gboolean
ndt_map_image_write (const gchar *path, const NdtVoxelMap *map, const gchar *info, GError **error)
{
  const NdtVoxelMapParams *params = ndt_voxel_map_get_params (map);
  Writer writer = {.map = map, .info = info ? info : ""};
  ImageHeader *header = &writer.header;

  if (strlen (writer.info) > NDT_MAP_IMAGE_MAX_INFO) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "more than %d bytes of information",
        NDT_MAP_IMAGE_MAX_INFO);
    return FALSE;
  }
  memcpy (header->magic, IMAGE_MAGIC, IMAGE_MAGIC_SIZE);
  header->version = NDT_MAP_IMAGE_VERSION;
  header->resolution = params->resolution;
  header->min_points = params->min_points;
  header->covariance = params->covariance;
  header->eigenvalue_ratio = params->eigenvalue_ratio;
  header->n_levels = ndt_voxel_map_get_n_levels (map);
  header->tile_cells =
      IMAGE_TILE_STEP * (guint32)ceil (IMAGE_TILE_SIZE / (IMAGE_TILE_STEP * params->resolution));
  header->info_size = (guint32)strlen (writer.info);
  header->n_points = ndt_voxel_map_get_n_points (map);
  ndt_voxel_map_get_bounds (map, header->min, header->max);

  writer.tiles = g_array_new (FALSE, FALSE, sizeof (ImageTile));
  for (guint l = 0; l < header->n_levels; l++)
    arrange (&writer, l);
  index_tiles (&writer);
  lay_out (&writer);
  /* Hashed as it is written. */
  g_autoptr (GByteArray) index = g_byte_array_new ();
  g_byte_array_append (index, (const guint8 *)header, sizeof *header);
  g_byte_array_append (
      index, (const guint8 *)writer.tiles->data, header->n_tiles * (guint)sizeof (ImageTile));
  g_byte_array_append (index, (const guint8 *)writer.info, header->info_size);
  header->index_hash = ndt_hash64 (index->data + IMAGE_HASHED, index->len - IMAGE_HASHED);

  const gboolean ok = ndt_file_replace (path, write_all, &writer, error);
  for (guint l = 0; l < header->n_levels; l++) {
    g_free (writer.levels[l].voxels);
    g_free (writer.levels[l].blocks);
    g_free (writer.levels[l].places);
  }
  g_array_unref (writer.tiles);
  return ok;
}
