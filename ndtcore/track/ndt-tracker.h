/* SPDX-License-Identifier: MIT */
/* The tracker's step from one scan to the next: prediction before an alignment, update of the state
 * after it. Pure functions of plain structures. docs/tracking.md has the table of states and
 * outcomes. */
#pragma once

#include <math.h>

#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/odometry/ndt-course.h"
#include "ndtcore/odometry/ndt-drift.h"
#include "ndt-localizer.h"

/**
 * NdtTrackerOutcome:
 * @NDT_OUTCOME_ACCEPTED: aligned, and it fits where it is expected, or to a place to be confirmed
 * @NDT_OUTCOME_FELL: aligned, scores pass but fell against those of the scans before
 * @NDT_OUTCOME_UNCERTAIN: searched for around a start, and not found reliably
 * @NDT_OUTCOME_REJECTED: aligned, a score is below its threshold, or no motion leads there
 * @NDT_OUTCOME_NO_POSE: aligned to nothing: no pairs, not finite
 * @NDT_OUTCOME_NOT_ALIGNED: too few points, late, or no start
 *
 * What came of a scan, by its reason; from the best to the worst.
 */
typedef enum {
  NDT_OUTCOME_ACCEPTED,
  NDT_OUTCOME_FELL,
  NDT_OUTCOME_UNCERTAIN,
  NDT_OUTCOME_REJECTED,
  NDT_OUTCOME_NO_POSE,
  NDT_OUTCOME_NOT_ALIGNED
} NdtTrackerOutcome;

/**
 * NdtTrackerAnchor:
 * @is_set: there is one
 * @is_accepted: @pose was accepted; otherwise it is of a start that was rejected
 * @pose: of the last accepted scan, or of that start …
 * @time: … ns …
 * @stddev: … and its standard deviation, metres
 * @has_odometry: @odometry belongs to it, and has not contradicted the motion then or since
 * @has_velocity: @velocity of the body at that time is known, a twist per second without rotation
 * @overlap: of the scan that it was accepted with, see NdtLocalization
 */
typedef struct {
  int32_t is_set;
  int32_t is_accepted;
  NdtPose pose;
  int64_t time;
  double stddev;
  int32_t has_odometry;
  NdtPose odometry;
  int32_t has_velocity;
  double velocity[6];
  double overlap;
} NdtTrackerAnchor;

/**
 * NdtTracker:
 * @status: after the last scan
 * @n_skipped: consecutive scans that were not good
 * @n_against: of these, since a scan that agreed with motion, or a new start: too many make the
 *   state LOST
 * @has_initial: @initial waits for the next scan that can be aligned
 * @n_tries: scans that were searched for around @initial without a result, or for which a prior was
 *   kept; a prior may replace it then
 * @initial_stddev: standard deviations of @initial, once it is repeated
 * @has_pose: @pose is the best estimate of the last scan's pose
 * @pose: the base of the next prediction
 * @time: of @pose, ns; −1: unknown
 * @has_odometry: @odometry belongs to @pose …
 * @odometry_way: … and was so many metres from that of the scan before; 0: not known
 * @in_gate: the last aligned scan is good, or in the gate of a prediction from one that was
 * @good_pose: of the last scan that did so, if @has_good; @good_odometry belongs to it
 * @velocity: body twist from one good scan to the next (m, rad) over @velocity_time ns; per scan
 *   where @velocity_time is 0
 * @velocity_at: of the later of the two, ns
 * @scan_time: from the one to the other, ns; 0 where @velocity is per scan
 * @mean_quality: running mean of ndt_tracker_quality() over good scans, @n_good of them; scores of
 *   another map or place begin anew
 * @n_since_start: good scans since a start, with its own
 * @n_apart: scans in a row whose prior was beyond (NdtTrackerGuess)
 * @mean_nvtl: the same of NVTL alone
 * @first_nvtl: the same over the first scans since a start or a search
 * @n_unconfirmed: further scans that have to agree with motion from a new place before it is
 *   accepted
 * @n_open: scans in a row that are not tracking because a direction is open, or was …
 * @n_closed: … scans since then that leave none open, with no scan between them that leaves one
 *   open or is off the map …
 * @n_to_close: … and that still have to …
 * @is_from_far: … at a place that a search has found, and not where motion led …
 * @closed_quality: … and @mean_quality before
 * @anchor: around it a lost stream is searched for
 * @drift: variance of the position, if it is where the scans say
 * @open_drift: the same, of all that it could be: of scans that were not accepted since the last
 *   one that was, nothing counts but what tells one place from all others
 * @is_odometry_off: odometry contradicted the motion before it, and no scan that leaves no
 * direction open has agreed with it since
 * @level: quality that the next scan's is compared with, to decide on a search from far
 */
