/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-build.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#define BLOCK 256
#define NO_STRAY 0xffffffffffffffffull

static unsigned
blocks_for (uint64_t n)
{
  return (unsigned)((n + BLOCK - 1) / BLOCK);
}

__device__ __forceinline__ unsigned long long
to_ordered (double d)
{
  const unsigned long long u = (unsigned long long)__double_as_longlong (d);
  return u >> 63 ? ~u : u | 1ull << 63;
}

void
ndt_cuda_build_init (NdtCudaBuildState *state)
{
  *state = {};
  state->stray = NO_STRAY;
  for (int k = 0; k < 3; k++) {
    state->min[k] = UINT64_MAX;
    state->cell_min[k] = INT32_MAX;
    state->cell_max[k] = INT32_MIN;
  }
}

/* ---- Points to cells ---- */

typedef struct {
  int64_t v[3];
} Origin;

/* Sum over the lanes of a group of a number of at most 26 bits. */
__device__ __forceinline__ unsigned long long
group_sum (uint32_t group, uint32_t value)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync (group, value);
#else
  uint32_t sum = 0;
  for (uint32_t rest = group; rest; rest &= rest - 1)
    sum += __shfl_sync (group, value, __ffs ((int)rest) - 1);
  return sum;
#endif
}

__global__ void
insert_points (const NdtCudaPoints points, double resolution, const Origin origin,
    NdtCudaCell *table, int32_t shift, NdtCudaBuildState *state)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % 32;
  double p[3] = {INFINITY, INFINITY, INFINITY};
  if (i < points.n) {
    const uint8_t *axes[3] = {points.x, points.y, points.z};
    for (int k = 0; k < 3; k++) {
      const uint8_t *from = axes[k] + (uint64_t)i * points.stride;
      p[k] = points.is_double ? *(const double *)from : (double)*(const float *)from;
    }
  }
  const bool finite = isfinite (p[0]) && isfinite (p[1]) && isfinite (p[2]);
  uint64_t key = 0;
  uint32_t offset[3] = {0, 0, 0};
  bool inside = finite;
  int32_t cell[3] = {0, 0, 0};
  for (int k = 0; k < 3; k++) {
    const double index = floor (p[k] / resolution);
    const double d = index - (double)origin.v[k];
    inside = inside && fabs (index) < 4e18 && d >= -NDT_KEY_LIMIT && d < NDT_KEY_LIMIT - 16;
    if (inside) {
      cell[k] = (int32_t)d;
      const double o = __dsub_rn (p[k], __dmul_rn (index, resolution)) / resolution;
      offset[k] =
          (uint32_t)min (max (__double2int_rn (o * NDT_CUDA_CELL_STEPS), 0), NDT_CUDA_CELL_STEPS);
    }
  }
  if (finite && !inside)
    atomicMin (&state->stray, (unsigned long long)(points.first + i));
  if (inside)
    key = ndt_block_key (cell[0], cell[1], cell[2]);

  /* Bounds and number of the points, a warp at a time. */
  const uint32_t all = __ballot_sync (0xffffffffu, inside);
  for (int k = 0; k < 3; k++) {
    double lo = inside ? p[k] : INFINITY, hi = inside ? p[k] : -INFINITY;
    for (int h = 16; h >= 1; h >>= 1) {
      lo = fmin (lo, __shfl_xor_sync (0xffffffffu, lo, h));
      hi = fmax (hi, __shfl_xor_sync (0xffffffffu, hi, h));
    }
    if (lane == 0 && all) {
      /* Most points are within the bounds so far. */
      if (to_ordered (lo) < *(volatile unsigned long long *)&state->min[k])
        atomicMin (&state->min[k], to_ordered (lo));
      if (to_ordered (hi) > *(volatile unsigned long long *)&state->max[k])
        atomicMax (&state->max[k], to_ordered (hi));
    }
  }
  if (lane == 0 && all)
    atomicAdd (&state->n_points, (unsigned long long)__popc (all));
  if (!inside)
    return;

  const uint32_t group = __match_any_sync (all, (unsigned long long)key);
  const uint32_t leader = __ffs ((int)group) - 1;
  unsigned long long n = 1, s[3], ss[6];
  for (int k = 0, m = 0; k < 3; k++) {
    s[k] = offset[k];
    for (int j = k; j < 3; j++, m++)
      ss[m] = (unsigned long long)offset[k] * offset[j];
  }
  /* Consecutive points are often in one cell: the warp adds those up before the atomic operation.
   */
  if (__popc (group) >= 4) {
    n = (unsigned long long)__popc (group);
    for (int k = 0; k < 3; k++)
      s[k] = group_sum (group, (uint32_t)s[k]);
    for (int m = 0; m < 6; m++)
      ss[m] = group_sum (group, (uint32_t)(ss[m] & 0xfffff)) +
              (group_sum (group, (uint32_t)(ss[m] >> 20)) << 20);
    if (lane != leader)
      return;
  }
  const uint32_t mask = (1u << (64 - shift)) - 1;
  uint32_t slot = ndt_block_hash (key, shift);
  for (uint32_t tries = 0;; tries++) {
    const uint64_t known = *(volatile uint64_t *)&table[slot].not_key;
    const uint64_t found = known ? known
                                 : atomicCAS ((unsigned long long *)&table[slot].not_key, 0ull,
                                       (unsigned long long)~key);
    if (found == 0 || found == ~key)
      break;
    if (tries == 256) {
      state->full = 1;
      return;
    }
    slot = (slot + 1) & mask;
  }
  NdtCudaCell *to = &table[slot];
  atomicAdd (&to->n, (uint32_t)n);
  for (int k = 0; k < 3; k++)
    atomicAdd ((unsigned long long *)&to->s[k], s[k]);
  for (int m = 0; m < 6; m++)
    atomicAdd ((unsigned long long *)&to->ss[m], ss[m]);
}

