/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-scan.h"

#include <string.h>

#include "cuda/device/ndt-cuda-testing.h"
#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/scan/ndt-scan-filter.h"
#include "ndtcore/scan/ndt-scan-sample.h"

/* Bytes before the points, which begin with their number. */
#define HEADER 256

static gboolean
is_packed_f32 (const NdtCloudView *view)
{
  return view->scalar == NDT_SCALAR_F32 && view->y == view->x + 4 && view->z == view->x + 8 &&
         view->stride % 4 == 0 && view->stride >= 12 && ((guintptr)view->x & 3) == 0;
}

/* Bytes of a record from its first coordinate to the end of its last; *first: start of the first
 * record. FALSE where the axes are separate arrays. */
static gboolean
get_span (const NdtCloudView *view, const guint8 **first, gsize *size)
{
  const guint8 *lo = MIN (view->x, MIN (view->y, view->z));
  const guint8 *hi = MAX (view->x, MAX (view->y, view->z));
  const gsize scalar = view->scalar == NDT_SCALAR_F32 ? 4 : 8;
  if ((gsize)(hi - lo) + scalar > view->stride || view->n_points == 0)
    return FALSE;
  *first = lo;
  *size = (view->n_points - 1) * view->stride + (gsize)(hi - lo) + scalar;
  return TRUE;
}

static gboolean
is_aligned (const NdtCloudView *view)
{
  const guintptr scalar = view->scalar == NDT_SCALAR_F32 ? 4 : 8;
  return (((guintptr)view->x | (guintptr)view->y | (guintptr)view->z | view->stride) &
             (scalar - 1)) == 0;
}

/* Records that the thinning reads in whole words. */
static gboolean
is_staged (const NdtCloudView *view)
{
  return is_packed_f32 (view) && view->stride <= NDT_CUDA_THIN_RECORD &&
         ((guintptr)view->x & 15) == 0;
}

/* Packed floats of a view. */
static void
pack (gconstpointer from, gsize first, gsize n, guint8 *to)
{
  const NdtCloudView *view = from;
  const gsize stride = view->stride;
  const guint8 *x = view->x + first * stride, *y = view->y + first * stride,
               *z = view->z + first * stride;
  if (view->scalar == NDT_SCALAR_F32 && y == x + 4 && z == x + 8) {
    for (gsize i = 0; i < n; i++)
      memcpy (to + 12 * i, x + i * stride, 12);
  } else if (view->scalar == NDT_SCALAR_F32) {
    for (gsize i = 0; i < n; i++) {
      memcpy (to + 12 * i, x + i * stride, 4);
      memcpy (to + 12 * i + 4, y + i * stride, 4);
      memcpy (to + 12 * i + 8, z + i * stride, 4);
    }
  } else {
    for (gsize i = 0; i < n; i++) {
      double p[3];
      ndt_cloud_view_get (view, first + i, p);
      const float packed[3] = {(float)p[0], (float)p[1], (float)p[2]};
      memcpy (to + 12 * i, packed, 12);
    }
  }
}

static guint
table_bits (guint n)
{
  guint bits = 10;
  while (((gsize)1 << bits) < 2 * (gsize)n)
    bits++;
  return bits;
}

/* Uploads a raw scan: unchanged, or packed where its records are large or its axes are separate
 * arrays. */
