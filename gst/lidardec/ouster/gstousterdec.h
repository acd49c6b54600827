/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/element/gstlidardec.h"

G_BEGIN_DECLS

#define GST_TYPE_OUSTER_DEC (gst_ouster_dec_get_type ())
G_DECLARE_FINAL_TYPE (GstOusterDec, gst_ouster_dec, GST, OUSTER_DEC, GstLidarDec)
GST_ELEMENT_REGISTER_DECLARE (ousterdec)

G_END_DECLS
