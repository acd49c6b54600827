/* SPDX-License-Identifier: MIT */
#include "ndt-tracker.h"

#include <math.h>

void
ndt_tracker_reset (NdtTracker *tracker)
{
  const NdtTracker empty = {0};
  *tracker = empty;
  tracker->time = tracker->good_time = -1;
}

static void
ndt_tracker_difference (const NdtPose *a, const NdtPose *b, double *metres, double *radians)
{
  double d2 = 0, dot = 0;
  for (int i = 0; i < 3; i++)
    d2 += (a->position[i] - b->position[i]) * (a->position[i] - b->position[i]);
  for (int i = 0; i < 4; i++)
    dot += a->orientation[i] * b->orientation[i];
  *metres = sqrt (d2);
  *radians = 2 * acos (fabs (dot) < 1 ? fabs (dot) : 1);
}

int
ndt_tracker_is_near (
    const NdtPose *pose, const NdtPose *own, double metres, double radians, double elapsed)
{
  double m, r;
  ndt_tracker_difference (pose, own, &m, &r);
  return m <= metres + 0.5 * NDT_TRACKER_ACCELERATION * elapsed * elapsed && r <= radians;
}

/* Returns 1 where the pose is out of the range of constant velocity. */
static int
ndt_tracker_jumps (const NdtTrackerGuess *guess, const NdtPose *pose)
{
  return guess->coasts &&
         !ndt_tracker_is_near (pose, &guess->own, NDT_TRACKER_REACH, 4, guess->elapsed);
}

static void
ndt_tracker_add_guess (NdtTrackerGuess *guess, const NdtPose *pose)
{
  if (guess->n_others == NDT_TRACKER_MAX_OTHERS ||
      ndt_tracker_is_near (pose, &guess->pose, NDT_TRACKER_SAME, NDT_TRACKER_SAME_TURN, 0))
    return;
  for (int i = 0; i < guess->n_others; i++)
    if (ndt_tracker_is_near (pose, &guess->others[i], NDT_TRACKER_SAME, NDT_TRACKER_SAME_TURN, 0))
      return;
  guess->others[guess->n_others++] = *pose;
}

NdtPose
ndt_tracker_turn_prior (const NdtPose *prior, const NdtPose *pose)
{
  NdtPose turned = *prior;
  for (int i = 0; i < 4; i++)
    turned.orientation[i] = pose->orientation[i];
  return turned;
}

/* @pose moved by the increment of odometry. */
static NdtPose
ndt_tracker_move (const NdtPose *pose, const NdtPose *before, const NdtPose *after)
{
  const NdtPose inverse = ndt_pose_inverse (before);
  const NdtPose increment = ndt_pose_mul (&inverse, after);
  return ndt_pose_mul (pose, &increment);
}

static NdtPose
ndt_tracker_extrapolate (const NdtTracker *tracker, const NdtPose *from, double ratio)
{
  double twist[6];
  for (int i = 0; i < 6; i++)
    twist[i] = ratio * tracker->velocity[i];
  const NdtPose step = ndt_pose_from_twist (twist);
  return ndt_pose_mul (from, &step);
}

/* Sets guess->own. */
static void
ndt_tracker_coast (const NdtTracker *tracker, int64_t time, NdtTrackerGuess *guess)
{
  const int32_t timed = tracker->time >= 0 && time > tracker->time;
  const int64_t limit = 3 * tracker->scan_time / 2;
  double ratio = 1;
  guess->elapsed = timed ? 1e-9 * (double)(time - tracker->time) : 0;
  guess->own = tracker->pose;
  guess->coasts = 0;
  if (!tracker->has_velocity)
    return;
  if (tracker->velocity_time == 0) {
    if (tracker->scans_since_good >= NDT_TRACKER_MAX_COAST_SCANS)
      return;
  } else {
    if (tracker->good_time >= 0 &&
        time - tracker->good_time > (limit > NDT_TRACKER_MAX_COAST ? limit : NDT_TRACKER_MAX_COAST))
      return;
    /* One step where the times do not increase. */
    ratio = (double)(timed ? time - tracker->time : tracker->scan_time) /
            (double)tracker->velocity_time;
    if (ratio > NDT_TRACKER_MAX_STEPS)
      return;
  }
  guess->own = ndt_tracker_extrapolate (tracker, &tracker->pose, ratio);
  guess->coasts = 1;
}

