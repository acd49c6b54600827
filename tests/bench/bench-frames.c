/* SPDX-License-Identifier: MIT */
/* The frame tree: how long propagation takes, and what bandwidth points are transformed at, beside
 * a copy of the same bytes in the same run. bench-frames [--json FILE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndtcore/ndt-frames.h"

#define RUNS 21

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

/* One core's median over trees of @n frames, each with a parent among the hundred before it. */
static void
measure (guint32 n, guint per_frame, FILE *json)
{
  const gsize n_points = (gsize)n * per_frame;
  g_autofree guint32 *parents = g_new (guint32, n);
  g_autofree NdtPose *poses = g_new (NdtPose, n);
  g_autofree float *points = g_new (float, 3 * n_points);
  g_autofree float *out = g_new0 (float, 3 * n_points);
  g_autofree guint32 *frames = g_new (guint32, n_points);
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  double set_ms[RUNS], world_ms[RUNS], transform_ms[RUNS], copy_ms[RUNS], p[3];

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
  for (guint r = 0; r < RUNS; r++) {
    const gint64 t0 = g_get_monotonic_time ();
    ndt_frame_tree_set (tree, 0, n, poses, NULL);
    const gint64 t1 = g_get_monotonic_time ();
    ndt_frame_tree_get_world (tree, n - 1, 1, p, NULL);
    const gint64 t2 = g_get_monotonic_time ();
    ndt_frame_tree_transform (tree, 0, &view, frames, out, NULL);
    const gint64 t3 = g_get_monotonic_time ();
    memcpy (out, points, 3 * n_points * sizeof (float));
    const gint64 t4 = g_get_monotonic_time ();
    set_ms[r] = (double)(t1 - t0) / 1e3;
    world_ms[r] = (double)(t2 - t1) / 1e3;
    transform_ms[r] = (double)(t3 - t2) / 1e3;
    copy_ms[r] = (double)(t4 - t3) / 1e3;
  }
  const double set = median (set_ms), world = median (world_ms);
  const double transform = median (transform_ms), copy = median (copy_ms);
  printf ("%8u %6u %9.3f %9.3f %9.3f %9.3f %8.2f\n", n, per_frame, set, world, transform, copy,
      copy / transform);
  if (json)
    fprintf (json,
        "{\"frames\": %u, \"points_per_frame\": %u, \"set_ms\": %.4f, \"propagate_ms\": %.4f, "
        "\"transform_ms\": %.4f, \"copy_ms\": %.4f}\n",
        n, per_frame, set, world, transform, copy);
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
  printf ("  frames points    set ms  world ms  trans ms   copy ms   copy/trans\n");
  for (guint i = 0; i < G_N_ELEMENTS (frames); i++) {
    measure (frames[i], 1, json);
    measure (frames[i], 128, json);
  }
  if (json)
    fclose (json);
  return 0;
}
