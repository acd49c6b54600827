/* SPDX-License-Identifier: MIT */
/* Finished maps: what they hold, how fast they open, and what is refused. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-hash.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-map-image.h"

/* What opening may take, whatever the size: what users were promised. */
#define OPEN_LIMIT (10 * G_TIME_SPAN_MILLISECOND)

static gchar *folder;
static gchar *path;

/* A step of cells on both sides of an origin far away, with points everywhere in each. */
static NdtVoxelMap *
make_map (const NdtVoxelMapParams *params, guint n_cells, guint points_each)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  const gsize n = (gsize)n_cells * points_each;
  const gint edge = (gint)sqrt ((double)n_cells);
  g_autofree double *xyz = g_new (double, 3 * n);
  for (gsize i = 0; i < n; i++) {
    const gint cell = (gint)(i / points_each), x = cell % edge - edge / 2,
               y = cell / edge - edge / 2;
    const gint corner[3] = {x, y, (x + 2 * y) / 7};
    for (guint k = 0; k < 3; k++)
      xyz[3 * i + k] = (corner[k] + g_rand_double_range (rand, 0.01, 0.99)) * params->resolution;
    xyz[3 * i + 1] += 4e6; /* a multiple of all resolutions */
  }
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, n);
  g_autoptr (GError) error = NULL;
  NdtVoxelMap *map = ndt_voxel_map_new (params, &view, &error);
  g_assert_no_error (error);
  return map;
}

static NdtVoxelMap *
load (const NdtVoxelMapParams *params)
{
  g_autoptr (GError) error = NULL;
  NdtVoxelMap *map = ndt_map_load (path, params, &error);
  g_assert_no_error (error);
  return map;
}

/* What is found of each cell is the same to the bit; the order of voxels is another. */
static void
assert_same (const NdtVoxelMap *a, const NdtVoxelMap *b)
{
  double bounds[4][3];
  g_assert_cmpuint (ndt_voxel_map_get_n_points (a), ==, ndt_voxel_map_get_n_points (b));
  g_assert_cmpuint (ndt_voxel_map_get_n_levels (a), ==, ndt_voxel_map_get_n_levels (b));
  g_assert_cmpuint (ndt_voxel_map_get_bytes (a), ==, ndt_voxel_map_get_bytes (b));
  ndt_voxel_map_get_bounds (a, bounds[0], bounds[1]);
  ndt_voxel_map_get_bounds (b, bounds[2], bounds[3]);
  g_assert_cmpmem (bounds[0], 48, bounds[2], 48);
  for (guint l = 0; l < ndt_voxel_map_get_n_levels (a); l++) {
    const NdtVoxelLevel *x = ndt_voxel_map_get_level (a, l), *y = ndt_voxel_map_get_level (b, l);
    g_assert_cmpuint (x->n_voxels, ==, y->n_voxels);
    g_assert_cmpuint (x->n_points, ==, y->n_points);
    g_assert_cmpuint (x->n_blocks_used, ==, y->n_blocks_used);
    g_assert_cmpfloat (x->resolution, ==, y->resolution);
    g_assert_cmpmem (x->origin, sizeof x->origin, y->origin, sizeof y->origin);
    g_assert_cmpmem (x->cell_min, sizeof x->cell_min, y->cell_min, sizeof y->cell_min);
    g_assert_cmpmem (x->cell_max, sizeof x->cell_max, y->cell_max, sizeof y->cell_max);
    for (guint32 i = 0; i < x->n_voxels; i++) {
      const gint32 *c = x->voxels[i].cell;
      const gint64 at = ndt_voxel_level_find (y, c[0], c[1], c[2]);
      g_assert_cmpint (at, >=, 0);
      g_assert_cmpmem (&x->voxels[i], sizeof (NdtVoxel), &y->voxels[at], sizeof (NdtVoxel));
    }
  }
}

