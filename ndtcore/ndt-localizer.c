/* SPDX-License-Identifier: MIT */
#include "ndt-localizer.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "ndt-formulas.h"
#include "ndt-tracker.h"

struct _NdtLocalizer {
  NdtBackend *backend;
  NdtLocalizerParams params;
  NdtTracker tracker;
  gboolean has_mount; /* params.sensor_pose is not the identity */
  NdtDeskewer *deskewer;
  float *deskewed;
  gsize deskewed_capacity;
  float *thinned; /* packed points of a scan */
  guint thinned_capacity;
  gint64 upload_times[NDT_MAX_SCANS];
};

/* g_get_monotonic_time() in nanoseconds. */
static gint64
now (void)
{
  struct timespec time;
  clock_gettime (CLOCK_MONOTONIC, &time);
  return time.tv_sec * G_GINT64_CONSTANT (1000000000) + time.tv_nsec;
}

void
ndt_localizer_params_init (NdtLocalizerParams *params)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  memset (params, 0, sizeof (*params));
  ndt_registration_params_init (&params->registration);
  params->filter = no_filter;
  ndt_pose_set_identity (&params->sensor_pose);
  params->min_points = 10;
  params->matched_ratio_threshold = 0.2;
  params->max_skips = 10;
  params->score_drop = 0.6;
}

gboolean
ndt_localizer_params_check (const NdtLocalizerParams *params, GError **error)
{
  const NdtRegistrationParams *r = &params->registration;
  const gchar *what = NULL;
  if (!ndt_align_params_check (&r->align, error))
    return FALSE;
  if (r->covariance > NDT_POSE_COVARIANCE_MULTI_NDT_SCORE)
    what = "unknown covariance estimate";
  else if (!(r->covariance_scale > 0 && isfinite (r->covariance_scale)))
    what = "covariance-scale has to be above 0 and finite";
  else if (!(r->temperature > 0))
    what = "the softmax temperature has to be above 0";
  else if (r->n_offsets > NDT_MAX_OFFSETS)
    what = "at most 32 offset poses";
  else if (params->min_points < 1)
    what = "min-points has to be at least 1";
  else if (!(params->tp_threshold >= 0) || !(params->nvtl_threshold >= 0))
    what = "score thresholds have to be 0 or above";
  else if (!(params->nvtl_threshold_fraction >= 0 && params->nvtl_threshold_fraction <= 1) ||
           !(params->matched_ratio_threshold >= 0 && params->matched_ratio_threshold <= 1) ||
           !(params->score_drop >= 0 && params->score_drop <= 1))
    what = "fractions have to be 0 to 1";
  if (!what && !(params->no_ground_margin >= 0 && isfinite (params->no_ground_margin)))
    what = "no-ground-margin has to be 0 or above and finite";
  NdtPose mount = params->sensor_pose;
  if (!what && !ndt_pose_normalize (&mount))
    what = "the sensor's pose is not finite";
  for (guint i = 0; i < 6 && !what; i++)
    if (!(r->fixed_variance[i] > 0 && isfinite (r->fixed_variance[i])))
      what = "fixed variances have to be above 0 and finite";
  for (guint i = 0; i < MIN (r->n_offsets, NDT_MAX_OFFSETS) && !what; i++)
    if (!isfinite (r->offset_x[i]) || !isfinite (r->offset_y[i]))
      what = "offset poses have to be finite";
  if (what)
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, what);
  return what == NULL;
}

NdtLocalizer *
ndt_localizer_new (NdtBackend *backend)
{
  NdtLocalizer *localizer = g_new0 (NdtLocalizer, 1);
  localizer->backend = backend;
  ndt_localizer_params_init (&localizer->params);
  ndt_tracker_reset (&localizer->tracker);
  return localizer;
}

void
ndt_localizer_free (NdtLocalizer *localizer)
{
  g_clear_pointer (&localizer->deskewer, ndt_deskewer_free);
  g_free (localizer->deskewed);
  g_free (localizer->thinned);
  g_free (localizer);
}

void
ndt_localizer_set_backend (NdtLocalizer *localizer, NdtBackend *backend)
{
  localizer->backend = backend;
}

