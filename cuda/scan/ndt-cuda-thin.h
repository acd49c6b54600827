/* SPDX-License-Identifier: MIT */
/* A scan as the kernels read it, and its thinning. Private to cuda/. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * NdtCudaSource:
 * @points: floats x, y, z; device memory or host memory that the device reads
 * @stride: floats from one point to the next
 * @n_points_device: the number of points, device memory; NULL: it is @n_points
 */
typedef struct {
  const float *points;
  const uint32_t *n_points_device;
  uint32_t stride;
  uint32_t n_points;
} NdtCudaSource;

/* A leaf of the grid that thins a scan; all zero where there is none. */
typedef struct {
  uint64_t not_key; /* ~ndt_block_key() */
  int64_t sum[3];
  uint32_t n;
  uint32_t not_first; /* ~index of its first point */
} NdtCudaLeaf;

/**
 * NdtCudaThin:
 * @x: first point's x, readable by the device, aligned to its type; likewise @y and @z
 * @stride: bytes
 * @slot_of: n_raw words of scratch
 * @counts: one word for each 1024 points of scratch
 * @leaves: 2^(64 - leaf_shift) of them, all zero before and after; NULL where leaf_size is 0
 * @points: receives at most n_raw packed points
 * @n_points: receives how many
 * @n_raw_device: device memory with the number of points, at most @n_raw; NULL: @n_raw
 * @sample: the result is a sample by the rules of ndt-scan-sample.h instead of centroids, with
 *   leaves as its cubes: at most NDT_SAMPLE_MOST points
 * @kept: of a sample: scratch, as @counts
 * @staged: records of floats x, y, z that begin with x, of at most NDT_CUDA_THIN_RECORD bytes, a
 *   multiple of 4; @x is aligned to 16 bytes
 * @early: of ndt_cuda_thin_is_early(), for the current device
 *
 * Members of the filter as in NdtScanFilter.
 */
typedef struct {
  const uint8_t *x;
  const uint8_t *y;
  const uint8_t *z;
  uint64_t stride;
  uint32_t n_raw;
  int32_t is_double;
  float min_range;
  float max_range;
  int32_t use_box;
  float box_min[3];
  float box_max[3];
  float leaf_size;
  uint32_t *slot_of;
  uint32_t *counts;
  NdtCudaLeaf *leaves;
  int32_t leaf_shift;
  float *points;
  uint32_t *n_points;
  const uint32_t *n_raw_device;
  int32_t sample;
  uint32_t *kept;
  int32_t staged;
  int32_t early;
} NdtCudaThin;

#define NDT_CUDA_THIN_RECORD 32

#define NDT_CUDA_THIN_BLOCK 1024
#define NDT_CUDA_THIN_LAUNCHES(sample) ((sample) ? 3 : 2)

/* Whether kernels may be launched before the one ahead of them ends: from compute capability 9.0
 * on, and of code that was compiled for it, which then waits. */
cudaError_t ndt_cuda_thin_is_early (int32_t *early);
cudaError_t ndt_cuda_thin_launch (const NdtCudaThin *thin, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
