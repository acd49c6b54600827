/* SPDX-License-Identifier: MIT */
#include "packet-cutter.h"

#include <math.h>
#include <string.h>

#include "packet-guard.h"
#include "packet-memory.h"
#include "packet-timeline.h"

#define MSEC ((gint64)1000000)

/* Period of a turn until one was measured. */
#define DEFAULT_PERIOD (100 * MSEC)
/* The slowest sensors turn five times a second. */
#define MAX_PERIOD (200 * MSEC)
/* By how much a packet may arrive earlier than the estimated offset between the sensor's clock and
 * arrival predicts; clocks drift by less within a gap. */
#define MAX_EARLY (50 * MSEC)
/* Largest step of the sensor's clock that is taken for an interruption where arrival times are not
 * known. */
#define MAX_STEP (1000 * MSEC)

/* The first firings behind a blind part have times that are extrapolated where their packet began
 * before it: the packet behind may say that it was earlier by a bit. */
#define MAX_OVERLAP (MSEC / 2)

/* Least jumps of azimuth, degrees, that are taken for the end of a field of view: in the first turn
 * of a stream, and where the same jump was in the turn before. Lost packets make jumps as well. */
#define BLIND_AT_ONCE 60
#define BLIND_TWICE 10
/* Tolerance of the edges of the blind part, degrees: a packet covers up to 5. */
#define BLIND_MARGIN 6
/* Relative tolerance, beside 2 ms, of the time that a jump takes against the rate of the turn. */
#define BLIND_TIME 0.25
/* Fewest degrees of a scan from which the rate of the turn is estimated. */
#define MIN_TURNED 3
/* Largest steps of azimuth (degrees) and time between consecutive firings that take the short path
 * of place(): far below what ends a scan. */
#define MAX_AZIMUTH_STEP 5
#define MAX_FIRING_STEP (10 * MSEC)

/* Limit of a scan: 0.4 s of two returns of 128 lasers. Repeated packets would grow it without end.
 */
#define MAX_POINTS ((gsize)1 << 21)

/* Azimuths, degrees. */
typedef struct {
  gdouble from, to;
} Sector;

struct _PacketCutter {
  gdouble angle;
  gdouble cut_angle; /* the same, or in the middle of the blind part */
  gboolean has_blind;
  Sector blind; /* between its edges nothing comes */
  Sector last_jump;
  gboolean has_seen_turn; /* a whole one, without a blind part */
  PacketMemory *memory;   /* of points */
  PacketCutterCounts counts;
  GQueue finished; /* of PacketScan */

  /* the scan in the making */
  gboolean has_scan;
  gboolean is_whole; /* it began at the angle */
  PacketScan scan;
  gsize capacity;
  gsize usual;           /* points of the scan before */
  gint64 last_time;      /* of the last firing in order */
  gdouble last_relative; /* its azimuth from the cut on */
  gint64 period;
  gdouble first_relative; /* azimuth of the scan's first firing, or of one behind it … */
  gint64 first_time;      /* … and when that was */
  gdouble rate;           /* of a scan before, degrees per ns, 0: not known */

  /* the packet */
  gboolean has_packet;
  gboolean is_discont; /* the next packet */
  gint64 next_arrival;
  gint64 arrival; /* as the timeline has it */
  gint64 packet_time;
  gint64 newest_time;    /* of all packets … */
  gint64 newest_arrival; /* … as the timeline has it */
  PacketGuard guard;
  gboolean is_held;
  gboolean is_spoilt;  /* the scan in the making, at the last jump */
  gboolean has_jumped; /* the next packet begins the new time */
  gboolean is_late;    /* counted already */
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
  self->angle = self->cut_angle = angle < 360 ? angle : 0;
  self->last_jump = (Sector){-1, -1};
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
  self->has_packet = self->is_discont = self->is_held = self->has_jumped = FALSE;
  self->next_arrival = -1;
  self->has_seen_turn = FALSE;
  packet_guard_reset (&self->guard);
  packet_timeline_reset (&self->timeline);
}

void
packet_cutter_set_arrival (PacketCutter *self, gint64 arrival)
{
  self->next_arrival = arrival;
  self->is_held = FALSE;
}

void
packet_cutter_set_discont (PacketCutter *self)
{
  self->is_discont = TRUE;
}

gboolean
packet_cutter_get_newest (const PacketCutter *self, gint64 *time)
{
  *time = self->newest_time;
  return self->has_packet;
}

gboolean
packet_cutter_is_held (const PacketCutter *self)
{
  return self->is_held;
}

guint
packet_cutter_get_n_kept (const PacketCutter *self)
{
  return self->guard.are_behind ? 0 : self->guard.n_others;
}

gboolean
packet_cutter_has_jumped (const PacketCutter *self)
{
  return self->has_jumped;
}

void
packet_cutter_count_bad_times (PacketCutter *self, guint n)
{
  self->counts.n_bad_times += n;
}

