/* SPDX-License-Identifier: MIT */
/* Alignments beside other work of the same device:
 *
 *   bench-shared [RUNS]      default: 2000
 *
 * One alignment of 5,000 points from near starts, host to host, alone and beside a thread that
 * keeps the device full without a priority: by a kernel whose blocks take 80 µs and half a
 * multiprocessor each, and, where cuBLAS is found, by matrix multiplications of 2,048² floats with
 * TF32 (in FP32 their blocks take more than 100 µs). With both priorities of ours. Needs the set
 * town_starts of NDT_TEST_DATA. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench-shared-load.h"
#include "bench-time.h"
#include "bench-town.h"
#include "cuda/ndt-cuda.h"
#include "ndtcore/math/ndt-formulas.h"
#include "tests/ndt-test.h"

#define N_MATRIX 2048
#define BLOCK_NS 80000
/* Launches that wait in the stream, so that the device is never idle. */
#define N_AHEAD 3
#define TF32 3 /* CUBLAS_TF32_TENSOR_OP_MATH */

typedef int (*Create) (void **handle);
typedef int (*SetStream) (void *handle, cudaStream_t stream);
typedef int (*SetMode) (void *handle, int mode);
typedef int (*Sgemm) (void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
    const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc);

typedef struct {
  GThread *thread;
  gint stop;
  void *handle; /* cuBLAS; NULL: the kernel */
  Sgemm sgemm;
  cudaStream_t stream;
  cudaEvent_t done[N_AHEAD];
  float *memory;
  guint n_processors;
  gint n;
} Load;

static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;

static void
check (cudaError_t status)
{
  if (status != cudaSuccess)
    g_error ("%s", cudaGetErrorString (status));
}

static void
find_cublas (Load *load)
{
  static const gchar *names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  void *library = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (names) && !library; i++)
    library = dlopen (names[i], RTLD_NOW);
  if (!library)
    return;
  const Create create = (Create)dlsym (library, "cublasCreate_v2");
  const SetStream set_stream = (SetStream)dlsym (library, "cublasSetStream_v2");
  const SetMode set_mode = (SetMode)dlsym (library, "cublasSetMathMode");
  load->sgemm = (Sgemm)dlsym (library, "cublasSgemm_v2");
  if (!create || !set_stream || !set_mode || !load->sgemm || create (&load->handle) != 0 ||
      set_stream (load->handle, load->stream) != 0 || set_mode (load->handle, TF32) != 0)
    load->handle = NULL;
}

static gpointer
keep_full (gpointer data)
{
  Load *load = data;
  const float one = 1, zero = 0;
  float *a = load->memory, *b = a + N_MATRIX * N_MATRIX, *c = b + N_MATRIX * N_MATRIX;
  for (guint i = 0; !g_atomic_int_get (&load->stop); i++) {
    check (cudaEventSynchronize (load->done[i % N_AHEAD]));
    if (load->handle)
      g_assert_cmpint (load->sgemm (load->handle, 0, 0, N_MATRIX, N_MATRIX, N_MATRIX, &one, a,
                           N_MATRIX, b, N_MATRIX, &zero, c, N_MATRIX),
          ==, 0);
    else
      check (bench_shared_load (8 * load->n_processors, BLOCK_NS, 49152, c, load->stream));
    check (cudaEventRecord (load->done[i % N_AHEAD], load->stream));
    g_atomic_int_inc (&load->n);
  }
  check (cudaStreamSynchronize (load->stream));
  return NULL;
}

static void
load_open (Load *load, gboolean with_cublas)
{
  int n;
  memset (load, 0, sizeof (*load));
  check (cudaStreamCreateWithFlags (&load->stream, cudaStreamNonBlocking));
  for (guint i = 0; i < N_AHEAD; i++)
    check (
        cudaEventCreateWithFlags (&load->done[i], cudaEventDisableTiming | cudaEventBlockingSync));
  check (cudaMalloc ((void **)&load->memory, 3 * N_MATRIX * N_MATRIX * sizeof (float)));
  check (cudaMemset (load->memory, 0, 3 * N_MATRIX * N_MATRIX * sizeof (float)));
  check (cudaDeviceGetAttribute (&n, cudaDevAttrMultiProcessorCount, 0));
  load->n_processors = (guint)n;
  if (with_cublas)
    find_cublas (load);
}

static void
load_start (Load *load)
{
  g_atomic_int_set (&load->stop, FALSE);
  load->thread = g_thread_new ("load", keep_full, load);
  /* The first call of a library loads it. */
  while (g_atomic_int_get (&load->n) < 100)
    g_usleep (1000);
  g_atomic_int_set (&load->n, 0);
}

