/* SPDX-License-Identifier: MIT */
/* Constants that were chosen by measurement or as limits, of ndtcore and cuda. docs/constants.md
 * has what each was chosen on and which test fails when it is changed; tests/unit/test-constants.py
 * holds both together. What follows from a format or another constant stands where it is used. No
 * GLib: nvcc reads this. */
#pragma once

#include <stdint.h>

/* ---- Threads of the CPU ---- */

/* How often a thread looks for work, or for the others to finish, before it sleeps: some
 * microseconds. The passes of an alignment follow each other faster than a thread falls asleep and
 * wakes. */
#define NDT_WORKER_SPINS 500
/* Chunks below which threads cost more than they save: some 20 µs of work. */
#define NDT_PARALLEL_CHUNKS 12
/* Points of a chunk: the unit of work and of summation. Sums are added chunk by chunk in order, so
 * results do not depend on threads. */
#define NDT_CHUNK 128

/* ---- Scans and their samples ---- */

/* Leaf indices per axis lie within ±2^20; the rest of the scan is dropped, as is everything that
 * is farther than this many metres: no lidar sees so far, and float cells would overflow. */
#define NDT_SCAN_LIMIT 100000.0f
/* Steps of a leaf's edge that centroids are summed in. 2^20: a leaf of 1 m resolves 1 µm, and 2^43
 * points fit the sum. */
#define NDT_LEAF_STEPS 1048576.0f
/* Points of a sample: two fifths of the scan's, within these. */
#define NDT_SAMPLE_LEAST 600
#define NDT_SAMPLE_MOST 1500

/* ---- Motion compensation and frame trees ---- */

/* Instants over a scan; they are nearer than 25 µs to any point's of a scan of 0.1 s. Points that
 * stay as they are belong to one more. */
#define NDT_DESKEW_SLOTS 2048
/* Points that are dealt and moved together, so that their slots take no memory of a scan's size. */
#define NDT_DESKEW_POINTS_AT_ONCE 1024
/* Frames whose matrices are made together, and points that are transformed together: what lies
 * between two steps stays in the first-level cache. */
#define NDT_FRAMES_AT_ONCE 128
#define NDT_FRAME_POINTS_AT_ONCE 256
/* Results of at least so many bytes go past the caches: who reads them finds them gone there
 * anyway, and a cache line that is about to be overwritten is not fetched first. */
#define NDT_FRAMES_PAST_CACHES (8 << 20)

/* ---- The CUDA backend: alignments ---- */

/* Lanes of a warp for each point of a scan: 1, or 4 or 2 up to so many points. Sums depend on it,
 * so it depends on the scan alone. */
#define NDT_CUDA_FOUR_LANES 8192
#define NDT_CUDA_TWO_LANES 32768
/* How far a point may move, in cells, before its voxels are looked up again. */
#define NDT_CUDA_REUSE 0.125f
/* Chunk sums that a block of a grid keeps before it adds them to its strands. */
#define NDT_CUDA_CHUNK_BUFFER 64
/* Polls of another block's sums before the wait counts as failed: half a minute. The first ones of
 * a grid may wait for processors that other grids have. */
#define NDT_CUDA_MAX_POLLS (1 << 26)
/* Time that a caller spins for a result before it sleeps, µs. Being woken takes some tens. */
#define NDT_CUDA_SPIN_TIME 5000
/* Time that a sequence waits for its next start before it makes room for others, ns: some times
 * what a launch takes. */
#define NDT_CUDA_PATIENCE 100000
/* Starts of one launch; and where they have the device in turn, which some systems do not leave to
 * one kernel for seconds. */
#define NDT_CUDA_MAX_STARTS 4096
#define NDT_CUDA_MAX_IN_TURN 64
/* A backend that began an alignment so short a time ago is at work, µs: some times what one takes.
 */
#define NDT_CUDA_AT_WORK 1000

/* ---- The CUDA backend: memory, maps and frames ---- */

/* Of an upload from plain memory: large enough that it takes longer than to ask for it. */
#define NDT_CUDA_UPLOAD_PART 262144
/* Records in plain memory that are uploaded whole, bytes: wider ones bring more than picking out of
 * them what is needed takes. */
#define NDT_CUDA_MAX_RECORD 32
#define NDT_CUDA_PARTS 4
/* Unfiltered scans up to this many points are read by the device where they are. */
#define NDT_CUDA_MAX_IN_PLACE 32768
/* Cells of a level up to which it has a grid of them: 128 MiB. */
#define NDT_CUDA_MAX_GRID (1 << 25)
/* Points that go up at a time, beside the work on those before: at most, and at least, where a
 * budget is small. */
#define NDT_CUDA_BUILD_CHUNK 1048576
#define NDT_CUDA_BUILD_LEAST_CHUNK 4096
/* Wider records are packed on the host. */
#define NDT_CUDA_BUILD_STRIDE 48
/* log2 of the cells that a table has at least and at most. */
#define NDT_CUDA_BUILD_LEAST_BITS 16
#define NDT_CUDA_BUILD_MOST_BITS 28
/* Points, or frames, that are on their way at once: large enough for transfers to run at full
 * speed, and several for those up, those down and the host's part of the work to overlap. */
#define NDT_CUDA_FRAMES_PART (1 << 18)
#define NDT_CUDA_FRAMES_LEAST_PART (1 << 12)
/* Trees of more levels are propagated by doubling: a launch a level takes too long then. */
#define NDT_CUDA_FRAMES_BY_LEVEL 32

/* ---- The step rule (ndt-optimizer.h) ---- */

/* Steps of the approach that an indefinite start takes: three bring half a metre and 3° into the
 * basin (docs/mathematics.md). */
#define NDT_OPTIMIZER_DETOUR 3
/* A step is not tried at less than this fraction. */
#define NDT_OPTIMIZER_LEAST_LENGTH 1e-6
/* Longest turn of a step of the approach, rad; its longest translation is a cell. */
#define NDT_OPTIMIZER_APPROACH_TURN 0.25
/* A stage of the approach ends with a step below a fiftieth of a cell and 2 mrad: the squares. */
#define NDT_OPTIMIZER_STAGE_CELL2 0.0004
#define NDT_OPTIMIZER_STAGE_TURN2 0.000004
/* A backtracking step is this part of the one before at least, and at most. */
#define NDT_OPTIMIZER_BACKTRACK_LEAST 0.1
#define NDT_OPTIMIZER_BACKTRACK_MOST 0.5
/* First damping of a Hessian that is not definite, in units of its scaled diagonal. */
#define NDT_OPTIMIZER_DAMPING 0.01

/* ---- Files ---- */

/* Whole numbers without a unit that are farther apart as seconds are hardly seconds: 10 Hz in ms
 * are 100, and in ns 10^8. */
#define NDT_POSE_STEP_LIMIT 50.0
/* Bytes of a pose file: 4 GiB are twenty million poses. */
#define NDT_TRAJECTORY_MAX_SIZE (UINT64_C (1) << 32)
/* Bytes of a map's metadata: a million tiles; and how deep its lists lie within each other: two is
 * what there is. */
#define NDT_METADATA_MAX_SIZE (UINT64_C (1) << 26)
#define NDT_METADATA_MAX_DEPTH 16
