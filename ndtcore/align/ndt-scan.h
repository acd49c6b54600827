/* SPDX-License-Identifier: MIT */
/* A thinned scan in the CPU backend. Private to it. */
#pragma once

#include "ndt-backend.h"
#include "ndtcore/base/ndt-workers.h"

G_BEGIN_DECLS

/**
 * NdtScan:
 * @n: points
 * @x: the points in spatial order, one array an axis; likewise @y and @z
 * @order: of each its number in the order of the scan (of each leaf's first point)
 *
 * Buffers are only ever enlarged, beyond what the largest scan left so far.
 */
typedef struct {
  guint n;
  float *x;
  float *y;
  float *z;
  guint32 *order;

  /*< private >*/
  guint capacity; /* points */
} NdtScan;

/* What thinning needs besides the result: one for all scans of a backend. One scan at a time. */
typedef struct _NdtThinner NdtThinner;

/* @workers: (transfer none): share the work. */
NdtThinner *ndt_thinner_new (NdtWorkers *workers);
void ndt_thinner_free (NdtThinner *thinner);
gsize ndt_thinner_get_bytes (const NdtThinner *thinner);

/* The part of ndt_scan_set() with a leaf size before the points are ordered: *n is the number of
 * centroids, which stay in the thinner. FALSE where there is not the memory. */
gboolean ndt_thinner_run (NdtThinner *thinner, const NdtCloudView *points,
    const NdtScanFilter *filter, guint *n, guint64 *allocations);

/* Thins @points. @cell: the map's resolution, for the spatial order. *allocations is increased.
 * FALSE where there is not the memory; the scan has no points then. */
gboolean ndt_scan_set (NdtScan *scan, NdtThinner *thinner, const NdtCloudView *points,
    const NdtScanFilter *filter, double cell, guint64 *allocations);
/* The first @max_points points in the order of the scan, packed. */
void ndt_scan_get (const NdtScan *scan, float *xyz, guint max_points);
gsize ndt_scan_get_bytes (const NdtScan *scan);
void ndt_scan_clear (NdtScan *scan);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtThinner, ndt_thinner_free)

G_END_DECLS
