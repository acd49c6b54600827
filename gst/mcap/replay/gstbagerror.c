/* SPDX-License-Identifier: MIT */
#include "gstbagerror.h"

#include "gst/mcap/container/mcap-records.h"

void
gst_bag_error_post (GstElement *element, const GError *error)
{
  GQuark domain = GST_STREAM_ERROR;
  gint code = GST_STREAM_ERROR_DEMUX;

  if (g_error_matches (error, MCAP_ERROR, MCAP_ERROR_OPEN)) {
    domain = GST_RESOURCE_ERROR;
    code = GST_RESOURCE_ERROR_OPEN_READ;
  } else if (g_error_matches (error, MCAP_ERROR, MCAP_ERROR_READ)) {
    domain = GST_RESOURCE_ERROR;
    code = GST_RESOURCE_ERROR_READ;
  } else if (g_error_matches (error, MCAP_ERROR, MCAP_ERROR_UNSUPPORTED)) {
    code = GST_STREAM_ERROR_FORMAT;
  }
  gst_element_message_full (element, GST_MESSAGE_ERROR, domain, code,
      g_strdup_printf ("%s.", error->message), NULL, __FILE__, G_STRFUNC, __LINE__);
}
