/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Outlier rejection of packets' times. A time that does not follow on those before is that of a
 * foreign or damaged packet, or the sensor's clock was set. The packets behind it decide between
 * the two hypotheses: after a clock was set they continue the new time, and none continues the old
 * one. Times are ns. */

typedef enum {
  PACKET_TIME_NEXT,      /* the newest so far */
  PACKET_TIME_BEHIND,    /* older, by no more than the network may reorder packets */
  PACKET_TIME_DUPLICATE, /* that of the newest again */
  PACKET_TIME_HELD,      /* fits nothing so far */
  PACKET_TIME_SET, /* the clock was set: this packet, and the held ones, are of the new time */
} PacketTime;

typedef struct {
  gboolean is_set;
  gint64 newest; /* of all packets that fitted */

  /* packets that did not, or were behind, and follow on each other */
  guint n_others;
  gint64 first_other, last_other;
  gboolean are_behind;
} PacketGuard;

/* Forgets everything. */
void packet_guard_reset (PacketGuard *self);

/* Classifies a packet of @time. @is_early: it arrived before a packet of that time could have, by
 * the estimated offset of the clocks, or there is no estimate. */
PacketTime packet_guard_check (PacketGuard *self, gint64 time, gboolean is_early);

/* The next packets are of another time than those before: none of them is held. */
void packet_guard_set (PacketGuard *self, gint64 time);

G_END_DECLS
