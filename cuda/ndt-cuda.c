/* SPDX-License-Identifier: MIT */
#include "ndt-cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/align/ndt-cuda-private.h"
#include "cuda/device/ndt-cuda-testing.h"
#include "cuda/frames/ndt-cuda-frames.h"
#include "ndtcore/base/ndt-tuning.h"

/* ---- Maps and scans ---- */

static gboolean
cuda_set_map (NdtBackend *backend, NdtVoxelMap *map, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  return ndt_cuda_enter (cuda, error) && ndt_cuda_maps_set (&cuda->maps, &cuda->memory, map, error);
}

static gboolean
cuda_set_map_from_points (NdtBackend *backend, const NdtVoxelMapParams *params,
    const NdtCloudView *points, NdtVoxelMap **out_map, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  if (!ndt_cuda_enter (cuda, error))
    return FALSE;
  if (!params->keep_details) {
    GError *local_error = NULL;
    gboolean crowded;
    if (ndt_cuda_maps_build (
            &cuda->maps, &cuda->memory, params, points, out_map, &crowded, &local_error))
      return TRUE;
    if (!crowded && !g_error_matches (local_error, NDT_ERROR, NDT_ERROR_NO_MEMORY)) {
      g_propagate_error (error, local_error);
      return FALSE;
    }
    ndt_log (cuda->parent.log, NDT_LOG_WARNING, "cuda", "the map is made on the CPU: %s",
        crowded ? "a cell has more points than the device sums" : local_error->message);
    g_clear_error (&local_error);
  }
  /* The CPU builds maps with details (for inspection, where time does not matter), maps with a cell
   * that the device cannot sum (which are rare), and maps that do not fit into the device's memory.
   */
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (params, points, error);
  if (!map || !ndt_cuda_maps_set (&cuda->maps, &cuda->memory, map, error))
    return FALSE;
  if (out_map)
    *out_map = g_steal_pointer (&map);
  return TRUE;
}

static gboolean
cuda_set_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtScanFilter *filter, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  ndt_cuda_align_stop (backend);
  ndt_cuda_spread_forget (cuda, slot);
  if (!ndt_cuda_enter (cuda, error) ||
      !ndt_cuda_scan_set (&cuda->scans[slot], &cuda->thinner, &cuda->memory, points, filter, error))
    return FALSE;
  g_mutex_lock (&cuda->memory.lock);
  cuda->memory.counters.scans++;
  g_mutex_unlock (&cuda->memory.lock);
  return TRUE;
}

static gboolean
cuda_set_moving_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtTimeView *times, NdtTimeSpan *span, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  ndt_cuda_align_stop (backend);
  return ndt_cuda_enter (cuda, error) &&
         ndt_cuda_moving_set (&cuda->scans[slot].moving, &cuda->memory, points, times,
             &cuda->thinner.staging, cuda->thinner.copy_stream, cuda->stream, span, error);
}

static gboolean
cuda_move_scan (NdtBackend *backend, guint slot, const NdtScanMotion *motion,
    const NdtScanFilter *filter, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  NdtCudaScan *scan = &cuda->scans[slot];
  NdtCloudView points;
  ndt_cuda_align_stop (backend);
  ndt_cuda_spread_forget (cuda, slot);
  if (!ndt_cuda_enter (cuda, error) ||
      !ndt_cuda_moving_get (&scan->moving, &cuda->memory, motion, cuda->stream, &points, error) ||
      !ndt_cuda_scan_thin (
          scan, &cuda->thinner, &cuda->memory, &points, filter, cuda->stream, error))
    return FALSE;
  g_mutex_lock (&cuda->memory.lock);
  cuda->memory.counters.scans++;
  g_mutex_unlock (&cuda->memory.lock);
  return TRUE;
}

