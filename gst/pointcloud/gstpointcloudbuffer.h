/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/gstpointcloudinfo.h>

G_BEGIN_DECLS

/**
 * GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE:
 *
 * Set on a buffer all of whose coordinates are finite.
 *
 * Since: 0.1
 */
#define GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE ((GstBufferFlags)(GST_BUFFER_FLAG_LAST << 0))

/**
 * GstPointCloudMap: (skip)
 * @info: of the buffer
 * @buffer: the mapped buffer, NULL when not mapped
 * @map: its memory
 * @data: first point
 * @n_points: size / point_step
 *
 * A mapped scan, see gst_point_cloud_map().
 *
 * Since: 0.1
 */
typedef struct {
  GstPointCloudInfo info;
  GstBuffer *buffer;
  GstMapInfo map;
  guint8 *data;
  gsize n_points;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
} GstPointCloudMap;

GST_POINT_CLOUD_API gboolean gst_point_cloud_map (GstPointCloudMap *map,
    const GstPointCloudInfo *info, GstBuffer *buffer, GstMapFlags flags, GError **error);
GST_POINT_CLOUD_API void gst_point_cloud_unmap (GstPointCloudMap *map);
GST_POINT_CLOUD_API gdouble gst_point_cloud_map_get_value (
    const GstPointCloudMap *map, const GstPointField *field, gsize index, guint element);

GST_POINT_CLOUD_API gboolean gst_point_cloud_map_check (
    const GstPointCloudMap *map, GError **error);
GST_POINT_CLOUD_API gboolean gst_point_cloud_buffer_check (
    GstBuffer *buffer, const GstPointCloudInfo *info, GError **error);

GST_POINT_CLOUD_API GstBuffer *gst_point_cloud_element_take_scan (
    GstElement *element, const GstPointCloudInfo *info, GstBuffer *scan);
GST_POINT_CLOUD_API guint64 gst_point_cloud_element_get_n_cut (GstElement *element);

GST_POINT_CLOUD_API gssize gst_point_cloud_buffer_get_n_points (
    GstBuffer *buffer, const GstPointCloudInfo *info);
GST_POINT_CLOUD_API GBytes *gst_point_cloud_buffer_get_xyz (
    GstBuffer *buffer, const GstPointCloudInfo *info, GError **error);
GST_POINT_CLOUD_API GBytes *gst_point_cloud_buffer_get_values (
    GstBuffer *buffer, const GstPointCloudInfo *info, const gchar *name, GError **error);

G_END_DECLS
