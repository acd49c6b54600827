/* SPDX-License-Identifier: MIT */
/* Alignments: the interface between the backend's C code and the kernels. Private to cuda/. */
#pragma once

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/map/ndt-cuda-level.h"
#include "cuda/scan/ndt-cuda-thin.h"
#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/math/ndt-extra-terms.h"

#ifdef __cplusplus
extern "C" {
#endif

NDT_INLINE uint32_t
ndt_cuda_lanes (uint32_t n_points)
{
  return n_points <= NDT_CUDA_FOUR_LANES ? 4 : n_points <= NDT_CUDA_TWO_LANES ? 2 : 1;
}

/* Sums of a pass over the scan, in this order: score, gradient (6), Hessian (21), NVTL, matched
 * points, pairs, points. One a lane. */
#define NDT_CUDA_VALUES 32
/**
 * NdtCudaResult:
 *
 * Result of one start; written by the device into host memory.
 */
typedef struct {
  double position[3];
  double orientation[4];
  double values[NDT_CUDA_VALUES];
  double objective;
  uint32_t iterations;
  uint32_t evaluations;
  uint32_t oscillation;
  uint32_t stop; /* NdtStop or NDT_CUDA_STOP_CANCELLED */
  uint32_t n_points;
  uint32_t reserved;
} NdtCudaResult;

#define NDT_CUDA_RESULT_WORDS (sizeof (NdtCudaResult) / 4)
#define NDT_CUDA_STOP_CANCELLED 1000

/* Words of a message to a running sequence: the low half of each is a word of an NdtStart up to its
 * factor, which starts that have one are launched with, the last one's a command; the high half is
 * the ticket of the result. One a lane. */
#define NDT_CUDA_MESSAGE (offsetof (NdtStart, regularization.factor) / 4 + 1)
#define NDT_CUDA_GO 1
#define NDT_CUDA_QUIT 2

/**
 * NdtCudaJob:
 * @d1: of each level, as @d2
 * @evaluate: one pass over @evaluate_level by @evaluate_kind at each start, instead of alignments
 * @source: the scan, of a sequence the first one
 * @sources: of a sequence: all of its scans, @n_starts of them, host memory; the start of the first
 *   is @start, the others are received as messages. NULL: all starts are of one scan
 * @mailbox: of a sequence: a message, host memory
 * @message: of a sequence: room for it, device memory
 * @ended: of a sequence: host memory, receives @ticket where the next message did not come in time
 * @patience: of a sequence: nanoseconds that it waits for a message
 * @starts: device memory or host memory that the device reads; NULL: the only one is @start
 * @results: one a start, host memory
 * @finished: host memory, receives @ticket once all results are there
 * @words: of a single start or a sequence: host memory for the words of its results, in the place
 * of
 *   @results and @finished. The low half of each is a word of an NdtCudaResult, the high half
 *   @ticket, of a sequence counting up: the result is there when all of its words are, so that
 *   nothing is written after it that would have to wait for it to arrive. NULL: @results
 * @fault: host memory, set where a wait on the device timed out
 * @cancelled: device memory, nonzero: the alignment stops within a few passes
 * @n_done: device memory, zero before and after
 * @exchange: device memory for sums between blocks (grids), see ndt_cuda_exchange_bytes()
 * @sequence: device memory, number of exchanges so far (grids)
 * @lanes: as of NdtCudaShape
 * @n_slots: chunks of points, with the voxels near them, that a block caches from pass to pass; for
 *   scans with 1, 2 and 4 lanes a point
 * @reuse: how far a point may move, in cells, before the voxels near it are looked up again
 * @terms: extra terms, device memory, of shapes with @methods; NULL: none
 * @scalars: device memory for their values, n_scalars of each block
 *
 * One launch.
 */
typedef struct {
  NdtCudaLevel levels[NDT_CUDA_LEVELS];
  float inverse_resolution[NDT_CUDA_LEVELS];
  float d1[NDT_CUDA_LEVELS];
  float d2[NDT_CUDA_LEVELS];
  double translation_epsilon;
  double rotation_epsilon;
  double max_translation_step;
  double max_rotation_step;
  int32_t n_levels;
  int32_t neighbours;
  int32_t max_iterations;
  int32_t max_evaluations;
  int32_t method; /* NdtMethod */
  int32_t evaluate;
  int32_t evaluate_level;
  int32_t evaluate_kind;
  NdtCudaSource source;
  const NdtCudaSource *sources;
  const uint64_t *mailbox;
  uint64_t *message;
  volatile uint32_t *ended;
  uint32_t patience;
  const NdtStart *starts;
  NdtStart start;
  uint32_t n_starts;
  uint32_t ticket;
  NdtCudaResult *results;
  volatile uint32_t *finished;
  uint64_t *words;
  volatile uint32_t *fault;
  const uint32_t *cancelled;
  uint32_t *n_done;
  uint64_t *exchange;
  uint32_t *sequence;
  uint32_t lanes;
  uint32_t n_slots[3];
  float reuse;
  const NdtExtraTerms *terms;
  double *scalars;
} NdtCudaJob;

/**
 * NdtCudaShape:
 * @grid: one alignment at a time by a cooperative grid of @size blocks (16, 32, 64 or 128);
 *   otherwise each start has a cluster of @size blocks (1, 2, 4, 8, 16)
 * @dense: of a grid of 16: two blocks share a multiprocessor, for devices with 8 to 15 of them
 * @threads: a block: 256, or for clusters 512
 * @lanes: sum of the lanes a point that scans may take: one of 1, 2 and 4 where it is known,
 *   otherwise ndt_cuda_lanes() of each scan, but no fewer than the least of these
 * @n_slots: see NdtCudaJob
 * @methods: the kernels that know extra terms and other methods than Newton's
 *
 * How an alignment is distributed over the device. Results depend on @lanes alone; the other
 * members do not change a bit.
 */
typedef struct {
  int32_t grid;
  int32_t dense;
  int32_t size;
  int32_t threads;
  uint32_t lanes;
  uint32_t n_slots[3];
  int32_t methods;
} NdtCudaShape;

/**
 * NdtCudaLimits:
 * @max_cluster: largest cluster of blocks
 * @max_grid: largest grid that the device holds at once, with 256 threads a block
 * @max_dense: the same with two blocks a multiprocessor
 * @max_shared: bytes of shared memory that a block can have
 * @declared: of these, the statically declared ones of the kernels for clusters, for grids, and for
 *   dense ones …
 * @methods_declared: … and of those with @methods
 */
typedef struct {
  int32_t n_processors;
  int32_t max_cluster;
  int32_t max_grid;
  int32_t max_dense;
  int32_t max_shared;
  int32_t declared[3];
  int32_t methods_declared[2];
} NdtCudaLimits;

/* The kernel of a shape with @methods, for any number of lanes a point. */
const void *ndt_cuda_align_methods_kernel (const NdtCudaShape *shape);
cudaError_t ndt_cuda_align_limits (int device, NdtCudaLimits *limits);
size_t ndt_cuda_exchange_bytes (void);
/* Bytes of shared memory that a block of this shape can have. */
size_t ndt_cuda_align_shared (const NdtCudaLimits *limits, const NdtCudaShape *shape);
/* Returns 1 where a block has the memory that this shape needs without slots. */
int ndt_cuda_align_fits (const NdtCudaLimits *limits, const NdtCudaShape *shape);
/* Fewest lanes a point with which a block fits; more always fit. */
uint32_t ndt_cuda_align_least_lanes (const NdtCudaLimits *limits);
/* Most slots of a block of this shape, for scans with @lanes a point. */
uint32_t ndt_cuda_align_max_slots (
    const NdtCudaLimits *limits, const NdtCudaShape *shape, uint32_t lanes);
/* Slots that a block of this shape needs for all of @n_points, with @lanes for each. */
uint32_t ndt_cuda_align_slots (const NdtCudaShape *shape, uint32_t lanes, uint32_t n_points);
cudaError_t ndt_cuda_align_launch (NdtCudaJob *job, const NdtCudaShape *shape, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
