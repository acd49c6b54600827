/* SPDX-License-Identifier: MIT */
/* Whether an alignment counts, and how well the position is known: docs/tracking.md. */
#include <math.h>
#include <string.h>

#include "ndt-localizer-step.h"
#include "ndtcore/align/ndt-profile.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/math/ndt-mount.h"
#include "ndtcore/registration/ndt-faces.h"

NdtPose
ndt_localizer_step_get_pose (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtPose body =
      ndt_mount_body_of_sensor (ndt_localizer_get_mount (localizer), &step->out.registration.pose);
  return ndt_localizer_step_is_deskewed (step)
             ? ndt_course_move (
                   &step->course, &body, step->observation->time_on_points - step->course.middle)
             : body;
}

/* The reason by the thresholds that are set; NDT_REASON_NONE where all are met. */
static NdtReason
judge_scores (const NdtLocalizer *localizer, const NdtRegistration *registration)
{
  const NdtLocalizerParams *params = &localizer->params;
  if (registration->n_points < params->min_points)
    return NDT_REASON_TOO_FEW_POINTS;
  if (registration->stop == NDT_STOP_NOT_FINITE)
    return NDT_REASON_BAD_FIT;
  if (registration->n_pairs == 0)
    return NDT_REASON_NO_MAP;
  if (registration->transformation_probability < params->tp_threshold ||
      registration->nvtl < params->nvtl_threshold ||
      registration->nvtl < params->nvtl_threshold_fraction * registration->max_nvtl ||
      registration->fit_matched_ratio < params->matched_ratio_threshold)
    return NDT_REASON_BAD_FIT;
  return NDT_REASON_NONE;
}

/* ---- Decisions ---- */

/* Standard deviation of a start without one, metres and rad. What is farther from it than three
 * times that, and than the range of an alignment, is another place. */
#define START_STDDEV 0.4
#define START_REACH 3.0
#define START_TURN_REACH 0.5

/* Largest distance, metres and rad, at which a result confirms its start, and the least overlap for
 * that. */
#define NEAR_METRES 1.0
#define NEAR_TURN 0.1
#define LEAST_OVERLAP 0.3
/* Range of an alignment from the prediction by motion, metres and rad. */
#define CLOSE_METRES 2.5
#define CLOSE_TURN 0.35

/* With an NVTL of at least this fraction of the usual one only the overlap is small. */
#define SAME_NVTL 0.95
/* … and what lies on the map fits there by so much of its expected value, or as at first, since the
 * usual one follows the stream: one that drifts off loses its fit slowly. */
#define MAPPED_FIT 0.90

/* Returns TRUE where the end of an alignment is within the uncertainty of the start. */
static gboolean
is_start (const NdtLocalizerStep *step, const NdtPose *body)
{
  double metres, radians;
  const double *s = step->search.stddev;
  ndt_pose_difference (body, &step->guess.pose, &metres, &radians);
  return metres <= START_REACH + 3 * MAX (MAX (s[0], s[1]), s[2]) &&
         radians <= START_TURN_REACH + 3 * s[5];
}

/* Returns TRUE where the end is at the guess, up to a correction of usual size. */
static gboolean
near_guess (const NdtLocalizerStep *step, const NdtPose *body)
{
  double metres, radians;
  ndt_pose_difference (body, &step->guess.pose, &metres, &radians);
  return metres <= NEAR_METRES && radians <= NEAR_TURN;
}

gboolean
ndt_localizer_step_is_near (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtPose body = ndt_localizer_step_get_pose (localizer, step);
  return near_guess (step, &body);
}

/* Returns TRUE where the end is in the range of an alignment from an accepted pose, although it
 * misses the prediction, for a wrong stamp for instance; or at a prior, which is an independent
 * source. */
static gboolean
is_close (const NdtTracker *tracker, const NdtLocalizerStep *step, const NdtPose *body)
{
  double metres, radians;
  ndt_pose_difference (body, &step->input.prior, &metres, NULL);
  if (step->input.has_prior && metres <= START_REACH)
    return TRUE;
  ndt_pose_difference (body, &step->guess.pose, &metres, &radians);
  return tracker->in_gate && tracker->n_unconfirmed == 0 && metres <= CLOSE_METRES &&
         radians <= CLOSE_TURN;
}

