/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/element/gstlidarmodeldec.h"

G_BEGIN_DECLS

#define GST_TYPE_ROBOSENSE_DEC (gst_robosense_dec_get_type ())
G_DECLARE_FINAL_TYPE (GstRobosenseDec, gst_robosense_dec, GST, ROBOSENSE_DEC, GstLidarModelDec)
GST_ELEMENT_REGISTER_DECLARE (robosensedec)

G_END_DECLS
