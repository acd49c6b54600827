/* SPDX-License-Identifier: MIT */
/* Every figure of docs/performance.md that a CUDA device gives, in one run and one table:
 *
 *   bench-cuda [--json FILE] [--shapes] [--quick]
 *
 * Times are host to host, by the host's clock: points in page-locked memory to poses in memory of
 * the caller. Median, 95th and 99th percentile after a warm-up, fresh random guesses for every run.
 * Needs the set town_starts of NDT_TEST_DATA. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench-time.h"
#include "bench-town.h"
#include "cuda/device/ndt-cuda-testing.h"
#include "cuda/ndt-cuda.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/registration/ndt-registration.h"
#include "tests/ndt-test.h"

#define RUNS 300
/* Scans in plain memory that take turns, so that they are not in a cache: 133 MB. */
#define N_PLAIN 64

static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
static FILE *json;
static guint n_rows;

typedef struct {
  float *xyz;
  guint n;
} Cloud;

typedef struct {
  NdtPose truth;
  NdtPose *near_starts;
  guint n_near;
  NdtPose *far_starts;
  guint n_far;
  Cloud target;
  NdtVoxelMap *map;
} Town;

static void
fail (GError *error)
{
  if (error)
    g_error ("%s", error->message);
}

/* @p95 and @p99: NAN where @value is none of single runs. */
static void
print_row (
    const gchar *name, const gchar *unit, double value, double p95, double p99, const gchar *note)
{
  printf ("%-58s %10.2f", name, value);
  if (isnan (p95))
    printf (" %9s %9s", "", "");
  else
    printf (" %9.2f %9.2f", p95, p99);
  printf (" %-3s %s\n", unit, note);
  fflush (stdout);
  if (json && isnan (p95))
    fprintf (json, "%s  {\"name\": \"%s\", \"value\": %.9g, \"unit\": \"%s\", \"note\": \"%s\"}",
        n_rows ? ",\n" : "", name, value, unit, note);
  else if (json)
    fprintf (json,
        "%s  {\"name\": \"%s\", \"value\": %.9g, \"p95\": %.9g, \"p99\": %.9g, \"unit\": \"%s\", "
        "\"note\": \"%s\"}",
        n_rows ? ",\n" : "", name, value, p95, p99, unit, note);
  n_rows++;
}

/* Median, 95th and 99th percentile of @n times in µs; @unit: us or ms. */
static void
row (const gchar *name, double *times, guint n, const gchar *unit, const gchar *note)
{
  const double scale = *unit == 'm' ? 1e-3 : 1;
  print_row (name, unit, bench_percentile (times, n, 0.5) * scale,
      bench_percentile (times, n, 0.95) * scale, bench_percentile (times, n, 0.99) * scale,
      note ? note : "");
}

static int
compare_azimuth (const void *a, const void *b)
{
  const float *p = a, *q = b;
  const float x = atan2f (p[1], p[0]), y = atan2f (q[1], q[0]);
  return x < y ? -1 : x > y;
}

static NdtPose *
read_poses (const gchar *folder, const gchar *name, guint *n)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  g_autofree gchar *text = NULL;
  GError *error = NULL;
  GArray *poses = g_array_new (FALSE, FALSE, sizeof (NdtPose));
  g_file_get_contents (path, &text, NULL, &error);
  fail (error);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    double v[6];
    NdtPose pose;
    if (sscanf (lines[i], "%lf %lf %lf %lf %lf %lf", v, v + 1, v + 2, v + 3, v + 4, v + 5) != 6)
      continue;
    ndt_pose_from_xyz_euler (v, v[3], v[4], v[5], &pose);
    g_array_append_val (poses, pose);
  }
  *n = poses->len;
  return (NdtPose *)(gpointer)g_array_free (poses, FALSE);
}

