/* SPDX-License-Identifier: MIT */
/* The tracker's step from one scan to the next: prediction before an alignment, memory after it.
 * Pure functions over plain records, so that a device can run them between two scans of a batch. */
#pragma once

#include "ndtcore/math/ndt-formulas.h"

/* Values of NdtTrackStatus and NdtPrediction (ndt-localizer.h), which this header cannot include.
 */
enum {
  NDT_TRACKER_INITIALIZING,
  NDT_TRACKER_TRACKING,
  NDT_TRACKER_DEGRADED,
  NDT_TRACKER_LOST,
  NDT_TRACKER_SKIPPED
};
enum {
  NDT_TRACKER_FROM_NOTHING,
  NDT_TRACKER_FROM_INITIAL,
  NDT_TRACKER_FROM_VELOCITY,
  NDT_TRACKER_FROM_ODOMETRY,
  NDT_TRACKER_FROM_PRIOR
};

typedef enum {
  NDT_OUTCOME_GOOD,      /* aligned, scores pass */
  NDT_OUTCOME_DOUBTFUL,  /* aligned, scores pass but fell against those of the scans before */
  NDT_OUTCOME_UNCERTAIN, /* searched for around a start, and not found reliably */
  NDT_OUTCOME_DEGRADED,  /* aligned, a score is below its threshold */
  NDT_OUTCOME_FAILED,    /* no pose came of it: no pairs, not finite */
  NDT_OUTCOME_UNUSABLE   /* not tried: too few points, or nothing to start from */
} NdtTrackerOutcome;

/**
 * NdtTracker:
 * @status: NDT_TRACKER_…
 * @n_skipped: consecutive scans that were not good
 * @n_against: of these, since one that went where motion leads or a new start: too many are LOST
 * @has_initial: @initial waits for the next scan that can be aligned
 * @n_tries: scans that were searched for around @initial in vain, or that it waits for since it was
 *   a prior; a prior may take its place then
 * @initial_stddev: how well @initial is known, once it is tried again
 * @has_pose: @pose is where the last scan was, as far as known
 * @pose: the base of the next prediction
 * @time: of @pose, ns; −1: unknown
 * @has_odometry: @odometry belongs to @pose
 * @follows: the last scan that was aligned is good, or went where motion leads from one that was
 * @good_pose: of the last scan that did so, if @has_good; @good_odometry belongs to it
 * @velocity: body twist from one good scan to the next (m, rad) over @velocity_time ns; per scan
 *   where @velocity_time is 0
 * @velocity_at: of the later of the two, ns
 * @scan_time: from the one to the other, ns; 0 where @velocity is per scan
 * @mean_quality: running mean of ndt_tracker_quality() over good scans, @n_good of them
 * @n_apart: scans in a row whose prior was apart (NdtTrackerGuess), since one was doubted
 * @level: what the next scan's is compared with to tell whether it is searched from far
 */
typedef struct {
  int32_t status;
  int32_t n_skipped;
  int32_t n_against;
  int32_t has_initial;
  NdtPose initial;
  int32_t n_tries;
  double initial_stddev[6];
  int32_t has_pose;
  NdtPose pose;
  int64_t time;
  int32_t has_odometry;
  NdtPose odometry;
  int32_t follows;
  int32_t has_good;
  NdtPose good_pose;
  int64_t good_time;
  int32_t has_good_odometry;
  NdtPose good_odometry;
  int32_t scans_since_good;
  int32_t has_velocity;
  double velocity[6];
  int64_t velocity_time;
  int64_t velocity_at;
  int64_t scan_time;
  int32_t n_good;
  int32_t n_apart;
  double mean_quality;
  double level;
} NdtTracker;

/* @holds: priors hold the pose, rather than lead to it, where motion leads. */
typedef struct {
  int64_t time;
  int32_t has_prior;
  int32_t has_odometry;
  int32_t holds;
  NdtPose prior;
  NdtPose odometry;
} NdtTrackerInput;

#define NDT_TRACKER_MAX_OTHERS 7

