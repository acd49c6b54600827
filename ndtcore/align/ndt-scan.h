/* SPDX-License-Identifier: MIT */
/* A thinned scan in the CPU backend. Private to it. */
#pragma once

#include "ndt-backend.h"

G_BEGIN_DECLS

typedef struct {
  guint64 key; /* ndt_block_key() of the leaf */
  gint64 sum[3];
  guint32 n;
  gint32 index[3];
} NdtLeaf;

/**
 * NdtScan:
 * @n: points
 * @xyz: packed, in the order of the scan (of each leaf's first point)
 * @x: the same points in spatial order, one array an axis; likewise @y and @z
 *
 * Buffers are only ever enlarged: there are no allocations after a stream's largest scan.
 */
typedef struct {
  guint n;
  float *xyz;
  float *x;
  float *y;
  float *z;

  /*< private >*/
  guint capacity; /* points */
  guint32 *keys;
  guint32 *order;
  NdtLeaf *leaves;
  guint32 *table;
  guint table_size;
} NdtScan;

/* Thins @points. @cell: the map's resolution, for the spatial order. *allocations is increased.
 * FALSE where there is not the memory; the scan has no points then. */
gboolean ndt_scan_set (NdtScan *scan, const NdtCloudView *points, const NdtScanFilter *filter,
    double cell, guint64 *allocations);
gsize ndt_scan_get_bytes (const NdtScan *scan);
void ndt_scan_clear (NdtScan *scan);

G_END_DECLS
