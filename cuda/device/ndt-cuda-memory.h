/* SPDX-License-Identifier: MIT */
/* Device and page-locked memory, errors and counters of one backend. Private to cuda/. */
#pragma once

#include <cuda_runtime_api.h>

#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

/**
 * NdtCudaMemory:
 *
 * What a backend holds. Its counters are read by any thread; all of it is behind the lock.
 */
typedef struct {
  GMutex lock;
  guint64 budget; /* set once, before maps and scans */
  NdtBackendCounters counters;
  gchar *failure;    /* why the device cannot be used any more */
  const NdtLog *log; /* set once, nullable */
} NdtCudaMemory;

/**
 * NdtCudaBuffer:
 * @on_host: it is page-locked memory, which the device reads and writes across the bus
 *
 * Grows and stays.
 */
typedef struct {
  void *data;
  gsize size;
  gboolean on_host;
} NdtCudaBuffer;

void ndt_cuda_memory_init (NdtCudaMemory *memory);
void ndt_cuda_memory_clear (NdtCudaMemory *memory);

/* TRUE for cudaSuccess. Otherwise sets @error, NDT_ERROR_NO_MEMORY where memory was refused; any
 * other error stays: ndt_cuda_memory_usable() is FALSE from then on. */
gboolean ndt_cuda_check (
    NdtCudaMemory *memory, cudaError_t status, const gchar *what, GError **error);
/* The same of a launch, of which a part may have run: refused memory is like any other error. */
gboolean ndt_cuda_check_launch (
    NdtCudaMemory *memory, cudaError_t status, const gchar *what, GError **error);
gboolean ndt_cuda_fail (NdtCudaMemory *memory, const gchar *what, GError **error);
gboolean ndt_cuda_memory_usable (NdtCudaMemory *memory, GError **error);
/* Makes @device the calling thread's current one, which it stays: as with CUDA's own libraries,
 * whoever uses several devices sets the one that is meant before each use. FALSE where the device
 * failed before. Any thread. */
gboolean ndt_cuda_memory_enter (NdtCudaMemory *memory, int device, GError **error);

/* What was in the buffer is lost where it grows, by a quarter at least; FALSE leaves it empty.
 *
 * Memory for the device: its own while that is within the budget, and page-locked memory of the
 * host above it, with which everything is slower and the same. */
gboolean ndt_cuda_reserve (
    NdtCudaMemory *memory, NdtCudaBuffer *buffer, gsize size, GError **error);
/* The device's own only; NDT_ERROR_NO_MEMORY above the budget. */
gboolean ndt_cuda_device_reserve (
    NdtCudaMemory *memory, NdtCudaBuffer *buffer, gsize size, GError **error);
/* Page-locked, readable by the device at the same address. */
gboolean ndt_cuda_host_reserve (
    NdtCudaMemory *memory, NdtCudaBuffer *buffer, gsize size, GError **error);
void ndt_cuda_free (NdtCudaMemory *memory, NdtCudaBuffer *buffer);

/**
 * NdtCudaStaging:
 * @memory: page-locked, for a few parts of what is uploaded from plain memory
 * @read: by the device, each part
 *
 * For all uploads of one stream. So little of it stays in the processor's cache, where writing
 * takes half the time.
 */
typedef struct {
  NdtCudaBuffer memory;
  cudaEvent_t read[NDT_CUDA_PARTS];
  guint next;
} NdtCudaStaging;

/* Uploads @size bytes of a scan. Those that are not @locked go by @staging, part after part, of
 * which one goes up while the next is copied; all are copied when it returns. @to: of the device.
 */
gboolean ndt_cuda_upload (NdtCudaMemory *memory, gconstpointer from, gsize size, gboolean locked,
    NdtCudaStaging *staging, guint8 *to, cudaStream_t stream, GError **error);

/* Copies @n records from the @first on into page-locked memory. */
typedef void (*NdtCudaFill) (gconstpointer from, gsize first, gsize n, guint8 *to);

/* Likewise @n records of @record_size bytes, as @fill has them. */
gboolean ndt_cuda_upload_records (NdtCudaMemory *memory, NdtCudaFill fill, gconstpointer from,
    gsize n, gsize record_size, NdtCudaStaging *staging, guint8 *to, cudaStream_t stream,
    GError **error);
void ndt_cuda_staging_clear (NdtCudaStaging *staging, NdtCudaMemory *memory);

/* Page-locked memory for others; a lookup tells whether a range lies in such memory. */
gpointer ndt_cuda_lock_alloc (gsize size);
void ndt_cuda_lock_free (gpointer data, gsize size);
gboolean ndt_cuda_is_locked (gconstpointer data, gsize size);

void ndt_cuda_count_upload (NdtCudaMemory *memory, gsize bytes);
void ndt_cuda_count_download (NdtCudaMemory *memory, gsize bytes);
void ndt_cuda_count_launch (NdtCudaMemory *memory, guint n);
void ndt_cuda_count_synchronization (NdtCudaMemory *memory);

G_END_DECLS
