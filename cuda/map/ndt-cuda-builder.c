/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-builder.h"

#include <math.h>
#include <string.h>

#include "cuda/device/ndt-cuda-testing.h"
#include "ndt-cuda-build.h"
#include "ndtcore/base/ndt-tuning.h"

#define ALIGNMENT 256

/* Allocates arrays one after the other in a buffer; base NULL: only counts their size. */
typedef struct {
  guint8 *base;
  gsize at;
} Layout;

static void *
take (Layout *layout, gsize size)
{
  void *p = layout->base ? layout->base + layout->at : NULL;
  layout->at += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return p;
}

/* Work arrays for at most n cells of a level. */
typedef struct {
  uint64_t *orders[2];
  NdtCellSums *sums[2];
  uint64_t *keys[2];
  guint32 *values[2];
  guint32 *heads;
  guint8 *flags;
  NdtVoxel *voxels;
  void *temp;
  gsize temp_size;
} Work;

/* Result of a level. */
typedef struct {
  NdtVoxel *voxels;
  uint64_t *orders;
  guint32 *heads; /* of blocks */
  guint32 n_blocks;
} Kept;

/* State of one call. */
typedef struct {
  NdtCudaBuilder *builder;
  NdtCudaMemory *memory;
  cudaStream_t stream;
  NdtCudaBuildState *state; /* on the device */
  NdtCudaBuildState seen;   /* a copy */
} Build;

static gboolean
check (Build *b, cudaError_t status, GError **error)
{
  return ndt_cuda_check (b->memory, status, "making a map", error);
}

/* Waits for the stream and copies the state. */
static gboolean
look (Build *b, GError **error)
{
  cudaError_t status =
      cudaMemcpyAsync (&b->seen, b->state, sizeof (b->seen), cudaMemcpyDefault, b->stream);
  if (status == cudaSuccess)
    status = cudaStreamSynchronize (b->stream);
  ndt_cuda_count_synchronization (b->memory);
  return check (b, status, error);
}

static gboolean
open_builder (NdtCudaBuilder *builder, NdtCudaMemory *memory, GError **error)
{
  cudaError_t status = cudaSuccess;
  if (!builder->copy_stream)
    status = cudaStreamCreateWithFlags (&builder->copy_stream, cudaStreamNonBlocking);
  for (guint i = 0; i < 2; i++) {
    if (status == cudaSuccess && !builder->copied[i])
      status = cudaEventCreateWithFlags (&builder->copied[i], cudaEventDisableTiming);
    if (status == cudaSuccess && !builder->used[i])
      status = cudaEventCreateWithFlags (&builder->used[i], cudaEventDisableTiming);
  }
  return ndt_cuda_check (memory, status, "making a map", error) &&
         ndt_cuda_reserve (memory, &builder->state, sizeof (NdtCudaBuildState), error);
}

void
ndt_cuda_builder_clear (NdtCudaBuilder *builder, NdtCudaMemory *memory)
{
  if (builder->copy_stream)
    cudaStreamDestroy (builder->copy_stream);
  for (guint i = 0; i < 2; i++) {
    if (builder->copied[i])
      cudaEventDestroy (builder->copied[i]);
    if (builder->used[i])
      cudaEventDestroy (builder->used[i]);
    ndt_cuda_free (memory, &builder->points[i]);
  }
  ndt_cuda_free (memory, &builder->staging);
  ndt_cuda_free (memory, &builder->table);
  ndt_cuda_free (memory, &builder->state);
  ndt_cuda_free (memory, &builder->work);
  for (guint i = 0; i < NDT_CUDA_LEVELS; i++)
    ndt_cuda_free (memory, &builder->kept[i]);
}

/* ---- Points to cells ---- */

