/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "ndtcore/posefile/ndt-trajectory.h"

G_BEGIN_DECLS

/**
 * GstTrajectoryMatch:
 * @GST_TRAJECTORY_MATCH_TIME: the pose at the scan's time, interpolated
 * @GST_TRAJECTORY_MATCH_INDEX: line n (from 0) for scan n of the stream
 *
 * How poses of a file are assigned to scans.
 */
typedef enum { GST_TRAJECTORY_MATCH_TIME, GST_TRAJECTORY_MATCH_INDEX } GstTrajectoryMatch;

/**
 * GstTrajectoryTimeOrigin:
 * @GST_TRAJECTORY_TIME_ORIGIN_STREAM: a file's times are PTS
 * @GST_TRAJECTORY_TIME_ORIGIN_FIRST_SCAN: a file's first time is the first scan's PTS
 * @GST_TRAJECTORY_TIME_ORIGIN_REFERENCE: a file's times are those of the scans'
 *   GstReferenceTimestampMeta
 *
 * What the times in a file count from.
 */
typedef enum {
  GST_TRAJECTORY_TIME_ORIGIN_STREAM,
  GST_TRAJECTORY_TIME_ORIGIN_FIRST_SCAN,
  GST_TRAJECTORY_TIME_ORIGIN_REFERENCE,
} GstTrajectoryTimeOrigin;

#define GST_TYPE_TRAJECTORY_MATCH (gst_trajectory_match_get_type ())
GType gst_trajectory_match_get_type (void);
#define GST_TYPE_TRAJECTORY_TIME_ORIGIN (gst_trajectory_time_origin_get_type ())
GType gst_trajectory_time_origin_get_type (void);

/* Assigns a file's poses to the scans of a stream. */
typedef struct {
  NdtTrajectory *trajectory; /* owned */
  GstTrajectoryMatch match;
  GstTrajectoryTimeOrigin origin;
  gint64 offset;      /* ns, added to a scan's time */
  gint64 max_gap;     /* ns, 0: any */
  GstClockTime first; /* PTS of the first scan */
} GstTrajectoryMatcher;

/* Loads the file. FALSE with GST_RESOURCE_ERROR, also where @match needs times that it lacks. */
gboolean gst_trajectory_matcher_open (
    GstTrajectoryMatcher *matcher, const gchar *location, GError **error);
void gst_trajectory_matcher_close (GstTrajectoryMatcher *matcher);
/* The pose of scan @index; matched by time, that at @instant, which counts as the PTS of @scan
 * does. FALSE where there is none. */
gboolean gst_trajectory_matcher_find (GstTrajectoryMatcher *matcher, guint64 index, GstBuffer *scan,
    GstClockTime instant, NdtPose *pose);

/* Time of a buffer's first GstReferenceTimestampMeta, or NONE. */
GstClockTime gst_trajectory_get_reference_time (GstBuffer *buffer);

G_END_DECLS
