/* SPDX-License-Identifier: MIT */
/* Maps in device memory. Private to cuda/. */
#pragma once

#include "ndt-cuda-kernels.h"
#include "ndt-cuda-memory.h"

G_BEGIN_DECLS

typedef struct {
  NdtCudaBuffer memory;
  NdtCudaLevel levels[NDT_CUDA_LEVELS];
  gint32 n_levels; /* 0: none */
} NdtCudaMap;

/**
 * NdtCudaMaps:
 *
 * The map that alignments use, the one that they use from the next call on, and memory for the
 * one after. A map is set beside a running alignment and without waiting for it.
 */
typedef struct {
  GMutex set_lock; /* held by the one who sets a map: @spare and @stream are its own */
  GMutex lock;     /* @has_pending and who is who */
  cudaStream_t stream;
  NdtCudaMap active;
  NdtCudaMap pending;
  NdtCudaMap spare;
  gboolean has_pending;
} NdtCudaMaps;

void ndt_cuda_maps_init (NdtCudaMaps *maps);
void ndt_cuda_maps_clear (NdtCudaMaps *maps, NdtCudaMemory *memory);
/* Any thread. */
gboolean ndt_cuda_maps_set (
    NdtCudaMaps *maps, NdtCudaMemory *memory, NdtVoxelMap *map, GError **error);
/* The aligning thread, with nothing running: the pending map becomes the active one. FALSE where
 * there is no map. */
gboolean ndt_cuda_maps_take (NdtCudaMaps *maps);
void ndt_cuda_maps_get (const NdtCudaMaps *maps, NdtCudaJob *job);

G_END_DECLS
