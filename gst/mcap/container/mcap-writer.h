/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes MCAP: chunks with indexes, summary and checksums. It makes bytes; where they go is the
 * caller's business. Not thread-safe. */

#include <glib.h>

G_BEGIN_DECLS

typedef struct _McapWriter McapWriter;

typedef enum {
  MCAP_WRITER_COMPRESSION_NONE,
  MCAP_WRITER_COMPRESSION_LZ4,
  MCAP_WRITER_COMPRESSION_ZSTD,
} McapWriterCompression;

/* Longest data of a message or an attachment, bytes. */
#define MCAP_WRITER_MAX_DATA (G_GUINT64_CONSTANT (1) << 30)

#define MCAP_WRITER_ERROR (mcap_writer_error_quark ())
GQuark mcap_writer_error_quark (void);

/* @MCAP_WRITER_ERROR_TOO_LARGE: data longer than MCAP_WRITER_MAX_DATA
 * @MCAP_WRITER_ERROR_TOO_MANY: more than 65,535 schemas or channels
 * @MCAP_WRITER_ERROR_COMPRESSION: the compression library failed */
typedef enum {
  MCAP_WRITER_ERROR_TOO_LARGE,
  MCAP_WRITER_ERROR_TOO_MANY,
  MCAP_WRITER_ERROR_COMPRESSION,
} McapWriterError;

typedef struct {
  const guint8 *data;
  gsize size;
} McapPart;

/* Takes bytes, in order. After a failure it is not called again but by mcap_writer_finish(). The
 * parts of one call belong together: a reader of a cut file gets nothing of half of them. */
typedef gboolean (*McapWriteFunc) (
    gpointer user_data, const McapPart *parts, guint n_parts, GError **error);

typedef struct {
  guint64 messages;
  guint64 chunks;
  guint64 first_time; /* log times, ns; G_MAXUINT64 and 0 before the first message */
  guint64 last_time;
} McapWriterStatistics;

/* @chunk_size: bytes of messages that a chunk is closed at; a longer message has its own chunk.
 * @chunk_duration: ns of log time that a chunk spans at most, 0: any. */
McapWriter *mcap_writer_new (McapWriterCompression compression, guint64 chunk_size,
    guint64 chunk_duration, McapWriteFunc write, gpointer user_data);
void mcap_writer_free (McapWriter *self);

/* Magic and header: first of all. */
gboolean mcap_writer_start (
    McapWriter *self, const gchar *profile, const gchar *library, GError **error);
/* The same name, encoding and text are one schema. 0 on failure. */
guint16 mcap_writer_add_schema (McapWriter *self, const gchar *name, const gchar *encoding,
    gconstpointer data, gsize size, GError **error);
/* The same arguments are one channel. @schema: 0, no schema; @metadata: string → string, borrowed,
 * may be NULL. FALSE on failure. */
gboolean mcap_writer_add_channel (McapWriter *self, guint16 schema, const gchar *topic,
    const gchar *message_encoding, GHashTable *metadata, guint16 *channel, GError **error);
/* Begins a new chunk where the one at hand has no room for @size bytes, so that messages that
 * belong together stand in one, whole or not at all after a kill. */
gboolean mcap_writer_make_room (McapWriter *self, guint64 size, guint64 log_time, GError **error);
/* The sequence number of the channel's next message; those after it count on from there. Without it
 * a channel's first has 0. */
void mcap_writer_set_sequence (McapWriter *self, guint16 channel, guint32 sequence);
/* Times in ns. The data are copied. */
gboolean mcap_writer_add_message (McapWriter *self, guint16 channel, guint64 log_time,
    guint64 publish_time, const McapPart *parts, guint n_parts, GError **error);
gboolean mcap_writer_add_attachment (McapWriter *self, const gchar *name, const gchar *media_type,
    guint64 log_time, guint64 create_time, gconstpointer data, gsize size, GError **error);
gboolean mcap_writer_add_metadata (
    McapWriter *self, const gchar *name, GHashTable *metadata, GError **error);
/* Writes the chunk at hand, if any. */
gboolean mcap_writer_flush (McapWriter *self, GError **error);
/* Writes the chunk at hand, the summary and the end. After a failed write: drops the chunk at hand
 * and writes summary and end, for a file that was cut back to whole calls of the write function. */
gboolean mcap_writer_finish (McapWriter *self, GError **error);

/* Bytes handed to the write function so far. */
guint64 mcap_writer_get_position (const McapWriter *self);
/* Bytes, at most, that finishing takes beyond what has been handed out and the chunk at hand: what
 * to reserve. */
guint64 mcap_writer_get_summary_size (const McapWriter *self);
/* Bytes of the chunk at hand, uncompressed. */
guint64 mcap_writer_get_pending_size (const McapWriter *self);
McapWriterStatistics mcap_writer_get_statistics (const McapWriter *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (McapWriter, mcap_writer_free)

G_END_DECLS
