/* SPDX-License-Identifier: MIT */
#include "gstndtfifo.h"

#include <gst/base/gstqueuearray.h>

/* Times that a side gives its processor away before it sleeps. */
#define N_YIELDS 16

/* A serialized query is its sender's, which waits for the answer on its own stack: it may
 * leave before the task has taken the query, but not while the task works on it. */
typedef enum { QUERY_NONE, QUERY_QUEUED, QUERY_RUNNING, QUERY_ANSWERED } QueryState;

/* One that may wait. Waking costs a system call, as much as all else that is done for a scan: only
 * who sleeps is woken. */
typedef struct {
  GCond cond;
  gboolean sleeps;
} Side;

struct _GstNdtFifo {
  GstNdtStats *stats;

  GMutex lock;
  Side put;     /* the streaming thread, for space or an answer */
  Side take;    /* the task, for items */
  gint changes; /* atomic: so many things have happened that somebody might wait for */

  GstQueueArray *items; /* GstNdtItem: an array that is reused, not a list that is allocated */
  guint n_buffers;
  guint n_barriers;
  guint batch_size;
  GstClockTime batch_timeout;
  gint64 open_until; /* buffers before it need no space */

  GstFlowReturn flow;
  gboolean eos;    /* an EOS event was put */
  gboolean refuse; /* downstream returned EOS */

  QueryState query;
  gboolean query_result;
};

/* Events that change how buffers are read, or end them, stand alone between two batches; so do
 * queries. The others (tags, gaps, what a tracer or an application sends) travel within one. */
static gboolean
is_barrier (GstMiniObject *object)
{
  if (GST_IS_QUERY (object))
    return TRUE;
  if (!GST_IS_EVENT (object))
    return FALSE;
  switch (GST_EVENT_TYPE (GST_EVENT_CAST (object))) {
  case GST_EVENT_STREAM_START:
  case GST_EVENT_CAPS:
  case GST_EVENT_SEGMENT:
  case GST_EVENT_EOS:
    return TRUE;
  default:
    return FALSE;
  }
}

/* With the lock held, as all that follow. Something has happened that @side may wait for. */
static void
wake (GstNdtFifo *fifo, Side *side)
{
  g_atomic_int_inc (&fifo->changes);
  if (side->sleeps)
    g_cond_broadcast (&side->cond);
  side->sleeps = FALSE;
}

/* Waits until something has happened, or until a monotonic time in microseconds; 0: for ever. FALSE
 * when that was reached. May return early. */
static gboolean
wait (GstNdtFifo *fifo, Side *side, gint64 end)
{
  const gint seen = g_atomic_int_get (&fifo->changes);

  /* Sleeping and being woken costs more than what the other side still has to do, where scans come
   * fast; where they do not, a few microseconds in each wait are nothing. */
  g_mutex_unlock (&fifo->lock);
  for (guint i = 0; i < N_YIELDS && g_atomic_int_get (&fifo->changes) == seen; i++)
    g_thread_yield ();
  g_mutex_lock (&fifo->lock);
  if (g_atomic_int_get (&fifo->changes) != seen)
    return TRUE;

  side->sleeps = TRUE;
  if (end > 0)
    return g_cond_wait_until (&side->cond, &fifo->lock, end);
  g_cond_wait (&side->cond, &fifo->lock);
  return TRUE;
}

static void
append (GstNdtFifo *fifo, GstMiniObject *object, GstNdtAhead *ahead, GstNdtPlace place)
{
  GstNdtItem item = {object, gst_util_get_timestamp (), place, ahead};
  gst_queue_array_push_tail_struct (fifo->items, &item);
  if (GST_IS_BUFFER (object)) {
    fifo->n_buffers++;
    /* Here: when it is taken it has been counted. */
    gst_ndt_stats_scan_in (fifo->stats);
  } else if (is_barrier (object)) {
    fifo->n_barriers++;
  }
  wake (fifo, &fifo->take);
}

static GstNdtItem
remove_head (GstNdtFifo *fifo)
{
  const GstNdtItem item = *(GstNdtItem *)gst_queue_array_pop_head_struct (fifo->items);
  if (GST_IS_BUFFER (item.object))
    fifo->n_buffers--;
  else if (is_barrier (item.object))
    fifo->n_barriers--;
  return item;
}

