/* SPDX-License-Identifier: MIT */
#include "ndt-cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-cuda-frames.h"
#include "ndt-cuda-kernels.h"
#include "ndt-cuda-map.h"
#include "ndt-cuda-memory.h"
#include "ndt-cuda-scan.h"
#include "ndtcore/ndt-formulas.h"

/* How far a point may move, in cells, before its voxels are looked up again. */
#define DEFAULT_REUSE 0.125f
/* Time that a caller spins for a result before it sleeps, µs. */
#define SPIN_TIME 2000

typedef struct {
  NdtBackend parent;
  gint device;
  NdtCudaLimits limits;
  NdtCudaShape shape; /* that the environment asks for; size 0: none */
  gint lanes;         /* that the environment asks for; 0: none */
  float reuse;
  NdtCudaMemory memory;
  cudaStream_t stream;
  cudaStream_t cancel_stream;
  NdtCudaMaps maps;
  NdtCudaScan scans[NDT_N_SLOTS];
  NdtCudaBuffer state;   /* on the device: State, exchange */
  NdtCudaBuffer signals; /* on the host: Signals */
  NdtCudaBuffer results; /* on the host */
  NdtCudaBuffer starts;  /* on the host */
  guint32 ticket;
  gint cancelled; /* atomic */
} CudaBackend;

/* All zero at first. */
typedef struct {
  guint32 cancelled;
  guint32 n_done;
  guint32 sequence;
  guint32 reserved[61];
} State;

/* Written by the device. */
typedef struct {
  volatile guint32 finished;
  volatile guint32 fault;
} Signals;

/* Another thread may have another device current. */
static gboolean
enter (CudaBackend *cuda, GError **error)
{
  return ndt_cuda_memory_usable (&cuda->memory, error) &&
         ndt_cuda_check (
             &cuda->memory, cudaSetDevice (cuda->device), "selecting the device", error);
}

/* ---- Maps and scans ---- */

static gboolean
cuda_set_map (NdtBackend *backend, NdtVoxelMap *map, GError **error)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  return enter (cuda, error) && ndt_cuda_maps_set (&cuda->maps, &cuda->memory, map, error);
}

static gboolean
cuda_set_map_from_points (NdtBackend *backend, const NdtVoxelMapParams *params,
    const NdtCloudView *points, NdtVoxelMap **out_map, GError **error)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  if (!enter (cuda, error))
    return FALSE;
  if (!params->keep_details)
    return ndt_cuda_maps_build (&cuda->maps, &cuda->memory, params, points, out_map, error);
  /* Details are for people, who do not mind the time. */
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (params, points, error);
  if (!map || !ndt_cuda_maps_set (&cuda->maps, &cuda->memory, map, error))
    return FALSE;
  if (out_map)
    *out_map = g_steal_pointer (&map);
  return TRUE;
}

static gboolean
cuda_set_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtScanFilter *filter, GError **error)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  if (!enter (cuda, error) ||
      !ndt_cuda_scan_set (&cuda->scans[slot], &cuda->memory, points, filter, cuda->stream, error))
    return FALSE;
  g_mutex_lock (&cuda->memory.lock);
  cuda->memory.counters.scans++;
  g_mutex_unlock (&cuda->memory.lock);
  return TRUE;
}

static gboolean
cuda_set_moving_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtTimeView *times, NdtTimeSpan *span, GError **error)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  return enter (cuda, error) && ndt_cuda_moving_set (&cuda->scans[slot].moving, &cuda->memory,
                                    points, times, cuda->stream, span, error);
}

