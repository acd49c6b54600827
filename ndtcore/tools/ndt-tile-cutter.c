/* SPDX-License-Identifier: MIT */
#include "ndt-tile-cutter.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/io/ndt-map-metadata.h"
#include "ndtcore/io/ndt-pcd.h"

#define MAX_BUFFERED ((gsize)64 << 20)
#define MAX_TILES 100000u

/* What does not fit into the buffers lies in the file @part until the end. */
typedef struct {
  double cell[2]; /* whole numbers; corner divided by size */
  GByteArray *buffer;
  gboolean has_part;
  gboolean is_written;
} Tile;

struct _NdtTileCutter {
  gchar *folder;
  double size;
  NdtScalar scalar;
  GHashTable *by_cell; /* of Tile, which is its own key */
  GPtrArray *tiles;    /* the same in the order in which they were met */
  gsize buffered;
  guint64 n_points;
  gboolean is_finished;
};

static guint
hash_cell (gconstpointer data)
{
  const Tile *tile = data;
  return g_double_hash (&tile->cell[0]) * 31 + g_double_hash (&tile->cell[1]);
}

static gboolean
same_cell (gconstpointer a, gconstpointer b)
{
  const Tile *x = a, *y = b;
  return x->cell[0] == y->cell[0] && x->cell[1] == y->cell[1];
}

static void
tile_free (gpointer data)
{
  Tile *tile = data;
  g_byte_array_unref (tile->buffer);
  g_free (tile);
}

NdtTileCutter *
ndt_tile_cutter_new (const gchar *folder, double size, NdtScalar scalar)
{
  NdtTileCutter *cutter = g_new0 (NdtTileCutter, 1);
  cutter->folder = g_strdup (folder);
  cutter->size = size;
  cutter->scalar = scalar;
  cutter->by_cell = g_hash_table_new (hash_cell, same_cell);
  cutter->tiles = g_ptr_array_new_with_free_func (tile_free);
  return cutter;
}

static gchar *
name_of (const NdtTileCutter *cutter, const Tile *tile)
{
  return g_strdup_printf (
      "%.12g_%.12g.pcd", tile->cell[0] * cutter->size, tile->cell[1] * cutter->size);
}

static gchar *
path_of (const NdtTileCutter *cutter, const Tile *tile)
{
  g_autofree gchar *name = name_of (cutter, tile);
  return g_build_filename (cutter->folder, name, NULL);
}

static gchar *
part_of (const NdtTileCutter *cutter, const Tile *tile)
{
  g_autofree gchar *path = path_of (cutter, tile);
  return g_strconcat (path, ".part", NULL);
}

void
ndt_tile_cutter_free (NdtTileCutter *cutter)
{
  for (guint i = 0; i < cutter->tiles->len; i++) {
    const Tile *tile = g_ptr_array_index (cutter->tiles, i);
    g_autofree gchar *part = part_of (cutter, tile);
    g_autofree gchar *path = path_of (cutter, tile);
    if (tile->has_part)
      g_unlink (part);
    if (tile->is_written && !cutter->is_finished)
      g_unlink (path);
  }
  g_hash_table_unref (cutter->by_cell);
  g_ptr_array_unref (cutter->tiles);
  g_free (cutter->folder);
  g_free (cutter);
}

/* Moves a tile's buffer to its file. */
static gboolean
spill (NdtTileCutter *cutter, Tile *tile, GError **error)
{
  if (tile->buffer->len == 0)
    return TRUE;
  g_autofree gchar *path = part_of (cutter, tile);
  FILE *part = g_fopen (path, tile->has_part ? "ab" : "wb");
  tile->has_part = tile->has_part || part;
  gboolean ok = part && fwrite (tile->buffer->data, tile->buffer->len, 1, part) == 1;
  int cause = errno;
  if (part && fclose (part) != 0 && ok) {
    ok = FALSE;
    cause = errno;
  }
  if (!ok) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "cannot write %s: %s", path, g_strerror (cause));
    return FALSE;
  }
  g_byte_array_unref (tile->buffer);
  tile->buffer = g_byte_array_new ();
  return TRUE;
}

static Tile *
find_tile (NdtTileCutter *cutter, const double cell[2], GError **error)
{
  const Tile key = {.cell = {cell[0], cell[1]}};
  Tile *tile = g_hash_table_lookup (cutter->by_cell, &key);
  if (tile)
    return tile;
  if (cutter->tiles->len == MAX_TILES) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "more than %u tiles of %g m: choose a larger size", MAX_TILES, cutter->size);
    return NULL;
  }
  tile = g_new0 (Tile, 1);
  *tile = key;
  tile->buffer = g_byte_array_new ();
  g_ptr_array_add (cutter->tiles, tile);
  g_hash_table_add (cutter->by_cell, tile);
  return tile;
}

