/* SPDX-License-Identifier: MIT */
#include "lidar-cutter.h"

#include <math.h>
#include <string.h>

#include "lidar-memory.h"
#include "lidar-timeline.h"

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

struct _LidarCutter {
  gdouble angle;
  LidarMemory *memory; /* of points */
  LidarCutterCounts counts;
  GQueue finished; /* of LidarScan */

  /* the scan in the making */
  gboolean has_scan;
  gboolean is_whole; /* it began at the angle */
  LidarScan scan;
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
  LidarTimeline timeline;
};

G_DEFINE_QUARK (lidar - packet - error, lidar_packet_error)

void
lidar_scan_free (LidarScan *scan)
{
  lidar_memory_give_back (scan->points);
  g_free (scan);
}

LidarCutter *
lidar_cutter_new (gdouble angle)
{
  LidarCutter *self = g_new0 (LidarCutter, 1);
  self->angle = angle;
  self->next_arrival = -1;
  self->memory = lidar_memory_new ();
  g_queue_init (&self->finished);
  return self;
}

void
lidar_cutter_free (LidarCutter *self)
{
  lidar_cutter_reset (self);
  lidar_memory_free (self->memory);
  g_free (self);
}

static void
drop_points (LidarCutter *self)
{
  g_clear_pointer (&self->scan.points, lidar_memory_give_back);
  self->scan.n_points = self->capacity = 0;
  self->has_scan = FALSE;
}

void
lidar_cutter_reset (LidarCutter *self)
{
  drop_points (self);
  g_queue_clear_full (&self->finished, (GDestroyNotify)lidar_scan_free);
  self->has_packet = self->is_discont = FALSE;
  self->next_arrival = -1;
  lidar_timeline_reset (&self->timeline);
}

void
lidar_cutter_set_arrival (LidarCutter *self, gint64 arrival)
{
  self->next_arrival = arrival;
}

void
lidar_cutter_set_discont (LidarCutter *self)
{
  self->is_discont = TRUE;
}

gboolean
lidar_cutter_begin_packet (LidarCutter *self, gint64 time)
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
    lidar_cutter_flush (self);
    /* Where arrival is not known, the instant of a restart is not either. */
    self->newest_arrival += time < self->newest_time ? DEFAULT_PERIOD : 0;
    self->newest_time = time;
    lidar_timeline_reset (&self->timeline);
  }
  if (is_discont)
    lidar_timeline_reset (&self->timeline);
  if (arrival >= 0) {
    lidar_timeline_add (&self->timeline, time, arrival);
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
lidar_cutter_begin_scan (LidarCutter *self, LidarScan *scan, gint64 time)
{
  scan->time = time;
  scan->pts = MAX (self->arrival + time - self->packet_time, 0);
  scan->epoch = self->timeline.epoch;
}

/* Since the scan began it may have turned out that its first packets were late. */
static void
correct_pts (LidarCutter *self, LidarScan *scan)
{
  if (self->timeline.is_set && scan->epoch == self->timeline.epoch)
    scan->pts = MAX (lidar_timeline_use (&self->timeline, scan->time), 0);
}

void
lidar_cutter_count_late (LidarCutter *self)
{
  if (!self->is_late)
    self->counts.n_late++;
  self->is_late = TRUE;
}

guint64
lidar_cutter_get_n_restarts (const LidarCutter *self)
{
  return self->counts.n_restarts;
}

void
lidar_cutter_take_scan (LidarCutter *self, LidarScan *scan)
{
  correct_pts (self, scan);
  g_queue_push_tail (&self->finished, scan);
  if (scan->duration > 0)
    self->period = scan->duration;
}

/* Ends the scan; @end is the first firing of the next. */
static void
cut (LidarCutter *self, gint64 end)
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
cut_short (LidarCutter *self)
{
  const gint64 extent = self->last_time - self->scan.time;
  cut (self, self->scan.time + MAX (extent, self->is_whole ? self->period : 0));
}

void
lidar_cutter_flush (LidarCutter *self)
{
  if (self->has_scan)
    cut_short (self);
}

static void
begin_scan (LidarCutter *self, gint64 time, gboolean is_whole)
{
  self->has_scan = TRUE;
  self->is_whole = is_whole;
  lidar_cutter_begin_scan (self, &self->scan, time);
}

/* Ends the scan in the making where this firing is not of it, and begins one. FALSE: the firing is
 * of a scan that is no more. */
static gboolean
place (LidarCutter *self, gint64 time, gdouble relative)
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

LidarPoint *
lidar_cutter_take_points (LidarCutter *self, gsize n)
{
  return lidar_memory_take (self->memory, n * sizeof (LidarPoint));
}

static void
make_room (LidarCutter *self, guint n)
{
  LidarPoint *before = self->scan.points;
  if (self->scan.n_points + n <= self->capacity)
    return;
  /* Scans of a sensor are about as large as each other. */
  const gsize usual = n + MAX (self->usual + self->usual / 16, 16384);
  self->scan.points = lidar_cutter_take_points (self, MAX (2 * self->capacity, usual));
  self->capacity = lidar_memory_get_size (self->scan.points) / sizeof (LidarPoint);
  if (before)
    memcpy (self->scan.points, before, self->scan.n_points * sizeof (LidarPoint));
  lidar_memory_give_back (before);
}

LidarPoint *
lidar_cutter_begin_firing (
    LidarCutter *self, gint64 time, gdouble azimuth, guint n, gfloat *seconds)
{
  gdouble relative = azimuth - self->angle;
  if (relative < 0 || relative >= 360)
    relative -= 360 * floor (relative / 360);
  if (!place (self, time, relative) || self->scan.n_points + n > MAX_POINTS) {
    lidar_cutter_count_late (self);
    return NULL;
  }
  make_room (self, n);
  *seconds = (gfloat)((gdouble)(time - self->scan.time) * 1e-9);
  return self->scan.points + self->scan.n_points;
}

void
lidar_cutter_commit (LidarCutter *self, guint n)
{
  self->scan.n_points += n;
}

LidarScan *
lidar_cutter_pop (LidarCutter *self)
{
  return g_queue_pop_head (&self->finished);
}

gint64
lidar_cutter_get_period (const LidarCutter *self)
{
  return self->period;
}

LidarCutterCounts
lidar_cutter_get_counts (const LidarCutter *self)
{
  return self->counts;
}

gint64
lidar_clock_unwrap (LidarClock *clock, gint64 value, gint64 wrap)
{
  if (clock->is_set && value < clock->last - wrap / 2)
    clock->passed++;
  /* A late packet from before the wrap. */
  else if (clock->is_set && value > clock->last + wrap / 2 && clock->passed > 0)
    return (clock->passed - 1) * wrap + value;
  clock->is_set = TRUE;
  clock->last = value;
  return clock->passed * wrap + value;
}
