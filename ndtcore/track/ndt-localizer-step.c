/* SPDX-License-Identifier: MIT */
#include "ndt-localizer-step.h"

#include <math.h>
#include <string.h>

#include "ndtcore/expression/ndt-expr-terms.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/math/ndt-mount.h"

static NdtTrackerInput
get_input (const NdtLocalizer *localizer, const NdtObservation *observation)
{
  NdtTrackerInput input = {
      .time = observation->time, .prior = observation->prior, .odometry = observation->odometry};
  /* Invalid poses are ignored. */
  input.has_prior = observation->has_prior && ndt_pose_normalize (&input.prior);
  input.has_odometry = observation->has_odometry && ndt_pose_normalize (&input.odometry);
  const NdtExtraTerms *terms = localizer->params.registration.align.terms;
  const gboolean by_terms = terms && ndt_expr_terms_get_poses (terms) & NDT_EXPR_TERMS_PRIOR;
  input.prior_in_objective =
      localizer->params.regularization_scale > 0 || localizer->params.prior_factor || by_terms;
  return input;
}

NdtPrediction
ndt_localizer_predict (
    const NdtLocalizer *localizer, const NdtObservation *observation, NdtPose *pose)
{
  const NdtTrackerInput input = get_input (localizer, observation);
  NdtTrackerGuess guess;
  ndt_tracker_predict (&localizer->tracker, &input, &guess);
  *pose = guess.pose;
  return guess.prediction;
}

/* Sets the region around the guess that is searched. FALSE where the search from far covers it, or
 * where there is another prediction. */
static gboolean
get_search (const NdtLocalizer *localizer, const NdtObservation *observation,
    const NdtTrackerGuess *guess, NdtPoseSearch *search)
{
  const NdtTracker *tracker = &localizer->tracker;
  const double *stddev = NULL;
  *search = localizer->params.start;
  if (!ndt_tracker_starts (guess))
    return FALSE;
  if (guess->prediction == NDT_PREDICTION_PRIOR)
    stddev = observation->has_prior_stddev ? observation->prior_stddev : NULL;
  else
    stddev = tracker->n_tries > 0 ? tracker->initial_stddev : NULL;
  if (stddev)
    memcpy (search->stddev, stddev, sizeof (search->stddev));
  search->seed += (guint64)tracker->n_tries;
  return ndt_pose_search_check (search, NULL) && ndt_pose_search_is_wide (search);
}

void
ndt_localizer_step_predict (
    NdtLocalizer *localizer, guint slot, const NdtObservation *observation, NdtLocalizerStep *step)
{
  NdtTracker *tracker = &localizer->tracker;
  memset (step, 0, sizeof (*step));
  step->observation = observation;
  step->slot = slot;
  step->out.previous_status = tracker->status;
  step->input = get_input (localizer, observation);
  ndt_tracker_predict (tracker, &step->input, &step->guess);
  step->out.prediction = step->guess.prediction;
  step->out.searched = localizer->is_found;
  step->out.guess = step->guess.pose;
  if (observation->deadline > 0 && g_get_monotonic_time () > observation->deadline)
    step->reason = NDT_REASON_TOO_LATE;
  else if (step->out.prediction == NDT_PREDICTION_NONE)
    step->reason = NDT_REASON_NO_START;
  step->tried = step->reason == NDT_REASON_NONE;
  /* Also set for a scan that is not aligned: the next one may be, around the same pose. */
  step->is_wide = get_search (localizer, observation, &step->guess, &step->search) && step->tried;
}

