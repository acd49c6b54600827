/* SPDX-License-Identifier: MIT */
/* What the server and its two protocols share. */
#pragma once

#include <libwebsockets.h>

#include "view-server.h"

G_BEGIN_DECLS

/* Messages: a byte that says whether it is text, LWS_PRE bytes of room that libwebsockets writes
 * its header into, and the body. Only the server's thread writes into the room. */
#define VIEW_MESSAGE_HEAD (LWS_PRE + 1)

typedef struct _ViewClient ViewClient;

/**
 * ViewClient:
 * @wsi: its connection
 * @id: unique in the server
 * @queue: of GBytes, messages that are sent before anything else
 * @received: of a message that is not yet whole
 * @answer: makes a message of an answer, in the words of its protocol
 *
 * First member of what a protocol keeps of a connection. Of the server's thread.
 */
struct _ViewClient {
  struct lws *wsi;
  guint64 id;
  GQueue queue;
  GString *received;
  GBytes *(*answer) (gboolean accepted, const gchar *text);
};

/* A stream of messages of Foxglove's protocol; under the server's lock but for what never changes:
 * @topic to @is_latched. */
typedef struct {
  gchar *topic;
  gchar *type;
  gchar *schema;
  gboolean is_latched;
  guint n_subscriptions;
  guint64 sequence; /* of the newest message, 0: none */
  guint64 time;
  GBytes *payload;
} ViewChannel;

struct _ViewServer {
  struct lws_context *context;
  struct lws_vhost *vhost;
  GThread *thread;
  gint stopping; /* atomic */

  gchar *address;
  gchar *token;
  gchar **origins;
  guint max_clients;
  ViewServerConfig config;

  GMutex lock; /* of what follows */
  GBytes *frame[VIEW_LEVELS];
  guint64 n_frames;
  GPtrArray *latched;
  guint64 generation; /* of @latched */
  GPtrArray *channels;
  GQueue inbox;        /* of answers on their way */
  GHashTable *clients; /* id to ViewClient; both are the server's thread's */
  guint64 last_id;
  ViewServerStats stats;
};

/* Whether who asks may connect; counted where not. */
gboolean view_server_admits (ViewServer *server, struct lws *wsi);
/* The same for a WebSocket, of which there may be too many. */
gboolean view_server_has_room (ViewServer *server);
void view_client_open (ViewServer *server, ViewClient *client, struct lws *wsi);
void view_client_close (ViewServer *server, ViewClient *client);
/* Of more than 64 messages that wait the oldest is dropped. Takes the reference. */
void view_client_queue (ViewClient *client, GBytes *message);
/* FALSE: the connection is broken. */
gboolean view_client_write (ViewServer *server, ViewClient *client, GBytes *message);
/* Appends a part of a message. FALSE: it is too large. @is_whole: it is all there. */
gboolean view_client_receive (
    ViewClient *client, const gchar *data, gsize size, gboolean *is_whole);

/* The protocols. */
int view_page_handle (
    struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size);
gsize view_page_client_size (void);
int view_foxglove_handle (
    struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size);
gsize view_foxglove_client_size (void);

G_END_DECLS
