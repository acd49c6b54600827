/* SPDX-License-Identifier: MIT */
/* Raw scans on the CPU: a full KITTI scan thinned and aligned beside PCL's VoxelGrid of the same
 * scan and leaf, in one process and in turn; and small scans in several streams, as one process and
 * as processes of one thread each.
 *
 *   bench-raw [--quick] [--raw|--streams] [--kernels] [--rounds N] [--json FILE]
 *
 * Pinned: the program with n threads runs on n processors, PCL's on the first of them. Times of one
 * thread are its processor time, as a longer run is interrupted more often, which would favour the
 * faster program; others are wall time. Without PCL its row is missing. A row of streams has the
 * time of a scan, all streams together: a round's time by its scans. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench-data.h"
#include "ndtcore/align/ndt-scan.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/map/ndt-map-rays.h"
#include "ndtcore/odometry/ndt-scan-velocity.h"
#include "ndtcore/posefile/ndt-trajectory.h"
#include "tests/ndt-test.h"
#ifdef HAVE_PCL
#include "pcl-ndt.h"
#endif

#define LEAF 0.5f
#define DEFAULT_RESOLUTION 2.0 /* NDT_VOXEL_MAP_PARAMS_DEFAULT */
#define N_SCANS 1
#define FIRST_SCAN 60
#define SCANS_A_ROUND 50 /* of a stream */

static GString *json;
static guint n_processors;
static guint processors[CPU_SETSIZE];

/* ---- Rows ---- */

static gint
compare (gconstpointer a, gconstpointer b)
{
  const gdouble d = *(const gdouble *)a - *(const gdouble *)b;
  return (d > 0) - (d < 0);
}

/* Sorts @ms. */
static void
print_row (const gchar *name, const gchar *program, guint threads, GArray *ms)
{
  g_array_sort (ms, compare);
  const gdouble *sorted = (const gdouble *)(gpointer)ms->data;
  const gdouble median = sorted[ms->len / 2], p95 = sorted[(ms->len - 1) * 95 / 100],
                p99 = sorted[(ms->len - 1) * 99 / 100];
  g_print ("%-36s %-34s %7u %9.4f %9.4f %9.4f\n", name, program, threads, median, p95, p99);
  g_string_append_printf (json,
      "%s\n  {\"case\": \"%s\", \"program\": \"%s\", \"threads\": %u, \"median_ms\": %.4f, "
      "\"p95_ms\": %.4f, \"p99_ms\": %.4f}",
      json->len > 1 ? "," : "", name, program, threads, median, p95, p99);
}

#ifdef HAVE_PCL
/* The median and percentiles of the ratio of a round's times: a processor's clock changes within
 * seconds, by more than the programs differ, and less from one program of a round to the next. On
 * the screen only: a row of the file has milliseconds. */
static void
print_ratio (const gchar *name, const GArray *ms, const GArray *pcl)
{
  g_autoptr (GArray) ratios = g_array_new (FALSE, FALSE, sizeof (gdouble));
  for (guint i = 0; i < ms->len; i++) {
    const gdouble ratio = g_array_index (ms, gdouble, i) / g_array_index (pcl, gdouble, i);
    g_array_append_val (ratios, ratio);
  }
  g_array_sort (ratios, compare);
  const gdouble *sorted = (const gdouble *)(gpointer)ratios->data;
  g_print ("%-36s %-34s %7u %9.3f %9.3f %9.3f\n", name, "gst-ndt, x PCL's of the round", 1,
      sorted[ratios->len / 2], sorted[(ratios->len - 1) * 95 / 100],
      sorted[(ratios->len - 1) * 99 / 100]);
}
#endif

