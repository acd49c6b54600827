/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-memory.h"

#include <string.h>

#include "ndt-cuda-testing.h"
#include "ndtcore/base/ndt-tuning.h"

/* ---- Budgets ---- */

static NdtCudaBudget *
budget_new (void)
{
  NdtCudaBudget *budget = g_new0 (NdtCudaBudget, 1);
  g_atomic_ref_count_init (&budget->ref_count);
  g_mutex_init (&budget->lock);
  return budget;
}

static void
budget_unref (NdtCudaBudget *budget)
{
  if (!g_atomic_ref_count_dec (&budget->ref_count))
    return;
  g_mutex_clear (&budget->lock);
  g_free (budget);
}

/* Takes @wanted bytes, or else @size; returns how many, 0 where not even those are left. */
static gsize
budget_take (NdtCudaBudget *budget, gsize wanted, gsize size)
{
  g_mutex_lock (&budget->lock);
  const guint64 left = budget->most == 0              ? G_MAXUINT64
                       : budget->most > budget->taken ? budget->most - budget->taken
                                                      : 0;
  const gsize taken = wanted <= left ? wanted : size <= left ? size : 0;
  budget->taken += taken;
  g_mutex_unlock (&budget->lock);
  return taken;
}

static void
budget_give (NdtCudaBudget *budget, gsize size)
{
  g_mutex_lock (&budget->lock);
  budget->taken -= size;
  g_mutex_unlock (&budget->lock);
}

/* ---- Errors ---- */

void
ndt_cuda_memory_init (NdtCudaMemory *memory, NdtCudaBudget *budget)
{
  memset (memory, 0, sizeof (*memory));
  g_mutex_init (&memory->lock);
  if (budget)
    g_atomic_ref_count_inc (&budget->ref_count);
  memory->budget = budget ? budget : budget_new ();
}

void
ndt_cuda_memory_clear (NdtCudaMemory *memory)
{
  g_mutex_clear (&memory->lock);
  g_clear_pointer (&memory->budget, budget_unref);
  g_clear_pointer (&memory->failure, g_free);
}

gboolean
ndt_cuda_fail (NdtCudaMemory *memory, const gchar *what, GError **error)
{
  g_mutex_lock (&memory->lock);
  if (!memory->failure)
    memory->failure = g_strdup (what);
  g_mutex_unlock (&memory->lock);
  g_set_error (error, NDT_ERROR, NDT_ERROR_DEVICE, "CUDA: %s", what);
  return FALSE;
}

gboolean
ndt_cuda_check_launch (NdtCudaMemory *memory, cudaError_t status, const gchar *what, GError **error)
{
  if (status == cudaSuccess)
    return TRUE;
  /* Clears errors that are not sticky, which the next call would report again. */
  (void)cudaGetLastError ();
  g_autofree gchar *message = g_strdup_printf ("%s: %s", what, cudaGetErrorString (status));
  return ndt_cuda_fail (memory, message, error);
}

gboolean
ndt_cuda_check (NdtCudaMemory *memory, cudaError_t status, const gchar *what, GError **error)
{
  if (status != cudaErrorMemoryAllocation)
    return ndt_cuda_check_launch (memory, status, what, error);
  (void)cudaGetLastError ();
  g_set_error (
      error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "CUDA: %s: %s", what, cudaGetErrorString (status));
  return FALSE;
}

gboolean
ndt_cuda_memory_usable (NdtCudaMemory *memory, GError **error)
{
  gboolean usable;
  g_mutex_lock (&memory->lock);
  usable = memory->failure == NULL;
  if (!usable)
    g_set_error (error, NDT_ERROR, NDT_ERROR_DEVICE, "CUDA failed before: %s", memory->failure);
  g_mutex_unlock (&memory->lock);
  return usable;
}

gboolean
ndt_cuda_memory_enter (NdtCudaMemory *memory, int device, GError **error)
{
  /* Clears an error of other CUDA code in this thread, which would be attributed to the next
   * launch. */
  (void)cudaGetLastError ();
  return ndt_cuda_memory_usable (memory, error) &&
         ndt_cuda_check (memory, cudaSetDevice (device), "selecting the device", error);
}

/* Rounded up, so that not each scan that is larger than all before waits for an allocation. */
static gsize
get_wanted (const NdtCudaBuffer *buffer, gsize size)
{
  return MAX (size, buffer->size + buffer->size / 4);
}

gboolean
ndt_cuda_device_reserve (NdtCudaMemory *memory, NdtCudaBuffer *buffer, gsize size, GError **error)
{
  if (size <= buffer->size)
    return TRUE;
  const gsize wanted = get_wanted (buffer, size);
  ndt_cuda_free (memory, buffer);
  const gsize taken = budget_take (memory->budget, wanted, size);
  if (taken == 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
        "%" G_GSIZE_FORMAT " bytes of device memory are beyond the budget of %" G_GUINT64_FORMAT,
        size, memory->budget->most);
    return FALSE;
  }
  const cudaError_t status = ndt_cuda_inject_failure ("alloc") ? cudaErrorMemoryAllocation
                                                               : cudaMalloc (&buffer->data, taken);
  if (!ndt_cuda_check (memory, status, "device memory", error)) {
    budget_give (memory->budget, taken);
    buffer->data = NULL;
    return FALSE;
  }
  buffer->size = taken;
  g_mutex_lock (&memory->lock);
  memory->counters.allocations++;
  g_mutex_unlock (&memory->lock);
  return TRUE;
}

