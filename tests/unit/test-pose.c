/* SPDX-License-Identifier: MIT */
#include "ndtcore/math/ndt-pose.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "tests/ndt-scene.h"

/* What a handful of operations in double lose at the sizes used here (positions up to 1000 m). */
#define EXACT 1e-12

static void
assert_same (const NdtPose *a, const NdtPose *b, double metres, double radians)
{
  double dm, dr;
  ndt_pose_difference (a, b, &dm, &dr);
  if (!(dm <= metres) || !(dr <= radians))
    g_error ("poses differ by %g m and %g rad", dm, dr);
}

/* R from the matrices of the three axes, in the order of the text: an independent way. */
static void
axis_matrix (int axis, double angle, double m[9])
{
  const int i = (axis + 1) % 3, j = (axis + 2) % 3;
  memset (m, 0, 9 * sizeof (double));
  m[4 * axis] = 1;
  m[4 * i] = m[4 * j] = cos (angle);
  m[3 * j + i] = sin (angle);
  m[3 * i + j] = -sin (angle);
}

static void
multiply (const double a[9], const double b[9], double out[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      out[3 * i + j] = 0;
      for (int k = 0; k < 3; k++)
        out[3 * i + j] += a[3 * i + k] * b[3 * k + j];
    }
}

static void
test_compose (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  const NdtPose identity = NDT_POSE_IDENTITY;
  for (int n = 0; n < 1000; n++) {
    const NdtPose a = ndt_test_random_pose (rand, 100, G_PI), b = ndt_test_random_pose (rand, 9, 3);
    NdtPose ab, inverse, out;
    double m[16], k[16], product[16] = {0}, composed[16], p[3] = {1, -2, 3}, q[3], r[3];

    /* As matrices multiply. */
    ndt_pose_compose (&a, &b, &ab);
    ndt_pose_to_matrix4 (&a, m);
    ndt_pose_to_matrix4 (&b, k);
    ndt_pose_to_matrix4 (&ab, composed);
    for (int i = 0; i < 16; i++) {
      for (int j = 0; j < 4; j++)
        product[i] += m[i / 4 * 4 + j] * k[4 * j + i % 4];
      g_assert_cmpfloat_with_epsilon (product[i], composed[i], EXACT);
    }
    g_assert_cmpfloat (composed[15], ==, 1);
    g_assert_cmpfloat (composed[12], ==, 0);

    /* First b, then a. */
    ndt_pose_transform_point (&b, p, q);
    ndt_pose_transform_point (&a, q, q);
    ndt_pose_transform_point (&ab, p, r);
    for (int i = 0; i < 3; i++)
      g_assert_cmpfloat_with_epsilon (q[i], r[i], EXACT);

    ndt_pose_invert (&a, &inverse);
    ndt_pose_compose (&a, &inverse, &out);
    assert_same (&out, &identity, EXACT, EXACT);
    ndt_pose_between (&a, &ab, &out);
    assert_same (&out, &b, EXACT, EXACT);

    /* The result may be an input. */
    NdtPose alias = a;
    ndt_pose_compose (&alias, &b, &alias);
    g_assert_true (memcmp (&alias, &ab, sizeof alias) == 0);
    alias = b;
    ndt_pose_compose (&a, &alias, &alias);
    g_assert_true (memcmp (&alias, &ab, sizeof alias) == 0);
    alias = a;
    ndt_pose_invert (&alias, &alias);
    g_assert_true (memcmp (&alias, &inverse, sizeof alias) == 0);

    g_assert_true (ndt_pose_from_matrix4 (m, &out));
    assert_same (&out, &a, EXACT, EXACT);
  }
}

/* A drive of 100,000 small steps stays a rotation. */
static void
test_no_drift (void)
{
  const double twist[6] = {0.3, 0.01, -0.002, 0.004, -0.003, 0.02};
  NdtPose pose = NDT_POSE_IDENTITY, step;
  double norm2 = 0;
  ndt_pose_exp (twist, &step);
  for (int i = 0; i < 100000; i++)
    ndt_pose_compose (&pose, &step, &pose);
  for (int i = 0; i < 4; i++)
    norm2 += pose.orientation[i] * pose.orientation[i];
  g_assert_cmpfloat_with_epsilon (norm2, 1, 1e-15);
}

