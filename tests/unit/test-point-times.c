/* SPDX-License-Identifier: MIT */
/* Times of points as other software writes them. */
#include "ndtcore/motion/ndt-point-times.h"

#include <math.h>
#include <string.h>

#define N 2000
#define DURATION 0.1
#define UNIX 1646320000.25

static float xyz[3 * N];

/* Point i was measured i / N of the scan after its stamp. */
static double
truth (guint i)
{
  return DURATION * i / N;
}

static void
read_doubles (const double *values, double duration, const double *stamps, guint n_stamps,
    NdtPointTimes *times)
{
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (xyz, N);
  const NdtPointTimeField field = {(const guint8 *)values, sizeof (double), NDT_POINT_TIME_F64};
  ndt_point_times_read (&points, &field, duration, stamps, n_stamps, NULL, times);
}

static void
read_typed (
    gconstpointer values, gsize size, NdtPointTimeType type, double duration, NdtPointTimes *times)
{
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (xyz, N);
  const NdtPointTimeField field = {values, size, type};
  ndt_point_times_read (&points, &field, duration, NULL, 0, NULL, times);
}

/* Of all points but those from @n_odd on, to within a microsecond. */
static void
assert_right (NdtPointTimes *times, NdtPointTimesVerdict verdict, guint n_odd)
{
  g_assert_cmpint (times->verdict, ==, verdict);
  g_assert_nonnull (times->view.data);
  g_assert_cmpuint (times->span.n_points, ==, N - n_odd);
  g_assert_cmpfloat_with_epsilon (times->span.mean, DURATION / 2, 1e-3);
  for (guint i = n_odd; i < N; i++)
    g_assert_cmpfloat_with_epsilon (ndt_time_view_get (&times->view, i), truth (i), 1e-6);
  ndt_point_times_clear (times);
}

static void
test_expected (void)
{
  float f[N];
  double d[N];
  guint32 u[N];
  gint32 s[N];
  NdtPointTimes times;
  for (guint i = 0; i < N; i++) {
    f[i] = (float)truth (i);
    d[i] = truth (i);
    u[i] = (guint32)llround (1e9 * truth (i));
    s[i] = (gint32)u[i];
  }
  read_typed (f, sizeof *f, NDT_POINT_TIME_F32, DURATION, &times);
  g_assert_null (times.converted);
  assert_right (&times, NDT_POINT_TIMES_AS_EXPECTED, 0);
  read_typed (d, sizeof *d, NDT_POINT_TIME_F64, 0, &times);
  assert_right (&times, NDT_POINT_TIMES_AS_EXPECTED, 0);
  read_typed (u, sizeof *u, NDT_POINT_TIME_U32, DURATION, &times);
  g_assert_null (times.converted);
  assert_right (&times, NDT_POINT_TIMES_AS_EXPECTED, 0);
  read_typed (s, sizeof *s, NDT_POINT_TIME_I32, DURATION, &times);
  assert_right (&times, NDT_POINT_TIMES_AS_EXPECTED, 0);
}

/* From a stamp of the scan's end, and points all of one instant. */
static void
test_other_instants (void)
{
  double d[N];
  NdtPointTimes times;
  for (guint i = 0; i < N; i++)
    d[i] = truth (i) - DURATION;
  read_doubles (d, DURATION, NULL, 0, &times);
  g_assert_cmpint (times.verdict, ==, NDT_POINT_TIMES_AS_EXPECTED);
  g_assert_cmpfloat_with_epsilon (times.span.mean, -DURATION / 2, 1e-3);
  ndt_point_times_clear (&times);
  memset (d, 0, sizeof d);
  read_doubles (d, DURATION, NULL, 0, &times);
  g_assert_cmpint (times.verdict, ==, NDT_POINT_TIMES_AS_EXPECTED);
  g_assert_cmpfloat (times.span.first, ==, times.span.last);
  ndt_point_times_clear (&times);
}

static void
test_units (void)
{
  const double units[] = {1e-3, 1e-6, 1e-9};
  for (guint k = 0; k < G_N_ELEMENTS (units); k++) {
    for (guint known = 0; known < 2; known++) {
      float f[N];
      double d[N];
      NdtPointTimes times;
      for (guint i = 0; i < N; i++) {
        d[i] = truth (i) / units[k];
        f[i] = (float)d[i];
      }
      read_typed (f, sizeof *f, NDT_POINT_TIME_F32, known ? DURATION : 0, &times);
      g_assert_cmpfloat (times.unit, ==, units[k]);
      assert_right (&times, NDT_POINT_TIMES_CONVERTED, 0);
      read_doubles (d, known ? DURATION : 0, NULL, 0, &times);
      g_assert_false (times.is_clock);
      assert_right (&times, NDT_POINT_TIMES_CONVERTED, 0);
    }
  }
  /* Microseconds in an integer. */
  guint32 u[N];
  NdtPointTimes times;
  for (guint i = 0; i < N; i++)
    u[i] = (guint32)llround (1e6 * truth (i));
  read_typed (u, sizeof *u, NDT_POINT_TIME_U32, DURATION, &times);
  /* 100 µs in all is a scan's times in nanoseconds as well: the declared unit wins. */
  g_assert_cmpint (times.verdict, ==, NDT_POINT_TIMES_AS_EXPECTED);
  ndt_point_times_clear (&times);
}

