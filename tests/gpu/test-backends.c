/* SPDX-License-Identifier: MIT */
/* The CUDA backend beside the CPU's: the same calls, the same answers. */
#include "gpu-backends.h"
#include "gpu-scene.h"
#include "ndtcore/scan/ndt-scan-sample.h"
#include "ndtcore/align/ndt-search.h"

static void
give (NdtBackend *backend, const Scene *s)
{
  g_autoptr (GError) error = NULL;
  const NdtCloudView view = scene_view (s);
  g_assert_true (ndt_backend_set_map (backend, s->map, &error));
  g_assert_no_error (error);
  g_assert_true (ndt_backend_set_scan (backend, 0, &view, &no_filter, &error));
  g_assert_no_error (error);
}

static void
align (NdtBackend *backend, const NdtStart *starts, guint n, NdtAlignResult *results)
{
  g_autoptr (GError) error = NULL;
  ndt_backend_align (backend, 0, &default_params, starts, n, results, &error);
  g_assert_no_error (error);
}

/* Sums agree at poses near and far, over all levels, kinds and neighbour rules. */
static void
evaluate_at (guint n_points, double resolution, const double offset[3])
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (60, 60000, n_points, resolution, offset);
  GRand *rand = g_rand_new_with_seed (3);
  enum { N = 6 };
  NdtPose poses[N];
  NdtSums a[N], b[N];
  guint64 n_pairs = 0;
  for (guint i = 0; i < N; i++)
    poses[i] = scene_guess (&s, rand, 0.1 + i * 0.4, 0.01 + i * 0.03);
  give (cpu, &s);
  give (cuda, &s);
  for (guint level = 0; level < 3; level++)
    for (NdtNeighbours rule = NDT_NEIGHBOURS_RADIUS; rule <= NDT_NEIGHBOURS_DIRECT27; rule++)
      for (NdtKind kind = NDT_KIND_SCORE; kind <= NDT_KIND_LEAST_SQUARES; kind++) {
        NdtAlignParams params = default_params;
        params.neighbours = rule;
        g_assert_true (ndt_backend_evaluate (cpu, 0, &params, level, kind, poses, N, b, &error));
        g_assert_true (ndt_backend_evaluate (cuda, 0, &params, level, kind, poses, N, a, &error));
        for (guint i = 0; i < N; i++) {
          n_pairs += a[i].n_pairs;
          assert_sums_agree (&a[i], &b[i]);
        }
      }
  g_assert_cmpuint (n_pairs, >, 30 * n_points);
  g_rand_free (rand);
  scene_clear (&s);
}

static void
test_evaluate (void)
{
  static const double utm[3] = {388096, 3948992, 64};
  /* Up to 8192 points, up to 32768 and above: four lanes a point, two, and one. */
  evaluate_at (3001, 2, NULL);
  evaluate_at (9001, 2, NULL);
  evaluate_at (33001, 2, NULL);
  evaluate_at (3001, 1, NULL);
  evaluate_at (3001, 0.5, NULL);
  evaluate_at (3001, 2, utm);
}

enum { N_STARTS = 40 };

static void
make_starts (const Scene *s, NdtStart starts[N_STARTS])
{
  GRand *rand = g_rand_new_with_seed (5);
  memset (starts, 0, N_STARTS * sizeof (*starts));
  for (guint i = 0; i < N_STARTS; i++) {
    starts[i].guess = scene_guess (s, rand, i % 2 ? 0.3 : 1.2, i % 2 ? 0.02 : 0.08);
    starts[i].approach = i / 2 % 4;
  }
  g_rand_free (rand);
}

/* Held at half a metre from the truth, each along another direction. */
static void
hold_starts (const Scene *s, double scale, NdtStart starts[N_STARTS])
{
  for (guint i = 0; i < N_STARTS; i++) {
    const NdtRegularization r = {
        {s->truth.position[0] + 0.4, s->truth.position[1] - 0.3}, {cos (i), sin (i)}, scale};
    starts[i].regularization = r;
  }
}

/* Poses agree; one start alone, several, and every way to spread them over the device give the same
 * bits. */
