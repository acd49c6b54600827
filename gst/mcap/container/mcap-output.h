/* SPDX-License-Identifier: MIT */
#pragma once

/* A file that only grows, whose end is kept safe: room for what has to follow is reserved before
 * anything is written, and what is written goes to the disk at intervals, in a thread. */

#include "mcap-writer.h"

G_BEGIN_DECLS

#define MCAP_OUTPUT_ERROR (mcap_output_error_quark ())
GQuark mcap_output_error_quark (void);

/* @MCAP_OUTPUT_ERROR_OPEN: the file cannot be opened for writing
 * @MCAP_OUTPUT_ERROR_EXISTS: a file of this name exists and is not to be replaced
 * @MCAP_OUTPUT_ERROR_BUSY: another output, of any process, writes the file
 * @MCAP_OUTPUT_ERROR_WRITE: a write, or the disk behind an earlier one, failed
 * @MCAP_OUTPUT_ERROR_FULL: no room on the disk, or a limit of the file's size
 * @MCAP_OUTPUT_ERROR_CLOSE: what was written could not be finished
 * @MCAP_OUTPUT_ERROR_LOST: somebody else deleted, replaced, cut or wrote to the file */
typedef enum {
  MCAP_OUTPUT_ERROR_OPEN,
  MCAP_OUTPUT_ERROR_EXISTS,
  MCAP_OUTPUT_ERROR_BUSY,
  MCAP_OUTPUT_ERROR_WRITE,
  MCAP_OUTPUT_ERROR_FULL,
  MCAP_OUTPUT_ERROR_CLOSE,
  MCAP_OUTPUT_ERROR_LOST,
} McapOutputError;

typedef struct _McapOutput McapOutput;

/* Opens a file for this output alone. @overwrite: FALSE, a file of this name is an error.
 * @sync_interval: µs between two fdatasync(), 0: never, not even when it is closed. */
McapOutput *mcap_output_open (
    const gchar *path, gboolean overwrite, gint64 sync_interval, GError **error);
/* Makes sure that @size more bytes find room, where the file system can do that. */
gboolean mcap_output_reserve (McapOutput *self, guint64 size, GError **error);
/* All parts or, after an error, none of them. An error of the disk behind earlier writes is told
 * once: the next call writes, so that a file gets its end. After MCAP_OUTPUT_ERROR_LOST nothing is
 * written any more. */
gboolean mcap_output_write (McapOutput *self, const McapPart *parts, guint n_parts, GError **error);
/* Gives back what was reserved, waits for the disk, frees @self also on failure. A file that is
 * empty since no write succeeded is removed. */
gboolean mcap_output_close (McapOutput *self, GError **error);

/* Bytes written. */
guint64 mcap_output_get_position (const McapOutput *self);
/* Bytes that survive a power loss. Thread-safe. */
guint64 mcap_output_get_synced (McapOutput *self);

G_END_DECLS
