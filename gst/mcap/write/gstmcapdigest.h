/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* The checksums of a map that scans were aligned with, which its user (ndtlocalize) computes and
 * tells, sooner or later. Guarded by the lock of the file. */
typedef struct _GstMcapDigest GstMcapDigest;

/* @location: of the map. @text: lines as sha256sum writes them; NULL: not known yet. */
GstMcapDigest *gst_mcap_digest_new (const gchar *location, const gchar *text);
GstMcapDigest *gst_mcap_digest_ref (GstMcapDigest *self);
void gst_mcap_digest_unref (GstMcapDigest *self);
const gchar *gst_mcap_digest_get_location (const GstMcapDigest *self);
/* Has no effect where the text is known. */
void gst_mcap_digest_set_text (GstMcapDigest *self, const gchar *text);
/* NULL: not known yet. */
const gchar *gst_mcap_digest_get_text (const GstMcapDigest *self);

G_END_DECLS
