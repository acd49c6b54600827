/* SPDX-License-Identifier: MIT */
/* The search of a whole map on the device: the interface between C code and kernels. Private to
 * cuda/. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/map/ndt-overview-rules.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Marks of a direction, with none after the last one. */
#define NDT_CUDA_MARKS 256

/* A mark of the scan, and a direction: see ndt_overview_turned() and ndt_overview_turned_mask(). */
typedef struct {
  float x;
  float y;
  uint32_t mask;
} NdtCudaMark;

typedef struct {
  double c;
  double s;
  uint32_t by;
} NdtCudaDirection;

/* A mark in one direction: offsets in the levels and in the windows, and its directions four times.
 */
typedef struct {
  int32_t level;
  int32_t window;
  uint32_t mask;
} NdtCudaView;

/* A node and the marks that match in it. */
typedef struct {
  NdtOverviewNode node;
  uint32_t count;
} NdtCudaNode;

/**
 * NdtCudaSearchState:
 * @n_windows: of each list
 * @n_queue: nodes in the queue …
 * @end: … and where a round over it ends
 * @n_places: nodes of level 0
 * @waiting: nodes of the queue with each count …
 * @n_places_of: … and places
 * @n_split: nodes with each count that were split
 * @is_full: some did not fit
 * @stops: of even and odd counts: the search was cancelled there
 * @cut: fewest marks of a place
 * @n_found: places found, …
 * @found: … which these are
 * @counts: marks that match there
 *
 * Of one search.
 */
typedef struct {
  uint32_t n_windows[3];
  uint32_t n_queue;
  uint32_t end;
  uint32_t n_places;
  uint32_t waiting[NDT_CUDA_MARKS];
  uint32_t n_places_of[NDT_CUDA_MARKS];
  uint32_t n_split[NDT_CUDA_MARKS];
  uint32_t is_full;
  uint32_t stops[2];
  uint32_t cut;
  uint32_t n_found;
  NdtOverviewNode found[NDT_OVERVIEW_MOST];
  uint32_t counts[NDT_OVERVIEW_MOST];
} NdtCudaSearchState;

/**
 * NdtCudaSearchJob:
 * @marks: host memory, as @directions
 * @views: NDT_CUDA_MARKS of each direction
 * @levels: of the overview, as @quads and @windows
 * @width: of the map, cells, as @height
 * @words: of four windows in a row of @counts …
 * @rows: … and rows
 * @counts: of marks in windows of level 3, by direction, row and column; 0 beyond the map
 * @n_bytes: of @counts, a multiple of 16; n_turns · rows · 4 words of them are counts
 * @lists: of windows with one count, @most_listed each
 * @places: nodes of level 0, up to as many
 * @queue: nodes of levels 1 and 2, up to @most_queued
 * @cut: fewest marks of a place, at first
 * @most: places to find
 * @range: see ndt_overview_is_near()
 * @cancelled: nonzero: the search ends soon
 * @result: host memory, receives @state
 *
 * Device memory but for what is said.
 */
typedef struct {
  const NdtCudaMark *marks;
  const NdtCudaDirection *directions;
  NdtCudaView *views;
  uint32_t n_marks;
  uint32_t n_turns;
  const uint8_t *levels[2];
  const uint32_t *quads;
  const uint32_t *windows;
  double cell;
  int32_t width;
  int32_t height;
  int32_t stride;
  int32_t window_stride;
  int32_t window_plane;
  int32_t columns;
  uint32_t words;
  uint32_t rows;
  uint8_t *counts;
  uint64_t n_bytes;
  uint32_t *lists;
  NdtCudaNode *queue;
  NdtCudaNode *places;
  uint32_t most_listed;
  uint32_t most_queued;
  uint32_t cut;
  uint32_t most;
  int32_t range;
  const uint32_t *cancelled;
  NdtCudaSearchState *state;
  NdtCudaSearchState *result;
} NdtCudaSearchJob;

/* Blocks of a search on the device; 0: it has no cooperative launches. */
cudaError_t ndt_cuda_search_blocks (int device, int *n_blocks);
/* @n_blocks: multiprocessors that it occupies, at most those of ndt_cuda_search_blocks(); the
 * result does not depend on them. Adds to *n_launches. */
cudaError_t ndt_cuda_search_launch (
    const NdtCudaSearchJob *job, int n_blocks, uint32_t *n_launches, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
