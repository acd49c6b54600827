/* SPDX-License-Identifier: MIT */
/* The objective of a chunk of 16 points at a pose, by a warp. Private to cuda/.
 *
 * Points look up the voxels of the cells around them (eight lanes a point, one for each block of
 * the hash table), those near enough become pairs, and each lane takes pairs in turn. All steps
 * keep the order of points, blocks and cells, so that the sums depend on the points, the map and
 * the pose alone, and not on what was remembered from the pass before. */
#pragma once

#include "ndt-cuda-sums.cuh"
#include "ndtcore/ndt-formulas.h"
#include "ndtcore/ndt-scan-filter.h"

#define CHUNK NDT_CUDA_CHUNK
/* Voxels that a chunk's points may look at: 27 each without a margin. */
#define MAX_ENTRIES 512
/* Of these, how many it remembers. */
#define MAX_KEPT 256
#define NO_TAG 0xffffffffu

/* What a pass over the scan needs to know. */
typedef struct {
  NdtTransformF transform;
  float resolution;
  float inverse_resolution;
  float square_limit; /* of a pair; infinite where only cells count */
  float list_limit;   /* distance below which a voxel is remembered */
  float reuse2;       /* squared motion up to which what is remembered stays good */
  float d1;
  float d2;
  const NdtCudaVoxel *voxels;
  const NdtBlock *blocks;
  int32_t block_shift;
  int32_t neighbours;
  int32_t kind;
  int32_t valid; /* the pose has cell indices */
  uint32_t tag;  /* of level and neighbours */
} Frame;

/* A chunk's points and the voxels near them, kept from pass to pass. An entry is a point's number
 * << 28 | a voxel's index. */
typedef struct {
  float point[3][CHUNK];
  float at[3][CHUNK]; /* where its voxels were looked up; cell indices where only cells count */
  uint32_t tag;
  uint32_t active; /* points that have cells, as bits */
  uint32_t n;
  uint32_t reserved;
  uint32_t list[MAX_KEPT];
} ChunkSlot;

/* A warp's own. */
typedef struct {
  float local[3][CHUNK];
  float arm[3][CHUNK];
  int32_t cell[3][CHUNK];
  float best[CHUNK];
  uint32_t entries[MAX_ENTRIES];
} WarpScratch;

/* Cells lo … hi of an axis that lie in the block, as bits of its 64 cells. */
template <int AXIS>
__device__ __forceinline__ uint64_t
axis_mask (int32_t lo, int32_t hi, int32_t block)
{
  const int32_t a = max (lo - 4 * block, 0), n = min (hi - 4 * block, 3) - a + 1;
  if (n <= 0)
    return 0;
  if (AXIS == 0)
    return (((1u << n) - 1) << a) * UINT64_C (0x1111111111111111);
  if (AXIS == 1)
    return (((1u << 4 * n) - 1) << 4 * a) * UINT64_C (0x0001000100010001);
  return UINT64_MAX >> (64 - 16 * n) << 16 * a;
}

__device__ __forceinline__ uint32_t
warp_or (uint32_t v)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_or_sync (0xffffffffu, v);
#else
  for (int h = 16; h >= 1; h >>= 1)
    v |= __shfl_xor_sync (0xffffffffu, v, h);
  return v;
#endif
}

/* Offset in cells of a voxel from a cell, by the low ten bits of both. */
__device__ __forceinline__ float
cell_offset (uint32_t packed, int axis, int32_t cell)
{
  return (float)((int32_t)((packed >> 10 * axis << 22) - ((uint32_t)cell << 22)) >> 22);
}

/* Lists the voxels of all cells around the active points, in order. Returns how many; with a
 * margin, more than MAX_ENTRIES means that they were not listed. */