static NdtTrackerOutcome
get_outcome (const NdtLocalizerStep *step)
{
  switch (step->reason) {
  case NDT_REASON_NONE:
    return NDT_OUTCOME_ACCEPTED;
  case NDT_REASON_IMPLAUSIBLE_MOTION:
    return NDT_OUTCOME_REJECTED;
  case NDT_REASON_BAD_FIT:
  case NDT_REASON_WEAK_OVERLAP:
    if (step->out.registration.stop == NDT_STOP_NOT_FINITE)
      return NDT_OUTCOME_NO_POSE;
    return step->is_wide   ? NDT_OUTCOME_UNCERTAIN
           : step->dropped ? NDT_OUTCOME_FELL
                           : NDT_OUTCOME_REJECTED;
  case NDT_REASON_AMBIGUOUS:
    return NDT_OUTCOME_UNCERTAIN;
  case NDT_REASON_NO_MAP:
    return step->is_wide ? NDT_OUTCOME_UNCERTAIN : NDT_OUTCOME_NO_POSE;
  default:
    return NDT_OUTCOME_NOT_ALIGNED;
  }
}

/* Along a road several places fit; where its direction was open, that many scans have to agree that
 * it is not, and more where they fit worse than those before. */
#define CLOSING 3
#define CLOSING_WORSE 10
/* Scans with a greater share of points off the map do not agree. */
#define CLOSING_OFF_MAP 0.02
/* In a place that a search has found, and not motion, along a road that was open, only scans count
 * with so many times the information that flat surfaces feign: wrong places have up to 2. */
#define CLOSING_SURE 2.1

/* By a velocity of scans along a road that was open: how far one that agrees may be from the
 * prediction, metres, and the effect of acceleration. */
#define CLOSING_STEP 0.15

/* Does the scan agree with the motion of those before it? One on its way from a wrong place to
 * another one does not. A prior that takes part tells the place itself, and its noise is no motion.
 */
static gboolean
agrees (const NdtLocalizerStep *step)
{
  const NdtTrackerGuess *guess = &step->guess;
  const double seconds = guess->elapsed > 0 ? guess->elapsed : NDT_TRACKER_NO_TIME;
  return (guess->has_prior_term && !guess->is_apart) ||
         guess->prediction != NDT_PREDICTION_CONSTANT_VELOCITY ||
         step->out.innovation <= CLOSING_STEP + 0.5 * NDT_TRACKER_ACCELERATION * seconds * seconds;
}

/* Does the scan tell where along the road it is, wherever it comes from? */
static gboolean
is_sure (const NdtTracker *tracker, const NdtObservability *seen)
{
  const double *information = seen->information;
  return !tracker->is_from_far ||
         MIN (MIN (information[0], information[1]), information[2]) >= CLOSING_SURE * seen->flat;
}

/* Sets the reason and the status where a direction is open, or was until few scans ago. */
static gboolean
judge_open (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  NdtTracker *tracker = &localizer->tracker;
  NdtLocalization *out = &step->out;
  const gboolean as_good = ndt_registration_get_quality (&out->registration) >=
                           NDT_LOCALIZER_AS_GOOD * tracker->closed_quality;
  const gboolean is_place = out->fit >= NDT_LOCALIZER_AREA_FIT * localizer->params.min_start_fit;
  /* Along an open direction every place fits, and motion may be wrong from its start on. Of priors
   * one may be wrong, two in a row are not both. */
  if (step->guess.is_apart && (tracker->n_apart > 1 || step->guess.is_prior_tried) &&
      ndt_observability_count_open (&out->registration.observability) > 0) {
    const NdtPose body = ndt_localizer_step_get_pose (localizer, step);
    double metres;
    ndt_pose_difference (&body, &step->input.prior, &metres, NULL);
    out->sigma = MAX (out->sigma, metres);
  }
  if (out->sigma > localizer->params.max_sigma) {
    out->reason = NDT_REASON_DEGENERATE;
    tracker->n_closed = 0;
  } else if (tracker->n_open > 0 && !ndt_tracker_starts (&step->guess)) {
    double off;
    if (!ndt_localizer_get_off_map (localizer, step->slot, &out->registration.pose, &off, error))
      return FALSE;
    if (!(as_good || is_place) || off > CLOSING_OFF_MAP || !agrees (step))
      tracker->n_closed = 0;
    else
      tracker->n_closed += is_sure (tracker, &out->registration.observability);
    tracker->n_to_close = (as_good ? CLOSING : CLOSING_WORSE) - tracker->n_closed;
    if (tracker->n_to_close > 0)
      out->reason = NDT_REASON_STALE_PREDICTION;
  }
  if (out->reason != NDT_REASON_NONE)
    tracker->status = NDT_TRACK_DEGRADED;
  return TRUE;
}

