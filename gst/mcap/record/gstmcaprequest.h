/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/mcap/write/gstmcappad.h"

G_BEGIN_DECLS

/* Pads on request, by any number of threads at once, and as children of their element. */

/* Adds a GstMcapPad of @templ to @element: by the name @wanted or, where that is NULL or no name of
 * this template, by the first number that is free. @prepare: sets its functions, before it is
 * active. @reserved: names, strings, that only this function uses, with the object lock. NULL: the
 * name is taken. */
GstPad *gst_mcap_request_pad (GstElement *element, GHashTable *reserved, GstPadTemplate *templ,
    const gchar *wanted, void (*prepare) (GstElement *element, GstPad *pad));

/* An element's sink pads as its children. */
void gst_mcap_request_child_proxy_init (gpointer interface, gpointer user_data);

G_END_DECLS
