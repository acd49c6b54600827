/* SPDX-License-Identifier: MIT */
/* What tests and benchmarks change in the backend. Not installed. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * NdtCudaTesting:
 * @NDT_CUDA_TESTING_SHAPE: "cluster:SIZE:THREADS[:SLOTS]" or "grid:SIZE:THREADS[:SLOTS]" fixes how
 *   alignments are spread over the device; the results are the same, to the bit
 * @NDT_CUDA_TESTING_REUSE: how far a point may move, in cells, before the voxels near it are looked
 *   up again; 0.125 by itself, 0: always, at most 0.25; the results are the same, to the bit
 * @NDT_CUDA_TESTING_LANES: "1", "2" or "4" lanes work on a point, which does change the last bits
 * @NDT_CUDA_TESTING_FAIL: "alloc:N" makes the N-th allocation from now on fail, "launch:N" the N-th
 *   launch; at once
 * @NDT_CUDA_TESTING_LIMITS: "PROCESSORS:SHARED:CLUSTER:GRID" of another device than this one, which
 *   has at least as much: processors, bytes of shared memory of a block, largest cluster (1: none)
 *   and largest grid that it holds at once
 * @NDT_CUDA_TESTING_PAUSE: microseconds that a thread which waits for a result is kept from going
 *   on, whenever it looks for one
 */
typedef enum {
  NDT_CUDA_TESTING_SHAPE,
  NDT_CUDA_TESTING_REUSE,
  NDT_CUDA_TESTING_LANES,
  NDT_CUDA_TESTING_FAIL,
  NDT_CUDA_TESTING_PAUSE,
  NDT_CUDA_TESTING_LIMITS,
} NdtCudaTesting;

/* Holds for backends that are opened from now on; @value NULL: as it is by itself. */
__attribute__ ((visibility ("default"))) void ndt_cuda_testing_set (
    NdtCudaTesting what, const gchar *value);
/* NULL: nothing was set. */
const gchar *ndt_cuda_testing_get (NdtCudaTesting what);
/* Should this one fail, as NDT_CUDA_TESTING_FAIL asks? @kind: "alloc" or "launch". */
gboolean ndt_cuda_inject_failure (const gchar *kind);

/* Free bytes of the current thread's device; 0: it does not say. */
__attribute__ ((visibility ("default"))) guint64 ndt_cuda_testing_get_free_memory (void);

G_END_DECLS
