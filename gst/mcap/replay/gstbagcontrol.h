/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstbagplayer.h"

G_BEGIN_DECLS

/* What rosbagsrc and mcapdemux have of a player: one at a time, from start to stop, whose numbers
 * stay. Functions are for any thread; none is to be called with the element's object locked. */
typedef struct {
  /* under the element's object lock */
  GstBagPlayer *player; /* NULL: stopped, or data are pushed */
  guint64 n_messages;   /* of the last run, or of what was pushed */
  guint64 n_damaged;
} GstBagControl;

/* Takes @player, and lets it run. */
void gst_bag_control_start (GstBagControl *self, GstElement *element, GstBagPlayer *player);
void gst_bag_control_stop (GstBagControl *self, GstElement *element);
/* A reference, NULL where none runs. */
GstBagPlayer *gst_bag_control_get (GstBagControl *self, GstElement *element);
/* A SEEK event, which is not taken. */
gboolean gst_bag_control_seek (GstBagControl *self, GstElement *element, GstEvent *event);
/* As gst_bag_player_query(); FALSE where none runs. */
gboolean gst_bag_control_query (
    GstBagControl *self, GstElement *element, GstQuery *query, gboolean *answered);
/* `messages`, `damaged` (guint64). */
GstStructure *gst_bag_control_get_stats (
    GstBagControl *self, GstElement *element, const gchar *name);

G_END_DECLS