/**
 * NdtTrackerGuess:
 * @prediction: NDT_TRACKER_FROM_…
 * @far: the guess may be far off: search with all candidates, from @others as well
 * @pose: identity where there is none
 * @n_others: @others are where it may be if it is not at @pose
 * @has_own: @own is known
 * @own: where motion leads from the scan before, whatever a prior or odometry say; that scan's
 *   pose where it leads nowhere …
 * @coasts: … and whether constant velocity leads there
 * @elapsed: seconds since the scan before, 0 where that is not known
 * @is_held: a prior holds the pose by the line through @held across @direction, x and y in the map,
 *   the latter a unit vector along the heading of a body that is turned as @held_orientation
 * @is_apart: and is farther from @pose than motion can have led
 * @is_doubted: as were those of the scans before: the body may be where the prior is
 */
typedef struct {
  int32_t prediction;
  int32_t far;
  NdtPose pose;
  int32_t n_others;
  NdtPose others[NDT_TRACKER_MAX_OTHERS];
  int32_t has_own;
  NdtPose own;
  int32_t coasts;
  double elapsed;
  int32_t is_held;
  int32_t is_apart;
  int32_t is_doubted;
  double held[2];
  double direction[2];
  double held_orientation[4];
} NdtTrackerGuess;

/* A velocity holds for so long after the last good scan, or half as long again as it was measured
 * over, nanoseconds; without times for so many scans. Nor is one from two scans that were stamped
 * almost at once carried over more of such steps. */
#define NDT_TRACKER_MAX_COAST INT64_C (1000000000)
#define NDT_TRACKER_MAX_COAST_SCANS 10
#define NDT_TRACKER_MAX_STEPS 20
/* For so long it is one of several guesses. */
#define NDT_TRACKER_MAX_EXTRAPOLATION INT64_C (10000000000)

/* Poses apart from where constant velocity leads: by more than an alignment reaches, metres, and
 * what brakes and engines do meanwhile, m/s², it is elsewhere. */
#define NDT_TRACKER_REACH 2.0
#define NDT_TRACKER_FOLLOW 0.5
#define NDT_TRACKER_FOLLOW_TURN 0.2
#define NDT_TRACKER_ACCELERATION 10.0

/* A heading that is known to this, a standard deviation in rad, tells where odometry leads. */
#define NDT_TRACKER_HEADING 0.5

/* Priors in a row that are apart before the stream is doubted. */
#define NDT_TRACKER_MAX_APART 5

/* Guesses nearer to one another, metres and rad, lead to the same. */
#define NDT_TRACKER_SAME 0.5
#define NDT_TRACKER_SAME_TURN 0.1

/* How a velocity changes at most, m/s² and rad/s², as a mean over the time from scan to scan: twice
 * what brakes do and as much as drones with a lidar do, and more than a hand that turns one by 30
 * degrees to and fro twice a second. One that does more is followed some scans later. */
#define NDT_TRACKER_MAX_ACCELERATION 20
#define NDT_TRACKER_MAX_TURN_ACCELERATION 50

/* And what the errors of two poses add to the way between them, metres and rad. */
#define NDT_TRACKER_POSE_ERROR 0.1
#define NDT_TRACKER_TURN_ERROR 0.02

NDT_INLINE void
ndt_tracker_reset (NdtTracker *tracker)
{
  const NdtTracker empty = {0};
  *tracker = empty;
  tracker->time = tracker->good_time = -1;
}

/* Can a body that moves by @velocity, found over @elapsed seconds, have moved by @last @since
 * seconds before? Twists per second. Otherwise a time stamp is wrong, or a pose. */
NDT_INLINE int
ndt_tracker_is_credible (
    const double velocity[6], double elapsed, const double last[6], double since)
{
  double translation = 0, rotation = 0;
  for (int i = 0; i < 3; i++) {
    translation += (velocity[i] - last[i]) * (velocity[i] - last[i]);
    rotation += (velocity[3 + i] - last[3 + i]) * (velocity[3 + i] - last[3 + i]);
  }
  return sqrt (translation) <=
             NDT_TRACKER_MAX_ACCELERATION * since + NDT_TRACKER_POSE_ERROR / elapsed &&
         sqrt (rotation) <=
             NDT_TRACKER_MAX_TURN_ACCELERATION * since + NDT_TRACKER_TURN_ERROR / elapsed;
}

