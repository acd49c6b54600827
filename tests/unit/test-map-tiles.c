/* SPDX-License-Identifier: MIT */
#include "ndtcore/mapfile/ndt-map-tiles.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "tests/ndt-scene.h"
#include "tests/ndt-tiles.h"

static const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;

/* A yard of 60 × 60 m around the origin, cut into squares of 9 m: cells of 2 m lie across borders.
 */
#define SIZE 9.0

typedef struct {
  gchar *parent;
  gchar *folder;
} Fixture;

static void
make_folder (Fixture *f, gconstpointer data)
{
  f->parent = g_dir_make_tmp ("ndt-tiles-XXXXXX", NULL);
  f->folder = g_build_filename (f->parent, "tiles", NULL);
  g_assert_cmpint (g_mkdir (f->folder, 0755), ==, 0);
}

static void
remove_folder (Fixture *f, gconstpointer data)
{
  ndt_test_remove_folder (f->folder);
  ndt_test_remove_folder (f->parent);
  g_free (f->folder);
  g_free (f->parent);
}

static void
write_tile (const Fixture *f, const gchar *name, const double *xyz, gsize n)
{
  g_autofree gchar *path = g_build_filename (f->folder, name, NULL);
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, n);
  g_assert_true (ndt_pcd_write (path, &view, NDT_PCD_BINARY, NULL));
}

static void
make_yard (Fixture *f, gconstpointer data)
{
  enum { N = 60000 };
  make_folder (f, data);
  g_autofree double *xyz = ndt_test_scene_cloud (NDT_TEST_YARD, N, 5);
  g_autofree gchar *whole = g_build_filename (f->parent, "yard.pcd", NULL);
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, N);
  g_assert_true (ndt_pcd_write (whole, &view, NDT_PCD_BINARY, NULL));
  ndt_test_cut_map (whole, f->folder, SIZE);
}

static NdtMapTiles *
open_tiles (const gchar *path)
{
  GError *error = NULL;
  NdtMapTiles *tiles = ndt_map_tiles_open (path, &params, &error);
  g_assert_no_error (error);
  return tiles;
}

static NdtVoxelMap *
move (NdtMapTiles *tiles, double x, double y, double radius)
{
  g_autoptr (GError) failure = NULL;
  g_autoptr (GError) error = NULL;
  const double position[2] = {x, y};
  NdtVoxelMap *map = ndt_map_tiles_move (tiles, position, radius, &failure, &error);
  g_assert_no_error (failure);
  g_assert_no_error (error);
  return map;
}

static NdtMapTilesCounts
counts_of (const NdtMapTiles *tiles)
{
  NdtMapTilesCounts counts;
  ndt_map_tiles_get_counts (tiles, &counts);
  return counts;
}

static void
assert_box (const NdtMapTiles *tiles, guint index, double x0, double y0, double x1, double y1)
{
  double min[2], max[2];
  ndt_map_tiles_get_box (tiles, index, min, max);
  g_assert_cmpfloat (min[0], ==, x0);
  g_assert_cmpfloat (min[1], ==, y0);
  g_assert_cmpfloat (max[0], ==, x1);
  g_assert_cmpfloat (max[1], ==, y1);
}

/* ---- Which map it is ---- */

static guint64
hash_of (const gchar *path, double resolution)
{
  NdtVoxelMapParams p = params;
  p.resolution = resolution;
  g_autoptr (NdtMapTiles) tiles = ndt_map_tiles_open (path, &p, NULL);
  return ndt_map_tiles_get_hash (tiles);
}

static void
test_hash (Fixture *f, gconstpointer data)
{
  static const double points[6] = {0, 0, 0, 1, 1, 1};
  static const double inside[9] = {0, 0, 0, 1, 1, 1, 0.5, 0.5, 0.5};
  static const double farther[6] = {0, 0, 0, 1, 2, 1};
  write_tile (f, "a.pcd", points, 2);
  const guint64 before = hash_of (f->folder, 1);
  g_assert_cmpuint (hash_of (f->folder, 1), ==, before);
  g_assert_cmpuint (hash_of (f->folder, 2), !=, before);
  /* Another size in the same box, another box of the same size, another file. */
  write_tile (f, "a.pcd", inside, 3);
  g_assert_cmpuint (hash_of (f->folder, 1), !=, before);
  write_tile (f, "a.pcd", farther, 2);
  g_assert_cmpuint (hash_of (f->folder, 1), !=, before);
  write_tile (f, "a.pcd", points, 2);
  g_assert_cmpuint (hash_of (f->folder, 1), ==, before);
  write_tile (f, "b.pcd", points, 2);
  g_assert_cmpuint (hash_of (f->folder, 1), !=, before);
}

