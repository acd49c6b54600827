/* SPDX-License-Identifier: MIT */
/* Processing of a scan by a localizer. Private to it. */
#pragma once

#include "ndtcore/odometry/ndt-course.h"
#include "ndt-fit.h"
#include "ndtcore/registration/ndt-faces.h"
#include "ndtcore/registration/ndt-initial-pose.h"
#include "ndt-localizer.h"
#include "ndtcore/odometry/ndt-moving-scan.h"
#include "ndt-relocalizer.h"
#include "ndt-tracker.h"

G_BEGIN_DECLS

struct _NdtLocalizer {
  NdtBackend *backend;
  NdtLocalizerParams params;
  NdtTracker tracker;
  gboolean has_mount; /* params.sensor_pose is not the identity */
  NdtMovingScan *moving;
  NdtCourse course; /* of the last scan that had one */
  float *thinned;   /* packed points of a scan */
  guint thinned_capacity;
  NdtFaces *faces; /* of maps that have such walls */
  NdtFitModel fit;
  gboolean has_planar; /* @planar is where the drive began: its height and tilt */
  NdtPose planar;
  gboolean was_open; /* the scan before left a direction open */
  double jump;       /* metres to the latest place that motion does not lead to */
  gint64 upload_times[NDT_MAX_SCANS];
  NdtRelocalizer *relocalizer;
  gboolean is_live;
  guint n_failed;   /* searches in a row that found nothing … */
  double rest;      /* … and seconds of the stream that the next one waits for */
  gint64 last_time; /* of the last scan, ns; −1: unknown */
  gboolean has_failure;
  NdtRelocation failure;  /* the last of them */
  gboolean is_found;      /* the next scan starts from what a search has found */
  gboolean is_questioned; /* the search is for a scan that counts: NdtLocalizerStep */
  double quality;         /* of the last scan */
  double refuted_below;   /* quality of scans at the prediction: another place fits better; or 0 */
  gboolean is_extra_told; /* that extra terms were not finite */
};

/**
 * NdtLocalizerStep:
 * @reason: why it was not aligned, or was rejected
 * @dropped: it meets all thresholds, but its scores fell
 * @tried: it was aligned
 * @is_wide: it is searched for around the guess: @search
 * @factor: what else than the scan tells of the body's pose
 * @has_extra: the extra terms are part of its alignment
 * @has_first: there was a scan that was localized before it, the first one at @first
 * @has_course: its motion is compensated by @course
 * @has_motion: it was before it was aligned
 * @guesses: poses of the sensor in the scan's middle, by the guess and, in a search, by its others
 * @jumps: it fits, away from the prediction: other scans have to confirm the place
 * @is_questioned: it counts at its prediction, but fits worse than those before: the map may lack
 *   something, or the body may be in another place, for which a search looks meanwhile
 * @drift: variance of its position
 * @is_open: of a scan that is not accepted: of all that it could be
 * @n_led: number of @led, unit vectors in the map along which a prior and motion lead, and @gain,
 * by which the velocity follows the pose there, 1/s (ndt_drift_get_gain())
 * @base: pose of the body from which the stream continues
 * @is_complete: @registration has its covariance
 * @may_profile: there are passes left for the score along an open axis
 *
 * State of a scan, for the functions below, which are called in their order.
 */
typedef struct {
  const NdtObservation *observation;
  guint slot;
  NdtTrackerInput input;
  NdtTrackerGuess guess;
  NdtReason reason;
  gboolean dropped;
  gboolean jumps;
  gboolean is_questioned;
  gboolean tried;
  gboolean is_wide;
  NdtPoseSearch search;
  NdtPoseFactor factor;
  gboolean has_extra;
  gboolean has_first;
  NdtPose first;
  gboolean has_course;
  NdtCourse course;
  gboolean has_motion;
  NdtPose guesses[1 + NDT_TRACKER_MAX_OTHERS];
  NdtPose base;
  NdtDrift drift;
  gboolean is_open;
  guint n_led;
  double led[3][3];
  double gain[3];
  NdtAlignResult result;
  gboolean is_complete;
  gboolean may_profile;
  NdtLocalization out;
} NdtLocalizerStep;

static inline const NdtPose *
ndt_localizer_get_mount (const NdtLocalizer *localizer)
{
  return localizer->has_mount ? &localizer->params.sensor_pose : NULL;
}

