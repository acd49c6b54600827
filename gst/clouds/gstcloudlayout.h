/* SPDX-License-Identifier: MIT */
/* Caps that clouds have: our own, and those of other plugin sets. */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

/* EdgeFirst Perception for GStreamer (github.com/EdgeFirstAI/gstreamer, commit 7a0f80e,
 * ARCHITECTURE.md 3.1 and gst-libs/gst/edgefirst/edgefirst.h): width and height of each cloud,
 * point-step, fields as "name:type:offset,…", is-bigendian, is-dense. edgefirstzenohsub says no
 * fields, and their pad templates have the text "ANY" for fields, which caps with fields are no
 * subset of. */
#define GST_CLOUD_CAPS_POINTCLOUD2 "application/x-pointcloud2"
/* Intel DL Streamer (github.com/open-edge-platform/dlstreamer, g3dlidarparse.cpp): packed floats x,
 * y, z, intensity of one scan, no fields in caps. */
#define GST_CLOUD_CAPS_LIDAR "application/x-lidar"
/* What g3dlidarparse takes: the same floats, as KITTI's .bin files have them. */
#define GST_CLOUD_CAPS_BYTES "application/octet-stream"

/**
 * GstCloudLayout:
 * @info: where fields lie; width and height of organized clouds
 * @big_endian: byte order of the fields
 * @counted: caps have the number of points of each cloud (EdgeFirst's)
 */
typedef struct {
  GstPointCloudInfo info;
  gboolean big_endian;
  gboolean counted;
} GstCloudLayout;

/* @fields: (nullable): of EdgeFirst's clouds whose caps do not say them.
 * FALSE with GST_CORE_ERROR_NEGOTIATION and a reason. */
gboolean gst_cloud_layout_from_caps (
    GstCloudLayout *layout, const GstCaps *caps, const gchar *fields, GError **error);
/* Do points of both have the same bytes, whatever else the layouts say? */
gboolean gst_cloud_layout_has_same_points (const GstCloudLayout *a, const GstCloudLayout *b);
/* The first byte after the last field. */
guint gst_cloud_layout_get_end (const GstPointCloudInfo *info);

G_END_DECLS
