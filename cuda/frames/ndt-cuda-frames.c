/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-frames.h"

#include <string.h>

#include "cuda/device/ndt-cuda-testing.h"
#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/motion/ndt-frames.h"

G_STATIC_ASSERT (NDT_CUDA_FRAME_NONE == NDT_FRAME_NONE);
G_STATIC_ASSERT (sizeof (NdtCudaPose) == NDT_FRAME_DOUBLES * sizeof (double));

#define N_SLOTS 3

/* A part of the points in flight. */
typedef struct {
  cudaStream_t stream;
  NdtCudaBuffer points; /* on the device */
  NdtCudaBuffer numbers;
  NdtCudaBuffer moved;
  NdtCudaBuffer staged; /* page-locked */
  NdtCudaBuffer staged_numbers;
  NdtCudaBuffer results;
  /* Destinations of the results in @results. */
  guint8 *to[2];
  gsize to_size[2];
} Slot;

typedef struct {
  NdtDeviceFrames parent;
  NdtCudaMemory *memory;
  int device;
  cudaStream_t stream;
  cudaEvent_t ready; /* event that slots wait for */
  NdtCudaFrameTree tree;
  guint32 *level_ends;
  NdtCudaBuffer host; /* poses, as the caller writes them */
  NdtCudaBuffer local;
  NdtCudaBuffer world;
  NdtCudaBuffer other;
  NdtCudaBuffer numbers; /* parents, order, jumps */
  NdtCudaBuffer matrices;
  gboolean propagated;
  gboolean have_matrices;
  guint32 reference; /* of the matrices */
  Slot slots[N_SLOTS];
  NdtCudaBuffer points; /* that are attached */
  NdtCudaBuffer point_frames;
  NdtCudaBuffer moved;
  gsize n_points;
} CudaFrames;

static gboolean
enter (CudaFrames *frames, GError **error)
{
  return ndt_cuda_memory_usable (frames->memory, error) &&
         ndt_cuda_check (
             frames->memory, cudaSetDevice (frames->device), "selecting the device", error);
}

/* The status of a launch, or an injected failure. */
static gboolean
launched (CudaFrames *frames, cudaError_t status, guint n, const gchar *what, GError **error)
{
  ndt_cuda_count_launch (frames->memory, n);
  if (ndt_cuda_inject_failure ("launch"))
    status = cudaErrorLaunchFailure;
  return ndt_cuda_check (frames->memory, status, what, error);
}

static gboolean
synchronize (CudaFrames *frames, cudaStream_t stream, GError **error)
{
  ndt_cuda_count_synchronization (frames->memory);
  return ndt_cuda_check (frames->memory, cudaStreamSynchronize (stream), "frames", error);
}

/* ---- The tree ---- */

static gboolean
upload (
    CudaFrames *frames, void *to, const void *from, gsize size, cudaStream_t stream, GError **error)
{
  ndt_cuda_count_upload (frames->memory, size);
  return ndt_cuda_check (frames->memory,
      cudaMemcpyAsync (to, from, size, cudaMemcpyHostToDevice, stream), "upload of frames", error);
}

static gboolean
frames_set_tree (NdtDeviceFrames *device_frames, guint32 n, const guint32 *parents,
    const guint32 *order, const guint32 *level_ends, guint32 n_levels, GError **error)
{
  CudaFrames *frames = (CudaFrames *)device_frames;
  NdtCudaMemory *memory = frames->memory;
  const gboolean deep = n_levels > NDT_CUDA_FRAMES_BY_LEVEL;
  const gsize poses_size = n * sizeof (NdtCudaPose), numbers_size = n * sizeof (guint32);
  frames->propagated = frames->have_matrices = FALSE;
  memset (&frames->tree, 0, sizeof (frames->tree));
  if (!enter (frames, error) || !ndt_cuda_host_reserve (memory, &frames->host, poses_size, error) ||
      !ndt_cuda_device_reserve (memory, &frames->local, poses_size, error) ||
      !ndt_cuda_device_reserve (memory, &frames->world, poses_size, error) ||
      (deep && !ndt_cuda_device_reserve (memory, &frames->other, poses_size, error)) ||
      !ndt_cuda_device_reserve (memory, &frames->numbers, (deep ? 4 : 2) * numbers_size, error) ||
      !ndt_cuda_device_reserve (memory, &frames->matrices, n * sizeof (NdtCudaMatrix), error))
    return FALSE;
  guint32 *numbers = frames->numbers.data;
  if (!upload (frames, numbers, parents, numbers_size, frames->stream, error) ||
      !upload (frames, numbers + n, order, numbers_size, frames->stream, error) ||
      !synchronize (frames, frames->stream, error))
    return FALSE;
  frames->level_ends = g_renew (guint32, frames->level_ends, n_levels);
  memcpy (frames->level_ends, level_ends, n_levels * sizeof (guint32));
  frames->tree = (NdtCudaFrameTree){.n = n,
      .n_levels = n_levels,
      .local = frames->local.data,
      .parents = numbers,
      .order = numbers + n,
      .level_ends = frames->level_ends,
      .world = frames->world.data,
      .other = frames->other.data,
      .jumps = numbers + 2 * (gsize)n};
  return TRUE;
}

