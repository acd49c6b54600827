/* SPDX-License-Identifier: MIT */
#include "bag-sqlite.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bag-rows.h"
#include "gst/mcap/container/mcap-format.h"

struct _BagSqlite {
  sqlite3 *db;
  sqlite3_stmt *list; /* id, topic and time, without the data */
  gboolean is_sorted; /* list is in order, by an index; otherwise: */
  BagRows *rows;      /* what it lists; NULL: not read yet */
  sqlite3_stmt *data; /* of an id */
  McapTable table;
  const gint *is_cancelled; /* atomic */
  const gint64 *open_end;   /* monotonic time by which the recording has to be open; 0: it is */
  guint max_open_time;      /* s, of the message */
  guint max_time;           /* s */
  gint64 deadline;          /* monotonic time by which a query has to have its next row */
};

#define LIST "SELECT id, topic_id, timestamp FROM messages WHERE timestamp >= ?1"
#define ORDER " ORDER BY timestamp, id"

/* Rows that are sorted here between looks at the clock. */
#define ROWS_PER_LOOK 1024
/* Virtual machine instructions between looks at the clock. */
#define STEPS_PER_LOOK 10000

static gboolean
is_past (gint64 time)
{
  return time != 0 && g_get_monotonic_time () > time;
}

/* A bound of the time was reached. */
static gboolean
fail_interrupted (BagSqlite *self, GError **error)
{
  if (g_atomic_int_get (self->is_cancelled))
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "reading was stopped");
  else if (is_past (*self->open_end))
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_UNSUPPORTED,
        "opening it takes longer than %u s (property max-open-time)", self->max_open_time);
  else
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_UNSUPPORTED,
        "SQLite takes longer than %u s for a query (property max-query-time)", self->max_time);
  return FALSE;
}

static gboolean
fail (BagSqlite *self, GError **error)
{
  const int code = sqlite3_errcode (self->db);
  if (code == SQLITE_INTERRUPT)
    return fail_interrupted (self, error);
  if (code == SQLITE_TOOBIG) {
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_UNSUPPORTED,
        "A message has more bytes than are read (property max-record-size)");
    return FALSE;
  }
  g_set_error (error, MCAP_ERROR,
      code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR ? MCAP_ERROR_FORMAT
                                                                              : MCAP_ERROR_READ,
      "SQLite: %s", sqlite3_errmsg (self->db));
  return FALSE;
}

static int
look_at_clock (void *user_data)
{
  const BagSqlite *self = user_data;
  return is_past (self->deadline) || is_past (*self->open_end) ||
         g_atomic_int_get (self->is_cancelled);
}

static int
step (BagSqlite *self, sqlite3_stmt *statement)
{
  self->deadline = g_get_monotonic_time () + self->max_time * G_USEC_PER_SEC;
  return sqlite3_step (statement);
}

static sqlite3_stmt *
prepare (BagSqlite *self, const gchar *sql)
{
  sqlite3_stmt *statement = NULL;
  return sqlite3_prepare_v2 (self->db, sql, -1, &statement, NULL) == SQLITE_OK ? statement : NULL;
}

static gchar *
column_text (sqlite3_stmt *statement, int column)
{
  const gchar *text = (const gchar *)sqlite3_column_text (statement, column);
  return g_utf8_make_valid (text ? text : "", -1);
}

/* Definitions by type; files of before ROS 2 Iron have none. */
static GHashTable *
read_definitions (BagSqlite *self)
{
  GHashTable *schemas = g_hash_table_new (g_str_hash, g_str_equal);
  sqlite3_stmt *statement =
      prepare (self, "SELECT topic_type, encoding, encoded_message_definition "
                     "FROM message_definitions");
  while (statement && step (self, statement) == SQLITE_ROW &&
         g_hash_table_size (self->table.schemas) < G_MAXUINT16) {
    g_autofree gchar *type = column_text (statement, 0);
    g_autofree gchar *encoding = column_text (statement, 1);
    g_autofree gchar *text = column_text (statement, 2);
    if (g_hash_table_contains (schemas, type))
      continue;
    McapSchema *schema = mcap_schema_new (
        (guint16)(g_hash_table_size (self->table.schemas) + 1), type, encoding, text);
    g_hash_table_insert (self->table.schemas, GUINT_TO_POINTER (schema->id), schema);
    g_hash_table_insert (schemas, schema->name, schema);
  }
  sqlite3_finalize (statement);
  return schemas;
}

