/* SPDX-License-Identifier: MIT */
#include "view-server.h"

#include <gio/gio.h>
#include <string.h>

#include "view-server-private.h"

#define MAX_QUEUED 64
/* Bytes of a file that are written at a time. */
#define FILE_CHUNK 16384

typedef struct {
  GBytes *body;
  gsize offset;
} Request;

/* An answer on its way to a client's queue. */
typedef struct {
  guint64 client;
  gboolean accepted;
  gchar *text;
} Letter;

GBytes *
view_message_new (gconstpointer data, gsize size, gboolean is_text)
{
  guint8 *message = g_malloc0 (VIEW_MESSAGE_HEAD + size);

  message[0] = is_text ? 1 : 0;
  memcpy (message + VIEW_MESSAGE_HEAD, data, size);
  return g_bytes_new_take (message, VIEW_MESSAGE_HEAD + size);
}

/* Clients */

void
view_client_open (ViewServer *server, ViewClient *client, struct lws *wsi)
{
  client->wsi = wsi;
  client->received = g_string_new (NULL);
  g_queue_init (&client->queue);
  g_mutex_lock (&server->lock);
  client->id = ++server->last_id;
  g_hash_table_insert (server->clients, &client->id, client);
  server->stats.clients = g_hash_table_size (server->clients);
  g_mutex_unlock (&server->lock);
  lws_callback_on_writable (wsi);
}

void
view_client_close (ViewServer *server, ViewClient *client)
{
  if (!client->received)
    return;
  g_mutex_lock (&server->lock);
  g_hash_table_remove (server->clients, &client->id);
  server->stats.clients = g_hash_table_size (server->clients);
  g_mutex_unlock (&server->lock);
  g_queue_clear_full (&client->queue, (GDestroyNotify)g_bytes_unref);
  g_string_free (client->received, TRUE);
  client->received = NULL;
}

void
view_client_queue (ViewClient *client, GBytes *message)
{
  g_queue_push_tail (&client->queue, message);
  if (client->queue.length > MAX_QUEUED)
    g_bytes_unref (g_queue_pop_head (&client->queue));
}

gboolean
view_client_write (ViewServer *server, ViewClient *client, GBytes *message)
{
  gsize size;
  guint8 *data = (guint8 *)(gpointer)g_bytes_get_data (message, &size);
  const int written = lws_write (client->wsi, data + VIEW_MESSAGE_HEAD, size - VIEW_MESSAGE_HEAD,
      data[0] ? LWS_WRITE_TEXT : LWS_WRITE_BINARY);

  g_mutex_lock (&server->lock);
  server->stats.bytes += size - VIEW_MESSAGE_HEAD;
  g_mutex_unlock (&server->lock);
  return written >= 0;
}

gboolean
view_client_receive (ViewClient *client, const gchar *data, gsize size, gboolean *is_whole)
{
  if (client->received->len + size > VIEW_MAX_RECEIVED)
    return FALSE;
  g_string_append_len (client->received, data, (gssize)size);
  *is_whole =
      lws_is_final_fragment (client->wsi) && lws_remaining_packet_payload (client->wsi) == 0;
  return TRUE;
}

/* Who may connect */

static gboolean
get_header (struct lws *wsi, enum lws_token_indexes token, gchar *value, gsize size)
{
  value[0] = '\0';
  return lws_hdr_total_length (wsi, token) > 0 && lws_hdr_copy (wsi, value, (int)size, token) > 0;
}

/* A name without its port. */
static gchar *
host_of (const gchar *host_and_port)
{
  const gchar *end = host_and_port[0] == '[' ? strchr (host_and_port, ']') : NULL;

  if (end)
    return g_strndup (host_and_port + 1, (gsize)(end - host_and_port - 1));
  end = strrchr (host_and_port, ':');
  return end ? g_strndup (host_and_port, (gsize)(end - host_and_port)) : g_strdup (host_and_port);
}

static gboolean
is_loopback (const gchar *host)
{
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (host);

  return g_ascii_strcasecmp (host, "localhost") == 0 ||
         (address && g_inet_address_get_is_loopback (address));
}

/* A server for this machine alone answers to its names alone: a foreign name that leads here
 * ("DNS rebinding") is a foreign page's. */
