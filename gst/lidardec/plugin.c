/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "gst/lidardec/hesai/gsthesaidec.h"
#include "gst/lidardec/ouster/gstousterdec.h"
#include "gst/lidardec/robosense/gstrobosensedec.h"
#include "gst/lidardec/velodyne/gstvelodynedec.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (hesaidec, plugin) && GST_ELEMENT_REGISTER (ousterdec, plugin) &&
         GST_ELEMENT_REGISTER (robosensedec, plugin) && GST_ELEMENT_REGISTER (velodynedec, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, lidardec, "Decoders of lidars' packets",
    plugin_init, VERSION, "MIT/X11", GST_NDT_PACKAGE_NAME, GST_NDT_PACKAGE_ORIGIN)
