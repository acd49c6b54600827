/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-places.h"

#include <string.h>

#include "cuda/device/ndt-cuda-testing.h"
#include "ndtcore/registration/ndt-overview-views.h"

#define ALIGNMENT 256

static gsize
align (gsize size)
{
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* TRUE where @ok or memory was refused: then *refused. */
static gboolean
allow_refusal (gboolean ok, gboolean *refused, GError **local_error, GError **error)
{
  if (ok)
    return TRUE;
  *refused = g_error_matches (*local_error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
  if (!*refused) {
    g_propagate_error (error, g_steal_pointer (local_error));
    return FALSE;
  }
  g_clear_error (local_error);
  return TRUE;
}

/* ---- The map ---- */

static gboolean
upload (NdtCudaPlaces *places, NdtCudaMemory *memory, cudaStream_t stream, NdtOverview *overview,
    GError **error)
{
  if (overview == places->overview)
    return TRUE;
  const gsize cells = (gsize)overview->stride * (gsize)(overview->height + 2 * NDT_OVERVIEW_PAD);
  const struct {
    const void *data;
    gsize size;
  } parts[4] = {{overview->levels[0], cells}, {overview->levels[1], cells},
      {overview->quads, 4 * cells},
      {overview->windows,
          NDT_OVERVIEW_WINDOW * NDT_OVERVIEW_WINDOW * (gsize)overview->window_plane}};
  gsize size = 0;
  for (guint i = 0; i < 4; i++) {
    places->offsets[i] = size;
    size += align (parts[i].size);
  }
  g_clear_pointer (&places->overview, ndt_overview_unref);
  /* The kernel reads windows by aligned words, and the one after the last. */
  if (!ndt_cuda_device_reserve (memory, &places->map, size + ALIGNMENT, error))
    return FALSE;
  for (guint i = 0; i < 4; i++) {
    guint8 *to = (guint8 *)places->map.data + places->offsets[i];
    if (!ndt_cuda_check (memory,
            cudaMemcpyAsync (to, parts[i].data, parts[i].size, cudaMemcpyHostToDevice, stream),
            "upload of an overview", error))
      return FALSE;
    ndt_cuda_count_upload (memory, parts[i].size);
  }
  if (!ndt_cuda_check (memory,
          cudaMemsetAsync ((guint8 *)places->map.data + places->offsets[3] + parts[3].size, 0,
              ALIGNMENT, stream),
          "clearing memory", error))
    return FALSE;
  places->overview = ndt_overview_ref (overview);
  return TRUE;
}

/* ---- A search ---- */

static void
set_overview (NdtCudaSearchJob *job, const NdtCudaPlaces *places)
{
  const NdtOverview *overview = places->overview;
  const guint8 *map = places->map.data;
  job->levels[0] = map + places->offsets[0];
  job->levels[1] = map + places->offsets[1];
  job->quads = (const uint32_t *)(gconstpointer)(map + places->offsets[2]);
  job->windows = (const uint32_t *)(gconstpointer)(map + places->offsets[3]);
  job->cell = overview->cell;
  job->width = overview->width;
  job->height = overview->height;
  job->stride = overview->stride;
  job->window_stride = overview->window_stride;
  job->window_plane = overview->window_plane;
  job->columns = overview->n_windows[0];
  job->words = ((guint32)overview->n_windows[0] + 3) / 4;
  job->rows = (guint32)overview->n_windows[1];
}

/* Device memory of a search; all of it is written before it is read, but for the state. */
static gboolean
reserve (NdtCudaPlaces *places, NdtCudaMemory *memory, NdtCudaSearchJob *job, GError **error)
{
  const gsize n = (gsize)job->n_turns * job->words * job->rows * 4;
  job->most_queued = (guint32)MIN (4 * n, NDT_CUDA_SEARCH_NODES);
  job->most_listed = (guint32)MIN (n, NDT_CUDA_SEARCH_NODES / 4);
  const gsize state = align (sizeof (NdtCudaSearchState)),
              views = align ((gsize)job->n_turns * NDT_CUDA_MARKS * sizeof (NdtCudaView)),
              lists = align (3 * (gsize)job->most_listed * sizeof (guint32)),
              queue = align ((gsize)job->most_queued * sizeof (NdtCudaNode)),
              found = align ((gsize)job->most_listed * sizeof (NdtCudaNode));
  job->n_bytes = (n + 15) / 16 * 16;
  if (!ndt_cuda_device_reserve (memory, &places->counts, job->n_bytes, error) ||
      !ndt_cuda_device_reserve (
          memory, &places->work, state + views + lists + queue + found, error))
    return FALSE;
  guint8 *work = places->work.data;
  job->counts = places->counts.data;
  job->state = (gpointer)work;
  job->views = (gpointer)(work + state);
  job->lists = (gpointer)(work + state + views);
  job->queue = (gpointer)(work + state + views + lists);
  job->places = (gpointer)(work + state + views + lists + queue);
  return TRUE;
}

/* Writes the scan where the device reads it. */
static gboolean
set_scan (NdtCudaPlaces *places, NdtCudaMemory *memory, NdtCudaSearchJob *job,
    const NdtOverviewTask *task, GError **error)
{
  const gsize result = align (sizeof (NdtCudaSearchState)),
              marks = align (NDT_CUDA_MARKS * sizeof (NdtCudaMark)),
              directions = task->n_turns * sizeof (NdtCudaDirection);
  if (!ndt_cuda_host_reserve (memory, &places->host, result + marks + directions, error))
    return FALSE;
  guint8 *host = places->host.data;
  NdtCudaMark *mark = (gpointer)(host + result);
  NdtCudaDirection *direction = (gpointer)(host + result + marks);
  for (guint i = 0; i < task->n_marks; i++)
    mark[i] = (NdtCudaMark){task->marks[i].x, task->marks[i].y, task->marks[i].mask};
  for (guint t = 0; t < task->n_turns; t++)
    direction[t].by = ndt_overview_direction (t, task->n_turns, &direction[t].c, &direction[t].s);
  job->result = (gpointer)host;
  job->marks = mark;
  job->directions = direction;
  ndt_cuda_count_upload (memory, task->n_marks * sizeof (*mark) + directions);
  return TRUE;
}

static gboolean
launch (const NdtCudaPlaces *places, NdtCudaMemory *memory, const NdtCudaSearchJob *job,
    const NdtCudaPlacesDevice *on, GError **error)
{
  const cudaStream_t stream = on->stream;
  const int n_blocks = CLAMP (on->most_blocks, 1, places->n_blocks);
  guint32 n_launches = 0;
  ndt_cuda_tell (NDT_CUDA_MOMENT_BEFORE, (guint)n_blocks);
  cudaError_t status = cudaMemsetAsync (job->state, 0, sizeof (*job->state), stream);
  /* Counts end with a part of 16 bytes. */
  if (status == cudaSuccess)
    status = cudaMemsetAsync (job->counts + job->n_bytes - 16, 0, 16, stream);
  if (status == cudaSuccess)
    status = ndt_cuda_inject_failure ("launch")
                 ? cudaErrorLaunchFailure
                 : ndt_cuda_search_launch (job, n_blocks, &n_launches, stream);
  if (!ndt_cuda_check_launch (memory, status, "launch of a search", error))
    return FALSE;
  ndt_cuda_count_launch (memory, n_launches);
  ndt_cuda_tell (NDT_CUDA_MOMENT_LAUNCHED, (guint)n_blocks);
  ndt_cuda_count_synchronization (memory);
  if (!ndt_cuda_check (memory, cudaStreamSynchronize (stream), "search of a map", error))
    return FALSE;
  ndt_cuda_tell (NDT_CUDA_MOMENT_DONE, (guint)n_blocks);
  ndt_cuda_count_download (memory, sizeof (*job->result));
  if (job->result->stops[0] || job->result->stops[1]) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "Cancelled");
    return FALSE;
  }
  return TRUE;
}