static gboolean
host_is_ours (const ViewServer *server, struct lws *wsi)
{
  gchar host[256];

  if (!is_loopback (server->address))
    return TRUE;
  if (!get_header (wsi, WSI_TOKEN_HOST, host, sizeof host))
    return FALSE;
  g_autofree gchar *name = host_of (host);
  return is_loopback (name);
}

/* Programs send no Origin; browsers always do, and it cannot be forged by a page. */
static gboolean
origin_is_allowed (const ViewServer *server, struct lws *wsi)
{
  gchar origin[256], host[256];

  if (lws_hdr_total_length (wsi, WSI_TOKEN_ORIGIN) == 0)
    return TRUE;
  if (!get_header (wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin))
    return FALSE;
  if (server->origins && g_strv_contains ((const gchar *const *)server->origins, origin))
    return TRUE;
  return get_header (wsi, WSI_TOKEN_HOST, host, sizeof host) &&
         g_str_has_prefix (origin, "http://") &&
         g_ascii_strcasecmp (origin + strlen ("http://"), host) == 0;
}

static gboolean
token_is_right (const ViewServer *server, struct lws *wsi)
{
  gchar value[256];
  guint differences = 0;

  if (!server->token)
    return TRUE;
  const char *given = lws_get_urlarg_by_name (wsi, "token=", value, sizeof value);
  if (!given || strlen (given) != strlen (server->token))
    return FALSE;
  /* In a time that does not tell how much of it was right. */
  for (gsize i = 0; server->token[i]; i++)
    differences |= (guint)(given[i] ^ server->token[i]);
  return differences == 0;
}

gboolean
view_server_admits (ViewServer *server, struct lws *wsi)
{
  if (host_is_ours (server, wsi) && origin_is_allowed (server, wsi) && token_is_right (server, wsi))
    return TRUE;
  g_mutex_lock (&server->lock);
  server->stats.refused++;
  g_mutex_unlock (&server->lock);
  return FALSE;
}

gboolean
view_server_has_room (ViewServer *server)
{
  gboolean has;

  g_mutex_lock (&server->lock);
  has = g_hash_table_size (server->clients) < server->max_clients;
  if (!has)
    server->stats.refused++;
  g_mutex_unlock (&server->lock);
  return has;
}

/* Files */

/* Ends the request, and the connection where its other end asked for that: one that had closed
 * already would otherwise be polled without rest until a timeout. */
static int
refuse_file (struct lws *wsi, guint status)
{
  return lws_return_http_status (wsi, status, NULL) || lws_http_transaction_completed (wsi) ? -1
                                                                                            : 0;
}

static int
begin_file (ViewServer *server, struct lws *wsi, Request *request, const gchar *path)
{
  guint8 buffer[LWS_PRE + 1024], *start = buffer + LWS_PRE, *p = start,
                                 *end = buffer + sizeof buffer - 1;
  const gchar *type = "";
  static const gchar policy[] =
      "default-src 'self'; connect-src 'self' ws: wss:; style-src 'self' 'unsafe-inline'";

  if (!view_server_admits (server, wsi))
    return refuse_file (wsi, HTTP_STATUS_FORBIDDEN);
  g_clear_pointer (&request->body, g_bytes_unref);
  request->body = server->config.get_file (path, &type, server->config.user_data);
  request->offset = 0;
  if (!request->body)
    return refuse_file (wsi, HTTP_STATUS_NOT_FOUND);
  if (lws_add_http_common_headers (
          wsi, HTTP_STATUS_OK, type, g_bytes_get_size (request->body), &p, end) ||
      lws_add_http_header_by_name (wsi, (const guint8 *)"content-security-policy:",
          (const guint8 *)policy, (int)strlen (policy), &p, end) ||
      lws_add_http_header_by_name (
          wsi, (const guint8 *)"cache-control:", (const guint8 *)"no-store", 8, &p, end) ||
      lws_finalize_write_http_header (wsi, start, &p, end))
    return -1;
  lws_callback_on_writable (wsi);
  return 0;
}

