/* SPDX-License-Identifier: MIT */
/* How a scan is aligned: from the prediction, from far, with its motion compensated, and within how
 * many passes over its points: docs/tracking.md, "Passes". */
#include "ndt-localizer-step.h"

#include <math.h>
#include <string.h>

#include "ndtcore/align/ndt-profile.h"
#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/expression/ndt-expr-terms.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/math/ndt-mount.h"
#include "ndtcore/odometry/ndt-scan-velocity.h"

/* ---- Motion compensation ---- */

/* Most repetitions of compensation and alignment of a scan. */
#define MAX_PASSES 2

/* Sets the motion as known before the alignment. */
static void
begin_course (const NdtLocalizer *localizer, const NdtObservation *observation,
    const NdtTrackerGuess *guess, const NdtTimeSpan *span, NdtCourse *course)
{
  const NdtTracker *tracker = &localizer->tracker;
  ndt_course_init (course, span, observation->time, observation->time_on_points);
  const gboolean by_odometry = guess->prediction == NDT_PREDICTION_ODOMETRY && !guess->far;
  if (by_odometry || (guess->coasts && (guess->prediction == NDT_PREDICTION_ODOMETRY ||
                                           guess->prediction == NDT_PREDICTION_CONSTANT_VELOCITY)))
    course->has_velocity = ndt_course_get_velocity (&tracker->pose, tracker->time,
        by_odometry ? &guess->pose : &guess->own, observation->time, course->velocity);
  if (!course->has_velocity && observation->has_velocity) {
    course->has_velocity = TRUE;
    memcpy (course->velocity, observation->velocity, sizeof (course->velocity));
  }
}

/* Sets the scan, compensated to the middle of its course; uncompensated without a velocity. */
static gboolean
move_scan (NdtLocalizer *localizer, const NdtCourse *course, GError **error)
{
  const NdtScanMotion motion = ndt_course_get_motion (course, &localizer->params.sensor_pose);
  const NdtScanFilter filter = ndt_localizer_get_filter (localizer);
  return ndt_moving_scan_move (
      localizer->moving, course->has_velocity ? &motion : NULL, &filter, error);
}

/* Parameters of the scan's registration, with the regularization of its sensor's pose, which has
 * the body's distance from the guess. */
NdtRegistrationParams
ndt_localizer_step_get_params (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtTrackerGuess *guess = &step->guess;
  NdtRegistrationParams params = localizer->params.registration;
  NdtRegularization *r = &params.regularization;
  memset (r, 0, sizeof (*r));
  /* No regularization in a search around a pose. */
  if (step->is_wide)
    return params;
  if (step->factor.is_set) {
    const NdtPose mean = ndt_localizer_step_get_sensor (localizer, step, &step->factor.mean);
    ndt_localizer_factor_to_sensor (&step->factor, &mean, &r->factor);
  }
  if (step->has_extra)
    ndt_localizer_step_get_extra (localizer, step, &r->extra);
  if (!guess->has_prior_term || !(localizer->params.regularization_scale > 0))
    return params;
  NdtPose body = guess->pose;
  memcpy (body.orientation, guess->prior_orientation, sizeof (body.orientation));
  const NdtPose sensor = ndt_localizer_step_get_sensor (localizer, step, &body);
  r->scale = localizer->params.regularization_scale;
  for (guint i = 0; i < 2; i++) {
    r->target[i] = sensor.position[i] + guess->prior_at[i] - guess->pose.position[i];
    r->direction[i] = guess->direction[i];
  }
  return params;
}

