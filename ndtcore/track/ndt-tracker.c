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
  return !tracker->has_velocity && ndt_tracker_extrapolate_anchor (tracker, time, course);
}

void
ndt_tracker_add_prior_term (
    const NdtPose *prior, double limit, const double orientation[4], NdtTrackerGuess *guess)
{
  const double *q = orientation, *p = guess->pose.position;
  const double x = 1 - 2 * (q[1] * q[1] + q[2] * q[2]), y = 2 * (q[0] * q[1] + q[2] * q[3]);
  const double length = sqrt (x * x + y * y);
  /* There is no heading where the x axis is vertical. */
  if (length < 1e-3)
    return;
  guess->has_prior_term = 1;
  guess->direction[0] = x / length;
  guess->direction[1] = y / length;
  double e = guess->direction[0] * (prior->position[0] - p[0]) +
             guess->direction[1] * (prior->position[1] - p[1]);
  guess->is_apart = guess->is_beyond = fabs (e) > limit;
  if (guess->is_apart)
    e = limit * limit / e;
  for (int i = 0; i < 2; i++)
    guess->prior_at[i] = p[i] + e * guess->direction[i];
  for (int i = 0; i < 4; i++)
    guess->prior_orientation[i] = q[i];
}

/* Standard deviations of the motion within which a prior takes part although it is out of range: of
 * a velocity that is not known well yet. */
#define MOTION_SIGMAS 4.0

/* Makes the prior part of the objective, along the heading of @orientation. */
static void
ndt_tracker_gate_prior (const NdtTracker *tracker, const NdtTrackerInput *input,
    const double orientation[4], NdtTrackerGuess *guess)
{
  static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0};
  const double t = guess->elapsed;
  const NdtDriftStep step = {.seconds = t > 0 ? t : NDT_TRACKER_NO_TIME};
  const double reach = NDT_TRACKER_REACH + 0.5 * NDT_TRACKER_ACCELERATION * t * t;
  ndt_tracker_add_prior_term (&input->prior, reach, orientation, guess);
  if (!guess->is_apart || guess->prediction != NDT_PREDICTION_CONSTANT_VELOCITY)
    return;
  const double sigma = sqrt (ndt_drift_predict (&tracker->drift, &step, x) +
                             ndt_drift_predict (&tracker->drift, &step, y));
  ndt_tracker_add_prior_term (
      &input->prior, fmax (reach, MOTION_SIGMAS * sigma), orientation, guess);
  guess->is_beyond = 1;
}

/* Standard deviations of the velocity by which odometry may differ from it. */
#define CONTRADICTION 2.0
/* Metres that the velocity is off from scan to scan beside these, where odometry repeats a place:
 * that has no errors of its own. */
#define REPEAT 0.02
/* And where its last increment was more than this part of the velocity's it knows the latter. */
#define MOVES 0.5

/* Returns 1 where odometry leads to where a body with the velocity so far does not get, neither in
 * the time nor in that of the scan before, as stamps may be wrong: a pose that is repeated, a
 * reset, wheels that slip. */
static int
ndt_tracker_contradicts (
    const NdtTracker *tracker, const NdtTrackerInput *input, const NdtTrackerGuess *guess)
{
  const double *at = input->odometry.position, *before = tracker->odometry.position;
  double u[3], way, by_odometry, apart, radians, variance = 0;
  if (!guess->has_odometry || !guess->coasts)
    return 0;
  ndt_tracker_difference (&guess->odometry, &guess->own, &apart, &radians);
  ndt_tracker_difference (&guess->own, &tracker->pose, &way, &radians);
  ndt_tracker_difference (&guess->odometry, &tracker->pose, &by_odometry, &radians);
  for (int i = 0; i < 3; i++)
    u[i] = apart > 0 ? (guess->odometry.position[i] - guess->own.position[i]) / apart : 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      variance += u[i] * tracker->drift.velocity[i][j] * u[j];
  const double seconds = guess->elapsed > 0 ? guess->elapsed : NDT_TRACKER_NO_TIME;
  const int32_t repeats = at[0] == before[0] && at[1] == before[1] && at[2] == before[2];
  /* And it said itself before that the body moves so. */
  const int32_t is_known = repeats && tracker->odometry_way > MOVES * way;
  const double sigma = is_known ? 0 : sqrt (fmax (variance, 0));
  const double errors =
      repeats ? REPEAT : NDT_TRACKER_GATE + NDT_TRACKER_ODOMETRY_ERROR * fmax (way, by_odometry);
  const double metres = errors + CONTRADICTION * seconds * sigma;
  const double ratio =
      tracker->velocity_time > 0 ? (double)tracker->scan_time / (double)tracker->velocity_time : 1;
  const NdtPose same = ndt_tracker_extrapolate (tracker, &tracker->pose, ratio);
  return !ndt_tracker_is_near (&guess->odometry, &guess->own, metres, 4, seconds) &&
         !ndt_tracker_is_near (&guess->odometry, &same, metres, 4, seconds);
}

