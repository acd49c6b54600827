/* SPDX-License-Identifier: MIT */
/* Foxglove's WebSocket protocol, versions foxglove.sdk.v1 and foxglove.websocket.v1, as the types
 * of github.com/foxglove/ws-protocol and foxglove-sdk's server have it: texts are JSON objects with
 * "op"; a message is 1, the subscription's number (4 bytes), a time in ns (8) and its bytes; one of
 * a client 1, its channel's number (4) and its bytes. */
#include <json-glib/json-glib.h>
#include <string.h>
#include <sys/socket.h>

#include "view-request.h"
#include "view-server-private.h"

enum { OP_MESSAGE = 1 };
/* More topics of one client, or subscriptions, are refused: it has a few. */
#define MAX_TOPICS 64
/* What a slow client may have on its way besides one message: it is behind by no more. */
#define SEND_BUFFER (256 * 1024)

typedef struct {
  guint32 id;
  guint channel;
  guint64 sent; /* the channel's sequence */
} Subscription;

typedef struct {
  guint32 id;
  gchar *topic;
  gchar *encoding;
} Topic;

typedef struct {
  ViewClient client;
  GArray *subscriptions; /* of Subscription */
  guint next;            /* which is looked at first */
  GArray *topics;        /* of Topic: what the client publishes */
  guint n_advertised;    /* channels that it has been told of */
} Foxglove;

gsize
view_foxglove_client_size (void)
{
  return sizeof (Foxglove);
}

static void
clear_topic (gpointer data)
{
  Topic *topic = data;

  g_free (topic->topic);
  g_free (topic->encoding);
}

/* Texts to the client */

static void
add_member (JsonBuilder *builder, const gchar *name, const gchar *value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_string_value (builder, value);
}

static void
add_list (JsonBuilder *builder, const gchar *name, const gchar *value)
{
  json_builder_set_member_name (builder, name);
  json_builder_begin_array (builder);
  json_builder_add_string_value (builder, value);
  json_builder_end_array (builder);
}

static JsonBuilder *
begin_text (const gchar *op)
{
  JsonBuilder *builder = json_builder_new ();

  json_builder_begin_object (builder);
  add_member (builder, "op", op);
  return builder;
}