static gboolean
is_right (const Town *town, const NdtPose *pose, double *metres)
{
  double radians;
  ndt_pose_difference (pose, &town->truth, metres, &radians);
  return *metres < 0.1 && radians < G_PI / 180;
}

static NdtPose
near_guess (const Town *town, GRand *rand)
{
  double delta[6];
  for (guint i = 0; i < 6; i++)
    delta[i] = g_rand_double_range (rand, -1, 1) * (i < 3 ? 0.5 : 3 * G_PI / 180);
  return ndt_pose_retracted (&town->truth, delta);
}

/* One alignment of a scan from near starts: the set's 50, then fresh ones. */
static void
bench_one (
    NdtBackend *backend, const Town *town, const Cloud *cloud, guint approach, const gchar *what)
{
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (cloud->xyz, cloud->n);
  GRand *rand = g_rand_new_with_seed (1);
  GError *error = NULL;
  double times[RUNS], sum_error = 0, passes = 0, single[RUNS];
  guint n_right = 0;
  for (gint i = -20; i < RUNS; i++) {
    const NdtStart start = {
        .guess = i >= 0 && i < (gint)town->n_near ? town->near_starts[i] : near_guess (town, rand),
        .approach = approach};
    NdtAlignResult result;
    const double t0 = bench_now_us ();
    ndt_backend_set_scan (backend, 0, &view, &no_filter, &error);
    ndt_backend_align (backend, 0, &params, &start, 1, &result, &error);
    const double t1 = bench_now_us ();
    fail (error);
    if (i < 0)
      continue;
    double metres;
    times[i] = t1 - t0;
    n_right += is_right (town, &result.pose, &metres);
    sum_error += metres;
    passes += result.evaluations;
  }
  for (gint i = -20; i < RUNS; i++) {
    const NdtPose pose = near_guess (town, rand);
    NdtSums sums;
    const double t0 = bench_now_us ();
    ndt_backend_set_scan (backend, 0, &view, &no_filter, &error);
    ndt_backend_evaluate (backend, 0, &params, 0, NDT_KIND_SCORE, &pose, 1, &sums, &error);
    if (i >= 0)
      single[i] = bench_now_us () - t0;
    fail (error);
  }
  double mean = 0, mean1 = 0;
  for (guint i = 0; i < RUNS; i++) {
    mean += times[i] / RUNS;
    mean1 += single[i] / RUNS;
  }
  g_autofree gchar *name =
      g_strdup_printf ("one alignment, %u points, approach %u%s", cloud->n, approach, what);
  g_autofree gchar *note = g_strdup_printf ("%u/%u right, mean error %.2f mm, %.1f passes", n_right,
      RUNS, sum_error / RUNS * 1e3, passes / RUNS);
  row (name, times, RUNS, "us", note);
  g_autofree gchar *name1 = g_strdup_printf ("  one pass and its result%s", what);
  row (name1, single, RUNS, "us", NULL);
  g_autofree gchar *name2 = g_strdup_printf ("  each further pass%s", what);
  print_row (name2, "us", (mean - mean1) / (passes / RUNS - 1), NAN, NAN, "");
  g_rand_free (rand);
}