/* Absolute times in s, µs and ns; by the scan's stamp where it is on that clock. */
static void
test_clocks (void)
{
  const double units[] = {1, 1e-6, 1e-9};
  const double stamps[] = {0.2, UNIX};
  for (guint k = 0; k < G_N_ELEMENTS (units); k++) {
    double d[N];
    NdtPointTimes times;
    for (guint i = 0; i < N; i++)
      d[i] = UNIX / units[k] + truth (i) / units[k];
    read_doubles (d, DURATION, stamps, 2, &times);
    g_assert_true (times.is_clock && times.by_stamp);
    g_assert_cmpfloat (times.unit, ==, units[k]);
    assert_right (&times, NDT_POINT_TIMES_CONVERTED, 0);
    /* The stamp is on none that is known: the first point is of it. */
    read_doubles (d, DURATION, stamps, 1, &times);
    g_assert_true (times.is_clock && !times.by_stamp);
    assert_right (&times, NDT_POINT_TIMES_CONVERTED, 0);
  }
  /* A float has no digits for them. */
  float f[N];
  NdtPointTimes times;
  for (guint i = 0; i < N; i++)
    f[i] = (float)(UNIX + truth (i));
  read_typed (f, sizeof *f, NDT_POINT_TIME_F32, DURATION, &times);
  g_assert_cmpint (times.verdict, ==, NDT_POINT_TIMES_UNUSABLE);
  g_assert_null (times.view.data);
  ndt_point_times_clear (&times);
}

static void
test_outliers (void)
{
  const double odd[] = {3, -7e9, 1e300, -0.2, NAN, INFINITY};
  for (guint k = 0; k < G_N_ELEMENTS (odd); k++) {
    double d[N];
    float f[N];
    NdtPointTimes times;
    for (guint i = 0; i < N; i++) {
      d[i] = i == 0 ? odd[k] : truth (i);
      f[i] = (float)d[i];
    }
    read_doubles (d, DURATION, NULL, 0, &times);
    g_assert_cmpuint (times.n_outside, ==, isfinite (odd[k]) ? 1 : 0);
    assert_right (&times, NDT_POINT_TIMES_AS_EXPECTED, 1);
    read_typed (f, sizeof *f, NDT_POINT_TIME_F32, DURATION, &times);
    assert_right (&times, NDT_POINT_TIMES_AS_EXPECTED, 1);
  }
  /* Absolute ones as well: a zero for points without a return. */
  double d[N];
  NdtPointTimes times;
  for (guint i = 0; i < N; i++)
    d[i] = i < 40 ? 0 : UNIX + truth (i);
  read_doubles (d, DURATION, (const double[]){UNIX}, 1, &times);
  g_assert_cmpuint (times.n_outside, ==, 40);
  assert_right (&times, NDT_POINT_TIMES_CONVERTED, 40);
}

/* The first points were measured before the stamp. */
static void
test_wrapped (void)
{
  guint32 u[N];
  NdtPointTimes times;
  for (guint i = 0; i < N; i++)
    u[i] = (guint32)(gint32)llround (1e9 * (truth (i) - 0.001));
  read_typed (u, sizeof *u, NDT_POINT_TIME_U32, DURATION, &times);
  g_assert_cmpuint (times.n_outside, ==, 0);
  g_assert_cmpfloat_with_epsilon (times.span.first, -0.001, 1e-6);
  g_assert_cmpfloat_with_epsilon (times.span.last, 0.099, 1e-4);
  ndt_point_times_clear (&times);
}

static void
test_unusable (void)
{
  double d[N];
  NdtPointTimes times;
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  for (guint i = 0; i < N; i++)
    d[i] = NAN;
  read_doubles (d, DURATION, NULL, 0, &times);
  g_assert_cmpint (times.verdict, ==, NDT_POINT_TIMES_NOT_FINITE);
  g_assert_null (times.view.data);
  ndt_point_times_clear (&times);
  /* A scan of three seconds by its times is none of 0.1 s in any unit. */
  for (guint i = 0; i < N; i++)
    d[i] = g_rand_double_range (rand, 0, 1) < 0.5 ? g_rand_double_range (rand, 0, 3) : 1e12;
  read_doubles (d, DURATION, NULL, 0, &times);
  g_assert_cmpint (times.verdict, ==, NDT_POINT_TIMES_UNUSABLE);
  g_assert_null (times.view.data);
  g_assert_cmpfloat (times.max, ==, 1e12);
  ndt_point_times_clear (&times);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < 3 * N; i++)
    xyz[i] = (float)i;
  g_test_add_func ("/point-times/expected", test_expected);
  g_test_add_func ("/point-times/other-instants", test_other_instants);
  g_test_add_func ("/point-times/units", test_units);
  g_test_add_func ("/point-times/clocks", test_clocks);
  g_test_add_func ("/point-times/outliers", test_outliers);
  g_test_add_func ("/point-times/wrapped", test_wrapped);
  g_test_add_func ("/point-times/unusable", test_unusable);
  return g_test_run ();
}