/* A pose that was set, or a start that is tried again. */
static void
ndt_tracker_propose_start (const NdtTracker *tracker, const NdtTrackerInput *input,
    int32_t by_odometry, NdtTrackerGuess *guess)
{
  guess->prediction = NDT_PREDICTION_INITIAL;
  guess->far = 1;
  guess->pose = tracker->initial;
  /* A repeated start is of an earlier scan, and is moved by odometry if the heading is known. */
  if (tracker->n_tries > 0 && by_odometry && tracker->initial_stddev[5] < NDT_TRACKER_HEADING)
    guess->pose = ndt_tracker_move (&tracker->initial, &tracker->odometry, &input->odometry);
  /* A prior of this scan is more recent than an initial pose. The stream's state is ignored after
   * a pose set by hand. */
  if (input->has_prior)
    ndt_tracker_add_guess (guess, &input->prior);
}

/* The first guess: a prior, odometry, or constant velocity. @odometry: (inout): where odometry
 * leads, if there is some. */
static void
ndt_tracker_propose (const NdtTracker *tracker, const NdtTrackerInput *input, int32_t by_odometry,
    NdtPose *odometry, NdtTrackerGuess *guess)
{
  /* With a regularization the prediction by motion from an accepted pose has precedence over the
   * prior. */
  const int32_t is_term =
      input->prior_in_objective && guess->has_own && tracker->in_gate && tracker->n_against == 0;
  if (input->has_prior && !is_term) {
    guess->prediction = NDT_PREDICTION_PRIOR;
    guess->far = tracker->status != NDT_TRACK_TRACKING;
    guess->pose = input->prior;
  } else if (guess->has_own && by_odometry && !guess->ignores_odometry) {
    guess->prediction = NDT_PREDICTION_ODOMETRY;
    guess->pose = *odometry;
  } else if (guess->has_own) {
    guess->prediction = NDT_PREDICTION_CONSTANT_VELOCITY;
    guess->pose = guess->own;
    /* There is no velocity after a start, nor after a long time. */
    guess->far = !guess->coasts;
  }
  if (guess->prediction == NDT_PREDICTION_NONE && tracker->has_pose) {
    /* Lost: the last pose, moved by odometry where there is some. */
    const int32_t leads = by_odometry && !guess->ignores_odometry;
    guess->is_lost = guess->has_own = guess->far = 1;
    guess->has_odometry = by_odometry;
    *odometry = guess->odometry =
        by_odometry ? ndt_tracker_move (&tracker->pose, &tracker->odometry, &input->odometry)
                    : tracker->pose;
    guess->prediction = leads ? NDT_PREDICTION_ODOMETRY : NDT_PREDICTION_CONSTANT_VELOCITY;
    guess->pose = guess->own = leads ? *odometry : tracker->pose;
  }
}

/* The others, for a search. @odometry, @course: nullable */
static void
ndt_tracker_propose_others (const NdtTracker *tracker, const NdtTrackerInput *input,
    const NdtPose *odometry, const NdtPose *course, NdtTrackerGuess *guess)
{
  if (input->has_prior && input->prior_in_objective) {
    const NdtPose turned =
        ndt_tracker_turn_prior (&input->prior, odometry ? odometry : &guess->own);
    ndt_tracker_add_guess (guess, &input->prior);
    ndt_tracker_add_guess (guess, &turned);
  }
  if (odometry)
    ndt_tracker_add_guess (guess, odometry);
  if (input->has_odometry && tracker->has_good_odometry && tracker->scans_since_good > 0) {
    const NdtPose pose =
        ndt_tracker_move (&tracker->good_pose, &tracker->good_odometry, &input->odometry);
    ndt_tracker_add_guess (guess, &pose);
  }
  ndt_tracker_add_guess (guess, &guess->own);
  if ((!guess->coasts || tracker->scans_since_good > 0) && course)
    ndt_tracker_add_guess (guess, course);
  if (tracker->has_good)
    ndt_tracker_add_guess (guess, &tracker->good_pose);
}

