/* SPDX-License-Identifier: MIT */
/* Pose files of other programs: columns by their names, units, and what is refused. */
#include <math.h>
#include <string.h>

#include "ndtcore/posefile/ndt-trajectory.h"
#include "tests/ndt-test.h"

static NdtTrajectory *
parse (const gchar *text, GError **error)
{
  return ndt_trajectory_parse (text, strlen (text), "poses", NDT_TRAJECTORY_AUTO, error);
}

/* Position (1, 2, 3) and a quaternion of four different parts at 1.5 s, or at 1403636580.5 s. */
static void
check_pose (const NdtTrajectory *trajectory)
{
  const NdtPose *pose = ndt_trajectory_get_pose (trajectory, 0);
  g_assert_nonnull (pose);
  for (guint k = 0; k < 3; k++)
    g_assert_cmpfloat (pose->position[k], ==, k + 1);
  static const double q[4] = {0.1, 0.2, 0.3, 0.9273618495495704};
  for (guint k = 0; k < 4; k++)
    g_assert_cmpfloat_with_epsilon (pose->orientation[k], q[k], 1e-12);
}

#define XYZQ "1,2,3,0.1,0.2,0.3,0.9273618495495704"
#define WXYZ "1,2,3,0.9273618495495704,0.1,0.2,0.3"
#define EPOCH G_GINT64_CONSTANT (1403636580500000000)
#define SHORT G_GINT64_CONSTANT (1500000000)
#define NO_TIME G_MININT64

