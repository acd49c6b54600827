/* SPDX-License-Identifier: MIT */
#include "packet-cutter.h"

#include <math.h>
#include <string.h>

#include "packet-memory.h"
#include "packet-timeline.h"

#define MSEC ((gint64)1000000)

/* Until a whole round is known. */
#define DEFAULT_PERIOD (100 * MSEC)
/* The slowest sensors turn five times a second. */
#define MAX_PERIOD (200 * MSEC)
/* A packet that the network held back is late by less than that. */
#define MAX_REORDER (1000 * MSEC)

/* Of a scan: 0.4 s of two returns of 128 lasers. More are packets that came again and again. */
#define MAX_POINTS ((gsize)1 << 21)

/* More is a clock that was set, where arrival is not known. */
#define MAX_JUMP (3600 * 1000 * MSEC)

struct _PacketCutter {
  gdouble angle;
  PacketMemory *memory; /* of points */
  PacketCutterCounts counts;
  GQueue finished; /* of PacketScan */

  /* the scan in the making */
  gboolean has_scan;
  gboolean is_whole; /* it began at the angle */
  PacketScan scan;
  gsize capacity;
  gsize usual;           /* points of the scan before */
  gint64 last_time;      /* of the last firing in order */
  gdouble last_relative; /* its azimuth from the angle on */
  gint64 period;

  /* the packet */
  gboolean has_packet;
  gboolean is_discont; /* the next packet */
  gint64 next_arrival;
  gint64 arrival; /* as the timeline has it */
  gint64 packet_time;
  gint64 newest_time; /* of all packets */
  gint64 newest_arrival;
  gboolean is_late; /* counted already */
  PacketTimeline timeline;
};

G_DEFINE_QUARK (packet - error, packet_error)

void
packet_scan_free (PacketScan *scan)
{
  packet_memory_give_back (scan->points);
  g_free (scan);
}

PacketCutter *
packet_cutter_new (gdouble angle)
{
  PacketCutter *self = g_new0 (PacketCutter, 1);
  self->angle = angle;
  self->next_arrival = -1;
  self->memory = packet_memory_new ();
  g_queue_init (&self->finished);
  return self;
}

void
packet_cutter_free (PacketCutter *self)
{
  packet_cutter_reset (self);
  packet_memory_free (self->memory);
  g_free (self);
}

static void
drop_points (PacketCutter *self)
{
  g_clear_pointer (&self->scan.points, packet_memory_give_back);
  self->scan.n_points = self->capacity = 0;
  self->has_scan = FALSE;
}

void
packet_cutter_reset (PacketCutter *self)
{
  drop_points (self);
  g_queue_clear_full (&self->finished, (GDestroyNotify)packet_scan_free);
  self->has_packet = self->is_discont = FALSE;
  self->next_arrival = -1;
  packet_timeline_reset (&self->timeline);
}

void
packet_cutter_set_arrival (PacketCutter *self, gint64 arrival)
{
  self->next_arrival = arrival;
}

void
packet_cutter_set_discont (PacketCutter *self)
{
  self->is_discont = TRUE;
}

gboolean
packet_cutter_begin_packet (PacketCutter *self, gint64 time)
{
  const gint64 arrival = self->next_arrival;
  const gboolean is_discont = self->is_discont;
  const gint64 max_reorder = is_discont ? 0 : MAX_REORDER;
  self->is_discont = FALSE;
  if (self->has_packet && time == self->newest_time) {
    self->counts.n_duplicates++;
    return FALSE;
  }
  if (self->has_packet && time < self->newest_time - max_reorder) {
    self->counts.n_restarts++;
    packet_cutter_flush (self);
    /* Where arrival is not known, the instant of a restart is not either. */
    self->newest_arrival += time < self->newest_time ? DEFAULT_PERIOD : 0;
    self->newest_time = time;
    packet_timeline_reset (&self->timeline);
  }
  if (is_discont)
    packet_timeline_reset (&self->timeline);
  if (arrival >= 0) {
    packet_timeline_add (&self->timeline, time, arrival);
    self->arrival = time + self->timeline.offset;
  } else if (self->has_packet)
    /* A clock that is set forward must not take the stream with it. */
    self->arrival = MAX (self->newest_arrival + MIN (time - self->newest_time, MAX_JUMP), 0);
  else
    self->arrival = 0;
  if (!self->has_packet || time >= self->newest_time) {
    self->newest_time = time;
    self->newest_arrival = self->arrival;
  }
  self->packet_time = time;
  self->has_packet = TRUE;
  self->is_late = FALSE;
  return TRUE;
}

void
packet_cutter_begin_scan (PacketCutter *self, PacketScan *scan, gint64 time)
{
  scan->time = time;
  scan->pts = MAX (self->arrival + time - self->packet_time, 0);
  scan->epoch = self->timeline.epoch;
}