static gboolean
upload_raw (NdtCudaThinner *thinner, NdtCudaRawCopy *raw, NdtCudaMemory *memory,
    const NdtCloudView *view, cudaStream_t stream, GError **error)
{
  const gsize n = view->n_points;
  const guint8 *first;
  gsize size;
  raw->view = *view;
  if (n == 0)
    return TRUE;
  const gboolean whole = get_span (view, &first, &size) && is_aligned (view);
  const gboolean locked = whole && ndt_cuda_is_locked (first, size);
  if (!locked && !(whole && view->stride <= NDT_CUDA_MAX_RECORD)) {
    if (!ndt_cuda_reserve (memory, &raw->memory, 12 * n, error) ||
        !ndt_cuda_upload_records (
            memory, pack, view, n, 12, &thinner->staging, raw->memory.data, stream, error))
      return FALSE;
    raw->view = ndt_cloud_view_xyz_f32 (raw->memory.data, n);
    return TRUE;
  }
  /* The copy has the source's alignment modulo 8, for doubles. */
  const gsize shift = (guintptr)first & 7;
  if (!ndt_cuda_reserve (memory, &raw->memory, size + 8, error))
    return FALSE;
  guint8 *to = (guint8 *)raw->memory.data + shift;
  if (!ndt_cuda_upload (memory, first, size, locked, &thinner->staging, to, stream, error))
    return FALSE;
  raw->view.x = to + (view->x - first);
  raw->view.y = to + (view->y - first);
  raw->view.z = to + (view->z - first);
  return TRUE;
}

gboolean
ndt_cuda_scan_copy (
    NdtCudaScan *scan, guint k, NdtCudaThinner *thinner, NdtCudaMemory *memory, GError **error)
{
  NdtCudaRawCopy *raw = &thinner->raw[k % NDT_CUDA_RAW_COPIES];
  if (!scan->waits)
    return TRUE;
  for (guint i = 0; i < NDT_CUDA_RAW_COPIES; i++)
    if (thinner->raw[i].owner == scan)
      return TRUE;
  raw->owner = NULL;
  /* The scan that was there before may still be read. */
  if (!ndt_cuda_check (memory, cudaStreamWaitEvent (thinner->copy_stream, raw->read, 0),
          "upload of a scan", error) ||
      !upload_raw (thinner, raw, memory, &scan->view, thinner->copy_stream, error) ||
      !ndt_cuda_check (
          memory, cudaEventRecord (raw->copied, thinner->copy_stream), "upload of a scan", error))
    return FALSE;
  raw->owner = scan;
  return TRUE;
}

/* Reserves scratch memory for thinning @n points, and the destination. */
static gboolean
prepare (NdtCudaScan *to, guint n_out, NdtCudaThinner *thinner, NdtCudaMemory *memory, guint n,
    float leaf_size, gboolean sample, cudaStream_t stream, NdtCudaThin *job, GError **error)
{
  const guint n_blocks = (n + NDT_CUDA_THIN_BLOCK - 1) / NDT_CUDA_THIN_BLOCK;
  memset (job, 0, sizeof (*job));
  to->n_points = 0;
  to->host = NULL;
  to->on_device = to->thinned = FALSE;
  if (!ndt_cuda_reserve (memory, &to->points, HEADER + (gsize)n_out * 12, error) ||
      !ndt_cuda_reserve (
          memory, &thinner->scratch, ((gsize)n + 2 * (gsize)n_blocks) * sizeof (guint32), error))
    return FALSE;
  job->n_points = to->points.data;
  job->points = (float *)((guint8 *)to->points.data + HEADER);
  job->slot_of = thinner->scratch.data;
  job->counts = job->slot_of + n;
  job->kept = job->counts + n_blocks;
  job->sample = sample;
  job->early = thinner->early;
  job->n_raw = n;
  job->leaf_size = leaf_size;
  if (leaf_size > 0 && n > 0) {
    const guint bits = table_bits (n);
    const gsize size = sizeof (NdtCudaLeaf) << bits;
    const gboolean is_new = size > thinner->leaves.size;
    if (!ndt_cuda_reserve (memory, &thinner->leaves, size, error))
      return FALSE;
    if (is_new && !ndt_cuda_check (memory, cudaMemsetAsync (thinner->leaves.data, 0, size, stream),
                      "clearing memory", error))
      return FALSE;
    job->leaves = thinner->leaves.data;
    job->leaf_shift = (gint32)(64 - bits);
  }
  to->n_points = n_out;
  to->on_device = to->thinned = TRUE;
  return TRUE;
}