static void
align_points (guint n_points, double scale)
{
  static const gchar *shapes[] = {"cluster:1:256", "cluster:2:512", "cluster:4:256",
      "cluster:8:512", "cluster:16:256", "cluster:16:512", "cluster:4:256:9", "grid:16:256",
      "grid:32:256", "grid:64:256", "grid:128:256", "grid:128:256:1"};
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  Scene s = scene_new (60, 60000, n_points, 2, NULL);
  NdtStart starts[N_STARTS] = {0};
  NdtAlignResult a[N_STARTS], b[N_STARTS], c[N_STARTS];
  guint n_agree = 0;
  make_starts (&s, starts);
  hold_starts (&s, scale, starts);
  give (cpu, &s);
  give (cuda, &s);
  memset (a, 0, sizeof (a));
  memset (c, 0, sizeof (c));
  align (cpu, starts, N_STARTS, b);
  align (cuda, starts, N_STARTS, a);
  for (guint i = 0; i < N_STARTS; i++) {
    g_assert_cmpuint (a[i].n_points, ==, s.n);
    /* From far two optimizers may end in two optima: rounding decides at a watershed. */
    if (i % 2 || starts[i].approach == 3) {
      g_test_message ("%u points, start %u, approach %u: scores %.9g and %.9g, passes %u and %u",
          n_points, i, starts[i].approach, a[i].sums.score, b[i].sums.score, a[i].evaluations,
          b[i].evaluations);
      if (scale > 0 && !check_alignment (cpu, cuda, &starts[i]))
        continue;
      assert_poses_agree (&a[i].pose, &b[i].pose);
      assert_close (&a[i].sums.score, &b[i].sums.score, (const gint[]){0}, 1);
      /* Where an approach ends differs by rounding, and with it, by a pair or two, the weight. */
      g_assert_cmpfloat_with_epsilon (
          a[i].objective, b[i].objective, 1e-3 * fabs (b[i].sums.score));
      if (scale > 0)
        g_assert_cmpfloat (a[i].objective, <=, a[i].sums.score);
      else
        g_assert_cmpfloat (a[i].objective, ==, a[i].sums.score);
      n_agree++;
    }
  }
  g_assert_cmpuint (n_agree, >=, scale > 0 ? N_STARTS / 3 : N_STARTS / 2);

  for (guint i = 0; i < N_STARTS; i++) {
    align (cuda, &starts[i], 1, &c[i]);
    g_assert_cmpmem (&a[i], sizeof (a[i]), &c[i], sizeof (c[i]));
  }
  for (guint k = 0; k < G_N_ELEMENTS (shapes); k++) {
    for (guint reuse = 0; reuse < 2; reuse++) {
      TEST_CUDA (SHAPE, shapes[k]);
      TEST_CUDA (REUSE, reuse ? "0.2" : "0");
      g_autoptr (NdtBackend) other = open_cuda (0);
      TEST_CUDA (SHAPE, NULL);
      TEST_CUDA (REUSE, NULL);
      give (other, &s);
      memset (c, 0, sizeof (c));
      align (other, starts, N_STARTS, c);
      for (guint i = 0; i < N_STARTS; i++)
        if (memcmp (&a[i], &c[i], sizeof (a[i])) != 0)
          g_error ("%s, reuse %u: start %u differs: score %.17g and %.17g, pairs %u and %u",
              shapes[k], reuse, i, a[i].sums.score, c[i].sums.score, (guint)a[i].sums.n_pairs,
              (guint)c[i].sums.n_pairs);
    }
  }
  scene_clear (&s);
}

static void
test_align (void)
{
  align_points (1001, 0);
  align_points (9001, 0);
  align_points (33001, 0);
}

/* The same of poses that are held beside the scan, weakly and so that they move by decimetres. */
static void
test_regularization (void)
{
  align_points (1001, 0.01);
  align_points (9001, 1);
  align_points (33001, 0.01);
}

/* What devices without clusters, with less shared memory or fewer processors would do: the same, to
 * the bit, but where a block has no room for one lane a point. */
static void
test_lesser_devices (void)
{
  static const gchar *limits[] = {
      "108:166912:1:108", /* A100, compute capability 8.0 */
      "82:101376:1:82",   /* RTX 3090, 8.6 */
      "40:65536:1:40",    /* T4, 7.5 */
      "14:65536:1:14",
      "132:232448:1:132", /* MX450, 7.5; this one without clusters */
      "132:232448:4:132",
  };
  static const guint sizes[] = {1001, 9001, 33001};
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  for (guint n = 0; n < G_N_ELEMENTS (sizes); n++) {
    Scene s = scene_new (60, 60000, sizes[n], 2, NULL);
    NdtStart starts[N_STARTS];
    NdtAlignResult a[N_STARTS], b[N_STARTS];
    make_starts (&s, starts);
    give (cuda, &s);
    memset (a, 0, sizeof (a));
    align (cuda, starts, N_STARTS, a);
    for (guint k = 0; k < G_N_ELEMENTS (limits); k++) {
      TEST_CUDA (LIMITS, limits[k]);
      g_autoptr (NdtBackend) other = open_cuda (0);
      TEST_CUDA (LIMITS, NULL);
      give (other, &s);
      memset (b, 0, sizeof (b));
      align (other, starts, N_STARTS, b);
      for (guint i = 0; i < N_STARTS; i++) {
        if (k == 3 && sizes[n] > 32768) {
          /* From far rounding decides at a watershed. */
          if (i % 2)
            assert_poses_agree (&a[i].pose, &b[i].pose);
        } else if (memcmp (&a[i], &b[i], sizeof (a[i])) != 0)
          g_error ("%s, %u points: start %u differs", limits[k], sizes[n], i);
        if (i >= 5 && i < 10) {
          NdtAlignResult one;
          memset (&one, 0, sizeof (one));
          align (other, &starts[i], 1, &one);
          g_assert_cmpmem (&one, sizeof (one), &b[i], sizeof (b[i]));
        }
      }
    }
    scene_clear (&s);
  }
}

