/* SPDX-License-Identifier: MIT */
/* Device and page-locked memory, errors and counters of one backend. Private to cuda/. */
#pragma once

#include <cuda_runtime_api.h>

#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

/**
 * NdtCudaBudget:
 * @most: bytes; 0: no limit. Set once, before maps and scans
 * @taken: bytes
 *
 * Device memory of a backend and of those that were opened beside it. Reference-counted; any
 * thread.
 */
typedef struct {
  gatomicrefcount ref_count;
  GMutex lock; /* guards @taken */
  guint64 most;
  guint64 taken;
} NdtCudaBudget;

/**
 * NdtCudaMemory:
 * @budget: with a reference
 *
 * Memory, errors and counters of a backend. Protected by its lock; any thread may read the
 * counters.
 */
typedef struct {
  GMutex lock;
  NdtCudaBudget *budget;
  gboolean device_only; /* host memory does not replace the device's; set once */
  NdtBackendCounters counters;
  gchar *failure;    /* message of the error after which the device is not used; NULL: none */
  const NdtLog *log; /* set once, nullable */
} NdtCudaMemory;

/**
 * NdtCudaBuffer:
 * @on_host: it is page-locked memory, which the device reads and writes across the bus
 *
 * A buffer that is only ever enlarged.
 */
typedef struct {
  void *data;
  gsize size;
  gboolean on_host;
} NdtCudaBuffer;

/* @budget: (nullable): of another backend; NULL: one of its own, without a limit. */
void ndt_cuda_memory_init (NdtCudaMemory *memory, NdtCudaBudget *budget);
void ndt_cuda_memory_clear (NdtCudaMemory *memory);

/* Device memory is that of all backends with this one's budget. */
void ndt_cuda_memory_get_counters (NdtCudaMemory *memory, NdtBackendCounters *counters);

/* TRUE for cudaSuccess. Otherwise sets @error, NDT_ERROR_NO_MEMORY where memory was refused. Any
 * other error is permanent: ndt_cuda_memory_usable() is FALSE from then on. */
gboolean ndt_cuda_check (
    NdtCudaMemory *memory, cudaError_t status, const gchar *what, GError **error);
/* The same for a launch, of which a part may have run: here refused memory is a permanent error as
 * well. */
gboolean ndt_cuda_check_launch (
    NdtCudaMemory *memory, cudaError_t status, const gchar *what, GError **error);
gboolean ndt_cuda_fail (NdtCudaMemory *memory, const gchar *what, GError **error);
gboolean ndt_cuda_memory_usable (NdtCudaMemory *memory, GError **error);
/* Makes @device the current device of the calling thread. It is not restored: as with CUDA's own
 * libraries, a caller that uses several devices sets its device before each use. FALSE where the
 * device failed before. Any thread. */
gboolean ndt_cuda_memory_enter (NdtCudaMemory *memory, int device, GError **error);

/* Enlarges a buffer, by a quarter at least; its contents are lost then. FALSE: it is empty.
 *
 * The memory is the device's while that is within the budget, and else page-locked memory of the
 * host, which is slower and gives the same results; unless the backend is device_only. */
gboolean ndt_cuda_reserve (
    NdtCudaMemory *memory, NdtCudaBuffer *buffer, gsize size, GError **error);
/* Memory of the device only; NDT_ERROR_NO_MEMORY above the budget. */
gboolean ndt_cuda_device_reserve (
    NdtCudaMemory *memory, NdtCudaBuffer *buffer, gsize size, GError **error);
/* Page-locked, readable by the device at the same address. */
gboolean ndt_cuda_host_reserve (
    NdtCudaMemory *memory, NdtCudaBuffer *buffer, gsize size, GError **error);
void ndt_cuda_free (NdtCudaMemory *memory, NdtCudaBuffer *buffer);

/**
 * NdtCudaStaging:
 * @memory: page-locked, for a few parts of an upload from pageable memory
 * @read: of each part: recorded when the device has read it
 *
 * Shared by all uploads of a stream. It is small enough for the processor's cache, in which writing
 * takes half the time.
 */
typedef struct {
  NdtCudaBuffer memory;
  cudaEvent_t read[NDT_CUDA_PARTS];
  guint next;
} NdtCudaStaging;

/* Uploads @size bytes of a scan to @to, device memory. Where the source is not @locked it is copied
 * by @staging in parts, one of which is transferred while the next is copied. On return all bytes
 * have been copied from the source. */
gboolean ndt_cuda_upload (NdtCudaMemory *memory, gconstpointer from, gsize size, gboolean locked,
    NdtCudaStaging *staging, guint8 *to, cudaStream_t stream, GError **error);

/* Copies @n records from the @first on into page-locked memory. */
typedef void (*NdtCudaFill) (gconstpointer from, gsize first, gsize n, guint8 *to);

/* The same for @n records of @record_size bytes, written by @fill. */
gboolean ndt_cuda_upload_records (NdtCudaMemory *memory, NdtCudaFill fill, gconstpointer from,
    gsize n, gsize record_size, NdtCudaStaging *staging, guint8 *to, cudaStream_t stream,
    GError **error);
void ndt_cuda_staging_clear (NdtCudaStaging *staging, NdtCudaMemory *memory);

/* Page-locked memory for callers; a lookup says whether a range is in such memory. */
gpointer ndt_cuda_lock_alloc (gsize size);
void ndt_cuda_lock_free (gpointer data, gsize size);
gboolean ndt_cuda_is_locked (gconstpointer data, gsize size);

void ndt_cuda_count_upload (NdtCudaMemory *memory, gsize bytes);
void ndt_cuda_count_download (NdtCudaMemory *memory, gsize bytes);
void ndt_cuda_count_launch (NdtCudaMemory *memory, guint n);
void ndt_cuda_count_synchronization (NdtCudaMemory *memory);

G_END_DECLS
