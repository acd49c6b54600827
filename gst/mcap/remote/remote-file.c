/* SPDX-License-Identifier: MIT */
#include "remote-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is fetched at least. Chunks of recordings have megabytes and follow each other, so that the
 * parts at their ends are shared. */
#define PART_SIZE (256u << 10)
/* Of parts in memory. */
#define MAX_PARTS 64
/* Of an upload: S3 takes 5 MiB to 5 GiB, and 10,000 of them. */
#define UPLOAD_PART ((gsize)16 << 20)
#define MAX_UPLOAD_PARTS 10000

struct _RemoteFile {
  RemoteClient *client;
  guint64 size;
  gchar *etag;
  const gint *is_cancelled;
  GHashTable *parts; /* number: GBytes, in memory */
  GQueue fetched;    /* their numbers, the oldest first */
  int fd;            /* of the file in the cache, -1: none … */
  int map_fd;        /* … and of the bytes that say which parts it has */
};

/* Parts */

static gboolean
find_part (RemoteFile *self, guint64 number, guint8 *data, gsize size)
{
  guint8 known = 0;

  if (self->fd >= 0)
    return pread (self->map_fd, &known, 1, (off_t)number) == 1 && known &&
           pread (self->fd, data, size, (off_t)(number * PART_SIZE)) == (gssize)size;
  GBytes *part = g_hash_table_lookup (self->parts, &number);
  if (!part || g_bytes_get_size (part) != size)
    return FALSE;
  memcpy (data, g_bytes_get_data (part, NULL), size);
  return TRUE;
}

static void
keep_part (RemoteFile *self, guint64 number, const guint8 *data, gsize size)
{
  if (self->fd >= 0) {
    const guint8 known = 1;
    /* What cannot be kept is fetched again. */
    if (pwrite (self->fd, data, size, (off_t)(number * PART_SIZE)) == (gssize)size &&
        pwrite (self->map_fd, &known, 1, (off_t)number) != 1)
      g_debug ("a part of a remote file is not kept: %s", g_strerror (errno));
    return;
  }
  guint64 *key = g_new (guint64, 1);
  *key = number;
  g_hash_table_insert (self->parts, key, g_bytes_new (data, size)); /* it is not there yet */
  g_queue_push_tail (&self->fetched, key);
  while (g_queue_get_length (&self->fetched) > MAX_PARTS)
    g_hash_table_remove (self->parts, g_queue_pop_head (&self->fetched));
}

static gsize
part_size (const RemoteFile *self, guint64 number)
{
  return (gsize)MIN (PART_SIZE, self->size - number * PART_SIZE);
}

/* Fetches @n parts that follow each other in one request. */
static gboolean
fetch (RemoteFile *self, guint64 number, guint64 n, GByteArray *out, GError **error)
{
  const guint64 offset = number * PART_SIZE;
  const RemoteRequest request = {.method = "GET",
      .offset = offset,
      .size = (gsize)MIN (n * PART_SIZE, self->size - offset),
      .etag = self->etag};
  RemoteAnswer answer = {0};

  if (!remote_client_send (self->client, &request, &answer, self->is_cancelled, error))
    return FALSE;
  const gboolean ok = answer.body->len == request.size;
  if (ok) {
    g_byte_array_append (out, answer.body->data, answer.body->len);
    for (guint64 i = 0; i < n; i++)
      keep_part (self, number + i, answer.body->data + i * PART_SIZE, part_size (self, number + i));
  } else {
    g_set_error_literal (
        error, REMOTE_ERROR, REMOTE_ERROR_CHANGED, "the server gives fewer bytes than before");
  }
  remote_answer_clear (&answer);
  return ok;
}