cudaError_t
ndt_cuda_build_insert (const NdtCudaPoints *points, double resolution, const int64_t origin[3],
    NdtCudaCell *table, int32_t shift, NdtCudaBuildState *state, cudaStream_t stream)
{
  const Origin o = {{origin[0], origin[1], origin[2]}};
  insert_points<<<blocks_for (points->n), BLOCK, 0, stream>>> (
      *points, resolution, o, table, shift, state);
  return cudaGetLastError ();
}

/* ---- The cells in order ---- */

__device__ __forceinline__ void
cell_of_key (uint64_t key, int32_t c[3])
{
  for (int k = 0; k < 3; k++)
    c[k] = (int32_t)(key >> (21 * k) & 0x1fffff) - NDT_KEY_LIMIT;
}

__device__ __forceinline__ void
widen_bounds (NdtCudaBuildState *state, bool is_one, const int32_t c[3])
{
  for (int k = 0; k < 3; k++) {
    int lo = is_one ? c[k] : INT32_MAX, hi = is_one ? c[k] : INT32_MIN;
    for (int h = 16; h >= 1; h >>= 1) {
      lo = min (lo, __shfl_xor_sync (0xffffffffu, lo, h));
      hi = max (hi, __shfl_xor_sync (0xffffffffu, hi, h));
    }
    if (threadIdx.x % 32 == 0 && lo <= hi) {
      atomicMin (&state->cell_min[k], lo);
      atomicMax (&state->cell_max[k], hi);
    }
  }
}

__global__ void
find_bounds (const NdtCudaCell *table, uint32_t size, NdtCudaBuildState *state)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  int32_t c[3] = {0, 0, 0};
  const bool is_one = i < size && table[i].not_key != 0;
  if (is_one)
    cell_of_key (~table[i].not_key, c);
  if (is_one && table[i].n > NDT_CUDA_CELL_POINTS)
    state->crowded = 1;
  const uint32_t used = __ballot_sync (0xffffffffu, is_one);
  if (used && threadIdx.x % 32 == 0)
    atomicAdd (&state->n_cells, (uint32_t)__popc (used));
  widen_bounds (state, is_one, c);
}

