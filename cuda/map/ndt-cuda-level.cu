/* SPDX-License-Identifier: MIT */
/* Converts the voxels of a level into the form that alignments read. */
#include <cuda_runtime.h>

#include "ndt-cuda-level.h"

__global__ void
prepare_voxels (const NdtCudaLevel level)
{
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= level.n_voxels)
    return;
  const NdtVoxel from = ((const NdtVoxel *)level.voxels)[i];
  NdtCudaVoxel to;
  for (int k = 0; k < 3; k++)
    to.mean[k] = from.mean[k];
  to.cell = (uint32_t)(from.cell[0] & 1023) | (uint32_t)(from.cell[1] & 1023) << 10 |
            (uint32_t)(from.cell[2] & 1023) << 20;
  for (int k = 0; k < 6; k++)
    to.icov[k] = from.icov[k];
  to.reserved[0] = to.reserved[1] = 0;
  ((NdtCudaVoxel *)level.voxels)[i] = to;
  if (level.grid) {
    const int64_t x = from.cell[0] - level.grid_first[0], y = from.cell[1] - level.grid_first[1],
                  z = from.cell[2] - level.grid_first[2];
    ((uint32_t *)level.grid)[(z * level.grid_size[1] + y) * level.grid_size[0] + x] = 1 + i;
  }
}

cudaError_t
ndt_cuda_prepare_level (const NdtCudaLevel *level, cudaStream_t stream)
{
  if (level->grid) {
    const size_t size =
        (size_t)level->grid_size[0] * level->grid_size[1] * level->grid_size[2] * sizeof (uint32_t);
    const cudaError_t e = cudaMemsetAsync ((void *)level->grid, 0, size, stream);
    if (e != cudaSuccess)
      return e;
  }
  if (level->n_voxels > 0)
    prepare_voxels<<<(level->n_voxels + 255) / 256, 256, 0, stream>>> (*level);
  return cudaGetLastError ();
}

/* Place of a block's page in the directory. */
__device__ __forceinline__ size_t
find_page (const NdtCudaLevel &level, const int32_t block[3])
{
  int32_t at[3];
  for (int k = 0; k < 3; k++)
    at[k] = (block[k] >> (NDT_CUDA_PAGE_SHIFT - 2)) - level.grid_first[k];
  return 1 + ((size_t)at[2] * level.grid_size[1] + at[1]) * level.grid_size[0] + at[0];
}

__device__ __forceinline__ bool
get_block (const NdtCudaLevel &level, uint64_t i, int32_t block[3])
{
  const uint64_t key = level.blocks[i].key;
  for (int k = 0; k < 3; k++)
    block[k] = (int32_t)(key >> (21 * k) & 0x1fffff) - NDT_KEY_LIMIT;
  return key != NDT_BLOCK_EMPTY;
}

__global__ void
number_pages (const __grid_constant__ NdtCudaLevel level, uint64_t n_slots)
{
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t *directory = (uint32_t *)level.directory;
  int32_t block[3];
  if (i >= n_slots || !get_block (level, i, block))
    return;
  uint32_t *word = directory + find_page (level, block);
  if (atomicCAS (word, 0u, 0xffffffffu) == 0)
    *word = 1 + atomicAdd (directory, 1u);
}

__global__ void
fill_pages (const __grid_constant__ NdtCudaLevel level, uint64_t n_slots)
{
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  int32_t block[3];
  if (i >= n_slots || !get_block (level, i, block))
    return;
  const size_t page = level.directory[find_page (level, block)];
  NdtCudaPageBlock *to = (NdtCudaPageBlock *)level.pages + page * NDT_CUDA_PAGE_BLOCKS +
                         ((block[2] & 7) * 8 + (block[1] & 7)) * 8 + (block[0] & 7);
  to->mask = level.blocks[i].mask;
  to->first = level.blocks[i].first;
}

cudaError_t
ndt_cuda_number_pages (const NdtCudaLevel *level, cudaStream_t stream)
{
  const size_t n_pages = (size_t)level->grid_size[0] * level->grid_size[1] * level->grid_size[2];
  const uint64_t n_slots = UINT64_C (1) << (64 - level->block_shift);
  const cudaError_t e =
      cudaMemsetAsync ((void *)level->directory, 0, (1 + n_pages) * sizeof (uint32_t), stream);
  if (e != cudaSuccess)
    return e;
  number_pages<<<(unsigned)((n_slots + 255) / 256), 256, 0, stream>>> (*level, n_slots);
  return cudaGetLastError ();
}

cudaError_t
ndt_cuda_fill_pages (const NdtCudaLevel *level, uint32_t n_pages, cudaStream_t stream)
{
  const size_t size = (1 + (size_t)n_pages) * NDT_CUDA_PAGE_BLOCKS * sizeof (NdtCudaPageBlock);
  const uint64_t n_slots = UINT64_C (1) << (64 - level->block_shift);
  cudaError_t e = cudaMemsetAsync ((void *)level->directory, 0, sizeof (uint32_t), stream);
  if (e == cudaSuccess)
    e = cudaMemsetAsync ((void *)level->pages, 0, size, stream);
  if (e != cudaSuccess)
    return e;
  fill_pages<<<(unsigned)((n_slots + 255) / 256), 256, 0, stream>>> (*level, n_slots);
  return cudaGetLastError ();
}
