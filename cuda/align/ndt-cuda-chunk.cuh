/* SPDX-License-Identifier: MIT */
/* The objective of a chunk of points at a pose, by a warp: LANES lanes a point, each for some of
 * the cells around it. Private to cuda/.
 *
 * A lane looks up its voxels and adds up its pairs in the order of blocks and cells, so that the
 * sums depend on the points, the map and the pose alone, and not on the voxels that were cached in
 * the pass before. */
#pragma once

#include "ndt-cuda-sums.cuh"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/scan/ndt-scan-filter.h"

#define NO_TAG 0x00ffffffu

/* Parameters of a pass over the scan. */
typedef struct {
  NdtTransformF transform;
  float resolution;
  float inverse_resolution;
  float square_limit; /* of a pair; infinite where only cells count */
  float list_limit;   /* distance below which a voxel is cached */
  float reuse2;       /* squared motion of a point up to which its cached voxels are valid */
  int32_t keep;       /* cache voxels */
  float d1;
  float d2;
  const NdtCudaVoxel *voxels;
  const NdtBlock *blocks;
  const uint32_t *grid; /* NULL: voxels are found by pages … */
  const uint32_t *directory;
  const NdtCudaPageBlock *pages; /* … or by their block's hash where this is NULL */
  int32_t grid_first[3];
  int32_t grid_size[3];
  int32_t block_shift;
  int32_t neighbours;
  int32_t level;
  int32_t kind;
  int32_t valid; /* the pose has cell indices */
  uint32_t tag;  /* of level and neighbours */
} Frame;

/* Voxels that a lane can have; without a margin, of 27 cells, at most 27, 14 or 8. With a margin,
 * of 64 cells, some points have more than there is room for: they are looked up in every pass, for
 * which all blocks wait. So there is room for 48 in all where blocks are alone. */
template <int LANES, bool ALONE> struct ListSize {
  static constexpr uint32_t value = LANES == 1 ? 28 : LANES == 2 ? (ALONE ? 24 : 16) : 12;
};

/* A chunk's points and the voxels near them, cached from pass to pass. @ALONE: a block is alone on
 * a multiprocessor, and has more shared memory and registers. */
template <int LANES, bool ALONE> struct ChunkSlot {
  float point[3][32 / LANES];
  float at[3][32 / LANES]; /* where voxels were looked up; cell indices where only cells count */
  uint32_t meta[32];       /* tag << 8 | number of voxels */
  uint32_t list[ListSize<LANES, ALONE>::value][32];
};

/* Offset in cells of a voxel from a cell, by the low ten bits of both. */
__device__ __forceinline__ float
cell_offset (uint32_t packed, int axis, int32_t cell)
{
  return (float)((int32_t)((packed >> 10 * axis << 22) - ((uint32_t)cell << 22)) >> 22);
}

/* 1 + the index of a cell's voxel by the hash table, 0 without one. */
__device__ __forceinline__ uint32_t
find_voxel (const Frame &f, int32_t x, int32_t y, int32_t z)
{
  const uint64_t *table = (const uint64_t *)f.blocks;
  const uint32_t table_mask = (1u << (64 - f.block_shift)) - 1;
  const uint64_t key = ndt_block_key (x >> 2, y >> 2, z >> 2);
  uint32_t at = ndt_block_hash (key, f.block_shift);
  for (;;) {
    const ulonglong2 head = __ldg ((const ulonglong2 *)(table + 4 * (size_t)at));
    if (head.x == key) {
      const uint64_t bit = UINT64_C (1) << ndt_block_bit (x, y, z);
      if (!(head.y & bit))
        return 0;
      return 1 + __ldg ((const uint32_t *)(table + 4 * (size_t)at + 2)) +
             (uint32_t)__popcll (head.y & (bit - 1));
    }
    if (head.x == NDT_BLOCK_EMPTY)
      return 0;
    at = (at + 1) & table_mask;
  }
}

/* A lane has the cells of a row along x with its value of x + 2 y + z mod 4, or x + y + z mod 2, so
 * that the cells of a plane are distributed evenly. Returns the first one at or after @x. */
template <int LANES>
__device__ __forceinline__ int32_t
own_cell (int32_t x, int32_t y, int32_t z, uint32_t lane)
{
  if (LANES == 1)
    return x;
  const uint32_t row = (LANES == 4 ? 2 * (uint32_t)y : (uint32_t)y) + (uint32_t)z;
  return x + (int32_t)((lane - row - (uint32_t)x) & (LANES - 1));
}