static void
test_log_exp (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  /* Around the borders of the series, and up to a half turn. */
  const double angles[] = {0, 1e-300, 1e-16, 1e-9, 0.99e-8, 1.01e-8, 1e-5, 0.99e-4, 1.01e-4,
      0.99e-3, 1.01e-3, 0.1, 1, 2, 3, G_PI - 1e-3, G_PI - 1e-7, G_PI - 1e-10};
  for (guint n = 0; n < 50 * G_N_ELEMENTS (angles); n++) {
    const double angle = angles[n % G_N_ELEMENTS (angles)];
    double axis[3], twist[6], back[6], norm = 0;
    NdtPose pose, again;
    for (int i = 0; i < 3; i++) {
      axis[i] = g_rand_double_range (rand, -1, 1);
      norm += axis[i] * axis[i];
      twist[i] = g_rand_double_range (rand, -10, 10);
    }
    for (int i = 0; i < 3; i++)
      twist[3 + i] = angle * axis[i] / sqrt (norm);
    ndt_pose_exp (twist, &pose);
    ndt_pose_log (&pose, back);
    for (int i = 0; i < 6; i++)
      g_assert_cmpfloat_with_epsilon (back[i], twist[i], 1e-11);
    ndt_pose_exp (back, &again);
    assert_same (&again, &pose, EXACT, EXACT);

    /* The translation is ∫ R(s ω) ρ ds: by Simpson's rule, whose error here is below 1e-9. */
    double sum[3] = {0, 0, 0};
    const int steps = 200;
    for (int s = 0; s <= steps; s++) {
      const double part[6] = {
          0, 0, 0, twist[3] * s / steps, twist[4] * s / steps, twist[5] * s / steps};
      NdtPose at;
      double v[3];
      ndt_pose_exp (part, &at);
      ndt_pose_transform_point (&at, twist, v);
      const double weight = s == 0 || s == steps ? 1 : s % 2 ? 4 : 2;
      for (int i = 0; i < 3; i++)
        sum[i] += weight * v[i] / (3.0 * steps);
    }
    for (int i = 0; i < 3; i++)
      g_assert_cmpfloat_with_epsilon (sum[i], pose.position[i], 1e-7);
  }
  /* Both signs of a quaternion are one rotation; the angle is at most π. */
  NdtPose turn = {{0, 0, 0}, {0, 0, -sin (0.2), -cos (0.2)}};
  double twist[6];
  ndt_pose_log (&turn, twist);
  g_assert_cmpfloat_with_epsilon (twist[5], 0.4, EXACT);
  const NdtPose half = {{0, 0, 0}, {0, 1, 0, 0}};
  ndt_pose_log (&half, twist);
  g_assert_cmpfloat_with_epsilon (twist[4], G_PI, EXACT);
}

static void
test_retract (void)
{
  const NdtPose pose = {{1, 2, 3}, {0.5, -0.5, 0.5, 0.5}};
  const double delta[6] = {0.1, -0.2, 0.3, 0, 0, G_PI_2};
  NdtPose out;
  double before[3] = {1, 2, 3}, p[3] = {4, 5, 6}, a[3], b[3];
  ndt_pose_retract (&pose, delta, &out);
  ndt_pose_transform_point (&pose, p, a);
  ndt_pose_transform_point (&out, p, b);
  /* About the parent's z through the pose: (x, y) → (−y, x) around its position. */
  const double dx = a[0] - before[0], dy = a[1] - before[1];
  g_assert_cmpfloat_with_epsilon (b[0], before[0] + 0.1 - dy, EXACT);
  g_assert_cmpfloat_with_epsilon (b[1], before[1] - 0.2 + dx, EXACT);
  g_assert_cmpfloat_with_epsilon (b[2], a[2] + 0.3, EXACT);
}