/* What the compensation of an accepted scan tells of the motion, which is more accurate than the
 * way between two poses. A rejected scan gives no velocity. */
static void
take_course (NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  NdtTracker *tracker = &localizer->tracker;
  const gboolean is_accepted = step->reason == NDT_REASON_NONE;
  localizer->course.has_pose = FALSE;
  if (!step->has_course || !(is_accepted || (step->dropped && tracker->in_gate)))
    return;
  localizer->course = step->course;
  if (!step->course.has_velocity || !(tracker->has_velocity || is_accepted))
    return;
  tracker->has_velocity = TRUE;
  memcpy (tracker->velocity, step->course.velocity, sizeof (tracker->velocity));
  tracker->velocity_time = 1000000000;
  if (!step->course.is_doubtful)
    tracker->velocity_at = step->input.time;
}

/* The reason and the status, once the tracker is updated: of a scan that fits it may still not be
 * known how it moves, whether the place is confirmed, and whether a direction is open. */
static gboolean
decide (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  NdtTracker *tracker = &localizer->tracker;
  NdtLocalization *out = &step->out;
  out->reason = step->reason;
  if (step->reason != NDT_REASON_NONE)
    return TRUE;
  /* The pose in the scan's middle is good, and tracking continues from it; but the pose at the
   * scan's time, and the points, are compensated by the velocity of another scan. */
  if (step->has_course && ndt_localizer_step_is_doubtful (step)) {
    out->reason = NDT_REASON_IMPLAUSIBLE_MOTION;
    tracker->status = NDT_TRACK_DEGRADED;
  } else if (tracker->n_unconfirmed > 0) {
    out->reason = step->guess.coasts || step->input.has_odometry ? NDT_REASON_IMPLAUSIBLE_MOTION
                                                                 : NDT_REASON_STALE_PREDICTION;
  } else if (localizer->params.max_sigma > 0) {
    return judge_open (localizer, step, error);
  }
  return TRUE;
}

/* What remains for the next scans, once the status is known. */
static void
settle (NdtLocalizer *localizer, NdtLocalizerStep *step, const NdtPose *body)
{
  NdtTracker *tracker = &localizer->tracker;
  NdtLocalization *out = &step->out;
  if (tracker->status == NDT_TRACK_TRACKING) {
    tracker->closed_quality = tracker->mean_quality;
    if (!step->is_questioned)
      ndt_tracker_accept (tracker, &step->input, body, out->overlap);
    tracker->anchor.overlap = out->overlap;
  }
  out->status = tracker->status;
  ndt_localizer_step_settle_drift (localizer, step);
  ndt_localizer_explain_search (localizer, out);
  ndt_localizer_step_explain (localizer, step);
  localizer->is_found = FALSE;
  localizer->was_open = out->n_open > 0;
  if (out->status == NDT_TRACK_TRACKING)
    tracker->n_open = tracker->n_to_close = tracker->is_from_far = 0;
  else if (out->reason == NDT_REASON_DEGENERATE || tracker->n_open > 0)
    tracker->n_open++;
  out->n_skipped = (guint)MAX (tracker->n_skipped, tracker->n_open);
  out->relocalized =
      out->status == NDT_TRACK_TRACKING &&
      (out->previous_status == NDT_TRACK_LOST || out->previous_status == NDT_TRACK_DEGRADED ||
          out->previous_status == NDT_TRACK_SKIPPED);
  out->has_pose = out->prediction != NDT_PREDICTION_NONE;
}