/* Drops what waits. Sticky events but SEGMENT and EOS outlive a flush: @pad, if any, keeps them. */
static void
clear (GstNdtFifo *fifo, GstPad *pad)
{
  while (!gst_queue_array_is_empty (fifo->items)) {
    const GstNdtItem item = remove_head (fifo);
    if (GST_IS_BUFFER (item.object))
      gst_ndt_stats_dropped (fifo->stats);
    if (pad && GST_IS_EVENT (item.object) && GST_EVENT_IS_STICKY (item.object) &&
        GST_EVENT_TYPE (item.object) != GST_EVENT_SEGMENT &&
        GST_EVENT_TYPE (item.object) != GST_EVENT_EOS)
      gst_pad_store_sticky_event (pad, GST_EVENT_CAST (item.object));
    gst_ndt_ahead_free (item.ahead);
    if (!GST_IS_QUERY (item.object))
      gst_mini_object_unref (item.object);
  }
  if (fifo->query == QUERY_QUEUED)
    fifo->query = QUERY_NONE;
}

static void
wake_all (GstNdtFifo *fifo)
{
  wake (fifo, &fifo->put);
  wake (fifo, &fifo->take);
}

GstNdtFifo *
gst_ndt_fifo_new (GstNdtStats *stats)
{
  GstNdtFifo *fifo = g_new0 (GstNdtFifo, 1);
  fifo->stats = stats;
  g_mutex_init (&fifo->lock);
  g_cond_init (&fifo->put.cond);
  g_cond_init (&fifo->take.cond);
  fifo->items = gst_queue_array_new_for_struct (sizeof (GstNdtItem), 16);
  fifo->batch_size = 1;
  fifo->open_until = G_MININT64;
  fifo->flow = GST_FLOW_FLUSHING;
  return fifo;
}

void
gst_ndt_fifo_free (GstNdtFifo *fifo)
{
  clear (fifo, NULL);
  gst_queue_array_free (fifo->items);
  g_cond_clear (&fifo->take.cond);
  g_cond_clear (&fifo->put.cond);
  g_mutex_clear (&fifo->lock);
  g_free (fifo);
}

guint
gst_ndt_fifo_get_capacity (guint batch_size)
{
  return MAX (batch_size, 2);
}

void
gst_ndt_fifo_set_limits (GstNdtFifo *fifo, guint batch_size, GstClockTime batch_timeout)
{
  g_mutex_lock (&fifo->lock);
  fifo->batch_size = batch_size;
  fifo->batch_timeout = batch_timeout;
  wake_all (fifo);
  g_mutex_unlock (&fifo->lock);
}

void
gst_ndt_fifo_start (GstNdtFifo *fifo)
{
  g_mutex_lock (&fifo->lock);
  clear (fifo, NULL);
  fifo->flow = GST_FLOW_OK;
  fifo->eos = FALSE;
  fifo->refuse = FALSE;
  g_mutex_unlock (&fifo->lock);
}

void
gst_ndt_fifo_flush (GstNdtFifo *fifo)
{
  g_mutex_lock (&fifo->lock);
  fifo->flow = GST_FLOW_FLUSHING;
  wake_all (fifo);
  g_mutex_unlock (&fifo->lock);
}

void
gst_ndt_fifo_clear (GstNdtFifo *fifo, GstPad *pad)
{
  g_mutex_lock (&fifo->lock);
  clear (fifo, pad);
  g_mutex_unlock (&fifo->lock);
}

GstFlowReturn
gst_ndt_fifo_put_buffer (
    GstNdtFifo *fifo, GstBuffer *buffer, GstNdtAhead *ahead, gint64 time, GstNdtPlace place)
{
  g_mutex_lock (&fifo->lock);
  while (fifo->flow == GST_FLOW_OK && !fifo->eos && !fifo->refuse && time >= fifo->open_until &&
         fifo->n_buffers >= gst_ndt_fifo_get_capacity (fifo->batch_size))
    wait (fifo, &fifo->put, 0);

  GstFlowReturn flow = fifo->flow;
  if (flow == GST_FLOW_OK && (fifo->eos || fifo->refuse))
    flow = GST_FLOW_EOS;
  if (flow == GST_FLOW_OK)
    append (fifo, GST_MINI_OBJECT_CAST (buffer), ahead, place);
  g_mutex_unlock (&fifo->lock);

  if (flow != GST_FLOW_OK) {
    gst_ndt_ahead_free (ahead);
    gst_buffer_unref (buffer);
  }
  return flow;
}

