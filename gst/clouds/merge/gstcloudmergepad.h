/* SPDX-License-Identifier: MIT */
/* A sink pad of pointcloudmerge: clouds of one sensor, or poses. */
#pragma once

#include <gst/base/gstaggregator.h>

#include "gst/common/gstpointtimes.h"
#include "gst/clouds/gstcloudcopy.h"
#include "ndtcore/math/ndt-pose-curve.h"

G_BEGIN_DECLS

/* Nanoseconds of running time. */
typedef struct {
  gint64 begin, end;
} GstCloudSpan;

#define GST_TYPE_CLOUD_MERGE_PAD (gst_cloud_merge_pad_get_type ())
G_DECLARE_FINAL_TYPE (GstCloudMergePad, gst_cloud_merge_pad, GST, CLOUD_MERGE_PAD, GstAggregatorPad)

/**
 * GstCloudMergePad:
 * @is_pose: brings poses
 * @sensor_pose: object lock; nullable: the sensor is the body
 * @n_scans, @n_late, @n_losses, @is_lost: object lock; scans that were merged, that came too late,
 *   how often nothing came for some periods, whether that is so
 * @has_info: @info is of caps that have come
 * @is_compensated: points are of one instant, @instant of a scan's duration after its PTS
 * @copy: to the layout that leaves; NULL: to be made
 * @poses: NdtTimedPose of the body by running time, rising
 * @scans: (GstBuffer) taken for the next cloud
 * @spans: (GstCloudSpan) of @scans
 * @last: of the newest scan that was taken or dropped
 *
 * What is under no lock is the source pad's task's alone.
 */
struct _GstCloudMergePad {
  GstAggregatorPad parent;

  gboolean is_pose;
  GstPointCloudPose *sensor_pose;
  guint64 n_scans, n_late, n_losses;
  gboolean is_lost;

  gboolean has_info;
  GstPointCloudInfo info;
  gboolean is_compensated;
  gdouble instant;
  GstPointTimes *times;
  GstCloudCopy *copy;
  GArray *poses;
  GPtrArray *scans;
  GArray *spans;
  gboolean has_last;
  GstCloudSpan last;
};

/* As new, after a flush or a stop; counts stay. */
void gst_cloud_merge_pad_reset (GstCloudMergePad *pad);
void gst_cloud_merge_pad_clear_scans (GstCloudMergePad *pad);
/* Caps of clouds that come; @element posts warnings about their times. */
gboolean gst_cloud_merge_pad_set_caps (
    GstCloudMergePad *pad, GstElement *element, GstCaps *caps, GError **error);
/* When a scan was measured: from its PTS for its DURATION, or that of the framerate, or @period.
 * FALSE where it has no PTS. */
gboolean gst_cloud_merge_pad_get_span (
    GstCloudMergePad *pad, GstBuffer *scan, gint64 period, GstCloudSpan *span);
/* Keeps the first pose of @roles that the buffer has. */
void gst_cloud_merge_pad_add_pose (
    GstCloudMergePad *pad, GstBuffer *buffer, const GstPoseRole *roles, guint n_roles);
/* Forgets poses that are of no use for times from @time on. */
void gst_cloud_merge_pad_forget_poses (GstCloudMergePad *pad, gint64 time);
/* @scan (transfer full) is merged into the next cloud. */
void gst_cloud_merge_pad_take (GstCloudMergePad *pad, GstBuffer *scan, const GstCloudSpan *span);
void gst_cloud_merge_pad_get_mount (GstCloudMergePad *pad, NdtPose *mount);

G_END_DECLS
