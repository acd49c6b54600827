/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/base/gstpushsrc.h>

G_BEGIN_DECLS

#define GST_TYPE_LIDAR_PCAP_SRC (gst_lidar_pcap_src_get_type ())
G_DECLARE_FINAL_TYPE (GstLidarPcapSrc, gst_lidar_pcap_src, GST, LIDAR_PCAP_SRC, GstPushSrc)
GST_ELEMENT_REGISTER_DECLARE (lidarpcapsrc)

G_END_DECLS
