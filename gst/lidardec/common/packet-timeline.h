/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define PACKET_TIMELINE_BLOCKS 20

/* A sensor's clock on the axis of arrival. A packet is held back by the network, the socket and the
 * scheduler, and never comes early: the one that was held back least says how far apart the two
 * are. Scans get stamps that are spaced by the sensor's clock, however irregularly packets arrive.
 * Times are ns. */
typedef struct {
  guint64 epoch;    /* how often it began anew */
  gboolean is_set;  /* a packet came since */
  gint64 offset;    /* from the sensor's clock to the axis */
  gboolean is_used; /* a stamp was given since */
  gint64 newest;    /* of the sensor's clock */
  gint64 newest_arrival;
  /* least of arrival less sensor time, in each of the last stretches of time; the last is the first
   */
  gint64 least[PACKET_TIMELINE_BLOCKS];
  guint n_blocks;
  gint64 block_begin;
} PacketTimeline;

/* Begins anew with the next packet. */
void packet_timeline_reset (PacketTimeline *self);

/* Whether a packet of @time that arrives at @arrival comes earlier than the one that was held back
 * least lets expect, by more than @margin. FALSE where no packet came yet. */
gboolean packet_timeline_is_early (
    const PacketTimeline *self, gint64 time, gint64 arrival, gint64 margin);

/* Takes into account that what was measured at @time arrived at @arrival. */
void packet_timeline_add (PacketTimeline *self, gint64 time, gint64 arrival);

/* The stamp of what was measured at @time; from there on they are spaced by the sensor's clock. */
gint64 packet_timeline_use (PacketTimeline *self, gint64 time);

G_END_DECLS
