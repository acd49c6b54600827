/* SPDX-License-Identifier: MIT */
/* Frame trees on a device beside the CPU's. */
#include "gpu-device.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/motion/ndt-frames.h"

#include <math.h>
#include <string.h>

/* How parents are chosen. */
typedef enum { FLAT, BUSHY, DEEP, CHAIN } Shape;

static NdtPose
random_pose (GRand *random, double metres)
{
  NdtPose pose;
  for (guint k = 0; k < 3; k++)
    pose.position[k] = g_rand_double_range (random, -metres, metres);
  for (guint k = 0; k < 4; k++)
    pose.orientation[k] = g_rand_double_range (random, -1, 1);
  g_assert_true (ndt_pose_normalize (&pose));
  return pose;
}

/* Adds frames to both trees. A chain is long: its steps are short, so that it ends near. */
static void
add_frames (NdtFrameTree *const trees[2], GRand *random, Shape shape, guint32 n)
{
  g_autofree guint32 *parents = g_new (guint32, n);
  g_autofree NdtPose *poses = g_new (NdtPose, n);
  const guint32 first = ndt_frame_tree_get_n_frames (trees[0]);
  for (guint32 i = 0; i < n; i++) {
    const guint32 f = first + i;
    poses[i] = random_pose (random, shape == CHAIN ? 0.01 : 10);
    parents[i] = NDT_FRAME_NONE;
    if (shape == FLAT && f >= 3)
      parents[i] = (guint32)g_rand_int_range (random, 0, 3);
    else if (shape == BUSHY && f >= 5)
      parents[i] = f / 3;
    else if (shape == DEEP && f >= 1)
      parents[i] = f - (guint32)g_rand_int_range (random, 1, (gint32)MIN (f, 100) + 1);
    else if (shape == CHAIN && f >= 1)
      parents[i] = f - 1;
  }
  for (guint t = 0; t < 2; t++)
    g_assert_cmpuint (ndt_frame_tree_add (trees[t], n, parents, poses, NULL), ==, first);
}

/* trees[0] on the CPU, trees[1] on the device. */
static void
compare_world (NdtFrameTree *const trees[2], gboolean to_the_bit, double metres)
{
  const guint32 n = ndt_frame_tree_get_n_frames (trees[0]);
  g_autofree double *p[2] = {g_new (double, 3 * (gsize)n), g_new (double, 3 * (gsize)n)};
  g_autofree double *q[2] = {g_new (double, 4 * (gsize)n), g_new (double, 4 * (gsize)n)};
  double one[3], turn[4];
  for (guint t = 0; t < 2; t++)
    ndt_frame_tree_get_world (trees[t], 0, n, p[t], q[t]);
  g_assert_true (ndt_frame_tree_is_on_device (trees[1]));
  if (to_the_bit) {
    g_assert_cmpmem (p[0], 24 * (gsize)n, p[1], 24 * (gsize)n);
    g_assert_cmpmem (q[0], 32 * (gsize)n, q[1], 32 * (gsize)n);
  } else {
    double largest = 0, largest_turn = 0;
    for (gsize i = 0; i < 3 * (gsize)n; i++)
      largest = MAX (largest, fabs (p[0][i] - p[1][i]));
    for (guint32 i = 0; i < n; i++) {
      double dot = 0;
      for (guint k = 0; k < 4; k++)
        dot += q[0][4 * (gsize)i + k] * q[1][4 * (gsize)i + k];
      for (guint k = 0; k < 4; k++)
        largest_turn = MAX (largest_turn,
            fabs (q[0][4 * (gsize)i + k] - copysign (1, dot) * q[1][4 * (gsize)i + k]));
    }
    g_test_message ("%u frames: %.3g m and %.3g apart", n, largest, largest_turn);
    g_assert_cmpfloat (largest, <, metres);
    g_assert_cmpfloat (largest_turn, <, 1e-12);
  }
  /* Some, one kind only. */
  ndt_frame_tree_get_world (trees[1], n / 2, 1, one, NULL);
  ndt_frame_tree_get_world (trees[1], n / 2, 1, NULL, turn);
  g_assert_cmpmem (one, sizeof (one), p[1] + 3 * (gsize)(n / 2), sizeof (one));
  g_assert_cmpmem (turn, sizeof (turn), q[1] + 4 * (gsize)(n / 2), sizeof (turn));
}