/* A scan with motion compensation is set in the backend when its velocity is known. */
static gboolean
set_course (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  const NdtObservation *observation = step->observation;
  NdtCourse *course = &step->course;
  NdtTimeSpan span = {0};
  if (ndt_localizer_has_times (observation) &&
      !ndt_moving_scan_set (localizer->moving, localizer->backend, step->slot, &observation->points,
          &observation->point_times, &span, error))
    return FALSE;
  const NdtScanFilter filter = ndt_localizer_get_filter (localizer);
  step->has_course = span.n_points > 0;
  if (!step->has_course)
    return ndt_backend_set_scan (
        localizer->backend, step->slot, &observation->points, &filter, error);
  begin_course (localizer, observation, &step->guess, &span, course);
  step->has_motion = course->has_velocity;
  return move_scan (localizer, course, error);
}

/* ---- What a scan may cost ---- */

/* Passes with fewer than which a search from far is of no use. */
#define LEAST_PASSES 12.0
/* Passes that are kept for an alignment after the compensation of a scan; the fewest that it is
 * made with; and those that are kept for a scan's velocity by itself. */
#define MOVED_PASSES 8.0
#define FEW_PASSES 4.0
#define VELOCITY_PASSES 30.0
/* Passes of the alignment from the prediction. One that has not converged with these goes on where
 * it fits, and is searched for from its end where it does not. */
#define LOCAL_PASSES 10.0
/* The bound is this many times as high for the two scans of a start, the second of which finds the
 * velocity, and where a prior and motion are both to be tried. */
#define MORE_PASSES 3.0
/* … and of a scan that is compensated, which is aligned twice in order, the second time from near.
 */
#define MOVING_PASSES 1.75
#define MORE_MOVING_PASSES 4.5

static gboolean
is_first_scan (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  return ndt_tracker_starts (&step->guess) && localizer->tracker.n_tries == 0;
}

/* Returns TRUE for the two scans of a start, the second of which finds the velocity. Where scans
 * are compensated by it the first one may be rejected. */
static gboolean
is_starting (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtTracker *tracker = &localizer->tracker;
  const gboolean is_first_velocity =
      tracker->in_gate && tracker->n_since_start == 1 && !tracker->has_velocity;
  const gboolean was_rejected = step->has_course && tracker->anchor.is_set &&
                                !tracker->anchor.is_accepted && tracker->n_against == 1;
  return is_first_scan (localizer, step) ||
         (tracker->n_unconfirmed == 0 && (is_first_velocity || was_rejected));
}

/* The scan before that gives the velocity with this one; NULL: none. */
static const NdtCourse *
get_last_course (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const gboolean starts = step->guess.prediction == NDT_PREDICTION_INITIAL ||
                          localizer->tracker.status == NDT_TRACK_LOST;
  return starts || !localizer->course.has_pose ? NULL : &localizer->course;
}

/* Returns TRUE where a scan's motion can be found from itself alone, which the rest of the passes
 * is kept for: of a start, and where those before were rejected. */
static gboolean
has_no_motion (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  return step->has_course && !step->has_motion && step->course.half > 0 &&
         !get_last_course (localizer, step);
}

/* Returns TRUE where a prior contradicts motion from a scan that was not rejected, so that one of
 * them is wrong, and where a prior takes part and there is no velocity. */
static gboolean
is_contradicted (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtTrackerGuess *guess = &step->guess;
  return (guess->prediction == NDT_PREDICTION_PRIOR && guess->coasts &&
             localizer->tracker.n_against == 0 &&
             !ndt_tracker_is_near (
                 &guess->pose, &guess->own, NDT_TRACKER_REACH, 4, guess->elapsed)) ||
         guess->is_prior_tried || (guess->has_prior_term && guess->has_own && !guess->coasts);
}

/* Bound of the scan's passes; 0: none. */
static double
get_most_passes (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const double most = localizer->params.max_search_passes;
  if (step->is_wide || !(most > 0) || !ndt_localizer_can_search (localizer))
    return 0;
  const double factor = is_starting (localizer, step) || is_contradicted (localizer, step)
                            ? (step->has_course ? MORE_MOVING_PASSES : MORE_PASSES)
                            : (step->has_course ? MOVING_PASSES : 1);
  double resolution, share, density;
  const guint level = ndt_backend_get_fit_level (localizer->backend, &resolution, &share, &density);
  /* One for the fit of the last alignment: ndt_fit_measure(). */
  return level > 0 ? MAX (most * factor - 1, 1) : most * factor;
}

