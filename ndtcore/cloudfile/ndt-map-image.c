/* SPDX-License-Identifier: MIT */
#include "ndt-map-image.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "ndt-map-image-layout.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-hash.h"
#include "ndtcore/base/ndt-text.h"
#include "ndtcore/math/ndt-types.h"

struct _NdtMapImage {
  gchar *name;
  GMappedFile *mapping; /* NULL: memory of the caller */
  const guint8 *data;
  gsize size;
  ImageHeader header;
  const ImageTile *tiles;
  gchar *info;
  NdtVoxelMapParams params;
  NdtVoxelMap *map; /* set after the data were checked */
};

gboolean
ndt_map_image_has_magic (const guint8 *data, gsize size)
{
  return size >= IMAGE_MAGIC_SIZE && memcmp (data, IMAGE_MAGIC, IMAGE_MAGIC_SIZE) == 0;
}

gboolean
ndt_map_image_is_image (const gchar *path)
{
  guint8 start[IMAGE_MAGIC_SIZE];
  const int fd = ndt_file_open (path, NULL);
  if (fd < 0)
    return FALSE;
  const gssize n = read (fd, start, sizeof start);
  close (fd);
  return n == (gssize)sizeof start && ndt_map_image_has_magic (start, sizeof start);
}

/* ---- Header ---- */

static gboolean
check_version (const guint8 *data, gsize size, GError **error)
{
  guint32 version;
  if (!ndt_map_image_has_magic (data, size))
    return ndt_text_fail (error, "is no .ndtmap file");
  if (size < 16)
    return ndt_text_fail (error, "is cut within its header");
  memcpy (&version, data + 12, sizeof version);
  if (version < NDT_MAP_IMAGE_VERSION)
    return ndt_text_fail (error,
        "is of version %u, and this program reads %u: make it again by ndt-map convert", version,
        NDT_MAP_IMAGE_VERSION);
  if (version > NDT_MAP_IMAGE_VERSION)
    return ndt_text_fail (error,
        "is of version %u, made by a newer program than this one, which reads %u: make it again by "
        "this one's ndt-map convert",
        version, NDT_MAP_IMAGE_VERSION);
  return TRUE;
}

/* A section of @n items within the file, behind the header. */
static gboolean
is_section (const NdtMapImage *image, guint64 offset, guint64 n, gsize item)
{
  return offset % IMAGE_PAGE == 0 && offset >= sizeof (ImageHeader) && offset <= image->size &&
         n <= (image->size - offset) / item;
}

static gboolean
is_level (const NdtMapImage *image, guint l)
{
  const ImageHeader *header = &image->header;
  const ImageLevel *level = &header->levels[l];
  for (guint k = 0; k < 3; k++) {
    if (level->origin[k] % 4 != 0 || level->origin[k] > G_GINT64_CONSTANT (2000000000000000000) ||
        level->origin[k] < -G_GINT64_CONSTANT (2000000000000000000) ||
        level->cell_min[k] < -2 * NDT_KEY_LIMIT || level->cell_max[k] > 2 * NDT_KEY_LIMIT)
      return FALSE;
    if (level->n_voxels > 0 && level->cell_min[k] > level->cell_max[k])
      return FALSE;
  }
  /* Half full at most, so that a search ends. */
  return level->resolution == header->resolution * (1 << l) && level->block_shift > 64 - 34 &&
         level->block_shift <= 60 &&
         level->n_blocks_used <= image_n_slots (level->block_shift) / 2 &&
         is_section (image, level->voxels_offset, level->n_voxels, sizeof (NdtVoxel)) &&
         is_section (
             image, level->blocks_offset, image_n_slots (level->block_shift), sizeof (NdtBlock));
}

static gboolean
check_tiles (const NdtMapImage *image)
{
  const ImageHeader *header = &image->header;
  for (guint l = 0; l < header->n_levels; l++) {
    guint64 n = 0;
    for (guint i = 0; i < header->n_tiles; i++) {
      if (image->tiles[i].parts[l].first != n)
        return FALSE;
      n += image->tiles[i].parts[l].n;
    }
    if (n != header->levels[l].n_voxels)
      return FALSE;
  }
  return TRUE;
}

