/* SPDX-License-Identifier: MIT */
/* Gradients of clusters: launches beside alignments, in a stream of their own. */
#include <string.h>

#include "cuda/device/ndt-cuda-testing.h"
#include "ndt-cuda-private.h"
#include "ndtcore/math/ndt-formulas.h"

/* On the host; written by the device. */
typedef struct {
  NdtCudaSpreadResult result;
  volatile guint32 ordered;
  volatile guint32 finished;
} Signals;

/* On the device; the first two are zero before and after each kernel. */
typedef struct {
  guint32 order_done;
  guint32 spread_done;
  guint32 n_points;
} Counts;

gboolean
ndt_cuda_spread_init (NdtCudaBackend *cuda, GError **error)
{
  NdtCudaSpread *s = &cuda->spread;
  cudaError_t status =
      cudaStreamCreateWithPriority (&s->stream, cudaStreamNonBlocking, cuda->priority);
  if (status == cudaSuccess)
    status = cudaEventCreateWithFlags (&s->scan_ready, cudaEventDisableTiming);
  if (!ndt_cuda_check (&cuda->memory, status, "a stream for covariances", error) ||
      !ndt_cuda_host_reserve (&cuda->memory, &s->signals, sizeof (Signals), error) ||
      !ndt_cuda_device_reserve (&cuda->memory, &s->counts, sizeof (Counts), error))
    return FALSE;
  memset (s->signals.data, 0, sizeof (Signals));
  status = cudaMemsetAsync (s->counts.data, 0, sizeof (Counts), s->stream);
  if (status == cudaSuccess)
    status = cudaStreamSynchronize (s->stream);
  return ndt_cuda_check (&cuda->memory, status, "clearing memory", error);
}

void
ndt_cuda_spread_clear (NdtCudaBackend *cuda)
{
  NdtCudaSpread *s = &cuda->spread;
  if (s->stream)
    cudaStreamSynchronize (s->stream);
  for (guint i = 0; i < NDT_CUDA_ORDERS; i++)
    ndt_cuda_free (&cuda->memory, &s->orders[i].memory);
  ndt_cuda_free (&cuda->memory, &s->rows);
  ndt_cuda_free (&cuda->memory, &s->counts);
  ndt_cuda_free (&cuda->memory, &s->signals);
  if (s->scan_ready)
    cudaEventDestroy (s->scan_ready);
  if (s->stream)
    cudaStreamDestroy (s->stream);
  s->scan_ready = NULL;
  s->stream = NULL;
}

/* Waits until a word has reached a ticket. */
static gboolean
wait_for (NdtCudaBackend *cuda, const volatile guint32 *word, guint32 ticket, GError **error)
{
  const gint64 give_up = g_get_monotonic_time () + NDT_CUDA_SPIN_TIME;
  for (guint spins = 1;; spins++) {
    if ((gint32)(__atomic_load_n (word, __ATOMIC_ACQUIRE) - ticket) >= 0)
      return TRUE;
#if defined(__x86_64__)
    __builtin_ia32_pause ();
#endif
    if (spins % 256 == 0 && g_get_monotonic_time () > give_up) {
      if (!ndt_cuda_check (
              &cuda->memory, cudaStreamSynchronize (cuda->spread.stream), "covariance", error))
        return FALSE;
      return (gint32)(__atomic_load_n (word, __ATOMIC_ACQUIRE) - ticket) >= 0 ||
             ndt_cuda_fail (&cuda->memory, "clusters ended without a result", error);
    }
  }
}

static gboolean
check_launch (NdtCudaBackend *cuda, cudaError_t status, guint n, const gchar *what, GError **error)
{
  if (!ndt_cuda_check_launch (&cuda->memory, status, what, error))
    return FALSE;
  if (cuda->has_queue) {
    (void)cudaStreamQuery (cuda->spread.stream);
    (void)cudaGetLastError (); /* clears cudaErrorNotReady */
  }
  ndt_cuda_count_launch (&cuda->memory, n);
  return TRUE;
}