/* Scans in a row that motion outweighs where velocity and odometry agree on it. */
#define MOST_APART 2

/* Returns TRUE where odometry and the velocity so far lead to the same place and the alignment,
 * begun there, is beyond the gates of both: it has gone to another maximum. What both of them miss
 * for several scans is an error of the pose before. */
static gboolean
misses_motion (const NdtTracker *tracker, const NdtLocalizerStep *step)
{
  const NdtTrackerGuess *guess = &step->guess;
  double metres, radians;
  if (guess->prediction != NDT_PREDICTION_ODOMETRY || guess->far || !guess->coasts ||
      guess->ignores_odometry || step->input.has_prior || tracker->n_against >= MOST_APART)
    return FALSE;
  ndt_pose_difference (&guess->own, &guess->odometry, &metres, &radians);
  return metres <= NDT_TRACKER_GATE && radians <= NDT_TRACKER_GATE_TURN;
}

/* Returns TRUE where the tilt is plausible. */
static gboolean
is_upright (const NdtTracker *tracker, const NdtPose *body)
{
  return !tracker->anchor.is_set || ndt_tracker_is_upright (body, &tracker->anchor.pose);
}

/* A result in another place has to fit as well as the stream's scans; at a jump NVTL alone as well,
 * since wrong motion compensation lowers the fit of a scan that is close. */
static gboolean
has_fallen (const NdtTracker *tracker, const NdtLocalizerStep *step)
{
  const NdtRegistration *registration = &step->out.registration;
  return (tracker->n_good > 0 && ndt_registration_get_quality (registration) <
                                     NDT_LOCALIZER_AS_GOOD * tracker->mean_quality) ||
         (step->jumps && registration->nvtl < SAME_NVTL * tracker->mean_nvtl);
}

/* Compares the fit with its bound, and with that of the stream. */
static NdtReason
judge_fit (NdtLocalizer *localizer, NdtLocalizerStep *step)
{
  const NdtLocalizerParams *params = &localizer->params;
  const NdtTracker *tracker = &localizer->tracker;
  const NdtRegistration *registration = &step->out.registration;
  const NdtPose body = ndt_localizer_step_get_pose (localizer, step);
  const gboolean starts = ndt_tracker_starts (&step->guess) || step->is_wide;
  const gboolean in_gate = !starts && ndt_tracker_in_gate (tracker, &step->guess, &body);
  NdtLocalization *out = &step->out;
  const NdtReason misfit =
      out->overlap < NDT_LOCALIZER_SMALL_OVERLAP ? NDT_REASON_WEAK_OVERLAP : NDT_REASON_BAD_FIT;
  /* A scan that confirms a new place has to meet the bound of that place. */
  out->fit_bound = in_gate && tracker->n_unconfirmed > 0
                       ? NDT_LOCALIZER_AREA_FIT * params->min_start_fit
                   : in_gate ? params->min_fit
                             : params->min_start_fit;
  if (!ndt_tracker_starts (&step->guess) && !in_gate && !is_close (tracker, step, &body) &&
      !is_upright (tracker, &body))
    return NDT_REASON_IMPLAUSIBLE_MOTION;
  if (out->fit >= params->min_start_fit && out->fit >= out->fit_bound) {
    if (step->guess.prediction == NDT_PREDICTION_INITIAL && !step->is_wide &&
        !is_start (step, &body))
      return NDT_REASON_IMPLAUSIBLE_MOTION;
    if (!starts && !in_gate && misses_motion (tracker, step))
      return NDT_REASON_IMPLAUSIBLE_MOTION;
    step->jumps = !starts && !in_gate && !is_close (tracker, step, &body);
    if (step->jumps && !ndt_localizer_may_be_at (localizer, &step->input, &body))
      return NDT_REASON_IMPLAUSIBLE_MOTION;
    return !starts && !in_gate && has_fallen (tracker, step) ? misfit : NDT_REASON_NONE;
  }
  /* Points outside of the map are no evidence against a start whose result is near it. At its true
   * pose the others fit by the overlap: where that is above the bound, so is a right scan. */
  if (step->guess.prediction == NDT_PREDICTION_INITIAL && !step->is_wide &&
      out->overlap >= LEAST_OVERLAP && out->overlap < params->min_start_fit &&
      out->fit >= SAME_NVTL * out->overlap && near_guess (step, &body))
    return NDT_REASON_NONE;
  if (!in_gate || tracker->n_unconfirmed > 0)
    return misfit;
  /* Only the overlap is small. An alignment that was cut is no evidence for that. */
  if (tracker->n_good > 0 && registration->stop != NDT_STOP_ITERATION_LIMIT &&
      registration->nvtl >= SAME_NVTL * tracker->mean_nvtl && out->overlap >= LEAST_OVERLAP &&
      (out->fit >= MAPPED_FIT * out->overlap ||
          registration->nvtl >= SAME_NVTL * tracker->first_nvtl))
    return NDT_REASON_NONE;
  if (out->fit < params->min_fit)
    return misfit;
  /* A fit below that of a start counts where it is that of the scans before. With a prior in the
   * objective the place is known from elsewhere, along roads whose fit says little; and odometry
   * that leads there is evidence as well. */
  const gboolean has_term = step->input.prior_in_objective && step->input.has_prior;
  const gboolean by_odometry =
      step->guess.prediction == NDT_PREDICTION_ODOMETRY && !step->guess.far;
  step->dropped = (!has_term && !by_odometry && has_fallen (tracker, step)) ||
                  ndt_tracker_dropped (tracker, &step->guess, params->score_drop, &body,
                      registration->nvtl, registration->matched_ratio);
  return step->dropped ? NDT_REASON_BAD_FIT : NDT_REASON_NONE;
}

