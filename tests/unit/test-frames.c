/* SPDX-License-Identifier: MIT */
#include "ndtcore/align/ndt-backend.h"
#include "ndtcore/motion/ndt-frames.h"

#include <math.h>
#include <string.h>
#include <time.h>

static NdtPose
random_pose (GRand *random, double extent)
{
  NdtPose pose;
  for (guint k = 0; k < 3; k++)
    pose.position[k] = g_rand_double_range (random, -extent, extent);
  for (guint k = 0; k < 4; k++)
    pose.orientation[k] = g_rand_double_range (random, -1, 1);
  g_assert_true (ndt_pose_normalize (&pose));
  return pose;
}

/* Poses in the world by walking up from each frame. */
static NdtPose
walk (const guint32 *parents, const NdtPose *poses, guint32 frame)
{
  NdtPose pose = poses[frame];
  while (parents[frame] != NDT_FRAME_NONE) {
    frame = parents[frame];
    ndt_pose_compose (&poses[frame], &pose, &pose);
  }
  return pose;
}

static void
check_world (NdtFrameTree *tree, const guint32 *parents, const NdtPose *poses, guint32 n)
{
  g_autofree double *positions = g_new (double, 3 * n), *orientations = g_new (double, 4 * n);
  ndt_frame_tree_get_world (tree, 0, n, positions, orientations);
  for (guint32 i = 0; i < n; i++) {
    const NdtPose expected = walk (parents, poses, i);
    NdtPose pose;
    double metres, radians;
    memcpy (pose.position, positions + 3 * i, sizeof (pose.position));
    memcpy (pose.orientation, orientations + 4 * i, sizeof (pose.orientation));
    ndt_pose_difference (&pose, &expected, &metres, &radians);
    /* Rounding of some ten compositions at kilometres. */
    g_assert_cmpfloat (metres, <, 1e-9);
    g_assert_cmpfloat (radians, <, 1e-13);
  }
}

static void
test_world (void)
{
  enum { N = 500 };
  guint32 parents[N];
  NdtPose poses[N];
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  for (guint32 i = 0; i < N; i++) {
    parents[i] = i < 5 ? NDT_FRAME_NONE : (guint32)g_rand_int_range (random, 0, (gint)i);
    poses[i] = random_pose (random, 100);
  }
  g_assert_cmpuint (ndt_frame_tree_add (tree, 200, parents, poses, NULL), ==, 0);
  check_world (tree, parents, poses, 200);
  g_assert_cmpuint (ndt_frame_tree_add (tree, N - 200, parents + 200, poses + 200, NULL), ==, 200);
  g_assert_cmpuint (ndt_frame_tree_get_n_frames (tree), ==, N);
  check_world (tree, parents, poses, N);

  for (guint32 i = 3; i < 40; i++)
    poses[i] = random_pose (random, 100);
  g_assert_true (ndt_frame_tree_set (tree, 3, 37, poses + 3, NULL));
  check_world (tree, parents, poses, N);

  ndt_frame_tree_clear (tree);
  g_assert_cmpuint (ndt_frame_tree_get_n_frames (tree), ==, 0);
  g_assert_cmpuint (ndt_frame_tree_add (tree, 10, NULL, poses, NULL), ==, 0);
  for (guint32 i = 0; i < 10; i++)
    parents[i] = NDT_FRAME_NONE;
  check_world (tree, parents, poses, 10);
}

/* Down a chain of 100,000 frames rotations stay rotations. */
static void
test_chain (void)
{
  enum { N = 100000 };
  g_autofree guint32 *parents = g_new (guint32, N);
  g_autofree NdtPose *poses = g_new (NdtPose, N);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  const double step[6] = {0.01, 0, 0, 0, 0, 2 * G_PI / N};
  double p[3], q[4];
  for (guint32 i = 0; i < N; i++) {
    parents[i] = i - 1;
    ndt_pose_exp (step, &poses[i]);
  }
  g_assert_cmpuint (ndt_frame_tree_add (tree, N, parents, poses, NULL), ==, 0);
  ndt_frame_tree_get_world (tree, N - 1, 1, p, q);
  /* A full circle of 1 km. */
  g_assert_cmpfloat (fabs (p[0]) + fabs (p[1]) + fabs (p[2]), <, 1e-6);
  g_assert_cmpfloat (fabs (fabs (q[3]) - 1), <, 1e-12);
}

