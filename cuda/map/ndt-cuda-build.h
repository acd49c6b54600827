/* SPDX-License-Identifier: MIT */
/* Kernels that build a map from points. Private to cuda/.
 *
 * Sums of a cell are integers (ndt_leaf_offset()'s steps of a cell's edge), so that they do not
 * depend on the order of points. Then cells are sorted, and all following steps have one order. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "ndtcore/math/ndt-formulas.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Integer steps per edge of a cell, in which positions are summed. Products of two have 40 bits,
 * which leaves 23 bits for the number of points in a cell; maps with more are built by the CPU. */
#define NDT_CUDA_CELL_STEPS 1048576
#define NDT_CUDA_CELL_POINTS 8388607

/* A cell of the hash table; all zero where there is none. */
typedef struct {
  uint64_t not_key; /* ~ndt_block_key() of the cell relative to the first point's */
  int64_t s[3];
  int64_t ss[6];
  uint32_t n;
  uint32_t reserved;
} NdtCudaCell;

/**
 * NdtCudaBuildState:
 * @n_points: finite points so far
 * @n_cells: cells of the table
 * @stray: index of the first point that is too far from the first; UINT64_MAX: none
 * @full: the table could not take all cells
 * @crowded: a cell has more than NDT_CUDA_CELL_POINTS
 * @min: of the points, as ordered integers; likewise @max
 * @cell_min: of the cells, relative to the first point's; likewise @cell_max
 * @n: result of a selection
 *
 * On the device.
 */
typedef struct {
  unsigned long long n_points;
  unsigned long long stray;
  unsigned long long min[3];
  unsigned long long max[3];
  int32_t cell_min[3];
  int32_t cell_max[3];
  uint32_t n_cells;
  uint32_t full;
  uint32_t n;
  uint32_t crowded;
} NdtCudaBuildState;

/* Maps doubles to unsigned integers with the same order, and back. */
static inline double
ndt_cuda_from_ordered (uint64_t v)
{
  union {
    uint64_t u;
    double d;
  } x;
  x.u = v >> 63 ? v & INT64_MAX : ~v;
  return x.d;
}

/**
 * NdtCudaPoints:
 * @x: first point's, on the device; likewise @y and @z
 * @first: index in the cloud of the first point
 */
typedef struct {
  const uint8_t *x;
  const uint8_t *y;
  const uint8_t *z;
  uint64_t stride;
  uint64_t first;
  uint32_t n;
  int32_t is_double;
} NdtCudaPoints;

void ndt_cuda_build_init (NdtCudaBuildState *state);
/* Adds points to the cells of a table of 2^(64 - shift); @origin: cell of the first point. */
cudaError_t ndt_cuda_build_insert (const NdtCudaPoints *points, double resolution,
    const int64_t origin[3], NdtCudaCell *table, int32_t shift, NdtCudaBuildState *state,
    cudaStream_t stream);
/* Least and largest cells and their number. */
cudaError_t ndt_cuda_build_bounds (
    const NdtCudaCell *table, int32_t shift, NdtCudaBuildState *state, cudaStream_t stream);
/* All cells: numbers to sort them by, relative to @origin (of the level, relative to the first
 * point's cell), and their places in the table. state->n is cleared first. */
cudaError_t ndt_cuda_build_list (const NdtCudaCell *table, int32_t shift, const int32_t origin[3],
    uint64_t *orders, uint32_t *slots, NdtCudaBuildState *state, cudaStream_t stream);
/* Sorts both arrays by order; the sort is stable. temp NULL: only sets *temp_size to the bytes
 * needed. */
cudaError_t ndt_cuda_build_sort (void *temp, size_t *temp_size, const uint64_t *orders,
    uint64_t *orders_out, const uint32_t *values, uint32_t *values_out, uint32_t n, int n_bits,
    cudaStream_t stream);
/* Selects the values whose flag is set, in order; their number goes to state->n. */
cudaError_t ndt_cuda_build_select (void *temp, size_t *temp_size, const uint32_t *values,
    const uint8_t *flags, uint32_t *out, NdtCudaBuildState *state, uint32_t n, cudaStream_t stream);
/* The sums of the cells, in metres. */
cudaError_t ndt_cuda_build_sums (const NdtCudaCell *table, const uint32_t *slots, uint32_t n,
    double resolution, NdtCellSums *sums, cudaStream_t stream);
/* Orders of the cells' parents one level up, and the cells' indices. */
cudaError_t ndt_cuda_build_parents (const uint64_t *orders, uint32_t n, uint64_t *parent_orders,
    uint32_t *indices, cudaStream_t stream);
/* flags[i] = whether orders[i] differs from the one before in other than the lowest @ignore bits;
 * values[i] = i. */
cudaError_t ndt_cuda_build_heads (const uint64_t *orders, uint32_t n, int ignore, uint8_t *flags,
    uint32_t *values, cudaStream_t stream);
/* Sums and orders of n_parents cells one level up: heads[j] is the index of the j-th parent's first
 * child in the sorted arrays of n. @resolution: of the children. */
cudaError_t ndt_cuda_build_coarsen (const uint64_t *orders, const NdtCellSums *sums,
    const uint64_t *parent_orders, const uint32_t *indices, uint32_t n, const uint32_t *heads,
    uint32_t n_parents, double resolution, uint64_t *orders_out, NdtCellSums *sums_out,
    cudaStream_t stream);
/* Voxels of cells; flags tell which cells are voxels; values[i] = i. */
cudaError_t ndt_cuda_build_voxels (const uint64_t *orders, const NdtCellSums *sums, uint32_t n,
    int estimate, uint32_t min_points, double eigenvalue_ratio, double resolution, NdtVoxel *voxels,
    uint8_t *flags, uint32_t *values, cudaStream_t stream);
/* Packs the voxels whose indices are listed; cell_min and cell_max of the state become theirs, and
 * orders_out their numbers. */
cudaError_t ndt_cuda_build_pack (const NdtVoxel *voxels, const uint64_t *orders,
    const uint32_t *indices, uint32_t n, NdtVoxel *out, uint64_t *orders_out,
    NdtCudaBuildState *state, cudaStream_t stream);
/* Fills a table of 2^(64 - shift) blocks; heads[j] is the index of the j-th block's first voxel. */
cudaError_t ndt_cuda_build_blocks (const uint64_t *orders, uint32_t n, const uint32_t *heads,
    uint32_t n_blocks, NdtBlock *blocks, int32_t shift, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