/* A scan at its prediction that counts although it fits worse than those before: the map may lack
 * something, or the body may be beside its place. Odometry that leads there, or a prior in the
 * objective, is evidence for the first; and an open direction has rules of its own. */
static void
question (const NdtLocalizer *localizer, NdtLocalizerStep *step)
{
  const NdtTracker *tracker = &localizer->tracker;
  const NdtPose body = ndt_localizer_step_get_pose (localizer, step);
  if (ndt_tracker_starts (&step->guess) || step->is_wide || tracker->n_unconfirmed > 0 ||
      tracker->n_open > 0 || (step->input.prior_in_objective && step->input.has_prior) ||
      (step->guess.prediction == NDT_PREDICTION_ODOMETRY && !step->guess.far) ||
      !ndt_tracker_in_gate (tracker, &step->guess, &body))
    return;
  step->dropped = ndt_registration_get_quality (&step->out.registration) < localizer->refuted_below;
  step->is_questioned = !step->dropped && has_fallen (tracker, step);
  if (step->dropped)
    step->reason = NDT_REASON_BAD_FIT;
}

/* Sets the reason why the alignment is rejected, if it is, and the numbers. */
void
ndt_localizer_step_judge (NdtLocalizer *localizer, NdtLocalizerStep *step)
{
  const NdtRegistration *registration = &step->out.registration;
  ndt_fit_model_set (
      &localizer->fit, localizer->backend, localizer->params.registration.align.outlier_ratio);
  step->dropped = step->jumps = step->is_questioned = FALSE;
  step->out.fit = ndt_fit_of (&localizer->fit, registration);
  step->out.overlap = localizer->fit.expected > 0 && registration->fit_max_nvtl > 0
                          ? registration->fit_matched_ratio / localizer->fit.share
                          : 0;
  step->reason = judge_scores (localizer, registration);
  if (step->reason == NDT_REASON_NONE)
    step->reason = judge_fit (localizer, step);
  if (step->reason == NDT_REASON_NONE)
    question (localizer, step);
}

