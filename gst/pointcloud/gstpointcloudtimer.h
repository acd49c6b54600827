/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/gstpointcloudinfo.h>

G_BEGIN_DECLS

/**
 * GstPointCloudTimer: (skip)
 *
 * Gives scans TIME segments and stamps where a source has none: PTS = index / framerate (10/1,
 * once warned, where caps have none), or the line of a file of times. Valid stamps are never
 * altered. One in every element that takes clouds; not thread-safe: for the streaming thread.
 *
 * Since: 0.1
 */
typedef struct _GstPointCloudTimer GstPointCloudTimer;

GST_POINT_CLOUD_API GstPointCloudTimer *gst_point_cloud_timer_new (GstElement *element);
GST_POINT_CLOUD_API void gst_point_cloud_timer_free (GstPointCloudTimer *timer);
GST_POINT_CLOUD_API void gst_point_cloud_timer_reset (GstPointCloudTimer *timer);
GST_POINT_CLOUD_API gboolean gst_point_cloud_timer_set_times_location (
    GstPointCloudTimer *timer, const gchar *location, GError **error);
GST_POINT_CLOUD_API void gst_point_cloud_timer_set_info (
    GstPointCloudTimer *timer, const GstPointCloudInfo *info);
GST_POINT_CLOUD_API GstEvent *gst_point_cloud_timer_segment (
    GstPointCloudTimer *timer, GstEvent *segment);
GST_POINT_CLOUD_API GstBuffer *gst_point_cloud_timer_stamp (
    GstPointCloudTimer *timer, GstBuffer *buffer);
GST_POINT_CLOUD_API const GstSegment *gst_point_cloud_timer_get_segment (
    const GstPointCloudTimer *timer);
GST_POINT_CLOUD_API guint64 gst_point_cloud_timer_get_n_backwards (const GstPointCloudTimer *timer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstPointCloudTimer, gst_point_cloud_timer_free)

G_END_DECLS