NDT_INLINE void
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

/* Is @pose within @metres of where motion leads, and of what acceleration adds? */
NDT_INLINE int
ndt_tracker_is_near (
    const NdtPose *pose, const NdtPose *own, double metres, double radians, double elapsed)
{
  double m, r;
  ndt_tracker_difference (pose, own, &m, &r);
  return m <= metres + 0.5 * NDT_TRACKER_ACCELERATION * elapsed * elapsed && r <= radians;
}

/* Is it where constant velocity cannot have led? */
NDT_INLINE int
ndt_tracker_jumps (const NdtTrackerGuess *guess, const NdtPose *pose)
{
  return guess->coasts &&
         !ndt_tracker_is_near (pose, &guess->own, NDT_TRACKER_REACH, 4, guess->elapsed);
}

NDT_INLINE void
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

/* Where a prior is, turned as @pose: one from GNSS may not know its yaw. */
NDT_INLINE NdtPose
ndt_tracker_turn_prior (const NdtPose *prior, const NdtPose *pose)
{
  NdtPose turned = *prior;
  for (int i = 0; i < 4; i++)
    turned.orientation[i] = pose->orientation[i];
  return turned;
}

/* @pose moved as odometry moved meanwhile. */
NDT_INLINE NdtPose
ndt_tracker_move (const NdtPose *pose, const NdtPose *before, const NdtPose *after)
{
  const NdtPose inverse = ndt_pose_inverse (before);
  const NdtPose increment = ndt_pose_mul (&inverse, after);
  return ndt_pose_mul (pose, &increment);
}

NDT_INLINE NdtPose
ndt_tracker_extrapolate (const NdtTracker *tracker, const NdtPose *from, double ratio)
{
  double twist[6];
  for (int i = 0; i < 6; i++)
    twist[i] = ratio * tracker->velocity[i];
  const NdtPose step = ndt_pose_from_twist (twist);
  return ndt_pose_mul (from, &step);
}

/* Sets guess->own. */
NDT_INLINE void
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
    /* A clock that stands or runs backwards says nothing: one step then. */
    ratio = (double)(timed ? time - tracker->time : tracker->scan_time) /
            (double)tracker->velocity_time;
    if (ratio > NDT_TRACKER_MAX_STEPS)
      return;
  }
  guess->own = ndt_tracker_extrapolate (tracker, &tracker->pose, ratio);
  guess->coasts = 1;
}

/* Where the velocity leads from the last good scan, if it does. */
NDT_INLINE int
ndt_tracker_get_course (const NdtTracker *tracker, int64_t time, NdtPose *course)
{
  if (!tracker->has_velocity || tracker->velocity_time <= 0 || tracker->good_time < 0 ||
      time <= tracker->good_time || time - tracker->good_time > NDT_TRACKER_MAX_EXTRAPOLATION)
    return 0;
  *course = ndt_tracker_extrapolate (tracker, &tracker->good_pose,
      (double)(time - tracker->good_time) / (double)tracker->velocity_time);
  return 1;
}

/* The prior holds the pose, along the heading of @orientation. One that is farther than @limit from
 * the guess pulls the less the farther it is. */
NDT_INLINE void
ndt_tracker_hold (
    const NdtPose *prior, double limit, const double orientation[4], NdtTrackerGuess *guess)
{
  const double *q = orientation, *p = guess->pose.position;
  const double x = 1 - 2 * (q[1] * q[1] + q[2] * q[2]), y = 2 * (q[0] * q[1] + q[2] * q[3]);
  const double length = sqrt (x * x + y * y);
  /* A body on its nose has no heading. */
  if (length < 1e-3)
    return;
  guess->is_held = 1;
  guess->direction[0] = x / length;
  guess->direction[1] = y / length;
  double e = guess->direction[0] * (prior->position[0] - p[0]) +
             guess->direction[1] * (prior->position[1] - p[1]);
  guess->is_apart = fabs (e) > limit;
  if (guess->is_apart)
    e = limit * limit / e;
  for (int i = 0; i < 2; i++)
    guess->held[i] = p[i] + e * guess->direction[i];
  for (int i = 0; i < 4; i++)
    guess->held_orientation[i] = q[i];
}

