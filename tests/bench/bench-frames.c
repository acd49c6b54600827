/* SPDX-License-Identifier: MIT */
/* The frame tree: how long it takes to set poses, to propagate them and to make matrices of them,
 * and what bandwidth points are transformed at beside a copy of as many bytes in the same run.
 * bench-frames [--json FILE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ndtcore/ndt-frames.h"

#define RUNS 21

static gint64
now (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double
median (double *ms)
{
  qsort (ms, RUNS, sizeof (double), compare);
  return ms[RUNS / 2];
}

/* What is read and written: a point in and out, the number of its frame, and the frame's matrix
 * once. A copy reads half of that and writes the other half. */
static gsize
count_bytes (guint32 n_frames, gsize n_points)
{
  return n_points * (12 + 12 + 4) + n_frames * (gsize)48;
}

/* One core's median over trees of @n frames, each with a parent among the hundred before it. */
static void
measure (guint32 n, guint per_frame, FILE *json)
{
  const gsize n_points = (gsize)n * per_frame;
  g_autofree guint32 *parents = g_new (guint32, n);
  g_autofree NdtPose *poses = g_new (NdtPose, n);
  const gsize half = count_bytes (n, n_points) / 2;
  g_autofree float *points = g_new (float, 3 * n_points);
  g_autofree float *out = g_new0 (float, 3 * n_points);
  g_autofree guint8 *from = g_malloc0 (half), *to = g_malloc0 (half);
  g_autofree guint32 *frames = g_new (guint32, n_points);
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  double set_ms[RUNS], world_ms[RUNS], matrices_ms[RUNS], transform_ms[RUNS], copy_ms[RUNS], p[3];

  for (guint32 i = 0; i < n; i++) {
    double twist[6];
    for (guint k = 0; k < 6; k++)
      twist[k] = g_rand_double_range (random, -0.1, 0.1);
    ndt_pose_exp (twist, &poses[i]);
    parents[i] =
        i == 0 ? NDT_FRAME_NONE : i - (guint32)g_rand_int_range (random, 1, MIN (i, 100) + 1);
  }
  for (gsize i = 0; i < n_points; i++) {
    frames[i] = (guint32)(i / per_frame);
    for (guint k = 0; k < 3; k++)
      points[3 * i + k] = (float)g_rand_double_range (random, -80, 80);
  }
  ndt_frame_tree_add (tree, n, parents, poses, NULL);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (points, n_points);
  const NdtCloudView none = ndt_cloud_view_xyz_f32 (points, 0);
  memset (from, 1, half);
  for (guint r = 0; r < RUNS; r++) {
    const gint64 t0 = now ();
    ndt_frame_tree_set (tree, 0, n, poses, NULL);
    const gint64 t1 = now ();
    ndt_frame_tree_get_world (tree, n - 1, 1, p, NULL);
    const gint64 t2 = now ();
    ndt_frame_tree_transform (tree, 0, &none, frames, out, NULL);
    const gint64 t3 = now ();
    ndt_frame_tree_transform (tree, 0, &view, frames, out, NULL);
    const gint64 t4 = now ();
    memcpy (to, from, half);
    const gint64 t5 = now ();
    set_ms[r] = 1e-6 * (double)(t1 - t0);
    world_ms[r] = 1e-6 * (double)(t2 - t1);
    matrices_ms[r] = 1e-6 * (double)(t3 - t2);
    transform_ms[r] = 1e-6 * (double)(t4 - t3);
    copy_ms[r] = 1e-6 * (double)(t5 - t4);
  }
  const double set = median (set_ms), world = median (world_ms), matrices = median (matrices_ms);
  const double transform = median (transform_ms), copy = median (copy_ms);
  printf ("%8u %6u %9.3f %9.3f %9.3f %9.3f %9.3f %8.2f\n", n, per_frame, set, world, matrices,
      transform, copy, copy / transform);
  if (json)
    fprintf (json,
        "{\"frames\": %u, \"points_per_frame\": %u, \"set_ms\": %.4f, \"propagate_ms\": %.4f, "
        "\"matrices_ms\": %.4f, \"transform_ms\": %.4f, \"copy_ms\": %.4f}\n",
        n, per_frame, set, world, matrices, transform, copy);
}

int
main (int argc, char **argv)
{
  static const guint32 frames[] = {10000, 25000, 50000, 100000};
  FILE *json = argc == 3 && g_str_equal (argv[1], "--json") ? fopen (argv[2], "w") : NULL;
  if (argc != 1 && !json) {
    fprintf (stderr, "usage: bench-frames [--json FILE]\n");
    return 2;
  }
  printf ("  frames points    set ms  world ms matrix ms  trans ms   copy ms copy/trans\n");
  for (guint i = 0; i < G_N_ELEMENTS (frames); i++) {
    measure (frames[i], 1, json);
    measure (frames[i], 128, json);
  }
  if (json)
    fclose (json);
  return 0;
}
