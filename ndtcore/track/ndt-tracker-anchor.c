/* SPDX-License-Identifier: MIT */
/* The last accepted pose, and where the body may be by what is known since: docs/tracking.md,
 * "Recovery". */
#include <math.h>

#include "ndt-tracker.h"

/* Longest extrapolation by the velocity that the stream had when it was last accepted, seconds. */
#define SEARCH_COAST 5.0

/* Where its velocity leads in so many seconds. */
static NdtPose
extrapolate (const NdtTracker *tracker, double seconds)
{
  double twist[6];
  for (int i = 0; i < 6; i++)
    twist[i] = seconds * tracker->anchor.velocity[i];
  const NdtPose way = ndt_pose_from_twist (twist);
  return ndt_pose_mul (&tracker->anchor.pose, &way);
}

int
ndt_tracker_extrapolate_anchor (const NdtTracker *tracker, int64_t time, NdtPose *pose)
{
  const NdtTrackerAnchor *anchor = &tracker->anchor;
  const double since = 1e-9 * (double)(time - anchor->time);
  /* The velocity along a direction that was open is not known from scans. */
  if (tracker->n_open > 0 || !anchor->is_set || !anchor->is_accepted || !anchor->has_velocity ||
      anchor->time < 0 || !(since > 0) || since > SEARCH_COAST)
    return 0;
  *pose = extrapolate (tracker, since);
  return 1;
}

/* Largest standard deviation of a start without an uncertainty, metres. */
#define NARROW_START 1.0

static void
set_anchor (NdtTracker *tracker, const NdtTrackerInput *input, const NdtPose *pose, double stddev,
    int32_t is_good)
{
  tracker->anchor.is_set = 1;
  tracker->anchor.is_accepted = is_good;
  tracker->anchor.pose = *pose;
  tracker->anchor.time = input->time;
  tracker->anchor.has_odometry = input->has_odometry && !tracker->is_odometry_off;
  tracker->anchor.odometry = input->odometry;
  tracker->anchor.stddev = stddev;
  tracker->anchor.has_velocity = tracker->has_velocity && tracker->velocity_time > 0;
  for (int i = 0; i < 6 && tracker->anchor.has_velocity; i++)
    tracker->anchor.velocity[i] =
        i < 3 ? tracker->velocity[i] / (1e-9 * (double)tracker->velocity_time) : 0;
}

void
ndt_tracker_accept (
    NdtTracker *tracker, const NdtTrackerInput *input, const NdtPose *pose, double overlap)
{
  set_anchor (tracker, input, pose, 0.5, 1);
  tracker->anchor.overlap = overlap;
}

void
ndt_tracker_reject_start (NdtTracker *tracker, const NdtTrackerInput *input, const NdtPose *start)
{
  set_anchor (tracker, input, start, fmax (tracker->initial_stddev[0], NARROW_START), 0);
}

void
ndt_tracker_contradict (NdtTracker *tracker, const double apart[3], double seconds)
{
  ndt_drift_contradict (&tracker->drift, apart, seconds);
  ndt_drift_contradict (&tracker->open_drift, apart, seconds);
  tracker->is_odometry_off = 1;
  tracker->anchor.has_odometry = 0;
}

/* Metres and rad beyond the motion; the least speed, m/s, and how much faster than at the anchor a
 * body may be. */
#define REACH_METRES 3.0
#define REACH_RADIANS 0.5
#define REACH_SPEED 3.0
#define REACH_FASTER 1.5

/* Seconds since the anchor. */
static double
get_since (const NdtTracker *tracker, const NdtTrackerInput *input)
{
  return tracker->anchor.time >= 0 && input->time > tracker->anchor.time
             ? 1e-9 * (double)(input->time - tracker->anchor.time)
             : NDT_TRACKER_NO_TIME * tracker->n_skipped;
}

/* A start without an uncertainty that has not fitted for this long is wrong, seconds. */
#define START_PATIENCE 1.5