/* The set's 200 far starts, each with the candidates that @approaches has a bit for. */
static void
bench_far (NdtBackend *backend, const Town *town, const Cloud *cloud, guint approaches,
    guint n_runs, const gchar *what)
{
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (cloud->xyz, cloud->n);
  GError *error = NULL;
  guint n = 0, n_right = 0, n_candidates = 0;
  double *times = g_new (double, n_runs), passes = 0, sum_error = 0;
  NdtStart *starts = g_new0 (NdtStart, 4 * town->n_far);
  NdtAlignResult *results = g_new (NdtAlignResult, 4 * town->n_far);
  for (guint i = 0; i < town->n_far; i++)
    for (guint a = 0; a < 4; a++)
      if (approaches >> a & 1) {
        starts[n].guess = town->far_starts[i];
        starts[n++].approach = a;
      }
  n_candidates = n / town->n_far;
  for (gint i = -2; i < (gint)n_runs; i++) {
    const double t0 = bench_now_us ();
    ndt_backend_set_scan (backend, 0, &view, &no_filter, &error);
    ndt_backend_align (backend, 0, &params, starts, n, results, &error);
    if (i >= 0)
      times[i] = bench_now_us () - t0;
    fail (error);
  }
  for (guint i = 0; i < town->n_far; i++) {
    const NdtAlignResult *best = &results[i * n_candidates];
    double metres;
    for (guint c = 0; c < n_candidates; c++) {
      const NdtAlignResult *r = &results[i * n_candidates + c];
      passes += r->evaluations;
      if (r->sums.score > best->sums.score)
        best = r;
    }
    if (is_right (town, &best->pose, &metres)) {
      n_right++;
      sum_error += metres;
    }
  }
  g_autofree gchar *name = g_strdup_printf ("%u far starts, %u candidate(s) each, %u points%s",
      town->n_far, n_candidates, cloud->n, what);
  g_autofree gchar *note =
      g_strdup_printf ("%u/%u right, error when right %.2f mm, %.1f passes each", n_right,
          town->n_far, sum_error / MAX (n_right, 1) * 1e3, passes / n);
  row (name, times, n_runs, "ms", note);
  g_free (times);
  g_free (starts);
  g_free (results);
}

#define N_RAW 130000

/* A raw scan, records of 16 bytes: what lies within 60 m of the true pose, with the noise of the
 * map; as a sensor gives it, one direction after the other. */
static void
make_raw (const Town *town, float *raw)
{
  GRand *rand = g_rand_new_with_seed (2);
  const NdtPose inverse = ndt_pose_inverse (&town->truth);
  for (guint i = 0; i < N_RAW;) {
    const float *p = town->target.xyz + 3 * g_rand_int_range (rand, 0, (gint)town->target.n);
    const double in[3] = {(double)p[0], (double)p[1], (double)p[2]};
    double out[3];
    ndt_pose_transform_point (&inverse, in, out);
    if (out[0] * out[0] + out[1] * out[1] > 3600)
      continue;
    for (guint k = 0; k < 3; k++)
      raw[4 * i + k] = (float)(out[k] + g_rand_double_range (rand, -0.02, 0.02));
    raw[4 * i++ + 3] = 1;
  }
  qsort (raw, N_RAW, 16, compare_azimuth);
  g_rand_free (rand);
}

/* Cropped to 50 m, one point a leaf of 1 m. */
static const NdtScanFilter raw_filter = {2, 50, FALSE, {0, 0, 0}, {0, 0, 0}, 1.0f};
static const NdtScanFilter coarse_filter = {2, 50, FALSE, {0, 0, 0}, {0, 0, 0}, 2.0f};

/* From near starts; @n_copies of the scan, @size bytes apart, in turn. */
static void
bench_scan (NdtBackend *backend, const Town *town, const NdtCloudView *scan,
    const NdtScanFilter *filter, guint n_copies, gsize size, guint n_runs, const gchar *name)
{
  GRand *rand = g_rand_new_with_seed (2);
  GError *error = NULL;
  double *times = g_new (double, n_runs), sum_error = 0;
  guint n_right = 0, n_thin = 0;
  for (gint i = -20; i < (gint)n_runs; i++) {
    const NdtStart start = {.guess = near_guess (town, rand), .approach = 1};
    const gsize at = (gsize)((guint)(i + 20) % n_copies) * size;
    NdtCloudView view = *scan;
    NdtAlignResult result;
    view.x += at;
    view.y += at;
    view.z += at;
    const double t0 = bench_now_us ();
    ndt_backend_set_scan (backend, 1, &view, filter, &error);
    ndt_backend_align (backend, 1, &params, &start, 1, &result, &error);
    const double t1 = bench_now_us ();
    double metres;
    fail (error);
    if (i < 0)
      continue;
    times[i] = t1 - t0;
    n_right += is_right (town, &result.pose, &metres);
    sum_error += metres;
    n_thin = result.n_points;
  }
  g_autofree gchar *note = g_strdup_printf ("thinned to %u, %u/%u right, mean error %.2f mm",
      n_thin, n_right, n_runs, sum_error / n_runs * 1e3);
  row (name, times, n_runs, "us", note);
  g_rand_free (rand);
  g_free (times);
}

