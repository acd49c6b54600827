/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstbagbase.h"

G_BEGIN_DECLS

/* Media type of MCAP files. */
#define GST_MCAP_CAPS_NAME "application/x-mcap"

#define GST_TYPE_MCAP_DEMUX (gst_mcap_demux_get_type ())
G_DECLARE_FINAL_TYPE (GstMcapDemux, gst_mcap_demux, GST, MCAP_DEMUX, GstBagBase)

GST_ELEMENT_REGISTER_DECLARE (mcapdemux)

G_END_DECLS
