/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* The checksums of a map that scans were aligned with, a file or a folder of files: given, or
 * computed by a thread that nobody waits for. */
typedef struct _GstMcapDigest GstMcapDigest;

/* @location: of the map. @text: lines as sha256sum writes them; NULL: they are computed, where
 * nothing is set meanwhile. */
GstMcapDigest *gst_mcap_digest_new (const gchar *location, const gchar *text);
GstMcapDigest *gst_mcap_digest_ref (GstMcapDigest *self);
/* The last one cancels the computation, and does not wait for it. */
void gst_mcap_digest_unref (GstMcapDigest *self);
const gchar *gst_mcap_digest_get_location (const GstMcapDigest *self);
/* Has no effect where the text is known. */
void gst_mcap_digest_set_text (GstMcapDigest *self, const gchar *text);
/* Lines as sha256sum writes them, of each file that could be read; they stay. NULL: not known yet.
 */
const gchar *gst_mcap_digest_get_text (GstMcapDigest *self);

G_END_DECLS
