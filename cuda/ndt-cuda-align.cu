/* SPDX-License-Identifier: MIT */
/* Alignments, whole on the device: one launch runs the optimizer of each start from guess to
 * result. A *team* of blocks works on one alignment: a cluster, or a cooperative grid. Every block
 * of a team adds up the same sums in the same order and runs the same optimizer, so that nothing
 * but sums is exchanged, once a pass.
 *
 * A grid may be given a sequence of scans, each from a start that is known only once the scan
 * before is done: it stays, reads the next scan meanwhile, and waits for a message of the host.
 *
 * Sums have one order, whatever the team: points in turn are a chunk, summed by a warp. Chunk c
 * belongs to segment c mod 16 and there to strand (c / 16) mod 16. A strand adds its chunks in
 * order; a segment is a binary tree over its strands; the total is one over the segments. */
#include <cuda_runtime.h>

#include "ndt-cuda-kernels.h"
#include "ndtcore/scan/ndt-scan-filter.h"
#include "ndt-cuda-step.cuh"

#define MAX_TEAM 128
/* Chunk sums that a block of a grid keeps before it adds them to its strands. */
#define CHUNK_BUFFER 64
/* Polls of another block's sums before the wait counts as failed: half a minute. The first ones of
 * a grid may wait for processors that other grids have. */
#define MAX_POLLS (1 << 26)

/* ---- Clusters ---- */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HAVE_CLUSTERS 1
#else
#define HAVE_CLUSTERS 0
#endif

__device__ __forceinline__ uint32_t
cluster_rank ()
{
#if HAVE_CLUSTERS
  uint32_t r;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
#else
  return 0;
#endif
}

__device__ __forceinline__ uint32_t
cluster_size ()
{
#if HAVE_CLUSTERS
  uint32_t n;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  return n;
#else
  return 1;
#endif
}

__device__ __forceinline__ void
cluster_barrier (uint32_t size)
{
#if HAVE_CLUSTERS
  if (size > 1) {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    return;
  }
#endif
  __syncthreads ();
}

/* Stores into the same variable of another block of the cluster. */
__device__ __forceinline__ void
cluster_store (float *p, uint32_t rank, float value)
{
#if HAVE_CLUSTERS
  uint32_t local = (uint32_t)__cvta_generic_to_shared (p), remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(local), "r"(rank));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(remote), "f"(value) : "memory");
#else
  *p = value;
#endif
}

/* ---- Chunks of a block ---- */

__device__ __forceinline__ uint32_t
count_points (const NdtCudaSource &source)
{
  return source.n_points_device ? *source.n_points_device : source.n_points;
}

/* Lanes for each point of a scan: the host may not know how many points are left of a raw one. */
__device__ __forceinline__ uint32_t
choose_lanes (const NdtCudaJob &job, uint32_t n_points)
{
  const uint32_t least = job.lanes & (0 - job.lanes);
  return job.lanes == least ? least : max (ndt_cuda_lanes (n_points), least);
}

/* A lane with all of a point's voxels takes longer to find those to keep than they save. */
template <int LANES>
__device__ __forceinline__ float
choose_reuse (const NdtCudaJob &job)
{
  return LANES == 1 ? 0 : job.reuse;
}

/* Point @i of the scan, its chunk's @sub-th, into a slot. */
template <int LANES>
__device__ __forceinline__ void
fill_slot (const NdtCudaSource &source, ChunkSlot<LANES> *slot, uint32_t i, uint32_t n_points,
    uint32_t sub)
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

/* ---- A cluster for each start ---- */

typedef struct {
  Control control;
  float segments[2][SEGMENTS * VALUES];
  int32_t cancelled;
} ClusterShared;