static gboolean
cuda_sample_scan (NdtBackend *backend, guint slot, guint into, float leaf, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  ndt_cuda_align_stop (backend);
  ndt_cuda_spread_forget (cuda, into);
  if (!ndt_cuda_enter (cuda, error) ||
      !ndt_cuda_scan_ready (
          &cuda->scans[slot], slot, &cuda->thinner, &cuda->memory, cuda->stream, error) ||
      !ndt_cuda_scan_sample (&cuda->scans[slot], &cuda->scans[into], &cuda->thinner, &cuda->memory,
          leaf, cuda->stream, error))
    return FALSE;
  g_mutex_lock (&cuda->memory.lock);
  cuda->memory.counters.scans++;
  g_mutex_unlock (&cuda->memory.lock);
  return TRUE;
}

static gboolean
cuda_get_scan (
    NdtBackend *backend, guint slot, float *xyz, guint max_points, guint *n_points, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  ndt_cuda_align_stop (backend);
  return ndt_cuda_enter (cuda, error) &&
         ndt_cuda_scan_ready (
             &cuda->scans[slot], slot, &cuda->thinner, &cuda->memory, cuda->stream, error) &&
         ndt_cuda_scan_get (
             &cuda->scans[slot], &cuda->memory, xyz, max_points, n_points, cuda->stream, error);
}

/* ---- The rest ---- */

static gboolean
refuse_cancelled (NdtCudaBackend *cuda, GError **error)
{
  if (!g_atomic_int_get (&cuda->cancelled))
    return TRUE;
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "Cancelled");
  return FALSE;
}

static gboolean
cuda_search_overview (NdtBackend *backend, NdtOverview *overview, const NdtOverviewTask *task,
    NdtOverviewFound *found, gboolean *done, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  const NdtCudaState *state = cuda->state.data;
  NdtCudaPlacesDevice on = {cuda->device, cuda->stream, 0, &state->cancelled};
  ndt_cuda_align_stop (backend);
  if (!ndt_cuda_enter (cuda, error) || !refuse_cancelled (cuda, error))
    return FALSE;
  on.most_blocks = (int)ndt_cuda_share_get (cuda, 1);
  ndt_cuda_share_begin (cuda, (guint)on.most_blocks);
  const gboolean ok =
      ndt_cuda_places_find (&cuda->places, &cuda->memory, &on, overview, task, found, done, error);
  ndt_cuda_share_end (cuda);
  return ok && refuse_cancelled (cuda, error);
}

static NdtDeviceFrames *
cuda_open_frames (NdtBackend *backend, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  return ndt_cuda_enter (cuda, error) ? ndt_cuda_frames_open (&cuda->memory, cuda->device, error)
                                      : NULL;
}

static gpointer
cuda_alloc_host (NdtBackend *backend, gsize size)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  if (!ndt_cuda_enter (cuda, NULL))
    return NULL;
  return ndt_cuda_lock_alloc (size);
}

static void
cuda_get_counters (NdtBackend *backend, NdtBackendCounters *counters)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  ndt_cuda_memory_get_counters (&cuda->memory, counters);
}

static void
cuda_cancel (NdtBackend *backend, gboolean cancelled)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  const NdtCudaState *state = cuda->state.data;
  const gint wanted = cancelled ? 1 : 0;
  g_mutex_lock (&cuda->cancel_lock);
  /* Callers clear the flag after each batch: an unchanged value must not cost a command. */
  if (g_atomic_int_get (&cuda->cancelled) != wanted) {
    g_atomic_int_set (&cuda->cancelled, wanted);
    if (ndt_cuda_enter (cuda, NULL)) {
      /* A running alignment reads the device's copy every few passes. */
      cudaError_t status =
          cudaMemsetAsync ((void *)&state->cancelled, wanted, 4, cuda->cancel_stream);
      if (status == cudaSuccess)
        status = cudaStreamSynchronize (cuda->cancel_stream);
      ndt_cuda_check (&cuda->memory, status, "cancelling", NULL);
    }
  }
  g_mutex_unlock (&cuda->cancel_lock);
}