cudaError_t
ndt_cuda_build_bounds (
    const NdtCudaCell *table, int32_t shift, NdtCudaBuildState *state, cudaStream_t stream)
{
  const uint32_t size = 1u << (64 - shift);
  find_bounds<<<blocks_for (size), BLOCK, 0, stream>>> (table, size, state);
  return cudaGetLastError ();
}

__global__ void
list_cells (const NdtCudaCell *table, uint32_t size, int32_t x, int32_t y, int32_t z,
    uint64_t *orders, uint32_t *slots, NdtCudaBuildState *state)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % 32;
  const bool is_one = i < size && table[i].not_key != 0;
  const uint32_t used = __ballot_sync (0xffffffffu, is_one);
  uint32_t at = 0;
  if (lane == 0 && used)
    at = atomicAdd (&state->n, (uint32_t)__popc (used));
  at = __shfl_sync (0xffffffffu, at, 0) + (uint32_t)__popc (used & ((1u << lane) - 1));
  if (is_one) {
    int32_t c[3];
    cell_of_key (~table[i].not_key, c);
    c[0] -= x;
    c[1] -= y;
    c[2] -= z;
    orders[at] = ndt_cell_order (c);
    slots[at] = i;
  }
}

cudaError_t
ndt_cuda_build_list (const NdtCudaCell *table, int32_t shift, const int32_t origin[3],
    uint64_t *orders, uint32_t *slots, NdtCudaBuildState *state, cudaStream_t stream)
{
  const uint32_t size = 1u << (64 - shift);
  const cudaError_t e = cudaMemsetAsync (&state->n, 0, sizeof (state->n), stream);
  if (e != cudaSuccess)
    return e;
  list_cells<<<blocks_for (size), BLOCK, 0, stream>>> (
      table, size, origin[0], origin[1], origin[2], orders, slots, state);
  return cudaGetLastError ();
}

cudaError_t
ndt_cuda_build_sort (void *temp, size_t *temp_size, const uint64_t *orders, uint64_t *orders_out,
    const uint32_t *values, uint32_t *values_out, uint32_t n, int n_bits, cudaStream_t stream)
{
  return cub::DeviceRadixSort::SortPairs (
      temp, *temp_size, orders, orders_out, values, values_out, (int)n, 0, n_bits, stream);
}

cudaError_t
ndt_cuda_build_select (void *temp, size_t *temp_size, const uint32_t *values, const uint8_t *flags,
    uint32_t *out, NdtCudaBuildState *state, uint32_t n, cudaStream_t stream)
{
  return cub::DeviceSelect::Flagged (
      temp, *temp_size, values, flags, out, &state->n, (int)n, stream);
}

__global__ void
gather_sums (
    const NdtCudaCell *table, const uint32_t *slots, uint32_t n, double step, NdtCellSums *sums)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n)
    return;
  const NdtCudaCell cell = table[slots[i]];
  NdtCellSums to;
  to.n = cell.n;
  for (int k = 0; k < 3; k++)
    to.s[k] = (double)cell.s[k] * step;
  for (int m = 0; m < 6; m++)
    to.ss[m] = (double)cell.ss[m] * step * step;
  sums[i] = to;
}

cudaError_t
ndt_cuda_build_sums (const NdtCudaCell *table, const uint32_t *slots, uint32_t n, double resolution,
    NdtCellSums *sums, cudaStream_t stream)
{
  gather_sums<<<blocks_for (n), BLOCK, 0, stream>>> (
      table, slots, n, resolution / NDT_CUDA_CELL_STEPS, sums);
  return cudaGetLastError ();
}

