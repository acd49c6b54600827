/* SPDX-License-Identifier: MIT */
#include "ndtcore/ndt-deskew.h"

#include <math.h>
#include <string.h>

#include "ndtcore/ndt-formulas.h"

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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/deskew/f32", GINT_TO_POINTER (NDT_TIME_F32), test_motion);
  g_test_add_data_func ("/deskew/f64", GINT_TO_POINTER (NDT_TIME_F64), test_motion);
  g_test_add_data_func ("/deskew/u32", GINT_TO_POINTER (NDT_TIME_U32), test_motion);
  g_test_add_func ("/deskew/unknown", test_unknown);
  return g_test_run ();
}
