/* SPDX-License-Identifier: MIT */
/* The places of a scan in a map seen from above: ndtcore/registration/ndt-overview-search.c on the
 * device, with the same places bit for bit. Counts are integers; nodes with the same count are a
 * set whose order does not matter, and of equal places the one with the least key is taken.
 *
 * Three launches: the scan in all directions; counts of all windows of level 3; and one cooperative
 * grid that goes down from the highest count. For each count it splits the windows and the nodes
 * with it, a warp for each, and lists the windows with the next one. */
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "ndt-cuda-search.h"

namespace cg = cooperative_groups;

/* Of the two large kernels, which have one block a multiprocessor that the search may occupy. */
#define COUNT_THREADS 1024
#define BRANCH_THREADS 512
#define ALL 0xffffffffu

/* Bit 0 of each byte of @v: 1 where the byte is not zero. */
__device__ __forceinline__ uint32_t
nonzero_bytes (uint32_t v)
{
  return (((v & 0x7f7f7f7fu) + 0x7f7f7f7fu) | v) >> 7 & 0x01010101u;
}

/* ---- The scan in all directions ---- */

__global__ void
view_scan (const NdtCudaSearchJob job)
{
  const uint32_t i = threadIdx.x, turn = blockIdx.x;
  NdtCudaView view = {0, 0, 0};
  if (i < job.n_marks) {
    const NdtCudaMark m = job.marks[i];
    const NdtCudaDirection d = job.directions[turn];
    const int32_t x = ndt_overview_turned (d.c, d.s, m.x, m.y, job.cell),
                  y = ndt_overview_turned (d.s, -d.c, m.x, m.y, job.cell);
    view.level = y * job.stride + x;
    view.window = (int32_t)ndt_overview_window_at (job.window_stride, job.window_plane, x, y);
    view.mask = ndt_overview_turned_mask ((uint8_t)m.mask, d.by) * 0x01010101u;
  }
  job.views[turn * NDT_CUDA_MARKS + i] = view;
}

__device__ __forceinline__ uint32_t
is_cancelled (const NdtCudaSearchJob &job)
{
  return *(const volatile uint32_t *)job.cancelled;
}

/* ---- All windows ---- */

/* Four windows side by side a thread, of all directions in turn. Neighbours have the same
 * direction, so that its view is read once a warp. */
__global__ void
__launch_bounds__ (COUNT_THREADS) count_windows (const NdtCudaSearchJob job)
{
  const uint32_t n_words = job.words * job.rows;
  const uint64_t n = (uint64_t)n_words * job.n_turns, step = (uint64_t)gridDim.x * COUNT_THREADS;
  for (uint64_t i = blockIdx.x * COUNT_THREADS + threadIdx.x; i < n; i += step) {
    if (is_cancelled (job)) {
      job.state->stops[0] = 1;
      return;
    }
    const NdtCudaView *views = job.views + i / n_words * NDT_CUDA_MARKS;
    const uint32_t w = (uint32_t)(i % n_words);
    const int32_t x = 4 * (int32_t)(w % job.words);
    const int32_t base = (int32_t)(w / job.words) * job.window_stride + x;
    uint32_t sum = 0;
#pragma unroll 8
    for (uint32_t k = 0; k < job.n_marks; k++) {
      const int32_t at = base + views[k].window;
      const uint32_t *p = job.windows + (at >> 2);
      sum += nonzero_bytes (__funnelshift_r (p[0], p[1], 8 * (at & 3)) & views[k].mask);
    }
    if (job.columns - x < 4)
      sum &= ALL >> 8 * (4 - (job.columns - x));
    ((uint32_t *)job.counts)[i] = sum;
  }
}

/* ---- Branch and bound ---- */

/* What a thread of the grid is. */
struct Thread {
  uint32_t lane;
  uint32_t warp; /* in the grid */
  uint32_t n_warps;
};

