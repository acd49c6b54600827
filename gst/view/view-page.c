/* SPDX-License-Identifier: MIT */
/* The protocol of the page: frames, of which the newest counts, and messages that stay. */
#include <string.h>

#include "view-request.h"
#include "view-server-private.h"

/* Messages with a binary body that a client may have unacknowledged: one on its way while it draws
 * the one before. What waits in the network of a slow client is bounded by it. */
#define MAX_UNACKNOWLEDGED 2
/* A client whose acknowledgement takes longer than SLOW gets fewer points; after QUICK_FRAMES in a
 * row that took less than QUICK, more again. Microseconds. */
#define SLOW (250 * G_TIME_SPAN_MILLISECOND)
#define QUICK (80 * G_TIME_SPAN_MILLISECOND)
#define QUICK_FRAMES 10

typedef struct {
  ViewClient client;
  guint64 sent_frame;
  guint64 generation; /* of the latched messages … */
  guint next_latched; /* … and which is the next */
  gboolean was_latched;
  gint64 sent_at[MAX_UNACKNOWLEDGED];
  guint n_unacknowledged;
  guint level;
  guint n_quick;
} Page;

gsize
view_page_client_size (void)
{
  return sizeof (Page);
}

/* What a client gets next, of those that are ready; NULL: nothing. */
static GBytes *
next_message (ViewServer *server, Page *page)
{
  GBytes *message = g_queue_pop_head (&page->client.queue);
  gboolean has_frame, has_latched;

  if (message)
    return message;
  if (page->n_unacknowledged >= MAX_UNACKNOWLEDGED)
    return NULL;
  g_mutex_lock (&server->lock);
  if (page->generation != server->generation) {
    page->generation = server->generation;
    page->next_latched = 0;
  }
  has_latched = server->latched && page->next_latched < server->latched->len;
  has_frame = server->frame[0] && page->sent_frame < server->n_frames;
  /* In turn, so that a large map does not hold the stream up. */
  if (has_frame && (!has_latched || page->was_latched)) {
    server->stats.skipped += server->n_frames - page->sent_frame - 1;
    server->stats.frames++;
    page->sent_frame = server->n_frames;
    page->was_latched = FALSE;
    message = g_bytes_ref (server->frame[page->level]);
  } else if (has_latched) {
    page->was_latched = TRUE;
    message = g_bytes_ref (g_ptr_array_index (server->latched, page->next_latched++));
  }
  g_mutex_unlock (&server->lock);
  return message;
}

static gboolean
send_next (ViewServer *server, Page *page)
{
  GBytes *message = next_message (server, page);

  if (!message)
    return TRUE;
  const gboolean is_text = ((const guint8 *)g_bytes_get_data (message, NULL))[0] != 0;
  if (!is_text && page->n_unacknowledged < MAX_UNACKNOWLEDGED)
    page->sent_at[page->n_unacknowledged++] = g_get_monotonic_time ();
  const gboolean ok = view_client_write (server, &page->client, message);
  g_bytes_unref (message);
  lws_callback_on_writable (page->client.wsi);
  return ok;
}

static void
acknowledge (Page *page)
{
  if (page->n_unacknowledged == 0)
    return;
  const gint64 taken = g_get_monotonic_time () - page->sent_at[0];
  page->n_unacknowledged--;
  memmove (page->sent_at, page->sent_at + 1, page->n_unacknowledged * sizeof (gint64));
  page->n_quick = taken < QUICK ? page->n_quick + 1 : 0;
  if (taken > SLOW && page->level + 1 < VIEW_LEVELS) {
    page->level++;
  } else if (page->n_quick >= QUICK_FRAMES && page->level > 0) {
    page->level--;
    page->n_quick = 0;
  }
}

/* FALSE: the connection is to be closed. */
static gboolean
receive (ViewServer *server, Page *page, const gchar *data, gsize size)
{
  GString *text = page->client.received;
  gboolean is_whole;

  if (lws_frame_is_binary (page->client.wsi) ||
      !view_client_receive (&page->client, data, size, &is_whole))
    return FALSE;
  if (!is_whole)
    return TRUE;
  if (strlen (text->str) != text->len || !g_utf8_validate (text->str, -1, NULL))
    return FALSE;
  if (g_str_equal (text->str, "ack"))
    acknowledge (page);
  else
    server->config.receive (server, page->client.id, text->str, server->config.user_data);
  g_string_truncate (text, 0);
  lws_callback_on_writable (page->client.wsi);
  return TRUE;
}

static GBytes *
answer (gboolean accepted, const gchar *text)
{
  return view_reply_new (accepted ? "accepted" : "refused", text);
}

static void
open_page (ViewServer *server, Page *page, struct lws *wsi)
{
  g_autoptr (GPtrArray) greetings = g_ptr_array_new ();

  memset (page, 0, sizeof *page);
  page->client.answer = answer;
  view_client_open (server, &page->client, wsi);
  server->config.greet (greetings, server->config.user_data);
  for (guint i = 0; i < greetings->len; i++)
    view_client_queue (&page->client, g_ptr_array_index (greetings, i));
  g_mutex_lock (&server->lock);
  page->sent_frame = server->n_frames > 0 ? server->n_frames - 1 : 0;
  g_mutex_unlock (&server->lock);
}

int
view_page_handle (
    struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size)
{
  ViewServer *server = lws_context_user (lws_get_context (wsi));
  Page *page = user;

  switch (reason) {
  case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
    return view_server_admits (server, wsi) && view_server_has_room (server) ? 0 : -1;
  case LWS_CALLBACK_ESTABLISHED:
    open_page (server, page, wsi);
    return 0;
  case LWS_CALLBACK_CLOSED:
    view_client_close (server, &page->client);
    return 0;
  case LWS_CALLBACK_RECEIVE:
    return receive (server, page, in, size) ? 0 : -1;
  case LWS_CALLBACK_SERVER_WRITEABLE:
    return send_next (server, page) ? 0 : -1;
  case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
    lws_callback_on_writable_all_protocol (lws_get_context (wsi), lws_get_protocol (wsi));
    return 0;
  default:
    return 0;
  }
}
