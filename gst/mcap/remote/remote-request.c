/* SPDX-License-Identifier: MIT */
#include "remote-request.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

/* Tries of one request, the first pause and the longest (µs): half a minute in all. */
#define MAX_TRIES 8
#define FIRST_PAUSE 100000
#define LONGEST_PAUSE (10 * G_USEC_PER_SEC)
/* A connection that gives less than this for that long is cut and tried again. */
#define SLOW_BYTES_PER_SECOND 1L
#define SLOW_SECONDS 30L
#define CONNECT_SECONDS 20L
/* Of an answer that is no range: S3's are a few hundred bytes. */
#define MAX_ANSWER (16u << 20)

struct _RemoteClient {
  CURL *curl;
  gchar *shown; /* in messages */
  gchar *url;   /* as libcurl takes it, without a query */
  gchar *query; /* of the location itself, NULL: none */
  gchar *sign;  /* CURLOPT_AWS_SIGV4; NULL: not signed */
  gchar *user;  /* "KEY:SECRET" */
  gchar *token; /* header; NULL: none */
  guint64 n_received;
};

typedef struct {
  GByteArray *body;
  gsize limit;
  guint64 total;
  gchar *etag;
  long retry_after;
  const gint *is_cancelled;
} Transfer;

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
  const gchar *host = strstr (location, "://");
  if (!remote_is_location (location) || !host)
    return g_strdup (location);
  host += 3;
  const gsize end = strcspn (host, "?#");
  const gchar *slash = memchr (host, '/', end);
  const gchar *at = g_strrstr_len (host, slash ? slash - host : (gssize)end, "@");
  const gchar *rest = at ? at + 1 : host;
  return g_strdup_printf (
      "%.*s%.*s", (int)(host - location), location, (int)(host + end - rest), rest);
}

static const gchar *
get_environment (const gchar *first, const gchar *second)
{
  const gchar *value = g_getenv (first);

  if ((!value || !*value) && second)
    value = g_getenv (second);
  return value && *value ? value : NULL;
}

/* s3://BUCKET/KEY, the key's characters encoded as the signature has them (RFC 3986, "/" stays). */
static gboolean
set_s3 (RemoteClient *self, const gchar *location, GError **error)
{
  const gchar *bucket = location + strlen ("s3://");
  const gchar *slash = strchr (bucket, '/');
  const gchar *region = get_environment ("AWS_REGION", "AWS_DEFAULT_REGION");
  const gchar *endpoint = get_environment ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
  const gchar *key = get_environment ("AWS_ACCESS_KEY_ID", NULL);
  const gchar *secret = get_environment ("AWS_SECRET_ACCESS_KEY", NULL);
  const gchar *token = get_environment ("AWS_SESSION_TOKEN", NULL);

  if (!slash || slash == bucket || !slash[1]) {
    g_set_error (
        error, REMOTE_ERROR, REMOTE_ERROR_UNSUPPORTED, "%s is not s3://BUCKET/KEY", location);
    return FALSE;
  }
  if (!region)
    region = "us-east-1";
  g_autofree gchar *name = g_strndup (bucket, (gsize)(slash - bucket));
  g_autofree gchar *path = g_uri_escape_string (slash + 1, "/", FALSE);
  if (endpoint)
    self->url = g_strdup_printf (
        "%s%s%s/%s", endpoint, g_str_has_suffix (endpoint, "/") ? "" : "/", name, path);
  else
    self->url = g_strdup_printf ("https://%s.s3.%s.amazonaws.com/%s", name, region, path);
  if (key && secret) {
    self->sign = g_strdup_printf ("aws:amz:%s:s3", region);
    self->user = g_strdup_printf ("%s:%s", key, secret);
    if (token)
      self->token = g_strdup_printf ("x-amz-security-token: %s", token);
  }
  return TRUE;
}

RemoteClient *
remote_client_new (const gchar *location, GError **error)
{
  static gsize initialized = 0;
  g_autoptr (RemoteClient) self = g_new0 (RemoteClient, 1);

  if (g_once_init_enter (&initialized)) {
    curl_global_init (CURL_GLOBAL_DEFAULT);
    g_once_init_leave (&initialized, 1);
  }
  self->shown = remote_redact (location);
  self->curl = curl_easy_init ();
  if (g_str_has_prefix (location, "s3://"))
    return set_s3 (self, location, error) ? g_steal_pointer (&self) : NULL;
  const gchar *query = strchr (location, '?');
  self->url = query ? g_strndup (location, (gsize)(query - location)) : g_strdup (location);
  self->query = query && query[1] ? g_strdup (query + 1) : NULL;
  return g_steal_pointer (&self);
}