/* Lists a lane's voxels of the cells lo … hi around a point, at most ROWS along y and along z, in
 * the order of z, y, x. Returns how many, or -1 for more than the list holds. From the grid: */
template <int LANES, bool ALONE, int ROWS>
__device__ __forceinline__ int
list_voxels (const Frame &f, const int32_t cell[3], const int32_t lo[3], const int32_t hi[3],
    uint32_t lane, uint32_t *list)
{
  constexpr int SIZE = (int)ListSize<LANES, ALONE>::value;
  /* Most cells of a row, of three or four, that a lane has. */
  constexpr int IN_ROW = (ROWS + LANES - 1) / LANES;
  const bool faces_only = f.neighbours == NDT_NEIGHBOURS_DIRECT7;
  const int32_t row = f.grid_size[0], layer = f.grid_size[0] * f.grid_size[1];
  /* Outside of these bounds no voxel is within a cell of the point; inside, all reads are within
   * the grid's frame. */
  if ((uint32_t)(cell[0] - f.grid_first[0] - 3) >= (uint32_t)f.grid_size[0] - 6 ||
      (uint32_t)(cell[1] - f.grid_first[1] - 3) >= (uint32_t)f.grid_size[1] - 6 ||
      (uint32_t)(cell[2] - f.grid_first[2] - 3) >= (uint32_t)f.grid_size[2] - 6)
    return 0;
  const uint32_t *corner = f.grid + (lo[0] - f.grid_first[0] + (lo[1] - f.grid_first[1]) * row +
                                        (lo[2] - f.grid_first[2]) * layer);
  int n = 0;
#pragma unroll(ROWS == 3 || LANES == 4 ? ROWS : 1)
  for (int dz = 0; dz < ROWS; dz++) {
    uint32_t voxel[ROWS * IN_ROW];
    const int32_t z = lo[2] + dz;
#pragma unroll
    for (int dy = 0; dy < ROWS; dy++) {
      const int32_t y = lo[1] + dy;
      const int32_t first = own_cell<LANES> (lo[0], y, z, lane);
#pragma unroll
      for (int i = 0; i < IN_ROW; i++) {
        /* All are loaded unconditionally, so that no load waits for a branch. */
        const int32_t x = first + LANES * i;
        const int away = (x != cell[0]) + (y != cell[1]) + (z != cell[2]);
        const bool wanted =
            (x <= hi[0]) & (y <= hi[1]) & (z <= hi[2]) & (!faces_only | (away <= 1));
        const uint32_t v = __ldg (corner + (x - lo[0] + dy * row + dz * layer));
        voxel[dy * IN_ROW + i] = wanted ? v : 0;
      }
    }
#pragma unroll
    for (int i = 0; i < ROWS * IN_ROW; i++) {
      if (voxel[i] && n < SIZE)
        list[32 * n] = voxel[i] - 1;
      n += voxel[i] != 0;
    }
  }
  return n <= SIZE ? n : -1;
}

/* The same by pages, of up to four rows: as in a grid, no load waits for a branch. */
template <int LANES, bool ALONE>
__device__ __forceinline__ int
list_voxels_in_pages (const Frame &f, const int32_t cell[3], const int32_t lo[3],
    const int32_t hi[3], uint32_t lane, uint32_t *list)
{
  constexpr int SIZE = (int)ListSize<LANES, ALONE>::value, ROWS = 4,
                IN_ROW = (ROWS + LANES - 1) / LANES;
  const bool faces_only = f.neighbours == NDT_NEIGHBOURS_DIRECT7;
  const uint32_t nx = (uint32_t)f.grid_size[0], ny = (uint32_t)f.grid_size[1],
                 nz = (uint32_t)f.grid_size[2];
  int n = 0;
  for (int dz = 0; dz < ROWS; dz++) {
    const int32_t z = lo[2] + dz;
    uint32_t page[ROWS * IN_ROW];
    ulonglong2 block[ROWS * IN_ROW];
#pragma unroll
    for (int m = 0; m < ROWS * IN_ROW; m++) {
      const int32_t y = lo[1] + m / IN_ROW;
      const int32_t x = own_cell<LANES> (lo[0], y, z, lane) + LANES * (m % IN_ROW);
      const int away = (x != cell[0]) + (y != cell[1]) + (z != cell[2]);
      const uint32_t px = (uint32_t)((x >> NDT_CUDA_PAGE_SHIFT) - f.grid_first[0]),
                     py = (uint32_t)((y >> NDT_CUDA_PAGE_SHIFT) - f.grid_first[1]),
                     pz = (uint32_t)((z >> NDT_CUDA_PAGE_SHIFT) - f.grid_first[2]);
      const bool wanted = (x <= hi[0]) & (y <= hi[1]) & (z <= hi[2]) & (!faces_only | (away <= 1)) &
                          (px < nx) & (py < ny) & (pz < nz);
      page[m] = __ldg (f.directory + (wanted ? 1 + (pz * ny + py) * nx + px : 0));
    }
#pragma unroll
    for (int m = 0; m < ROWS * IN_ROW; m++) {
      const int32_t y = lo[1] + m / IN_ROW;
      const int32_t x = own_cell<LANES> (lo[0], y, z, lane) + LANES * (m % IN_ROW);
      const uint32_t at = ((z >> 2 & 7) * 8 + (y >> 2 & 7)) * 8 + (x >> 2 & 7);
      block[m] = __ldg ((const ulonglong2 *)f.pages + (size_t)page[m] * NDT_CUDA_PAGE_BLOCKS + at);
    }
#pragma unroll
    for (int m = 0; m < ROWS * IN_ROW; m++) {
      const int32_t y = lo[1] + m / IN_ROW;
      const int32_t x = own_cell<LANES> (lo[0], y, z, lane) + LANES * (m % IN_ROW);
      const uint64_t bit = UINT64_C (1) << ndt_block_bit (x, y, z);
      if (block[m].x & bit) {
        if (n < SIZE)
          list[32 * n] = (uint32_t)block[m].y + (uint32_t)__popcll (block[m].x & (bit - 1));
        n++;
      }
    }
  }
  return n <= SIZE ? n : -1;
}

