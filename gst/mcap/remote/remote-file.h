/* SPDX-License-Identifier: MIT */
#pragma once

/* Files on servers: read by parts, written whole. */

#include "remote-request.h"

G_BEGIN_DECLS

typedef struct _RemoteFile RemoteFile;

/* Opens @location, of which the first part is fetched. @cache: a folder that parts are kept in, so
 * that whoever opens the same file with it does not fetch them again; NULL: 16 MiB in memory.
 * @is_cancelled: nullable, as of remote_client_send(), of use as long as the file is. */
RemoteFile *remote_file_open (
    const gchar *location, const gchar *cache, const gint *is_cancelled, GError **error);
void remote_file_free (RemoteFile *self);
guint64 remote_file_get_size (const RemoteFile *self);
/* What the server knows this version of the file by; NULL: nothing. */
const gchar *remote_file_get_etag (const RemoteFile *self);
/* Bytes fetched by this file. */
guint64 remote_file_get_n_received (const RemoteFile *self);
/* Up to @size bytes; fewer at the end only; -1 and @error on failure. */
gssize remote_file_read (
    RemoteFile *self, guint64 offset, guint8 *data, gsize size, GError **error);

/* Sends a file of this machine to @location: by PUT, and to s3:// in parts where it is longer than
 * 16 MiB. It is there whole, or not at all. */
gboolean remote_file_put (const gchar *path, const gchar *location, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (RemoteFile, remote_file_free)

G_END_DECLS
