/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/pointcloud/gstpointcloudinfo.h>

G_BEGIN_DECLS

#define GST_TYPE_POINT_CLOUD_FILTER (gst_point_cloud_filter_get_type ())
GST_POINT_CLOUD_API
G_DECLARE_DERIVABLE_TYPE (
    GstPointCloudFilter, gst_point_cloud_filter, GST, POINT_CLOUD_FILTER, GstBaseTransform)

/**
 * GstPointCloudFilterClass:
 * @parent_class: the parent
 * @set_info: called with the caps of a stream, parsed; %FALSE refuses them, after an error message.
 *   Of an element that works in place both caps are the same
 * @reset: called where the stream begins anew: at the start, and after a flush before scans come
 *
 * Subclasses override these, and of #GstBaseTransformClass what they need; where they override
 * `start`, `set_caps`, `sink_event` or `submit_input_buffer` they call the parent's.
 *
 * Since: 0.2
 */
struct _GstPointCloudFilterClass {
  GstBaseTransformClass parent_class;

  gboolean (*set_info) (GstPointCloudFilter *filter, GstCaps *in_caps,
      const GstPointCloudInfo *in_info, GstCaps *out_caps, const GstPointCloudInfo *out_info);
  void (*reset) (GstPointCloudFilter *filter);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

GST_POINT_CLOUD_API const GstPointCloudInfo *gst_point_cloud_filter_get_in_info (
    GstPointCloudFilter *filter);
GST_POINT_CLOUD_API const GstPointCloudInfo *gst_point_cloud_filter_get_out_info (
    GstPointCloudFilter *filter);

G_END_DECLS
