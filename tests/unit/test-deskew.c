/* SPDX-License-Identifier: MIT */
#include "ndtcore/motion/ndt-deskew.h"

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/odometry/ndt-moving-scan.h"

#define N_POINTS 20000
#define SPAN 0.1

/* 20 m/s and 45°/s, which is what a car in a bend reaches. */
static const double twist[6] = {20, 0, 0, 0, 0, 0.785};

static gboolean
drive (double time, NdtPose *pose, gpointer user_data)
{
  double t[6];
  const NdtPose start = {{388096, 3948996, 12}, {0, 0, 0.6, 0.8}};
  const double *limits = user_data;
  if (limits && (time < limits[0] || time > limits[1]))
    return FALSE;
  for (guint i = 0; i < 6; i++)
    t[i] = time * twist[i];
  *pose = ndt_pose_from_twist (t);
  *pose = ndt_pose_mul (&start, pose);
  return TRUE;
}

/* Points of a still world as the moving sensor sees them, and as they are seen at @reference. */
static void
measure (double reference, float *seen, float *expected, double *times)
{
  NdtPose at_reference;
  g_autoptr (GRand) random = g_rand_new_with_seed (4);
  drive (reference, &at_reference, NULL);
  for (guint i = 0; i < N_POINTS; i++) {
    NdtPose pose;
    double p[3], world[3], q[3];
    times[i] = SPAN * i / (N_POINTS - 1);
    drive (times[i], &pose, NULL);
    for (guint k = 0; k < 3; k++) {
      p[k] = g_rand_double_range (random, -60, 60);
      seen[3 * i + k] = (float)p[k];
    }
    ndt_pose_transform_point (&pose, p, world);
    ndt_pose_invert (&at_reference, &pose);
    ndt_pose_transform_point (&pose, world, q);
    for (guint k = 0; k < 3; k++)
      expected[3 * i + k] = (float)q[k];
  }
}

static double
worst (const float *a, const float *b, gsize n)
{
  double largest = 0;
  for (gsize i = 0; i < n; i++)
    largest = MAX (largest, fabs ((double)a[i] - (double)b[i]));
  return largest;
}

static void
test_motion (gconstpointer data)
{
  const NdtTimeType type = (NdtTimeType)GPOINTER_TO_INT (data);
  static float seen[3 * N_POINTS], expected[3 * N_POINTS], out[3 * N_POINTS];
  static double times[N_POINTS];
  static float seconds[N_POINTS];
  static guint32 nanoseconds[N_POINTS];
  g_autoptr (NdtDeskewer) deskewer = ndt_deskewer_new ();
  const double references[] = {SPAN, 0, SPAN / 2};

  for (guint r = 0; r < G_N_ELEMENTS (references); r++) {
    measure (references[r], seen, expected, times);
    for (guint i = 0; i < N_POINTS; i++) {
      seconds[i] = (float)times[i];
      nanoseconds[i] = (guint32)(1e9 * times[i]);
    }
    const NdtCloudView points = ndt_cloud_view_xyz_f32 (seen, N_POINTS);
    NdtTimeView view = {(const guint8 *)times, sizeof (double), type};
    if (type == NDT_TIME_F32)
      view = (NdtTimeView){(const guint8 *)seconds, sizeof (float), type};
    else if (type == NDT_TIME_U32)
      view = (NdtTimeView){(const guint8 *)nanoseconds, sizeof (guint32), type};
    g_assert_cmpuint (
        ndt_deskew (deskewer, &points, &view, references[r], drive, NULL, out), ==, N_POINTS);
    /* Uncompensated, points are metres off; half a slot, 25 µs, is 0.5 mm of way and 2 mm of turn
     * at 100 m. */
    g_assert_cmpfloat (worst (seen, expected, G_N_ELEMENTS (seen)), >, 1);
    g_assert_cmpfloat (worst (out, expected, G_N_ELEMENTS (out)), <, 2.5e-3);
  }
}

/* Doubles stay doubles: points 5,000 km off, measured at the slots' instants, to the tenth of a
 * micrometre; a float steps by half a metre there. */
