/* SPDX-License-Identifier: MIT */
/* What a localizer does about a stream that is lost: docs/tracking.md, "Recovery". */
#include <math.h>
#include <string.h>

#include "ndt-localizer-step.h"
#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/math/ndt-mount.h"

/* Scans that are followed at most where nobody waits for the result. */
#define MOST_SCANS 64

/* Of these a search is given so many points at most. */
#define MOST_POINTS 65536

/* A search that found nothing is made again at once, then after twice as long each time, seconds of
 * the stream. */
#define FIRST_REST 0.3
#define MOST_REST 4.8

/* A scan whose fit fell at its prediction is looked for at least so far around, metres. */
#define QUESTIONED_STDDEV 2.5

/* Beyond that from where motion led, metres, a place was found on all of the map and not around:
 * three times the largest standard deviation of a search around. */
#define FAR_METRES 36.0

gboolean
ndt_localizer_can_search (const NdtLocalizer *localizer)
{
  g_autoptr (NdtVoxelMap) map =
      localizer->params.search_map ? ndt_backend_ref_map (localizer->backend) : NULL;
  return map != NULL;
}

gboolean
ndt_localizer_may_be_at (
    const NdtLocalizer *localizer, const NdtTrackerInput *input, const NdtPose *body)
{
  const NdtTracker *tracker = &localizer->tracker;
  if (!ndt_localizer_can_search (localizer))
    return TRUE;
  /* Of a start that did not fit all else is a rival; so is, of a place to which no motion leads,
   * what the map does not have, where the body may have left it, and the rest of a road that is
   * open. */
  const gboolean has_rival = !tracker->anchor.is_accepted ||
                             tracker->anchor.overlap < NDT_LOCALIZER_SMALL_OVERLAP ||
                             tracker->n_open > 0;
  return !has_rival || ndt_tracker_reaches (tracker, input, body);
}

/* ---- Results ---- */

static void
take_failure (NdtLocalizer *localizer, const NdtRelocation *result)
{
  localizer->has_failure = TRUE;
  localizer->failure = *result;
  localizer->rest =
      localizer->n_failed == 0
          ? 0
          : MIN (ldexp (FIRST_REST, MIN ((int)localizer->n_failed - 1, 8)), MOST_REST);
  localizer->n_failed++;
}

gboolean
ndt_localizer_relocate (NdtLocalizer *localizer, GError **error)
{
  NdtTracker *tracker = &localizer->tracker;
  NdtRelocation result;
  double apart[3], metres;
  if (ndt_relocalizer_count (localizer->relocalizer) < NDT_RELOCALIZER_SCANS)
    return TRUE;
  if (!ndt_relocalizer_get (localizer->relocalizer, !localizer->is_live, &result)) {
    if (localizer->is_live)
      return TRUE;
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "The search was cancelled");
    return FALSE;
  }
  ndt_relocalizer_drop (localizer->relocalizer);
  if (tracker->has_initial)
    return TRUE;
  const NdtTrackerInput then = {
      .time = result.time, .has_odometry = result.has_odometry, .odometry = result.odometry};
  if (result.found && tracker->anchor.is_accepted &&
      !ndt_localizer_may_be_at (localizer, &then, &result.pose)) {
    result.found = FALSE;
    result.is_ambiguous = TRUE;
    result.runner_up = 1;
  }
  const double refuted_below = NDT_LOCALIZER_AS_GOOD * result.elsewhere;
  if (localizer->is_questioned && localizer->quality >= refuted_below)
    result.found = FALSE; /* the stream fits as well again */
  else if (result.elsewhere > 0)
    localizer->refuted_below = refuted_below;
  if (!result.found) {
    take_failure (localizer, &result);
    return TRUE;
  }
  ndt_pose_difference (&result.pose, &tracker->pose, &metres, NULL);
  for (guint k = 0; k < 3; k++)
    apart[k] = result.pose.position[k] - tracker->pose.position[k];
  ndt_tracker_relocate (tracker, &result.pose, result.time,
      result.has_odometry ? &result.odometry : NULL, result.has_velocity ? result.velocity : NULL,
      result.velocity_time);
  ndt_drift_reset (&tracker->drift, NDT_LOCALIZER_NEW_PLACE);
  /* Along a road the place is one of many that fit. */
  tracker->is_from_far = tracker->n_open > 0 && metres > FAR_METRES;
  if (tracker->n_open > 0)
    ndt_drift_spread (&tracker->open_drift, apart);
  else
    tracker->open_drift = tracker->drift;
  localizer->course = result.course;
  localizer->jump = 0;
  localizer->is_found = TRUE;
  localizer->refuted_below = 0;
  return TRUE;
}

