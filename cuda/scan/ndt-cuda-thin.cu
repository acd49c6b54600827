/* SPDX-License-Identifier: MIT */
/* Thinning of a raw scan on the device, and samples of thinned ones: by the rules of
 * ndt-scan-filter.h and ndt-scan-sample.h, with the same result as on the CPU, to the bit. Two
 * launches: points into leaves, output in order; of samples three, since a sample depends on the
 * number of all points. */
#include <cuda_runtime.h>

#include "ndt-cuda-thin.h"
#include "ndtcore/scan/ndt-scan-filter.h"
#include "ndtcore/scan/ndt-scan-sample.h"

#define BLOCK NDT_CUDA_THIN_BLOCK
#define INSERT 256u /* threads of a block that inserts */
#define NONE 0xffffffffu
/* Replaces a point's leaf: the point is in the sample only where the whole scan is its own sample.
 */
#define OTHER 0xfffffffeu

__device__ __forceinline__ float
load (const NdtCudaThin &thin, const uint8_t *axis, uint32_t i)
{
  const uint8_t *p = axis + (uint64_t)i * thin.stride;
  return thin.is_double ? (float)*(const double *)p : *(const float *)p;
}

/* Between two kernels of which the second may be launched before the first one ends: the first one
 * lets it, once all of its blocks have begun, and the second one waits for the end. Without effect
 * where they are launched one after the other. */
__device__ __forceinline__ void
let_next_begin ()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ void
wait_for_previous ()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ uint32_t
count_raw (const NdtCudaThin &thin)
{
  return thin.n_raw_device ? min (thin.n_raw, *thin.n_raw_device) : thin.n_raw;
}

/* The records of a warp, in shared memory: each is read once, in whole words of 16 bytes, since it
 * may be in memory of the host. No warp waits for another's, so that the points of the first ones
 * are done when the last ones come. Returns the first one. */
__device__ __forceinline__ const uint8_t *
stage (const NdtCudaThin &thin)
{
  constexpr uint32_t WORDS = NDT_CUDA_THIN_RECORD * 32 / 16; /* of a warp at most */
  __shared__ __align__ (16) uint4 of_block[INSERT / 32][WORDS];
  uint4 *records = of_block[threadIdx.x / 32];
  const uint32_t lane = threadIdx.x % 32;
  const uint64_t first =
      (uint64_t)(blockIdx.x * (INSERT / 32) + threadIdx.x / 32) * 32 * thin.stride;
  const uint64_t all = (uint64_t)(thin.n_raw - 1) * thin.stride + 12;
  const uint32_t size = first < all ? (uint32_t)min (all - first, 32 * thin.stride) : 0,
                 n_words = size / 16;
  const uint4 *from = (const uint4 *)(thin.x + first);
  uint4 word[WORDS / 32];
#pragma unroll
  for (uint32_t k = 0; k < WORDS / 32; k++)
    if (lane + 32 * k < n_words)
      word[k] = __ldg (from + lane + 32 * k);
  /* The last record need not fill its last word. */
  const uint32_t rest = (size - 16 * n_words) / 4;
  if (lane < rest)
    ((uint32_t *)(records + n_words))[lane] = __ldg ((const uint32_t *)(from + n_words) + lane);
#pragma unroll
  for (uint32_t k = 0; k < WORDS / 32; k++)
    if (lane + 32 * k < n_words)
      records[lane + 32 * k] = word[k];
  __syncwarp ();
  return (const uint8_t *)records;
}