static double *
frames_map_local (NdtDeviceFrames *device_frames)
{
  return ((CudaFrames *)device_frames)->host.data;
}

static gboolean
frames_set_local (NdtDeviceFrames *device_frames, guint32 first, guint32 n, GError **error)
{
  CudaFrames *frames = (CudaFrames *)device_frames;
  frames->propagated = frames->have_matrices = FALSE;
  /* Waits, so that the caller may write the next poses. */
  return enter (frames, error) &&
         upload (frames, (NdtCudaPose *)frames->local.data + first,
             (const NdtCudaPose *)frames->host.data + first, n * sizeof (NdtCudaPose),
             frames->stream, error) &&
         synchronize (frames, frames->stream, error);
}

/* Enqueues the computation of outdated poses in the world. */
static gboolean
propagate (CudaFrames *frames, GError **error)
{
  guint32 n_launches = 0;
  if (!enter (frames, error))
    return FALSE;
  if (frames->propagated)
    return TRUE;
  const cudaError_t status = ndt_cuda_frames_propagate (&frames->tree, &n_launches, frames->stream);
  frames->propagated = launched (frames, status, n_launches, "propagation of frames", error);
  return frames->propagated;
}

/* Enqueues the computation of outdated matrices. */
static gboolean
make_matrices (CudaFrames *frames, guint32 reference, GError **error)
{
  if (!propagate (frames, error))
    return FALSE;
  if (frames->have_matrices && frames->reference == reference)
    return TRUE;
  const cudaError_t status = ndt_cuda_frames_matrices (
      frames->tree.world, frames->tree.n, reference, frames->matrices.data, frames->stream);
  frames->have_matrices = launched (frames, status, 1, "matrices of frames", error);
  frames->reference = reference;
  return frames->have_matrices;
}

static gboolean
frames_update (NdtDeviceFrames *device_frames, GError **error)
{
  CudaFrames *frames = (CudaFrames *)device_frames;
  return propagate (frames, error) && synchronize (frames, frames->stream, error);
}

/* ---- Parts ---- */

static gboolean
start_slots (CudaFrames *frames, GError **error)
{
  cudaError_t status = cudaEventRecord (frames->ready, frames->stream);
  for (guint i = 0; i < N_SLOTS && status == cudaSuccess; i++)
    status = cudaStreamWaitEvent (frames->slots[i].stream, frames->ready, 0);
  return ndt_cuda_check (frames->memory, status, "frames", error);
}

/* Waits for a slot and copies its results to their destinations. */
static gboolean
finish (CudaFrames *frames, Slot *slot, GError **error)
{
  const guint8 *from = slot->results.data;
  if (!synchronize (frames, slot->stream, error))
    return FALSE;
  for (guint k = 0; k < 2; k++) {
    if (slot->to[k])
      memcpy (slot->to[k], from, slot->to_size[k]);
    from += slot->to_size[k];
    slot->to[k] = NULL;
    slot->to_size[k] = 0;
  }
  return TRUE;
}

/* Waits for all slots, also after an error, since they use memory of the caller. */
static gboolean
finish_all (CudaFrames *frames, gboolean ok, GError **error)
{
  for (guint i = 0; i < N_SLOTS; i++) {
    if (ok)
      ok = finish (frames, &frames->slots[i], error);
    else
      cudaStreamSynchronize (frames->slots[i].stream);
    memset (frames->slots[i].to, 0, sizeof (frames->slots[i].to));
    memset (frames->slots[i].to_size, 0, sizeof (frames->slots[i].to_size));
  }
  return ok;
}

/* ---- Extraction ---- */

