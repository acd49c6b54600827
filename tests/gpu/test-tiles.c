/* SPDX-License-Identifier: MIT */
/* A map that is updated by regions from another thread while scans are aligned, on both backends:
 * each result is that of one of the maps, and nobody waits for an update. */
#include "gpu-backends.h"
#include "gpu-scene.h"

/* Squares of 10 m that a street of 80 × 80 m is cut into. */
#define TILE 10.0
#define ROWS 8
#define HALF (0.5 * ROWS * TILE)
#define N_TILES (ROWS * ROWS)
/* Maps that follow one another: a vehicle that drives past, with what is behind it missing. */
#define N_MAPS 6
#define N_SLOTS 4
#define N_STARTS 4
/* Updates that have to be made while alignments run, and that these have to have seen. */
#define N_UPDATES 60
#define N_SEEN 30
#define LIMIT (120 * G_TIME_SPAN_SECOND)

typedef struct {
  Scene scene;
  GArray *tiles[N_TILES]; /* of double[3] */
  NdtBackend *backend;
  NdtStart starts[N_STARTS];
  NdtAlignResult alone[N_MAPS][N_STARTS];
  gint stop;      /* atomic, as what follows */
  gint n_updates; /* maps that were set */
  gint last;      /* which */
  gint64 longest; /* µs that it took to set one, the first ones left out, which allocate */
} World;

static gboolean
is_missing (guint map, guint tile)
{
  return tile % ROWS < map && tile / ROWS < 3;
}

/* From the regions that are there to those of another map. */
static NdtVoxelMap *
rebuild (World *world, NdtVoxelMapBuilder *builder, gboolean there[N_TILES], guint map)
{
  g_autoptr (GError) error = NULL;
  for (guint t = 0; t < N_TILES; t++) {
    const gboolean wanted = !is_missing (map, t);
    const GArray *tile = world->tiles[t];
    if (there[t] && !wanted) {
      g_assert_true (ndt_voxel_map_builder_remove (builder, t));
    } else if (!there[t] && wanted) {
      const NdtCloudView view =
          ndt_cloud_view_xyz_f64 ((const double *)(gpointer)tile->data, tile->len / 3);
      g_assert_true (ndt_voxel_map_builder_add (builder, t, &view, NULL, &error));
    }
    there[t] = wanted;
  }
  NdtVoxelMap *built = ndt_voxel_map_builder_build (builder, &error);
  g_assert_no_error (error);
  return built;
}

static gpointer
update_maps (gpointer user_data)
{
  World *world = user_data;
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&world->scene.params, NULL);
  gboolean there[N_TILES] = {FALSE};
  for (guint i = 1; !g_atomic_int_get (&world->stop); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (NdtVoxelMap) map = rebuild (world, builder, there, i % N_MAPS);
    const gint64 since = g_get_monotonic_time ();
    g_assert_true (ndt_backend_set_map (world->backend, map, &error));
    if (i > 2 * N_MAPS)
      world->longest = MAX (world->longest, g_get_monotonic_time () - since);
    g_atomic_int_set (&world->last, (gint)(i % N_MAPS));
    g_atomic_int_inc (&world->n_updates);
  }
  return NULL;
}

static World *
world_new (NdtBackend *backend)
{
  World *world = g_new0 (World, 1);
  GRand *rand = g_rand_new_with_seed (23);
  world->scene = scene_new (HALF, 60000, 3000, 2, NULL);
  world->backend = backend;
  for (guint t = 0; t < N_TILES; t++)
    world->tiles[t] = g_array_new (FALSE, FALSE, sizeof (double));
  for (gsize i = 0; i < world->scene.n_map_points; i++) {
    const double *p = world->scene.points + 3 * i;
    guint cell[2];
    for (guint k = 0; k < 2; k++)
      cell[k] = (guint)CLAMP ((p[k] + HALF) / TILE, 0, ROWS - 1);
    g_array_append_vals (world->tiles[cell[1] * ROWS + cell[0]], p, 3);
  }
  for (guint i = 0; i < N_STARTS; i++)
    world->starts[i].guess = scene_guess (&world->scene, rand, 0.3, 0.03);
  g_rand_free (rand);

  const NdtCloudView view = scene_view (&world->scene);
  g_assert_true (ndt_backend_set_map (backend, world->scene.map, NULL));
  for (guint slot = 0; slot < N_SLOTS; slot++)
    g_assert_true (ndt_backend_set_scan (backend, slot, &view, &no_filter, NULL));
  return world;
}

static void
world_free (World *world)
{
  for (guint t = 0; t < N_TILES; t++)
    g_array_unref (world->tiles[t]);
  scene_clear (&world->scene);
  g_free (world);
}

static gboolean
is_same (const NdtAlignResult *a, const NdtAlignResult *b)
{
  return memcmp (&a->pose, &b->pose, sizeof (a->pose)) == 0 &&
         memcmp (&a->sums, &b->sums, sizeof (a->sums)) == 0 && a->n_points == b->n_points &&
         a->iterations == b->iterations && a->evaluations == b->evaluations && a->stop == b->stop;
}

/* What each map gives while nothing else happens. No two of them the same, or one could pass for
 * another. */
