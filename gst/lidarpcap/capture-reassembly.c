/* SPDX-License-Identifier: MIT */
#include "capture-reassembly.h"

#include <string.h>

/* Datagrams in the making, of all sensors. Each takes 64 KiB at most. */
#define MAX_PENDING 64

/* Fragments of a datagram come within a millisecond or so. A longer wait would put together
 * fragments of two datagrams once the identification, 16 bits, has wrapped: 50 s of one Ouster with
 * 128 beams. */
#define MAX_WAIT ((gint64)1000000000)

#define MAX_KEY 40

typedef struct {
  guint8 key[MAX_KEY];
  gsize key_size;
  gint64 time;      /* of the first fragment */
  gboolean is_done; /* kept so that a doubled fragment is known as such */
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
find (CaptureReassembly *self, const guint8 *key, gsize key_size)
{
  for (GList *l = self->pending.tail; l; l = l->prev) {
    const Pending *pending = l->data;
    if (pending->key_size == key_size && memcmp (pending->key, key, key_size) == 0)
      return l;
  }
  return NULL;
}

static GList *
begin (CaptureReassembly *self, const guint8 *key, gsize key_size, gint64 time)
{
  Pending *pending = g_new0 (Pending, 1);
  memcpy (pending->key, key, key_size);
  pending->key_size = key_size;
  pending->time = time;
  pending->data = g_byte_array_new ();
  pending->ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  g_queue_push_tail (&self->pending, pending);
  return self->pending.tail;
}

/* Whether what came of this range, if anything, is the same: otherwise it is of another datagram
 * with the same identification. */
static gboolean
agrees (const Pending *pending, gsize start, gboolean more, const guint8 *data, gsize n)
{
  const gsize end = start + n;
  if (pending->size > 0 && (more ? end >= pending->size : end != pending->size))
    return FALSE;
  for (guint i = 0; i < pending->ranges->len; i++) {
    const Range range = g_array_index (pending->ranges, Range, i);
    const gsize from = MAX (range.start, start), to = MIN (range.end, end);
    if (from < to && memcmp (pending->data->data + from, data + from - start, to - from) != 0)
      return FALSE;
    if (!more && range.end > end)
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
capture_reassembly_add (CaptureReassembly *self, const guint8 *key, gsize key_size, gsize offset,
    gboolean more, const guint8 *data, gsize n, gint64 time, gsize *size)
{
  g_return_val_if_fail (key_size <= MAX_KEY, NULL);
  expire (self, time);
  GList *link = find (self, key, key_size);
  if (link && !agrees (link->data, offset, more, data, n)) {
    give_up (self, link);
    link = NULL;
  }
  if (!link)
    link = begin (self, key, key_size, time);

  Pending *pending = link->data;
  if (pending->is_done)
    return NULL;
  if (pending->data->len < offset + n)
    g_byte_array_set_size (pending->data, (guint)(offset + n));
  memcpy (pending->data->data + offset, data, n);
  add_range (pending->ranges, (Range){offset, offset + n});
  if (!more)
    pending->size = offset + n;

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
