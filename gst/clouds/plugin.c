/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstcloudfilter.h"
#include "gstpointcloudconvert.h"
#include "gst/clouds/merge/gstpointcloudmerge.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (pointcloudconvert, plugin) &&
         GST_ELEMENT_REGISTER (pointcloudfilter, plugin) &&
         GST_ELEMENT_REGISTER (pointcloudmerge, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, clouds,
    "Layouts, filters and merging of point clouds", plugin_init, VERSION, "MIT/X11",
    GST_NDT_PACKAGE_NAME, GST_NDT_PACKAGE_ORIGIN)
