/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_NDT_LOCALIZE (gst_ndt_localize_get_type ())
G_DECLARE_FINAL_TYPE (GstNdtLocalize, gst_ndt_localize, GST, NDT_LOCALIZE, GstElement)

GST_ELEMENT_REGISTER_DECLARE (ndtlocalize);

G_END_DECLS