__device__ __forceinline__ uint32_t
list_entries (const Frame &f, WarpScratch *w, uint32_t active, bool margin, uint32_t lane)
{
  const uint32_t which = lane & 7;
  const int reach = f.neighbours == NDT_NEIGHBOURS_DIRECT1 ? 0 : 1;
  const bool faces_only = f.neighbours == NDT_NEIGHBOURS_DIRECT7;
  const uint32_t table_mask = (1u << (64 - f.block_shift)) - 1;
  const uint64_t *table = (const uint64_t *)f.blocks;
  uint64_t wanted[4], key[4];
  ulonglong2 head[4];
  uint32_t first[4], at[4];

#pragma unroll
  for (int j = 0; j < 4; j++) {
    const uint32_t i = (lane >> 3) + 4 * j;
    int32_t cell[3], lo[3], hi[3], block[3];
    bool exists = active >> i & 1;
#pragma unroll
    for (int k = 0; k < 3; k++) {
      cell[k] = w->cell[k][i];
      lo[k] = cell[k] - reach;
      hi[k] = cell[k] + reach;
      if (margin) {
        const float local = w->local[k][i];
        lo[k] = cell[k] + (int32_t)floorf ((local - f.list_limit) * f.inverse_resolution);
        hi[k] = cell[k] + (int32_t)floorf ((local + f.list_limit) * f.inverse_resolution);
      }
      block[k] = (lo[k] >> 2) + (int32_t)(which >> k & 1);
      exists = exists && block[k] <= hi[k] >> 2;
    }
    wanted[j] = 0;
    head[j].x = NDT_BLOCK_EMPTY;
    head[j].y = 0;
    at[j] = first[j] = 0;
    key[j] = 0;
    if (exists) {
      const uint64_t mx = axis_mask<0> (lo[0], hi[0], block[0]);
      const uint64_t my = axis_mask<1> (lo[1], hi[1], block[1]);
      const uint64_t mz = axis_mask<2> (lo[2], hi[2], block[2]);
      wanted[j] = mx & my & mz;
      if (faces_only) {
        const uint64_t ox = axis_mask<0> (cell[0], cell[0], block[0]);
        const uint64_t oy = axis_mask<1> (cell[1], cell[1], block[1]);
        const uint64_t oz = axis_mask<2> (cell[2], cell[2], block[2]);
        wanted[j] = (mx & oy & oz) | (ox & my & oz) | (ox & oy & mz);
      }
      if (wanted[j]) {
        key[j] = ndt_block_key (block[0], block[1], block[2]);
        at[j] = ndt_block_hash (key[j], f.block_shift);
        head[j] = __ldg ((const ulonglong2 *)(table + 4 * (size_t)at[j]));
        first[j] = __ldg ((const uint32_t *)(table + 4 * (size_t)at[j] + 2));
      }
    }
  }

  /* Numbers of entries before the lane's own, two counts to a word. */
  uint32_t counts[2] = {0, 0};
#pragma unroll
  for (int j = 0; j < 4; j++) {
    while (head[j].x != key[j] && head[j].x != NDT_BLOCK_EMPTY) {
      at[j] = (at[j] + 1) & table_mask;
      head[j] = __ldg ((const ulonglong2 *)(table + 4 * (size_t)at[j]));
      first[j] = __ldg ((const uint32_t *)(table + 4 * (size_t)at[j] + 2));
    }
    if (head[j].x == NDT_BLOCK_EMPTY)
      wanted[j] = 0;
    wanted[j] &= head[j].y;
    counts[j / 2] += (uint32_t)__popcll (wanted[j]) << 16 * (j % 2);
  }
  uint32_t sums[2] = {counts[0], counts[1]};
#pragma unroll
  for (int h = 1; h < 32; h *= 2) {
    const uint32_t a = __shfl_up_sync (0xffffffffu, sums[0], h);
    const uint32_t b = __shfl_up_sync (0xffffffffu, sums[1], h);
    sums[0] += lane >= h ? a : 0;
    sums[1] += lane >= h ? b : 0;
  }
  const uint32_t total0 = __shfl_sync (0xffffffffu, sums[0], 31);
  const uint32_t total1 = __shfl_sync (0xffffffffu, sums[1], 31);
  const uint32_t begin[4] = {0, total0 & 0xffff, (total0 & 0xffff) + (total0 >> 16),
      (total0 & 0xffff) + (total0 >> 16) + (total1 & 0xffff)};
  const uint32_t n = begin[3] + (total1 >> 16);
  if (n > MAX_ENTRIES)
    return n;
  sums[0] -= counts[0];
  sums[1] -= counts[1];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const uint32_t i = (lane >> 3) + 4 * j;
    uint32_t to = begin[j] + (sums[j / 2] >> 16 * (j % 2) & 0xffff);
    uint64_t rest = wanted[j];
    while (rest) {
      const uint64_t lowest = rest & (0 - rest);
      rest ^= lowest;
      w->entries[to++] =
          i << 28 | (first[j] + (uint32_t)__popcll (head[j].y & (lowest - 1)));
    }
  }
  return n;
}

/* Keeps those of @n entries that are pairs, in order, in w->entries; returns how many. With @slot,
 * it remembers those within the margin. @from may be w->entries. */