/* The fit that a scan would have needed to meet the threshold that it misses. */
static double
get_needed_fit (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtLocalizerParams *params = &localizer->params;
  const NdtTracker *tracker = &localizer->tracker;
  const NdtRegistration *r = &step->out.registration;
  const double quality = ndt_registration_get_quality (r);
  const double pairs[][2] = {
      {r->transformation_probability, params->tp_threshold},
      {r->nvtl, params->nvtl_threshold},
      {r->nvtl, params->nvtl_threshold_fraction * r->max_nvtl},
      {r->fit_matched_ratio, params->matched_ratio_threshold},
      {step->out.fit, step->out.fit_bound},
      {quality, NDT_LOCALIZER_AS_GOOD * tracker->mean_quality},
      {quality, localizer->refuted_below},
      {r->nvtl, SAME_NVTL * tracker->mean_nvtl},
  };
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    if (pairs[i][0] > 0 && pairs[i][0] < pairs[i][1])
      return step->out.fit * pairs[i][1] / pairs[i][0];
  return step->out.fit_bound;
}

/* How far a scan is from where it was expected, metres: while a start is not confirmed, how far the
 * first scan was from that. */
static double
get_misplaced (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtTracker *tracker = &localizer->tracker;
  const NdtPose body = ndt_localizer_step_get_pose (localizer, step);
  double metres;
  if (!ndt_tracker_is_start_refuted (tracker))
    return tracker->n_unconfirmed > 0 ? localizer->jump : step->out.innovation;
  if (localizer->jump > 0)
    return localizer->jump;
  ndt_pose_difference (&body, &tracker->anchor.pose, &metres, NULL);
  return metres;
}

void
ndt_localizer_step_explain (NdtLocalizer *localizer, NdtLocalizerStep *step)
{
  const NdtLocalizerParams *params = &localizer->params;
  const NdtRegistration *registration = &step->out.registration;
  const NdtObservability *seen = &registration->observability;
  NdtLocalization *out = &step->out;
  double value = 0, bound = 0;
  switch (out->reason) {
  case NDT_REASON_BAD_FIT:
    value = out->fit;
    bound = out->fit_bound = get_needed_fit (localizer, step);
    break;
  case NDT_REASON_NO_MAP:
  case NDT_REASON_NO_START:
    bound = 1;
    break;
  case NDT_REASON_WEAK_OVERLAP:
    value = out->overlap;
    bound = NDT_LOCALIZER_SMALL_OVERLAP;
    break;
  case NDT_REASON_STALE_PREDICTION:
    value = MAX (localizer->tracker.n_unconfirmed, localizer->tracker.n_to_close);
    break;
  case NDT_REASON_TOO_LATE:
    value = 1e-6 * (double)(g_get_monotonic_time () - step->observation->deadline);
    break;
  case NDT_REASON_DEGENERATE:
    value = out->sigma;
    bound = params->max_sigma;
    break;
  case NDT_REASON_AMBIGUOUS:
    value = registration->runner_up;
    bound = NDT_AMBIGUOUS;
    break;
  case NDT_REASON_IMPLAUSIBLE_MOTION:
    value = get_misplaced (localizer, step);
    bound = CLOSE_METRES;
    break;
  case NDT_REASON_TOO_FEW_POINTS:
    value = registration->n_points;
    bound = params->min_points;
    break;
  default:
    break;
  }
  out->reason_value = value;
  out->reason_bound = bound;
  for (guint k = 0; k < 3 && registration->n_pairs > 0 && step->tried; k++)
    if (seen->information[k] < NDT_OBSERVABILITY_OPEN * seen->flat)
      memcpy (out->open[out->n_open++], seen->axes[k], sizeof (out->open[0]));
}

/* Rating for comparing places: NVTL times matched ratio, since the score counts a point once for
 * each of its voxels. A place away from the prediction has to be better by a tenth. */
double
ndt_localizer_step_rate (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtPose body = ndt_localizer_step_get_pose (localizer, step);
  const NdtRegistration *registration = &step->out.registration;
  if (registration->n_starts == 0 || registration->stop == NDT_STOP_NOT_FINITE)
    return -1;
  return ndt_registration_get_quality (registration) *
         (ndt_tracker_in_gate (&localizer->tracker, &step->guess, &body) ? 1
                                                                         : NDT_LOCALIZER_AS_GOOD);
}

/* ---- Open directions ---- */

/* Standard deviation of the position of a start or of a prior. */
static double
get_start_stddev (const NdtLocalizerStep *step)
{
  const double *stddev = step->search.stddev, *prior = step->observation->prior_stddev;
  double known = MAX (stddev[0], stddev[1]);
  if (step->guess.prediction != NDT_PREDICTION_INITIAL && step->observation->has_prior_stddev &&
      prior[0] >= 0 && prior[1] >= 0 && isfinite (prior[0] + prior[1]))
    known = MAX (prior[0], prior[1]);
  return MAX (known, START_STDDEV);
}

