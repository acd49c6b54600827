/* SPDX-License-Identifier: MIT */
/* In the place of remote-request.c and remote-file.c in a build without libcurl. */
#include "remote-file.h"

G_DEFINE_QUARK (remote - error - quark, remote_error)

gboolean
remote_is_location (const gchar *location)
{
  return g_str_has_prefix (location, "http://") || g_str_has_prefix (location, "https://") ||
         g_str_has_prefix (location, "s3://");
}

gchar *
remote_redact (const gchar *location)
{
  return g_strdup (remote_is_location (location) ? "a file on a server" : location);
}

static void
fail (GError **error)
{
  g_set_error_literal (error, REMOTE_ERROR, REMOTE_ERROR_UNSUPPORTED,
      "files on servers are read by builds with libcurl (-Dremote=enabled)");
}

RemoteFile *
remote_file_open (
    const gchar *location, const gchar *cache, const gint *is_cancelled, GError **error)
{
  fail (error);
  return NULL;
}

void
remote_file_free (RemoteFile *self)
{
}

guint64
remote_file_get_size (const RemoteFile *self)
{
  return 0;
}

const gchar *
remote_file_get_etag (const RemoteFile *self)
{
  return NULL;
}

guint64
remote_file_get_n_received (const RemoteFile *self)
{
  return 0;
}

gssize
remote_file_read (RemoteFile *self, guint64 offset, guint8 *data, gsize size, GError **error)
{
  fail (error);
  return -1;
}

gboolean
remote_file_put (const gchar *path, const gchar *location, GError **error)
{
  fail (error);
  return FALSE;
}
