/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstmcapsession.h"

G_BEGIN_DECLS

/* What mcapsink and mcapmux share: inputs, properties, states, and the file that buffers go to. */

#define GST_TYPE_MCAP_BASE (gst_mcap_base_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstMcapBase, gst_mcap_base, GST, MCAP_BASE, GstElement)

struct _GstMcapBaseClass {
  GstElementClass parent_class;

  GstDebugCategory *category;

  /* With the lock held; messages for the bus are left with gst_mcap_session_post(). */

  /* Where the file's bytes go. */
  gboolean (*write) (GstMcapBase *self, const McapPart *parts, guint n_parts, GError **error);
  /* Before a message of @size bytes at @log_time: opens a file (gst_mcap_base_open()) where there
   * is none or it is time for another. */
  gboolean (*prepare) (GstMcapBase *self, guint64 log_time, guint64 size, GError **error);
  /* Finishes the file at hand, if any. @eos: all inputs ended; otherwise the recording failed or is
   * stopped. */
  gboolean (*end) (GstMcapBase *self, gboolean eos, GError **error);

  /* Without the lock. */

  /* Optional, after bytes were written for a buffer or an event of @pad, NULL: at a time: hands on
   * what was written. */
  GstFlowReturn (*drain) (GstMcapBase *self, GstPad *pad);
  /* Optional, after the first stream of a group began. */
  void (*stream_started) (GstMcapBase *self, const GstMcapOrigins *origins);
  /* May block until a buffer of @pad may be taken; not OK: it may not. */
  GstFlowReturn (*wait) (GstMcapBase *self, GstPad *pad);
  /* @pad is flushing: what waits on it has to return. @event: FLUSH_START or FLUSH_STOP, borrowed,
   * or NULL where the pad is deactivated. */
  gboolean (*flush) (GstMcapBase *self, GstPad *pad, GstEvent *event);
  /* Optional: adds fields to the structure of the property stats. */
  void (*add_stats) (GstMcapBase *self, GstStructure *stats);
};

/* The lock of the file. Nothing is pushed or posted with it. */
void gst_mcap_base_lock (GstMcapBase *self);
/* Posts what gst_mcap_session_post() gathered. */
void gst_mcap_base_unlock (GstMcapBase *self);

/* With the lock held. */

/* Begins a file. */
gboolean gst_mcap_base_open (GstMcapBase *self, guint64 log_time, GError **error);
GstMcapSession *gst_mcap_base_get_session (GstMcapBase *self);

G_END_DECLS
