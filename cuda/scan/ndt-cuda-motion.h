/* SPDX-License-Identifier: MIT */
/* Times and motion compensation of raw scans on the device. Private to cuda/. */
#pragma once

#include "cuda/frames/ndt-cuda-frames.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * NdtCudaRaw:
 * @x: first point's x, readable by the device, aligned to its type; likewise @y and @z
 * @stride: bytes
 * @times: first point's time, aligned to its type
 * @time_stride: bytes
 * @time_type: an NdtTimeType
 */
typedef struct {
  const uint8_t *x;
  const uint8_t *y;
  const uint8_t *z;
  uint64_t stride;
  const uint8_t *times;
  uint64_t time_stride;
  int32_t is_double;
  int32_t time_type;
  uint32_t n;
} NdtCudaRaw;

/**
 * NdtCudaTimes:
 * @first: of all times that are finite; +infinity where there is none
 * @last: likewise; -infinity
 * @point_first: of points that are finite and have a finite time …
 * @point_last: … likewise
 * @sum: of the times of those
 * @n: their number
 *
 * Seconds.
 */
typedef struct {
  double first;
  double last;
  double point_first;
  double point_last;
  double sum;
  uint64_t n;
} NdtCudaTimes;

/* Blocks that sum up a scan's times; a constant, so that the order of additions is fixed. */
#define NDT_CUDA_TIMES_BLOCKS 128
#define NDT_CUDA_TIMES_LAUNCHES 2
#define NDT_CUDA_MOTION_LAUNCHES 2

/* @times: device memory for 1 + NDT_CUDA_TIMES_BLOCKS, of which the first is the result; @host:
 *   receives the result as well, memory that both can access. */
cudaError_t ndt_cuda_times_launch (
    const NdtCudaRaw *raw, NdtCudaTimes *times, NdtCudaTimes *host, cudaStream_t stream);
/* A NdtScanMotion. */
typedef struct {
  double reference;
  double velocity[6];
  double acceleration[6];
} NdtCudaMotion;

/* Packed points as seen at the motion's reference. @matrices: room for NDT_DESKEW_SLOTS + 1. */
cudaError_t ndt_cuda_motion_launch (const NdtCudaRaw *raw, const NdtCudaTimes *times,
    const NdtCudaMotion *motion, NdtCudaMatrix *matrices, float *out, cudaStream_t stream);

#ifdef __cplusplus
}
#else

#include "cuda/device/ndt-cuda-memory.h"
#include "ndtcore/motion/ndt-deskew.h"

/**
 * NdtCudaMoving:
 *
 * @raw: on the device
 * @points, @times_of: what was begun to be uploaded, where @is_begun
 * @copied: recorded in the copy stream after upload and times; @read: in the stream of alignments
 *   before, where the memory may still be read
 *
 * The raw scan of a slot, with its times.
 */
typedef struct {
  NdtCudaRaw raw;
  gboolean is_begun;
  NdtCloudView points;
  NdtTimeView times_of;
  cudaEvent_t copied;
  cudaEvent_t read;
  NdtCudaBuffer data; /* on the device, as the members below */
  NdtCudaBuffer times;
  NdtCudaBuffer matrices;
  NdtCudaBuffer moved;
  NdtCudaBuffer result; /* page-locked NdtCudaTimes */
} NdtCudaMoving;

/* Uploads the scan with its times in @copy_stream, and waits for @span; @stream waits as well. With
 * @span NULL it only begins, where the scan is in page-locked memory; a later call with the same
 * scan continues. */
gboolean ndt_cuda_moving_set (NdtCudaMoving *moving, NdtCudaMemory *memory,
    const NdtCloudView *points, const NdtTimeView *times, NdtCudaStaging *staging,
    cudaStream_t copy_stream, cudaStream_t stream, NdtTimeSpan *span, GError **error);
/* A view of device memory: the compensated points, or the raw ones where @motion is NULL. */
gboolean ndt_cuda_moving_get (NdtCudaMoving *moving, NdtCudaMemory *memory,
    const NdtScanMotion *motion, cudaStream_t stream, NdtCloudView *points, GError **error);
void ndt_cuda_moving_clear (NdtCudaMoving *moving, NdtCudaMemory *memory);

#endif
