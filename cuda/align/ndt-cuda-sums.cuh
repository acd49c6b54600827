/* SPDX-License-Identifier: MIT */
/* Sums in a fixed order. Private to cuda/. */
#pragma once

#include "ndt-cuda-align.h"

#define SEGMENTS 16
#define STRANDS 16 /* of a segment */
#define VALUES NDT_CUDA_VALUES

template <int H>
__device__ __forceinline__ void
warp_transpose_step (float v[VALUES], uint32_t lane)
{
  const bool upper = lane & H;
#pragma unroll
  for (int i = 0; i < H; i++) {
    const float send = upper ? v[i] : v[i + H];
    const float keep = upper ? v[i + H] : v[i];
    v[i] = keep + __shfl_xor_sync (0xffffffffu, send, H);
  }
}

/* Sums each of 32 values over the warp; value i ends in lane i. 31 shuffles. */
__device__ __forceinline__ float
warp_transpose_sum (float v[VALUES], uint32_t lane)
{
  warp_transpose_step<16> (v, lane);
  warp_transpose_step<8> (v, lane);
  warp_transpose_step<4> (v, lane);
  warp_transpose_step<2> (v, lane);
  warp_transpose_step<1> (v, lane);
  return v[0];
}

/* Binary tree over N values, a power of two. */
template <int N>
__device__ __forceinline__ float
tree_sum (float v[N])
{
#pragma unroll
  for (int h = 1; h < N; h *= 2) {
#pragma unroll
    for (int i = 0; i < N; i += 2 * h)
      v[i] += v[i + h];
  }
  return v[0];
}

/* The same over N rows of VALUES floats, value i in lane i. */
template <int N>
__device__ __forceinline__ float
tree_sum_rows (const float *rows, uint32_t lane)
{
  float v[N];
#pragma unroll
  for (int i = 0; i < N; i++)
    v[i] = rows[i * VALUES + lane];
  return tree_sum<N> (v);
}

/* The total of the segments, from the sums of neighbouring pairs. */
__device__ __forceinline__ double
pair_sum (const double *rows, uint32_t lane)
{
  double v[SEGMENTS / 2];
#pragma unroll
  for (int i = 0; i < SEGMENTS / 2; i++)
    v[i] = rows[i * VALUES + lane];
#pragma unroll
  for (int h = 1; h < SEGMENTS / 2; h *= 2) {
#pragma unroll
    for (int i = 0; i < SEGMENTS / 2; i += 2 * h)
      v[i] += v[i + h];
  }
  return v[0];
}

/* The total of the segments. */
__device__ __forceinline__ double
segment_sum (const float *rows, uint32_t lane)
{
  double v[SEGMENTS];
#pragma unroll
  for (int i = 0; i < SEGMENTS; i++)
    v[i] = (double)rows[i * VALUES + lane];
#pragma unroll
  for (int h = 1; h < SEGMENTS; h *= 2) {
#pragma unroll
    for (int i = 0; i < SEGMENTS; i += 2 * h)
      v[i] += v[i + h];
  }
  return v[0];
}
