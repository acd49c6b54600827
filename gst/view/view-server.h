/* SPDX-License-Identifier: MIT */
/* A server of one page and its WebSocket, and of Foxglove's WebSocket protocol, on libwebsockets.
 * Knows nothing of GStreamer nor of what its messages mean. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Versions of a frame with fewer and fewer points, for clients that take long. */
#define VIEW_LEVELS 3
/* The WebSocket protocol of the page, and Foxglove's newer and older. */
#define VIEW_PROTOCOL "ndt.view.v1"
#define VIEW_FOXGLOVE_PROTOCOL "foxglove.sdk.v1"
#define VIEW_FOXGLOVE_OLD_PROTOCOL "foxglove.websocket.v1"

typedef struct _ViewServer ViewServer;

/**
 * ViewServerConfig:
 * @address: to bind to, "127.0.0.1" or "::1" for this machine alone
 * @port: 0: any that is free
 * @max_clients: WebSockets at a time; more are refused
 * @token: (nullable): who asks for a page or a WebSocket has to bring it as "?token=…"
 * @origins: (nullable) (array zero-terminated=1): web pages, such as "https://example.org", whose
 *   scripts may connect besides those of the server's own page
 * @get_file: what is served under a path ("/", "/view.js"): sets its type and returns it, or
 *   returns NULL. Called by the server's thread
 * @greet: messages that a client gets when it connects, in order: GBytes made by
 *   view_message_new(). Called by the server's thread
 * @receive: a text message of a client, at most VIEW_MAX_RECEIVED bytes. Called by the server's
 *   thread
 * @publish: a message of a client of Foxglove's protocol on a topic of its own
 * @user_data: for these
 *
 * What view_server_new() takes. Strings are copied.
 */
typedef struct {
  const gchar *address;
  guint port;
  guint max_clients;
  const gchar *token;
  const gchar *const *origins;
  GBytes *(*get_file) (const gchar *path, const gchar **type, gpointer user_data);
  void (*greet) (GPtrArray *messages, gpointer user_data);
  void (*receive) (ViewServer *server, guint64 client, const gchar *text, gpointer user_data);
  void (*publish) (ViewServer *server, guint64 client, const gchar *topic, const gchar *encoding,
      const guint8 *data, gsize size, gpointer user_data);
  gpointer user_data;
} ViewServerConfig;

/* Larger messages of clients close their connection. */
#define VIEW_MAX_RECEIVED 65536

/**
 * ViewServerStats:
 * @clients: connected
 * @refused: connections and requests refused so far: foreign origin or host, no token, too many
 * @frames: sent to clients
 * @skipped: frames that a client did not get, since it had not yet acknowledged others
 * @bytes: sent to clients
 */
typedef struct {
  guint clients;
  guint64 refused;
  guint64 frames;
  guint64 skipped;
  guint64 bytes;
} ViewServerStats;

/* A message: its bytes are what the client gets, text where @is_text. */
GBytes *view_message_new (gconstpointer data, gsize size, gboolean is_text);

/* Listens; @port gets the port. NULL with G_IO_ERROR where it cannot. */
ViewServer *view_server_new (const ViewServerConfig *config, guint *port, GError **error);
/* Closes all connections, and waits for the server's thread. */
void view_server_free (ViewServer *server);

/* The newest frame takes the place of one that was not sent yet. Takes the references; @levels from
 * full to coarse. Never waits for a client. */
void view_server_set_frame (ViewServer *server, GBytes *levels[VIEW_LEVELS]);
/* Messages that every client gets once, those that connect later too, until they are replaced.
 * Takes the array, of messages. */
void view_server_set_latched (ViewServer *server, GPtrArray *messages);
/* Answers a client: a request was @accepted, or why it was not. Never waits. */
void view_server_answer (ViewServer *server, guint64 client, gboolean accepted, const gchar *text);
/* A stream of messages for clients of Foxglove's protocol: CDR of a ROS 2 @type with its @schema
 * ("ros2msg"). Of one that @is_latched the newest message is sent to who subscribes later. To be
 * called before others can connect, or at any time: who is connected is told. Returns its number.
 */
guint view_server_add_channel (ViewServer *server, const gchar *topic, const gchar *type,
    const gchar *schema, gboolean is_latched);
/* Whether it is worth making a message: somebody has subscribed, or will get it later. */
gboolean view_server_wants (ViewServer *server, guint channel);
/* The newest takes the place of one that was not sent yet. @time: ns. Never waits for a client. */
void view_server_publish (
    ViewServer *server, guint channel, guint64 time, gconstpointer data, gsize size);
void view_server_get_stats (ViewServer *server, ViewServerStats *stats);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (ViewServer, view_server_free)

G_END_DECLS
