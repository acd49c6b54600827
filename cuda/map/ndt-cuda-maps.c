/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-maps.h"

#include <string.h>

void
ndt_cuda_maps_init (NdtCudaMaps *maps)
{
  memset (maps, 0, sizeof (*maps));
  g_mutex_init (&maps->set_lock);
  g_mutex_init (&maps->lock);
}

void
ndt_cuda_maps_clear (NdtCudaMaps *maps, NdtCudaMemory *memory)
{
  if (maps->stream)
    cudaStreamDestroy (maps->stream);
  ndt_cuda_map_clear (&maps->active, memory);
  ndt_cuda_map_clear (&maps->pending, memory);
  ndt_cuda_map_clear (&maps->spare, memory);
  ndt_cuda_builder_clear (&maps->builder, memory);
  g_mutex_clear (&maps->set_lock);
  g_mutex_clear (&maps->lock);
}

/* Takes the spare map's memory until publish(). Called with set_lock locked. */
static gboolean
prepare (NdtCudaMaps *maps, NdtCudaMemory *memory, GError **error)
{
  if (!maps->stream &&
      !ndt_cuda_check (memory, cudaStreamCreateWithFlags (&maps->stream, cudaStreamNonBlocking),
          "a stream for maps", error))
    return FALSE;
  /* Memory of the map before the last change. */
  g_mutex_lock (&maps->lock);
  if (!maps->has_pending && !maps->spare.memory.data) {
    maps->spare = maps->pending;
    memset (&maps->pending, 0, sizeof (maps->pending));
  }
  g_mutex_unlock (&maps->lock);
  return TRUE;
}

static void
publish (NdtCudaMaps *maps)
{
  g_mutex_lock (&maps->lock);
  const NdtCudaMap before = maps->pending;
  maps->pending = maps->spare;
  maps->spare = before;
  maps->has_pending = TRUE;
  g_mutex_unlock (&maps->lock);
}

gboolean
ndt_cuda_maps_set (NdtCudaMaps *maps, NdtCudaMemory *memory, NdtVoxelMap *map, GError **error)
{
  g_mutex_lock (&maps->set_lock);
  const gboolean ok = prepare (maps, memory, error) &&
                      ndt_cuda_map_upload (&maps->spare, memory, map, maps->stream, error);
  if (ok)
    publish (maps);
  g_mutex_unlock (&maps->set_lock);
  return ok;
}

gboolean
ndt_cuda_maps_build (NdtCudaMaps *maps, NdtCudaMemory *memory, const NdtVoxelMapParams *params,
    const NdtCloudView *points, NdtVoxelMap **out_map, gboolean *crowded, GError **error)
{
  *crowded = FALSE;
  g_mutex_lock (&maps->set_lock);
  const gboolean ok =
      prepare (maps, memory, error) && ndt_cuda_build (&maps->builder, &maps->spare, memory, params,
                                           points, out_map, crowded, maps->stream, error);
  if (ok)
    publish (maps);
  g_mutex_unlock (&maps->set_lock);
  return ok;
}

gboolean
ndt_cuda_maps_is_pending (NdtCudaMaps *maps)
{
  g_mutex_lock (&maps->lock);
  const gboolean is_pending = maps->has_pending;
  g_mutex_unlock (&maps->lock);
  return is_pending;
}

gboolean
ndt_cuda_maps_take (NdtCudaMaps *maps, gboolean changes)
{
  g_mutex_lock (&maps->lock);
  if (changes && maps->has_pending) {
    const NdtCudaMap before = maps->active;
    maps->active = maps->pending;
    maps->pending = before;
    maps->has_pending = FALSE;
    maps->n_taken++;
  }
  g_mutex_unlock (&maps->lock);
  return maps->active.n_levels > 0;
}

gint32
ndt_cuda_maps_get (const NdtCudaMaps *maps, NdtCudaLevel levels[NDT_CUDA_LEVELS])
{
  memcpy (levels, maps->active.levels, sizeof (maps->active.levels));
  return maps->active.n_levels;
}

guint
ndt_cuda_maps_get_number (const NdtCudaMaps *maps)
{
  return maps->n_taken;
}

double
ndt_cuda_maps_get_resolution (const NdtCudaMaps *maps)
{
  return maps->active.levels[0].resolution;
}