/* Where motion and a prior lead: along directions that the scan leaves open the alignment does not
 * weigh them, since what it feigns there outweighs both. FALSE where motion alone leads. @told: 3×3
 * information of the prior on the position, 1/m². */
static gboolean
lead_by_prior (const NdtLocalizer *localizer, const NdtLocalizerStep *step,
    const NdtDriftStep *from, double lead[3], double told[3][3])
{
  double variance[3];
  for (guint i = 0; i < 3; i++) {
    const double u[3] = {i == 0, i == 1, i == 2};
    variance[i] = ndt_drift_predict (&localizer->tracker.drift, from, u);
  }
  return ndt_localizer_step_lead (localizer, step, get_start_stddev (step), variance, lead, told);
}

/* Of a prior and of motion that contradict each other the result is led by the nearer one. NULL
 * where that is the prior, or where the guess is no prior. */
static const NdtPose *
get_nearer_motion (const NdtTrackerGuess *guess, const NdtPose *body)
{
  double metres, own;
  const NdtPose *motion =
      guess->has_odometry && !guess->ignores_odometry ? &guess->odometry : &guess->own;
  if (guess->prediction != NDT_PREDICTION_PRIOR || !guess->far || !guess->has_own ||
      !(guess->coasts || guess->has_odometry))
    return NULL;
  ndt_pose_difference (body, &guess->pose, &metres, NULL);
  ndt_pose_difference (body, motion, &own, NULL);
  return own < metres ? motion : NULL;
}

/* A scan that is not accepted tells little of its place, however well it fits there: along a road
 * only what roads do not have is information, and a place that no motion led to, or that was
 * rejected, may as well be the predicted one. @apart: from there to the alignment. */
static void
open_drift (NdtTracker *tracker, const NdtLocalizerStep *step, const NdtDriftStep *from,
    const double apart[3])
{
  NdtDrift *drift = &tracker->open_drift;
  const gboolean fits = step->tried && step->reason == NDT_REASON_NONE;
  const gboolean is_elsewhere =
      step->tried && step->out.registration.stop != NDT_STOP_NOT_FINITE &&
      (step->reason == NDT_REASON_BAD_FIT || step->reason == NDT_REASON_WEAK_OVERLAP ||
          step->reason == NDT_REASON_AMBIGUOUS || step->reason == NDT_REASON_IMPLAUSIBLE_MOTION);
  NdtDriftStep open = *from;
  double shift[3], axis[3];
  memcpy (shift, apart, sizeof (shift));
  open.open = NDT_LOCALIZER_NO_ROAD;
  open.is_led = 0;
  if (fits && tracker->n_unconfirmed == 0)
    ndt_drift_take (drift, &open, &step->out.registration.observability, shift, axis);
  else
    ndt_drift_skip (drift, &open);
  if ((fits && step->jumps) || is_elsewhere)
    ndt_drift_spread (drift, apart);
  /* Where it does not fit the motion was none that is expected. */
  if (is_elsewhere)
    ndt_drift_widen (drift, NDT_LOCALIZER_NEW_PLACE);
}

static gboolean
has_timed_velocity (const NdtTracker *tracker)
{
  return tracker->has_velocity && tracker->velocity_time > 0;
}

/* Sets the axes on which a prior corrects the velocity. */
static void
set_led (NdtLocalizerStep *step, const NdtDrift *drift, const NdtDriftStep *from)
{
  const NdtObservability *seen = &step->out.registration.observability;
  for (guint k = 0; k < 3; k++)
    if (seen->information[k] < NDT_OBSERVABILITY_OPEN * seen->flat &&
        ndt_drift_is_led (drift, from, seen->axes[k])) {
      memcpy (step->led[step->n_led], seen->axes[k], sizeof (step->led[0]));
      step->gain[step->n_led++] = ndt_drift_get_gain (drift, from, seen->axes[k]);
    }
}