void
gst_ndt_fifo_open (GstNdtFifo *fifo, gint64 until)
{
  g_mutex_lock (&fifo->lock);
  fifo->open_until = until;
  wake (fifo, &fifo->put);
  g_mutex_unlock (&fifo->lock);
}

/* With the lock held. */
static GstFlowReturn
admit_event (GstNdtFifo *fifo, GstEvent *event)
{
  const GstEventType type = GST_EVENT_TYPE (event);

  if (fifo->flow == GST_FLOW_FLUSHING)
    return GST_FLOW_FLUSHING;
  if (fifo->flow != GST_FLOW_OK && (!GST_EVENT_IS_STICKY (event) || type == GST_EVENT_EOS))
    return fifo->flow;
  if (type == GST_EVENT_STREAM_START || type == GST_EVENT_SEGMENT)
    fifo->eos = fifo->refuse = FALSE;
  else if (fifo->eos)
    return GST_FLOW_EOS;
  if (type == GST_EVENT_EOS)
    fifo->eos = TRUE;
  return GST_FLOW_OK;
}

GstFlowReturn
gst_ndt_fifo_put_event (GstNdtFifo *fifo, GstEvent *event)
{
  g_mutex_lock (&fifo->lock);
  const GstFlowReturn flow = admit_event (fifo, event);
  if (flow == GST_FLOW_OK)
    append (fifo, GST_MINI_OBJECT_CAST (event), NULL, GST_NDT_PLACE_NEXT);
  g_mutex_unlock (&fifo->lock);

  if (flow != GST_FLOW_OK)
    gst_event_unref (event);
  return flow;
}

/* With the lock held; the query is in the FIFO. */
static void
withdraw_query (GstNdtFifo *fifo, GstQuery *query)
{
  const guint n = gst_queue_array_get_length (fifo->items);
  for (guint i = 0; i < n; i++) {
    const GstNdtItem *item = gst_queue_array_peek_nth_struct (fifo->items, i);
    if (item->object == GST_MINI_OBJECT_CAST (query)) {
      gst_queue_array_drop_struct (fifo->items, i, NULL);
      fifo->n_barriers--;
      return;
    }
  }
}

gboolean
gst_ndt_fifo_run_query (GstNdtFifo *fifo, GstQuery *query)
{
  gboolean result = FALSE;

  g_mutex_lock (&fifo->lock);
  if (fifo->flow == GST_FLOW_OK && !fifo->eos) {
    append (fifo, GST_MINI_OBJECT_CAST (query), NULL, GST_NDT_PLACE_NEXT);
    fifo->query = QUERY_QUEUED;
    /* While the task waits for what this thread may have to bring, nobody would answer. */
    while (
        fifo->query == QUERY_RUNNING || (fifo->query == QUERY_QUEUED && fifo->flow == GST_FLOW_OK &&
                                            fifo->open_until == G_MININT64))
      wait (fifo, &fifo->put, 0);
    if (fifo->query == QUERY_QUEUED)
      withdraw_query (fifo, query);
    result = fifo->query == QUERY_ANSWERED && fifo->query_result;
    fifo->query = QUERY_NONE;
  }
  g_mutex_unlock (&fifo->lock);
  return result;
}

void
gst_ndt_fifo_answer (GstNdtFifo *fifo, gboolean result)
{
  g_mutex_lock (&fifo->lock);
  fifo->query = QUERY_ANSWERED;
  fifo->query_result = result;
  wake (fifo, &fifo->put);
  g_mutex_unlock (&fifo->lock);
}

