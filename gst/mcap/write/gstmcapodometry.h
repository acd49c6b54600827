/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

/* Poses of frames in frames. */

/* The pose of c in a, of those of b in a and of c in b. @out may be one of them. */
void gst_mcap_pose_compose (
    const GstPointCloudPose *a, const GstPointCloudPose *b, GstPointCloudPose *out);
/* The pose of a in b, of that of b in a. */
void gst_mcap_pose_invert (const GstPointCloudPose *pose, GstPointCloudPose *out);
/* Velocity in @after's frame between two poses that are @seconds apart: m/s and, about its axes,
 * rad/s, constant between them. */
void gst_mcap_pose_get_twist (const GstPointCloudPose *before, const GstPointCloudPose *after,
    gdouble seconds, gdouble twist[6]);

/* Odometry that was recorded of late: poses of a child in a drifting frame, by time. */
typedef struct {
  gchar *parent;
  gchar *child;
  GArray *poses;
} GstMcapOdometry;

void gst_mcap_odometry_init (GstMcapOdometry *self);
void gst_mcap_odometry_clear (GstMcapOdometry *self);
/* @time: ns. Other frames, or a time that is not later, begin anew. */
void gst_mcap_odometry_add (GstMcapOdometry *self, gint64 time, const gchar *parent,
    const gchar *child, const GstPointCloudPose *pose);
/* Interpolated between neighbours no more than a second apart. FALSE: @time is not between two. */
gboolean gst_mcap_odometry_get (const GstMcapOdometry *self, gint64 time, GstPointCloudPose *out);

G_END_DECLS
