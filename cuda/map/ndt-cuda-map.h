/* SPDX-License-Identifier: MIT */
/* A map in device memory. Private to cuda/. */
#pragma once

#include "cuda/device/ndt-cuda-memory.h"
#include "ndt-cuda-level.h"

G_BEGIN_DECLS

typedef struct {
  NdtCudaBuffer memory;
  NdtCudaBuffer pages[NDT_CUDA_LEVELS]; /* of levels with a directory */
  NdtCudaLevel levels[NDT_CUDA_LEVELS];
  gint32 n_levels; /* 0: none */
} NdtCudaMap;

/* Memory for the levels of a map, whose n_voxels, block_shift and cells are set by the caller; sets
 * their pointers. */
gboolean ndt_cuda_map_reserve (NdtCudaMap *map, NdtCudaMemory *memory, guint n_levels,
    const gint32 cell_min[][3], const gint32 cell_max[][3], GError **error);
/* Fills the pages of levels that have a directory, whose blocks are there; waits for the stream.
 * Where memory is refused they have none. */
gboolean ndt_cuda_map_fill_pages (
    NdtCudaMap *map, NdtCudaMemory *memory, cudaStream_t stream, GError **error);
void ndt_cuda_map_clear (NdtCudaMap *map, NdtCudaMemory *memory);
/* Copies the arrays of @map; waits for the stream. */
gboolean ndt_cuda_map_upload (
    NdtCudaMap *to, NdtCudaMemory *memory, NdtVoxelMap *map, cudaStream_t stream, GError **error);

G_END_DECLS
