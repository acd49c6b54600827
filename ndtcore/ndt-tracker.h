/* SPDX-License-Identifier: MIT */
/* The tracker's step from one scan to the next: prediction before an alignment, memory after it.
 * Pure functions over plain records, so that a device can run them between two scans of a batch. */
#pragma once

#include "ndt-formulas.h"

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
  NDT_OUTCOME_GOOD,     /* aligned, scores pass */
  NDT_OUTCOME_DEGRADED, /* aligned, a score is below its threshold */
  NDT_OUTCOME_FAILED,   /* no pose came of it: no pairs, not finite */
  NDT_OUTCOME_UNUSABLE  /* not tried: too few points, or nothing to start from */
} NdtTrackerOutcome;

/**
 * NdtTracker:
 * @status: NDT_TRACKER_…
 * @n_skipped: consecutive scans that were not good
 * @has_initial: @initial waits for the next scan that can be aligned
 * @has_pose: @pose is where the last scan was, as far as known
 * @pose: the base of the next prediction
 * @time: of @pose, ns; −1: unknown
 * @has_odometry: @odometry belongs to @pose
 * @good_pose: of the last good scan, if @has_good
 * @velocity: body twist from one good scan to the next (m, rad) over @velocity_time ns; per scan
 *   where @velocity_time is 0
 * @velocity_at: of the later of the two, ns
 * @scan_time: from the one to the other, ns; 0 where @velocity is per scan
 * @mean_nvtl: running mean over good scans, @n_good of them
 */
typedef struct {
  int32_t status;
  int32_t n_skipped;
  int32_t has_initial;
  NdtPose initial;
  int32_t has_pose;
  NdtPose pose;
  int64_t time;
  int32_t has_odometry;
  NdtPose odometry;
  int32_t has_good;
  NdtPose good_pose;
  int64_t good_time;
  int32_t scans_since_good;
  int32_t has_velocity;
  double velocity[6];
  int64_t velocity_time;
  int64_t velocity_at;
  int64_t scan_time;
  int32_t n_good;
  double mean_nvtl;
  double mean_matched_ratio;
} NdtTracker;

typedef struct {
  int64_t time;
  int32_t has_prior;
  int32_t has_odometry;
  NdtPose prior;
  NdtPose odometry;
} NdtTrackerInput;

/**
 * NdtTrackerGuess:
 * @prediction: NDT_TRACKER_FROM_…
 * @far: the guess may be far off: search with all candidates
 * @pose: identity where there is none
 */
typedef struct {
  int32_t prediction;
  int32_t far;
  NdtPose pose;
} NdtTrackerGuess;

/* Steps that constant velocity is extrapolated over at most. */
#define NDT_TRACKER_MAX_STEPS 100

/* How a velocity changes at most, m/s² and rad/s², as a mean over the time from scan to scan: five
 * times what brakes do, twice what drones with a lidar do, and more than a hand that turns one by
 * 30 degrees to and fro twice a second. */
#define NDT_TRACKER_MAX_ACCELERATION 50
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
ndt_tracker_predict (
    const NdtTracker *tracker, const NdtTrackerInput *input, NdtTrackerGuess *guess)
{
  const NdtPose identity = {{0, 0, 0}, {0, 0, 0, 1}};
  const int32_t is_lost = tracker->status == NDT_TRACKER_LOST || !tracker->has_pose;
  guess->far = 0;
  if (tracker->has_initial) {
    guess->prediction = NDT_TRACKER_FROM_INITIAL;
    guess->far = 1;
    guess->pose = tracker->initial;
  } else if (input->has_prior) {
    guess->prediction = NDT_TRACKER_FROM_PRIOR;
    guess->far = tracker->status != NDT_TRACKER_TRACKING;
    guess->pose = input->prior;
  } else if (!is_lost && input->has_odometry && tracker->has_odometry) {
    const NdtPose inverse = ndt_pose_inverse (&tracker->odometry);
    const NdtPose increment = ndt_pose_mul (&inverse, &input->odometry);
    guess->prediction = NDT_TRACKER_FROM_ODOMETRY;
    guess->pose = ndt_pose_mul (&tracker->pose, &increment);
  } else if (!is_lost) {
    double twist[6];
    double ratio = 1;
    /* A clock that stands or runs backwards says nothing: one step then. */
    if (tracker->velocity_time > 0)
      ratio =
          (double)(tracker->time >= 0 && input->time > tracker->time ? input->time - tracker->time
                                                                     : tracker->scan_time) /
          (double)tracker->velocity_time;
    /* Nor does a velocity from two scans that were stamped almost at once. */
    if (ratio > NDT_TRACKER_MAX_STEPS)
      ratio = NDT_TRACKER_MAX_STEPS;
    guess->prediction = NDT_TRACKER_FROM_VELOCITY;
    guess->pose = tracker->pose;
    /* After a start nobody knows how fast it goes. */
    guess->far = !tracker->has_velocity;
    if (tracker->has_velocity) {
      for (int i = 0; i < 6; i++)
        twist[i] = ratio * tracker->velocity[i];
      const NdtPose step = ndt_pose_from_twist (twist);
      guess->pose = ndt_pose_mul (&tracker->pose, &step);
    }
  } else {
    guess->prediction = NDT_TRACKER_FROM_NOTHING;
    guess->pose = identity;
  }
}

