/* SPDX-License-Identifier: MIT */
#include "ndtcore/ndt-frames.h"

#include <math.h>
#include <string.h>

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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/frames/world", test_world);
  g_test_add_func ("/frames/chain", test_chain);
  g_test_add_func ("/frames/transform", test_transform);
  g_test_add_func ("/frames/errors", test_errors);
  return g_test_run ();
}