/* Longest extrapolation by the velocity that the stream had when it was last accepted, seconds. */
#define SEARCH_COAST 5.0

/* Where the anchor's velocity leads in so many seconds. */
static NdtPose
ndt_tracker_extrapolate_anchor (const NdtTracker *tracker, double seconds)
{
  double twist[6];
  for (int i = 0; i < 6; i++)
    twist[i] = seconds * tracker->anchor_velocity[i];
  const NdtPose way = ndt_pose_from_twist (twist);
  return ndt_pose_mul (&tracker->anchor, &way);
}

/* Extrapolates the last good pose by the velocity, or, where that was discarded since, the last
 * accepted one by that which it had. 0 where there is none. */
static int
ndt_tracker_get_course (const NdtTracker *tracker, int64_t time, NdtPose *course)
{
  if (tracker->has_velocity && tracker->velocity_time > 0 && tracker->good_time >= 0 &&
      time > tracker->good_time && time - tracker->good_time <= NDT_TRACKER_MAX_EXTRAPOLATION) {
    *course = ndt_tracker_extrapolate (tracker, &tracker->good_pose,
        (double)(time - tracker->good_time) / (double)tracker->velocity_time);
    return 1;
  }
  const double since = 1e-9 * (double)(time - tracker->anchor_time);
  /* The velocity along a direction that was open is not known from scans. */
  if (tracker->has_velocity || tracker->n_open > 0 || !tracker->has_anchor ||
      !tracker->is_anchor_good || !tracker->has_anchor_velocity || tracker->anchor_time < 0 ||
      !(since > 0) || since > SEARCH_COAST)
    return 0;
  *course = ndt_tracker_extrapolate_anchor (tracker, since);
  return 1;
}

void
ndt_tracker_hold (
    const NdtPose *prior, double limit, const double orientation[4], NdtTrackerGuess *guess)
{
  const double *q = orientation, *p = guess->pose.position;
  const double x = 1 - 2 * (q[1] * q[1] + q[2] * q[2]), y = 2 * (q[0] * q[1] + q[2] * q[3]);
  const double length = sqrt (x * x + y * y);
  /* There is no heading where the x axis is vertical. */
  if (length < 1e-3)
    return;
  guess->is_held = 1;
  guess->direction[0] = x / length;
  guess->direction[1] = y / length;
  double e = guess->direction[0] * (prior->position[0] - p[0]) +
             guess->direction[1] * (prior->position[1] - p[1]);
  guess->is_apart = guess->is_beyond = fabs (e) > limit;
  if (guess->is_apart)
    e = limit * limit / e;
  for (int i = 0; i < 2; i++)
    guess->held[i] = p[i] + e * guess->direction[i];
  for (int i = 0; i < 4; i++)
    guess->held_orientation[i] = q[i];
}

/* Standard deviations of the motion within which a prior takes part although it is out of range: of
 * a velocity that is not known well yet. */
#define MOTION_SIGMAS 4.0

/* Makes the prior part of the objective, along the heading of @orientation. */
static void
ndt_tracker_hold_prior (const NdtTracker *tracker, const NdtTrackerInput *input,
    const double orientation[4], NdtTrackerGuess *guess)
{
  static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0};
  const double t = guess->elapsed;
  const NdtDriftStep step = {.seconds = t > 0 ? t : NDT_TRACKER_NO_TIME};
  const double reach = NDT_TRACKER_REACH + 0.5 * NDT_TRACKER_ACCELERATION * t * t;
  ndt_tracker_hold (&input->prior, reach, orientation, guess);
  if (!guess->is_apart || guess->prediction != NDT_TRACKER_FROM_VELOCITY)
    return;
  const double sigma = sqrt (ndt_drift_predict (&tracker->drift, &step, x) +
                             ndt_drift_predict (&tracker->drift, &step, y));
  ndt_tracker_hold (&input->prior, fmax (reach, MOTION_SIGMAS * sigma), orientation, guess);
  guess->is_beyond = 1;
}