gboolean
ndt_localizer_set_params (NdtLocalizer *localizer, const NdtLocalizerParams *params, GError **error)
{
  if (!ndt_localizer_params_check (params, error))
    return FALSE;
  localizer->params = *params;
  double metres, radians;
  const NdtPose identity = NDT_POSE_IDENTITY;
  ndt_pose_normalize (&localizer->params.sensor_pose);
  ndt_pose_difference (&localizer->params.sensor_pose, &identity, &metres, &radians);
  localizer->has_mount = metres > 0 || radians > 0;
  return TRUE;
}

gboolean
ndt_localizer_set_initial_pose (NdtLocalizer *localizer, const NdtPose *pose)
{
  NdtPose initial = *pose;
  if (!ndt_pose_normalize (&initial))
    return FALSE;
  localizer->tracker.has_initial = TRUE;
  localizer->tracker.initial = initial;
  return TRUE;
}

void
ndt_localizer_reset (NdtLocalizer *localizer)
{
  ndt_tracker_reset (&localizer->tracker);
}

NdtTrackStatus
ndt_localizer_get_status (const NdtLocalizer *localizer)
{
  return (NdtTrackStatus)localizer->tracker.status;
}

/* Why an alignment is not good enough, if it is not. */
static NdtReject
judge (const NdtLocalizer *localizer, const NdtRegistration *registration)
{
  const NdtLocalizerParams *params = &localizer->params;
  if (registration->n_points < params->min_points)
    return NDT_REJECT_TOO_FEW_POINTS;
  if (registration->stop == NDT_STOP_NOT_FINITE)
    return NDT_REJECT_NOT_FINITE;
  if (registration->n_pairs == 0)
    return NDT_REJECT_NO_PAIRS;
  if (registration->transformation_probability < params->tp_threshold ||
      registration->nvtl < params->nvtl_threshold ||
      registration->nvtl < params->nvtl_threshold_fraction * registration->max_nvtl ||
      registration->matched_ratio < params->matched_ratio_threshold)
    return NDT_REJECT_SCORE;
  return NDT_REJECT_NONE;
}

/* ---- Motion compensation ---- */

typedef struct {
  NdtPose body;    /* at reference */
  NdtPose mount;   /* of the sensor */
  double twist[6]; /* of the body, per second */
  double reference;
} Motion;

static gboolean
get_motion (double time, NdtPose *pose, gpointer user_data)
{
  const Motion *motion = user_data;
  double twist[6];
  for (guint i = 0; i < 6; i++)
    twist[i] = (time - motion->reference) * motion->twist[i];
  const NdtPose step = ndt_pose_from_twist (twist);
  *pose = ndt_pose_mul (&motion->body, &step);
  *pose = ndt_pose_mul (pose, &motion->mount);
  return TRUE;
}

/* The body's velocity if it is at @pose now. FALSE where the scan before says nothing of it: there
 * is none, its time is not known, or it is ten seconds old. */
static gboolean
get_velocity (const NdtTracker *tracker, gint64 time, const NdtPose *pose, double twist[6])
{
  const gint64 elapsed = time - tracker->time;
  if (!tracker->has_pose || tracker->status == NDT_TRACKER_LOST || time < 0 || tracker->time < 0 ||
      elapsed <= 0 || elapsed > 10 * G_GINT64_CONSTANT (1000000000))
    return FALSE;
  const NdtPose inverse = ndt_pose_inverse (&tracker->pose);
  const NdtPose step = ndt_pose_mul (&inverse, pose);
  ndt_pose_to_twist (&step, twist);
  for (guint i = 0; i < 6; i++)
    twist[i] /= 1e-9 * (double)elapsed;
  return TRUE;
}

/* Sets the scan as it is seen from @body at the observation's time by a body that moves by
 * @twist; NULL: as it is. */