/* slot_of[i] = leaf of point i, or i itself without leaves; NONE where the point is dropped. */
template <bool STAGED>
__global__ void
__launch_bounds__ (INSERT) insert (const __grid_constant__ NdtCudaThin thin)
{
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t lane = threadIdx.x % 32;
  float p[3] = {0, 0, 0};
  bool keep = false;
  let_next_begin ();
  if (i < (thin.n_raw + BLOCK - 1) / BLOCK)
    thin.counts[i] = 0;
  const uint8_t *staged = STAGED ? stage (thin) + lane * thin.stride : NULL;
  if (i < count_raw (thin)) {
    if (STAGED) {
      p[0] = ((const float *)staged)[0];
      p[1] = ((const float *)staged)[1];
      p[2] = ((const float *)staged)[2];
    } else {
      p[0] = load (thin, thin.x, i);
      p[1] = load (thin, thin.y, i);
      p[2] = load (thin, thin.z, i);
    }
    keep = ndt_scan_keep (
        p[0], p[1], p[2], thin.min_range, thin.max_range, thin.use_box, thin.box_min, thin.box_max);
  }
  if (!thin.leaves) {
    if (i < thin.n_raw)
      thin.slot_of[i] = keep ? i : NONE;
    return;
  }

  const float inverse_leaf = __fdiv_rn (1.0f, thin.leaf_size);
  int32_t index[3] = {0, 0, 0}, offset[3] = {0, 0, 0};
  uint32_t slot = keep && thin.sample ? OTHER : NONE;
  if (keep) {
    for (int k = 0; k < 3; k++) {
      index[k] = ndt_leaf_index (p[k], inverse_leaf);
      keep = keep && ndt_leaf_in_range (index[k]);
      offset[k] = ndt_leaf_offset (p[k], index[k], thin.leaf_size, inverse_leaf);
    }
  }
  /* Consecutive points of a ring are often in one leaf: the warp adds up each run of these before
   * the atomic operations. Looking for all points of a leaf takes longer than it saves. */
  const uint64_t key = ndt_block_key (index[0], index[1], index[2]);
  const uint32_t kept = __ballot_sync (0xffffffffu, keep);
  const uint64_t key_before = __shfl_up_sync (0xffffffffu, key, 1);
  const bool begins = lane == 0 || !keep || !(kept >> (lane - 1) & 1) || key_before != key;
  const uint32_t begin = __ballot_sync (0xffffffffu, begins);
  const uint32_t later = begin & (0xfffffffeu << lane);
  const uint32_t last = later ? (uint32_t)__ffs ((int)later) - 2 : 31;
  if (!thin.sample)
    for (uint32_t h = 1; __any_sync (0xffffffffu, lane + h <= last); h *= 2)
#pragma unroll
      for (int k = 0; k < 3; k++) {
        const int32_t sum = __shfl_down_sync (0xffffffffu, offset[k], h);
        offset[k] += lane + h <= last ? sum : 0;
      }
  if (keep && begins) {
    const uint32_t mask = (1u << (64 - thin.leaf_shift)) - 1;
    slot = ndt_block_hash (key, thin.leaf_shift);
    for (;;) {
      const uint64_t found = atomicCAS (
          (unsigned long long *)&thin.leaves[slot].not_key, 0ull, (unsigned long long)~key);
      if (found == 0 || found == ~key)
        break;
      slot = (slot + 1) & mask;
    }
    NdtCudaLeaf *leaf = &thin.leaves[slot];
    atomicMax (&leaf->not_first, ~i);
    if (!thin.sample) {
      atomicAdd (&leaf->n, last - lane + 1);
      for (int k = 0; k < 3; k++)
        atomicAdd ((unsigned long long *)&leaf->sum[k], (unsigned long long)(long long)offset[k]);
    }
  }
  /* All of a run have the slot of its first one, the last that begins one at or before them. */
  __syncwarp ();
  const int first = 31 - __clz ((int)(begin & (0xffffffffu >> (31 - lane))));
  const uint32_t of_run = __shfl_sync (0xffffffffu, slot, first);
  slot = keep ? of_run : slot;
  if (i < thin.n_raw)
    thin.slot_of[i] = slot;
}

/* Assigns each leaf to its first point; counts the points of the result. */
__global__ void
count (const __grid_constant__ NdtCudaThin thin)
{
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  bool stays = false, kept = false;
  if (i < thin.n_raw) {
    const uint32_t slot = thin.slot_of[i];
    kept = slot != NONE;
    stays = kept && slot != OTHER && (!thin.leaves || thin.leaves[slot].not_first == ~i);
    if (!stays)
      thin.slot_of[i] = kept && thin.sample ? OTHER : NONE;
  }
  const int n = __syncthreads_count (stays), n_kept = __syncthreads_count (kept);
  if (threadIdx.x == 0) {
    thin.counts[blockIdx.x] = (uint32_t)n;
    if (thin.sample)
      thin.kept[blockIdx.x] = (uint32_t)n_kept;
  }
}

/* Sum over the block; all threads have the result. */
__device__ __forceinline__ uint32_t
block_sum (uint32_t sum)
{
  __shared__ uint32_t warp_sums[32];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int h = 16; h >= 1; h >>= 1)
    sum += __shfl_xor_sync (0xffffffffu, sum, h);
  __syncthreads ();
  if (lane == 0)
    warp_sums[warp] = sum;
  __syncthreads ();
  sum = 0;
  for (int w = 0; w < BLOCK / 32; w++)
    sum += warp_sums[w];
  return sum;
}

/* Number of threads of the block before this one whose argument is true. */
__device__ __forceinline__ uint32_t
block_rank (bool stays)
{
  __shared__ uint32_t warp_sums[32];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t stay = __ballot_sync (0xffffffffu, stays);
  __syncthreads ();
  if (lane == 0)
    warp_sums[warp] = (uint32_t)__popc (stay);
  __syncthreads ();
  uint32_t rank = (uint32_t)__popc (stay & ((1u << lane) - 1));
  for (uint32_t w = 0; w < warp; w++)
    rank += warp_sums[w];
  return rank;
}

/* Assigns each leaf to its first point, and writes the points of the result in order. A block needs
 * the number of points of the blocks before it, which have begun before: blocks begin in the order
 * of their numbers. */