/* Points from @first on: where their records can be uploaded unchanged, or packed into @staging. */
static gboolean
get_chunk (const NdtCloudView *all, gsize first, guint n, gboolean as_it_is, guint8 *staging,
    NdtCloudView *chunk, const guint8 **bytes, gsize *size)
{
  const gsize scalar = all->scalar == NDT_SCALAR_F32 ? 4 : 8, at = first * all->stride;
  *chunk = *all;
  chunk->x += at;
  chunk->y += at;
  chunk->z += at;
  chunk->n_points = n;
  if (as_it_is) {
    const guint8 *lo = MIN (chunk->x, MIN (chunk->y, chunk->z));
    const guint8 *hi = MAX (chunk->x, MAX (chunk->y, chunk->z));
    *bytes = lo;
    *size = (gsize)(n - 1) * all->stride + (gsize)(hi - lo) + scalar;
    return TRUE;
  }
  for (guint i = 0; i < n; i++) {
    memcpy (staging + 3 * scalar * i, chunk->x + i * all->stride, scalar);
    memcpy (staging + 3 * scalar * i + scalar, chunk->y + i * all->stride, scalar);
    memcpy (staging + 3 * scalar * i + 2 * scalar, chunk->z + i * all->stride, scalar);
  }
  *chunk = ndt_cloud_view (staging, n, 3 * scalar, 0, scalar, 2 * scalar, all->scalar);
  *bytes = staging;
  *size = 3 * scalar * n;
  return TRUE;
}

static gboolean
can_go_up_as_it_is (const NdtCloudView *points)
{
  const gsize scalar = points->scalar == NDT_SCALAR_F32 ? 4 : 8;
  const guint8 *lo = MIN (points->x, MIN (points->y, points->z));
  const guint8 *hi = MAX (points->x, MAX (points->y, points->z));
  return (gsize)(hi - lo) + scalar <= points->stride && points->stride <= NDT_CUDA_BUILD_STRIDE &&
         (((guintptr)points->x | (guintptr)points->y | (guintptr)points->z | points->stride) &
             (scalar - 1)) == 0 &&
         ndt_cuda_is_locked (
             lo, (points->n_points - 1) * points->stride + (gsize)(hi - lo) + scalar);
}

/* Points of a part; the two parts in flight take a quarter of the budget. */
static guint
chunk_points (const NdtCudaMemory *memory)
{
  return memory->budget->most == 0 ? NDT_CUDA_BUILD_CHUNK
                                   : (guint)CLAMP (memory->budget->most / 8 / NDT_CUDA_BUILD_STRIDE,
                                         NDT_CUDA_BUILD_LEAST_CHUNK, NDT_CUDA_BUILD_CHUNK);
}