static void
destroy_streams (NdtCudaBackend *cuda)
{
  if (cuda->stream)
    cudaStreamDestroy (cuda->stream);
  if (cuda->cancel_stream)
    cudaStreamDestroy (cuda->cancel_stream);
  if (cuda->done)
    cudaEventDestroy (cuda->done);
  cuda->stream = cuda->cancel_stream = NULL;
  cuda->done = NULL;
}

static void
cuda_close (NdtBackend *backend)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  cudaSetDevice (cuda->device);
  ndt_cuda_share_leave (cuda);
  ndt_cuda_align_stop (backend);
  if (cuda->stream)
    cudaStreamSynchronize (cuda->stream);
  destroy_streams (cuda);
  ndt_cuda_spread_clear (cuda);
  ndt_cuda_maps_clear (&cuda->maps, &cuda->memory);
  for (guint i = 0; i < NDT_N_SLOTS; i++)
    ndt_cuda_scan_clear (&cuda->scans[i], &cuda->memory);
  ndt_cuda_thinner_clear (&cuda->thinner, &cuda->memory);
  ndt_cuda_places_clear (&cuda->places, &cuda->memory);
  ndt_cuda_free (&cuda->memory, &cuda->state);
  ndt_cuda_free (&cuda->memory, &cuda->signals);
  ndt_cuda_free (&cuda->memory, &cuda->results);
  ndt_cuda_free (&cuda->memory, &cuda->starts);
  ndt_cuda_free (&cuda->memory, &cuda->terms);
  ndt_cuda_free (&cuda->memory, &cuda->scalars);
  ndt_cuda_memory_clear (&cuda->memory);
  g_mutex_clear (&cuda->cancel_lock);
  (void)cudaGetLastError ();
  g_free (cuda);
}

static NdtBackend *cuda_open_background (NdtBackend *backend, GError **error);

static const NdtBackendClass cuda_class = {
    .name = "cuda",
    .set_map = cuda_set_map,
    .set_map_from_points = cuda_set_map_from_points,
    .set_scan = cuda_set_scan,
    .set_moving_scan = cuda_set_moving_scan,
    .move_scan = cuda_move_scan,
    .get_scan = cuda_get_scan,
    .sample_scan = cuda_sample_scan,
    .align = ndt_cuda_align,
    .evaluate = ndt_cuda_evaluate,
    .search_overview = cuda_search_overview,
    .open_background = cuda_open_background,
    .open_frames = cuda_open_frames,
    .align_begin = ndt_cuda_align_begin,
    .align_end = ndt_cuda_align_end,
    .align_stop = ndt_cuda_align_stop,
    .spread = ndt_cuda_spread,
    .batch = 1024,
    .alloc_host = cuda_alloc_host,
    .free_host = ndt_cuda_lock_free,
    .get_counters = cuda_get_counters,
    .cancel = cuda_cancel,
    .close = cuda_close,
};

static void
apply_testing (NdtCudaBackend *cuda)
{
  NdtCudaLimits *limits = &cuda->limits;
  const gchar *text = ndt_cuda_testing_get (NDT_CUDA_TESTING_LIMITS);
  gint size, threads, n_slots = 0;
  if (text && sscanf (text, "%d:%d:%d:%d:%d", &limits->n_processors, &limits->max_shared,
                  &limits->max_cluster, &limits->max_grid, &limits->max_dense) != 5)
    g_warning ("limits of a device: %s", text);
  text = ndt_cuda_testing_get (NDT_CUDA_TESTING_SHAPE);
  if (text && (sscanf (text, "cluster:%d:%d:%d", &size, &threads, &n_slots) >= 2 ||
                  sscanf (text, "grid:%d:%d:%d", &size, &threads, &n_slots) >= 2)) {
    cuda->shape.grid = text[0] == 'g';
    cuda->shape.threads = threads == 512 && !cuda->shape.grid ? 512 : 256;
    cuda->n_slots = (guint32)MAX (n_slots, 0);
    cuda->shape.size = (gint)ndt_cuda_largest_power (
        (guint)(cuda->shape.grid ? cuda->limits.max_grid : cuda->limits.max_cluster),
        (guint)CLAMP (size, 1, 128));
    if (cuda->shape.grid && cuda->shape.size < 16)
      cuda->shape.size = 0;
  }
  text = ndt_cuda_testing_get (NDT_CUDA_TESTING_LANES);
  cuda->lanes = text ? ndt_cuda_largest_power ((guint)CLAMP (atoi (text), 1, 4), 4) : 0;
  text = ndt_cuda_testing_get (NDT_CUDA_TESTING_REUSE);
  cuda->reuse = text ? (float)g_ascii_strtod (text, NULL) : NDT_CUDA_REUSE;
  cuda->reuse = CLAMP (cuda->reuse, 0.0f, 0.25f);
  text = ndt_cuda_testing_get (NDT_CUDA_TESTING_PAUSE);
  cuda->pause = text ? (gulong)MAX (atoi (text), 0) : 0;
}

