/* SPDX-License-Identifier: MIT */
#include "gstpointcloudsegment.h"

/**
 * gst_point_cloud_require_time_segment:
 * @element: (transfer none): what the error is posted by
 * @segment: (transfer none): a SEGMENT event that came on a sink pad for clouds
 *
 * Clouds have a TIME segment; sources of bytes, such as multifilesrc and filesrc, send one in
 * BYTES. For an element's event function: where the segment is not TIME, an error
 * %GST_STREAM_ERROR_FORMAT is posted that names the element which makes scans of bytes,
 * rawpointcloudparse. Posts a message: no lock may be held.
 *
 * Returns: %TRUE for a TIME segment; %FALSE after an error, the event is to be refused then
 *
 * Since: 0.2
 */
gboolean
gst_point_cloud_require_time_segment (GstElement *element, GstEvent *segment)
{
  const GstSegment *received;

  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);
  g_return_val_if_fail (GST_IS_EVENT (segment), FALSE);
  g_return_val_if_fail (GST_EVENT_TYPE (segment) == GST_EVENT_SEGMENT, FALSE);

  gst_event_parse_segment (segment, &received);
  if (received->format == GST_FORMAT_TIME)
    return TRUE;
  GST_ELEMENT_ERROR (element, STREAM, FORMAT,
      ("The clouds have no time stamps, their source counts in %s: put rawpointcloudparse between "
       "the source and this element.",
          gst_format_get_name (received->format)),
      (NULL));
  return FALSE;
}
