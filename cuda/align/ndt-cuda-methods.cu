/* SPDX-License-Identifier: MIT */
/* The kernels of ndt-cuda-align.cu with extra terms and all methods. */
#include <cuda_runtime.h>

#include "ndt-cuda-align.h"
#define NDT_CUDA_METHODS 1
#include "ndt-cuda-cluster.cuh"
#include "ndt-cuda-grid.cuh"

const void *
ndt_cuda_align_methods_kernel (const NdtCudaShape *shape)
{
  if (!shape->grid)
    return shape->threads == 512 ? (const void *)align_clusters<512, 0>
                                 : (const void *)align_clusters<256, 0>;
  switch (shape->size) {
  case 128:
    return (const void *)align_grid<256, 8, 0, 1>;
  case 64:
    return (const void *)align_grid<256, 4, 0, 1>;
  case 32:
    return (const void *)align_grid<256, 2, 0, 1>;
  default:
    return (const void *)align_grid<256, 1, 0, 1>;
  }
}