NDT_INLINE void
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
    /* Tried again it is of a scan before. Odometry tells where that went if the heading is known.
     */
    if (tracker->n_tries > 0 && by_odometry && tracker->initial_stddev[5] < NDT_TRACKER_HEADING)
      guess->pose = ndt_tracker_move (&tracker->initial, &tracker->odometry, &input->odometry);
    /* One that was configured may be of yesterday, a prior is of now. What the stream has done so
     * far says nothing to one who sets a pose. */
    if (input->has_prior)
      ndt_tracker_add_guess (guess, &input->prior);
    return;
  }
  /* One that holds is believed less than motion from a pose that is believed. */
  const int32_t holds = input->has_prior && input->holds;
  if (input->has_prior && !(holds && guess->has_own && tracker->follows)) {
    guess->prediction = NDT_TRACKER_FROM_PRIOR;
    guess->far = tracker->status != NDT_TRACKER_TRACKING;
    guess->pose = input->prior;
  } else if (guess->has_own && by_odometry) {
    guess->prediction = NDT_TRACKER_FROM_ODOMETRY;
    guess->pose = odometry;
  } else if (guess->has_own) {
    guess->prediction = NDT_TRACKER_FROM_VELOCITY;
    guess->pose = guess->own;
    /* After a start nobody knows how fast it goes, nor after a long time. */
    guess->far = !guess->coasts;
  }
  NdtPose course = tracker->good_pose;
  const int32_t has_course = ndt_tracker_get_course (tracker, input->time, &course);
  const double since_good = tracker->good_time >= 0 && input->time > tracker->good_time
                                ? 1e-9 * (double)(input->time - tracker->good_time)
                                : 0;
  /* One that leads while motion leads elsewhere would win wherever it is if it held the pose: it
   * does so where it is near the course of scans that were good, and by that one's heading. */
  const int32_t leads = guess->prediction == NDT_TRACKER_FROM_PRIOR && guess->has_own;
  const int32_t is_near = tracker->has_good && ndt_tracker_is_near (&input->prior, &course,
                                                   NDT_TRACKER_REACH, 4, since_good);
  /* One is wrong where it is farther from motion than that can have led; one after the other, and
   * the stream may be. */
  if (holds && (!leads || is_near))
    ndt_tracker_hold (&input->prior,
        NDT_TRACKER_REACH + 0.5 * NDT_TRACKER_ACCELERATION * guess->elapsed * guess->elapsed,
        leads ? course.orientation : guess->pose.orientation, guess);
  guess->is_doubted = guess->is_apart && tracker->n_apart + 1 >= NDT_TRACKER_MAX_APART;
  if (!guess->has_own)
    return;
  /* What does not fit how it moves may be right, or that may be. */
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

/* One number for how well a scan is aligned: what each of its points contributes, those without a
 * voxel included. */
NDT_INLINE double
ndt_tracker_quality (double nvtl, double matched_ratio)
{
  return nvtl * matched_ratio;
}

/* Did it go where motion leads? Odometry tells that better than constant velocity, which after a
 * second may have led metres away. */
NDT_INLINE int
ndt_tracker_follows (const NdtTracker *tracker, const NdtTrackerGuess *guess, const NdtPose *pose)
{
  if (!tracker->follows || !guess->has_own)
    return 0;
  if (guess->prediction == NDT_TRACKER_FROM_ODOMETRY && !guess->far)
    return ndt_tracker_is_near (pose, &guess->pose, NDT_TRACKER_FOLLOW, NDT_TRACKER_FOLLOW_TURN, 0);
  return guess->coasts && ndt_tracker_is_near (pose, &guess->own, NDT_TRACKER_FOLLOW,
                              NDT_TRACKER_FOLLOW_TURN, guess->elapsed);
}

