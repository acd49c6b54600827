/* SPDX-License-Identifier: MIT */
/* The CPU backend's inner loop: the objective of one chunk of points. Private to the backend. */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/map/ndt-voxel-map.h"

G_BEGIN_DECLS

#define NDT_MAX_NEIGHBOURS 27
#define NDT_CHUNK_PAIRS (NDT_CHUNK * NDT_MAX_NEIGHBOURS)
#define NDT_CHUNK_LISTS (2 * NDT_CHUNK)
#define NDT_CHUNK_SLOTS (2 * NDT_CHUNK_LISTS) /* a power of two */
/* Candidates of a group, the lanes of the widest vector. Vectors read past the end of a list. */
#define NDT_LANES 16
#define NDT_LIST_GROUPS ((NDT_MAX_NEIGHBOURS + NDT_LANES - 1) / NDT_LANES)
/* Enough for a cell of its own for each point of a chunk. */
#define NDT_CHUNK_GROUPS (NDT_CHUNK * NDT_LIST_GROUPS)

/**
 * NdtCandidates:
 * @x: means, ndt_neighbour_mean_f(); likewise @y and @z
 * @voxel: indices
 *
 * A group of a list's candidates: a cache line each, which no load crosses.
 */
typedef struct {
  float x[NDT_LANES];
  float y[NDT_LANES];
  float z[NDT_LANES];
  guint32 voxel[NDT_LANES];
} __attribute__ ((aligned (4 * NDT_LANES))) NdtCandidates;

/**
 * NdtCellList:
 * @cell: relative to the level's origin
 * @first: the group that its candidates start in
 * @wanted: bit i is set where candidate i is, in this order: the cell's own voxel; that or one that
 *   shares a face; any
 *
 * Candidate voxels of one cell.
 */
typedef struct {
  gint32 cell[3];
  guint32 first;
  guint32 wanted[3];
  guint32 reserved; /* padding: two to a cache line */
} NdtCellList;

/**
 * NdtChunkCache:
 * @tag: of map, level and extent of the neighbourhoods; 0: empty
 * @cells: of each point at the last evaluation, an array an axis
 * @list_of: list of each of @cells
 * @slots: lists by the hash of their cell, or behind that; none where not below @n_lists
 * @lists: the last one is no cell's
 *
 * Candidates of the cells of a chunk's points. A pose changes little between evaluations, so that
 * most points are in cells that have a list.
 */
typedef struct {
  guint64 tag;
  guint n_lists;
  guint n_groups;
  gint32 cells[3][NDT_CHUNK];
  guint16 list_of[NDT_CHUNK];
  guint16 slots[NDT_CHUNK_SLOTS];
  NdtCellList lists[NDT_CHUNK_LISTS + 1];
  NdtCandidates groups[NDT_CHUNK_GROUPS];
} NdtChunkCache;

typedef struct {
  const NdtVoxelLevel *level;
  guint64 tag; /* differs where lists may differ; not 0 */
  NdtTransformF transform;
  NdtKind kind;
  NdtNeighbours neighbours;
  gboolean faces_only; /* lists have the candidates of direct7 only */
  float resolution;
  float inverse_resolution;
  float d1;
  float d2;
} NdtKernelArgs;

/* x, y, z: n <= NDT_CHUNK finite points of the sensor frame, in arrays of NDT_CHUNK. */
typedef void (*NdtKernel) (const NdtKernelArgs *args, const float *x, const float *y,
    const float *z, guint n, NdtChunkCache *cache, NdtSums *sums);

void ndt_kernel_generic (const NdtKernelArgs *args, const float *x, const float *y, const float *z,
    guint n, NdtChunkCache *cache, NdtSums *sums);
#ifdef NDT_HAVE_X86_KERNELS
void ndt_kernel_avx2 (const NdtKernelArgs *args, const float *x, const float *y, const float *z,
    guint n, NdtChunkCache *cache, NdtSums *sums);
void ndt_kernel_avx512 (const NdtKernelArgs *args, const float *x, const float *y, const float *z,
    guint n, NdtChunkCache *cache, NdtSums *sums);
#endif

/* The kernel for ndt_instructions_choose(). */
NdtKernel ndt_kernel_choose (const gchar **name);

G_END_DECLS