static NdtCudaOrder *
find_order (NdtCudaSpread *s, guint slot)
{
  for (guint i = 0; i < NDT_CUDA_ORDERS; i++)
    if (s->orders[i].is_set && s->orders[i].slot == slot)
      return &s->orders[i];
  return NULL;
}

void
ndt_cuda_spread_forget (NdtCudaBackend *cuda, guint slot)
{
  NdtCudaOrder *order = find_order (&cuda->spread, slot);
  if (order)
    order->is_set = FALSE;
}

/* Bytes of the tiles of @n points, which are the first part of an order's memory. */
static gsize
tile_bytes (guint n)
{
  const gsize n_tiles = (ndt_cuda_order_mergings (n) > 0 ? 2 : 1) * (gsize)ndt_cuda_order_tiles (n);
  return n_tiles * NDT_CUDA_ORDER_TILE * sizeof (guint64);
}

gboolean
ndt_cuda_spread_reserve (NdtCudaBackend *cuda, guint slot, GError **error)
{
  NdtCudaSpread *s = &cuda->spread;
  const guint n = cuda->scans[slot].n_points;
  ndt_cuda_spread_forget (cuda, slot);
  NdtCudaOrder *order = &s->orders[s->n_ordered++ % NDT_CUDA_ORDERS];
  order->is_set = FALSE;
  order->slot = slot;
  return ndt_cuda_reserve (&cuda->memory, &order->memory, tile_bytes (n) + 24 * (gsize)n, error) &&
         ndt_cuda_reserve (&cuda->memory, &s->rows,
             (n / NDT_CHUNK + 1) * NDT_CUDA_SPREAD_ROW * sizeof (double), error);
}

gboolean
ndt_cuda_spread_mark (NdtCudaBackend *cuda, GError **error)
{
  return ndt_cuda_check (&cuda->memory, cudaEventRecord (cuda->spread.scan_ready, cuda->stream),
      "order of a scan", error);
}

gboolean
ndt_cuda_spread_order (NdtCudaBackend *cuda, GError **error)
{
  NdtCudaSpread *s = &cuda->spread;
  NdtCudaOrder *order = &s->orders[(s->n_ordered - 1) % NDT_CUDA_ORDERS];
  const guint n = cuda->scans[order->slot].n_points;
  Signals *signals = s->signals.data;
  NdtCudaOrderJob job = {0};
  ndt_cuda_scan_get_source (&cuda->scans[order->slot], &job.source);
  job.inverse_cell = (float)(1 / ndt_cuda_maps_get_resolution (&cuda->maps));
  job.tiles = order->memory.data;
  job.copy = (float *)((guint8 *)order->memory.data + tile_bytes (n));
  job.points = job.copy + 3 * (gsize)n;
  job.n_points = &((Counts *)s->counts.data)->n_points;
  job.n_done = &((Counts *)s->counts.data)->order_done;
  job.ordered = &signals->ordered;
  job.ticket = ++s->order_ticket;
  order->points = job.points;
  if (!ndt_cuda_check (&cuda->memory, cudaStreamWaitEvent (s->stream, s->scan_ready, 0),
          "order of a scan", error))
    return FALSE;
  const cudaError_t status = ndt_cuda_inject_failure ("launch")
                                 ? cudaErrorLaunchFailure
                                 : ndt_cuda_order_launch (&job, s->stream);
  order->is_set = check_launch (
      cuda, status, 2 + ndt_cuda_order_mergings (n), "launch of the order of a scan", error);
  return order->is_set;
}

gboolean
ndt_cuda_spread_wait_read (NdtCudaBackend *cuda, GError **error)
{
  const Signals *signals = cuda->spread.signals.data;
  return wait_for (cuda, &signals->ordered, cuda->spread.order_ticket, error);
}