template <int THREADS, int LANES>
__device__ __forceinline__ void
align_in_cluster (
    const NdtCudaJob &job, ClusterShared &shared, unsigned char *dynamic, uint32_t n_points)
{
  constexpr uint32_t WARPS = THREADS / 32, CHUNK = 32 / LANES;
  Control &control = shared.control;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t rank = cluster_rank (), size = cluster_size ();
  const uint32_t start = blockIdx.x / size;
  const uint32_t own = SEGMENTS / size; /* segments of this block: rank + size k */
  float *strands = (float *)dynamic;    /* own × STRANDS × VALUES */
  ChunkSlot<LANES> *slots = (ChunkSlot<LANES> *)(strands + own * STRANDS * VALUES);
  const uint32_t n_slots = job.n_slots[LANES / 2];
  ChunkSlot<LANES> *scratch = slots + n_slots + warp;

  const uint32_t n_chunks = (n_points + CHUNK - 1) / CHUNK;
  /* Local chunk l is chunk SEGMENTS (l / own) + rank + size (l mod own). */
  for (uint32_t i = threadIdx.x; i < n_slots * CHUNK; i += THREADS) {
    const uint32_t l = i / CHUNK;
    const uint32_t c = SEGMENTS * (l / own) + rank + size * (l % own);
    if (c >= n_chunks)
      break;
    fill_slot<LANES> (job.source, &slots[l], CHUNK * c + i % CHUNK, n_points, i % CHUNK);
  }
  if (warp == 0)
    begin (job, &control, (const uint32_t *)(job.starts ? &job.starts[start] : &job.start),
        choose_reuse<LANES> (job), lane);
  cluster_barrier (size);

  for (uint32_t pass = 0;; pass++) {
    float *all = shared.segments[pass & 1];
    if (rank == 0 && threadIdx.x == 0)
      shared.cancelled = look_for_cancel (job, pass);

    for (uint32_t s = warp; s < own * STRANDS; s += WARPS) {
      const uint32_t k = s % own, strand = s / own;
      float sum = 0;
      for (uint32_t d = strand; SEGMENTS * d + rank + size * k < n_chunks; d += STRANDS) {
        const uint32_t c = SEGMENTS * d + rank + size * k, l = d * own + k;
        const bool kept = l < n_slots;
        sum += chunk_values<LANES, false> (control.frame, job.source.points, job.source.stride,
            n_points, CHUNK * c, kept ? &slots[l] : scratch, kept, lane);
      }
      strands[(k * STRANDS + strand) * VALUES + lane] = sum;
    }
    __syncthreads ();
    /* SEGMENTS tasks: own segments times the blocks that they go to. */
    for (uint32_t task = warp; task < SEGMENTS; task += WARPS) {
      const uint32_t k = task / size, to = task % size;
      const uint32_t segment = rank + size * k;
      float sum = tree_sum_rows<STRANDS> (strands + k * STRANDS * VALUES, lane);
      if (segment == 0 && lane == 31 && shared.cancelled)
        sum = CANCELLED;
      cluster_store (&all[segment * VALUES + lane], to, sum);
    }
    cluster_barrier (size);
    if (warp == 0)
      advance (job, &control, segment_sum (all, lane), lane);
    __syncthreads ();
    if (!control.go_on)
      break;
  }
  if (rank == 0 && warp == 0)
    write_result (job, &control, start, lane);
}

/* @LANES: 0: choose_lanes(); a kernel for all of them is 5 % slower with scans of known size. */
template <int THREADS, int LANES>
__global__ void
__launch_bounds__ (THREADS, THREADS == 512 ? 1 : 3)
    align_clusters (const __grid_constant__ NdtCudaJob job)
{
  extern __shared__ __align__ (16) unsigned char dynamic[];
  __shared__ ClusterShared shared;
  const uint32_t n_points = count_points (job.source);
  const uint32_t lanes = LANES ? LANES : choose_lanes (job, n_points);
  if (lanes == 4)
    align_in_cluster<THREADS, 4> (job, shared, dynamic, n_points);
  else if (lanes == 2)
    align_in_cluster<THREADS, 2> (job, shared, dynamic, n_points);
  else
    align_in_cluster<THREADS, 1> (job, shared, dynamic, n_points);
}

/* ---- A grid for one start after the other ---- */

/* A value with the number of the exchange that it belongs to: valid once both have arrived,
 * without a fence or a barrier. */
__device__ __forceinline__ void
publish (uint64_t *slot, uint32_t sequence, uint32_t value)
{
  const uint64_t word = (uint64_t)sequence << 32 | value;
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(slot), "l"(word) : "memory");
}

__device__ __forceinline__ uint64_t
look (const uint64_t *slot)
{
  uint64_t word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(slot) : "memory");
  return word;
}

/* Waits for @PARTS rows of VALUES words of each of two segments, the first one's before the
 * other's, value i in lane i. Returns false where they do not come. */
