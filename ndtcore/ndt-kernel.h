/* SPDX-License-Identifier: MIT */
/* The CPU backend's inner loop: the objective of one chunk of points. Private to the backend. */
#pragma once

#include <glib.h>

#include "ndt-formulas.h"
#include "ndt-voxel-map.h"

G_BEGIN_DECLS

/* Points of a chunk: the unit of work and of summation. Sums are added chunk by chunk in order, so
 * results do not depend on threads. */
#define NDT_CHUNK 128
#define NDT_MAX_NEIGHBOURS 27
/* Sized so that every point of a chunk may have its own cell. */
#define NDT_CHUNK_CANDIDATES (NDT_CHUNK * NDT_MAX_NEIGHBOURS)
#define NDT_CHUNK_LISTS (2 * NDT_CHUNK)
/* Vectors read past the end of a list. */
#define NDT_LANES 16

/* Candidate voxels of one cell. */
typedef struct {
  gint32 cell[3];
  guint16 first;
  guint16 n;
} NdtCellList;

/**
 * NdtChunkCache:
 *
 * Candidates of the cells that a chunk's points were in at the last evaluation. A pose moves little
 * between evaluations, so most points find their list where they left it.
 */
typedef struct {
  guint64 tag; /* of map, level and neighbours; 0: empty */
  guint n_lists;
  guint n_candidates;
  guint16 list_of[NDT_CHUNK];
  NdtCellList lists[NDT_CHUNK_LISTS];
  float x[NDT_CHUNK_CANDIDATES + NDT_LANES]; /* ndt_neighbour_mean_f() */
  float y[NDT_CHUNK_CANDIDATES + NDT_LANES];
  float z[NDT_CHUNK_CANDIDATES + NDT_LANES];
  guint32 voxel[NDT_CHUNK_CANDIDATES + NDT_LANES];
} NdtChunkCache;

typedef struct {
  const NdtVoxelLevel *level;
  guint64 tag; /* differs where lists may differ; not 0 */
  NdtTransformF transform;
  NdtKind kind;
  NdtNeighbours neighbours;
  float resolution;
  float inverse_resolution;
  float d1;
  float d2;
} NdtKernelArgs;

/* x, y, z: n <= NDT_CHUNK finite points of the sensor frame. */
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

/* The fastest that this processor runs; the environment variable NDT_KERNEL (generic, avx2, avx512)
 * asks for another, where it can be had. */
NdtKernel ndt_kernel_choose (const gchar **name);

G_END_DECLS
