/* SPDX-License-Identifier: MIT */
/* Motion compensation of a raw scan as in ndt_deskew(): one frame for each instant, and each point
 * transformed by the frame of its time. */
#include <cuda_runtime.h>

#include "ndt-cuda-motion.h"
#include "ndtcore/motion/ndt-deskew-slots.h"

#define BLOCK 256

/* As NdtTimeType. */
enum { TIME_F32, TIME_F64, TIME_U32 };

__device__ __forceinline__ double
load_time (const NdtCudaRaw &raw, uint32_t i)
{
  const uint8_t *p = raw.times + i * raw.time_stride;
  return raw.time_type == TIME_F32   ? (double)*(const float *)p
         : raw.time_type == TIME_F64 ? *(const double *)p
                                     : 1e-9 * *(const uint32_t *)p;
}

__device__ __forceinline__ float
load_axis (const NdtCudaRaw &raw, const uint8_t *axis, uint32_t i)
{
  const uint8_t *p = axis + i * raw.stride;
  return raw.is_double ? (float)*(const double *)p : *(const float *)p;
}

/* ---- Times ---- */

__device__ __forceinline__ void
add_times (NdtCudaTimes &a, const NdtCudaTimes &b)
{
  a.first = fmin (a.first, b.first);
  a.last = fmax (a.last, b.last);
  a.point_first = fmin (a.point_first, b.point_first);
  a.point_last = fmax (a.point_last, b.point_last);
  a.sum += b.sum;
  a.n += b.n;
}

/* Sum over the threads of a block; the result is in its first thread. */
__device__ NdtCudaTimes
reduce (NdtCudaTimes times)
{
  __shared__ NdtCudaTimes all[BLOCK];
  all[threadIdx.x] = times;
  for (uint32_t half = BLOCK / 2; half >= 1; half /= 2) {
    __syncthreads ();
    if (threadIdx.x < half)
      add_times (all[threadIdx.x], all[threadIdx.x + half]);
  }
  return all[0];
}

__device__ __forceinline__ NdtCudaTimes
no_times ()
{
  return {INFINITY, -INFINITY, INFINITY, -INFINITY, 0, 0};
}

__global__ void
__launch_bounds__ (BLOCK) sum_times (const __grid_constant__ NdtCudaRaw raw, NdtCudaTimes *parts)
{
  NdtCudaTimes times = no_times ();
  for (uint64_t i = blockIdx.x * BLOCK + threadIdx.x; i < raw.n; i += gridDim.x * BLOCK) {
    const double t = load_time (raw, (uint32_t)i);
    if (!isfinite (t))
      continue;
    NdtCudaTimes one = {t, t, INFINITY, -INFINITY, 0, 0};
    if (isfinite (load_axis (raw, raw.x, (uint32_t)i)) &&
        isfinite (load_axis (raw, raw.y, (uint32_t)i)) &&
        isfinite (load_axis (raw, raw.z, (uint32_t)i)))
      one = {t, t, t, t, t, 1};
    add_times (times, one);
  }
  times = reduce (times);
  if (threadIdx.x == 0)
    parts[blockIdx.x] = times;
}

__global__ void
__launch_bounds__ (BLOCK)
    sum_parts (const NdtCudaTimes *parts, uint32_t n_parts, NdtCudaTimes *total, NdtCudaTimes *host)
{
  const NdtCudaTimes times = reduce (threadIdx.x < n_parts ? parts[threadIdx.x] : no_times ());
  if (threadIdx.x == 0)
    *total = *host = times;
}

cudaError_t
ndt_cuda_times_launch (
    const NdtCudaRaw *raw, NdtCudaTimes *times, NdtCudaTimes *host, cudaStream_t stream)
{
  const uint32_t wanted = (raw->n + BLOCK - 1) / BLOCK;
  const uint32_t n_blocks = wanted < NDT_CUDA_TIMES_BLOCKS ? wanted : NDT_CUDA_TIMES_BLOCKS;
  sum_times<<<n_blocks, BLOCK, 0, stream>>> (*raw, times + 1);
  sum_parts<<<1, BLOCK, 0, stream>>> (times + 1, n_blocks, times, host);
  return cudaGetLastError ();
}

/* ---- Points ---- */

__global__ void
make_slots (const NdtCudaTimes *times, const __grid_constant__ NdtCudaMotion motion,
    NdtCudaMatrix *matrices)
{
  const uint32_t s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s > NDT_DESKEW_SLOTS)
    return;
  NdtPose pose = {{0, 0, 0}, {0, 0, 0, 1}};
  const double first = times->first, last = times->last;
  const double width = ndt_deskew_width (first, last), time = first + s * width;
  if (s < NDT_DESKEW_SLOTS && time <= last + 0.5 * width) {
    const NdtPose step =
        ndt_deskew_step (motion.velocity, motion.acceleration, time - motion.reference);
    const double *p = step.position, *q = step.orientation;
    if (isfinite (p[0] + p[1] + p[2]) && isfinite (q[0] + q[1] + q[2] + q[3])) {
      pose = step;
      /* Normalized as ndt_pose_between() and the frame tree of the CPU do. */
      ndt_quat_normalize (pose.orientation);
      ndt_quat_normalize (pose.orientation);
    }
  }
  const double x = pose.orientation[0], y = pose.orientation[1], z = pose.orientation[2],
               c = pose.orientation[3];
  float4 *row = (float4 *)(matrices + s);
  row[0] = make_float4 ((float)(1 - 2 * (y * y + z * z)), (float)(2 * (x * y - c * z)),
      (float)(2 * (x * z + c * y)), (float)pose.position[0]);
  row[1] = make_float4 ((float)(2 * (x * y + c * z)), (float)(1 - 2 * (x * x + z * z)),
      (float)(2 * (y * z - c * x)), (float)pose.position[1]);
  row[2] = make_float4 ((float)(2 * (x * z - c * y)), (float)(2 * (y * z + c * x)),
      (float)(1 - 2 * (x * x + y * y)), (float)pose.position[2]);
}

__global__ void
move_points (const __grid_constant__ NdtCudaRaw raw, const NdtCudaTimes *times,
    const NdtCudaMatrix *matrices, float *out)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= raw.n)
    return;
  const float x = load_axis (raw, raw.x, i), y = load_axis (raw, raw.y, i),
              z = load_axis (raw, raw.z, i);
  const double first = times->first, width = ndt_deskew_width (first, times->last);
  const uint32_t slot = ndt_deskew_slot (load_time (raw, i), first, width);
  const float4 *row = (const float4 *)(matrices + slot);
  for (int k = 0; k < 3; k++) {
    const float4 r = __ldg (row + k);
    out[3 * (size_t)i + k] = fmaf (r.x, x, fmaf (r.y, y, fmaf (r.z, z, r.w)));
  }
}

cudaError_t
ndt_cuda_motion_launch (const NdtCudaRaw *raw, const NdtCudaTimes *times,
    const NdtCudaMotion *motion, NdtCudaMatrix *matrices, float *out, cudaStream_t stream)
{
  make_slots<<<NDT_DESKEW_SLOTS / 64 + 1, 64, 0, stream>>> (times, *motion, matrices);
  move_points<<<(raw->n + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>> (*raw, times, matrices, out);
  return cudaGetLastError ();
}
