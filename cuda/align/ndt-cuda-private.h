/* SPDX-License-Identifier: MIT */
/* The structure of a backend. Private to cuda/. */
#pragma once

#include "cuda/device/ndt-cuda-memory.h"
#include "cuda/map/ndt-cuda-maps.h"
#include "cuda/scan/ndt-cuda-scan.h"
#include "cuda/search/ndt-cuda-places.h"
#include "ndt-cuda-align.h"
#include "ndt-cuda-spread.h"

G_BEGIN_DECLS

/* On the device; all zero at first. */
typedef struct {
  guint32 cancelled;
  guint32 n_done;
  guint32 sequence;
  guint32 reserved[29];
  guint64 message[32]; /* NDT_CUDA_MESSAGE of them; padded to cache lines */
} NdtCudaState;

/* On the host. */
typedef struct {
  volatile guint32 finished; /* these are written by the device */
  volatile guint32 fault;
  volatile guint32 ended;
  guint32 reserved[29];
  guint64 mailbox[32]; /* NDT_CUDA_MESSAGE of them */
  NdtCudaSource sources[NDT_MAX_SCANS];
  guint64 words[NDT_MAX_SCANS * NDT_CUDA_RESULT_WORDS]; /* of results; written by the device */
} NdtCudaSignals;

/**
 * NdtCudaSequence:
 * @slot: of the alignment that was begun last, from @start with @params
 * @is_resident: a kernel was launched for the scans @first to @last in turn, which ends early where
 *   a start is late; it is at @slot, with the map of @map_number
 * @ticket: of its launch
 * @is_last: no scan follows, as far as the caller knows
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
  gboolean is_last;
} NdtCudaSequence;

/**
 * NdtCudaOrder:
 * @slot: of the scan, while @is_set
 * @points: in @memory
 *
 * The points of a scan in order.
 */
typedef struct {
  guint slot;
  gboolean is_set;
  const float *points;
  NdtCudaBuffer memory;
} NdtCudaOrder;

/* A scan's clusters are asked for while the next one is aligned. */
#define NDT_CUDA_ORDERS 2

/**
 * NdtCudaSpread:
 * @scan_ready: recorded in the stream of alignments when scans were thinned or uploaded
 * @n_ordered: how many orders were reserved; the last one is of @orders[n_ordered − 1, modulo …]
 * @rows: device memory: gradients of clusters
 * @is_due: those of the scan in @due_slot at the pose of @due are launched behind the next
 * alignment
 * @is_begun: clusters of the scan in @slot at @pose were launched and not waited for
 *
 * Gradients of clusters, for covariances: the scan is ordered beside its alignment.
 */
typedef struct {
  cudaStream_t stream;
  cudaEvent_t scan_ready;
  NdtCudaOrder orders[NDT_CUDA_ORDERS];
  guint n_ordered;
  NdtCudaBuffer rows;
  NdtCudaBuffer counts;  /* on the device */
  NdtCudaBuffer signals; /* on the host */
  guint32 order_ticket;
  guint32 spread_ticket;
  gboolean is_due;
  guint due_slot;
  NdtAlignResult due;
  gboolean is_begun;
  guint slot;
  NdtPose pose;
} NdtCudaSpread;

typedef struct {
  NdtBackend parent;
  gint device;
  int priority;           /* of its streams */
  gboolean is_background; /* it leaves half of the device to other backends */
  NdtCudaLimits limits;
  NdtCudaShape shape;  /* set by a test; size 0: not set */
  guint32 n_slots;     /* likewise; 0: none */
  guint32 lanes;       /* likewise; 0: none */
  guint32 least_lanes; /* fewest lanes a point for which the device has the shared memory */
  float reuse;
  gulong pause; /* set by a test, µs */
  NdtCudaMemory memory;
  cudaStream_t stream;
  cudaStream_t cancel_stream;
  cudaEvent_t done;   /* to sleep until the stream gets there */
  gboolean has_queue; /* the driver queues launches until a CUDA call waits for them */
  NdtCudaMaps maps;
  NdtCudaScan scans[NDT_N_SLOTS];
  NdtCudaThinner thinner;
  NdtCudaPlaces places;  /* of searches of the whole map */
  NdtCudaBuffer state;   /* on the device: NdtCudaState, exchange */
  NdtCudaBuffer signals; /* on the host: NdtCudaSignals */
  NdtCudaBuffer results; /* on the host */
  NdtCudaBuffer starts;  /* on the host */
  NdtCudaBuffer terms;   /* on the device: the extra terms with … */
  guint64 terms_serial;  /* … this number; 0: none … */
  guint32 n_scalars;     /* … and these scalars */
  NdtCudaBuffer scalars; /* on the device: of blocks */
  NdtCudaSequence sequence;
  NdtCudaSpread spread;
  guint32 ticket;
  GMutex cancel_lock;
  gint cancelled;  /* atomic; changed with the lock, as the device's copy is */
  gint64 began_at; /* monotonic time of the last alignment or search, atomic */
  gint occupied;   /* multiprocessors that a launch in the background may fill, atomic */
} NdtCudaBackend;

