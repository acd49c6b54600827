/* SPDX-License-Identifier: MIT */
/* Constants that were chosen by measurement or as limits, of ndtcore and cuda. docs/constants.md
 * says what each was chosen on and which test fails when it is changed;
 * tests/unit/test-constants.py asserts that both agree. Values that follow from a format or from
 * another constant are defined where they are used. No GLib: nvcc compiles this header. */
#pragma once

#include <stdint.h>

/* ---- Threads of the CPU ---- */

/* How often a thread looks for work, or for the others to finish, before it sleeps: some
 * microseconds. The passes of an alignment follow each other faster than a thread falls asleep and
 * wakes. */
#define NDT_WORKER_SPINS 500
/* A stream whose work ended less than this ago keeps its processor, µs: it pushes a scan and goes
 * on with the next one. */
#define NDT_WORKER_RECENT 2000
/* Chunks below which threads cost more than they save: some 20 µs of work. */
#define NDT_PARALLEL_CHUNKS 12
/* Points of a chunk: the unit of work and of summation. Sums are added chunk by chunk in order, so
 * results do not depend on threads. */
#define NDT_CHUNK 128

/* Raw points for which a thread more is used when a scan is thinned: some 20 µs of work. The sums
 * are integers, so results do not depend on it. */
#define NDT_THIN_PART 8192
/* Points that are assigned to leaves at a time: their arrays stay in the first-level cache. */
#define NDT_THIN_POINTS_AT_ONCE 256

/* ---- Scans and their samples ---- */

/* Coordinates beyond this, metres, are dropped, as are points whose leaf index exceeds ±2^20 along
 * an axis: no lidar measures so far, and cell indices in float would overflow. */
#define NDT_SCAN_LIMIT 100000.0f
/* Integer steps per edge of a leaf, in which centroids are summed: 2^20, so that a leaf of 1 m is
 * resolved to 1 µm and 2^43 points fit into a 64-bit sum. */
#define NDT_LEAF_STEPS 1048576.0f
/* Least and most points of a sample, which has two fifths of the scan's points. */
#define NDT_SAMPLE_LEAST 600
#define NDT_SAMPLE_MOST 1500

/* ---- Motion compensation and frame trees ---- */

/* Instants per scan at which the motion is evaluated: in a scan of 0.1 s each point is at most 25
 * µs from one. One more slot has the points that are not moved. */
#define NDT_DESKEW_SLOTS 2048
/* Points that are assigned to instants and moved at a time, so that no array of a scan's size is
 * needed. */
#define NDT_DESKEW_POINTS_AT_ONCE 1024
/* Frames whose matrices are computed, and points that are transformed, at a time: the intermediate
 * values fit into the first-level cache. */
#define NDT_FRAMES_AT_ONCE 128
#define NDT_FRAME_POINTS_AT_ONCE 256
/* Results of at least this many bytes are written past the caches: they would be evicted before
 * they are read, and such writes do not fetch the line first. */
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
/* Polls of another block's sums before the wait counts as failed: about half a minute. The first
 * blocks of a grid may wait for multiprocessors that other grids occupy. */
#define NDT_CUDA_MAX_POLLS (1 << 26)
/* Time that a caller polls for a result before it sleeps, µs. Waking takes some tens of µs. */
#define NDT_CUDA_SPIN_TIME 5000
/* Time that the kernel of a sequence waits for the next start before it ends and frees the device,
 * ns: several times the duration of a launch. */
#define NDT_CUDA_PATIENCE 100000
/* Most starts of one launch; and where starts run one after the other: some systems end a kernel
 * that runs for seconds. */
#define NDT_CUDA_MAX_STARTS 4096
#define NDT_CUDA_MAX_IN_TURN 64
/* A backend that began an alignment less than this ago counts as active, µs: several times the
 * duration of an alignment. */
#define NDT_CUDA_AT_WORK 1000
/* Poses of which the objective is computed in one launch in the background, of the starts that are
 * aligned in one: a pass takes some µs, an alignment a few hundred. */
#define NDT_CUDA_BACKGROUND_PASSES 16

