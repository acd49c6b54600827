/* SPDX-License-Identifier: MIT */
/* Which caps clouds can be converted to. */
#pragma once

#include "gstcloudlayout.h"

G_BEGIN_DECLS

#define GST_CLOUD_CAPS_OTHERS                                                                      \
  GST_CLOUD_CAPS_POINTCLOUD2                                                                       \
  ", width=(int)[ 1, MAX ], height=(int)[ 1, MAX ], point-step=(int)[ 1, MAX ]"                    \
  ", is-bigendian=(boolean){ false, true }, is-dense=(boolean){ true, false }"                     \
  "; " GST_CLOUD_CAPS_LIDAR
#define GST_CLOUD_CAPS_SINK                                                                        \
  GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)                                          \
  "; " GST_CLOUD_CAPS_OTHERS
/* Bytes of no type are nothing that could be read. */
#define GST_CLOUD_CAPS_SRC GST_CLOUD_CAPS_SINK "; " GST_CLOUD_CAPS_BYTES

/* What clouds of @caps, which come by a pad of @direction, may be on the other side, the same
 * first. (transfer full) */
GstCaps *gst_cloud_caps_transform (
    const GstCaps *caps, GstPadDirection direction, gboolean organized);
/* Of @other (transfer full) what loses the least of clouds with @caps and their @layout: the same
 * caps, else those with the most of their fields. (transfer full) */
GstCaps *gst_cloud_caps_fixate (
    GstCaps *caps, const GstCloudLayout *layout, GstCaps *other, gboolean organized);

G_END_DECLS