static void
check_tree (NdtBackend *cuda, Shape shape, guint32 n)
{
  g_autoptr (NdtFrameTree) cpu_tree = ndt_frame_tree_new ();
  g_autoptr (NdtFrameTree) cuda_tree = ndt_frame_tree_new ();
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  g_autoptr (GError) error = NULL;
  NdtFrameTree *const trees[2] = {cpu_tree, cuda_tree};
  NdtPose poses[7];
  const gboolean to_the_bit = shape < DEEP;
  /* Roundings of about log₂ depth compositions on one side and of depth ones on the other: 3e-13 m
   * at 2 km for each, mostly of either sign. */
  const double metres = 1e-9;
  add_frames (trees, random, shape, n / 3);
  ndt_frame_tree_set_device (cuda_tree, ndt_backend_open_frames (cuda, &error));
  g_assert_no_error (error);
  compare_world (trees, to_the_bit, metres);
  add_frames (trees, random, shape, n - n / 3);
  compare_world (trees, to_the_bit, metres);
  for (guint i = 0; i < G_N_ELEMENTS (poses); i++)
    poses[i] = random_pose (random, 2);
  for (guint t = 0; t < 2; t++) {
    g_assert_true (ndt_frame_tree_set (trees[t], 0, 1, poses, NULL));
    g_assert_true (ndt_frame_tree_set (trees[t], n / 2, 6, poses + 1, NULL));
  }
  compare_world (trees, to_the_bit, metres);

  /* Again, from the start: the same bits. */
  g_autoptr (NdtFrameTree) again = ndt_frame_tree_new ();
  g_autofree double *a = g_new (double, 3 * (gsize)n), *b = g_new (double, 3 * (gsize)n);
  g_autoptr (GRand) random_again = g_rand_new_with_seed (3);
  NdtFrameTree *const both[2] = {again, cpu_tree};
  ndt_frame_tree_set_device (again, ndt_backend_open_frames (cuda, &error));
  g_assert_no_error (error);
  ndt_frame_tree_clear (cpu_tree);
  add_frames (both, random_again, shape, n / 3);
  add_frames (both, random_again, shape, n - n / 3);
  g_assert_true (ndt_frame_tree_set (again, 0, 1, poses, NULL));
  g_assert_true (ndt_frame_tree_set (again, n / 2, 6, poses + 1, NULL));
  ndt_frame_tree_get_world (cuda_tree, 0, n, a, NULL);
  ndt_frame_tree_get_world (again, 0, n, b, NULL);
  g_assert_cmpmem (a, 24 * (gsize)n, b, 24 * (gsize)n);
}

static void
test_world (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  check_tree (cuda, FLAT, 100000);
  check_tree (cuda, BUSHY, 100000);
  check_tree (cuda, DEEP, 100000);
  check_tree (cuda, CHAIN, 20000);
  check_tree (cuda, CHAIN, 100);
  check_tree (cuda, FLAT, 30);
}

/* Two trees of BUSHY frames, the second on the device, and points with frames. */
typedef struct {
  NdtFrameTree *trees[2];
  guint32 n_frames;
  guint n;
  float *points;
  double *wide; /* the same points, four doubles each */
  guint32 *frames;
  float *out[2];
} Cloud;

