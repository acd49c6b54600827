/* SPDX-License-Identifier: MIT */
/* Gradients of clusters of neighbouring points: the interface between the backend's C code and the
 * kernels. Private to cuda/. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "cuda/map/ndt-cuda-level.h"
#include "cuda/scan/ndt-cuda-thin.h"
#include "ndtcore/base/ndt-tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Points that a block sorts. */
#define NDT_CUDA_ORDER_TILE 1024
/* So many tiles are merged at once, each point looking for its rank in all of them: more, first two
 * by two, until there are few runs, so that the work grows with n log n. */
#define NDT_CUDA_ORDER_TILES 256
#define NDT_CUDA_ORDER_RUNS 16

/* Tiles of @n points at most, and mergings of two by two. */
static inline uint32_t
ndt_cuda_order_tiles (uint32_t n)
{
  return n / NDT_CUDA_ORDER_TILE + 1;
}

static inline uint32_t
ndt_cuda_order_mergings (uint32_t n)
{
  const uint32_t n_tiles = ndt_cuda_order_tiles (n);
  uint32_t k = 0;
  while (n_tiles > NDT_CUDA_ORDER_TILES && n_tiles >> k > NDT_CUDA_ORDER_RUNS)
    k++;
  return k;
}

/**
 * NdtCudaOrderJob:
 * @source: the scan
 * @inverse_cell: 1 / edge of the cells of the Z curve, of the map's size
 * @tiles: ndt_cuda_order_tiles() of NDT_CUDA_ORDER_TILE: scratch; twice as many where there are
 *   mergings
 * @copy: packed points: scratch
 * @points: receives the packed points in order, those that are no points at the end
 * @n_points: device memory, of the kernels: points of the source, which may be another scan's when
 *   the second kernel runs
 * @n_done: device memory, zero before and after
 * @ticket: *ordered receives it, host memory, when the source is not read any more
 *
 * Orders the points of a scan as ndt_scan_set() does, along a Z curve, equal places in the order of
 * the scan. Launched beside the alignment, on which it does not depend.
 */
typedef struct {
  NdtCudaSource source;
  float inverse_cell;
  uint64_t *tiles;
  float *copy;
  float *points;
  uint32_t *n_points;
  uint32_t *n_done;
  volatile uint32_t *ordered;
  uint32_t ticket;
} NdtCudaOrderJob;

/**
 * NdtCudaSpreadResult:
 * @spread: as of NdtAlignResult, as @n_clusters
 *
 * Written by the device into host memory.
 */
typedef struct {
  double spread[21];
  uint32_t n_clusters;
  uint32_t reserved;
} NdtCudaSpreadResult;

/* Doubles of a cluster in NdtCudaSpreadJob.rows: the gradient, pairs. */
#define NDT_CUDA_SPREAD_ROW 8

/**
 * NdtCudaSpreadJob:
 * @level: the finest one of the map
 * @d1: of the score, as @d2
 * @neighbours: NdtNeighbours
 * @pose: where gradients are taken
 * @points: packed, in order
 * @n_points: at least 1
 * @rows: device memory, NDT_CUDA_SPREAD_ROW for each NDT_CHUNK points begun
 * @n_done: device memory, zero before and after
 * @result: host memory
 * @ticket: *finished receives it, host memory, when the result is there
 */
typedef struct {
  NdtCudaLevel level;
  float d1;
  float d2;
  int32_t neighbours;
  NdtPose pose;
  const float *points;
  uint32_t n_points;
  double *rows;
  uint32_t *n_done;
  NdtCudaSpreadResult *result;
  volatile uint32_t *finished;
  uint32_t ticket;
} NdtCudaSpreadJob;

cudaError_t ndt_cuda_order_launch (const NdtCudaOrderJob *job, cudaStream_t stream);
cudaError_t ndt_cuda_spread_launch (const NdtCudaSpreadJob *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