gssize
remote_file_read (RemoteFile *self, guint64 offset, guint8 *data, gsize size, GError **error)
{
  if (offset >= self->size || size == 0)
    return 0;
  size = (gsize)MIN (size, self->size - offset);
  const guint64 last = (offset + size - 1) / PART_SIZE;
  g_autofree guint8 *part = g_malloc (PART_SIZE);
  g_autofree guint8 *next = g_malloc (PART_SIZE);

  for (guint64 number = offset / PART_SIZE; number <= last;) {
    g_autoptr (GByteArray) fetched = g_byte_array_new ();
    guint64 n = 1;
    const guint8 *bytes = part;
    if (!find_part (self, number, part, part_size (self, number))) {
      while (
          number + n <= last && !find_part (self, number + n, next, part_size (self, number + n)))
        n++;
      if (!fetch (self, number, n, fetched, error))
        return -1;
      bytes = fetched->data;
    }
    /* What of these parts was asked for. */
    const guint64 start = number * PART_SIZE;
    const guint64 end = MIN ((number + n) * PART_SIZE, self->size);
    const guint64 from = MAX (start, offset), to = MIN (end, offset + size);
    memcpy (data + (from - offset), bytes + (from - start), (gsize)(to - from));
    number += n;
  }
  return (gssize)size;
}

/* The cache */

/* Named by the location and by its version: another version is another file. */
static void
open_cache (RemoteFile *self, const gchar *location, const gchar *cache)
{
  g_autofree gchar *key = g_strdup_printf (
      "%s %s %" G_GUINT64_FORMAT, location, self->etag ? self->etag : "", self->size);
  g_autofree gchar *digest = g_compute_checksum_for_string (G_CHECKSUM_SHA256, key, -1);
  g_autofree gchar *map_name = g_strconcat (digest, ".parts", NULL);
  g_autofree gchar *path = g_build_filename (cache, digest, NULL);
  g_autofree gchar *map_path = g_build_filename (cache, map_name, NULL);

  /* Without an etag the next one who opens it may find another file of that size. */
  if (!self->etag)
    return;
  self->fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  self->map_fd = open (map_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (self->fd >= 0 && self->map_fd >= 0)
    return;
  g_debug ("parts of remote files are not kept in %s: %s", cache, g_strerror (errno));
  if (self->fd >= 0)
    close (self->fd);
  if (self->map_fd >= 0)
    close (self->map_fd);
  self->fd = self->map_fd = -1;
}

RemoteFile *
remote_file_open (
    const gchar *location, const gchar *cache, const gint *is_cancelled, GError **error)
{
  g_autoptr (RemoteClient) client = remote_client_new (location, error);
  const RemoteRequest request = {.method = "GET", .size = PART_SIZE};
  RemoteAnswer answer = {0};

  if (!client || !remote_client_send (client, &request, &answer, is_cancelled, error))
    return NULL;
  RemoteFile *self = g_new0 (RemoteFile, 1);
  self->client = g_steal_pointer (&client);
  self->size = answer.total;
  self->etag = g_steal_pointer (&answer.etag);
  /* A weak one does not say that the bytes are the same (RFC 9110, 8.8.1). */
  if (self->etag && g_str_has_prefix (self->etag, "W/"))
    g_clear_pointer (&self->etag, g_free);
  self->is_cancelled = is_cancelled;
  self->fd = self->map_fd = -1;
  self->parts =
      g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, (GDestroyNotify)g_bytes_unref);
  if (cache)
    open_cache (self, location, cache);
  if (self->size > 0 && answer.body->len == part_size (self, 0))
    keep_part (self, 0, answer.body->data, answer.body->len);
  remote_answer_clear (&answer);
  return self;
}

void
remote_file_free (RemoteFile *self)
{
  remote_client_free (self->client);
  g_queue_clear (&self->fetched);
  g_hash_table_unref (self->parts);
  if (self->fd >= 0) {
    close (self->fd);
    close (self->map_fd);
  }
  g_free (self->etag);
  g_free (self);
}

guint64
remote_file_get_size (const RemoteFile *self)
{
  return self->size;
}

const gchar *
remote_file_get_etag (const RemoteFile *self)
{
  return self->etag;
}

guint64
remote_file_get_n_received (const RemoteFile *self)
{
  return remote_client_get_n_received (self->client);
}

/* Sending */