/* ---- Coarser cells ---- */

__global__ void
find_parents (const uint64_t *orders, uint32_t n, uint64_t *parent_orders, uint32_t *indices)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n)
    return;
  int32_t c[3];
  ndt_cell_from_order (orders[i], c);
  for (int k = 0; k < 3; k++)
    c[k] >>= 1;
  parent_orders[i] = ndt_cell_order (c);
  indices[i] = i;
}

cudaError_t
ndt_cuda_build_parents (const uint64_t *orders, uint32_t n, uint64_t *parent_orders,
    uint32_t *indices, cudaStream_t stream)
{
  find_parents<<<blocks_for (n), BLOCK, 0, stream>>> (orders, n, parent_orders, indices);
  return cudaGetLastError ();
}

__global__ void
find_heads (const uint64_t *orders, uint32_t n, int ignore, uint8_t *flags, uint32_t *values)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n)
    return;
  flags[i] = i == 0 || orders[i] >> ignore != orders[i - 1] >> ignore;
  values[i] = i;
}

cudaError_t
ndt_cuda_build_heads (const uint64_t *orders, uint32_t n, int ignore, uint8_t *flags,
    uint32_t *values, cudaStream_t stream)
{
  find_heads<<<blocks_for (n), BLOCK, 0, stream>>> (orders, n, ignore, flags, values);
  return cudaGetLastError ();
}

__global__ void
coarsen (const uint64_t *orders, const NdtCellSums *sums, const uint64_t *parent_orders,
    const uint32_t *indices, uint32_t n, const uint32_t *heads, uint32_t n_parents,
    double resolution, uint64_t *orders_out, NdtCellSums *sums_out)
{
  const uint32_t j = blockIdx.x * BLOCK + threadIdx.x;
  if (j >= n_parents)
    return;
  const uint32_t end = j + 1 < n_parents ? heads[j + 1] : n;
  NdtCellSums to = {0, {0, 0, 0}, {0, 0, 0, 0, 0, 0}};
  for (uint32_t i = heads[j]; i < end; i++) {
    const NdtCellSums from = sums[indices[i]];
    int32_t c[3];
    double o[3];
    ndt_cell_from_order (orders[indices[i]], c);
    for (int k = 0; k < 3; k++)
      o[k] = (c[k] & 1) * resolution;
    ndt_cell_sums_add (&to, &from, o);
  }
  sums_out[j] = to;
  orders_out[j] = parent_orders[heads[j]];
}

cudaError_t
ndt_cuda_build_coarsen (const uint64_t *orders, const NdtCellSums *sums,
    const uint64_t *parent_orders, const uint32_t *indices, uint32_t n, const uint32_t *heads,
    uint32_t n_parents, double resolution, uint64_t *orders_out, NdtCellSums *sums_out,
    cudaStream_t stream)
{
  coarsen<<<blocks_for (n_parents), BLOCK, 0, stream>>> (
      orders, sums, parent_orders, indices, n, heads, n_parents, resolution, orders_out, sums_out);
  return cudaGetLastError ();
}

/* ---- Voxels ---- */

__global__ void
make_voxels (const uint64_t *orders, const NdtCellSums *sums, uint32_t n, int estimate,
    uint32_t min_points, double eigenvalue_ratio, double resolution, NdtVoxel *voxels,
    uint8_t *flags, uint32_t *values)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n)
    return;
  double mean[3], cov[6], icov[6];
  values[i] = i;
  flags[i] = (uint8_t)ndt_cell_to_voxel (
      &sums[i], estimate, min_points, eigenvalue_ratio, resolution, mean, cov, icov);
  if (!flags[i])
    return;
  NdtVoxel voxel;
  for (int k = 0; k < 3; k++)
    voxel.mean[k] = (float)mean[k];
  for (int k = 0; k < 6; k++)
    voxel.icov[k] = (float)icov[k];
  ndt_cell_from_order (orders[i], voxel.cell);
  voxels[i] = voxel;
}