static void
test_hash (void)
{
  /* Of the specification's own program: xxhsum -H1. */
  g_assert_cmphex (ndt_hash64 ("", 0), ==, G_GUINT64_CONSTANT (0xef46db3751d8e999));
  g_assert_cmphex (ndt_hash64 ("abc", 3), ==, G_GUINT64_CONSTANT (0x44bc2cf5ad770999));
  const gchar *text = "Nobody inspects the spammish repetition";
  g_assert_cmphex (ndt_hash64 (text, strlen (text)), ==, G_GUINT64_CONSTANT (0xfbcea83c8a378bf1));
}

static void
test_round_trip (void)
{
  const double resolutions[] = {0.2, 1, 2, 50};
  for (guint i = 0; i < G_N_ELEMENTS (resolutions); i++) {
    for (guint n_levels = 1; n_levels <= NDT_MAX_LEVELS; n_levels++) {
      NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
      g_autoptr (GError) error = NULL;
      params.resolution = resolutions[i];
      params.n_levels = n_levels;
      params.covariance = (NdtCovarianceEstimate)(n_levels - 1);
      g_autoptr (NdtVoxelMap) map = make_map (&params, 5000, 8);
      g_assert_true (ndt_map_image_write (path, map, "projector_type: Local\n", &error));
      g_assert_no_error (error);
      g_autoptr (NdtVoxelMap) again = load (&params);
      assert_same (map, again);
      assert_same (again, map);

      g_autoptr (NdtMapImage) image = ndt_map_image_open (path, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (ndt_map_image_get_info (image), ==, "projector_type: Local\n");
      g_assert_cmpuint (ndt_map_image_get_n_tiles (image), >, params.resolution < 1 ? 0 : 1);
      g_assert_cmpfloat (ndt_map_image_get_tile_size (image), >=, 32);
    }
  }
}

/* The map lives on without the image and without the file. */
static void
test_outlives (void)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (NdtVoxelMap) map = make_map (&params, 500, 8);
  g_assert_true (ndt_map_image_write (path, map, NULL, NULL));
  g_autoptr (NdtVoxelMap) again = load (&params);
  g_assert_cmpint (g_unlink (path), ==, 0);
  assert_same (map, again);
}

static void
assert_contains (const gchar *text, const gchar *part)
{
  if (!strstr (text, part))
    g_error ("“%s” does not say “%s”", text, part);
}

static void
assert_refused (const guint8 *data, gsize size, const gchar *text)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (GError) error = NULL;
  g_assert_true (g_file_set_contents (path, (const gchar *)data, (gssize)size, NULL));
  g_assert_null (ndt_map_load (path, &params, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
  assert_contains (error->message, text);
  g_assert_true (g_str_has_prefix (error->message, path));
}

static void
test_damaged (void)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (NdtVoxelMap) map = make_map (&params, 2000, 8);
  g_autofree gchar *text = NULL;
  gsize size;
  g_assert_true (ndt_map_image_write (path, map, "a note", NULL));
  g_assert_true (g_file_get_contents (path, &text, &size, NULL));
  guint8 *data = (guint8 *)text;

  assert_refused (data, 14, "is cut within its header");
  assert_refused (data, 100, "is cut within its header");
  assert_refused (data, 4096, "bytes are missing");
  assert_refused (data, size - 1, "is cut: 1 of");
  g_autofree guint8 *longer = g_malloc0 (size + 1);
  memcpy (longer, data, size);
  assert_refused (longer, size + 1, "header has another checksum");

  guint32 version = 0;
  memcpy (data + 12, &version, 4);
  assert_refused (data, size, "is of version 0, and this program reads 1: make it again");
  version = 2;
  memcpy (data + 12, &version, 4);
  assert_refused (data, size, "made by a newer program");
  version = 1;
  memcpy (data + 12, &version, 4);

  /* Each byte of the header, and one here and there. */
  for (gsize i = 16; i < size; i += i < 600 ? 1 : 97) {
    g_autoptr (GError) error = NULL;
    data[i] ^= 0x10;
    g_autoptr (NdtMapImage) image = ndt_map_image_open_data (data, size, path, &error);
    g_autoptr (NdtVoxelMap) read = image ? ndt_map_image_get_map (image, &error) : NULL;
    if (read) { /* padding between sections */
      assert_same (map, read);
      g_assert_cmpint (text[i], ==, 0x10);
    } else {
      g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
      g_assert_true (
          strstr (error->message, "is damaged") || strstr (error->message, "are missing"));
    }
    data[i] ^= 0x10;
  }

  /* As other bytes it is none of ours. */
  memcpy (data, "\x89PNG", 4);
  assert_refused (data, size, "is no PCD file");
}

