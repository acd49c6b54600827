/* SPDX-License-Identifier: MIT */
/* What ndtlocalize posts on the bus: errors, warnings about scans, states and changes. */
#pragma once

#include "gstndtestimate.h"
#include "gstndtlocalizeprivate.h"

G_BEGIN_DECLS

/* What happens to a scan that is not aligned. */
#define GST_NDT_NOT_ALIGNED "passes without alignment"

/* Makes self->log forward ndtcore's messages to the element's category. */
void gst_ndt_localize_init_log (GstNdtLocalize *self);
/* Takes over the category's threshold, which may change at any time. */
void gst_ndt_localize_update_log (GstNdtLocalize *self);
/* A scan's result: LOG, and DEBUG where something was decided about it. */
void gst_ndt_localize_log_scan (
    GstNdtLocalize *self, const NdtLocalization *localization, const GstNdtScan *scan);

/* Warns where the engine has left its device. Whoever uses the engine calls it. */
void gst_ndt_localize_report_failure (GstNdtLocalize *self);

/* The others are for the task. */

/* A warning at most every five seconds, however many scans there are: @what happens to one, and
 * @why. */
void gst_ndt_localize_warn_about_scan (
    GstNdtLocalize *self, guint64 sequence, const gchar *what, const gchar *why);
/* The same of a result that the user can do something about. */
void gst_ndt_localize_warn_rejected (GstNdtLocalize *self, guint64 sequence,
    const GstPoseMeta *meta, const NdtLocalization *localization);
/* The same of the scan with which odometry is found to contradict the motion. */
void gst_ndt_localize_warn_odometry (
    GstNdtLocalize *self, guint64 sequence, const NdtLocalization *localization);
/* What takes effect with a scan. @structure: transfer full. */
void gst_ndt_localize_post_change (GstNdtLocalize *self, guint64 scan, GstStructure *structure);
/* Sends the event "sensor-pose", where the property is set, unless it was sent since it changed. */
void gst_ndt_localize_tell_sensor_pose (GstNdtLocalize *self);
/* At the end of the stream: what became of its scans. */
void gst_ndt_localize_post_summary (GstNdtLocalize *self);
/* Posts the state where it is another: the status of the latest scan that was not skipped. */
void gst_ndt_localize_post_state (GstNdtLocalize *self, const GstPoseMeta *meta,
    const NdtLocalization *localization, const GstNdtScan *scan);

G_END_DECLS