/* The same by the hash table. */
template <int LANES, bool ALONE>
__device__ __forceinline__ int
list_voxels_by_hash (const Frame &f, const int32_t cell[3], const int32_t lo[3],
    const int32_t hi[3], uint32_t lane, uint32_t *list)
{
  constexpr int SIZE = (int)ListSize<LANES, ALONE>::value;
  const bool faces_only = f.neighbours == NDT_NEIGHBOURS_DIRECT7;
  int n = 0;
  for (int32_t z = lo[2]; z <= hi[2]; z++)
    for (int32_t y = lo[1]; y <= hi[1]; y++)
      for (int32_t x = own_cell<LANES> (lo[0], y, z, lane); x <= hi[0]; x += LANES) {
        if (faces_only && (x != cell[0]) + (y != cell[1]) + (z != cell[2]) > 1)
          continue;
        const uint32_t voxel = find_voxel (f, x, y, z);
        if (voxel && n < SIZE)
          list[32 * n] = voxel - 1;
        n += voxel != 0;
      }
  return n <= SIZE ? n : -1;
}

/* The same where there is no grid. */
template <int LANES, bool ALONE>
__device__ __noinline__ int
list_voxels_elsewhere (const Frame &f, const int32_t cell[3], const int32_t lo[3],
    const int32_t hi[3], uint32_t lane, uint32_t *list)
{
  return f.pages ? list_voxels_in_pages<LANES, ALONE> (f, cell, lo, hi, lane, list)
                 : list_voxels_by_hash<LANES, ALONE> (f, cell, lo, hi, lane, list);
}

/* Returns whether the point is in range; those of an unfiltered scan have not been tested before.
 */
__device__ __forceinline__ bool
is_point (float x, float y, float z)
{
  return fabsf (x) <= NDT_SCAN_LIMIT && fabsf (y) <= NDT_SCAN_LIMIT && fabsf (z) <= NDT_SCAN_LIMIT;
}

/* ndt_pair_score_f() or ndt_pair_least_squares_f() without branches, so that the pairs of a lane
 * are independent: a pair that does not count has the weight 0.
 *
 * A term counts as finite up to −d1; ndt-terms.h has −2 d1. qᵀBq of a point within 1e-4 standard
 * deviations of a mean can come out below zero by rounding, so that the term exceeds −d1 by an ulp:
 * it counts as 0 here then, and as −d1 there. /gpu/evaluate compares both sums, to 1e-5. */
