/* SPDX-License-Identifier: MIT */
#pragma once

/* Of gstmcapbase.c and gstmcapbasefile.c alone. */

#include "gstmcapalarm.h"
#include "gstmcapbase.h"

G_BEGIN_DECLS

typedef struct {
  /* properties and counts, under the object lock */
  GstMcapSettings settings;
  GstMcapCounts counts;

  /* under the lock */
  GstMcapRecorder recorder;
  gboolean has_ended;
  gboolean has_failed;
  gboolean finishing;
  GQueue maps; /* uses of those of the file at hand that are still to be attached … */
  GHashTable *attached_maps; /* … and the text of those that are */
  gboolean described;        /* the pipeline is, as far as there is one */
  gchar *pipeline;
  GstMcapTimes times;
  GQueue messages;
  guint64 finished_messages; /* of files before this one */
  guint64 finished_chunks;
  guint64 finished_bytes;
  gint64 chunk_duration; /* µs, 0: any */
  gint64 chunk_time;     /* monotonic, of the first message of the chunk at hand */
  guint64 chunk_number;

  /* PAUSED and PLAYING */
  GstMcapAlarm *alarm; /* set and cleared under the object lock */
} GstMcapBasePrivate;

GstMcapBasePrivate *gst_mcap_base_get_private (GstMcapBase *self);

/* All with the lock held. */

void gst_mcap_base_update_counts (GstMcapBase *self);
/* What @pad recorded at that time was aligned with its map. */
void gst_mcap_base_note_map (GstMcapBase *self, GstMcapPad *pad, guint64 log_time);
/* Attaches the checksums of maps that were noted, once they are known or, with @wait, at last. */
gboolean gst_mcap_base_add_maps (GstMcapBase *self, gboolean wait, GError **error);
void gst_mcap_base_forget_maps (GstMcapBase *self);
/* Ends the recording after an error. */
void gst_mcap_base_fail (GstMcapBase *self, const GError *error);
/* Ends the recording if every linked input has ended. */
void gst_mcap_base_check_end (GstMcapBase *self);
/* Chunks are closed when a message comes that has no room there; where none comes, at a time. To be
 * called after each message. */
void gst_mcap_base_watch_chunk (GstMcapBase *self);

/* For the alarm, without the lock: closes a chunk that is due, and ends the recording where an
 * input that was waited for is gone. */
gint64 gst_mcap_base_on_alarm (gpointer self);

G_END_DECLS