/* Passes of the alignment from the prediction. By odometry it is near, and all are for it, but
 * those of the profile along a road. */
static double
get_local_passes (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const double most = get_most_passes (localizer, step);
  if (step->guess.prediction != NDT_PREDICTION_ODOMETRY)
    return MIN (most, LOCAL_PASSES);
  return localizer->was_open && most > NDT_PROFILE_PASSES ? most - NDT_PROFILE_PASSES : most;
}

/* Returns TRUE where that many more passes may be made. */
static gboolean
has_passes (const NdtLocalizer *localizer, const NdtLocalizerStep *step, double n)
{
  const double most = get_most_passes (localizer, step);
  return !(most > 0) || most - step->out.registration.passes >= n;
}

/* ---- Alignment ---- */

gboolean
ndt_localizer_step_begin (
    NdtLocalizer *localizer, NdtLocalizerStep *step, guint n_following, GError **error)
{
  if (!step->tried)
    return TRUE;
  if (localizer->params.deskew && !set_course (localizer, step, error))
    return FALSE;
  step->guesses[0] = ndt_localizer_step_get_sensor (localizer, step, &step->guess.pose);
  ndt_localizer_step_set_factor (localizer, step);
  if (step->guess.far)
    return TRUE;
  NdtRegistrationParams params = ndt_localizer_step_get_params (localizer, step);
  params.max_passes = get_local_passes (localizer, step);
  return ndt_register_begin (
      localizer->backend, step->slot, &params, &step->guesses[0], n_following, error);
}

/* Judges a registration that was made just now. */
static gboolean
judge (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  if (!ndt_fit_measure (localizer->backend, step->slot, &localizer->params.registration.align,
          &step->out.registration, error))
    return FALSE;
  ndt_localizer_step_judge (localizer, step);
  return TRUE;
}

/* Replaces the registration, with all but @kept of the passes that are left. The runner-up of a
 * search remains valid. */
static gboolean
register_again (NdtLocalizer *localizer, NdtLocalizerStep *step, NdtSearch search, double kept,
    const NdtPose *guesses, guint n_guesses, GError **error)
{
  NdtRegistration *registration = &step->out.registration;
  const NdtRegistration before = *registration;
  NdtRegistrationParams params = ndt_localizer_step_get_params (localizer, step);
  /* Candidates from far are compared by a sample, beside which a factor would outweigh all else. */
  const double most = get_most_passes (localizer, step);
  if (search == NDT_SEARCH_FAR) {
    step->factor.is_set = params.regularization.factor.is_set = FALSE;
    step->has_extra = FALSE;
    params.regularization.extra.weight = 0;
  }
  if (most > 0)
    params.max_passes = MAX (most - before.passes - kept, 1);
  if (!ndt_register (
          localizer->backend, step->slot, &params, search, guesses, n_guesses, registration, error))
    return FALSE;
  registration->evaluations += before.evaluations;
  registration->passes += before.passes;
  if (step->is_wide) {
    registration->n_starts = before.n_starts;
    registration->runner_up = before.runner_up;
    registration->is_ambiguous = before.is_ambiguous;
  }
  step->is_complete = TRUE;
  return judge (localizer, step, error);
}

/**
 * Alignment:
 * @has_factor, @has_extra: what else than the scan is part of it
 *
 * What a search may replace.
 */
typedef struct {
  NdtRegistration registration;
  gboolean is_complete;
  gint32 has_factor;
  gboolean has_extra;
} Alignment;

static Alignment
get_alignment (const NdtLocalizerStep *step)
{
  const Alignment alignment = {
      step->out.registration, step->is_complete, step->factor.is_set, step->has_extra};
  return alignment;
}

