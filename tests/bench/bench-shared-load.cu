/* SPDX-License-Identifier: MIT */
#include <cuda_runtime.h>

#include "bench-shared-load.h"

/* Multiply-adds for @ns nanoseconds by 256 threads with the shared memory of a tile of a matrix
 * multiplication: two blocks a multiprocessor. */
__global__ void __launch_bounds__ (256, 2) occupy (uint64_t ns, float *out)
{
  extern __shared__ float tile[];
  uint64_t begin, t;
  float a = (float)threadIdx.x, b = 1;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    for (int i = 0; i < 64; i++)
      b = fmaf (a, 0.999f, b);
    tile[threadIdx.x] = b;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  } while (t - begin < ns);
  if (tile[threadIdx.x] == 0)
    *out = b;
}

cudaError_t
bench_shared_load (
    uint32_t n_blocks, uint32_t ns, uint32_t shared_size, float *out, cudaStream_t stream)
{
  const cudaError_t e =
      cudaFuncSetAttribute (occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_size);
  if (e != cudaSuccess)
    return e;
  occupy<<<n_blocks, 256, shared_size, stream>>> (ns, out);
  return cudaGetLastError ();
}
