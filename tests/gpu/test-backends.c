/* SPDX-License-Identifier: MIT */
/* The CUDA backend beside the CPU's: the same calls, the same answers. */
#include "gpu-backends.h"
#include "gpu-scene.h"
#include "ndtcore/scan/ndt-scan-sample.h"
#include "ndtcore/registration/ndt-search.h"

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
  scene_give (cpu, &s);
  scene_give (cuda, &s);
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
hold_starts (const Scene *s, double scale, double information, NdtStart starts[N_STARTS])
{
  for (guint i = 0; i < N_STARTS; i++) {
    const NdtRegularization r = {.target = {s->truth.position[0] + 0.4, s->truth.position[1] - 0.3},
        .direction = {cos (i), sin (i)},
        .scale = scale};
    starts[i].regularization = r;
    NdtPoseFactor *factor = &starts[i].regularization.factor;
    const double off[6] = {0.3, -0.2, 0.1, 0.01, -0.02, 0.03};
    factor->is_set = information > 0;
    ndt_pose_retract (&s->truth, off, &factor->mean);
    for (guint k = 0; k < 6; k++) {
      factor->information[NDT_H6 (k, k)] = information * (k < 3 ? 1 : 100);
      factor->information[NDT_H6 (0, k)] += information * 0.1;
    }
  }
}

/* Poses agree; one start alone, several, and every way to spread them over the device give the same
 * bits. */