gboolean
ndt_tile_cutter_add (NdtTileCutter *cutter, const NdtCloudView *points, GError **error)
{
  Tile *tile = NULL;
  for (gsize i = 0; i < points->n_points; i++) {
    double p[3];
    ndt_cloud_view_get (points, i, p);
    if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
      continue;
    /* + 0: not −0, which is another key. */
    const double cell[2] = {floor (p[0] / cutter->size) + 0.0, floor (p[1] / cutter->size) + 0.0};
    if (!tile || tile->cell[0] != cell[0] || tile->cell[1] != cell[1])
      tile = find_tile (cutter, cell, error);
    if (!tile)
      return FALSE;
    const float f[3] = {(float)p[0], (float)p[1], (float)p[2]};
    const gboolean wide = cutter->scalar == NDT_SCALAR_F64;
    const guint size = wide ? sizeof p : sizeof f;
    g_byte_array_append (tile->buffer, wide ? (const guint8 *)p : (const guint8 *)f, size);
    cutter->n_points++;
    cutter->buffered += size;
    if (cutter->buffered > MAX_BUFFERED) {
      for (guint t = 0; t < cutter->tiles->len; t++)
        if (!spill (cutter, g_ptr_array_index (cutter->tiles, t), error))
          return FALSE;
      cutter->buffered = 0;
    }
  }
  return TRUE;
}

guint
ndt_tile_cutter_get_n_tiles (const NdtTileCutter *cutter)
{
  return cutter->tiles->len;
}

guint64
ndt_tile_cutter_get_n_points (const NdtTileCutter *cutter)
{
  return cutter->n_points;
}

static gboolean
write_tile (NdtTileCutter *cutter, Tile *tile, GError **error)
{
  g_autofree gchar *path = path_of (cutter, tile);
  g_autofree gchar *part = part_of (cutter, tile);
  g_autoptr (GMappedFile) mapped = NULL;
  g_autoptr (GError) cause = NULL;
  const guint8 *data = tile->buffer->data;
  gsize size = tile->buffer->len;

  if (tile->has_part) {
    if (!spill (cutter, tile, error))
      return FALSE;
    mapped = g_mapped_file_new (part, FALSE, &cause);
    if (!mapped) {
      g_set_error_literal (error, NDT_ERROR, NDT_ERROR_IO, cause->message);
      return FALSE;
    }
    data = (const guint8 *)g_mapped_file_get_contents (mapped);
    size = g_mapped_file_get_length (mapped);
  }
  const gsize scalar = cutter->scalar == NDT_SCALAR_F64 ? sizeof (double) : sizeof (float);
  const NdtCloudView view =
      ndt_cloud_view (data, size / (3 * scalar), 3 * scalar, 0, scalar, 2 * scalar, cutter->scalar);
  if (!ndt_pcd_write (path, &view, NDT_PCD_BINARY, error))
    return FALSE;
  tile->is_written = TRUE;
  if (tile->has_part)
    g_unlink (part);
  tile->has_part = FALSE;
  g_byte_array_set_size (tile->buffer, 0);
  return TRUE;
}

static gint
compare_cells (gconstpointer a, gconstpointer b)
{
  const Tile *x = *(Tile *const *)a, *y = *(Tile *const *)b;
  for (guint k = 0; k < 2; k++)
    if (x->cell[k] != y->cell[k])
      return x->cell[k] < y->cell[k] ? -1 : 1;
  return 0;
}

gboolean
ndt_tile_cutter_finish (NdtTileCutter *cutter, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) cause = NULL;

  g_string_append_printf (
      text, "x_resolution: %.12g\ny_resolution: %.12g\n", cutter->size, cutter->size);
  g_ptr_array_sort (cutter->tiles, compare_cells);
  for (guint i = 0; i < cutter->tiles->len; i++) {
    Tile *tile = g_ptr_array_index (cutter->tiles, i);
    g_autofree gchar *name = name_of (cutter, tile);
    if (!write_tile (cutter, tile, error))
      return FALSE;
    g_string_append_printf (text, "%s: [%.12g, %.12g]\n", name, tile->cell[0] * cutter->size,
        tile->cell[1] * cutter->size);
  }
  g_autofree gchar *path = g_build_filename (cutter->folder, NDT_MAP_METADATA_NAME, NULL);
  cutter->is_finished = g_file_set_contents (path, text->str, (gssize)text->len, &cause);
  if (!cutter->is_finished)
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_IO, cause->message);
  return cutter->is_finished;
}
