/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/element/gstlidarmodeldec.h"

G_BEGIN_DECLS

#define GST_TYPE_HESAI_DEC (gst_hesai_dec_get_type ())
G_DECLARE_FINAL_TYPE (GstHesaiDec, gst_hesai_dec, GST, HESAI_DEC, GstLidarModelDec)
GST_ELEMENT_REGISTER_DECLARE (hesaidec)

G_END_DECLS
