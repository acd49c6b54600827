/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/packet/packet-cutter.h"
#include "ouster-metadata.h"

G_BEGIN_DECLS

typedef struct _Ouster Ouster;

Ouster *ouster_new (const OusterMetadata *metadata);
void ouster_free (Ouster *self);

/* Decodes a packet; finished scans go to @cutter. @is_data says whether it held points, or was one
 * of the sensor's other packets. */
gboolean ouster_decode (Ouster *self, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error);
/* Ends the scan in the making. */
void ouster_flush (Ouster *self, PacketCutter *cutter);
/* Forgets it. */
void ouster_reset (Ouster *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Ouster, ouster_free)

G_END_DECLS