/* ndt_register() from far, its search on a sample included: @n_guesses of the set's far starts at a
 * time, of which it gives the best. */
static void
bench_register (NdtBackend *backend, const Town *town, const NdtCloudView *view,
    const NdtScanFilter *filter, guint n_guesses, guint n_runs, const gchar *what)
{
  GError *error = NULL;
  NdtRegistrationParams registration;
  double *times = g_new (double, n_runs), passes = 0;
  guint n_right = 0;
  ndt_registration_params_init (&registration);
  for (gint i = -5; i < (gint)n_runs; i++) {
    const guint first = (guint)(i + 5) * n_guesses % town->n_far;
    NdtRegistration result;
    double metres;
    const double t0 = bench_now_us ();
    ndt_backend_set_scan (backend, 2, view, filter, &error);
    ndt_register (backend, 2, &registration, NDT_SEARCH_FAR, town->far_starts + first, n_guesses,
        &result, &error);
    const double t1 = bench_now_us ();
    fail (error);
    if (i < 0)
      continue;
    times[i] = t1 - t0;
    passes += result.evaluations;
    n_right += is_right (town, &result.pose, &metres);
  }
  g_autofree gchar *name =
      g_strdup_printf ("ndt_register from %u far start(s), %s", n_guesses, what);
  g_autofree gchar *note =
      g_strdup_printf ("%u/%u right, %.1f passes", n_right, n_runs, passes / n_runs);
  row (name, times, n_runs, "us", note);
  g_free (times);
}

/* What the host does with a result: directions that the Hessian leaves open, and its inverse. */
static void
bench_complete (NdtBackend *backend, const Town *town, const Cloud *cloud)
{
  enum { N = 100 };
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (cloud->xyz, cloud->n);
  const NdtStart start = {.guess = town->truth, .approach = 0};
  NdtRegistrationParams registration;
  NdtAlignResult result;
  NdtRegistration out;
  GError *error = NULL;
  double times[RUNS];
  ndt_registration_params_init (&registration);
  ndt_backend_set_scan (backend, 0, &view, &no_filter, &error);
  ndt_backend_align (backend, 0, &params, &start, 1, &result, &error);
  fail (error);
  memset (&out, 0, sizeof (out));
  for (gint i = 0; i < RUNS; i++) {
    const double t0 = bench_now_us ();
    for (guint k = 0; k < N; k++)
      ndt_register_complete (backend, 0, &registration, &result, &out, &error);
    times[i] = (bench_now_us () - t0) / N;
    fail (error);
  }
  g_assert_cmpint (out.covariance_kind, ==, NDT_POSE_COVARIANCE_LAPLACE);
  row ("covariance and open directions of a result, on the host", times, RUNS, "us", NULL);
}

/* The gradients of clusters behind an alignment: what they add to its time, and when they are there
 * where they are asked for at once. */
