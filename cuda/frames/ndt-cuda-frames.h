/* SPDX-License-Identifier: MIT */
/* Frame trees on the device: the backend's side and its kernels. Private to cuda/. */
#pragma once

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "ndtcore/base/ndt-tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As NDT_FRAME_NONE. */
#define NDT_CUDA_FRAME_NONE 0xffffffffu

/* A pose; 16-byte loads. */
typedef struct {
  double position[3];
  double unused;
  double orientation[4];
} NdtCudaPose;

/* Rows of a 3×4 matrix. */
typedef struct {
  float row[3][4];
} NdtCudaMatrix;

/**
 * NdtCudaFrameTree:
 * @local: poses in the parent; likewise all of device memory
 * @world: receives poses in the world
 * @other: as large as @world, scratch; and @jumps, 2 n words, both for more than
 *   NDT_CUDA_FRAMES_BY_LEVEL levels only
 * @level_ends: on the host
 */
typedef struct {
  uint32_t n;
  uint32_t n_levels;
  const NdtCudaPose *local;
  const uint32_t *parents;
  const uint32_t *order;
  const uint32_t *level_ends;
  NdtCudaPose *world;
  NdtCudaPose *other;
  uint32_t *jumps;
} NdtCudaFrameTree;

/* Adds to *n_launches. */
cudaError_t ndt_cuda_frames_propagate (
    const NdtCudaFrameTree *tree, uint32_t *n_launches, cudaStream_t stream);
/* Matrices from each frame to @reference, or to the world. */
cudaError_t ndt_cuda_frames_matrices (const NdtCudaPose *world, uint32_t n, uint32_t reference,
    NdtCudaMatrix *matrices, cudaStream_t stream);
/* Transforms packed points by the matrices of their frames. All three arrays aligned to 16 bytes.
 */
cudaError_t ndt_cuda_frames_transform (const NdtCudaMatrix *matrices, const float *points,
    const uint32_t *frames, size_t n, float *out, cudaStream_t stream);
/* Positions (n × 3) and orientations (n × 4), either NULL, of frames from @first on. */
cudaError_t ndt_cuda_frames_extract (const NdtCudaPose *world, uint32_t first, uint32_t n,
    double *positions, double *orientations, cudaStream_t stream);

#ifdef __cplusplus
}
#else

#include "cuda/device/ndt-cuda-memory.h"
#include "ndtcore/motion/ndt-device-frames.h"

/* On the current device; @memory has to outlive the result. */
NdtDeviceFrames *ndt_cuda_frames_open (NdtCudaMemory *memory, int device, GError **error);

#endif
