/* SPDX-License-Identifier: MIT */
#include "ndt-map-tiles.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-hash.h"
#include "ndtcore/cloudfile/ndt-cloud-file.h"
#include "ndt-map-file.h"
#include "ndt-map-metadata.h"

/* A tile's index is the id of its region. */
typedef struct {
  gchar *path;
  double min[2];
  double max[2];
  gboolean is_used;
  gboolean is_announced; /* to the system, which reads it ahead */
} Tile;

/* Tiles are announced that will be needed when the vehicle has gone on as since the move before, so
 * many times as far. Two: those of the next move are being read when it begins, however long a disk
 * takes for the one before. */
#define MOVES_AHEAD 2

struct _NdtMapTiles {
  gatomicrefcount ref_count;
  NdtVoxelMapBuilder *builder;
  GArray *tiles; /* of Tile */
  NdtMapTilesCounts counts;
  NdtVoxelMap *map;   /* of the tiles in memory; NULL: to be built */
  double position[2]; /* of the last move; NAN: there was none */
  guint64 hash;
  const NdtLog *log;
};

static void
tile_clear (gpointer data)
{
  g_free (((Tile *)data)->path);
}

static Tile *
tile_at (const NdtMapTiles *tiles, guint index)
{
  return &g_array_index (tiles->tiles, Tile, index);
}

NdtMapTiles *
ndt_map_tiles_ref (NdtMapTiles *tiles)
{
  g_atomic_ref_count_inc (&tiles->ref_count);
  return tiles;
}

void
ndt_map_tiles_unref (NdtMapTiles *tiles)
{
  if (!g_atomic_ref_count_dec (&tiles->ref_count))
    return;
  g_clear_pointer (&tiles->map, ndt_voxel_map_unref);
  g_clear_pointer (&tiles->builder, ndt_voxel_map_builder_free);
  g_array_unref (tiles->tiles);
  g_free (tiles);
}

void
ndt_map_tiles_set_log (NdtMapTiles *tiles, const NdtLog *log)
{
  tiles->log = log;
}

/* The box of the points of a file. */
static gboolean
look_at_file (Tile *tile, GError **error)
{
  NdtCloudView points;
  g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (tile->path, error);
  if (!file || !ndt_cloud_file_get_points (file, &points, error))
    return FALSE;
  for (gsize i = 0; i < points.n_points; i++) {
    double p[3];
    ndt_cloud_view_get (&points, i, p);
    if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
      continue;
    for (guint k = 0; k < 2; k++) {
      tile->min[k] = MIN (tile->min[k], p[k]);
      tile->max[k] = MAX (tile->max[k], p[k]);
    }
  }
  return TRUE;
}

static gboolean
look_at_files (NdtMapTiles *tiles, const gchar *path, GError **error)
{
  gboolean any = FALSE;
  for (guint i = 0; i < tiles->tiles->len; i++) {
    Tile *tile = tile_at (tiles, i);
    if (!look_at_file (tile, error))
      return FALSE;
    any = any || tile->min[0] <= tile->max[0];
  }
  if (!any) {
    g_autofree gchar *shown = g_filename_display_name (path);
    g_set_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP, "%s has no points", shown);
  }
  return any;
}

/* Path of a folder's metadata; NULL where there are none. */
static gchar *
find_metadata (const gchar *folder)
{
  g_autofree gchar *inside = g_build_filename (folder, NDT_MAP_METADATA_NAME, NULL);
  if (g_file_test (inside, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&inside);
  g_autofree gchar *absolute = g_canonicalize_filename (folder, NULL);
  g_autofree gchar *parent = g_path_get_dirname (absolute);
  g_autofree gchar *beside = g_build_filename (parent, NDT_MAP_METADATA_NAME, NULL);
  return g_file_test (beside, G_FILE_TEST_EXISTS) ? g_steal_pointer (&beside) : NULL;
}

/* Boxes from the metadata. A file that is not listed, or listed and missing, is an error: part of
 * the map would be missing. */
static gboolean
read_metadata (NdtMapTiles *tiles, const gchar *folder, const gchar *path, GError **error)
{
  g_autoptr (NdtMapMetadata) metadata = ndt_map_metadata_load (path, error);
  if (!metadata)
    return FALSE;
  for (guint i = 0; i < tiles->tiles->len; i++) {
    Tile *tile = tile_at (tiles, i);
    g_autofree gchar *name = g_path_get_basename (tile->path);
    const double *corner = g_hash_table_lookup (metadata->corners, name);
    if (!corner) {
      g_autofree gchar *list = g_filename_display_name (path);
      g_autofree gchar *shown = g_filename_display_name (tile->path);
      g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT, "%s does not list %s", list, shown);
      return FALSE;
    }
    for (guint k = 0; k < 2; k++) {
      tile->min[k] = corner[k];
      tile->max[k] = corner[k] + metadata->size[k];
    }
    g_hash_table_remove (metadata->corners, name);
  }
  GHashTableIter iter;
  gpointer name;
  g_hash_table_iter_init (&iter, metadata->corners);
  if (g_hash_table_iter_next (&iter, &name, NULL)) {
    g_autofree gchar *list = g_filename_display_name (path);
    g_autofree gchar *shown = g_filename_display_name (folder);
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT, "%s lists %s, which is not in %s", list,
        (const gchar *)name, shown);
    return FALSE;
  }
  return TRUE;
}

