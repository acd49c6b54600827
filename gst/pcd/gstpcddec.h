/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_PCD_CAPS_NAME "pointcloud/x-pcd"

#define GST_TYPE_PCD_DEC (gst_pcd_dec_get_type ())
G_DECLARE_FINAL_TYPE (GstPcdDec, gst_pcd_dec, GST, PCD_DEC, GstElement)

GST_ELEMENT_REGISTER_DECLARE (pcddec)

G_END_DECLS
