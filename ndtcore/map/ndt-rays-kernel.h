/* SPDX-License-Identifier: MIT */
/* Rays through the finest level of a map. Private to ndt-map-rays.c and the map. */
#pragma once

#include "ndt-map-rays.h"

G_BEGIN_DECLS

/* Metres from the sensor that rays are followed from. */
#define NDT_RAYS_FROM 1.0
/* Squared Mahalanobis distance within which an end lies on a voxel, and a ray passes through it. */
#define NDT_RAYS_ON 16.0
#define NDT_RAYS_THROUGH 1.0
/* Voxels that rays may pass through are collected before they are looked at, so that their loads
 * do not wait for one another. */
#define NDT_RAYS_MET 1024

/**
 * NdtRays:
 * @level: that they are followed through
 * @scale: cells a metre where the resolution is a power of two, else 0
 * @steep: ndt_voxel_map_get_steep()
 * @origin: of all rays, metres from the level's origin, as @end
 * @n: rays
 * @along: their unit vectors
 * @end: their ends
 * @to: metres from @origin up to which they are followed
 * @is_pierced: whether they pass through a voxel
 * @n_met: of @met
 * @met: of the cells of rays that have a voxel: the first voxel of their block, its cells with a
 *   voxel before this one, and which ray's
 */
typedef struct {
  const NdtVoxelLevel *level;
  double scale;
  guint64 *steep;
  double origin[3];
  guint n;
  double along[NDT_MAP_RAYS][3];
  double end[NDT_MAP_RAYS][3];
  double to[NDT_MAP_RAYS];
  guint8 is_pierced[NDT_MAP_RAYS];
  guint n_met;
  struct {
    guint64 before;
    guint32 first;
    guint32 ray;
  } met[NDT_RAYS_MET];
} NdtRays;

/* Sets @is_pierced of rays for which it is not set. */
typedef void (*NdtRaysKernel) (NdtRays *rays);

void ndt_rays_kernel_generic (NdtRays *rays);
#ifdef NDT_HAVE_X86_KERNELS
void ndt_rays_kernel_avx2 (NdtRays *rays);
void ndt_rays_kernel_avx512 (NdtRays *rays);
#endif

static inline double
ndt_rays_square (const NdtVoxel *voxel, const double d[3])
{
  const float *c = voxel->icov;
  return d[0] * (d[0] * (double)c[0] + 2 * (d[1] * (double)c[1] + d[2] * (double)c[2])) +
         d[1] * (d[1] * (double)c[3] + 2 * d[2] * (double)c[4]) + d[2] * d[2] * (double)c[5];
}

/* Metres from the level's origin to a voxel's mean. */
static inline void
ndt_rays_get_mean (const NdtVoxelLevel *level, const NdtVoxel *voxel, double mean[3])
{
  for (guint k = 0; k < 3; k++)
    mean[k] = level->resolution * voxel->cell[k] + (double)voxel->mean[k];
}

/* The block of this key, or NULL. */
static inline const NdtBlock *
ndt_rays_find_block (const NdtVoxelLevel *level, guint64 key)
{
  const guint32 last = (guint32)(((guint64)1 << (64 - level->block_shift)) - 1);
  guint32 i = ndt_block_hash (key, level->block_shift);
  while (level->blocks[i].key != key) {
    if (level->blocks[i].key == NDT_BLOCK_EMPTY)
      return NULL;
    i = (i + 1) & last;
  }
  return &level->blocks[i];
}

/* The cells of a block from @low to @high, inclusive, on each axis. */
static inline guint64
ndt_rays_get_box (const guint low[3], const guint high[3])
{
  const guint64 x = (G_GUINT64_CONSTANT (2) << high[0]) - (G_GUINT64_CONSTANT (1) << low[0]);
  const guint64 y =
      (G_GUINT64_CONSTANT (16) << 4 * high[1]) - (G_GUINT64_CONSTANT (1) << 4 * low[1]);
  /* Modulo 2^64 where it is the whole axis. */
  const guint64 z =
      (G_GUINT64_CONSTANT (65536) << 16 * high[2]) - (G_GUINT64_CONSTANT (1) << 16 * low[2]);
  return x * G_GUINT64_CONSTANT (0x1111111111111111) & y * G_GUINT64_CONSTANT (0x0001000100010001) &
         z;
}

G_END_DECLS
