/* SPDX-License-Identifier: MIT */
/* What ndtlocalize posts on the bus: errors, warnings about scans, states and changes. */
#pragma once

#include "gstndtestimate.h"
#include "gstndtlocalizeprivate.h"

G_BEGIN_DECLS

/* What happens to a scan that is not aligned. */
#define GST_NDT_NOT_ALIGNED "passes without alignment"

/* An error of ndtcore as one of GStreamer's. */
void gst_ndt_localize_post_error (GstNdtLocalize *self, const gchar *what, const GError *error);
/* Warns where the engine has left its device. Whoever uses the engine calls it. */
void gst_ndt_localize_report_failure (GstNdtLocalize *self);

/* The others are for the task. */

/* A warning at most every five seconds, however many scans there are: @what happens to one, and
 * @why. */
void gst_ndt_localize_warn_about_scan (
    GstNdtLocalize *self, guint64 sequence, const gchar *what, const gchar *why);
/* The same of a result that the user can do something about. */
void gst_ndt_localize_warn_rejected (GstNdtLocalize *self, guint64 sequence,
    const NdtLocalization *localization, gboolean malformed);
/* What takes effect with a scan. @structure: transfer full. */
void gst_ndt_localize_post_change (GstNdtLocalize *self, guint64 scan, GstStructure *structure);
/* Posts the state where it is another: the status of the latest scan that was not skipped. */
void gst_ndt_localize_post_state (
    GstNdtLocalize *self, const NdtLocalization *localization, const GstNdtScan *scan);

G_END_DECLS
