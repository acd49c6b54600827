/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/mcap/bag/bag-merger.h"
#include "gstbagsettings.h"

G_BEGIN_DECLS

/* Plays a recording that can be read at any place: the task, seeks and queries of rosbagsrc, and of
 * mcapdemux over a file. PTS are nanoseconds as recorded; stream time begins at 0 with the earliest
 * of them. */

typedef struct _GstBagPlayer GstBagPlayer;

/* Opens the recording. */
typedef BagMerger *(*GstBagOpenFunc) (gpointer user_data, const BagLimits *limits, GError **error);

typedef struct {
  GstBagSettings streams;
  gboolean post_progress;
} GstBagPlayerSettings;

/* @settings are copied; pads have these functions for events and queries. */
GstBagPlayer *gst_bag_player_new (GstElement *element, const GstBagPlayerSettings *settings,
    GstPadEventFunction event, GstPadQueryFunction query, GstBagOpenFunc open, gpointer user_data);
GstBagPlayer *gst_bag_player_ref (GstBagPlayer *self);
void gst_bag_player_unref (GstBagPlayer *self);
/* Opens the recording before the start, and makes the pads. FALSE where that fails or nobody takes
 * anything of it; the error is posted. Where it is not called, the task opens the
 * recording. */
gboolean gst_bag_player_open (GstBagPlayer *self);
void gst_bag_player_start (GstBagPlayer *self);
/* Ends the task and takes the pads off the element, which are inactive or flushing by then. */
void gst_bag_player_stop (GstBagPlayer *self);

/* A SEEK event, which is not taken. That of the segment at hand is done already: every sink sends
 * it its own way. */
gboolean gst_bag_player_seek (GstBagPlayer *self, GstEvent *event);
/* TRUE where the query is one of those that the player answers, with @answered. */
gboolean gst_bag_player_query (GstBagPlayer *self, GstQuery *query, gboolean *answered);
/* Ends the stream before the next message. */
void gst_bag_player_end (GstBagPlayer *self);
/* Whether the pipeline is in PLAYING: progress is posted then only. */
void gst_bag_player_set_playing (GstBagPlayer *self, gboolean playing);
/* `messages`, `damaged` (guint64). */
void gst_bag_player_get_stats (GstBagPlayer *self, guint64 *messages, guint64 *damaged);

G_END_DECLS