static gboolean
cuda_move_scan (NdtBackend *backend, guint slot, const NdtScanMotion *motion,
    const NdtScanFilter *filter, GError **error)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  NdtCudaScan *scan = &cuda->scans[slot];
  NdtCloudView points;
  if (!enter (cuda, error) ||
      !ndt_cuda_moving_get (&scan->moving, &cuda->memory, motion, cuda->stream, &points, error) ||
      !ndt_cuda_scan_thin (scan, &cuda->memory, &points, filter, cuda->stream, error))
    return FALSE;
  g_mutex_lock (&cuda->memory.lock);
  cuda->memory.counters.scans++;
  g_mutex_unlock (&cuda->memory.lock);
  return TRUE;
}

static gboolean
cuda_get_scan (
    NdtBackend *backend, guint slot, float *xyz, guint max_points, guint *n_points, GError **error)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  return enter (cuda, error) && ndt_cuda_scan_get (&cuda->scans[slot], &cuda->memory, xyz,
                                    max_points, n_points, cuda->stream, error);
}

/* ---- Alignments ---- */

static guint
largest_power (guint limit, guint most)
{
  guint n = 1;
  while (2 * n <= MIN (limit, most))
    n *= 2;
  return n;
}

/* How to spread @n_starts alignments of @n_points points over the device. */
static NdtCudaShape
choose_shape (const CudaBackend *cuda, guint n_points, guint n_starts)
{
  NdtCudaShape shape = cuda->shape;
  /* Sums depend on it, so it may depend on the scan alone. */
  shape.lanes = cuda->lanes ? cuda->lanes : n_points <= 8192 ? 4 : n_points <= 32768 ? 2 : 1;
  if (shape.size == 0) {
    const guint processors = (guint)cuda->limits.n_processors;
    /* A few starts share the device between them. Of many, several blocks share a processor, which
     * leaves no room to keep voxels, and gains more than that. */
    const gboolean many = 4 * n_starts >= processors || cuda->limits.max_shared < 131072;
    shape.threads = many ? 256 : 512;
    shape.n_slots = many ? 1 : 0;
    shape.size =
        (gint)largest_power ((guint)cuda->limits.max_cluster, MAX (4, processors / n_starts));
    /* One start, or a few where there are no clusters, have the device in turn. */
    if (cuda->limits.max_grid >= 16 &&
        (n_starts == 1 || !ndt_cuda_align_fits (&cuda->limits, &shape) ||
            (cuda->limits.max_cluster < 4 && 4 * n_starts < processors))) {
      shape.grid = 1;
      shape.size = (gint)MAX (16, largest_power ((guint)cuda->limits.max_grid, 128));
      shape.threads = 256;
      shape.n_slots = 0;
    }
  }
  if (shape.n_slots == 0)
    shape.n_slots = ndt_cuda_align_slots (&shape, n_points);
  shape.n_slots = MIN (shape.n_slots, ndt_cuda_align_max_slots (&cuda->limits, &shape));
  return shape;
}

static gboolean
wait (CudaBackend *cuda, GError **error)
{
  const Signals *signals = cuda->signals.data;
  const gint64 give_up = g_get_monotonic_time () + SPIN_TIME;
  guint spins = 0;
  ndt_cuda_count_synchronization (&cuda->memory);
  while (__atomic_load_n (&signals->finished, __ATOMIC_ACQUIRE) != cuda->ticket) {
#if defined(__x86_64__)
    __builtin_ia32_pause ();
#endif
    if (++spins % 256 == 0 && g_get_monotonic_time () > give_up) {
      if (!ndt_cuda_check (&cuda->memory, cudaStreamSynchronize (cuda->stream), "alignment", error))
        return FALSE;
      if (__atomic_load_n (&signals->finished, __ATOMIC_ACQUIRE) != cuda->ticket)
        return ndt_cuda_fail (&cuda->memory,
            signals->fault ? "blocks of an alignment lost each other"
                           : "an alignment ended without a result",
            error);
    }
  }
  return TRUE;
}

