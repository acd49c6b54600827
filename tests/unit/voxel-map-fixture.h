/* SPDX-License-Identifier: MIT */
/* Maps from points, and assertions of their structure. */
#pragma once

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/map/ndt-voxel-map.h"
#include "tests/ndt-test.h"

static inline NdtVoxelMapParams
make_params (double resolution, guint min_points, guint n_levels)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  params.resolution = resolution;
  params.min_points = min_points;
  params.n_levels = n_levels;
  params.keep_details = TRUE;
  return params;
}

static inline NdtVoxelMap *
build (const NdtVoxelMapParams *params, const double *xyz, gsize n)
{
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, n);
  GError *error = NULL;
  NdtVoxelMap *map = ndt_voxel_map_new (params, &view, &error);
  g_assert_no_error (error);
  return map;
}

/* Index of the voxel whose cell holds absolute cell (x, y, z), or −1. */
static inline gint64
find_absolute (const NdtVoxelLevel *level, gint64 x, gint64 y, gint64 z)
{
  return ndt_voxel_level_find (level, (gint32)(x - level->origin[0]),
      (gint32)(y - level->origin[1]), (gint32)(z - level->origin[2]));
}

/* Asserts the structure that alignment relies on. */
static inline void
check_level (const NdtVoxelLevel *level)
{
  guint64 n_in_blocks = 0;
  guint32 n_blocks = 0;
  gint32 least[3] = {G_MAXINT32, G_MAXINT32, G_MAXINT32};
  gint32 largest[3] = {G_MININT32, G_MININT32, G_MININT32};
  const gsize size = (gsize)1 << (64 - level->block_shift);
  for (gsize i = 0; i < size; i++) {
    if (level->blocks[i].key == NDT_BLOCK_EMPTY)
      continue;
    n_blocks++;
    n_in_blocks += (guint)__builtin_popcountll (level->blocks[i].mask);
  }
  g_assert_cmpuint (n_in_blocks, ==, level->n_voxels);
  g_assert_cmpuint (n_blocks, ==, level->n_blocks_used);
  g_assert_cmpuint (n_blocks, <, size); /* otherwise probing would not end */
  for (guint32 i = 0; i < level->n_voxels; i++) {
    const NdtVoxel *v = &level->voxels[i];
    g_assert_cmpint (ndt_voxel_level_find (level, v->cell[0], v->cell[1], v->cell[2]), ==, i);
    for (guint k = 0; k < 3; k++) {
      g_assert_cmpint (level->origin[k] % 4, ==, 0);
      /* The mean of a cell's points is in the cell, up to rounding to float. */
      g_assert_cmpfloat (v->mean[k], >=, -1e-6 * level->resolution);
      g_assert_cmpfloat (v->mean[k], <=, level->resolution * (1 + 1e-6));
      least[k] = MIN (least[k], v->cell[k]);
      largest[k] = MAX (largest[k], v->cell[k]);
    }
  }
  g_assert_true (memcmp (least, level->cell_min, sizeof least) == 0);
  g_assert_true (memcmp (largest, level->cell_max, sizeof largest) == 0);
}

/* Corners of an octahedron with half axes a, b, c around (1, 1, 1): mean (1, 1, 1), covariance
 * diag (2a², 2b², 2c²) / 5. */
static inline void
octahedron (double a, double b, double c, double xyz[18])
{
  for (guint i = 0; i < 18; i++)
    xyz[i] = 1;
  xyz[0] += a;
  xyz[3] -= a;
  xyz[7] += b;
  xyz[10] -= b;
  xyz[14] += c;
  xyz[17] -= c;
}