gboolean
ndt_cuda_host_reserve (NdtCudaMemory *memory, NdtCudaBuffer *buffer, gsize size, GError **error)
{
  cudaError_t status;
  if (size <= buffer->size)
    return TRUE;
  size = get_wanted (buffer, size);
  ndt_cuda_free (memory, buffer);
  status = ndt_cuda_inject_failure ("alloc")
               ? cudaErrorMemoryAllocation
               : cudaHostAlloc (&buffer->data, size, cudaHostAllocPortable | cudaHostAllocMapped);
  if (!ndt_cuda_check (memory, status, "page-locked memory", error)) {
    buffer->data = NULL;
    return FALSE;
  }
  buffer->size = size;
  buffer->on_host = TRUE;
  g_mutex_lock (&memory->lock);
  memory->counters.allocations++;
  memory->counters.host_bytes += size;
  g_mutex_unlock (&memory->lock);
  return TRUE;
}

gboolean
ndt_cuda_reserve (NdtCudaMemory *memory, NdtCudaBuffer *buffer, gsize size, GError **error)
{
  GError *local_error = NULL;
  if (ndt_cuda_device_reserve (memory, buffer, size, &local_error))
    return TRUE;
  if (memory->device_only || !g_error_matches (local_error, NDT_ERROR, NDT_ERROR_NO_MEMORY)) {
    g_propagate_error (error, local_error);
    return FALSE;
  }
  ndt_log (memory->log, NDT_LOG_WARNING, "cuda",
      "%s: page-locked memory of the host instead, which is slower", local_error->message);
  g_error_free (local_error);
  return ndt_cuda_host_reserve (memory, buffer, size, error);
}

void
ndt_cuda_free (NdtCudaMemory *memory, NdtCudaBuffer *buffer)
{
  if (!buffer->data)
    return;
  /* Kernels may still use this memory. */
  cudaDeviceSynchronize ();
  if (buffer->on_host)
    cudaFreeHost (buffer->data);
  else
    cudaFree (buffer->data);
  (void)cudaGetLastError ();
  if (buffer->on_host) {
    g_mutex_lock (&memory->lock);
    memory->counters.host_bytes -= buffer->size;
    g_mutex_unlock (&memory->lock);
  } else {
    budget_give (memory->budget, buffer->size);
  }
  memset (buffer, 0, sizeof (*buffer));
}

static gboolean
prepare (NdtCudaStaging *staging, NdtCudaMemory *memory, GError **error)
{
  cudaError_t status = cudaSuccess;
  for (guint i = 0; i < NDT_CUDA_PARTS && status == cudaSuccess; i++)
    if (!staging->read[i])
      status = cudaEventCreateWithFlags (&staging->read[i], cudaEventDisableTiming);
  return ndt_cuda_check (memory, status, "events", error) &&
         ndt_cuda_host_reserve (
             memory, &staging->memory, (gsize)NDT_CUDA_PARTS * NDT_CUDA_UPLOAD_PART, error);
}

void
ndt_cuda_staging_clear (NdtCudaStaging *staging, NdtCudaMemory *memory)
{
  for (guint i = 0; i < NDT_CUDA_PARTS; i++)
    if (staging->read[i])
      cudaEventDestroy (staging->read[i]);
  ndt_cuda_free (memory, &staging->memory);
}

gboolean
ndt_cuda_upload_records (NdtCudaMemory *memory, NdtCudaFill fill, gconstpointer from, gsize n,
    gsize record_size, NdtCudaStaging *staging, guint8 *to, cudaStream_t stream, GError **error)
{
  const gsize n_part = NDT_CUDA_UPLOAD_PART / record_size;
  if (!prepare (staging, memory, error))
    return FALSE;
  for (gsize first = 0; first < n; first += n_part) {
    const gsize n_now = MIN (n_part, n - first);
    const guint k = staging->next++ % NDT_CUDA_PARTS;
    guint8 *part = (guint8 *)staging->memory.data + (gsize)k * NDT_CUDA_UPLOAD_PART;
    /* Returns at once unless the device is several parts behind, and where the part has not been
     * used yet. */
    cudaError_t status = cudaEventSynchronize (staging->read[k]);
    if (status == cudaSuccess) {
      fill (from, first, n_now, part);
      status = cudaMemcpyAsync (
          to + first * record_size, part, n_now * record_size, cudaMemcpyDefault, stream);
    }
    if (status == cudaSuccess)
      status = cudaEventRecord (staging->read[k], stream);
    if (!ndt_cuda_check (memory, status, "upload of a scan", error))
      return FALSE;
  }
  ndt_cuda_count_upload (memory, n * record_size);
  return TRUE;
}