static void
fill_job (CudaBackend *cuda, NdtCudaJob *job, const NdtAlignParams *params)
{
  State *state = cuda->state.data;
  Signals *signals = cuda->signals.data;
  ndt_cuda_maps_get (&cuda->maps, job);
  for (gint i = 0; i < job->n_levels; i++) {
    const NdtGauss gauss = ndt_gauss (params->outlier_ratio, job->levels[i].resolution);
    job->inverse_resolution[i] = (float)(1 / job->levels[i].resolution);
    job->d1[i] = (float)gauss.d1;
    job->d2[i] = (float)gauss.d2;
  }
  job->translation_epsilon = params->translation_epsilon;
  job->rotation_epsilon = params->rotation_epsilon;
  job->max_translation_step = params->max_translation_step;
  job->max_rotation_step = params->max_rotation_step;
  job->neighbours = (gint32)params->neighbours;
  job->max_iterations = (gint32)params->max_iterations;
  job->reuse = cuda->reuse;
  job->cancelled = &state->cancelled;
  job->n_done = &state->n_done;
  job->sequence = &state->sequence;
  job->exchange = (uint64_t *)(state + 1);
  job->finished = &signals->finished;
  job->fault = &signals->fault;
}

/* Runs the job for all starts; results are in cuda->results then. */
static gboolean
run (CudaBackend *cuda, NdtCudaScan *scan, NdtCudaJob *job, const NdtStart *starts, guint n_starts,
    GError **error)
{
  NdtCudaShape shape = choose_shape (cuda, scan->n_points, n_starts);
  /* A lane with all of a point's voxels takes longer to find those to keep than they save. */
  if (shape.lanes == 1)
    job->reuse = 0;
  /* Several readers, or points that a block does not keep, take the scan from the device. */
  const gboolean once =
      n_starts == 1 && shape.n_slots >= ndt_cuda_align_slots (&shape, scan->n_points);
  if (!once && !ndt_cuda_scan_upload (scan, &cuda->memory, cuda->stream, error))
    return FALSE;
  ndt_cuda_scan_fill_job (scan, job);
  if (!ndt_cuda_host_reserve (
          &cuda->memory, &cuda->results, n_starts * sizeof (NdtCudaResult), error))
    return FALSE;
  job->results = cuda->results.data;
  job->n_starts = n_starts;
  job->ticket = ++cuda->ticket;
  if (n_starts == 1) {
    job->starts = NULL;
    job->start = starts[0];
  } else {
    const gsize size = n_starts * sizeof (NdtStart);
    if (!ndt_cuda_host_reserve (&cuda->memory, &cuda->starts, size, error))
      return FALSE;
    memcpy (cuda->starts.data, starts, size);
    job->starts = cuda->starts.data;
    ndt_cuda_count_upload (&cuda->memory, size);
  }
  const cudaError_t status = ndt_cuda_inject_failure ("launch")
                                 ? cudaErrorLaunchFailure
                                 : ndt_cuda_align_launch (job, &shape, cuda->stream);
  if (!ndt_cuda_check (&cuda->memory, status, "launch of an alignment", error))
    return FALSE;
  ndt_cuda_count_launch (&cuda->memory, 1);
  if (!wait (cuda, error))
    return FALSE;
  ndt_cuda_count_download (&cuda->memory, n_starts * sizeof (NdtCudaResult));

  const NdtCudaResult *results = cuda->results.data;
  gboolean cancelled = g_atomic_int_get (&cuda->cancelled) != 0;
  for (guint i = 0; i < n_starts; i++)
    cancelled = cancelled || results[i].stop == NDT_CUDA_STOP_CANCELLED;
  if (cancelled)
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "Cancelled");
  return !cancelled;
}

static void
read_sums (const NdtCudaResult *result, NdtSums *sums)
{
  const double *v = result->values;
  sums->score = v[0];
  memcpy (sums->gradient, v + 1, sizeof (sums->gradient));
  memcpy (sums->hessian, v + 7, sizeof (sums->hessian));
  sums->nvtl = v[28];
  sums->n_matched = (guint64)v[29];
  sums->n_pairs = (guint64)v[30];
}