static guint64
hash_tiles (const NdtMapTiles *tiles, double resolution)
{
  struct {
    guint64 before, name;
    double min[2], max[2];
    gint64 size;
  } link = {.before = ndt_hash64 (&resolution, sizeof resolution)};
  for (guint i = 0; i < tiles->tiles->len; i++) {
    const Tile *tile = tile_at (tiles, i);
    g_autofree gchar *name = g_path_get_basename (tile->path);
    GStatBuf status;
    link.name = ndt_hash64 (name, strlen (name));
    memcpy (link.min, tile->min, sizeof link.min);
    memcpy (link.max, tile->max, sizeof link.max);
    link.size = g_stat (tile->path, &status) == 0 ? (gint64)status.st_size : -1;
    link.before = ndt_hash64 (&link, sizeof link);
  }
  return link.before;
}

NdtMapTiles *
ndt_map_tiles_open (const gchar *given, const NdtVoxelMapParams *params, GError **error)
{
  g_autofree gchar *path = ndt_file_resolve (given, error);
  if (!path)
    return NULL;
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (params, error);
  if (!builder)
    return NULL;
  g_autoptr (GPtrArray) files = ndt_map_list_files (path, error);
  if (!files)
    return NULL;

  g_autoptr (NdtMapTiles) tiles = g_new0 (NdtMapTiles, 1);
  g_atomic_ref_count_init (&tiles->ref_count);
  tiles->position[0] = tiles->position[1] = NAN;
  tiles->builder = g_steal_pointer (&builder);
  ndt_voxel_map_builder_keep_voxels (tiles->builder);
  tiles->tiles = g_array_new (FALSE, FALSE, sizeof (Tile));
  g_array_set_clear_func (tiles->tiles, tile_clear);
  for (guint i = 0; i < files->len; i++) {
    const Tile tile = {.path = g_strdup (g_ptr_array_index (files, i)),
        .min = {INFINITY, INFINITY},
        .max = {-INFINITY, -INFINITY}};
    g_array_append_val (tiles->tiles, tile);
  }

  g_autofree gchar *metadata = g_file_test (path, G_FILE_TEST_IS_DIR) ? find_metadata (path) : NULL;
  if (!(metadata ? read_metadata (tiles, path, metadata, error)
                 : look_at_files (tiles, path, error)))
    return NULL;
  tiles->hash = hash_tiles (tiles, params->resolution);
  return g_steal_pointer (&tiles);
}

guint64
ndt_map_tiles_get_hash (const NdtMapTiles *tiles)
{
  return tiles->hash;
}

guint
ndt_map_tiles_get_n_tiles (const NdtMapTiles *tiles)
{
  return tiles->tiles->len;
}

const gchar *
ndt_map_tiles_get_path (const NdtMapTiles *tiles, guint index)
{
  return tile_at (tiles, index)->path;
}

void
ndt_map_tiles_get_box (const NdtMapTiles *tiles, guint index, double min[2], double max[2])
{
  memcpy (min, tile_at (tiles, index)->min, 2 * sizeof (double));
  memcpy (max, tile_at (tiles, index)->max, 2 * sizeof (double));
}

double
ndt_map_tiles_get_distance (const NdtMapTiles *tiles, guint index, const double position[2])
{
  const Tile *tile = tile_at (tiles, index);
  double d[2];
  for (guint k = 0; k < 2; k++)
    d[k] = MAX (MAX (tile->min[k] - position[k], position[k] - tile->max[k]), 0);
  return hypot (d[0], d[1]);
}

gboolean
ndt_map_tiles_is_used (const NdtMapTiles *tiles, guint index)
{
  return tile_at (tiles, index)->is_used;
}

void
ndt_map_tiles_get_counts (const NdtMapTiles *tiles, NdtMapTilesCounts *counts)
{
  *counts = tiles->counts;
  counts->bytes = ndt_voxel_map_builder_get_bytes (tiles->builder);
}

