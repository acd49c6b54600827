/* SPDX-License-Identifier: MIT */
#include "ndt-localizer.h"

#include <string.h>
#include <time.h>

#include "ndt-localizer-step.h"

/* g_get_monotonic_time() in nanoseconds. */
static gint64
now (void)
{
  struct timespec time;
  clock_gettime (CLOCK_MONOTONIC, &time);
  return time.tv_sec * G_GINT64_CONSTANT (1000000000) + time.tv_nsec;
}

NdtLocalizer *
ndt_localizer_new (NdtBackend *backend)
{
  NdtLocalizer *localizer = g_new0 (NdtLocalizer, 1);
  localizer->backend = backend;
  localizer->moving = ndt_moving_scan_new ();
  localizer->relocalizer = ndt_relocalizer_new (backend);
  ndt_localizer_params_init (&localizer->params);
  ndt_tracker_reset (&localizer->tracker);
  localizer->last_time = -1;
  return localizer;
}

void
ndt_localizer_free (NdtLocalizer *localizer)
{
  ndt_relocalizer_free (localizer->relocalizer);
  ndt_moving_scan_free (localizer->moving);
  g_clear_pointer (&localizer->faces, ndt_faces_free);
  g_free (localizer->thinned);
  g_free (localizer);
}

void
ndt_localizer_set_backend (NdtLocalizer *localizer, NdtBackend *backend)
{
  localizer->backend = backend;
  ndt_relocalizer_set_stream (localizer->relocalizer, backend);
}

gboolean
ndt_localizer_set_params (NdtLocalizer *localizer, const NdtLocalizerParams *params, GError **error)
{
  if (!ndt_localizer_params_check (params, error))
    return FALSE;
  /* Scores with other points or pairs are not comparable. */
  if (!ndt_align_params_equal (
          &params->registration.align, &localizer->params.registration.align) ||
      memcmp (&params->filter, &localizer->params.filter, sizeof (params->filter)) != 0)
    ndt_localizer_forget_scores (localizer);
  localizer->params = *params;
  double metres, radians;
  const NdtPose identity = NDT_POSE_IDENTITY;
  ndt_pose_normalize (&localizer->params.sensor_pose);
  ndt_pose_difference (&localizer->params.sensor_pose, &identity, &metres, &radians);
  localizer->has_mount = metres > 0 || radians > 0;
  localizer->params.registration.has_mount = localizer->has_mount;
  localizer->params.registration.mount = localizer->params.sensor_pose;
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
  localizer->tracker.n_tries = 0;
  ndt_localizer_drop_search (localizer);
  localizer->has_planar = FALSE;
  return TRUE;
}

void
ndt_localizer_set_live (NdtLocalizer *localizer, gboolean is_live)
{
  localizer->is_live = is_live;
}

void
ndt_localizer_cancel (NdtLocalizer *localizer, gboolean cancelled)
{
  ndt_relocalizer_cancel (localizer->relocalizer, cancelled);
}

gboolean
ndt_localizer_searches_on_device (const NdtLocalizer *localizer)
{
  return ndt_relocalizer_is_on_device (localizer->relocalizer);
}

GError *
ndt_localizer_take_search_failure (NdtLocalizer *localizer)
{
  return ndt_relocalizer_take_failure (localizer->relocalizer);
}

void
ndt_localizer_reset (NdtLocalizer *localizer)
{
  ndt_localizer_drop_search (localizer);
  ndt_tracker_reset (&localizer->tracker);
  localizer->last_time = -1;
  localizer->course.has_pose = FALSE;
  localizer->has_planar = FALSE;
}

void
ndt_localizer_forget_scores (NdtLocalizer *localizer)
{
  localizer->tracker.n_good = 0;
  localizer->tracker.mean_nvtl = 0;
  localizer->refuted_below = 0; /* a quality, too */
}

void
ndt_localizer_forget_map (NdtLocalizer *localizer)
{
  ndt_localizer_forget_scores (localizer);
  ndt_localizer_drop_search (localizer);
}

NdtTrackStatus
ndt_localizer_get_status (const NdtLocalizer *localizer)
{
  return localizer->tracker.status;
}

static gboolean
needs_backend (const NdtLocalizerParams *params)
{
  return params->registration.covariance >= NDT_POSE_COVARIANCE_MULTI_NDT ||
         params->no_ground_margin > 0;
}