void
ndt_localizer_step_lead_velocity (
    NdtLocalizer *localizer, const NdtLocalizerStep *step, const NdtTracker *before)
{
  NdtTracker *tracker = &localizer->tracker;
  const NdtTrackerGuess *guess = &step->guess;
  const NdtPose body = ndt_localizer_step_get_pose (localizer, step);
  if (step->n_led == 0 || !has_timed_velocity (tracker))
    return;
  const double was = 1e-9 * (double)before->velocity_time;
  const double is = 1e-9 * (double)tracker->velocity_time;
  for (guint n = 0; n < step->n_led; n++) {
    const double *u = step->led[n], *q = body.orientation;
    const double inverse[4] = {-q[0], -q[1], -q[2], q[3]};
    double axis[3], off = 0, change = 0;
    ndt_quat_rotate (inverse, u, axis);
    for (guint i = 0; i < 3; i++) {
      off += u[i] * (body.position[i] - guess->own.position[i]);
      change += axis[i] * (before->velocity[i] / was - tracker->velocity[i] / is);
    }
    change += step->gain[n] * off;
    for (guint i = 0; i < 3; i++)
      tracker->velocity[i] += is * change * axis[i];
  }
}

/* The profile along the weakest axis, where that is open and odometry has led there. */
static gboolean
add_profile (NdtLocalizer *localizer, const NdtLocalizerStep *step, NdtDriftStep *from,
    gdouble *passes, GError **error)
{
  const NdtRegistration *registration = &step->out.registration;
  const NdtObservability *seen = &registration->observability;
  NdtProfile profile;
  gint weakest = 0;
  for (gint k = 1; k < 3; k++)
    if (seen->information[k] < seen->information[weakest])
      weakest = k;
  const double *u = seen->axes[weakest];
  if (!from->by_odometry || step->guess.far ||
      seen->information[weakest] >= NDT_OBSERVABILITY_OPEN * seen->flat || !step->may_profile)
    return TRUE;
  if (!ndt_profile_along (localizer->backend, step->slot, &localizer->params.registration.align,
          &registration->pose, u, &profile, error))
    return FALSE;
  *passes += profile.passes;
  from->profile_axis = weakest;
  from->profile_at = profile.at;
  from->profile_information = profile.information;
  return TRUE;
}

/* Returns TRUE where a scan that leaves no direction open is where odometry leads, metres. */
#define ODOMETRY_AGREES 0.05
static gboolean
confirms_odometry (const NdtTracker *tracker, const NdtLocalizerStep *step, const NdtPose *body)
{
  const NdtTrackerGuess *guess = &step->guess;
  double metres, way;
  if (!guess->has_odometry || guess->contradicts || step->jumps ||
      ndt_observability_count_open (&step->out.registration.observability) > 0)
    return FALSE;
  ndt_pose_difference (body, &guess->odometry, &metres, NULL);
  ndt_pose_difference (&guess->odometry, &tracker->pose, &way, NULL);
  return metres <= ODOMETRY_AGREES + NDT_TRACKER_ODOMETRY_ERROR * way;
}

/* Updates the variance of the position. Along directions that the scan leaves open the pose is that
 * of the prediction. */
