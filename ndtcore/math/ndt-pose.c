/* SPDX-License-Identifier: MIT */
#include "ndt-pose.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-text.h"
#include "ndt-formulas.h"

void
ndt_pose_set_identity (NdtPose *pose)
{
  const NdtPose identity = NDT_POSE_IDENTITY;
  *pose = identity;
}

void
ndt_pose_compose (const NdtPose *a, const NdtPose *b, NdtPose *out)
{
  *out = ndt_pose_mul (a, b);
}

void
ndt_pose_invert (const NdtPose *pose, NdtPose *out)
{
  *out = ndt_pose_inverse (pose);
}

void
ndt_pose_between (const NdtPose *a, const NdtPose *b, NdtPose *out)
{
  const NdtPose inverse = ndt_pose_inverse (a);
  *out = ndt_pose_mul (&inverse, b);
}

void
ndt_pose_interpolate (const NdtPose *a, const NdtPose *b, double t, NdtPose *out)
{
  /* R(t) = exp (t log (R_b R_aᵀ)) R_a */
  double inverse[4] = {
      -a->orientation[0], -a->orientation[1], -a->orientation[2], a->orientation[3]};
  double dq[4], delta[6];
  ndt_quat_multiply (b->orientation, inverse, dq);
  ndt_quat_log (dq, delta + 3);
  for (int i = 0; i < 3; i++) {
    delta[i] = t * (b->position[i] - a->position[i]);
    delta[3 + i] *= t;
  }
  *out = ndt_pose_retracted (a, delta);
}

void
ndt_pose_log (const NdtPose *pose, double twist[6])
{
  ndt_pose_to_twist (pose, twist);
}

void
ndt_pose_exp (const double twist[6], NdtPose *out)
{
  *out = ndt_pose_from_twist (twist);
}

void
ndt_pose_retract (const NdtPose *pose, const double delta[6], NdtPose *out)
{
  *out = ndt_pose_retracted (pose, delta);
}

void
ndt_pose_transform_point (const NdtPose *pose, const double in[3], double out[3])
{
  ndt_quat_rotate (pose->orientation, in, out);
  for (int i = 0; i < 3; i++)
    out[i] += pose->position[i];
}

void
ndt_pose_get_rotation (const NdtPose *pose, double rotation[9])
{
  ndt_quat_to_matrix (pose->orientation, rotation);
}

void
ndt_pose_to_matrix4 (const NdtPose *pose, double matrix[16])
{
  double r[9];
  ndt_quat_to_matrix (pose->orientation, r);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++)
      matrix[4 * i + j] = r[3 * i + j];
    matrix[4 * i + 3] = pose->position[i];
  }
  matrix[12] = matrix[13] = matrix[14] = 0;
  matrix[15] = 1;
}

/* Shepperd's method: divides by the largest of the four components. */
static void
quat_from_matrix (const double r[9], double q[4])
{
  const double trace = r[0] + r[4] + r[8];
  if (trace >= r[0] && trace >= r[4] && trace >= r[8]) {
    q[3] = 1 + trace;
    q[0] = r[7] - r[5];
    q[1] = r[2] - r[6];
    q[2] = r[3] - r[1];
  } else if (r[0] >= r[4] && r[0] >= r[8]) {
    q[0] = 1 + r[0] - r[4] - r[8];
    q[1] = r[1] + r[3];
    q[2] = r[2] + r[6];
    q[3] = r[7] - r[5];
  } else if (r[4] >= r[8]) {
    q[0] = r[1] + r[3];
    q[1] = 1 - r[0] + r[4] - r[8];
    q[2] = r[5] + r[7];
    q[3] = r[2] - r[6];
  } else {
    q[0] = r[2] + r[6];
    q[1] = r[5] + r[7];
    q[2] = 1 - r[0] - r[4] + r[8];
    q[3] = r[3] - r[1];
  }
  ndt_quat_normalize (q);
}

gboolean
ndt_pose_from_matrix4 (const double matrix[16], NdtPose *out)
{
  double r[9], off = 0;
  for (int i = 0; i < 12; i++)
    if (!isfinite (matrix[i]))
      return FALSE;
  for (int i = 0; i < 4; i++)
    if (!(fabs (matrix[12 + i] - (i == 3)) <= 1e-6))
      return FALSE;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      r[3 * i + j] = matrix[4 * i + j];
  const double det = r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6]) +
                     r[2] * (r[3] * r[7] - r[4] * r[6]);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const double e = r[i] * r[j] + r[3 + i] * r[3 + j] + r[6 + i] * r[6 + j] - (i == j);
      off += e * e;
    }
  if (!(off <= 0.01 * 0.01 && det > 0))
    return FALSE;
  quat_from_matrix (r, out->orientation);
  for (int i = 0; i < 3; i++)
    out->position[i] = matrix[4 * i + 3];
  return TRUE;
}

static void
set_axis_quat (double q[4], int axis, double angle)
{
  q[0] = q[1] = q[2] = 0;
  q[axis] = sin (0.5 * angle);
  q[3] = cos (0.5 * angle);
}

