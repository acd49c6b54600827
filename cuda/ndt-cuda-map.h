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

/* What making a map from points takes: kept for the next one. */
typedef struct {
  cudaStream_t copy_stream;
  cudaEvent_t copied[2];
  cudaEvent_t used[2];
  NdtCudaBuffer staging; /* on the host */
  NdtCudaBuffer points[2];
  NdtCudaBuffer table;
  NdtCudaBuffer state;
  NdtCudaBuffer work;
  NdtCudaBuffer kept[NDT_CUDA_LEVELS];
} NdtCudaBuilder;

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
  guint n_taken;
  NdtCudaBuilder builder;
} NdtCudaMaps;

void ndt_cuda_maps_init (NdtCudaMaps *maps);
void ndt_cuda_maps_clear (NdtCudaMaps *maps, NdtCudaMemory *memory);
/* Any thread. */
gboolean ndt_cuda_maps_set (
    NdtCudaMaps *maps, NdtCudaMemory *memory, NdtVoxelMap *map, GError **error);
/* From points, all on the device; @out_map, nullable, receives a copy. FALSE with *@crowded TRUE
 * and no error: a cell has more points than the device's sums hold. Any thread. */
gboolean ndt_cuda_maps_build (NdtCudaMaps *maps, NdtCudaMemory *memory,
    const NdtVoxelMapParams *params, const NdtCloudView *points, NdtVoxelMap **out_map,
    gboolean *crowded, GError **error);
/* The aligning thread, with nothing running: the pending map becomes the active one. FALSE where
 * there is no map. */
gboolean ndt_cuda_maps_take (NdtCudaMaps *maps);
void ndt_cuda_maps_get (const NdtCudaMaps *maps, NdtCudaJob *job);
/* Another one for every map that was taken. */
guint ndt_cuda_maps_get_number (const NdtCudaMaps *maps);
double ndt_cuda_maps_get_resolution (const NdtCudaMaps *maps);

/* Private to the files that make maps. */
gboolean ndt_cuda_build (NdtCudaBuilder *builder, NdtCudaMap *to, NdtCudaMemory *memory,
    const NdtVoxelMapParams *params, const NdtCloudView *points, NdtVoxelMap **out_map,
    gboolean *crowded, cudaStream_t stream, GError **error);
void ndt_cuda_builder_clear (NdtCudaBuilder *builder, NdtCudaMemory *memory);
/* Memory for the levels of a map, whose n_voxels, block_shift and cells are set; their pointers
 * are set then. */
gboolean ndt_cuda_map_reserve (NdtCudaMap *map, NdtCudaMemory *memory, guint n_levels,
    const gint32 cell_min[][3], const gint32 cell_max[][3], GError **error);

G_END_DECLS