static gboolean
set_scan (NdtLocalizer *localizer, guint slot, const NdtObservation *observation,
    const NdtPose *body, const double twist[6], GError **error)
{
  NdtCloudView points = observation->points;
  if (twist && points.n_points > 0) {
    Motion motion = {.body = *body,
        .mount = localizer->params.sensor_pose,
        .reference = observation->time_on_points};
    memcpy (motion.twist, twist, sizeof (motion.twist));
    if (!localizer->deskewer)
      localizer->deskewer = ndt_deskewer_new ();
    if (points.n_points > localizer->deskewed_capacity) {
      localizer->deskewed_capacity = points.n_points + points.n_points / 4;
      localizer->deskewed = g_renew (float, localizer->deskewed, 3 * localizer->deskewed_capacity);
    }
    ndt_deskew (localizer->deskewer, &points, &observation->point_times, motion.reference,
        get_motion, &motion, localizer->deskewed);
    points = ndt_cloud_view_xyz_f32 (localizer->deskewed, points.n_points);
  }
  return ndt_backend_set_scan (localizer->backend, slot, &points, &localizer->params.filter, error);
}

/* ---- The body and its sensor ---- */

static NdtPose
sensor_of_body (const NdtLocalizer *localizer, const NdtPose *body)
{
  return localizer->has_mount ? ndt_pose_mul (body, &localizer->params.sensor_pose) : *body;
}

/* From the sensor's pose and covariance to the body's. With l the way from sensor to body in the
 * parent's axes, a turn by ω about the sensor moves the body by ω × l. */
static void
registration_to_body (const NdtLocalizer *localizer, NdtRegistration *registration)
{
  if (!localizer->has_mount)
    return;
  const NdtPose inverse = ndt_pose_inverse (&localizer->params.sensor_pose);
  const NdtPose body = ndt_pose_mul (&registration->pose, &inverse);
  double j[36] = {0}, t[36], l[3];
  for (guint k = 0; k < 3; k++)
    l[k] = body.position[k] - registration->pose.position[k];
  for (guint i = 0; i < 6; i++)
    j[7 * i] = 1;
  j[4] = l[2];
  j[5] = -l[1];
  j[9] = -l[2];
  j[11] = l[0];
  j[15] = l[1];
  j[16] = -l[0];
  for (guint a = 0; a < 6; a++)
    for (guint b = 0; b < 6; b++) {
      t[6 * a + b] = 0;
      for (guint k = 0; k < 6; k++)
        t[6 * a + b] += j[6 * a + k] * registration->covariance[6 * k + b];
    }
  for (guint a = 0; a < 6; a++)
    for (guint b = 0; b < 6; b++) {
      registration->covariance[6 * a + b] = 0;
      for (guint k = 0; k < 6; k++)
        registration->covariance[6 * a + b] += t[6 * a + k] * j[6 * b + k];
    }
  registration->pose = body;
}

/* ---- Scores without the ground ---- */

static gboolean
get_thinned (NdtLocalizer *localizer, guint slot, guint n_points, guint *n, GError **error)
{
  if (n_points > localizer->thinned_capacity) {
    localizer->thinned_capacity = n_points + n_points / 4;
    localizer->thinned =
        g_renew (float, localizer->thinned, 3 * (gsize)localizer->thinned_capacity);
  }
  return ndt_backend_get_scan (
      localizer->backend, slot, localizer->thinned, localizer->thinned_capacity, n, error);
}

/* The points at the sensor's pose that lie above the margin over the body replace the scan in the
 * slot and are scored. */
static gboolean
score_no_ground (NdtLocalizer *localizer, guint slot, const NdtPose *sensor, const NdtPose *body,
    NdtLocalization *out, GError **error)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  const double lowest = body->position[2] + localizer->params.no_ground_margin;
  guint n = 0, n_kept = 0;
  double r[9];
  if (!get_thinned (localizer, slot, out->registration.n_points, &n, error))
    return FALSE;
  ndt_quat_to_matrix (sensor->orientation, r);
  for (guint i = 0; i < n; i++) {
    const float *p = localizer->thinned + 3 * i;
    if (r[6] * p[0] + r[7] * p[1] + r[8] * p[2] + sensor->position[2] > lowest)
      memmove (localizer->thinned + 3 * n_kept++, p, 3 * sizeof (float));
  }
  out->has_no_ground = TRUE;
  out->no_ground_points = n_kept;
  if (n_kept == 0)
    return TRUE;

  NdtSums sums;
  const NdtCloudView kept = ndt_cloud_view_xyz_f32 (localizer->thinned, n_kept);
  if (!ndt_backend_set_scan (localizer->backend, slot, &kept, &no_filter, error) ||
      !ndt_backend_evaluate (localizer->backend, slot, &localizer->params.registration.align, 0,
          NDT_KIND_SCORE, sensor, 1, &sums, error))
    return FALSE;
  out->no_ground_transformation_probability = sums.score / n_kept;
  out->no_ground_nvtl = sums.n_matched ? sums.nvtl / (double)sums.n_matched : 0;
  return TRUE;
}