static gboolean
extract_part (CudaFrames *frames, Slot *slot, guint32 first, guint32 n, double *positions,
    double *orientations, GError **error)
{
  double *to[2] = {positions, orientations};
  gsize size = 0;
  if (!finish (frames, slot, error))
    return FALSE;
  /* The kernel writes directly to the caller's memory where that is page-locked. */
  for (guint k = 0; k < 2; k++) {
    const gsize wanted = to[k] ? (3 + k) * n * sizeof (double) : 0;
    if (wanted == 0 || ndt_cuda_is_locked (to[k], wanted))
      continue;
    slot->to[k] = (guint8 *)to[k];
    slot->to_size[k] = wanted;
    size += wanted;
  }
  if (!ndt_cuda_host_reserve (frames->memory, &slot->results, size, error))
    return FALSE;
  guint8 *staged = slot->results.data;
  for (guint k = 0; k < 2; k++)
    if (slot->to[k]) {
      to[k] = (double *)(gpointer)staged;
      staged += slot->to_size[k];
    }
  ndt_cuda_count_download (
      frames->memory, ((positions ? 3 : 0) + (orientations ? 4 : 0)) * n * sizeof (double));
  return launched (frames,
      ndt_cuda_frames_extract (frames->tree.world, first, n, to[0], to[1], slot->stream), 1,
      "extraction of frames", error);
}

static gboolean
frames_get_world (NdtDeviceFrames *device_frames, guint32 first, guint32 n, double *positions,
    double *orientations, GError **error)
{
  CudaFrames *frames = (CudaFrames *)device_frames;
  if (!propagate (frames, error) || !start_slots (frames, error))
    return FALSE;
  gboolean ok = TRUE;
  const guint32 part = NDT_CUDA_FRAMES_PART / 4;
  for (guint32 i = 0, l = 0; i < n && ok; i += part, l = (l + 1) % N_SLOTS)
    ok = extract_part (frames, &frames->slots[l], first + i, MIN (part, n - i),
        positions ? positions + 3 * (gsize)i : NULL,
        orientations ? orientations + 4 * (gsize)i : NULL, error);
  return finish_all (frames, ok, error);
}

/* ---- Points of the host's ---- */

static gboolean
is_packed_f32 (const NdtCloudView *view)
{
  return view->scalar == NDT_SCALAR_F32 && view->stride == 12 && view->y == view->x + 4 &&
         view->z == view->x + 8;
}

static void
pack (const NdtCloudView *view, gsize first, gsize n, float *out)
{
  if (is_packed_f32 (view)) {
    memcpy (out, view->x + 12 * first, 12 * n);
    return;
  }
  for (gsize i = 0; i < n; i++) {
    double p[3];
    ndt_cloud_view_get (view, first + i, p);
    for (guint k = 0; k < 3; k++)
      out[3 * i + k] = (float)p[k];
  }
}

static gboolean
transform_part (CudaFrames *frames, Slot *slot, const NdtCloudView *points, gsize first, gsize n,
    const guint32 *numbers, float *out, GError **error)
{
  NdtCudaMemory *memory = frames->memory;
  const void *from = points->x + 12 * first, *from_numbers = numbers + first;
  guint8 *to = (guint8 *)(out + 3 * first);
  if (!finish (frames, slot, error))
    return FALSE;
  if (!is_packed_f32 (points) || !ndt_cuda_is_locked (from, 12 * n)) {
    if (!ndt_cuda_host_reserve (memory, &slot->staged, 12 * n, error))
      return FALSE;
    pack (points, first, n, slot->staged.data);
    from = slot->staged.data;
  }
  if (!ndt_cuda_is_locked (from_numbers, 4 * n)) {
    if (!ndt_cuda_host_reserve (memory, &slot->staged_numbers, 4 * n, error))
      return FALSE;
    memcpy (slot->staged_numbers.data, from_numbers, 4 * n);
    from_numbers = slot->staged_numbers.data;
  }
  if (!ndt_cuda_is_locked (to, 12 * n)) {
    if (!ndt_cuda_host_reserve (memory, &slot->results, 12 * n, error))
      return FALSE;
    slot->to[0] = to;
    slot->to_size[0] = 12 * n;
    to = slot->results.data;
  }
  if (!upload (frames, slot->points.data, from, 12 * n, slot->stream, error) ||
      !upload (frames, slot->numbers.data, from_numbers, 4 * n, slot->stream, error) ||
      !launched (frames,
          ndt_cuda_frames_transform (frames->matrices.data, slot->points.data, slot->numbers.data,
              n, slot->moved.data, slot->stream),
          1, "transformation of points", error))
    return FALSE;
  ndt_cuda_count_download (memory, 12 * n);
  return ndt_cuda_check (memory,
      cudaMemcpyAsync (to, slot->moved.data, 12 * n, cudaMemcpyDeviceToHost, slot->stream),
      "download of points", error);
}