/* ndt_cuda_memory_enter() of the backend's device. */
static inline gboolean
ndt_cuda_enter (NdtCudaBackend *cuda, GError **error)
{
  return ndt_cuda_memory_enter (&cuda->memory, cuda->device, error);
}

/* Register and remove a backend of the process as a user of its device. */
void ndt_cuda_share_join (NdtCudaBackend *cuda);
void ndt_cuda_share_leave (NdtCudaBackend *cuda);
/* This backend's share of the device, in multiprocessors, times @times: all active backends of the
 * process have equal shares of what those in the background leave, which have half of it together.
 * The blocks of a launch wait for each other, and those that wait for a multiprocessor that a
 * search occupies would wait for its end. */
guint ndt_cuda_share_get (const NdtCudaBackend *cuda, guint times);
/* Of one in the background its share, of another one all that those in the background leave: for
 * launches whose blocks wait for those of a small team, so that two of them only take longer. */
guint ndt_cuda_share_get_left (const NdtCudaBackend *cuda);
/* Tells other backends that this one begins to use the device; one in the background tells them
 * the blocks of its launch, and its end as well. */
void ndt_cuda_share_begin (NdtCudaBackend *cuda, guint n_blocks);
void ndt_cuda_share_end (NdtCudaBackend *cuda);

/* The largest power of two that exceeds neither. */
guint ndt_cuda_largest_power (guint limit, guint most);

/* Methods of NdtBackendClass. */
gboolean ndt_cuda_align (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *starts, guint n_starts, NdtAlignResult *results, GError **error);
gboolean ndt_cuda_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    guint level, NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error);
gboolean ndt_cuda_align_begin (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *start, guint n_following, GError **error);
gboolean ndt_cuda_align_end (NdtBackend *backend, NdtAlignResult *result, GError **error);
/* Ends a sequence's kernel that waits for another start. The aligning thread calls it before all
 * other work on the device. */
void ndt_cuda_align_stop (NdtBackend *backend);
gboolean ndt_cuda_spread (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    NdtAlignResult *result, GError **error);

/* Of ndt_cuda_spread(): the parts that run beside alignments. Both after find_device(). */
gboolean ndt_cuda_spread_init (NdtCudaBackend *cuda, GError **error);
void ndt_cuda_spread_clear (NdtCudaBackend *cuda);
/* The scan of a slot was changed. */
void ndt_cuda_spread_forget (NdtCudaBackend *cuda, guint slot);
/* Memory for the order of a scan; before its alignment is launched, since it may be refused. */
gboolean ndt_cuda_spread_reserve (NdtCudaBackend *cuda, guint slot, GError **error);
/* After scans were thinned or uploaded, before the launch. */
gboolean ndt_cuda_spread_mark (NdtCudaBackend *cuda, GError **error);
/* Launches the order of the scan that memory was reserved for last. */
gboolean ndt_cuda_spread_order (NdtCudaBackend *cuda, GError **error);
/* Waits until no scan is read that is being ordered. */
gboolean ndt_cuda_spread_wait_read (NdtCudaBackend *cuda, GError **error);
/* Launches the clusters at the pose of a result, where the scan is ordered. */
gboolean ndt_cuda_spread_begin (NdtCudaBackend *cuda, guint slot, const NdtAlignParams *params,
    const NdtAlignResult *at, GError **error);
/* Launches those that are due and waits for them; their result is kept. */
gboolean ndt_cuda_spread_finish (
    NdtCudaBackend *cuda, const NdtAlignParams *params, GError **error);
/* Waits for these, if there are any. @result: (nullable): receives them. */
gboolean ndt_cuda_spread_end (NdtCudaBackend *cuda, NdtAlignResult *result, GError **error);

G_END_DECLS
