/* SPDX-License-Identifier: MIT */
/* The search of a whole map on the device: the backend's side. Private to cuda/. */
#pragma once

#include "cuda/device/ndt-cuda-memory.h"
#include "ndt-cuda-search.h"

G_BEGIN_DECLS

/**
 * NdtCudaPlaces:
 * @has_blocks: @n_blocks is known
 * @n_blocks: of a search; 0: the device has none
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

/* As search_overview of NdtBackendClass; waits for the stream. */
gboolean ndt_cuda_places_find (NdtCudaPlaces *places, NdtCudaMemory *memory, int device,
    cudaStream_t stream, NdtOverview *overview, const NdtOverviewTask *task,
    NdtOverviewFound *found, gboolean *done, GError **error);
void ndt_cuda_places_clear (NdtCudaPlaces *places, NdtCudaMemory *memory);

G_END_DECLS
