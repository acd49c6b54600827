/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/element/gstlidarmodeldec.h"

G_BEGIN_DECLS

#define GST_TYPE_VELODYNE_DEC (gst_velodyne_dec_get_type ())
G_DECLARE_FINAL_TYPE (GstVelodyneDec, gst_velodyne_dec, GST, VELODYNE_DEC, GstLidarModelDec)
GST_ELEMENT_REGISTER_DECLARE (velodynedec)

G_END_DECLS
