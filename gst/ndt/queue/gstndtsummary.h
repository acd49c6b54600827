/* SPDX-License-Identifier: MIT */
/* What became of a drive, in a few numbers. */
#pragma once

#include <gst/gst.h>

#include "gst/pointcloud/pointcloud.h"

G_BEGIN_DECLS

/**
 * GstNdtSummary:
 * @scans: that there were …
 * @status: … by GstPoseStatus …
 * @reason: … and by GstPoseReason
 * @fit: sum over those that are tracking
 * @first: running time of the first scan, or that a segment begins anew with
 * @tracked: of the latest that is tracking, GST_CLOCK_TIME_NONE: none since @first
 * @largest_gap: ns from one that is tracking to the next, or without any at an end
 * @run: scans in a row that are not tracking, and the most of them, @longest_run
 * @last: status of the latest scan that was aligned or could not be for want of a pose
 * @has_loss: a scan was lost: the first has the number @loss, time @loss_time, and was not tracking
 *   since @loss_since; @loss_reason and @loss_why say why not
 *
 * Zero it to begin, but for times, which are GST_CLOCK_TIME_NONE.
 */
typedef struct {
  guint64 scans;
  guint64 status[GST_POSE_STATUS_SKIPPED + 1];
  guint64 reason[GST_POSE_REASON_TOO_FEW_POINTS + 1];
  gdouble fit;
  GstClockTime first;
  GstClockTime tracked;
  GstClockTime largest_gap;
  guint64 run;
  guint64 longest_run;
  GstPoseStatus last;
  gboolean has_loss;
  guint64 loss;
  guint64 loss_since;
  GstClockTime loss_time;
  GstPoseReason loss_reason;
  gchar loss_why[160];
} GstNdtSummary;

void gst_ndt_summary_init (GstNdtSummary *summary);
/* @time: running time of the scan. One that runs back begins a new part: no gap spans it. */
void gst_ndt_summary_add (GstNdtSummary *summary, const GstPoseMeta *meta, GstClockTime time);
/* Is the drive lost: at its end, or for more than half of its scans? Not where there was none. */
gboolean gst_ndt_summary_is_lost (const GstNdtSummary *summary);
/* Adds its fields. */
void gst_ndt_summary_to_structure (const GstNdtSummary *summary, GstStructure *structure);
/* "scans=50 tracking=49 …", names with "_". (transfer full) */
gchar *gst_ndt_summary_to_string (const GstNdtSummary *summary);

G_END_DECLS
