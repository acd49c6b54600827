/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <gst/gst.h>

static gboolean
plugin_init (GstPlugin *plugin)
{
  return TRUE;
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, mcap,
    "Recordings of clouds and poses in MCAP files", plugin_init, VERSION, "MIT/X11",
    GST_NDT_PACKAGE_NAME, GST_NDT_PACKAGE_ORIGIN)
