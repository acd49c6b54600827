/* SPDX-License-Identifier: MIT */
/* Upload of scans. Private to cuda/. */
#pragma once

#include "cuda/device/ndt-cuda-memory.h"
#include "ndt-cuda-motion.h"
#include "ndt-cuda-thin.h"

G_BEGIN_DECLS

/**
 * NdtCudaScan:
 * @n_points: their number, or its upper bound where @thinned
 * @host: points in page-locked memory that the device can read; NULL where they are only on the
 *   device
 * @host_stride: floats from one to the next
 * @on_device: @points holds them: packed where they were thinned, or a copy of @host
 * @thinned: the number of points is on the device, before the points
 * @waits: a raw scan that is not thinned yet: @view by @filter
 *
 * A scan without a filter is not copied, or is in @staging: the first alignment reads it from host
 * memory when it begins. A raw scan is copied and thinned on the device when it is used, after
 * motion compensation where it has times; in a backlog it is copied while the scans before are
 * aligned, and a single one is thinned from the host's memory. Samples of both are made on the
 * device.
 */
typedef struct {
  guint n_points;
  const float *host;
  guint host_stride;
  gboolean on_device;
  gboolean thinned;
  gboolean waits;
  NdtCloudView view;
  NdtScanFilter filter;
  NdtCudaBuffer staging;
  NdtCudaBuffer points;
  NdtCudaMoving moving;
} NdtCudaScan;

/**
 * NdtCudaRawCopy:
 * @owner: the scan that it is of, while that one waits; NULL: none
 * @view: of device memory
 * @copied: recorded in the copy stream after the copy; likewise @read after the copy was read, in
 *   the stream of alignments
 *
 * A raw scan on the device.
 */
typedef struct {
  NdtCudaBuffer memory;
  const NdtCudaScan *owner;
  NdtCloudView view;
  cudaEvent_t copied;
  cudaEvent_t read;
} NdtCudaRawCopy;

#define NDT_CUDA_RAW_COPIES 2

/**
 * NdtCudaThinner:
 * @copy_stream: of uploads of raw scans, so that one is copied while another is thinned or aligned
 * @alone: no other backend of the process had begun an alignment on the device within a millisecond
 *   when this one last began one
 * @early: as of NdtCudaThin
 *
 * Memory for uploads and thinning, shared by all scans of a stream. Set up by
 * ndt_cuda_thinner_init().
 */
typedef struct {
  cudaStream_t copy_stream;
  NdtCudaStaging staging;
  NdtCudaRawCopy raw[NDT_CUDA_RAW_COPIES];
  NdtCudaBuffer scratch;
  NdtCudaBuffer leaves;
  gboolean alone;
  gint32 early;
} NdtCudaThinner;

gboolean ndt_cuda_thinner_init (
    NdtCudaThinner *thinner, NdtCudaMemory *memory, int priority, GError **error);
gboolean ndt_cuda_scan_set (NdtCudaScan *scan, NdtCudaThinner *thinner, NdtCudaMemory *memory,
    const NdtCloudView *view, const NdtScanFilter *filter, GError **error);
/* Begins the upload of a scan that waits, in the copy stream, where that overlaps with other work.
 * @k: which of the copies receives it: the one before is lost where its scan still waits, and made
 * again. */
gboolean ndt_cuda_scan_copy (
    NdtCudaScan *scan, guint k, NdtCudaThinner *thinner, NdtCudaMemory *memory, GError **error);
/* Thins a scan that waits; asynchronous, in the stream, where it is copied first if it was not
 * before. @k: as of ndt_cuda_scan_copy(). */
gboolean ndt_cuda_scan_ready (NdtCudaScan *scan, guint k, NdtCudaThinner *thinner,
    NdtCudaMemory *memory, cudaStream_t stream, GError **error);
/* Thins a raw scan in device memory, aligned to its type; asynchronous, in the stream. */
gboolean ndt_cuda_scan_thin (NdtCudaScan *scan, NdtCudaThinner *thinner, NdtCudaMemory *memory,
    const NdtCloudView *raw, const NdtScanFilter *filter, cudaStream_t stream, GError **error);
/* Makes the sample of a scan by the rules of ndt-scan-sample.h; @to: (out). */
gboolean ndt_cuda_scan_sample (NdtCudaScan *scan, NdtCudaScan *to, NdtCudaThinner *thinner,
    NdtCudaMemory *memory, float leaf_size, cudaStream_t stream, GError **error);
/* Waits for the stream. */
gboolean ndt_cuda_scan_get (NdtCudaScan *scan, NdtCudaMemory *memory, float *xyz, guint max_points,
    guint *n_points, cudaStream_t stream, GError **error);
/* Copies the points to the device, for alignments that read them more than once. */
gboolean ndt_cuda_scan_upload (
    NdtCudaScan *scan, NdtCudaMemory *memory, cudaStream_t stream, GError **error);
void ndt_cuda_scan_get_source (const NdtCudaScan *scan, NdtCudaSource *source);
void ndt_cuda_scan_clear (NdtCudaScan *scan, NdtCudaMemory *memory);
void ndt_cuda_thinner_clear (NdtCudaThinner *thinner, NdtCudaMemory *memory);

G_END_DECLS