/* Lists the windows with @count. */
__device__ void
list_windows (const NdtCudaSearchJob &job, const Thread &t, uint32_t count)
{
  NdtCudaSearchState *state = job.state;
  uint32_t *list = job.lists + (uint64_t)(count % 3) * job.most_listed;
  const uint4 *counts = (const uint4 *)job.counts;
  const uint64_t n = job.n_bytes / 16;
  const uint32_t wanted = count * 0x01010101u;
  for (uint64_t first = 32 * (uint64_t)t.warp; first < n; first += 32 * (uint64_t)t.n_warps) {
    const uint64_t i = first + t.lane;
    uint32_t hits[4] = {0, 0, 0, 0}, n_hits = 0;
    if (i < n) {
      const uint4 four = counts[i];
      const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int k = 0; k < 4; k++) {
        hits[k] = nonzero_bytes (words[k] ^ wanted) ^ 0x01010101u;
        n_hits += __popc (hits[k]);
      }
    }
    if (!__any_sync (ALL, n_hits > 0))
      continue;
    uint32_t sum = n_hits; /* of this lane and those before it */
    for (uint32_t step = 1; step < 32; step *= 2) {
      const uint32_t other = __shfl_up_sync (ALL, sum, step);
      sum += t.lane >= step ? other : 0;
    }
    uint32_t at = 0;
    if (t.lane == 31)
      at = atomicAdd (&state->n_windows[count % 3], sum);
    at = __shfl_sync (ALL, at, 31) + sum - n_hits;
#pragma unroll
    for (int k = 0; k < 4; k++)
      for (uint32_t bits = hits[k]; bits; bits &= bits - 1, at++)
        if (at < job.most_listed)
          list[at] = (uint32_t)(16 * i + 4 * k + (__ffs ((int)bits) - 1) / 8);
        else
          state->is_full = 1;
  }
}

/* Keeps the parts of @node, in the first four lanes: @sum is the warp's, a byte each. */
__device__ void
add_parts (const NdtCudaSearchJob &job, const Thread &t, const NdtOverviewNode &node, uint32_t cut,
    uint32_t sum)
{
  NdtCudaSearchState *state = job.state;
  NdtCudaNode part = {node, 0};
  part.node.level--;
  part.node.x += (int32_t)(t.lane % 2) << part.node.level;
  part.node.y += (int32_t)(t.lane / 2) << part.node.level;
  part.count = t.lane < 4 ? sum >> 8 * t.lane & 255 : 0;
  const bool keep =
      part.count >= cut && part.count > 0 && part.node.x < job.width && part.node.y < job.height;
  const uint32_t kept = __ballot_sync (ALL, keep);
  if (!kept)
    return;
  const bool is_place = part.node.level == 0;
  uint32_t at = 0;
  if (t.lane == 0)
    at = atomicAdd (is_place ? &state->n_places : &state->n_queue, __popc (kept));
  at = __shfl_sync (ALL, at, 0) + __popc (kept & ((1u << t.lane) - 1));
  if (!keep)
    return;
  if (at >= (is_place ? job.most_listed : job.most_queued)) {
    state->is_full = 1;
    return;
  }
  (is_place ? job.places : job.queue)[at] = part;
  atomicAdd (is_place ? &state->n_places_of[part.count] : &state->waiting[part.count], 1);
}

__device__ uint32_t
sum_of_warp (uint32_t v)
{
  for (int step = 16; step > 0; step /= 2)
    v += __shfl_xor_sync (ALL, v, step);
  return v;
}

/* Splits a window of level 3. */
__device__ void
split_window (const NdtCudaSearchJob &job, const Thread &t, uint32_t index, uint32_t cut)
{
  const uint32_t of_turn = 4 * job.words * job.rows;
  const uint32_t turn = index / of_turn, at = index % of_turn;
  NdtOverviewNode node;
  node.x = (int32_t)(at % (4 * job.words)) * NDT_OVERVIEW_WINDOW;
  node.y = (int32_t)(at / (4 * job.words)) * NDT_OVERVIEW_WINDOW;
  node.turn = (uint16_t)turn;
  node.level = NDT_OVERVIEW_TOP;
  const NdtCudaView *views = job.views + turn * NDT_CUDA_MARKS;
  const uint32_t *quads =
      job.quads + (int64_t)(node.y + NDT_OVERVIEW_PAD) * job.stride + node.x + NDT_OVERVIEW_PAD;
  uint32_t sum = 0;
#pragma unroll
  for (uint32_t k = 0; k < NDT_CUDA_MARKS / 32; k++) {
    const NdtCudaView view = views[32 * k + t.lane];
    sum += nonzero_bytes (quads[view.level] & view.mask);
  }
  add_parts (job, t, node, cut, sum_of_warp (sum));
}

