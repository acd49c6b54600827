/* SPDX-License-Identifier: MIT */
/* A scan in a backend's slot with motion compensation before thinning: by the backend where it has
 * the methods, on the CPU otherwise. */
#pragma once

#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

/* Owns memory that is reused from scan to scan. Not thread-safe. */
typedef struct _NdtMovingScan NdtMovingScan;

NdtMovingScan *ndt_moving_scan_new (void);
void ndt_moving_scan_free (NdtMovingScan *scan);

/* Takes a scan for @slot: @points and @times, whose memory stays valid as for
 * ndt_backend_set_scan(). @span: (out). */
gboolean ndt_moving_scan_set (NdtMovingScan *scan, NdtBackend *backend, guint slot,
    const NdtCloudView *points, const NdtTimeView *times, NdtTimeSpan *span, GError **error);
/* Sets the scan in its slot, compensated to the motion's reference, or uncompensated with NULL. May
 * be called repeatedly; the result replaces the one before. */
gboolean ndt_moving_scan_move (
    NdtMovingScan *scan, const NdtScanMotion *motion, const NdtScanFilter *filter, GError **error);

/* Sets in @slot the points of one of @n_parts equal parts of the scan's time, compensated to the
 * motion's reference. @time: (out): mean of their times; NAN where there are none, and then nothing
 * is set. */
gboolean ndt_moving_scan_set_part (NdtMovingScan *scan, guint slot, const NdtScanMotion *motion,
    guint part, guint n_parts, const NdtScanFilter *filter, NdtTimeSpan *span, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtMovingScan, ndt_moving_scan_free)

G_END_DECLS
