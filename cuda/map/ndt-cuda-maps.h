/* SPDX-License-Identifier: MIT */
/* The maps of a backend. Private to cuda/. */
#pragma once

#include "ndt-cuda-builder.h"
#include "ndt-cuda-map.h"

G_BEGIN_DECLS

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
/* The levels of the active map; returns how many there are. */
gint32 ndt_cuda_maps_get (const NdtCudaMaps *maps, NdtCudaLevel levels[NDT_CUDA_LEVELS]);
/* Another one for every map that was taken. */
guint ndt_cuda_maps_get_number (const NdtCudaMaps *maps);
double ndt_cuda_maps_get_resolution (const NdtCudaMaps *maps);

G_END_DECLS