/* Returns TRUE where the scan's motion is compensated. */
static inline gboolean
ndt_localizer_step_is_deskewed (const NdtLocalizerStep *step)
{
  return step->has_course && step->course.has_velocity;
}

/* Returns TRUE where the observation has times of points. */
static inline gboolean
ndt_localizer_has_times (const NdtObservation *observation)
{
  return observation->point_times.data && observation->points.n_points > 0 &&
         observation->time >= 0;
}

/* Least ratio of the qualities in two places at which a scan does not distinguish them. */
#define NDT_LOCALIZER_AS_GOOD 0.9
/* What a search finds was the best of many places, and has to fit by so much better. */
#define NDT_LOCALIZER_AREA_FIT 1.06
/* A new place is known to what the scan tells, and beyond that to this, metres. */
#define NDT_LOCALIZER_NEW_PLACE 2.0

/* No road has an axis with so many times the information that flat surfaces feign. */
#define NDT_LOCALIZER_NO_ROAD 5.0

/* With less than this fraction of the usual matched ratio the misfit of a scan is due to the extent
 * of the map. */
#define NDT_LOCALIZER_SMALL_OVERLAP 0.6

/* The share of the points of the scan in a slot that lie off the map where the sensor is at
 * @sensor (ndt_residual_off_map()); 0 where the map is not in the host's memory. */
gboolean ndt_localizer_get_off_map (
    NdtLocalizer *localizer, guint slot, const NdtPose *sensor, double *off, GError **error);
/* The body's pose at the observation's time, by the current registration. */
NdtPose ndt_localizer_step_get_pose (const NdtLocalizer *localizer, const NdtLocalizerStep *step);
/* Sets the reason why the registration is rejected, if it is, and its numbers. */
void ndt_localizer_step_judge (NdtLocalizer *localizer, NdtLocalizerStep *step);
/* Returns FALSE where a body that is not where motion leads may be elsewhere than at @body, where
 * the scan of @input fits: one place that fits is then not enough. */
gboolean ndt_localizer_may_be_at (
    const NdtLocalizer *localizer, const NdtTrackerInput *input, const NdtPose *body);
/* Returns TRUE where the registration is at the guess, up to a correction of usual size. */
gboolean ndt_localizer_step_is_near (const NdtLocalizer *localizer, const NdtLocalizerStep *step);
/* Sets the numbers that led to the result's reason, and the directions that the scan leaves open.
 */
void ndt_localizer_step_explain (NdtLocalizer *localizer, NdtLocalizerStep *step);
/* What priors with a covariance, odometry and a planar robot tell, as far as the params ask for it.
 */
void ndt_localizer_step_set_factor (const NdtLocalizer *localizer, NdtLocalizerStep *step);
/* The sensor's pose in the middle of its scan, from the body's pose at the observation's time. */
NdtPose ndt_localizer_step_get_sensor (
    const NdtLocalizer *localizer, const NdtLocalizerStep *step, const NdtPose *body);
/* The values of the extra terms. */
void ndt_localizer_step_get_extra (
    const NdtLocalizer *localizer, const NdtLocalizerStep *step, NdtExtraValues *extra);
/* Where motion and a prior of the objective lead the body along the map's axes. @stddev: of a prior
 * by the regularization's scale, whose weight is no variance; @variance: of the prediction by
 * motion, m²; @lead: (inout): its position; @told: (out): 3×3 information of the prior on the
 * position there, 1/m². FALSE, and @lead and @told unchanged: there is no prior. */
gboolean ndt_localizer_step_lead (const NdtLocalizer *localizer, const NdtLocalizerStep *step,
    double stddev, const double variance[3], double lead[3], double told[3][3]);
/* Logs once that they were not finite. */
void ndt_localizer_tell_extra (NdtLocalizer *localizer);
/* The factor of the body's pose as one of its sensor's. @sensor: its pose where the body is at the
 * factor's mean. */
void ndt_localizer_factor_to_sensor (
    const NdtPoseFactor *body, const NdtPose *sensor, NdtPoseFactor *out);
/* Sets the rays of the result, of a scan whose sensor is at @sensor, and its confidence. */
void ndt_localizer_step_follow_rays (
    NdtLocalizer *localizer, NdtLocalizerStep *step, const NdtPose *sensor);
