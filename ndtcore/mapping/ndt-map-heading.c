/* SPDX-License-Identifier: MIT */
#include "ndt-map-heading.h"

#include <math.h>

double
ndt_map_find_heading (const double *from, const double *to, guint n, NdtPose *transform)
{
  static const double none[3] = {0, 0, 0};
  double mean[2][3] = {{0, 0, 0}, {0, 0, 0}}, along = 0, across = 0, extent = 0, moved[3];
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < 3; k++) {
      mean[0][k] += from[3 * i + k] / n;
      mean[1][k] += to[3 * i + k] / n;
    }
  for (guint i = 0; i < n; i++) {
    const double a[2] = {from[3 * i] - mean[0][0], from[3 * i + 1] - mean[0][1]};
    const double b[2] = {to[3 * i] - mean[1][0], to[3 * i + 1] - mean[1][1]};
    along += a[0] * b[0] + a[1] * b[1];
    across += a[0] * b[1] - a[1] * b[0];
    extent = MAX (extent, hypot (b[0], b[1]));
  }
  ndt_pose_from_rpy (none, 0, 0, atan2 (across, along), transform);
  ndt_pose_transform_point (transform, mean[0], moved);
  for (guint k = 0; k < 3; k++)
    transform->position[k] = mean[1][k] - moved[k];
  return extent;
}