static gboolean
read_topics (BagSqlite *self, GError **error)
{
  g_autoptr (GHashTable) schemas = read_definitions (self);
  /* The first files had no profiles. */
  sqlite3_stmt *statement = prepare (
      self, "SELECT id, name, type, serialization_format, offered_qos_profiles FROM topics");
  if (!statement)
    statement = prepare (self, "SELECT id, name, type, serialization_format, '' FROM topics");
  if (!statement)
    return fail (self, error);

  int result;
  while ((result = step (self, statement)) == SQLITE_ROW) {
    const sqlite3_int64 id = sqlite3_column_int64 (statement, 0);
    g_autofree gchar *topic = column_text (statement, 1);
    g_autofree gchar *type = column_text (statement, 2);
    g_autofree gchar *format = column_text (statement, 3);
    gchar *profiles = column_text (statement, 4);
    McapSchema *schema = g_hash_table_lookup (schemas, type);
    if (!schema && g_hash_table_size (self->table.schemas) < G_MAXUINT16) {
      schema =
          mcap_schema_new ((guint16)(g_hash_table_size (self->table.schemas) + 1), type, "", "");
      g_hash_table_insert (self->table.schemas, GUINT_TO_POINTER (schema->id), schema);
      g_hash_table_insert (schemas, schema->name, schema);
    }
    McapChannel *channel = mcap_channel_new ((guint)id, schema ? schema->id : 0, topic, format);
    if (*profiles)
      g_hash_table_insert (channel->metadata, g_strdup ("offered_qos_profiles"), profiles);
    else
      g_free (profiles);
    g_hash_table_replace (self->table.channels, GUINT_TO_POINTER (channel->id), channel);
  }
  sqlite3_finalize (statement);
  return result == SQLITE_DONE || fail (self, error);
}

/* Opening */

/* Whether the file is in WAL mode, by the version of its format (www.sqlite.org/fileformat2.html,
 * bytes 18 and 19). */
static gboolean
is_in_wal_mode (const gchar *path)
{
  guint8 header[20] = {0};
  FILE *file = fopen (path, "rbe");
  const gsize n = file ? fread (header, 1, sizeof header, file) : 0;
  if (file)
    fclose (file);
  return n == sizeof header && header[18] == 2 && header[19] == 2;
}

static gboolean
has_content (const gchar *path, const gchar *suffix)
{
  g_autofree gchar *name = g_strconcat (path, suffix, NULL);
  GStatBuf status;
  return g_stat (name, &status) == 0 && status.st_size > 0;
}

/* SQLite reads the -journal of a writer that died, and waits for ever where it is a pipe. */
static gboolean
check_journal (const gchar *path, GError **error)
{
  g_autofree gchar *name = g_strconcat (path, "-journal", NULL);
  GStatBuf status;
  if (g_stat (name, &status) != 0 || (S_ISREG (status.st_mode) && status.st_size == 0))
    return TRUE;
  if (!S_ISREG (status.st_mode))
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_OPEN, "\"%s\" is not a regular file", name);
  return S_ISREG (status.st_mode);
}

/* The file's name as SQLite's URIs have it, with these parameters. */
static gchar *
make_uri (const gchar *path, const gchar *parameters)
{
  GString *uri = g_string_new ("file:");
  for (; *path; path++)
    if (strchr ("%?#", *path))
      g_string_append_printf (uri, "%%%02X", (guint)(guchar)*path);
    else
      g_string_append_c (uri, *path);
  g_string_append (uri, parameters);
  return g_string_free (uri, FALSE);
}

/* A reader of a file in WAL mode makes a -shm and a -wal file beside it, or fails where it may not,
 * and leaves them. Without a WAL there is nothing to share: the file is immutable. With one that
 * was not written back, as a recorder that died leaves it, its index is built in memory, which
 * takes a connection of its own to the file, as without locks. */
