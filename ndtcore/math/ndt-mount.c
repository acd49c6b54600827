/* SPDX-License-Identifier: MIT */
#include "ndt-mount.h"

#include "ndt-formulas.h"

NdtPose
ndt_mount_sensor_of_body (const NdtPose *mount, const NdtPose *body)
{
  return mount ? ndt_pose_mul (body, mount) : *body;
}

NdtPose
ndt_mount_body_of_sensor (const NdtPose *mount, const NdtPose *sensor)
{
  if (!mount)
    return *sensor;
  const NdtPose inverse = ndt_pose_inverse (mount);
  return ndt_pose_mul (sensor, &inverse);
}

/* l: from the sensor to the body, in the parent's axes. A rotation by ω about the sensor moves the
 * body by ω × l. */
static void
get_lever (const NdtPose *mount, const NdtPose *sensor, double l[3])
{
  const NdtPose body = ndt_mount_body_of_sensor (mount, sensor);
  for (guint k = 0; k < 3; k++)
    l[k] = body.position[k] - sensor->position[k];
}

void
ndt_mount_twist_to_body (const NdtPose *mount, const NdtPose *sensor, double twist[6])
{
  const double *w = twist + 3;
  double l[3];
  if (!mount)
    return;
  get_lever (mount, sensor, l);
  for (guint k = 0; k < 3; k++) {
    const guint a = (k + 1) % 3, b = (k + 2) % 3;
    twist[k] += w[a] * l[b] - w[b] * l[a];
  }
}

void
ndt_mount_covariance_to_body (const NdtPose *mount, const NdtPose *sensor, double covariance[36])
{
  double j[36] = {0}, t[36], l[3];
  if (!mount)
    return;
  get_lever (mount, sensor, l);
  for (guint i = 0; i < 6; i++)
    j[7 * i] = 1;
  j[4] = l[2];
  j[5] = -l[1];
  j[9] = -l[2];
  j[11] = l[0];
  j[15] = l[1];
  j[16] = -l[0];
  for (guint a = 0; a < 6; a++)
    for (guint b = 0; b < 6; b++) {
      t[6 * a + b] = 0;
      for (guint k = 0; k < 6; k++)
        t[6 * a + b] += j[6 * a + k] * covariance[6 * k + b];
    }
  for (guint a = 0; a < 6; a++)
    for (guint b = 0; b < 6; b++) {
      covariance[6 * a + b] = 0;
      for (guint k = 0; k < 6; k++)
        covariance[6 * a + b] += t[6 * a + k] * j[6 * b + k];
    }
}
