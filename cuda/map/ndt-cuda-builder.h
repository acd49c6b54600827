/* SPDX-License-Identifier: MIT */
/* Maps from points, made on the device. Private to cuda/. */
#pragma once

#include "ndt-cuda-map.h"

G_BEGIN_DECLS

/* Memory for building maps, which is reused. */
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

/* FALSE with *@crowded TRUE and no error: a cell has more points than the device can sum. */
gboolean ndt_cuda_build (NdtCudaBuilder *builder, NdtCudaMap *to, NdtCudaMemory *memory,
    const NdtVoxelMapParams *params, const NdtCloudView *points, NdtVoxelMap **out_map,
    gboolean *crowded, cudaStream_t stream, GError **error);
void ndt_cuda_builder_clear (NdtCudaBuilder *builder, NdtCudaMemory *memory);

G_END_DECLS
