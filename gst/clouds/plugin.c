/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstcloudfilter.h"
#include "gstpointcloudconvert.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (pointcloudconvert, plugin) &&
         GST_ELEMENT_REGISTER (pointcloudfilter, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, clouds,
    "Layouts and filters of point clouds", plugin_init, VERSION, "MIT/X11", GST_NDT_PACKAGE_NAME,
    GST_NDT_PACKAGE_ORIGIN)