/* ---- Boxes ---- */

static const double low[6] = {-3, 2, 0, 4, 5, 1};
static const double far_off[9] = {1e6, 4e6, 0, 1e6 + 7, 4e6 + 1, 2, NAN, 0, 0};
static const double none[3] = {NAN, 0, 0};

static void
test_bounds (Fixture *f, gconstpointer data)
{
  write_tile (f, "b.pcd", far_off, 3);
  write_tile (f, "a.pcd", low, 2);
  write_tile (f, "c.pcd", none, 1);
  g_autoptr (NdtMapTiles) tiles = open_tiles (f->folder);
  g_assert_cmpuint (ndt_map_tiles_get_n_tiles (tiles), ==, 3);
  g_assert_true (g_str_has_suffix (ndt_map_tiles_get_path (tiles, 1), "/b.pcd"));
  assert_box (tiles, 0, -3, 2, 4, 5);
  assert_box (tiles, 1, 1e6, 4e6, 1e6 + 7, 4e6 + 1);
  assert_box (tiles, 2, INFINITY, INFINITY, -INFINITY, -INFINITY);

  static const double positions[][3] = {
      {0, 3, 0}, {-3, 2, 0}, {7, 3, 3}, {0, 0, 2}, {-6, 9, 5}, {7, 9, 5}};
  for (guint i = 0; i < G_N_ELEMENTS (positions); i++)
    g_assert_cmpfloat (ndt_map_tiles_get_distance (tiles, 0, positions[i]), ==, positions[i][2]);
  g_assert_cmpfloat (ndt_map_tiles_get_distance (tiles, 2, low), ==, INFINITY);

  /* A file is a tile. */
  g_autoptr (NdtMapTiles) file = open_tiles (ndt_map_tiles_get_path (tiles, 0));
  g_assert_cmpuint (ndt_map_tiles_get_n_tiles (file), ==, 1);
  assert_box (file, 0, -3, 2, 4, 5);
}

/* As people write it, and as programs do. */
static void
test_metadata (Fixture *f, gconstpointer data)
{
  static const gchar *const texts[] = {"x_resolution: 20.0\ny_resolution: 30\na.pcd: [1200, -2500] "
                                       "# a comment\nb.PCD: [1220.5, 4e6]\n",
      "---\n'b.PCD':\n- 1220.5\n- 4000000.0\n\"a.pcd\": [ 1200.0,\n  -2500.0 ]\ny_resolution: "
      "30.0\n"
      "x_resolution: 20.0\nframe_id: map\nnotes: [any, {of: them}]\n...\n"};
  write_tile (f, "a.pcd", low, 2);
  write_tile (f, "b.PCD", far_off, 3);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (texts); i++) {
    const gboolean beside = i % 2;
    ndt_test_write_text (beside ? f->parent : f->folder, NDT_MAP_METADATA_NAME, texts[i / 2]);
    /* A path that ends in a slash has the same parent. */
    g_autofree gchar *path = g_strconcat (f->folder, i / 2 ? "/" : "", NULL);
    g_autoptr (NdtMapTiles) tiles = open_tiles (path);
    g_assert_cmpuint (ndt_map_tiles_get_n_tiles (tiles), ==, 2);
    assert_box (tiles, 0, 1200, -2500, 1220, -2470);
    assert_box (tiles, 1, 1220.5, 4e6, 1240.5, 4e6 + 30);
    g_autofree gchar *written =
        g_build_filename (beside ? f->parent : f->folder, NDT_MAP_METADATA_NAME, NULL);
    g_assert_cmpint (g_unlink (written), ==, 0);
  }
}