static gboolean
open_database (BagSqlite *self, const gchar *path)
{
  const gboolean is_wal = is_in_wal_mode (path);
  const gboolean has_wal = is_wal && has_content (path, "-wal");
  g_autofree gchar *uri = make_uri (path, has_wal  ? "?vfs=unix-none"
                                          : is_wal ? "?immutable=1"
                                                   : "");
  if (sqlite3_open_v2 (uri, &self->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) != SQLITE_OK)
    return FALSE;
  sqlite3_db_config (self->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  return !has_wal ||
         sqlite3_exec (self->db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK;
}

/* Whether the three are tables, where there are any of that name: views and virtual tables are
 * programs. */
static gboolean
check_tables (BagSqlite *self, GError **error)
{
  sqlite3_stmt *statement =
      prepare (self, "SELECT name FROM sqlite_master WHERE lower(name) IN ('messages', 'topics', "
                     "'message_definitions') AND (type <> 'table' OR rootpage = 0)");
  const int result = statement ? step (self, statement) : SQLITE_ERROR;
  if (result == SQLITE_ROW) {
    g_autofree gchar *name = column_text (statement, 0);
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_FORMAT, "\"%s\" is no table in it", name);
  } else if (result != SQLITE_DONE) {
    fail (self, error);
  }
  sqlite3_finalize (statement);
  return result == SQLITE_DONE;
}

/* Generated columns compute what they hold when they are read, by expressions of the file, a
 * single one of which may take minutes that no progress handler interrupts. */
static gboolean
check_columns (BagSqlite *self, GError **error)
{
  sqlite3_stmt *statement = prepare (self,
      "SELECT m.name || '.' || x.name FROM sqlite_master m, pragma_table_xinfo (m.name) x "
      "WHERE lower(m.name) IN ('messages', 'topics', 'message_definitions') AND x.hidden > 0");
  const int result = statement ? step (self, statement) : SQLITE_ERROR;
  if (result == SQLITE_ROW) {
    g_autofree gchar *name = column_text (statement, 0);
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_FORMAT, "the column \"%s\" is computed", name);
  } else if (result != SQLITE_DONE) {
    fail (self, error);
  }
  sqlite3_finalize (statement);
  return result == SQLITE_DONE;
}

/* Whether SQLite reads the list in order by an index. Where it has none it would sort, in steps of
 * minutes that nothing interrupts. */
static gboolean
has_order (BagSqlite *self)
{
  sqlite3_stmt *statement = prepare (self, "EXPLAIN QUERY PLAN " LIST ORDER);
  gboolean sorts = statement == NULL;
  while (statement && step (self, statement) == SQLITE_ROW) {
    const gchar *detail = (const gchar *)sqlite3_column_text (statement, 3);
    sorts |= !detail || strstr (detail, "TEMP B-TREE") != NULL;
  }
  sqlite3_finalize (statement);
  return !sorts;
}

