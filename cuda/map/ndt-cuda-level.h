/* SPDX-License-Identifier: MIT */
/* A level of a map as the kernels read it. Private to cuda/. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "ndtcore/math/ndt-types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NDT_CUDA_LEVELS 3

/**
 * NdtCudaVoxel:
 * @cell: of x, y, z, the low ten bits each
 *
 * An NdtVoxel as the kernels read it: the first 16 bytes are enough to test for a pair.
 */
typedef struct {
  float mean[3];
  uint32_t cell;
  float icov[6];
  uint32_t reserved[2];
} NdtCudaVoxel;

/**
 * NdtCudaLevel:
 * @grid: for each cell, x fastest, 1 + the index of its voxel or 0, with a frame of four empty
 * cells on every side; NULL where the map is too large; then the hash table is used
 * @grid_first: its first cell, of the frame
 * @grid_size: cells an axis
 */
typedef struct {
  const NdtCudaVoxel *voxels;
  const NdtBlock *blocks;
  const uint32_t *grid;
  int32_t grid_first[3];
  int32_t grid_size[3];
  double resolution;
  int64_t origin[3];
  int32_t block_shift;
  uint32_t n_voxels;
} NdtCudaLevel;

/* Converts NdtVoxel to NdtCudaVoxel in place, and fills the level's grid, if it has one. */
cudaError_t ndt_cuda_prepare_level (const NdtCudaLevel *level, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