/* Of the clock that is right for @n_threads. */
static gdouble
now_ms (guint n_threads)
{
  struct timespec t;
  clock_gettime (n_threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (gdouble)t.tv_sec * 1e3 + (gdouble)t.tv_nsec * 1e-6;
}

static GArray *
times_new (void)
{
  return g_array_new (FALSE, FALSE, sizeof (gdouble));
}

static void
list_processors (void)
{
  cpu_set_t set;
  if (sched_getaffinity (0, sizeof set, &set) != 0)
    g_error ("sched_getaffinity failed");
  for (guint i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET (i, &set))
      processors[n_processors++] = i;
}

/* Of this thread, and those that it creates. */
static void
pin (guint first, guint n)
{
  cpu_set_t set;
  CPU_ZERO (&set);
  for (guint i = 0; i < n; i++)
    CPU_SET (processors[(first + i) % n_processors], &set);
  if (sched_setaffinity (0, sizeof set, &set) != 0)
    g_error ("sched_setaffinity failed");
}

static NdtBackend *
open_backend (guint n_threads, const BenchCloud *map_points, double resolution)
{
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (map_points->xyz, map_points->n);
  g_autoptr (GError) error = NULL;
  config.n_threads = n_threads;
  params.resolution = resolution;
  NdtBackend *backend = ndt_backend_open_cpu (&config, &error);
  if (!backend || !ndt_backend_set_map_from_points (backend, &params, &points, NULL, &error))
    g_error ("%s", error->message);
  return backend;
}

static void
set_scan (NdtBackend *backend, const NdtCloudView *points, gfloat leaf)
{
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  g_autoptr (GError) error = NULL;
  filter.leaf_size = leaf;
  if (!ndt_backend_set_scan (backend, 0, points, &filter, &error))
    g_error ("%s", error->message);
}

static NdtAlignResult
align (NdtBackend *backend, const NdtPose *guess)
{
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  const NdtStart start = {.guess = *guess};
  NdtAlignResult result;
  g_autoptr (GError) error = NULL;
  if (!ndt_backend_align (backend, 0, &params, &start, 1, &result, &error))
    g_error ("%s", error->message);
  return result;
}

/* ---- A raw scan ---- */

typedef struct {
  BenchCloud map;
  NdtPcdFile *files[N_SCANS];
  NdtCloudView scans[N_SCANS];
  NdtCloudView copies[N_SCANS];
  NdtPose guesses[N_SCANS]; /* where the scans before would expect it */
  NdtPose truths[N_SCANS];
} Raw;

static gboolean
load_raw (Raw *raw)
{
  g_autofree gchar *folder = ndt_test_data ("seq_kitti_drive0005");
  if (!folder)
    return FALSE;
  g_autofree gchar *map_path = g_build_filename (folder, "map_even_0.25.pcd", NULL);
  g_autofree gchar *poses_path = g_build_filename (folder, "poses_derived_tum.txt", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtPcdFile) map = ndt_pcd_file_open (map_path, &error);
  NdtCloudView view;
  if (!map)
    g_error ("%s", error->message);
  g_autoptr (NdtTrajectory) poses = ndt_trajectory_load (poses_path, NDT_TRAJECTORY_TUM, &error);
  if (!poses || !ndt_pcd_file_get_points (map, &view, &error))
    g_error ("%s", error->message);
  raw->map.n = view.n_points;
  raw->map.xyz = g_new (float, 3 * view.n_points);
  for (gsize i = 0; i < view.n_points; i++) {
    double p[3];
    ndt_cloud_view_get (&view, i, p);
    for (guint k = 0; k < 3; k++)
      raw->map.xyz[3 * i + k] = (float)p[k];
  }
  for (guint i = 0; i < N_SCANS; i++) {
    const guint at = FIRST_SCAN + i;
    g_autofree gchar *name = g_strdup_printf ("raw_full/%010u.pcd", at);
    g_autofree gchar *path = g_build_filename (folder, name, NULL);
    NdtPose step;
    raw->files[i] = ndt_pcd_file_open (path, &error);
    if (!raw->files[i] || !ndt_pcd_file_get_points (raw->files[i], &raw->scans[i], &error))
      g_error ("%s", error->message);
    raw->copies[i] = raw->scans[i];
    raw->copies[i].x = g_memdup2 (raw->scans[i].x, raw->scans[i].n_points * raw->scans[i].stride);
    raw->copies[i].y = raw->copies[i].x + (raw->scans[i].y - raw->scans[i].x);
    raw->copies[i].z = raw->copies[i].x + (raw->scans[i].z - raw->scans[i].x);
    raw->truths[i] = *ndt_trajectory_get_pose (poses, at);
    ndt_pose_between (
        ndt_trajectory_get_pose (poses, at - 2), ndt_trajectory_get_pose (poses, at - 1), &step);
    ndt_pose_compose (ndt_trajectory_get_pose (poses, at - 1), &step, &raw->guesses[i]);
  }
  return TRUE;
}

static void
check_pose (const Raw *raw, guint i, const NdtAlignResult *result)
{
  double square = 0;
  for (guint k = 0; k < 3; k++) {
    const double d = result->pose.position[k] - raw->truths[i].position[k];
    square += d * d;
  }
  if (!(square < 0.1 * 0.1))
    g_error ("scan %u is %.3f m from its pose", FIRST_SCAN + i, sqrt (square));
}

/* Thinning without the order along the Z curve, which PCL's VoxelGrid does not have either. @scans:
 * copies, so that these points are as cold as PCL's are. */
static void
time_thinning (NdtWorkers *workers, NdtThinner *thinner, const NdtCloudView *scans, guint n_threads,
    GArray *ms)
{
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  filter.leaf_size = LEAF;
  for (guint i = 0; i < N_SCANS; i++) {
    guint n;
    guint64 allocations = 0;
    const gdouble start = now_ms (n_threads);
    ndt_workers_enter (workers);
    if (!ndt_thinner_run (thinner, &scans[i], &filter, &n, &allocations))
      g_error ("no memory");
    ndt_workers_leave (workers);
    const gdouble time = now_ms (n_threads) - start;
    g_array_append_val (ms, time);
  }
}

/* @program: of the rows; @resolution: of the map; @with_pcl: PCL's alternates with it. */
static void
run_raw (const Raw *raw, const gchar *program, double resolution, guint n_threads, guint n_rounds,
    gboolean with_pcl)
{
  g_autoptr (GArray) thinned = times_new (), ordered = times_new (), posed = times_new ();
  const gboolean has_defaults = resolution == DEFAULT_RESOLUTION;
  const gchar *name = has_defaults ? "KITTI raw scan to pose" : "KITTI raw scan aligned, 1 m cells";
  pin (0, n_threads);
  g_autoptr (NdtWorkers) workers = ndt_workers_new (n_threads);
  g_autoptr (NdtThinner) thinner = ndt_thinner_new (workers);
  /* Two instances in turn would each count as a stream and leave the other half of the threads. */
  for (guint round = 0; round < n_rounds + 3 && n_threads > 1; round++)
    time_thinning (workers, thinner, raw->copies, n_threads, thinned);
  NdtBackend *backend = open_backend (n_threads, &raw->map, resolution);
#ifdef HAVE_PCL
  g_autoptr (GArray) pcl = times_new ();
  PclThin *grids[N_SCANS];
  for (guint i = 0; i < N_SCANS; i++) {
    g_autofree float *xyz = g_new (float, 3 * raw->scans[i].n_points);
    for (gsize k = 0; k < raw->scans[i].n_points; k++)
      memcpy (xyz + 3 * k, raw->scans[i].x + k * raw->scans[i].stride, 3 * sizeof (float));
    grids[i] = pcl_thin_new (xyz, raw->scans[i].n_points, LEAF);
  }
#endif
  for (guint round = 0; round < n_rounds + 3; round++) {
    if (n_threads == 1)
      time_thinning (workers, thinner, raw->copies, n_threads, thinned);
    for (guint i = 0; i < N_SCANS; i++) {
      const gdouble start = now_ms (n_threads);
      set_scan (backend, &raw->scans[i], LEAF);
      const gdouble set = now_ms (n_threads) - start;
      const NdtAlignResult result = align (backend, &raw->guesses[i]);
      const gdouble all = now_ms (n_threads) - start;
      check_pose (raw, i, &result);
      if (round >= 3) { /* all is allocated */
        g_array_append_val (ordered, set);
        g_array_append_val (posed, all);
      }
#ifdef HAVE_PCL
      if (!with_pcl)
        continue;
      const gdouble before = now_ms (1);
      pcl_thin_run (grids[i]);
      const gdouble grid = now_ms (1) - before;
      if (round >= 3)
        g_array_append_val (pcl, grid);
#endif
    }
  }
#ifdef HAVE_PCL
  for (guint i = 0; i < N_SCANS; i++)
    pcl_thin_free (grids[i]);
  if (with_pcl)
    print_ratio (name, posed, pcl);
  if (with_pcl && has_defaults) {
    g_autofree gchar *version = g_strdup_printf ("PCL %s VoxelGrid", pcl_ndt_version ());
    print_row ("KITTI raw scan, leaf 0.5", version, 1, pcl);
  }
#endif
  if (has_defaults) {
    g_array_remove_range (thinned, 0, 3 * N_SCANS);
    print_row ("KITTI raw scan thinned", program, n_threads, thinned);
    print_row ("KITTI raw scan thinned, ordered", program, n_threads, ordered);
  }
  print_row (name, program, n_threads, posed);
  ndt_backend_close (backend);
}

/* As the first scan of a drive with motion compensation: pose and velocity from the scan alone. Its
 * points have the times of a turn of the sensor. */
static void
run_first (const Raw *raw, guint n_rounds)
{
  const gsize n = raw->scans[0].n_points;
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  const NdtPose mount = NDT_POSE_IDENTITY;
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  g_autofree float *seconds = g_new (float, n);
  const NdtTimeView times = {(const guint8 *)seconds, sizeof *seconds, NDT_TIME_F32};
  g_autoptr (GArray) ms = times_new ();
  g_autoptr (NdtMovingScan) moving = ndt_moving_scan_new ();
  g_autoptr (GError) error = NULL;
  filter.leaf_size = LEAF;
  for (gsize i = 0; i < n; i++) {
    double p[3];
    ndt_cloud_view_get (&raw->scans[0], i, p);
    seconds[i] = (float)(0.05 - 0.1 * atan2 (p[1], p[0]) / (2 * G_PI));
  }
  pin (0, 1);
  g_autoptr (NdtBackend) backend = open_backend (1, &raw->map, DEFAULT_RESOLUTION);
  for (guint round = 0; round < n_rounds + 3; round++) {
    NdtPose sensor = raw->truths[0];
    NdtTimeSpan span;
    NdtCourse course;
    guint64 n_evaluated = 0;
    const gdouble start = now_ms (1);
    if (!ndt_moving_scan_set (moving, backend, 0, &raw->scans[0], &times, &span, &error))
      g_error ("%s", error->message);
    ndt_course_init (&course, &span, 0, 0);
    if (!ndt_scan_velocity (
            moving, backend, &params, &filter, &mount, 0, &n_evaluated, &course, &sensor, &error))
      g_error ("%s", error->message);
    const gdouble all = now_ms (1) - start;
    if (!course.has_velocity)
      g_error ("no velocity was found");
    if (round >= 3)
      g_array_append_val (ms, all);
  }
  print_row ("KITTI raw scan, velocity from it", "gst-ndt", 1, ms);
}

/* Span and mean of the times of a scan's points, which an element reads of each scan. The records
 * of 24 bytes take turns, 124 MB of them, so that they are in no cache. */
static void
run_span (guint n_threads, guint n_rounds)
{
  enum { N = 129000, STEP = 24, N_TURNS = 40 };
  g_autofree guint8 *records = g_malloc0 ((gsize)N * STEP * N_TURNS);
  g_autoptr (GArray) ms = times_new ();
  pin (0, n_threads);
  g_autoptr (NdtWorkers) workers = ndt_workers_new (n_threads);
  for (gsize i = 0; i < (gsize)N * N_TURNS; i++) {
    const float time = 1e-6f * (float)(i % N);
    memcpy (records + i * STEP + 16, &time, sizeof time);
  }
  for (guint round = 0; round < n_rounds + 3; round++) {
    const guint8 *turn = records + (gsize)(round % N_TURNS) * N * STEP;
    const NdtCloudView points = ndt_cloud_view (turn, N, STEP, 0, 4, 8, NDT_SCALAR_F32);
    const NdtTimeView times = {turn + 16, STEP, NDT_TIME_F32};
    const gdouble start = now_ms (n_threads);
    const NdtTimeSpan span = ndt_time_span (&points, &times, n_threads > 1 ? workers : NULL);
    const gdouble all = now_ms (n_threads) - start;
    if (span.n_points != N)
      g_error ("times are missing");
    if (round >= 3)
      g_array_append_val (ms, all);
  }
  print_row ("times of 129,000 points of 24 bytes", "gst-ndt", n_threads, ms);
}

/* Rays of scans through a map, by which the confidence of their poses is judged. The scans' points
 * are in no cache where they are many. */
static void
run_rays (const gchar *name, const BenchCloud *map_points, double resolution,
    const NdtCloudView *scans, const NdtPose *poses, guint n, guint n_rounds)
{
  g_autoptr (GArray) ms = times_new ();
  pin (0, 1);
  g_autoptr (NdtBackend) backend = open_backend (1, map_points, resolution);
  g_autoptr (NdtVoxelMap) map = ndt_backend_ref_map (backend);
  g_autofree gchar *row = g_strdup_printf ("rays of %s, %g m cells", name, resolution);
  for (guint round = 0; round < n_rounds + 3; round++)
    for (guint i = 0; i < n; i++) {
      NdtMapRays rays;
      const gdouble start = now_ms (1);
      ndt_map_rays (map, &scans[i], &poses[i], 0, 0, &rays);
      const gdouble all = now_ms (1) - start;
      if (rays.n == 0)
        g_error ("no ray was followed");
      if (round >= 3)
        g_array_append_val (ms, all);
    }
  print_row (row, "gst-ndt", 1, ms);
}

static void
run_town_rays (const BenchCase *c, double resolution, guint n_rounds)
{
  g_autofree NdtCloudView *scans = g_new (NdtCloudView, c->n_starts);
  g_autofree NdtPose *poses = g_new (NdtPose, c->n_starts);
  g_autofree gchar *name = g_strdup_printf ("%" G_GSIZE_FORMAT "-point scans", c->scans[0].n);
  for (guint i = 0; i < c->n_starts; i++) {
    const BenchCloud *scan = &c->scans[c->starts[i].scan];
    scans[i] = ndt_cloud_view_xyz_f32 (scan->xyz, scan->n);
    poses[i] = c->starts[i].truth;
  }
  run_rays (name, &c->map, resolution, scans, poses, c->n_starts, n_rounds);
}

/* ---- Streams ---- */

typedef struct {
  const BenchCase *c;
  guint n_threads; /* 0: one per processor */
  guint n_rounds;
  gdouble *ms;   /* of each round, a scan */
  gint *arrived; /* atomic: shared by the streams; counts rounds begun by all of them */
  guint n_streams;
} Stream;

/* Waits until all streams are here. */
static void
meet (Stream *s, guint round)
{
  g_atomic_int_inc (s->arrived);
  while ((guint)g_atomic_int_get (s->arrived) < (round + 1) * s->n_streams)
    g_usleep (20);
}

static gpointer
run_stream (gpointer data)
{
  Stream *s = data;
  const BenchCloud *scan = &s->c->scans[0];
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (scan->xyz, scan->n);
  NdtBackend *backend = open_backend (s->n_threads, &s->c->map, s->c->resolution);
  for (guint round = 0; round < s->n_rounds + 1; round++) {
    meet (s, round);
    const gdouble start = now_ms (2);
    for (guint i = 0; i < SCANS_A_ROUND; i++) {
      set_scan (backend, &points, 0);
      align (backend, &s->c->starts[i % s->c->n_starts].guess);
    }
    if (round > 0)
      s->ms[round - 1] = (now_ms (2) - start) / SCANS_A_ROUND;
  }
  ndt_backend_close (backend);
  return NULL;
}

/* Time of a scan, all streams together: the slowest stream's. */
static void
print_streams (guint n_streams, guint threads, const gchar *what, Stream *streams)
{
  g_autofree gchar *name = g_strdup_printf (
      "%" G_GSIZE_FORMAT "-point scans, %u streams", streams[0].c->scans[0].n, n_streams);
  g_autoptr (GArray) ms = times_new ();
  for (guint r = 0; r < streams[0].n_rounds; r++) {
    gdouble slowest = 0;
    for (guint i = 0; i < n_streams; i++)
      slowest = MAX (slowest, streams[i].ms[r]);
    slowest /= n_streams;
    g_array_append_val (ms, slowest);
  }
  print_row (name, what, threads, ms);
}

static void
run_streams (const BenchCase *c, guint n_streams, guint n_rounds, gboolean as_processes)
{
  const gsize size = sizeof (gint) * 16 + sizeof (gdouble) * n_streams * n_rounds;
  guint8 *shared = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_autofree Stream *streams = g_new0 (Stream, n_streams);
  if (shared == MAP_FAILED)
    g_error ("mmap failed");
  pin (0, n_processors);
  for (guint i = 0; i < n_streams; i++)
    streams[i] = (Stream){.c = c,
        .n_threads = as_processes ? 1 : 0,
        .n_rounds = n_rounds,
        .ms = (gdouble *)(gpointer)(shared + sizeof (gint) * 16) + (gsize)i * n_rounds,
        .arrived = (gint *)(gpointer)shared,
        .n_streams = n_streams};
  if (as_processes) {
    g_autofree pid_t *pids = g_new (pid_t, n_streams);
    for (guint i = 0; i < n_streams; i++) {
      pids[i] = fork ();
      if (pids[i] == 0) {
        pin (i, 1);
        run_stream (&streams[i]);
        _exit (0);
      }
    }
    for (guint i = 0; i < n_streams; i++) {
      int status;
      if (waitpid (pids[i], &status, 0) < 0 || status != 0)
        g_error ("a process failed");
    }
  } else {
    g_autofree GThread **threads = g_new (GThread *, n_streams);
    for (guint i = 0; i < n_streams; i++)
      threads[i] = g_thread_new ("stream", run_stream, &streams[i]);
    for (guint i = 0; i < n_streams; i++)
      g_thread_join (threads[i]);
  }
  print_streams (n_streams, as_processes ? 1 : n_processors,
      as_processes ? "gst-ndt, processes of one thread" : "gst-ndt, one process", streams);
  munmap (shared, size);
}

/* 1, 2, 4 … and all processors; 0 after them. */
static guint
next_count (guint n)
{
  return n < n_processors ? MIN (2 * n, n_processors) : 0;
}

int
main (int argc, char **argv)
{
  gboolean quick = FALSE, kernels = FALSE, raw_only = FALSE, streams_only = FALSE;
  gint n_rounds = 0;
  g_autofree gchar *json_path = NULL;
  const GOptionEntry entries[] = {{"quick", 'q', 0, G_OPTION_ARG_NONE, &quick, "Few rounds", NULL},
      {"kernels", 'k', 0, G_OPTION_ARG_NONE, &kernels, "Rows for each instruction set", NULL},
      {"raw", 0, 0, G_OPTION_ARG_NONE, &raw_only, "No streams", NULL},
      {"streams", 0, 0, G_OPTION_ARG_NONE, &streams_only, "No raw scans", NULL},
      {"rounds", 'r', 0, G_OPTION_ARG_INT, &n_rounds, "How often each is timed (150)", "N"},
      {"json", 'j', 0, G_OPTION_ARG_FILENAME, &json_path, "Write the rows to a file", "FILE"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  Raw raw = {0};
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("bench-raw: %s\n", error->message);
    return 2;
  }
  if (n_rounds <= 0)
    n_rounds = quick ? 10 : 150;
  list_processors ();
  json = g_string_new ("[");
  g_print (
      "%-36s %-34s %7s %9s %9s %9s\n", "case", "program", "threads", "median ms", "95 %", "99 %");
  /* First, as a process that has threads cannot be forked. */
  g_autoptr (GPtrArray) cases = bench_cases_load (raw_only ? "none" : "town-5000", 0);
  for (guint n = 1; cases->len > 0 && n > 0; n = next_count (n))
    run_streams (g_ptr_array_index (cases, 0), n, (guint)n_rounds, TRUE);
  for (guint n = 1; cases->len > 0 && n > 0; n = next_count (n))
    run_streams (g_ptr_array_index (cases, 0), n, (guint)n_rounds, FALSE);
  for (guint r = 2; cases->len > 0 && r > 0; r--)
    run_town_rays (g_ptr_array_index (cases, 0), r, MIN ((guint)n_rounds, 40));
  if (!streams_only && load_raw (&raw)) {
    for (guint n = 1; n > 0; n = next_count (n))
      run_raw (&raw, "gst-ndt", DEFAULT_RESOLUTION, n, (guint)n_rounds, n == 1);
    for (guint n = 1; n > 0; n = next_count (n))
      run_raw (&raw, "gst-ndt", 1, n, (guint)n_rounds, n == 1);
    for (const gchar *const *set = (const gchar *const[]){"generic", "avx2", "avx512", NULL};
         kernels && *set; set++) {
      g_autofree gchar *name = g_strdup_printf ("gst-ndt, NDT_KERNEL=%s", *set);
      g_setenv ("NDT_KERNEL", *set, TRUE);
      run_raw (&raw, name, DEFAULT_RESOLUTION, 1, (guint)n_rounds, FALSE);
    }
    run_first (&raw, MIN ((guint)n_rounds, 40));
    for (guint r = 2; r > 0; r--)
      run_rays ("a KITTI scan", &raw.map, r, raw.scans, raw.truths, N_SCANS, (guint)n_rounds);
    for (guint n_threads = 1; n_threads <= n_processors; n_threads *= 2)
      run_span (n_threads, (guint)n_rounds);
    for (guint i = 0; i < N_SCANS; i++) {
      ndt_pcd_file_free (raw.files[i]);
      g_free ((gpointer)raw.copies[i].x);
    }
    g_free (raw.map.xyz);
  }
  g_string_append (json, "\n]\n");
  const gboolean ok = !json_path || g_file_set_contents (json_path, json->str, -1, &error);
  if (!ok)
    g_printerr ("bench-raw: %s\n", error->message);
  g_string_free (json, TRUE);
  return !ok;
}
