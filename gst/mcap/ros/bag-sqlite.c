/* SPDX-License-Identifier: MIT */
#include "bag-sqlite.h"

#include <sqlite3.h>

#include "gst/mcap/container/mcap-format.h"

struct _BagSqlite {
  sqlite3 *db;
  sqlite3_stmt
      *list; /* id, topic and time, in order: without the data, which may have to be sorted */
  sqlite3_stmt *data; /* of an id */
  McapTable table;
};

static gboolean
fail (BagSqlite *self, GError **error)
{
  const int code = sqlite3_errcode (self->db);
  g_set_error (error, MCAP_ERROR,
      code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR ? MCAP_ERROR_FORMAT
                                                                              : MCAP_ERROR_READ,
      "SQLite: %s", sqlite3_errmsg (self->db));
  return FALSE;
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
  while (statement && sqlite3_step (statement) == SQLITE_ROW &&
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
  while ((result = sqlite3_step (statement)) == SQLITE_ROW) {
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

BagSqlite *
bag_sqlite_new (const gchar *path, GError **error)
{
  g_autoptr (BagSqlite) self = g_new0 (BagSqlite, 1);
  mcap_table_init (&self->table);

  if (sqlite3_open_v2 (path, &self->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
    fail (self, error);
    return NULL;
  }
  /* A file that is being written may be busy for a moment. */
  sqlite3_busy_timeout (self->db, 1000);
  if (!read_topics (self, error))
    return NULL;
  self->list = prepare (self, "SELECT id, topic_id, timestamp FROM messages WHERE timestamp >= ?1 "
                              "ORDER BY timestamp, id");
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
  sqlite3_finalize (self->list);
  sqlite3_finalize (self->data);
  sqlite3_close (self->db);
  mcap_table_clear (&self->table);
  g_free (self);
}

gboolean
bag_sqlite_get_range (BagSqlite *self, guint64 *start, guint64 *end)
{
  sqlite3_stmt *statement = prepare (self, "SELECT MIN(timestamp), MAX(timestamp) FROM messages");
  gboolean has_range = FALSE;
  if (statement && sqlite3_step (statement) == SQLITE_ROW &&
      sqlite3_column_type (statement, 0) != SQLITE_NULL) {
    *start = (guint64)MAX (0, sqlite3_column_int64 (statement, 0));
    *end = (guint64)MAX (0, sqlite3_column_int64 (statement, 1));
    has_range = TRUE;
  }
  sqlite3_finalize (statement);
  return has_range;
}

const McapTable *
bag_sqlite_get_table (const BagSqlite *self)
{
  return &self->table;
}

gboolean
bag_sqlite_seek (BagSqlite *self, guint64 time, GError **error)
{
  sqlite3_reset (self->list);
  if (sqlite3_bind_int64 (self->list, 1, (sqlite3_int64)MIN (time, (guint64)G_MAXINT64)) !=
      SQLITE_OK)
    return fail (self, error);
  return TRUE;
}

gboolean
bag_sqlite_next (BagSqlite *self, McapMessage *message, GError **error)
{
  const int listed = sqlite3_step (self->list);
  if (listed == SQLITE_DONE)
    return FALSE;
  sqlite3_reset (self->data);
  if (listed != SQLITE_ROW ||
      sqlite3_bind_int64 (self->data, 1, sqlite3_column_int64 (self->list, 0)) != SQLITE_OK ||
      sqlite3_step (self->data) != SQLITE_ROW)
    return fail (self, error);
  const sqlite3_int64 time = sqlite3_column_int64 (self->list, 2);
  message->channel_id = (guint)sqlite3_column_int64 (self->list, 1);
  message->sequence = 0;
  message->log_time = message->publish_time = (guint64)MAX (0, time);
  message->data = sqlite3_column_blob (self->data, 0);
  message->size = (gsize)sqlite3_column_bytes (self->data, 0);
  return TRUE;
}