static void
bench_clusters (NdtBackend *backend, const Town *town, const Cloud *cloud)
{
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (cloud->xyz, cloud->n);
  const NdtStart start = {.guess = town->truth, .approach = 0};
  NdtAlignParams clustered = params;
  NdtAlignResult result;
  GError *error = NULL;
  double times[RUNS], waits[RUNS];
  ndt_backend_set_scan (backend, 0, &view, &no_filter, &error);
  for (guint with = 0; with < 2; with++) {
    clustered.clusters = with;
    for (gint i = 0; i < RUNS; i++) {
      const double t0 = bench_now_us ();
      ndt_backend_align_begin (backend, 0, &clustered, &start, 0, &error);
      ndt_backend_align_end (backend, &result, &error);
      const double t1 = bench_now_us ();
      fail (error);
      if (with)
        ndt_backend_spread (backend, 0, &clustered, &result, &error);
      fail (error);
      times[i] = t1 - t0;
      waits[i] = bench_now_us () - t1;
    }
    row (with ? "5,000 points from the truth, and clusters begun" : "5,000 points from the truth",
        times, RUNS, "us", NULL);
  }
  row ("these clusters' gradients, after the result", waits, RUNS, "us", NULL);
}

/* Budgets of device memory: nothing, less than it takes, and all. */
static void
bench_budgets (const Town *town, const Cloud *cloud, const NdtCloudView *raw)
{
  static const guint64 budgets[] = {1, 16 << 20, 0};
  const NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtCloudView target = ndt_cloud_view_xyz_f32 (town->target.xyz, town->target.n);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (cloud->xyz, cloud->n);
  for (guint i = 0; i < G_N_ELEMENTS (budgets); i++) {
    NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
    GError *error = NULL;
    double times[7];
    config.memory_budget = budgets[i];
    NdtBackend *backend = ndt_cuda_backend_open (&config, &error);
    fail (error);
    for (guint k = 0; k < G_N_ELEMENTS (times); k++) {
      const double t0 = bench_now_us ();
      ndt_backend_set_map_from_points (backend, &map_params, &target, NULL, &error);
      times[k] = bench_now_us () - t0;
      fail (error);
    }
    g_autofree gchar *budget =
        budgets[i] ? g_strdup_printf ("budget %" G_GUINT64_FORMAT " bytes", budgets[i])
                   : g_strdup ("no budget");
    g_autofree gchar *map_name = g_strdup_printf ("%s: a map of the town", budget);
    g_autofree gchar *name = g_strdup_printf ("%s: one alignment, %u points", budget, cloud->n);
    g_autofree gchar *raw_name = g_strdup_printf ("%s: a raw scan of 130,000 points", budget);
    row (map_name, times, G_N_ELEMENTS (times), "ms", NULL);
    bench_scan (backend, town, &view, &no_filter, 1, 0, 100, name);
    bench_scan (backend, town, raw, &raw_filter, 1, 0, 100, raw_name);
    ndt_backend_close (backend);
  }
}

static void
bench_map (NdtBackend *backend, const Town *town, guint n, guint n_runs)
{
  const NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  GRand *rand = g_rand_new_with_seed (4);
  GError *error = NULL;
  double *times = g_new (double, n_runs);
  float *xyz = ndt_backend_alloc_host (backend, 12 * (gsize)n);
  g_assert_nonnull (xyz);
  /* The town as it is, or towns side by side with fresh noise. */
  for (guint i = 0; i < n; i++) {
    const guint copy = i / town->target.n;
    const float *p = town->target.xyz + 3 * (gsize)(i % town->target.n);
    for (guint k = 0; k < 3; k++)
      xyz[3 * (gsize)i + k] = p[k] + (copy ? (float)g_rand_double_range (rand, -0.02, 0.02) : 0.0f);
    xyz[3 * (gsize)i] += 240.0f * (float)(copy % 4);
    xyz[3 * (gsize)i + 1] += 240.0f * (float)(copy / 4);
  }
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n);
  for (gint i = -2; i < (gint)n_runs; i++) {
    const double t0 = bench_now_us ();
    ndt_backend_set_map_from_points (backend, &map_params, &view, NULL, &error);
    if (i >= 0)
      times[i] = bench_now_us () - t0;
    fail (error);
  }
  g_autofree gchar *name = g_strdup_printf ("%u points in page-locked memory to a voxel map", n);
  row (name, times, n_runs, "ms", NULL);
  backend->klass->free_host (xyz, 12 * (gsize)n);
  g_rand_free (rand);
  g_free (times);
}

