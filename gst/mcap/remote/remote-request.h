/* SPDX-License-Identifier: MIT */
#pragma once

/* Requests to servers of HTTP and S3 by libcurl: signed (AWS signature version 4) where the
 * location is s3://BUCKET/KEY, and tried again where that may help. Plain C, without GStreamer. */

#include <gio/gio.h>

G_BEGIN_DECLS

#define REMOTE_ERROR (remote_error_quark ())
GQuark remote_error_quark (void);

/* @REMOTE_ERROR_NOT_FOUND: there is no such file
 * @REMOTE_ERROR_DENIED: the server wants other credentials
 * @REMOTE_ERROR_UNREACHABLE: no answer, or the server's own fault, all times that it was tried
 * @REMOTE_ERROR_CHANGED: the file is another one than it was at first
 * @REMOTE_ERROR_UNSUPPORTED: the location or the answer is of a kind that is not read; or this
 * build is without libcurl */
typedef enum {
  REMOTE_ERROR_NOT_FOUND,
  REMOTE_ERROR_DENIED,
  REMOTE_ERROR_UNREACHABLE,
  REMOTE_ERROR_CHANGED,
  REMOTE_ERROR_UNSUPPORTED,
} RemoteError;

/* http://, https:// or s3://. */
gboolean remote_is_location (const gchar *location);
/* As it may be shown and recorded: without user, password and query, which may be a signature. */
gchar *remote_redact (const gchar *location);

typedef struct _RemoteClient RemoteClient;

/* For one location; keeps its connection. Not thread-safe. Credentials of s3:// are those of
 * AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the region of AWS_REGION or
 * AWS_DEFAULT_REGION (us-east-1), the server of AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL (Amazon's);
 * without credentials requests are not signed. */
RemoteClient *remote_client_new (const gchar *location, GError **error);
void remote_client_free (RemoteClient *self);

typedef struct {
  const gchar *method; /* "GET", "PUT", "POST" */
  const gchar *query;  /* "partNumber=1&uploadId=…", names in order, encoded; NULL: none */
  guint64 offset;      /* of a GET: the range … */
  gsize size;          /* … 0: all */
  const gchar *etag;   /* it has to have still; NULL: any */
  const guint8 *body;  /* of PUT and POST */
  gsize body_size;
} RemoteRequest;

typedef struct {
  GByteArray *body;
  guint64 total; /* size of the file, of a range's answer */
  gchar *etag;   /* NULL: none */
} RemoteAnswer;

void remote_answer_clear (RemoteAnswer *self);
/* Tries until it is answered, a few times and with pauses that double; a range goes on where it was
 * cut. @is_cancelled, nullable: G_IO_ERROR_CANCELLED where it becomes TRUE, from any thread. */
gboolean remote_client_send (RemoteClient *self, const RemoteRequest *request, RemoteAnswer *answer,
    const gint *is_cancelled, GError **error);
/* Bytes of bodies received so far. */
guint64 remote_client_get_n_received (const RemoteClient *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (RemoteClient, remote_client_free)

G_END_DECLS
