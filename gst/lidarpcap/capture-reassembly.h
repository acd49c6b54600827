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

/* CaptureFragment:
 * @key: what tells its datagram from others: the addresses and then the identification
 * @key_size: bytes of @key, at most 40
 * @addresses_size: bytes of the addresses in @key
 * @offset: of @data in the datagram
 * @more: whether others come behind it in the datagram
 * @time: of its capture (ns) */
typedef struct {
  const guint8 *key;
  gsize key_size, addresses_size;
  gsize offset;
  gboolean more;
  const guint8 *data;
  gsize size;
  gint64 time;
} CaptureFragment;

/* Takes a fragment. Returns the whole payload, valid until the next call, with its @size once all
 * came, otherwise NULL.
 *
 * A sender that gives each datagram another identification may have its fragments in any order. One
 * that gives all the same (RFC 791 forbids it, sensors do it) is known by fragments that contradict
 * those that are kept; of such a sender, and of one of which no two datagrams were seen so far,
 * fragments are put together only where each comes soon after the one before, and of the former
 * only in their order: otherwise the rest of a datagram whose first fragment was lost would go
 * with the first fragment of the next one. */
const guint8 *capture_reassembly_add (
    CaptureReassembly *self, const CaptureFragment *fragment, gsize *size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CaptureReassembly, capture_reassembly_free)

G_END_DECLS