static gboolean
begin (CudaBackend *cuda, GError **error)
{
  if (!enter (cuda, error))
    return FALSE;
  if (g_atomic_int_get (&cuda->cancelled)) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "Cancelled");
    return FALSE;
  }
  if (!ndt_cuda_maps_take (&cuda->maps)) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_MAP, "No map is set");
    return FALSE;
  }
  return TRUE;
}

static gboolean
cuda_align (NdtBackend *backend, guint slot, const NdtAlignParams *params, const NdtStart *starts,
    guint n_starts, NdtAlignResult *results, GError **error)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  NdtCudaJob job;
  guint64 evaluations = 0;
  if (!begin (cuda, error))
    return FALSE;
  if (n_starts == 0)
    return TRUE;
  memset (&job, 0, sizeof (job));
  fill_job (cuda, &job, params);
  if (!run (cuda, &cuda->scans[slot], &job, starts, n_starts, error))
    return FALSE;
  for (guint i = 0; i < n_starts; i++) {
    const NdtCudaResult *from = (const NdtCudaResult *)cuda->results.data + i;
    NdtAlignResult *to = &results[i];
    memcpy (to->pose.position, from->position, sizeof (from->position));
    memcpy (to->pose.orientation, from->orientation, sizeof (from->orientation));
    read_sums (from, &to->sums);
    to->max_term = -ndt_gauss (params->outlier_ratio, job.levels[0].resolution).d1;
    to->n_points = from->n_points;
    to->iterations = from->iterations;
    to->evaluations = from->evaluations;
    to->oscillation = from->oscillation;
    to->stop = (NdtStop)from->stop;
    evaluations += from->evaluations;
  }
  g_mutex_lock (&cuda->memory.lock);
  cuda->memory.counters.alignments += n_starts;
  cuda->memory.counters.evaluations += evaluations;
  g_mutex_unlock (&cuda->memory.lock);
  return TRUE;
}

static gboolean
cuda_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level,
    NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  NdtCudaJob job;
  gboolean ok;
  if (!begin (cuda, error))
    return FALSE;
  memset (&job, 0, sizeof (job));
  fill_job (cuda, &job, params);
  if (level >= (guint)job.n_levels) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "The map has no level %u", level);
    return FALSE;
  }
  if (n_poses == 0)
    return TRUE;
  job.evaluate = 1;
  job.evaluate_level = (gint32)level;
  job.evaluate_kind = (gint32)kind;
  g_autofree NdtStart *starts = g_new0 (NdtStart, n_poses);
  for (guint i = 0; i < n_poses; i++)
    starts[i].guess = poses[i];
  ok = run (cuda, &cuda->scans[slot], &job, starts, n_poses, error);
  for (guint i = 0; i < n_poses && ok; i++)
    read_sums ((const NdtCudaResult *)cuda->results.data + i, &sums[i]);
  if (ok) {
    g_mutex_lock (&cuda->memory.lock);
    cuda->memory.counters.evaluations += n_poses;
    g_mutex_unlock (&cuda->memory.lock);
  }
  return ok;
}

/* ---- The rest ---- */

static NdtDeviceFrames *
cuda_open_frames (NdtBackend *backend, GError **error)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  return enter (cuda, error) ? ndt_cuda_frames_open (&cuda->memory, cuda->device, error) : NULL;
}

static gpointer
cuda_alloc_host (NdtBackend *backend, gsize size)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  if (!enter (cuda, NULL))
    return NULL;
  return ndt_cuda_lock_alloc (size);
}

static void
cuda_get_counters (NdtBackend *backend, NdtBackendCounters *counters)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  g_mutex_lock (&cuda->memory.lock);
  *counters = cuda->memory.counters;
  g_mutex_unlock (&cuda->memory.lock);
}

