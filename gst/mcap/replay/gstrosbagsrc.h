/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstbagbase.h"

G_BEGIN_DECLS

#define GST_TYPE_ROSBAG_SRC (gst_rosbag_src_get_type ())
G_DECLARE_FINAL_TYPE (GstRosbagSrc, gst_rosbag_src, GST, ROSBAG_SRC, GstBagBase)

GST_ELEMENT_REGISTER_DECLARE (rosbagsrc)

G_END_DECLS