typedef struct {
  NdtBackend *backend;
  const NdtStart *starts;
  const NdtAlignResult *expected;
} Side;

static gpointer
align_beside (gpointer data)
{
  const Side *side = data;
  for (guint i = 0; i < 20 * N_STARTS; i++) {
    NdtAlignResult result;
    memset (&result, 0, sizeof (result));
    align (side->backend, &side->starts[i % N_STARTS], 1, &result);
    g_assert_cmpmem (&result, sizeof (result), &side->expected[i % N_STARTS], sizeof (result));
  }
  return NULL;
}

/* Backends that share the device have the results of one that has it alone, to the bit. */
static void
test_side_by_side (void)
{
  enum { N_SIDES = 4 };
  g_autoptr (NdtBackend) alone = open_cuda (0);
  if (!alone)
    return;
  Scene s = scene_new (60, 60000, 3001, 2, NULL);
  NdtStart starts[N_STARTS] = {0};
  NdtAlignResult expected[N_STARTS];
  Side sides[N_SIDES];
  GThread *threads[N_SIDES];
  make_starts (&s, starts);
  give (alone, &s);
  memset (expected, 0, sizeof (expected));
  for (guint i = 0; i < N_STARTS; i++)
    align (alone, &starts[i], 1, &expected[i]);
  for (guint i = 0; i < N_SIDES; i++) {
    sides[i] = (Side){open_cuda (0), starts, expected};
    give (sides[i].backend, &s);
  }
  for (guint i = 0; i < N_SIDES; i++)
    threads[i] = g_thread_new ("side", align_beside, &sides[i]);
  for (guint i = 0; i < N_SIDES; i++)
    g_thread_join (threads[i]);
  for (guint i = 0; i < N_SIDES; i++)
    ndt_backend_close (sides[i].backend);
  scene_clear (&s);
}

/* Thinning gives the same points, bit for bit, from every layout. */
static void
test_thin (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (GError) error = NULL;
  static const NdtScanFilter filters[] = {
      {0, 0, FALSE, {0, 0, 0}, {0, 0, 0}, 0},
      {3, 40, FALSE, {0, 0, 0}, {0, 0, 0}, 0},
      {0, 0, TRUE, {-30, -20, -2}, {30, 20, 3}, 0},
      {0, 0, FALSE, {0, 0, 0}, {0, 0, 0}, 1.5f},
      {2, 50, TRUE, {-45, -45, -2}, {45, 45, 9}, 0.3f},
      {0, 0, FALSE, {0, 0, 0}, {0, 0, 0}, 1000},
  };
  static const guint sizes[] = {0, 1, 31, 1024, 1025, 40000};
  Scene s = scene_new (60, 60000, 40000, 2, NULL);
  float *a = g_new (float, 3 * (gsize)s.n), *b = g_new (float, 3 * (gsize)s.n);
  double *wide = g_new (double, 4 * (gsize)s.n);
  float *locked = ndt_backend_alloc_host (cuda, 16 * (gsize)s.n);
  g_assert_nonnull (locked);
  for (guint i = 7; i < s.n; i += 501)
    s.scan[3 * i + i % 3] = i % 2 ? NAN : INFINITY;
  for (guint i = 0; i < s.n; i++)
    for (guint k = 0; k < 3; k++) {
      wide[4 * i + k] = (double)s.scan[3 * i + k];
      locked[4 * i + k] = s.scan[3 * i + k];
    }
  for (guint f = 0; f < G_N_ELEMENTS (filters); f++)
    for (guint m = 0; m < G_N_ELEMENTS (sizes); m++) {
      const guint n = sizes[m];
      const NdtCloudView views[] = {ndt_cloud_view_xyz_f32 (s.scan, n),
          ndt_cloud_view (wide, n, 32, 0, 8, 16, NDT_SCALAR_F64),
          ndt_cloud_view (locked, n, 16, 0, 4, 8, NDT_SCALAR_F32)};
      for (guint v = 0; v < G_N_ELEMENTS (views); v++) {
        guint na, nb;
        g_assert_true (ndt_backend_set_scan (cpu, 1, &views[v], &filters[f], &error));
        g_assert_true (ndt_backend_set_scan (cuda, 1, &views[v], &filters[f], &error));
        g_assert_true (ndt_backend_get_scan (cpu, 1, b, s.n, &nb, &error));
        g_assert_true (ndt_backend_get_scan (cuda, 1, a, s.n, &na, &error));
        g_assert_cmpuint (na, ==, nb);
        g_assert_cmpmem (a, (gsize)na * 12, b, (gsize)nb * 12);
      }
    }
  ((NdtBackendClass *)cuda->klass)->free_host (locked, 16 * (gsize)s.n);
  g_free (wide);
  g_free (a);
  g_free (b);
  scene_clear (&s);
}