gboolean
ndt_localizer_step_drift (NdtLocalizer *localizer, NdtLocalizerStep *step, GError **error)
{
  NdtTracker *tracker = &localizer->tracker;
  const NdtTrackerGuess *guess = &step->guess;
  NdtLocalization *out = &step->out;
  const NdtPose body = ndt_localizer_step_get_pose (localizer, step);
  const NdtPose *motion = get_nearer_motion (guess, &body);
  const gboolean agrees = motion != NULL;
  const NdtPose *led = agrees ? motion : &guess->pose;
  NdtDriftStep from = {
      .seconds = guess->elapsed > 0 ? guess->elapsed : NDT_TRACKER_NO_TIME,
      .by_odometry = guess->prediction == NDT_PREDICTION_ODOMETRY || motion == &guess->odometry,
  };
  double shift[3], before[3], lead[3], told[3][3] = {{0}};
  ndt_pose_difference (led, &tracker->pose, &from.way, NULL);
  const gboolean resets =
      !agrees && (ndt_tracker_starts (guess) || guess->prediction == NDT_PREDICTION_PRIOR);
  if (resets) {
    ndt_drift_reset (&tracker->drift, get_start_stddev (step));
    tracker->open_drift = tracker->drift;
    tracker->is_odometry_off = FALSE;
    from.seconds = 0;
  }
  if (guess->contradicts && !resets && !tracker->is_odometry_off) {
    for (guint i = 0; i < 3; i++)
      shift[i] = guess->odometry.position[i] - guess->own.position[i];
    ndt_tracker_contradict (tracker, shift, from.seconds);
    ndt_pose_difference (&guess->odometry, &guess->own, &out->odometry_apart, NULL);
  }
  memcpy (lead, led->position, sizeof (lead));
  const gboolean fuses = !agrees && lead_by_prior (localizer, step, &from, lead, told);
  /* Its errors are those of a start at least, which remain over many scans. */
  if (guess->has_prior_term && !resets)
    ndt_drift_set_prior (&from, told, START_STDDEV);
  from.is_led = fuses && !step->jumps;
  from.is_filtered = from.is_led && !from.by_odometry && from.seconds > 0 && guess->coasts &&
                     has_timed_velocity (tracker);
  for (guint i = 0; i < 3; i++)
    shift[i] = body.position[i] - led->position[i];
  open_drift (tracker, step, &from, shift);
  if (step->jumps) {
    ndt_drift_widen (&tracker->drift, NDT_LOCALIZER_NEW_PLACE);
    from.seconds = 0;
  }
  out->innovation = sqrt (shift[0] * shift[0] + shift[1] * shift[1] + shift[2] * shift[2]);
  if (!step->tried || step->reason != NDT_REASON_NONE) {
    out->sigma = ndt_drift_skip (&tracker->drift, &from);
  } else {
    /* A result in another place is not moved towards the prediction. */
    const gboolean moves =
        !step->jumps && (fuses || !guess->has_prior_term) && localizer->params.max_sigma > 0;
    for (guint i = 0; i < 3; i++)
      shift[i] = before[i] = body.position[i] - lead[i];
    if (from.is_filtered)
      set_led (step, &tracker->drift, &from);
    if (moves && !add_profile (localizer, step, &from, &out->registration.passes, error))
      return FALSE;
    out->sigma = ndt_drift_take (
        &tracker->drift, &from, &out->registration.observability, shift, out->sigma_axis);
    for (guint i = 0; i < 3 && moves; i++)
      out->registration.pose.position[i] += shift[i] - before[i];
    if (confirms_odometry (tracker, step, &body))
      tracker->is_odometry_off = FALSE;
  }
  out->is_odometry_off = tracker->is_odometry_off;
  step->drift = tracker->drift;
  return TRUE;
}

void
ndt_localizer_step_settle_drift (NdtLocalizer *localizer, NdtLocalizerStep *step)
{
  NdtTracker *tracker = &localizer->tracker;
  NdtLocalization *out = &step->out;
  if (tracker->status == NDT_TRACK_TRACKING) {
    tracker->open_drift = tracker->drift;
    return;
  }
  double axis[3];
  const double sigma = ndt_drift_get_sigma (&tracker->open_drift, axis);
  if (sigma <= out->sigma)
    return;
  out->sigma = sigma;
  memcpy (out->sigma_axis, axis, sizeof (axis));
  step->drift = tracker->open_drift;
  step->is_open = TRUE;
}

/* Where σ exceeds this, metres, the road may bend within it: the lateral standard deviation is a
 * tenth of σ, and more over longer distances, by the radii of roads from 100 m on; the heading's is
 * by the same radius, up to that of a heading of which nothing is known, π/√3. */
#define LARGE_SIGMA 0.5
#define BEND 0.1
#define BEND_RADIUS 100.0
#define ANY_HEADING 1.8138

/* A scan that was compensated by a velocity that was estimated from itself, at a start, is off by
 * up to what that is wrong, metres and rad; one that was compensated by the motion since the scan
 * before by a part of what the prediction was off. */
#define OWN_VELOCITY 0.3
#define OWN_TURN 0.015
#define WRONG_VELOCITY 0.1