__global__ void
__launch_bounds__ (BLOCK) emit (const __grid_constant__ NdtCudaThin thin)
{
  wait_for_previous ();
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t slot = i < thin.n_raw ? thin.slot_of[i] : NONE;
  const bool stays = slot != NONE && (!thin.leaves || thin.leaves[slot].not_first == ~i);
  const uint32_t rank = block_rank (stays);
  if (threadIdx.x == BLOCK - 1)
    *(volatile uint32_t *)&thin.counts[blockIdx.x] = 1 + rank + stays;

  float p[3];
  if (stays && thin.leaves) {
    const NdtCudaLeaf leaf = thin.leaves[slot], empty = {0, {0, 0, 0}, 0, 0};
    const uint64_t key = ~leaf.not_key;
    for (int k = 0; k < 3; k++) {
      const int32_t index = (int32_t)(key >> (21 * k) & 0x1fffff) - NDT_KEY_LIMIT;
      p[k] = ndt_leaf_centroid (leaf.sum[k], leaf.n, index, thin.leaf_size);
    }
    thin.leaves[slot] = empty;
  } else if (stays) {
    p[0] = load (thin, thin.x, i);
    p[1] = load (thin, thin.y, i);
    p[2] = load (thin, thin.z, i);
  }

  uint32_t before = 0;
  for (uint32_t b = threadIdx.x; b < blockIdx.x; b += BLOCK) {
    uint32_t n;
    do
      n = *(volatile uint32_t *)&thin.counts[b];
    while (n == 0);
    before += n - 1;
  }
  const uint32_t at = block_sum (before) + rank;
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == BLOCK - 1)
    *thin.n_points = at + stays;
  if (stays) {
    float *out = thin.points + 3 * (size_t)at;
    out[0] = p[0];
    out[1] = p[1];
    out[2] = p[2];
  }
}

__global__ void
__launch_bounds__ (BLOCK) emit_sample (const __grid_constant__ NdtCudaThin thin)
{
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t first_before = 0, first_all = 0, kept_before = 0, kept_all = 0;
  for (uint32_t b = threadIdx.x; b < gridDim.x; b += BLOCK) {
    const uint32_t first = thin.counts[b], kept = thin.kept[b];
    first_all += first;
    kept_all += kept;
    first_before += b < blockIdx.x ? first : 0;
    kept_before += b < blockIdx.x ? kept : 0;
  }
  first_all = block_sum (first_all);
  kept_all = block_sum (kept_all);
  first_before = block_sum (first_before);
  kept_before = block_sum (kept_before);

  const uint32_t slot = i < thin.n_raw ? thin.slot_of[i] : NONE;
  const bool is_first = slot != NONE && slot != OTHER;
  const bool whole = kept_all <= NDT_SAMPLE_LEAST;
  const bool stays = whole ? slot != NONE : is_first;
  const uint32_t at = (whole ? kept_before : first_before) + block_rank (stays);
  const uint32_t n = whole ? kept_all : first_all;
  const uint32_t most = whole ? n : ndt_sample_most (kept_all);
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *thin.n_points = min (n, most);
  if (stays) {
    const float x = load (thin, thin.x, i), y = load (thin, thin.y, i), z = load (thin, thin.z, i);
    uint32_t k = at, end = at + 1;
    double step = 1;
    if (n > most) {
      /* The k whose ndt_sample_from() is this: between one part before it and one after; a wider
       * range, for rounding. */
      step = (double)n / most;
      const uint32_t near = (uint32_t)(at / step);
      k = near > 2 ? near - 2 : 0;
      end = min (near + 3, most);
    }
    for (; k < end; k++)
      if (n <= most || ndt_sample_from (k, step) == at) {
        float *out = thin.points + 3 * (size_t)k;
        out[0] = x;
        out[1] = y;
        out[2] = z;
      }
  }
  if (is_first) {
    const NdtCudaLeaf empty = {0, {0, 0, 0}, 0, 0};
    thin.leaves[slot] = empty;
  }
}

cudaError_t
ndt_cuda_thin_is_early (int32_t *early)
{
  cudaFuncAttributes attributes;
  const cudaError_t e = cudaFuncGetAttributes (&attributes, emit);
  *early = e == cudaSuccess && attributes.ptxVersion >= 90;
  return e;
}

cudaError_t
ndt_cuda_thin_launch (const NdtCudaThin *thin, cudaStream_t stream)
{
  const uint32_t n_blocks = (thin->n_raw + BLOCK - 1) / BLOCK;
  const uint32_t n_insert = (thin->n_raw + INSERT - 1) / INSERT;
  if (thin->staged)
    insert<true><<<n_insert, INSERT, 0, stream>>> (*thin);
  else
    insert<false><<<n_insert, INSERT, 0, stream>>> (*thin);
  if (thin->sample) {
    count<<<n_blocks, BLOCK, 0, stream>>> (*thin);
    emit_sample<<<n_blocks, BLOCK, 0, stream>>> (*thin);
  } else {
    /* On multiprocessors before all points are in their leaves. */
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3 (n_blocks);
    config.blockDim = dim3 (BLOCK);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = thin->early ? 1 : 0;
    cudaLaunchKernelEx (&config, emit, *thin);
  }
  return cudaGetLastError ();
}