/* Inserts all points into a table of 2^bits cells. */
static gboolean
insert (Build *b, const NdtCloudView *points, double resolution, const gint64 origin[3], guint bits,
    GError **error)
{
  NdtCudaBuilder *builder = b->builder;
  const gboolean as_it_is = can_go_up_as_it_is (points);
  const guint chunk_length = chunk_points (b->memory);
  const gsize chunk_size = (as_it_is ? points->stride : 24) * chunk_length;
  const gsize table_size = sizeof (NdtCudaCell) << bits;
  NdtCudaBuildState start;
  if (!ndt_cuda_reserve (b->memory, &builder->table, table_size, error))
    return FALSE;
  for (guint i = 0; i < 2; i++)
    if (!ndt_cuda_reserve (
            b->memory, &builder->points[i], MIN (chunk_size, points->n_points * 48) + 64, error))
      return FALSE;
  if (!as_it_is && !ndt_cuda_host_reserve (b->memory, &builder->staging, 2 * chunk_size, error))
    return FALSE;
  ndt_cuda_build_init (&start);
  cudaError_t status =
      cudaMemcpyAsync (b->state, &start, sizeof (start), cudaMemcpyDefault, b->stream);
  if (status == cudaSuccess)
    status = cudaMemsetAsync (builder->table.data, 0, table_size, b->stream);

  gsize first = 0;
  for (guint turn = 0; first < points->n_points && status == cudaSuccess; turn++) {
    const guint i = turn % 2, n = (guint)MIN (chunk_length, points->n_points - first);
    NdtCloudView chunk;
    const guint8 *bytes;
    gsize size;
    /* Waits until the part of two turns ago has been copied and inserted. */
    if (turn >= 2) {
      if (!as_it_is)
        status = cudaEventSynchronize (builder->copied[i]);
      if (status == cudaSuccess)
        status = cudaStreamWaitEvent (builder->copy_stream, builder->used[i], 0);
    }
    guint8 *staging = as_it_is ? NULL : (guint8 *)builder->staging.data + i * chunk_size;
    get_chunk (points, first, n, as_it_is, staging, &chunk, &bytes, &size);
    guint8 *to = (guint8 *)builder->points[i].data + ((guintptr)bytes & 15);
    if (status == cudaSuccess)
      status = cudaMemcpyAsync (to, bytes, size, cudaMemcpyDefault, builder->copy_stream);
    if (status == cudaSuccess)
      status = cudaEventRecord (builder->copied[i], builder->copy_stream);
    if (status == cudaSuccess)
      status = cudaStreamWaitEvent (b->stream, builder->copied[i], 0);
    const NdtCudaPoints job = {to + (chunk.x - bytes), to + (chunk.y - bytes),
        to + (chunk.z - bytes), chunk.stride, first, n, chunk.scalar == NDT_SCALAR_F64};
    if (status == cudaSuccess)
      status = ndt_cuda_inject_failure ("launch")
                   ? cudaErrorLaunchFailure
                   : ndt_cuda_build_insert (&job, resolution, origin, builder->table.data,
                         (gint32)(64 - bits), b->state, b->stream);
    if (status == cudaSuccess)
      status = cudaEventRecord (builder->used[i], b->stream);
    ndt_cuda_count_upload (b->memory, size);
    first += n;
  }
  /* On return the caller may free the points. */
  if (status != cudaSuccess)
    (void)cudaStreamSynchronize (builder->copy_stream);
  if (status == cudaSuccess)
    status = ndt_cuda_build_bounds (builder->table.data, (gint32)(64 - bits), b->state, b->stream);
  return check (b, status, error) && look (b, error);
}

/* ---- Cells to voxels ---- */

static void
lay_out (Work *w, Layout *layout, guint n, gsize temp_size)
{
  for (guint i = 0; i < 2; i++) {
    w->orders[i] = take (layout, n * sizeof (uint64_t));
    w->sums[i] = take (layout, n * sizeof (NdtCellSums));
    w->keys[i] = take (layout, n * sizeof (uint64_t));
    w->values[i] = take (layout, n * sizeof (guint32));
  }
  w->heads = take (layout, n * sizeof (guint32));
  w->flags = take (layout, n);
  w->voxels = take (layout, n * sizeof (NdtVoxel));
  w->temp = take (layout, temp_size);
  w->temp_size = temp_size;
}

/* Writes the indices of set flags to @out, and waits for their number. */
static gboolean
select_flagged (
    Build *b, Work *w, const guint32 *values, guint32 *out, guint n, guint32 *n_out, GError **error)
{
  gsize size = w->temp_size;
  if (!check (b,
          ndt_cuda_build_select (w->temp, &size, values, w->flags, out, b->state, n, b->stream),
          error) ||
      !look (b, error))
    return FALSE;
  *n_out = b->seen.n;
  return TRUE;
}

static guint
count_bits (guint64 v)
{
  guint n = 0;
  for (; v; v >>= 1)
    n++;
  return n;
}

