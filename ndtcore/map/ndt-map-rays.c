/* SPDX-License-Identifier: MIT */
#include "ndt-map-rays.h"

#include <math.h>
#include <string.h>

/* Nearer points are of the vehicle, and farther ones too few, metres. */
#define LEAST_RANGE 2.0
#define MOST_RANGE 60.0
/* A ray is followed up to so many cells before its end, or this fraction of its length, since it
 * meets a surface that it ends on at a flat angle before that. */
#define END_CELLS 1.5
#define END_SHARE 0.1
/* Steps along a ray, in cells. */
#define STEP 0.5
/* Squared Mahalanobis distance within which an end lies on a voxel, and a ray passes through it. */
#define ON_VOXEL 16.0
#define THROUGH_VOXEL 1.0
/* A surface is so thin along a ray that passes through it, a standard deviation in cells. */
#define THIN 0.12

static double
square (const NdtVoxel *voxel, const double d[3])
{
  const float *c = voxel->icov;
  return d[0] * (d[0] * (double)c[0] + 2 * (d[1] * (double)c[1] + d[2] * (double)c[2])) +
         d[1] * (d[1] * (double)c[3] + 2 * d[2] * (double)c[4]) + d[2] * d[2] * (double)c[5];
}

/* dᵀ C⁻¹ e. */
static double
product (const NdtVoxel *voxel, const double d[3], const double e[3])
{
  const float *c = voxel->icov;
  return d[0] * ((double)c[0] * e[0] + (double)c[1] * e[1] + (double)c[2] * e[2]) +
         d[1] * ((double)c[1] * e[0] + (double)c[3] * e[1] + (double)c[4] * e[2]) +
         d[2] * ((double)c[2] * e[0] + (double)c[4] * e[1] + (double)c[5] * e[2]);
}

/* Metres from the level's origin to a voxel's mean. */
static void
get_mean (const NdtVoxelLevel *level, const NdtVoxel *voxel, double mean[3])
{
  for (guint k = 0; k < 3; k++)
    mean[k] = level->resolution * voxel->cell[k] + (double)voxel->mean[k];
}

/* @p: from the level's origin. */
static gboolean
is_explained (const NdtVoxelLevel *level, const double p[3])
{
  const double r = level->resolution;
  const gint32 cell[3] = {
      (gint32)floor (p[0] / r), (gint32)floor (p[1] / r), (gint32)floor (p[2] / r)};
  for (gint i = 0; i < 27; i++) {
    /* Its own cell first. */
    const gint k = i == 0 ? 13 : i <= 13 ? i - 1 : i;
    const gint64 at = ndt_voxel_level_find (
        level, cell[0] + k % 3 - 1, cell[1] + k / 3 % 3 - 1, cell[2] + k / 9 - 1);
    double mean[3], d[3];
    if (at < 0)
      continue;
    get_mean (level, &level->voxels[at], mean);
    for (guint a = 0; a < 3; a++)
      d[a] = p[a] - mean[a];
    if (square (&level->voxels[at], d) < ON_VOXEL)
      return TRUE;
  }
  return FALSE;
}

/* Does the ray from @o along the unit vector @u pass through a voxel between @from and @to? */
static gboolean
is_pierced (
    const NdtVoxelLevel *level, const double o[3], const double u[3], double from, double to)
{
  const double r = level->resolution;
  gint32 last[3] = {G_MAXINT32, 0, 0};
  for (double t = from; t < to; t += STEP * r) {
    gint32 cell[3];
    for (guint k = 0; k < 3; k++)
      cell[k] = (gint32)floor ((o[k] + t * u[k]) / r);
    if (memcmp (cell, last, sizeof (cell)) == 0)
      continue;
    memcpy (last, cell, sizeof (cell));
    const gint64 at = ndt_voxel_level_find (level, cell[0], cell[1], cell[2]);
    if (at < 0)
      continue;
    const NdtVoxel *voxel = &level->voxels[at];
    double mean[3], d[3];
    get_mean (level, voxel, mean);
    for (guint k = 0; k < 3; k++)
      d[k] = mean[k] - o[k];
    const double across = square (voxel, u);
    /* Foliage lets rays through, and so does ground that they pass at a flat angle. */
    if (across * (THIN * r) * (THIN * r) < 1)
      continue;
    const double nearest = product (voxel, u, d) / across;
    for (guint k = 0; k < 3; k++)
      d[k] -= nearest * u[k];
    if (nearest > from && nearest < to && square (voxel, d) < THROUGH_VOXEL)
      return TRUE;
  }
  return FALSE;
}

void
ndt_map_rays (const NdtVoxelMap *map, const NdtCloudView *points, const NdtPose *sensor,
    double min_range, double max_range, NdtMapRays *out)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  const double r = level->resolution;
  const double least = MAX (min_range, LEAST_RANGE);
  const double most = max_range > 0 ? MIN (max_range, MOST_RANGE) : MOST_RANGE;
  const gsize n_tried = points->n_points > 0 ? 4 * NDT_MAP_RAYS : 0;
  double rotation[9], origin[3];
  memset (out, 0, sizeof (*out));
  ndt_pose_get_rotation (sensor, rotation);
  for (guint k = 0; k < 3; k++) {
    origin[k] = sensor->position[k] - r * (double)level->origin[k];
    if (!(fabs (origin[k]) < NDT_KEY_LIMIT * r))
      return;
  }
  for (gsize i = 0; i < n_tried && out->n < NDT_MAP_RAYS; i++) {
    /* Every fourth first, and others in the place of those that do not count. */
    const gsize at =
        (i % NDT_MAP_RAYS * 4 + i / NDT_MAP_RAYS) * points->n_points / (4 * NDT_MAP_RAYS);
    double p[3], u[3], end[3];
    ndt_cloud_view_get (points, at, p);
    const double range = sqrt (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    if (!(range >= least && range <= most))
      continue;
    for (guint k = 0; k < 3; k++) {
      u[k] = (rotation[3 * k] * p[0] + rotation[3 * k + 1] * p[1] + rotation[3 * k + 2] * p[2]) /
             range;
      end[k] = origin[k] + range * u[k];
    }
    const double to = range - MAX (END_CELLS * r, END_SHARE * range);
    out->n++;
    out->n_unexplained += !is_explained (level, end);
    out->n_pierced += is_pierced (level, origin, u, LEAST_RANGE / 2, to);
  }
}

gboolean
ndt_map_explains (const NdtVoxelMap *map, const double point[3])
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  double p[3];
  for (guint k = 0; k < 3; k++) {
    p[k] = point[k] - (double)level->origin[k] * level->resolution;
    if (!(fabs (p[k]) < NDT_KEY_LIMIT * level->resolution))
      return FALSE;
  }
  return is_explained (level, p);
}