template <int PARTS>
__device__ __forceinline__ bool
collect (const uint64_t *rows, uint32_t sequence, uint32_t lane, float v[2 * PARTS])
{
  uint64_t words[2 * PARTS];
  for (uint32_t polls = 0; polls < MAX_POLLS; polls++) {
    bool complete = true;
#pragma unroll
    for (int i = 0; i < 2 * PARTS; i++)
      words[i] = look (rows + (i % PARTS * SEGMENTS + i / PARTS) * VALUES + lane);
#pragma unroll
    for (int i = 0; i < 2 * PARTS; i++)
      complete = complete && (uint32_t)(words[i] >> 32) == sequence;
    if (__all_sync (0xffffffffu, complete)) {
#pragma unroll
      for (int i = 0; i < 2 * PARTS; i++)
        v[i] = __uint_as_float ((uint32_t)words[i]);
      return true;
    }
  }
  return false;
}

__device__ __forceinline__ uint64_t
now_ns ()
{
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

/* Waits for the message with the number @tag, word i to words[i]; says whether it is to go on. The
 * host tells one block, which tells the others, so that all do the same when it comes late. By a
 * warp of each block. */
__device__ bool
receive (const NdtCudaJob &job, uint32_t tag, uint32_t lane, uint32_t words[NDT_CUDA_MESSAGE])
{
  const bool reads = lane < NDT_CUDA_MESSAGE;
  const uint64_t none = (uint64_t)tag << 32;
  uint64_t word = none;
  bool failed = false;
  if (blockIdx.x == 0) {
    const uint64_t give_up = now_ns () + job.patience;
    bool late = false, complete;
    do {
      if (reads)
        asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                     : "=l"(word)
                     : "l"(job.mailbox + lane)
                     : "memory");
      complete = __all_sync (0xffffffffu, !reads || word >> 32 == tag);
      late = __shfl_sync (0xffffffffu, now_ns () > give_up, 0);
    } while (!complete && !late);
    if (!complete) {
      word = none | NDT_CUDA_QUIT;
      if (lane == 0) {
        __threadfence_system (); /* after the last result */
        *job.ended = job.ticket;
        __threadfence_system ();
      }
    }
    if (reads)
      publish (job.message + lane, tag, (uint32_t)word);
  } else {
    uint32_t polls = 0;
    do {
      if (reads)
        word = look (job.message + lane);
      failed = ++polls == MAX_POLLS;
    } while (!failed && !__all_sync (0xffffffffu, !reads || word >> 32 == tag));
    if (failed && lane == 0)
      *job.fault = 1;
  }
  if (reads)
    words[lane] = (uint32_t)word;
  __syncwarp ();
  return !failed && words[NDT_CUDA_MESSAGE - 1] == NDT_CUDA_GO;
}

/* @PARTS: blocks of a segment. */
template <int PARTS> struct GridShared {
  static constexpr uint32_t PER = STRANDS / PARTS; /* strands of a block */
  Control control;
  float chunks[CHUNK_BUFFER * VALUES];
  float strands[PER * VALUES];
  double pairs[SEGMENTS / 2 * VALUES]; /* of segments */
  uint32_t message[NDT_CUDA_MESSAGE];
  int32_t goes_on;
};

/* The alignment from start number @start. Returns whether the next one is to follow. @sequence: of
 * the last exchange. */
