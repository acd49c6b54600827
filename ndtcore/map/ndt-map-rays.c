/* SPDX-License-Identifier: MIT */
#include "ndt-map-rays.h"

#include <math.h>
#include <string.h>

#include "ndt-rays-kernel.h"
#include "ndtcore/base/ndt-instructions.h"

/* Nearer points are of the vehicle, and farther ones too few, metres. */
#define LEAST_RANGE 2.0
#define MOST_RANGE 60.0
/* A ray is followed up to so many cells before its end, or this fraction of its length, since it
 * meets a surface that it ends on at a flat angle before that. */
#define END_CELLS 1.5
#define END_SHARE 0.1
/* Points that are tried. */
#define N_TRIED (4 * (gsize)NDT_MAP_RAYS)

static void
get_cell (const NdtVoxelLevel *level, const double p[3], gint32 cell[3])
{
  for (guint k = 0; k < 3; k++)
    cell[k] = (gint32)floor (p[k] / level->resolution);
}

/* ---- Ends ---- */

/* @p: from the level's origin. */
static gboolean
is_on (const NdtVoxelLevel *level, const NdtVoxel *voxel, const double p[3])
{
  double mean[3], d[3];
  ndt_rays_get_mean (level, voxel, mean);
  for (guint k = 0; k < 3; k++)
    d[k] = p[k] - mean[k];
  return ndt_rays_square (voxel, d) < NDT_RAYS_ON;
}

static gboolean
is_on_cell (const NdtVoxelLevel *level, const gint32 cell[3], const double p[3])
{
  const gint64 at = ndt_voxel_level_find (level, cell[0], cell[1], cell[2]);
  return at >= 0 && is_on (level, &level->voxels[at], p);
}

/* Does @p lie on a voxel of the cells around @cell? Its own is among them. */
static gboolean
is_on_neighbour (const NdtVoxelLevel *level, const gint32 cell[3], const double p[3])
{
  for (gint32 z = (cell[2] - 1) >> 2; z <= (cell[2] + 1) >> 2; z++)
    for (gint32 y = (cell[1] - 1) >> 2; y <= (cell[1] + 1) >> 2; y++)
      for (gint32 x = (cell[0] - 1) >> 2; x <= (cell[0] + 1) >> 2; x++) {
        const gint32 corner[3] = {4 * x, 4 * y, 4 * z};
        guint low[3], high[3];
        const NdtBlock *block = ndt_rays_find_block (level, ndt_block_key (x, y, z));
        if (!block)
          continue;
        for (guint k = 0; k < 3; k++) {
          low[k] = (guint)MAX (cell[k] - 1 - corner[k], 0);
          high[k] = (guint)MIN (cell[k] + 1 - corner[k], 3);
        }
        guint64 cells = block->mask & ndt_rays_get_box (low, high);
        for (; cells; cells &= cells - 1) {
          const guint64 below = (cells & -cells) - 1;
          const guint at = block->first + (guint)__builtin_popcountll (block->mask & below);
          if (is_on (level, &level->voxels[at], p))
            return TRUE;
        }
      }
  return FALSE;
}

/* @cell: of @p. */
static gboolean
is_explained (const NdtVoxelLevel *level, const gint32 cell[3], const double p[3])
{
  return is_on_cell (level, cell, p) || is_on_neighbour (level, cell, p);
}

/* ---- Rays ---- */

static guint
count_pierced (NdtRays *rays, NdtInstructions instructions)
{
  guint n = 0;
  switch (instructions) {
#ifdef NDT_HAVE_X86_KERNELS
  case NDT_INSTRUCTIONS_AVX512:
    ndt_rays_kernel_avx512 (rays);
    break;
  case NDT_INSTRUCTIONS_AVX2:
    ndt_rays_kernel_avx2 (rays);
    break;
#endif
  default:
    ndt_rays_kernel_generic (rays);
  }
  for (guint i = 0; i < rays->n; i++)
    n += rays->is_pierced[i];
  return n;
}

