/* SPDX-License-Identifier: MIT */
/* Gradients of clusters of neighbouring points, those that the CPU backend sums as chunks: the
 * points along a Z curve, NDT_CHUNK at a time. Sums have a fixed order. */
#include <cuda_runtime.h>

#include "ndt-cuda-chunk.cuh"
#include "ndt-cuda-spread.h"

#define TILE NDT_CUDA_ORDER_TILE
#define NO_PLACE UINT64_MAX

static __device__ __forceinline__ uint32_t
count_points (const NdtCudaSource &source)
{
  return source.n_points_device ? *source.n_points_device : source.n_points;
}

/* Every third bit of the low eight. */
static __device__ __forceinline__ uint32_t
spread_bits (int32_t v)
{
  uint32_t b = (uint32_t)v & 0xff;
  b = (b | b << 8) & 0x00f00f;
  b = (b | b << 4) & 0x0c30c3;
  return (b | b << 2) & 0x249249;
}

/* The place along the curve, in the high half, as NdtScanKernel.places; the point's number. */
static __device__ __forceinline__ uint64_t
place_of (const float p[3], float inverse_cell, uint32_t number)
{
  uint32_t place = 0;
  if (!is_point (p[0], p[1], p[2]))
    place = UINT32_MAX;
  else
#pragma unroll
    for (int k = 0; k < 3; k++)
      place |= spread_bits ((int32_t)floorf (__fmul_rn (p[k], inverse_cell))) << k;
  return (uint64_t)place << 32 | number;
}

/* Sorts a tile, in a bitonic network, and copies its points. */
static __global__ void
__launch_bounds__ (TILE / 2) sort_tiles (const __grid_constant__ NdtCudaOrderJob job)
{
  __shared__ uint64_t values[TILE];
  const uint32_t n_points = count_points (job.source), first = blockIdx.x * TILE;
  if (first < n_points) {
    for (uint32_t i = threadIdx.x; i < TILE; i += TILE / 2) {
      const uint32_t number = first + i;
      values[i] = NO_PLACE;
      if (number < n_points) {
        const float *from = job.source.points + (size_t)number * job.source.stride;
        const float p[3] = {from[0], from[1], from[2]};
        values[i] = place_of (p, job.inverse_cell, number);
#pragma unroll
        for (int k = 0; k < 3; k++)
          job.copy[3 * (size_t)number + k] = p[k];
      }
    }
    for (uint32_t size = 2; size <= TILE; size *= 2)
      for (uint32_t step = size / 2; step > 0; step /= 2) {
        __syncthreads ();
        const uint32_t a = 2 * threadIdx.x - (threadIdx.x & (step - 1)), b = a + step;
        const uint64_t x = values[a], y = values[b];
        const bool rises = (a & size) == 0;
        if ((x > y) == rises) {
          values[a] = y;
          values[b] = x;
        }
      }
    __syncthreads ();
    for (uint32_t i = threadIdx.x; i < TILE; i += TILE / 2)
      job.tiles[first + i] = values[i];
  }
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *job.n_points = n_points;
  __syncthreads ();
  if (threadIdx.x == 0 && atomicAdd (job.n_done, 1u) + 1 == gridDim.x) {
    *job.n_done = 0;
    __threadfence_system ();
    *job.ordered = job.ticket;
  }
}

/* How many of a sorted tile are less. */
static __device__ __forceinline__ uint32_t
count_less (const uint64_t *tile, uint64_t value)
{
  uint32_t n = 0;
#pragma unroll
  for (uint32_t step = TILE / 2; step > 0; step /= 2)
    n += __ldg (tile + n + step - 1) < value ? step : 0;
  return n + (__ldg (tile + n) < value);
}

/* How many of a sorted run are less, or not greater. */
static __device__ __forceinline__ uint32_t
count_in_run (const uint64_t *run, uint32_t length, uint64_t value, bool equal)
{
  uint32_t n = 0;
  while (length > 0) {
    const uint32_t half = length / 2;
    const uint64_t x = __ldg (run + n + half);
    const bool before = x < value || (equal && x == value);
    n += before ? half + 1 : 0;
    length = before ? length - half - 1 : half;
  }
  return n;
}

