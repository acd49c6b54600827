/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Memory of scans, given out again when whoever had one is done with it: new pages cost more than
 * the points that are written to them. From any thread. */
typedef struct _PacketMemory PacketMemory;

PacketMemory *packet_memory_new (void);
/* What was given out stays valid. */
void packet_memory_free (PacketMemory *self);

/* At least @size bytes; packet_memory_get_size() says how many. Not cleared. */
gpointer packet_memory_take (PacketMemory *self, gsize size);
gsize packet_memory_get_size (gconstpointer block);
/* Of a block that was taken, or NULL. */
void packet_memory_give_back (gpointer block);

G_END_DECLS
