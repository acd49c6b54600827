/* SPDX-License-Identifier: MIT */
#include "gstbagcontrol.h"

GstBagPlayer *
gst_bag_control_get (GstBagControl *self, GstElement *element)
{
  GST_OBJECT_LOCK (element);
  GstBagPlayer *player = self->player ? gst_bag_player_ref (self->player) : NULL;
  GST_OBJECT_UNLOCK (element);
  return player;
}

void
gst_bag_control_start (GstBagControl *self, GstElement *element, GstBagPlayer *player)
{
  GST_OBJECT_LOCK (element);
  self->player = player;
  self->n_messages = self->n_damaged = 0;
  GST_OBJECT_UNLOCK (element);
  gst_bag_player_start (player);
}

void
gst_bag_control_stop (GstBagControl *self, GstElement *element)
{
  GstBagPlayer *player = gst_bag_control_get (self, element);
  guint64 n_messages, n_damaged;
  if (!player)
    return;
  gst_bag_player_get_stats (player, &n_messages, &n_damaged);
  gst_bag_player_stop (player);
  GST_OBJECT_LOCK (element);
  self->n_messages = n_messages;
  self->n_damaged = n_damaged;
  self->player = NULL;
  GST_OBJECT_UNLOCK (element);
  gst_bag_player_unref (player);
  gst_bag_player_unref (player);
}

gboolean
gst_bag_control_seek (GstBagControl *self, GstElement *element, GstEvent *event)
{
  GstBagPlayer *player = gst_bag_control_get (self, element);
  const gboolean done = player && gst_bag_player_seek (player, event);
  g_clear_pointer (&player, gst_bag_player_unref);
  return done;
}

gboolean
gst_bag_control_query (
    GstBagControl *self, GstElement *element, GstQuery *query, gboolean *answered)
{
  GstBagPlayer *player = gst_bag_control_get (self, element);
  const gboolean handled = player && gst_bag_player_query (player, query, answered);
  g_clear_pointer (&player, gst_bag_player_unref);
  return handled;
}

GstStructure *
gst_bag_control_get_stats (GstBagControl *self, GstElement *element, const gchar *name)
{
  GstBagPlayer *player = gst_bag_control_get (self, element);
  guint64 n_messages, n_damaged;
  GST_OBJECT_LOCK (element);
  n_messages = self->n_messages;
  n_damaged = self->n_damaged;
  GST_OBJECT_UNLOCK (element);
  if (player)
    gst_bag_player_get_stats (player, &n_messages, &n_damaged);
  g_clear_pointer (&player, gst_bag_player_unref);
  return gst_structure_new (
      name, "messages", G_TYPE_UINT64, n_messages, "damaged", G_TYPE_UINT64, n_damaged, NULL);
}