static void
row_of (const gchar *what, const gchar *part, double *times, guint n, const gchar *unit)
{
  g_autofree gchar *name = g_strdup_printf ("%s, %s", what, part);
  row (name, times, n, unit, NULL);
}

/* Maps of more and more towns side by side, by cells of 1 m: made by the device from points in
 * page-locked memory, uploaded as a file's are, and aligned with; cold: the device's cache
 * holds other memory, as it does between scans of a slow sensor on a busy device. */
static void
bench_map_sizes (const Town *town, const Cloud *cloud)
{
  enum { N = 200, N_MAPS = 7, FLUSH = 256 << 20 };
  static const guint n_towns[] = {1, 4, 12, 40};
  const NdtCloudView scan = ndt_cloud_view_xyz_f32 (cloud->xyz, cloud->n);
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  void *other;
  map_params.resolution = 1;
  map_params.n_levels = 1;
  if (cudaMalloc (&other, FLUSH) != cudaSuccess)
    g_error ("no memory to flush the cache by");
  for (guint m = 0; m < G_N_ELEMENTS (n_towns); m++) {
    const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
    const guint n = n_towns[m] * town->target.n;
    GError *error = NULL;
    NdtBackend *backend = ndt_cuda_backend_open (&config, &error);
    fail (error);
    float *xyz = ndt_backend_alloc_host (backend, 12 * (gsize)n);
    g_assert_nonnull (xyz);
    for (guint i = 0; i < n; i++) {
      const guint copy = i / town->target.n;
      memcpy (xyz + 3 * (gsize)i, town->target.xyz + 3 * (gsize)(i % town->target.n), 12);
      xyz[3 * (gsize)i] += 240.0f * (float)(copy % 6);
      xyz[3 * (gsize)i + 1] += 240.0f * (float)(copy / 6);
    }
    const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n);
    NdtVoxelMap *map = NULL;
    double built[N_MAPS], uploaded[N_MAPS];
    for (guint i = 0; i < N_MAPS; i++) {
      const double t0 = bench_now_us ();
      ndt_backend_set_map_from_points (backend, &map_params, &view, NULL, &error);
      built[i] = bench_now_us () - t0;
      fail (error);
    }
    ndt_backend_set_map_from_points (backend, &map_params, &view, &map, &error);
    fail (error);
    backend->klass->free_host (xyz, 12 * (gsize)n);
    for (guint i = 0; i < N_MAPS; i++) {
      const double t0 = bench_now_us ();
      ndt_backend_set_map (backend, map, &error);
      uploaded[i] = bench_now_us () - t0;
      fail (error);
    }
    g_autofree gchar *what =
        g_strdup_printf ("%u voxels of 1 m", ndt_voxel_map_get_level (map, 0)->n_voxels);
    row_of (what, "made from points", built, N_MAPS, "ms");
    row_of (what, "uploaded", uploaded, N_MAPS, "ms");
    for (guint cold = 0; cold < 2; cold++) {
      GRand *rand = g_rand_new_with_seed (6);
      double times[N];
      for (gint i = -20; i < N; i++) {
        const NdtStart start = {.guess = near_guess (town, rand)};
        NdtAlignResult result;
        if (cold && (cudaMemset (other, i, FLUSH) != cudaSuccess ||
                        cudaDeviceSynchronize () != cudaSuccess))
          g_error ("the cache cannot be flushed");
        const double t0 = bench_now_us ();
        ndt_backend_set_scan (backend, 0, &scan, &no_filter, &error);
        ndt_backend_align (backend, 0, &params, &start, 1, &result, &error);
        if (i >= 0)
          times[i] = bench_now_us () - t0;
        fail (error);
      }
      row_of (what, cold ? "5,000 points aligned, cold" : "5,000 points aligned", times, N, "us");
      g_rand_free (rand);
    }
    ndt_voxel_map_unref (map);
    ndt_backend_close (backend);
  }
  cudaFree (other);
}

