/* SPDX-License-Identifier: MIT */
#include "ndt-residual.h"

#include <math.h>

/* Points that tell whether they lie on the map, metres from the sensor or the body. */
#define LEAST_RANGE 2.0
#define MOST_RANGE 60.0
/* A point so many standard deviations from its voxel, and from those beside it, is off the map. */
#define OFF_MAP 3.0

/* Squared distance to the voxel of the cell @c (relative to the level's origin); INFINITY: none.
 * @in_cell: the point from the corner of its own cell; @step: from that cell to @c. */
static double
square_to (
    const NdtVoxelLevel *level, const gint32 c[3], const double in_cell[3], const gint32 step[3])
{
  const gint64 index = ndt_voxel_level_find (level, c[0] + step[0], c[1] + step[1], c[2] + step[2]);
  double q[3];

  if (index < 0)
    return INFINITY;
  const NdtVoxel *voxel = &level->voxels[index];
  const float *m = voxel->icov;
  for (guint axis = 0; axis < 3; axis++)
    q[axis] = in_cell[axis] - step[axis] * level->resolution - (double)voxel->mean[axis];
  return (double)m[0] * q[0] * q[0] + (double)m[3] * q[1] * q[1] + (double)m[5] * q[2] * q[2] +
         2 * ((double)m[1] * q[0] * q[1] + (double)m[2] * q[0] * q[2] + (double)m[4] * q[1] * q[2]);
}

double
ndt_residual_of_point (const NdtVoxelLevel *level, const double p[3])
{
  static const gint32 steps[][3] = {
      {0, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
  double in_cell[3], best = INFINITY;
  gint32 c[3];

  for (guint axis = 0; axis < 3; axis++) {
    const double cell = floor (p[axis] / level->resolution) - (double)level->origin[axis];
    /* Cells of a map are within the limit of its keys; the comparison refuses NaN as well. */
    if (!(fabs (cell) < NDT_KEY_LIMIT))
      return INFINITY;
    c[axis] = (gint32)cell;
    in_cell[axis] = p[axis] - (cell + (double)level->origin[axis]) * level->resolution;
  }
  for (guint i = 0; i < G_N_ELEMENTS (steps) && (i == 0 || best > 1); i++)
    best = fmin (best, square_to (level, c, in_cell, steps[i]));
  return sqrt (fmax (best, 0));
}

double
ndt_residual_off_map (const NdtVoxelMap *map, const float *xyz, guint n, const NdtPose *pose)
{
  const guint at = ndt_voxel_map_get_fit_level (map);
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, at);
  const double share = ndt_voxel_map_get_share (map, at);
  guint n_near = 0, n_off = 0;
  for (guint i = 0; i < n; i++) {
    const float *p = xyz + 3 * (gsize)i;
    const double in[3] = {(double)p[0], (double)p[1], (double)p[2]};
    const double range = sqrt (in[0] * in[0] + in[1] * in[1] + in[2] * in[2]);
    double out[3];
    if (!(range >= LEAST_RANGE && range <= MOST_RANGE))
      continue;
    ndt_pose_transform_point (pose, in, out);
    n_near++;
    n_off += ndt_residual_of_point (level, out) > OFF_MAP;
  }
  return n_near > 0 ? MAX ((double)n_off / n_near - (1 - share), 0) : 0;
}