static void
align_alone (World *world)
{
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&world->scene.params, NULL);
  gboolean there[N_TILES] = {FALSE};
  for (guint m = 0; m < N_MAPS; m++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (NdtVoxelMap) map = rebuild (world, builder, there, m);
    g_assert_true (ndt_backend_set_map (world->backend, map, &error));
    for (guint i = 0; i < N_STARTS; i++) {
      g_assert_true (ndt_backend_align (
          world->backend, 0, &default_params, &world->starts[i], 1, &world->alone[m][i], &error));
      g_assert_cmpint (world->alone[m][i].stop, ==, NDT_STOP_CONVERGED);
      for (guint other = 0; other < m; other++)
        g_assert_false (is_same (&world->alone[m][i], &world->alone[other][i]));
    }
  }
}

/* Which map a result is of. */
static guint
find_map (const World *world, guint start, const NdtAlignResult *result)
{
  for (guint m = 0; m < N_MAPS; m++)
    if (is_same (result, &world->alone[m][start]))
      return m;
  g_error ("a result of none of the maps: x %.17g, %" G_GUINT64_FORMAT " pairs",
      result->pose.position[0], (guint64)result->sums.n_pairs);
}

/* Goes on until there were enough updates, and enough of them were seen. */
static void
align_while_updating (World *world, gboolean on_device, gboolean in_sequence)
{
  g_autoptr (GError) error = NULL;
  NdtBackendCounters before, after;
  guint64 n = 0;
  guint n_seen = 0, last = N_MAPS;
  gint64 longest = 0, total = 0;

  world->stop = world->n_updates = 0;
  world->longest = 0;
  ndt_backend_get_counters (world->backend, &before);
  GThread *thread = g_thread_new ("updates", update_maps, world);
  const gint64 end = g_get_monotonic_time () + LIMIT;
  while (g_atomic_int_get (&world->n_updates) < N_UPDATES || n_seen < N_SEEN) {
    if (g_get_monotonic_time () > end)
      g_error ("%d updates, %u seen", g_atomic_int_get (&world->n_updates), n_seen);
    for (guint i = 0; i < N_STARTS; i++) {
      NdtAlignResult result;
      const gint64 since = g_get_monotonic_time ();
      if (in_sequence)
        g_assert_true (ndt_backend_align_begin (world->backend, i, &default_params,
                           &world->starts[i], N_SLOTS - 1 - i, &error) &&
                       ndt_backend_align_end (world->backend, &result, &error));
      else
        g_assert_true (ndt_backend_align (
            world->backend, 0, &default_params, &world->starts[i], 1, &result, &error));
      const gint64 took = g_get_monotonic_time () - since;
      longest = MAX (longest, took);
      total += took;
      n++;
      const guint map = find_map (world, i, &result);
      n_seen += map != last;
      last = map;
    }
    if (in_sequence)
      ndt_backend_align_stop (world->backend);
  }
  g_atomic_int_set (&world->stop, 1);
  g_thread_join (thread);
  ndt_backend_get_counters (world->backend, &after);
  g_assert_cmpuint (after.alignments - before.alignments, ==, n);
  /* Of the aligning thread's, as it is without updates; a sequence that was kept waiting has more.
   */
  const guint64 n_syncs = after.synchronizations - before.synchronizations;
  if (!in_sequence)
    g_assert_cmpuint (n_syncs, ==, on_device ? n : 0);
  g_test_message ("%s%s: %" G_GUINT64_FORMAT " alignments of %.1f us (longest %" G_GINT64_FORMAT
                  ") over %d updates, longest %" G_GINT64_FORMAT " us",
      ndt_backend_get_name (world->backend), in_sequence ? ", in sequence" : "", n,
      (double)total / (double)n, longest, g_atomic_int_get (&world->n_updates), world->longest);

  /* The map that was set last is the one from the next alignment on. */
  NdtAlignResult result;
  g_assert_true (ndt_backend_align (
      world->backend, 0, &default_params, &world->starts[0], 1, &result, &error));
  g_assert_cmpint (find_map (world, 0, &result), ==, g_atomic_int_get (&world->last));
}

static void
test_updates (gconstpointer on_cuda)
{
  g_autoptr (NdtBackend) backend = on_cuda ? open_cuda (0) : open_cpu ();
  if (!backend)
    return;
  World *world = world_new (backend);
  align_alone (world);
  align_while_updating (world, on_cuda != NULL, FALSE);
  align_while_updating (world, on_cuda != NULL, TRUE);
  world_free (world);
}

/* Both see the same in each of the maps. */
static void
test_backends_agree (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  World *a = world_new (cpu), *b = world_new (cuda);
  align_alone (a);
  align_alone (b);
  for (guint m = 0; m < N_MAPS; m++)
    for (guint i = 0; i < N_STARTS; i++)
      assert_poses_agree (&a->alone[m][i].pose, &b->alone[m][i].pose);
  world_free (a);
  world_free (b);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/gpu/tiles/cpu", GINT_TO_POINTER (FALSE), test_updates);
  g_test_add_data_func ("/gpu/tiles/cuda", GINT_TO_POINTER (TRUE), test_updates);
  g_test_add_func ("/gpu/tiles/backends-agree", test_backends_agree);
  return g_test_run ();
}