static void
test_broken_metadata (Fixture *f, gconstpointer data)
{
  static const struct {
    const gchar *text;
    const gchar *because;
  } cases[] = {
      {"", "no lines"},
      {"a.pcd", "no lines"},
      {"- 1\n- 2\n", "no lines"},
      {"x_resolution: 20\na.pcd: [1, 2\nb: 1\n", "no YAML"},
      {"\tx_resolution: 20\n", "line 1: no YAML"},
      {"y_resolution: 20\na.pcd: [1, 2]\n", "x_resolution is missing"},
      {"x_resolution: 20\na.pcd: [1, 2]\n", "y_resolution is missing"},
      {"x_resolution: 20\ny_resolution: 20\n", "a file of points is missing"},
      {"x_resolution: 0\ny_resolution: 20\na.pcd: [1, 2]\n", "line 1: a resolution"},
      {"x_resolution: 20\ny_resolution: -3\na.pcd: [1, 2]\n", "line 2: a resolution"},
      {"x_resolution: much\ny_resolution: 20\na.pcd: [1, 2]\n", "line 1: a resolution"},
      {"x_resolution: .inf\ny_resolution: 20\na.pcd: [1, 2]\n", "line 1: a resolution"},
      {"x_resolution: [20]\ny_resolution: 20\na.pcd: [1, 2]\n", "line 1: a resolution"},
      {"x_resolution: 20\ny_resolution: 20\nx_resolution: 20\na.pcd: [1, 2]\n", "twice"},
      {"x_resolution: 20\ny_resolution: 20\na.pcd: [1]\n", "line 3: the corner"},
      {"x_resolution: 20\ny_resolution: 20\na.pcd: [1, 2, 3]\n", "line 3: the corner"},
      {"x_resolution: 20\ny_resolution: 20\na.pcd: [1, nan]\n", "line 3: the corner"},
      {"x_resolution: 20\ny_resolution: 20\na.pcd: [1, [2]]\n", "line 3: the corner"},
      {"x_resolution: 20\ny_resolution: 20\na.pcd: 1\n", "line 3: the corner"},
      {"x_resolution: 20\ny_resolution: 20\na.pcd: {x: 1, y: 2}\n", "line 3: the corner"},
      {"x_resolution: 20\ny_resolution: 20\na.pcd: [1, 2]\na.pcd: [1, 2]\n", "listed twice"},
      {"x_resolution: 20\ny_resolution: 20\nb.pcd: [1, 2]\n", "does not list"},
      {"x_resolution: 20\ny_resolution: 20\na.pcd: [1, 2]\nb.pcd: [21, 2]\n", "lists b.pcd"},
  };
  write_tile (f, "a.pcd", low, 2);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    ndt_test_write_text (f->folder, NDT_MAP_METADATA_NAME, cases[i].text);
    g_assert_null (ndt_map_tiles_open (f->folder, &params, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
    if (!strstr (error->message, cases[i].because) ||
        !strstr (error->message, NDT_MAP_METADATA_NAME))
      g_error ("case %u: '%s' is not in '%s'", i, cases[i].because, error->message);
  }
}

static void
assert_no_tiles (const gchar *path, const NdtVoxelMapParams *p, gint code, const gchar *because)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (ndt_map_tiles_open (path, p, &error));
  g_assert_error (error, NDT_ERROR, code);
  g_assert_nonnull (strstr (error->message, because));
}

static void
test_errors (Fixture *f, gconstpointer data)
{
  NdtVoxelMapParams wrong = params;
  wrong.resolution = 0;
  assert_no_tiles ("/nonexistent", &params, NDT_ERROR_IO, "/nonexistent");
  assert_no_tiles (f->folder, &params, NDT_ERROR_FORMAT, "has no PCD, PLY or LAS files");
  write_tile (f, "a.pcd", none, 1);
  assert_no_tiles (f->folder, &params, NDT_ERROR_EMPTY_MAP, "has no points");
  assert_no_tiles (f->folder, &wrong, NDT_ERROR_INVALID_ARGUMENT, "resolution");
  g_autofree gchar *metadata = g_build_filename (f->folder, NDT_MAP_METADATA_NAME, NULL);
  g_assert_cmpint (g_mkdir (metadata, 0755), ==, 0);
  assert_no_tiles (f->folder, &params, NDT_ERROR_IO, "is not a regular file");
  g_assert_cmpint (g_rmdir (metadata), ==, 0);
  ndt_test_write_text (f->folder, "b.pcd", "FIELDS x y z\nWIDTH 9\nDATA binary\n1234");
  assert_no_tiles (f->folder, &params, NDT_ERROR_FORMAT, "b.pcd is truncated");
}