/* How many rays end on no voxel of @level. */
static guint
count_unexplained (const NdtRays *rays, const NdtVoxelLevel *level)
{
  double shift[3], end[NDT_MAP_RAYS][3];
  gint32 cells[NDT_MAP_RAYS][3];
  guint n = 0;
  /* From the origin of @level instead of the finest one's. */
  for (guint k = 0; k < 3; k++)
    shift[k] = rays->level->resolution * (double)rays->level->origin[k] -
               level->resolution * (double)level->origin[k];
  for (guint i = 0; i < rays->n; i++) {
    for (guint k = 0; k < 3; k++)
      end[i][k] = rays->end[i][k] + shift[k];
    get_cell (level, end[i], cells[i]);
    const guint64 key = ndt_block_key (cells[i][0] >> 2, cells[i][1] >> 2, cells[i][2] >> 2);
    __builtin_prefetch (&level->blocks[ndt_block_hash (key, level->block_shift)]);
  }
  for (guint i = 0; i < rays->n; i++)
    n += !is_explained (level, cells[i], end[i]);
  return n;
}

/* The point of the i-th try. */
static gsize
get_tried (const NdtCloudView *points, gsize i)
{
  return (i % NDT_MAP_RAYS * 4 + i / NDT_MAP_RAYS) * points->n_points / N_TRIED;
}

static void
prefetch (const NdtCloudView *points, gsize i)
{
  __builtin_prefetch (points->x + i * points->stride);
  __builtin_prefetch (points->y + i * points->stride);
  __builtin_prefetch (points->z + i * points->stride);
}

/* Takes evenly spread points: every fourth of those that are tried first, and others in the place
 * of those that do not count. */
static void
choose (NdtRays *rays, const NdtCloudView *points, const NdtPose *sensor, double least, double most)
{
  const double r = rays->level->resolution;
  double rotation[9];
  ndt_pose_get_rotation (sensor, rotation);
  for (gsize i = 0; i < N_TRIED && rays->n < NDT_MAP_RAYS; i++) {
    double p[3], *u = rays->along[rays->n];
    if (i % NDT_MAP_RAYS == 0)
      /* They are far from one another, and a sensor or a device wrote them. */
      for (gsize k = i; k < i + NDT_MAP_RAYS; k++)
        prefetch (points, get_tried (points, k));
    ndt_cloud_view_get (points, get_tried (points, i), p);
    const double range = sqrt (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    if (!(range >= least && range <= most))
      continue;
    for (guint k = 0; k < 3; k++) {
      u[k] = (rotation[3 * k] * p[0] + rotation[3 * k + 1] * p[1] + rotation[3 * k + 2] * p[2]) /
             range;
      rays->end[rays->n][k] = rays->origin[k] + range * u[k];
    }
    rays->to[rays->n] = range - MAX (END_CELLS * r, END_SHARE * range);
    rays->is_pierced[rays->n++] = FALSE;
  }
}

void
ndt_map_rays (const NdtVoxelMap *map, const NdtCloudView *points, const NdtPose *sensor,
    double min_range, double max_range, NdtMapRays *out)
{
  NdtRays rays;
  int exponent;
  memset (out, 0, sizeof (*out));
  rays.level = ndt_voxel_map_get_level (map, 0);
  rays.n = rays.n_met = 0;
  rays.scale = frexp (rays.level->resolution, &exponent) == 0.5 ? 1 / rays.level->resolution : 0;
  rays.steep = ndt_voxel_map_get_steep (map);
  const double r = rays.level->resolution;
  for (guint k = 0; k < 3; k++) {
    rays.origin[k] = sensor->position[k] - r * (double)rays.level->origin[k];
    if (!(fabs (rays.origin[k]) < NDT_KEY_LIMIT * r))
      return;
  }
  if (points->n_points > 0)
    choose (&rays, points, sensor, MAX (min_range, LEAST_RANGE),
        max_range > 0 ? MIN (max_range, MOST_RANGE) : MOST_RANGE);
  out->n = rays.n;
  out->n_unexplained =
      count_unexplained (&rays, ndt_voxel_map_get_level (map, ndt_voxel_map_get_fit_level (map)));
  out->n_pierced = count_pierced (&rays, ndt_voxel_map_get_instructions (map));
}

gboolean
ndt_map_explains (const NdtVoxelMap *map, const double point[3])
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  double p[3];
  gint32 cell[3];
  for (guint k = 0; k < 3; k++) {
    p[k] = point[k] - (double)level->origin[k] * level->resolution;
    if (!(fabs (p[k]) < NDT_KEY_LIMIT * level->resolution))
      return FALSE;
  }
  get_cell (level, p, cell);
  return is_explained (level, cell, p);
}