/* Restores the alignment before a search that found nothing better. */
static void
restore (NdtLocalizer *localizer, NdtLocalizerStep *step, const Alignment *before)
{
  const guint32 evaluations = step->out.registration.evaluations;
  const guint32 n_starts = step->out.registration.n_starts;
  const double passes = step->out.registration.passes;
  step->out.registration = before->registration;
  step->out.registration.evaluations = evaluations;
  step->out.registration.passes = passes;
  step->out.registration.n_starts = n_starts;
  step->is_complete = before->is_complete;
  step->factor.is_set = before->has_factor;
  step->has_extra = before->has_extra;
  ndt_localizer_step_judge (localizer, step);
}

/* Passes that a search leaves to the compensation of the scan, if so many are left. */
static double
get_kept_passes (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const double left = get_most_passes (localizer, step) - step->out.registration.passes;
  const double kept = !step->has_course || step->course.has_velocity ? 0
                      : has_no_motion (localizer, step) ? VELOCITY_PASSES + MOVED_PASSES
                                                        : MOVED_PASSES;
  return CLAMP (left - LEAST_PASSES, 0, kept);
}

/* Searches from far, with the other guesses. */
static gboolean
search_guesses (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  const NdtTrackerGuess *guess = &step->guess;
  for (gint i = 0; i < guess->n_others; i++)
    step->guesses[i + 1] = ndt_localizer_step_get_sensor (localizer, step, &guess->others[i]);
  return register_again (localizer, step, NDT_SEARCH_FAR, get_kept_passes (localizer, step),
      step->guesses, 1 + (guint)guess->n_others, error);
}

/* The same. The alignment before is used where it is better. */
static gboolean
search_from_far (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  const Alignment before = get_alignment (step);
  const double rate = ndt_localizer_step_rate (localizer, step);
  if (!search_guesses (localizer, step, error))
    return FALSE;
  if (rate > ndt_localizer_step_rate (localizer, step))
    restore (localizer, step, &before);
  return TRUE;
}

/* Returns TRUE where the scan was aligned and does not fit; with @or_none also where the fit is
 * good. */
static gboolean
is_misfit (const NdtLocalizerStep *step, gboolean or_none)
{
  return step->out.registration.stop != NDT_STOP_NOT_FINITE &&
         (step->reason == NDT_REASON_BAD_FIT || step->reason == NDT_REASON_WEAK_OVERLAP ||
             (or_none && step->reason == NDT_REASON_NONE));
}

/* Searches around the guess, and from far from the others. */
static gboolean
search_around (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  NdtRegistration *registration = &step->out.registration;
  const NdtPose body =
      ndt_mount_body_of_sensor (ndt_localizer_get_mount (localizer), &step->guesses[0]);
  if (!ndt_register_around (localizer->backend, step->slot, &localizer->params.registration, &body,
          &step->search, registration, error))
    return FALSE;
  step->is_complete = TRUE;
  if (!judge (localizer, step, error))
    return FALSE;
  if (step->guess.n_others > 0) {
    const NdtRegistration around = *registration;
    if (!search_from_far (localizer, step, error))
      return FALSE;
    /* The runner-up of their result is the place found before, or that one's runner-up. */
    const double quality = ndt_registration_get_quality (registration);
    double metres, radians;
    ndt_pose_difference (&registration->pose, &around.pose, &metres, &radians);
    const gboolean is_same = metres <= NDT_TRACKER_SAME && radians <= NDT_TRACKER_SAME_TURN;
    if (quality > 0) {
      registration->runner_up =
          ndt_registration_get_quality (&around) / quality * (is_same ? around.runner_up : 1);
      registration->is_ambiguous =
          (is_same && around.is_ambiguous) || registration->runner_up >= NDT_AMBIGUOUS;
    }
  }
  /* Tested before the score, which may be sufficient after motion compensation. */
  if (is_misfit (step, TRUE) && registration->is_ambiguous)
    step->reason = NDT_REASON_AMBIGUOUS;
  return TRUE;
}