gboolean
ndt_cuda_spread_begin (NdtCudaBackend *cuda, guint slot, const NdtAlignParams *params,
    const NdtAlignResult *at, GError **error)
{
  NdtCudaSpread *s = &cuda->spread;
  const NdtCudaOrder *order = find_order (s, slot);
  Signals *signals = s->signals.data;
  NdtCudaLevel levels[NDT_CUDA_LEVELS];
  NdtCudaSpreadJob job = {0};
  if (!order || at->n_points == 0)
    return TRUE;
  ndt_cuda_maps_get (&cuda->maps, levels);
  const NdtGauss gauss = ndt_gauss (params->outlier_ratio, levels[0].resolution);
  job.level = levels[0];
  job.d1 = (float)gauss.d1;
  job.d2 = (float)gauss.d2;
  job.neighbours = (gint32)params->neighbours;
  job.pose = at->pose;
  job.points = order->points;
  job.n_points = at->n_points;
  job.rows = s->rows.data;
  job.n_done = &((Counts *)s->counts.data)->spread_done;
  job.result = &signals->result;
  job.finished = &signals->finished;
  job.ticket = ++s->spread_ticket;
  s->slot = slot;
  s->pose = at->pose;
  const cudaError_t status = ndt_cuda_inject_failure ("launch")
                                 ? cudaErrorLaunchFailure
                                 : ndt_cuda_spread_launch (&job, s->stream);
  s->is_begun = check_launch (cuda, status, 1, "launch of clusters", error);
  return s->is_begun;
}

gboolean
ndt_cuda_spread_finish (NdtCudaBackend *cuda, const NdtAlignParams *params, GError **error)
{
  NdtCudaSpread *s = &cuda->spread;
  if (!s->is_due)
    return TRUE;
  s->is_due = FALSE;
  return ndt_cuda_spread_begin (cuda, s->due_slot, params, &s->due, error) &&
         ndt_cuda_check (&cuda->memory, cudaStreamSynchronize (s->stream), "covariance", error);
}

gboolean
ndt_cuda_spread_end (NdtCudaBackend *cuda, NdtAlignResult *result, GError **error)
{
  NdtCudaSpread *s = &cuda->spread;
  const Signals *signals = s->signals.data;
  if (!s->is_begun)
    return TRUE;
  s->is_begun = FALSE;
  ndt_cuda_count_synchronization (&cuda->memory);
  if (!wait_for (cuda, &signals->finished, s->spread_ticket, error))
    return FALSE;
  ndt_cuda_count_download (&cuda->memory, sizeof (signals->result));
  if (result) {
    result->n_clusters = signals->result.n_clusters;
    memcpy (result->spread, signals->result.spread, sizeof (result->spread));
  }
  return TRUE;
}

gboolean
ndt_cuda_spread (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    NdtAlignResult *result, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  NdtCudaSpread *s = &cuda->spread;
  if (result->n_points == 0)
    return TRUE;
  if (!ndt_cuda_enter (cuda, error))
    return FALSE;
  s->is_due = s->is_due && s->due_slot != slot;
  if (s->is_begun && (s->slot != slot || memcmp (&s->pose, &result->pose, sizeof (s->pose)) != 0) &&
      !ndt_cuda_spread_end (cuda, NULL, error))
    return FALSE;
  if (!s->is_begun && !find_order (s, slot) &&
      !(ndt_cuda_scan_ready (
            &cuda->scans[slot], slot, &cuda->thinner, &cuda->memory, cuda->stream, error) &&
          ndt_cuda_spread_reserve (cuda, slot, error) && ndt_cuda_spread_mark (cuda, error) &&
          ndt_cuda_spread_order (cuda, error)))
    return FALSE;
  return (s->is_begun || ndt_cuda_spread_begin (cuda, slot, params, result, error)) &&
         ndt_cuda_spread_end (cuda, result, error) && ndt_cuda_spread_wait_read (cuda, error);
}