/* Reserves memory for parts of at most *part points, which is reduced where memory is short. */
static gboolean
reserve_parts (CudaFrames *frames, gsize *part, GError **error)
{
  for (;; *part /= 2) {
    GError *local_error = NULL;
    gboolean ok = TRUE;
    for (guint i = 0; i < N_SLOTS && ok; i++) {
      Slot *slot = &frames->slots[i];
      ok = ndt_cuda_device_reserve (frames->memory, &slot->points, 12 * *part, &local_error) &&
           ndt_cuda_device_reserve (frames->memory, &slot->numbers, 4 * *part, &local_error) &&
           ndt_cuda_device_reserve (frames->memory, &slot->moved, 12 * *part, &local_error);
    }
    if (ok)
      return TRUE;
    for (guint i = 0; i < N_SLOTS; i++) {
      ndt_cuda_free (frames->memory, &frames->slots[i].points);
      ndt_cuda_free (frames->memory, &frames->slots[i].numbers);
      ndt_cuda_free (frames->memory, &frames->slots[i].moved);
    }
    if (*part / 2 < NDT_CUDA_FRAMES_LEAST_PART ||
        !g_error_matches (local_error, NDT_ERROR, NDT_ERROR_NO_MEMORY)) {
      g_propagate_error (error, local_error);
      return FALSE;
    }
    g_clear_error (&local_error);
  }
}

static gboolean
frames_transform (NdtDeviceFrames *device_frames, guint32 reference, const NdtCloudView *points,
    const guint32 *numbers, float *out, GError **error)
{
  CudaFrames *frames = (CudaFrames *)device_frames;
  const gsize n = points->n_points;
  gsize part = NDT_CUDA_FRAMES_LEAST_PART;
  while (part < n && part < NDT_CUDA_FRAMES_PART)
    part *= 2;
  if (!make_matrices (frames, reference, error) || !reserve_parts (frames, &part, error) ||
      !start_slots (frames, error))
    return FALSE;
  gboolean ok = TRUE;
  guint l = 0;
  for (gsize i = 0; i < n && ok; i += part, l = (l + 1) % N_SLOTS)
    ok = transform_part (
        frames, &frames->slots[l], points, i, MIN (part, n - i), numbers, out, error);
  return finish_all (frames, ok, error);
}

/* ---- Points of the device's ---- */

static gboolean
frames_attach (NdtDeviceFrames *device_frames, const float *points, const guint32 *numbers,
    gsize n_points, GError **error)
{
  CudaFrames *frames = (CudaFrames *)device_frames;
  NdtCudaMemory *memory = frames->memory;
  frames->n_points = 0;
  if (!enter (frames, error))
    return FALSE;
  if (!ndt_cuda_device_reserve (memory, &frames->points, 12 * n_points, error) ||
      !ndt_cuda_device_reserve (memory, &frames->point_frames, 4 * n_points, error) ||
      !ndt_cuda_device_reserve (memory, &frames->moved, 12 * n_points, error)) {
    ndt_cuda_free (memory, &frames->points);
    ndt_cuda_free (memory, &frames->point_frames);
    ndt_cuda_free (memory, &frames->moved);
    return FALSE;
  }
  if (!upload (frames, frames->points.data, points, 12 * n_points, frames->stream, error) ||
      !upload (frames, frames->point_frames.data, numbers, 4 * n_points, frames->stream, error) ||
      !synchronize (frames, frames->stream, error))
    return FALSE;
  frames->n_points = n_points;
  return TRUE;
}

static gboolean
frames_move (NdtDeviceFrames *device_frames, guint32 reference, GError **error)
{
  CudaFrames *frames = (CudaFrames *)device_frames;
  return make_matrices (frames, reference, error) &&
         (frames->n_points == 0 || launched (frames,
                                       ndt_cuda_frames_transform (frames->matrices.data,
                                           frames->points.data, frames->point_frames.data,
                                           frames->n_points, frames->moved.data, frames->stream),
                                       1, "transformation of points", error)) &&
         synchronize (frames, frames->stream, error);
}