/* ---- Ahead ---- */

/* Whether all of a file is in the system's cache. @drop: takes it out before. */
static gboolean
is_cached (const gchar *path, gboolean drop)
{
  unsigned char pages[64];
  const int fd = open (path, O_RDONLY | O_CLOEXEC);
  g_assert_cmpint (fd, >=, 0);
  const gsize size = (gsize)lseek (fd, 0, SEEK_END);
  const gsize page = (gsize)sysconf (_SC_PAGESIZE), n = (size + page - 1) / page;
  g_assert_cmpuint (n, <=, sizeof (pages));
  if (drop) {
    g_assert_cmpint (fdatasync (fd), ==, 0);
    g_assert_cmpint (posix_fadvise (fd, 0, 0, POSIX_FADV_DONTNEED), ==, 0);
  }
  void *map = mmap (NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  g_assert_true (map != MAP_FAILED);
  g_assert_cmpint (mincore (map, size, pages), ==, 0);
  munmap (map, size);
  close (fd);
  gboolean all = TRUE;
  for (gsize i = 0; i < n; i++)
    all = all && (pages[i] & 1);
  return all;
}

/* 20 km of road from cold files: what a move reads is in the cache before it begins, as far as the
 * vehicle goes on as it came. At 30 m/s a move of an eighth of the radius comes every 0.4 s. */
static void
test_ahead (Fixture *f, gconstpointer data)
{
  enum { N_TILES = 1000, N = 300, LENGTH = 20, RADIUS = 100 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  for (guint i = 0; i < N_TILES; i++) {
    g_autofree gchar *name = g_strdup_printf ("%04u.pcd", i);
    double xyz[3 * N];
    for (guint k = 0; k < N; k++) {
      xyz[3 * k] = LENGTH * (i + g_rand_double_range (rand, 0.01, 0.99));
      xyz[3 * k + 1] = g_rand_double_range (rand, 0.1, 1.9);
      xyz[3 * k + 2] = g_rand_double_range (rand, 0, 0.1);
    }
    write_tile (f, name, xyz, N);
  }
  g_autoptr (NdtMapTiles) tiles = open_tiles (f->folder);
  guint n_cold = 0;
  for (guint i = 0; i < N_TILES; i++)
    n_cold += !is_cached (ndt_map_tiles_get_path (tiles, i), TRUE);
  g_test_message ("%u of %u files are out of the cache", n_cold, N_TILES);

  guint n_waits = 0, n_moves = 0;
  for (double x = 0; x < N_TILES * LENGTH; x += RADIUS / 8.0, n_moves++) {
    const double position[2] = {x, 0};
    /* The first two moves cannot know the way. */
    for (guint i = 0; i < N_TILES && n_moves >= 2; i++) {
      if (ndt_map_tiles_is_used (tiles, i) ||
          ndt_map_tiles_get_distance (tiles, i, position) > RADIUS)
        continue;
      const gint64 until = g_get_monotonic_time () + 400000;
      gboolean cached;
      while (!(cached = is_cached (ndt_map_tiles_get_path (tiles, i), FALSE)) &&
             g_get_monotonic_time () < until)
        g_usleep (200);
      n_waits += !cached;
    }
    g_autoptr (NdtVoxelMap) map = move (tiles, x, 0, RADIUS);
  }
  g_assert_cmpuint (n_moves, ==, 1600);
  g_assert_cmpuint (n_waits, ==, 0);
  /* Each once, but those of the first move and of the second, which shows the way. */
  const guint64 n_announced = counts_of (tiles).n_announced;
  g_assert_cmpuint (n_announced, >=, N_TILES - 12);
  g_assert_cmpuint (n_announced, <=, N_TILES);
}

/* Nobody knows where a vehicle goes that was set elsewhere, or has not moved. */
static void
test_not_ahead (Fixture *f, gconstpointer data)
{
  g_autoptr (NdtMapTiles) tiles = open_tiles (f->folder);
  g_autoptr (NdtVoxelMap) first = move (tiles, -20, -20, 8);
  g_assert_cmpuint (counts_of (tiles).n_announced, ==, 0);
  g_autoptr (NdtVoxelMap) jumped = move (tiles, 20, 20, 8);
  g_assert_cmpuint (counts_of (tiles).n_announced, ==, 0);
  g_autoptr (NdtVoxelMap) stayed = move (tiles, 20, 20, 8);
  g_assert_cmpuint (counts_of (tiles).n_announced, ==, 0);
  g_autoptr (NdtVoxelMap) gone = move (tiles, 16, 20, 8);
  g_assert_cmpuint (counts_of (tiles).n_announced, >, 0);
}

/* ---- Moving ---- */

/* Whatever came before, the tiles within the radius are in memory, and the map is that of their
 * files alone. */
static void
test_move (Fixture *f, gconstpointer data)
{
  g_autoptr (NdtMapTiles) tiles = open_tiles (f->folder);
  const guint n = ndt_map_tiles_get_n_tiles (tiles);
  g_assert_cmpuint (n, ==, 64); /* −36 to 36 m, but for what lies beyond ±30 m … */
  g_assert_cmpuint (counts_of (tiles).n_used, ==, 0);
  g_assert_cmpuint (counts_of (tiles).bytes, ==, 0);

  gsize most = 0;
  for (guint step = 0; step < 40; step++) {
    const double radius = step % 3 ? 12 : 5;
    const double position[2] = {28 * cos (0.4 * step), 28 * sin (0.9 * step)};
    g_autoptr (NdtVoxelMap) map = move (tiles, position[0], position[1], radius);
    g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&params, NULL);
    guint n_used = 0;
    for (guint i = 0; i < n; i++) {
      const gboolean near_enough = ndt_map_tiles_get_distance (tiles, i, position) <= radius;
      g_assert_true (ndt_map_tiles_is_used (tiles, i) == near_enough);
      n_used += near_enough;
      if (near_enough)
        g_assert_true (ndt_map_add_file (builder, i, ndt_map_tiles_get_path (tiles, i), NULL));
    }
    const NdtMapTilesCounts counts = counts_of (tiles);
    g_assert_cmpuint (counts.n_used, ==, n_used);
    g_assert_cmpuint (counts.n_loaded, ==, n_used + counts.n_dropped);
    g_assert_cmpuint (counts.n_failed, ==, 0);
    g_assert_false (counts.is_outside);
    g_autoptr (NdtVoxelMap) expected = ndt_voxel_map_builder_build (builder, NULL);
    ndt_test_assert_maps_equal (map, expected);
    /* Memory is that of these tiles, and of their voxels, and no more. */
    ndt_voxel_map_builder_keep_voxels (builder);
    g_autoptr (NdtVoxelMap) kept = ndt_voxel_map_builder_build (builder, NULL);
    ndt_test_assert_maps_equal (map, kept);
    g_assert_cmpuint (counts_of (tiles).bytes, ==, ndt_voxel_map_builder_get_bytes (builder));
    most = MAX (most, counts_of (tiles).bytes);
  }
  g_assert_cmpuint (counts_of (tiles).n_dropped, >, n);

  /* All of them are the whole map. */
  g_autoptr (NdtVoxelMap) all = move (tiles, 0, 0, 100);
  g_autoptr (NdtVoxelMap) whole = ndt_map_load (f->folder, &params, NULL);
  ndt_test_assert_maps_equal (all, whole);
  g_assert_cmpuint (most, <, counts_of (tiles).bytes / 3);
}

/* The same tiles are the same map; a position off the map has the nearest tile. */
static void
test_outside (Fixture *f, gconstpointer data)
{
  g_autoptr (NdtMapTiles) tiles = open_tiles (f->folder);
  g_autoptr (NdtVoxelMap) first = move (tiles, 4.5, 4.5, 3);
  g_autoptr (NdtVoxelMap) same = move (tiles, 4.7, 4.2, 3);
  g_assert_true (first == same);
  g_assert_cmpuint (counts_of (tiles).n_loaded, ==, 1);

  g_autoptr (NdtVoxelMap) outside = move (tiles, 1000, 4.5, 3);
  g_assert_cmpuint (counts_of (tiles).n_used, ==, 1);
  g_assert_cmpuint (counts_of (tiles).n_dropped, ==, 1);
  g_assert_true (counts_of (tiles).is_outside);
  double min[3], max[3];
  ndt_voxel_map_get_bounds (outside, min, max);
  g_assert_cmpfloat (min[0], >=, 27);
  g_assert_cmpfloat (min[1], >=, 0);
  g_assert_cmpfloat (max[1], <, 9);

  g_autoptr (NdtVoxelMap) again = move (tiles, 4.5, 4.5, 3);
  g_assert_false (counts_of (tiles).is_outside);
  ndt_test_assert_maps_equal (again, first);
}

/* What cannot be read is left out and tried again; what has no voxel gives no map. */
static void
test_unreadable (Fixture *f, gconstpointer data)
{
  const double position[2] = {0, 0};
  g_autoptr (NdtMapTiles) tiles = open_tiles (f->folder);
  g_autoptr (NdtVoxelMap) whole = move (tiles, 0, 0, 12);
  g_autoptr (NdtVoxelMap) elsewhere = move (tiles, 25, 25, 1);
  const guint64 n_before = counts_of (tiles).n_loaded;

  g_autofree gchar *path = g_build_filename (f->folder, "0_0.pcd", NULL);
  g_autofree gchar *away = g_strconcat (path, ".away", NULL);
  g_assert_cmpint (g_rename (path, away), ==, 0);
  for (guint i = 1; i <= 2; i++) {
    g_autoptr (GError) failure = NULL;
    g_autoptr (GError) error = NULL;
    g_autoptr (NdtVoxelMap) map = ndt_map_tiles_move (tiles, position, 12, &failure, &error);
    g_assert_no_error (error);
    g_assert_error (failure, NDT_ERROR, NDT_ERROR_IO);
    g_assert_nonnull (strstr (failure->message, "0_0.pcd"));
    g_assert_nonnull (map);
    g_assert_cmpuint (counts_of (tiles).n_failed, ==, i);
    g_assert_cmpuint (ndt_voxel_map_get_n_points (map), <, ndt_voxel_map_get_n_points (whole));
  }
  g_assert_cmpint (g_rename (away, path), ==, 0);
  g_autoptr (NdtVoxelMap) back = move (tiles, 0, 0, 12);
  ndt_test_assert_maps_equal (back, whole);
  g_assert_cmpuint (counts_of (tiles).n_loaded, ==, n_before + counts_of (tiles).n_used);

  write_tile (f, "0_0.pcd", low, 2);
  g_autoptr (NdtMapTiles) sparse = open_tiles (f->folder);
  g_autoptr (GError) error = NULL;
  const double corner[2] = {4.5, 4.5};
  g_assert_null (ndt_map_tiles_move (sparse, corner, 1, NULL, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP);
  g_autoptr (NdtVoxelMap) other = move (sparse, 25, 25, 1);
  ndt_test_assert_maps_equal (other, elsewhere);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, set_up, func)                                                                    \
  g_test_add ("/map-tiles/" name, Fixture, NULL, set_up, func, remove_folder)
  ADD ("hash", make_folder, test_hash);
  ADD ("bounds", make_folder, test_bounds);
  ADD ("metadata", make_folder, test_metadata);
  ADD ("broken-metadata", make_folder, test_broken_metadata);
  ADD ("errors", make_folder, test_errors);
  ADD ("ahead", make_folder, test_ahead);
  ADD ("not-ahead", make_yard, test_not_ahead);
  ADD ("move", make_yard, test_move);
  ADD ("outside", make_yard, test_outside);
  ADD ("unreadable", make_yard, test_unreadable);
  return g_test_run ();
}
