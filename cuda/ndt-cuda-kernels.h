/* SPDX-License-Identifier: MIT */
/* What the backend's C code and the kernels share. Private to cuda/. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "ndtcore/math/ndt-types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NDT_CUDA_LEVELS 3

/* Lanes of a warp for each point of a scan: 1, or 4 or 2 up to so many points. Sums depend on it,
 * so it depends on the scan alone. */
#define NDT_CUDA_FOUR_LANES 8192
#define NDT_CUDA_TWO_LANES 32768

NDT_INLINE uint32_t
ndt_cuda_lanes (uint32_t n_points)
{
  return n_points <= NDT_CUDA_FOUR_LANES ? 4 : n_points <= NDT_CUDA_TWO_LANES ? 2 : 1;
}

/* Sums of a pass over the scan, in this order: score, gradient (6), Hessian (21), NVTL, matched
 * points, pairs, points. One a lane. */
#define NDT_CUDA_VALUES 32
/**
 * NdtCudaVoxel:
 * @cell: of x, y, z, the low ten bits each
 *
 * An NdtVoxel as the kernels read it: its first 16 bytes tell whether it is a pair.
 */
typedef struct {
  float mean[3];
  uint32_t cell;
  float icov[6];
  uint32_t reserved[2];
} NdtCudaVoxel;

/**
 * NdtCudaLevel:
 * @grid: for each cell, x fastest, 1 + the index of its voxel or 0, with a frame of four empty
 * cells on every side; NULL where the map is too large for it: then there is the hash table
 * @grid_first: its first cell, of the frame
 * @grid_size: cells an axis
 */
typedef struct {
  const NdtCudaVoxel *voxels;
  const NdtBlock *blocks;
  const uint32_t *grid;
  int32_t grid_first[3];
  int32_t grid_size[3];
  double resolution;
  int64_t origin[3];
  int32_t block_shift;
  uint32_t n_voxels;
} NdtCudaLevel;

/**
 * NdtCudaResult:
 *
 * Of one start; written by the device into host memory.
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

#define NDT_CUDA_STOP_CANCELLED 1000

/**
 * NdtCudaSource:
 * @points: floats x, y, z; device memory or host memory that the device reads
 * @stride: floats from one point to the next
 * @n_points_device: where the device finds the number of points; NULL: it is @n_points
 */
typedef struct {
  const float *points;
  const uint32_t *n_points_device;
  uint32_t stride;
  uint32_t n_points;
} NdtCudaSource;

/* Words of a message to a running sequence: the low half of each is a word of an NdtStart, the last
 * one's a command; the high half is the number that `finished' will receive. One a lane. */
#define NDT_CUDA_MESSAGE (sizeof (NdtStart) / 4 + 1)
#define NDT_CUDA_GO 1
#define NDT_CUDA_QUIT 2

/**
 * NdtCudaJob:
 * @d1: of each level, as @d2
 * @evaluate: one pass over @evaluate_level by @evaluate_kind at each start, instead of alignments
 * @source: the scan, of a sequence the first one
 * @sources: of a sequence: all of its scans, @n_starts of them, host memory; the start of the first
 *   is @start, the others' come as messages. NULL: all starts are of one scan
 * @mailbox: of a sequence: a message, host memory
 * @message: of a sequence: room for it, device memory
 * @ended: of a sequence: host memory, receives @ticket when the next message came too late
 * @patience: of a sequence: nanoseconds that it waits for a message
 * @starts: device memory or host memory that the device reads; NULL: the only one is @start
 * @results: one a start, host memory
 * @finished: host memory, receives @ticket once all results are there; of a sequence with each
 *   result, counting up
 * @fault: host memory, set where a wait on the device lasted too long
 * @cancelled: device memory, nonzero to stop soon
 * @n_done: device memory, zero before and after
 * @exchange: device memory for sums between blocks (grids), see ndt_cuda_exchange_bytes()
 * @sequence: device memory, number of exchanges so far (grids)
 * @lanes: as of NdtCudaShape
 * @n_slots: chunks of points that a block keeps, with the voxels near them, from pass to pass; of
 *   scans with 1, 2 and 4 lanes a point
 * @reuse: how far a point may move, in cells, before the voxels near it are looked up again
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
  volatile uint32_t *fault;
  const uint32_t *cancelled;
  uint32_t *n_done;
  uint64_t *exchange;
  uint32_t *sequence;
  uint32_t lanes;
  uint32_t n_slots[3];
  float reuse;
} NdtCudaJob;

/**
 * NdtCudaShape:
 * @grid: one alignment at a time by a cooperative grid of @size blocks (16, 32, 64 or 128);
 *   otherwise each start has a cluster of @size blocks (1, 2, 4, 8, 16)
 * @threads: a block: 256, or for clusters 512
 * @lanes: sum of the lanes a point that scans may take: one of 1, 2 and 4 where it is known,
 *   otherwise ndt_cuda_lanes() of each scan, but no fewer than the least of these
 * @n_slots: see NdtCudaJob
 *
 * How an alignment is spread over the device. But for @lanes it has no influence on results, to the
 * bit.
 */