/* The voxels of n cells, w->orders[which] and w->sums[which], and their blocks. */
static gboolean
make_level (Build *b, Work *w, guint which, guint n, const NdtVoxelMapParams *params,
    guint level_index, NdtCudaLevel *level, Kept *kept, gint32 cell_min[3], gint32 cell_max[3],
    GError **error)
{
  NdtCudaBuffer *buffer = &b->builder->kept[level_index];
  guint32 n_voxels = 0;
  if (!check (b,
          ndt_cuda_build_voxels (w->orders[which], w->sums[which], n, (int)params->covariance,
              params->min_points, params->eigenvalue_ratio, level->resolution, w->voxels, w->flags,
              w->values[0], b->stream),
          error) ||
      !select_flagged (b, w, w->values[0], w->heads, n, &n_voxels, error))
    return FALSE;
  level->n_voxels = n_voxels;
  kept->n_blocks = 0;
  if (n_voxels == 0) {
    memset (cell_min, 0, 3 * sizeof (gint32));
    memset (cell_max, 0, 3 * sizeof (gint32));
    level->block_shift = 64 - 4;
    return TRUE;
  }
  for (guint pass = 0; pass < 2; pass++) {
    Layout layout = {pass ? buffer->data : NULL, 0};
    kept->voxels = take (&layout, n_voxels * sizeof (NdtVoxel));
    kept->orders = take (&layout, n_voxels * sizeof (uint64_t));
    kept->heads = take (&layout, n_voxels * sizeof (guint32));
    if (pass == 0 && !ndt_cuda_reserve (b->memory, buffer, layout.at, error))
      return FALSE;
  }
  cudaError_t status = ndt_cuda_build_pack (w->voxels, w->orders[which], w->heads, n_voxels,
      kept->voxels, kept->orders, b->state, b->stream);
  if (status == cudaSuccess)
    status = ndt_cuda_build_heads (kept->orders, n_voxels, 6, w->flags, w->values[0], b->stream);
  if (!check (b, status, error) ||
      !select_flagged (b, w, w->values[0], kept->heads, n_voxels, &kept->n_blocks, error))
    return FALSE;
  memcpy (cell_min, b->seen.cell_min, 3 * sizeof (gint32));
  memcpy (cell_max, b->seen.cell_max, 3 * sizeof (gint32));
  level->block_shift = 64 - 4;
  while ((gsize)1 << (64 - level->block_shift) < 2 * (gsize)kept->n_blocks)
    level->block_shift--;
  return TRUE;
}

/* Makes the cells one level up from w->…[which], in the other arrays. */
static gboolean
make_coarser (Build *b, Work *w, guint which, guint n, guint n_bits, double resolution,
    guint32 *n_out, GError **error)
{
  gsize size = w->temp_size;
  cudaError_t status =
      ndt_cuda_build_parents (w->orders[which], n, w->keys[0], w->values[0], b->stream);
  if (status == cudaSuccess)
    status = ndt_cuda_build_sort (w->temp, &size, w->keys[0], w->keys[1], w->values[0],
        w->values[1], n, (int)n_bits, b->stream);
  if (status == cudaSuccess)
    status = ndt_cuda_build_heads (w->keys[1], n, 0, w->flags, w->values[0], b->stream);
  if (!check (b, status, error) || !select_flagged (b, w, w->values[0], w->heads, n, n_out, error))
    return FALSE;
  return check (b,
      ndt_cuda_build_coarsen (w->orders[which], w->sums[which], w->keys[1], w->values[1], n,
          w->heads, *n_out, resolution, w->orders[!which], w->sums[!which], b->stream),
      error);
}

/* ---- All of it ---- */

static gboolean
find_first (const NdtCloudView *points, double resolution, gint64 cell[3])
{
  for (gsize i = 0; i < points->n_points; i++) {
    double p[3];
    ndt_cloud_view_get (points, i, p);
    if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
      continue;
    for (guint k = 0; k < 3; k++)
      cell[k] = fabs (floor (p[k] / resolution)) < 4e18 ? (gint64)floor (p[k] / resolution) : 0;
    return TRUE;
  }
  return FALSE;
}

static gboolean
refuse_empty (const NdtVoxelMapParams *params, guint64 n_points, GError **error)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP,
      "The map has no valid voxel: of its %" G_GUINT64_FORMAT
      " points no %u lie in one cell of %g m; use a denser map or a larger resolution",
      n_points, params->min_points, params->resolution);
  return FALSE;
}

static gboolean
refuse_stray (const NdtCloudView *points, guint64 i, double resolution, GError **error)
{
  double p[3];
  ndt_cloud_view_get (points, i, p);
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
      "Point (%g, %g, %g) lies more than %d cells of %g m from the map's first point: the map is "
      "too large for this resolution, or holds a stray point",
      p[0], p[1], p[2], NDT_KEY_LIMIT, resolution);
  return FALSE;
}

