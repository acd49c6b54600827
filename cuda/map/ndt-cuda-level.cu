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
