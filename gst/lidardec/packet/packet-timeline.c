/* SPDX-License-Identifier: MIT */
#include "packet-timeline.h"

#include <string.h>

#define MSEC ((gint64)1000000)

/* The minimum is taken over two seconds, in blocks of this length: stalls of the machine shorter
 * than that have no effect, and clocks that drift by 100 ppm are followed with an error of 0.2 ms.
 */
#define BLOCK (100 * MSEC)
/* An error of the offset that shows after the first stamp is removed over this time … */
#define SETTLING (10000 * MSEC)
/* … and by at most 1/20 of the distance between stamps. */
#define MAX_SLEW 20
/* A larger error is removed at once: the sensor is replayed at another rate, or packets had queued
 * in a socket for long. */
#define MAX_ERROR (4000 * MSEC)
/* After a longer interruption, or where arrival jumps back, the estimate is reset. */
#define MAX_GAP (1000 * MSEC)
/* No packet queues for longer. */
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

/* Minimum over all blocks. */
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
  /* After arrival jumped back the estimate is void. */
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
  /* A reordered packet does not move the newest time. */
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
  /* Stamps are not negative: packets measured before the stream began had queued. */
  if (!self->is_used)
    self->offset = MAX (self->offset, -time);
  self->is_used = TRUE;
  return time + self->offset;
}