static gboolean
download (Build *b, const NdtCudaMap *map, const NdtVoxelMapParams *params, const Kept *kept,
    gint32 cell_min[][3], gint32 cell_max[][3], NdtVoxelMap **out_map, GError **error)
{
  NdtVoxelLevel levels[NDT_MAX_LEVELS];
  double min[3], max[3];
  cudaError_t status = cudaSuccess;
  memset (levels, 0, sizeof (levels));
  for (gint i = 0; i < map->n_levels; i++) {
    const NdtCudaLevel *from = &map->levels[i];
    NdtVoxelLevel *to = &levels[i];
    const gsize voxel_size = from->n_voxels * sizeof (NdtVoxel);
    const gsize block_size = ((gsize)1 << (64 - from->block_shift)) * sizeof (NdtBlock);
    NdtVoxel *voxels = g_malloc (MAX (voxel_size, 1));
    NdtBlock *blocks = g_malloc (block_size);
    to->resolution = from->resolution;
    memcpy (to->origin, from->origin, sizeof (to->origin));
    to->n_voxels = from->n_voxels;
    to->n_blocks_used = kept[i].n_blocks;
    to->block_shift = from->block_shift;
    to->voxels = voxels;
    to->blocks = blocks;
    memcpy (to->cell_min, cell_min[i], sizeof (to->cell_min));
    memcpy (to->cell_max, cell_max[i], sizeof (to->cell_max));
    if (status == cudaSuccess && voxel_size > 0)
      status = cudaMemcpyAsync (voxels, kept[i].voxels, voxel_size, cudaMemcpyDefault, b->stream);
    if (status == cudaSuccess)
      status = cudaMemcpyAsync (blocks, from->blocks, block_size, cudaMemcpyDefault, b->stream);
    ndt_cuda_count_download (b->memory, voxel_size + block_size);
  }
  if (status == cudaSuccess)
    status = cudaStreamSynchronize (b->stream);
  for (guint k = 0; k < 3; k++) {
    min[k] = ndt_cuda_from_ordered (b->seen.min[k]);
    max[k] = ndt_cuda_from_ordered (b->seen.max[k]);
  }
  *out_map = ndt_voxel_map_new_from_levels (
      params, (guint)map->n_levels, levels, b->seen.n_points, min, max);
  if (check (b, status, error))
    return TRUE;
  g_clear_pointer (out_map, ndt_voxel_map_unref);
  return FALSE;
}