static int
continue_file (struct lws *wsi, Request *request)
{
  guint8 buffer[LWS_PRE + FILE_CHUNK];
  gsize size;

  if (!request->body)
    return 0;
  const guint8 *data = g_bytes_get_data (request->body, &size);
  const gsize n = MIN (size - request->offset, (gsize)FILE_CHUNK);
  const gboolean is_last = request->offset + n == size;
  memcpy (buffer + LWS_PRE, data + request->offset, n);
  if (lws_write (wsi, buffer + LWS_PRE, n, is_last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0)
    return -1;
  request->offset += n;
  if (!is_last) {
    lws_callback_on_writable (wsi);
    return 0;
  }
  g_clear_pointer (&request->body, g_bytes_unref);
  return lws_http_transaction_completed (wsi) ? -1 : 0;
}

static void
free_letter (Letter *letter)
{
  g_free (letter->text);
  g_free (letter);
}

/* Answers into the queues of those that they are for, in the server's thread. */
static void
deliver (ViewServer *server)
{
  GQueue letters;
  Letter *letter;

  g_mutex_lock (&server->lock);
  letters = server->inbox;
  g_queue_init (&server->inbox);
  g_mutex_unlock (&server->lock);
  while ((letter = g_queue_pop_head (&letters))) {
    ViewClient *client = g_hash_table_lookup (server->clients, &letter->client);
    if (client)
      view_client_queue (client, client->answer (letter->accepted, letter->text));
    free_letter (letter);
  }
}

static int
handle_http (struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size)
{
  ViewServer *server = lws_context_user (lws_get_context (wsi));
  Request *request = user;

  switch (reason) {
  case LWS_CALLBACK_HTTP:
    return begin_file (server, wsi, request, in);
  case LWS_CALLBACK_HTTP_WRITEABLE:
    return continue_file (wsi, request);
  case LWS_CALLBACK_CLOSED_HTTP:
    if (request)
      g_clear_pointer (&request->body, g_bytes_unref);
    return 0;
  case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
    deliver (server);
    return 0;
  /* A WebSocket that names no protocol. */
  case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
    return -1;
  default:
    return lws_callback_http_dummy (wsi, reason, user, in, size);
  }
}

static void
free_channel (gpointer data)
{
  ViewChannel *channel = data;

  g_free (channel->topic);
  g_free (channel->type);
  g_free (channel->schema);
  g_clear_pointer (&channel->payload, g_bytes_unref);
  g_free (channel);
}

static gpointer
serve (gpointer data)
{
  ViewServer *server = data;

  while (!g_atomic_int_get (&server->stopping) && lws_service (server->context, 0) >= 0)
    ;
  return NULL;
}

ViewServer *
view_server_new (const ViewServerConfig *config, guint *port, GError **error)
{
  ViewServer *server = g_new0 (ViewServer, 1);
  struct lws_context_creation_info info;
  /* libwebsockets copies none of it: one for the process. */
  static struct lws_protocols protocols[] = {
      {"http", handle_http, sizeof (Request), 0, 0, NULL, 0},
      {VIEW_PROTOCOL, view_page_handle, 0, 4096, 0, NULL, 0},
      {VIEW_FOXGLOVE_PROTOCOL, view_foxglove_handle, 0, 4096, 0, NULL, 0},
      {VIEW_FOXGLOVE_OLD_PROTOCOL, view_foxglove_handle, 0, 4096, 0, NULL, 0},
      {NULL, NULL, 0, 0, 0, NULL, 0},
  };

  protocols[1].per_session_data_size = view_page_client_size ();
  protocols[2].per_session_data_size = view_foxglove_client_size ();
  protocols[3].per_session_data_size = view_foxglove_client_size ();
  g_mutex_init (&server->lock);
  server->config = *config;
  g_queue_init (&server->inbox);
  server->address = g_strdup (config->address);
  server->token = g_strdup (config->token);
  server->origins = g_strdupv ((gchar **)config->origins);
  server->max_clients = config->max_clients;
  server->clients = g_hash_table_new (g_int64_hash, g_int64_equal);
  server->channels = g_ptr_array_new_with_free_func (free_channel);

  lws_set_log_level (0, NULL);
  memset (&info, 0, sizeof info);
  info.port = (int)config->port;
  info.iface = server->address;
  info.protocols = protocols;
  info.user = server;
  info.gid = info.uid = -1;
  info.timeout_secs = 10;
  /* No name of a server in its answers; a request that is not HTTP ends the connection. */
  info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
  server->context = lws_create_context (&info);
  if (server->context)
    server->vhost = lws_create_vhost (server->context, &info);
  const int bound = server->vhost ? lws_get_vhost_listen_port (server->vhost) : -1;
  if (bound <= 0) {
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE,
        "cannot listen on %s, port %u: it is in use, not of this machine, or not allowed",
        config->address, config->port);
    view_server_free (server);
    return NULL;
  }
  *port = (guint)bound;
  server->thread = g_thread_new ("view-server", serve, server);
  return server;
}

