/* SPDX-License-Identifier: MIT */
/* Maps of a CUDA backend: their sizes, and those made from points on the device. */
#include <glib/gstdio.h>

#include "gpu-backends.h"
#include "gpu-scene.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-map-image.h"

/* Maps of about 1e3 to 1e6 voxels, each set after the other in one backend: sums and poses. */
static void
test_map_sizes (void)
{
  static const double halves[] = {30, 100, 320, 700};
  static const double resolutions[] = {2, 2, 2, 1};
  static const gsize n_points[] = {20000, 150000, 1500000, 12000000};
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (9);
  guint n_agree = 0;
  for (guint i = 0; i < G_N_ELEMENTS (halves); i++) {
    Scene s = scene_new (halves[i], n_points[i], 2000, resolutions[i], NULL);
    NdtSums a, b;
    g_test_message ("%u voxels", ndt_voxel_map_get_level (s.map, 0)->n_voxels);
    scene_give (cpu, &s);
    scene_give (cuda, &s);
    g_assert_true (
        ndt_backend_evaluate (cpu, 0, &default_params, 0, NDT_KIND_SCORE, &s.truth, 1, &b, &error));
    g_assert_true (ndt_backend_evaluate (
        cuda, 0, &default_params, 0, NDT_KIND_SCORE, &s.truth, 1, &a, &error));
    g_assert_cmpuint (a.n_pairs, >, 500);
    assert_sums_agree (&a, &b);
    for (guint k = 0; k < 8; k++) {
      const NdtStart start = {.guess = scene_guess (&s, rand, 0.3, 0.02), .approach = 0};
      n_agree += check_alignment (cpu, cuda, NDT_METHOD_NEWTON, &start);
    }
    scene_clear (&s);
  }
  g_assert_cmpuint (n_agree, >=, 24);
}

/* A map made on the device is the CPU's: the same cells, the same numbers but for rounding, and the
 * same bits every time. */