/* Why a scan had nothing to start from, where the map was searched. */
void
ndt_localizer_explain_search (const NdtLocalizer *localizer, NdtLocalization *out)
{
  const NdtRelocation *failure = &localizer->failure;
  if (out->reason != NDT_REASON_NO_START || !localizer->has_failure)
    return;
  if (failure->is_ambiguous) {
    out->reason = NDT_REASON_AMBIGUOUS;
    out->registration.runner_up = failure->runner_up;
  } else if (failure->fit > 0) {
    out->reason = NDT_REASON_BAD_FIT;
    out->fit = failure->fit;
    out->fit_bound = NDT_LOCALIZER_AREA_FIT * localizer->params.min_start_fit;
  } else {
    out->reason = NDT_REASON_NO_MAP;
  }
}

/* ---- Scans ---- */

static void
forget (NdtLocalizer *localizer)
{
  localizer->n_failed = 0;
  localizer->rest = 0;
  localizer->has_failure = localizer->is_found = FALSE;
  localizer->refuted_below = 0;
}

void
ndt_localizer_drop_search (NdtLocalizer *localizer)
{
  ndt_relocalizer_drop (localizer->relocalizer);
  forget (localizer);
}

/* Is it to be looked for? Scans that fit away from a start that did not confirm it have rivals
 * (ndt_localizer_may_be_at()), which the search on the whole map alone tells apart. */
static gboolean
is_in_trouble (const NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const gint32 status = localizer->tracker.status;
  return step->is_questioned || status == NDT_TRACK_LOST || status == NDT_TRACK_INITIALIZING ||
         ndt_reason_is_misfit (step->reason) || step->reason == NDT_REASON_IMPLAUSIBLE_MOTION;
}

static gboolean
begin (NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  const NdtTracker *tracker = &localizer->tracker;
  const NdtLocalizerParams *params = &localizer->params;
  g_autoptr (NdtVoxelMap) map = ndt_backend_ref_map (localizer->backend);
  if (!map)
    return FALSE;
  NdtRelocalizerTask task = {
      .map = map,
      .registration = params->registration,
      .area = params->start,
      .anywhere = !step->is_questioned,
      .least_fit = NDT_LOCALIZER_AREA_FIT * params->min_start_fit,
      .least_follow_fit = params->min_start_fit,
      .least_quality = tracker->n_good > 0 ? NDT_LOCALIZER_AS_GOOD * tracker->mean_quality : 0,
      .has_velocity = tracker->anchor.is_set && tracker->anchor.has_velocity,
      .has_upright = tracker->anchor.is_set,
      .upright = tracker->anchor.pose,
      .filter = ndt_localizer_get_filter (localizer),
  };
  memcpy (task.velocity, tracker->anchor.velocity, sizeof (task.velocity));
  task.has_area = ndt_tracker_get_area (tracker, &step->input, &task.around, task.area.stddev) != 0;
  task.area.n_candidates = 0;
  task.area.seed += (guint64)tracker->n_skipped;
  if (step->is_questioned || step->dropped) {
    task.has_stream = TRUE;
    /* Where the sensor is in the middle of a compensated scan, as what a search finds. */
    task.stream = ndt_mount_body_of_sensor (
        ndt_localizer_get_mount (localizer), &step->out.registration.pose);
    task.is_questioned = step->is_questioned;
    for (guint k = 0; k < 2; k++)
      task.area.stddev[k] = MAX (task.area.stddev[k], QUESTIONED_STDDEV);
  }
  localizer->is_questioned = step->is_questioned;
  ndt_relocalizer_begin (localizer->relocalizer, &task);
  return TRUE;
}

/* Copies the points in the step's slot. */
static gboolean
copy_slot (NdtLocalizer *localizer, const NdtLocalizerStep *step, guint n, NdtRelocalizerScan *scan,
    GError **error)
{
  scan->xyz = g_try_new (float, 3 * (gsize)n);
  if (!scan->xyz)
    return ndt_refuse_memory (error, "the %u points of a scan", n);
  return ndt_backend_get_scan (localizer->backend, step->slot, scan->xyz, n, &scan->n, error);
}

gsize
ndt_localizer_pick_point (gsize group, gsize size)
{
  guint32 bits = (guint32)group; /* mixed as by MurmurHash3 at its end */
  bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
  bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
  return size * group + (bits ^ (bits >> 16)) % size;
}

/* Copies the points as the sensor saw them, with their times: all, or one of each two, three, and
 * so on of many. */