static gboolean
get_part (CudaFrames *frames, Slot *slot, gsize first, gsize n, float *out, GError **error)
{
  void *to = out;
  if (!finish (frames, slot, error))
    return FALSE;
  if (!ndt_cuda_is_locked (out, 12 * n)) {
    if (!ndt_cuda_host_reserve (frames->memory, &slot->results, 12 * n, error))
      return FALSE;
    slot->to[0] = (guint8 *)out;
    slot->to_size[0] = 12 * n;
    to = slot->results.data;
  }
  ndt_cuda_count_download (frames->memory, 12 * n);
  return ndt_cuda_check (frames->memory,
      cudaMemcpyAsync (to, (const float *)frames->moved.data + 3 * first, 12 * n,
          cudaMemcpyDeviceToHost, slot->stream),
      "download of points", error);
}

static gboolean
frames_get_moved (
    NdtDeviceFrames *device_frames, gsize first, gsize n_points, float *out, GError **error)
{
  CudaFrames *frames = (CudaFrames *)device_frames;
  if (!enter (frames, error))
    return FALSE;
  gboolean ok = TRUE;
  guint l = 0;
  for (gsize i = 0; i < n_points && ok; i += NDT_CUDA_FRAMES_PART, l = (l + 1) % N_SLOTS)
    ok = get_part (frames, &frames->slots[l], first + i, MIN (NDT_CUDA_FRAMES_PART, n_points - i),
        out + 3 * i, error);
  return finish_all (frames, ok, error);
}

/* ---- The rest ---- */

static void
frames_close (NdtDeviceFrames *device_frames)
{
  CudaFrames *frames = (CudaFrames *)device_frames;
  NdtCudaMemory *memory = frames->memory;
  NdtCudaBuffer *device_buffers[] = {&frames->local, &frames->world, &frames->other,
      &frames->numbers, &frames->matrices, &frames->points, &frames->point_frames, &frames->moved};
  cudaSetDevice (frames->device);
  for (guint i = 0; i < N_SLOTS; i++) {
    Slot *slot = &frames->slots[i];
    if (slot->stream) {
      cudaStreamSynchronize (slot->stream);
      cudaStreamDestroy (slot->stream);
    }
    ndt_cuda_free (memory, &slot->points);
    ndt_cuda_free (memory, &slot->numbers);
    ndt_cuda_free (memory, &slot->moved);
    ndt_cuda_free (memory, &slot->staged);
    ndt_cuda_free (memory, &slot->staged_numbers);
    ndt_cuda_free (memory, &slot->results);
  }
  if (frames->stream) {
    cudaStreamSynchronize (frames->stream);
    cudaStreamDestroy (frames->stream);
  }
  if (frames->ready)
    cudaEventDestroy (frames->ready);
  for (guint i = 0; i < G_N_ELEMENTS (device_buffers); i++)
    ndt_cuda_free (memory, device_buffers[i]);
  ndt_cuda_free (memory, &frames->host);
  (void)cudaGetLastError ();
  g_free (frames->level_ends);
  g_free (frames);
}

static const NdtDeviceFramesClass frames_class = {
    .close = frames_close,
    .set_tree = frames_set_tree,
    .map_local = frames_map_local,
    .set_local = frames_set_local,
    .update = frames_update,
    .get_world = frames_get_world,
    .transform = frames_transform,
    .attach = frames_attach,
    .move = frames_move,
    .get_moved = frames_get_moved,
};

NdtDeviceFrames *
ndt_cuda_frames_open (NdtCudaMemory *memory, int device, GError **error)
{
  CudaFrames *frames = g_new0 (CudaFrames, 1);
  frames->parent.klass = &frames_class;
  frames->memory = memory;
  frames->device = device;
  cudaError_t status = cudaStreamCreateWithFlags (&frames->stream, cudaStreamNonBlocking);
  if (status == cudaSuccess)
    status = cudaEventCreateWithFlags (&frames->ready, cudaEventDisableTiming);
  for (guint i = 0; i < N_SLOTS && status == cudaSuccess; i++)
    status = cudaStreamCreateWithFlags (&frames->slots[i].stream, cudaStreamNonBlocking);
  if (!ndt_cuda_check (memory, status, "streams", error)) {
    frames_close (&frames->parent);
    return NULL;
  }
  return &frames->parent;
}