__device__ __forceinline__ uint32_t
select_pairs (const Frame &f, WarpScratch *w, const uint32_t *from, uint32_t n, ChunkSlot *slot,
    uint32_t lane)
{
  const uint32_t before = (1u << lane) - 1;
  const float limit2 = f.list_limit * f.list_limit;
  uint32_t n_pairs = 0, n_kept = 0;
  for (uint32_t r = 0; r < n; r += 64) {
    uint32_t entry[2];
    float4 head[2];
#pragma unroll
    for (int u = 0; u < 2; u++) {
      const uint32_t at = r + 32 * u + lane;
      entry[u] = at < n ? from[at] : 0;
      head[u] = make_float4 (INFINITY, 0, 0, 0);
      if (at < n)
        head[u] = __ldg ((const float4 *)(f.voxels + (entry[u] & 0x0fffffff)));
    }
    __syncwarp ();
#pragma unroll
    for (int u = 0; u < 2; u++) {
      const uint32_t i = entry[u] >> 28, packed = __float_as_uint (head[u].w);
      const float o[3] = {cell_offset (packed, 0, w->cell[0][i]),
          cell_offset (packed, 1, w->cell[1][i]), cell_offset (packed, 2, w->cell[2][i])};
      const float q[3] = {
          w->local[0][i] - ndt_neighbour_mean_f (head[u].x, o[0], f.resolution),
          w->local[1][i] - ndt_neighbour_mean_f (head[u].y, o[1], f.resolution),
          w->local[2][i] - ndt_neighbour_mean_f (head[u].z, o[2], f.resolution)};
      const float square = ndt_square_f (q);
      const bool is_pair =
          square < f.square_limit && fabsf (o[0]) <= 1 && fabsf (o[1]) <= 1 && fabsf (o[2]) <= 1;
      const uint32_t pairs = __ballot_sync (0xffffffffu, is_pair);
      if (is_pair)
        w->entries[n_pairs + __popc (pairs & before)] = entry[u];
      n_pairs += __popc (pairs);
      if (slot) {
        const bool is_near = square < limit2;
        const uint32_t near = __ballot_sync (0xffffffffu, is_near);
        const uint32_t to = n_kept + __popc (near & before);
        if (is_near && to < MAX_KEPT)
          slot->list[to] = entry[u];
        n_kept += __popc (near);
      }
    }
    __syncwarp ();
  }
  if (slot && lane == 0)
    slot->n = n_kept;
  return n_pairs;
}

/* Is it a point at all? Those of an unfiltered scan were not looked at before. */
__device__ __forceinline__ bool
is_point (float x, float y, float z)
{
  return fabsf (x) <= NDT_SCAN_LIMIT && fabsf (y) <= NDT_SCAN_LIMIT && fabsf (z) <= NDT_SCAN_LIMIT;
}

/* Sums of a chunk, value i in lane i. Point @first + i is the chunk's i-th; its coordinates are in
 * the slot, or with no slot in @points. */