static void
test_interpolate (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  for (int n = 0; n < 1000; n++) {
    NdtPose a = ndt_test_random_pose (rand, 1000, G_PI), b = ndt_test_random_pose (rand, 1000, 3);
    NdtPose out, beyond;
    double m, r, half_m, half_r;
    /* The other sign is the same rotation and must not take the long way. */
    if (n % 2)
      for (int i = 0; i < 4; i++)
        b.orientation[i] = -b.orientation[i];
    ndt_pose_interpolate (&a, &b, 0, &out);
    assert_same (&out, &a, 0, EXACT);
    ndt_pose_interpolate (&a, &b, 1, &out);
    assert_same (&out, &b, EXACT, 1e-11);
    ndt_pose_difference (&a, &b, &m, &r);
    g_assert_cmpfloat (r, <=, G_PI);
    ndt_pose_interpolate (&a, &b, 0.25, &out);
    ndt_pose_difference (&a, &out, &half_m, &half_r);
    g_assert_cmpfloat_with_epsilon (half_m, m / 4, EXACT);
    g_assert_cmpfloat_with_epsilon (half_r, r / 4, 1e-11);
    ndt_pose_difference (&out, &b, NULL, &half_r);
    g_assert_cmpfloat_with_epsilon (half_r, r * 3 / 4, 1e-11);
    /* Beyond the end, then back. */
    ndt_pose_interpolate (&a, &b, 1.25, &beyond);
    ndt_pose_difference (&b, &beyond, NULL, &half_r);
    g_assert_cmpfloat_with_epsilon (half_r, r / 4, 1e-11);
  }
}

typedef void (*FromAngles) (const double *, double, double, double, NdtPose *);
typedef void (*ToAngles) (const NdtPose *, double *, double *, double *);

static void
check_angles (FromAngles from, ToAngles to, gboolean x_first, double roll, double pitch, double yaw)
{
  const double position[3] = {1, 2, 3};
  NdtPose pose, again;
  double mx[9], my[9], mz[9], t[9], expected[9], got[9], r, p, y;
  axis_matrix (0, roll, mx);
  axis_matrix (1, pitch, my);
  axis_matrix (2, yaw, mz);
  multiply (x_first ? mx : mz, my, t);
  multiply (t, x_first ? mz : mx, expected);
  from (position, roll, pitch, yaw, &pose);
  ndt_pose_get_rotation (&pose, got);
  for (int i = 0; i < 9; i++)
    g_assert_cmpfloat_with_epsilon (got[i], expected[i], 1e-14);
  to (&pose, &r, &p, &y);
  g_assert_cmpfloat (fabs (p), <=, G_PI_2 + 1e-15);
  from (position, r, p, y, &again);
  /* Also where roll and yaw turn about the same axis. */
  assert_same (&again, &pose, 0, 1e-14);
  if (fabs (cos (pitch)) > 0.01 && fabs (pitch) < G_PI_2) {
    g_assert_cmpfloat_with_epsilon (p, pitch, 1e-13);
    g_assert_cmpfloat_with_epsilon (remainder (r - roll, 2 * G_PI), 0, 1e-12);
    g_assert_cmpfloat_with_epsilon (remainder (y - yaw, 2 * G_PI), 0, 1e-12);
  }
}

static void
test_euler (void)
{
  const double angles[] = {-G_PI, -3, -G_PI_2, -1, -1e-9, 0, 1e-12, 0.3, G_PI_2 - 1e-8,
      G_PI_2 - 1e-12, G_PI_2, 2, G_PI - 1e-9, G_PI};
  const guint n = G_N_ELEMENTS (angles);
  for (guint i = 0; i < n * n * n; i++) {
    const double r = angles[i % n], p = angles[i / n % n], y = angles[i / n / n];
    check_angles (ndt_pose_from_rpy, ndt_pose_to_rpy, FALSE, r, p, y);
    check_angles (ndt_pose_from_xyz_euler, ndt_pose_to_xyz_euler, TRUE, r, p, y);
  }
}

