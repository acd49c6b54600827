/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstbagplayer.h"

G_BEGIN_DECLS

/* What rosbagsrc and mcapdemux share: the properties of replay, source pads' templates, and the
 * player that runs between start and stop. Functions are for any thread; none is to be called with
 * the element's object locked. */

#define GST_TYPE_BAG_BASE (gst_bag_base_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstBagBase, gst_bag_base, GST, BAG_BASE, GstElement)

struct _GstBagBaseClass {
  GstElementClass parent_class;

  const gchar *stats_name; /* of the structure of the property stats */
  GstDebugCategory *log;   /* of all that happens while it runs */
};

/* A copy of the properties, to be cleared. */
void gst_bag_base_get_settings (GstBagBase *self, GstBagSettings *settings);

/* Takes @player, and lets it run. */
void gst_bag_base_start (GstBagBase *self, GstBagPlayer *player);
/* Stops it; its numbers stay in the property stats. */
void gst_bag_base_stop (GstBagBase *self);
/* A reference; NULL where none runs. */
GstBagPlayer *gst_bag_base_get_player (GstBagBase *self);
/* The property stats of an element that has no player. */
void gst_bag_base_set_stats (GstBagBase *self, guint64 n_messages, guint64 n_damaged);

/* A SEEK event, which is not taken. FALSE where no player runs. */
gboolean gst_bag_base_seek (GstBagBase *self, GstEvent *event);
/* As gst_bag_player_query(); FALSE where no player runs. */
gboolean gst_bag_base_answer (GstBagBase *self, GstQuery *query, gboolean *answered);
/* Of source pads. */
gboolean gst_bag_base_src_event (GstPad *pad, GstObject *parent, GstEvent *event);
gboolean gst_bag_base_src_query (GstPad *pad, GstObject *parent, GstQuery *query);

G_END_DECLS
