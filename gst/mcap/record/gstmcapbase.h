/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstmcaprecorder.h"
#include "gstmcapsettings.h"
#include "gstmcaptimes.h"

G_BEGIN_DECLS

/* What mcapsink and mcapmux share: inputs, properties, and buffers turned into a file's bytes. */

#define GST_TYPE_MCAP_BASE (gst_mcap_base_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstMcapBase, gst_mcap_base, GST, MCAP_BASE, GstElement)

typedef struct {
  guint64 messages;
  guint64 bytes;
  guint64 chunks;
  guint64 files;
  guint64 dropped; /* buffers that are no scan */
} GstMcapCounts;

struct _GstMcapBaseClass {
  GstElementClass parent_class;

  /* All are called with the lock held and leave messages for the bus with gst_mcap_base_post(). */

  /* Where the writer's bytes go. */
  gboolean (*write) (GstMcapBase *self, const McapPart *parts, guint n_parts, GError **error);
  /* Before a message of @size bytes at @log_time: opens a file (gst_mcap_base_open()) where there
   * is none or it is time for another. */
  gboolean (*prepare) (GstMcapBase *self, guint64 log_time, guint64 size, GError **error);
  /* After a buffer. */
  GstFlowReturn (*drain) (GstMcapBase *self);
  /* Finishes the file at hand, if any. @eos: all inputs ended; otherwise the recording failed or is
   * stopped. */
  gboolean (*end) (GstMcapBase *self, gboolean eos, GError **error);
  /* The lock of everything that follows, taken without the element's own. */
  GRecMutex *(*get_lock) (GstMcapBase *self);

  /* Without the lock. */

  /* May block until a buffer of @pad may be taken; not OK: it may not. */
  GstFlowReturn (*wait) (GstMcapBase *self, GstPad *pad);
  /* @pad is flushing: what waits on it has to return. @event: FLUSH_START or FLUSH_STOP, borrowed,
   * or NULL where the pad is deactivated. */
  gboolean (*flush) (GstMcapBase *self, GstPad *pad, GstEvent *event);
  /* Adds fields to the structure of the property stats. */
  void (*add_stats) (GstMcapBase *self, GstStructure *stats);
};

GST_DEBUG_CATEGORY_EXTERN (gst_mcap_base_debug);

void gst_mcap_base_lock (GstMcapBase *self);
/* Posts what gst_mcap_base_post() gathered. */
void gst_mcap_base_unlock (GstMcapBase *self);
void gst_mcap_base_post (GstMcapBase *self, GstMessage *message);
void gst_mcap_base_post_error (GstMcapBase *self, const GError *error);

/* Begins a file: a writer with its header, metadata and attachments. */
gboolean gst_mcap_base_open (GstMcapBase *self, guint64 log_time, GError **error);
/* Ends it, as a complete file also where a write fails or failed before. The writer is gone
 * afterwards. @messages: those of the file. */
gboolean gst_mcap_base_finish (GstMcapBase *self, guint64 *messages, GError **error);
/* What is being written is a file's end, for which room was reserved. */
gboolean gst_mcap_base_is_finishing (GstMcapBase *self);
/* Forgets the file at hand. */
void gst_mcap_base_discard (GstMcapBase *self);
/* The file at hand, NULL: none. */
McapWriter *gst_mcap_base_get_writer (GstMcapBase *self);
/* All inputs have ended. */
gboolean gst_mcap_base_has_ended (GstMcapBase *self);

G_END_DECLS
