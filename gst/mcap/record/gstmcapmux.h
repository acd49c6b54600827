/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstmcapbase.h"

G_BEGIN_DECLS

#define GST_TYPE_MCAP_MUX (gst_mcap_mux_get_type ())
G_DECLARE_FINAL_TYPE (GstMcapMux, gst_mcap_mux, GST, MCAP_MUX, GstMcapBase)

GST_ELEMENT_REGISTER_DECLARE (mcapmux)

G_END_DECLS
