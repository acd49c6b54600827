/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstpointcloudrender.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (pointcloudrender, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, pointcloudrender, "Point clouds as video",
    plugin_init, VERSION, "MIT/X11", GST_NDT_PACKAGE_NAME, GST_NDT_PACKAGE_ORIGIN)