/* Localizes the scan that lies in a slot of the backend, or does with deskewing. */
static gboolean
process_slot (NdtLocalizer *localizer, guint slot, const NdtObservation *observation,
    NdtLocalization *out, GError **error)
{
  const NdtLocalizerParams *params = &localizer->params;
  NdtTracker *tracker = &localizer->tracker;
  NdtRegistration *registration = &out->registration;
  memset (out, 0, sizeof (*out));
  out->previous_status = (NdtTrackStatus)tracker->status;

  NdtTrackerInput input = {
      .time = observation->time, .prior = observation->prior, .odometry = observation->odometry};
  /* A pose that is none is as if it were not given. */
  input.has_prior = observation->has_prior && ndt_pose_normalize (&input.prior);
  input.has_odometry = observation->has_odometry && ndt_pose_normalize (&input.odometry);
  NdtTrackerGuess guess;
  ndt_tracker_predict (tracker, &input, &guess);
  out->prediction = (NdtPrediction)guess.prediction;
  out->guess = guess.pose;

  NdtReject reject = NDT_REJECT_NONE;
  if (observation->deadline > 0 && g_get_monotonic_time () > observation->deadline)
    reject = NDT_REJECT_DEADLINE;
  else if (out->prediction == NDT_PREDICTION_NONE)
    reject = NDT_REJECT_NO_GUESS;

  double twist[6] = {0};
  if (params->deskew && reject == NDT_REJECT_NONE) {
    out->deskewed = observation->point_times.data &&
                    (out->prediction == NDT_PREDICTION_CONSTANT_VELOCITY ||
                        out->prediction == NDT_PREDICTION_ODOMETRY) &&
                    get_velocity (tracker, observation->time, &guess.pose, twist);
    if (!set_scan (localizer, slot, observation, &guess.pose, out->deskewed ? twist : NULL, error))
      return FALSE;
  }
  const NdtPose sensor_guess = sensor_of_body (localizer, &guess.pose);

  const gboolean tried = reject == NDT_REJECT_NONE;
  if (tried) {
    if (!ndt_register (localizer->backend, slot, &params->registration,
            guess.far ? NDT_SEARCH_FAR : NDT_SEARCH_LOCAL, &sensor_guess, 1, registration, error))
      return FALSE;
    reject = judge (localizer, registration);
    if (!guess.far && reject != NDT_REJECT_TOO_FEW_POINTS &&
        (reject != NDT_REJECT_NONE || ndt_tracker_dropped (tracker, params->score_drop,
                                          registration->nvtl, registration->matched_ratio))) {
      /* Below what the stream used to reach: the four candidates, of which the alignment just
       * made is one, and the better score. */
      NdtRegistration far;
      if (!ndt_register (localizer->backend, slot, &params->registration, NDT_SEARCH_FAR,
              &sensor_guess, 1, &far, error))
        return FALSE;
      far.evaluations += registration->evaluations;
      *registration = far;
      reject = judge (localizer, registration);
    }
  }
  if (tried) {
    const NdtPose sensor = registration->pose;
    registration_to_body (localizer, registration);
    if (params->no_ground_margin > 0 && (reject == NDT_REJECT_NONE || reject == NDT_REJECT_SCORE) &&
        !score_no_ground (localizer, slot, &sensor, &registration->pose, out, error))
      return FALSE;
  }
  out->reject = reject;

  NdtTrackerOutcome outcome;
  if (reject == NDT_REJECT_NONE)
    outcome = NDT_OUTCOME_GOOD;
  else if (reject == NDT_REJECT_SCORE)
    outcome = NDT_OUTCOME_DEGRADED;
  else if (reject == NDT_REJECT_NO_PAIRS || reject == NDT_REJECT_NOT_FINITE)
    outcome = NDT_OUTCOME_FAILED;
  else
    outcome = NDT_OUTCOME_UNUSABLE;
  ndt_tracker_update (tracker, &input, &guess, outcome, &registration->pose, registration->nvtl,
      registration->matched_ratio, params->max_skips);

  out->status = (NdtTrackStatus)tracker->status;
  out->n_skipped = (guint)tracker->n_skipped;
  out->relocalized =
      out->status == NDT_TRACK_TRACKING &&
      (out->previous_status == NDT_TRACK_LOST || out->previous_status == NDT_TRACK_DEGRADED ||
          out->previous_status == NDT_TRACK_SKIPPED);
  out->has_pose = out->prediction != NDT_PREDICTION_NONE;
  if (outcome > NDT_OUTCOME_DEGRADED) {
    registration->score = registration->transformation_probability = registration->nvtl =
        registration->matched_ratio = 0;
    registration->pose = guess.pose;
    ndt_registration_set_fixed_covariance (registration, &params->registration);
  }
  return TRUE;
}