__device__ __forceinline__ float
add_pair (NdtPairSums_f *sums, const float q[3], const float icov[6], float square, bool counts,
    bool is_score, const Frame &f)
{
  float bq[3] = {icov[0] * q[0] + icov[1] * q[1] + icov[2] * q[2],
      icov[1] * q[0] + icov[3] * q[1] + icov[4] * q[2],
      icov[2] * q[0] + icov[4] * q[1] + icov[5] * q[2]};
  const float m = q[0] * bq[0] + q[1] * bq[1] + q[2] * bq[2];
  float term, w, outer;
  if (is_score) {
    term = -f.d1 * expf (-0.5f * f.d2 * m);
    const bool finite = term <= -f.d1;
    term = counts & finite ? term : 0;
#pragma unroll
    for (int k = 0; k < 3; k++)
      bq[k] = finite ? bq[k] : 0;
    w = f.d2 * term;
    outer = w * f.d2;
  } else {
    const float k2 = f.resolution * f.resolution;
    term = counts ? k2 / (k2 + square) : 0;
    w = term;
    outer = 0;
  }
  sums->s += term;
  sums->b[0] += w * bq[0];
  sums->b[1] += w * bq[1];
  sums->b[2] += w * bq[2];
  const float o[3] = {outer * bq[0], outer * bq[1], outer * bq[2]};
  sums->a[0] += o[0] * bq[0] - w * icov[0];
  sums->a[1] += o[0] * bq[1] - w * icov[1];
  sums->a[2] += o[0] * bq[2] - w * icov[2];
  sums->a[3] += o[1] * bq[1] - w * icov[3];
  sums->a[4] += o[1] * bq[2] - w * icov[4];
  sums->a[5] += o[2] * bq[2] - w * icov[5];
  return is_score ? term : 0;
}

typedef struct {
  uint32_t voxel;
  float4 head;
  float4 rest;
  float2 last;
} Record;

/* Voxels from @k on of the n of a list; the last one is repeated where there are no more. */
template <int N>
__device__ __forceinline__ void
load_records (const NdtCudaVoxel *voxels, const uint32_t *list, int k, int n, Record records[N])
{
#pragma unroll
  for (int u = 0; u < N; u++) {
    const uint32_t voxel = list[32 * min (k + u, n - 1)];
    const float4 *from = (const float4 *)(voxels + voxel);
    records[u].voxel = voxel;
    records[u].head = __ldg (from);
    records[u].rest = __ldg (from + 1);
    records[u].last = __ldg ((const float2 *)(from + 2));
  }
}

/* @ALONE: as of ChunkSlot; records are loaded while those before are computed, which needs
 *   registers.
 *
 * Sums of a chunk, value i in lane i. Point @first + i is the chunk's i-th. The points of a slot
 * that is not @kept are read from @points in every pass. */