/* Whether this build has kernels for the device and the device accepts commands. */
static gboolean
try_device (NdtCudaBackend *cuda, gint device, const NdtBackendConfig *config, GError **error)
{
  struct cudaDeviceProp properties;
  int least = 0, greatest = 0, priority;
  cudaError_t status = cudaSetDevice (device);
  if (status == cudaSuccess)
    status = cudaGetDeviceProperties (&properties, device);
  if (status == cudaSuccess)
    status = ndt_cuda_align_limits (device, &cuda->limits);
  if (status == cudaSuccess)
    status = cudaDeviceGetStreamPriorityRange (&least, &greatest);
  priority = config->priority == NDT_DEVICE_PRIORITY_NORMAL ? least
             : least - greatest > 1                         ? greatest + 1
                                                            : greatest;
  if (status == cudaSuccess)
    status = cudaStreamCreateWithPriority (&cuda->stream, cudaStreamNonBlocking, priority);
  /* Above the priority of alignments where the device has another, so that it is not queued behind
   * the blocks of a large batch. */
  if (status == cudaSuccess)
    status = cudaStreamCreateWithPriority (&cuda->cancel_stream, cudaStreamNonBlocking, greatest);
  if (status == cudaSuccess)
    status = cudaEventCreateWithFlags (&cuda->done, cudaEventBlockingSync | cudaEventDisableTiming);
  if (status == cudaSuccess)
    status = cudaDeviceSynchronize ();
  if (status != cudaSuccess) {
    destroy_streams (cuda);
    (void)cudaGetLastError ();
    g_set_error (error, NDT_ERROR,
        status == cudaErrorMemoryAllocation ? NDT_ERROR_NO_MEMORY : NDT_ERROR_NO_DEVICE,
        "CUDA device %d: %s", device, cudaGetErrorString (status));
    return FALSE;
  }
  cuda->device = device;
  cuda->priority = priority;
  /* WSL: the driver of Windows queues commands until a CUDA call waits for them; polling a word in
   * memory does not submit them. */
  cuda->has_queue = g_file_test ("/dev/dxg", G_FILE_TEST_EXISTS);
  ndt_log (cuda->parent.log, NDT_LOG_INFO, "cuda",
      "CUDA backend: device %d, %s, compute capability %d.%d, %d processors, clusters of %d",
      device, properties.name, properties.major, properties.minor, cuda->limits.n_processors,
      cuda->limits.max_cluster);
  return TRUE;
}

