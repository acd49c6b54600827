/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _CaptureReassembly CaptureReassembly;

CaptureReassembly *capture_reassembly_new (void);
void capture_reassembly_free (CaptureReassembly *self);

/* Forgets all fragments. */
void capture_reassembly_reset (CaptureReassembly *self);

/* Datagrams given up because fragments did not come. */
guint64 capture_reassembly_get_n_incomplete (const CaptureReassembly *self);

/* Takes fragment @data, bytes from @offset of a datagram that @key (@key_size bytes, at most 40)
 * tells from others at @time (ns), the last of it where not @more. Returns the whole payload, valid
 * until the next call, with its @size once all came, otherwise NULL. */
const guint8 *capture_reassembly_add (CaptureReassembly *self, const guint8 *key, gsize key_size,
    gsize offset, gboolean more, const guint8 *data, gsize n, gint64 time, gsize *size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CaptureReassembly, capture_reassembly_free)

G_END_DECLS
