/* SPDX-License-Identifier: MIT */
#include "packet-timeline.h"

#include <string.h>

#define MSEC ((gint64)1000000)

/* Two seconds of them: a machine that stops for less than that changes nothing. Longer ones would
 * see clocks that drift apart too late: at 100 ppm it is 0.2 ms. */
#define BLOCK (100 * MSEC)
/* What is found to be wrong once a stamp was given is made up for in that time … */
#define SETTLING (10000 * MSEC)
/* … and changes the distance from stamp to stamp by no more than a part of that. */
#define MAX_SLEW 20
/* More is not made up for: it is a sensor that is replayed faster or slower than it was, or packets
 * that had waited in a socket for long. */
#define MAX_ERROR (4000 * MSEC)
/* An interruption, or a clock that was set: nothing of before holds. */
#define MAX_GAP (1000 * MSEC)
/* Packets that wait longer do not: they are lost, and the sensor's clock had stood. */
#define MAX_WAIT (10000 * MSEC)

void
packet_timeline_reset (PacketTimeline *self)
{
  self->is_set = FALSE;
}

static void
begin (PacketTimeline *self, gint64 time, gint64 arrival)
{
  self->epoch++;
  self->is_set = TRUE;
  self->is_used = FALSE;
  self->offset = self->least[0] = arrival - time;
  self->n_blocks = 1;
  self->newest = self->block_begin = time;
  self->newest_arrival = arrival;
}

/* Least distance in all of the stretches. */
static gint64
get_least (const PacketTimeline *self)
{
  gint64 least = self->least[0];
  for (guint i = 1; i < self->n_blocks; i++)
    least = MIN (least, self->least[i]);
  return least;
}

gboolean
packet_timeline_is_early (const PacketTimeline *self, gint64 time, gint64 arrival, gint64 margin)
{
  /* Where arrival jumped back nothing is known. */
  return self->is_set && arrival >= self->newest_arrival - MAX_GAP &&
         arrival - time < get_least (self) - margin;
}

void
packet_timeline_add (PacketTimeline *self, gint64 time, gint64 arrival)
{
  if (!self->is_set || time - self->newest > MAX_GAP || arrival < self->newest_arrival - MAX_GAP) {
    begin (self, time, arrival);
    return;
  }
  /* What comes out of order is late, and nothing more. */
  const gint64 elapsed = MAX (time - self->newest, 0);
  self->newest += elapsed;
  self->newest_arrival = arrival;
  if (self->newest - self->block_begin >= BLOCK) {
    self->n_blocks = MIN (self->n_blocks + 1, PACKET_TIMELINE_BLOCKS);
    memmove (self->least + 1, self->least, (self->n_blocks - 1) * sizeof *self->least);
    self->block_begin = self->newest;
    self->least[0] = arrival - time;
  }
  self->least[0] = MIN (self->least[0], arrival - time);

  const gint64 least = get_least (self);
  if (!self->is_used) {
    self->offset = least;
    return;
  }
  const gint64 error = CLAMP (least - self->offset, -MAX_ERROR, MAX_ERROR);
  const gint64 step = error * elapsed / SETTLING;
  self->offset += CLAMP (step, -elapsed / MAX_SLEW, elapsed / MAX_SLEW);
  self->offset = CLAMP (self->offset, least - MAX_ERROR, least + MAX_ERROR);
}

gint64
packet_timeline_use (PacketTimeline *self, gint64 time)
{
  /* What was measured before the stream began came with its first packets: they had waited. */
  if (!self->is_used)
    self->offset = MAX (self->offset, -time);
  self->is_used = TRUE;
  return time + self->offset;
}