gboolean
ndt_cuda_build (NdtCudaBuilder *builder, NdtCudaMap *to, NdtCudaMemory *memory,
    const NdtVoxelMapParams *params, const NdtCloudView *points, NdtVoxelMap **out_map,
    gboolean *crowded, cudaStream_t stream, GError **error)
{
  Build b = {.builder = builder, .memory = memory, .stream = stream};
  /* The CPU's builder checks the parameters. */
  NdtVoxelMapBuilder *judge = ndt_voxel_map_builder_new (params, error);
  gint64 first[3];
  if (!judge)
    return FALSE;
  ndt_voxel_map_builder_free (judge);
  if (!find_first (points, params->resolution, first))
    return refuse_empty (params, 0, error);
  if (!open_builder (builder, memory, error))
    return FALSE;
  b.state = builder->state.data;

  guint bits = CLAMP (
      count_bits (points->n_points / 8), NDT_CUDA_BUILD_LEAST_BITS, NDT_CUDA_BUILD_MOST_BITS);
  for (;; bits = MIN (bits + 2, NDT_CUDA_BUILD_MOST_BITS)) {
    if (!insert (&b, points, params->resolution, first, bits, error))
      return FALSE;
    if (!b.seen.full)
      break;
    if (bits == NDT_CUDA_BUILD_MOST_BITS) {
      g_set_error_literal (
          error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "The map has too many cells for the device");
      return FALSE;
    }
  }
  if (b.seen.stray != UINT64_MAX)
    return refuse_stray (points, b.seen.stray, params->resolution, error);
  *crowded = b.seen.crowded != 0;
  if (*crowded)
    return FALSE;

  const guint n_cells = b.seen.n_cells;
  gint64 origin[3];
  gint32 relative[3];
  for (guint k = 0; k < 3; k++) {
    const gint64 least = first[k] + b.seen.cell_min[k];
    origin[k] = least - (least & (NDT_ORIGIN_STEP - 1));
    relative[k] = (gint32)(origin[k] - first[k]);
  }
  /* Significant bits of the orders: the index of the block along z is at the top. */
  const guint n_bits = 44 + count_bits ((guint64)(b.seen.cell_max[2] - relative[2]) >> 2);

  Work w;
  gsize sort_size = 0, select_size = 0;
  if (!check (&b,
          ndt_cuda_build_sort (NULL, &sort_size, NULL, NULL, NULL, NULL, n_cells, 63, stream),
          error) ||
      !check (&b,
          ndt_cuda_build_select (NULL, &select_size, NULL, NULL, NULL, b.state, n_cells, stream),
          error))
    return FALSE;
  for (guint pass = 0; pass < 2; pass++) {
    Layout layout = {pass ? builder->work.data : NULL, 0};
    lay_out (&w, &layout, n_cells, MAX (sort_size, select_size));
    if (pass == 0 && !ndt_cuda_reserve (memory, &builder->work, layout.at + layout.at / 8, error))
      return FALSE;
  }

  gsize size = w.temp_size;
  cudaError_t status = ndt_cuda_build_list (
      builder->table.data, (gint32)(64 - bits), relative, w.keys[0], w.values[0], b.state, stream);
  if (status == cudaSuccess)
    status = ndt_cuda_build_sort (w.temp, &size, w.keys[0], w.orders[0], w.values[0], w.values[1],
        n_cells, (int)n_bits, stream);
  if (status == cudaSuccess)
    status = ndt_cuda_build_sums (
        builder->table.data, w.values[1], n_cells, params->resolution, w.sums[0], stream);
  if (!check (&b, status, error))
    return FALSE;

  Kept kept[NDT_CUDA_LEVELS];
  gint32 cell_min[NDT_CUDA_LEVELS][3], cell_max[NDT_CUDA_LEVELS][3];
  guint32 n = n_cells;
  memset (kept, 0, sizeof (kept));
  for (guint l = 0; l < params->n_levels; l++) {
    NdtCudaLevel *level = &to->levels[l];
    const guint which = l % 2;
    if (l > 0 && !make_coarser (&b, &w, !which, n, n_bits, to->levels[l - 1].resolution, &n, error))
      return FALSE;
    level->resolution = params->resolution * (1 << l);
    for (guint k = 0; k < 3; k++)
      level->origin[k] = origin[k] / (1 << l);
    if (!make_level (&b, &w, which, n, params, l, level, &kept[l], cell_min[l], cell_max[l], error))
      return FALSE;
    if (l == 0 && level->n_voxels == 0)
      return refuse_empty (params, b.seen.n_points, error);
  }

  if (!ndt_cuda_map_reserve (to, memory, params->n_levels, cell_min, cell_max, error))
    return FALSE;
  for (guint l = 0; l < params->n_levels && status == cudaSuccess; l++) {
    NdtCudaLevel *level = &to->levels[l];
    status = ndt_cuda_build_blocks (kept[l].orders, level->n_voxels, kept[l].heads,
        kept[l].n_blocks, (NdtBlock *)level->blocks, level->block_shift, stream);
    if (status == cudaSuccess && level->n_voxels > 0)
      status = cudaMemcpyAsync ((void *)level->voxels, kept[l].voxels,
          level->n_voxels * sizeof (NdtVoxel), cudaMemcpyDefault, stream);
    if (status == cudaSuccess)
      status = ndt_cuda_prepare_level (level, stream);
  }
  ndt_cuda_count_synchronization (memory);
  if (!check (&b, status, error) || !ndt_cuda_map_fill_pages (to, memory, stream, error))
    return FALSE;
  return !out_map || download (&b, to, params, kept, cell_min, cell_max, out_map, error);
}