/* The sensor's clock was set, to @time. */
static void
jump (PacketCutter *self, gint64 time)
{
  self->counts.n_restarts++;
  self->counts.jump = time - self->newest_time;
  self->is_spoilt = FALSE;
  packet_cutter_flush (self);
  /* Without arrival times the true length of the jump is not known: a turn is assumed. */
  self->newest_arrival += DEFAULT_PERIOD;
  self->newest_time = time;
  self->has_jumped = FALSE;
  packet_guard_set (&self->guard, time);
  packet_timeline_reset (&self->timeline);
}

static gboolean
is_early (const PacketCutter *self, gint64 time)
{
  if (self->next_arrival < 0)
    return time > self->newest_time + MAX_STEP;
  return packet_timeline_is_early (&self->timeline, time, self->next_arrival, MAX_EARLY);
}

/* FALSE: the packet is left out. */
static gboolean
check_time (PacketCutter *self, gint64 time, gboolean is_discont)
{
  const PacketGuard before = self->guard;
  if (self->has_jumped || (self->guard.is_set && is_discont && time < self->newest_time)) {
    jump (self, time);
    return TRUE;
  }
  switch (packet_guard_check (&self->guard, time, !is_discont && is_early (self, time))) {
  case PACKET_TIME_NEXT:
  case PACKET_TIME_BEHIND:
    return TRUE;
  case PACKET_TIME_DUPLICATE:
    self->counts.n_duplicates++;
    return FALSE;
  case PACKET_TIME_SET:
    if (before.are_behind) {
      /* The packets since the clock was set were merged into this scan as late ones, with wrong
       * times. */
      drop_points (self);
      jump (self, time);
      self->is_spoilt = TRUE;
      return TRUE;
    }
    self->guard.n_others = before.n_others + 1;
    self->has_jumped = TRUE;
    break;
  case PACKET_TIME_HELD:
    break;
  }
  self->is_held = TRUE;
  return FALSE;
}