static GBytes *
end_text (JsonBuilder *builder)
{
  json_builder_end_object (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  g_autofree gchar *text = json_to_string (root, FALSE);
  g_object_unref (builder);
  return view_message_new (text, strlen (text), TRUE);
}

static GBytes *
answer (gboolean accepted, const gchar *text)
{
  JsonBuilder *builder = begin_text ("status");

  json_builder_set_member_name (builder, "level");
  json_builder_add_int_value (builder, accepted ? 0 : 2);
  add_member (builder, "message", accepted ? "The pose is used." : text);
  return end_text (builder);
}

static GBytes *
server_info (void)
{
  JsonBuilder *builder = begin_text ("serverInfo");

  add_member (builder, "name", "gst-ndt pointcloudview");
  add_list (builder, "capabilities", "clientPublish");
  add_list (builder, "supportedEncodings", "cdr");
  return end_text (builder);
}

/* Channels that the client does not know yet. */
static void
advertise (ViewServer *server, Foxglove *foxglove)
{
  JsonBuilder *builder;

  g_mutex_lock (&server->lock);
  const guint first = foxglove->n_advertised, n = server->channels->len;
  if (first == n) {
    g_mutex_unlock (&server->lock);
    return;
  }
  builder = begin_text ("advertise");
  json_builder_set_member_name (builder, "channels");
  json_builder_begin_array (builder);
  for (guint i = first; i < n; i++) {
    const ViewChannel *channel = g_ptr_array_index (server->channels, i);
    json_builder_begin_object (builder);
    json_builder_set_member_name (builder, "id");
    json_builder_add_int_value (builder, i + 1);
    add_member (builder, "topic", channel->topic);
    add_member (builder, "encoding", "cdr");
    add_member (builder, "schemaName", channel->type);
    add_member (builder, "schemaEncoding", "ros2msg");
    add_member (builder, "schema", channel->schema);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
  foxglove->n_advertised = n;
  g_mutex_unlock (&server->lock);
  view_client_queue (&foxglove->client, end_text (builder));
}

/* Messages to the client */

/* The newest message of the next subscription that has one, as it is sent; NULL: none. */
static GBytes *
next_message (ViewServer *server, Foxglove *foxglove)
{
  GBytes *payload = NULL;
  guint8 head[13] = {OP_MESSAGE};

  g_mutex_lock (&server->lock);
  for (guint i = 0; i < foxglove->subscriptions->len && !payload; i++) {
    const guint index = (foxglove->next + i) % foxglove->subscriptions->len;
    Subscription *subscription = &g_array_index (foxglove->subscriptions, Subscription, index);
    const ViewChannel *channel = g_ptr_array_index (server->channels, subscription->channel);
    if (subscription->sent >= channel->sequence)
      continue;
    const guint32 id = GUINT32_TO_LE (subscription->id);
    const guint64 time = GUINT64_TO_LE (channel->time);
    memcpy (head + 1, &id, sizeof id);
    memcpy (head + 5, &time, sizeof time);
    payload = g_bytes_ref (channel->payload);
    server->stats.frames++;
    server->stats.skipped += channel->sequence - subscription->sent - 1;
    subscription->sent = channel->sequence;
    foxglove->next = index + 1;
  }
  g_mutex_unlock (&server->lock);
  if (!payload)
    return NULL;

  gsize size;
  const guint8 *data = g_bytes_get_data (payload, &size);
  g_autofree guint8 *message = g_malloc (sizeof head + size);
  memcpy (message, head, sizeof head);
  memcpy (message + sizeof head, data, size);
  g_bytes_unref (payload);
  return view_message_new (message, sizeof head + size, FALSE);
}

static gboolean
send_next (ViewServer *server, Foxglove *foxglove)
{
  g_autoptr (GBytes) message = NULL;

  advertise (server, foxglove);
  message = g_queue_pop_head (&foxglove->client.queue);
  if (!message)
    message = next_message (server, foxglove);
  if (!message)
    return TRUE;
  lws_callback_on_writable (foxglove->client.wsi);
  return view_client_write (server, &foxglove->client, message);
}

/* Texts of the client */

static gboolean
get_number (JsonObject *object, const gchar *name, guint32 *number)
{
  JsonNode *node = json_object_get_member (object, name);

  if (!node || !JSON_NODE_HOLDS_VALUE (node))
    return FALSE;
  const gint64 value = json_node_get_int (node);
  *number = (guint32)value;
  return value >= 0 && value <= G_MAXUINT32;
}

static const gchar *
get_string (JsonObject *object, const gchar *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING
             ? json_node_get_string (node)
             : NULL;
}

/* Of the newest message a later subscriber gets one that is latched; of others the next. */
static const gchar *
subscribe (ViewServer *server, Foxglove *foxglove, JsonObject *object)
{
  Subscription subscription = {0};
  guint32 channel;

  if (!get_number (object, "id", &subscription.id) || !get_number (object, "channelId", &channel))
    return "a subscription has an id and a channelId";
  if (foxglove->subscriptions->len >= MAX_TOPICS)
    return "there are too many subscriptions";
  for (guint i = 0; i < foxglove->subscriptions->len; i++)
    if (g_array_index (foxglove->subscriptions, Subscription, i).id == subscription.id)
      return "the subscription's id is in use";
  g_mutex_lock (&server->lock);
  const gboolean is_known = channel >= 1 && channel <= server->channels->len;
  if (is_known) {
    ViewChannel *to = g_ptr_array_index (server->channels, channel - 1);
    subscription.channel = channel - 1;
    subscription.sent = to->is_latched && to->sequence > 0 ? to->sequence - 1 : to->sequence;
    to->n_subscriptions++;
  }
  g_mutex_unlock (&server->lock);
  if (!is_known)
    return "there is no such channel";
  g_array_append_val (foxglove->subscriptions, subscription);
  return NULL;
}

static void
unsubscribe (ViewServer *server, Foxglove *foxglove, guint index)
{
  g_mutex_lock (&server->lock);
  const guint channel = g_array_index (foxglove->subscriptions, Subscription, index).channel;
  ((ViewChannel *)g_ptr_array_index (server->channels, channel))->n_subscriptions--;
  g_mutex_unlock (&server->lock);
  g_array_remove_index (foxglove->subscriptions, index);
}

static const gchar *
add_topic (Foxglove *foxglove, JsonObject *object)
{
  const gchar *name = get_string (object, "topic"), *encoding = get_string (object, "encoding");
  Topic topic;

  if (!get_number (object, "id", &topic.id) || !name || !encoding)
    return "a channel has an id, a topic and an encoding";
  if (foxglove->topics->len >= MAX_TOPICS)
    return "there are too many channels";
  topic.topic = g_strdup (name);
  topic.encoding = g_strdup (encoding);
  g_array_append_val (foxglove->topics, topic);
  return NULL;
}

static const gchar *
handle_objects (ViewServer *server, Foxglove *foxglove, JsonArray *array, gboolean is_subscribe)
{
  const gchar *refusal = NULL;

  for (guint i = 0; i < json_array_get_length (array) && !refusal; i++) {
    JsonNode *node = json_array_get_element (array, i);
    if (!JSON_NODE_HOLDS_OBJECT (node))
      return "objects are expected in the list";
    JsonObject *object = json_node_get_object (node);
    refusal = is_subscribe ? subscribe (server, foxglove, object) : add_topic (foxglove, object);
  }
  return refusal;
}

static const gchar *
remove_numbers (ViewServer *server, Foxglove *foxglove, JsonArray *array, gboolean is_subscription)
{
  for (guint i = 0; i < json_array_get_length (array); i++) {
    JsonNode *node = json_array_get_element (array, i);
    if (!JSON_NODE_HOLDS_VALUE (node))
      return "numbers are expected in the list";
    const gint64 id = json_node_get_int (node);
    for (guint k = 0; is_subscription && k < foxglove->subscriptions->len; k++)
      if (g_array_index (foxglove->subscriptions, Subscription, k).id == id)
        unsubscribe (server, foxglove, k--);
    for (guint k = 0; !is_subscription && k < foxglove->topics->len; k++)
      if (g_array_index (foxglove->topics, Topic, k).id == id)
        g_array_remove_index (foxglove->topics, k--);
  }
  return NULL;
}

/* NULL: done; else why not. */
static const gchar *
handle_text (ViewServer *server, Foxglove *foxglove, const gchar *text)
{
  static const struct {
    const gchar *op, *list;
    gboolean is_objects, is_subscription;
  } operations[] = {
      {"subscribe", "subscriptions", TRUE, TRUE},
      {"unsubscribe", "subscriptionIds", FALSE, TRUE},
      {"advertise", "channels", TRUE, FALSE},
      {"unadvertise", "channelIds", FALSE, FALSE},
  };
  g_autoptr (JsonParser) parser = view_request_parse_object (text);

  if (!parser)
    return "this is no JSON object";
  JsonObject *object = json_node_get_object (json_parser_get_root (parser));
  const gchar *op = get_string (object, "op");
  for (guint i = 0; op && i < G_N_ELEMENTS (operations); i++) {
    if (!g_str_equal (op, operations[i].op))
      continue;
    JsonNode *list = json_object_get_member (object, operations[i].list);
    if (!list || !JSON_NODE_HOLDS_ARRAY (list))
      return "the operation's list is missing";
    return operations[i].is_objects ? handle_objects (server, foxglove, json_node_get_array (list),
                                          operations[i].is_subscription)
                                    : remove_numbers (server, foxglove, json_node_get_array (list),
                                          operations[i].is_subscription);
  }
  return "this server publishes, and takes /initialpose; it has no such operation";
}

static const gchar *
handle_binary (ViewServer *server, Foxglove *foxglove, const guint8 *data, gsize size)
{
  guint32 id;

  if (size < 5 || data[0] != OP_MESSAGE)
    return "this binary message is none that is known";
  memcpy (&id, data + 1, sizeof id);
  id = GUINT32_FROM_LE (id);
  for (guint i = 0; i < foxglove->topics->len; i++) {
    const Topic *topic = &g_array_index (foxglove->topics, Topic, i);
    if (topic->id != id)
      continue;
    server->config.publish (server, foxglove->client.id, topic->topic, topic->encoding, data + 5,
        size - 5, server->config.user_data);
    return NULL;
  }
  return "the message's channel was not advertised";
}

/* FALSE: the connection is to be closed. */
static gboolean
receive (ViewServer *server, Foxglove *foxglove, const gchar *data, gsize size)
{
  GString *all = foxglove->client.received;
  const gboolean is_binary = lws_frame_is_binary (foxglove->client.wsi);
  const gchar *refusal;
  gboolean is_whole;

  if (!view_client_receive (&foxglove->client, data, size, &is_whole))
    return FALSE;
  if (!is_whole)
    return TRUE;
  if (is_binary)
    refusal = handle_binary (server, foxglove, (const guint8 *)all->str, all->len);
  else if (strlen (all->str) != all->len || !g_utf8_validate (all->str, -1, NULL))
    return FALSE;
  else
    refusal = handle_text (server, foxglove, all->str);
  if (refusal)
    view_client_queue (&foxglove->client, answer (FALSE, refusal));
  g_string_truncate (all, 0);
  lws_callback_on_writable (foxglove->client.wsi);
  return TRUE;
}

static void
open_client (ViewServer *server, Foxglove *foxglove, struct lws *wsi)
{
  const int size = SEND_BUFFER;

  memset (foxglove, 0, sizeof *foxglove);
  foxglove->client.answer = answer;
  foxglove->subscriptions = g_array_new (FALSE, FALSE, sizeof (Subscription));
  foxglove->topics = g_array_new (FALSE, FALSE, sizeof (Topic));
  g_array_set_clear_func (foxglove->topics, clear_topic);
  /* Clients do not acknowledge what they get: what waits is what the system takes. A system that
   * takes more only lets a slow client lag further behind. */
  (void)setsockopt (lws_get_socket_fd (wsi), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  view_client_open (server, &foxglove->client, wsi);
  view_client_queue (&foxglove->client, server_info ());
}

static void
close_client (ViewServer *server, Foxglove *foxglove)
{
  if (!foxglove->subscriptions)
    return;
  while (foxglove->subscriptions->len > 0)
    unsubscribe (server, foxglove, foxglove->subscriptions->len - 1);
  g_clear_pointer (&foxglove->subscriptions, g_array_unref);
  g_clear_pointer (&foxglove->topics, g_array_unref);
  view_client_close (server, &foxglove->client);
}

int
view_foxglove_handle (
    struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size)
{
  ViewServer *server = lws_context_user (lws_get_context (wsi));
  Foxglove *foxglove = user;

  switch (reason) {
  case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
    return view_server_admits (server, wsi) && view_server_has_room (server) ? 0 : -1;
  case LWS_CALLBACK_ESTABLISHED:
    open_client (server, foxglove, wsi);
    return 0;
  case LWS_CALLBACK_CLOSED:
    close_client (server, foxglove);
    return 0;
  case LWS_CALLBACK_RECEIVE:
    return receive (server, foxglove, in, size) ? 0 : -1;
  case LWS_CALLBACK_SERVER_WRITEABLE:
    return send_next (server, foxglove) ? 0 : -1;
  case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
    lws_callback_on_writable_all_protocol (lws_get_context (wsi), lws_get_protocol (wsi));
    return 0;
  default:
    return 0;
  }
}