/* How the points of a thinned scan are dealt out depends on how many the device has left of it: its
 * alignments are those of the same points as a scan of their own, to the bit. */
static void
test_thinned (void)
{
  static const struct {
    float leaf;
    guint least, most;
  } cases[] = {{2, 1, 8192}, {0.7f, 8193, 32768}, {0.02f, 32769, 40000}};
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (60, 60000, 40000, 2, NULL);
  NdtStart starts[N_STARTS];
  NdtAlignResult raw[N_STARTS], own[N_STARTS], one;
  float *points = g_new (float, 3 * (gsize)s.n);
  make_starts (&s, starts);
  give (cuda, &s);
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    const NdtScanFilter filter = {0, 0, FALSE, {0, 0, 0}, {0, 0, 0}, cases[c].leaf};
    const NdtCloudView view = ndt_cloud_view_xyz_f32 (s.scan, s.n);
    guint n;
    memset (raw, 0, sizeof (raw));
    memset (own, 0, sizeof (own));
    memset (&one, 0, sizeof (one));
    g_assert_true (ndt_backend_set_scan (cuda, 0, &view, &filter, &error));
    g_assert_true (ndt_backend_get_scan (cuda, 0, points, s.n, &n, &error));
    g_assert_cmpuint (n, >=, cases[c].least);
    g_assert_cmpuint (n, <=, cases[c].most);
    align (cuda, starts, N_STARTS, raw);
    align (cuda, starts, 1, &one);
    g_assert_cmpmem (&one, sizeof (one), &raw[0], sizeof (raw[0]));
    const NdtCloudView thinned = ndt_cloud_view_xyz_f32 (points, n);
    g_assert_true (ndt_backend_set_scan (cuda, 0, &thinned, &no_filter, &error));
    align (cuda, starts, N_STARTS, own);
    g_assert_cmpmem (raw, sizeof (raw), own, sizeof (own));
  }
  g_free (points);
  scene_clear (&s);
}

/* Samples for the search from far are the same points, bit for bit: of thinned scans and of others,
 * of those that are their own sample, of many points in few cubes, with points that are none. */
static void
test_sample (void)
{
  static const NdtScanFilter filters[] = {
      {0, 0, FALSE, {0, 0, 0}, {0, 0, 0}, 0},
      {2, 50, FALSE, {0, 0, 0}, {0, 0, 0}, 0},
      {0, 0, FALSE, {0, 0, 0}, {0, 0, 0}, 0.4f},
  };
  static const guint sizes[] = {0, 1, 599, 600, 601, 640, 1000, 2000, 5000, 33000, 60000};
  static const float leaves[] = {0.01f, 0.5f, 2, 40};
  enum { N = 60000 };
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (60, 60000, N, 2, NULL);
  g_autofree float *a = g_new (float, 3 * N), *b = g_new (float, 3 * N);
  guint n_whole = 0, n_few = 0, n_most = 0;
  for (guint i = 7; i < s.n; i += 50)
    s.scan[3 * i + i % 3] = NAN;
  /* Beyond all cubes of 1 cm, but a point. */
  s.scan[3 * 20] = 90000;
  for (guint f = 0; f < G_N_ELEMENTS (filters); f++)
    for (guint m = 0; m < G_N_ELEMENTS (sizes); m++)
      for (guint l = 0; l < G_N_ELEMENTS (leaves); l++) {
        const NdtCloudView view = ndt_cloud_view_xyz_f32 (s.scan, sizes[m]);
        guint n, na, nb;
        g_assert_true (ndt_backend_set_scan (cpu, 1, &view, &filters[f], &error));
        g_assert_true (ndt_backend_set_scan (cuda, 1, &view, &filters[f], &error));
        g_assert_true (ndt_search_set_sample (cpu, 1, leaves[l], &error));
        g_assert_true (ndt_search_set_sample (cuda, 1, leaves[l], &error));
        g_assert_true (ndt_backend_get_scan (cpu, NDT_SEARCH_SLOT, b, N, &nb, &error));
        g_assert_true (ndt_backend_get_scan (cuda, NDT_SEARCH_SLOT, a, N, &na, &error));
        g_assert_cmpuint (na, ==, nb);
        g_assert_cmpmem (a, (gsize)na * 12, b, (gsize)nb * 12);
        /* The scan is what it was. */
        g_assert_true (ndt_backend_get_scan (cpu, 1, b, N, &n, &error));
        g_assert_true (ndt_backend_get_scan (cuda, 1, a, N, &na, &error));
        g_assert_cmpmem (a, (gsize)na * 12, b, (gsize)n * 12);
        n_whole += n > 0 && nb == n;
        n_few += nb < n && nb < NDT_SAMPLE_LEAST;
        n_most += nb == NDT_SAMPLE_MOST;
      }
  g_test_message ("%u whole, %u of few points, %u of the most", n_whole, n_few, n_most);
  g_assert_cmpuint (MIN (n_whole, MIN (n_few, n_most)), >, 5);
  scene_clear (&s);
}