/* Sets a scan in the backend, and measures the time. */
static gboolean
upload (NdtLocalizer *localizer, guint slot, const NdtObservation *observation, GError **error)
{
  const gint64 since = now ();
  const NdtScanFilter filter = ndt_localizer_get_filter (localizer);
  gboolean ok = TRUE;
  /* A scan with motion compensation is set when its velocity is known; a device may read it before.
   */
  if (!localizer->params.deskew)
    ok = ndt_backend_set_scan (localizer->backend, slot, &observation->points, &filter, error);
  else if (ndt_localizer_has_times (observation))
    ok = ndt_moving_scan_announce (
        localizer->backend, slot, &observation->points, &observation->point_times, error);
  localizer->upload_times[slot] = now () - since;
  return ok;
}

/* Localizes the scan that was set, and measures the time. On FALSE the state is unchanged. */
static gboolean
process_slot (NdtLocalizer *localizer, guint slot, const NdtObservation *observation,
    NdtLocalization *out, GError **error)
{
  if (!ndt_localizer_relocate (localizer, error))
    return FALSE;
  const NdtTracker tracker = localizer->tracker;
  const NdtCourse course = localizer->course;
  const gint64 since = now ();
  NdtLocalizerStep step;
  ndt_localizer_step_predict (localizer, slot, observation, &step);
  if (!ndt_localizer_step_begin (localizer, &step, 0, error) ||
      !ndt_localizer_step_finish (localizer, &step, error) ||
      !ndt_localizer_step_complete (localizer, &step, error)) {
    localizer->tracker = tracker;
    localizer->course = course;
    return FALSE;
  }
  *out = step.out;
  out->align_time = now () - since;
  out->upload_time = localizer->upload_times[slot];
  return TRUE;
}

gboolean
ndt_localizer_process (NdtLocalizer *localizer, const NdtObservation *observation,
    NdtLocalization *out, GError **error)
{
  return upload (localizer, 0, observation, error) &&
         process_slot (localizer, 0, observation, out, error);
}

/* The first two steps of a scan, and their times. */
static gboolean
start (NdtLocalizer *localizer, guint slot, const NdtObservation *observation, guint n_following,
    NdtLocalizerStep *step, GError **error)
{
  const gint64 since = now ();
  if (!ndt_localizer_relocate (localizer, error))
    return FALSE;
  ndt_localizer_step_predict (localizer, slot, observation, step);
  const gboolean ok = ndt_localizer_step_begin (localizer, step, n_following, error);
  step->out.align_time = now () - since;
  step->out.upload_time = localizer->upload_times[slot];
  return ok;
}

/* Whether scans follow one another without other calls in between. Those with motion compensation
 * are set one by one, after the result before. On a sparse map each is evaluated after its
 * alignment (ndt_fit_measure()), which ends a device's sequence; only scans that it thins form
 * none, and are thinned ahead. */
static gboolean
are_in_sequence (const NdtLocalizer *localizer)
{
  const NdtScanFilter filter = ndt_localizer_get_filter (localizer);
  const gboolean is_thinned =
      filter.leaf_size > 0 || filter.min_range > 0 || filter.max_range > 0 || filter.use_box;
  double resolution, share, density;
  return !localizer->params.deskew && (is_thinned || ndt_backend_get_fit_level (localizer->backend,
                                                         &resolution, &share, &density) == 0);
}

/* A result is completed and delivered while the next scan is aligned, which is not part of the
 * alignment's time. */
static gboolean
process_overlapped (NdtLocalizer *localizer, const NdtObservation *observations, guint n,
    NdtLocalizationFunc func, gpointer user_data, GError **error)
{
  NdtLocalizerStep steps[2];
  const gboolean follow = are_in_sequence (localizer);
  gboolean begun = start (localizer, 0, &observations[0], follow ? n - 1 : 0, &steps[0], error);
  for (guint i = 0; i < n && begun; i++) {
    NdtLocalizerStep *step = &steps[i % 2];
    const gint64 since = now ();
    if (!ndt_localizer_step_finish (localizer, step, error))
      return FALSE;
    step->out.align_time += now () - since;
    if (i + 1 < n)
      begun = start (localizer, i + 1, &observations[i + 1], follow ? n - 2 - i : 0,
          &steps[(i + 1) % 2], error);
    ndt_localizer_step_complete (localizer, step, NULL);
    func (i, &step->out, user_data);
  }
  return begun;
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
  if (!needs_backend (&localizer->params)) {
    const gboolean ok =
        process_overlapped (localizer, observations, n_observations, func, user_data, error);
    ndt_backend_align_stop (localizer->backend);
    return ok;
  }
  for (guint i = 0; i < n_observations; i++) {
    NdtLocalization localization;
    if (!process_slot (localizer, i, &observations[i], &localization, error))
      return FALSE;
    func (i, &localization, user_data);
  }
  return TRUE;
}