__device__ __forceinline__ float
chunk_values (const Frame &f, const float *points, uint32_t stride, uint32_t n_points,
    uint32_t first, ChunkSlot *slot, WarpScratch *w, uint32_t lane)
{
  const uint32_t sub = lane % CHUNK;
  const bool by_radius = f.square_limit < INFINITY;
  float p[3] = {NAN, NAN, NAN};
  int32_t cell[3];
  if (slot) {
    p[0] = slot->point[0][sub];
    p[1] = slot->point[1][sub];
    p[2] = slot->point[2][sub];
  } else if (first + sub < n_points) {
    const float *from = points + (size_t)(first + sub) * stride;
    p[0] = from[0];
    p[1] = from[1];
    p[2] = from[2];
  }
  const bool is_there = is_point (p[0], p[1], p[2]);
  bool inside = is_there && f.valid;
  {
    float arm[3];
    ndt_rotate_f (&f.transform, p[0], p[1], p[2], arm);
#pragma unroll
    for (int k = 0; k < 3; k++) {
      p[k] = arm[k] + f.transform.t[k];
      const float c = ndt_cell_f (p[k], f.inverse_resolution);
      inside = inside && fabsf (c) < NDT_CELL_LIMIT;
      cell[k] = (int32_t)c + f.transform.anchor[k];
      if (lane < CHUNK) {
        w->arm[k][sub] = arm[k];
        w->local[k][sub] = ndt_local_f (p[k], c, f.resolution);
        w->cell[k][sub] = cell[k];
        w->best[sub] = 0;
      }
    }
  }
  const uint32_t active = __ballot_sync (0xffffffffu, inside) & 0xffff;

  bool known = slot && slot->tag == f.tag && slot->active == active;
  if (known) {
    bool moved;
    if (by_radius) {
      const float d[3] = {
          p[0] - slot->at[0][sub], p[1] - slot->at[1][sub], p[2] - slot->at[2][sub]};
      moved = !(ndt_square_f (d) < f.reuse2);
    } else {
      moved = __float_as_int (slot->at[0][sub]) != cell[0] ||
              __float_as_int (slot->at[1][sub]) != cell[1] ||
              __float_as_int (slot->at[2][sub]) != cell[2];
    }
    known = !__any_sync (0xffffffffu, inside && moved);
  }
  __syncwarp ();

  const uint32_t *pairs = w->entries;
  uint32_t n_pairs;
  if (known) {
    n_pairs = slot->n;
    if (by_radius)
      n_pairs = select_pairs (f, w, slot->list, n_pairs, NULL, lane);
    else
      pairs = slot->list;
  } else {
    bool margin = by_radius && slot && f.reuse2 > 0;
    uint32_t n = list_entries (f, w, active, margin, lane);
    if (n > MAX_ENTRIES) {
      margin = false;
      n = list_entries (f, w, active, false, lane);
    }
    __syncwarp ();
    n_pairs = n;
    if (by_radius)
      n_pairs = select_pairs (f, w, w->entries, n, margin ? slot : NULL, lane);
    if (slot) {
      if (!by_radius) {
        for (uint32_t i = lane; i < min (n, MAX_KEPT); i += 32)
          slot->list[i] = w->entries[i];
        slot->n = n;
      }
      __syncwarp ();
      if (lane < CHUNK) {
#pragma unroll
        for (int k = 0; k < 3; k++)
          slot->at[k][sub] = by_radius ? p[k] : __int_as_float (cell[k]);
      }
      if (lane == 0) {
        slot->tag = (by_radius && !margin) || slot->n > MAX_KEPT ? NO_TAG : f.tag;
        slot->active = active;
      }
    }
  }
  __syncwarp ();

  float v[VALUES];
#pragma unroll
  for (int i = 0; i < VALUES; i++)
    v[i] = 0;
  uint32_t matched = 0;
  const bool is_score = f.kind == NDT_KIND_SCORE;
  for (uint32_t m = lane; m < n_pairs; m += 32) {
    const uint32_t entry = pairs[m], i = entry >> 28;
    const float4 *record = (const float4 *)(f.voxels + (entry & 0x0fffffff));
    const float4 head = __ldg (record), rest = __ldg (record + 1);
    const float2 last = __ldg ((const float2 *)(record + 2));
    const uint32_t packed = __float_as_uint (head.w);
    const float q[3] = {
        w->local[0][i] - ndt_neighbour_mean_f (head.x, cell_offset (packed, 0, w->cell[0][i]),
                             f.resolution),
        w->local[1][i] - ndt_neighbour_mean_f (head.y, cell_offset (packed, 1, w->cell[1][i]),
                             f.resolution),
        w->local[2][i] - ndt_neighbour_mean_f (head.z, cell_offset (packed, 2, w->cell[2][i]),
                             f.resolution)};
    const float icov[6] = {rest.x, rest.y, rest.z, rest.w, last.x, last.y};
    const float arm[3] = {w->arm[0][i], w->arm[1][i], w->arm[2][i]};
    NdtPairSums_f sums = {0, {0, 0, 0}, {0, 0, 0, 0, 0, 0}};
    float g[6], h[21];
    if (is_score) {
      const float term = ndt_pair_score_f (&sums, q, icov, f.d1, f.d2);
      atomicMax ((int *)&w->best[i], __float_as_int (term));
    } else {
      ndt_pair_least_squares_f (&sums, q, icov, f.resolution * f.resolution);
    }
    ndt_point_derivatives_f (&sums, arm, is_score ? 1.0f : 0.0f, g, h);
    v[0] += sums.s;
#pragma unroll
    for (int k = 0; k < 6; k++)
      v[1 + k] += g[k];
#pragma unroll
    for (int k = 0; k < 21; k++)
      v[7 + k] += h[k];
    v[30] += 1;
    matched |= 1u << i;
  }
  __syncwarp ();
  matched = warp_or (matched);
  v[28] = lane < CHUNK ? w->best[sub] : 0;
  v[29] = lane == 0 ? (float)__popc (matched) : 0;
  v[31] = lane < CHUNK && is_there ? 1 : 0;
  __syncwarp ();
  return warp_transpose_sum (v, lane);
}
