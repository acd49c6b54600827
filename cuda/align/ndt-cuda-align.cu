/* SPDX-License-Identifier: MIT */
/* Alignments that run on the device alone: one launch runs the optimizer of each start from guess
 * to result. A *team* of blocks works on one alignment: a cluster, or a cooperative grid. Every
 * block of a team adds up the same sums in the same order and runs the same optimizer, so that
 * blocks exchange sums only, once a pass.
 *
 * A grid can run a sequence of scans, where the start of each depends on the result of the scan
 * before: the kernel does not end, reads the next scan, and waits for the start as a message of the
 * host.
 *
 * The order of sums does not depend on the team: consecutive points are a chunk, which a warp sums.
 * Chunk c belongs to segment c mod 16 and there to strand (c / 16) mod 16. A strand adds its chunks
 * in order; a segment is a binary tree over its strands; the total is one over the segments. */
#include <cuda_runtime.h>

#include "ndt-cuda-align.h"
#include "ndt-cuda-cluster.cuh"
#include "ndt-cuda-grid.cuh"

size_t
ndt_cuda_exchange_bytes (void)
{
  return 2 * MAX_TEAM * VALUES * sizeof (uint64_t);
}

typedef void (*Kernel) (const NdtCudaJob);

template <int LANES>
static Kernel
choose_kernel_of (const NdtCudaShape *shape)
{
  if (!shape->grid)
    return shape->threads == 512 ? align_clusters<512, LANES> : align_clusters<256, LANES>;
  if (shape->dense)
    return align_grid<256, 1, LANES, 2>;
  switch (shape->size) {
  case 128:
    return align_grid<256, 8, LANES, 1>;
  case 64:
    return align_grid<256, 4, LANES, 1>;
  case 32:
    return align_grid<256, 2, LANES, 1>;
  default:
    return align_grid<256, 1, LANES, 1>;
  }
}

static Kernel
choose_kernel (const NdtCudaShape *shape)
{
  if (shape->methods)
    return (Kernel)ndt_cuda_align_methods_kernel (shape);
  switch (shape->lanes) {
  case 1:
    return choose_kernel_of<1> (shape);
  case 2:
    return choose_kernel_of<2> (shape);
  case 4:
    return choose_kernel_of<4> (shape);
  default:
    return choose_kernel_of<0> (shape);
  }
}

template <bool ALONE>
static size_t
slot_bytes_of (uint32_t lanes)
{
  return lanes == 1   ? sizeof (ChunkSlot<1, ALONE>)
         : lanes == 2 ? sizeof (ChunkSlot<2, ALONE>)
                      : sizeof (ChunkSlot<4, ALONE>);
}

static size_t
slot_bytes (const NdtCudaShape *shape, uint32_t lanes)
{
  return shape->grid && !shape->dense ? slot_bytes_of<true> (lanes) : slot_bytes_of<false> (lanes);
}

/* Dynamic shared memory of a launch with @n_slots slots for @lanes lanes. */
static size_t
dynamic_bytes (const NdtCudaShape *shape, uint32_t lanes, uint32_t n_slots)
{
  const size_t strands =
      shape->grid ? 0 : (size_t)(SEGMENTS / shape->size) * STRANDS * VALUES * sizeof (float);
  return strands + (n_slots + (size_t)shape->threads / 32) * slot_bytes (shape, lanes);
}

static size_t
taken_bytes (const NdtCudaLimits *limits, const NdtCudaShape *shape, uint32_t lanes)
{
  const int32_t *declared = shape->methods ? limits->methods_declared : limits->declared;
  return (size_t)declared[shape->grid + shape->dense] + dynamic_bytes (shape, lanes, 0);
}

size_t
ndt_cuda_align_shared (const NdtCudaLimits *limits, const NdtCudaShape *shape)
{
  /* A multiprocessor keeps 1 kB of its memory for each block (CUDA C++ Programming Guide, Compute
   * Capability 8.x); it has as much as a block can have, or 1 kB more. */
  return (size_t)(shape->dense ? limits->max_shared / 2 - 1024 : limits->max_shared);
}

