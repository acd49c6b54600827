/* SPDX-License-Identifier: MIT */
/* A grid of blocks that runs starts one after the other. Private to ndt-cuda-align.cu. */
#pragma once

#include "ndt-cuda-slots.cuh"
#include "ndtcore/base/ndt-tuning.h"

#define MAX_TEAM 128

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
 * other's, value i in lane i. Returns false after a timeout. */
template <int PARTS>
__device__ __forceinline__ bool
collect (const uint64_t *rows, uint32_t sequence, uint32_t lane, float v[2 * PARTS])
{
  uint64_t words[2 * PARTS];
  for (uint32_t polls = 0; polls < NDT_CUDA_MAX_POLLS; polls++) {
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

/* Waits for the message with the number @tag, whose word i goes to words[i]. Returns whether the
 * sequence continues. One block reads the host's message and forwards it, so that all blocks decide
 * alike where it is late. Called by a warp of each block. */
static __device__ bool
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
      failed = ++polls == NDT_CUDA_MAX_POLLS;
    } while (!failed && !__all_sync (0xffffffffu, !reads || word >> 32 == tag));
    if (failed && lane == 0)
      *job.fault = 1;
  }
  if (reads)
    words[lane] = (uint32_t)word;
  __syncwarp ();
  return !failed && words[NDT_CUDA_MESSAGE - 1] == NDT_CUDA_GO;
}

/* @PARTS: blocks of a segment; @ALONE: as of ChunkSlot: two blocks of a multiprocessor have fewer
 * chunks at a time, so that both have room where it has 64 kB. */
template <int PARTS, bool ALONE> struct GridShared {
  static constexpr uint32_t PER = STRANDS / PARTS; /* strands of a block */
  static constexpr uint32_t CHUNKS = ALONE ? NDT_CUDA_CHUNK_BUFFER : NDT_CUDA_CHUNK_BUFFER * 3 / 4;
  Control control;
  union {
    float chunks[CHUNKS * VALUES];
    double pairs[SEGMENTS / 2 * VALUES]; /* of segments; once the chunks are in the strands */
  };
  float strands[PER * VALUES];
  uint32_t message[NDT_CUDA_MESSAGE];
  int32_t goes_on;
};

/* Runs the alignment from start number @start. Returns whether the next one follows. @sequence:
 * number of the last exchange. @ALONE: as of ChunkSlot. */
template <int THREADS, int PARTS, int LANES, bool ALONE>
__device__ __forceinline__ bool
align_in_grid (const NdtCudaJob &job, GridShared<PARTS, ALONE> &shared, unsigned char *dynamic,
    const NdtCudaSource &source, uint32_t n_points, uint32_t start, uint32_t &sequence)
{
  constexpr uint32_t WARPS = THREADS / 32, CHUNK = 32 / LANES;
  constexpr uint32_t PER = GridShared<PARTS, ALONE>::PER,
                     ROUND = GridShared<PARTS, ALONE>::CHUNKS / PER;
  Control &control = shared.control;
  float *chunks = shared.chunks, *strands = shared.strands;
  double *pairs = shared.pairs;
  static_assert (SEGMENTS == 2 * WARPS, "each warp collects two segments");
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t segment = blockIdx.x % SEGMENTS, part = blockIdx.x / SEGMENTS;
  ChunkSlot<LANES, ALONE> *slots = (ChunkSlot<LANES, ALONE> *)dynamic;
  const uint32_t n_slots = job.n_slots[LANES / 2];
  ChunkSlot<LANES, ALONE> *scratch = slots + n_slots + warp;
  const uint32_t n_chunks = (n_points + CHUNK - 1) / CHUNK;
  /* Local chunk l of the block. */
  const auto chunk_of = [&] (uint32_t l) {
    return segment + SEGMENTS * (STRANDS * (l / PER) + part * PER + l % PER);
  };

  /* One warp sets up the start while the others fill the slots, which waits for the host's memory
   * where the scan is there. Of the first start that is done, see align_grid(). */
  if (warp == 0) {
    bool go = true;
    if (start > 0) {
      const uint32_t *from = (const uint32_t *)(job.starts ? &job.starts[start] : &job.start);
      uint32_t n_words = sizeof (NdtStart) / 4;
      if (job.sources) {
        go = receive (job, job.ticket + start, lane, shared.message);
        from = shared.message;
        n_words = NDT_CUDA_MESSAGE - 1;
      }
      if (go)
        begin (job, &control, from, n_words, lane);
    }
    if (go)
      set_first_frame (job, &control, choose_reuse<LANES> (job), lane);
    if (lane == 0)
      shared.goes_on = go;
  } else if (start == 0 || job.sources) {
    for (uint32_t i = threadIdx.x - 32; i < n_slots * CHUNK && chunk_of (i / CHUNK) < n_chunks;
         i += THREADS - 32)
      fill_slot<LANES, ALONE> (
          source, &slots[i / CHUNK], CHUNK * chunk_of (i / CHUNK) + i % CHUNK, n_points, i % CHUNK);
  } else {
    for (uint32_t i = threadIdx.x - 32; i < 32 * n_slots; i += THREADS - 32)
      slots[i / 32].meta[i % 32] = NO_TAG << 8;
  }
  __syncthreads ();
  if (!shared.goes_on)
    return false;

  for (uint32_t pass = 0;; pass++) {
    /* Loaded here, so that the load overlaps with the work on the points. */
    const int32_t cancelled =
        blockIdx.x == 0 && threadIdx.x == 31 ? look_for_cancel (job, pass) : 0;
    sequence++;

    /* Adds up the strands, some chunks of each at a time. */
    for (uint32_t first = 0;; first += ROUND * PER) {
      for (uint32_t l = first + warp; l < first + ROUND * PER && chunk_of (l) < n_chunks;
           l += WARPS) {
        const bool kept = l < n_slots;
        chunks[(l - first) * VALUES + lane] =
            chunk_values<LANES, ALONE> (control.frame, source.points, source.stride, n_points,
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

    /* Each block publishes its part of its segment; each warp collects two segments. */
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

/* @BLOCKS: of a multiprocessor, which limits the registers of each. */
template <int THREADS, int PARTS, int LANES, int BLOCKS>
static __global__ void
__launch_bounds__ (THREADS, BLOCKS) align_grid (const __grid_constant__ NdtCudaJob job)
{
  extern __shared__ __align__ (16) unsigned char dynamic[];
  __shared__ GridShared<PARTS, BLOCKS == 1> shared;
  if (threadIdx.x < 32)
    begin (job, &shared.control, (const uint32_t *)(job.starts ? &job.starts[0] : &job.start),
        sizeof (NdtStart) / 4, threadIdx.x);
  uint32_t sequence = *job.sequence;
  bool go = true;
  for (uint32_t start = 0; go && start < job.n_starts; start++) {
    const NdtCudaSource source = start > 0 && job.sources ? job.sources[start] : job.source;
    const uint32_t n_points = count_points (source);
    const uint32_t lanes = LANES ? LANES : choose_lanes (job, n_points);
    if (lanes == 4)
      go = align_in_grid<THREADS, PARTS, 4, BLOCKS == 1> (
          job, shared, dynamic, source, n_points, start, sequence);
    else if (lanes == 2)
      go = align_in_grid<THREADS, PARTS, 2, BLOCKS == 1> (
          job, shared, dynamic, source, n_points, start, sequence);
    else
      go = align_in_grid<THREADS, PARTS, 1, BLOCKS == 1> (
          job, shared, dynamic, source, n_points, start, sequence);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0 && !shared.control.failed)
    *job.sequence = sequence;
}
