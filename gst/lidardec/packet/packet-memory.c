/* SPDX-License-Identifier: MIT */
#include "packet-memory.h"

/* Free blocks that are kept: downstream rarely has more in flight. */
#define MAX_WAITING 4

struct _PacketMemory {
  gint n_references; /* the owner's and one for each block that is out */
  GMutex mutex;
  GQueue waiting; /* of Header */
};

/* Before each block; as long as a line of the cache. */
typedef union {
  struct {
    PacketMemory *memory;
    gsize size;
  };
  guint8 padding[64];
} Header;

PacketMemory *
packet_memory_new (void)
{
  PacketMemory *self = g_new0 (PacketMemory, 1);
  self->n_references = 1;
  g_mutex_init (&self->mutex);
  g_queue_init (&self->waiting);
  return self;
}

static void
unref (PacketMemory *self)
{
  if (!g_atomic_int_dec_and_test (&self->n_references))
    return;
  g_queue_clear_full (&self->waiting, g_free);
  g_mutex_clear (&self->mutex);
  g_free (self);
}

void
packet_memory_free (PacketMemory *self)
{
  unref (self);
}

gpointer
packet_memory_take (PacketMemory *self, gsize size)
{
  Header *header;
  g_mutex_lock (&self->mutex);
  header = g_queue_pop_head (&self->waiting);
  g_mutex_unlock (&self->mutex);
  if (header && header->size < size)
    g_clear_pointer (&header, g_free);
  if (!header) {
    header = g_malloc (sizeof *header + size);
    header->size = size;
  }
  header->memory = self;
  g_atomic_int_inc (&self->n_references);
  return header + 1;
}

gsize
packet_memory_get_size (gconstpointer block)
{
  return ((const Header *)block)[-1].size;
}

void
packet_memory_give_back (gpointer block)
{
  if (!block)
    return;
  Header *header = (Header *)block - 1;
  PacketMemory *self = header->memory;
  g_mutex_lock (&self->mutex);
  if (g_queue_get_length (&self->waiting) < MAX_WAITING)
    g_queue_push_head (&self->waiting, g_steal_pointer (&header));
  g_mutex_unlock (&self->mutex);
  g_free (header);
  unref (self);
}