typedef struct {
  NdtTrackStatus status;
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
  double odometry_way;
  int32_t in_gate;
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
  int32_t n_since_start;
  int32_t n_apart;
  double mean_quality;
  double mean_nvtl;
  double first_nvtl;
  double level;
  int32_t n_unconfirmed;
  int32_t n_open;
  int32_t n_closed;
  int32_t n_to_close;
  int32_t is_from_far;
  double closed_quality;
  NdtTrackerAnchor anchor;
  NdtDrift drift;
  NdtDrift open_drift;
  int32_t is_odometry_off;
} NdtTracker;

/* @prior_in_objective: priors are part of the objective, and not guesses, where there is a
 * prediction by motion.
 */
typedef struct {
  int64_t time;
  int32_t has_prior;
  int32_t has_odometry;
  int32_t prior_in_objective;
  NdtPose prior;
  NdtPose odometry;
} NdtTrackerInput;

#define NDT_TRACKER_MAX_OTHERS 7

/**
 * NdtTrackerGuess:
 * @prediction: what @pose comes from
 * @far: the guess may be far off: search with all candidates, and from @others
 * @pose: identity where there is none
 * @n_others: number of @others, alternatives to @pose
 * @is_lost: the stream is lost, and @pose is its last pose, moved by odometry where there is some
 *   that is not off
 * @has_own: @own is set
 * @own: the prediction by motion from the scan before, without prior and odometry; that scan's pose
 *   where there is no motion … @coasts: … and whether it is by constant velocity
 * @has_odometry: @odometry is where odometry leads from the scan before, also where a prior is the
 *   guess
 * @elapsed: seconds since the scan before, 0 where that is not known
 * @contradicts: no change of velocity that a body makes explains that …
 * @ignores_odometry: … or none did before, and odometry is one of @others
 * @has_prior_term: a prior is part of the objective: its distance from the line through @prior_at
 * across
 *   @direction, x and y in the map, the latter a unit vector along the heading of
 * @prior_orientation
 * @is_beyond: and it is out of the range of motion from @pose …
 * @is_apart: … and of what is not known of that
 * @is_prior_tried: and so were those of the scans before: the body may be at the prior
 */
typedef struct {
  NdtPrediction prediction;
  int32_t far;
  NdtPose pose;
  int32_t n_others;
  NdtPose others[NDT_TRACKER_MAX_OTHERS];
  int32_t is_lost;
  int32_t has_own;
  NdtPose own;
  int32_t coasts;
  int32_t has_odometry;
  NdtPose odometry;
  double elapsed;
  int32_t contradicts;
  int32_t ignores_odometry;
  int32_t has_prior_term;
  int32_t is_beyond;
  int32_t is_apart;
  int32_t is_prior_tried;
  double prior_at[2];
  double direction[2];
  double prior_orientation[4];
} NdtTrackerGuess;

/* A velocity is used for this long after the last good scan, or for one and a half times the
 * interval that it was measured over, nanoseconds; without times for this many scans. A velocity of
 * two scans with almost the same stamp is used for at most this many such steps. */