static gboolean
launch (NdtCudaMemory *memory, const NdtCudaThin *job, cudaStream_t stream, GError **error)
{
  cudaError_t status;
  if (job->n_raw == 0)
    return ndt_cuda_check (
        memory, cudaMemsetAsync (job->n_points, 0, sizeof (guint32), stream), "empty scan", error);
  status = ndt_cuda_inject_failure ("launch") ? cudaErrorLaunchFailure
                                              : ndt_cuda_thin_launch (job, stream);
  ndt_cuda_count_launch (memory, NDT_CUDA_THIN_LAUNCHES (job->sample));
  return ndt_cuda_check_launch (memory, status, "thinning of a scan", error);
}

static gboolean
thin (NdtCudaScan *scan, NdtCudaThinner *thinner, NdtCudaMemory *memory, const NdtCloudView *raw,
    const NdtScanFilter *filter, cudaStream_t stream, GError **error)
{
  const guint n = (guint)raw->n_points;
  NdtCudaThin job;
  if (!prepare (scan, n, thinner, memory, n, filter->leaf_size, FALSE, stream, &job, error))
    return FALSE;
  job.x = raw->x;
  job.y = raw->y;
  job.z = raw->z;
  job.stride = raw->stride;
  job.is_double = raw->scalar == NDT_SCALAR_F64;
  job.staged = is_staged (raw);
  job.min_range = filter->min_range;
  job.max_range = filter->max_range;
  job.use_box = filter->use_box;
  memcpy (job.box_min, filter->box_min, sizeof (job.box_min));
  memcpy (job.box_max, filter->box_max, sizeof (job.box_max));
  return launch (memory, &job, stream, error);
}

gboolean
ndt_cuda_scan_thin (NdtCudaScan *scan, NdtCudaThinner *thinner, NdtCudaMemory *memory,
    const NdtCloudView *raw, const NdtScanFilter *filter, cudaStream_t stream, GError **error)
{
  scan->waits = FALSE;
  return thin (scan, thinner, memory, raw, filter, stream, error);
}

/* Whether the thinning reads the scan where it is, in the host's memory, instead of its copy: at
 * the rate of a copy, and each point's leaf is found while the next ones come. Without leaves the
 * points would be read twice; and multiprocessors wait that others have work for. */
static gboolean
is_in_place (const NdtCudaThinner *thinner, const NdtCudaScan *scan)
{
  const NdtCloudView *view = &scan->view;
  return thinner->alone && scan->filter.leaf_size > 0 && view->n_points > 0 && is_staged (view) &&
         ndt_cuda_is_locked (view->x, (view->n_points - 1) * view->stride + 12);
}

static gboolean
make_ready (NdtCudaScan *scan, guint k, NdtCudaThinner *thinner, NdtCudaMemory *memory,
    cudaStream_t stream, GError **error)
{
  NdtCudaRawCopy *raw = NULL;
  for (guint i = 0; i < NDT_CUDA_RAW_COPIES; i++)
    if (thinner->raw[i].owner == scan)
      raw = &thinner->raw[i];
  const gboolean is_copied = raw != NULL;
  if (!is_copied && is_in_place (thinner, scan)) {
    ndt_cuda_count_upload (memory, (scan->view.n_points - 1) * scan->view.stride + 12);
    return thin (scan, thinner, memory, &scan->view, &scan->filter, stream, error);
  }
  if (!raw)
    raw = &thinner->raw[k % NDT_CUDA_RAW_COPIES];
  /* Its own copy, or one that may still be made of a scan that loses it. */
  raw->owner = NULL;
  return ndt_cuda_check (
             memory, cudaStreamWaitEvent (stream, raw->copied, 0), "upload of a scan", error) &&
         (is_copied || upload_raw (thinner, raw, memory, &scan->view, stream, error)) &&
         thin (scan, thinner, memory, &raw->view, &scan->filter, stream, error) &&
         ndt_cuda_check (memory, cudaEventRecord (raw->read, stream), "thinning of a scan", error);
}

