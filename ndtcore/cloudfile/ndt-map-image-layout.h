/* SPDX-License-Identifier: MIT */
/* The bytes of an .ndtmap, little endian, without padding. Private to ndt-map-image*.c. */
#pragma once

#include "ndt-map-image.h"

G_BEGIN_DECLS

G_STATIC_ASSERT (G_BYTE_ORDER == G_LITTLE_ENDIAN);

/* As of PNG: a byte that is no text, a name, and line ends that a transfer as text would change. */
#define IMAGE_MAGIC "\x89NDTMAP\r\n\x1a\n"
#define IMAGE_MAGIC_SIZE 11
/* Sections begin at multiples of it. */
#define IMAGE_PAGE 4096
/* Cells of tiles are multiples of this many, so that no block of a level lies in two. */
#define IMAGE_TILE_STEP 16
/* Edge of tiles, metres, at least. */
#define IMAGE_TILE_SIZE 32.0

typedef struct {
  double resolution;
  gint64 origin[3];
  guint64 n_points;
  guint32 n_voxels;
  guint32 n_blocks_used;
  gint32 block_shift;
  gint32 cell_min[3];
  gint32 cell_max[3];
  guint32 reserved;
  guint64 voxels_offset; /* bytes from the start of the file */
  guint64 blocks_offset;
  guint64 blocks_hash;
} ImageLevel;

/* The voxels of a level that lie in a tile are side by side. */
typedef struct {
  guint32 first;
  guint32 n;
  guint64 hash;
} ImageTilePart;

/* @cell: of its corner, in tiles from the origin of the levels. */
typedef struct {
  gint32 cell[2];
  ImageTilePart parts[NDT_MAX_LEVELS];
} ImageTile;

typedef struct {
  gchar magic[12]; /* IMAGE_MAGIC and a NUL */
  guint32 version;
  guint64 file_size;
  guint64 index_hash; /* of the bytes after it, up to the end of the info */
  double eigenvalue_ratio;
  double resolution;
  guint32 min_points;
  guint32 covariance;
  guint32 n_levels;
  guint32 n_tiles;
  guint32 tile_cells; /* edge of a tile in cells of the finest level */
  guint32 info_size;
  guint64 n_points;
  double min[3];
  double max[3];
  ImageLevel levels[NDT_MAX_LEVELS];
} ImageHeader; /* n_tiles ImageTile and info_size bytes of text follow */

G_STATIC_ASSERT (sizeof (ImageLevel) == 104);
G_STATIC_ASSERT (sizeof (ImageTile) == 56);
G_STATIC_ASSERT (sizeof (ImageHeader) == 128 + 3 * 104);
G_STATIC_ASSERT (sizeof (NdtVoxel) == 48);
G_STATIC_ASSERT (sizeof (NdtBlock) == 32);

/* Bytes before the first one that index_hash covers. */
#define IMAGE_HASHED 32

static inline gsize
image_n_slots (gint32 block_shift)
{
  return (gsize)1 << (64 - block_shift);
}

static inline guint64
image_align (guint64 offset)
{
  return (offset + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
}

G_END_DECLS
