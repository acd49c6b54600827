/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstmcapbase.h"

G_BEGIN_DECLS

#define GST_TYPE_MCAP_SINK (gst_mcap_sink_get_type ())
G_DECLARE_FINAL_TYPE (GstMcapSink, gst_mcap_sink, GST, MCAP_SINK, GstMcapBase)

GST_ELEMENT_REGISTER_DECLARE (mcapsink)

G_END_DECLS