gboolean
ndt_cuda_scan_ready (NdtCudaScan *scan, guint k, NdtCudaThinner *thinner, NdtCudaMemory *memory,
    cudaStream_t stream, GError **error)
{
  if (!scan->waits)
    return TRUE;
  if (make_ready (scan, k, thinner, memory, stream, error)) {
    scan->waits = FALSE;
    return TRUE;
  }
  /* It still waits: another attempt has the same error, if it lasts. */
  scan->n_points = (guint)scan->view.n_points;
  scan->thinned = TRUE;
  return FALSE;
}

gboolean
ndt_cuda_scan_sample (NdtCudaScan *scan, NdtCudaScan *to, NdtCudaThinner *thinner,
    NdtCudaMemory *memory, float leaf_size, cudaStream_t stream, GError **error)
{
  NdtCudaSource source;
  NdtCudaThin job;
  to->waits = FALSE;
  if (!ndt_cuda_scan_upload (scan, memory, stream, error))
    return FALSE;
  ndt_cuda_scan_get_source (scan, &source);
  if (!prepare (to, MIN (scan->n_points, NDT_SAMPLE_MOST), thinner, memory, scan->n_points,
          leaf_size, TRUE, stream, &job, error))
    return FALSE;
  job.x = (const guint8 *)source.points;
  job.y = job.x + 4;
  job.z = job.x + 8;
  job.stride = source.stride * sizeof (float);
  job.n_raw_device = source.n_points_device;
  return launch (memory, &job, stream, error);
}

gboolean
ndt_cuda_scan_set (NdtCudaScan *scan, NdtCudaThinner *thinner, NdtCudaMemory *memory,
    const NdtCloudView *view, const NdtScanFilter *filter, GError **error)
{
  const gboolean plain = !(filter->min_range > 0) && !(filter->max_range > 0) && !filter->use_box &&
                         !(filter->leaf_size > 0);
  scan->n_points = 0;
  scan->host = NULL;
  scan->on_device = scan->thinned = FALSE;
  scan->waits = FALSE;
  for (guint i = 0; i < NDT_CUDA_RAW_COPIES; i++)
    if (thinner->raw[i].owner == scan)
      thinner->raw[i].owner = NULL;
  if (!plain || view->n_points > NDT_CUDA_MAX_IN_PLACE) {
    scan->n_points = (guint)view->n_points;
    scan->thinned = scan->waits = TRUE;
    scan->view = *view;
    scan->filter = *filter;
    return TRUE;
  }

  const gsize n = view->n_points;
  if (n > 0 && is_packed_f32 (view) && view->stride <= 32 &&
      ndt_cuda_is_locked (view->x, (n - 1) * view->stride + 12)) {
    scan->host = (const float *)view->x;
    scan->host_stride = (guint)(view->stride / 4);
  } else {
    if (!ndt_cuda_host_reserve (memory, &scan->staging, MAX (n, 1) * 12, error))
      return FALSE;
    pack (view, 0, n, scan->staging.data);
    scan->host = scan->staging.data;
    scan->host_stride = 3;
  }
  scan->n_points = (guint)n;
  ndt_cuda_count_upload (memory, n * 12);
  return TRUE;
}

gboolean
ndt_cuda_scan_get (NdtCudaScan *scan, NdtCudaMemory *memory, float *xyz, guint max_points,
    guint *n_points, cudaStream_t stream, GError **error)
{
  static const float none[3];
  guint32 n = 0;
  if (!scan->thinned) {
    for (guint i = 0; i < scan->n_points; i++) {
      const float *p = scan->host + (gsize)i * scan->host_stride;
      if (!ndt_scan_keep (p[0], p[1], p[2], 0, 0, FALSE, none, none))
        continue;
      if (n < max_points)
        memcpy (xyz + 3 * (gsize)n, p, 12);
      n++;
    }
    *n_points = n;
    return TRUE;
  }
  cudaError_t status =
      cudaMemcpyAsync (&n, scan->points.data, sizeof (n), cudaMemcpyDefault, stream);
  if (status == cudaSuccess)
    status = cudaStreamSynchronize (stream);
  const gsize size = (gsize)MIN (n, max_points) * 12;
  if (status == cudaSuccess && size > 0)
    status = cudaMemcpyAsync (
        xyz, (const guint8 *)scan->points.data + HEADER, size, cudaMemcpyDefault, stream);
  if (status == cudaSuccess)
    status = cudaStreamSynchronize (stream);
  if (!ndt_cuda_check (memory, status, "download of a scan", error))
    return FALSE;
  ndt_cuda_count_download (memory, sizeof (n) + size);
  ndt_cuda_count_synchronization (memory);
  *n_points = n;
  return TRUE;
}