static NdtBackend *
open_shape (const gchar *shape, const gchar *reuse, guint lanes, const Town *town)
{
  gchar text[16];
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  GError *error = NULL;
  g_snprintf (text, sizeof (text), "%u", lanes);
  ndt_cuda_testing_set (NDT_CUDA_TESTING_SHAPE, shape);
  ndt_cuda_testing_set (NDT_CUDA_TESTING_REUSE, reuse);
  ndt_cuda_testing_set (NDT_CUDA_TESTING_LANES, text);
  NdtBackend *backend = ndt_cuda_backend_open (&config, &error);
  fail (error);
  ndt_cuda_testing_set (NDT_CUDA_TESTING_SHAPE, NULL);
  ndt_cuda_testing_set (NDT_CUDA_TESTING_REUSE, NULL);
  ndt_cuda_testing_set (NDT_CUDA_TESTING_LANES, NULL);
  ndt_backend_set_map (backend, town->map, &error);
  fail (error);
  return backend;
}

int
main (int argc, char **argv)
{
  static const gchar *sizes[] = {
      "source_756.bin", "source_1500.bin", "source_5000.bin", "source_20000.bin"};
  static const gchar *shapes[] = {"cluster:16:512", "grid:64:256", "grid:128:256"};
  static const gchar *reuses[] = {"0", "0.125"};
  static const gchar *batch_shapes[] = {"cluster:4:256:1", "cluster:8:256:1", "cluster:4:512"};
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  const NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  gboolean try_shapes = FALSE, quick = FALSE;
  gchar *json_path = NULL;
  const GOptionEntry entries[] = {
      {"json", 0, 0, G_OPTION_ARG_FILENAME, &json_path, "Write the rows to FILE", "FILE"},
      {"shapes", 0, 0, G_OPTION_ARG_NONE, &try_shapes, "Compare ways to spread the work", NULL},
      {"quick", 0, 0, G_OPTION_ARG_NONE, &quick, "Leave the maps out", NULL}, {NULL}};
  GError *error = NULL;
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_parse (context, &argc, &argv, &error);
  fail (error);

  g_autofree gchar *folder = ndt_test_data ("town_starts");
  if (!folder)
    return NDT_TEST_SKIP;
  NdtBackend *backend = ndt_cuda_backend_open (&config, &error);
  if (!backend) {
    g_printerr ("%s\n", error->message);
    return NDT_TEST_SKIP;
  }
  if (json_path && !(json = fopen (json_path, "w")))
    g_error ("%s cannot be written", json_path);
  if (json)
    fprintf (json, "[\n");

  Town town;
  guint n;
  NdtPose *truth = read_poses (folder, "truth.txt", &n);
  town.truth = truth[0];
  town.near_starts = read_poses (folder, "guesses.txt", &town.n_near);
  town.far_starts = read_poses (folder, "guesses_init.txt", &town.n_far);
  town.target.xyz = bench_read_cloud (backend, folder, "target.bin", &town.target.n);
  const NdtCloudView target = ndt_cloud_view_xyz_f32 (town.target.xyz, town.target.n);
  town.map = ndt_voxel_map_new (&map_params, &target, &error);
  fail (error);
  Cloud clouds[G_N_ELEMENTS (sizes)];
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    clouds[i].xyz = bench_read_cloud (backend, folder, sizes[i], &clouds[i].n);
  ndt_backend_set_map (backend, town.map, &error);
  fail (error);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (guint approach = 0; approach < 2; approach++)
      bench_one (backend, &town, &clouds[i], approach, "");
  bench_far (backend, &town, &clouds[2], 1 << 3, 20, "");
  bench_far (backend, &town, &clouds[2], 15, 10, "");
  bench_far (backend, &town, &clouds[0], 1 << 3, 20, "");
  float *raw = ndt_backend_alloc_host (backend, 16 * N_RAW);
  float *plain = g_malloc (N_PLAIN * 16 * N_RAW);
  make_raw (&town, raw);
  for (guint i = 0; i < N_PLAIN; i++)
    memcpy (plain + 4 * (gsize)N_RAW * i, raw, 16 * N_RAW);
  const NdtCloudView raw_view = ndt_cloud_view (raw, N_RAW, 16, 0, 4, 8, NDT_SCALAR_F32);
  const NdtCloudView plain_view = ndt_cloud_view (plain, N_RAW, 16, 0, 4, 8, NDT_SCALAR_F32);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (clouds[2].xyz, clouds[2].n);
  bench_scan (backend, &town, &raw_view, &raw_filter, 1, 0, RUNS,
      "a raw scan of 130,000 points, cropped, thinned, aligned");
  bench_scan (backend, &town, &raw_view, &coarse_filter, 1, 0, RUNS, "the same with leaves of 2 m");
  float *packed = ndt_backend_alloc_host (backend, 12 * N_RAW);
  for (gsize i = 0; i < N_RAW; i++)
    memcpy (packed + 3 * i, raw + 4 * i, 12);
  const NdtCloudView packed_view = ndt_cloud_view_xyz_f32 (packed, N_RAW);
  bench_scan (backend, &town, &packed_view, &raw_filter, 1, 0, RUNS,
      "a raw scan in records of 12 bytes instead of 16");
  backend->klass->free_host (packed, 12 * N_RAW);
  bench_scan (backend, &town, &plain_view, &raw_filter, N_PLAIN, 16 * N_RAW, RUNS,
      "a raw scan in plain memory, not in a cache");
  g_free (plain);
  bench_register (backend, &town, &view, &no_filter, 1, 200, "5,000 points");
  bench_register (backend, &town, &raw_view, &raw_filter, 1, 200, "130,000 points thinned");
  bench_register (backend, &town, &view, &no_filter, town.n_far, 5, "5,000 points");
  bench_complete (backend, &town, &clouds[2]);
  bench_clusters (backend, &town, &clouds[2]);
  if (!quick) {
    bench_map (backend, &town, town.target.n, 20);
    bench_map (backend, &town, 10000000, 5);
    bench_budgets (&town, &clouds[2], &raw_view);
    bench_map_sizes (&town, &clouds[2]);
  }
  backend->klass->free_host (raw, 16 * N_RAW);
  ndt_backend_close (backend);

  if (try_shapes) {
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
      for (guint s = 0; s < G_N_ELEMENTS (shapes); s++)
        for (guint r = 0; r < G_N_ELEMENTS (reuses); r++)
          for (guint l = 0; l < 3; l++) {
            g_autofree gchar *what =
                g_strdup_printf (", %s reuse %s lanes %u", shapes[s], reuses[r], 1 << l);
            NdtBackend *other = open_shape (shapes[s], reuses[r], 1 << l, &town);
            bench_one (other, &town, &clouds[i], 1, what);
            ndt_backend_close (other);
          }
    for (guint s = 0; s < G_N_ELEMENTS (batch_shapes); s++)
      for (guint r = 0; r < G_N_ELEMENTS (reuses); r++)
        for (guint l = 0; l < 3; l++) {
          g_autofree gchar *what =
              g_strdup_printf (", %s reuse %s lanes %u", batch_shapes[s], reuses[r], 1 << l);
          NdtBackend *other = open_shape (batch_shapes[s], reuses[r], 1 << l, &town);
          bench_far (other, &town, &clouds[2], 1 << 3, 5, what);
          ndt_backend_close (other);
        }
  }
  if (json) {
    fprintf (json, "\n]\n");
    fclose (json);
  }
  return 0;
}
