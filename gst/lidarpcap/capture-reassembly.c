/* SPDX-License-Identifier: MIT */
#include "capture-reassembly.h"

#include <string.h>

/* Datagrams in the making, of all sensors. Each takes 64 KiB at most. */
#define MAX_PENDING 64

/* Fragments of a datagram come within a millisecond or so. A longer wait would put together
 * fragments of two datagrams once the identification, 16 bits, has wrapped: 50 s of one Ouster with
 * 128 beams. */
#define MAX_WAIT ((gint64)1000000000)

/* Of senders whose identifications tell nothing: 16 times what a fragment of 1,500 bytes takes at
 * 1 Gbit/s (12 us), and half of the shortest time between two datagrams of a sensor (OS1-128 at
 * 2048x20: 0.39 ms). */
#define MAX_STEP ((gint64)200000)

#define MAX_KEY 40

typedef struct {
  guint8 key[MAX_KEY];
  gsize key_size, addresses_size;
  gint64 time;        /* of the first fragment that came */
  gint64 last_time;   /* of the last one */
  gsize last_end;     /* of what came in the datagram */
  gboolean is_done;   /* kept so that a doubled fragment is known as such */
  gboolean is_reused; /* another datagram had the same identification */
  GByteArray *data;
  gsize size;     /* 0: the last fragment has not come */
  GArray *ranges; /* of Range, that came, disjoint */
} Pending;

typedef struct {
  gsize start, end;
} Range;

struct _CaptureReassembly {
  GQueue pending; /* of Pending, oldest first */
  GByteArray *whole;
  guint64 n_incomplete;
};

static void
pending_free (Pending *pending)
{
  g_byte_array_unref (pending->data);
  g_array_unref (pending->ranges);
  g_free (pending);
}

CaptureReassembly *
capture_reassembly_new (void)
{
  CaptureReassembly *self = g_new0 (CaptureReassembly, 1);
  g_queue_init (&self->pending);
  self->whole = g_byte_array_new ();
  return self;
}

void
capture_reassembly_reset (CaptureReassembly *self)
{
  g_queue_clear_full (&self->pending, (GDestroyNotify)pending_free);
}

void
capture_reassembly_free (CaptureReassembly *self)
{
  capture_reassembly_reset (self);
  g_byte_array_unref (self->whole);
  g_free (self);
}

guint64
capture_reassembly_get_n_incomplete (const CaptureReassembly *self)
{
  guint64 n = self->n_incomplete;
  for (const GList *l = self->pending.head; l; l = l->next)
    n += !((const Pending *)l->data)->is_done;
  return n;
}

static void
give_up (CaptureReassembly *self, GList *link)
{
  Pending *pending = link->data;
  self->n_incomplete += !pending->is_done;
  pending_free (pending);
  g_queue_delete_link (&self->pending, link);
}

static void
expire (CaptureReassembly *self, gint64 time)
{
  for (GList *l = self->pending.head, *next; l; l = next) {
    const Pending *pending = l->data;
    next = l->next;
    /* A clock that was set back must not keep them forever. */
    if (time - pending->time > MAX_WAIT || pending->time - time > MAX_WAIT)
      give_up (self, l);
  }
  while (self->pending.length > MAX_PENDING)
    give_up (self, self->pending.head);
}

static GList *
find (CaptureReassembly *self, const CaptureFragment *fragment)
{
  for (GList *l = self->pending.tail; l; l = l->prev) {
    const Pending *pending = l->data;
    if (pending->key_size == fragment->key_size &&
        memcmp (pending->key, fragment->key, fragment->key_size) == 0)
      return l;
  }
  return NULL;
}