static void
test_double (void)
{
  enum { N = 2048 };
  static double seen[3 * N], expected[3 * N], out[3 * N], times[N];
  double limits[2] = {-1, SPAN * 0.9};
  g_autoptr (NdtDeskewer) deskewer = ndt_deskewer_new ();
  g_autoptr (GRand) random = g_rand_new_with_seed (5);
  const NdtTimeView view = {(const guint8 *)times, sizeof (double), NDT_TIME_F64};
  const NdtCloudView points = ndt_cloud_view_xyz_f64 (seen, N);
  NdtPose to_reference;
  drive (SPAN / 2, &to_reference, NULL);
  ndt_pose_invert (&to_reference, &to_reference);
  for (guint i = 0; i < N; i++) {
    NdtPose pose;
    times[i] = SPAN / (N - 1) * i;
    drive (times[i], &pose, NULL);
    ndt_pose_compose (&to_reference, &pose, &pose);
    for (guint k = 0; k < 3; k++)
      seen[3 * i + k] = (k < 2 ? 5e6 : 0) + g_rand_double_range (random, -60, 60);
    ndt_pose_transform_point (&pose, seen + 3 * i, expected + 3 * i);
  }
  g_assert_cmpuint (ndt_deskew_f64 (deskewer, &points, &view, SPAN / 2, drive, NULL, out), ==, N);
  for (guint i = 0; i < 3 * N; i++)
    g_assert_cmpfloat_with_epsilon (out[i], expected[i], 1e-7);

  times[10] = NAN;
  seen[3 * 20] = NAN;
  g_assert_cmpuint (ndt_deskew_f64 (deskewer, &points, &view, SPAN / 2, drive, limits, out), <, N);
  g_assert_cmpmem (out + 30, 24, seen + 30, 24);
  g_assert_true (isnan (out[3 * 20]));
  g_assert_cmpmem (out + 3 * (N - 100), 2400, seen + 3 * (N - 100), 2400);
  for (guint i = 3 * 21; i < 3000; i++)
    g_assert_cmpfloat_with_epsilon (out[i], expected[i], 1e-7);
}

/* Where the motion or a point's time is not known, points stay as they were. */
static void
test_unknown (void)
{
  static float seen[3 * N_POINTS], expected[3 * N_POINTS], out[3 * N_POINTS];
  static double times[N_POINTS];
  double limits[2] = {-1, SPAN / 2};
  g_autoptr (NdtDeskewer) deskewer = ndt_deskewer_new ();
  const NdtTimeView view = {(const guint8 *)times, sizeof (double), NDT_TIME_F64};
  measure (0, seen, expected, times);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (seen, N_POINTS);
  times[10] = NAN;
  const gsize n = ndt_deskew (deskewer, &points, &view, 0, drive, limits, out);
  g_assert_cmpuint (n, >, N_POINTS / 2 - 20);
  g_assert_cmpuint (n, <, N_POINTS / 2 + 20);
  g_assert_cmpmem (out + 30, 12, seen + 30, 12);
  g_assert_cmpmem (out + 3 * (N_POINTS - 100), 1200, seen + 3 * (N_POINTS - 100), 1200);
  g_assert_cmpfloat (worst (out, expected, 30), <, 2.5e-3);

  limits[1] = -0.5; /* not even the reference */
  g_assert_cmpuint (ndt_deskew (deskewer, &points, &view, 0, drive, limits, out), ==, 0);
  g_assert_cmpmem (out, sizeof (out), seen, sizeof (seen));

  const NdtCloudView none = ndt_cloud_view_xyz_f32 (seen, 0);
  g_assert_cmpuint (ndt_deskew (deskewer, &none, &view, 0, drive, NULL, out), ==, 0);
}

static gboolean
accelerate (double time, NdtPose *pose, gpointer user_data)
{
  const NdtScanMotion *motion = user_data;
  const double dt = time - motion->reference;
  double t[6];
  for (guint i = 0; i < 6; i++)
    t[i] = dt * motion->velocity[i] + dt * dt * motion->acceleration[i] / 2;
  *pose = ndt_pose_from_twist (t);
  return TRUE;
}

