/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gstndtsummary.h"
#include "ndtcore/track/ndt-localizer.h"
#include "ndtcore/mapfile/ndt-map-tiles.h"

G_BEGIN_DECLS

typedef enum {
  GST_NDT_TIME_WAIT,   /* from arrival until the batch was taken */
  GST_NDT_TIME_UPLOAD, /* NdtLocalization.upload_time */
  GST_NDT_TIME_ALIGN,  /* NdtLocalization.align_time */
  GST_NDT_TIME_PUSH,   /* downstream */
  GST_NDT_N_TIMES
} GstNdtTime;

/**
 * GstNdtStats:
 *
 * What the element has counted since it left READY. Any thread.
 */
typedef struct _GstNdtStats GstNdtStats;

GstNdtStats *gst_ndt_stats_new (void);
void gst_ndt_stats_free (GstNdtStats *stats);
void gst_ndt_stats_reset (GstNdtStats *stats);

/* Each scan that comes in goes out or is dropped. */
void gst_ndt_stats_scan_in (GstNdtStats *stats);
void gst_ndt_stats_scan_out (GstNdtStats *stats);
void gst_ndt_stats_dropped (GstNdtStats *stats);
void gst_ndt_stats_backwards (GstNdtStats *stats);
void gst_ndt_stats_batch (GstNdtStats *stats, guint n_scans);
/* A scan whose buffer could not be read as points. */
void gst_ndt_stats_malformed (GstNdtStats *stats);
void gst_ndt_stats_late (GstNdtStats *stats);
void gst_ndt_stats_qos (GstNdtStats *stats);
void gst_ndt_stats_fallback (GstNdtStats *stats);
/* @meta: what it came to; @time: running time of the scan. */
void gst_ndt_stats_localization (GstNdtStats *stats, const NdtLocalization *localization,
    const GstPoseMeta *meta, GstClockTime time);
void gst_ndt_stats_get_summary (GstNdtStats *stats, GstNdtSummary *summary);
void gst_ndt_stats_time (GstNdtStats *stats, GstNdtTime which, GstClockTime time);
void gst_ndt_stats_map (GstNdtStats *stats, const NdtVoxelMap *map);
/* Of the tiles of a map, and as they were counted before; zeros before they were opened. */
void gst_ndt_stats_tiles (
    GstNdtStats *stats, const NdtMapTilesCounts *before, const NdtMapTilesCounts *now);

/* @counters is nullable. (transfer full) */
GstStructure *gst_ndt_stats_to_structure (GstNdtStats *stats, const NdtBackendCounters *counters);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstNdtStats, gst_ndt_stats_free)

G_END_DECLS
