/* SPDX-License-Identifier: MIT */
/* Cached chunks of a scan, and the number of lanes a point. Private to ndt-cuda-align.cu. */
#pragma once

#include "ndt-cuda-step.cuh"
#include "ndtcore/scan/ndt-scan-filter.h"

__device__ __forceinline__ uint32_t
count_points (const NdtCudaSource &source)
{
  return source.n_points_device ? *source.n_points_device : source.n_points;
}

/* Lanes for each point of a scan. Chosen on the device, since the host may not know the number of
 * points of a thinned scan. */
__device__ __forceinline__ uint32_t
choose_lanes (const NdtCudaJob &job, uint32_t n_points)
{
  const uint32_t least = job.lanes & (0 - job.lanes);
  return job.lanes == least ? least : max (ndt_cuda_lanes (n_points), least);
}

/* With one lane a point, finding the voxels to cache takes longer than caching saves. */
template <int LANES>
__device__ __forceinline__ float
choose_reuse (const NdtCudaJob &job)
{
  return LANES == 1 ? 0 : job.reuse;
}

/* Point @i of the scan, its chunk's @sub-th, into a slot. */
template <int LANES, bool ALONE>
__device__ __forceinline__ void
fill_slot (const NdtCudaSource &source, ChunkSlot<LANES, ALONE> *slot, uint32_t i,
    uint32_t n_points, uint32_t sub)
{
  float p[3] = {NAN, NAN, NAN};
  if (i < n_points) {
    const float *from = source.points + (size_t)i * source.stride;
    p[0] = from[0];
    p[1] = from[1];
    p[2] = from[2];
  }
#pragma unroll
  for (int k = 0; k < 3; k++)
    slot->point[k][sub] = p[k];
#pragma unroll
  for (int l = 0; l < LANES; l++)
    slot->meta[sub * LANES + l] = NO_TAG << 8;
}