/* Where the body may be at the prior: searches from far there, with the yaw of the prior and of the
 * prediction. The alignment before is used where it is clearly better; otherwise the scan does not
 * distinguish the two places. */
static gboolean
try_prior (NdtLocalizer *localizer, NdtLocalizerStep *step, gboolean *is_at_prior, GError **error)
{
  NdtRegistration *registration = &step->out.registration;
  const Alignment before = get_alignment (step);
  const NdtTrackerGuess guess = step->guess;
  const NdtPose *prior = &step->input.prior;
  const NdtPose turned = ndt_tracker_turn_prior (prior, &guess.pose);
  const NdtPose sensors[2] = {ndt_localizer_step_get_sensor (localizer, step, &turned),
      ndt_localizer_step_get_sensor (localizer, step, prior)};
  /* One guess where both are the same. */
  const guint n =
      ndt_tracker_is_near (prior, &turned, NDT_TRACKER_SAME, NDT_TRACKER_SAME_TURN, 0) ? 1 : 2;
  ndt_tracker_add_prior_term (prior, INFINITY, guess.pose.orientation, &step->guess);
  if (!register_again (localizer, step, NDT_SEARCH_FAR, 0, sensors, n, error))
    return FALSE;
  *is_at_prior = step->reason == NDT_REASON_NONE &&
                 ndt_registration_get_quality (registration) >=
                     NDT_LOCALIZER_AS_GOOD * ndt_registration_get_quality (&before.registration);
  if (*is_at_prior)
    return TRUE;
  step->guess = guess;
  restore (localizer, step, &before);
  return TRUE;
}

/* Returns TRUE where the alignment from the guess is to be repeated from far. */
static gboolean
needs_search (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtRegistration *registration = &step->out.registration;
  const NdtPose body = ndt_localizer_step_get_pose (localizer, step);
  if (step->reason != NDT_REASON_NONE || step->jumps)
    return TRUE;
  return step->out.fit < localizer->params.min_start_fit &&
         ndt_tracker_needs_search (&localizer->tracker, &step->guess, localizer->params.score_drop,
             &body, registration->nvtl, registration->matched_ratio);
}

/* Of the places around a start that fit, or around the scan after it, the nearest is it, unless the
 * way there is open. */
static gboolean
is_nearest (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  return step->reason == NDT_REASON_NONE && !step->jumps &&
         ndt_observability_count_open (&step->out.registration.observability) == 0 &&
         (step->guess.prediction != NDT_PREDICTION_INITIAL ||
             ndt_localizer_step_is_near (localizer, step));
}

/* The scans of a start take a search, whose end beside the start is better than that of an
 * alignment from the start itself; where it is elsewhere, and the alignment fits about as well, the
 * latter is used. The second scan is not searched for where the alignment is the nearest place. */
static gboolean
search_start (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  NdtRegistration *registration = &step->out.registration;
  const double kept = get_kept_passes (localizer, step) + LEAST_PASSES;
  if (!register_again (localizer, step, NDT_SEARCH_LOCAL, kept, step->guesses, 1, error))
    return FALSE;
  const Alignment near = get_alignment (step);
  const gboolean is_found = is_nearest (localizer, step);
  if (is_found && !is_first_scan (localizer, step) && !is_contradicted (localizer, step) &&
      !localizer->was_open)
    return TRUE;
  if (!search_guesses (localizer, step, error))
    return FALSE;
  const gboolean is_near =
      step->reason == NDT_REASON_NONE && ndt_localizer_step_is_near (localizer, step);
  if (is_found && !is_near &&
      ndt_registration_get_quality (&near.registration) >=
          NDT_LOCALIZER_AS_GOOD * ndt_registration_get_quality (registration))
    restore (localizer, step, &near);
  return TRUE;
}