#define NDT_TRACKER_MAX_COAST INT64_C (1000000000)
#define NDT_TRACKER_MAX_COAST_SCANS 10
#define NDT_TRACKER_MAX_STEPS 20
/* Then it is one of several guesses, for up to this long. */
#define NDT_TRACKER_MAX_EXTRAPOLATION INT64_C (10000000000)

/* A pose is away from the prediction of constant velocity if it is farther than the range of an
 * alignment, metres, and the effect of acceleration, m/s², in the time. */
#define NDT_TRACKER_REACH 2.0
#define NDT_TRACKER_GATE 0.5
#define NDT_TRACKER_GATE_TURN 0.2
#define NDT_TRACKER_ACCELERATION 10.0
/* The same of a turn, rad/s²: a body that begins or ends a turn between two scans. */
#define NDT_TRACKER_TURN_ACCELERATION 2.0
/* In more time than this, seconds, the gate is not wider: a place that is farther off is confirmed
 * by the scans after it, whatever the body may have done meanwhile. */
#define NDT_TRACKER_GATE_TIME 1.0

/* Largest velocity of a body whose velocity is not known, m/s and rad/s. */
#define NDT_TRACKER_MAX_SPEED 40.0
#define NDT_TRACKER_MAX_TURN 1.0
/* Seconds from scan to scan where they have no times. */
#define NDT_TRACKER_NO_TIME 0.1

/* Largest tilt of a body against what it was, rad. */
#define NDT_TRACKER_MAX_TILT 0.5

/* Scans since a start or a search over which @first_nvtl is the mean. */
#define NDT_TRACKER_FIRST 10
/* Scans, with this one, that have to agree on a new place. */
#define NDT_TRACKER_CONFIRM 2
/* Rejected scans in a row before a prediction by velocity is discarded. */
#define NDT_TRACKER_CARRY 2

/* Largest error of odometry, as a fraction: three standard deviations of a bad one. */
#define NDT_TRACKER_ODOMETRY_ERROR 0.15

/* Largest standard deviation of a heading, rad, with which odometry is used. */
#define NDT_TRACKER_HEADING 0.5

/* Priors in a row that are apart before the scan is searched for at the prior. */
#define NDT_TRACKER_MAX_APART 5

/* Guesses nearer to each other, metres and rad, are one. */
#define NDT_TRACKER_SAME 0.5
#define NDT_TRACKER_SAME_TURN 0.1

/* Metres and rad between two poses. */
static inline void
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

/* Returns 1 where @pose is within @metres, and the effect of acceleration, of the prediction by
 * motion. */
static inline int
ndt_tracker_is_near (
    const NdtPose *pose, const NdtPose *own, double metres, double radians, double elapsed)
{
  double m, r;
  ndt_tracker_difference (pose, own, &m, &r);
  return m <= metres + 0.5 * NDT_TRACKER_ACCELERATION * elapsed * elapsed && r <= radians;
}

/* @pose moved by the increment of odometry. */
static inline NdtPose
ndt_tracker_move (const NdtPose *pose, const NdtPose *before, const NdtPose *after)
{
  const NdtPose inverse = ndt_pose_inverse (before);
  const NdtPose increment = ndt_pose_mul (&inverse, after);
  return ndt_pose_mul (pose, &increment);
}

/* Returns 1 where the body is as upright as it was at @before. */
static inline int
ndt_tracker_is_upright (const NdtPose *pose, const NdtPose *before)
{
  const double up[3] = {0, 0, 1};
  double a[3], b[3];
  ndt_quat_rotate (before->orientation, up, a);
  ndt_quat_rotate (pose->orientation, up, b);
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] >= cos (NDT_TRACKER_MAX_TILT);
}

void ndt_tracker_reset (NdtTracker *tracker);
/* The position of a prior with the orientation of @pose, for priors from GNSS, which may have no
 * yaw. */
NdtPose ndt_tracker_turn_prior (const NdtPose *prior, const NdtPose *pose);
/* Makes the prior part of the objective, along the heading of @orientation. The influence of one
 * farther than @limit from the guess decreases with the distance. */
