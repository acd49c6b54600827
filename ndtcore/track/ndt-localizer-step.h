/* SPDX-License-Identifier: MIT */
/* A scan on its way through a localizer. Private to it. */
#pragma once

#include "ndt-course.h"
#include "ndt-fit.h"
#include "ndtcore/align/ndt-initial-pose.h"
#include "ndt-localizer.h"
#include "ndt-moving-scan.h"
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
  NdtFitModel fit;
  double jump; /* metres to the latest place that motion does not lead to */
  gint64 upload_times[NDT_MAX_SCANS];
};

/**
 * NdtLocalizerStep:
 * @reason: why it is not aligned, or was not good
 * @dropped: that is, no threshold is missed, but its scores fell
 * @tried: it is aligned
 * @is_wide: it is searched for around the guess: @search
 * @has_course: its motion is compensated by @course
 * @guesses: where the sensor is in its middle, by the guess, and by its others once they count
 * @jumps: it fits, but motion does not lead there: other scans have to agree
 * @is_area: it is searched for around the last pose that counted
 * @drift: how well its position is known
 * @debt: as of the tracker, after it
 * @base: where the body is taken to be after it
 * @is_complete: @registration has its covariance
 *
 * A scan on its way through the localizer: the four functions below, in turn.
 */
typedef struct {
  const NdtObservation *observation;
  guint slot;
  NdtTrackerInput input;
  NdtTrackerGuess guess;
  NdtReason reason;
  gboolean dropped;
  gboolean jumps;
  gboolean is_area;
  gboolean tried;
  gboolean is_wide;
  NdtPoseSearch search;
  gboolean has_course;
  NdtCourse course;
  NdtPose guesses[1 + NDT_TRACKER_MAX_OTHERS];
  NdtPose base;
  NdtDrift drift;
  double debt;
  NdtAlignResult result;
  gboolean is_complete;
  NdtLocalization out;
} NdtLocalizerStep;

static inline const NdtPose *
ndt_localizer_get_mount (const NdtLocalizer *localizer)
{
  return localizer->has_mount ? &localizer->params.sensor_pose : NULL;
}

/* Is the scan's motion compensated? */
static inline gboolean
ndt_localizer_step_is_deskewed (const NdtLocalizerStep *step)
{
  return step->has_course && step->course.has_velocity;
}

/* A scan fits as well in one place as in another if its quality there reaches this fraction. */
#define NDT_LOCALIZER_AS_GOOD 0.9

/* NVTL times matched ratio: what each point contributes. */
double ndt_localizer_get_quality (const NdtRegistration *registration);
/* The body's pose at the observation's time, by the registration as it is. */
NdtPose ndt_localizer_step_get_pose (const NdtLocalizer *localizer, const NdtLocalizerStep *step);
/* Sets why the registration does not count, if it does not, and the numbers that say so. */
void ndt_localizer_step_judge (NdtLocalizer *localizer, NdtLocalizerStep *step);
/* Sets the numbers that led to the result's reason, and the directions that the scan leaves open.
 */
void ndt_localizer_step_explain (NdtLocalizer *localizer, NdtLocalizerStep *step);
/* For choosing between places, the higher the better. */
double ndt_localizer_step_rate (const NdtLocalizer *localizer, const NdtLocalizerStep *step);
/* Takes the scan into what is known of the position. Where it leaves a direction open, the
 * registration's pose goes where the prediction does. */
void ndt_localizer_step_drift (NdtLocalizer *localizer, NdtLocalizerStep *step);
/* Adds what is not known of the position to the registration's covariance. */
void ndt_localizer_step_add_drift (const NdtLocalizerStep *step, NdtRegistration *registration);

/* The filter with its leaf size as it is on the map. */
NdtScanFilter ndt_localizer_get_filter (const NdtLocalizer *localizer);

void ndt_localizer_step_predict (
    NdtLocalizer *localizer, guint slot, const NdtObservation *observation, NdtLocalizerStep *step);
/* @n_following: scans in the slots after this one that are ready. */
gboolean ndt_localizer_step_begin (
    NdtLocalizer *localizer, NdtLocalizerStep *step, guint n_following, GError **error);
/* Ends the alignment, does what else it takes to know the pose, and tells the tracker. */
gboolean ndt_localizer_step_finish (
    NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error);
/* The rest of the result. Needs the backend for covariances by offsets and scores without the
 * ground only. */
gboolean ndt_localizer_step_complete (
    NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error);

G_END_DECLS