/* ---- The CUDA backend: searches of a whole map ---- */

/* Nodes of a search that wait which the device has memory for, and four times as many as those with
 * one count: 46 MiB. Where there are more the CPU searches. */
#define NDT_CUDA_SEARCH_NODES (1 << 21)

/* ---- The CUDA backend: memory, maps and frames ---- */

/* Bytes of one part of an upload from pageable memory: its transfer takes longer than its request.
 */
#define NDT_CUDA_UPLOAD_PART 262144
/* Largest record in pageable memory that is uploaded whole, bytes: of larger ones the needed fields
 * are packed on the host first, which takes less time than to transfer the rest. */
#define NDT_CUDA_MAX_RECORD 32
#define NDT_CUDA_PARTS 4
/* Unfiltered scans of up to this many points are read by the device from host memory. */
#define NDT_CUDA_MAX_IN_PLACE 32768
/* Most cells of a level for which a dense grid is made: 128 MiB. */
#define NDT_CUDA_MAX_GRID (1 << 25)
/* Most points of one upload, which overlaps with the work on the points before; and least, where
 * the budget is small. */
#define NDT_CUDA_BUILD_CHUNK 1048576
#define NDT_CUDA_BUILD_LEAST_CHUNK 4096
/* Records of more bytes are packed on the host. */
#define NDT_CUDA_BUILD_STRIDE 48
/* log2 of the least and of the most cells of a table. */
#define NDT_CUDA_BUILD_LEAST_BITS 16
#define NDT_CUDA_BUILD_MOST_BITS 28
/* Points or frames of one transfer: large enough for full bandwidth, and small enough for uploads,
 * downloads and the host's part of the work to overlap. */
#define NDT_CUDA_FRAMES_PART (1 << 18)
#define NDT_CUDA_FRAMES_LEAST_PART (1 << 12)
/* Trees of more levels are propagated by doubling: one launch per level would take longer. */
#define NDT_CUDA_FRAMES_BY_LEVEL 32

/* ---- The step rule (ndt-optimizer.h) ---- */

/* Steps of the approach after an indefinite start: three bring an error of half a metre and 3° into
 * the basin (docs/mathematics.md). */
#define NDT_OPTIMIZER_DETOUR 3
/* Smallest fraction of a step that is tried. */
#define NDT_OPTIMIZER_LEAST_LENGTH 1e-6
/* Longest turn of a step of the approach, rad; its longest translation is a cell. */
#define NDT_OPTIMIZER_APPROACH_TURN 0.25
/* A stage of the approach ends with a step below a fiftieth of a cell and 2 mrad: the squares. */
#define NDT_OPTIMIZER_STAGE_CELL2 0.0004
#define NDT_OPTIMIZER_STAGE_TURN2 0.000004
/* Least and most length of a backtracking step, as a fraction of the one before. */
#define NDT_OPTIMIZER_BACKTRACK_LEAST 0.1
#define NDT_OPTIMIZER_BACKTRACK_MOST 0.5
/* First damping of a Hessian that is not definite, in units of its scaled diagonal. */
#define NDT_OPTIMIZER_DAMPING 0.01
/* Steps whose curvature L-BFGS keeps: as many as a pose has parameters. */
#define NDT_OPTIMIZER_HISTORY 6
/* L-BFGS has converged with two steps in turn that are so many times shorter than the epsilons. */
#define NDT_OPTIMIZER_SHORT 5

/* ---- Files ---- */

/* Largest step between times that are whole numbers without a unit and taken for seconds: 10 Hz are
 * steps of 100 in ms and of 10^8 in ns. */
#define NDT_POSE_STEP_LIMIT 50.0
/* Bytes of a pose file: 4 GiB are twenty million poses. */
#define NDT_TRAJECTORY_MAX_SIZE (UINT64_C (1) << 32)
/* Most bytes of a map's metadata: a million tiles; and deepest nesting of its lists: Autoware's
 * have two levels. */
#define NDT_METADATA_MAX_SIZE (UINT64_C (1) << 26)
#define NDT_METADATA_MAX_DEPTH 16
