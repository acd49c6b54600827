/* SPDX-License-Identifier: MIT */
#pragma once

#include "bag-limits.h"
#include "gst/mcap/container/mcap-records.h"

G_BEGIN_DECLS

/* Messages of one of rosbag2's SQLite3 files in the order of their times. It is opened for reading
 * only, and nothing is written beside it: one in WAL mode is read without SQLite's -shm file. What
 * it says in SQL is not executed: its tables have to be tables. Not thread-safe. */

typedef struct _BagSqlite BagSqlite;

/* Queries end with G_IO_ERROR_CANCELLED once *@is_cancelled, an atomic integer, is not 0, and with
 * an error after *@open_end, a monotonic time, unless that is 0; both outlive it. */
BagSqlite *bag_sqlite_new (const gchar *path, const BagLimits *limits, const gint *is_cancelled,
    const gint64 *open_end, GError **error);
void bag_sqlite_free (BagSqlite *self);
/* @has_range: FALSE where there are no messages. FALSE where that cannot be found out. */
gboolean bag_sqlite_get_range (
    BagSqlite *self, gboolean *has_range, guint64 *start, guint64 *end, GError **error);
const McapTable *bag_sqlite_get_table (const BagSqlite *self);
/* Messages from @time on come next. */
gboolean bag_sqlite_seek (BagSqlite *self, guint64 time, GError **error);
/* FALSE at the end (no error) or when reading failed. Data stay until the next call. */
gboolean bag_sqlite_next (BagSqlite *self, McapMessage *message, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (BagSqlite, bag_sqlite_free)

G_END_DECLS
