/* SPDX-License-Identifier: MIT */
/* The maps of a backend. Private to cuda/. */
#pragma once

#include "ndt-cuda-builder.h"
#include "ndt-cuda-map.h"

G_BEGIN_DECLS

/**
 * NdtCudaMaps:
 *
 * The active map, the pending one, which is active from the next alignment on, and memory for
 * another one. Setting a map does not wait for a running alignment.
 */
typedef struct {
  GMutex set_lock; /* locked while a map is set; protects @spare and @stream */
  GMutex lock;     /* protects @has_pending and the assignment of the three maps */
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
/* Builds a map from points on the device; @out_map, nullable, receives a copy. FALSE with *@crowded
 * TRUE and no error: a cell has more points than the device can sum. Any thread. */
gboolean ndt_cuda_maps_build (NdtCudaMaps *maps, NdtCudaMemory *memory,
    const NdtVoxelMapParams *params, const NdtCloudView *points, NdtVoxelMap **out_map,
    gboolean *crowded, GError **error);
/* Whether a map was set that is not the active one yet. */
gboolean ndt_cuda_maps_is_pending (NdtCudaMaps *maps);
/* Makes the pending map the active one, where @changes. For the aligning thread while nothing reads
 * a map. FALSE where there is no map. */
gboolean ndt_cuda_maps_take (NdtCudaMaps *maps, gboolean changes);
/* The levels of the active map; returns how many there are. */
gint32 ndt_cuda_maps_get (const NdtCudaMaps *maps, NdtCudaLevel levels[NDT_CUDA_LEVELS]);
/* A number that differs for each map that was made active. */
guint ndt_cuda_maps_get_number (const NdtCudaMaps *maps);
double ndt_cuda_maps_get_resolution (const NdtCudaMaps *maps);

G_END_DECLS
