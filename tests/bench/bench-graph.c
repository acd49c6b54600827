/* SPDX-License-Identifier: MIT */
/* What a graph would save where an alignment takes several commands: a copy and four others, about
 * as many as those of a raw scan in a backlog. Memory is set in the place of kernels, so that
 * nothing but the commands takes time. An alignment of an unfiltered scan is one launch, and has
 * nothing to put into a graph.
 *
 *   bench-graph
 *
 * Times are host to host, by the host's clock: median, 95th and 99th percentile, µs. */
#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdio.h>

#include "bench-time.h"

#define RUNS 300

static void
bench_graph (guint n_kernels, gsize n_bytes)
{
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  void *host, *device;
  double times[2][RUNS];
  if (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking) != cudaSuccess ||
      cudaHostAlloc (&host, n_bytes, cudaHostAllocDefault) != cudaSuccess ||
      cudaMalloc (&device, n_bytes) != cudaSuccess)
    g_error ("no memory for a graph");
  for (guint with = 0; with < 2; with++) {
    for (gint i = -20; i < RUNS; i++) {
      const double t0 = bench_now_us ();
      if (with == 0 || i == -20) {
        if (with)
          cudaStreamBeginCapture (stream, cudaStreamCaptureModeThreadLocal);
        cudaMemcpyAsync (device, host, n_bytes, cudaMemcpyHostToDevice, stream);
        for (guint k = 0; k < n_kernels; k++)
          cudaMemsetAsync ((char *)device + 256 * k, (int)k, 256, stream);
        if (with && (cudaStreamEndCapture (stream, &graph) != cudaSuccess ||
                        cudaGraphInstantiate (&exec, graph, 0) != cudaSuccess))
          g_error ("no graph");
      }
      if (with)
        cudaGraphLaunch (exec, stream);
      if (cudaStreamSynchronize (stream) != cudaSuccess)
        g_error ("commands failed");
      if (i >= 0)
        times[with][i] = bench_now_us () - t0;
    }
    qsort (times[with], RUNS, sizeof (double), bench_compare);
    printf ("a copy of %4" G_GSIZE_FORMAT " kB and %u commands, %-10s %7.2f %7.2f %7.2f\n",
        n_bytes / 1000, n_kernels, with ? "one graph" : "one by one", times[with][RUNS / 2],
        times[with][RUNS * 95 / 100], times[with][RUNS * 99 / 100]);
  }
  cudaGraphExecDestroy (exec);
  cudaGraphDestroy (graph);
  cudaFree (device);
  cudaFreeHost (host);
  cudaStreamDestroy (stream);
}

int
main (void)
{
  bench_graph (4, 2080000);
  bench_graph (1, 80000);
  return 0;
}