/* Extra terms that are not finite on the way make the alignment so: it is made without them. */
static gboolean
align_without_extra (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  ndt_localizer_tell_extra (localizer);
  step->has_extra = FALSE;
  return register_again (localizer, step, NDT_SEARCH_LOCAL, 0, step->guesses, 1, error);
}

static gboolean
nearly_fits (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtTracker *tracker = &localizer->tracker;
  if (step->out.fit >= NDT_LOCALIZER_AS_GOOD * localizer->params.min_start_fit)
    return TRUE;
  /* Where the map lacks a part no scan fits as a start does. */
  return tracker->in_gate && tracker->n_good > 0 &&
         ndt_registration_get_quality (&step->out.registration) >=
             NDT_LOCALIZER_AS_GOOD * tracker->mean_quality;
}

/* An alignment that was cut goes on where it nearly fits; otherwise its end is the guess of the
 * search. */
static gboolean
go_on (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  const NdtRegistration *registration = &step->out.registration;
  const NdtPose end = registration->pose;
  if (registration->stop != NDT_STOP_ITERATION_LIMIT || registration->evaluations < LOCAL_PASSES ||
      !(get_most_passes (localizer, step) > get_local_passes (localizer, step)))
    return TRUE;
  if (!needs_search (localizer, step) || nearly_fits (localizer, step))
    return register_again (localizer, step, NDT_SEARCH_LOCAL, 0, &end, 1, error);
  step->guesses[0] = end;
  return TRUE;
}

/* Aligns from the guess, and from far where that does not fit. */
static gboolean
align (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  NdtRegistration *registration = &step->out.registration;
  if (step->is_wide)
    return search_around (localizer, step, error);
  if (!step->guess.far) {
    if (!ndt_register_end (localizer->backend, &step->result, registration, error))
      return FALSE;
    if (step->has_extra && registration->stop == NDT_STOP_NOT_FINITE) {
      if (!align_without_extra (localizer, step, error))
        return FALSE;
    } else if (!judge (localizer, step, error)) {
      return FALSE;
    }
    if (step->reason == NDT_REASON_TOO_FEW_POINTS)
      return TRUE;
    if (!go_on (localizer, step, error))
      return FALSE;
    const gboolean searches = needs_search (localizer, step);
    gboolean is_at_prior = FALSE;
    if (step->guess.is_prior_tried && has_passes (localizer, step, LEAST_PASSES) &&
        !try_prior (localizer, step, &is_at_prior, error))
      return FALSE;
    if (is_at_prior || !searches || !has_passes (localizer, step, LEAST_PASSES))
      return TRUE;
    /* It is found first how it moves. */
    if (has_no_motion (localizer, step) && nearly_fits (localizer, step))
      return TRUE;
  } else if (is_starting (localizer, step)) {
    return search_start (localizer, step, error);
  }
  return search_from_far (localizer, step, error);
}

static gboolean
has_aligned (const NdtLocalizerStep *step)
{
  return step->tried && is_misfit (step, TRUE);
}

/* Least gain in quality by an estimated velocity. Six more parameters raise it even where they are
 * wrong: by up to 0.4 % in the simulated town and 1.3 % in a hall; a motion of 8 m/s gives 5 % and
 * more. */
#define MIN_GAIN 1.015

/* Compensates a scan without a velocity by the one that is estimated from it, where the alignment
 * gains by that. */
