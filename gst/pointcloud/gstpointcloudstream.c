/* SPDX-License-Identifier: MIT */
#include "gstpointcloudstream.h"

#include "gstpointcloudbuffer.h"

GstDebugCategory *
gst_point_cloud_stream_get_category (GstElement *element, GstDebugCategory *fallback)
{
  GstElementFactory *factory = gst_element_get_factory (element);
  GstDebugCategory *category = NULL;

  if (factory)
    GST_DEBUG_CATEGORY_GET (category, GST_OBJECT_NAME (factory));
  return category && category != GST_CAT_DEFAULT ? category : fallback;
}

gboolean
gst_point_cloud_stream_parse_caps (
    GstElement *element, const GstCaps *caps, GstPointCloudInfo *info)
{
  g_autoptr (GError) error = NULL;

  if (gst_point_cloud_info_from_caps (info, caps, &error))
    return TRUE;
  GST_ELEMENT_ERROR (
      element, STREAM, FORMAT, ("The caps describe no clouds: %s.", error->message), (NULL));
  return FALSE;
}

/* Later scans are of a stream that has shown its layout, and a damaged one of them does not end
 * it. Scans whose size does not fit are the subclass's to count. */
static gboolean
check_layout (GstElement *element, const GstPointCloudInfo *info, GstBuffer *scan)
{
  g_autoptr (GError) error = NULL;

  if (gst_point_cloud_buffer_check (scan, info, &error))
    return TRUE;
  GST_ELEMENT_ERROR (element, STREAM, FORMAT, ("%s.", error->message), (NULL));
  return FALSE;
}

gboolean
gst_point_cloud_stream_check_scan (
    GstElement *element, const GstPointCloudInfo *info, GstBuffer *scan, gboolean *checked)
{
  if (!GST_BUFFER_PTS_IS_VALID (scan)) {
    GST_ELEMENT_ERROR (element, STREAM, FORMAT,
        ("A scan has no time stamp: put rawpointcloudparse before this element, or set "
         "do-timestamp of a live source."),
        (NULL));
    return FALSE;
  }
  if (*checked || gst_buffer_get_size (scan) == 0)
    return TRUE;
  *checked = TRUE;
  return check_layout (element, info, scan);
}