/* Has an alignment fallen below a fraction of what the stream's good scans reach? */
NDT_INLINE int
ndt_tracker_dropped (const NdtTracker *tracker, double fraction, double nvtl, double matched_ratio)
{
  return tracker->n_good >= 3 && (nvtl < fraction * tracker->mean_nvtl ||
                                     matched_ratio < fraction * tracker->mean_matched_ratio);
}

/* Takes the velocity from the last good scan to one at @time and @pose. */
NDT_INLINE void
ndt_tracker_take_velocity (NdtTracker *tracker, const NdtPose *pose, int64_t time)
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
    /* Of two that contradict each other the slower one leads less far away. */
    if (faster >= 0 &&
        !ndt_tracker_is_credible (velocity, elapsed, last, 1e-9 * (double)(time - last_time)))
      return;
  }
  tracker->velocity_time = tracker->scan_time = timed ? time - since : 0;
  tracker->velocity_at = time;
  for (int i = 0; i < 6; i++)
    tracker->velocity[i] = timed ? twist[i] : twist[i] / tracker->scans_since_good;
}

/* @pose: of the alignment, read for GOOD and DEGRADED. */
NDT_INLINE void
ndt_tracker_update (NdtTracker *tracker, const NdtTrackerInput *input, const NdtTrackerGuess *guess,
    NdtTrackerOutcome outcome, const NdtPose *pose, double nvtl, double matched_ratio,
    uint32_t max_skips)
{
  tracker->scans_since_good++;
  if (outcome == NDT_OUTCOME_GOOD) {
    /* Velocity across a jump (a new start, a long gap) means nothing. */
    const int32_t continues = tracker->has_good && tracker->status != NDT_TRACKER_LOST &&
                              guess->prediction != NDT_TRACKER_FROM_INITIAL;
    if (continues)
      ndt_tracker_take_velocity (tracker, pose, input->time);
    tracker->has_velocity = continues;
    tracker->has_good = 1;
    tracker->good_pose = *pose;
    tracker->good_time = input->time;
    tracker->scans_since_good = 0;
    tracker->n_skipped = 0;
    tracker->status = NDT_TRACKER_TRACKING;
    tracker->has_initial = 0;
    /* A mean over about the last ten scans follows the surroundings. */
    tracker->n_good++;
    const double k = 1.0 / (tracker->n_good < 10 ? tracker->n_good : 10);
    tracker->mean_nvtl += k * (nvtl - tracker->mean_nvtl);
    tracker->mean_matched_ratio += k * (matched_ratio - tracker->mean_matched_ratio);
  } else {
    tracker->n_skipped++;
    if (guess->prediction == NDT_TRACKER_FROM_NOTHING)
      tracker->status = tracker->has_good || tracker->status == NDT_TRACKER_LOST
                            ? NDT_TRACKER_LOST
                            : NDT_TRACKER_INITIALIZING;
    else if ((uint32_t)tracker->n_skipped > max_skips)
      tracker->status = NDT_TRACKER_LOST;
    else if (outcome == NDT_OUTCOME_DEGRADED)
      tracker->status = NDT_TRACKER_DEGRADED;
    else if (outcome == NDT_OUTCOME_FAILED && tracker->status != NDT_TRACKER_TRACKING &&
             tracker->status != NDT_TRACKER_DEGRADED && tracker->status != NDT_TRACKER_SKIPPED)
      tracker->status = NDT_TRACKER_LOST; /* a start that meets nothing */
    else
      tracker->status = NDT_TRACKER_SKIPPED;
    /* An initial pose waits for a scan that can be tried. */
    if (outcome != NDT_OUTCOME_UNUSABLE)
      tracker->has_initial = 0;
  }

  tracker->has_pose = guess->prediction != NDT_TRACKER_FROM_NOTHING;
  tracker->pose = outcome <= NDT_OUTCOME_DEGRADED ? *pose : guess->pose;
  tracker->time = input->time;
  /* Odometry that is missing on one scan cannot be bridged: its next increment starts anew. */
  tracker->has_odometry = input->has_odometry;
  tracker->odometry = input->odometry;
}
