/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/pointcloud/pointcloud.h"
#include "ndtcore/track/ndt-localizer.h"

G_BEGIN_DECLS

/**
 * GstNdtScan:
 * @sequence: number of the scan since the element left READY
 * @pts: its time stamp
 * @duration: its duration
 * @pose_time: instant that its pose is of, on the axis of @pts
 *
 * What is said of a scan beside its pose. Times may be GST_CLOCK_TIME_NONE.
 */
typedef struct {
  guint64 sequence;
  GstClockTime pts;
  GstClockTime duration;
  GstClockTime pose_time;
} GstNdtScan;

/* Replaces the estimate on a writable buffer. */
GstPoseMeta *gst_ndt_estimate_attach (GstBuffer *buffer, const NdtLocalization *localization,
    const GstNdtScan *scan, GQuark map_frame, GQuark sensor_frame);

/* "ndt-pose": everything of the estimate and how it came about. @segment turns times into
 * stream time and running time. */
GstMessage *gst_ndt_estimate_message_new (GstObject *source, const GstPoseMeta *meta,
    const NdtLocalization *localization, const GstNdtScan *scan, const GstSegment *segment);
/* "ndt-state": @state is new with this scan; @previous is NULL for the first. */
GstMessage *gst_ndt_state_message_new (GstObject *source, const gchar *state, const gchar *previous,
    const GstPoseMeta *meta, const NdtLocalization *localization, const GstNdtScan *scan,
    const GstSegment *segment);

G_END_DECLS