void
ndt_tracker_predict (
    const NdtTracker *tracker, const NdtTrackerInput *input, NdtTrackerGuess *guess)
{
  const NdtTrackerGuess none = {.pose = {{0, 0, 0}, {0, 0, 0, 1}}};
  const int32_t by_odometry = input->has_odometry && tracker->has_odometry;
  NdtPose odometry = none.pose;
  *guess = none;
  guess->has_own = tracker->status != NDT_TRACKER_LOST && tracker->has_pose;
  if (guess->has_own) {
    ndt_tracker_coast (tracker, input->time, guess);
    if (by_odometry)
      odometry = ndt_tracker_move (&tracker->pose, &tracker->odometry, &input->odometry);
  }

  if (tracker->has_initial && !(tracker->n_tries > 0 && input->has_prior)) {
    guess->prediction = NDT_TRACKER_FROM_INITIAL;
    guess->far = 1;
    guess->pose = tracker->initial;
    /* A repeated start is of an earlier scan, and is moved by odometry if the heading is known. */
    if (tracker->n_tries > 0 && by_odometry && tracker->initial_stddev[5] < NDT_TRACKER_HEADING)
      guess->pose = ndt_tracker_move (&tracker->initial, &tracker->odometry, &input->odometry);
    /* A prior of this scan is more recent than an initial pose. The stream's state is ignored after
     * a pose set by hand. */
    if (input->has_prior)
      ndt_tracker_add_guess (guess, &input->prior);
    return;
  }
  /* With a regularization the prediction by motion from an accepted pose has precedence over the
   * prior. */
  const int32_t holds = input->has_prior && input->holds;
  if (input->has_prior &&
      !(holds && guess->has_own && tracker->follows && tracker->n_against == 0)) {
    guess->prediction = NDT_TRACKER_FROM_PRIOR;
    guess->far = tracker->status != NDT_TRACKER_TRACKING;
    guess->pose = input->prior;
  } else if (guess->has_own && by_odometry) {
    guess->prediction = NDT_TRACKER_FROM_ODOMETRY;
    guess->pose = odometry;
  } else if (guess->has_own) {
    guess->prediction = NDT_TRACKER_FROM_VELOCITY;
    guess->pose = guess->own;
    /* There is no velocity after a start, nor after a long time. */
    guess->far = !guess->coasts;
  }
  if (guess->prediction == NDT_TRACKER_FROM_NOTHING && tracker->has_pose) {
    /* Lost: the last pose, moved by odometry where there is some. */
    guess->is_lost = guess->has_own = guess->far = 1;
    guess->prediction = by_odometry ? NDT_TRACKER_FROM_ODOMETRY : NDT_TRACKER_FROM_VELOCITY;
    guess->pose = guess->own =
        by_odometry ? ndt_tracker_move (&tracker->pose, &tracker->odometry, &input->odometry)
                    : tracker->pose;
    odometry = guess->pose;
  }
  NdtPose course = tracker->good_pose;
  const int32_t has_course = ndt_tracker_get_course (tracker, input->time, &course);
  const double since_good = tracker->good_time >= 0 && input->time > tracker->good_time
                                ? 1e-9 * (double)(input->time - tracker->good_time)
                                : 0;
  /* A prior that is both guess and part of the objective would outweigh all other guesses. So it is
   * part of the objective only near the prediction from good scans, with their heading. */
  const int32_t leads = guess->prediction == NDT_TRACKER_FROM_PRIOR && guess->has_own;
  const int32_t is_near = tracker->has_good && ndt_tracker_is_near (&input->prior, &course,
                                                   NDT_TRACKER_REACH, 4, since_good);
  /* A prior beyond the range of motion is wrong; several in a row, and the stream may be wrong. */
  if (holds && (!leads || is_near))
    ndt_tracker_hold_prior (
        tracker, input, leads ? course.orientation : guess->pose.orientation, guess);
  guess->is_doubted = guess->is_apart && tracker->n_apart + 1 >= NDT_TRACKER_MAX_APART;
  if (!guess->has_own)
    return;
  /* A guess that contradicts the motion may be right, or the motion may be. */
  if (ndt_tracker_jumps (guess, &guess->pose))
    guess->far = 1;
  if (holds) {
    const NdtPose turned =
        ndt_tracker_turn_prior (&input->prior, by_odometry ? &odometry : &guess->own);
    ndt_tracker_add_guess (guess, &input->prior);
    ndt_tracker_add_guess (guess, &turned);
  }
  if (by_odometry)
    ndt_tracker_add_guess (guess, &odometry);
  if (input->has_odometry && tracker->has_good_odometry && tracker->scans_since_good > 0) {
    const NdtPose pose =
        ndt_tracker_move (&tracker->good_pose, &tracker->good_odometry, &input->odometry);
    ndt_tracker_add_guess (guess, &pose);
  }
  ndt_tracker_add_guess (guess, &guess->own);
  if ((!guess->coasts || tracker->scans_since_good > 0) && has_course)
    ndt_tracker_add_guess (guess, &course);
  if (tracker->has_good)
    ndt_tracker_add_guess (guess, &tracker->good_pose);
}