/* Adds to the covariance what compensation by a velocity that is not known exactly leaves. */
static void
add_distortion (const NdtLocalizerStep *step, double c[36])
{
  const gboolean by_odometry =
      step->guess.prediction == NDT_PREDICTION_ODOMETRY && !step->guess.far;
  const gboolean own = !step->guess.coasts && !by_odometry && !step->observation->has_velocity;
  const double metres = own ? OWN_VELOCITY : WRONG_VELOCITY * step->out.innovation;
  const double turn = own ? OWN_TURN : 0;
  if (!ndt_localizer_step_is_deskewed (step))
    return;
  for (guint k = 0; k < 3; k++) {
    c[7 * k] += metres * metres;
    c[7 * (3 + k)] += turn * turn;
  }
}

/* Along an axis with less than so many times the information that flat surfaces feign, what is
 * beside these is a part of the scan, and an error of where it lies in its cells does not average:
 * the least standard deviation, in cells. */
#define WEAK 2.2
#define WEAK_STDDEV 0.03

/* Raises the covariance of the position along each axis: by as much as the stream's variance
 * exceeds that of the curvature alone, since flat surfaces feign some of it; along an open axis to
 * the stream's variance, which is then carried from scan to scan. */
void
ndt_localizer_step_add_drift (
    const NdtLocalizerStep *step, double cell, NdtRegistration *registration)
{
  const NdtObservability *seen = &registration->observability;
  const double sigma = step->out.sigma;
  const double across = sigma > LARGE_SIGMA ? sigma * MIN (BEND + sigma / BEND_RADIUS, 1) : 0;
  const double turn = sigma > LARGE_SIGMA ? MIN (sigma / BEND_RADIUS, ANY_HEADING) : 0;
  for (guint k = 0; k < 3; k++) {
    double *c = registration->covariance, known = 0, given = 0;
    const double axis[3] = {k == 0, k == 1, k == 2};
    const double *u = seen->flat > 0 ? seen->axes[k] : axis;
    for (guint i = 0; i < 3; i++)
      for (guint j = 0; j < 3; j++) {
        known += u[i] * step->drift.position[i][j] * u[j];
        given += u[i] * c[6 * i + j] * u[j];
      }
    if (registration->covariance_kind == NDT_POSE_COVARIANCE_LAPLACE && seen->flat > 0 &&
        seen->information[k] >=
            (step->is_open ? NDT_LOCALIZER_NO_ROAD : NDT_OBSERVABILITY_OPEN) * seen->flat)
      known *= given * seen->information[k] / NDT_DRIFT_CLUSTERING;
    known += across * across;
    if (seen->information[k] < WEAK * seen->flat)
      known = MAX (known, WEAK_STDDEV * WEAK_STDDEV * cell * cell);
    for (guint i = 0; i < 3 && known > given; i++)
      for (guint j = 0; j < 3; j++)
        c[6 * i + j] += (known - given) * u[i] * u[j];
  }
  registration->covariance[35] += turn * turn;
  /* An error of this scan alone, beside the stream's. */
  add_distortion (step, registration->covariance);
}

/* Raises it where walls of the map have a face that the scan does not see. A scan that moves within
 * itself is bent where it is not compensated, and these are the points as the sensor saw them. */
void
ndt_localizer_step_add_faces (
    NdtLocalizer *localizer, NdtLocalizerStep *step, const NdtPose *sensor)
{
  const NdtLocalizerParams *params = &localizer->params;
  NdtRegistration *registration = &step->out.registration;
  double shift[3];
  if (registration->covariance_kind != NDT_POSE_COVARIANCE_LAPLACE ||
      ndt_localizer_step_is_deskewed (step))
    return;
  g_autoptr (NdtVoxelMap) map = ndt_backend_ref_map (localizer->backend);
  if (!map || !ndt_faces_are_in (map))
    return;
  const NdtGauss gauss = ndt_gauss (
      params->registration.align.outlier_ratio, ndt_voxel_map_get_params (map)->resolution);
  if (!localizer->faces)
    localizer->faces = ndt_faces_new ();
  if (ndt_faces_get_shift (localizer->faces, map, &step->observation->points, &params->filter,
          sensor, gauss.d2, shift))
    ndt_faces_raise (shift, registration->covariance);
}