static guint64
get_free_memory (void)
{
#ifdef HAVE_NDT_CUDA
  return ndt_cuda_testing_get_free_memory ();
#else
  return 0;
#endif
}

/* After the first alignment nothing is allocated, one synchronization an alignment, and nothing
 * goes up or down while it iterates. Device memory stays as it is. */
static void
test_counters (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (40, 30000, 1000, 2, NULL);
  const NdtCloudView view = scene_view (&s);
  GRand *rand = g_rand_new_with_seed (8);
  NdtBackendCounters before, after;
  NdtStart start = {.guess = s.truth, .approach = 0};
  NdtAlignResult result;
  const guint n = g_test_quick () ? 10000 : 100000;
  give (cuda, &s);
  align (cuda, &start, 1, &result);
  ndt_backend_get_counters (cuda, &before);
  const guint64 n_free = get_free_memory ();
  for (guint i = 0; i < n; i++) {
    ndt_backend_cancel (cuda, FALSE); /* as an element says after each batch: no command */
    start.guess = scene_guess (&s, rand, 0.2, 0.02);
    g_assert_true (ndt_backend_set_scan (cuda, 0, &view, &no_filter, &error));
    align (cuda, &start, 1, &result);
    g_assert_cmpint (result.stop, ==, NDT_STOP_CONVERGED);
  }
  ndt_backend_get_counters (cuda, &after);
  g_assert_cmpuint (after.alignments - before.alignments, ==, n);
  g_assert_cmpuint (after.evaluations - before.evaluations, >, 3 * n);
  g_assert_cmpuint (after.allocations, ==, before.allocations);
  g_assert_cmpuint (after.device_bytes, ==, before.device_bytes);
  g_assert_cmpuint (after.host_bytes, ==, before.host_bytes);
  g_assert_cmpuint (
      get_free_memory (), >=, n_free - MIN (n_free, 1 << 20)); /* a leak of 100 bytes */
  g_assert_cmpuint (after.synchronizations - before.synchronizations, ==, n);
  g_assert_cmpuint (after.launches - before.launches, ==, n);
  g_assert_cmpuint (after.uploads - before.uploads, ==, n);
  g_assert_cmpuint (after.upload_bytes - before.upload_bytes, ==, (guint64)n * s.n * 12);
  g_assert_cmpuint (after.downloads - before.downloads, ==, n);
  g_rand_free (rand);
  scene_clear (&s);
}