static void
check_transform (NdtFrameTree *tree, guint32 reference, guint32 n_frames, const NdtPose *world,
    gboolean is_double)
{
  enum { N = 1000 };
  double d[3 * N];
  float f[3 * N], out[3 * N];
  guint32 frames[N];
  NdtPose inverse = NDT_POSE_IDENTITY;
  g_autoptr (GRand) random = g_rand_new_with_seed (2);
  for (guint i = 0; i < 3 * N; i++) {
    d[i] = g_rand_double_range (random, -80, 80);
    f[i] = (float)d[i];
  }
  for (guint i = 0; i < N; i++)
    frames[i] = (guint32)g_rand_int_range (random, 0, (gint)n_frames);
  const NdtCloudView view =
      is_double ? ndt_cloud_view_xyz_f64 (d, N) : ndt_cloud_view_xyz_f32 (f, N);
  g_assert_true (ndt_frame_tree_transform (tree, reference, &view, frames, out, NULL));
  if (reference != NDT_FRAME_NONE)
    ndt_pose_invert (&world[reference], &inverse);
  for (guint i = 0; i < N; i++) {
    double p[3];
    ndt_pose_transform_point (&world[frames[i]], d + 3 * i, p);
    ndt_pose_transform_point (&inverse, p, p);
    for (guint k = 0; k < 3; k++)
      /* Float at 150 m steps by 1.5e-5; some roundings. */
      g_assert_cmpfloat (fabs (p[k] - (double)out[3 * i + k]), <, 6e-5);
  }
  if (!is_double) {
    g_assert_true (ndt_frame_tree_transform (tree, reference, &view, frames, f, NULL));
    g_assert_cmpmem (f, sizeof (f), out, sizeof (out));
  }
}

static void
test_transform (void)
{
  NdtPose poses[20], utm[20];
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  g_autoptr (NdtFrameTree) far_tree = ndt_frame_tree_new ();
  for (guint i = 0; i < 20; i++) {
    poses[i] = utm[i] = random_pose (random, 20);
    utm[i].position[0] += 388096;
    utm[i].position[1] += 3948996;
  }
  g_assert_cmpuint (ndt_frame_tree_add (tree, 20, NULL, poses, NULL), ==, 0);
  check_transform (tree, NDT_FRAME_NONE, 20, poses, FALSE);
  check_transform (tree, 7, 20, poses, FALSE);
  check_transform (tree, 7, 20, poses, TRUE);
  /* Relative to one of the frames the world's coordinates do not matter. */
  g_assert_cmpuint (ndt_frame_tree_add (far_tree, 20, NULL, utm, NULL), ==, 0);
  check_transform (far_tree, 3, 20, utm, FALSE);
}