/* Values in tiles, those of no point included, which are all the same. */
static __device__ __forceinline__ uint32_t
count_values (const NdtCudaOrderJob &job)
{
  return (*job.n_points + TILE - 1) / TILE * TILE;
}

/* Merges sorted runs two by two. */
static __global__ void __launch_bounds__ (256)
    merge_runs (const __grid_constant__ NdtCudaOrderJob job, const uint64_t *from, uint64_t *to,
        uint32_t length)
{
  const uint32_t n_values = count_values (job);
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < n_values; i += gridDim.x * 256) {
    const uint32_t run = i / length, other = (run ^ 1) * length;
    const uint32_t n_other = other < n_values ? min (length, n_values - other) : 0;
    const uint64_t value = from[i];
    to[(run & ~1u) * length + i % length +
        count_in_run (from + other, n_other, value, (run & 1) != 0)] = value;
  }
}

/* Moves each point to its rank among all sorted runs; @length: TILE, or more, of MERGED ones. */
template <bool MERGED>
static __global__ void __launch_bounds__ (256) move_points (
    const __grid_constant__ NdtCudaOrderJob job, const uint64_t *values, uint32_t length)
{
  const uint32_t n_values = count_values (job);
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < n_values; i += gridDim.x * 256) {
    const uint64_t value = values[i];
    uint32_t rank = 0;
    if (value == NO_PLACE)
      continue;
    for (uint32_t first = 0; first < n_values; first += MERGED ? length : TILE)
      rank += MERGED ? count_in_run (values + first, min (length, n_values - first), value, false)
                     : count_less (values + first, value);
    const float *from = job.copy + 3 * (size_t)(uint32_t)value;
    float *to = job.points + 3 * (size_t)rank;
    to[0] = from[0];
    to[1] = from[1];
    to[2] = from[2];
  }
}

#define LANES 4
#define WARPS (NDT_CHUNK * LANES / 32)
#define SLICES WARPS
/* Entries of the upper triangle, and the number of clusters. */
#define N_SUMS 22

typedef struct {
  ChunkSlot<LANES, false> slots[WARPS];
  float parts[WARPS][VALUES];
  double sums[SLICES][32];
  int32_t is_last;
} SpreadShared;

/* Adds up the outer products of all rows, in the order of clusters. */
static __device__ void
finish_spread (const NdtCudaSpreadJob &job, SpreadShared &shared, uint32_t n_clusters)
{
  const uint32_t lane = threadIdx.x % 32, slice = threadIdx.x / 32;
  uint32_t i = 0, j = lane;
  while (i < 5 && j >= 6 - i) {
    j -= 6 - i;
    i++;
  }
  j += i;
  double sum = 0;
  for (uint32_t c = slice; lane < N_SUMS && c < n_clusters; c += SLICES) {
    const double *row = job.rows + (size_t)c * NDT_CUDA_SPREAD_ROW;
    sum += lane < N_SUMS - 1 ? __ldcg (row + i) * __ldcg (row + j) : (double)(__ldcg (row + 6) > 0);
  }
  shared.sums[slice][lane] = sum;
  __syncthreads ();
  if (slice > 0)
    return;
  sum = 0;
  for (uint32_t s = 0; s < SLICES; s++)
    sum += shared.sums[s][lane];
  if (lane < N_SUMS - 1)
    job.result->spread[lane] = sum;
  else if (lane == N_SUMS - 1)
    job.result->n_clusters = (uint32_t)sum;
  __threadfence_system ();
  __syncwarp ();
  if (lane == 0)
    *job.finished = job.ticket;
}