/* Returns 1 where the anchor is such a start. */
static int
is_refuted (const NdtTracker *tracker, const NdtTrackerInput *input)
{
  return !tracker->anchor.is_accepted && tracker->anchor.stddev <= NARROW_START &&
         get_since (tracker, input) > START_PATIENCE;
}

int
ndt_tracker_reaches (const NdtTracker *tracker, const NdtTrackerInput *input, const NdtPose *pose)
{
  const double seconds = get_since (tracker, input);
  const double *v = tracker->anchor.velocity;
  double speed = REACH_SPEED, way, turn;
  if (!tracker->anchor.is_set)
    return 1;
  if (is_refuted (tracker, input))
    return 0;
  if (tracker->anchor.has_odometry && input->has_odometry) {
    const NdtPose led =
        ndt_tracker_move (&tracker->anchor.pose, &tracker->anchor.odometry, &input->odometry);
    ndt_tracker_difference (&tracker->anchor.pose, &led, &way, &turn);
    return ndt_tracker_is_near (pose, &led, REACH_METRES + NDT_TRACKER_ODOMETRY_ERROR * way,
        REACH_RADIANS + NDT_TRACKER_ODOMETRY_ERROR * turn, 0);
  }
  if (!tracker->anchor.is_accepted && !tracker->anchor.has_velocity)
    speed = 0; /* what a start may be off by has no motion */
  else if (tracker->anchor.is_accepted && (!tracker->anchor.has_velocity || tracker->n_open > 0))
    speed = NDT_TRACKER_MAX_SPEED;
  else if (tracker->anchor.has_velocity)
    speed = fmax (speed, REACH_FASTER * sqrt (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
  return ndt_tracker_is_near (pose, &tracker->anchor.pose,
      REACH_METRES + REACH_FASTER * speed * seconds, REACH_RADIANS + NDT_TRACKER_MAX_TURN * seconds,
      0);
}

/* Growth of the searched region, m/s. */
#define SEARCH_SPEED 5.0
/* Largest standard deviation of the searched region, metres. */
#define SEARCH_STDDEV 12.0
/* Errors of odometry: a fraction of the distance, and rad a second. */
#define SEARCH_DRIFT 0.1
#define SEARCH_TURN 0.02

int
ndt_tracker_get_area (
    const NdtTracker *tracker, const NdtTrackerInput *input, NdtPose *around, double stddev[6])
{
  const double since = get_since (tracker, input);
  double metres, radians, xy, yaw = 1.5;
  /* A start without an uncertainty is contradicted by each place in which it does not lie: all of
   * the map may have rivals of these. */
  if (!tracker->anchor.is_set ||
      (!tracker->anchor.is_accepted && tracker->anchor.stddev <= NARROW_START))
    return 0;
  *around = tracker->anchor.pose;
  if (tracker->anchor.has_velocity && since < SEARCH_COAST)
    *around = extrapolate (tracker, since);
  xy = tracker->anchor.stddev + (tracker->anchor.is_accepted ? SEARCH_SPEED * since : 0);
  if (tracker->anchor.has_odometry && input->has_odometry) {
    *around = ndt_tracker_move (&tracker->anchor.pose, &tracker->anchor.odometry, &input->odometry);
    ndt_tracker_difference (around, &tracker->anchor.pose, &metres, &radians);
    /* After a second without a match at its prediction odometry is wrong or has slipped. */
    xy = tracker->anchor.stddev + SEARCH_DRIFT * metres +
         (tracker->n_against > 10 ? SEARCH_SPEED * (since - 1) : 0);
    yaw = tracker->n_against > 10 ? 1.5 : 0.2 + SEARCH_TURN * since;
  }
  xy = xy > SEARCH_STDDEV ? SEARCH_STDDEV : xy;
  for (int i = 0; i < 6; i++)
    stddev[i] = i < 2 ? xy : i == 2 ? 0.3 : i == 5 ? yaw : 0;
  return 1;
}
