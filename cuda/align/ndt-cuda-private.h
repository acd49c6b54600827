/* SPDX-License-Identifier: MIT */
/* A backend as its own files see it. Private to cuda/. */
#pragma once

#include "cuda/device/ndt-cuda-memory.h"
#include "cuda/map/ndt-cuda-maps.h"
#include "cuda/scan/ndt-cuda-scan.h"
#include "ndt-cuda-align.h"

G_BEGIN_DECLS

/* On the device; all zero at first. */
typedef struct {
  guint32 cancelled;
  guint32 n_done;
  guint32 sequence;
  guint32 reserved[29];
  guint64 message[32]; /* NDT_CUDA_MESSAGE of them; what follows begins where lines of a cache do */
} NdtCudaState;

/* On the host. */
typedef struct {
  volatile guint32 finished; /* these are written by the device */
  volatile guint32 fault;
  volatile guint32 ended;
  guint32 reserved[29];
  guint64 mailbox[32]; /* NDT_CUDA_MESSAGE of them */
  NdtCudaSource sources[NDT_MAX_SCANS];
} NdtCudaSignals;

/**
 * NdtCudaSequence:
 * @slot: that was begun last, from @start with @params
 * @is_resident: a kernel was launched that takes the scans of @first to @last in turn, unless it
 *   has waited too long for one; it is at @slot, with the map of @map_number
 * @ticket: of its launch
 */
typedef struct {
  guint slot;
  NdtStart start;
  NdtAlignParams params;
  gboolean is_resident;
  guint first;
  guint last;
  guint map_number;
  guint32 ticket;
} NdtCudaSequence;

typedef struct {
  NdtBackend parent;
  gint device;
  NdtCudaLimits limits;
  NdtCudaShape shape;  /* that a test asks for; size 0: none */
  guint32 n_slots;     /* likewise; 0: none */
  guint32 lanes;       /* likewise; 0: none */
  guint32 least_lanes; /* a point, for which the device has the shared memory */
  float reuse;
  gulong pause; /* that a test asks for, µs */
  NdtCudaMemory memory;
  cudaStream_t stream;
  cudaStream_t cancel_stream;
  cudaEvent_t done;   /* to sleep until the stream gets there */
  gboolean has_queue; /* launches may wait in a queue until they are asked for */
  NdtCudaMaps maps;
  NdtCudaScan scans[NDT_N_SLOTS];
  NdtCudaThinner thinner;
  NdtCudaBuffer state;   /* on the device: NdtCudaState, exchange */
  NdtCudaBuffer signals; /* on the host: NdtCudaSignals */
  NdtCudaBuffer results; /* on the host */
  NdtCudaBuffer starts;  /* on the host */
  NdtCudaSequence sequence;
  guint32 ticket;
  GMutex cancel_lock;
  gint cancelled;  /* atomic; changed with the lock, as the device's copy is */
  gint64 began_at; /* monotonic time of the last alignment, atomic */
} NdtCudaBackend;

/* ndt_cuda_memory_enter() of the backend's device. */
static inline gboolean
ndt_cuda_enter (NdtCudaBackend *cuda, GError **error)
{
  return ndt_cuda_memory_enter (&cuda->memory, cuda->device, error);
}

/* Backends of the process that may share a device: from one to the other. */
void ndt_cuda_share_join (NdtCudaBackend *cuda);
void ndt_cuda_share_leave (NdtCudaBackend *cuda);

/* The largest power of two up to both. */
guint ndt_cuda_largest_power (guint limit, guint most);

/* Of NdtBackendClass. */
gboolean ndt_cuda_align (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *starts, guint n_starts, NdtAlignResult *results, GError **error);
gboolean ndt_cuda_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    guint level, NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error);
gboolean ndt_cuda_align_begin (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *start, guint n_following, GError **error);
gboolean ndt_cuda_align_end (NdtBackend *backend, NdtAlignResult *result, GError **error);
/* Waits for a kernel that waits for another scan; before anything else that the aligning thread
 * asks for. */
void ndt_cuda_align_stop (NdtBackend *backend);

G_END_DECLS