void
ndt_tracker_predict (
    const NdtTracker *tracker, const NdtTrackerInput *input, NdtTrackerGuess *guess)
{
  const NdtTrackerGuess none = {.pose = {{0, 0, 0}, {0, 0, 0, 1}}};
  const int32_t by_odometry = input->has_odometry && tracker->has_odometry;
  NdtPose odometry = none.pose;
  *guess = none;
  guess->has_own = tracker->status != NDT_TRACK_LOST && tracker->has_pose;
  guess->ignores_odometry = tracker->is_odometry_off;
  if (guess->has_own) {
    ndt_tracker_coast (tracker, input->time, guess);
    guess->has_odometry = by_odometry;
    if (by_odometry)
      guess->odometry = odometry =
          ndt_tracker_move (&tracker->pose, &tracker->odometry, &input->odometry);
    guess->contradicts = ndt_tracker_contradicts (tracker, input, guess);
    guess->ignores_odometry = guess->contradicts || tracker->is_odometry_off;
  }
  if (tracker->has_initial && !(tracker->n_tries > 0 && input->has_prior)) {
    ndt_tracker_propose_start (tracker, input, by_odometry, guess);
    return;
  }
  ndt_tracker_propose (tracker, input, by_odometry, &odometry, guess);
  NdtPose course = tracker->good_pose;
  const int32_t has_course = ndt_tracker_get_course (tracker, input->time, &course);
  const double since_good = tracker->good_time >= 0 && input->time > tracker->good_time
                                ? 1e-9 * (double)(input->time - tracker->good_time)
                                : 0;
  /* A prior that is both guess and part of the objective would outweigh all other guesses. So it is
   * part of the objective only near the prediction from good scans, with their heading. */
  const int32_t leads = guess->prediction == NDT_PREDICTION_PRIOR && guess->has_own;
  const int32_t is_near = tracker->has_good && ndt_tracker_is_near (&input->prior, &course,
                                                   NDT_TRACKER_REACH, 4, since_good);
  /* A prior beyond the range of motion is wrong; several in a row, and the stream may be wrong. */
  if (input->has_prior && input->prior_in_objective && (!leads || is_near))
    ndt_tracker_gate_prior (
        tracker, input, leads ? course.orientation : guess->pose.orientation, guess);
  guess->is_prior_tried = guess->is_apart && tracker->n_apart + 1 >= NDT_TRACKER_MAX_APART;
  if (!guess->has_own)
    return;
  /* A guess that contradicts the motion may be right, or the motion may be. */
  if (ndt_tracker_jumps (guess, &guess->pose))
    guess->far = 1;
  ndt_tracker_propose_others (
      tracker, input, by_odometry ? &odometry : NULL, has_course ? &course : NULL, guess);
}

double
ndt_tracker_quality (double nvtl, double matched_ratio)
{
  return nvtl * matched_ratio;
}