static void
from_three_axes (const double position[3], const double x[4], const double y[4], const double z[4],
    gboolean x_first, NdtPose *out)
{
  double t[4];
  memcpy (out->position, position, sizeof (out->position));
  if (x_first) {
    ndt_quat_multiply (x, y, t);
    ndt_quat_multiply (t, z, out->orientation);
  } else {
    ndt_quat_multiply (z, y, t);
    ndt_quat_multiply (t, x, out->orientation);
  }
  ndt_quat_normalize (out->orientation);
}

static void
from_angles (
    const double position[3], double roll, double pitch, double yaw, gboolean x_first, NdtPose *out)
{
  double x[4], y[4], z[4];
  set_axis_quat (x, 0, roll);
  set_axis_quat (y, 1, pitch);
  set_axis_quat (z, 2, yaw);
  from_three_axes (position, x, y, z, x_first, out);
}

void
ndt_pose_from_xyz_euler (
    const double position[3], double roll, double pitch, double yaw, NdtPose *out)
{
  from_angles (position, roll, pitch, yaw, TRUE, out);
}

void
ndt_pose_to_xyz_euler (const NdtPose *pose, double *roll, double *pitch, double *yaw)
{
  /* The third column of R = Rx Ry Rz gives roll; the rest is read from Rx⁻¹ R = Ry Rz, so that the
   * three fit together also near pitch = ±90°, where roll by itself is determined by rounding. */
  double r[9];
  ndt_quat_to_matrix (pose->orientation, r);
  *roll = atan2 (-r[5], r[8]);
  const double c = cos (*roll), s = sin (*roll);
  *pitch = atan2 (r[2], c * r[8] - s * r[5]);
  *yaw = atan2 (c * r[3] + s * r[6], c * r[4] + s * r[7]);
}

void
ndt_pose_from_rpy (const double position[3], double roll, double pitch, double yaw, NdtPose *out)
{
  from_angles (position, roll, pitch, yaw, FALSE, out);
}

void
ndt_pose_to_rpy (const NdtPose *pose, double *roll, double *pitch, double *yaw)
{
  /* As above with R = Rz Ry Rx: the last row gives roll, R Rx⁻¹ = Rz Ry the rest. */
  double r[9];
  ndt_quat_to_matrix (pose->orientation, r);
  *roll = atan2 (r[7], r[8]);
  const double c = cos (*roll), s = sin (*roll);
  *pitch = atan2 (-r[6], c * r[8] + s * r[7]);
  *yaw = atan2 (s * r[2] - c * r[1], c * r[4] - s * r[5]);
}

gboolean
ndt_pose_normalize (NdtPose *pose)
{
  double n2 = 0;
  for (int i = 0; i < 3; i++)
    if (!isfinite (pose->position[i]))
      return FALSE;
  for (int i = 0; i < 4; i++)
    n2 += pose->orientation[i] * pose->orientation[i];
  if (!isfinite (n2) || n2 < 1e-12)
    return FALSE;
  ndt_quat_normalize (pose->orientation);
  return TRUE;
}

void
ndt_pose_difference (const NdtPose *a, const NdtPose *b, double *metres, double *radians)
{
  if (metres) {
    double d2 = 0;
    for (int i = 0; i < 3; i++) {
      const double d = a->position[i] - b->position[i];
      d2 += d * d;
    }
    *metres = sqrt (d2);
  }
  if (radians) {
    NdtPose d;
    double w[3];
    ndt_pose_between (a, b, &d);
    ndt_quat_log (d.orientation, w);
    *radians = sqrt (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
  }
}

gboolean
ndt_pose_parse (const gchar *text, NdtPose *out, GError **error)
{
  double v[7];
  g_return_val_if_fail (text != NULL, FALSE);
  const gint n = ndt_text_parse_numbers (text, v, G_N_ELEMENTS (v));
  if (n == 3 || n == 4 || n == 6) {
    const double to_rad = G_PI / 180;
    const double roll = n == 6 ? v[3] * to_rad : 0, pitch = n == 6 ? v[4] * to_rad : 0;
    const double yaw = n == 6 ? v[5] * to_rad : n == 4 ? v[3] * to_rad : 0;
    ndt_pose_from_rpy (v, roll, pitch, yaw, out);
    return TRUE;
  }
  if (n == 7) {
    NdtPose pose;
    memcpy (pose.position, v, sizeof (pose.position));
    memcpy (pose.orientation, v + 3, sizeof (pose.orientation));
    /* A unit quaternion is not scaled, so that text is read back to the same bits. */
    const double *q = pose.orientation;
    const double n2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (fabs (n2 - 1) < 1e-15 || ndt_pose_normalize (&pose)) {
      *out = pose;
      return TRUE;
    }
  }
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
      "“%s” is no pose: give x,y,z[,yaw] or x,y,z,roll,pitch,yaw (metres, degrees) or "
      "x,y,z,qx,qy,qz,qw",
      text);
  return FALSE;
}

gchar *
ndt_pose_to_string (const NdtPose *pose)
{
  GString *s = g_string_new (NULL);
  gchar buffer[G_ASCII_DTOSTR_BUF_SIZE];
  for (guint i = 0; i < 7; i++) {
    const double v = i < 3 ? pose->position[i] : pose->orientation[i - 3];
    g_string_append_printf (s, "%s%s", i ? "," : "", g_ascii_dtostr (buffer, sizeof (buffer), v));
  }
  return g_string_free (s, FALSE);
}