static gboolean
copy_raw (const NdtObservation *observation, NdtRelocalizerScan *scan, GError **error)
{
  const NdtCloudView *points = &observation->points;
  const gsize step = MAX ((points->n_points + MOST_POINTS - 1) / MOST_POINTS, 1);
  const gsize n = (points->n_points + step - 1) / step;
  scan->xyz = g_try_new (float, 3 * n);
  scan->times = g_try_new (float, n);
  if (!scan->xyz || !scan->times)
    return ndt_refuse_memory (error, "the %" G_GSIZE_FORMAT " points of a scan", n);
  for (gsize i = 0; i < n; i++) {
    const gsize at = MIN (ndt_localizer_pick_point (i, step), points->n_points - 1);
    double p[3];
    ndt_cloud_view_get (points, at, p);
    for (guint k = 0; k < 3; k++)
      scan->xyz[3 * i + k] = (float)p[k];
    scan->times[i] =
        (float)(ndt_time_view_get (&observation->point_times, at) - observation->time_on_points);
  }
  scan->n = (guint)n;
  return TRUE;
}

/* Adds the scan to what is searched: that in the step's slot, of @n points, where its motion has no
 * part. The velocity by which the stream has compensated it may be what has led it astray. */
static gboolean
add_scan (NdtLocalizer *localizer, const NdtLocalizerStep *step, guint n, GError **error)
{
  NdtRelocalizerScan scan = {
      .time = step->input.time,
      .has_odometry = step->input.has_odometry && !localizer->tracker.is_odometry_off,
      .odometry = step->input.odometry,
      .has_velocity = step->observation->has_velocity,
  };
  const gboolean is_raw = localizer->params.deskew && ndt_localizer_has_times (step->observation);
  memcpy (scan.velocity, step->observation->velocity, sizeof (scan.velocity));
  if (!(is_raw ? copy_raw (step->observation, &scan, error)
               : copy_slot (localizer, step, n, &scan, error))) {
    ndt_relocalizer_scan_clear (&scan);
    return FALSE;
  }
  ndt_relocalizer_add (localizer->relocalizer, &scan);
  return TRUE;
}

/* Seconds since the scan before. */
static double
get_elapsed (NdtLocalizer *localizer, gint64 time)
{
  const gint64 before = localizer->last_time;
  localizer->last_time = time;
  return before >= 0 && time > before ? 1e-9 * (double)(time - before) : NDT_TRACKER_NO_TIME;
}

gboolean
ndt_localizer_step_search (NdtLocalizer *localizer, const NdtLocalizerStep *step, GError **error)
{
  const NdtTracker *tracker = &localizer->tracker;
  const double elapsed = get_elapsed (localizer, step->input.time);
  double rest = localizer->rest;
  /* Of scans that are late or have few points time goes by as well. */
  localizer->rest = MAX (rest - elapsed, 0);
  const guint n_added = ndt_relocalizer_count (localizer->relocalizer);
  const gboolean in_order = step->tried && step->reason == NDT_REASON_NONE &&
                            tracker->n_unconfirmed == 0 && !step->is_questioned;
  /* A scan that could not be aligned is no evidence: late, of few points, none of them on the map.
   */
  if (step->tried && step->reason != NDT_REASON_TOO_FEW_POINTS && step->reason != NDT_REASON_NO_MAP)
    localizer->quality = ndt_registration_get_quality (&step->out.registration);
  /* The mean of the fit adapts to another place before the search is over. */
  const gboolean goes_on = n_added > 0 && localizer->is_questioned;
  guint n = 0;
  if ((in_order && !goes_on) || tracker->has_initial || !localizer->params.search_map ||
      n_added >= MOST_SCANS) {
    if (n_added > 0)
      ndt_relocalizer_drop (localizer->relocalizer);
    if (in_order || tracker->has_initial)
      forget (localizer);
    return TRUE;
  }
  if (n_added == 0 && !is_in_trouble (localizer, step))
    return TRUE;
  if (step->reason == NDT_REASON_TOO_LATE)
    return TRUE;
  /* One whose motion is compensated is in its slot once it is tried. */
  if (!step->tried && localizer->params.deskew) {
    const NdtScanFilter filter = ndt_localizer_get_filter (localizer);
    if (!ndt_backend_set_scan (
            localizer->backend, step->slot, &step->observation->points, &filter, error))
      return FALSE;
  }
  if (!ndt_backend_get_scan (localizer->backend, step->slot, NULL, 0, &n, error))
    return FALSE;
  if (n < localizer->params.min_points)
    return TRUE;
  if (n_added == 0) {
    /* Searches for scans that counted looked only around them: no failure on all of the map. */
    if (localizer->is_questioned && !step->is_questioned) {
      localizer->n_failed = 0;
      localizer->rest = rest = 0;
      localizer->has_failure = localizer->is_questioned = FALSE;
    }
    /* Half a scan: times are no multiples of each other. */
    if (rest > 0.5 * NDT_TRACKER_NO_TIME)
      return TRUE;
    if (!begin (localizer, step))
      return TRUE;
  }
  return add_scan (localizer, step, n, error);
}