void ndt_tracker_add_prior_term (
    const NdtPose *prior, double limit, const double orientation[4], NdtTrackerGuess *guess);
void ndt_tracker_predict (
    const NdtTracker *tracker, const NdtTrackerInput *input, NdtTrackerGuess *guess);
/* Quality of an alignment: NVTL times matched ratio, the mean contribution of all points. */
double ndt_tracker_quality (double nvtl, double matched_ratio);
/* Returns 1 where the pose agrees with the prediction: by odometry, where there is some, since
 * constant velocity is metres off after a second. */
int ndt_tracker_in_gate (
    const NdtTracker *tracker, const NdtTrackerGuess *guess, const NdtPose *pose);
/* Returns 1 where the quality has fallen below that of the stream's good scans: by @score_drop at
 * the prediction, by half as much elsewhere. Not after a pose set by hand, where scores may differ.
 */
int ndt_tracker_dropped (const NdtTracker *tracker, const NdtTrackerGuess *guess, double fraction,
    const NdtPose *pose, double nvtl, double matched_ratio);
/* Returns 1 where an alignment from the guess is to be repeated from far; not for one that dropped
 * at its prediction and is no worse than the scan before. */
int ndt_tracker_needs_search (const NdtTracker *tracker, const NdtTrackerGuess *guess,
    double fraction, const NdtPose *pose, double nvtl, double matched_ratio);
/* ---- The anchor: ndt-tracker-anchor.c ---- */

/* Makes the pose of a scan that is TRACKING the anchor. @overlap: see NdtLocalization. */
void ndt_tracker_accept (
    NdtTracker *tracker, const NdtTrackerInput *input, const NdtPose *pose, double overlap);
/* Makes a start that was rejected the anchor. */
void ndt_tracker_reject_start (
    NdtTracker *tracker, const NdtTrackerInput *input, const NdtPose *start);
/* Odometry, and what contradicts it by a distance of @apart, metres in the map, in so many
 * @seconds: where scans leave no direction open they tell what is right, and otherwise either may
 * be. From the anchor on it says nothing of where the body may be. */
void ndt_tracker_contradict (NdtTracker *tracker, const double apart[3], double seconds);
/* Returns 1 where the stream's start was rejected, and no scan has been TRACKING since. */
static inline int
ndt_tracker_is_start_refuted (const NdtTracker *tracker)
{
  return tracker->anchor.is_set && !tracker->anchor.is_accepted;
}
/* Where the velocity leads that the body had when it was last accepted; 0 where it does not. */
int ndt_tracker_extrapolate_anchor (const NdtTracker *tracker, int64_t time, NdtPose *pose);
/* Returns 1 where a body that was at the anchor can have got to @pose by the time of @input. */
int ndt_tracker_reaches (
    const NdtTracker *tracker, const NdtTrackerInput *input, const NdtPose *pose);
/* The region to be searched where the predictions fail: around the last accepted pose, moved by
 * odometry, or as far as the time allows; or around a start that did not fit and has an
 * uncertainty. 0 where there is none. */
int ndt_tracker_get_area (
    const NdtTracker *tracker, const NdtTrackerInput *input, NdtPose *around, double stddev[6]);

/* ---- States and outcomes ---- */

/* Sets the pose that a search has found: @pose at @time, with the odometry then, and the velocity
 * as a twist over @velocity_time nanoseconds; both nullable. The next scan has to confirm it. */
void ndt_tracker_relocate (NdtTracker *tracker, const NdtPose *pose, int64_t time,
    const NdtPose *odometry, const double velocity[6], int64_t velocity_time);

/* Returns 1 where the guess is a start, and not a prediction from the scans before. */
int ndt_tracker_starts (const NdtTrackerGuess *guess);
/* @pose: of the alignment, read where there is one. */
void ndt_tracker_update (NdtTracker *tracker, const NdtTrackerInput *input,
    const NdtTrackerGuess *guess, NdtTrackerOutcome outcome, const NdtPose *pose, double nvtl,
    double matched_ratio, uint32_t max_skips);