static gboolean
send_request (RemoteClient *client, const gchar *method, const gchar *query, const guint8 *body,
    gsize size, RemoteAnswer *answer, GError **error)
{
  const RemoteRequest request = {.method = method, .query = query, .body = body, .body_size = size};

  return remote_client_send (client, &request, answer, NULL, error);
}

/* The text of an element of S3's answers, which have no attributes and no nesting of one name. */
static gchar *
get_element (const GByteArray *xml, const gchar *name)
{
  g_autofree gchar *text = g_strndup ((const gchar *)xml->data, xml->len);
  g_autofree gchar *open_tag = g_strdup_printf ("<%s>", name);
  g_autofree gchar *close_tag = g_strdup_printf ("</%s>", name);
  const gchar *start = strstr (text, open_tag);
  const gchar *end = start ? strstr (start, close_tag) : NULL;

  if (!end)
    return NULL;
  start += strlen (open_tag);
  return g_strndup (start, (gsize)(end - start));
}

static gboolean
send_parts (RemoteClient *client, const guint8 *bytes, gsize size, GError **error)
{
  const gsize part = MAX (UPLOAD_PART, size / (MAX_UPLOAD_PARTS - 1) + 1);
  RemoteAnswer answer = {0};

  if (!send_request (client, "POST", "uploads=", NULL, 0, &answer, error))
    return FALSE;
  g_autofree gchar *id = get_element (answer.body, "UploadId");
  remote_answer_clear (&answer);
  if (!id) {
    g_set_error_literal (
        error, REMOTE_ERROR, REMOTE_ERROR_UNSUPPORTED, "the server does not answer as S3 does");
    return FALSE;
  }
  g_autofree gchar *escaped = g_uri_escape_string (id, NULL, FALSE);
  g_autofree gchar *whole = g_strconcat ("uploadId=", escaped, NULL);
  g_autoptr (GString) list = g_string_new ("<CompleteMultipartUpload>");
  gboolean ok = TRUE;
  for (guint number = 1; ok && (number - 1) * part < size; number++) {
    const gsize offset = (number - 1) * part;
    g_autofree gchar *query = g_strdup_printf ("partNumber=%u&uploadId=%s", number, escaped);
    RemoteAnswer sent = {0};
    ok = send_request (
        client, "PUT", query, bytes + offset, MIN (part, size - offset), &sent, error);
    if (ok)
      g_string_append_printf (list, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>",
          number, sent.etag ? sent.etag : "");
    remote_answer_clear (&sent);
  }
  g_string_append (list, "</CompleteMultipartUpload>");
  if (ok &&
      send_request (client, "POST", whole, (const guint8 *)list->str, list->len, &answer, error)) {
    /* S3 may answer 200 and an error in the text. */
    ok = get_element (answer.body, "ETag") != NULL;
    if (!ok)
      g_set_error_literal (error, REMOTE_ERROR, REMOTE_ERROR_UNREACHABLE,
          "the server did not put the parts together");
    remote_answer_clear (&answer);
    return ok;
  }
  /* Parts that are left cost their owner. */
  if (send_request (client, "DELETE", whole, NULL, 0, &answer, NULL))
    remote_answer_clear (&answer);
  return FALSE;
}

gboolean
remote_file_put (const gchar *path, const gchar *location, GError **error)
{
  g_autoptr (RemoteClient) client = remote_client_new (location, error);
  g_autoptr (GMappedFile) file = client ? g_mapped_file_new (path, FALSE, error) : NULL;
  RemoteAnswer answer = {0};

  if (!file)
    return FALSE;
  const guint8 *bytes = (const guint8 *)g_mapped_file_get_contents (file);
  const gsize size = g_mapped_file_get_length (file);
  if (g_str_has_prefix (location, "s3://") && size > UPLOAD_PART)
    return send_parts (client, bytes, size, error);
  if (!send_request (client, "PUT", NULL, bytes, size, &answer, error))
    return FALSE;
  remote_answer_clear (&answer);
  return TRUE;
}