static Cloud
cloud_new (NdtBackend *cuda, guint32 n_frames, guint n)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (9);
  g_autoptr (GError) error = NULL;
  Cloud c = {.n_frames = n_frames, .n = n};
  for (guint t = 0; t < 2; t++) {
    c.trees[t] = ndt_frame_tree_new ();
    c.out[t] = g_new (float, 3 * (gsize)n + 1);
  }
  add_frames (c.trees, random, BUSHY, n_frames);
  ndt_frame_tree_set_device (c.trees[1], ndt_backend_open_frames (cuda, &error));
  g_assert_no_error (error);
  c.points = g_new (float, 3 * (gsize)n + 1);
  c.wide = g_new (double, 4 * (gsize)n + 1);
  c.frames = g_new (guint32, n + 1);
  for (guint i = 0; i < n; i++) {
    /* Runs of one frame and points that each have another. */
    c.frames[i] = i / 500 % 2 ? i / 100 % n_frames : g_rand_int (random) % n_frames;
    for (guint k = 0; k < 3; k++) {
      c.points[3 * (gsize)i + k] = (float)g_rand_double_range (random, -80, 80);
      c.wide[4 * (gsize)i + k] = (double)c.points[3 * (gsize)i + k];
    }
    if (i % 997 == 996)
      c.points[3 * (gsize)i] = NAN;
    c.wide[4 * (gsize)i] = (double)c.points[3 * (gsize)i];
  }
  return c;
}

static void
cloud_clear (Cloud *c)
{
  for (guint t = 0; t < 2; t++) {
    ndt_frame_tree_free (c->trees[t]);
    g_free (c->out[t]);
  }
  g_free (c->points);
  g_free (c->wide);
  g_free (c->frames);
}

/* To the bit, but any NaN is as good as another. */
static void
assert_same_points (const float *a, const float *b, gsize n)
{
  for (gsize i = 0; i < 3 * n; i++)
    if (memcmp (&a[i], &b[i], sizeof (float)) != 0 && !(isnan (a[i]) && isnan (b[i])))
      g_error ("point %u: %.9g and %.9g", (guint)(i / 3), (double)a[i], (double)b[i]);
}

static void
transform_both (Cloud *c, guint32 reference, const NdtCloudView *view)
{
  g_autoptr (GError) error = NULL;
  for (guint t = 0; t < 2; t++) {
    memset (c->out[t], 0xaa, 12 * view->n_points);
    ndt_frame_tree_transform (c->trees[t], reference, view, c->frames, c->out[t], &error);
    g_assert_no_error (error);
  }
  g_assert_true (ndt_frame_tree_is_on_device (c->trees[1]));
  assert_same_points (c->out[0], c->out[1], view->n_points);
}

