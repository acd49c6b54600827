/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-map.h"

#include <string.h>

#define ALIGNMENT 256
/* Cells of a level up to which it has a grid of them: 128 MiB. */
#define MAX_GRID (1 << 25)
#define FRAME 4

static gsize
align_up (gsize size)
{
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

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
  ndt_cuda_device_free (memory, &maps->active.memory);
  ndt_cuda_device_free (memory, &maps->pending.memory);
  ndt_cuda_device_free (memory, &maps->spare.memory);
  g_mutex_clear (&maps->set_lock);
  g_mutex_clear (&maps->lock);
}

/* Cells of the grid, with its frame; 0 where it would be too large. */
static gsize
set_grid (NdtCudaLevel *to, const NdtVoxelLevel *level)
{
  double n = 1;
  for (guint k = 0; k < 3; k++) {
    to->grid_first[k] = level->cell_min[k] - FRAME;
    to->grid_size[k] = level->cell_max[k] - level->cell_min[k] + 1 + 2 * FRAME;
    n *= to->grid_size[k];
  }
  return n <= MAX_GRID ? (gsize)n : 0;
}

/* Copies the host's arrays; levels of @to point to the copies. */
static gboolean
upload (
    NdtCudaMap *to, NdtCudaMemory *memory, NdtVoxelMap *map, cudaStream_t stream, GError **error)
{
  const guint n_levels = ndt_voxel_map_get_n_levels (map);
  gsize size = 0, at = 0;
  for (guint i = 0; i < n_levels; i++) {
    const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, i);
    size += align_up (level->n_voxels * sizeof (NdtVoxel)) +
            align_up (((gsize)1 << (64 - level->block_shift)) * sizeof (NdtBlock)) +
            align_up (set_grid (&to->levels[i], level) * sizeof (guint32));
  }
  /* Maps of a moving region differ a little in size. */
  if (size > to->memory.size &&
      !ndt_cuda_device_reserve (memory, &to->memory, size + size / 8, error))
    return FALSE;
  guint8 *base = to->memory.data;
  for (guint i = 0; i < n_levels; i++) {
    const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, i);
    const gsize voxel_size = level->n_voxels * sizeof (NdtVoxel);
    const gsize block_size = ((gsize)1 << (64 - level->block_shift)) * sizeof (NdtBlock);
    cudaError_t status =
        cudaMemcpyAsync (base + at, level->voxels, voxel_size, cudaMemcpyHostToDevice, stream);
    to->levels[i].voxels = (const NdtCudaVoxel *)(base + at);
    at += align_up (voxel_size);
    if (status == cudaSuccess)
      status =
          cudaMemcpyAsync (base + at, level->blocks, block_size, cudaMemcpyHostToDevice, stream);
    to->levels[i].blocks = (const NdtBlock *)(base + at);
    at += align_up (block_size);
    const gsize n_grid = set_grid (&to->levels[i], level);
    to->levels[i].grid = n_grid ? (const guint32 *)(base + at) : NULL;
    at += align_up (n_grid * sizeof (guint32));
    to->levels[i].resolution = level->resolution;
    memcpy (to->levels[i].origin, level->origin, sizeof (level->origin));
    to->levels[i].block_shift = level->block_shift;
    to->levels[i].n_voxels = level->n_voxels;
    if (status == cudaSuccess)
      status = ndt_cuda_prepare_level (&to->levels[i], stream);
    if (!ndt_cuda_check (memory, status, "upload of the map", error))
      return FALSE;
    ndt_cuda_count_upload (memory, voxel_size + block_size);
  }
  to->n_levels = (gint32)n_levels;
  return ndt_cuda_check (memory, cudaStreamSynchronize (stream), "upload of the map", error);
}

gboolean
ndt_cuda_maps_set (NdtCudaMaps *maps, NdtCudaMemory *memory, NdtVoxelMap *map, GError **error)
{
  gboolean ok = TRUE;
  g_mutex_lock (&maps->set_lock);
  if (!maps->stream)
    ok = ndt_cuda_check (memory, cudaStreamCreateWithFlags (&maps->stream, cudaStreamNonBlocking),
        "a stream for maps", error);
  /* What the last change of maps left over. */
  g_mutex_lock (&maps->lock);
  if (!maps->has_pending && !maps->spare.memory.data) {
    maps->spare = maps->pending;
    memset (&maps->pending, 0, sizeof (maps->pending));
  }
  g_mutex_unlock (&maps->lock);
  ok = ok && upload (&maps->spare, memory, map, maps->stream, error);
  if (ok) {
    g_mutex_lock (&maps->lock);
    const NdtCudaMap before = maps->pending;
    maps->pending = maps->spare;
    maps->spare = before;
    maps->has_pending = TRUE;
    g_mutex_unlock (&maps->lock);
  }
  g_mutex_unlock (&maps->set_lock);
  return ok;
}

gboolean
ndt_cuda_maps_take (NdtCudaMaps *maps)
{
  g_mutex_lock (&maps->lock);
  if (maps->has_pending) {
    const NdtCudaMap before = maps->active;
    maps->active = maps->pending;
    maps->pending = before;
    maps->has_pending = FALSE;
  }
  g_mutex_unlock (&maps->lock);
  return maps->active.n_levels > 0;
}

void
ndt_cuda_maps_get (const NdtCudaMaps *maps, NdtCudaJob *job)
{
  memcpy (job->levels, maps->active.levels, sizeof (job->levels));
  job->n_levels = maps->active.n_levels;
}
