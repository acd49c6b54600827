/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* The checksums of the maps in the pipeline that @element is in, which a thread computes. */
typedef struct _GstMcapProvenance GstMcapProvenance;

GstMcapProvenance *gst_mcap_provenance_new (GstElement *element);
/* Waits no longer than for the block being read. */
void gst_mcap_provenance_free (GstMcapProvenance *self);
/* Lines as sha256sum writes them, of each file of each map; NULL: there is none, or it is not
 * known yet (with @wait it is). */
const gchar *gst_mcap_provenance_get_maps (GstMcapProvenance *self, gboolean wait);

G_END_DECLS
