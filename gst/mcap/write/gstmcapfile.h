/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstmcaprecorder.h"
#include "gstmcapsettings.h"
#include "gstmcaptimes.h"

G_BEGIN_DECLS

typedef struct {
  guint64 messages;
  guint64 bytes;
  guint64 chunks;
  guint64 files;
} GstMcapCounts;

/* The MCAP file that mcapsink and mcapmux write: its beginning, its chunks over time, its end; and
 * counts over all files of a recording. Not thread-safe. */
typedef struct {
  GstMcapRecorder recorder; /* its writer: NULL, no file is open */
  GstMcapSettings settings; /* that the file was opened with */
  gchar *pipeline;          /* attached to each file that is opened, NULL: nothing */

  McapWriteFunc write;
  gpointer user_data;
  gboolean finishing;
  GstMcapCounts finished; /* of files before this one; files: and this one */
  GQueue maps;            /* uses of maps in this file whose checksums are not attached yet … */
  GHashTable *attached_maps; /* … and the text of those that are */
  GBytes *map;               /* points to be recorded in each file, NULL: none … */
  gboolean has_map;          /* … and they are in this one */
  gint64 chunk_time;         /* monotonic, µs, of the first message of the chunk at hand */
  guint64 chunk_number;      /* its number in all files, from 1; 0: none */
} GstMcapFile;

/* @write gets the bytes of all files. */
void gst_mcap_file_init (GstMcapFile *self, McapWriteFunc write, gpointer user_data);
void gst_mcap_file_clear (GstMcapFile *self);
/* Begins a recording: no file, no counts. */
void gst_mcap_file_reset (GstMcapFile *self);

/* Begins a file: a writer with its header, metadata and attachments. @log_time: of the attachments;
 * @times: what log times are, for the metadata record. */
gboolean gst_mcap_file_open (GstMcapFile *self, const GstMcapSettings *settings,
    const GstMcapTimes *times, guint64 log_time, GError **error);
gboolean gst_mcap_file_is_open (const GstMcapFile *self);
/* Points of a map, see gst_mcap_recorder_add_map(), to be recorded before the next buffer and at
 * the beginning of later files. Takes the reference; those that are set already have no effect. */
void gst_mcap_file_set_map (GstMcapFile *self, GBytes *points);
/* Records the map where the file at hand does not have it. */
gboolean gst_mcap_file_add_map (GstMcapFile *self, guint64 log_time, gint64 stamp, GError **error);
/* A buffer of @pad as messages; see gst_mcap_recorder_add(). */
gboolean gst_mcap_file_add (GstMcapFile *self, GstMcapPad *pad, GstBuffer *buffer, guint64 log_time,
    gint64 stamp, GError **error);
/* Whether the file takes as much memory as settings.max_memory with @size bytes of messages more,
 * though the chunk at hand were written before. */
gboolean gst_mcap_file_is_full (const GstMcapFile *self, guint64 size);
/* When the chunk at hand has to be written, of g_get_monotonic_time(); 0: not before it is full. */
gint64 gst_mcap_file_get_due (GstMcapFile *self);
/* Writes the chunk at hand. */
gboolean gst_mcap_file_flush (GstMcapFile *self, GError **error);
/* Ends the file, as a complete one also where a write fails or, with @failed, failed before. None
 * is open afterwards. Checksums of maps that are not known yet are not waited for. @messages: those
 * of the file. */
gboolean gst_mcap_file_finish (
    GstMcapFile *self, gboolean failed, guint64 *messages, GError **error);
/* Forgets the file at hand. */
void gst_mcap_file_discard (GstMcapFile *self);
GstMcapCounts gst_mcap_file_get_counts (const GstMcapFile *self);

/* An error of the functions above, or of McapOutput, as one that applications know: of
 * GST_RESOURCE_ERROR or GST_STREAM_ERROR. */
GError *gst_mcap_file_make_error (const GError *error);

G_END_DECLS