/* Since the scan began it may have turned out that its first packets were late. */
static void
correct_pts (PacketCutter *self, PacketScan *scan)
{
  if (self->timeline.is_set && scan->epoch == self->timeline.epoch)
    scan->pts = MAX (packet_timeline_use (&self->timeline, scan->time), 0);
}

void
packet_cutter_count_late (PacketCutter *self)
{
  if (!self->is_late)
    self->counts.n_late++;
  self->is_late = TRUE;
}

guint64
packet_cutter_get_n_restarts (const PacketCutter *self)
{
  return self->counts.n_restarts;
}

void
packet_cutter_take_scan (PacketCutter *self, PacketScan *scan)
{
  correct_pts (self, scan);
  g_queue_push_tail (&self->finished, scan);
  if (scan->duration > 0)
    self->period = scan->duration;
}

/* Ends the scan; @end is the first firing of the next. */
static void
cut (PacketCutter *self, gint64 end)
{
  self->scan.duration = end - self->scan.time;
  self->usual = self->scan.n_points;
  if (self->scan.n_points > 0) {
    correct_pts (self, &self->scan);
    g_queue_push_tail (&self->finished, g_memdup2 (&self->scan, sizeof self->scan));
    self->scan.points = NULL;
  }
  drop_points (self);
}

/* Ends the scan where the next firing does not follow on its last. */
static void
cut_short (PacketCutter *self)
{
  const gint64 extent = self->last_time - self->scan.time;
  cut (self, self->scan.time + MAX (extent, self->is_whole ? self->period : 0));
}

void
packet_cutter_flush (PacketCutter *self)
{
  if (self->has_scan)
    cut_short (self);
}

static void
begin_scan (PacketCutter *self, gint64 time, gboolean is_whole)
{
  self->has_scan = TRUE;
  self->is_whole = is_whole;
  packet_cutter_begin_scan (self, &self->scan, time);
}

/* Ends the scan in the making where this firing is not of it, and begins one. FALSE: the firing is
 * of a scan that is no more. */
static gboolean
place (PacketCutter *self, gint64 time, gdouble relative)
{
  const gint64 period = self->period > 0 ? self->period : DEFAULT_PERIOD;
  if (self->has_scan && time < self->last_time)
    return time >= self->scan.time;
  if (self->has_scan && time - self->last_time > period / 2) {
    self->counts.n_gaps++;
    cut_short (self);
  } else if (self->has_scan && relative < self->last_relative - 180) {
    if (self->is_whole)
      self->period = MIN (time - self->scan.time, MAX_PERIOD);
    cut (self, time);
    begin_scan (self, time, TRUE);
  } else if (self->has_scan && time - self->scan.time > 2 * MAX_PERIOD) {
    self->counts.n_stalled++;
    drop_points (self);
  } else if (self->has_scan && relative > self->last_relative + 180) {
    /* A motor that trembles around the angle makes no round. */
    relative = self->last_relative;
  }
  if (!self->has_scan)
    begin_scan (self, time, FALSE);
  self->last_time = time;
  self->last_relative = relative;
  return TRUE;
}

PacketPoint *
packet_cutter_take_points (PacketCutter *self, gsize n)
{
  return packet_memory_take (self->memory, n * sizeof (PacketPoint));
}

static void
make_room (PacketCutter *self, guint n)
{
  PacketPoint *before = self->scan.points;
  if (self->scan.n_points + n <= self->capacity)
    return;
  /* Scans of a sensor are about as large as each other. */
  const gsize usual = n + MAX (self->usual + self->usual / 16, 16384);
  self->scan.points = packet_cutter_take_points (self, MAX (2 * self->capacity, usual));
  self->capacity = packet_memory_get_size (self->scan.points) / sizeof (PacketPoint);
  if (before)
    memcpy (self->scan.points, before, self->scan.n_points * sizeof (PacketPoint));
  packet_memory_give_back (before);
}

PacketPoint *
packet_cutter_begin_firing (
    PacketCutter *self, gint64 time, gdouble azimuth, guint n, gfloat *seconds)
{
  gdouble relative = azimuth - self->angle;
  if (relative < 0 || relative >= 360)
    relative -= 360 * floor (relative / 360);
  if (!place (self, time, relative) || self->scan.n_points + n > MAX_POINTS) {
    packet_cutter_count_late (self);
    return NULL;
  }
  make_room (self, n);
  *seconds = (gfloat)((gdouble)(time - self->scan.time) * 1e-9);
  return self->scan.points + self->scan.n_points;
}

void
packet_cutter_commit (PacketCutter *self, guint n)
{
  self->scan.n_points += n;
}

PacketScan *
packet_cutter_pop (PacketCutter *self)
{
  return g_queue_pop_head (&self->finished);
}

gint64
packet_cutter_get_period (const PacketCutter *self)
{
  return self->period;
}

PacketCutterCounts
packet_cutter_get_counts (const PacketCutter *self)
{
  return self->counts;
}