static void
copy (gconstpointer from, gsize first, gsize n, guint8 *to)
{
  memcpy (to, (const guint8 *)from + first, n);
}

gboolean
ndt_cuda_upload (NdtCudaMemory *memory, gconstpointer from, gsize size, gboolean locked,
    NdtCudaStaging *staging, guint8 *to, cudaStream_t stream, GError **error)
{
  if (!locked)
    return ndt_cuda_upload_records (memory, copy, from, size, 1, staging, to, stream, error);
  if (!ndt_cuda_check (memory, cudaMemcpyAsync (to, from, size, cudaMemcpyDefault, stream),
          "upload of a scan", error))
    return FALSE;
  ndt_cuda_count_upload (memory, size);
  return TRUE;
}

/* ---- Page-locked memory of callers ---- */

typedef struct {
  guintptr start;
  gsize size;
  int device;
} Range;

static GMutex ranges_lock;
static GArray *ranges; /* of Range, by start */

/* Index of the first range that starts after @address. */
static guint
find_range (guintptr address)
{
  guint lo = 0, hi = ranges ? ranges->len : 0;
  while (lo < hi) {
    const guint mid = (lo + hi) / 2;
    if (g_array_index (ranges, Range, mid).start <= address)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

gpointer
ndt_cuda_lock_alloc (gsize size)
{
  Range range = {0, size, 0};
  void *data = NULL;
  if (size == 0 || ndt_cuda_inject_failure ("alloc") ||
      cudaGetDevice (&range.device) != cudaSuccess ||
      cudaHostAlloc (&data, size, cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess) {
    (void)cudaGetLastError ();
    return NULL;
  }
  range.start = (guintptr)data;
  g_mutex_lock (&ranges_lock);
  if (!ranges)
    ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  g_array_insert_val (ranges, find_range (range.start), range);
  g_mutex_unlock (&ranges_lock);
  return data;
}

void
ndt_cuda_lock_free (gpointer data, gsize size)
{
  const guintptr start = (guintptr)data;
  if (!data)
    return;
  g_mutex_lock (&ranges_lock);
  const guint i = find_range (start);
  int device = 0;
  if (i > 0 && g_array_index (ranges, Range, i - 1).start == start) {
    device = g_array_index (ranges, Range, i - 1).device;
    g_array_remove_index (ranges, i - 1);
  }
  if (ranges && ranges->len == 0)
    g_clear_pointer (&ranges, g_array_unref);
  g_mutex_unlock (&ranges_lock);
  /* Any thread may call this, with another current device. */
  cudaError_t status = cudaSetDevice (device);
  if (status == cudaSuccess)
    status = cudaFreeHost (data);
  if (status != cudaSuccess) {
    (void)cudaGetLastError ();
    g_debug ("page-locked memory stays: %s", cudaGetErrorString (status));
  }
}

gboolean
ndt_cuda_is_locked (gconstpointer data, gsize size)
{
  const guintptr start = (guintptr)data;
  gboolean locked = FALSE;
  g_mutex_lock (&ranges_lock);
  const guint i = find_range (start);
  if (i > 0) {
    const Range *range = &g_array_index (ranges, Range, i - 1);
    locked = start + size <= range->start + range->size;
  }
  g_mutex_unlock (&ranges_lock);
  return locked;
}

/* ---- Counters ---- */

void
ndt_cuda_memory_get_counters (NdtCudaMemory *memory, NdtBackendCounters *counters)
{
  g_mutex_lock (&memory->lock);
  *counters = memory->counters;
  g_mutex_unlock (&memory->lock);
  g_mutex_lock (&memory->budget->lock);
  counters->device_bytes = memory->budget->taken;
  g_mutex_unlock (&memory->budget->lock);
}

void
ndt_cuda_count_upload (NdtCudaMemory *memory, gsize bytes)
{
  g_mutex_lock (&memory->lock);
  memory->counters.uploads++;
  memory->counters.upload_bytes += bytes;
  g_mutex_unlock (&memory->lock);
}

void
ndt_cuda_count_download (NdtCudaMemory *memory, gsize bytes)
{
  g_mutex_lock (&memory->lock);
  memory->counters.downloads++;
  memory->counters.download_bytes += bytes;
  g_mutex_unlock (&memory->lock);
}

void
ndt_cuda_count_launch (NdtCudaMemory *memory, guint n)
{
  g_mutex_lock (&memory->lock);
  memory->counters.launches += n;
  g_mutex_unlock (&memory->lock);
}

void
ndt_cuda_count_synchronization (NdtCudaMemory *memory)
{
  g_mutex_lock (&memory->lock);
  memory->counters.synchronizations++;
  g_mutex_unlock (&memory->lock);
}