/* Completes the alignment and updates the tracker, so that the next scan can be predicted. */
gboolean
ndt_localizer_step_finish (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  NdtTracker *tracker = &localizer->tracker;
  NdtLocalization *out = &step->out;
  if (!ndt_localizer_step_align (localizer, step, error))
    return FALSE;
  const gboolean is_accepted = step->reason == NDT_REASON_NONE;
  out->deskewed = step->tried && ndt_localizer_step_is_deskewed (step);
  if (step->tried && is_accepted && step->jumps) {
    tracker->n_unconfirmed = NDT_TRACKER_CONFIRM;
    tracker->n_closed = 0;
  }
  if (!ndt_localizer_step_drift (localizer, step, error))
    return FALSE;
  if (ndt_tracker_starts (&step->guess))
    localizer->jump = step->reason == NDT_REASON_IMPLAUSIBLE_MOTION ? out->innovation : 0;
  else if (step->jumps && !ndt_tracker_is_start_refuted (tracker))
    localizer->jump = out->innovation;
  const NdtPose body = ndt_localizer_step_get_pose (localizer, step);
  if (ndt_tracker_starts (&step->guess))
    memcpy (tracker->initial_stddev, step->search.stddev, sizeof (tracker->initial_stddev));
  const NdtTracker before = *tracker;
  ndt_tracker_update (tracker, &step->input, &step->guess, get_outcome (step), &body,
      out->registration.nvtl, out->registration.matched_ratio, localizer->params.max_skips);
  step->base = tracker->pose;
  take_course (localizer, step);
  if (is_accepted)
    ndt_localizer_step_lead_velocity (localizer, step, &before);
  if (is_accepted && !localizer->has_planar) {
    localizer->has_planar = TRUE;
    localizer->planar = body;
  }
  if (!decide (localizer, step, error))
    return FALSE;
  settle (localizer, step, &body);
  const guint n_searched = ndt_relocalizer_count (localizer->relocalizer);
  if (!ndt_localizer_step_search (localizer, step, error))
    return FALSE;
  /* A search that waits for scans gets nowhere with those that cannot be added. */
  const guint n = ndt_relocalizer_count (localizer->relocalizer);
  out->is_searched_for = n > n_searched || n >= NDT_RELOCALIZER_SCANS;
  return TRUE;
}

gboolean
ndt_localizer_step_complete (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  const NdtLocalizerParams *params = &localizer->params;
  NdtRegistration *registration = &step->out.registration;
  const NdtTrackerOutcome outcome = get_outcome (step);
  const double cell = ndt_backend_get_resolution (localizer->backend);
  gboolean ok = TRUE;
  if (step->tried) {
    const NdtPose sensor = registration->pose;
    const NdtRegistrationParams registration_params =
        ndt_localizer_step_get_params (localizer, step);
    /* Before the covariance, for which a device sums the clusters meanwhile. */
    if (outcome <= NDT_OUTCOME_REJECTED)
      ndt_localizer_step_follow_rays (localizer, step, &sensor);
    /* On FALSE there is a covariance as well, for a caller that delivers the scan. */
    ok = step->is_complete || ndt_register_complete (localizer->backend, step->slot,
                                  &registration_params, &step->result, registration, error);
    const NdtPose pose = ndt_localizer_step_get_pose (localizer, step);
    registration->pose = ndt_mount_body_of_sensor (ndt_localizer_get_mount (localizer), &sensor);
    ndt_localizer_step_add_drift (step, cell, registration);
    if (outcome <= NDT_OUTCOME_REJECTED)
      ndt_localizer_step_add_faces (localizer, step, &sensor);
    if (params->no_ground_margin > 0 && outcome <= NDT_OUTCOME_REJECTED &&
        !ndt_localizer_score_no_ground (
            localizer, step->slot, &sensor, &registration->pose, &step->out, ok ? error : NULL))
      return FALSE;
    registration->pose = pose;
  }
  if (outcome > NDT_OUTCOME_REJECTED) {
    registration->score = registration->transformation_probability = registration->nvtl =
        registration->matched_ratio = 0;
    registration->pose = step->base;
    ndt_registration_set_fixed_covariance (registration, &params->registration, &step->base);
    ndt_localizer_step_add_drift (step, cell, registration);
  }
  return ok;
}
