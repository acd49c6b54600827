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

/* Lets a device begin to read a scan that ndt_moving_scan_set() will set with the same arguments,
 * maybe after other scans. Of a CPU backend it does nothing. */
gboolean ndt_moving_scan_announce (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtTimeView *times, GError **error);
/* Takes a scan for @slot: @points and @times, whose memory stays valid as for
 * ndt_backend_set_scan(). @span: (out). */
gboolean ndt_moving_scan_set (NdtMovingScan *scan, NdtBackend *backend, guint slot,
    const NdtCloudView *points, const NdtTimeView *times, NdtTimeSpan *span, GError **error);
/* Sets the scan in its slot, compensated to the motion's reference, or uncompensated with NULL. May
 * be called repeatedly; the result replaces the one before. */
gboolean ndt_moving_scan_move (
    NdtMovingScan *scan, const NdtScanMotion *motion, const NdtScanFilter *filter, GError **error);

/* Most parts of ndt_moving_scan_divide(). */
#define NDT_MOVING_SCAN_MAX_PARTS 32

/* Compensates the scan's points to the motion's reference, once, and sorts them into @n_parts equal
 * parts of the scan's time. NDT_ERROR_NO_MEMORY. */
gboolean ndt_moving_scan_divide (
    NdtMovingScan *scan, const NdtScanMotion *motion, guint n_parts, GError **error);
/* After it: sets in @slot the points of one part, in the order of the scan. @span: (out): of their
 * times; its n_points is 0 where there are none, and then nothing is set. */
gboolean ndt_moving_scan_set_part (NdtMovingScan *scan, guint slot, guint part,
    const NdtScanFilter *filter, NdtTimeSpan *span, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtMovingScan, ndt_moving_scan_free)

G_END_DECLS