void
remote_client_free (RemoteClient *self)
{
  curl_easy_cleanup (self->curl);
  g_free (self->shown);
  g_free (self->url);
  g_free (self->query);
  g_free (self->sign);
  g_free (self->user);
  g_free (self->token);
  g_free (self);
}

guint64
remote_client_get_n_received (const RemoteClient *self)
{
  return self->n_received;
}

void
remote_answer_clear (RemoteAnswer *self)
{
  g_clear_pointer (&self->body, g_byte_array_unref);
  g_clear_pointer (&self->etag, g_free);
}

static size_t
take_body (char *data, size_t size, size_t n, void *user_data)
{
  Transfer *transfer = user_data;

  if (n > transfer->limit - MIN (transfer->limit, transfer->body->len))
    return CURL_WRITEFUNC_ERROR; /* more than was asked for */
  g_byte_array_append (transfer->body, (const guint8 *)data, (guint)(size * n));
  return size * n;
}

static size_t
take_header (char *data, size_t size, size_t n, void *user_data)
{
  Transfer *transfer = user_data;
  g_autofree gchar *line = g_strstrip (g_strndup (data, size * n));
  gchar *value = strchr (line, ':');

  if (!value)
    return size * n;
  *value++ = '\0';
  value = g_strstrip (value);
  if (g_ascii_strcasecmp (line, "content-range") == 0) {
    const gchar *slash = strchr (value, '/');
    transfer->total = slash ? g_ascii_strtoull (slash + 1, NULL, 10) : 0;
  } else if (g_ascii_strcasecmp (line, "etag") == 0) {
    g_free (transfer->etag);
    transfer->etag = g_strdup (value);
  } else if (g_ascii_strcasecmp (line, "retry-after") == 0) {
    transfer->retry_after = (long)CLAMP (g_ascii_strtoll (value, NULL, 10), 0, 60);
  }
  return size * n;
}

static int
check_cancelled (void *user_data, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
  const Transfer *transfer = user_data;

  return transfer->is_cancelled && g_atomic_int_get (transfer->is_cancelled);
}

static struct curl_slist *
make_headers (const RemoteClient *self, const RemoteRequest *request)
{
  struct curl_slist *headers = NULL;

  if (self->sign) {
    g_autofree gchar *digest = g_compute_checksum_for_data (G_CHECKSUM_SHA256,
        request->body ? request->body : (const guint8 *)"", request->body ? request->body_size : 0);
    g_autofree gchar *header = g_strconcat ("x-amz-content-sha256: ", digest, NULL);
    headers = curl_slist_append (headers, header);
  }
  if (self->token)
    headers = curl_slist_append (headers, self->token);
  if (request->etag) {
    g_autofree gchar *header = g_strconcat ("If-Match: ", request->etag, NULL);
    headers = curl_slist_append (headers, header);
  }
  if (!g_str_equal (request->method, "GET"))
    headers = curl_slist_append (headers, "Content-Type: application/octet-stream");
  return headers;
}