static void
test_read (void)
{
  static const struct {
    const gchar *text;
    gint64 time;
    const gchar *said;
  } cases[] = {
      /* EuRoC: state estimates of the ground truth, and of a tracker. */
      {"#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], "
       "q_RS_z [], v_RS_R_x [m s^-1], b_w_RS_S_x [rad s^-1]\n1403636580500000000," WXYZ ",7,8\n",
          EPOCH, "nanoseconds, by their size"},
      {"#timestamp [ns], p_x [m], p_y [m], p_z [m], q_w [], q_x [], q_y [], q_z []\n"
       "1403636580500000000," WXYZ "\n",
          EPOCH, "'timestamp [ns]' in nanoseconds, position"},
      {"#timestamp [ns], p_x [m], p_y [m], p_z [m], q_w [], q_x [], q_y [], q_z []\n"
       "1500000000," WXYZ "\n",
          SHORT, "(w first)"},
      /* Newer College, MCD. */
      {"#sec,nsec,x,y,z,qx,qy,qz,qw\n1403636580,500000000," XYZQ "\n", EPOCH, "'nsec'"},
      {"# nsec, sec,x,y,z,qx,qy,qz,qw\n500000000,1," XYZQ "\n", SHORT, "'sec' in seconds"},
      {"num,t,x,y,z,qx,qy,qz,qw\n7,1.5," XYZQ "\n", SHORT, "'t' in seconds"},
      {"num, t, x, y, z, qx, qy, qz, qw\n7, 1403636580.5," XYZQ "\n", EPOCH, "seconds"},
      /* Ours with blanks, tabs, semicolons, quotes, a mark, Windows' line ends, an empty cell. */
      {"\xef\xbb\xbftime,x,y,z,qx,qy,qz,qw\r\n1.5," XYZQ "\r\n", SHORT, "seconds"},
      {"\xef\xbb\xbf#time,x,y,z,qx,qy,qz,qw\n1.5," XYZQ "\n", SHORT, "seconds"},
      {"time , x , y , z , qx , qy , qz , qw\n 1.5 , " XYZQ "\n", SHORT, "seconds"},
      {"time;x;y;z;qx;qy;qz;qw\n1.5;1;2;3;0.1;0.2;0.3;0.9273618495495704\n", SHORT, "seconds"},
      {"\"time\",\"x\",\"y\",\"z\",\"qx\",\"qy\",\"qz\",\"qw\"\n\"1.5\"," XYZQ "\n", SHORT,
          "'time'"},
      {"time,x,y,z,qx,qy,qz,qw,\n1.5," XYZQ ",\n", SHORT, "seconds"},
      {"x,y,z,qx,qy,qz,qw\n" XYZQ "\n", NO_TIME, "no times"},
      /* White space with names: TUM, and w first. */
      {"# timestamp tx ty tz qx qy qz qw\n1.5 1 2 3 0.1 0.2 0.3 0.9273618495495704\n", SHORT,
          "TUM"},
      {"timestamp tx ty tz qx qy qz qw\n1.5 1 2 3 0.1 0.2 0.3 0.9273618495495704\n", SHORT, "TUM"},
      {"# timestamp [s] tx [m] ty [m] tz [m] qx [] qy [] qz [] qw []\n"
       "1.5\t1\t2\t3\t0.1\t0.2\t0.3\t0.9273618495495704\n",
          SHORT, "TUM"},
      {"# a run of the tracker, x y z in the map\n# time x y z qw qx qy qz\n"
       "1.5 1 2 3 0.9273618495495704 0.1 0.2 0.3\n",
          SHORT, "(w first)"},
      {"1403636580500000000 1 2 3 0.1 0.2 0.3 0.9273618495495704\n", EPOCH,
          "TUM: times in nanoseconds, by their size"},
      {"1.4036365805e+18 1 2 3 0.1 0.2 0.3 0.9273618495495704\n", EPOCH, "nanoseconds"},
      {"1403636580500000 1 2 3 0.1 0.2 0.3 0.9273618495495704\n", EPOCH, "microseconds"},
      /* Units by name. */
      {"time_ns,x,y,z,qx,qy,qz,qw\n1500000000," XYZQ "\n", SHORT, "'time_ns' in nanoseconds,"},
      {"timestamp_us,x,y,z,qx,qy,qz,qw\n1500000," XYZQ "\n", SHORT, "microseconds"},
      {"time (ms),x,y,z,qx,qy,qz,qw\n1500," XYZQ "\n", SHORT, "milliseconds"},
      {"t [\xc2\xb5s],x,y,z,qx,qy,qz,qw\n1500000," XYZQ "\n", SHORT, "microseconds"},
      {"Stamp.Sec,Stamp.NanoSec,X,Y,Z,QX,QY,QZ,QW\n1,500000000," XYZQ "\n", SHORT, "nanoseconds"},
      {"tv_sec,tv_usec,x,y,z,qx,qy,qz,qw\n1,500000," XYZQ "\n", SHORT, "microseconds"},
      /* ROS: the stamp of the header, not of the receiver. */
      {"%time,field.header.seq,field.header.stamp,field.pose.pose.position.x,"
       "field.pose.pose.position.y,field.pose.pose.position.z,field.pose.pose.orientation.x,"
       "field.pose.pose.orientation.y,field.pose.pose.orientation.z,field.pose.pose.orientation.w,"
       "field.twist.twist.linear.x\n1403636599000000000,5,1403636580500000000," XYZQ ",9\n",
          EPOCH, "'field.header.stamp'"},
      {"__time,/odom/header/stamp/sec,/odom/header/stamp/nanosec,/odom/pose/pose/position/x,"
       "/odom/pose/pose/position/y,/odom/pose/pose/position/z,/odom/pose/pose/orientation/x,"
       "/odom/pose/pose/orientation/y,/odom/pose/pose/orientation/z,/odom/pose/pose/orientation/w,"
       "/odom/twist/twist/linear/x\n99,1403636580,500000000," XYZQ ",9\n",
          EPOCH, "nanosec"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (NdtTrajectory) trajectory = parse (cases[i].text, &error);
    if (!trajectory)
      g_error ("case %u: %s", i, error->message);
    check_pose (trajectory);
    g_assert_true (ndt_trajectory_has_times (trajectory) == (cases[i].time != NO_TIME));
    if (cases[i].time != NO_TIME)
      g_assert_cmpint (ndt_trajectory_get_time (trajectory, 0), ==, cases[i].time);
    const gchar *said = ndt_trajectory_get_description (trajectory);
    if (!strstr (said, cases[i].said))
      g_error ("case %u: '%s' is not in '%s'", i, cases[i].said, said);
  }
}

static void
test_refused (void)
{
  static const struct {
    const gchar *text, *because;
  } cases[] = {
      {"1.5," XYZQ "\n", "line 1: has 8 numbers by ',' and no line of names"},
      {"1,2,3,4,5\n", "names no column 'x' and has 5 columns"},
      {"time,lat,lon,alt\n1,2,3,4\n", "line 1: names no column 'x'"},
      {"time,x,y,z,q0,q1,q2,q3\n1.5," XYZQ "\n", "numbers the parts of its quaternion"},
      {"time,x,y,z,roll,pitch,yaw\n1.5,1,2,3,0,0,0\n", "angles"},
      {"#time,x,y,z,roll,pitch,yaw\n1.5,1,2,3,0,0,0\n", "angles"},
      {"time,x,y,z,qx,qy,qz\n1.5,1,2,3,0,0,0\n", "names no column 'qw'; it names time, x"},
      {"nsec,x,y,z,qx,qy,qz,qw\n1500000000," XYZQ "\n", "'nsec' without a column of seconds"},
      {"time,timestamp,x,y,z,qx,qy,qz,qw\n1,1," XYZQ "\n", "names a time twice"},
      {"x,tx,y,z,qx,qy,qz,qw\n1," XYZQ "\n", "names a column twice, 'x' and 'tx'"},
      {"time,x [mm],y [mm],z [mm],qx,qy,qz,qw\n1.5," XYZQ "\n", "positions in 'mm'"},
      {"sec,nsec,x,y,z,qx,qy,qz,qw\n1,1500000000," XYZQ "\n", "line 2: '1' and '1500000000'"},
      {"sec,nsec,x,y,z,qx,qy,qz,qw\n1.5,500000000," XYZQ "\n", "line 2: '1.5' and"},
      {"time,x,y,z,qx,qy,qz,qw\n0," XYZQ "\n100000000," XYZQ "\n", "whole numbers, 1e+08 apart"},
      {"0 1 2 3 0 0 0 1\n100000 1 2 3 0 0 0 1\n", "whole numbers, 100000 apart"},
      {"time,x,y,z,qx,qy,qz,qw\n0," XYZQ "\n20000000000," XYZQ "\n", "its unit is not given"},
      {"time,x,y,z,qx,qy,qz,qw\n300000000000000000000," XYZQ "\n", "its unit is not given"},
      {"time;x;y;z;qx;qy;qz;qw\n1,5;1;2;3;0;0;0;1\n", "line 2: '1,5' is not a time in seconds"},
      {"time;x;y;z;qx;qy;qz;qw\n1;1,5;2;3;0;0;0;1\n", "decimal comma"},
      {"\xff\xfet\0", "UTF-16"},
      /* Positions: an absurd unit, or another column's numbers. */
      {"time,x,y,z,qx,qy,qz,qw\n1.5,1,1e300,3,0,0,0,1\n", "line 2: a position has the coordinate"},
      {"0 1 2 -2.2e7 0 0 0 1\n", "line 1: a position has the coordinate -2.2e+07"},
      {"1 0 0 1 0 1 0 1e9 0 0 1 1\n", "line 1: a position has the coordinate 1e+09"},
      {"time,x,y,z,qx,qy,qz,qw\n1.5,1,2,3,0,0,0,0.5\n", "line 2: the quaternion has length 0.5"},
      {"1 2 0 0 1 0 1 0 1 0 0 1 1\n", "columns"},
      {"0 1 0 1 1 0 0 1 0 0 1 1\n", "no rigid transform"},
      {"time,x,y,z,qx,qy,qz,qw\n1.5,1,2,3,0,0,0\n",
          "line 2: has 7 columns where the line of names has 8"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_null (parse (cases[i].text, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
    if (!strstr (error->message, cases[i].because))
      g_error ("case %u: '%s' is not in '%s'", i, cases[i].because, error->message);
  }
}

/* A row without a pose: nan, as programs of Python write it. */
static void
test_nan (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtTrajectory) trajectory =
      parse ("time,x,y,z,qx,qy,qz,qw\n1.5," XYZQ "\n2,nan,NaN,nan,nan,nan,nan,nan\n", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ndt_trajectory_get_n_poses (trajectory), ==, 2);
  g_assert_null (ndt_trajectory_get_pose (trajectory, 1));
}

/* One trajectory in the headers of others. */
static void
test_files (void)
{
  static const struct {
    const gchar *name;
    gint64 first;
  } cases[] = {{"euroc", G_GINT64_CONSTANT (1403636580000000000)}, {"newer_college", 0},
      {"mcd_num_t", 0}, {"bom", 0}, {"hash_time", 0}, {"spaces8", 0}, {"spaces12", 0}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *name = g_strdup_printf ("cases/csv_headers/%s.csv", cases[i].name);
    g_autofree gchar *path = ndt_test_data (name);
    if (!path) {
      g_test_skip ("no cases in NDT_TEST_DATA");
      return;
    }
    g_autoptr (GError) error = NULL;
    g_autoptr (NdtTrajectory) trajectory = ndt_trajectory_load (path, NDT_TRAJECTORY_AUTO, &error);
    g_assert_no_error (error);
    g_test_message ("%s: %s", cases[i].name, ndt_trajectory_get_description (trajectory));
    g_assert_cmpuint (ndt_trajectory_get_n_poses (trajectory), ==, 30);
    for (guint k = 0; k < 30; k++)
      g_assert_cmpint (ndt_trajectory_get_time (trajectory, k), ==, cases[i].first + k * 100000000);
    const NdtPose *pose = ndt_trajectory_get_pose (trajectory, 1);
    g_assert_cmpfloat (pose->position[0], ==, 1.599999999999999);
    g_assert_cmpfloat_with_epsilon (pose->orientation[0], 0.0013330978050288059, 1e-15);
    g_assert_cmpfloat_with_epsilon (pose->orientation[3], 0.9999984425765439, 1e-15);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trajectory-names/read", test_read);
  g_test_add_func ("/trajectory-names/refused", test_refused);
  g_test_add_func ("/trajectory-names/nan", test_nan);
  g_test_add_func ("/trajectory-names/files", test_files);
  return g_test_run ();
}