cudaError_t
ndt_cuda_build_voxels (const uint64_t *orders, const NdtCellSums *sums, uint32_t n, int estimate,
    uint32_t min_points, double eigenvalue_ratio, double resolution, NdtVoxel *voxels,
    uint8_t *flags, uint32_t *values, cudaStream_t stream)
{
  make_voxels<<<blocks_for (n), BLOCK, 0, stream>>> (
      orders, sums, n, estimate, min_points, eigenvalue_ratio, resolution, voxels, flags, values);
  return cudaGetLastError ();
}

__global__ void
pack (const NdtVoxel *voxels, const uint64_t *orders, const uint32_t *indices, uint32_t n,
    NdtVoxel *out, uint64_t *orders_out, NdtCudaBuildState *state)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  int32_t c[3] = {0, 0, 0};
  if (i < n) {
    const NdtVoxel voxel = voxels[indices[i]];
    for (int k = 0; k < 3; k++)
      c[k] = voxel.cell[k];
    out[i] = voxel;
    orders_out[i] = orders[indices[i]];
  }
  widen_bounds (state, i < n, c);
}

__global__ void
forget_bounds (NdtCudaBuildState *state)
{
  for (int k = 0; k < 3; k++) {
    state->cell_min[k] = INT32_MAX;
    state->cell_max[k] = INT32_MIN;
  }
}

cudaError_t
ndt_cuda_build_pack (const NdtVoxel *voxels, const uint64_t *orders, const uint32_t *indices,
    uint32_t n, NdtVoxel *out, uint64_t *orders_out, NdtCudaBuildState *state, cudaStream_t stream)
{
  forget_bounds<<<1, 1, 0, stream>>> (state);
  pack<<<blocks_for (n), BLOCK, 0, stream>>> (voxels, orders, indices, n, out, orders_out, state);
  return cudaGetLastError ();
}

__global__ void
fill_blocks (const uint64_t *orders, uint32_t n, const uint32_t *heads, uint32_t n_blocks,
    NdtBlock *blocks, int32_t shift)
{
  const uint32_t j = blockIdx.x * BLOCK + threadIdx.x;
  if (j >= n_blocks)
    return;
  const uint32_t begin = heads[j], end = j + 1 < n_blocks ? heads[j + 1] : n;
  int32_t c[3];
  ndt_cell_from_order (orders[begin], c);
  const uint64_t key = ndt_block_key (c[0] >> 2, c[1] >> 2, c[2] >> 2);
  uint64_t mask = 0;
  for (uint32_t i = begin; i < end; i++)
    mask |= UINT64_C (1) << (orders[i] & 63);
  uint32_t slot = ndt_block_hash (key, shift);
  while (
      atomicCAS ((unsigned long long *)&blocks[slot].key, ~0ull, (unsigned long long)key) != ~0ull)
    slot = (slot + 1) & ((1u << (64 - shift)) - 1);
  blocks[slot].mask = mask;
  blocks[slot].first = begin;
}

__global__ void
clear_blocks (NdtBlock *blocks, uint32_t size)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  const NdtBlock empty = {NDT_BLOCK_EMPTY, 0, 0, {0, 0, 0}};
  if (i < size)
    blocks[i] = empty;
}

cudaError_t
ndt_cuda_build_blocks (const uint64_t *orders, uint32_t n, const uint32_t *heads, uint32_t n_blocks,
    NdtBlock *blocks, int32_t shift, cudaStream_t stream)
{
  const uint32_t size = 1u << (64 - shift);
  clear_blocks<<<blocks_for (size), BLOCK, 0, stream>>> (blocks, size);
  if (n_blocks > 0)
    fill_blocks<<<blocks_for (n_blocks), BLOCK, 0, stream>>> (
        orders, n, heads, n_blocks, blocks, shift);
  return cudaGetLastError ();
}
