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

/* log2 of the cells of a page along an axis, and its blocks of 4×4×4 cells. */
#define NDT_CUDA_PAGE_SHIFT 5
#define NDT_CUDA_PAGE_BLOCKS 512

/**
 * NdtCudaPageBlock:
 * @mask: as in NdtBlock, as @first; 0: a block without voxels
 *
 * A block of 4×4×4 cells of a page, x fastest.
 */
typedef struct {
  uint64_t mask;
  uint32_t first;
  uint32_t reserved;
} NdtCudaPageBlock;

/**
 * NdtCudaLevel:
 * @grid: for each cell, x fastest, 1 + the index of its voxel or 0, with a frame of four empty
 * cells on every side; NULL where the map is too large
 * @grid_first: its first cell, of the frame; of a level with @directory the first page's place
 * @grid_size: cells an axis; of a level with @directory pages an axis
 * @directory: where there is no grid: numbers of pages, which cover 32×32×32 cells each; from the
 *   second word on, x fastest; 0: there is no voxel. The first word is 0. NULL where the map is too
 *   large for this as well; then the hash table is used
 * @pages: NDT_CUDA_PAGE_BLOCKS a page; page 0 is empty
 */
typedef struct {
  const NdtCudaVoxel *voxels;
  const NdtBlock *blocks;
  const uint32_t *grid;
  const uint32_t *directory;
  const NdtCudaPageBlock *pages;
  int32_t grid_first[3];
  int32_t grid_size[3];
  double resolution;
  int64_t origin[3];
  int32_t block_shift;
  uint32_t n_voxels;
} NdtCudaLevel;

/* Converts NdtVoxel to NdtCudaVoxel in place, and fills the level's grid, if it has one. */
cudaError_t ndt_cuda_prepare_level (const NdtCudaLevel *level, cudaStream_t stream);

/* Gives numbers to the pages that have voxels, from 1 on; the first word of the directory becomes
 * how many, until ndt_cuda_fill_pages(). */
cudaError_t ndt_cuda_number_pages (const NdtCudaLevel *level, cudaStream_t stream);
cudaError_t ndt_cuda_fill_pages (const NdtCudaLevel *level, uint32_t n_pages, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
