/* SPDX-License-Identifier: MIT */
/* Poses that tell how the sensor moved: of a file, and on the scans themselves. */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "ndtcore/math/ndt-pose-curve.h"

G_BEGIN_DECLS

/* Poses on the last scans, by the axis of PTS. All zeros at first. */
typedef struct {
  NdtTimedPose poses[3];
  guint n;
} GstDeskewStations;

/* Takes the pose on @buffer. FALSE: it has none, or there is no other yet; else @curve is the
 * motion by it and those before, as long as they are @max_gap ns apart at most. @curve borrows from
 * @self. */
gboolean gst_deskew_stations_follow (GstDeskewStations *self, GstBuffer *buffer, GstPoseRole role,
    gint64 max_gap, NdtPoseCurve *curve);

/* Appends the poses of a file to @poses, of NdtTimedPose, in the order of their times. FALSE after
 * an error message of @element. */
gboolean gst_deskew_load_poses (GstElement *element, const gchar *location, GArray *poses);

G_END_DECLS
