/* SPDX-License-Identifier: MIT */
/**
 * SECTION:gstpointcloudsink
 * @title: GstPointCloudSink
 * @short_description: base class of sinks for clouds
 *
 * As #GstVideoSink for images: parses caps once, refuses what is no stream of clouds with a
 * sentence that says what to do (a segment that is not TIME, scans without PTS, coordinates that
 * cannot be some), and tells a subclass where the stream begins anew.
 */
#include "gstpointcloudsink.h"

#include "gstpointcloudsegment.h"
#include "gstpointcloudstream.h"

GST_DEBUG_CATEGORY_STATIC (gst_point_cloud_sink_debug);
#define GST_CAT_DEFAULT gst_point_cloud_sink_debug

typedef struct {
  GstPointCloudInfo info;
  gboolean checked; /* the first scan of the caps at hand has come */
  GstDebugCategory *category;
} GstPointCloudSinkPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (GstPointCloudSink, gst_point_cloud_sink, GST_TYPE_BASE_SINK)

#define PRIVATE(sink) ((GstPointCloudSinkPrivate *)gst_point_cloud_sink_get_instance_private (sink))

static void
reset (GstPointCloudSink *self)
{
  GstPointCloudSinkClass *klass = GST_POINT_CLOUD_SINK_GET_CLASS (self);

  if (klass->reset)
    klass->reset (self);
}

static gboolean
gst_point_cloud_sink_start (GstBaseSink *sink)
{
  GstPointCloudSink *self = GST_POINT_CLOUD_SINK (sink);
  GstPointCloudSinkPrivate *priv = PRIVATE (self);

  gst_point_cloud_info_init (&priv->info);
  priv->checked = FALSE;
  priv->category = gst_point_cloud_stream_get_category (GST_ELEMENT (self), GST_CAT_DEFAULT);
  reset (self);
  return TRUE;
}

static gboolean
gst_point_cloud_sink_set_caps (GstBaseSink *sink, GstCaps *caps)
{
  GstPointCloudSink *self = GST_POINT_CLOUD_SINK (sink);
  GstPointCloudSinkClass *klass = GST_POINT_CLOUD_SINK_GET_CLASS (self);
  GstPointCloudSinkPrivate *priv = PRIVATE (self);
  GstPointCloudInfo info;

  if (!gst_point_cloud_stream_parse_caps (GST_ELEMENT (self), caps, &info) ||
      (klass->set_info && !klass->set_info (self, caps, &info)))
    return FALSE;
  priv->info = info;
  priv->checked = FALSE;
  GST_CAT_INFO_OBJECT (priv->category, self, "caps %" GST_PTR_FORMAT, caps);
  return TRUE;
}

static gboolean
gst_point_cloud_sink_event (GstBaseSink *sink, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT) {
    const GstSegment *segment;

    if (!gst_point_cloud_require_time_segment (GST_ELEMENT (sink), event)) {
      gst_event_unref (event);
      return FALSE;
    }
    gst_event_parse_segment (event, &segment);
    GST_CAT_DEBUG_OBJECT (PRIVATE (GST_POINT_CLOUD_SINK (sink))->category, sink,
        "segment %" GST_SEGMENT_FORMAT, segment);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP) {
    GST_CAT_DEBUG_OBJECT (PRIVATE (GST_POINT_CLOUD_SINK (sink))->category, sink, "flush");
    reset (GST_POINT_CLOUD_SINK (sink));
  }
  return GST_BASE_SINK_CLASS (gst_point_cloud_sink_parent_class)->event (sink, event);
}

static GstFlowReturn
gst_point_cloud_sink_prepare (GstBaseSink *sink, GstBuffer *buffer)
{
  GstPointCloudSinkPrivate *priv = PRIVATE (GST_POINT_CLOUD_SINK (sink));

  if (!gst_point_cloud_stream_check_scan (GST_ELEMENT (sink), &priv->info, buffer, &priv->checked))
    return GST_FLOW_ERROR;
  GST_CAT_LOG_OBJECT (priv->category, sink,
      "scan at %" GST_TIME_FORMAT ", %" G_GSIZE_FORMAT " bytes",
      GST_TIME_ARGS (GST_BUFFER_PTS (buffer)), gst_buffer_get_size (buffer));
  return GST_FLOW_OK;
}

static void
gst_point_cloud_sink_init (GstPointCloudSink *self)
{
}

static void
gst_point_cloud_sink_class_init (GstPointCloudSinkClass *klass)
{
  GstBaseSinkClass *sink_class = GST_BASE_SINK_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (
      gst_point_cloud_sink_debug, "pointcloudsink", 0, "base class of sinks for clouds");
  sink_class->start = gst_point_cloud_sink_start;
  sink_class->set_caps = gst_point_cloud_sink_set_caps;
  sink_class->event = gst_point_cloud_sink_event;
  sink_class->prepare = gst_point_cloud_sink_prepare;
}

/**
 * gst_point_cloud_sink_get_info:
 * @sink: a sink
 *
 * For the streaming thread.
 *
 * Returns: (transfer none): what the caps of the scans say; of an unknown format before caps have
 *   come
 *
 * Since: 0.2
 */
const GstPointCloudInfo *
gst_point_cloud_sink_get_info (GstPointCloudSink *sink)
{
  g_return_val_if_fail (GST_IS_POINT_CLOUD_SINK (sink), NULL);

  return &PRIVATE (sink)->info;
}