int
ndt_cuda_align_fits (const NdtCudaLimits *limits, const NdtCudaShape *shape)
{
  bool fits = true;
  for (uint32_t lanes = 1; lanes <= 4; lanes *= 2)
    fits = fits && (!(shape->lanes & lanes) ||
                       taken_bytes (limits, shape, lanes) <= ndt_cuda_align_shared (limits, shape));
  return fits;
}

uint32_t
ndt_cuda_align_least_lanes (const NdtCudaLimits *limits)
{
  uint32_t lanes = 1;
  for (; lanes < 4; lanes *= 2) {
    const NdtCudaShape cluster = {0, 0, 1, 256, lanes, {}, 0}, grid = {1, 0, 16, 256, lanes, {}, 0};
    if (ndt_cuda_align_fits (limits, &cluster) ||
        (limits->max_grid >= 16 && ndt_cuda_align_fits (limits, &grid)))
      break;
  }
  return lanes;
}

uint32_t
ndt_cuda_align_max_slots (const NdtCudaLimits *limits, const NdtCudaShape *shape, uint32_t lanes)
{
  const size_t taken = taken_bytes (limits, shape, lanes),
               most = ndt_cuda_align_shared (limits, shape);
  return taken <= most ? (uint32_t)((most - taken) / slot_bytes (shape, lanes)) : 0;
}

uint32_t
ndt_cuda_align_slots (const NdtCudaShape *shape, uint32_t lanes, uint32_t n_points)
{
  const uint32_t chunk = 32 / lanes;
  const uint32_t n_chunks = (n_points + chunk - 1) / chunk;
  /* Rounded up to complete rounds of the distribution of chunks. */
  const uint32_t per_round = shape->grid ? SEGMENTS * STRANDS : SEGMENTS;
  return (n_chunks + per_round - 1) / per_round * (per_round / (uint32_t)shape->size);
}