typedef struct {
  int32_t grid;
  int32_t size;
  int32_t threads;
  uint32_t lanes;
  uint32_t n_slots[3];
} NdtCudaShape;

/**
 * NdtCudaLimits:
 * @max_cluster: largest cluster of blocks
 * @max_grid: largest grid that the device holds at once, with 256 threads a block
 * @max_shared: bytes of shared memory that a block can have
 * @declared: of these, what kernels of clusters and of grids have in any case
 */
typedef struct {
  int32_t n_processors;
  int32_t max_cluster;
  int32_t max_grid;
  int32_t max_shared;
  int32_t declared[2];
} NdtCudaLimits;

cudaError_t ndt_cuda_align_limits (int device, NdtCudaLimits *limits);
size_t ndt_cuda_exchange_bytes (void);
/* Has a block the memory that this shape takes without any slot? */
int ndt_cuda_align_fits (const NdtCudaLimits *limits, const NdtCudaShape *shape);
/* Fewest lanes a point with which one block fits, if no more. */
uint32_t ndt_cuda_align_least_lanes (const NdtCudaLimits *limits);
/* Slots that a block of this shape can have at most, for scans with @lanes a point. */
uint32_t ndt_cuda_align_max_slots (
    const NdtCudaLimits *limits, const NdtCudaShape *shape, uint32_t lanes);
/* Slots that a block of this shape needs to keep all of @n_points, with @lanes for each. */
uint32_t ndt_cuda_align_slots (const NdtCudaShape *shape, uint32_t lanes, uint32_t n_points);
cudaError_t ndt_cuda_align_launch (NdtCudaJob *job, const NdtCudaShape *shape, cudaStream_t stream);

/* NdtVoxel to NdtCudaVoxel, in place; and the level's grid, if it has one. */
cudaError_t ndt_cuda_prepare_level (const NdtCudaLevel *level, cudaStream_t stream);

/* A leaf of the grid that thins a scan; all zero where there is none. */
typedef struct {
  uint64_t not_key; /* ~ndt_block_key() */
  int64_t sum[3];
  uint32_t n;
  uint32_t not_first; /* ~index of its first point */
} NdtCudaLeaf;

/**
 * NdtCudaThin:
 * @x: first point's x, readable by the device, aligned to its type; likewise @y and @z
 * @stride: bytes
 * @slot_of: n_raw words of scratch
 * @counts: one word for each 1024 points of scratch
 * @leaves: 2^(64 - leaf_shift) of them, all zero before and after; NULL where leaf_size is 0
 * @points: receives at most n_raw packed points
 * @n_points: receives how many
 * @n_raw_device: where the device finds how many of @n_raw points there are; NULL: all
 * @sample: gives a sample by the rules of ndt-scan-sample.h, leaves being its cubes, in the place
 *   of centroids: at most NDT_SAMPLE_MOST points
 * @kept: of a sample: scratch, as @counts
 *
 * Members of the filter as in NdtScanFilter.
 */
typedef struct {
  const uint8_t *x;
  const uint8_t *y;
  const uint8_t *z;
  uint64_t stride;
  uint32_t n_raw;
  int32_t is_double;
  float min_range;
  float max_range;
  int32_t use_box;
  float box_min[3];
  float box_max[3];
  float leaf_size;
  uint32_t *slot_of;
  uint32_t *counts;
  NdtCudaLeaf *leaves;
  int32_t leaf_shift;
  float *points;
  uint32_t *n_points;
  const uint32_t *n_raw_device;
  int32_t sample;
  uint32_t *kept;
} NdtCudaThin;

#define NDT_CUDA_THIN_BLOCK 1024
#define NDT_CUDA_THIN_LAUNCHES 3

cudaError_t ndt_cuda_thin_launch (const NdtCudaThin *thin, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