int
ndt_tracker_in_gate (const NdtTracker *tracker, const NdtTrackerGuess *guess, const NdtPose *pose)
{
  if (!tracker->in_gate || !guess->has_own)
    return 0;
  /* Also where a prior is the guess: it may be wrong, and both lead there. Odometry that
   * contradicts the motion is no evidence, and the gate must not grow with it. */
  if (guess->has_odometry && !guess->ignores_odometry) {
    double way, turn;
    ndt_tracker_difference (&tracker->pose, &guess->odometry, &way, &turn);
    if (ndt_tracker_is_near (pose, &guess->odometry,
            NDT_TRACKER_GATE + NDT_TRACKER_ODOMETRY_ERROR * way,
            NDT_TRACKER_GATE_TURN + NDT_TRACKER_ODOMETRY_ERROR * turn, 0))
      return 1;
    if (guess->prediction == NDT_PREDICTION_ODOMETRY && !guess->far)
      return 0;
  }
  if (guess->coasts) {
    const double t = fmin (guess->elapsed, NDT_TRACKER_GATE_TIME);
    /* What has turned beside a prior may have gone to another place that fits, led by a wrong one.
     */
    const double acceleration =
        guess->prediction == NDT_PREDICTION_PRIOR ? 0 : NDT_TRACKER_TURN_ACCELERATION;
    return ndt_tracker_is_near (
        pose, &guess->own, NDT_TRACKER_GATE, NDT_TRACKER_GATE_TURN + 0.5 * acceleration * t * t, t);
  }
  if (guess->prediction == NDT_PREDICTION_ODOMETRY && !guess->is_lost)
    return 0;
  /* The velocity is not known. */
  const double seconds = guess->elapsed > 0 ? guess->elapsed : NDT_TRACKER_NO_TIME;
  return ndt_tracker_is_near (pose, &guess->own, NDT_TRACKER_GATE + NDT_TRACKER_MAX_SPEED * seconds,
      NDT_TRACKER_GATE_TURN + NDT_TRACKER_MAX_TURN * seconds, 0);
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
  if (tracker->n_good == 0 || guess->prediction == NDT_PREDICTION_INITIAL || fraction <= 0)
    return 0;
  const double least =
      ndt_tracker_in_gate (tracker, guess, pose) ? fraction : ndt_tracker_half (fraction);
  return ndt_tracker_quality (nvtl, matched_ratio) < least * tracker->mean_quality;
}