/* With the lock held and a buffer at the head. */
static void
wait_for_batch (GstNdtFifo *fifo)
{
  while (fifo->flow == GST_FLOW_OK && fifo->batch_timeout > 0 && fifo->n_barriers == 0 &&
         fifo->n_buffers > 0 && fifo->n_buffers < fifo->batch_size) {
    const GstNdtItem *head = gst_queue_array_peek_head_struct (fifo->items);
    const GstClockTime end = head->arrival + fifo->batch_timeout;
    if (!wait (fifo, &fifo->take, (gint64)(end / GST_USECOND)))
      return;
  }
}

/* With the lock held; NULL when there is nothing. */
static GstMiniObject *
peek (GstNdtFifo *fifo)
{
  const GstNdtItem *head = gst_queue_array_peek_head_struct (fifo->items);
  return head ? head->object : NULL;
}

gboolean
gst_ndt_fifo_take (GstNdtFifo *fifo, GArray *items)
{
  g_array_set_size (items, 0);

  g_mutex_lock (&fifo->lock);
  do {
    while (fifo->flow != GST_FLOW_FLUSHING && (fifo->flow != GST_FLOW_OK || !peek (fifo)))
      wait (fifo, &fifo->take, 0);
    if (fifo->flow == GST_FLOW_OK && GST_IS_BUFFER (peek (fifo)))
      wait_for_batch (fifo);
  } while (fifo->flow != GST_FLOW_FLUSHING && (fifo->flow != GST_FLOW_OK || !peek (fifo)));
  if (fifo->flow == GST_FLOW_FLUSHING) {
    g_mutex_unlock (&fifo->lock);
    return FALSE;
  }

  GstNdtItem item = remove_head (fifo);
  g_array_append_val (items, item);
  if (GST_IS_QUERY (item.object)) {
    fifo->query = QUERY_RUNNING;
  } else if (GST_IS_BUFFER (item.object)) {
    guint n_buffers = 1;
    for (GstMiniObject *next = peek (fifo); next; next = peek (fifo)) {
      if (is_barrier (next) || (GST_IS_BUFFER (next) && n_buffers == fifo->batch_size))
        break;
      n_buffers += GST_IS_BUFFER (next);
      item = remove_head (fifo);
      g_array_append_val (items, item);
    }
    wake (fifo, &fifo->put);
  }
  g_mutex_unlock (&fifo->lock);
  return TRUE;
}

void
gst_ndt_fifo_refuse (GstNdtFifo *fifo)
{
  g_mutex_lock (&fifo->lock);
  gboolean revived = FALSE;
  for (guint i = 0; i < gst_queue_array_get_length (fifo->items) && !revived;) {
    const GstNdtItem item = *(GstNdtItem *)gst_queue_array_peek_nth_struct (fifo->items, i);
    GstMiniObject *object = item.object;
    if (GST_IS_BUFFER (object)) {
      gst_queue_array_drop_struct (fifo->items, i, NULL);
      gst_ndt_ahead_free (item.ahead);
      gst_mini_object_unref (object);
      fifo->n_buffers--;
      gst_ndt_stats_dropped (fifo->stats);
      continue;
    }
    revived = GST_IS_EVENT (object) && (GST_EVENT_TYPE (object) == GST_EVENT_STREAM_START ||
                                           GST_EVENT_TYPE (object) == GST_EVENT_SEGMENT);
    i++;
  }
  fifo->refuse = !revived;
  wake (fifo, &fifo->put);
  g_mutex_unlock (&fifo->lock);
}

gboolean
gst_ndt_fifo_stop (GstNdtFifo *fifo, GstFlowReturn flow)
{
  g_mutex_lock (&fifo->lock);
  const gboolean eos = fifo->eos;
  if (fifo->flow == GST_FLOW_OK)
    fifo->flow = flow;
  wake_all (fifo);
  g_mutex_unlock (&fifo->lock);
  return eos;
}

void
gst_ndt_fifo_resume (GstNdtFifo *fifo)
{
  g_mutex_lock (&fifo->lock);
  if (fifo->flow == GST_FLOW_NOT_LINKED) {
    fifo->flow = GST_FLOW_OK;
    wake_all (fifo);
  }
  g_mutex_unlock (&fifo->lock);
}
