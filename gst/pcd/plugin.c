/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "gstpcddec.h"
#include "gstpcdenc.h"
#include "ndtcore/cloudfile/ndt-pcd.h"

/* Enough for any header that programs write. */
#define PEEK 4096

static void
pcd_type_find (GstTypeFind *find, gpointer user_data)
{
  guint64 length = gst_type_find_get_length (find);
  gsize size = length > 0 && length < PEEK ? (gsize)length : PEEK;
  const guint8 *data = NULL;
  NdtPcdHeader header;

  /* The length may be unknown, so less and less is tried. */
  for (; size >= 16 && !(data = gst_type_find_peek (find, 0, (guint)size)); size /= 2)
    ;
  if (!data)
    return;
  if (ndt_pcd_parse_header (data, size, &header, NULL))
    gst_type_find_suggest_empty_simple (find, GST_TYPE_FIND_MAXIMUM, GST_PCD_CAPS_NAME);
  else if (memcmp (data, "# .PCD v", 8) == 0)
    gst_type_find_suggest_empty_simple (find, GST_TYPE_FIND_LIKELY, GST_PCD_CAPS_NAME);
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  g_autoptr (GstCaps) caps = gst_caps_new_empty_simple (GST_PCD_CAPS_NAME);
  return GST_ELEMENT_REGISTER (pcddec, plugin) && GST_ELEMENT_REGISTER (pcdenc, plugin) &&
         gst_type_find_register (
             plugin, GST_PCD_CAPS_NAME, GST_RANK_PRIMARY, pcd_type_find, "pcd", caps, NULL, NULL);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, pcd, "Point clouds in PCD files",
    plugin_init, VERSION, "MIT/X11", GST_NDT_PACKAGE_NAME, GST_NDT_PACKAGE_ORIGIN)
