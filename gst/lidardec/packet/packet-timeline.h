/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define PACKET_TIMELINE_BLOCKS 20

/* Estimates the offset from the sensor's clock to that of arrival. Network, socket and scheduler
 * delay packets and never advance them, so the minimum of arrival less sensor time over a window is
 * the offset. Scans get stamps that are spaced by the sensor's clock, however irregularly packets
 * arrive. Times are ns. */
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

/* Whether a packet of @time that arrives at @arrival is earlier than the estimated offset predicts,
 * by more than @margin. FALSE where there is no estimate. */
gboolean packet_timeline_is_early (
    const PacketTimeline *self, gint64 time, gint64 arrival, gint64 margin);

/* Adds a packet of @time that arrived at @arrival to the estimate. */
void packet_timeline_add (PacketTimeline *self, gint64 time, gint64 arrival);

/* The stamp of @time on the axis of arrival. From the first call on stamps are spaced by the
 * sensor's clock. */
gint64 packet_timeline_use (PacketTimeline *self, gint64 time);

G_END_DECLS
