/* SPDX-License-Identifier: MIT */
/* A buffer as the localizer sees it: points, when they were measured, and the instant of the pose.
 */
#pragma once

#include "gst/ndt/queue/gstndtahead.h"
#include "gst/ndt/settings/gstndtsettings.h"
#include "gstndtestimate.h"

G_BEGIN_DECLS

/**
 * GstNdtInstants:
 * @compensates: the motion during scans is compensated, where their points tell when they were
 *   measured
 * @pose_time: the instant that the pose of a compensated scan is of
 * @is_compensated: the scans were compensated before they came: each is of one instant …
 * @instant: … namely this one
 * @stamp_position: where in a scan without times of points the PTS lies
 *
 * What instant the pose of a scan is of.
 */
typedef struct {
  gboolean compensates;
  GstNdtPoseTime pose_time;
  gboolean is_compensated;
  GstNdtPoseTime instant;
  GstNdtPoseTime stamp_position;
} GstNdtInstants;

/**
 * GstNdtInput:
 * @about: its times; the sequence is the caller's
 * @is_moving: its points were measured at several instants, and their motion is to be compensated
 * @mean_time: mean of the points' times, on the axis of the PTS: what a pose is of without
 *   compensation
 * @map: of the buffer, where @mapped
 * @mapped: the buffer is one of points
 * @times: of the points
 *
 * An open scan.
 */
typedef struct {
  GstNdtScan about;
  gboolean is_moving;
  GstClockTime mean_time;
  GstPointCloudMap map;
  gboolean mapped;
  NdtPointTimes times;
} GstNdtInput;

/* Maps @buffer, which stays alive, and reads its times, unless @ahead (nullable, transfer full) has
 * both. FALSE where it holds no points that @info describes: the scan is open all the same, and has
 * no points. */
gboolean gst_ndt_input_open (GstNdtInput *input, GstPointTimes *times,
    const GstPointCloudInfo *info, const GstNdtInstants *instants, GstBuffer *buffer,
    GstNdtAhead *ahead, GError **error);
/* Points, times and the poses on the buffer. */
void gst_ndt_input_observe (
    const GstNdtInput *input, GstBuffer *buffer, NdtObservation *observation);
void gst_ndt_input_close (GstNdtInput *input);

G_END_DECLS