/* Half-way from a fraction to all. */
NDT_INLINE double
ndt_tracker_half (double fraction)
{
  return 0.5 * (1 + fraction);
}

/* Has an alignment fallen below what the stream's good scans reach? By a fraction of that where it
 * went where motion leads, by half as much elsewhere. Where a pose set by hand leads scans may
 * score otherwise. */
NDT_INLINE int
ndt_tracker_dropped (const NdtTracker *tracker, const NdtTrackerGuess *guess, double fraction,
    const NdtPose *pose, double nvtl, double matched_ratio)
{
  if (tracker->n_good == 0 || guess->prediction == NDT_TRACKER_FROM_INITIAL || fraction <= 0)
    return 0;
  const double least =
      ndt_tracker_follows (tracker, guess, pose) ? fraction : ndt_tracker_half (fraction);
  return ndt_tracker_quality (nvtl, matched_ratio) < least * tracker->mean_quality;
}

/* Is an alignment from the guess alone to be tried again from far? One that dropped, but went
 * where motion leads and is no worse than the scan before, is not. */
NDT_INLINE int
ndt_tracker_suspects (const NdtTracker *tracker, const NdtTrackerGuess *guess, double fraction,
    const NdtPose *pose, double nvtl, double matched_ratio)
{
  const double level =
      ndt_tracker_follows (tracker, guess, pose) ? tracker->level : tracker->mean_quality;
  return tracker->n_good > 0 && fraction > 0 &&
         ndt_tracker_quality (nvtl, matched_ratio) < ndt_tracker_half (fraction) * level;
}

/* Takes the velocity from the last good scan to one at @time and @pose. */
NDT_INLINE void
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
    /* Of two that contradict each other the slower one leads less far away. What a prior did to a
     * pose that it holds is no motion, though, neither way. */
    if ((faster >= 0 || guess->is_held) &&
        !ndt_tracker_is_credible (velocity, elapsed, last, 1e-9 * (double)(time - last_time)))
      return;
  }
  tracker->velocity_time = tracker->scan_time = timed ? time - since : 0;
  tracker->velocity_at = time;
  for (int i = 0; i < 6; i++)
    tracker->velocity[i] = timed ? twist[i] : twist[i] / tracker->scans_since_good;
}

