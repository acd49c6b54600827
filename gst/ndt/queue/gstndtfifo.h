/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gstndtahead.h"
#include "gstndtplace.h"
#include "gstndtstats.h"

G_BEGIN_DECLS

/**
 * GstNdtItem:
 * @object: a buffer or serialized event (owned), or a serialized query (its sender's)
 * @arrival: when it came, gst_util_get_timestamp()
 * @place: of a buffer
 * @ahead: of a buffer (owned); NULL: it was not read ahead
 */
typedef struct {
  GstMiniObject *object;
  GstClockTime arrival;
  GstNdtPlace place;
  GstNdtAhead *ahead;
} GstNdtItem;

/**
 * GstNdtFifo:
 *
 * What waits between the sink pad's streaming thread, which puts, and the source pad's task,
 * which takes. Buffers are bounded, events are not: they are few and must not be lost. All
 * functions may be called from any thread; none holds the lock while it waits for anything
 * but the lock's own conditions.
 */
typedef struct _GstNdtFifo GstNdtFifo;

/* @stats counts the buffers that are put, and those of them that are dropped here. */
GstNdtFifo *gst_ndt_fifo_new (GstNdtStats *stats);
void gst_ndt_fifo_free (GstNdtFifo *fifo);

/* Buffers that one take returns at most (at least 1), and nanoseconds that a take waits for
 * them after the first came. */
void gst_ndt_fifo_set_limits (GstNdtFifo *fifo, guint batch_size, GstClockTime batch_timeout);
/* Buffers that wait at most with this batch size. */
guint gst_ndt_fifo_get_capacity (guint batch_size);

/* Empties the FIFO and lets everything pass, resp. wakes everybody with FLUSHING. It begins
 * flushing. */
void gst_ndt_fifo_start (GstNdtFifo *fifo);
void gst_ndt_fifo_flush (GstNdtFifo *fifo);
/* Empties the FIFO that flushes. @pad (nullable) gets the sticky events that outlive a flush: only
 * when the task has paused, which may still have earlier ones in its hands. */
void gst_ndt_fifo_clear (GstNdtFifo *fifo, GstPad *pad);

/* Waits for space. @time: the buffer's running time, see gst_ndt_fifo_open(). @ahead: (nullable).
 * @buffer and @ahead are (transfer full), also on failure: FLUSHING, EOS after an EOS event or
 * gst_ndt_fifo_refuse(), or what gst_ndt_fifo_stop() was called with. */
GstFlowReturn gst_ndt_fifo_put_buffer (
    GstNdtFifo *fifo, GstBuffer *buffer, GstNdtAhead *ahead, gint64 time, GstNdtPlace place);
/* The task waits for something else that may come from the thread that puts: buffers of times
 * before @until need no space. G_MININT64: they do again. */
void gst_ndt_fifo_open (GstNdtFifo *fifo, gint64 until);

/* Never waits. @event is (transfer full), always; refused with FLUSHING, EOS after an EOS event, or
 * what gst_ndt_fifo_stop() was called with. A stop refuses no sticky event but EOS: those that tell
 * how to read what follows wait for the task to go on, and buffers report the stop. */
GstFlowReturn gst_ndt_fifo_put_event (GstNdtFifo *fifo, GstEvent *event);
/* Queues a query behind what is there, waits until the task has answered it with
 * gst_ndt_fifo_answer() and returns that answer; FALSE where the FIFO flushes or stops before, or
 * the task waits for something that this thread may bring: see gst_ndt_fifo_open(). */
gboolean gst_ndt_fifo_run_query (GstNdtFifo *fifo, GstQuery *query);

/* Waits for something and moves it to @items (GstNdtItem): either one event or query, or a batch
 * that begins with a buffer: buffers and events between and after them that tell nothing
 * about how to read them. FALSE when flushing; while stopped it waits for that, or a resume. */
gboolean gst_ndt_fifo_take (GstNdtFifo *fifo, GArray *items);
void gst_ndt_fifo_answer (GstNdtFifo *fifo, gboolean result);
/* Downstream wants no more: drops buffers and refuses new ones with EOS until a STREAM_START,
 * SEGMENT or EOS event, which are still delivered. */
void gst_ndt_fifo_refuse (GstNdtFifo *fifo);
/* Nothing is taken any more: upstream is told @flow (not OK). TRUE where an EOS event was
 * put before: upstream is gone and will not report an error. */
gboolean gst_ndt_fifo_stop (GstNdtFifo *fifo, GstFlowReturn flow);
/* After a stop with NOT_LINKED: goes on. */
void gst_ndt_fifo_resume (GstNdtFifo *fifo);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstNdtFifo, gst_ndt_fifo_free)

G_END_DECLS
