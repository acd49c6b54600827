/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* A map that scans were aligned with, a file or a folder of them: its checksums, which a thread
 * computes from when it is heard of. */
typedef struct _GstMcapMap GstMcapMap;

GstMcapMap *gst_mcap_map_new (const gchar *location);
GstMcapMap *gst_mcap_map_ref (GstMcapMap *self);
/* The last one waits no longer than for the block being read. */
void gst_mcap_map_unref (GstMcapMap *self);
/* Lines as sha256sum writes them, of each file that can be read; NULL: not known yet (with @wait it
 * is). */
const gchar *gst_mcap_map_get_digests (GstMcapMap *self, gboolean wait);

G_END_DECLS
