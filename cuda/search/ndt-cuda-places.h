/* SPDX-License-Identifier: MIT */
/* The search of a whole map on the device: the backend's side. Private to cuda/. */
#pragma once

#include "cuda/device/ndt-cuda-memory.h"
#include "ndt-cuda-search.h"

G_BEGIN_DECLS

/**
 * NdtCudaPlaces:
 * @has_blocks: @n_blocks is known
 * @n_blocks: of a search, at most; 0: the device has none
 * @overview: that @map is a copy of, with a reference; NULL: none
 * @offsets: in @map of two levels, quads and windows
 * @host: marks, directions and the result, page-locked
 *
 * All zero at first.
 */
typedef struct {
  gboolean has_blocks;
  int n_blocks;
  NdtOverview *overview;
  gsize offsets[4];
  NdtCudaBuffer map;
  NdtCudaBuffer counts;
  NdtCudaBuffer work;
  NdtCudaBuffer host;
} NdtCudaPlaces;

/**
 * NdtCudaPlacesDevice:
 * @device: the device
 * @stream: that is waited for
 * @most_blocks: multiprocessors that a search occupies at most
 * @cancelled: device memory: see NdtCudaSearchJob
 *
 * What a search runs on.
 */
typedef struct {
  int device;
  cudaStream_t stream;
  int most_blocks;
  const guint32 *cancelled;
} NdtCudaPlacesDevice;

/* As search_overview of NdtBackendClass. Within a budget no memory is kept. */
gboolean ndt_cuda_places_find (NdtCudaPlaces *places, NdtCudaMemory *memory,
    const NdtCudaPlacesDevice *on, NdtOverview *overview, const NdtOverviewTask *task,
    NdtOverviewFound *found, gboolean *done, GError **error);
void ndt_cuda_places_clear (NdtCudaPlaces *places, NdtCudaMemory *memory);

G_END_DECLS
