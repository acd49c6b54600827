/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstlidarodometry.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (lidarodometry, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, odometry, "Odometry by lidar scans",
    plugin_init, VERSION, "MIT/X11", GST_NDT_PACKAGE_NAME, GST_NDT_PACKAGE_ORIGIN)