/* A motion gives what the poses that follow from it do. */
static void
test_formula (void)
{
  static float seen[3 * N_POINTS], expected[3 * N_POINTS], out[3 * N_POINTS];
  static double times[N_POINTS];
  NdtScanMotion motion = {SPAN / 3, {0}, {0}};
  g_autoptr (NdtDeskewer) deskewer = ndt_deskewer_new ();
  const NdtTimeView view = {(const guint8 *)times, sizeof (double), NDT_TIME_F64};
  memcpy (motion.velocity, twist, sizeof (twist));
  measure (motion.reference, seen, expected, times);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (seen, N_POINTS);
  g_assert_cmpuint (ndt_deskew_motion (deskewer, &points, &view, &motion, out), ==, N_POINTS);
  g_assert_cmpfloat (worst (out, expected, G_N_ELEMENTS (out)), <, 2.5e-3);

  for (guint i = 0; i < 6; i++)
    motion.acceleration[i] = (i + 1) * (i < 3 ? 3 : 0.3);
  g_assert_cmpuint (
      ndt_deskew (deskewer, &points, &view, motion.reference, accelerate, &motion, expected), ==,
      N_POINTS);
  g_assert_cmpfloat (worst (out, expected, G_N_ELEMENTS (out)), >, 0.01);
  ndt_deskew_motion (deskewer, &points, &view, &motion, out);
  /* A float at 60 m. */
  g_assert_cmpfloat (worst (out, expected, G_N_ELEMENTS (out)), <, 1e-5);

  /* Instants so far away that there is no pose. */
  motion.reference = 1e308;
  g_assert_cmpuint (ndt_deskew_motion (deskewer, &points, &view, &motion, out), ==, 0);
  g_assert_cmpmem (out, sizeof (out), seen, sizeof (seen));
}

static void
test_span (void)
{
  float points[3 * 4] = {1, 2, 3, NAN, 2, 3, 4, 5, 6, 7, 8, 9};
  double times[4] = {0.25, 9, -0.5, NAN};
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (points, 4);
  const NdtCloudView none = ndt_cloud_view_xyz_f32 (points, 0);
  const NdtTimeView time_view = {(const guint8 *)times, sizeof (double), NDT_TIME_F64};
  NdtTimeSpan span = ndt_time_span (&view, &time_view, NULL);
  g_assert_cmpuint (span.n_points, ==, 2);
  g_assert_cmpfloat (span.first, ==, -0.5);
  g_assert_cmpfloat (span.last, ==, 0.25);
  g_assert_cmpfloat (span.mean, ==, -0.125);
  span = ndt_time_span (&none, &time_view, NULL);
  g_assert_cmpuint (span.n_points, ==, 0);
}

/* Records with and without what is not finite, at any place: the sums of every fourth point, added
 * in their order. */
static void
test_span_sums (void)
{
  enum { MOST = 1000, STEP = 24 };
  static const float odd[] = {NAN, INFINITY, -INFINITY};
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  for (guint round = 0; round < 300; round++) {
    const guint n = (guint)g_rand_int_range (rand, 1, MOST);
    const guint n_odd = round % 3 ? (guint)g_rand_int_range (rand, 0, 4) : 0;
    const gsize time_at = round % 2 ? 20 : 12;
    /* Not a byte more than the records have. */
    g_autofree guint8 *records = g_malloc (n * STEP);
    double sum[4] = {0}, first = INFINITY, last = -INFINITY;
    guint n_finite = 0;
    memset (records, 0xff, n * STEP);
    for (guint i = 0; i < n; i++) {
      /* Also finite ones whose sums are not. */
      const float p[3] = {(float)i, -(float)i, round % 5 ? 1e30f : 3e38f};
      const float time = (float)g_rand_double_range (rand, -0.1, 0.1);
      memcpy (records + i * STEP, p, sizeof p);
      memcpy (records + i * STEP + time_at, &time, sizeof time);
    }
    for (guint i = 0; i < n_odd; i++) {
      const gsize place = i % 2 ? time_at : 4 * (gsize)g_rand_int_range (rand, 0, 3);
      const gsize record = (gsize)g_rand_int_range (rand, 0, (gint)n);
      memcpy (records + record * STEP + place, &odd[i % 3], sizeof (float));
    }
    for (guint i = 0; i < n; i++) {
      float p[3], time;
      memcpy (p, records + i * STEP, sizeof p);
      memcpy (&time, records + i * STEP + time_at, sizeof time);
      if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]) || !isfinite (time))
        continue;
      sum[i % 4] += (double)time;
      first = MIN (first, (double)time);
      last = MAX (last, (double)time);
      n_finite++;
    }
    const NdtCloudView points = ndt_cloud_view (records, n, STEP, 0, 4, 8, NDT_SCALAR_F32);
    const NdtTimeView times = {records + time_at, STEP, NDT_TIME_F32};
    const NdtTimeSpan span = ndt_time_span (&points, &times, NULL);
    g_assert_cmpuint (span.n_points, ==, n_finite);
    if (n_finite == 0)
      continue;
    g_assert_true (span.first == first && span.last == last);
    g_assert_true (span.mean == (sum[0] + sum[1] + sum[2] + sum[3]) / n_finite);
  }
}

