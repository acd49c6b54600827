/* SPDX-License-Identifier: MIT */
/* The frame tree: how long it takes to set poses, to propagate them and to make matrices of them,
 * and what bandwidth points are transformed at beside a copy of as many bytes in the same run.
 * Then the same on a CUDA device, where there is one, with the frames and the points there.
 * Then motion compensation of a raw scan by both. bench-frames [--json FILE] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ndtcore/motion/ndt-frames.h"
#include "ndtcore/odometry/ndt-moving-scan.h"
#ifdef HAVE_NDT_CUDA
#include <cuda_runtime_api.h>

#include "cuda/ndt-cuda.h"
#endif

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

typedef struct {
  guint32 n;
  gsize n_points;
  guint32 *parents;
  NdtPose *poses;
  float *points;
  guint32 *frames;
} Scene;

/* @n frames, each with a parent among the hundred before it, of @per_frame points. */
static Scene
scene_new (guint32 n, guint per_frame)
{
  Scene s = {.n = n, .n_points = (gsize)n * per_frame};
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  s.parents = g_new (guint32, n);
  s.poses = g_new (NdtPose, n);
  s.points = g_new (float, 3 * s.n_points);
  s.frames = g_new (guint32, s.n_points);
  for (guint32 i = 0; i < n; i++) {
    double twist[6];
    for (guint k = 0; k < 6; k++)
      twist[k] = g_rand_double_range (random, -0.1, 0.1);
    ndt_pose_exp (twist, &s.poses[i]);
    s.parents[i] =
        i == 0 ? NDT_FRAME_NONE : i - (guint32)g_rand_int_range (random, 1, MIN (i, 100) + 1);
  }
  for (gsize i = 0; i < s.n_points; i++) {
    s.frames[i] = (guint32)(i / per_frame);
    for (guint k = 0; k < 3; k++)
      s.points[3 * i + k] = (float)g_rand_double_range (random, -80, 80);
  }
  return s;
}

static void
scene_clear (Scene *s)
{
  g_free (s->parents);
  g_free (s->poses);
  g_free (s->points);
  g_free (s->frames);
}

/* One core's median. */
static void
measure (const Scene *s, guint per_frame, FILE *json)
{
  const guint32 n = s->n, *frames = s->frames, *parents = s->parents;
  const gsize n_points = s->n_points, half = count_bytes (n, n_points) / 2;
  const NdtPose *poses = s->poses;
  const float *points = s->points;
  g_autofree float *out = g_new0 (float, 3 * n_points);
  g_autofree guint8 *from = g_malloc0 (half), *to = g_malloc0 (half);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  double set_ms[RUNS], world_ms[RUNS], matrices_ms[RUNS], transform_ms[RUNS], copy_ms[RUNS], p[3];

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
  printf ("%8u %6u %9.3f %9.3f %9.3f %9.4f %9.4f %8.2f\n", n, per_frame, set, world, matrices,
      transform, copy, copy / transform);
  if (json)
    fprintf (json,
        "{\"frames\": %u, \"points_per_frame\": %u, \"set_ms\": %.4f, \"propagate_ms\": %.4f, "
        "\"matrices_ms\": %.4f, \"transform_ms\": %.4f, \"copy_ms\": %.4f}\n",
        n, per_frame, set, world, matrices, transform, copy);
}

#ifdef HAVE_NDT_CUDA
/* The device's median of the same. Poses in the world: of all frames, after the root has moved.
 * Points: attached ones, from their frames to the root, which stay on the device; with their
 * matrices, and without. The copy is from device memory to device memory. */
