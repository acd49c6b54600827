/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud-prelude.h>

G_BEGIN_DECLS

/**
 * GST_POSE_REQUEST_NAME:
 *
 * Name of the structure of a custom upstream event by which whoever shows a stream asks the
 * localizer before it to go on from a pose; gst_pose_request_event_new().
 *
 * Since: 0.2
 */
#define GST_POSE_REQUEST_NAME "pose-request"

/**
 * GST_POSE_REQUEST_REPLY_NAME:
 *
 * Name of the structure of the custom out-of-band downstream event that answers it:
 * gst_pose_request_reply_event_new().
 *
 * Since: 0.2
 */
#define GST_POSE_REQUEST_REPLY_NAME "pose-request-reply"

GST_POINT_CLOUD_API GstEvent *gst_pose_request_event_new (
    guint64 id, const gdouble *position, gdouble yaw);
GST_POINT_CLOUD_API gboolean gst_pose_request_event_parse (
    GstEvent *event, guint64 *id, gdouble *position, gdouble *yaw);
GST_POINT_CLOUD_API GstEvent *gst_pose_request_reply_event_new (
    guint64 id, gboolean accepted, const gchar *reason);

G_END_DECLS