cudaError_t
ndt_cuda_align_limits (int device, NdtCudaLimits *limits)
{
  cudaError_t e =
      cudaDeviceGetAttribute (&limits->n_processors, cudaDevAttrMultiProcessorCount, device);
  if (e == cudaSuccess)
    e = cudaDeviceGetAttribute (
        &limits->max_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  int major = 0, cooperative = 0;
  if (e == cudaSuccess)
    e = cudaDeviceGetAttribute (&major, cudaDevAttrComputeCapabilityMajor, device);
  if (e == cudaSuccess)
    e = cudaDeviceGetAttribute (&cooperative, cudaDevAttrCooperativeLaunch, device);
  if (e != cudaSuccess)
    return e;

  limits->declared[0] = limits->declared[1] = limits->declared[2] = 0;
  /* Code compiled for devices before 9.0 has no clusters, even where a later device runs it. */
  bool has_clusters = major >= 9;
  limits->methods_declared[0] = limits->methods_declared[1] = 0;
  for (uint32_t lanes : {0, 1, 2, 4})
    for (int methods = 0; methods <= (lanes == 0); methods++) {
      /* Of the other methods there is no dense kernel. */
      const NdtCudaShape shapes[] = {{0, 0, 1, 256, lanes, {}, methods},
          {0, 0, 1, 512, lanes, {}, methods}, {1, 0, 128, 256, lanes, {}, methods},
          {1, 0, 64, 256, lanes, {}, methods}, {1, 0, 32, 256, lanes, {}, methods},
          {1, 0, 16, 256, lanes, {}, methods}, {1, !methods, 16, 256, lanes, {}, methods}};
      for (const NdtCudaShape &shape : shapes) {
        cudaFuncAttributes attributes;
        const void *kernel = (const void *)choose_kernel (&shape);
        int32_t *declared = methods ? limits->methods_declared : limits->declared;
        e = cudaFuncGetAttributes (&attributes, kernel);
        const int32_t kind = shape.grid + shape.dense;
        if (e == cudaSuccess && declared[kind] < (int)attributes.sharedSizeBytes)
          declared[kind] = (int)attributes.sharedSizeBytes;
        if (e == cudaSuccess)
          e = cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
              limits->max_shared - (int)attributes.sharedSizeBytes);
        has_clusters = has_clusters && e == cudaSuccess && attributes.ptxVersion >= 90;
        if (e == cudaSuccess && !shape.grid && has_clusters)
          e = cudaFuncSetAttribute (kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
        if (e != cudaSuccess)
          return e;
      }
    }

  limits->max_cluster = 1;
#if CUDART_VERSION >= 12000
  if (has_clusters) {
    for (int size = 16; size > 1 && limits->max_cluster == 1; size /= 2) {
      int n = 0, n512 = 0;
      cudaLaunchConfig_t config = {};
      cudaLaunchAttribute attribute = {};
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim.x = (unsigned)size;
      attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
      config.gridDim = dim3 ((unsigned)size);
      config.attrs = &attribute;
      config.numAttrs = 1;
      for (int threads = 256; threads <= 512; threads += 256) {
        const NdtCudaShape shape = {0, 0, size, threads, 0, {}, 0};
        const void *kernel = (const void *)choose_kernel (&shape);
        config.blockDim = dim3 ((unsigned)threads);
        config.dynamicSmemBytes = dynamic_bytes (&shape, 2, 32);
        if (cudaOccupancyMaxActiveClusters (threads == 256 ? &n : &n512, kernel, &config) !=
            cudaSuccess) {
          (void)cudaGetLastError ();
          n = 0;
        }
      }
      if (n > 0 && n512 > 0)
        limits->max_cluster = size;
    }
  }
#endif
  /* One block per multiprocessor, and two of the dense ones, where they fit with the least shared
   * memory that they need. */
  const NdtCudaShape grid = {1, 0, 128, 256, 0, {}, 0}, dense = {1, 1, 16, 256, 0, {}, 0};
  int blocks = 0, dense_blocks = 0;
  if (cooperative && cudaOccupancyMaxActiveBlocksPerMultiprocessor (&blocks, choose_kernel (&grid),
                         256, dynamic_bytes (&grid, 1, 1)) != cudaSuccess) {
    (void)cudaGetLastError ();
    blocks = 0;
  }
  limits->max_grid = blocks > 0 ? limits->n_processors : 0;
  if (cooperative &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor (&dense_blocks, choose_kernel (&dense), 256,
          dynamic_bytes (&dense, 4, 0)) != cudaSuccess) {
    (void)cudaGetLastError ();
    dense_blocks = 0;
  }
  limits->max_dense = dense_blocks >= 2 ? 2 * limits->n_processors : 0;
  return cudaSuccess;
}

cudaError_t
ndt_cuda_align_launch (NdtCudaJob *job, const NdtCudaShape *shape, cudaStream_t stream)
{
  size_t dynamic = 0;
  job->lanes = shape->lanes;
  for (uint32_t k = 0, lanes = 1; lanes <= 4; k++, lanes *= 2) {
    const size_t size = dynamic_bytes (shape, lanes, shape->n_slots[k]);
    job->n_slots[k] = shape->n_slots[k];
    if (shape->lanes & lanes && size > dynamic)
      dynamic = size;
  }
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = {};
  config.blockDim = dim3 ((unsigned)shape->threads);
  config.dynamicSmemBytes = dynamic;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  if (shape->grid) {
    config.gridDim = dim3 ((unsigned)shape->size);
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  } else {
    config.gridDim = dim3 ((unsigned)shape->size * job->n_starts);
    if (shape->size > 1) {
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim.x = (unsigned)shape->size;
      attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    } else {
      config.numAttrs = 0;
    }
  }
  void *args[] = {job};
  return cudaLaunchKernelExC (&config, (const void *)choose_kernel (shape), args);
}