static void
test_from_matrix (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  NdtPose pose = {{7, 8, 9}, {0, 0, 0, 1}}, out;
  double m[16], r[9];
  /* Half turns, where three of the four quaternion components may vanish. */
  for (int axis = 0; axis < 3; axis++) {
    axis_matrix (axis, G_PI, r);
    for (int i = 0; i < 9; i++)
      m[i / 3 * 4 + i % 3] = r[i];
    m[3] = m[7] = m[11] = m[15] = 1;
    m[12] = m[13] = m[14] = 0;
    g_assert_true (ndt_pose_from_matrix4 (m, &out));
    g_assert_cmpfloat_with_epsilon (fabs (out.orientation[axis]), 1, 1e-15);
  }
  /* Matrices as other programs print them are near rotations only. */
  for (int n = 0; n < 1000; n++) {
    pose = ndt_test_random_pose (rand, 10, G_PI);
    ndt_pose_to_matrix4 (&pose, m);
    for (int i = 0; i < 12; i++)
      m[i] += g_rand_double_range (rand, -1e-4, 1e-4);
    g_assert_true (ndt_pose_from_matrix4 (m, &out));
    assert_same (&out, &pose, 2e-4, 4e-4);
    double norm2 = 0;
    for (int i = 0; i < 4; i++)
      norm2 += out.orientation[i] * out.orientation[i];
    g_assert_cmpfloat_with_epsilon (norm2, 1, 1e-15);
  }
  /* Not rotations. */
  for (int n = 0; n < 12; n++) {
    ndt_pose_to_matrix4 (&pose, m);
    m[n] = n % 2 ? NAN : -INFINITY;
    g_assert_false (ndt_pose_from_matrix4 (m, &out));
  }
  ndt_pose_to_matrix4 (&pose, m);
  for (int i = 0; i < 3; i++)
    m[4 * i] = -m[4 * i]; /* a mirror */
  g_assert_false (ndt_pose_from_matrix4 (m, &out));
  ndt_pose_to_matrix4 (&pose, m);
  for (int i = 0; i < 11; i++)
    m[i] *= i % 4 < 3 ? 1.1 : 1; /* scaled */
  g_assert_false (ndt_pose_from_matrix4 (m, &out));
  /* Of determinant 1. */
  const double stretched[16] = {2, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  const double sheared[16] = {1, 5, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  g_assert_false (ndt_pose_from_matrix4 (stretched, &out));
  g_assert_false (ndt_pose_from_matrix4 (sheared, &out));
  /* Not rigid transforms: a projection, a matrix that is scaled as a whole. */
  static const double last_rows[][4] = {
      {7, 8, 9, 5}, {1, 2, 3, 1}, {0, 0, 0, 2}, {0, 0, 0, NAN}, {1e-5, 0, 0, 1}};
  for (guint i = 0; i < G_N_ELEMENTS (last_rows); i++) {
    ndt_pose_to_matrix4 (&pose, m);
    g_assert_true (ndt_pose_from_matrix4 (m, &out));
    memcpy (m + 12, last_rows[i], sizeof last_rows[i]);
    g_assert_false (ndt_pose_from_matrix4 (m, &out));
  }
}

static void
test_normalize (void)
{
  NdtPose pose = {{1, 2, 3}, {0, 0, 3, 4}}, copy;
  g_assert_true (ndt_pose_normalize (&pose));
  g_assert_cmpfloat_with_epsilon (pose.orientation[2], 0.6, 1e-15);
  g_assert_cmpfloat_with_epsilon (pose.orientation[3], 0.8, 1e-15);
  const NdtPose bad[] = {{{NAN, 0, 0}, {0, 0, 0, 1}}, {{0, INFINITY, 0}, {0, 0, 0, 1}},
      {{0, 0, 0}, {0, 0, 0, 0}}, {{0, 0, 0}, {0, NAN, 0, 1}}, {{0, 0, 0}, {0, 0, -INFINITY, 1}}};
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    copy = bad[i];
    g_assert_false (ndt_pose_normalize (&copy));
    g_assert_true (memcmp (&copy, &bad[i], sizeof copy) == 0);
  }
}

static void
test_difference (void)
{
  const NdtPose a = {{0, 0, 0}, {0, 0, 0, 1}}, b = {{3, 4, 12}, {0, 0, sin (1e-9), -cos (1e-9)}};
  double m, r;
  ndt_pose_difference (&a, &b, &m, &r);
  g_assert_cmpfloat (m, ==, 13);
  /* acos of a dot product would say 0 here. */
  g_assert_cmpfloat_with_epsilon (r, 2e-9, 1e-15);
  ndt_pose_difference (&a, &b, NULL, NULL);
}

static void
test_parse (void)
{
  const struct {
    const gchar *text;
    double roll, pitch, yaw; /* degrees */
  } good[] = {{"1,-2,3.5", 0, 0, 0}, {" 1 -2\t3.5\n", 0, 0, 0}, {"1; -2; 3.5", 0, 0, 0},
      {"1,-2,3.5,90", 0, 0, 90}, {"1,-2,3.5,10,20,30", 10, 20, 30},
      {"+1e0, -2.0 ,3.5,0,0,0,1", 0, 0, 0}, {"1,-2,3.5,0,0,2,2", 0, 0, 90},
      {"1,-2,3.5,0,0,-1,-1", 0, 0, 90}};
  for (guint i = 0; i < G_N_ELEMENTS (good); i++) {
    const double position[3] = {1, -2, 3.5};
    NdtPose pose, expected;
    GError *error = NULL;
    ndt_pose_from_rpy (position, good[i].roll * G_PI / 180, good[i].pitch * G_PI / 180,
        good[i].yaw * G_PI / 180, &expected);
    g_assert_true (ndt_pose_parse (good[i].text, &pose, &error));
    g_assert_no_error (error);
    assert_same (&pose, &expected, 0, EXACT);
  }
  const gchar *const bad[] = {"", " ", ",", "1", "1,2", "1,2,3,4,5", "1,2,3,4,5,6,7,8", "a,b,c",
      "1,2,3x", "1,2,nan", "1,2,inf", "1,2,1e999", "1,2,3,0,0,0,0", "1,2,3,nan,0,0,1", "1,,2,3",
      "1-2-3", "1,2,,90", "1..2,3", ",1,2,3", "1,2,3,"};
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_autoptr (GError) error = NULL;
    NdtPose pose = {{9, 9, 9}, {0, 0, 0, 1}};
    if (ndt_pose_parse (bad[i], &pose, &error))
      g_error ("“%s” was taken for a pose", bad[i]);
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    g_assert_cmpfloat (pose.position[0], ==, 9);
  }
}

/* What is written is read back to the bit. */
static void
test_to_string (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  for (int n = 0; n < 100000; n++) {
    const NdtPose pose = ndt_test_random_pose (rand, 4e6, G_PI);
    g_autofree gchar *text = ndt_pose_to_string (&pose);
    NdtPose back;
    g_assert_true (ndt_pose_parse (text, &back, NULL));
    if (memcmp (&pose, &back, sizeof pose) != 0)
      g_error ("%s changes when it is read", text);
  }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pose/compose", test_compose);
  g_test_add_func ("/pose/no-drift", test_no_drift);
  g_test_add_func ("/pose/log-exp", test_log_exp);
  g_test_add_func ("/pose/retract", test_retract);
  g_test_add_func ("/pose/interpolate", test_interpolate);
  g_test_add_func ("/pose/euler", test_euler);
  g_test_add_func ("/pose/from-matrix", test_from_matrix);
  g_test_add_func ("/pose/normalize", test_normalize);
  g_test_add_func ("/pose/difference", test_difference);
  g_test_add_func ("/pose/parse", test_parse);
  g_test_add_func ("/pose/to-string", test_to_string);
  return g_test_run ();
}