/* Replaces the scan in the slot by its points above the margin over the body, and evaluates their
 * scores. */
gboolean ndt_localizer_score_no_ground (NdtLocalizer *localizer, guint slot, const NdtPose *sensor,
    const NdtPose *body, NdtLocalization *out, GError **error);
/* For choosing between places, the higher the better. */
double ndt_localizer_step_rate (const NdtLocalizer *localizer, const NdtLocalizerStep *step);
/* Updates the variance of the position. Along directions that the scan leaves open the
 * registration's pose is that of the prediction. */
gboolean ndt_localizer_step_drift (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error);
/* Parameters of the scan's registration, with the regularization of its sensor's pose. */
NdtRegistrationParams ndt_localizer_step_get_params (
    const NdtLocalizer *localizer, const NdtLocalizerStep *step);
/* Completes the alignment that was begun, and searches where it does not fit. */
gboolean ndt_localizer_step_align (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error);
/* Returns TRUE where the velocity from the scan before is not credible. With a prior in the
 * objective its influence on the pose is no motion, and the velocity before is used. */
gboolean ndt_localizer_step_is_doubtful (const NdtLocalizerStep *step);
/* Once the tracker is updated: along axes on which a prior leads the velocity is the one @before,
 * corrected by the gain. */
void ndt_localizer_step_lead_velocity (
    NdtLocalizer *localizer, const NdtLocalizerStep *step, const NdtTracker *before);
/* Once the status is known: of a scan that is not tracking σ and @drift are of all that its place
 * could be. */
void ndt_localizer_step_settle_drift (NdtLocalizer *localizer, NdtLocalizerStep *step);
/* Raises the registration's covariance to the variance of the position. @cell: of the map, metres.
 */
void ndt_localizer_step_add_drift (
    const NdtLocalizerStep *step, double cell, NdtRegistration *registration);
/* @sensor: where the scan was aligned. */
void ndt_localizer_step_add_faces (
    NdtLocalizer *localizer, NdtLocalizerStep *step, const NdtPose *sensor);

/* Before a scan is predicted: takes what a search has found. FALSE with NDT_ERROR_CANCELLED. */
gboolean ndt_localizer_relocate (NdtLocalizer *localizer, GError **error);
/* When its outcome is known: begins a search where the stream is in trouble, or adds the scan to
 * the one that runs. */
gboolean ndt_localizer_step_search (
    NdtLocalizer *localizer, const NdtLocalizerStep *step, GError **error);
/* Index of the point that is taken of a scan's group of @size points in a row: another one of each,
 * since the same one of each would be that of some rings alone where points come column by column.
 */
gsize ndt_localizer_pick_point (gsize group, gsize size);
/* The result's reason, where there was nothing to start from, is the search's. */
void ndt_localizer_explain_search (const NdtLocalizer *localizer, NdtLocalization *out);
/* Returns TRUE where there is one: it is asked for, and the map is in the host's memory. */
gboolean ndt_localizer_can_search (const NdtLocalizer *localizer);
void ndt_localizer_drop_search (NdtLocalizer *localizer);

/* The filter, with the leaf size for the map where that is automatic. */
static inline NdtScanFilter
ndt_localizer_get_filter (const NdtLocalizer *localizer)
{
  NdtScanFilter filter = localizer->params.filter;
  if (filter.leaf_size == NDT_LEAF_SIZE_AUTO) {
    const double leaf = 0.5 * ndt_backend_get_resolution (localizer->backend);
    filter.leaf_size = leaf >= 0.001 ? (float)leaf : 0;
  }
  return filter;
}

void ndt_localizer_step_predict (
    NdtLocalizer *localizer, guint slot, const NdtObservation *observation, NdtLocalizerStep *step);
/* @n_following: number of scans that are set in the slots after this one. */
gboolean ndt_localizer_step_begin (
    NdtLocalizer *localizer, NdtLocalizerStep *step, guint n_following, GError **error);
/* Ends the alignment, runs further alignments and searches as needed, and updates the tracker. */
gboolean ndt_localizer_step_finish (
    NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error);
/* Completes the result. Uses the backend for covariances by offsets and scores without the ground
 * only. */
gboolean ndt_localizer_step_complete (
    NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error);

G_END_DECLS
