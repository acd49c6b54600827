/* SPDX-License-Identifier: MIT */
#include "bag-rows.h"

/* Rows that are sorted at once. */
#define RUN 65536

/* What of a run was not read yet. */
typedef struct {
  const BagRow *next, *end;
} Rest;

struct _BagRows {
  GArray *run;     /* BagRow, of the run that is being filled */
  GPtrArray *runs; /* GArray of BagRow each, sorted */
  GArray *rests;   /* Rest, a heap: the first has the earliest row */
};

static gint
compare_rows (gconstpointer a, gconstpointer b)
{
  const BagRow *one = a, *other = b;
  if (one->time != other->time)
    return one->time < other->time ? -1 : 1;
  return one->id < other->id ? -1 : one->id > other->id;
}

BagRows *
bag_rows_new (void)
{
  BagRows *self = g_new0 (BagRows, 1);
  self->runs = g_ptr_array_new_with_free_func ((GDestroyNotify)g_array_unref);
  self->rests = g_array_new (FALSE, FALSE, sizeof (Rest));
  return self;
}

void
bag_rows_free (BagRows *self)
{
  g_clear_pointer (&self->run, g_array_unref);
  g_ptr_array_unref (self->runs);
  g_array_unref (self->rests);
  g_free (self);
}

static void
end_run (BagRows *self)
{
  if (!self->run)
    return;
  g_array_sort (self->run, compare_rows);
  g_ptr_array_add (self->runs, g_steal_pointer (&self->run));
}

void
bag_rows_add (BagRows *self, const BagRow *row)
{
  if (!self->run)
    self->run = g_array_sized_new (FALSE, FALSE, sizeof (BagRow), 256);
  g_array_append_val (self->run, *row);
  if (self->run->len == RUN)
    end_run (self);
}

static gboolean
is_before (const Rest *rests, guint a, guint b)
{
  return compare_rows (rests[a].next, rests[b].next) < 0;
}

/* The heap below @at is one; so it is from @at on. */
static void
sift (GArray *heap, guint at)
{
  Rest *rests = (Rest *)(gpointer)heap->data;
  for (;;) {
    guint least = at;
    for (guint child = 2 * at + 1; child <= 2 * at + 2 && child < heap->len; child++)
      if (is_before (rests, child, least))
        least = child;
    if (least == at)
      return;
    const Rest rest = rests[at];
    rests[at] = rests[least];
    rests[least] = rest;
    at = least;
  }
}

void
bag_rows_seek (BagRows *self, gint64 time)
{
  end_run (self);
  g_array_set_size (self->rests, 0);
  for (guint i = 0; i < self->runs->len; i++) {
    const GArray *run = g_ptr_array_index (self->runs, i);
    guint low = 0, high = run->len;
    while (low < high) {
      const guint middle = low + (high - low) / 2;
      if (g_array_index (run, BagRow, middle).time < time)
        low = middle + 1;
      else
        high = middle;
    }
    const BagRow *rows = (const BagRow *)(gconstpointer)run->data;
    const Rest rest = {rows + low, rows + run->len};
    if (low < run->len)
      g_array_append_val (self->rests, rest);
  }
  for (guint i = self->rests->len / 2; i > 0; i--)
    sift (self->rests, i - 1);
}

gboolean
bag_rows_next (BagRows *self, BagRow *row)
{
  if (self->rests->len == 0)
    return FALSE;
  Rest *first = &g_array_index (self->rests, Rest, 0);
  *row = *first->next++;
  if (first->next == first->end)
    g_array_remove_index_fast (self->rests, 0);
  sift (self->rests, 0);
  return TRUE;
}