/* Empty scans, scans off the map, poses beyond its cells. */
static void
test_edges (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (40, 30000, 500, 2, NULL);
  NdtBackend *backends[] = {cpu, cuda};
  static const double far_away[] = {0, 1e4, 1e7, 1e300};
  for (guint b = 0; b < 2; b++) {
    NdtAlignResult result;
    NdtStart start = {.guess = s.truth, .approach = 3};
    const NdtCloudView empty = ndt_cloud_view_xyz_f32 (s.scan, 0);
    g_assert_false (
        ndt_backend_align (backends[b], 0, &default_params, &start, 1, &result, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MAP);
    g_clear_error (&error);
    give (backends[b], &s);
    for (guint i = 0; i < G_N_ELEMENTS (far_away); i++) {
      if (i == 0)
        g_assert_true (ndt_backend_set_scan (backends[b], 0, &empty, &no_filter, &error));
      else
        give (backends[b], &s);
      start.guess = s.truth;
      start.guess.position[0] += far_away[i];
      align (backends[b], &start, 1, &result);
      g_assert_cmpint (result.stop, ==, NDT_STOP_NO_PAIRS);
      g_assert_cmpuint (result.n_points, ==, i == 0 ? 0 : s.n);
      g_assert_cmpuint (result.sums.n_pairs, ==, 0);
      g_assert_cmpfloat (result.pose.position[0], ==, start.guess.position[0]);
    }
    ndt_backend_cancel (backends[b], TRUE);
    g_assert_false (
        ndt_backend_align (backends[b], 0, &default_params, &start, 1, &result, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
    g_clear_error (&error);
    ndt_backend_cancel (backends[b], FALSE);
    start.guess = s.truth;
    align (backends[b], &start, 1, &result);
    g_assert_cmpint (result.stop, ==, NDT_STOP_CONVERGED);
  }
  scene_clear (&s);
}

static gpointer
cancel_soon (gpointer backend)
{
  g_usleep (3000);
  ndt_backend_cancel (backend, TRUE);
  return NULL;
}

/* A batch that would take long ends soon. */
static void
test_cancel (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (60, 60000, 20000, 2, NULL);
  enum { N = 4000 };
  NdtStart *starts = g_new0 (NdtStart, N);
  NdtAlignResult *results = g_new (NdtAlignResult, N);
  GRand *rand = g_rand_new_with_seed (8);
  for (guint i = 0; i < N; i++) {
    starts[i].guess = scene_guess (&s, rand, 2, 0.2);
    starts[i].approach = 3;
  }
  give (cuda, &s);
  align (cuda, starts, 1, results);
  gint64 before = g_get_monotonic_time ();
  align (cuda, starts, N, results);
  const gint64 whole = g_get_monotonic_time () - before;
  GThread *thread = g_thread_new ("cancel", cancel_soon, cuda);
  before = g_get_monotonic_time ();
  g_assert_false (ndt_backend_align (cuda, 0, &default_params, starts, N, results, &error));
  const gint64 cancelled = g_get_monotonic_time () - before;
  g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
  g_thread_join (thread);
  g_test_message ("%u starts: %.1f ms, cancelled after %.1f ms", N, 1e-3 * (double)whole,
      1e-3 * (double)cancelled);
  g_assert_cmpint (cancelled, <, whole / 2);
  ndt_backend_cancel (cuda, FALSE);
  align (cuda, starts, 1, results);
  g_rand_free (rand);
  g_free (starts);
  g_free (results);
  scene_clear (&s);
}

/* Each allocation refused in turn: other memory does, or there is an error and the next try works.
 * A failed launch ends the backend, and it says so. */
static void
test_failures (void)
{
  g_autoptr (NdtBackend) probe = open_cuda (0);
  if (!probe)
    return;
#ifdef HAVE_NDT_CUDA
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  static const NdtScanFilter filter = {1, 100, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f};
  Scene s = scene_new (40, 30000, 2000, 2, NULL);
  const NdtCloudView view = scene_view (&s);
  NdtStart starts[3] = {
      {.guess = s.truth}, {.guess = s.truth, .approach = 1}, {.guess = s.truth, .approach = 2}};
  NdtAlignResult results[3];
  gboolean failed = TRUE;
  guint n_refused = 0;
  for (guint n = 1; n <= 16; n++) {
    gchar text[32];
    GError *error = NULL;
    NdtBackend *backend;
    g_snprintf (text, sizeof (text), "alloc:%u", n);
    TEST_CUDA (FAIL, text);
    backend = ndt_cuda_backend_open (&config, &error);
    failed = backend == NULL;
    if (backend) {
      for (guint try = 0; try < 2; try++) {
        g_clear_error (&error);
        if (!ndt_backend_set_map (backend, s.map, &error) ||
            !ndt_backend_set_scan (backend, 0, &view, &filter, &error) ||
            !ndt_backend_align (backend, 0, &default_params, starts, 3, results, &error)) {
          g_assert_cmpuint (try, ==, 0);
          failed = TRUE;
        } else {
          for (guint i = 0; i < 3; i++)
            g_assert_cmpint (results[i].stop, ==, NDT_STOP_CONVERGED);
          if (try == 0)
            break;
        }
        if (error)
          g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
      }
      ndt_backend_close (backend);
    } else {
      g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
    }
    n_refused += failed;
    g_clear_error (&error);
  }
  /* Of the backend's state, and page-locked memory for signals, scan, starts and results. */
  g_assert_cmpuint (n_refused, >=, 5);
  g_assert_false (failed);

  {
    GError *error = NULL;
    g_autoptr (NdtBackend) backend = ndt_cuda_backend_open (&config, &error);
    g_assert_no_error (error);
    g_assert_true (ndt_backend_set_map (backend, s.map, &error));
    g_assert_true (ndt_backend_set_scan (backend, 0, &view, &no_filter, &error));
    g_assert_true (ndt_backend_align (backend, 0, &default_params, starts, 1, results, &error));
    TEST_CUDA (FAIL, "launch:1");
    g_assert_false (ndt_backend_align (backend, 0, &default_params, starts, 1, results, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_DEVICE);
    g_clear_error (&error);
    TEST_CUDA (FAIL, NULL);
    g_assert_false (ndt_backend_set_scan (backend, 0, &view, &no_filter, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_DEVICE);
    g_clear_error (&error);
  }
  TEST_CUDA (FAIL, NULL);

  scene_clear (&s);
#endif
}

/* What is beyond a budget lies in the host's memory: the same answers, to the bit, and never more
 * of the device's. Sizes from nothing to more than enough. */
static void
test_budgets (void)
{
  static const guint64 budgets[] = {1, 200000, 3 << 20, 12 << 20, 256 << 20};
  static const NdtScanFilter filter = {1, 100, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f};
  enum { N = 5000, N_THIN = 60000 };
  g_autoptr (NdtBackend) all = open_cuda (0);
  if (!all)
    return;
  g_autoptr (GError) error = NULL;
  Scene s = scene_new (150, 400000, N_THIN, 1, NULL);
  const NdtCloudView view = scene_view (&s);
  const NdtCloudView points = ndt_cloud_view_xyz_f64 (s.points, s.n_map_points);
  NdtStart *starts = g_new0 (NdtStart, N);
  NdtAlignResult *a = g_new0 (NdtAlignResult, N), *b = g_new0 (NdtAlignResult, N);
  float *xyz[2] = {g_new (float, 3 * N_THIN), g_new (float, 3 * N_THIN)};
  g_autoptr (NdtVoxelMap) built = NULL;
  guint n[2];
  GRand *rand = g_rand_new_with_seed (6);
  for (guint i = 0; i < N; i++) {
    starts[i].guess = scene_guess (&s, rand, 0.5, 0.05);
    starts[i].approach = i % 4;
  }
  g_assert_true (ndt_backend_set_map_from_points (all, &s.params, &points, &built, &error));
  g_assert_true (ndt_backend_set_scan (all, 0, &view, &filter, &error));
  g_assert_true (ndt_backend_get_scan (all, 0, xyz[0], N_THIN, &n[0], &error));
  g_assert_cmpuint (n[0], >, 5000);
  align (all, starts, 100, a);
  for (guint i = 0; i < G_N_ELEMENTS (budgets); i++) {
    g_autoptr (NdtBackend) some = open_cuda (budgets[i]);
    g_autoptr (NdtVoxelMap) other = NULL;
    NdtBackendCounters counters, before;
    ndt_backend_get_counters (some, &before);
    for (guint round = 0; round < 2; round++) {
      /* A map made there, and the same uploaded. */
      if (round == 0)
        g_assert_true (ndt_backend_set_map_from_points (some, &s.params, &points, &other, &error));
      else
        g_assert_true (ndt_backend_set_map (some, built, &error));
      g_assert_no_error (error);
      g_assert_true (ndt_backend_set_scan (some, 0, &view, &filter, &error));
      g_assert_true (ndt_backend_get_scan (some, 0, xyz[1], N_THIN, &n[1], &error));
      g_assert_cmpmem (xyz[0], 12 * (gsize)n[0], xyz[1], 12 * (gsize)n[1]);
      align (some, starts, 100, b);
      g_assert_cmpmem (a, 100 * sizeof (a[0]), b, 100 * sizeof (b[0]));
      align (some, starts, 1, b);
      g_assert_cmpmem (a, sizeof (a[0]), b, sizeof (b[0]));
    }
    for (guint l = 0; l < 3; l++) {
      const NdtVoxelLevel *x = ndt_voxel_map_get_level (built, l),
                          *y = ndt_voxel_map_get_level (other, l);
      g_assert_cmpmem (
          x->voxels, x->n_voxels * sizeof (NdtVoxel), y->voxels, y->n_voxels * sizeof (NdtVoxel));
    }
    ndt_backend_get_counters (some, &counters);
    g_assert_cmpuint (counters.device_bytes, <=, MAX (budgets[i], before.device_bytes));
    g_test_message ("budget %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT
                    " bytes on the device, %" G_GUINT64_FORMAT " on the host",
        budgets[i], counters.device_bytes, counters.host_bytes);
  }
  /* More starts than one launch takes. */
  align (all, starts, N, b);
  g_assert_cmpmem (a, 100 * sizeof (a[0]), b, 100 * sizeof (b[0]));
  align (all, starts + N - 7, 7, a);
  g_assert_cmpmem (a, 7 * sizeof (a[0]), b + N - 7, 7 * sizeof (b[0]));
  g_rand_free (rand);
  g_free (starts);
  g_free (a);
  g_free (b);
  g_free (xyz[0]);
  g_free (xyz[1]);
  scene_clear (&s);
}

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
    give (cpu, &s);
    give (cuda, &s);
    g_assert_true (
        ndt_backend_evaluate (cpu, 0, &default_params, 0, NDT_KIND_SCORE, &s.truth, 1, &b, &error));
    g_assert_true (ndt_backend_evaluate (
        cuda, 0, &default_params, 0, NDT_KIND_SCORE, &s.truth, 1, &a, &error));
    g_assert_cmpuint (a.n_pairs, >, 500);
    assert_sums_agree (&a, &b);
    for (guint k = 0; k < 8; k++) {
      const NdtStart start = {.guess = scene_guess (&s, rand, 0.3, 0.02), .approach = 0};
      n_agree += check_alignment (cpu, cuda, &start);
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

    give (cpu, &s);
    const NdtCloudView view = scene_view (&s);
    g_assert_true (ndt_backend_set_scan (cuda, 0, &view, &no_filter, &error));
    align (cpu, &start, 1, &b);
    align (cuda, &start, 1, &a);
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
    align (cuda, &start, 1, &c);
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

/* Little of everything, for tools under which it takes a thousand times as long. */
static void
test_sanitize (void)
{
  static const gchar *shapes[] = {"cluster:2:256:1", "cluster:4:512", "grid:16:256", "grid:64:256"};
  static const NdtScanFilter filter = {0, 0, FALSE, {0, 0, 0}, {0, 0, 0}, 0.05f};
  Scene s = scene_new (20, 8000, 1200, 2, NULL);
  const NdtStart starts[2] = {{.guess = s.truth}, {.guess = s.truth, .approach = 3}};
  const NdtCloudView points = ndt_cloud_view_xyz_f64 (s.points, s.n_map_points);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (s.scan, 300);
  const NdtCloudView large = ndt_cloud_view_xyz_f32 (s.scan, 1200);
  for (guint k = 0; k < G_N_ELEMENTS (shapes); k++) {
    NdtAlignResult results[2];
    g_autoptr (GError) error = NULL;
    TEST_CUDA (SHAPE, shapes[k]);
    g_autoptr (NdtBackend) cuda = open_cuda (0);
    TEST_CUDA (SHAPE, NULL);
    if (!cuda)
      break;
    g_assert_true (ndt_backend_set_map_from_points (cuda, &s.params, &points, NULL, &error));
    g_assert_no_error (error);
    g_assert_true (ndt_backend_set_scan (cuda, 0, &view, &no_filter, &error));
    align (cuda, starts, 2, results);
    g_assert_cmpint (results[1].stop, ==, NDT_STOP_CONVERGED);
    if (k > 0)
      continue;
    /* Samples: of a scan that is its own, and of a thinned one. */
    guint n;
    g_assert_true (ndt_search_set_sample (cuda, 0, 0.1f, &error));
    g_assert_true (ndt_backend_get_scan (cuda, NDT_SEARCH_SLOT, NULL, 0, &n, &error));
    g_assert_cmpuint (n, ==, 300);
    g_assert_true (ndt_backend_set_scan (cuda, 1, &large, &filter, &error));
    g_assert_true (ndt_search_set_sample (cuda, 1, 0.1f, &error));
    g_assert_true (ndt_backend_get_scan (cuda, NDT_SEARCH_SLOT, NULL, 0, &n, &error));
    g_assert_cmpuint (n, ==, NDT_SAMPLE_LEAST);
  }
  scene_clear (&s);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/evaluate", test_evaluate);
  g_test_add_func ("/gpu/align", test_align);
  g_test_add_func ("/gpu/regularization", test_regularization);
  g_test_add_func ("/gpu/lesser-devices", test_lesser_devices);
  g_test_add_func ("/gpu/side-by-side", test_side_by_side);
  g_test_add_func ("/gpu/build", test_build);
  g_test_add_func ("/gpu/crowded-cell", test_crowded_cell);
  g_test_add_func ("/gpu/thin", test_thin);
  g_test_add_func ("/gpu/thinned", test_thinned);
  g_test_add_func ("/gpu/sample", test_sample);
  g_test_add_func ("/gpu/counters", test_counters);
  g_test_add_func ("/gpu/edges", test_edges);
  g_test_add_func ("/gpu/cancel", test_cancel);
  g_test_add_func ("/gpu/failures", test_failures);
  g_test_add_func ("/gpu/budgets", test_budgets);
  g_test_add_func ("/gpu/map-sizes", test_map_sizes);
  g_test_add_func ("/gpu/sanitize", test_sanitize);
  return g_test_run ();
}
