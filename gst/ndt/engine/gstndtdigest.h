/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The checksums of a map, a file or a folder of files, computed by a thread that nobody waits for.
 */
typedef struct _GstNdtDigest GstNdtDigest;

GstNdtDigest *gst_ndt_digest_new (const gchar *location);
/* Cancels the computation, and does not wait for it. */
void gst_ndt_digest_free (GstNdtDigest *digest);
/* Lines as sha256sum writes them, of each file that can be read; NULL: not known yet. */
const gchar *gst_ndt_digest_get (GstNdtDigest *digest);

/* Called on the thread before it reads, where it is not NULL: a variable so that tests can hold it
 * up. */
extern void (*gst_ndt_digest_before_reading) (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstNdtDigest, gst_ndt_digest_free)

G_END_DECLS