static void
test_build (void)
{
  static const double offsets[][3] = {{0, 0, 0}, {388096, 3948992, 64}};
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (GError) error = NULL;
  for (guint o = 0; o < G_N_ELEMENTS (offsets); o++) {
    Scene s = scene_new (60, 200000, 4003, o ? 2 : 1, offsets[o]);
    NdtVoxelMap *maps[3];
    NdtAlignResult a, b;
    NdtStart start = {.guess = s.truth, .approach = 0};
    double *locked = ndt_backend_alloc_host (cuda, 24 * s.n_map_points);
    g_assert_nonnull (locked);
    s.points[3 * 1000] = NAN;
    memcpy (locked, s.points, 24 * s.n_map_points);
    for (guint i = 0; i < 3; i++) {
      /* Memory of both kinds, the points in another order, the device's buffers as they were left.
       */
      if (i == 2)
        for (gsize j = 0; j < s.n_map_points; j++)
          memcpy (locked + 3 * j, s.points + 3 * (s.n_map_points - 1 - j), 24);
      const NdtCloudView view = ndt_cloud_view_xyz_f64 (i == 1 ? s.points : locked, s.n_map_points);
      g_assert_true (ndt_backend_set_map_from_points (cuda, &s.params, &view, &maps[i], &error));
      g_assert_no_error (error);
    }
    g_clear_pointer (&s.map, ndt_voxel_map_unref);
    const NdtCloudView all = ndt_cloud_view_xyz_f64 (s.points, s.n_map_points);
    s.map = ndt_voxel_map_new (&s.params, &all, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (ndt_voxel_map_get_n_points (maps[0]), ==, ndt_voxel_map_get_n_points (s.map));
    double bounds[4][3];
    ndt_voxel_map_get_bounds (maps[0], bounds[0], bounds[1]);
    ndt_voxel_map_get_bounds (s.map, bounds[2], bounds[3]);
    g_assert_cmpmem (bounds[0], 2 * sizeof (bounds[0]), bounds[2], 2 * sizeof (bounds[0]));
    for (guint l = 0; l < 3; l++) {
      const NdtVoxelLevel *x = ndt_voxel_map_get_level (maps[0], l),
                          *y = ndt_voxel_map_get_level (s.map, l);
      g_assert_cmpmem (x->origin, sizeof (x->origin), y->origin, sizeof (y->origin));
      g_assert_cmpmem (x->cell_min, sizeof (x->cell_min), y->cell_min, sizeof (y->cell_min));
      g_assert_cmpmem (x->cell_max, sizeof (x->cell_max), y->cell_max, sizeof (y->cell_max));
      g_assert_cmpuint (x->n_voxels, ==, y->n_voxels);
      g_assert_cmpint (x->block_shift, ==, y->block_shift);
      g_assert_cmpuint (x->n_blocks_used, ==, y->n_blocks_used);
      for (guint i = 1; i < 3; i++)
        g_assert_cmpmem (x->voxels, x->n_voxels * sizeof (NdtVoxel),
            ndt_voxel_map_get_level (maps[i], l)->voxels, x->n_voxels * sizeof (NdtVoxel));
      for (guint32 i = 0; i < x->n_voxels; i++) {
        const NdtVoxel *v = &x->voxels[i], *w = &y->voxels[i];
        float largest = 0;
        g_assert_cmpmem (v->cell, sizeof (v->cell), w->cell, sizeof (w->cell));
        g_assert_cmpint (ndt_voxel_level_find (x, v->cell[0], v->cell[1], v->cell[2]), ==, i);
        /* Places are rounded to a millionth of a cell. A small variance, at least a hundredth of
         * the largest, may be off by that times the cell's edge over its size. */
        for (guint k = 0; k < 3; k++)
          g_assert_cmpfloat_with_epsilon (v->mean[k], w->mean[k], 2e-6f * (float)x->resolution);
        for (guint k = 0; k < 6; k++)
          largest = MAX (largest, fabsf (w->icov[k]));
        for (guint k = 0; k < 6; k++)
          g_assert_cmpfloat_with_epsilon (v->icov[k], w->icov[k], 1e-3f * largest);
      }
    }

    scene_give (cpu, &s);
    const NdtCloudView view = scene_view (&s);
    g_assert_true (ndt_backend_set_scan (cuda, 0, &view, &no_filter, &error));
    scene_align (cpu, &start, 1, &b);
    scene_align (cuda, &start, 1, &a);
    assert_poses_agree (&a.pose, &b.pose);

    locked[3 * 5] = 1e9;
    const NdtCloudView stray = ndt_cloud_view_xyz_f64 (locked, s.n_map_points);
    g_assert_false (ndt_backend_set_map_from_points (cuda, &s.params, &stray, NULL, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    g_clear_error (&error);
    const NdtCloudView few = ndt_cloud_view_xyz_f64 (s.points, 5);
    g_assert_false (ndt_backend_set_map_from_points (cuda, &s.params, &few, NULL, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP);
    g_clear_error (&error);
    const NdtCloudView none = ndt_cloud_view_xyz_f64 (s.points, 0);
    g_assert_false (ndt_backend_set_map_from_points (cuda, &s.params, &none, NULL, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP);
    g_clear_error (&error);
    /* The map before is still there. */
    NdtAlignResult c;
    scene_align (cuda, &start, 1, &c);
    g_assert_cmpmem (&a.pose, sizeof (a.pose), &c.pose, sizeof (c.pose));

    ((NdtBackendClass *)cuda->klass)->free_host (locked, 24 * s.n_map_points);
    for (guint i = 0; i < 3; i++)
      ndt_voxel_map_unref (maps[i]);
    scene_clear (&s);
  }
}

/* More points in one cell's far corner than the device's integer sums hold: 2^23 squares of 2^40.
 */
static void
test_crowded_cell (void)
{
  enum { N = 9000000 };
  g_autofree float *xyz = g_new (float, 3 * N);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  params.resolution = 2;
  params.n_levels = 1;
  /* Steps of a 1024th of a metre, so that doubles sum them without rounding. */
  for (guint i = 0; i < 3 * N; i++)
    xyz[i] = 2 - (float)(1 + (g_rand_int (rand) & 63)) / 1024;
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (xyz, N);
  for (guint b = 0; b < 2; b++) {
    GError *error = NULL;
    NdtVoxelMap *out = NULL;
    g_autoptr (NdtBackend) backend = b ? open_cuda (0) : open_cpu ();
    if (!backend)
      break;
    ndt_backend_set_map_from_points (backend, &params, &points, &out, &error);
    g_assert_no_error (error);
    const NdtVoxelLevel *level = ndt_voxel_map_get_level (out, 0);
    g_assert_cmpuint (ndt_voxel_map_get_n_points (out), ==, N);
    g_assert_cmpuint (level->n_voxels, ==, 1);
    /* 64 places an axis, all as likely: 32.5 steps from the corner, of variance (64² − 1)/12. */
    for (guint k = 0; k < 3; k++)
      g_assert_cmpfloat_with_epsilon (level->voxels[0].mean[k], 2 - 32.5f / 1024, 1e-4);
    static const guint diagonal[3] = {0, 3, 5};
    for (guint k = 0; k < 3; k++)
      g_assert_cmpfloat_with_epsilon (
          level->voxels[0].icov[diagonal[k]] * (64 * 64 - 1) / 12 / 1024 / 1024, 1, 0.01);
    ndt_voxel_map_unref (out);
  }
}

/* A finished map, whose voxels lie in another order, gives the poses of the one that it was made
 * of, to the bit. */
static void
test_finished (void)
{
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-finished-XXXXXX", NULL);
  g_autofree gchar *path = g_build_filename (folder, "scene.ndtmap", NULL);
  g_autoptr (GError) error = NULL;
  Scene made = scene_new (100, 150000, 2000, 2, NULL), finished = made;

  g_assert_true (ndt_map_image_write (path, made.map, NULL, &error));
  finished.map = ndt_map_load (path, &made.params, &error);
  g_assert_no_error (error);
  for (guint b = 0; b < 2; b++) {
    g_autoptr (NdtBackend) backend = b ? open_cuda (0) : open_cpu ();
    g_autoptr (GRand) rand = g_rand_new_with_seed (9);
    NdtAlignResult results[2][8];
    NdtStart starts[8];
    if (!backend)
      break;
    for (guint k = 0; k < 8; k++)
      starts[k] = (NdtStart){.guess = scene_guess (&made, rand, 0.5, 0.03), .approach = k % 3};
    for (guint m = 0; m < 2; m++) {
      scene_give (backend, m ? &finished : &made);
      scene_align (backend, starts, 8, results[m]);
    }
    for (guint k = 0; k < 8; k++) {
      g_assert_cmpmem (
          &results[0][k].pose, sizeof (NdtPose), &results[1][k].pose, sizeof (NdtPose));
      g_assert_cmpuint (results[0][k].sums.n_pairs, >, 500);
      g_assert_cmpmem (
          &results[0][k].sums, sizeof (NdtSums), &results[1][k].sums, sizeof (NdtSums));
    }
  }
  ndt_voxel_map_unref (finished.map);
  scene_clear (&made);
  g_unlink (path);
  g_rmdir (folder);
}

static void
count_log (NdtLogLevel level, const gchar *category, const gchar *message, gpointer user_data)
{
  guint *counts = user_data;
  counts[0] += strstr (message, "may have: pages") != NULL;
  counts[1] += strstr (message, "a hash table") != NULL;
}

/* A map that spans more than a grid may have, by a few voxels far away: alignments have the bits of
 * the map without them. From 2 km × 2 km × 50 m on voxels are found by pages, and by the hash table
 * where even their directory would be too large. Maps are built by both sides. */
static void
test_far_apart (void)
{
  /* Towards positive coordinates, so that the origin of cells stays where it is. */
  static const struct {
    double at[3];
    guint n_pages, n_hash;
  } cases[] = {{{300, 300, 20}, 0, 0}, {{1900, 1900, 40}, 1, 0}, {{9000, 200, 600}, 2, 0},
      {{250000, 250000, 250000}, 0, 3}};
  enum { N_FAR = 40, N = 60, N_MAP = 60000 };
  guint counts[2];
  NdtLog log = {count_log, counts, NDT_LOG_DEBUG};
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  config.log = &log;
  g_autoptr (NdtBackend) cuda = open_cuda_config (&config);
  if (!cuda)
    return;
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  static const guint sizes[] = {900, 12000, 40000};
  for (guint m = 0; m < G_N_ELEMENTS (sizes); m++) {
    Scene s = scene_new (60, N_MAP, sizes[m], 1, NULL);
    g_autofree double *points = g_new (double, 3 * (N_MAP + N_FAR));
    NdtStart starts[N] = {0};
    NdtAlignResult a[2][N], b[N], one;
    for (guint i = 0; i < N; i++) {
      starts[i].guess = scene_guess (&s, rand, 0.5, 0.05);
      starts[i].approach = i % 4;
    }
    memcpy (points, s.points, 24 * N_MAP);
    memset (a, 0, sizeof (a));
    scene_give (cuda, &s);
    scene_align (cuda, starts, N, a[0]);
    /* Sums of a cell on the device are of integers, those of the CPU of doubles. */
    const NdtCloudView near = ndt_cloud_view_xyz_f64 (points, N_MAP);
    g_assert_true (ndt_backend_set_map_from_points (cuda, &s.params, &near, NULL, &error));
    scene_align (cuda, starts, N, a[1]);
    for (guint k = 0; k < G_N_ELEMENTS (cases); k++) {
      for (guint i = 0; i < N_FAR; i++)
        for (guint d = 0; d < 3; d++)
          points[3 * (N_MAP + i) + d] = cases[k].at[d] + g_rand_double_range (rand, 0.1, 0.9);
      const NdtCloudView view = ndt_cloud_view_xyz_f64 (points, N_MAP + N_FAR);
      g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&s.params, &view, &error);
      g_assert_no_error (error);
      for (guint on_device = 0; on_device < 2; on_device++) {
        memset (counts, 0, sizeof (counts));
        if (on_device)
          g_assert_true (ndt_backend_set_map_from_points (cuda, &s.params, &view, NULL, &error));
        else
          g_assert_true (ndt_backend_set_map (cuda, map, &error));
        g_assert_no_error (error);
        g_assert_cmpuint (counts[0], ==, cases[k].n_pages);
        g_assert_cmpuint (counts[1], ==, cases[k].n_hash);
        memset (b, 0, sizeof (b));
        memset (&one, 0, sizeof (one));
        scene_align (cuda, starts, 1, &one);
        g_assert_cmpmem (&one, sizeof (one), &a[on_device][0], sizeof (one));
        scene_align (cuda, starts, N, b);
        g_assert_cmpmem (b, sizeof (b), a[on_device], sizeof (b));
      }
    }
    scene_clear (&s);
  }
}

/* A map that is set between two scans of a batch is the second one's: the clusters of the first,
 * which are asked for after the second has begun, are of the map that it was aligned with. */
static void
test_clusters (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (60, 60000, 5000, 2, NULL), other = scene_new (60, 20000, 5000, 1, NULL);
  const NdtCloudView view = scene_view (&s);
  const NdtStart start = {.guess = s.truth};
  NdtAlignParams params = default_params;
  NdtAlignResult alone[2], result;
  params.clusters = TRUE;
  for (guint k = 0; k < 2; k++) {
    g_assert_true (ndt_backend_set_map (cuda, k ? other.map : s.map, &error));
    g_assert_true (ndt_backend_set_scan (cuda, 0, &view, &no_filter, &error));
    g_assert_true (ndt_backend_align (cuda, 0, &params, &start, 1, &alone[k], &error));
    g_assert_true (ndt_backend_spread (cuda, 0, &params, &alone[k], &error));
  }
  for (guint i = 0; i < 10; i++) {
    NdtAlignParams next = params;
    next.max_iterations += i % 2; /* parameters may change there as well */
    g_assert_true (ndt_backend_set_map (cuda, s.map, &error));
    for (guint slot = 0; slot < 2; slot++)
      g_assert_true (ndt_backend_set_scan (cuda, slot, &view, &no_filter, &error));
    g_assert_true (ndt_backend_align_begin (cuda, 0, &params, &start, 1, &error));
    g_assert_true (ndt_backend_align_end (cuda, &result, &error));
    g_assert_cmpmem (&result.pose, sizeof (NdtPose), &alone[0].pose, sizeof (NdtPose));
    g_assert_true (ndt_backend_set_map (cuda, other.map, &error));
    g_assert_true (ndt_backend_align_begin (cuda, 1, &next, &start, 0, &error));
    g_assert_true (ndt_backend_spread (cuda, 0, &params, &result, &error));
    g_assert_cmpmem (
        result.spread, sizeof (result.spread), alone[0].spread, sizeof (alone[0].spread));
    g_assert_true (ndt_backend_align_end (cuda, &result, &error));
    g_assert_cmpmem (&result.pose, sizeof (NdtPose), &alone[1].pose, sizeof (NdtPose));
    g_assert_true (ndt_backend_spread (cuda, 1, &next, &result, &error));
    g_assert_cmpmem (
        result.spread, sizeof (result.spread), alone[1].spread, sizeof (alone[1].spread));
  }
  scene_clear (&s);
  scene_clear (&other);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/maps/build", test_build);
  g_test_add_func ("/gpu/maps/clusters", test_clusters);
  g_test_add_func ("/gpu/maps/crowded-cell", test_crowded_cell);
  g_test_add_func ("/gpu/maps/finished", test_finished);
  g_test_add_func ("/gpu/maps/far-apart", test_far_apart);
  g_test_add_func ("/gpu/maps/map-sizes", test_map_sizes);
  return g_test_run ();
}