/* Splits a node of level 2 or 1. */
__device__ void
split_node (const NdtCudaSearchJob &job, const Thread &t, const NdtOverviewNode &node, uint32_t cut)
{
  const int64_t half = (int64_t)1 << (node.level - 1);
  const NdtCudaView *views = job.views + node.turn * NDT_CUDA_MARKS;
  const uint8_t *cells = job.levels[node.level - 1] +
                         (int64_t)(node.y + NDT_OVERVIEW_PAD) * job.stride + node.x +
                         NDT_OVERVIEW_PAD;
  uint32_t sum = 0;
  for (uint32_t i = t.lane; i < job.n_marks; i += 32) {
    const NdtCudaView view = views[i];
    const uint8_t *at = cells + view.level, *below = at + half * job.stride;
    const uint32_t four =
        at[0] | (uint32_t)at[half] << 8 | (uint32_t)below[0] << 16 | (uint32_t)below[half] << 24;
    sum += nonzero_bytes (four & view.mask);
  }
  add_parts (job, t, node, cut, sum_of_warp (sum));
}

__device__ bool
is_new (const NdtCudaSearchJob &job, const NdtOverviewNode &node, uint32_t n_found)
{
  for (uint32_t i = 0; i < n_found; i++)
    if (ndt_overview_is_near (&node, &job.state->found[i], (int32_t)job.n_turns, job.range))
      return false;
  return true;
}

/* Splits those of the queue's nodes from @first to @end that have @count and do not lie in the
 * range of what was found. */
__device__ void
split_queue (const NdtCudaSearchJob &job, const Thread &t, uint32_t first, uint32_t end,
    uint32_t count, uint32_t cut, uint32_t n_found)
{
  for (uint32_t from = first + 32 * t.warp; from < end; from += 32 * t.n_warps) {
    const uint32_t i = from + t.lane;
    NdtCudaNode own = {};
    if (i < end)
      own = job.queue[i];
    uint32_t chosen =
        __ballot_sync (ALL, i < end && own.count == count && is_new (job, own.node, n_found));
    if (chosen && t.lane == 0)
      atomicAdd (&job.state->n_split[count], __popc (chosen));
    for (; chosen; chosen &= chosen - 1) {
      const NdtOverviewNode node = job.queue[from + __ffs ((int)chosen) - 1].node;
      split_node (job, t, node, cut);
    }
  }
}

/* The order of places with the same count. */
__device__ uint64_t
get_key (const NdtOverviewNode &node)
{
  return (uint64_t)node.turn << 48 | (uint64_t)node.y << 24 | (uint64_t)node.x;
}

/* Of the first block: finds places with @count. */
__device__ void
choose_places (const NdtCudaSearchJob &job, uint32_t count)
{
  __shared__ unsigned long long least;
  __shared__ unsigned long long sums[3]; /* modulo 2^64, as signed numbers */
  __shared__ int32_t n_around;
  NdtCudaSearchState *state = job.state;
  const uint32_t n = state->n_places < job.most_listed ? state->n_places : job.most_listed;
  const int32_t n_turns = (int32_t)job.n_turns;
  uint64_t last = 0; /* key of the place before, and 1 */
  for (uint32_t n_found = state->n_found; n_found < job.most; n_found++) {
    __syncthreads ();
    if (threadIdx.x == 0) {
      least = ~0ull;
      sums[0] = sums[1] = sums[2] = 0;
      n_around = 0;
    }
    __syncthreads ();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
      const NdtCudaNode place = job.places[i];
      const uint64_t key = get_key (place.node);
      if (place.count == count && key >= last && is_new (job, place.node, n_found))
        atomicMin (&least, (unsigned long long)key);
    }
    __syncthreads ();
    const uint64_t key = least;
    if (key == ~0ull)
      return;
    last = key + 1;
    NdtOverviewNode place;
    place.x = (int32_t)(key & 0xffffff);
    place.y = (int32_t)(key >> 24 & 0xffffff);
    place.turn = (uint16_t)(key >> 48);
    place.level = 0;
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
      const NdtCudaNode other = job.places[i];
      if (other.count != count || !ndt_overview_is_near (&other.node, &place, n_turns, job.range))
        continue;
      const int32_t turn = ndt_overview_turn_to (&other.node, &place, n_turns);
      atomicAdd (&sums[0], (unsigned long long)(int64_t)(other.node.x - place.x));
      atomicAdd (&sums[1], (unsigned long long)(int64_t)(other.node.y - place.y));
      atomicAdd (&sums[2], (unsigned long long)(int64_t)turn);
      atomicAdd (&n_around, 1);
    }
    __syncthreads ();
    if (threadIdx.x == 0) {
      const int64_t sum[3] = {(int64_t)sums[0], (int64_t)sums[1], (int64_t)sums[2]};
      state->found[n_found] = ndt_overview_middle (&place, sum, n_around, n_turns);
      state->counts[n_found] = count;
      state->n_found = n_found + 1;
      if (n_found == 0)
        state->cut = (uint32_t)(NDT_OVERVIEW_AS_GOOD * count);
      __threadfence ();
    }
  }
}

