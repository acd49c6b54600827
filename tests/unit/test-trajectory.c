/* SPDX-License-Identifier: MIT */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ndtcore/posefile/ndt-trajectory.h"
#include "tests/ndt-test.h"

static NdtTrajectory *
load_text (const gchar *text, NdtTrajectoryFormat format, GError **error)
{
  g_autofree gchar *path = NULL;
  g_close (g_file_open_tmp ("ndt-trajectory-XXXXXX", &path, NULL), NULL);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  NdtTrajectory *trajectory = ndt_trajectory_load (path, format, error);
  g_unlink (path);
  return trajectory;
}

static NdtTrajectory *
load_good (const gchar *text, NdtTrajectoryFormat format)
{
  GError *error = NULL;
  NdtTrajectory *trajectory = load_text (text, format, &error);
  g_assert_no_error (error);
  return trajectory;
}

static void
test_tum (void)
{
  g_autoptr (NdtTrajectory) trajectory =
      load_good ("# a comment\r\n-1.5 1 2 3 0 0 0 1\r\n\n"
                 "1e1 0 0 0 0 0 0 1\n  1630577759.068947123\t4 5 6 0 0 0.7071 0.7071",
          NDT_TRAJECTORY_TUM);
  g_assert_cmpuint (ndt_trajectory_get_n_poses (trajectory), ==, 3);
  g_assert_true (ndt_trajectory_has_times (trajectory));
  g_assert_cmpint (ndt_trajectory_get_time (trajectory, 0), ==, -1500000000);
  g_assert_cmpint (ndt_trajectory_get_time (trajectory, 1), ==, 10000000000);
  g_assert_cmpint (
      ndt_trajectory_get_time (trajectory, 2), ==, G_GINT64_CONSTANT (1630577759068947123));
  const NdtPose *pose = ndt_trajectory_get_pose (trajectory, 2);
  g_assert_cmpfloat (pose->position[2], ==, 6);
  /* Scaled to unit length. */
  g_assert_cmpfloat_with_epsilon (pose->orientation[2], sqrt (0.5), 1e-15);
}

