/* SPDX-License-Identifier: MIT */
/* Requests and WebSocket frames against the server of pointcloudview, which runs beside.
 *
 * The first byte of an input is what comes: 'r' bytes as they are; 'p', 'f', 'o' a WebSocket of the
 * page's protocol, of Foxglove's and of its older one, opened as it should be, and then frames,
 * each of a line: four letters, and the payload as far as the end of the line. The letters are a
 * hex digit of the opcode; 'f' a whole message or '-' a part; 'm' masked or '-' not; 'l' a length
 * that is a lie, 's' sent in two pieces, or '-'. A line feed in a payload is byte 30. */
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fuzz.h"
#include "gst/view/view-encode.h"

/* Of a machine with other work; a connection takes a millisecond. */
#define PATIENCE (30 * G_TIME_SPAN_SECOND)
/* Inputs after which it is looked whether others are served. */
#define ROUND 64

static ViewServer *server;
static guint port;

static GBytes *
get_file (const gchar *path, const gchar **type, gpointer user_data)
{
  static const gchar page[] = "<!DOCTYPE html>";

  *type = "text/html";
  return g_str_equal (path, "/") ? g_bytes_new_static (page, sizeof page - 1) : NULL;
}

static void
greet (GPtrArray *messages, gpointer user_data)
{
  g_ptr_array_add (messages, view_message_new ("{}", 2, TRUE));
}

static void
receive (ViewServer *from, guint64 client, const gchar *text, gpointer user_data)
{
  g_assert_true (strlen (text) <= VIEW_MAX_RECEIVED && g_utf8_validate (text, -1, NULL));
  view_server_answer (from, client, FALSE, text);
}

static void
publish (ViewServer *from, guint64 client, const gchar *topic, const gchar *encoding,
    const guint8 *data, gsize size, gpointer user_data)
{
  guint sum = 0;

  for (gsize i = 0; i < size; i++)
    sum += data[i];
  view_server_answer (from, client, sum % 2, topic);
}

static void
stop (void)
{
  g_clear_pointer (&server, view_server_free);
}

/* What clients get of it, besides answers. */
static void
feed (void)
{
  float xyz[300] = {0};
  const double map[300] = {0};
  SceneScan scan = {.points = {.n = 100, .xyz = xyz}};
  GBytes *levels[VIEW_LEVELS];

  view_encode_scan (&scan, levels);
  view_server_set_frame (server, levels);
  view_server_set_latched (server, view_encode_map (map, 100));
  for (guint channel = 0; channel < 2; channel++)
    view_server_publish (server, channel, 1, map, sizeof map);
}

static void
start (void)
{
  const ViewServerConfig config = {.address = "127.0.0.1",
      .max_clients = 4,
      .get_file = get_file,
      .greet = greet,
      .receive = receive,
      .publish = publish};
  g_autoptr (GError) error = NULL;

  server = view_server_new (&config, &port, &error);
  g_assert_no_error (error);
  view_server_add_channel (server, "/points", "t", "uint8 a", FALSE);
  view_server_add_channel (server, "/map", "t", "uint8 a", TRUE);
  feed ();
  atexit (stop);
}

static GSocket *
open_socket (void)
{
  g_autoptr (GInetAddress) host = g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV4);
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new (host, (guint16)port);
  GSocket *to =
      g_socket_new (G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, NULL);
  /* Closed at once, so that ports do not wait for packets of connections that were. */
  const struct linger linger = {1, 0};

  g_assert_nonnull (to);
  setsockopt (g_socket_get_fd (to), SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
  g_socket_set_timeout (to, PATIENCE / G_TIME_SPAN_SECOND);
  g_assert_true (g_socket_connect (to, address, NULL, NULL));
  return to;
}

/* The server may have closed it. */
static gboolean
put (GSocket *to, gconstpointer data, gsize size)
{
  for (gsize sent = 0; sent < size;) {
    const gssize n = g_socket_send (to, (const gchar *)data + sent, size - sent, NULL, NULL);
    if (n <= 0)
      return FALSE;
    sent += (gsize)n;
  }
  return TRUE;
}

/* All that comes until the server closes, which it does where nothing more can come. */
static GString *
get_all (GSocket *from)
{
  GString *all = g_string_new (NULL);
  gchar buffer[4096];
  g_autoptr (GError) error = NULL;
  gssize n;

  shutdown (g_socket_get_fd (from), SHUT_WR);
  while ((n = g_socket_receive (from, buffer, sizeof buffer, NULL, &error)) > 0)
    if (all->len < 65536)
      g_string_append_len (all, buffer, n);
  /* A server that keeps a connection whose other end has closed collects them. */
  g_assert_false (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT));
  return all;
}