static gboolean
read_header (NdtMapImage *image, GError **error)
{
  ImageHeader *header = &image->header;

  if (!check_version (image->data, image->size, error))
    return FALSE;
  if (image->size < sizeof *header)
    return ndt_text_fail (error, "is cut within its header");
  memcpy (header, image->data, sizeof *header);
  if (image->size < header->file_size)
    return ndt_text_fail (error,
        "is cut: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " bytes are missing",
        header->file_size - image->size, header->file_size);
  const guint64 index = (guint64)header->n_tiles * sizeof (ImageTile) + header->info_size;
  if (image->size != header->file_size || index > image->size - sizeof *header ||
      header->info_size > NDT_MAP_IMAGE_MAX_INFO ||
      header->index_hash !=
          ndt_hash64 (image->data + IMAGE_HASHED, sizeof *header - IMAGE_HASHED + (gsize)index))
    return ndt_text_fail (error, "is damaged: its header has another checksum");

  image->tiles = (const ImageTile *)(gconstpointer)(image->data + sizeof *header);
  image->info = g_strndup ((const gchar *)(image->tiles + header->n_tiles), header->info_size);
  image->params = (NdtVoxelMapParams){.resolution = header->resolution,
      .min_points = header->min_points,
      .eigenvalue_ratio = header->eigenvalue_ratio,
      .covariance = (NdtCovarianceEstimate)header->covariance,
      .n_levels = header->n_levels};
  gboolean ok = ndt_voxel_map_params_check (&image->params, NULL) &&
                header->levels[0].n_voxels > 0 && header->tile_cells > 0 &&
                header->tile_cells % IMAGE_TILE_STEP == 0;
  for (guint k = 0; k < 3; k++)
    ok = ok && isfinite (header->min[k]) && isfinite (header->max[k]) &&
         header->min[k] <= header->max[k];
  for (guint l = 0; ok && l < header->n_levels; l++)
    ok = is_level (image, l);
  return (ok && check_tiles (image)) ||
         ndt_text_fail (error, "is damaged: its header does not make sense");
}

NdtMapImage *
ndt_map_image_open_data (gconstpointer data, gsize size, const gchar *name, GError **error)
{
  g_autoptr (NdtMapImage) image = g_new0 (NdtMapImage, 1);
  g_autoptr (GError) cause = NULL;
  image->name = g_strdup (name);
  image->data = data;
  image->size = size;
  if (read_header (image, &cause))
    return g_steal_pointer (&image);
  g_propagate_prefixed_error (error, g_steal_pointer (&cause), "%s ", name);
  return NULL;
}

NdtMapImage *
ndt_map_image_open (const gchar *path, GError **error)
{
  g_autoptr (GError) cause = NULL;
  g_autofree gchar *shown = g_filename_display_name (path);
  const int fd = ndt_file_open (path, error);
  if (fd < 0)
    return NULL;
  g_autoptr (GMappedFile) mapping = g_mapped_file_new_from_fd (fd, FALSE, &cause);
  close (fd);
  if (!mapping) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s: %s", shown, cause->message);
    return NULL;
  }
  NdtMapImage *image = ndt_map_image_open_data (
      g_mapped_file_get_contents (mapping), g_mapped_file_get_length (mapping), shown, error);
  if (image)
    image->mapping = g_steal_pointer (&mapping);
  return image;
}

void
ndt_map_image_free (NdtMapImage *image)
{
  if (!image)
    return;
  g_clear_pointer (&image->map, ndt_voxel_map_unref);
  g_clear_pointer (&image->mapping, g_mapped_file_unref);
  g_free (image->info);
  g_free (image->name);
  g_free (image);
}

const NdtVoxelMapParams *
ndt_map_image_get_params (const NdtMapImage *image)
{
  return &image->params;
}

const gchar *
ndt_map_image_get_info (const NdtMapImage *image)
{
  return image->info;
}

guint
ndt_map_image_get_n_tiles (const NdtMapImage *image)
{
  return image->header.n_tiles;
}

double
ndt_map_image_get_tile_size (const NdtMapImage *image)
{
  return image->header.tile_cells * image->params.resolution;
}

gboolean
ndt_map_image_check_params (
    const NdtMapImage *image, const NdtVoxelMapParams *params, GError **error)
{
  const NdtVoxelMapParams *made = &image->params;
  static const gchar *const covariances[] = {"unbiased", "autoware", "ndt-omp"};
  g_autofree gchar *what = NULL;

  if (made->resolution != params->resolution)
    what = g_strdup_printf ("with a resolution of %g m, and %g m is asked for: set resolution=%g",
        made->resolution, params->resolution, made->resolution);
  else if (made->covariance != params->covariance)
    what = g_strdup_printf ("with the covariance %s, and %s is asked for: set "
                            "covariance-estimate=%s",
        covariances[made->covariance], covariances[params->covariance],
        covariances[made->covariance]);
  else if (made->min_points != params->min_points ||
           made->eigenvalue_ratio != params->eigenvalue_ratio)
    what = g_strdup_printf ("with voxels of %u points and an eigenvalue ratio of %g, and %u and %g "
                            "are asked for",
        made->min_points, made->eigenvalue_ratio, params->min_points, params->eigenvalue_ratio);
  else if (made->n_levels != params->n_levels)
    what =
        g_strdup_printf ("with %u levels, and %u are asked for", made->n_levels, params->n_levels);
  else if (params->keep_details)
    what = g_strdup ("without the details of voxels that are asked for");
  if (!what)
    return TRUE;
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
      "%s was made %s, or make another by ndt-map convert", image->name, what);
  return FALSE;
}

/* ---- Data ---- */

static gboolean
fail_damaged (guint level, const gchar *what, GError **error)
{
  return ndt_text_fail (error, "is damaged: %s of level %u", what, level);
}

