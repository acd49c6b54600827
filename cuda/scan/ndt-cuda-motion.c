/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-motion.h"

#include <string.h>

#include "cuda/device/ndt-cuda-testing.h"
#include "ndtcore/motion/ndt-deskew-slots.h"

static gsize
scalar_size (NdtScalar scalar)
{
  return scalar == NDT_SCALAR_F32 ? 4 : 8;
}

static gsize
time_size (NdtTimeType type)
{
  return type == NDT_TIME_F64 ? 8 : 4;
}

/* Whether the points are aligned records with coordinates and time. Sets the start of the first
 * record and the bytes of one without padding. */
static gboolean
get_records (
    const NdtCloudView *points, const NdtTimeView *times, const guint8 **first, gsize *size)
{
  const gsize scalar = scalar_size (points->scalar), time = time_size (times->type);
  const guint8 *begins[] = {points->x, points->y, points->z, times->data};
  const guint8 *lo = begins[0], *hi = begins[0] + scalar;
  guintptr axes = points->stride;
  for (guint i = 0; i < 4; i++) {
    lo = MIN (lo, begins[i]);
    hi = MAX (hi, begins[i] + (i < 3 ? scalar : time));
    if (i < 3)
      axes |= (guintptr)begins[i];
  }
  *first = lo;
  *size = (points->n_points - 1) * points->stride + (gsize)(hi - lo);
  return times->stride == points->stride && (gsize)(hi - lo) <= points->stride &&
         (axes & (scalar - 1)) == 0 && (((guintptr)times->data | times->stride) & (time - 1)) == 0;
}

typedef struct {
  const NdtCloudView *points;
  const NdtTimeView *times;
} Scan;

/* Offset of the time in a packed record, after three floats and aligned; and the size of a record.
 */
static gsize
packed_time (NdtTimeType type)
{
  return type == NDT_TIME_F64 ? 16 : 12;
}

static gsize
packed_size (NdtTimeType type)
{
  return packed_time (type) + time_size (type);
}

static void
pack (gconstpointer from, gsize first, gsize n, guint8 *to)
{
  const Scan *scan = from;
  const NdtCloudView *points = scan->points;
  const gsize stride = points->stride, time_stride = scan->times->stride;
  const gsize at = packed_time (scan->times->type), size = packed_size (scan->times->type);
  const guint8 *x = points->x + first * stride, *y = points->y + first * stride,
               *z = points->z + first * stride, *t = scan->times->data + first * time_stride;
  if (points->scalar == NDT_SCALAR_F32) {
    for (gsize i = 0; i < n; i++) {
      memcpy (to + size * i, x + i * stride, 4);
      memcpy (to + size * i + 4, y + i * stride, 4);
      memcpy (to + size * i + 8, z + i * stride, 4);
    }
  } else {
    for (gsize i = 0; i < n; i++) {
      double p[3];
      ndt_cloud_view_get (points, first + i, p);
      const float packed[3] = {(float)p[0], (float)p[1], (float)p[2]};
      memcpy (to + size * i, packed, 12);
    }
  }
  if (size - at == 4)
    for (gsize i = 0; i < n; i++)
      memcpy (to + size * i + at, t + i * time_stride, 4);
  else
    for (gsize i = 0; i < n; i++)
      memcpy (to + size * i + at, t + i * time_stride, 8);
}

static gboolean
launched (NdtCudaMemory *memory, cudaError_t status, guint n, const gchar *what, GError **error)
{
  ndt_cuda_count_launch (memory, n);
  if (ndt_cuda_inject_failure ("launch"))
    status = cudaErrorLaunchFailure;
  return ndt_cuda_check (memory, status, what, error);
}

/* The upload, and the kernels that sum up the times. */
static gboolean
begin (NdtCudaMoving *moving, NdtCudaMemory *memory, const NdtCloudView *points,
    const NdtTimeView *times, NdtCudaStaging *staging, cudaStream_t copy_stream,
    cudaStream_t stream, GError **error)
{
  const gsize n = points->n_points;
  const guint8 *first;
  gsize size;
  NdtCudaRaw raw = {.time_type = times->type, .n = (guint32)n};
  const gboolean whole = get_records (points, times, &first, &size);
  const gboolean locked = whole && ndt_cuda_is_locked (first, size);
  const gboolean as_it_is = locked || (whole && points->stride <= NDT_CUDA_MAX_RECORD);
  cudaError_t status = cudaSuccess;
  if (!as_it_is)
    size = n * packed_size (times->type);
  if (!ndt_cuda_reserve (memory, &moving->data, size + 8, error) ||
      !ndt_cuda_reserve (
          memory, &moving->times, (1 + NDT_CUDA_TIMES_BLOCKS) * sizeof (NdtCudaTimes), error) ||
      !ndt_cuda_host_reserve (memory, &moving->result, sizeof (NdtCudaTimes), error))
    return FALSE;
  if (!moving->copied)
    status = cudaEventCreateWithFlags (&moving->copied, cudaEventDisableTiming);
  if (status == cudaSuccess && !moving->read)
    status = cudaEventCreateWithFlags (&moving->read, cudaEventDisableTiming);
  if (status == cudaSuccess)
    status = cudaEventRecord (moving->read, stream);
  if (status == cudaSuccess)
    status = cudaStreamWaitEvent (copy_stream, moving->read, 0);
  if (!ndt_cuda_check (memory, status, "upload of a scan", error))
    return FALSE;
  guint8 *to = moving->data.data;
  if (as_it_is) {
    /* The copy has the source's alignment modulo 8, for doubles. */
    to += (guintptr)first & 7;
    raw.x = to + (points->x - first);
    raw.y = to + (points->y - first);
    raw.z = to + (points->z - first);
    raw.stride = points->stride;
    raw.is_double = points->scalar == NDT_SCALAR_F64;
    raw.times = to + (times->data - first);
    raw.time_stride = times->stride;
    if (!ndt_cuda_upload (memory, first, size, locked, staging, to, copy_stream, error))
      return FALSE;
  } else {
    const Scan scan = {points, times};
    raw.x = to;
    raw.y = to + 4;
    raw.z = to + 8;
    raw.stride = raw.time_stride = packed_size (times->type);
    raw.times = to + packed_time (times->type);
    if (!ndt_cuda_upload_records (
            memory, pack, &scan, n, raw.stride, staging, to, copy_stream, error))
      return FALSE;
  }
  if (!launched (memory,
          ndt_cuda_times_launch (&raw, moving->times.data, moving->result.data, copy_stream),
          NDT_CUDA_TIMES_LAUNCHES, "times of a scan", error) ||
      !ndt_cuda_check (
          memory, cudaEventRecord (moving->copied, copy_stream), "times of a scan", error))
    return FALSE;
  moving->raw = raw;
  moving->points = *points;
  moving->times_of = *times;
  moving->is_begun = TRUE;
  return TRUE;
}

