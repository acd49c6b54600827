/* SPDX-License-Identifier: MIT */
/* A cluster of blocks for each start. Private to ndt-cuda-align.cu. */
#pragma once

#include "ndt-cuda-slots.cuh"

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
  ChunkSlot<LANES, false> *slots = (ChunkSlot<LANES, false> *)(strands + own * STRANDS * VALUES);
  const uint32_t n_slots = job.n_slots[LANES / 2];
  ChunkSlot<LANES, false> *scratch = slots + n_slots + warp;

  const uint32_t n_chunks = (n_points + CHUNK - 1) / CHUNK;
  /* Local chunk l is chunk SEGMENTS (l / own) + rank + size (l mod own). */
  for (uint32_t i = threadIdx.x; i < n_slots * CHUNK; i += THREADS) {
    const uint32_t l = i / CHUNK;
    const uint32_t c = SEGMENTS * (l / own) + rank + size * (l % own);
    if (c >= n_chunks)
      break;
    fill_slot<LANES, false> (job.source, &slots[l], CHUNK * c + i % CHUNK, n_points, i % CHUNK);
  }
  if (warp == 0) {
    begin (job, &control, (const uint32_t *)(job.starts ? &job.starts[start] : &job.start),
        sizeof (NdtStart) / 4, lane);
    set_first_frame (job, &control, choose_reuse<LANES> (job), lane);
  }
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
      advance_apart (job, &control, segment_sum (all, lane), lane);
    __syncthreads ();
    if (!control.go_on)
      break;
  }
  if (rank == 0 && warp == 0)
    write_result (job, &control, start, lane);
}

/* @LANES: 0: choose_lanes(). Scans of known size have kernels of their own, as the one for any
 *   number of lanes is 5 % slower. */
template <int THREADS, int LANES>
static __global__ void
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
