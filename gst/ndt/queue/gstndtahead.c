/* SPDX-License-Identifier: MIT */
#include "gstndtahead.h"

GstNdtAhead *
gst_ndt_ahead_open (GstPointTimes *times, const GstPointCloudInfo *info, GstBuffer *buffer)
{
  if (!gst_point_times_has_field (times) || gst_point_cloud_buffer_get_n_points (buffer, info) <= 0)
    return NULL;
  GstNdtAhead *ahead = g_new0 (GstNdtAhead, 1);
  if (gst_point_cloud_map (&ahead->map, info, buffer, GST_MAP_READ, NULL)) {
    gst_point_times_look (times, &ahead->map, buffer, &ahead->times);
    return ahead;
  }
  g_free (ahead);
  return NULL;
}

void
gst_ndt_ahead_free (GstNdtAhead *ahead)
{
  if (!ahead)
    return;
  ndt_point_times_clear (&ahead->times);
  gst_point_cloud_unmap (&ahead->map);
  g_free (ahead);
}
