/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "gst/mcap/replay/gstmcapdemux.h"
#include "gst/mcap/record/gstmcapmux.h"
#include "gst/mcap/record/gstmcapsink.h"
#include "gst/mcap/replay/gstrosbagsrc.h"
#include "gst/mcap/container/mcap-format.h"

static void
mcap_type_find (GstTypeFind *find, gpointer user_data)
{
  const guint8 *data = gst_type_find_peek (find, 0, MCAP_MAGIC_SIZE);
  if (data && memcmp (data, MCAP_MAGIC, MCAP_MAGIC_SIZE) == 0)
    gst_type_find_suggest_empty_simple (find, GST_TYPE_FIND_MAXIMUM, GST_MCAP_CAPS_NAME);
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  g_autoptr (GstCaps) caps = gst_caps_new_empty_simple (GST_MCAP_CAPS_NAME);
  return GST_ELEMENT_REGISTER (mcapdemux, plugin) && GST_ELEMENT_REGISTER (mcapmux, plugin) &&
         GST_ELEMENT_REGISTER (mcapsink, plugin) && GST_ELEMENT_REGISTER (rosbagsrc, plugin) &&
         gst_type_find_register (plugin, GST_MCAP_CAPS_NAME, GST_RANK_PRIMARY, mcap_type_find,
             "mcap", caps, NULL, NULL);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, mcap,
    "Recordings of clouds and poses in MCAP files", plugin_init, VERSION, "MIT/X11",
    GST_NDT_PACKAGE_NAME, GST_NDT_PACKAGE_ORIGIN)