template <int LANES, bool ALONE>
__device__ __forceinline__ float
chunk_values (const Frame &f, const float *points, uint32_t stride, uint32_t n_points,
    uint32_t first, ChunkSlot<LANES, ALONE> *slot, bool kept, uint32_t lane)
{
  const uint32_t sub = lane / LANES;
  const bool by_radius = f.square_limit < INFINITY;
  float arm[3], p[3] = {NAN, NAN, NAN}, local[3];
  int32_t cell[3];
  if (kept) {
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
  ndt_rotate_f (&f.transform, p[0], p[1], p[2], arm);
#pragma unroll
  for (int k = 0; k < 3; k++) {
    p[k] = arm[k] + f.transform.t[k];
    const float c = ndt_cell_f (p[k], f.inverse_resolution);
    inside = inside && fabsf (c) < NDT_CELL_LIMIT;
    local[k] = ndt_local_f (p[k], c, f.resolution);
    cell[k] = (int32_t)c + f.transform.anchor[k];
  }

  /* The lane's cached voxels of a point are valid while the point has moved less than the limit. */
  uint32_t *list = &slot->list[0][lane];
  const uint32_t meta = slot->meta[lane];
  bool known = kept && meta >> 8 == f.tag;
  if (by_radius) {
    const float d[3] = {p[0] - slot->at[0][sub], p[1] - slot->at[1][sub], p[2] - slot->at[2][sub]};
    known = known && ndt_square_f (d) < f.reuse2;
  } else {
    known = known && __float_as_int (slot->at[0][sub]) == cell[0] &&
            __float_as_int (slot->at[1][sub]) == cell[1] &&
            __float_as_int (slot->at[2][sub]) == cell[2];
  }
  /* The lanes of a point share its position at the last look-up. */
  uint32_t unknown = __ballot_sync (0xffffffffu, inside && !known);
  const bool look_up = unknown >> (lane / LANES * LANES) & ((1u << (LANES - 1) << 1) - 1);
  const bool margin = by_radius && kept && f.keep;
  bool keep = kept && (margin || !by_radius);
  int n = inside ? (int)(meta & 0xff) : 0;
  if (inside && look_up) {
    int32_t lo[3], hi[3];
    n = -1;
    if (margin) {
#pragma unroll
      for (int k = 0; k < 3; k++) {
        lo[k] = cell[k] + (int32_t)floorf ((local[k] - f.list_limit) * f.inverse_resolution);
        hi[k] = cell[k] + (int32_t)floorf ((local[k] + f.list_limit) * f.inverse_resolution);
      }
      n = f.grid ? list_voxels<LANES, ALONE, 4> (f, cell, lo, hi, lane, list)
                 : list_voxels_elsewhere<LANES, ALONE> (f, cell, lo, hi, lane, list);
      keep = n >= 0;
    }
    if (n < 0) {
      /* All voxels that count are in the cells within this reach. */
      const int reach = f.neighbours == NDT_NEIGHBOURS_DIRECT1 ? 0 : 1;
#pragma unroll
      for (int k = 0; k < 3; k++) {
        lo[k] = cell[k] - reach;
        hi[k] = cell[k] + reach;
      }
      n = f.grid ? list_voxels<LANES, ALONE, 3> (f, cell, lo, hi, lane, list)
                 : list_voxels_elsewhere<LANES, ALONE> (f, cell, lo, hi, lane, list);
    }
  }
  __syncwarp ();

  NdtPairSums_f sums = {0, {0, 0, 0}, {0, 0, 0, 0, 0, 0}};
  float best = 0;
  int n_pairs = 0, n_near = 0;
  const bool is_score = f.kind == NDT_KIND_SCORE;
  const float near2 = f.list_limit * f.list_limit;
  constexpr int AHEAD = 2;
  Record next[AHEAD];
  if (ALONE && n > 0)
    load_records<AHEAD> (f.voxels, list, 0, n, next);
  for (int k = 0; k < n; k += AHEAD) {
    Record record[AHEAD];
    if (ALONE) {
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
        record[u] = next[u];
      load_records<AHEAD> (f.voxels, list, k + AHEAD, n, next);
    } else {
      load_records<AHEAD> (f.voxels, list, k, n, record);
    }
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
      const Record &r = record[u];
      const uint32_t packed = __float_as_uint (r.head.w);
      const float o[3] = {cell_offset (packed, 0, cell[0]), cell_offset (packed, 1, cell[1]),
          cell_offset (packed, 2, cell[2])};
      const float q[3] = {local[0] - ndt_neighbour_mean_f (r.head.x, o[0], f.resolution),
          local[1] - ndt_neighbour_mean_f (r.head.y, o[1], f.resolution),
          local[2] - ndt_neighbour_mean_f (r.head.z, o[2], f.resolution)};
      const float square = ndt_square_f (q);
      const bool listed = k + u < n;
      if (look_up & keep & by_radius & listed & (square < near2))
        list[32 * n_near++] = r.voxel;
      const bool counts = listed & (!by_radius | ((square < f.square_limit) & (fabsf (o[0]) <= 1) &
                                                     (fabsf (o[1]) <= 1) & (fabsf (o[2]) <= 1)));
      const float icov[6] = {r.rest.x, r.rest.y, r.rest.z, r.rest.w, r.last.x, r.last.y};
      n_pairs += counts;
      best = fmaxf (best, add_pair (&sums, q, icov, square, counts, is_score, f));
    }
  }
  if (kept && inside && look_up) {
    slot->meta[lane] = (keep ? f.tag : NO_TAG) << 8 | (uint32_t)(by_radius ? n_near : n);
    if (lane % LANES == 0) {
#pragma unroll
      for (int k = 0; k < 3; k++)
        slot->at[k][sub] = by_radius ? p[k] : __int_as_float (cell[k]);
    }
  }

  float v[VALUES];
  v[0] = sums.s;
  ndt_point_derivatives_f (&sums, arm, is_score ? 1.0f : 0.0f, v + 1, v + 7);
  const uint32_t paired = __ballot_sync (0xffffffffu, n_pairs > 0);
#pragma unroll
  for (int h = 1; h < LANES; h *= 2)
    best = fmaxf (best, __shfl_xor_sync (0xffffffffu, best, h));
  const bool leads = lane % LANES == 0;
  v[28] = leads ? best : 0;
  v[29] = leads && (paired >> lane & ((1u << (LANES - 1) << 1) - 1)) ? 1 : 0;
  v[30] = (float)n_pairs;
  v[31] = leads && is_there ? 1 : 0;
  if (!inside) {
#pragma unroll
    for (int i = 1; i < 28; i++)
      v[i] = 0;
  }
  __syncwarp ();
  return warp_transpose_sum (v, lane);
}
