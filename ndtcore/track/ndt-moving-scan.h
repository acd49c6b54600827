/* SPDX-License-Identifier: MIT */
/* A scan in a backend's slot whose points are brought to one instant before it is thinned: by the
 * backend where it has means for that, on the CPU otherwise. */
#pragma once

#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

/* Holds memory that is reused from scan to scan. Not thread-safe. */
typedef struct _NdtMovingScan NdtMovingScan;

NdtMovingScan *ndt_moving_scan_new (void);
void ndt_moving_scan_free (NdtMovingScan *scan);

/* Takes a scan for @slot: @points and @times, whose memory stays valid as for
 * ndt_backend_set_scan(). @span: (out). */
gboolean ndt_moving_scan_set (NdtMovingScan *scan, NdtBackend *backend, guint slot,
    const NdtCloudView *points, const NdtTimeView *times, NdtTimeSpan *span, GError **error);
/* Sets it in its slot, as seen at the motion's reference, or, with NULL, as it is. As often as
 * wanted; the scan set before is replaced. */
gboolean ndt_moving_scan_move (
    NdtMovingScan *scan, const NdtScanMotion *motion, const NdtScanFilter *filter, GError **error);

/* Sets in @slot, as seen at the motion's reference, what was measured in one of @n_parts equal
 * parts of the scan's time. @time: (out): mean of its times, NAN where there is none, and nothing
 * is set.
 */
gboolean ndt_moving_scan_set_part (NdtMovingScan *scan, guint slot, const NdtScanMotion *motion,
    guint part, guint n_parts, const NdtScanFilter *filter, NdtTimeSpan *span, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtMovingScan, ndt_moving_scan_free)

G_END_DECLS