/* More points than one task has: however many threads there are, the result is the same. */
static void
test_span_threads (void)
{
  enum { N = 50000 };
  g_autofree float *points = g_new (float, 3 * N);
  g_autofree guint32 *times = g_new (guint32, N);
  g_autoptr (NdtWorkers) workers = ndt_workers_new (3);
  for (guint i = 0; i < N; i++) {
    points[3 * i] = points[3 * i + 1] = points[3 * i + 2] = i % 7 ? (float)i : NAN;
    times[i] = 1000 * (N - i);
  }
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (points, N);
  const NdtTimeView time_view = {(const guint8 *)times, sizeof *times, NDT_TIME_U32};
  const NdtTimeSpan alone = ndt_time_span (&view, &time_view, NULL);
  const NdtTimeSpan together = ndt_time_span (&view, &time_view, workers);
  g_assert_cmpuint (alone.n_points, ==, N - (N + 6) / 7);
  g_assert_cmpfloat_with_epsilon (alone.first, 1e-6, 1e-15);
  g_assert_cmpfloat_with_epsilon (alone.last, 1e-6 * (N - 1), 1e-12);
  /* Each seventh is left out, the first included: the mean is half a step below the middle. */
  g_assert_cmpfloat_with_epsilon (alone.mean, 1e-6 * 0.5 * N, 1e-6);
  g_assert_cmpmem (&alone, sizeof alone, &together, sizeof together);
}

/* Into a backend's slot: moved, moved again, and as it is. */
static void
test_moving_scan (void)
{
  static float seen[3 * N_POINTS], moved[3 * N_POINTS], out[3 * N_POINTS], again[3 * N_POINTS];
  static double times[N_POINTS];
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  const NdtScanFilter filter = {2, 50, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f};
  NdtScanMotion motion = {SPAN, {0}, {0}};
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_autoptr (NdtMovingScan) scan = ndt_moving_scan_new ();
  g_autoptr (NdtDeskewer) deskewer = ndt_deskewer_new ();
  g_autoptr (GError) error = NULL;
  const NdtTimeView view = {(const guint8 *)times, sizeof (double), NDT_TIME_F64};
  NdtTimeSpan span;
  guint n, n_again;
  memcpy (motion.velocity, twist, sizeof (twist));
  measure (0, seen, out, times);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (seen, N_POINTS);
  g_assert_true (ndt_moving_scan_set (scan, backend, 1, &points, &view, &span, &error));
  g_assert_cmpuint (span.n_points, ==, N_POINTS);
  g_assert_cmpfloat (span.last, ==, SPAN);
  for (guint i = 0; i < 3; i++) {
    motion.reference = i * SPAN;
    g_assert_true (ndt_moving_scan_move (scan, i < 2 ? &motion : NULL, &filter, &error));
    g_assert_true (ndt_backend_get_scan (backend, 1, out, N_POINTS, &n, &error));
    ndt_deskew_motion (deskewer, &points, &view, &motion, moved);
    const NdtCloudView expected = ndt_cloud_view_xyz_f32 (i < 2 ? moved : seen, N_POINTS);
    g_assert_true (ndt_backend_set_scan (backend, 2, &expected, &filter, &error));
    g_assert_true (ndt_backend_get_scan (backend, 2, again, N_POINTS, &n_again, &error));
    g_assert_cmpuint (n, >, 1000);
    g_assert_cmpmem (out, 12 * (gsize)n, again, 12 * (gsize)n_again);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/deskew/f32", GINT_TO_POINTER (NDT_TIME_F32), test_motion);
  g_test_add_data_func ("/deskew/f64", GINT_TO_POINTER (NDT_TIME_F64), test_motion);
  g_test_add_data_func ("/deskew/u32", GINT_TO_POINTER (NDT_TIME_U32), test_motion);
  g_test_add_func ("/deskew/double", test_double);
  g_test_add_func ("/deskew/unknown", test_unknown);
  g_test_add_func ("/deskew/motion", test_formula);
  g_test_add_func ("/deskew/span", test_span);
  g_test_add_func ("/deskew/span/sums", test_span_sums);
  g_test_add_func ("/deskew/span/threads", test_span_threads);
  g_test_add_func ("/deskew/moving-scan", test_moving_scan);
  return g_test_run ();
}
