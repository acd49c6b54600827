/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/mcap/write/gstmcapfile.h"
#include "gstmcaporigins.h"

G_BEGIN_DECLS

/* A recording from READY to READY, of one or more files: what buffers become of which times, when
 * it ends, what fails. Its owner guards it by a lock, with which nothing is posted or pushed. */
typedef struct {
  GstElement *element; /* borrowed; its sink pads are GstMcapPad */
  GstDebugCategory *category;
  /* See GstMcapBaseClass. */
  gboolean (*prepare) (GstElement *element, guint64 log_time, guint64 size, GError **error);
  gboolean (*end) (GstElement *element, gboolean eos, GError **error);

  GstMcapFile file;
  GstMcapTimes times;
  GstMcapOrigins origins;
  GQueue messages;                 /* for the bus, which the owner posts */
  GstMcapHeaderStamp header_stamp; /* wanted */
  gboolean running;                /* PAUSED or PLAYING; inputs that are let go of may come later */
  gboolean described;              /* file.pipeline is, as far as there is a pipeline */
  gboolean has_ended;
  gboolean has_failed;
  guint64 dropped; /* buffers that are no scan */
  gboolean has_told_conflict;
  guint64 n_without_odometry; /* told of */
} GstMcapSession;

/* @write gets the bytes of files, with @element. */
void gst_mcap_session_init (GstMcapSession *self, GstElement *element, McapWriteFunc write);
void gst_mcap_session_clear (GstMcapSession *self);
/* As at first, but for messages. */
void gst_mcap_session_reset (GstMcapSession *self);

void gst_mcap_session_post (GstMcapSession *self, GstMessage *message);
void gst_mcap_session_post_error (GstMcapSession *self, const GError *error);

/* Which log times the recording has, if that is not decided yet: not AUTO. @exact: PTS as they
 * are. */
void gst_mcap_session_use_log_time (GstMcapSession *self, GstMcapLogTime log_time, gboolean exact);
/* Where something of @pad (NULL: of any) waits for the axis of log times, all that does is
 * recorded: before caps change, or an end. */
void gst_mcap_session_flush_waiting (GstMcapSession *self, GstMcapPad *pad);
GstFlowReturn gst_mcap_session_record (GstMcapSession *self, GstMcapPad *pad, GstBuffer *buffer);
/* Records the map where it was not, at the time of what @pad had last: before an end. */
void gst_mcap_session_add_map (GstMcapSession *self, GstMcapPad *pad);
/* Writes the chunk at hand where it is due. Returns when the next is, of g_get_monotonic_time();
 * 0: not before it is full. */
gint64 gst_mcap_session_write_due (GstMcapSession *self);
/* Ends the recording where all linked inputs have. */
void gst_mcap_session_check_end (GstMcapSession *self);
/* Ends the recording: on the way to READY. */
void gst_mcap_session_stop (GstMcapSession *self);

G_END_DECLS