/* A cluster a block; the last one to end adds up. */
static __global__ void
__launch_bounds__ (NDT_CHUNK *LANES)
    spread_clusters (const __grid_constant__ NdtCudaSpreadJob job, const __grid_constant__ Frame f)
{
  __shared__ SpreadShared shared;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t first = blockIdx.x * NDT_CHUNK + warp * (32 / LANES);
  shared.parts[warp][lane] = chunk_values<LANES, false> (
      f, job.points, 3, job.n_points, first, &shared.slots[warp], false, lane);
  __syncthreads ();
  if (warp == 0) {
    double sum = 0;
    for (uint32_t w = 0; w < WARPS; w++)
      sum += (double)shared.parts[w][lane];
    /* Values of a chunk: score, gradient, …, pairs (NDT_CUDA_VALUES). */
    double *row = job.rows + (size_t)blockIdx.x * NDT_CUDA_SPREAD_ROW;
    if (lane >= 1 && lane <= 6)
      row[lane - 1] = sum;
    else if (lane == 30)
      row[6] = sum;
    __threadfence ();
    __syncwarp ();
    if (lane == 0) {
      shared.is_last = atomicAdd (job.n_done, 1u) + 1 == gridDim.x;
      if (shared.is_last)
        *job.n_done = 0;
      __threadfence ();
    }
  }
  __syncthreads ();
  if (shared.is_last)
    finish_spread (job, shared, gridDim.x);
}

cudaError_t
ndt_cuda_order_launch (const NdtCudaOrderJob *job, cudaStream_t stream)
{
  const uint32_t n_tiles = ndt_cuda_order_tiles (job->source.n_points);
  const uint32_t n_mergings = ndt_cuda_order_mergings (job->source.n_points);
  const uint32_t n_blocks = 4 * (n_tiles < 64 ? n_tiles : 64);
  uint64_t *values = job->tiles, *other = job->tiles + (size_t)n_tiles * TILE;
  uint32_t length = TILE;
  sort_tiles<<<n_tiles, TILE / 2, 0, stream>>> (*job);
  cudaError_t e = cudaGetLastError ();
  for (uint32_t k = 0; k < n_mergings && e == cudaSuccess; k++, length *= 2) {
    merge_runs<<<n_blocks, 256, 0, stream>>> (*job, values, other, length);
    uint64_t *merged = other;
    other = values;
    values = merged;
    e = cudaGetLastError ();
  }
  if (e != cudaSuccess)
    return e;
  if (n_mergings > 0)
    move_points<true><<<n_blocks, 256, 0, stream>>> (*job, values, length);
  else
    move_points<false><<<n_blocks, 256, 0, stream>>> (*job, values, TILE);
  return cudaGetLastError ();
}

cudaError_t
ndt_cuda_spread_launch (const NdtCudaSpreadJob *job, cudaStream_t stream)
{
  const NdtCudaLevel *level = &job->level;
  const float r = (float)level->resolution;
  Frame f = {};
  f.valid = ndt_transform_f_init (
      &f.transform, &job->pose, job->pose.position, level->resolution, level->origin);
  f.resolution = r;
  f.inverse_resolution = (float)(1 / level->resolution);
  f.square_limit = job->neighbours == NDT_NEIGHBOURS_RADIUS ? r * r : INFINITY;
  f.list_limit = r;
  f.d1 = job->d1;
  f.d2 = job->d2;
  f.voxels = level->voxels;
  f.blocks = level->blocks;
  f.grid = level->grid;
  f.directory = level->directory;
  f.pages = level->pages;
  for (int k = 0; k < 3; k++) {
    f.grid_first[k] = level->grid_first[k];
    f.grid_size[k] = level->grid_size[k];
  }
  f.block_shift = level->block_shift;
  f.neighbours = job->neighbours;
  f.kind = NDT_KIND_SCORE;
  const uint32_t n_clusters = (job->n_points + NDT_CHUNK - 1) / NDT_CHUNK;
  spread_clusters<<<n_clusters, NDT_CHUNK * LANES, 0, stream>>> (*job, f);
  return cudaGetLastError ();
}
