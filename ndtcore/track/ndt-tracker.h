/* SPDX-License-Identifier: MIT */
/* The tracker's step from one scan to the next: prediction before an alignment, memory after it.
 * Pure functions over plain records. docs/tracking.md has the table of states and outcomes. */
#pragma once

#include "ndtcore/math/ndt-formulas.h"
#include "ndt-drift.h"

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
  NDT_TRACKER_FROM_PRIOR,
  NDT_TRACKER_FROM_SEARCH
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
 * @mean_nvtl: the same of NVTL alone
 * @n_unconfirmed: further scans that have to be where motion leads from a new place before it
 * counts
 * @n_open: scans in a row that are not tracking since a direction is open
 * @has_anchor: @anchor is the last pose that counted, or a start that has not come to one: where it
 *   is searched around when lost …
 * @anchor_odometry: … belongs to it, if @has_anchor_odometry
 * @anchor_stddev: metres that it is known to
 * @anchor_velocity: of the body then, a twist per second without its turn, if @has_anchor_velocity
 * @debt: passes over scans that searches took beyond their budget
 * @drift: how well the position is known
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
  double mean_nvtl;
  double level;
  int32_t n_unconfirmed;
  int32_t n_open;
  int32_t has_anchor;
  NdtPose anchor;
  int64_t anchor_time;
  int32_t has_anchor_odometry;
  NdtPose anchor_odometry;
  double anchor_stddev;
  int32_t has_anchor_velocity;
  double anchor_velocity[6];
  double debt;
  NdtDrift drift;
} NdtTracker;

/* @holds: priors hold the pose, rather than lead to it, where motion leads; @searches: where
 * nothing says where the body is the whole map is searched. */
typedef struct {
  int64_t time;
  int32_t has_prior;
  int32_t has_odometry;
  int32_t holds;
  int32_t searches;
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
 * @is_lost: the stream is, and @pose is where it was, as far as anything tells how it went on
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
  int32_t is_lost;
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

/* What a body whose velocity is not known may have done, m/s and rad/s. */
#define NDT_TRACKER_MAX_SPEED 40.0
#define NDT_TRACKER_MAX_TURN 1.0
/* Seconds from scan to scan where they have no times. */
#define NDT_TRACKER_NO_TIME 0.1

/* Scans, this one included, that have to agree on a new place; and on one that was the best of an
 * area. */
#define NDT_TRACKER_CONFIRM 2
#define NDT_TRACKER_CONFIRM_AREA 3
/* Scans in a row that do not fit where velocity leads before that is given up. */
#define NDT_TRACKER_CARRY 2

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

void ndt_tracker_reset (NdtTracker *tracker);
/* Can a body that moves by @velocity, found over @elapsed seconds, have moved by @last @since
 * seconds before? Twists per second. Otherwise a time stamp is wrong, or a pose. */
int ndt_tracker_is_credible (
    const double velocity[6], double elapsed, const double last[6], double since);
/* Is @pose within @metres of where motion leads, and of what acceleration adds? */
int ndt_tracker_is_near (
    const NdtPose *pose, const NdtPose *own, double metres, double radians, double elapsed);
/* Where a prior is, turned as @pose: one from GNSS may not know its yaw. */
NdtPose ndt_tracker_turn_prior (const NdtPose *prior, const NdtPose *pose);
/* The prior holds the pose, along the heading of @orientation. One that is farther than @limit from
 * the guess pulls the less the farther it is. */
void ndt_tracker_hold (
    const NdtPose *prior, double limit, const double orientation[4], NdtTrackerGuess *guess);
void ndt_tracker_predict (
    const NdtTracker *tracker, const NdtTrackerInput *input, NdtTrackerGuess *guess);
/* One number for how well a scan is aligned: what each of its points contributes, those without a
 * voxel included. */
double ndt_tracker_quality (double nvtl, double matched_ratio);
/* Did it go where motion leads? Odometry tells that better than constant velocity, which after a
 * second may have led metres away. */
int ndt_tracker_follows (
    const NdtTracker *tracker, const NdtTrackerGuess *guess, const NdtPose *pose);
/* Has an alignment fallen below what the stream's good scans reach? By a fraction of that where it
 * went where motion leads, by half as much elsewhere. Where a pose set by hand leads scans may
 * score otherwise. */
int ndt_tracker_dropped (const NdtTracker *tracker, const NdtTrackerGuess *guess, double fraction,
    const NdtPose *pose, double nvtl, double matched_ratio);
/* Is an alignment from the guess alone to be tried again from far? One that dropped, but went
 * where motion leads and is no worse than the scan before, is not. */
int ndt_tracker_suspects (const NdtTracker *tracker, const NdtTrackerGuess *guess, double fraction,
    const NdtPose *pose, double nvtl, double matched_ratio);
/* Where to search for a body that is not where motion leads, and how far around: the last pose that
 * counted, with odometry since, or what time allows. 0 where there is none. */
int ndt_tracker_get_area (
    const NdtTracker *tracker, const NdtTrackerInput *input, NdtPose *around, double stddev[6]);

/* Does the scan say where the body is, rather than the scans before? */
int ndt_tracker_starts (const NdtTrackerGuess *guess);
/* @pose: of the alignment, read where there is one. */
void ndt_tracker_update (NdtTracker *tracker, const NdtTrackerInput *input,
    const NdtTrackerGuess *guess, NdtTrackerOutcome outcome, const NdtPose *pose, double nvtl,
    double matched_ratio, uint32_t max_skips);