static void
test_transform (void)
{
  /* Tails of warps and of blocks; several parts. */
  static const guint sizes[] = {0, 1, 127, 128, 129, 1023, 1024, 4097, 1300001};
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (GError) error = NULL;
  Cloud c = cloud_new (cuda, 1000, sizes[G_N_ELEMENTS (sizes) - 1]);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const NdtCloudView packed = ndt_cloud_view_xyz_f32 (c.points, sizes[i]);
    const NdtCloudView wide = ndt_cloud_view (c.wide, sizes[i], 32, 0, 8, 16, NDT_SCALAR_F64);
    transform_both (&c, NDT_FRAME_NONE, &packed);
    transform_both (&c, 17, &packed);
    transform_both (&c, 17, &wide);
  }

  /* From page-locked memory, and in place there. */
  float *locked = ndt_backend_alloc_host (cuda, 12 * (gsize)c.n);
  g_assert_nonnull (locked);
  memcpy (locked, c.points, 12 * (gsize)c.n);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (locked, c.n);
  transform_both (&c, 3, &view);
  g_assert_true (ndt_frame_tree_transform (c.trees[1], 3, &view, c.frames, locked, &error));
  assert_same_points (c.out[0], locked, c.n);
  ((NdtBackendClass *)cuda->klass)->free_host (locked, 12 * (gsize)c.n);

  const NdtCloudView six = ndt_cloud_view_xyz_f32 (c.points, 6);
  c.frames[5] = c.n_frames;
  g_assert_false (ndt_frame_tree_transform (c.trees[1], 3, &six, c.frames, c.out[1], &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  cloud_clear (&c);
}

/* Attached points move as their frames do; all of them and some are fetched. */
static void
move_both (Cloud *c, guint32 reference)
{
  g_autoptr (GError) error = NULL;
  for (guint t = 0; t < 2; t++) {
    memset (c->out[t], 0xaa, 12 * (gsize)c->n);
    ndt_frame_tree_move (c->trees[t], reference, &error);
    g_assert_no_error (error);
    ndt_frame_tree_get_moved (c->trees[t], 0, c->n, c->out[t], &error);
    g_assert_no_error (error);
  }
  assert_same_points (c->out[0], c->out[1], c->n);
  g_assert_true (ndt_frame_tree_get_moved (c->trees[1], c->n / 3, c->n / 2, c->out[1], &error));
  assert_same_points (c->out[0] + 3 * (c->n / 3), c->out[1], c->n / 2);
}

static void
check_attached (NdtBackend *cuda, guint32 n_frames, guint n)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (9);
  g_autoptr (GError) error = NULL;
  Cloud c = cloud_new (cuda, n_frames, n);
  const NdtCloudView view = ndt_cloud_view (c.wide, n, 32, 0, 8, 16, NDT_SCALAR_F64);
  for (guint t = 0; t < 2; t++)
    g_assert_true (ndt_frame_tree_attach (c.trees[t], &view, c.frames, &error));
  move_both (&c, NDT_FRAME_NONE);
  for (guint i = 0; i < 3; i++) {
    const NdtPose pose = random_pose (random, 30);
    for (guint t = 0; t < 2; t++)
      g_assert_true (ndt_frame_tree_set (c.trees[t], i, 1, &pose, &error));
    move_both (&c, i == 2 ? NDT_FRAME_NONE : 4);
  }
  g_assert_true (ndt_frame_tree_is_on_device (c.trees[1]));
  /* On the CPU from here on. */
  ndt_frame_tree_set_device (c.trees[1], NULL);
  g_assert_false (ndt_frame_tree_get_moved (c.trees[1], 0, 1, c.out[1], &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  move_both (&c, 4);
  cloud_clear (&c);
}

static void
test_attached (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  check_attached (cuda, 1000, 700001);
  check_attached (cuda, 10, 3);
}

/* What does not fit goes up in parts: the same results, and the device stays within its budget. */
static void
test_budget (void)
{
  const guint64 budget = 2 << 20;
  g_autoptr (NdtBackend) cuda = open_cuda (budget);
  NdtBackendCounters counters;
  if (!cuda)
    return;
  check_attached (cuda, 1000, 200001);
  Cloud c = cloud_new (cuda, 1000, 300001);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (c.points, c.n);
  transform_both (&c, 7, &view);
  ndt_backend_get_counters (cuda, &counters);
  g_assert_cmpuint (counters.device_bytes, >, budget / 4);
  g_assert_cmpuint (counters.device_bytes, <=, budget);
  cloud_clear (&c);
}

/* Nothing goes up or down but what changed, and nothing is allocated. */
static void
test_counters (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  g_autoptr (GError) error = NULL;
  NdtBackendCounters before, after;
  if (!cuda)
    return;
  Cloud c = cloud_new (cuda, 5000, 100000);
  const NdtPose pose = {{1, 2, 3}, {0, 0, 0, 1}};
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (c.points, c.n);
  g_assert_true (ndt_frame_tree_attach (c.trees[1], &view, c.frames, &error));
  for (guint i = 0; i < 12; i++) {
    if (i == 2)
      ndt_backend_get_counters (cuda, &before);
    g_assert_true (ndt_frame_tree_set (c.trees[1], i, 1, &pose, &error));
    g_assert_true (ndt_frame_tree_move (c.trees[1], 0, &error));
  }
  ndt_backend_get_counters (cuda, &after);
  g_assert_cmpuint (after.allocations, ==, before.allocations);
  g_assert_cmpuint (after.uploads - before.uploads, ==, 10);
  g_assert_cmpuint (after.upload_bytes - before.upload_bytes, ==, 640);
  g_assert_cmpuint (after.download_bytes, ==, before.download_bytes);
  cloud_clear (&c);
}

/* Each allocation refused in turn, and each launch: the CPU goes on, with the same results. */
static void
test_failures (void)
{
  static const gchar *const kinds[] = {"alloc", "launch"};
  guint n_left = 0;
  g_autoptr (NdtBackend) probe = open_cuda (0);
  if (!probe)
    return;
  /* Leaving the device is warned of, and meant here. */
  const GLogLevelFlags fatal = g_log_set_always_fatal (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL);
  for (guint k = 0; k < 2; k++)
    for (guint n = 1; n <= (k == 0 ? 17 : 12); n++) {
      g_autofree gchar *wish = g_strdup_printf ("%s:%u", kinds[k], n);
      g_autoptr (GError) error = NULL;
      g_autoptr (NdtBackend) cuda = open_cuda (0);
      Cloud c = cloud_new (cuda, 200, 3000);
      const NdtCloudView view = ndt_cloud_view_xyz_f32 (c.points, c.n);
      TEST_CUDA (FAIL, wish);
      for (guint t = 0; t < 2; t++) {
        memset (c.out[t], 0xaa, 12 * (gsize)c.n);
        g_assert_true (ndt_frame_tree_transform (c.trees[t], 7, &view, c.frames, c.out[t], &error));
        g_assert_true (ndt_frame_tree_attach (c.trees[t], &view, c.frames, &error));
      }
      assert_same_points (c.out[0], c.out[1], c.n);
      for (guint t = 0; t < 2; t++) {
        g_assert_true (ndt_frame_tree_move (c.trees[t], 3, &error));
        if (!ndt_frame_tree_get_moved (c.trees[t], 0, c.n, c.out[t], &error)) {
          g_assert_error (error, NDT_ERROR, NDT_ERROR_DEVICE);
          g_clear_error (&error);
          g_assert_true (ndt_frame_tree_move (c.trees[t], 3, &error));
          g_assert_true (ndt_frame_tree_get_moved (c.trees[t], 0, c.n, c.out[t], &error));
        }
      }
      assert_same_points (c.out[0], c.out[1], c.n);
      TEST_CUDA (FAIL, NULL);
      n_left += !ndt_frame_tree_is_on_device (c.trees[1]);
      cloud_clear (&c);
    }
  /* All allocations that the tree and a part of the points need, matrices twice and points twice.
   */
  g_assert_cmpuint (n_left, >=, 20);
  g_log_set_always_fatal (fatal);
}

/* Little of everything, for tools under which it takes a thousand times as long. */
static void
test_sanitize (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  check_tree (cuda, BUSHY, 300);
  check_tree (cuda, CHAIN, 150);
  check_attached (cuda, 50, 1100);
  Cloud c = cloud_new (cuda, 50, 1100);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (c.points, c.n);
  transform_both (&c, 7, &view);
  cloud_clear (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/frames/world", test_world);
  g_test_add_func ("/gpu/frames/transform", test_transform);
  g_test_add_func ("/gpu/frames/attached", test_attached);
  g_test_add_func ("/gpu/frames/budget", test_budget);
  g_test_add_func ("/gpu/frames/counters", test_counters);
  g_test_add_func ("/gpu/frames/failures", test_failures);
  g_test_add_func ("/gpu/frames/sanitize", test_sanitize);
  return g_test_run ();
}