static void
cuda_cancel (NdtBackend *backend, gboolean cancelled)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  const State *state = cuda->state.data;
  g_atomic_int_set (&cuda->cancelled, cancelled);
  if (!enter (cuda, NULL))
    return;
  /* A running alignment looks at the device's copy once a pass. */
  cudaError_t status =
      cudaMemsetAsync ((void *)&state->cancelled, cancelled ? 1 : 0, 4, cuda->cancel_stream);
  if (status == cudaSuccess)
    status = cudaStreamSynchronize (cuda->cancel_stream);
  ndt_cuda_check (&cuda->memory, status, "cancelling", NULL);
}

static void
cuda_close (NdtBackend *backend)
{
  CudaBackend *cuda = (CudaBackend *)backend;
  cudaSetDevice (cuda->device);
  if (cuda->stream) {
    cudaStreamSynchronize (cuda->stream);
    cudaStreamDestroy (cuda->stream);
  }
  if (cuda->cancel_stream)
    cudaStreamDestroy (cuda->cancel_stream);
  ndt_cuda_maps_clear (&cuda->maps, &cuda->memory);
  for (guint i = 0; i < NDT_N_SLOTS; i++)
    ndt_cuda_scan_clear (&cuda->scans[i], &cuda->memory);
  ndt_cuda_device_free (&cuda->memory, &cuda->state);
  ndt_cuda_host_free (&cuda->memory, &cuda->signals);
  ndt_cuda_host_free (&cuda->memory, &cuda->results);
  ndt_cuda_host_free (&cuda->memory, &cuda->starts);
  ndt_cuda_memory_clear (&cuda->memory);
  (void)cudaGetLastError ();
  g_free (cuda);
}

static const NdtBackendClass cuda_class = {
    .name = "cuda",
    .set_map = cuda_set_map,
    .set_map_from_points = cuda_set_map_from_points,
    .set_scan = cuda_set_scan,
    .set_moving_scan = cuda_set_moving_scan,
    .move_scan = cuda_move_scan,
    .get_scan = cuda_get_scan,
    .align = cuda_align,
    .evaluate = cuda_evaluate,
    .open_frames = cuda_open_frames,
    .alloc_host = cuda_alloc_host,
    .free_host = ndt_cuda_lock_free,
    .get_counters = cuda_get_counters,
    .cancel = cuda_cancel,
    .close = cuda_close,
};

static void
read_environment (CudaBackend *cuda)
{
  const gchar *text = g_getenv ("NDT_CUDA_SHAPE");
  gint size, threads, n_slots = 0;
  if (text && (sscanf (text, "cluster:%d:%d:%d", &size, &threads, &n_slots) >= 2 ||
                  sscanf (text, "grid:%d:%d:%d", &size, &threads, &n_slots) >= 2)) {
    cuda->shape.grid = text[0] == 'g';
    cuda->shape.threads = threads == 512 && !cuda->shape.grid ? 512 : 256;
    cuda->shape.n_slots = (guint32)MAX (n_slots, 0);
    cuda->shape.size = (gint)largest_power (
        (guint)(cuda->shape.grid ? cuda->limits.max_grid : cuda->limits.max_cluster),
        (guint)CLAMP (size, 1, 128));
    if (cuda->shape.grid && cuda->shape.size < 16)
      cuda->shape.size = 0;
  }
  text = g_getenv ("NDT_CUDA_LANES");
  cuda->lanes = text ? (gint)largest_power ((guint)CLAMP (atoi (text), 1, 4), 4) : 0;
  text = g_getenv ("NDT_CUDA_REUSE");
  cuda->reuse = text ? (float)g_ascii_strtod (text, NULL) : DEFAULT_REUSE;
  cuda->reuse = CLAMP (cuda->reuse, 0.0f, 0.25f);
}

