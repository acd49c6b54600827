/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* Posts what a reader failed by (MCAP_ERROR) as the element's error. */
void gst_bag_error_post (GstElement *element, const GError *error);

G_END_DECLS
