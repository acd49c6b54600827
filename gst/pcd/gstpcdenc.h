/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_PCD_ENC (gst_pcd_enc_get_type ())
G_DECLARE_FINAL_TYPE (GstPcdEnc, gst_pcd_enc, GST, PCD_ENC, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE (pcdenc);

G_END_DECLS
