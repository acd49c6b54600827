/* SPDX-License-Identifier: MIT */
/* Settings of the backend for tests and benchmarks. Not installed. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * NdtCudaTesting:
 * @NDT_CUDA_TESTING_SHAPE: "cluster:SIZE:THREADS[:SLOTS]" or "grid:SIZE:THREADS[:SLOTS]" sets how
 *   alignments are distributed over the device; results are the same, to the bit
 * @NDT_CUDA_TESTING_REUSE: how far a point may move, in cells, before the voxels near it are looked
 *   up again; default 0.125, 0: always, at most 0.25; results are the same, to the bit
 * @NDT_CUDA_TESTING_LANES: "1", "2" or "4" lanes a point; changes the last bits of results
 * @NDT_CUDA_TESTING_FAIL: "alloc:N" makes the N-th allocation from now on fail, "launch:N" the N-th
 *   launch; has effect on open backends as well
 * @NDT_CUDA_TESTING_LIMITS: "PROCESSORS:SHARED:CLUSTER:GRID:DENSE" limits of a smaller device:
 *   multiprocessors, bytes of shared memory of a block, largest cluster (1: none), largest resident
 *   grid, and the same with two blocks a multiprocessor
 * @NDT_CUDA_TESTING_PAUSE: microseconds by which a thread that waits for a result is delayed at
 *   each poll
 */
typedef enum {
  NDT_CUDA_TESTING_SHAPE,
  NDT_CUDA_TESTING_REUSE,
  NDT_CUDA_TESTING_LANES,
  NDT_CUDA_TESTING_FAIL,
  NDT_CUDA_TESTING_PAUSE,
  NDT_CUDA_TESTING_LIMITS,
} NdtCudaTesting;

/* Has effect on backends that are opened afterwards; @value NULL: the default. */
__attribute__ ((visibility ("default"))) void ndt_cuda_testing_set (
    NdtCudaTesting what, const gchar *value);
/* NULL: not set. */
const gchar *ndt_cuda_testing_get (NdtCudaTesting what);
/* Returns TRUE where this call shall fail by NDT_CUDA_TESTING_FAIL. @kind: "alloc" or "launch". */
gboolean ndt_cuda_inject_failure (const gchar *kind);

/* When a thread tells of a launch of alignments or of a search. */
typedef enum {
  NDT_CUDA_MOMENT_BEFORE, /* nothing is on the device yet; the last look whether it is cancelled was
                           * before that */
  NDT_CUDA_MOMENT_LAUNCHED, /* it is, and is not waited for yet */
  NDT_CUDA_MOMENT_DONE, /* it has ended; nothing of the result has been looked at. Not of waiting
                           scans */
} NdtCudaMoment;

/* @n_blocks: of the launch */
typedef void (*NdtCudaWatch) (NdtCudaMoment moment, guint n_blocks, gpointer user_data);
/* @watch is called in the thread that launches, of all backends, without a lock; it may use other
 * backends, whose launches it is told of as well, and cancel the one that launches. NULL: none.
 * While nothing is launched. */
__attribute__ ((visibility ("default"))) void ndt_cuda_testing_watch (
    NdtCudaWatch watch, gpointer user_data);
void ndt_cuda_tell (NdtCudaMoment moment, guint n_blocks);

/* Free bytes of the current thread's device; 0: not known. */
__attribute__ ((visibility ("default"))) guint64 ndt_cuda_testing_get_free_memory (void);

G_END_DECLS