gboolean
ndt_cuda_scan_upload (NdtCudaScan *scan, NdtCudaMemory *memory, cudaStream_t stream, GError **error)
{
  if (scan->on_device || scan->n_points == 0)
    return TRUE;
  const gsize size = ((gsize)(scan->n_points - 1) * scan->host_stride + 3) * sizeof (float);
  if (!ndt_cuda_reserve (memory, &scan->points, HEADER + size, error))
    return FALSE;
  if (!ndt_cuda_check (memory,
          cudaMemcpyAsync (
              (guint8 *)scan->points.data + HEADER, scan->host, size, cudaMemcpyDefault, stream),
          "upload of a scan", error))
    return FALSE;
  ndt_cuda_count_upload (memory, size);
  scan->on_device = TRUE;
  return TRUE;
}

void
ndt_cuda_scan_get_source (const NdtCudaScan *scan, NdtCudaSource *source)
{
  source->n_points = scan->n_points;
  if (scan->on_device) {
    source->points = (const float *)((const guint8 *)scan->points.data + HEADER);
    source->stride = scan->thinned ? 3 : scan->host_stride;
    source->n_points_device = scan->thinned ? scan->points.data : NULL;
  } else {
    source->points = scan->host;
    source->stride = scan->host_stride;
    source->n_points_device = NULL;
  }
}

void
ndt_cuda_scan_clear (NdtCudaScan *scan, NdtCudaMemory *memory)
{
  ndt_cuda_free (memory, &scan->staging);
  ndt_cuda_free (memory, &scan->points);
  ndt_cuda_moving_clear (&scan->moving, memory);
}

gboolean
ndt_cuda_thinner_init (NdtCudaThinner *thinner, NdtCudaMemory *memory, int priority, GError **error)
{
  cudaError_t status =
      cudaStreamCreateWithPriority (&thinner->copy_stream, cudaStreamNonBlocking, priority);
  for (guint i = 0; i < NDT_CUDA_RAW_COPIES && status == cudaSuccess; i++) {
    status = cudaEventCreateWithFlags (&thinner->raw[i].copied, cudaEventDisableTiming);
    if (status == cudaSuccess)
      status = cudaEventCreateWithFlags (&thinner->raw[i].read, cudaEventDisableTiming);
  }
  if (status == cudaSuccess)
    status = ndt_cuda_thin_is_early (&thinner->early);
  thinner->alone = TRUE;
  return ndt_cuda_check (memory, status, "a stream for uploads", error);
}

void
ndt_cuda_thinner_clear (NdtCudaThinner *thinner, NdtCudaMemory *memory)
{
  if (thinner->copy_stream)
    cudaStreamSynchronize (thinner->copy_stream);
  ndt_cuda_staging_clear (&thinner->staging, memory);
  for (guint i = 0; i < NDT_CUDA_RAW_COPIES; i++) {
    if (thinner->raw[i].copied)
      cudaEventDestroy (thinner->raw[i].copied);
    if (thinner->raw[i].read)
      cudaEventDestroy (thinner->raw[i].read);
    ndt_cuda_free (memory, &thinner->raw[i].memory);
  }
  ndt_cuda_free (memory, &thinner->scratch);
  ndt_cuda_free (memory, &thinner->leaves);
  if (thinner->copy_stream)
    cudaStreamDestroy (thinner->copy_stream);
  thinner->copy_stream = NULL;
}