template <int THREADS, int PARTS, int LANES>
__device__ __forceinline__ bool
align_in_grid (const NdtCudaJob &job, GridShared<PARTS> &shared, unsigned char *dynamic,
    const NdtCudaSource &source, uint32_t n_points, uint32_t start, uint32_t &sequence)
{
  constexpr uint32_t WARPS = THREADS / 32, CHUNK = 32 / LANES;
  constexpr uint32_t PER = GridShared<PARTS>::PER, ROUND = CHUNK_BUFFER / PER;
  Control &control = shared.control;
  float *chunks = shared.chunks, *strands = shared.strands;
  double *pairs = shared.pairs;
  static_assert (SEGMENTS == 2 * WARPS, "each warp collects two segments");
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t segment = blockIdx.x % SEGMENTS, part = blockIdx.x / SEGMENTS;
  ChunkSlot<LANES> *slots = (ChunkSlot<LANES> *)dynamic;
  const uint32_t n_slots = job.n_slots[LANES / 2];
  ChunkSlot<LANES> *scratch = slots + n_slots + warp;
  const uint32_t n_chunks = (n_points + CHUNK - 1) / CHUNK;
  /* Local chunk l of the block. */
  const auto chunk_of = [&] (uint32_t l) {
    return segment + SEGMENTS * (STRANDS * (l / PER) + part * PER + l % PER);
  };

  if (start == 0 || job.sources) {
    for (uint32_t i = threadIdx.x; i < n_slots * CHUNK && chunk_of (i / CHUNK) < n_chunks;
         i += THREADS)
      fill_slot<LANES> (
          source, &slots[i / CHUNK], CHUNK * chunk_of (i / CHUNK) + i % CHUNK, n_points, i % CHUNK);
  } else {
    for (uint32_t i = threadIdx.x; i < 32 * n_slots; i += THREADS)
      slots[i / 32].meta[i % 32] = NO_TAG << 8;
  }
  if (warp == 0) {
    const uint32_t *from = (const uint32_t *)(job.starts ? &job.starts[start] : &job.start);
    bool go = true;
    if (start > 0 && job.sources) {
      go = receive (job, job.ticket + start, lane, shared.message);
      from = shared.message;
    }
    if (go)
      begin (job, &control, from, choose_reuse<LANES> (job), lane);
    if (lane == 0)
      shared.goes_on = go;
  }
  __syncthreads ();
  if (!shared.goes_on)
    return false;

  for (uint32_t pass = 0;; pass++) {
    /* The answer is on its way while the warp works on its points. */
    const int32_t cancelled =
        blockIdx.x == 0 && threadIdx.x == 31 ? look_for_cancel (job, pass) : 0;
    sequence++;

    /* Strands, some chunks of each at a time. */
    for (uint32_t first = 0;; first += ROUND * PER) {
      for (uint32_t l = first + warp; l < first + ROUND * PER && chunk_of (l) < n_chunks;
           l += WARPS) {
        const bool kept = l < n_slots;
        chunks[(l - first) * VALUES + lane] =
            chunk_values<LANES, true> (control.frame, source.points, source.stride, n_points,
                CHUNK * chunk_of (l), kept ? &slots[l] : scratch, kept, lane);
      }
      __syncthreads ();
      for (uint32_t s = warp; s < PER; s += WARPS) {
        float sum = first == 0 ? 0 : strands[s * VALUES + lane];
        for (uint32_t l = first + s; l < first + ROUND * PER && chunk_of (l) < n_chunks; l += PER)
          sum += chunks[(l - first) * VALUES + lane];
        strands[s * VALUES + lane] = sum;
      }
      __syncthreads ();
      if (chunk_of (first + ROUND * PER) >= n_chunks)
        break;
    }

    /* Each block's part of its segment goes to all; each warp collects two segments. */
    uint64_t *rows = job.exchange + (size_t)(sequence & 1) * MAX_TEAM * VALUES;
    if (warp == 0) {
      float sum = tree_sum_rows<PER> (strands, lane);
      if (cancelled)
        sum = CANCELLED;
      publish (rows + blockIdx.x * VALUES + lane, sequence, __float_as_uint (sum));
    }
    float v[2 * PARTS];
    if (!collect<PARTS> (rows + 2 * warp * VALUES, sequence, lane, v)) {
      control.failed = 1;
      *job.fault = 1;
    }
    pairs[warp * VALUES + lane] = (double)tree_sum<PARTS> (v) + (double)tree_sum<PARTS> (v + PARTS);
    __syncthreads ();
    if (warp == 0)
      advance (job, &control, pair_sum (pairs, lane), lane);
    __syncthreads ();
    if (!control.go_on)
      break;
  }
  if (control.failed)
    return false;
  if (blockIdx.x == 0 && warp == 0)
    write_result (job, &control, start, lane);
  __syncthreads ();
  return true;
}

template <int THREADS, int PARTS, int LANES>
__global__ void
__launch_bounds__ (THREADS, 1) align_grid (const __grid_constant__ NdtCudaJob job)
{
  extern __shared__ __align__ (16) unsigned char dynamic[];
  __shared__ GridShared<PARTS> shared;
  uint32_t sequence = *job.sequence;
  bool go = true;
  for (uint32_t start = 0; go && start < job.n_starts; start++) {
    const NdtCudaSource source = start > 0 && job.sources ? job.sources[start] : job.source;
    const uint32_t n_points = count_points (source);
    const uint32_t lanes = LANES ? LANES : choose_lanes (job, n_points);
    if (lanes == 4)
      go = align_in_grid<THREADS, PARTS, 4> (
          job, shared, dynamic, source, n_points, start, sequence);
    else if (lanes == 2)
      go = align_in_grid<THREADS, PARTS, 2> (
          job, shared, dynamic, source, n_points, start, sequence);
    else
      go = align_in_grid<THREADS, PARTS, 1> (
          job, shared, dynamic, source, n_points, start, sequence);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0 && !shared.control.failed)
    *job.sequence = sequence;
}

/* ---- Voxels ---- */

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