static void
measure_device (NdtBackend *backend, const Scene *s, guint per_frame, FILE *json)
{
  const gsize half = count_bytes (s->n, s->n_points) / 2;
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  g_autoptr (GError) error = NULL;
  g_autofree double *positions = g_new (double, 3 * (gsize)s->n);
  g_autofree double *orientations = g_new (double, 4 * (gsize)s->n);
  double set_ms[RUNS], world_ms[RUNS], get_ms[RUNS], both_ms[RUNS], move_ms[RUNS], copy_ms[RUNS];
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (s->points, s->n_points);
  void *from = NULL, *to = NULL;
  cudaStream_t stream = NULL;
  NdtDeviceFrames *device = NULL;

  ndt_frame_tree_add (tree, s->n, s->parents, s->poses, NULL);
  if (cudaMalloc (&from, half) != cudaSuccess || cudaMalloc (&to, half) != cudaSuccess ||
      cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking) != cudaSuccess ||
      cudaMemset (from, 1, half) != cudaSuccess || cudaDeviceSynchronize () != cudaSuccess ||
      !(device = ndt_backend_open_frames (backend, &error)))
    g_error ("CUDA: %s", error ? error->message : cudaGetErrorString (cudaGetLastError ()));
  ndt_frame_tree_set_device (tree, device);
  if (!ndt_frame_tree_attach (tree, &view, s->frames, &error) ||
      !ndt_frame_tree_move (tree, 0, &error))
    g_error ("CUDA: %s", error ? error->message : cudaGetErrorString (cudaGetLastError ()));
  for (guint r = 0; r < RUNS; r++) {
    const gint64 t0 = now ();
    ndt_frame_tree_set (tree, 0, s->n, s->poses, NULL);
    ndt_frame_tree_update (tree);
    const gint64 t1 = now ();
    ndt_frame_tree_set (tree, 0, 1, s->poses, NULL);
    ndt_frame_tree_update (tree);
    const gint64 t2 = now ();
    ndt_frame_tree_get_world (tree, 0, s->n, positions, orientations);
    const gint64 t3 = now ();
    ndt_frame_tree_move (tree, 0, NULL);
    const gint64 t4 = now ();
    ndt_frame_tree_move (tree, 0, NULL);
    const gint64 t5 = now ();
    cudaMemcpyAsync (to, from, half, cudaMemcpyDeviceToDevice, stream);
    cudaStreamSynchronize (stream);
    const gint64 t6 = now ();
    set_ms[r] = 1e-6 * (double)(t1 - t0);
    world_ms[r] = 1e-6 * (double)(t2 - t1);
    get_ms[r] = 1e-6 * (double)(t3 - t2);
    both_ms[r] = 1e-6 * (double)(t4 - t3);
    move_ms[r] = 1e-6 * (double)(t5 - t4);
    copy_ms[r] = 1e-6 * (double)(t6 - t5);
  }
  cudaFree (from);
  cudaFree (to);
  cudaStreamDestroy (stream);
  if (!ndt_frame_tree_is_on_device (tree))
    g_error ("The device did not do it");
  const double set = median (set_ms), world = median (world_ms), get = median (get_ms);
  const double both = median (both_ms), move = median (move_ms), copy = median (copy_ms);
  printf ("%8u %6u %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %8.2f\n", s->n, per_frame, set, world, get,
      both, move, copy, copy / move);
  if (json)
    fprintf (json,
        "{\"device\": \"cuda\", \"frames\": %u, \"points_per_frame\": %u, \"set_ms\": %.4f, "
        "\"propagate_ms\": %.4f, \"get_world_ms\": %.4f, \"matrices_and_move_ms\": %.4f, "
        "\"move_ms\": %.4f, \"copy_ms\": %.4f}\n",
        s->n, per_frame, set, world, get, both, move, copy);
}
#endif

/* A raw scan of 130,000 points, records of 24 bytes with times in memory that the backend likes, to
 * its thinned points where the backend has them: as it is, and moved. */