static void
test_refusals (void)
{
  static const struct {
    NdtTrajectoryFormat format;
    const gchar *text, *because;
  } cases[] = {
      {NDT_TRAJECTORY_AUTO, "", "has no poses"},
      {NDT_TRAJECTORY_AUTO, "# only\n\n", "has no poses"},
      {NDT_TRAJECTORY_AUTO, "1 2 3\n", "line 1: names no column 'x'"},
      {NDT_TRAJECTORY_TUM, "\n1 0 0 0 0 0 0\n", "line 2: has 7 columns"},
      {NDT_TRAJECTORY_AUTO, "1 0 0 0 0 0 0 1\n2 0 0 0 0 0 0\n", "line 2: has 7 columns"},
      {NDT_TRAJECTORY_AUTO, "1 0 0 0 0 0 0 1\n0.9 0 0 0 0 0 0 1\n", "line 2: its time is before"},
      {NDT_TRAJECTORY_AUTO, "1 0 0 zero 0 0 0 1\n", "line 1: 'zero' is not a number"},
      {NDT_TRAJECTORY_AUTO, "nan 0 0 0 0 0 0 1\n", "'nan' is not a time"},
      {NDT_TRAJECTORY_AUTO, "1 0 0 0 0 0 0 0.9\n", "length 0.9"},
      {NDT_TRAJECTORY_AUTO, "1 0 0 0 0 0 0 0\n", "length 0"},
      {NDT_TRAJECTORY_AUTO, "1 nan 0 0 0 0 0 1\n", "finite"},
      {NDT_TRAJECTORY_AUTO, "1 0 inf 0 0 0 0 1\n", "finite"},
      {NDT_TRAJECTORY_KITTI, "1 0 0 0 0 0 0 1\n", "8 columns, not the 12"},
      {NDT_TRAJECTORY_AUTO, "1 0 0 0 0 1 0 0 0 0 2 0\n", "line 1: is no rigid transform"},
      {NDT_TRAJECTORY_AUTO, "1 0 0 0 0 1 0 0 0 0 1 nan\n", "is no rigid transform"},
      {NDT_TRAJECTORY_CSV, "time,x,y,z,qx,qy,qz\n", "line 1: names no column 'qw'"},
      {NDT_TRAJECTORY_CSV, "x,y,z,qx,qy,qz,qw\n1,2,3,0,0,0\n", "line 2: has 6 columns"},
      {NDT_TRAJECTORY_CSV, "x,y,z,qx,qy,qz,qw\n1,2,,0,0,0,1\n", "line 2: '' is not a number"},
      {NDT_TRAJECTORY_CSV, "x,y,z,qx,qy,qz,qw\n", "has no poses"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_null (load_text (cases[i].text, cases[i].format, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
    if (!strstr (error->message, cases[i].because))
      g_error ("'%s' is not in '%s'", cases[i].because, error->message);
  }
  g_autoptr (GError) error = NULL;
  g_assert_null (ndt_trajectory_load ("/nonexistent", NDT_TRAJECTORY_AUTO, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_IO);
}

static void
test_kitti (void)
{
  g_autoptr (NdtTrajectory) trajectory =
      load_good ("0 -1 0 1 1 0 0 2 0 0 1 3\nnan nan nan nan nan nan nan nan nan nan nan nan\n"
                 "1 0 0 4 0 1 0 5 0 0 1 6\n",
          NDT_TRAJECTORY_AUTO);
  NdtPose pose;
  g_assert_cmpint (ndt_trajectory_get_format (trajectory), ==, NDT_TRAJECTORY_KITTI);
  g_assert_false (ndt_trajectory_has_times (trajectory));
  g_assert_false (ndt_trajectory_interpolate (trajectory, 0, 0, &pose));
  g_assert_cmpuint (ndt_trajectory_get_n_poses (trajectory), ==, 3);
  const NdtPose *first = ndt_trajectory_get_pose (trajectory, 0);
  g_assert_cmpfloat (first->position[2], ==, 3);
  /* A quarter turn about z. */
  g_assert_cmpfloat_with_epsilon (first->orientation[2], sqrt (0.5), 1e-15);
  g_assert_cmpfloat_with_epsilon (first->orientation[3], sqrt (0.5), 1e-15);
  g_assert_null (ndt_trajectory_get_pose (trajectory, 1));
  g_assert_cmpfloat (ndt_trajectory_get_pose (trajectory, 2)->position[0], ==, 4);
}

static void
test_csv (void)
{
  g_autoptr (NdtTrajectory) trajectory =
      load_good ("name, Timestamp,qw,qx,qy,qz,tx,ty,tz\na,0.5,1,0,0,0,1,2,3\nb,1.5,,,,,,,\n"
                 "c, 2.5 ,1,0,0,0,4,5,6\n",
          NDT_TRAJECTORY_AUTO);
  NdtPose pose;
  g_assert_cmpint (ndt_trajectory_get_format (trajectory), ==, NDT_TRAJECTORY_CSV);
  g_assert_cmpuint (ndt_trajectory_get_n_poses (trajectory), ==, 3);
  g_assert_true (ndt_trajectory_has_times (trajectory));
  g_assert_null (ndt_trajectory_get_pose (trajectory, 1));
  g_assert_cmpint (ndt_trajectory_get_time (trajectory, 2), ==, 2500000000);
  g_assert_cmpfloat (ndt_trajectory_get_pose (trajectory, 2)->position[1], ==, 5);
  /* What is not there is not bridged. */
  g_assert_true (ndt_trajectory_interpolate (trajectory, 500000000, 0, &pose));
  g_assert_false (ndt_trajectory_interpolate (trajectory, 1000000000, 0, &pose));
  g_assert_false (ndt_trajectory_interpolate (trajectory, 1500000000, 0, &pose));
  g_assert_false (ndt_trajectory_interpolate (trajectory, 2000000000, 0, &pose));
}

static void
test_interpolate (void)
{
  /* Times beyond what a double holds to the nanosecond, and a quaternion of the other sign. */
  g_autoptr (NdtTrajectory) trajectory =
      load_good ("1630577759.000000001 0 0 0 0 0 0 1\n1630577760.000000001 10 0 0 0 0 "
                 "-0.70710678 -0.70710678\n1630577760.000000001 10 0 0 0 0 0.70710678 "
                 "0.70710678\n1630577765 20 0 0 0 0 0.70710678 0.70710678\n",
          NDT_TRAJECTORY_AUTO);
  const gint64 t0 = G_GINT64_CONSTANT (1630577759000000001);
  NdtPose pose;
  double yaw, other;
  g_assert_cmpint (ndt_trajectory_get_time (trajectory, 0), ==, t0);
  g_assert_false (ndt_trajectory_interpolate (trajectory, t0 - 1, 0, &pose));
  g_assert_true (ndt_trajectory_interpolate (trajectory, t0, 0, &pose));
  g_assert_cmpfloat (pose.position[0], ==, 0);
  g_assert_true (ndt_trajectory_interpolate (trajectory, t0 + 250000000, 0, &pose));
  g_assert_cmpfloat_with_epsilon (pose.position[0], 2.5, 1e-12);
  ndt_pose_to_rpy (&pose, &other, &other, &yaw);
  /* A quarter of a quarter turn, the shorter way. */
  g_assert_cmpfloat_with_epsilon (yaw, G_PI / 8, 1e-12);
  g_assert_true (ndt_trajectory_interpolate (trajectory, t0 + 1000000000, 0, &pose));
  g_assert_cmpfloat (pose.position[0], ==, 10);
  /* The gap of five seconds. */
  g_assert_true (ndt_trajectory_interpolate (trajectory, t0 + 2000000000, 0, &pose));
  g_assert_true (ndt_trajectory_interpolate (trajectory, t0 + 2000000000, 5000000000, &pose));
  g_assert_false (ndt_trajectory_interpolate (trajectory, t0 + 2000000000, 4000000000, &pose));
  g_assert_true (
      ndt_trajectory_interpolate (trajectory, G_GINT64_CONSTANT (1630577765000000000), 1, &pose));
  g_assert_false (
      ndt_trajectory_interpolate (trajectory, G_GINT64_CONSTANT (1630577765000000001), 0, &pose));
}

/* Random poses, some of them missing, written and read back. */
static void
test_round_trip (gconstpointer format_pointer)
{
  const NdtTrajectoryFormat format = (NdtTrajectoryFormat)GPOINTER_TO_INT (format_pointer);
  const guint n = 200;
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GString) text = g_string_new (NULL);
  NdtPose poses[200];
  gint64 times[200];
  guint n_written = 0;
  ndt_trajectory_write_header (text, format);
  for (guint i = 0; i < n; i++) {
    double twist[6];
    for (guint k = 0; k < 6; k++)
      twist[k] = g_rand_double_range (rand, -1.7, 1.7);
    ndt_pose_exp (twist, &poses[i]);
    poses[i].position[0] += 588348.9;
    times[i] = (i == 0 ? -5 : G_GINT64_CONSTANT (1700000000000000000)) + (gint64)i * 99999999;
    NdtTrajectoryRecord record = {.index = i,
        .time = times[i],
        .status = "tracking",
        .pose = i % 7 == 3 ? NULL : &poses[i],
        .nvtl = 0.1 * i,
        .has_error = i % 2 == 0,
        .error_m = 0.01};
    n_written += format != NDT_TRAJECTORY_TUM || record.pose;
    ndt_trajectory_write_line (text, format, &record);
  }

  g_autoptr (NdtTrajectory) trajectory = load_good (text->str, NDT_TRAJECTORY_AUTO);
  g_assert_cmpint (ndt_trajectory_get_format (trajectory), ==, format);
  g_assert_cmpuint (ndt_trajectory_get_n_poses (trajectory), ==, n_written);
  for (guint i = 0, k = 0; i < n; i++) {
    if (format == NDT_TRAJECTORY_TUM && i % 7 == 3)
      continue;
    const NdtPose *pose = ndt_trajectory_get_pose (trajectory, k);
    if (format != NDT_TRAJECTORY_KITTI)
      g_assert_cmpint (ndt_trajectory_get_time (trajectory, k), ==, times[i]);
    k++;
    if (i % 7 == 3) {
      g_assert_null (pose);
      continue;
    }
    double metres, radians;
    ndt_pose_difference (pose, &poses[i], &metres, &radians);
    g_assert_cmpfloat (metres, ==, 0);
    /* Normalizing and the matrix each round at 1e-16; the angle is twice its sine. */
    g_assert_cmpfloat (radians, <, 1e-14);
  }
}

static void
test_errors (void)
{
  NdtPoseErrors errors = {0};
  NdtPose truth = NDT_POSE_IDENTITY, pose = NDT_POSE_IDENTITY;
  double metres, radians;
  ndt_pose_errors_add (&errors, &pose, &truth, &metres, &radians);
  g_assert_cmpfloat (metres, ==, 0);
  pose.position[0] = 3;
  pose.position[1] = -4;
  const double position[3] = {3, -4, 0};
  ndt_pose_from_rpy (position, 0, 0, 0.2, &pose);
  ndt_pose_errors_add (&errors, &pose, &truth, &metres, NULL);
  g_assert_cmpuint (errors.n, ==, 2);
  g_assert_cmpfloat (metres, ==, 5);
  g_assert_cmpfloat (errors.sum_m, ==, 5);
  g_assert_cmpfloat (errors.max_m, ==, 5);
  g_assert_cmpfloat (errors.sum_squares_m, ==, 25);
  g_assert_cmpfloat_with_epsilon (errors.max_rad, 0.2, 1e-12);
}

static void
test_real_files (void)
{
  static const struct {
    const gchar *name;
    gsize n;
    gint64 first;
  } cases[] = {{"seq_kitti_drive0005/poses.txt", 50, 100000000},
      {"seq_balm_os0/poses.txt", 50, G_GINT64_CONSTANT (1630577759068947000)}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GError *error = NULL;
    g_autofree gchar *path = ndt_test_data (cases[i].name);
    if (!path) {
      g_test_skip ("no sequences in NDT_TEST_DATA");
      return;
    }
    g_autoptr (NdtTrajectory) trajectory = ndt_trajectory_load (path, NDT_TRAJECTORY_AUTO, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (ndt_trajectory_get_n_poses (trajectory), ==, cases[i].n);
    g_assert_cmpint (ndt_trajectory_get_time (trajectory, 0), ==, cases[i].first);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trajectory/tum", test_tum);
  g_test_add_func ("/trajectory/kitti", test_kitti);
  g_test_add_func ("/trajectory/csv", test_csv);
  g_test_add_func ("/trajectory/refusals", test_refusals);
  g_test_add_func ("/trajectory/interpolate", test_interpolate);
  g_test_add_func ("/trajectory/errors", test_errors);
  g_test_add_func ("/trajectory/real-files", test_real_files);
  g_test_add_data_func (
      "/trajectory/round-trip/tum", GINT_TO_POINTER (NDT_TRAJECTORY_TUM), test_round_trip);
  g_test_add_data_func (
      "/trajectory/round-trip/kitti", GINT_TO_POINTER (NDT_TRAJECTORY_KITTI), test_round_trip);
  g_test_add_data_func (
      "/trajectory/round-trip/csv", GINT_TO_POINTER (NDT_TRAJECTORY_CSV), test_round_trip);
  return g_test_run ();
}
