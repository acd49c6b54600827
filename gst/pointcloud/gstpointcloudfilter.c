/* SPDX-License-Identifier: MIT */
/**
 * SECTION:gstpointcloudfilter
 * @title: GstPointCloudFilter
 * @short_description: base class of elements that take clouds and send clouds on
 *
 * As #GstVideoFilter for images: parses caps once, refuses what is no stream of clouds with a
 * sentence that says what to do (a segment that is not TIME, scans without PTS, coordinates that
 * cannot be some), cuts a last point that is not whole, and tells a subclass where the stream
 * begins anew. In-place subclasses get
 * buffers that they may write to; that is memory too, so that one that edits metas only overrides
 * `prepare_output_buffer`.
 */
#include "gstpointcloudfilter.h"

#include "gst/common/gstsinkevents.h"
#include "gstpointcloudbuffer.h"
#include "gstpointcloudsegment.h"
#include "gstpointcloudstream.h"

GST_DEBUG_CATEGORY_STATIC (gst_point_cloud_filter_debug);
#define GST_CAT_DEFAULT gst_point_cloud_filter_debug

typedef struct {
  GstPointCloudInfo in_info;
  GstPointCloudInfo out_info;
  gboolean checked; /* the first scan of the caps at hand has come */
  GstDebugCategory *category;
} GstPointCloudFilterPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (
    GstPointCloudFilter, gst_point_cloud_filter, GST_TYPE_BASE_TRANSFORM)

#define PRIVATE(filter)                                                                            \
  ((GstPointCloudFilterPrivate *)gst_point_cloud_filter_get_instance_private (filter))

static void
reset (GstPointCloudFilter *self)
{
  GstPointCloudFilterClass *klass = GST_POINT_CLOUD_FILTER_GET_CLASS (self);

  if (klass->reset)
    klass->reset (self);
}

static gboolean
gst_point_cloud_filter_start (GstBaseTransform *transform)
{
  GstPointCloudFilter *self = GST_POINT_CLOUD_FILTER (transform);
  GstPointCloudFilterPrivate *priv = PRIVATE (self);

  gst_point_cloud_info_init (&priv->in_info);
  gst_point_cloud_info_init (&priv->out_info);
  priv->checked = FALSE;
  priv->category = gst_point_cloud_stream_get_category (GST_ELEMENT (self), GST_CAT_DEFAULT);
  reset (self);
  return TRUE;
}

static gboolean
gst_point_cloud_filter_set_caps (GstBaseTransform *transform, GstCaps *in_caps, GstCaps *out_caps)
{
  GstPointCloudFilter *self = GST_POINT_CLOUD_FILTER (transform);
  GstPointCloudFilterClass *klass = GST_POINT_CLOUD_FILTER_GET_CLASS (self);
  GstPointCloudFilterPrivate *priv = PRIVATE (self);
  GstPointCloudInfo in_info, out_info;

  if (!gst_point_cloud_stream_parse_caps (GST_ELEMENT (self), in_caps, &in_info) ||
      !gst_point_cloud_stream_parse_caps (GST_ELEMENT (self), out_caps, &out_info) ||
      (klass->set_info && !klass->set_info (self, in_caps, &in_info, out_caps, &out_info)))
    return FALSE;
  priv->in_info = in_info;
  priv->out_info = out_info;
  priv->checked = FALSE;
  GST_CAT_INFO_OBJECT (priv->category, self, "caps %" GST_PTR_FORMAT, in_caps);
  return TRUE;
}

static gboolean
gst_point_cloud_filter_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT) {
    const GstSegment *segment;

    if (!gst_point_cloud_require_time_segment (GST_ELEMENT (transform), event)) {
      gst_event_unref (event);
      return FALSE;
    }
    gst_event_parse_segment (event, &segment);
    GST_CAT_DEBUG_OBJECT (PRIVATE (GST_POINT_CLOUD_FILTER (transform))->category, transform,
        "segment %" GST_SEGMENT_FORMAT, segment);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP) {
    GST_CAT_DEBUG_OBJECT (
        PRIVATE (GST_POINT_CLOUD_FILTER (transform))->category, transform, "flush");
    reset (GST_POINT_CLOUD_FILTER (transform));
  }
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_filter_parent_class)
      ->sink_event (transform, event);
}

static GstFlowReturn
gst_point_cloud_filter_submit_input_buffer (
    GstBaseTransform *transform, gboolean is_discont, GstBuffer *input)
{
  GstPointCloudFilterPrivate *priv = PRIVATE (GST_POINT_CLOUD_FILTER (transform));

  if (!gst_point_cloud_stream_check_scan (
          GST_ELEMENT (transform), &priv->in_info, input, &priv->checked)) {
    gst_buffer_unref (input);
    return GST_FLOW_ERROR;
  }
  input = gst_point_cloud_element_take_scan (GST_ELEMENT (transform), &priv->in_info, input);
  GST_CAT_LOG_OBJECT (priv->category, transform,
      "scan at %" GST_TIME_FORMAT ", %" G_GSIZE_FORMAT " bytes",
      GST_TIME_ARGS (GST_BUFFER_PTS (input)), gst_buffer_get_size (input));
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_filter_parent_class)
      ->submit_input_buffer (transform, is_discont, input);
}

static void
gst_point_cloud_filter_init (GstPointCloudFilter *self)
{
  gst_sink_events_tell_flushing (GST_BASE_TRANSFORM_SINK_PAD (self));
}

static gboolean
gst_point_cloud_filter_query (
    GstBaseTransform *transform, GstPadDirection direction, GstQuery *query)
{
  /* GstBaseTransform answers by its segment, which a flush or a change of state may reset between
   * the look at its format and its use (1.22, a critical): a filter has no position of its own. */
  if (direction == GST_PAD_SRC && GST_QUERY_TYPE (query) == GST_QUERY_POSITION)
    return gst_pad_peer_query (transform->sinkpad, query);
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_filter_parent_class)
      ->query (transform, direction, query);
}

static void
gst_point_cloud_filter_class_init (GstPointCloudFilterClass *klass)
{
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (
      gst_point_cloud_filter_debug, "pointcloudfilter", 0, "base class of filters for clouds");
  transform_class->start = gst_point_cloud_filter_start;
  transform_class->set_caps = gst_point_cloud_filter_set_caps;
  transform_class->sink_event = gst_point_cloud_filter_sink_event;
  transform_class->query = gst_point_cloud_filter_query;
  transform_class->submit_input_buffer = gst_point_cloud_filter_submit_input_buffer;
}

/**
 * gst_point_cloud_filter_get_in_info:
 * @filter: a filter
 *
 * For the streaming thread.
 *
 * Returns: (transfer none): what the caps of the scans that come say; of an unknown format before
 *   caps have come
 *
 * Since: 0.2
 */
const GstPointCloudInfo *
gst_point_cloud_filter_get_in_info (GstPointCloudFilter *filter)
{
  g_return_val_if_fail (GST_IS_POINT_CLOUD_FILTER (filter), NULL);

  return &PRIVATE (filter)->in_info;
}

/**
 * gst_point_cloud_filter_get_out_info:
 * @filter: a filter
 *
 * For the streaming thread.
 *
 * Returns: (transfer none): what the caps of the scans that leave say
 *
 * Since: 0.2
 */
const GstPointCloudInfo *
gst_point_cloud_filter_get_out_info (GstPointCloudFilter *filter)
{
  g_return_val_if_fail (GST_IS_POINT_CLOUD_FILTER (filter), NULL);

  return &PRIVATE (filter)->out_info;
}