static void
measure_motion (NdtBackend *backend, FILE *json)
{
  enum { N = 130000, STRIDE = 24 };
  const NdtScanFilter filter = {1, 100, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f};
  const NdtScanMotion motion = {0.05, {20, 0, 0, 0, 0, 0.785}, {0}};
  g_autoptr (NdtMovingScan) scan = ndt_moving_scan_new ();
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  guint8 *locked = ndt_backend_alloc_host (backend, N * STRIDE);
  guint8 *data = locked ? locked : g_malloc (N * STRIDE);
  double plain_ms[RUNS], moved_ms[RUNS];
  NdtTimeSpan span;
  guint n_plain = 0, n_moved = 0;
  for (guint i = 0; i < N; i++) {
    /* 64 rings of a sensor 1.8 m over the ground, in a square of walls. */
    const double azimuth = 2 * G_PI * (i / 64) / (N / 64), elevation = 0.44 * (i % 64) / 63 - 0.4;
    const double wall = 30 / MAX (fabs (cos (azimuth)), fabs (sin (azimuth)));
    const double flat = elevation < 0 ? MIN (wall, -1.8 / tan (elevation)) : wall;
    const double range = flat + g_rand_double_range (random, -0.03, 0.03);
    const float p[4] = {(float)(range * cos (azimuth)), (float)(range * sin (azimuth)),
        (float)(range * tan (elevation)), (float)(0.1 * i / N)};
    memcpy (data + STRIDE * (gsize)i, p, sizeof (p));
  }
  const NdtCloudView points = ndt_cloud_view (data, N, STRIDE, 0, 4, 8, NDT_SCALAR_F32);
  const NdtTimeView times = {data + 12, STRIDE, NDT_TIME_F32};
  for (guint r = 0; r < RUNS; r++) {
    const gint64 t0 = now ();
    gboolean ok = ndt_backend_set_scan (backend, 0, &points, &filter, NULL) &&
                  ndt_backend_get_scan (backend, 0, NULL, 0, &n_plain, NULL);
    const gint64 t1 = now ();
    ok = ok && ndt_moving_scan_set (scan, backend, 0, &points, &times, &span, NULL) &&
         ndt_moving_scan_move (scan, &motion, &filter, NULL) &&
         ndt_backend_get_scan (backend, 0, NULL, 0, &n_moved, NULL);
    const gint64 t2 = now ();
    if (!ok)
      g_error ("%s: no scan", ndt_backend_get_name (backend));
    plain_ms[r] = 1e-6 * (double)(t1 - t0);
    moved_ms[r] = 1e-6 * (double)(t2 - t1);
  }
  const double plain = median (plain_ms), moved = median (moved_ms);
  printf (
      "%8s %9u %9u %9.3f %9.3f\n", ndt_backend_get_name (backend), n_plain, n_moved, plain, moved);
  if (json)
    fprintf (json, "{\"backend\": \"%s\", \"plain_ms\": %.4f, \"moved_ms\": %.4f}\n",
        ndt_backend_get_name (backend), plain, moved);
  if (locked)
    backend->klass->free_host (locked, N * STRIDE);
  else
    g_free (data);
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
  for (guint i = 0; i < 2 * G_N_ELEMENTS (frames); i++) {
    Scene s = scene_new (frames[i / 2], i % 2 ? 128 : 1);
    measure (&s, i % 2 ? 128 : 1, json);
    scene_clear (&s);
  }
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtBackend) cpu = ndt_backend_open_cpu (&config, &error);
#ifdef HAVE_NDT_CUDA
  g_autoptr (NdtBackend) cuda = ndt_cuda_backend_open (&config, &error);
  if (cuda)
    printf ("\non the CUDA device:\n"
            "  frames points    set ms  world ms    get ms  mat+move   move ms   copy ms "
            "copy/move\n");
  else
    printf ("%s\n", error->message);
  for (guint i = 0; cuda && i < 2 * G_N_ELEMENTS (frames); i++) {
    Scene s = scene_new (frames[i / 2], i % 2 ? 128 : 1);
    measure_device (cuda, &s, i % 2 ? 128 : 1, json);
    scene_clear (&s);
  }
#endif
  printf ("\na raw scan of 130,000 points:\n"
          " backend thinned to, and moved  plain ms  moved ms\n");
  measure_motion (cpu, json);
#ifdef HAVE_NDT_CUDA
  if (cuda)
    measure_motion (cuda, json);
#endif
  if (json)
    fclose (json);
  return 0;
}