static gboolean
is_same (const NdtCudaMoving *moving, const NdtCloudView *points, const NdtTimeView *times)
{
  const NdtCloudView *p = &moving->points;
  const NdtTimeView *t = &moving->times_of;
  return p->x == points->x && p->y == points->y && p->z == points->z &&
         p->stride == points->stride && p->n_points == points->n_points &&
         p->scalar == points->scalar && t->data == times->data && t->stride == times->stride &&
         t->type == times->type;
}

gboolean
ndt_cuda_moving_set (NdtCudaMoving *moving, NdtCudaMemory *memory, const NdtCloudView *points,
    const NdtTimeView *times, NdtCudaStaging *staging, cudaStream_t copy_stream,
    cudaStream_t stream, NdtTimeSpan *span, GError **error)
{
  const guint8 *first;
  gsize size;
  const gboolean is_begun = span && moving->is_begun && is_same (moving, points, times);
  moving->is_begun = FALSE;
  if (!is_begun)
    memset (&moving->raw, 0, sizeof (moving->raw));
  if (span)
    memset (span, 0, sizeof (*span));
  if (points->n_points == 0)
    return TRUE;
  if (!span && !(get_records (points, times, &first, &size) && ndt_cuda_is_locked (first, size)))
    return TRUE;
  if (!is_begun && !begin (moving, memory, points, times, staging, copy_stream, stream, error)) {
    memset (&moving->raw, 0, sizeof (moving->raw));
    return FALSE;
  }
  if (!span)
    return TRUE;
  moving->is_begun = FALSE;
  ndt_cuda_count_synchronization (memory);
  if (!ndt_cuda_check (memory, cudaEventSynchronize (moving->copied), "times of a scan", error) ||
      !ndt_cuda_check (
          memory, cudaStreamWaitEvent (stream, moving->copied, 0), "times of a scan", error)) {
    memset (&moving->raw, 0, sizeof (moving->raw));
    return FALSE;
  }
  const NdtCudaTimes *result = moving->result.data;
  ndt_cuda_count_download (memory, sizeof (*result));
  span->n_points = result->n;
  span->first = result->point_first;
  span->last = result->point_last;
  span->mean = result->sum / (double)MAX (result->n, 1);
  return TRUE;
}

gboolean
ndt_cuda_moving_get (NdtCudaMoving *moving, NdtCudaMemory *memory, const NdtScanMotion *motion,
    cudaStream_t stream, NdtCloudView *points, GError **error)
{
  const NdtCudaRaw *raw = &moving->raw;
  NdtCudaMotion job;
  *points = (NdtCloudView){raw->x, raw->y, raw->z, raw->stride, raw->n,
      raw->is_double ? NDT_SCALAR_F64 : NDT_SCALAR_F32};
  if (!motion || raw->n == 0)
    return TRUE;
  job.reference = motion->reference;
  memcpy (job.velocity, motion->velocity, sizeof (job.velocity));
  memcpy (job.acceleration, motion->acceleration, sizeof (job.acceleration));
  if (!ndt_cuda_reserve (
          memory, &moving->matrices, (NDT_DESKEW_SLOTS + 1) * sizeof (NdtCudaMatrix), error) ||
      !ndt_cuda_reserve (memory, &moving->moved, 12 * (gsize)raw->n, error) ||
      !launched (memory,
          ndt_cuda_motion_launch (
              raw, moving->times.data, &job, moving->matrices.data, moving->moved.data, stream),
          NDT_CUDA_MOTION_LAUNCHES, "motion compensation", error))
    return FALSE;
  *points = ndt_cloud_view_xyz_f32 (moving->moved.data, raw->n);
  return TRUE;
}

void
ndt_cuda_moving_clear (NdtCudaMoving *moving, NdtCudaMemory *memory)
{
  if (moving->copied)
    cudaEventDestroy (moving->copied);
  if (moving->read)
    cudaEventDestroy (moving->read);
  moving->copied = moving->read = NULL;
  ndt_cuda_free (memory, &moving->result);
  ndt_cuda_free (memory, &moving->data);
  ndt_cuda_free (memory, &moving->times);
  ndt_cuda_free (memory, &moving->matrices);
  ndt_cuda_free (memory, &moving->moved);
}
