/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/gstpointcloudinfo.h>

G_BEGIN_DECLS

/**
 * GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE:
 *
 * Set on a buffer all of whose coordinates are finite.
 */
#define GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE ((GstBufferFlags) (GST_BUFFER_FLAG_LAST << 0))

/**
 * GstPointCloudMap:
 * @info: of the buffer
 * @buffer: the mapped buffer, NULL when not mapped
 * @map: its memory
 * @data: first point
 * @n_points: size / point_step
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

/* Maps a scan. FALSE with GST_STREAM_ERROR_FORMAT when the size is no multiple of the point step or
 * not width · height points, GST_RESOURCE_ERROR_READ when it cannot be mapped. */
GST_POINT_CLOUD_API gboolean gst_point_cloud_map (GstPointCloudMap *map,
    const GstPointCloudInfo *info, GstBuffer *buffer, GstMapFlags flags, GError **error);
GST_POINT_CLOUD_API void gst_point_cloud_unmap (GstPointCloudMap *map);
/* Number of points, or -1 when the size is no multiple of the point step. */
GST_POINT_CLOUD_API gssize gst_point_cloud_buffer_get_n_points (
    GstBuffer *buffer, const GstPointCloudInfo *info);
/* A field's element as double, any type; the caller checks index < n_points. */
GST_POINT_CLOUD_API gdouble gst_point_cloud_map_get_value (
    const GstPointCloudMap *map, const GstPointField *field, gsize index, guint element);

/**
 * GstPointCloudTimer:
 *
 * Gives scans TIME segments and stamps where a source has none: PTS = index / framerate (10/1,
 * once warned, where caps have none), or the line of a file of times. Valid stamps are never
 * altered. One in every element that takes clouds; not thread-safe.
 */
typedef struct _GstPointCloudTimer GstPointCloudTimer;
GST_POINT_CLOUD_API GstPointCloudTimer *gst_point_cloud_timer_new (GstElement *element);
GST_POINT_CLOUD_API void gst_point_cloud_timer_free (GstPointCloudTimer *timer);
/* Start, flush-stop: index and segment anew; the file of times stays. */
GST_POINT_CLOUD_API void gst_point_cloud_timer_reset (GstPointCloudTimer *timer);
/* A file with one time in seconds a line (first column; '#' comments); NULL: none.
 * GST_RESOURCE_ERROR on FALSE. */
GST_POINT_CLOUD_API gboolean gst_point_cloud_timer_set_times_location (
    GstPointCloudTimer *timer, const gchar *location, GError **error);
GST_POINT_CLOUD_API void gst_point_cloud_timer_set_info (
    GstPointCloudTimer *timer, const GstPointCloudInfo *info);
/* Takes the segment event that came and returns the one to send on: the same when it is TIME, a
 * TIME segment with its seqnum otherwise. (transfer full) both ways. */
GST_POINT_CLOUD_API GstEvent *gst_point_cloud_timer_segment (
    GstPointCloudTimer *timer, GstEvent *segment);
/* Stamps a buffer that has no PTS (made writable if it must be; (transfer full) both ways) and
 * counts a PTS that runs backwards. A missing DURATION is set from the framerate, if known. */
GST_POINT_CLOUD_API GstBuffer *gst_point_cloud_timer_stamp (
    GstPointCloudTimer *timer, GstBuffer *buffer);
GST_POINT_CLOUD_API const GstSegment *gst_point_cloud_timer_get_segment (
    const GstPointCloudTimer *timer);
/* Buffers whose PTS was before the one before. */
GST_POINT_CLOUD_API guint64 gst_point_cloud_timer_get_n_backwards (
    const GstPointCloudTimer *timer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstPointCloudTimer, gst_point_cloud_timer_free)

G_END_DECLS
