/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Records of MCAP files, parsed out of bytes that may be anything. */

#define MCAP_ERROR (mcap_error_quark ())
GQuark mcap_error_quark (void);

/* MCAP_ERROR_FORMAT: not MCAP, or damaged. MCAP_ERROR_UNSUPPORTED: of a kind or size that is not
 * read. MCAP_ERROR_READ: the bytes could not be had. MCAP_ERROR_OPEN: nor the file. */
typedef enum {
  MCAP_ERROR_FORMAT,
  MCAP_ERROR_UNSUPPORTED,
  MCAP_ERROR_READ,
  MCAP_ERROR_OPEN
} McapError;

/* What one record, and what one chunk unpacked, may have to be read, unless told otherwise: a
 * packed record and what comes out of it are in memory at once, beside the reader's cache. */
#define MCAP_READ_LIMIT (256u << 20)
/* No limit may be larger. */
#define MCAP_MAX_READ_LIMIT (1u << 30)

/* A place in bytes. Reads past the end give zeros and set failed. */
typedef struct {
  const guint8 *data;
  gsize size;
  gsize position;
  gboolean failed;
} McapCursor;

guint16 mcap_cursor_u16 (McapCursor *cursor);
guint32 mcap_cursor_u32 (McapCursor *cursor);
guint64 mcap_cursor_u64 (McapCursor *cursor);
/* @size bytes that stay where they are, NULL past the end. */
const guint8 *mcap_cursor_bytes (McapCursor *cursor, guint64 size);
/* A string with its length before it; made valid where it is no UTF-8. NULL past the end. */
gchar *mcap_cursor_string (McapCursor *cursor);
/* The next record of a run: FALSE at the end, and where the record is not whole. */
gboolean mcap_cursor_record (McapCursor *cursor, guint8 *opcode, McapCursor *content);

typedef struct {
  guint16 id;
  gchar *name;     /* "sensor_msgs/msg/PointCloud2" */
  gchar *encoding; /* "ros2msg" */
  GBytes *data;    /* the definition's text */
} McapSchema;

typedef struct {
  guint id;
  guint16 schema_id; /* 0: none */
  gchar *topic;
  gchar *message_encoding; /* "cdr" */
  GHashTable *metadata;    /* string to string */
} McapChannel;

typedef struct {
  guint channel_id;
  guint32 sequence;
  guint64 log_time; /* ns */
  guint64 publish_time;
  const guint8 *data;
  gsize size;
} McapMessage;

typedef struct {
  guint64 start_time; /* of its messages' log times */
  guint64 end_time;
  guint64 uncompressed_size;
  guint32 crc;              /* of the unpacked records, 0: none */
  const gchar *compression; /* interned; NULL: one that is not known */
  guint64 records_size;
} McapChunk;

typedef struct {
  guint64 log_time;
  guint64 create_time;
  gchar *name;
  gchar *media_type;
  const guint8 *data;
  guint64 size;
} McapAttachment;

typedef struct {
  gchar *name;
  GHashTable *entries; /* string to string */
} McapMetadata;

/* Parse the content of a record; NULL or FALSE where it is damaged. */
McapSchema *mcap_parse_schema (McapCursor *cursor);
McapChannel *mcap_parse_channel (McapCursor *cursor);
gboolean mcap_parse_message (McapCursor *cursor, McapMessage *message);
/* Up to the records, which need not be there: the cursor then stands at them. */
gboolean mcap_parse_chunk (McapCursor *cursor, McapChunk *chunk);
/* With its CRC where it has one. @attachment is to be cleared. */
gboolean mcap_parse_attachment (McapCursor *cursor, McapAttachment *attachment);
gboolean mcap_parse_metadata (McapCursor *cursor, McapMetadata *metadata);
void mcap_attachment_clear (McapAttachment *attachment);
void mcap_metadata_clear (McapMetadata *metadata);
McapSchema *mcap_schema_new (
    guint16 id, const gchar *name, const gchar *encoding, const gchar *text);
void mcap_schema_free (McapSchema *schema);
McapChannel *mcap_channel_new (
    guint id, guint16 schema_id, const gchar *topic, const gchar *message_encoding);
void mcap_channel_free (McapChannel *channel);

/* Memory that the schemas and channels of a file may take: thousands of definitions have some
 * megabytes. */
#define MCAP_MAX_TABLE_SIZE (64u << 20)

/* The schemas and channels of a file, by their numbers. */
typedef struct {
  gsize size; /* about how many bytes of memory they take */
  GHashTable *schemas;
  GHashTable *channels;
} McapTable;

void mcap_table_init (McapTable *table);
void mcap_table_clear (McapTable *table);
/* Takes what a record of Schema or Channel says; the first that has a number stays. FALSE where the
 * record is damaged, or MCAP_MAX_TABLE_SIZE is reached. */
gboolean mcap_table_take_record (McapTable *table, guint8 opcode, McapCursor *content);
const McapChannel *mcap_table_get_channel (const McapTable *table, guint id);
/* Of a channel, NULL where it has none. */
const McapSchema *mcap_table_get_schema (const McapTable *table, const McapChannel *channel);

G_END_DECLS
