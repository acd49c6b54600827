/* SPDX-License-Identifier: MIT */
#include "ndtcore/math/ndt-pose-curve.h"

#include <math.h>

#define MS G_GINT64_CONSTANT (1000000)

/* A turn in, 20 m/s: the yaw rate grows by 90 degrees a second each second. */
static NdtPose
drive (double t)
{
  NdtPose pose;
  double x = 0, y = 0;
  const guint n = 400;
  for (guint i = 0; i < n; i++) {
    const double at = t * (i + 0.5) / n, yaw = 0.25 * G_PI * at * at;
    x += 20 * t / n * cos (yaw);
    y += 20 * t / n * sin (yaw);
  }
  ndt_pose_from_rpy ((const double[3]){x, y, 1}, 0, 0, 0.25 * G_PI * t * t, &pose);
  return pose;
}

static void
fill (NdtTimedPose *poses, guint n, gint64 step)
{
  for (guint i = 0; i < n; i++) {
    poses[i].time = step * i;
    poses[i].pose = drive (1e-9 * (double)poses[i].time);
  }
}

static void
worst (const NdtTimedPose *poses, guint n, gint64 from, gint64 to, double *metres, double *radians)
{
  NdtPoseCurve curve;
  *metres = *radians = 0;
  ndt_pose_curve_init (&curve, poses, n, 0, 0);
  for (gint64 time = from; time <= to; time += MS) {
    const NdtPose truth = drive (1e-9 * (double)time);
    NdtPose pose;
    double m, r;
    g_assert_true (ndt_pose_curve_get (&curve, time, &pose));
    ndt_pose_difference (&pose, &truth, &m, &r);
    *metres = MAX (*metres, m);
    *radians = MAX (*radians, r);
  }
}

static void
test_turning_in (void)
{
  NdtTimedPose poses[11];
  double metres, radians;
  fill (poses, 11, 100 * MS);
  /* Between two poses alone the yaw would be 2 mrad off, a quarter of the change of rate in a step
   * by half a step: the neighbours make it right. */
  worst (poses, 11, 100 * MS, 900 * MS, &metres, &radians);
  g_assert_cmpfloat (metres, <, 1e-3);
  g_assert_cmpfloat (radians, <, 1e-4);
  worst (poses + 4, 2, 400 * MS, 500 * MS, &metres, &radians);
  g_assert_cmpfloat (radians, >, 1e-3);
}

static void
test_limits (void)
{
  NdtTimedPose poses[4];
  NdtPoseCurve curve;
  NdtPose pose;
  fill (poses, 4, 100 * MS);
  ndt_pose_curve_init (&curve, poses, 4, 0, 0);
  g_assert_false (ndt_pose_curve_get (&curve, -1, &pose));
  g_assert_true (ndt_pose_curve_get (&curve, 0, &pose));
  g_assert_true (ndt_pose_curve_get (&curve, 300 * MS, &pose));
  g_assert_false (ndt_pose_curve_get (&curve, 300 * MS + 1, &pose));
  ndt_pose_curve_init (&curve, poses, 4, 0, 10 * MS);
  g_assert_true (ndt_pose_curve_get (&curve, 310 * MS, &pose));
  g_assert_true (ndt_pose_curve_get (&curve, -10 * MS, &pose));
  g_assert_false (ndt_pose_curve_get (&curve, 311 * MS, &pose));

  /* Over a gap nothing is known but the poses at its ends. */
  poses[2].time = 5000 * MS;
  poses[3].time = 5100 * MS;
  ndt_pose_curve_init (&curve, poses, 4, 1000 * MS, 0);
  g_assert_true (ndt_pose_curve_get (&curve, 50 * MS, &pose));
  g_assert_true (ndt_pose_curve_get (&curve, 100 * MS, &pose));
  g_assert_false (ndt_pose_curve_get (&curve, 101 * MS, &pose));
  g_assert_false (ndt_pose_curve_get (&curve, 4999 * MS, &pose));
  g_assert_true (ndt_pose_curve_get (&curve, 5000 * MS, &pose));
  g_assert_true (ndt_pose_curve_get (&curve, 5050 * MS, &pose));

  ndt_pose_curve_init (&curve, poses, 1, 0, 0);
  g_assert_true (ndt_pose_curve_get (&curve, 0, &pose));
  ndt_pose_curve_init (&curve, poses, 0, 0, 0);
  g_assert_false (ndt_pose_curve_get (&curve, 0, &pose));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pose-curve/turning-in", test_turning_in);
  g_test_add_func ("/pose-curve/limits", test_limits);
  return g_test_run ();
}
