/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Pool of the memory of scans: faulting in new pages costs more than writing the points.
 * Thread-safe. */
typedef struct _PacketMemory PacketMemory;

PacketMemory *packet_memory_new (void);
/* Blocks that are in use stay valid. */
void packet_memory_free (PacketMemory *self);

/* At least @size bytes; packet_memory_get_size() says how many. Not cleared. */
gpointer packet_memory_take (PacketMemory *self, gsize size);
gsize packet_memory_get_size (gconstpointer block);
/* Of a block that was taken, or NULL. */
void packet_memory_give_back (gpointer block);

G_END_DECLS