/* ---- Launches ---- */

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
  switch (shape->size) {
  case 128:
    return align_grid<256, 8, LANES>;
  case 64:
    return align_grid<256, 4, LANES>;
  case 32:
    return align_grid<256, 2, LANES>;
  default:
    return align_grid<256, 1, LANES>;
  }
}

static Kernel
choose_kernel (const NdtCudaShape *shape)
{
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

static size_t
slot_bytes (uint32_t lanes)
{
  return lanes == 1   ? sizeof (ChunkSlot<1>)
         : lanes == 2 ? sizeof (ChunkSlot<2>)
                      : sizeof (ChunkSlot<4>);
}

/* Shared memory that is asked for at the launch, with so many slots for so many lanes. */
static size_t
dynamic_bytes (const NdtCudaShape *shape, uint32_t lanes, uint32_t n_slots)
{
  const size_t strands =
      shape->grid ? 0 : (size_t)(SEGMENTS / shape->size) * STRANDS * VALUES * sizeof (float);
  return strands + (n_slots + (size_t)shape->threads / 32) * slot_bytes (lanes);
}

static size_t
taken_bytes (const NdtCudaLimits *limits, const NdtCudaShape *shape, uint32_t lanes)
{
  return (size_t)limits->declared[shape->grid] + dynamic_bytes (shape, lanes, 0);
}

int
ndt_cuda_align_fits (const NdtCudaLimits *limits, const NdtCudaShape *shape)
{
  bool fits = true;
  for (uint32_t lanes = 1; lanes <= 4; lanes *= 2)
    fits = fits && (!(shape->lanes & lanes) ||
                       taken_bytes (limits, shape, lanes) <= (size_t)limits->max_shared);
  return fits;
}

uint32_t
ndt_cuda_align_least_lanes (const NdtCudaLimits *limits)
{
  uint32_t lanes = 1;
  for (; lanes < 4; lanes *= 2) {
    const NdtCudaShape cluster = {0, 1, 256, lanes, {}}, grid = {1, 16, 256, lanes, {}};
    if (ndt_cuda_align_fits (limits, &cluster) ||
        (limits->max_grid >= 16 && ndt_cuda_align_fits (limits, &grid)))
      break;
  }
  return lanes;
}

uint32_t
ndt_cuda_align_max_slots (const NdtCudaLimits *limits, const NdtCudaShape *shape, uint32_t lanes)
{
  const size_t taken = taken_bytes (limits, shape, lanes);
  return taken <= (size_t)limits->max_shared
             ? (uint32_t)(((size_t)limits->max_shared - taken) / slot_bytes (lanes))
             : 0;
}

uint32_t
ndt_cuda_align_slots (const NdtCudaShape *shape, uint32_t lanes, uint32_t n_points)
{
  const uint32_t chunk = 32 / lanes;
  const uint32_t n_chunks = (n_points + chunk - 1) / chunk;
  /* Whole rounds of what is dealt out in turn. */
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

  limits->declared[0] = limits->declared[1] = 0;
  /* Code for earlier devices has no clusters, also where a later one runs it. */
  bool has_clusters = major >= 9;
  for (uint32_t lanes : {0, 1, 2, 4}) {
    const NdtCudaShape shapes[] = {{0, 1, 256, lanes, {}}, {0, 1, 512, lanes, {}},
        {1, 128, 256, lanes, {}}, {1, 64, 256, lanes, {}}, {1, 32, 256, lanes, {}},
        {1, 16, 256, lanes, {}}};
    for (const NdtCudaShape &shape : shapes) {
      cudaFuncAttributes attributes;
      const void *kernel = (const void *)choose_kernel (&shape);
      e = cudaFuncGetAttributes (&attributes, kernel);
      if (e == cudaSuccess && limits->declared[shape.grid] < (int)attributes.sharedSizeBytes)
        limits->declared[shape.grid] = (int)attributes.sharedSizeBytes;
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
        const NdtCudaShape shape = {0, size, threads, 0, {}};
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
  /* One block a processor, where one fits with the least that it needs. */
  const NdtCudaShape grid = {1, 128, 256, 0, {}};
  int blocks = 0;
  if (cooperative && cudaOccupancyMaxActiveBlocksPerMultiprocessor (&blocks, choose_kernel (&grid),
                         256, dynamic_bytes (&grid, 1, 1)) != cudaSuccess) {
    (void)cudaGetLastError ();
    blocks = 0;
  }
  limits->max_grid = blocks > 0 ? limits->n_processors : 0;
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