static gboolean
find_device (NdtCudaBackend *cuda, const NdtBackendConfig *config, GError **error)
{
  const gint device_id = config->device_id;
  int n_devices = 0;
  const cudaError_t status = cudaGetDeviceCount (&n_devices);
  if (status != cudaSuccess || n_devices == 0) {
    int driver = 0;
    (void)cudaGetLastError ();
    if (status == cudaErrorInsufficientDriver && cudaDriverGetVersion (&driver) == cudaSuccess &&
        driver == 0)
      g_set_error_literal (
          error, NDT_ERROR, NDT_ERROR_NO_DEVICE, "No CUDA device: no NVIDIA driver is installed");
    else if (status == cudaErrorInsufficientDriver)
      g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE,
          "No CUDA device: the driver is of CUDA %d.%d, this build needs one of %d.0 or later",
          driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000);
    else
      g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE, "No CUDA device: %s",
          status == cudaSuccess ? "the driver lists none" : cudaGetErrorString (status));
    return FALSE;
  }
  if (device_id >= n_devices) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE,
        "No CUDA device %d: the driver lists %d, counted from 0", device_id, n_devices);
    return FALSE;
  }
  if (device_id >= 0)
    return try_device (cuda, device_id, config, error);
  for (gint i = 0; i < n_devices; i++) {
    g_clear_error (error);
    if (try_device (cuda, i, config, error))
      return TRUE;
  }
  return FALSE;
}

/* @beside: (nullable): of which it works in the background */
static NdtBackend *
open_backend (const NdtBackendConfig *config, NdtCudaBackend *beside, GError **error)
{
  const gsize state_size = sizeof (NdtCudaState) + ndt_cuda_exchange_bytes ();
  GError *local_error = NULL;
  NdtCudaBackend *cuda = g_new0 (NdtCudaBackend, 1);
  cuda->parent.klass = &cuda_class;
  cuda->parent.log = config->log;
  cuda->is_background = beside != NULL;
  ndt_cuda_memory_init (&cuda->memory, beside ? beside->memory.budget : NULL);
  cuda->memory.device_only = cuda->is_background;
  cuda->memory.log = config->log;
  ndt_cuda_maps_init (&cuda->maps);
  g_mutex_init (&cuda->cancel_lock);
  if (!find_device (cuda, config, &local_error) ||
      !ndt_cuda_thinner_init (&cuda->thinner, &cuda->memory, cuda->priority, &local_error) ||
      !ndt_cuda_spread_init (cuda, &local_error) ||
      !ndt_cuda_device_reserve (&cuda->memory, &cuda->state, state_size, &local_error) ||
      !ndt_cuda_host_reserve (
          &cuda->memory, &cuda->signals, sizeof (NdtCudaSignals), &local_error) ||
      /* In the stream of alignments, which is not synchronized with the default stream. */
      !ndt_cuda_check (&cuda->memory,
          cudaMemsetAsync (cuda->state.data, 0, state_size, cuda->stream), "clearing memory",
          &local_error) ||
      !ndt_cuda_check (
          &cuda->memory, cudaStreamSynchronize (cuda->stream), "clearing memory", &local_error)) {
    g_propagate_error (error, local_error);
    cuda_close (&cuda->parent);
    return NULL;
  }
  memset (cuda->signals.data, 0, sizeof (NdtCudaSignals));
  /* Set after the memory that is always needed, which the budget does not refuse. */
  if (!beside)
    cuda->memory.budget->most = config->memory_budget;
  apply_testing (cuda);
  cuda->least_lanes = ndt_cuda_align_least_lanes (&cuda->limits);
  g_mutex_lock (&cuda->memory.lock);
  cuda->memory.counters.allocations = 0;
  g_mutex_unlock (&cuda->memory.lock);
  ndt_cuda_share_join (cuda);
  return &cuda->parent;
}

NdtBackend *
ndt_cuda_backend_open (const NdtBackendConfig *config, GError **error)
{
  return open_backend (config, NULL, error);
}

static NdtBackend *
cuda_open_background (NdtBackend *backend, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  if (!ndt_cuda_enter (cuda, error))
    return NULL;
  config.device_id = cuda->device;
  config.log = backend->log;
  config.priority = NDT_DEVICE_PRIORITY_NORMAL; /* the lowest */
  NdtBackend *background = open_backend (&config, cuda, error);
  if (background)
    background->n_threads = 1;
  return background;
}
