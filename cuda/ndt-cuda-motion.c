/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-motion.h"

#include <string.h>

#include "ndtcore/ndt-deskew-slots.h"

/* Where doubles may begin. */
#define ALIGN(size) (((size) + 7) & ~(gsize)7)

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

/* Records that hold coordinates and time, page-locked and aligned: they go up as they are. Stores
 * where they begin and how many bytes they are, padding aside. */
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
         (axes & (scalar - 1)) == 0 &&
         (((guintptr)times->data | times->stride) & (time - 1)) == 0 &&
         ndt_cuda_is_locked (*first, *size);
}

/* Packed floats, and packed times after them. */
static void
pack (const NdtCloudView *points, const NdtTimeView *times, guint8 *to)
{
  const gsize n = points->n_points, time = time_size (times->type);
  float *xyz = (float *)(gpointer)to;
  guint8 *packed_times = to + ALIGN (12 * n);
  for (gsize i = 0; i < n; i++) {
    if (points->scalar == NDT_SCALAR_F32) {
      memcpy (xyz + 3 * i, points->x + i * points->stride, 4);
      memcpy (xyz + 3 * i + 1, points->y + i * points->stride, 4);
      memcpy (xyz + 3 * i + 2, points->z + i * points->stride, 4);
    } else {
      double p[3];
      ndt_cloud_view_get (points, i, p);
      for (guint k = 0; k < 3; k++)
        xyz[3 * i + k] = (float)p[k];
    }
  }
  if (time == 4)
    for (gsize i = 0; i < n; i++)
      memcpy (packed_times + 4 * i, times->data + i * times->stride, 4);
  else
    for (gsize i = 0; i < n; i++)
      memcpy (packed_times + 8 * i, times->data + i * times->stride, 8);
}

static gboolean
launched (NdtCudaMemory *memory, cudaError_t status, guint n, const gchar *what, GError **error)
{
  ndt_cuda_count_launch (memory, n);
  if (ndt_cuda_inject_failure ("launch"))
    status = cudaErrorLaunchFailure;
  return ndt_cuda_check (memory, status, what, error);
}

gboolean
ndt_cuda_moving_set (NdtCudaMoving *moving, NdtCudaMemory *memory, const NdtCloudView *points,
    const NdtTimeView *times, cudaStream_t stream, NdtTimeSpan *span, GError **error)
{
  const gsize n = points->n_points;
  const guint8 *first;
  gsize size;
  memset (&moving->raw, 0, sizeof (moving->raw));
  memset (span, 0, sizeof (*span));
  if (n == 0)
    return TRUE;
  NdtCudaRaw raw = {.time_type = times->type, .n = (guint32)n};
  const gboolean direct = get_records (points, times, &first, &size);
  if (!direct) {
    size = ALIGN (12 * n) + n * time_size (times->type);
    if (!ndt_cuda_host_reserve (memory, &moving->staging, size, error))
      return FALSE;
    pack (points, times, moving->staging.data);
    first = moving->staging.data;
  }
  if (!ndt_cuda_reserve (memory, &moving->data, size + 8, error) ||
      !ndt_cuda_reserve (
          memory, &moving->times, (1 + NDT_CUDA_TIMES_BLOCKS) * sizeof (NdtCudaTimes), error) ||
      !ndt_cuda_host_reserve (memory, &moving->result, sizeof (NdtCudaTimes), error))
    return FALSE;
  guint8 *to = (guint8 *)moving->data.data + ((guintptr)first & 7);
  if (direct) {
    raw.x = to + (points->x - first);
    raw.y = to + (points->y - first);
    raw.z = to + (points->z - first);
    raw.stride = points->stride;
    raw.is_double = points->scalar == NDT_SCALAR_F64;
    raw.times = to + (times->data - first);
    raw.time_stride = times->stride;
  } else {
    raw.x = to;
    raw.y = to + 4;
    raw.z = to + 8;
    raw.stride = 12;
    raw.times = to + ALIGN (12 * n);
    raw.time_stride = time_size (times->type);
  }
  NdtCudaTimes *result = moving->result.data;
  ndt_cuda_count_upload (memory, size);
  if (!ndt_cuda_check (memory, cudaMemcpyAsync (to, first, size, cudaMemcpyDefault, stream),
          "upload of a scan", error) ||
      !launched (memory, ndt_cuda_times_launch (&raw, moving->times.data, result, stream),
          NDT_CUDA_TIMES_LAUNCHES, "times of a scan", error))
    return FALSE;
  ndt_cuda_count_synchronization (memory);
  if (!ndt_cuda_check (memory, cudaStreamSynchronize (stream), "times of a scan", error))
    return FALSE;
  ndt_cuda_count_download (memory, sizeof (*result));
  moving->raw = raw;
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
  ndt_cuda_free (memory, &moving->staging);
  ndt_cuda_free (memory, &moving->result);
  ndt_cuda_free (memory, &moving->data);
  ndt_cuda_free (memory, &moving->times);
  ndt_cuda_free (memory, &moving->matrices);
  ndt_cuda_free (memory, &moving->moved);
}