static void
align_points (guint n_points, double scale, double information)
{
  const gboolean is_held = scale > 0 || information > 0;
  const gboolean may_part = is_held || scene_method != NDT_METHOD_NEWTON;
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
  hold_starts (&s, scale, information, starts);
  scene_give (cpu, &s);
  scene_give (cuda, &s);
  memset (a, 0, sizeof (a));
  memset (c, 0, sizeof (c));
  scene_align (cpu, starts, N_STARTS, b);
  scene_align (cuda, starts, N_STARTS, a);
  for (guint i = 0; i < N_STARTS; i++) {
    g_assert_cmpuint (a[i].n_points, ==, s.n);
    /* From far two optimizers may end in two optima: rounding decides at a watershed. */
    if (i % 2 || starts[i].approach == 3) {
      g_test_message ("%u points, start %u, approach %u: scores %.9g and %.9g, passes %u and %u",
          n_points, i, starts[i].approach, a[i].sums.score, b[i].sums.score, a[i].evaluations,
          b[i].evaluations);
      if (may_part && !check_alignment (cpu, cuda, scene_method, &starts[i]))
        continue;
      assert_poses_agree (&a[i].pose, &b[i].pose);
      /* L-BFGS ends a pair or two from where another rounding ends it: on the CPU, from starts 2 µm
       * apart, scores differ by up to 1.1e-4. */
      if (scene_method == NDT_METHOD_LBFGS)
        g_assert_cmpfloat_with_epsilon (
            a[i].sums.score, b[i].sums.score, 2e-4 * fabs (b[i].sums.score));
      else
        assert_close (&a[i].sums.score, &b[i].sums.score, (const gint[]){0}, 1);
      /* Where an approach ends differs by rounding, and with it, by a pair or two, the weight. */
      g_assert_cmpfloat_with_epsilon (
          a[i].objective, b[i].objective, 1e-3 * fabs (b[i].sums.score));
      if (is_held)
        g_assert_cmpfloat (a[i].objective, <=, a[i].sums.score);
      else
        g_assert_cmpfloat (a[i].objective, ==, a[i].sums.score);
      n_agree++;
    }
  }
  g_assert_cmpuint (n_agree, >=, may_part ? N_STARTS / 3 : N_STARTS / 2);

  for (guint i = 0; i < N_STARTS; i++) {
    scene_align (cuda, &starts[i], 1, &c[i]);
    g_assert_cmpmem (&a[i], sizeof (a[i]), &c[i], sizeof (c[i]));
  }
  for (guint k = 0; k < G_N_ELEMENTS (shapes); k++) {
    for (guint reuse = 0; reuse < 2; reuse++) {
      TEST_CUDA (SHAPE, shapes[k]);
      TEST_CUDA (REUSE, reuse ? "0.2" : "0");
      g_autoptr (NdtBackend) other = open_cuda (0);
      TEST_CUDA (SHAPE, NULL);
      TEST_CUDA (REUSE, NULL);
      scene_give (other, &s);
      memset (c, 0, sizeof (c));
      scene_align (other, starts, N_STARTS, c);
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
  align_points (1001, 0, 0);
  align_points (9001, 0, 0);
  align_points (33001, 0, 0);
}

/* The same of poses that are held beside the scan, weakly and so that they move by decimetres. */
static void
test_regularization (void)
{
  align_points (1001, 0.01, 0);
  align_points (9001, 1, 0);
  align_points (33001, 0.01, 0);
}

/* And by a pose factor, of which the score of 9,001 points has some hundred times as much, and with
 * both. */
static void
test_pose_factor (void)
{
  align_points (1001, 0, 1000);
  align_points (9001, 0, 10000);
  align_points (33001, 0.01, 1000);
}

/* The same by other methods than Newton's, to the same tolerances: the whole loop runs on the
 * device there as well. */
static void
test_methods (void)
{
  for (scene_method = NDT_METHOD_LM; scene_method <= NDT_METHOD_LBFGS; scene_method++) {
    align_points (1001, 0, 0);
    align_points (9001, 1, 0);
    align_points (33001, 0.01, 1000);
  }
  scene_method = NDT_METHOD_NEWTON;
}

/* No alignment takes more passes than it may, its approach and its steps back included, and one
 * that needs no more than that has the bits of one without a bound. */
static void
test_evaluations (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  Scene s = scene_new (60, 60000, 3001, 2, NULL);
  NdtStart starts[N_STARTS] = {0};
  make_starts (&s, starts);
  scene_give (cuda, &s);
  for (guint method = NDT_METHOD_NEWTON; method <= NDT_METHOD_LBFGS; method++)
    for (guint i = 0; i < N_STARTS; i++) {
      NdtAlignParams params = default_params;
      NdtAlignResult whole, cut;
      params.method = (NdtMethod)method;
      memset (&whole, 0, sizeof (whole));
      g_assert_true (ndt_backend_align (cuda, 0, &params, &starts[i], 1, &whole, NULL));
      for (guint n = 2; n <= whole.evaluations + 1;) {
        memset (&cut, 0, sizeof (cut));
        params.max_evaluations = n;
        g_assert_true (ndt_backend_align (cuda, 0, &params, &starts[i], 1, &cut, NULL));
        g_assert_cmpuint (cut.evaluations, <=, n);
        if (n >= whole.evaluations)
          g_assert_cmpmem (&cut, sizeof (cut), &whole, sizeof (whole));
        n = n >= whole.evaluations ? n + 1 : MIN (n + 1 + n / 4, whole.evaluations);
      }
    }
  scene_clear (&s);
}

/* A penalty along a line that weighs nothing changes no sum, and has each step taken by one thread,
 * which solves it otherwise than a warp does. Both correct a step in double once, so that they
 * differ by far less than the epsilons, of 0.01 m and 0.001 rad. */
static void
test_steps (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  Scene s = scene_new (60, 60000, 3001, 2, NULL);
  NdtStart starts[N_STARTS] = {0};
  make_starts (&s, starts);
  scene_give (cuda, &s);
  for (guint i = 1; i < N_STARTS; i += 2) {
    NdtStart apart = starts[i];
    NdtAlignResult by_warp, by_thread;
    double metres, radians;
    apart.regularization.scale = 1e-300;
    apart.regularization.direction[0] = 1;
    scene_align (cuda, &starts[i], 1, &by_warp);
    scene_align (cuda, &apart, 1, &by_thread);
    ndt_pose_difference (&by_warp.pose, &by_thread.pose, &metres, &radians);
    g_test_message ("start %u: %g m, %g rad", i, metres, radians);
    g_assert_cmpuint (by_warp.evaluations, ==, by_thread.evaluations);
    g_assert_cmpuint (by_warp.iterations, ==, by_thread.iterations);
    g_assert_cmpint (by_warp.stop, ==, by_thread.stop);
    g_assert_cmpfloat (metres, <, 1e-6);
    g_assert_cmpfloat (radians, <, 1e-6);
  }
  scene_clear (&s);
}

/* What devices without clusters, with less shared memory or fewer processors would do: the same, to
 * the bit, but where a block has no room for one lane a point. */
static void
test_lesser_devices (void)
{
  static const gchar *limits[] = {
      "108:166912:1:108:216", /* A100, compute capability 8.0 */
      "82:101376:1:82:164",   /* RTX 3090, 8.6 */
      "40:65536:1:40:80",     /* T4, 7.5 */
      "14:65536:1:14:28",     /* MX450, GTX 1650, 7.5 */
      "16:166912:1:16:32",    /* AGX Orin, 8.7 */
      "8:166912:1:8:16",      /* Orin NX and Nano, 8.7 */
      "6:65536:1:6:12",       /* T400, 7.5: one block */
      "132:232448:1:132:264", /* without clusters */
      "132:232448:4:132:264",
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
    scene_give (cuda, &s);
    memset (a, 0, sizeof (a));
    scene_align (cuda, starts, N_STARTS, a);
    for (guint k = 0; k < G_N_ELEMENTS (limits); k++) {
      TEST_CUDA (LIMITS, limits[k]);
      g_autoptr (NdtBackend) other = open_cuda (0);
      TEST_CUDA (LIMITS, NULL);
      scene_give (other, &s);
      memset (b, 0, sizeof (b));
      scene_align (other, starts, N_STARTS, b);
      for (guint i = 0; i < N_STARTS; i++) {
        if ((k == 3 || k == 6) && sizes[n] > 32768) {
          /* From far rounding decides at a watershed. */
          if (i % 2)
            assert_poses_agree (&a[i].pose, &b[i].pose);
        } else if (memcmp (&a[i], &b[i], sizeof (a[i])) != 0)
          g_error ("%s, %u points: start %u differs", limits[k], sizes[n], i);
        if (i >= 5 && i < 10) {
          NdtAlignResult one;
          memset (&one, 0, sizeof (one));
          scene_align (other, &starts[i], 1, &one);
          g_assert_cmpmem (&one, sizeof (one), &b[i], sizeof (b[i]));
        }
      }
    }
    scene_clear (&s);
  }
}

/* The priority of the device's streams changes no bit. */
static void
test_priority (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  Scene s = scene_new (60, 60000, 5000, 2, NULL);
  NdtStart starts[N_STARTS];
  NdtAlignResult a[N_STARTS], b[N_STARTS], one;
  make_starts (&s, starts);
  scene_give (cuda, &s);
  memset (a, 0, sizeof (a));
  scene_align (cuda, starts, N_STARTS, a);
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  config.priority = NDT_DEVICE_PRIORITY_NORMAL;
  g_autoptr (NdtBackend) other = open_cuda_config (&config);
  g_assert_nonnull (other);
  scene_give (other, &s);
  memset (b, 0, sizeof (b));
  memset (&one, 0, sizeof (one));
  scene_align (other, starts, N_STARTS, b);
  scene_align (other, starts, 1, &one);
  g_assert_cmpmem (b, sizeof (b), a, sizeof (a));
  g_assert_cmpmem (&one, sizeof (one), &a[0], sizeof (a[0]));
  scene_clear (&s);
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
    scene_align (side->backend, &side->starts[i % N_STARTS], 1, &result);
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
  scene_give (alone, &s);
  memset (expected, 0, sizeof (expected));
  for (guint i = 0; i < N_STARTS; i++)
    scene_align (alone, &starts[i], 1, &expected[i]);
  for (guint i = 0; i < N_SIDES; i++) {
    sides[i] = (Side){open_cuda (0), starts, expected};
    scene_give (sides[i].backend, &s);
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
  /* Records in page-locked memory: of 12, 16, 20, 32 and 36 bytes, and of 12 that begin beside a
   * word of 16 bytes. */
  static const guint words[] = {3, 4, 5, 8, 9, 3}, shifts[] = {0, 0, 0, 0, 0, 1};
  float *locked[G_N_ELEMENTS (words)];
  for (guint l = 0; l < G_N_ELEMENTS (words); l++) {
    locked[l] = ndt_backend_alloc_host (cuda, 4 * (words[l] * (gsize)s.n + shifts[l]));
    g_assert_nonnull (locked[l]);
  }
  for (guint i = 7; i < s.n; i += 501)
    s.scan[3 * i + i % 3] = i % 2 ? NAN : INFINITY;
  for (guint i = 0; i < s.n; i++)
    for (guint k = 0; k < 3; k++) {
      wide[4 * i + k] = (double)s.scan[3 * i + k];
      for (guint l = 0; l < G_N_ELEMENTS (words); l++)
        locked[l][words[l] * i + shifts[l] + k] = s.scan[3 * i + k];
    }
  for (guint f = 0; f < G_N_ELEMENTS (filters); f++)
    for (guint m = 0; m < G_N_ELEMENTS (sizes); m++) {
      const guint n = sizes[m];
      NdtCloudView views[2 + G_N_ELEMENTS (words)] = {ndt_cloud_view_xyz_f32 (s.scan, n),
          ndt_cloud_view (wide, n, 32, 0, 8, 16, NDT_SCALAR_F64)};
      for (guint l = 0; l < G_N_ELEMENTS (words); l++)
        views[2 + l] =
            ndt_cloud_view (locked[l] + shifts[l], n, 4 * words[l], 0, 4, 8, NDT_SCALAR_F32);
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
  for (guint l = 0; l < G_N_ELEMENTS (words); l++)
    ((NdtBackendClass *)cuda->klass)
        ->free_host (locked[l], 4 * (words[l] * (gsize)s.n + shifts[l]));
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
  scene_give (cuda, &s);
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
    scene_align (cuda, starts, N_STARTS, raw);
    scene_align (cuda, starts, 1, &one);
    g_assert_cmpmem (&one, sizeof (one), &raw[0], sizeof (raw[0]));
    const NdtCloudView thinned = ndt_cloud_view_xyz_f32 (points, n);
    g_assert_true (ndt_backend_set_scan (cuda, 0, &thinned, &no_filter, &error));
    scene_align (cuda, starts, N_STARTS, own);
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
    for (scene_method = NDT_METHOD_NEWTON; scene_method <= NDT_METHOD_LBFGS; scene_method++) {
      scene_align (cuda, starts, 2, results);
      g_assert_cmpint (results[1].stop, ==, NDT_STOP_CONVERGED);
    }
    results[0].n_clusters = 0;
    g_assert_true (ndt_backend_spread (cuda, 0, &default_params, &results[0], &error));
    g_assert_cmpuint (results[0].n_clusters, >, 1);
    NdtAlignParams clustered = default_params;
    clustered.clusters = TRUE;
    g_assert_true (ndt_backend_align_begin (cuda, 0, &clustered, &starts[0], 0, &error));
    g_assert_true (ndt_backend_align_end (cuda, &results[1], &error));
    g_assert_true (ndt_backend_spread (cuda, 0, &clustered, &results[1], &error));
    g_assert_cmpuint (results[1].n_clusters, ==, results[0].n_clusters);
    scene_method = NDT_METHOD_NEWTON;
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
  g_test_add_func ("/gpu/pose-factor", test_pose_factor);
  g_test_add_func ("/gpu/methods", test_methods);
  g_test_add_func ("/gpu/evaluations", test_evaluations);
  g_test_add_func ("/gpu/steps", test_steps);
  g_test_add_func ("/gpu/lesser-devices", test_lesser_devices);
  g_test_add_func ("/gpu/priority", test_priority);
  g_test_add_func ("/gpu/side-by-side", test_side_by_side);
  g_test_add_func ("/gpu/thin", test_thin);
  g_test_add_func ("/gpu/thinned", test_thinned);
  g_test_add_func ("/gpu/sample", test_sample);
  g_test_add_func ("/gpu/sanitize", test_sanitize);
  return g_test_run ();
}