double
ndt_tracker_quality (double nvtl, double matched_ratio)
{
  return nvtl * matched_ratio;
}

/* Largest error of odometry, as a fraction: three standard deviations of a bad one. */
#define ODOMETRY_ERROR 0.15

int
ndt_tracker_follows (const NdtTracker *tracker, const NdtTrackerGuess *guess, const NdtPose *pose)
{
  if (!tracker->follows || !guess->has_own)
    return 0;
  if (guess->prediction == NDT_TRACKER_FROM_ODOMETRY) {
    double way, turn;
    ndt_tracker_difference (&tracker->pose, &guess->pose, &way, &turn);
    if (ndt_tracker_is_near (pose, &guess->pose, NDT_TRACKER_FOLLOW + ODOMETRY_ERROR * way,
            NDT_TRACKER_FOLLOW_TURN + ODOMETRY_ERROR * turn, 0))
      return 1;
    if (!guess->far)
      return 0;
  }
  if (guess->coasts)
    return ndt_tracker_is_near (
        pose, &guess->own, NDT_TRACKER_FOLLOW, NDT_TRACKER_FOLLOW_TURN, guess->elapsed);
  if (guess->prediction == NDT_TRACKER_FROM_ODOMETRY && !guess->is_lost)
    return 0;
  /* The velocity is not known. */
  const double seconds = guess->elapsed > 0 ? guess->elapsed : NDT_TRACKER_NO_TIME;
  return ndt_tracker_is_near (pose, &guess->own,
      NDT_TRACKER_FOLLOW + NDT_TRACKER_MAX_SPEED * seconds,
      NDT_TRACKER_FOLLOW_TURN + NDT_TRACKER_MAX_TURN * seconds, 0);
}

/* Half-way from a fraction to all. */
static double
ndt_tracker_half (double fraction)
{
  return 0.5 * (1 + fraction);
}

int
ndt_tracker_dropped (const NdtTracker *tracker, const NdtTrackerGuess *guess, double fraction,
    const NdtPose *pose, double nvtl, double matched_ratio)
{
  if (tracker->n_good == 0 || guess->prediction == NDT_TRACKER_FROM_INITIAL || fraction <= 0)
    return 0;
  const double least =
      ndt_tracker_follows (tracker, guess, pose) ? fraction : ndt_tracker_half (fraction);
  return ndt_tracker_quality (nvtl, matched_ratio) < least * tracker->mean_quality;
}

int
ndt_tracker_suspects (const NdtTracker *tracker, const NdtTrackerGuess *guess, double fraction,
    const NdtPose *pose, double nvtl, double matched_ratio)
{
  const double level =
      ndt_tracker_follows (tracker, guess, pose) ? tracker->level : tracker->mean_quality;
  return tracker->n_good > 0 && fraction > 0 &&
         ndt_tracker_quality (nvtl, matched_ratio) < ndt_tracker_half (fraction) * level;
}

/* Velocities after a start, with a prior in the objective, of which each replaces the one before:
 * the pose at the start may have been wrong. */
#define FIRST_VELOCITIES 3