static gboolean
align_by_itself (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  const NdtLocalizerParams *params = &localizer->params;
  NdtRegistration *registration = &step->out.registration;
  const Alignment alignment = get_alignment (step);
  const NdtRegistration still = alignment.registration;
  NdtPose sensor = still.pose;
  const NdtScanFilter filter = ndt_localizer_get_filter (localizer);
  const double most = get_most_passes (localizer, step) - still.passes - MOVED_PASSES;
  const guint n_whole = MAX (still.n_points, NDT_SAMPLE_LEAST);
  guint64 n_evaluated = 0;
  step->course.is_doubtful = TRUE;
  if (!has_passes (localizer, step, FEW_PASSES + MOVED_PASSES))
    return TRUE;
  if (!ndt_scan_velocity (localizer->moving, localizer->backend, &params->registration.align,
          &filter, &params->sensor_pose, most > 0 ? (guint64)(most * n_whole) : 0, &n_evaluated,
          &step->course, &sensor, error))
    return FALSE;
  registration->passes += (double)n_evaluated / n_whole;
  if (!step->course.has_velocity)
    return TRUE;
  if (!move_scan (localizer, &step->course, error) ||
      !register_again (localizer, step, NDT_SEARCH_LOCAL, 0, &sensor, 1, error))
    return FALSE;
  if (has_aligned (step) && ndt_registration_get_quality (registration) >
                                MIN_GAIN * ndt_registration_get_quality (&still)) {
    step->course.pose =
        ndt_mount_body_of_sensor (ndt_localizer_get_mount (localizer), &registration->pose);
    return TRUE;
  }
  step->course.has_velocity = FALSE;
  memset (step->course.velocity, 0, sizeof (step->course.velocity));
  restore (localizer, step, &alignment);
  return move_scan (localizer, &step->course, error);
}

/* Returns TRUE where the velocity from the scan before is not credible. With a prior in the
 * objective its influence on the pose is no motion, and the velocity before is used. */
gboolean
ndt_localizer_step_is_doubtful (const NdtLocalizerStep *step)
{
  return step->course.is_doubtful && !step->guess.has_prior_term;
}

/* An alignment gives a velocity; where it differs from the one that the points were compensated by,
 * they are compensated and aligned again. */
static gboolean
align_moving (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  const NdtCourse *last = get_last_course (localizer, step);
  for (guint pass = 0; has_aligned (step); pass++) {
    const NdtPose sensor = step->out.registration.pose;
    const NdtPose body = ndt_mount_body_of_sensor (ndt_localizer_get_mount (localizer), &sensor);
    const gboolean changes = ndt_course_continue (&step->course, last, &body);
    const gboolean again = ndt_localizer_step_is_doubtful (step) && pass == 0 && !step->guess.far &&
                           has_passes (localizer, step, LEAST_PASSES);
    if ((!changes && !again) || pass == MAX_PASSES || !has_passes (localizer, step, FEW_PASSES))
      break;
    if (!move_scan (localizer, &step->course, error) ||
        !register_again (localizer, step, again ? NDT_SEARCH_FAR : NDT_SEARCH_LOCAL, 0,
            again ? step->guesses : &sensor, 1, error))
      return FALSE;
  }
  /* Nor is the velocity estimated from a scan that does not determine its pose in all directions.
   */
  if (has_aligned (step) && !step->course.has_velocity && step->course.half > 0 &&
      ndt_observability_count_open (&step->out.registration.observability) == 0 &&
      !align_by_itself (localizer, step, error))
    return FALSE;
  if (!has_no_motion (localizer, step) || !step->tried || step->is_wide ||
      is_nearest (localizer, step) || !has_passes (localizer, step, LEAST_PASSES))
    return TRUE;
  if (!search_from_far (localizer, step, error))
    return FALSE;
  /* The velocity of the next scan is from where this one was found. */
  if (has_aligned (step)) {
    step->course.has_pose = TRUE;
    step->course.pose = ndt_mount_body_of_sensor (
        ndt_localizer_get_mount (localizer), &step->out.registration.pose);
  }
  return TRUE;
}

gboolean
ndt_localizer_step_align (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  if (step->tried && (!align (localizer, step, error) ||
                         (step->has_course && !align_moving (localizer, step, error))))
    return FALSE;
  step->may_profile = has_passes (localizer, step, NDT_PROFILE_PASSES);
  return TRUE;
}