static void
test_errors (void)
{
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  const NdtPose good = NDT_POSE_IDENTITY;
  const NdtPose bad[2] = {good, {{0, NAN, 0}, {0, 0, 0, 1}}};
  const guint32 itself = 0, frames[2] = {0, 1};
  float points[6] = {0};
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (points, 2);
  GError *error = NULL;

  g_assert_cmpuint (ndt_frame_tree_add (tree, 1, &itself, &good, &error), ==, NDT_FRAME_NONE);
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_cmpuint (ndt_frame_tree_add (tree, 2, NULL, bad, &error), ==, NDT_FRAME_NONE);
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_cmpuint (ndt_frame_tree_get_n_frames (tree), ==, 0);
  g_assert_cmpuint (ndt_frame_tree_add (tree, 1, NULL, &good, &error), ==, 0);
  g_assert_false (ndt_frame_tree_set (tree, 0, 2, bad, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (ndt_frame_tree_transform (tree, NDT_FRAME_NONE, &view, frames, points, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (ndt_frame_tree_transform (tree, 1, &view, frames, points, &error));
  g_clear_error (&error);
}

/* What a point comes to depends on nothing but it and its frame: not on how many there are, on who
 * its neighbours are, on where they lie, nor on whether results go past the caches. */
static void
test_many (void)
{
  enum { N_FRAMES = 300, N = 750000, PART = 1001 };
  NdtPose poses[N_FRAMES];
  g_autofree float *points = g_new (float, 3 * N), *records = g_new (float, 5 * N + 1);
  g_autofree float *expected = g_new (float, 3 * N), *memory = g_new (float, 3 * N + 16);
  g_autofree guint32 *frames = g_new (guint32, N);
  g_autoptr (GRand) random = g_rand_new_with_seed (5);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  GError *error = NULL;
  for (guint i = 0; i < N_FRAMES; i++)
    poses[i] = random_pose (random, 20);
  g_assert_cmpuint (ndt_frame_tree_add (tree, N_FRAMES, NULL, poses, NULL), ==, 0);
  /* Alone, in short runs and in long ones. */
  for (guint i = 0, end = 0; i < N; i++) {
    const gboolean begins = i == end;
    if (begins)
      end = i + (guint)g_rand_int_range (random, 1, 2 + (gint)(i / 100 % 50));
    frames[i] = begins ? (guint32)g_rand_int_range (random, 0, N_FRAMES) : frames[i - 1];
    for (guint k = 0; k < 3; k++)
      records[5 * i + 1 + k] = points[3 * i + k] = (float)g_rand_double_range (random, -80, 80);
  }
  for (guint i = 0; i < N; i += PART) {
    const NdtCloudView view = ndt_cloud_view_xyz_f32 (points + 3 * i, MIN (PART, N - i));
    g_assert_true (ndt_frame_tree_transform (tree, 1, &view, frames + i, expected + 3 * i, NULL));
  }
  const NdtCloudView packed = ndt_cloud_view_xyz_f32 (points, N);
  const NdtCloudView strided = ndt_cloud_view (records, N, 20, 4, 8, 12, NDT_SCALAR_F32);
  for (guint at = 0; at < 16; at++) {
    float *out = memory + at;
    memset (memory, 0, (3 * N + 16) * sizeof (float));
    g_assert_true (
        ndt_frame_tree_transform (tree, 1, at % 2 ? &packed : &strided, frames, out, NULL));
    g_assert_cmpmem (out, 3 * N * sizeof (float), expected, 3 * N * sizeof (float));
    for (guint i = 0; i < at; i++)
      g_assert_cmpfloat (memory[i], ==, 0);
    for (guint i = at; i < 16; i++)
      g_assert_cmpfloat (memory[3 * N + i], ==, 0);
  }
  frames[N - 1] = N_FRAMES;
  g_assert_false (ndt_frame_tree_transform (tree, 1, &packed, frames, memory, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  frames[N - 1] = frames[N - 2];
  g_assert_true (ndt_frame_tree_transform (tree, 1, &packed, frames, points, NULL));
  g_assert_cmpmem (points, (3 * N - 3) * sizeof (float), expected, (3 * N - 3) * sizeof (float));
}

/* One point a frame, in order, are done together: the same bits as one by one, and nothing but
 * theirs is written. */
static void
test_following (void)
{
  enum { N = 700 };
  static const guint sizes[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 255, 256, 257, 300, 600};
  NdtPose poses[N];
  float points[3 * N], expected[3 * N], out[3 * N + 4];
  guint32 frames[N];
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  for (guint i = 0; i < N; i++) {
    poses[i] = random_pose (random, 20);
    frames[i] = i;
    for (guint k = 0; k < 3; k++)
      points[3 * i + k] = (float)g_rand_double_range (random, -80, 80);
  }
  points[3 * 90] = NAN;
  g_assert_cmpuint (ndt_frame_tree_add (tree, N, NULL, poses, NULL), ==, 0);
  for (guint i = 0; i < N; i++) {
    const NdtCloudView one = ndt_cloud_view_xyz_f32 (points + 3 * i, 1);
    g_assert_true (ndt_frame_tree_transform (tree, 1, &one, frames + i, expected + 3 * i, NULL));
  }
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (guint first = 0; first < 4; first++) {
      const guint n = sizes[s];
      const NdtCloudView view = ndt_cloud_view_xyz_f32 (points + 3 * first, n);
      memset (out, 0, sizeof (out));
      g_assert_true (ndt_frame_tree_transform (tree, 1, &view, frames + first, out, NULL));
      g_assert_cmpmem (out, 3 * n * sizeof (float), expected + 3 * first, 3 * n * sizeof (float));
      for (guint i = 3 * n; i < 3 * n + 4; i++)
        g_assert_cmpfloat (out[i], ==, 0);
    }
  /* One that is out of order. */
  frames[300] = 20;
  const NdtCloudView all = ndt_cloud_view_xyz_f32 (points, N);
  g_assert_true (ndt_frame_tree_transform (tree, 1, &all, frames, out, NULL));
  g_assert_cmpmem (out, 3 * 300 * sizeof (float), expected, 3 * 300 * sizeof (float));
  g_assert_cmpmem (out + 3 * 301, 3 * (N - 301) * sizeof (float), expected + 3 * 301,
      3 * (N - 301) * sizeof (float));
  const NdtCloudView odd = ndt_cloud_view_xyz_f32 (points + 3 * 300, 1);
  g_assert_true (ndt_frame_tree_transform (tree, 1, &odd, frames + 300, expected, NULL));
  g_assert_cmpmem (out + 3 * 300, 3 * sizeof (float), expected, 3 * sizeof (float));
}

/* A tractor with a trailer on its coupling, both turning, and a lidar on each that fires while they
 * move: a frame for each firing, body and trailer at that instant. What both see of one still world
 * merges in the tractor's frame of one instant. */
static void
test_articulated (void)
{
  enum { N_FIRINGS = 100, TRACTOR = 0, TRAILER, FRONT, REAR, N_KINDS };
  const NdtPose coupling = {{-2, 0, 0.5}, {0, 0, 0, 1}};
  NdtPose front, rear;
  const double front_at[3] = {1.5, 0, 1.8}, rear_at[3] = {-6, 0, 2.2};
  guint32 parents[N_KINDS * N_FIRINGS], frames[2 * N_FIRINGS];
  NdtPose poses[N_KINDS * N_FIRINGS];
  float points[6 * N_FIRINGS], out[6 * N_FIRINGS];
  double world[6 * N_FIRINGS];
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  ndt_pose_from_rpy (front_at, 0, 0.1, 0, &front);
  ndt_pose_from_rpy (rear_at, 0, 0, G_PI, &rear);
  for (guint i = 0; i < N_FIRINGS; i++) {
    const double t = 0.1 * i / N_FIRINGS, twist[6] = {20 * t, 0, 0, 0, 0, 0.785 * t};
    NdtPose *p = &poses[N_KINDS * i], bend, sensors[2];
    guint32 *parent = &parents[N_KINDS * i];
    ndt_pose_exp (twist, &p[TRACTOR]);
    p[TRACTOR].position[0] += 388096;
    parent[TRACTOR] = NDT_FRAME_NONE;
    ndt_pose_from_rpy ((const double[3]){0, 0, 0}, 0, 0, 0.3 - t, &bend);
    ndt_pose_compose (&coupling, &bend, &p[TRAILER]);
    parent[TRAILER] = N_KINDS * i + TRACTOR;
    p[FRONT] = front;
    parent[FRONT] = N_KINDS * i + TRACTOR;
    p[REAR] = rear;
    parent[REAR] = N_KINDS * i + TRAILER;
    ndt_pose_compose (&p[TRACTOR], &front, &sensors[0]);
    ndt_pose_compose (&p[TRACTOR], &p[TRAILER], &sensors[1]);
    ndt_pose_compose (&sensors[1], &rear, &sensors[1]);
    for (guint s = 0; s < 2; s++) {
      const guint at = 2 * i + s;
      NdtPose inverse;
      double seen[3];
      for (guint k = 0; k < 3; k++)
        world[3 * at + k] = p[TRACTOR].position[k] + g_rand_double_range (random, -60, 60);
      ndt_pose_invert (&sensors[s], &inverse);
      ndt_pose_transform_point (&inverse, world + 3 * at, seen);
      for (guint k = 0; k < 3; k++)
        points[3 * at + k] = (float)seen[k];
      frames[at] = N_KINDS * i + (s == 0 ? FRONT : REAR);
    }
  }
  g_assert_cmpuint (ndt_frame_tree_add (tree, N_KINDS * N_FIRINGS, parents, poses, NULL), ==, 0);
  const guint32 reference = N_KINDS * (N_FIRINGS - 1) + TRACTOR;
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (points, 2 * N_FIRINGS);
  g_assert_true (ndt_frame_tree_transform (tree, reference, &view, frames, out, NULL));
  NdtPose inverse;
  ndt_pose_invert (&poses[reference], &inverse);
  for (guint i = 0; i < 2 * N_FIRINGS; i++) {
    double expected[3];
    ndt_pose_transform_point (&inverse, world + 3 * i, expected);
    for (guint k = 0; k < 3; k++)
      /* Float at 110 m steps by 8e-6; some roundings. */
      g_assert_cmpfloat (fabs (expected[k] - (double)out[3 * i + k]), <, 6e-5);
  }
}

static double
now_ms (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* 100,000 frames are propagated within 10 ms, and points are transformed at 70 % of the bandwidth
 * of a copy of as many bytes: a point in and out, the number of its frame, and each frame's matrix
 * once. The best of each, taken in turns: what else the machine does may slow some of them, and as
 * many are taken as it needs. tests/bench/bench-frames prints medians. */
static void
test_speed (gconstpointer data)
{
  const guint per_frame = GPOINTER_TO_UINT (data);
  /* Not more than some hundred megabytes. */
  const guint32 n_frames = per_frame > 1 ? 25000 : 100000;
  const gsize n = (gsize)n_frames * per_frame;
  const gsize half = (n * 28 + (gsize)n_frames * 48) / 2;
  double world = INFINITY, transform = INFINITY, copy = INFINITY;
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  g_test_skip ("times of a build for debugging mean nothing");
  return;
#endif
  if (g_getenv ("NDT_TEST_SANITIZER")) {
    g_test_skip ("times under a sanitizer mean nothing");
    return;
  }
  g_autofree NdtPose *poses = g_new (NdtPose, n_frames);
  g_autofree guint32 *parents = g_new (guint32, n_frames), *frames = g_new (guint32, n);
  g_autofree float *points = g_new (float, 3 * n), *out = g_new0 (float, 3 * n);
  g_autofree guint8 *from = g_malloc (half), *to = g_malloc0 (half);
  g_autoptr (GRand) random = g_rand_new_with_seed (6);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  for (guint32 i = 0; i < n_frames; i++) {
    parents[i] = i < 10 ? NDT_FRAME_NONE : i - (guint32)g_rand_int_range (random, 1, 10);
    poses[i] = random_pose (random, 1);
  }
  for (gsize i = 0; i < n; i++) {
    frames[i] = (guint32)(i / per_frame);
    points[3 * i] = points[3 * i + 1] = points[3 * i + 2] = (float)(i % 100);
  }
  memset (from, 1, half);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (points, n);
  const NdtCloudView none = ndt_cloud_view_xyz_f32 (points, 0);
  g_assert_cmpuint (ndt_frame_tree_add (tree, n_frames, parents, poses, NULL), ==, 0);
  /* Other programs make a run slower, never faster. */
  const double end = now_ms () + 60000;
  for (guint r = 0; r < 5 || (now_ms () < end && (world > 10 || 0.7 * transform > copy)); r++) {
    double p[3];
    g_assert_true (ndt_frame_tree_set (tree, 0, n_frames, poses, NULL));
    const double t0 = now_ms ();
    ndt_frame_tree_get_world (tree, 0, 1, p, NULL);
    const double t1 = now_ms ();
    ndt_frame_tree_transform (tree, 0, &none, frames, out, NULL);
    const double t2 = now_ms ();
    ndt_frame_tree_transform (tree, 0, &view, frames, out, NULL);
    const double t3 = now_ms ();
    memcpy (to, from, half);
    const double t4 = now_ms ();
    world = MIN (world, t1 - t0);
    transform = MIN (transform, t3 - t2);
    copy = MIN (copy, t4 - t3);
  }
  g_test_message (
      "propagation %.2f ms, transformation %.2f ms, copy %.2f ms: %.2f of its bandwidth", world,
      transform, copy, copy / transform);
  g_assert_cmpfloat (world, <=, 10);
  g_assert_cmpfloat (copy / transform, >=, 0.7);
}

/* Attached points follow their frames. */
static void
test_attached (void)
{
  enum { N = 300 };
  float points[3 * N], expected[3 * N], out[3 * N];
  guint32 frames[N];
  NdtPose poses[6];
  g_autoptr (GRand) random = g_rand_new_with_seed (4);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < 6; i++)
    poses[i] = random_pose (random, 20);
  for (guint i = 0; i < N; i++) {
    frames[i] = i / 60;
    for (guint k = 0; k < 3; k++)
      points[3 * i + k] = (float)g_rand_double_range (random, -80, 80);
  }
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (points, N);
  g_assert_false (ndt_frame_tree_attach (tree, &view, frames, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_cmpuint (ndt_frame_tree_add (tree, 5, NULL, poses, NULL), ==, 0);
  g_assert_true (ndt_frame_tree_attach (tree, &view, frames, &error));
  g_assert_false (ndt_frame_tree_get_moved (tree, 0, 1, out, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (ndt_frame_tree_move (tree, 5, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  for (guint i = 0; i < 3; i++) {
    const guint32 reference = i == 0 ? NDT_FRAME_NONE : i;
    g_assert_true (ndt_frame_tree_set (tree, 1, 1, &poses[5 - i], NULL));
    g_assert_true (ndt_frame_tree_transform (tree, reference, &view, frames, expected, NULL));
    g_assert_true (ndt_frame_tree_move (tree, reference, &error));
    g_assert_true (ndt_frame_tree_get_moved (tree, 0, N, out, &error));
    g_assert_cmpmem (out, sizeof (out), expected, sizeof (expected));
    g_assert_true (ndt_frame_tree_get_moved (tree, 100, 7, out, &error));
    g_assert_cmpmem (out, 84, expected + 300, 84);
  }
  g_assert_false (ndt_frame_tree_get_moved (tree, 100, N - 99, out, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  ndt_frame_tree_clear (tree);
  g_assert_true (ndt_frame_tree_move (tree, NDT_FRAME_NONE, NULL));
  g_assert_true (ndt_frame_tree_get_moved (tree, 0, 0, out, NULL));
}

/* ---- A device that works a number of times ---- */

typedef struct {
  NdtDeviceFrames parent;
  guint n_left;
  double *local;
} Device;

static guint n_open, n_works;

static gboolean
device_works (NdtDeviceFrames *frames, GError **error)
{
  Device *device = (Device *)frames;
  if (device->n_left-- > 0)
    return TRUE;
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_DEVICE, "broken");
  return FALSE;
}

static gboolean
device_set_tree (NdtDeviceFrames *frames, guint32 n, const guint32 *parents, const guint32 *order,
    const guint32 *level_ends, guint32 n_levels, GError **error)
{
  Device *device = (Device *)frames;
  device->local = g_renew (double, device->local, NDT_FRAME_DOUBLES *n);
  return device_works (frames, error);
}

static double *
device_map_local (NdtDeviceFrames *frames)
{
  return ((Device *)frames)->local;
}

static gboolean
device_set_local (NdtDeviceFrames *frames, guint32 first, guint32 n, GError **error)
{
  return device_works (frames, error);
}

static gboolean
device_get_world (NdtDeviceFrames *frames, guint32 first, guint32 n, double *positions,
    double *orientations, GError **error)
{
  return device_works (frames, error);
}

static gboolean
device_transform (NdtDeviceFrames *frames, guint32 reference, const NdtCloudView *points,
    const guint32 *numbers, float *out, GError **error)
{
  return device_works (frames, error);
}

static gboolean
device_attach (NdtDeviceFrames *frames, const float *points, const guint32 *numbers, gsize n_points,
    GError **error)
{
  return device_works (frames, error);
}

static gboolean
device_move (NdtDeviceFrames *frames, guint32 reference, GError **error)
{
  return device_works (frames, error);
}

static gboolean
device_get_moved (NdtDeviceFrames *frames, gsize first, gsize n_points, float *out, GError **error)
{
  return device_works (frames, error);
}

static void
device_close (NdtDeviceFrames *frames)
{
  g_free (((Device *)frames)->local);
  g_free (frames);
  n_open--;
}

static NdtDeviceFrames *
open_frames (NdtBackend *backend, GError **error)
{
  static const NdtDeviceFramesClass klass = {.close = device_close,
      .set_tree = device_set_tree,
      .map_local = device_map_local,
      .set_local = device_set_local,
      .update = device_works,
      .get_world = device_get_world,
      .transform = device_transform,
      .attach = device_attach,
      .move = device_move,
      .get_moved = device_get_moved};
  Device *device = g_new0 (Device, 1);
  device->parent.klass = &klass;
  device->n_left = n_works;
  n_open++;
  return &device->parent;
}

static void
add_line (NdtLogLevel level, const gchar *category, const gchar *message, gpointer user_data)
{
  g_string_append_printf (user_data, "%s: %s\n", category, message);
}

/* Whatever a device fails at, the CPU goes on as if there had been none. */
static void
test_device (void)
{
  enum { N = 40 };
  static const NdtBackendClass klass = {.name = "device", .open_frames = open_frames};
  g_autoptr (GString) said = g_string_new (NULL);
  const NdtLog log = {add_line, said, NDT_LOG_WARNING};
  NdtBackend backend = {&klass, &log};
  g_autoptr (GRand) random = g_rand_new_with_seed (4);
  NdtPose poses[N];
  guint32 parents[N];
  float points[3] = {1, 2, 3}, expected[3], out[3];
  const guint32 frame = N - 1;
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (points, 1);
  for (guint32 i = 0; i < N; i++) {
    parents[i] = i < 5 ? NDT_FRAME_NONE : i / 2;
    poses[i] = random_pose (random, 20);
  }
  /* The first two calls give it the tree. */
  static const struct {
    enum { UPDATE, WORLD, TRANSFORM, IN_PLACE, MOVE, GET_MOVED } what;
    guint works;
  } cases[] = {{UPDATE, 0}, {UPDATE, 1}, {UPDATE, 2}, {WORLD, 2}, {TRANSFORM, 2}, {IN_PLACE, 2},
      {MOVE, 2}, {MOVE, 3}, {GET_MOVED, 4}};
  for (guint n = 0; n < G_N_ELEMENTS (cases); n++) {
    g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
    g_autoptr (NdtFrameTree) plain = ndt_frame_tree_new ();
    g_autoptr (GError) error = NULL;
    n_works = cases[n].works;
    g_assert_cmpuint (ndt_frame_tree_add (tree, N, parents, poses, NULL), ==, 0);
    g_assert_cmpuint (ndt_frame_tree_add (plain, N, parents, poses, NULL), ==, 0);
    g_assert_true (ndt_frame_tree_transform (plain, 2, &view, &frame, expected, NULL));
    g_assert_true (ndt_frame_tree_attach (tree, &view, &frame, NULL));
    ndt_frame_tree_set_device (tree, ndt_backend_open_frames (&backend, &error));
    g_assert_no_error (error);
    g_assert_true (ndt_frame_tree_is_on_device (tree));
    g_assert_cmpuint (n_open, ==, 1);
    g_string_truncate (said, 0);
    switch (cases[n].what) {
    case UPDATE:
      ndt_frame_tree_update (tree);
      break;
    case WORLD:
      check_world (tree, parents, poses, N);
      break;
    case TRANSFORM:
      g_assert_true (ndt_frame_tree_transform (tree, 2, &view, &frame, out, NULL));
      g_assert_cmpmem (out, sizeof (out), expected, sizeof (expected));
      break;
    case IN_PLACE:
      /* What is lost is not made up. */
      g_assert_false (ndt_frame_tree_transform (tree, 2, &view, &frame, points, &error));
      g_assert_error (error, NDT_ERROR, NDT_ERROR_DEVICE);
      break;
    case MOVE:
      g_assert_true (ndt_frame_tree_move (tree, 2, NULL));
      g_assert_true (ndt_frame_tree_get_moved (tree, 0, 1, out, NULL));
      g_assert_cmpmem (out, sizeof (out), expected, sizeof (expected));
      break;
    case GET_MOVED:
      g_assert_true (ndt_frame_tree_move (tree, 2, NULL));
      g_assert_false (ndt_frame_tree_get_moved (tree, 0, 1, out, &error));
      g_assert_error (error, NDT_ERROR, NDT_ERROR_DEVICE);
      break;
    }
    g_assert_cmpstr (said->str, ==, "frames: a frame tree goes on on the CPU: broken\n");
    g_assert_false (ndt_frame_tree_is_on_device (tree));
    g_assert_cmpuint (n_open, ==, 0);
    check_world (tree, parents, poses, N);
    g_assert_true (ndt_frame_tree_move (tree, 2, NULL));
    g_assert_true (ndt_frame_tree_get_moved (tree, 0, 1, out, NULL));
    g_assert_cmpmem (out, sizeof (out), expected, sizeof (expected));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/frames/world", test_world);
  g_test_add_func ("/frames/chain", test_chain);
  g_test_add_func ("/frames/transform", test_transform);
  g_test_add_func ("/frames/errors", test_errors);
  g_test_add_func ("/frames/attached", test_attached);
  g_test_add_func ("/frames/device", test_device);
  g_test_add_func ("/frames/many", test_many);
  g_test_add_func ("/frames/following", test_following);
  g_test_add_func ("/frames/articulated", test_articulated);
  g_test_add_data_func ("/frames/speed/1", GUINT_TO_POINTER (1), test_speed);
  g_test_add_data_func ("/frames/speed/128", GUINT_TO_POINTER (128), test_speed);
  return g_test_run ();
}