/* Updates the velocity from the last good scan to one at @time and @pose. */
static void
ndt_tracker_take_velocity (
    NdtTracker *tracker, const NdtTrackerGuess *guess, const NdtPose *pose, int64_t time)
{
  const NdtPose inverse = ndt_pose_inverse (&tracker->good_pose);
  const NdtPose step = ndt_pose_mul (&inverse, pose);
  const int64_t since = tracker->good_time;
  const int32_t timed = since >= 0 && time > since;
  double twist[6];
  ndt_pose_to_twist (&step, twist);
  if (timed && tracker->has_velocity && tracker->velocity_time > 0) {
    const double elapsed = 1e-9 * (double)(time - since);
    const int64_t last_time = tracker->velocity_at < since ? tracker->velocity_at : since;
    double velocity[6], last[6], faster = 0;
    for (int i = 0; i < 6; i++) {
      velocity[i] = twist[i] / elapsed;
      last[i] = tracker->velocity[i] / (1e-9 * (double)tracker->velocity_time);
      if (i < 3)
        faster += velocity[i] * velocity[i] - last[i] * last[i];
    }
    /* Of two velocities that contradict each other the slower one has the smaller error of
     * prediction. With a prior in the objective neither is used, since its influence on the pose is
     * no motion. */
    const int32_t is_first = guess->is_held && tracker->n_since_start <= FIRST_VELOCITIES;
    if (!is_first && (faster >= 0 || guess->is_held) &&
        !ndt_course_is_credible (velocity, elapsed, last, 1e-9 * (double)(time - last_time)))
      return;
  }
  tracker->velocity_time = tracker->scan_time = timed ? time - since : 0;
  tracker->velocity_at = time;
  for (int i = 0; i < 6; i++)
    tracker->velocity[i] = timed ? twist[i] : twist[i] / tracker->scans_since_good;
}

/* A scan that agrees with the stream: updates velocity and good pose. */
static void
ndt_tracker_take_pose (NdtTracker *tracker, const NdtTrackerInput *input,
    const NdtTrackerGuess *guess, const NdtPose *pose)
{
  /* A step across a jump gives no velocity. */
  const int32_t continues = tracker->has_good && tracker->status != NDT_TRACKER_LOST &&
                            guess->prediction != NDT_TRACKER_FROM_INITIAL &&
                            tracker->n_unconfirmed < NDT_TRACKER_CONFIRM &&
                            !ndt_tracker_jumps (guess, pose);
  if (continues)
    ndt_tracker_take_velocity (tracker, guess, pose, input->time);
  tracker->has_velocity = continues;
  tracker->has_good = 1;
  tracker->good_pose = *pose;
  tracker->good_time = input->time;
  tracker->has_good_odometry = input->has_odometry;
  tracker->good_odometry = input->odometry;
  tracker->scans_since_good = 0;
}

/* Largest standard deviation of a start without an uncertainty, metres. */
#define NARROW_START 1.0

static void
ndt_tracker_set_anchor (NdtTracker *tracker, const NdtTrackerInput *input, const NdtPose *pose,
    double stddev, int32_t is_good)
{
  tracker->has_anchor = 1;
  tracker->is_anchor_good = is_good;
  tracker->anchor = *pose;
  tracker->anchor_time = input->time;
  tracker->has_anchor_odometry = input->has_odometry;
  tracker->anchor_odometry = input->odometry;
  tracker->anchor_stddev = stddev;
  tracker->has_anchor_velocity = tracker->has_velocity && tracker->velocity_time > 0;
  for (int i = 0; i < 6 && tracker->has_anchor_velocity; i++)
    tracker->anchor_velocity[i] =
        i < 3 ? tracker->velocity[i] / (1e-9 * (double)tracker->velocity_time) : 0;
}

void
ndt_tracker_accept (
    NdtTracker *tracker, const NdtTrackerInput *input, const NdtPose *pose, double overlap)
{
  ndt_tracker_set_anchor (tracker, input, pose, 0.5, 1);
  tracker->anchor_overlap = overlap;
}

/* Metres and rad beyond the motion; the least speed, m/s, and how much faster than at the anchor a
 * body may be. */
#define REACH_METRES 3.0
#define REACH_RADIANS 0.5
#define REACH_SPEED 3.0
#define REACH_FASTER 1.5

