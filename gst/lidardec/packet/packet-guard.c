/* SPDX-License-Identifier: MIT */
#include "packet-guard.h"

#define MSEC ((gint64)1000000)

/* Consecutive packets are a few ms apart, or up to a turn with a field of view. Smaller steps need
 * no agreement with arrival. */
#define MAX_STEP (50 * MSEC)
/* A packet that the network held back is late by less than that. */
#define MAX_REORDER (1000 * MSEC)

/* Fewest consecutive packets, and the time that they span, for the hypothesis that the clock was
 * set: each packet of the old time resets the count, so that foreign packets between good ones do
 * not reach it. */
#define MIN_OTHERS 4
#define MIN_SPAN (5 * MSEC)
#define MAX_OTHERS 64 /* of steps however small */
/* Reordered packets are consecutive as well, over a shorter time. */
#define MIN_SPAN_BEHIND (25 * MSEC)

void
packet_guard_reset (PacketGuard *self)
{
  *self = (PacketGuard){0};
}

void
packet_guard_set (PacketGuard *self, gint64 time)
{
  *self = (PacketGuard){.is_set = TRUE, .newest = time};
}

/* Adds a packet to those of the other hypothesis. TRUE: the clock was set. */
static gboolean
add_other (PacketGuard *self, gint64 time, gboolean is_behind)
{
  const gint64 step = time - self->last_other;
  if (self->n_others == 0 || step < 0 || step > MAX_STEP || is_behind != self->are_behind) {
    self->n_others = 0;
    self->first_other = time;
    self->are_behind = is_behind;
  }
  self->n_others++;
  self->last_other = time;
  if (is_behind)
    return time - self->first_other >= MIN_SPAN_BEHIND;
  return self->n_others >= MAX_OTHERS ||
         (self->n_others >= MIN_OTHERS && time - self->first_other >= MIN_SPAN);
}

PacketTime
packet_guard_check (PacketGuard *self, gint64 time, gboolean is_early)
{
  const gint64 step = time - self->newest;
  if (!self->is_set) {
    packet_guard_set (self, time);
    return PACKET_TIME_NEXT;
  }
  if (step == 0)
    return PACKET_TIME_DUPLICATE;
  if (step > 0 && (step <= MAX_STEP || !is_early)) {
    self->n_others = 0;
    self->newest = time;
    return PACKET_TIME_NEXT;
  }
  const gboolean is_behind = step < 0 && step >= -MAX_REORDER;
  if (self->n_others > 0 && time == self->last_other)
    return is_behind ? PACKET_TIME_BEHIND : PACKET_TIME_DUPLICATE;
  if (add_other (self, time, is_behind)) {
    packet_guard_set (self, time);
    return PACKET_TIME_SET;
  }
  return is_behind ? PACKET_TIME_BEHIND : PACKET_TIME_HELD;
}
