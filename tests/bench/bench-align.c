/* SPDX-License-Identifier: MIT */
/* Aligns the same scans from the same starts by PCL's NDT and by ours, in turn, in one process, and
 * prints one table. An absolute time means little on a shared machine; the ratios do, since each
 * start is run by every program before the next start is.
 *
 *   bench-align [--quick] [--case NAME] [--program NAME] [--threads N] [--starts N] [--json FILE]
 *
 * An alignment's time is from the points in memory to the pose: thinning and ordering of the scan
 * included. docs/performance-cpu.md explains the columns. */
#include <malloc.h>
#include <math.h>
#include <string.h>

#include "bench-data.h"
#include "ndtcore/registration/ndt-registration.h"
#include "tests/ndt-test.h"

#ifdef HAVE_PCL
#include "pcl-ndt.h"
#endif

#define N_PROGRAMS 7
/* Of each start. */
#define N_ALIGNMENTS 5 /* of ours */
#define N_EVALUATIONS 8

/* A program and what it took. */
typedef struct {
  const gchar *name;
  guint threads;
  NdtNeighbours neighbours;
  gboolean is_pcl;
  gboolean wanted;

  GArray *align_ms;
  GArray *wall_ms; /* the same alignments */
  GArray *evaluate_ms;
  double build_ms;
  double memory_mb;
  guint n;
  guint n_right; /* within 0.1 m and 1° */
  double iterations;
  double evaluations; /* 0: not told */
  double error_m;
  double error_deg;
  double pairs;
} Program;

static const Program programs[N_PROGRAMS] = {
    {.name = "pcl", .threads = 1, .is_pcl = TRUE},
    {.name = "radius", .threads = 1, .neighbours = NDT_NEIGHBOURS_RADIUS},
    {.name = "radius", .threads = 2, .neighbours = NDT_NEIGHBOURS_RADIUS},
    {.name = "direct7", .threads = 1, .neighbours = NDT_NEIGHBOURS_DIRECT7},
    {.name = "direct7", .threads = 2, .neighbours = NDT_NEIGHBOURS_DIRECT7},
    {.name = "direct1", .threads = 1, .neighbours = NDT_NEIGHBOURS_DIRECT1},
    {.name = "direct1", .threads = 2, .neighbours = NDT_NEIGHBOURS_DIRECT1},
};

/* Time of one thread is that of its processor: whoever is at work for longer is interrupted more
 * often by others, so that the clock on the wall would flatter the faster program. Two threads need
 * the wall's. */