/* The places that were found before too many nodes were split. */
static void
read_result (const NdtCudaSearchJob *job, const NdtOverview *overview, NdtOverviewFound *found)
{
  const NdtCudaSearchState *result = job->result;
  guint64 n_split = 0;
  guint count = job->n_marks;
  found->n = 0;
  for (; count > 0; count--) {
    n_split += result->n_split[count];
    if (n_split > NDT_OVERVIEW_MOST_SPLIT)
      break;
    for (; found->n < result->n_found && result->counts[found->n] == count; found->n++) {
      found->places[found->n] = result->found[found->n];
      found->counts[found->n] = count;
    }
  }
  found->n_nodes = job->n_turns * (guint)(overview->n_windows[0] * overview->n_windows[1]) +
                   4 * (guint)MIN (n_split, NDT_OVERVIEW_MOST_SPLIT);
}

static gboolean
find (NdtCudaPlaces *places, NdtCudaMemory *memory, const NdtCudaPlacesDevice *on,
    NdtOverview *overview, const NdtOverviewTask *task, NdtOverviewFound *found, gboolean *done,
    GError **error)
{
  GError *local_error = NULL;
  gboolean refused = FALSE;
  NdtCudaSearchJob job = {0};
  *done = FALSE;
  if (!places->has_blocks &&
      !ndt_cuda_check (memory, ndt_cuda_search_blocks (on->device, &places->n_blocks),
          "properties of the device", error))
    return FALSE;
  places->has_blocks = TRUE;
  if (places->n_blocks == 0)
    return TRUE;
  if (!allow_refusal (upload (places, memory, on->stream, overview, &local_error), &refused,
          &local_error, error))
    return FALSE;
  if (refused)
    return TRUE;
  set_overview (&job, places);
  job.n_marks = task->n_marks;
  job.n_turns = task->n_turns;
  job.cut = task->cut;
  job.most = task->most;
  job.range = task->range;
  job.cancelled = on->cancelled;
  if (!allow_refusal (reserve (places, memory, &job, &local_error) &&
                          set_scan (places, memory, &job, task, &local_error),
          &refused, &local_error, error))
    return FALSE;
  if (refused)
    return TRUE;
  if (!launch (places, memory, &job, on, error))
    return FALSE;
  *done = !job.result->is_full;
  if (*done)
    read_result (&job, overview, found);
  return TRUE;
}

gboolean
ndt_cuda_places_find (NdtCudaPlaces *places, NdtCudaMemory *memory, const NdtCudaPlacesDevice *on,
    NdtOverview *overview, const NdtOverviewTask *task, NdtOverviewFound *found, gboolean *done,
    GError **error)
{
  const gboolean ok = find (places, memory, on, overview, task, found, done, error);
  /* Scans and maps, which come later, would have to go to the host's memory. */
  if (memory->budget->most > 0)
    ndt_cuda_places_clear (places, memory);
  return ok;
}

void
ndt_cuda_places_clear (NdtCudaPlaces *places, NdtCudaMemory *memory)
{
  g_clear_pointer (&places->overview, ndt_overview_unref);
  ndt_cuda_free (memory, &places->map);
  ndt_cuda_free (memory, &places->counts);
  ndt_cuda_free (memory, &places->work);
  ndt_cuda_free (memory, &places->host);
}
