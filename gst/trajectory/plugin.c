/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstposeinject.h"
#include "gsttrajectorysink.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (poseinject, plugin) && GST_ELEMENT_REGISTER (trajectorysink, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, trajectory,
    "Poses from trajectory files and to them", plugin_init, VERSION, "MIT/X11",
    GST_NDT_PACKAGE_NAME, GST_NDT_PACKAGE_ORIGIN)