/* One try. The status of HTTP, 0 where there was none. */
static long
perform (RemoteClient *self, const RemoteRequest *request, Transfer *transfer, CURLcode *code)
{
  const gchar *query = request->query ? request->query : self->query;
  g_autofree gchar *url = g_strconcat (self->url, query ? "?" : "", query ? query : "", NULL);
  struct curl_slist *headers = make_headers (self, request);
  long status = 0;

  curl_easy_reset (self->curl); /* keeps connections */
  curl_easy_setopt (self->curl, CURLOPT_URL, url);
  curl_easy_setopt (self->curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt (self->curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt (self->curl, CURLOPT_FOLLOWLOCATION, self->sign ? 0L : 1L);
  curl_easy_setopt (self->curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt (self->curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt (self->curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt (self->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
  curl_easy_setopt (self->curl, CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES_PER_SECOND);
  curl_easy_setopt (self->curl, CURLOPT_LOW_SPEED_TIME, SLOW_SECONDS);
  curl_easy_setopt (self->curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt (self->curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt (self->curl, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt (self->curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt (self->curl, CURLOPT_HEADERDATA, transfer);
  curl_easy_setopt (self->curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt (self->curl, CURLOPT_XFERINFOFUNCTION, check_cancelled);
  curl_easy_setopt (self->curl, CURLOPT_XFERINFODATA, transfer);
  if (self->sign) {
    curl_easy_setopt (self->curl, CURLOPT_AWS_SIGV4, self->sign);
    curl_easy_setopt (self->curl, CURLOPT_USERPWD, self->user);
  }
  if (g_str_equal (request->method, "GET")) {
    if (request->size > 0) {
      /* What came before a cut is not asked for again. */
      g_autofree gchar *range = g_strdup_printf ("%" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT,
          request->offset + transfer->body->len, request->offset + request->size - 1);
      curl_easy_setopt (self->curl, CURLOPT_RANGE, range);
    }
  } else {
    curl_easy_setopt (self->curl, CURLOPT_POST, 1L);
    curl_easy_setopt (
        self->curl, CURLOPT_POSTFIELDS, request->body ? (const char *)request->body : "");
    curl_easy_setopt (self->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
    curl_easy_setopt (self->curl, CURLOPT_CUSTOMREQUEST, request->method);
  }
  *code = curl_easy_perform (self->curl);
  curl_easy_getinfo (self->curl, CURLINFO_RESPONSE_CODE, &status);
  curl_slist_free_all (headers);
  return status;
}

static gboolean
is_worth_a_try (CURLcode code, long status)
{
  if (status == 408 || status == 429 || status >= 500)
    return TRUE;
  switch (code) {
  case CURLE_COULDNT_CONNECT:
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_GOT_NOTHING:
  case CURLE_OPERATION_TIMEDOUT:
  case CURLE_PARTIAL_FILE:
  case CURLE_RECV_ERROR:
  case CURLE_SEND_ERROR:
  case CURLE_HTTP2:
  case CURLE_HTTP2_STREAM:
    return TRUE;
  default:
    return FALSE;
  }
}

static gboolean
fail (
    const RemoteClient *self, CURLcode code, long status, const Transfer *transfer, GError **error)
{
  if (check_cancelled ((void *)transfer, 0, 0, 0, 0)) {
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "reading was stopped");
    return FALSE;
  }
  RemoteError kind = REMOTE_ERROR_UNREACHABLE;
  if (status == 404 || status == 410)
    kind = REMOTE_ERROR_NOT_FOUND;
  else if (status == 401 || status == 403)
    kind = REMOTE_ERROR_DENIED;
  else if (status == 412)
    kind = REMOTE_ERROR_CHANGED;
  else if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
           (code == CURLE_WRITE_ERROR && status < 300))
    kind = REMOTE_ERROR_UNSUPPORTED;
  if (kind == REMOTE_ERROR_CHANGED)
    g_set_error (error, REMOTE_ERROR, kind, "%s was changed while it was read", self->shown);
  else if (code == CURLE_WRITE_ERROR && status < 300)
    g_set_error (error, REMOTE_ERROR, kind, "%s: the server gives no parts of files", self->shown);
  else if (status >= 300)
    g_set_error (error, REMOTE_ERROR, kind, "%s: the server answers %ld", self->shown, status);
  else
    g_set_error (error, REMOTE_ERROR, kind, "%s: %s", self->shown, curl_easy_strerror (code));
  return FALSE;
}

gboolean
remote_client_send (RemoteClient *self, const RemoteRequest *request, RemoteAnswer *answer,
    const gint *is_cancelled, GError **error)
{
  const gboolean is_range = request->size > 0;
  Transfer transfer = {.body = g_byte_array_new (), .is_cancelled = is_cancelled};
  guint64 pause = FIRST_PAUSE;

  transfer.limit = is_range ? request->size : MAX_ANSWER;
  for (guint try = 1;; try++) {
    const guint before = transfer.body->len;
    CURLcode code;
    transfer.retry_after = 0;
    const long status = perform (self, request, &transfer, &code);
    self->n_received += transfer.body->len - before;
    if (code == CURLE_OK && (is_range ? status == 206 : status >= 200 && status < 300)) {
      answer->body = transfer.body;
      answer->total = transfer.total;
      answer->etag = transfer.etag;
      return TRUE;
    }
    if (is_range && status == 200)
      code = CURLE_WRITE_ERROR; /* all of the file */
    /* What an error says is no part of the file; what came of a cut range is. */
    if (status != 206)
      g_byte_array_set_size (transfer.body, before);
    if (!is_worth_a_try (code, status) || try == MAX_TRIES) {
      fail (self, code, status, &transfer, error);
      g_byte_array_unref (transfer.body);
      g_free (transfer.etag);
      return FALSE;
    }
    pause = MAX (pause, (guint64)transfer.retry_after * G_USEC_PER_SEC);
    for (guint64 waited = 0; waited < pause && !check_cancelled (&transfer, 0, 0, 0, 0);
         waited += 20000)
      g_usleep (20000);
    pause = MIN (2 * pause, LONGEST_PAUSE);
    /* Progress is no failure: a long range over a bad line may be cut many times. */
    if (transfer.body->len > before)
      try = 0;
  }
}
