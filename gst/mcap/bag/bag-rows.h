/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* A message's place in a file: 24 bytes, which are held of each. */
typedef struct {
  gint64 time;
  gint64 id;
  gint64 topic;
} BagRow;

/* Rows of any order, read in that of their times and, of one time, of their ids. No call but
 * bag_rows_seek() takes longer than the sorting of 65,536 rows, so that whoever adds them can stop
 * in between. Not thread-safe. */
typedef struct _BagRows BagRows;

BagRows *bag_rows_new (void);
void bag_rows_free (BagRows *self);
void bag_rows_add (BagRows *self, const BagRow *row);
/* Those from @time on come next. No rows are added from the first one on. */
void bag_rows_seek (BagRows *self, gint64 time);
/* FALSE: there are no more. */
gboolean bag_rows_next (BagRows *self, BagRow *row);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (BagRows, bag_rows_free)

G_END_DECLS
