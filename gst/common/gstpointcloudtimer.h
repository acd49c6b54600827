/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

/* Gives scans TIME segments and stamps where a source has none: PTS = index / framerate (10/1, once
 * warned, where caps have none), or the line of a file of times. Valid stamps are never altered.
 * For elements that make clouds of something else; those that take clouds ask for a TIME segment.
 * Not thread-safe: for the streaming thread. */
typedef struct _GstPointCloudTimer GstPointCloudTimer;

GstPointCloudTimer *gst_point_cloud_timer_new (GstElement *element);
void gst_point_cloud_timer_free (GstPointCloudTimer *timer);
void gst_point_cloud_timer_reset (GstPointCloudTimer *timer);
gboolean gst_point_cloud_timer_set_times_location (
    GstPointCloudTimer *timer, const gchar *location, GError **error);
void gst_point_cloud_timer_set_info (GstPointCloudTimer *timer, const GstPointCloudInfo *info);
GstEvent *gst_point_cloud_timer_segment (GstPointCloudTimer *timer, GstEvent *segment);
GstBuffer *gst_point_cloud_timer_stamp (GstPointCloudTimer *timer, GstBuffer *buffer);
const GstSegment *gst_point_cloud_timer_get_segment (const GstPointCloudTimer *timer);
guint64 gst_point_cloud_timer_get_n_backwards (const GstPointCloudTimer *timer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstPointCloudTimer, gst_point_cloud_timer_free)

G_END_DECLS