static void
test_params (void)
{
  const NdtVoxelMapParams made = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (NdtVoxelMap) map = make_map (&made, 500, 8);
  g_assert_true (ndt_map_image_write (path, map, NULL, NULL));
  for (guint i = 0; i < 6; i++) {
    static const gchar *const texts[] = {"set resolution=2, or make another by ndt-map convert",
        "set covariance-estimate=unbiased", "voxels of 6 points", "eigenvalue ratio of 0.01",
        "with 3 levels, and 1 are", "without the details"};
    NdtVoxelMapParams params = made;
    g_autoptr (GError) error = NULL;
    params.resolution = i == 0 ? 1 : 2;
    params.covariance = i == 1 ? NDT_COVARIANCE_AUTOWARE : NDT_COVARIANCE_UNBIASED;
    params.min_points = i == 2 ? 5 : 6;
    params.eigenvalue_ratio = i == 3 ? 0.02 : 0.01;
    params.n_levels = i == 4 ? 1 : 3;
    params.keep_details = i == 5;
    g_assert_null (ndt_map_load (path, &params, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    assert_contains (error->message, texts[i]);
  }
}

/* Two million voxels. */
static void
test_large (void)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  gint64 best = G_MAXINT64;
  params.resolution = 1;
  params.min_points = 3;
  params.n_levels = 3;
  {
    g_autoptr (NdtVoxelMap) map = make_map (&params, 2000000, 3);
    g_assert_cmpuint (ndt_voxel_map_get_level (map, 0)->n_voxels, >=, 2000000);
    g_assert_true (ndt_map_image_write (path, map, NULL, NULL));
    g_autoptr (NdtVoxelMap) again = load (&params);
    assert_same (map, again);
  }
  /* The least of some: others use the machine. */
  for (guint i = 0; i < 5; i++) {
    g_autoptr (GError) error = NULL;
    const gint64 begin = g_get_monotonic_time ();
    g_autoptr (NdtMapImage) image = ndt_map_image_open (path, &error);
    best = MIN (best, g_get_monotonic_time () - begin);
    g_assert_no_error (error);
    g_assert_nonnull (image);
  }
  const gint64 begin = g_get_monotonic_time ();
  g_autoptr (NdtVoxelMap) map = load (&params);
  g_test_message ("%u voxels: opened in %.3f ms, checked in %.1f ms",
      ndt_voxel_map_get_level (map, 0)->n_voxels, (double)best * 1e-3,
      (double)(g_get_monotonic_time () - begin) * 1e-3);
  g_assert_cmpint (best, <=, OPEN_LIMIT);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("ndt-image-XXXXXX", NULL);
  path = g_build_filename (folder, "map.ndtmap", NULL);
  g_test_add_func ("/map-image/hash", test_hash);
  g_test_add_func ("/map-image/round-trip", test_round_trip);
  g_test_add_func ("/map-image/outlives", test_outlives);
  g_test_add_func ("/map-image/damaged", test_damaged);
  g_test_add_func ("/map-image/params", test_params);
  g_test_add_func ("/map-image/large", test_large);
  const int status = g_test_run ();
  g_unlink (path);
  g_rmdir (folder);
  g_free (path);
  g_free (folder);
  return status;
}