void
view_server_free (ViewServer *server)
{
  if (!server)
    return;
  g_atomic_int_set (&server->stopping, TRUE);
  if (server->thread) {
    lws_cancel_service (server->context);
    g_thread_join (server->thread);
  }
  if (server->context)
    lws_context_destroy (server->context);
  for (guint i = 0; i < VIEW_LEVELS; i++)
    g_clear_pointer (&server->frame[i], g_bytes_unref);
  g_clear_pointer (&server->latched, g_ptr_array_unref);
  g_queue_clear_full (&server->inbox, (GDestroyNotify)free_letter);
  g_hash_table_unref (server->clients);
  g_ptr_array_unref (server->channels);
  g_free (server->address);
  g_free (server->token);
  g_strfreev (server->origins);
  g_mutex_clear (&server->lock);
  g_free (server);
}

void
view_server_set_frame (ViewServer *server, GBytes *levels[VIEW_LEVELS])
{
  GBytes *before[VIEW_LEVELS];

  g_mutex_lock (&server->lock);
  memcpy (before, server->frame, sizeof before);
  memcpy (server->frame, levels, sizeof server->frame);
  server->n_frames++;
  g_mutex_unlock (&server->lock);
  for (guint i = 0; i < VIEW_LEVELS; i++)
    g_clear_pointer (&before[i], g_bytes_unref);
  lws_cancel_service (server->context);
}

void
view_server_set_latched (ViewServer *server, GPtrArray *messages)
{
  GPtrArray *before;

  g_mutex_lock (&server->lock);
  before = server->latched;
  server->latched = messages;
  server->generation++;
  g_mutex_unlock (&server->lock);
  g_clear_pointer (&before, g_ptr_array_unref);
  lws_cancel_service (server->context);
}

void
view_server_answer (ViewServer *server, guint64 client, gboolean accepted, const gchar *text)
{
  Letter *letter = g_new (Letter, 1);
  Letter *oldest = NULL;

  letter->client = client;
  letter->accepted = accepted;
  letter->text = g_strdup (text);
  g_mutex_lock (&server->lock);
  g_queue_push_tail (&server->inbox, letter);
  if (server->inbox.length > MAX_QUEUED)
    oldest = g_queue_pop_head (&server->inbox);
  g_mutex_unlock (&server->lock);
  g_clear_pointer (&oldest, free_letter);
  lws_cancel_service (server->context);
}

guint
view_server_add_channel (ViewServer *server, const gchar *topic, const gchar *type,
    const gchar *schema, gboolean is_latched)
{
  ViewChannel *channel = g_new0 (ViewChannel, 1);
  guint number;

  channel->topic = g_strdup (topic);
  channel->type = g_strdup (type);
  channel->schema = g_strdup (schema);
  channel->is_latched = is_latched;
  g_mutex_lock (&server->lock);
  number = server->channels->len;
  g_ptr_array_add (server->channels, channel);
  g_mutex_unlock (&server->lock);
  lws_cancel_service (server->context);
  return number;
}

gboolean
view_server_wants (ViewServer *server, guint channel)
{
  gboolean wants;

  g_mutex_lock (&server->lock);
  const ViewChannel *wanted = g_ptr_array_index (server->channels, channel);
  wants = wanted->is_latched || wanted->n_subscriptions > 0;
  g_mutex_unlock (&server->lock);
  return wants;
}

void
view_server_publish (
    ViewServer *server, guint channel, guint64 time, gconstpointer data, gsize size)
{
  GBytes *payload = g_bytes_new (data, size);

  g_mutex_lock (&server->lock);
  ViewChannel *to = g_ptr_array_index (server->channels, channel);
  GBytes *before = to->payload;
  to->payload = payload;
  to->time = time;
  to->sequence++;
  g_mutex_unlock (&server->lock);
  g_clear_pointer (&before, g_bytes_unref);
  lws_cancel_service (server->context);
}

void
view_server_get_stats (ViewServer *server, ViewServerStats *stats)
{
  g_mutex_lock (&server->lock);
  *stats = server->stats;
  g_mutex_unlock (&server->lock);
}
