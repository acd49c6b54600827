/* SPDX-License-Identifier: MIT */
/* The parts of thinning that read each point, once for each instruction set, by the rules of
 * ndt-scan-filter.h: the same bits in each. Private to the CPU backend. */
#pragma once

#include "ndt-backend.h"

G_BEGIN_DECLS

/* Offsets of a leaf's points, summed along each axis, and the number of points. */
typedef gint64 NdtLeafSum __attribute__ ((vector_size (32), aligned (8)));

/**
 * NdtLeaves:
 * @n: leaves
 * @sums: of each, in the order of the first points
 * @keys: ndt_block_key() of each
 * @capacity: of @sums and @keys
 * @table: slots of @table_size, a power of two: a leaf's number each, or G_MAXUINT32
 * @shift: of hashes, for the table's size
 * @allocations: how often memory was enlarged
 *
 * Leaves of some of a scan's points. Sums are integers: leaves of parts of a scan may be added in
 * any order. Zero it before the first use. Memory grows with the number of leaves only.
 */
typedef struct {
  guint n;
  NdtLeafSum *sums;
  guint64 *keys;
  guint capacity;
  guint32 *table;
  guint table_size;
  int shift;
  guint64 allocations;
} NdtLeaves;

/* Forgets the leaves. FALSE: there is not the memory for an empty table. */
gboolean ndt_leaves_reset (NdtLeaves *leaves);
/* Room for twice as many leaves. FALSE: there is not the memory. */
gboolean ndt_leaves_grow (NdtLeaves *leaves);
void ndt_leaves_clear (NdtLeaves *leaves);

/**
 * NdtScanKernel:
 * @add_points: adds the points of a view that the filter keeps to @leaves
 * @keep_points: copies the points that the filter keeps to x, y and z, in order; returns how many
 * @centroids: those of leaves @first to @first + @n − 1
 * @places: keys of n points along a Z curve over cells of edge 1 / @inverse_cell. Cells 256 apart
 *   have the same key. Arrays have room for a multiple of NDT_CHUNK
 *
 * @add_points returns FALSE where there is not the memory.
 */
typedef struct {
  gboolean (*add_points) (
      NdtLeaves *leaves, const NdtCloudView *points, const NdtScanFilter *filter);
  guint (*keep_points) (
      const NdtCloudView *points, const NdtScanFilter *filter, float *x, float *y, float *z);
  void (*centroids) (
      const NdtLeaves *leaves, guint first, guint n, float leaf_size, float *x, float *y, float *z);
  void (*places) (
      const float *x, const float *y, const float *z, guint n, float inverse_cell, guint32 *keys);
} NdtScanKernel;

extern const NdtScanKernel ndt_scan_kernel_generic;
#ifdef NDT_HAVE_X86_KERNELS
extern const NdtScanKernel ndt_scan_kernel_avx2;
extern const NdtScanKernel ndt_scan_kernel_avx512;
#endif

/* As ndt_kernel_choose(). */
const NdtScanKernel *ndt_scan_kernel_choose (void);

G_END_DECLS