BagSqlite *
bag_sqlite_new (const gchar *path, const BagLimits *limits, const gint *is_cancelled,
    const gint64 *open_end, GError **error)
{
  g_autoptr (BagSqlite) self = g_new0 (BagSqlite, 1);
  mcap_table_init (&self->table);
  self->max_time = limits->max_query_time;
  self->is_cancelled = is_cancelled;
  self->open_end = open_end;
  self->max_open_time = limits->max_open_time;

  if (!check_journal (path, error))
    return NULL;
  if (!open_database (self, path)) {
    fail (self, error);
    return NULL;
  }
  /* Nothing that the file's schema has is run. */
  sqlite3_db_config (self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config (self->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config (self->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config (self->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  sqlite3_limit (self->db, SQLITE_LIMIT_LENGTH, (int)limits->max_record_size);
  sqlite3_progress_handler (self->db, STEPS_PER_LOOK, look_at_clock, self);
  /* A file that is being written may be busy for a moment. */
  sqlite3_busy_timeout (self->db, 1000);
  self->deadline = g_get_monotonic_time () + self->max_time * G_USEC_PER_SEC;
  if (!check_tables (self, error) || !check_columns (self, error) || !read_topics (self, error))
    return NULL;
  self->is_sorted = has_order (self);
  self->list = prepare (self, self->is_sorted ? LIST ORDER : LIST);
  self->data = prepare (self, "SELECT data FROM messages WHERE id = ?1");
  if (!self->list || !self->data) {
    fail (self, error);
    return NULL;
  }
  return g_steal_pointer (&self);
}

void
bag_sqlite_free (BagSqlite *self)
{
  g_clear_pointer (&self->rows, bag_rows_free);
  sqlite3_finalize (self->list);
  sqlite3_finalize (self->data);
  sqlite3_close (self->db);
  mcap_table_clear (&self->table);
  g_free (self);
}

/* FALSE without @error where there are no messages. */
static gboolean
get_time (BagSqlite *self, const gchar *sql, guint64 *time, GError **error)
{
  sqlite3_stmt *statement = prepare (self, sql);
  const int result = statement ? step (self, statement) : SQLITE_ERROR;
  const gboolean found = result == SQLITE_ROW && sqlite3_column_type (statement, 0) != SQLITE_NULL;
  if (found)
    *time = (guint64)MAX (0, sqlite3_column_int64 (statement, 0));
  if (result != SQLITE_ROW)
    fail (self, error);
  sqlite3_finalize (statement);
  return found;
}

gboolean
bag_sqlite_get_range (
    BagSqlite *self, gboolean *has_range, guint64 *start, guint64 *end, GError **error)
{
  /* One by one they are looked up in rosbag2's index of times; together all rows are read. */
  GError *failure = NULL;
  *has_range = get_time (self, "SELECT MIN(timestamp) FROM messages", start, &failure) &&
               get_time (self, "SELECT MAX(timestamp) FROM messages", end, &failure);
  if (failure)
    g_propagate_error (error, failure);
  return failure == NULL;
}

const McapTable *
bag_sqlite_get_table (const BagSqlite *self)
{
  return &self->table;
}

static void
read_row (BagSqlite *self, BagRow *row)
{
  row->id = sqlite3_column_int64 (self->list, 0);
  row->topic = sqlite3_column_int64 (self->list, 1);
  row->time = sqlite3_column_int64 (self->list, 2);
}

static gboolean
start_list (BagSqlite *self, gint64 time, GError **error)
{
  sqlite3_reset (self->list);
  return sqlite3_bind_int64 (self->list, 1, time) == SQLITE_OK || fail (self, error);
}

/* All of the list, as one query. */
static gboolean
read_rows (BagSqlite *self, GError **error)
{
  g_autoptr (BagRows) rows = bag_rows_new ();
  int result = SQLITE_DONE;
  if (!start_list (self, G_MININT64, error))
    return FALSE;
  self->deadline = g_get_monotonic_time () + self->max_time * G_USEC_PER_SEC;
  for (guint n = 1; (result = sqlite3_step (self->list)) == SQLITE_ROW; n++) {
    BagRow row;
    read_row (self, &row);
    bag_rows_add (rows, &row);
    if (n % ROWS_PER_LOOK == 0 && look_at_clock (self))
      return fail_interrupted (self, error);
  }
  if (result != SQLITE_DONE)
    return fail (self, error);
  sqlite3_reset (self->list);
  self->rows = g_steal_pointer (&rows);
  return TRUE;
}

gboolean
bag_sqlite_seek (BagSqlite *self, guint64 time, GError **error)
{
  const gint64 from = (gint64)MIN (time, (guint64)G_MAXINT64);
  if (self->is_sorted)
    return start_list (self, from, error);
  if (!self->rows && !read_rows (self, error))
    return FALSE;
  bag_rows_seek (self->rows, from);
  return TRUE;
}

/* FALSE without @error at the end. */
static gboolean
next_row (BagSqlite *self, BagRow *row, GError **error)
{
  if (!self->is_sorted)
    return bag_rows_next (self->rows, row);
  const int listed = step (self, self->list);
  if (listed == SQLITE_ROW)
    read_row (self, row);
  else if (listed != SQLITE_DONE)
    fail (self, error);
  return listed == SQLITE_ROW;
}

gboolean
bag_sqlite_next (BagSqlite *self, McapMessage *message, GError **error)
{
  BagRow row;
  if (!next_row (self, &row, error))
    return FALSE;
  sqlite3_reset (self->data);
  if (sqlite3_bind_int64 (self->data, 1, row.id) != SQLITE_OK ||
      step (self, self->data) != SQLITE_ROW)
    return fail (self, error);
  message->channel_id = (guint)row.topic;
  message->sequence = 0;
  message->log_time = message->publish_time = (guint64)MAX (0, row.time);
  message->data = sqlite3_column_blob (self->data, 0);
  message->size = (gsize)sqlite3_column_bytes (self->data, 0);
  return TRUE;
}