__global__ void
__launch_bounds__ (BRANCH_THREADS) branch (const NdtCudaSearchJob job)
{
  cg::grid_group grid = cg::this_grid ();
  NdtCudaSearchState *state = job.state;
  const bool leads = grid.thread_rank () == 0;
  const Thread t = {
      threadIdx.x % 32, (uint32_t)grid.thread_rank () / 32, (uint32_t)grid.size () / 32};
  uint32_t cut = job.cut, n_found = 0;
  list_windows (job, t, job.n_marks);
  const bool is_counted = !state->stops[0];
  grid.sync ();
  /* What is read between two synchronizations of the grid is not written there: nodes have counts
   * below those of what they are parts of, or the same; and of what is cancelled each round has a
   * word that the next one does not write. */
  for (uint32_t count = job.n_marks;
       is_counted && count >= (cut > 1 ? cut : 1) && n_found < job.most; count--) {
    const uint32_t listed = state->n_windows[count % 3];
    const uint32_t n = listed < job.most_listed ? listed : job.most_listed;
    const uint32_t *list = job.lists + (uint64_t)(count % 3) * job.most_listed;
    if (leads) {
      state->n_windows[(count + 1) % 3] = 0;
      state->stops[count % 2] = is_cancelled (job);
      atomicAdd (&state->n_split[count], n);
    }
    for (uint32_t i = t.warp; i < n; i += t.n_warps)
      split_window (job, t, list[i], cut);
    if (count > 1)
      list_windows (job, t, count - 1);
    grid.sync ();
    if (state->stops[count % 2])
      break;
    uint32_t first = 0;
    for (uint32_t done = 0; state->waiting[count] != done;) {
      done = state->waiting[count];
      if (leads)
        state->end = state->n_queue < job.most_queued ? state->n_queue : job.most_queued;
      grid.sync ();
      const uint32_t end = state->end;
      split_queue (job, t, first, end, count, cut, n_found);
      first = end;
      grid.sync ();
    }
    if (state->n_places_of[count] > 0) {
      if (blockIdx.x == 0)
        choose_places (job, count);
      grid.sync ();
      cut = state->cut;
      n_found = state->n_found;
    }
  }
  grid.sync ();
  if (blockIdx.x == 0)
    for (uint32_t i = threadIdx.x; i < sizeof (*state) / 4; i += blockDim.x)
      ((volatile uint32_t *)job.result)[i] = ((const uint32_t *)state)[i];
}

/* ---- Launches ---- */

cudaError_t
ndt_cuda_search_blocks (int device, int *n_blocks)
{
  int cooperative = 0, n_processors = 0, n = 0;
  cudaError_t e = cudaDeviceGetAttribute (&cooperative, cudaDevAttrCooperativeLaunch, device);
  if (e == cudaSuccess)
    e = cudaDeviceGetAttribute (&n_processors, cudaDevAttrMultiProcessorCount, device);
  if (e == cudaSuccess)
    e = cudaOccupancyMaxActiveBlocksPerMultiprocessor (&n, branch, BRANCH_THREADS, 0);
  *n_blocks = e == cudaSuccess && cooperative && n > 0 ? n_processors : 0;
  return e;
}

cudaError_t
ndt_cuda_search_launch (
    const NdtCudaSearchJob *job, int n_blocks, uint32_t *n_launches, cudaStream_t stream)
{
  void *args[] = {(void *)job};
  view_scan<<<job->n_turns, NDT_CUDA_MARKS, 0, stream>>> (*job);
  count_windows<<<(unsigned)n_blocks, COUNT_THREADS, 0, stream>>> (*job);
  cudaError_t e = cudaGetLastError ();
  if (e == cudaSuccess)
    e = cudaLaunchCooperativeKernel (
        (const void *)branch, dim3 ((unsigned)n_blocks), dim3 (BRANCH_THREADS), args, 0, stream);
  *n_launches += 3;
  return e;
}
