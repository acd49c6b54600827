/* SPDX-License-Identifier: MIT */
#include "ndt-tile-cutter.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "ndtcore/mapfile/ndt-map-metadata.h"
#include "ndtcore/cloudfile/ndt-pcd.h"

#define MAX_BUFFERED ((gsize)64 << 20)
#define MAX_TILES 100000u
/* Beyond this, neighbouring corners are the same double, or nearly. */
#define MAX_CELL 1e14

/* Points that did not fit into memory are in the file @part until the end; NULL: none. */
typedef struct {
  double cell[2]; /* whole numbers; corner divided by size */
  GByteArray *buffer;
  gchar *part;
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
  g_free (tile->part);
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

/* A corner as text: twelve digits, so that 7 times 0.3 is 2.1, where twelve digits identify the
 * tile; all digits far from the origin, where two tiles would have one name. */
static const gchar *
format_corner (const NdtTileCutter *cutter, double corner, gchar text[G_ASCII_DTOSTR_BUF_SIZE])
{
  g_ascii_formatd (text, G_ASCII_DTOSTR_BUF_SIZE, "%.12g", corner);
  if (fabs (g_ascii_strtod (text, NULL) - corner) > 1e-6 * cutter->size)
    g_ascii_formatd (text, G_ASCII_DTOSTR_BUF_SIZE, "%.17g", corner);
  return text;
}

static gchar *
name_of (const NdtTileCutter *cutter, const Tile *tile)
{
  gchar x[G_ASCII_DTOSTR_BUF_SIZE], y[G_ASCII_DTOSTR_BUF_SIZE];
  return g_strdup_printf ("%s_%s.pcd", format_corner (cutter, tile->cell[0] * cutter->size, x),
      format_corner (cutter, tile->cell[1] * cutter->size, y));
}

static gchar *
path_of (const NdtTileCutter *cutter, const Tile *tile)
{
  g_autofree gchar *name = name_of (cutter, tile);
  return g_build_filename (cutter->folder, name, NULL);
}

void
ndt_tile_cutter_free (NdtTileCutter *cutter)
{
  for (guint i = 0; i < cutter->tiles->len; i++) {
    const Tile *tile = g_ptr_array_index (cutter->tiles, i);
    g_autofree gchar *path = path_of (cutter, tile);
    if (tile->part)
      g_unlink (tile->part);
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
  /* A file of its own name that did not exist; a link that took its place is not followed. */
  int fd;
  if (tile->part) {
    fd = g_open (tile->part, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0);
  } else {
    g_autofree gchar *path = path_of (cutter, tile);
    tile->part = g_strconcat (path, ".part.XXXXXX", NULL);
    fd = g_mkstemp_full (tile->part, O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
      g_clear_pointer (&tile->part, g_free);
  }
  int cause = errno;
  gboolean ok = fd >= 0;
  for (gsize done = 0; ok && done < tile->buffer->len;) {
    const gssize n = write (fd, tile->buffer->data + done, tile->buffer->len - done);
    ok = n > 0 || (n < 0 && errno == EINTR);
    cause = errno;
    done += n > 0 ? (gsize)n : 0;
  }
  if (fd >= 0 && close (fd) != 0 && ok) {
    ok = FALSE;
    cause = errno;
  }
  if (!ok) {
    g_autofree gchar *shown = g_filename_display_name (cutter->folder);
    g_set_error (
        error, NDT_ERROR, NDT_ERROR_IO, "cannot write into %s: %s", shown, g_strerror (cause));
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
    /* + 0 makes 0 of −0, which would be another key. */
    const double cell[2] = {floor (p[0] / cutter->size) + 0.0, floor (p[1] / cutter->size) + 0.0};
    if (fabs (cell[0]) > MAX_CELL || fabs (cell[1]) > MAX_CELL) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "point (%g, %g, %g) is too far from the origin for tiles of %g m: it is a stray one, or "
          "the size is too small",
          p[0], p[1], p[2], cutter->size);
      return FALSE;
    }
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
  g_autoptr (GMappedFile) mapped = NULL;
  g_autoptr (GError) cause = NULL;
  const guint8 *data = tile->buffer->data;
  gsize size = tile->buffer->len;

  if (tile->part) {
    if (!spill (cutter, tile, error))
      return FALSE;
    const int fd = g_open (tile->part, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
    mapped = g_mapped_file_new_from_fd (fd, FALSE, &cause);
    if (fd >= 0)
      close (fd);
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
  if (tile->part)
    g_unlink (tile->part);
  g_clear_pointer (&tile->part, g_free);
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

  gchar x[G_ASCII_DTOSTR_BUF_SIZE], y[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd (x, sizeof x, "%.12g", cutter->size);
  g_string_append_printf (text, "x_resolution: %s\ny_resolution: %s\n", x, x);
  g_ptr_array_sort (cutter->tiles, compare_cells);
  for (guint i = 0; i < cutter->tiles->len; i++) {
    Tile *tile = g_ptr_array_index (cutter->tiles, i);
    g_autofree gchar *name = name_of (cutter, tile);
    if (!write_tile (cutter, tile, error))
      return FALSE;
    g_string_append_printf (text, "%s: [%s, %s]\n", name,
        format_corner (cutter, tile->cell[0] * cutter->size, x),
        format_corner (cutter, tile->cell[1] * cutter->size, y));
  }
  g_autofree gchar *path = g_build_filename (cutter->folder, NDT_MAP_METADATA_NAME, NULL);
  cutter->is_finished = g_file_set_contents (path, text->str, (gssize)text->len, &cause);
  if (!cutter->is_finished)
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_IO, cause->message);
  return cutter->is_finished;
}