static void
load_stop (Load *load)
{
  g_atomic_int_set (&load->stop, TRUE);
  g_thread_join (load->thread);
}

static NdtPose
read_pose (const gchar *folder)
{
  g_autofree gchar *path = g_build_filename (folder, "truth.txt", NULL);
  g_autofree gchar *text = NULL;
  double v[6];
  NdtPose pose;
  if (!g_file_get_contents (path, &text, NULL, NULL) ||
      sscanf (text, "%lf %lf %lf %lf %lf %lf", v, v + 1, v + 2, v + 3, v + 4, v + 5) != 6)
    g_error ("%s has no pose", path);
  ndt_pose_from_xyz_euler (v, v[3], v[4], v[5], &pose);
  return pose;
}

static void
measure (NdtBackend *backend, const NdtCloudView *view, const NdtPose *truth, guint n_runs,
    double *times)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  for (gint i = -50; i < (gint)n_runs; i++) {
    g_autoptr (GError) error = NULL;
    double delta[6];
    NdtAlignResult result;
    for (guint k = 0; k < 6; k++)
      delta[k] = g_rand_double_range (rand, -1, 1) * (k < 3 ? 0.5 : 3 * G_PI / 180);
    const NdtStart start = {.guess = ndt_pose_retracted (truth, delta), .approach = 1};
    const double t0 = bench_now_us ();
    if (!ndt_backend_set_scan (backend, 0, view, &no_filter, &error) ||
        !ndt_backend_align (backend, 0, &params, &start, 1, &result, &error))
      g_error ("%s", error->message);
    if (i >= 0)
      times[i] = bench_now_us () - t0;
  }
  qsort (times, n_runs, sizeof (double), bench_compare);
}

static void
bench (const gchar *folder, NdtDevicePriority priority, gboolean with_cublas, guint n_runs)
{
  const NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autofree double *times = g_new (double, n_runs);
  g_autoptr (GError) error = NULL;
  Load load;
  guint n, n_target;
  config.priority = priority;
  NdtBackend *backend = ndt_cuda_backend_open (&config, &error);
  if (!backend)
    g_error ("%s", error->message);
  const NdtPose truth = read_pose (folder);
  float *target = bench_read_cloud (backend, folder, "target.bin", &n_target);
  float *scan = bench_read_cloud (backend, folder, "source_5000.bin", &n);
  const NdtCloudView target_view = ndt_cloud_view_xyz_f32 (target, n_target);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan, n);
  if (!ndt_backend_set_map_from_points (backend, &map_params, &target_view, NULL, &error))
    g_error ("%s", error->message);
  load_open (&load, with_cublas);
  if (with_cublas && !load.handle) {
    printf ("no cuBLAS here\n");
  } else {
    measure (backend, &view, &truth, n_runs, times);
    printf ("%-10s %-8s %9.1f %7.1f %7.1f", with_cublas ? "cuBLAS" : "a kernel",
        priority == NDT_DEVICE_PRIORITY_NORMAL ? "normal" : "high", times[n_runs / 2],
        times[n_runs * 95 / 100], times[n_runs * 99 / 100]);
    load_start (&load);
    const double since = bench_now_us ();
    measure (backend, &view, &truth, n_runs, times);
    const double took = bench_now_us () - since;
    const guint n_launches = (guint)g_atomic_int_get (&load.n);
    load_stop (&load);
    printf (" %9.1f %7.1f %7.1f %12.0f\n", times[n_runs / 2], times[n_runs * 95 / 100],
        times[n_runs * 99 / 100], took / MAX (n_launches, 1));
    fflush (stdout);
  }
  for (guint i = 0; i < N_AHEAD; i++)
    cudaEventDestroy (load.done[i]);
  cudaStreamDestroy (load.stream);
  cudaFree (load.memory);
  backend->klass->free_host (target, 12 * (gsize)n_target);
  backend->klass->free_host (scan, 12 * (gsize)n);
  ndt_backend_close (backend);
}

int
main (int argc, char **argv)
{
  const guint n_runs = argc > 1 ? (guint)CLAMP (atoi (argv[1]), 10, 1000000) : 2000;
  g_autofree gchar *folder = ndt_test_data ("town_starts");
  if (!folder)
    return NDT_TEST_SKIP;
  printf ("us: median, 95th and 99th percentile; a launch of the other work beside it\n"
          "%-10s %-8s %25s %25s %12s\n",
      "beside", "priority", "quiet", "beside", "its launch");
  for (guint with_cublas = 0; with_cublas < 2; with_cublas++)
    for (guint p = 0; p < 2; p++)
      bench (
          folder, p ? NDT_DEVICE_PRIORITY_NORMAL : NDT_DEVICE_PRIORITY_HIGH, with_cublas, n_runs);
  return 0;
}
