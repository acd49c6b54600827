/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstmcapposes.h"
#include "gst/mcap/container/mcap-writer.h"

G_BEGIN_DECLS

/* Turns buffers into messages of a file. */
typedef struct {
  McapWriter *writer; /* NULL: no file is open */
  guint generation;   /* number of the file, from 1 */
  GByteArray *scratch;
  GstMcapPoses poses;
} GstMcapRecorder;

void gst_mcap_recorder_init (GstMcapRecorder *self);
void gst_mcap_recorder_clear (GstMcapRecorder *self);

/* Begins a file; @settings stay as long as it is open. */
void gst_mcap_recorder_open (
    GstMcapRecorder *self, McapWriter *writer, const GstMcapSettings *settings);
/* What stands at a file's end. */
gboolean gst_mcap_recorder_add_end (GstMcapRecorder *self, GError **error);

/* @log_time: ns; @stamp: ns, of the header. A buffer whose bytes are no scan is the error
 * GST_STREAM_ERROR_FORMAT: nothing of it was written and recording may go on. */
gboolean gst_mcap_recorder_add (GstMcapRecorder *self, GstMcapPad *pad, GstBuffer *buffer,
    guint64 log_time, gint64 stamp, GError **error);

/* A map of points, three doubles each in the frame map, as a message of the topic /map. Readers
 * know by the role of the channel that it is no scan. */
gboolean gst_mcap_recorder_add_map (
    GstMcapRecorder *self, GBytes *points, guint64 log_time, gint64 stamp, GError **error);

G_END_DECLS
