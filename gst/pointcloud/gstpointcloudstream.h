/* SPDX-License-Identifier: MIT */
/* What GstPointCloudFilter and GstPointCloudSink do with caps, segments and scans. Private: not
 * installed. */
#pragma once

#include <gst/pointcloud/gstpointcloudinfo.h>

G_BEGIN_DECLS

/* The category that is named as the element is, so that its log is in one place; @fallback where it
 * has none. */
GstDebugCategory *gst_point_cloud_stream_get_category (
    GstElement *element, GstDebugCategory *fallback);

/* Each of these posts an error of @element where it returns FALSE; no lock may be held. */

gboolean gst_point_cloud_stream_parse_caps (
    GstElement *element, const GstCaps *caps, GstPointCloudInfo *info);
/* A scan has a PTS; of the first since @checked was FALSE the coordinates are looked at as well. */
gboolean gst_point_cloud_stream_check_scan (
    GstElement *element, const GstPointCloudInfo *info, GstBuffer *scan, gboolean *checked);

G_END_DECLS