/* Checks that all voxels of a block are within the array. */
static gboolean
check_blocks (const ImageLevel *level, const NdtBlock *blocks)
{
  const gsize n_slots = image_n_slots (level->block_shift);
  guint64 n_used = 0, n_voxels = 0;
  for (gsize i = 0; i < n_slots; i++) {
    if (blocks[i].key == NDT_BLOCK_EMPTY)
      continue;
    const guint n = (guint)__builtin_popcountll (blocks[i].mask);
    if (n == 0 || (guint64)blocks[i].first + n > level->n_voxels)
      return FALSE;
    n_used++;
    n_voxels += n;
  }
  return n_used == level->n_blocks_used && n_voxels == level->n_voxels;
}

static gboolean
check_voxels (const ImageLevel *level, const NdtVoxel *voxels, guint32 n)
{
  for (guint32 i = 0; i < n; i++) {
    float sum = 0;
    gboolean inside = TRUE;
    for (guint k = 0; k < 3; k++) {
      sum += voxels[i].mean[k] * 0;
      inside = inside && voxels[i].cell[k] >= level->cell_min[k] &&
               voxels[i].cell[k] <= level->cell_max[k];
    }
    for (guint k = 0; k < 6; k++)
      sum += voxels[i].icov[k] * 0;
    if (!inside || sum != 0) /* not where something is infinite or no number */
      return FALSE;
  }
  return TRUE;
}

static gboolean
check_level (const NdtMapImage *image, guint l, GError **error)
{
  const ImageLevel *level = &image->header.levels[l];
  const NdtVoxel *voxels = (gconstpointer)(image->data + level->voxels_offset);
  const NdtBlock *blocks = (gconstpointer)(image->data + level->blocks_offset);

  if (ndt_hash64 (blocks, image_n_slots (level->block_shift) * sizeof *blocks) !=
      level->blocks_hash)
    return fail_damaged (l, "another checksum of the table", error);
  if (!check_blocks (level, blocks))
    return fail_damaged (l, "the table does not fit the voxels", error);
  for (guint i = 0; i < image->header.n_tiles; i++) {
    const ImageTilePart *part = &image->tiles[i].parts[l];
    if (ndt_hash64 (voxels + part->first, part->n * sizeof *voxels) != part->hash)
      return fail_damaged (l, "another checksum of a tile", error);
    if (!check_voxels (level, voxels + part->first, part->n))
      return fail_damaged (l, "voxels outside of it or not finite", error);
  }
  return TRUE;
}

static void
release_mapping (gpointer mapping)
{
  if (mapping)
    g_mapped_file_unref (mapping);
}

NdtVoxelMap *
ndt_map_image_get_map (NdtMapImage *image, GError **error)
{
  const ImageHeader *header = &image->header;
  NdtVoxelLevel levels[NDT_MAX_LEVELS] = {0};
  g_autoptr (GError) cause = NULL;

  if (image->map)
    return ndt_voxel_map_ref (image->map);
  for (guint l = 0; l < header->n_levels; l++) {
    const ImageLevel *from = &header->levels[l];
    NdtVoxelLevel *level = &levels[l];
    if (!check_level (image, l, &cause)) {
      g_propagate_prefixed_error (error, g_steal_pointer (&cause), "%s ", image->name);
      return NULL;
    }
    level->resolution = from->resolution;
    memcpy (level->origin, from->origin, sizeof level->origin);
    level->n_points = from->n_points;
    level->n_voxels = from->n_voxels;
    level->n_blocks_used = from->n_blocks_used;
    level->block_shift = from->block_shift;
    level->voxels = (gconstpointer)(image->data + from->voxels_offset);
    level->blocks = (gconstpointer)(image->data + from->blocks_offset);
    memcpy (level->cell_min, from->cell_min, sizeof level->cell_min);
    memcpy (level->cell_max, from->cell_max, sizeof level->cell_max);
  }
  image->map = ndt_voxel_map_new_static (&image->params, header->n_levels, levels, header->n_points,
      header->min, header->max, release_mapping,
      image->mapping ? g_mapped_file_ref (image->mapping) : NULL);
  return ndt_voxel_map_ref (image->map);
}

double *
ndt_map_image_dup_means (NdtMapImage *image, gsize *n, GError **error)
{
  g_autoptr (NdtVoxelMap) map = ndt_map_image_get_map (image, error);
  if (!map)
    return NULL;
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  double *xyz = g_new (double, 3 * (gsize)level->n_voxels + 1);
  for (guint32 i = 0; i < level->n_voxels; i++)
    for (guint k = 0; k < 3; k++)
      xyz[3 * (gsize)i + k] =
          (double)(level->origin[k] + level->voxels[i].cell[k]) * level->resolution +
          (double)level->voxels[i].mean[k];
  *n = level->n_voxels;
  return xyz;
}

gboolean
ndt_map_image_find_georeference (
    const gchar *location, NdtGeoreference *georeference, GError **error)
{
  if (!ndt_map_image_is_image (location))
    return ndt_georeference_find (location, georeference, error);
  g_autoptr (NdtMapImage) image = ndt_map_image_open (location, error);
  const gchar *text = image ? ndt_map_image_get_info (image) : "";
  return image && ndt_georeference_parse (text, strlen (text), location, georeference, error);
}
