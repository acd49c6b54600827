/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/base/gstbasesink.h>
#include <gst/pointcloud/gstpointcloudinfo.h>

G_BEGIN_DECLS

#define GST_TYPE_POINT_CLOUD_SINK (gst_point_cloud_sink_get_type ())
GST_POINT_CLOUD_API
G_DECLARE_DERIVABLE_TYPE (
    GstPointCloudSink, gst_point_cloud_sink, GST, POINT_CLOUD_SINK, GstBaseSink)

/**
 * GstPointCloudSinkClass:
 * @parent_class: the parent
 * @set_info: called with the caps of a stream, parsed; %FALSE refuses them, after an error message
 * @reset: called where the stream begins anew: at the start, and after a flush before scans come
 *
 * Subclasses override these, and of #GstBaseSinkClass what they need; where they override `start`,
 * `set_caps`, `event` or `prepare` they call the parent's.
 *
 * Since: 0.2
 */
struct _GstPointCloudSinkClass {
  GstBaseSinkClass parent_class;

  gboolean (*set_info) (GstPointCloudSink *sink, GstCaps *caps, const GstPointCloudInfo *info);
  void (*reset) (GstPointCloudSink *sink);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

GST_POINT_CLOUD_API const GstPointCloudInfo *gst_point_cloud_sink_get_info (
    GstPointCloudSink *sink);

G_END_DECLS