/* A device that this build has kernels for and that takes commands. */
static gboolean
try_device (CudaBackend *cuda, gint device, GError **error)
{
  struct cudaDeviceProp properties;
  cudaError_t status = cudaSetDevice (device);
  if (status == cudaSuccess)
    status = cudaGetDeviceProperties (&properties, device);
  if (status == cudaSuccess)
    status = ndt_cuda_align_limits (device, &cuda->limits);
  if (status == cudaSuccess)
    status = cudaStreamCreateWithFlags (&cuda->stream, cudaStreamNonBlocking);
  if (status == cudaSuccess)
    status = cudaStreamCreateWithFlags (&cuda->cancel_stream, cudaStreamNonBlocking);
  if (status == cudaSuccess)
    status = cudaDeviceSynchronize ();
  if (status != cudaSuccess) {
    (void)cudaGetLastError ();
    g_set_error (error, NDT_ERROR,
        status == cudaErrorMemoryAllocation ? NDT_ERROR_NO_MEMORY : NDT_ERROR_NO_DEVICE,
        "CUDA device %d: %s", device, cudaGetErrorString (status));
    return FALSE;
  }
  cuda->device = device;
  g_debug ("CUDA backend: device %d, %s, compute capability %d.%d, %d processors, clusters of %d",
      device, properties.name, properties.major, properties.minor, cuda->limits.n_processors,
      cuda->limits.max_cluster);
  return TRUE;
}

static gboolean
find_device (CudaBackend *cuda, gint device_id, GError **error)
{
  int n_devices = 0;
  const cudaError_t status = cudaGetDeviceCount (&n_devices);
  if (status != cudaSuccess || n_devices == 0) {
    int driver = 0;
    (void)cudaGetLastError ();
    if (status == cudaErrorInsufficientDriver && cudaDriverGetVersion (&driver) == cudaSuccess &&
        driver == 0)
      g_set_error_literal (
          error, NDT_ERROR, NDT_ERROR_NO_DEVICE, "No CUDA device: no NVIDIA driver is installed");
    else if (status == cudaErrorInsufficientDriver)
      g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE,
          "No CUDA device: the driver is of CUDA %d.%d, this build needs one of %d.0 or later",
          driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000);
    else
      g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE, "No CUDA device: %s",
          status == cudaSuccess ? "the driver lists none" : cudaGetErrorString (status));
    return FALSE;
  }
  if (device_id >= n_devices) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE,
        "No CUDA device %d: the driver lists %d, counted from 0", device_id, n_devices);
    return FALSE;
  }
  if (device_id >= 0)
    return try_device (cuda, device_id, error);
  for (gint i = 0; i < n_devices; i++) {
    g_clear_error (error);
    if (try_device (cuda, i, error))
      return TRUE;
  }
  return FALSE;
}

NdtBackend *
ndt_cuda_backend_open (const NdtBackendConfig *config, GError **error)
{
  const gsize state_size = sizeof (State) + ndt_cuda_exchange_bytes ();
  GError *local_error = NULL;
  CudaBackend *cuda = g_new0 (CudaBackend, 1);
  cuda->parent.klass = &cuda_class;
  ndt_cuda_memory_init (&cuda->memory, config->memory_budget);
  ndt_cuda_maps_init (&cuda->maps);
  if (!find_device (cuda, config->device_id, &local_error) ||
      !ndt_cuda_device_reserve (&cuda->memory, &cuda->state, state_size, &local_error) ||
      !ndt_cuda_host_reserve (&cuda->memory, &cuda->signals, sizeof (Signals), &local_error) ||
      !ndt_cuda_check (&cuda->memory, cudaMemset (cuda->state.data, 0, state_size),
          "clearing memory", &local_error)) {
    g_propagate_error (error, local_error);
    cuda_close (&cuda->parent);
    return NULL;
  }
  memset (cuda->signals.data, 0, sizeof (Signals));
  read_environment (cuda);
  g_mutex_lock (&cuda->memory.lock);
  cuda->memory.counters.allocations = 0;
  g_mutex_unlock (&cuda->memory.lock);
  return &cuda->parent;
}