static double
now_ms (guint threads)
{
  struct timespec t;
  clock_gettime (threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Bytes that the process has allocated. */
static double
allocated (void)
{
  const struct mallinfo2 info = mallinfo2 ();
  return (double)(info.uordblks + info.hblkhd);
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* The smallest value that a fraction of all do not exceed; sorts. */
static double
quantile (GArray *values, double fraction)
{
  if (values->len == 0)
    return NAN;
  g_array_sort (values, compare_doubles);
  const guint i = (guint)ceil (fraction * values->len);
  return g_array_index (values, double, MAX (i, 1) - 1);
}

/* Time of all over the number of right ones; infinite without one. */
static double
ms_per_success (const Program *p)
{
  double sum = 0;
  for (guint i = 0; i < p->align_ms->len; i++)
    sum += g_array_index (p->align_ms, double, i);
  return sum / p->align_ms->len * p->n / p->n_right;
}

static void
count_result (Program *p, const NdtPose *pose, const NdtPose *truth, guint iterations, double pairs)
{
  double m, rad;
  ndt_pose_difference (pose, truth, &m, &rad);
  p->n++;
  p->n_right += m < 0.1 && rad < G_PI / 180;
  p->iterations += iterations;
  p->error_m += m;
  p->error_deg += rad * 180 / G_PI;
  p->pairs += pairs;
}

/* Poses about the truth, as an alignment's last iterations meet them. */
static void
evaluation_poses (const NdtPose *truth, GRand *rand, NdtPose poses[N_EVALUATIONS])
{
  for (guint i = 0; i < N_EVALUATIONS; i++) {
    double delta[6];
    for (guint k = 0; k < 6; k++)
      delta[k] = g_rand_double_range (rand, -1, 1) * (k < 3 ? 0.02 : 0.002);
    ndt_pose_retract (truth, delta, &poses[i]);
  }
}

/* ---- PCL ---- */

#ifdef HAVE_PCL
static void
run_pcl (PclNdt *pcl, const BenchCase *c, const BenchStart *start, const NdtPose *poses, Program *p)
{
  double guess[16], result[16];
  NdtPose pose;
  ndt_pose_to_matrix4 (&start->guess, guess);
  pcl_ndt_set_scan (pcl, c->scans[start->scan].xyz, c->scans[start->scan].n);
  double t = now_ms (p->threads);
  const guint iterations = (guint)pcl_ndt_align (pcl, guess, result);
  double ms = now_ms (p->threads) - t;
  g_array_append_val (p->align_ms, ms);
  if (!ndt_pose_from_matrix4 (result, &pose))
    ndt_pose_set_identity (&pose);
  for (guint i = 0; i < 2; i++) {
    double m[16];
    ndt_pose_to_matrix4 (&poses[i], m);
    t = now_ms (p->threads);
    pcl_ndt_evaluate (pcl, m);
    ms = now_ms (p->threads) - t;
    g_array_append_val (p->evaluate_ms, ms);
  }
  count_result (p, &pose, &start->truth, iterations, (double)pcl_ndt_count_pairs (pcl, result));
}
#endif

/* ---- Ours ---- */

static NdtAlignParams
align_params (NdtNeighbours neighbours)
{
  NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  params.neighbours = neighbours;
  return params;
}

/* From a near start by one alignment, from a far one by as many as it takes. */
static gboolean
register_once (NdtBackend *backend, const BenchCase *c, const NdtAlignParams *params,
    const NdtPose *guess, NdtRegistration *result, GError **error)
{
  NdtRegistrationParams registration_params;
  ndt_registration_params_init (&registration_params);
  registration_params.align = *params;
  return ndt_register (backend, 0, &registration_params, c->far ? NDT_SEARCH_FAR : NDT_SEARCH_LOCAL,
      guess, 1, result, error);
}

static gboolean
run_ours (NdtBackend *backend, const BenchCase *c, const BenchStart *start, const NdtPose *poses,
    Program *p, GError **error)
{
  static const NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  const NdtAlignParams params = align_params (p->neighbours);
  const BenchCloud *scan = &c->scans[start->scan];
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan->xyz, scan->n);
  NdtRegistration result;
  NdtSums sums;
  for (guint i = 0; i < N_ALIGNMENTS; i++) {
    const double wall = now_ms (0), t = now_ms (p->threads);
    if (!ndt_backend_set_scan (backend, 0, &view, &filter, error) ||
        !register_once (backend, c, &params, &start->guess, &result, error))
      return FALSE;
    const double ms = now_ms (p->threads) - t;
    const double wall_ms = now_ms (0) - wall;
    g_array_append_val (p->wall_ms, wall_ms);
    g_array_append_val (p->align_ms, ms);
  }
  for (guint i = 0; i < N_EVALUATIONS; i++) {
    const double t = now_ms (p->threads);
    if (!ndt_backend_evaluate (backend, 0, &params, 0, NDT_KIND_SCORE, &poses[i], 1, &sums, error))
      return FALSE;
    const double ms = now_ms (p->threads) - t;
    g_array_append_val (p->evaluate_ms, ms);
  }
  p->evaluations += result.evaluations;
  count_result (p, &result.pose, &start->truth, result.iterations, (double)result.n_pairs);
  return TRUE;
}

static NdtVoxelMap *
build_map (const BenchCase *c, double *ms, double *mb, GError **error)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  params.resolution = c->resolution;
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (c->map.xyz, c->map.n);
  const double before = allocated ();
  const double t = now_ms (1);
  NdtVoxelMap *map = ndt_voxel_map_new (&params, &view, error);
  *ms = now_ms (1) - t;
  *mb = (allocated () - before) / 1e6;
  return map;
}

/* ---- A case ---- */

static void
print_row (GString *json, const BenchCase *c, Program *p, double pcl_ms, double pcl_evaluate_ms)
{
  const double median = quantile (p->align_ms, 0.5), p95 = quantile (p->align_ms, 0.95),
               p99 = quantile (p->align_ms, 0.99);
  const double evaluate = quantile (p->evaluate_ms, 0.5);
  const double n = MAX (p->n, 1);
  gchar ratio[32] = "", evaluate_ratio[32] = "";
  if (pcl_ms > 0 && !p->is_pcl) {
    g_snprintf (ratio, sizeof (ratio), "%.1f", pcl_ms / median);
    g_snprintf (evaluate_ratio, sizeof (evaluate_ratio), "%.1f", pcl_evaluate_ms / evaluate);
  }
  g_print (
      "%-14s %-8s %2u %9.3f %9.3f %9.3f %7s %9.3f %7s %8.1f %5.1f %5.1f %8.4f %8.4f %3u/%-3u %8.0f "
      "%7.2f\n",
      c->name, p->name, p->threads, median, p95, p99, ratio, evaluate, evaluate_ratio, p->build_ms,
      p->iterations / n, p->evaluations / n, p->error_m / n, p->error_deg / n, p->n_right, p->n,
      p->pairs / n, p->memory_mb);
  g_string_append_printf (json,
      "%s\n  {\"case\": \"%s\", \"program\": \"%s\", \"threads\": %u, \"median_ms\": %.4f, "
      "\"p95_ms\": %.4f, \"p99_ms\": %.4f, \"build_ms\": %.3f, \"iterations\": %.3f, \"error_m\": "
      "%.6f, "
      "\"error_deg\": %.6f, \"pairs\": %.1f, \"evaluate_ms\": %.4f, \"right\": %u, \"starts\": %u, "
      "\"memory_mb\": %.3f, \"evaluations\": %.2f, \"total_ms\": %.3f}",
      json->len > 1 ? "," : "", c->name, p->name, p->threads, median, p95, p99, p->build_ms,
      p->iterations / n, p->error_m / n, p->error_deg / n, p->pairs / n, evaluate, p->n_right, p->n,
      p->memory_mb, p->evaluations / n, ms_per_success (p) * p->n_right);
}

/* Time for each start that comes out right. */
static void
print_per_success (const BenchCase *c, const Program p[N_PROGRAMS])
{
  g_print ("%-14s ms for each right start:", c->name);
  for (guint i = 0; i < N_PROGRAMS; i++)
    if (p[i].n > 0)
      g_print ("%s %s (%u) %.2f", i ? "," : "", p[i].name, p[i].threads, ms_per_success (&p[i]));
  g_print ("\n");
}

/* @only: nullable program's name; @threads: 0 all. */
static gboolean
run_case (GString *json, const BenchCase *c, const gchar *only, guint threads, GError **error)
{
  Program p[N_PROGRAMS];
  NdtBackend *backends[N_PROGRAMS] = {NULL};
  double build_ms, memory_mb;
  gboolean ok = TRUE;
  g_autoptr (NdtVoxelMap) map = build_map (c, &build_ms, &memory_mb, error);
  if (!map)
    return FALSE;
  for (guint i = 0; i < N_PROGRAMS; i++) {
    p[i] = programs[i];
    p[i].align_ms = g_array_new (FALSE, FALSE, sizeof (double));
    p[i].wall_ms = g_array_new (FALSE, FALSE, sizeof (double));
    p[i].evaluate_ms = g_array_new (FALSE, FALSE, sizeof (double));
    p[i].build_ms = build_ms;
    p[i].memory_mb = memory_mb;
    p[i].wanted =
        (!only || g_str_equal (only, p[i].name)) && (threads == 0 || threads == p[i].threads);
    if (p[i].is_pcl || !p[i].wanted)
      continue;
    NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
    config.n_threads = p[i].threads;
    backends[i] = ndt_backend_open_cpu (&config, NULL);
    ndt_backend_set_map (backends[i], map, NULL);
  }
#ifdef HAVE_PCL
  const double before = allocated ();
  const double t = now_ms (1);
  PclNdt *pcl =
      p[0].wanted ? pcl_ndt_new (c->map.xyz, c->map.n, c->resolution, 0.1, 1e-4, 30, 0.55) : NULL;
  p[0].build_ms = now_ms (1) - t;
  p[0].memory_mb = (allocated () - before) / 1e6;
#endif

  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  for (guint s = 0; s < c->n_starts && ok; s++) {
    NdtPose poses[N_EVALUATIONS];
    evaluation_poses (&c->starts[s].truth, rand, poses);
    for (guint i = 0; i < N_PROGRAMS && ok; i++) {
#ifdef HAVE_PCL
      if (p[i].is_pcl && pcl)
        run_pcl (pcl, c, &c->starts[s], poses, &p[i]);
#endif
      if (backends[i])
        ok = run_ours (backends[i], c, &c->starts[s], poses, &p[i], error);
    }
  }

  const double pcl_ms = quantile (p[0].align_ms, 0.5);
  const double pcl_evaluate_ms = quantile (p[0].evaluate_ms, 0.5);
  for (guint i = 0; i < N_PROGRAMS && ok; i++) {
    if (!p[i].wanted)
      continue;
    if (p[i].is_pcl && p[i].n == 0)
      g_print ("%-14s %-8s PCL was not found when this was built: no ratios\n", c->name, p[i].name);
    else
      print_row (json, c, &p[i], pcl_ms, pcl_evaluate_ms);
  }
  if (ok && c->far)
    print_per_success (c, p);
  if (ok && p[1].n > 0 && p[2].n > 0)
    g_print ("%-14s radius by two threads takes %.2f of one's time on the wall's clock\n", c->name,
        quantile (p[2].wall_ms, 0.5) / quantile (p[1].wall_ms, 0.5));

#ifdef HAVE_PCL
  if (pcl)
    pcl_ndt_free (pcl);
#endif
  for (guint i = 0; i < N_PROGRAMS; i++) {
    g_array_unref (p[i].align_ms);
    g_array_unref (p[i].wall_ms);
    g_array_unref (p[i].evaluate_ms);
    if (backends[i])
      ndt_backend_close (backends[i]);
  }
  return ok;
}

int
main (int argc, char **argv)
{
  g_autofree gchar *only = NULL, *program = NULL, *json_path = NULL;
  gint n_starts = 0, n_threads = 0;
  gboolean quick = FALSE;
  const GOptionEntry entries[] = {
      {"quick", 'q', 0, G_OPTION_ARG_NONE, &quick, "Five starts of each case", NULL},
      {"case", 'c', 0, G_OPTION_ARG_STRING, &only, "Only this case", "NAME"},
      {"starts", 'n', 0, G_OPTION_ARG_INT, &n_starts, "At most so many starts of each", "N"},
      {"program", 'p', 0, G_OPTION_ARG_STRING, &program, "Only pcl, radius, direct7 or direct1",
          "NAME"},
      {"threads", 't', 0, G_OPTION_ARG_INT, &n_threads, "Only rows of so many threads", "N"},
      {"json", 'j', 0, G_OPTION_ARG_FILENAME, &json_path, "Write the rows to a file", "FILE"},
      {NULL}};
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("bench-align: %s\n", error->message);
    return 2;
  }
  if (quick && n_starts == 0)
    n_starts = 5;

  g_autoptr (GPtrArray) cases = bench_cases_load (only, (guint)MAX (n_starts, 0));
  if (cases->len == 0)
    return NDT_TEST_SKIP;
  GString *json = g_string_new ("[");
#ifdef HAVE_PCL
  g_print ("# PCL %s: one thread, step 0.1, epsilon 1e-4 (squared), 30 iterations\n",
      pcl_ndt_version ());
#endif
  g_print ("# times in ms, of one thread its processor's, of two the wall's; xPCL: PCL's over "
           "ours, of medians; error: mean over all starts; right: "
           "within 0.1 m and 1 degree\n");
  g_print ("%-14s %-8s %2s %9s %9s %9s %7s %9s %7s %8s %5s %5s %8s %8s %7s %8s %7s\n", "case",
      "program", "th", "median", "p95", "p99", "xPCL", "evaluate", "xPCL", "build", "iter", "evals",
      "m", "deg", "right", "pairs", "MB");
  gboolean ok = TRUE;
  for (guint i = 0; i < cases->len && ok; i++)
    ok = run_case (json, g_ptr_array_index (cases, i), program, (guint)MAX (n_threads, 0), &error);
  g_string_append (json, "\n]\n");
  if (ok && json_path)
    ok = g_file_set_contents (json_path, json->str, -1, &error);
  g_string_free (json, TRUE);
  if (!ok)
    g_printerr ("bench-align: %s\n", error->message);
  return !ok;
}