static gboolean
open_web_socket (GSocket *to, const gchar *protocol)
{
  g_autofree gchar *request =
      g_strdup_printf ("GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: websocket\r\n"
                       "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                       "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
          port, protocol);
  gchar buffer[512];

  /* Of more than may be at a time, it is refused; those before it are being closed. */
  return put (to, request, strlen (request)) &&
         g_socket_receive (to, buffer, sizeof buffer, NULL, NULL) > 12 &&
         memcmp (buffer, "HTTP/1.1 101", 12) == 0;
}

static gboolean
put_frame (GSocket *to, const gchar *line, gsize size)
{
  g_autoptr (GByteArray) frame = g_byte_array_new ();
  const gchar flags[4] = {size > 0 ? line[0] : '1', size > 1 ? line[1] : 'f',
      size > 2 ? line[2] : 'm', size > 3 ? line[3] : '-'};
  const gsize n = size > 4 ? size - 4 : 0;
  const guint said = (guint)n + (flags[3] == 'l' ? 40000 : 0);
  const guint8 mask[4] = {0x11, 0x22, 0x33, 0x44};
  guint8 head[4];

  head[0] = (guint8)((flags[1] == 'f' ? 0x80 : 0) | MAX (g_ascii_xdigit_value (flags[0]), 0));
  head[1] = flags[2] == 'm' ? 0x80 : 0;
  if (said < 126) {
    head[1] |= (guint8)said;
    g_byte_array_append (frame, head, 2);
  } else {
    head[1] |= 126;
    head[2] = (guint8)(said >> 8);
    head[3] = (guint8)said;
    g_byte_array_append (frame, head, 4);
  }
  if (flags[2] == 'm')
    g_byte_array_append (frame, mask, sizeof mask);
  for (gsize i = 0; i < n; i++) {
    const guint8 plain = line[4 + i] == 30 ? '\n' : (guint8)line[4 + i];
    const guint8 byte = (guint8)(plain ^ (flags[2] == 'm' ? mask[i % 4] : 0));
    g_byte_array_append (frame, &byte, 1);
  }
  const gsize first = flags[3] == 's' ? frame->len / 2 : 0;
  return put (to, frame->data, first) && put (to, frame->data + first, frame->len - first);
}

static void
put_frames (GSocket *to, const gchar *text, gsize size)
{
  while (size > 0) {
    const gchar *end = memchr (text, '\n', size);
    const gsize n = end ? (gsize)(end - text) : size;

    if (!put_frame (to, text, n))
      return;
    text += MIN (n + 1, size);
    size -= MIN (n + 1, size);
  }
}

/* Others are served, and nobody is left. */
static void
check_server (void)
{
  g_autoptr (GSocket) to = open_socket ();
  static const gchar request[] = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const gint64 end = g_get_monotonic_time () + PATIENCE;
  ViewServerStats stats;

  g_assert_true (put (to, request, strlen (request)));
  g_autoptr (GString) answer = get_all (to);
  g_assert_true (g_str_has_prefix (answer->str, "HTTP/1.1 200"));
  do {
    g_assert_cmpint (g_get_monotonic_time (), <, end);
    view_server_get_stats (server, &stats);
  } while (stats.clients > 0);
  feed ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const struct {
    gchar letter;
    const gchar *protocol;
  } kinds[] = {
      {'p', VIEW_PROTOCOL}, {'f', VIEW_FOXGLOVE_PROTOCOL}, {'o', VIEW_FOXGLOVE_OLD_PROTOCOL}};
  static guint n_inputs;
  const gchar *protocol = NULL;

  if (!server)
    start ();
  if (size == 0)
    return 0;
  g_autoptr (GSocket) to = open_socket ();
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (data[0] == (guint8)kinds[i].letter)
      protocol = kinds[i].protocol;
  if (!protocol)
    put (to, data + 1, size - 1);
  else if (open_web_socket (to, protocol))
    put_frames (to, (const gchar *)data + 1, size - 1);
  g_string_free (get_all (to), TRUE);
  if (++n_inputs % ROUND == 0)
    check_server ();
  return 0;
}