/* A scan that is where the stream goes: the next one's velocity and the place to look for it. */
NDT_INLINE void
ndt_tracker_take_pose (NdtTracker *tracker, const NdtTrackerInput *input,
    const NdtTrackerGuess *guess, const NdtPose *pose)
{
  /* Velocity across a jump means nothing. */
  const int32_t continues = tracker->has_good && tracker->status != NDT_TRACKER_LOST &&
                            guess->prediction != NDT_TRACKER_FROM_INITIAL &&
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

/* Does the scan say where the body is, rather than the scans before? */
NDT_INLINE int
ndt_tracker_starts (const NdtTrackerGuess *guess)
{
  return guess->prediction == NDT_TRACKER_FROM_INITIAL ||
         (guess->prediction == NDT_TRACKER_FROM_PRIOR && !guess->has_own);
}

/* Is a scan that was not aligned taken to be at its guess? A prior or odometry that leads nowhere
 * is forgotten; a pose set by hand waits for a scan that can be tried. */
NDT_INLINE int
ndt_tracker_believes (const NdtTrackerGuess *guess, NdtTrackerOutcome outcome)
{
  if (!guess->has_own)
    return 1;
  if (guess->prediction == NDT_TRACKER_FROM_INITIAL)
    return outcome == NDT_OUTCOME_UNUSABLE;
  return !guess->far &&
         (outcome == NDT_OUTCOME_UNUSABLE || guess->prediction == NDT_TRACKER_FROM_ODOMETRY);
}

/* @pose: of the alignment, read where there is one. */
NDT_INLINE void
ndt_tracker_update (NdtTracker *tracker, const NdtTrackerInput *input, const NdtTrackerGuess *guess,
    NdtTrackerOutcome outcome, const NdtPose *pose, double nvtl, double matched_ratio,
    uint32_t max_skips)
{
  const double quality = ndt_tracker_quality (nvtl, matched_ratio);
  const int32_t starts = ndt_tracker_starts (guess);
  /* A start that was not tried is no pose yet. One that was set by hand waits, others for as long
   * as they are tried. */
  const int32_t waits = starts && !guess->has_own && outcome == NDT_OUTCOME_UNUSABLE;
  const int32_t again =
      outcome == NDT_OUTCOME_UNCERTAIN ||
      (waits && (guess->prediction == NDT_TRACKER_FROM_PRIOR || tracker->n_tries > 0));
  tracker->scans_since_good++;
  if (starts)
    tracker->n_against = 0;
  if (outcome == NDT_OUTCOME_GOOD) {
    ndt_tracker_take_pose (tracker, input, guess, pose);
    tracker->follows = 1;
    tracker->n_skipped = tracker->n_against = 0;
    tracker->status = NDT_TRACKER_TRACKING;
    tracker->has_initial = tracker->n_tries = 0;
    /* A mean over about the last ten scans follows the surroundings. */
    tracker->n_good = starts ? 1 : tracker->n_good + 1;
    tracker->mean_quality +=
        (quality - tracker->mean_quality) / (tracker->n_good < 10 ? tracker->n_good : 10);
    tracker->level = tracker->mean_quality;
  } else {
    tracker->n_skipped++;
    tracker->n_against++;
    tracker->level = tracker->mean_quality;
    if (outcome == NDT_OUTCOME_DOUBTFUL) {
      tracker->follows = ndt_tracker_follows (tracker, guess, pose);
      if (tracker->follows) {
        ndt_tracker_take_pose (tracker, input, guess, pose);
        tracker->level = quality;
        tracker->n_against = 0;
      }
    } else if (outcome != NDT_OUTCOME_UNUSABLE) {
      tracker->follows = 0;
    }
    if (guess->prediction == NDT_TRACKER_FROM_NOTHING)
      tracker->status = tracker->has_good || tracker->status == NDT_TRACKER_LOST
                            ? NDT_TRACKER_LOST
                            : NDT_TRACKER_INITIALIZING;
    else if ((uint32_t)tracker->n_against > max_skips)
      tracker->status = NDT_TRACKER_LOST;
    else if (outcome <= NDT_OUTCOME_DEGRADED)
      tracker->status = NDT_TRACKER_DEGRADED;
    else if (outcome == NDT_OUTCOME_FAILED && tracker->status != NDT_TRACKER_TRACKING &&
             tracker->status != NDT_TRACKER_DEGRADED && tracker->status != NDT_TRACKER_SKIPPED)
      tracker->status = NDT_TRACKER_LOST; /* a start that meets nothing */
    else
      tracker->status = NDT_TRACKER_SKIPPED;
    /* Where it will be found, scans may score otherwise. */
    if (tracker->status == NDT_TRACKER_LOST)
      tracker->n_good = 0;
    /* An initial pose waits for a scan that can be tried. */
    if (outcome != NDT_OUTCOME_UNUSABLE)
      tracker->has_initial = 0;
    /* Around a pose that is known to metres it is searched for again; a result that may be anywhere
     * leads nowhere. */
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
    tracker->n_apart = guess->is_apart && !guess->is_doubted ? tracker->n_apart + 1 : 0;
  tracker->has_pose =
      guess->prediction != NDT_TRACKER_FROM_NOTHING && outcome != NDT_OUTCOME_UNCERTAIN && !waits;
  if (outcome <= NDT_OUTCOME_DEGRADED)
    tracker->pose = *pose;
  else
    tracker->pose = ndt_tracker_believes (guess, outcome) ? guess->pose : guess->own;
  tracker->time = input->time;
  /* Odometry that is missing on one scan cannot be bridged: its next increment starts anew. */
  tracker->has_odometry = input->has_odometry;
  tracker->odometry = input->odometry;
}
