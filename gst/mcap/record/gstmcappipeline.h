/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* Graphviz text of the pipeline that @element is in, NULL where it is in none: all elements with
 * their factories, links and caps, for anyone who gets a recording to see. So only gst-ndt's own
 * elements are there with their properties (those that are not at their defaults), and URIs without
 * user and password: any property of another element may be a secret. */
gchar *gst_mcap_pipeline_describe (GstElement *element);

G_END_DECLS