/* Hands a scan to the backend, by the clock. */
static gboolean
upload (NdtLocalizer *localizer, guint slot, const NdtObservation *observation, GError **error)
{
  const gint64 begin = now ();
  const gboolean ok = ndt_backend_set_scan (
      localizer->backend, slot, &observation->points, &localizer->params.filter, error);
  localizer->upload_times[slot] = now () - begin;
  return ok;
}

/* Localizes the scan that was uploaded, by the clock. */
static gboolean
finish (NdtLocalizer *localizer, guint slot, const NdtObservation *observation,
    NdtLocalization *out, GError **error)
{
  const gint64 begin = now ();
  const gboolean ok = process_slot (localizer, slot, observation, out, error);
  out->align_time = now () - begin;
  out->upload_time = localizer->upload_times[slot];
  return ok;
}

gboolean
ndt_localizer_process (NdtLocalizer *localizer, const NdtObservation *observation,
    NdtLocalization *out, GError **error)
{
  return upload (localizer, 0, observation, error) &&
         finish (localizer, 0, observation, out, error);
}

gboolean
ndt_localizer_process_batch (NdtLocalizer *localizer, const NdtObservation *observations,
    guint n_observations, NdtLocalizationFunc func, gpointer user_data, GError **error)
{
  if (n_observations < 1 || n_observations > NDT_MAX_SCANS) {
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "A batch holds 1 to 64 scans");
    return FALSE;
  }
  for (guint i = 0; i < n_observations; i++)
    if (!upload (localizer, i, &observations[i], error))
      return FALSE;
  for (guint i = 0; i < n_observations; i++) {
    NdtLocalization localization;
    if (!finish (localizer, i, &observations[i], &localization, error))
      return FALSE;
    func (i, &localization, user_data);
  }
  return TRUE;
}

const gchar *
ndt_track_status_to_string (NdtTrackStatus status)
{
  static const gchar *const names[] = {"initializing", "tracking", "degraded", "lost", "skipped"};
  return status < G_N_ELEMENTS (names) ? names[status] : "unknown";
}

const gchar *
ndt_reject_to_string (NdtReject reject)
{
  static const gchar *const names[] = {
      "none", "no-guess", "too-few-points", "no-pairs", "not-finite", "score", "deadline"};
  return reject < G_N_ELEMENTS (names) ? names[reject] : "unknown";
}

const gchar *
ndt_prediction_to_string (NdtPrediction prediction)
{
  static const gchar *const names[] = {"none", "initial", "constant-velocity", "odometry", "prior"};
  return prediction < G_N_ELEMENTS (names) ? names[prediction] : "unknown";
}