int
ndt_tracker_needs_search (const NdtTracker *tracker, const NdtTrackerGuess *guess, double fraction,
    const NdtPose *pose, double nvtl, double matched_ratio)
{
  const double level =
      ndt_tracker_in_gate (tracker, guess, pose) ? tracker->level : tracker->mean_quality;
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
    const int32_t is_first = guess->has_prior_term && tracker->n_since_start <= FIRST_VELOCITIES;
    if (!is_first && (faster >= 0 || guess->has_prior_term) &&
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
  const int32_t continues = tracker->has_good && tracker->status != NDT_TRACK_LOST &&
                            guess->prediction != NDT_PREDICTION_INITIAL &&
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

void
ndt_tracker_relocate (NdtTracker *tracker, const NdtPose *pose, int64_t time,
    const NdtPose *odometry, const double velocity[6], int64_t velocity_time)
{
  const NdtPose none = {{0, 0, 0}, {0, 0, 0, 1}};
  tracker->status = NDT_TRACK_DEGRADED;
  tracker->n_against = tracker->has_initial = tracker->n_tries = 0;
  tracker->has_pose = tracker->has_good = tracker->in_gate = 1;
  tracker->pose = tracker->good_pose = *pose;
  tracker->time = tracker->good_time = time;
  tracker->has_odometry = tracker->has_good_odometry = odometry != 0;
  tracker->odometry = tracker->good_odometry = odometry ? *odometry : none;
  tracker->odometry_way = 0;
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
  return guess->prediction == NDT_PREDICTION_INITIAL ||
         (guess->prediction == NDT_PREDICTION_PRIOR && !guess->has_own);
}

/* Returns 1 where the stream continues from the guess of a scan that was not aligned. A prior or
 * odometry that could not be aligned is discarded; a pose set by hand is kept for the next scan
 * that can be aligned. */
static int
ndt_tracker_keeps_guess (const NdtTrackerGuess *guess, NdtTrackerOutcome outcome)
{
  if (!guess->has_own)
    return 1;
  if (guess->prediction == NDT_PREDICTION_INITIAL)
    return outcome == NDT_OUTCOME_NOT_ALIGNED;
  return !guess->far &&
         (outcome == NDT_OUTCOME_NOT_ALIGNED || guess->prediction == NDT_PREDICTION_ODOMETRY);
}

/* The status after a scan that was predicted, by the one before it and by what came of it:
 * docs/tracking.md, "States and outcomes". What depends on more than these two is in
 * ndt_tracker_next_status(). */
enum { T = NDT_TRACK_TRACKING, D = NDT_TRACK_DEGRADED, L = NDT_TRACK_LOST, S = NDT_TRACK_SKIPPED };
static const uint8_t next_status[][NDT_OUTCOME_NOT_ALIGNED + 1] = {
    /* ACCEPTED, FELL, UNCERTAIN, REJECTED, NO_POSE, NOT_ALIGNED */
    [NDT_TRACK_INITIALIZING] = {T, D, D, D, L, S},
    [NDT_TRACK_TRACKING] = {T, D, D, D, S, S},
    [NDT_TRACK_DEGRADED] = {T, D, D, D, S, S},
    [NDT_TRACK_LOST] = {T, D, D, D, L, S},
    [NDT_TRACK_SKIPPED] = {T, D, D, D, S, S},
};

/* For the state, with the scan that it is after counted. */
static NdtTrackStatus
ndt_tracker_next_status (const NdtTracker *tracker, const NdtTrackerGuess *guess,
    NdtTrackerOutcome outcome, uint32_t max_skips)
{
  if (guess->prediction == NDT_PREDICTION_NONE)
    return tracker->has_good || tracker->status == NDT_TRACK_LOST ? NDT_TRACK_LOST
                                                                  : NDT_TRACK_INITIALIZING;
  if (outcome == NDT_OUTCOME_ACCEPTED)
    return tracker->n_unconfirmed > 0 ? NDT_TRACK_DEGRADED : NDT_TRACK_TRACKING;
  if (guess->is_lost || (uint32_t)tracker->n_against > max_skips)
    return NDT_TRACK_LOST;
  return (NdtTrackStatus)next_status[tracker->status][outcome];
}

/* A running mean over about ten scans adapts to the surroundings. */
static double
ndt_tracker_mean (double mean, double value, int32_t n)
{
  return mean + (value - mean) / (n < 10 ? n : 10);
}

/* A scan that is where motion or a start leads, or confirms a place. */
static void
ndt_tracker_take_accepted (NdtTracker *tracker, const NdtTrackerInput *input,
    const NdtTrackerGuess *guess, const NdtPose *pose, double nvtl, double quality)
{
  const int32_t starts = ndt_tracker_starts (guess);
  /* What scans in another place told of an open road, and how that was found, is over. */
  if (starts)
    tracker->n_closed = tracker->is_from_far = 0;
  ndt_tracker_take_pose (tracker, input, guess, pose);
  tracker->in_gate = 1;
  tracker->n_against = 0;
  tracker->n_unconfirmed -= tracker->n_unconfirmed > 0;
  tracker->n_skipped = tracker->n_unconfirmed > 0 ? tracker->n_skipped + 1 : 0;
  tracker->has_initial = tracker->n_tries = 0;
  tracker->n_good = starts ? 1 : tracker->n_good + 1;
  tracker->n_since_start =
      starts ? 1 : tracker->n_since_start + (tracker->n_since_start < INT32_MAX);
  tracker->mean_quality = ndt_tracker_mean (tracker->mean_quality, quality, tracker->n_good);
  tracker->mean_nvtl = ndt_tracker_mean (tracker->mean_nvtl, nvtl, tracker->n_good);
  if (tracker->n_good <= NDT_TRACKER_FIRST)
    tracker->first_nvtl = tracker->mean_nvtl;
  tracker->level = tracker->mean_quality;
}

/* A scan that is rejected, or could not be aligned. @carries: the motion is continued. */
static void
ndt_tracker_take_rejected (NdtTracker *tracker, const NdtTrackerInput *input,
    const NdtTrackerGuess *guess, NdtTrackerOutcome outcome, const NdtPose *pose, double quality,
    int32_t carries)
{
  tracker->n_skipped++;
  /* A scan that could not be aligned is no evidence against the pose. Along a road that was open
   * scans in a row have to tell where the body is. */
  if (outcome <= NDT_OUTCOME_REJECTED) {
    tracker->n_against++;
    tracker->n_closed = 0;
  }
  if (ndt_tracker_starts (guess) && outcome <= NDT_OUTCOME_NO_POSE)
    ndt_tracker_reject_start (tracker, input, &guess->pose);
  tracker->level = tracker->mean_quality;
  if (outcome == NDT_OUTCOME_FELL) {
    tracker->in_gate = ndt_tracker_in_gate (tracker, guess, pose);
    if (tracker->in_gate) {
      ndt_tracker_take_pose (tracker, input, guess, pose);
      tracker->level = quality;
      tracker->n_against = 0;
    }
  } else if (outcome < NDT_OUTCOME_NO_POSE) {
    tracker->in_gate = carries;
    tracker->has_velocity = tracker->has_velocity && tracker->n_against <= NDT_TRACKER_CARRY;
  }
}

/* Whether the start, of which this scan gave no pose, is tried again with the next one. */
static void
ndt_tracker_keep_start (NdtTracker *tracker, const NdtTrackerGuess *guess,
    NdtTrackerOutcome outcome, int32_t waits, uint32_t max_skips)
{
  /* One set by hand is kept for the next scan that can be aligned; others, and searches around one,
   * for as many scans as they are tried. */
  const int32_t again =
      outcome == NDT_OUTCOME_UNCERTAIN ||
      (waits && (guess->prediction == NDT_PREDICTION_PRIOR || tracker->n_tries > 0));
  if (outcome != NDT_OUTCOME_NOT_ALIGNED)
    tracker->has_initial = 0;
  if (again && (uint32_t)++tracker->n_tries <= max_skips) {
    tracker->has_initial = 1;
    tracker->initial = guess->pose;
  } else if (again) {
    tracker->has_initial = 0;
    tracker->status = NDT_TRACK_LOST;
    tracker->n_good = 0;
  }
  if (!tracker->has_initial)
    tracker->n_tries = 0;
}

void
ndt_tracker_update (NdtTracker *tracker, const NdtTrackerInput *input, const NdtTrackerGuess *guess,
    NdtTrackerOutcome outcome, const NdtPose *pose, double nvtl, double matched_ratio,
    uint32_t max_skips)
{
  const double quality = ndt_tracker_quality (nvtl, matched_ratio);
  const int32_t starts = ndt_tracker_starts (guess);
  /* A start whose scan could not be aligned gives no pose. */
  const int32_t waits = starts && !guess->has_own && outcome == NDT_OUTCOME_NOT_ALIGNED;
  /* For some scans the motion is continued from an accepted pose even where scans are rejected. */
  const int32_t carries = tracker->in_gate && !guess->far &&
                          (guess->prediction == NDT_PREDICTION_ODOMETRY ||
                              (guess->prediction == NDT_PREDICTION_CONSTANT_VELOCITY &&
                                  guess->coasts && tracker->n_against < NDT_TRACKER_CARRY));
  tracker->scans_since_good++;
  if (starts)
    tracker->n_against = 0;
  if (outcome == NDT_OUTCOME_ACCEPTED)
    ndt_tracker_take_accepted (tracker, input, guess, pose, nvtl, quality);
  else
    ndt_tracker_take_rejected (tracker, input, guess, outcome, pose, quality, carries);
  tracker->status = ndt_tracker_next_status (tracker, guess, outcome, max_skips);
  /* Scores may differ in the place where it is found. */
  if (tracker->status == NDT_TRACK_LOST)
    tracker->n_good = tracker->in_gate = tracker->has_velocity = 0;
  if (outcome != NDT_OUTCOME_ACCEPTED)
    ndt_tracker_keep_start (tracker, guess, outcome, waits, max_skips);

  if (guess->has_prior_term)
    tracker->n_apart = guess->is_beyond && !guess->is_prior_tried ? tracker->n_apart + 1 : 0;
  tracker->has_pose =
      guess->prediction != NDT_PREDICTION_NONE && outcome != NDT_OUTCOME_UNCERTAIN && !waits;
  if (outcome <= NDT_OUTCOME_FELL || (outcome <= NDT_OUTCOME_REJECTED && !carries))
    tracker->pose = *pose;
  else if (outcome <= NDT_OUTCOME_REJECTED)
    tracker->pose = guess->pose;
  else
    tracker->pose = ndt_tracker_keeps_guess (guess, outcome) ? guess->pose : guess->own;
  tracker->time = input->time;
  /* Where odometry is missing on a scan, increments start again with the next. */
  tracker->odometry_way = 0;
  if (tracker->has_odometry && input->has_odometry) {
    double turn;
    ndt_tracker_difference (&input->odometry, &tracker->odometry, &tracker->odometry_way, &turn);
  }
  tracker->has_odometry = input->has_odometry;
  tracker->odometry = input->odometry;
}
