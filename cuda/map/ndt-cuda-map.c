/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-map.h"
#include "ndtcore/base/ndt-tuning.h"

#include <string.h>

#define ALIGNMENT 256
#define FRAME 4

static gsize
align_up (gsize size)
{
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Cells of the grid, with its frame; 0 where it would be too large. */
static gsize
set_grid (NdtCudaLevel *level, const gint32 cell_min[3], const gint32 cell_max[3])
{
  const gboolean is_empty = level->n_voxels == 0; /* which has no bounds */
  double n = 1;
  for (guint k = 0; k < 3; k++) {
    level->grid_first[k] = (is_empty ? 0 : cell_min[k]) - FRAME;
    level->grid_size[k] = (is_empty ? 0 : cell_max[k] - cell_min[k]) + 1 + 2 * FRAME;
    n *= level->grid_size[k];
  }
  return n <= NDT_CUDA_MAX_GRID ? (gsize)n : 0;
}

/* Words of the directory of pages; 0 where it would be too large. */
static gsize
set_directory (NdtCudaLevel *level, const gint32 cell_min[3], const gint32 cell_max[3])
{
  double n = 1;
  for (guint k = 0; k < 3; k++) {
    level->grid_first[k] = cell_min[k] >> NDT_CUDA_PAGE_SHIFT;
    level->grid_size[k] = (cell_max[k] >> NDT_CUDA_PAGE_SHIFT) - level->grid_first[k] + 1;
    n *= level->grid_size[k];
  }
  return n < NDT_CUDA_MAX_GRID ? 1 + (gsize)n : 0;
}

static gboolean
reserve (NdtCudaMap *map, NdtCudaMemory *memory, guint n_levels, const gint32 cell_min[][3],
    const gint32 cell_max[][3], gboolean with_grids, gboolean anywhere, GError **error)
{
  gsize at[NDT_CUDA_LEVELS][4], n_grid[NDT_CUDA_LEVELS], n_pages[NDT_CUDA_LEVELS], size = 0;
  for (guint i = 0; i < n_levels; i++) {
    NdtCudaLevel *level = &map->levels[i];
    n_grid[i] = with_grids ? set_grid (level, cell_min[i], cell_max[i]) : 0;
    n_pages[i] = with_grids && !n_grid[i] ? set_directory (level, cell_min[i], cell_max[i]) : 0;
    at[i][0] = size;
    size += align_up (level->n_voxels * sizeof (NdtVoxel));
    at[i][1] = size;
    size += align_up (((gsize)1 << (64 - level->block_shift)) * sizeof (NdtBlock));
    at[i][2] = size;
    size += align_up (n_grid[i] * sizeof (guint32));
    at[i][3] = size;
    size += align_up (n_pages[i] * sizeof (guint32));
  }
  /* Maps of a moving region differ a little in size. */
  const gsize wanted = size + size / 8;
  if (size > map->memory.size &&
      !(anywhere ? ndt_cuda_reserve (memory, &map->memory, wanted, error)
                 : ndt_cuda_device_reserve (memory, &map->memory, wanted, error)))
    return FALSE;
  const guint8 *base = map->memory.data;
  for (guint i = 0; i < n_levels; i++) {
    NdtCudaLevel *level = &map->levels[i];
    level->voxels = (const NdtCudaVoxel *)(base + at[i][0]);
    level->blocks = (const NdtBlock *)(base + at[i][1]);
    level->grid = n_grid[i] ? (const guint32 *)(base + at[i][2]) : NULL;
    level->directory = n_pages[i] ? (const guint32 *)(base + at[i][3]) : NULL;
    level->pages = NULL;
  }
  map->n_levels = (gint32)n_levels;
  return TRUE;
}

gboolean
ndt_cuda_map_reserve (NdtCudaMap *map, NdtCudaMemory *memory, guint n_levels,
    const gint32 cell_min[][3], const gint32 cell_max[][3], GError **error)
{
  /* Tries memory of the device; without grids, since the slower hash tables suffice; then any
   * memory. */
  for (guint try = 0; try < 2; try++) {
    GError *local_error = NULL;
    if (map->memory.on_host)
      ndt_cuda_free (memory, &map->memory);
    if (reserve (map, memory, n_levels, cell_min, cell_max, try == 0, FALSE, &local_error)) {
      for (guint i = 0; try == 0 && i < n_levels; i++)
        if (map->levels[i].directory)
          ndt_log (memory->log, NDT_LOG_INFO, "cuda",
              "map: level %u spans more than the %d cells that a grid may have: pages of 32 x 32 x "
              "32 cells where there are voxels",
              i, NDT_CUDA_MAX_GRID);
        else if (!map->levels[i].grid)
          ndt_log (memory->log, NDT_LOG_WARNING, "cuda",
              "map: level %u spans more than %d pages of 32 x 32 x 32 cells: a hash table, which "
              "is slower. Stray points far away in all directions make the span that large",
              i, NDT_CUDA_MAX_GRID);
      return TRUE;
    }
    if (!g_error_matches (local_error, NDT_ERROR, NDT_ERROR_NO_MEMORY)) {
      g_propagate_error (error, local_error);
      return FALSE;
    }
    ndt_log (memory->log, NDT_LOG_WARNING, "cuda", "map: %s; %s", local_error->message,
        try == 0 ? "hash tables without grids of cells, which are slower"
                 : "the map is read from the host's memory");
    g_error_free (local_error);
  }
  return reserve (map, memory, n_levels, cell_min, cell_max, FALSE, TRUE, error);
}

gboolean
ndt_cuda_map_fill_pages (
    NdtCudaMap *map, NdtCudaMemory *memory, cudaStream_t stream, GError **error)
{
  for (gint i = 0; i < map->n_levels; i++) {
    NdtCudaLevel *level = &map->levels[i];
    GError *local_error = NULL;
    guint32 n_pages = 0;
    if (!level->directory)
      continue;
    cudaError_t status = ndt_cuda_number_pages (level, stream);
    if (status == cudaSuccess)
      status =
          cudaMemcpyAsync (&n_pages, level->directory, sizeof (n_pages), cudaMemcpyDefault, stream);
    if (status == cudaSuccess)
      status = cudaStreamSynchronize (stream);
    ndt_cuda_count_synchronization (memory);
    if (!ndt_cuda_check (memory, status, "pages of the map", error))
      return FALSE;
    const gsize size = (1 + (gsize)n_pages) * NDT_CUDA_PAGE_BLOCKS * sizeof (NdtCudaPageBlock);
    if (ndt_cuda_device_reserve (memory, &map->pages[i], size, &local_error)) {
      level->pages = map->pages[i].data;
      status = ndt_cuda_fill_pages (level, n_pages, stream);
      if (!ndt_cuda_check (memory, status, "pages of the map", error))
        return FALSE;
    } else if (g_error_matches (local_error, NDT_ERROR, NDT_ERROR_NO_MEMORY)) {
      ndt_log (memory->log, NDT_LOG_WARNING, "cuda", "map: %s; level %d has a hash table, slower",
          local_error->message, i);
      g_error_free (local_error);
      level->directory = NULL;
    } else {
      g_propagate_error (error, local_error);
      return FALSE;
    }
  }
  return ndt_cuda_check (memory, cudaStreamSynchronize (stream), "pages of the map", error);
}

void
ndt_cuda_map_clear (NdtCudaMap *map, NdtCudaMemory *memory)
{
  ndt_cuda_free (memory, &map->memory);
  for (guint i = 0; i < NDT_CUDA_LEVELS; i++)
    ndt_cuda_free (memory, &map->pages[i]);
}

gboolean
ndt_cuda_map_upload (
    NdtCudaMap *to, NdtCudaMemory *memory, NdtVoxelMap *map, cudaStream_t stream, GError **error)
{
  const guint n_levels = ndt_voxel_map_get_n_levels (map);
  gint32 cell_min[NDT_CUDA_LEVELS][3], cell_max[NDT_CUDA_LEVELS][3];
  for (guint i = 0; i < n_levels; i++) {
    const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, i);
    memcpy (cell_min[i], level->cell_min, sizeof (cell_min[i]));
    memcpy (cell_max[i], level->cell_max, sizeof (cell_max[i]));
    to->levels[i].resolution = level->resolution;
    memcpy (to->levels[i].origin, level->origin, sizeof (level->origin));
    to->levels[i].block_shift = level->block_shift;
    to->levels[i].n_voxels = level->n_voxels;
  }
  if (!ndt_cuda_map_reserve (to, memory, n_levels, cell_min, cell_max, error))
    return FALSE;
  for (guint i = 0; i < n_levels; i++) {
    const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, i);
    const gsize voxel_size = level->n_voxels * sizeof (NdtVoxel);
    const gsize block_size = ((gsize)1 << (64 - level->block_shift)) * sizeof (NdtBlock);
    cudaError_t status = cudaMemcpyAsync (
        (void *)to->levels[i].voxels, level->voxels, voxel_size, cudaMemcpyDefault, stream);
    if (status == cudaSuccess)
      status = cudaMemcpyAsync (
          (void *)to->levels[i].blocks, level->blocks, block_size, cudaMemcpyDefault, stream);
    if (status == cudaSuccess)
      status = ndt_cuda_prepare_level (&to->levels[i], stream);
    if (!ndt_cuda_check (memory, status, "upload of the map", error))
      return FALSE;
    ndt_cuda_count_upload (memory, voxel_size + block_size);
  }
  return ndt_cuda_map_fill_pages (to, memory, stream, error);
}