static GList *
begin (CaptureReassembly *self, const CaptureFragment *fragment, gboolean is_reused)
{
  Pending *pending = g_new0 (Pending, 1);
  memcpy (pending->key, fragment->key, fragment->key_size);
  pending->key_size = fragment->key_size;
  pending->addresses_size = fragment->addresses_size;
  pending->time = fragment->time;
  pending->is_reused = is_reused;
  pending->data = g_byte_array_new ();
  pending->ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  g_queue_push_tail (&self->pending, pending);
  return self->pending.tail;
}

/* Whether the sender gave another datagram of the last second another identification. */
static gboolean
is_numbered (const CaptureReassembly *self, const Pending *pending)
{
  for (const GList *l = self->pending.tail; l; l = l->prev) {
    const Pending *other = l->data;
    if (other != pending && other->key_size == pending->key_size &&
        memcmp (other->key, pending->key, pending->addresses_size) == 0)
      return TRUE;
  }
  return FALSE;
}

static gboolean
may_belong (const CaptureReassembly *self, const Pending *pending, const CaptureFragment *fragment)
{
  if (is_numbered (self, pending))
    return TRUE;
  if (ABS (fragment->time - pending->last_time) > MAX_STEP)
    return FALSE;
  return pending->is_done || !pending->is_reused || fragment->offset <= pending->last_end;
}

/* Whether what came of this range, if anything, is the same: otherwise it is of another datagram
 * with the same identification. */
static gboolean
agrees (const Pending *pending, const CaptureFragment *fragment)
{
  const gsize start = fragment->offset, end = start + fragment->size;
  if (pending->size > 0 && (fragment->more ? end >= pending->size : end != pending->size))
    return FALSE;
  for (guint i = 0; i < pending->ranges->len; i++) {
    const Range range = g_array_index (pending->ranges, Range, i);
    const gsize from = MAX (range.start, start), to = MIN (range.end, end);
    if (from < to &&
        memcmp (pending->data->data + from, fragment->data + from - start, to - from) != 0)
      return FALSE;
    if (!fragment->more && range.end > end)
      return FALSE;
  }
  return TRUE;
}

static void
add_range (GArray *ranges, Range range)
{
  for (guint i = 0; i < ranges->len;) {
    const Range other = g_array_index (ranges, Range, i);
    if (other.start <= range.end && range.start <= other.end) {
      range.start = MIN (range.start, other.start);
      range.end = MAX (range.end, other.end);
      g_array_remove_index_fast (ranges, i);
    } else {
      i++;
    }
  }
  g_array_append_val (ranges, range);
}

const guint8 *
capture_reassembly_add (CaptureReassembly *self, const CaptureFragment *fragment, gsize *size)
{
  g_return_val_if_fail (fragment->key_size <= MAX_KEY, NULL);
  g_return_val_if_fail (fragment->addresses_size <= fragment->key_size, NULL);
  expire (self, fragment->time);
  GList *link = find (self, fragment);
  const gboolean is_known = link != NULL;
  if (link && (!agrees (link->data, fragment) || !may_belong (self, link->data, fragment))) {
    give_up (self, link);
    link = NULL;
  }
  if (!link)
    link = begin (self, fragment, is_known);

  Pending *pending = link->data;
  const Range range = {fragment->offset, fragment->offset + fragment->size};
  pending->last_time = fragment->time;
  pending->last_end = MAX (pending->last_end, range.end);
  if (pending->is_done)
    return NULL;
  if (pending->data->len < range.end)
    g_byte_array_set_size (pending->data, (guint)range.end);
  memcpy (pending->data->data + range.start, fragment->data, fragment->size);
  add_range (pending->ranges, range);
  if (!fragment->more)
    pending->size = range.end;

  const Range first = g_array_index (pending->ranges, Range, 0);
  if (pending->size == 0 || pending->ranges->len != 1 || first.start != 0 ||
      first.end != pending->size)
    return NULL;
  pending->is_done = TRUE;
  g_byte_array_set_size (self->whole, 0);
  g_byte_array_append (self->whole, pending->data->data, (guint)pending->size);
  *size = pending->size;
  return self->whole->data;
}