/* Seconds since the anchor. */
static double
ndt_tracker_since_anchor (const NdtTracker *tracker, const NdtTrackerInput *input)
{
  return tracker->anchor_time >= 0 && input->time > tracker->anchor_time
             ? 1e-9 * (double)(input->time - tracker->anchor_time)
             : NDT_TRACKER_NO_TIME * tracker->n_skipped;
}

/* A start without an uncertainty that has not fitted for this long is wrong, seconds. */
#define START_PATIENCE 1.5

/* Returns 1 where the anchor is such a start. */
static int
ndt_tracker_is_refuted (const NdtTracker *tracker, const NdtTrackerInput *input)
{
  return !tracker->is_anchor_good && tracker->anchor_stddev <= NARROW_START &&
         ndt_tracker_since_anchor (tracker, input) > START_PATIENCE;
}

int
ndt_tracker_reaches (const NdtTracker *tracker, const NdtTrackerInput *input, const NdtPose *pose)
{
  const double seconds = ndt_tracker_since_anchor (tracker, input);
  const double *v = tracker->anchor_velocity;
  double speed = REACH_SPEED, way, turn;
  if (!tracker->has_anchor)
    return 1;
  if (ndt_tracker_is_refuted (tracker, input))
    return 0;
  if (tracker->has_anchor_odometry && input->has_odometry) {
    const NdtPose led =
        ndt_tracker_move (&tracker->anchor, &tracker->anchor_odometry, &input->odometry);
    ndt_tracker_difference (&tracker->anchor, &led, &way, &turn);
    return ndt_tracker_is_near (
        pose, &led, REACH_METRES + ODOMETRY_ERROR * way, REACH_RADIANS + ODOMETRY_ERROR * turn, 0);
  }
  if (!tracker->is_anchor_good && !tracker->has_anchor_velocity)
    speed = 0; /* what a start may be off by has no motion */
  else if (tracker->is_anchor_good && (!tracker->has_anchor_velocity || tracker->n_open > 0))
    speed = NDT_TRACKER_MAX_SPEED;
  else if (tracker->has_anchor_velocity)
    speed = fmax (speed, REACH_FASTER * sqrt (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
  return ndt_tracker_is_near (pose, &tracker->anchor, REACH_METRES + REACH_FASTER * speed * seconds,
      REACH_RADIANS + NDT_TRACKER_MAX_TURN * seconds, 0);
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
  const double since = ndt_tracker_since_anchor (tracker, input);
  double metres, radians, xy, yaw = 1.5;
  /* A start without an uncertainty is contradicted by each place in which it does not lie: all of
   * the map may have rivals of these. */
  if (!tracker->has_anchor || (!tracker->is_anchor_good && tracker->anchor_stddev <= NARROW_START))
    return 0;
  *around = tracker->anchor;
  if (tracker->has_anchor_velocity && since < SEARCH_COAST)
    *around = ndt_tracker_extrapolate_anchor (tracker, since);
  xy = tracker->anchor_stddev + (tracker->is_anchor_good ? SEARCH_SPEED * since : 0);
  if (tracker->has_anchor_odometry && input->has_odometry) {
    *around = ndt_tracker_move (&tracker->anchor, &tracker->anchor_odometry, &input->odometry);
    ndt_tracker_difference (around, &tracker->anchor, &metres, &radians);
    /* After a second without a match at its prediction odometry is wrong or has slipped. */
    xy = tracker->anchor_stddev + SEARCH_DRIFT * metres +
         (tracker->n_against > 10 ? SEARCH_SPEED * (since - 1) : 0);
    yaw = tracker->n_against > 10 ? 1.5 : 0.2 + SEARCH_TURN * since;
  }
  xy = xy > SEARCH_STDDEV ? SEARCH_STDDEV : xy;
  for (int i = 0; i < 6; i++)
    stddev[i] = i < 2 ? xy : i == 2 ? 0.3 : i == 5 ? yaw : 0;
  return 1;
}

void
ndt_tracker_relocate (NdtTracker *tracker, const NdtPose *pose, int64_t time,
    const NdtPose *odometry, const double velocity[6], int64_t velocity_time)
{
  const NdtPose none = {{0, 0, 0}, {0, 0, 0, 1}};
  tracker->status = NDT_TRACKER_DEGRADED;
  tracker->n_against = tracker->has_initial = tracker->n_tries = 0;
  tracker->has_pose = tracker->has_good = tracker->follows = 1;
  tracker->pose = tracker->good_pose = *pose;
  tracker->time = tracker->good_time = time;
  tracker->has_odometry = tracker->has_good_odometry = odometry != 0;
  tracker->odometry = tracker->good_odometry = odometry ? *odometry : none;
  tracker->scans_since_good = 0;
  tracker->has_velocity = velocity != 0;
  for (int i = 0; i < 6 && velocity; i++)
    tracker->velocity[i] = velocity[i];
  tracker->velocity_time = tracker->scan_time = velocity ? velocity_time : 0;
  tracker->velocity_at = time;
  tracker->n_good = 0;
  tracker->n_closed = 0;
  tracker->n_unconfirmed = 1;
}

int
ndt_tracker_starts (const NdtTrackerGuess *guess)
{
  return guess->prediction == NDT_TRACKER_FROM_INITIAL ||
         (guess->prediction == NDT_TRACKER_FROM_PRIOR && !guess->has_own);
}

/* Returns 1 where the stream continues from the guess of a scan that was not aligned. A prior or
 * odometry that could not be aligned is discarded; a pose set by hand is kept for the next scan
 * that can be aligned. */
static int
ndt_tracker_believes (const NdtTrackerGuess *guess, NdtTrackerOutcome outcome)
{
  if (!guess->has_own)
    return 1;
  if (guess->prediction == NDT_TRACKER_FROM_INITIAL)
    return outcome == NDT_OUTCOME_UNUSABLE;
  return !guess->far &&
         (outcome == NDT_OUTCOME_UNUSABLE || guess->prediction == NDT_TRACKER_FROM_ODOMETRY);
}

void
ndt_tracker_update (NdtTracker *tracker, const NdtTrackerInput *input, const NdtTrackerGuess *guess,
    NdtTrackerOutcome outcome, const NdtPose *pose, double nvtl, double matched_ratio,
    uint32_t max_skips)
{
  const double quality = ndt_tracker_quality (nvtl, matched_ratio);
  const int32_t starts = ndt_tracker_starts (guess);
  /* A start whose scan could not be aligned gives no pose. One set by hand is kept; others are kept
   * for as many scans as they are tried. */
  const int32_t waits = starts && !guess->has_own && outcome == NDT_OUTCOME_UNUSABLE;
  const int32_t again =
      outcome == NDT_OUTCOME_UNCERTAIN ||
      (waits && (guess->prediction == NDT_TRACKER_FROM_PRIOR || tracker->n_tries > 0));
  const int32_t carries = tracker->follows && !guess->far &&
                          (guess->prediction == NDT_TRACKER_FROM_ODOMETRY ||
                              (guess->prediction == NDT_TRACKER_FROM_VELOCITY && guess->coasts &&
                                  tracker->n_against < NDT_TRACKER_CARRY));
  tracker->scans_since_good++;
  if (starts)
    tracker->n_against = 0;
  if (outcome == NDT_OUTCOME_GOOD) {
    /* What scans in another place told of an open road, and how that was found, is over. */
    if (starts)
      tracker->n_closed = tracker->is_from_far = 0;
    ndt_tracker_take_pose (tracker, input, guess, pose);
    tracker->follows = 1;
    tracker->n_against = 0;
    tracker->n_unconfirmed -= tracker->n_unconfirmed > 0;
    tracker->status = tracker->n_unconfirmed > 0 ? NDT_TRACKER_DEGRADED : NDT_TRACKER_TRACKING;
    tracker->n_skipped = tracker->n_unconfirmed > 0 ? tracker->n_skipped + 1 : 0;
    tracker->has_initial = tracker->n_tries = 0;
    /* A running mean over about ten scans adapts to the surroundings. */
    tracker->n_good = starts ? 1 : tracker->n_good + 1;
    tracker->n_since_start =
        starts ? 1 : tracker->n_since_start + (tracker->n_since_start < INT32_MAX);
    tracker->mean_quality +=
        (quality - tracker->mean_quality) / (tracker->n_good < 10 ? tracker->n_good : 10);
    tracker->mean_nvtl +=
        (nvtl - tracker->mean_nvtl) / (tracker->n_good < 10 ? tracker->n_good : 10);
    tracker->level = tracker->mean_quality;
  } else {
    tracker->n_skipped++;
    /* A scan that could not be aligned is no evidence against the pose. */
    tracker->n_against += outcome <= NDT_OUTCOME_DEGRADED;
    /* Along a road that was open scans in a row have to tell where the body is. */
    if (outcome <= NDT_OUTCOME_DEGRADED)
      tracker->n_closed = 0;
    if (starts && outcome <= NDT_OUTCOME_FAILED)
      ndt_tracker_set_anchor (
          tracker, input, &guess->pose, fmax (tracker->initial_stddev[0], NARROW_START), 0);
    tracker->level = tracker->mean_quality;
    if (outcome == NDT_OUTCOME_DOUBTFUL) {
      tracker->follows = ndt_tracker_follows (tracker, guess, pose);
      if (tracker->follows) {
        ndt_tracker_take_pose (tracker, input, guess, pose);
        tracker->level = quality;
        tracker->n_against = 0;
      }
    } else if (outcome < NDT_OUTCOME_FAILED) {
      /* For some scans the motion is continued from an accepted pose even where scans are rejected.
       */
      tracker->follows = carries;
      tracker->has_velocity = tracker->has_velocity && tracker->n_against <= NDT_TRACKER_CARRY;
    }
    if (guess->prediction == NDT_TRACKER_FROM_NOTHING)
      tracker->status = tracker->has_good || tracker->status == NDT_TRACKER_LOST
                            ? NDT_TRACKER_LOST
                            : NDT_TRACKER_INITIALIZING;
    else if ((uint32_t)tracker->n_against > max_skips ||
             (guess->is_lost && outcome != NDT_OUTCOME_GOOD))
      tracker->status = NDT_TRACKER_LOST;
    else if (outcome <= NDT_OUTCOME_DEGRADED)
      tracker->status = NDT_TRACKER_DEGRADED;
    else if (outcome == NDT_OUTCOME_FAILED && tracker->status != NDT_TRACKER_TRACKING &&
             tracker->status != NDT_TRACKER_DEGRADED && tracker->status != NDT_TRACKER_SKIPPED)
      tracker->status = NDT_TRACKER_LOST; /* a start without any pair */
    else
      tracker->status = NDT_TRACKER_SKIPPED;
    /* Scores may differ in the place where it is found. */
    if (tracker->status == NDT_TRACKER_LOST)
      tracker->n_good = tracker->follows = tracker->has_velocity = 0;
    /* An initial pose is kept for the next scan that can be aligned. */
    if (outcome != NDT_OUTCOME_UNUSABLE)
      tracker->has_initial = 0;
    /* Repeats the search around an uncertain start; an unreliable result is not used for
     * predictions. */
    if (again && (uint32_t)++tracker->n_tries <= max_skips) {
      tracker->has_initial = 1;
      tracker->initial = guess->pose;
    } else if (again) {
      tracker->has_initial = 0;
      tracker->status = NDT_TRACKER_LOST;
      tracker->n_good = 0;
    }
    if (!tracker->has_initial)
      tracker->n_tries = 0;
  }

  if (guess->is_held)
    tracker->n_apart = guess->is_beyond && !guess->is_doubted ? tracker->n_apart + 1 : 0;
  tracker->has_pose =
      guess->prediction != NDT_TRACKER_FROM_NOTHING && outcome != NDT_OUTCOME_UNCERTAIN && !waits;
  if (outcome <= NDT_OUTCOME_DOUBTFUL || (outcome <= NDT_OUTCOME_DEGRADED && !carries))
    tracker->pose = *pose;
  else if (outcome <= NDT_OUTCOME_DEGRADED)
    tracker->pose = guess->pose;
  else
    tracker->pose = ndt_tracker_believes (guess, outcome) ? guess->pose : guess->own;
  tracker->time = input->time;
  /* Where odometry is missing on a scan, increments start again with the next. */
  tracker->has_odometry = input->has_odometry;
  tracker->odometry = input->odometry;
}