gboolean
packet_cutter_begin_packet (PacketCutter *self, gint64 time)
{
  const gint64 arrival = self->next_arrival;
  const gboolean is_discont = self->is_discont;
  self->is_discont = self->is_held = FALSE;
  if (!check_time (self, time, is_discont))
    return FALSE;
  if (is_discont)
    packet_timeline_reset (&self->timeline);
  if (arrival >= 0) {
    packet_timeline_add (&self->timeline, time, arrival);
    self->arrival = time + self->timeline.offset;
  } else {
    self->arrival = self->has_packet ? MAX (self->newest_arrival + time - self->newest_time, 0) : 0;
  }
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

/* The estimate of the offset improves with each packet: the first ones of the scan may have been
 * delayed. */
static void
correct_pts (PacketCutter *self, PacketScan *scan)
{
  if (self->timeline.is_set && scan->epoch == self->timeline.epoch)
    scan->pts = MAX (packet_timeline_use (&self->timeline, scan->time), 0);
}

void
packet_cutter_count_skipped (PacketCutter *self)
{
  self->counts.n_skipped++;
}

void
packet_cutter_count_late (PacketCutter *self)
{
  if (!self->is_late)
    self->counts.n_late++;
  self->is_late = TRUE;
}

gboolean
packet_cutter_is_spoilt (const PacketCutter *self)
{
  return self->is_spoilt;
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

/* Ends the scan before an interruption. */
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

/* From an azimuth to the next, in [0, 360); they are at least 0 and less than 720 apart. */
static gdouble
get_turn (gdouble from, gdouble to)
{
  const gdouble turn = to - from + (to < from ? 360 : 0);
  return turn < 360 ? turn : turn - 360;
}

/* How fast the sensor turns, by this scan or the one before; degrees per ns, 0: not known. */
static gdouble
get_rate (const PacketCutter *self)
{
  const gdouble turned = self->last_relative - self->first_relative;
  const gint64 passed = self->last_time - self->first_time;
  return turned >= MIN_TURNED && passed > 0 ? turned / (gdouble)passed : self->rate;
}

/* Starts the estimate of the rate at this firing. */
static void
restart_rate (PacketCutter *self, gint64 time, gdouble relative)
{
  self->first_time = time;
  self->first_relative = relative;
}

/* Cuts elsewhere from now on. A scan that began at the other angle is no whole turn. */
static void
set_cut_angle (PacketCutter *self, gdouble angle)
{
  const gdouble last = get_turn (0, self->cut_angle + self->last_relative);
  self->rate = get_rate (self);
  self->cut_angle = get_turn (0, angle);
  self->last_relative = get_turn (self->cut_angle, last);
  restart_rate (self, self->last_time, self->last_relative);
  self->is_whole = FALSE;
}

static gboolean
are_near (gdouble a, gdouble b)
{
  const gdouble turn = get_turn (a, b);
  return a >= 0 && b >= 0 && MIN (turn, 360 - turn) < BLIND_MARGIN;
}

/* Whether the sensor turned on by @turn in the time since the last firing and sent nothing. */
static gboolean
is_blind (const PacketCutter *self, gint64 time, gdouble turn)
{
  const gdouble rate = turn >= BLIND_TWICE ? get_rate (self) : 0;
  if (rate <= 0)
    return FALSE;
  const gdouble expected = turn / rate;
  return fabs ((gdouble)(time - self->last_time) - expected) < BLIND_TIME * expected + 2.0 * MSEC;
}

/* Learns the field of view from a jump of the azimuth. Whether the jump is that over its blind
 * part; lost packets make jumps as well. */
static gboolean
learn_blind (PacketCutter *self, gdouble azimuth, gdouble turn)
{
  const Sector jump = {get_turn (0, self->cut_angle + self->last_relative), azimuth};
  const gboolean is_known = self->has_blind && are_near (jump.from, self->blind.from) &&
                            are_near (jump.to, self->blind.to);
  const gboolean came_twice =
      are_near (jump.from, self->last_jump.from) && are_near (jump.to, self->last_jump.to);
  self->last_jump = jump;
  if (is_known)
    return TRUE;
  if (!came_twice && (turn < BLIND_AT_ONCE || self->has_seen_turn))
    return FALSE;
  self->has_blind = TRUE;
  self->blind = jump;
  set_cut_angle (self, jump.from + turn / 2);
  return TRUE;
}

/* A firing within the blind part: what was taken for it was an interruption. */
static void
forget_blind (PacketCutter *self, gdouble azimuth)
{
  const gdouble within = get_turn (self->blind.from, azimuth);
  const gdouble size = get_turn (self->blind.from, self->blind.to);
  if (within > BLIND_MARGIN && within < size - BLIND_MARGIN) {
    self->has_blind = FALSE;
    self->last_jump = (Sector){-1, -1};
    self->counts.n_gaps++;
    set_cut_angle (self, self->angle);
  }
}

/* Whether a firing follows on the last one of the scan: nearly all do. */
static inline gboolean
follows (const PacketCutter *self, gint64 time, gdouble relative)
{
  const gdouble turn = relative - self->last_relative;
  return self->has_scan && !self->has_blind && turn >= 0 && turn <= MAX_AZIMUTH_STEP &&
         time >= self->last_time && time - self->last_time <= MAX_FIRING_STEP &&
         time - self->scan.time <= 2 * MAX_PERIOD;
}

/* Ends the scan in the making where this firing is not of it, and begins one. FALSE: the firing is
 * of a scan that is no more. */
static gboolean
place (PacketCutter *self, gint64 time, gdouble azimuth)
{
  const gint64 period = self->period > 0 ? self->period : DEFAULT_PERIOD;
  gdouble relative = get_turn (self->cut_angle, azimuth);
  if (follows (self, time, relative)) {
    self->last_time = time;
    self->last_relative = relative;
    return TRUE;
  }
  if (self->has_scan && time < self->last_time)
    return time >= self->scan.time - MAX_OVERLAP;
  const gdouble turn = get_turn (self->last_relative, relative);
  const gdouble before = self->cut_angle;
  gboolean is_jump = FALSE;
  if (self->has_blind)
    forget_blind (self, azimuth);
  if (turn > MAX_AZIMUTH_STEP && self->has_scan && is_blind (self, time, turn))
    is_jump = learn_blind (self, azimuth, turn);
  if (self->cut_angle != before)
    relative = get_turn (self->cut_angle, azimuth);
  if (self->has_scan && !is_jump && time - self->last_time > period / 2) {
    self->counts.n_gaps++;
    cut_short (self);
  } else if (self->has_scan && (is_jump ? relative < turn : relative < self->last_relative - 180)) {
    if (self->is_whole)
      self->period = MIN (time - self->scan.time, MAX_PERIOD);
    self->has_seen_turn |= self->is_whole && !self->has_blind;
    self->rate = get_rate (self);
    cut (self, time);
    begin_scan (self, time, TRUE);
    restart_rate (self, time, relative);
  } else if (self->has_scan && time - self->scan.time > 2 * MAX_PERIOD) {
    self->counts.n_stalled++;
    drop_points (self);
  } else if (self->has_scan && !is_jump && relative > self->last_relative + 180) {
    /* Azimuth noise around the angle of the cut is no turn. */
    relative = self->last_relative;
  }
  if (!self->has_scan) {
    begin_scan (self, time, FALSE);
    restart_rate (self, time, relative);
  }
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
  /* Consecutive scans have about the same size. */
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
  if (!place (self, time, azimuth) || self->scan.n_points + n > MAX_POINTS) {
    packet_cutter_count_late (self);
    return NULL;
  }
  make_room (self, n);
  *seconds = (gfloat)((gdouble)MAX (time - self->scan.time, 0) * 1e-9);
  return self->scan.points + self->scan.n_points;
}

void
packet_cutter_commit (PacketCutter *self, guint n)
{
  self->scan.n_points += n;
}

gboolean
packet_cutter_has_finished (const PacketCutter *self)
{
  return self->finished.length > 0;
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