static void
drop (NdtMapTiles *tiles, guint index)
{
  ndt_voxel_map_builder_remove (tiles->builder, index);
  g_clear_pointer (&tiles->map, ndt_voxel_map_unref);
  tile_at (tiles, index)->is_used = tile_at (tiles, index)->is_announced = FALSE;
  tiles->counts.n_used--;
  tiles->counts.n_dropped++;
  ndt_log (tiles->log, NDT_LOG_DEBUG, "tiles", "dropped %s", tile_at (tiles, index)->path);
}

static gboolean
load (NdtMapTiles *tiles, guint index, GError **error)
{
  Tile *tile = tile_at (tiles, index);
  if (!ndt_map_add_file (tiles->builder, index, tile->path, error)) {
    ndt_voxel_map_builder_remove (tiles->builder, index);
    tiles->counts.n_failed++;
    ndt_log (tiles->log, NDT_LOG_WARNING, "tiles", "left out %s: %s", tile->path,
        error ? (*error)->message : "it could not be read");
    return FALSE;
  }
  g_clear_pointer (&tiles->map, ndt_voxel_map_unref);
  tile->is_used = TRUE;
  tiles->counts.n_used++;
  tiles->counts.n_loaded++;
  ndt_log (tiles->log, NDT_LOG_DEBUG, "tiles", "loaded %s", tile->path);
  return TRUE;
}

/* Lets the system read a file into its cache, without waiting for it. Where it cannot, the file is
 * read when it is needed. */
static void
announce (NdtMapTiles *tiles, guint index)
{
  Tile *tile = tile_at (tiles, index);
  tile->is_announced = TRUE;
  const int fd = open (tile->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return;
  posix_fadvise (fd, 0, 0, POSIX_FADV_WILLNEED);
  close (fd);
  tiles->counts.n_announced++;
}

/* Announces the tiles along the way on which the vehicle has come here. Nothing where it came by a
 * jump, after which the way is not known. */
static void
announce_ahead (NdtMapTiles *tiles, const double position[2], double radius)
{
  const double way[2] = {position[0] - tiles->position[0], position[1] - tiles->position[1]};
  memcpy (tiles->position, position, sizeof (tiles->position));
  if (!(hypot (way[0], way[1]) <= radius))
    return;
  for (guint k = 1; k <= MOVES_AHEAD; k++) {
    const double ahead[2] = {position[0] + k * way[0], position[1] + k * way[1]};
    for (guint i = 0; i < tiles->tiles->len; i++) {
      const Tile *tile = tile_at (tiles, i);
      if (!tile->is_used && !tile->is_announced &&
          ndt_map_tiles_get_distance (tiles, i, ahead) <= radius)
        announce (tiles, i);
    }
  }
}

NdtVoxelMap *
ndt_map_tiles_move (
    NdtMapTiles *tiles, const double position[2], double radius, GError **failure, GError **error)
{
  const guint n = tiles->tiles->len;
  const NdtMapTilesCounts before = tiles->counts;
  double nearest = INFINITY;
  for (guint i = 0; i < n; i++)
    nearest = MIN (nearest, ndt_map_tiles_get_distance (tiles, i, position));
  tiles->counts.is_outside = nearest > radius;
  const double reach = MAX (radius, nearest);

  /* Tiles are dropped before others are read, so that their memory is free. */
  for (guint i = 0; i < n; i++)
    if (tile_at (tiles, i)->is_used && ndt_map_tiles_get_distance (tiles, i, position) > reach)
      drop (tiles, i);
  for (guint i = 0; i < n; i++) {
    g_autoptr (GError) cause = NULL;
    if (tile_at (tiles, i)->is_used || ndt_map_tiles_get_distance (tiles, i, position) > reach ||
        load (tiles, i, &cause))
      continue;
    if (failure && !*failure)
      *failure = g_steal_pointer (&cause);
  }
  announce_ahead (tiles, position, radius);
  if (!tiles->map)
    tiles->map = ndt_voxel_map_builder_build (tiles->builder, error);
  ndt_log (tiles->log, NDT_LOG_INFO, "tiles",
      "at (%.1f, %.1f) m: %u of %u tiles within %.1f m%s; %" G_GUINT64_FORMAT
      " loaded, %" G_GUINT64_FORMAT " dropped, %" G_GUINT64_FORMAT " failed",
      position[0], position[1], tiles->counts.n_used, n, radius,
      tiles->counts.is_outside ? " (none there: the nearest)" : "",
      tiles->counts.n_loaded - before.n_loaded, tiles->counts.n_dropped - before.n_dropped,
      tiles->counts.n_failed - before.n_failed);
  return tiles->map ? ndt_voxel_map_ref (tiles->map) : NULL;
}
