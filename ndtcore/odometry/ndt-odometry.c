/* SPDX-License-Identifier: MIT */
#include "ndt-odometry-private.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/math/ndt-mount.h"

/* Fewer outliers than the localizer expects: what moves or is new has no voxel yet, and steeper
 * terms hold a scan that overlaps its map by half: KITTI's and BALM's drives end nearer. */
#define OUTLIER_RATIO 0.1
/* A scan that fits so much worse than the last ones, as a fraction, is searched for … */
#define SEARCH_BELOW 0.85
/* … is DEGRADED … */
#define DEGRADED_BELOW 0.7
/* … and is not where it was found. */
#define LOST_BELOW 0.5
/* Scans in a row that are lost before the map begins anew. */
#define MOST_LOST 3
/* An axis is open whose information is so many times what flat surfaces feign: in a map of a few
 * scans the traces of rings feign more than in one of many drives. KITTI's drive has 3.2 and more,
 * town, hall and BALM's 7.8; half the scans of a tunnel and a highway 1 to 2.9. */
#define OPEN 3.0
/* Leaf of the scan that a map begins with, of the others'. */
#define START_LEAF 0.4
/* How often a scan is moved by a better velocity and aligned anew at most. */
#define MAX_PASSES 2
/* Share of a scan in the mean fit of the last ones. */
#define FIT_RATE 0.1
#define SLOW_FIT_RATE 0.02

void
ndt_odometry_params_init (NdtOdometryParams *params)
{
  static const NdtAlignParams align = NDT_ALIGN_PARAMS_DEFAULT;
  memset (params, 0, sizeof (*params));
  params->resolution = 1.2;
  params->leaf_size = 0.4;
  params->min_range = 1;
  params->max_range = 100;
  params->map_step = 0.5;
  params->map_turn = 0.1;
  params->min_points = 100;
  params->deskew = TRUE;
  params->sensor_pose = (NdtPose)NDT_POSE_IDENTITY;
  params->align = align;
  params->align.translation_epsilon = 0.003;
  params->align.rotation_epsilon = 0.0003;
  params->align.outlier_ratio = OUTLIER_RATIO;
}

gboolean
ndt_odometry_params_check (const NdtOdometryParams *params, GError **error)
{
  const gchar *what = NULL;
  NdtPose mount = params->sensor_pose;
  if (!(params->resolution >= 0.05 && params->resolution <= 100))
    what = "the resolution has to be 0.05 m to 100 m";
  else if (!(params->leaf_size >= 0.001 && params->leaf_size <= 100))
    what = "the leaf size has to be 0.001 m to 100 m";
  else if (!(params->min_range >= 0 && params->max_range > params->min_range &&
               params->max_range <= 10000))
    what = "the ranges have to be 0 or above, the larger one below 10 km";
  else if (!(params->map_step >= 0 && params->map_turn >= 0))
    what = "the map's steps have to be 0 or above";
  else if (params->min_points < 1)
    what = "a scan has to have a point";
  else if (!ndt_pose_normalize (&mount))
    what = "the sensor's pose is none";
  if (what)
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "Odometry: %s", what);
  return what == NULL && ndt_align_params_check (&params->align, error);
}

NdtOdometry *
ndt_odometry_new (NdtBackend *backend, const NdtOdometryParams *params, GError **error)
{
  if (!ndt_odometry_params_check (params, error))
    return NULL;
  NdtOdometry *odometry = g_new0 (NdtOdometry, 1);
  odometry->backend = backend;
  odometry->params = *params;
  odometry->moving = ndt_moving_scan_new ();
  odometry->map = ndt_odometry_map_new (params);
  if (!ndt_odometry_map_use_some (odometry->map, backend, error)) {
    ndt_odometry_free (odometry);
    return NULL;
  }
  ndt_odometry_reset (odometry);
  return odometry;
}

void
ndt_odometry_free (NdtOdometry *odometry)
{
  ndt_moving_scan_free (odometry->moving);
  ndt_odometry_map_free (odometry->map);
  g_free (odometry->points);
  g_free (odometry);
}

void
ndt_odometry_reset (NdtOdometry *odometry)
{
  ndt_odometry_map_clear (odometry->map);
  odometry->n_levels = 0;
  odometry->has_pose = odometry->has_velocity = odometry->has_base = FALSE;
  memset (&odometry->course, 0, sizeof (odometry->course));
  memset (odometry->covariance, 0, sizeof (odometry->covariance));
  odometry->fit = 0;
  odometry->n_fits = 0;
  odometry->n_lost = odometry->n_open = 0;
  odometry->is_rough = FALSE;
  odometry->n_points = 0;
  ndt_drift_reset (&odometry->drift, 0);
}

gboolean
ndt_odometry_use_map (NdtOdometry *odometry, guint n_levels, GError **error)
{
  if (odometry->n_levels >= n_levels)
    return TRUE;
  g_autoptr (NdtVoxelMap) map = ndt_odometry_map_build (odometry->map, n_levels, error);
  if (!map || !ndt_backend_set_map (odometry->backend, map, error))
    return FALSE;
  odometry->n_levels = n_levels;
  return TRUE;
}

gboolean
ndt_odometry_set_backend (NdtOdometry *odometry, NdtBackend *backend, GError **error)
{
  NdtBackend *before = odometry->backend;
  const guint n_levels = odometry->n_levels;
  odometry->backend = backend;
  odometry->n_levels = 0;
  if (n_levels > 0 ? ndt_odometry_use_map (odometry, n_levels, error)
                   : ndt_odometry_map_use_some (odometry->map, backend, error))
    return TRUE;
  odometry->backend = before;
  odometry->n_levels = n_levels;
  return FALSE;
}

const float *
ndt_odometry_get_points (const NdtOdometry *odometry, guint *n_points, NdtPose *sensor)
{
  *n_points = odometry->n_points;
  *sensor = odometry->sensor;
  return odometry->points;
}

gboolean
ndt_odometry_get_velocity (const NdtOdometry *odometry, double velocity[6])
{
  NdtCourse course = {0};
  if (!odometry->has_velocity || odometry->time < 0)
    return FALSE;
  ndt_course_set_velocity (&course, &odometry->params.sensor_pose, odometry->velocity);
  memcpy (velocity, course.velocity, sizeof (course.velocity));
  return TRUE;
}

guint
ndt_odometry_get_n_cells (const NdtOdometry *odometry)
{
  return ndt_odometry_map_get_n_cells (odometry->map);
}

const gchar *
ndt_odometry_status_to_string (NdtOdometryStatus status)
{
  static const gchar *const names[] = {"started", "tracked", "degraded", "restarted", "skipped"};
  return names[status];
}

/* ---- The map ---- */

/* The points of the scan, for the map and for who asks. */
static gboolean
take_points (NdtOdometry *odometry, GError **error)
{
  guint n = 0;
  ndt_odometry_map_wait (odometry->map); /* it reads them */
  if (!ndt_backend_get_scan (odometry->backend, 0, odometry->points, odometry->capacity, &n, error))
    return FALSE;
  if (n > odometry->capacity) {
    const guint capacity = n + n / 4;
    if (!ndt_grow (odometry->points, 3 * (gsize)capacity))
      return ndt_refuse_memory (error, "a scan of %u points", n);
    odometry->capacity = capacity;
    if (!ndt_backend_get_scan (odometry->backend, 0, odometry->points, capacity, &n, error))
      return FALSE;
  }
  odometry->n_points = n;
  return TRUE;
}

static gboolean
is_far (const NdtOdometry *odometry)
{
  double metres, radians;
  ndt_pose_difference (&odometry->base, &odometry->sensor, &metres, &radians);
  return metres >= odometry->params.map_step || radians >= odometry->params.map_turn;
}

/* Puts the scan into the map where it is new. */
static void
extend_map (NdtOdometry *odometry)
{
  const double *p = odometry->sensor.position;
  NdtMapExtension extension = {odometry->points, odometry->n_points, odometry->sensor, 0};
  if (odometry->has_base && !is_far (odometry))
    return;
  if (!odometry->has_base)
    memcpy (odometry->trimmed, p, sizeof (odometry->trimmed));
  odometry->has_base = TRUE;
  odometry->base = odometry->sensor;
  odometry->n_levels = 0;
  const double moved = hypot (hypot (p[0] - odometry->trimmed[0], p[1] - odometry->trimmed[1]),
      p[2] - odometry->trimmed[2]);
  if (moved > odometry->params.max_range / 8) {
    extension.radius = odometry->params.max_range;
    memcpy (odometry->trimmed, p, sizeof (odometry->trimmed));
  }
  ndt_odometry_map_extend (odometry->map, &extension);
}

/* ---- Prediction ---- */

static const NdtPose no_mount = NDT_POSE_IDENTITY;

/* Seconds, or scans, since the last one. */
static double
elapsed_to (const NdtOdometry *odometry, gint64 time)
{
  if (time < 0 || odometry->time < 0)
    return 1;
  return 1e-9 * (double)(time - odometry->time);
}

static NdtPose
predict (const NdtOdometry *odometry, gint64 time)
{
  const double elapsed = elapsed_to (odometry, time);
  double twist[6];
  if (!odometry->has_velocity || !(elapsed > 0 && elapsed < 3))
    return odometry->sensor;
  for (guint k = 0; k < 6; k++)
    twist[k] = elapsed * odometry->velocity[k];
  const NdtPose step = ndt_pose_from_twist (twist);
  return ndt_pose_mul (&odometry->sensor, &step);
}

/* ---- Scans ---- */

static gboolean
has_times (const NdtOdometry *odometry, const NdtOdometryScan *scan)
{
  return odometry->params.deskew && scan->point_times.data && scan->points.n_points > 0 &&
         scan->time >= 0;
}

static NdtScanFilter
get_filter (const NdtOdometry *odometry, double leaf_size)
{
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  filter.min_range = (float)odometry->params.min_range;
  filter.max_range = (float)odometry->params.max_range;
  filter.leaf_size = (float)leaf_size;
  return filter;
}

static gboolean
move_scan (NdtOdometry *odometry, const NdtCourse *course, GError **error)
{
  const NdtScanMotion motion = ndt_course_get_motion (course, &no_mount);
  const NdtScanFilter filter = get_filter (odometry, odometry->params.leaf_size);
  return ndt_moving_scan_move (
      odometry->moving, course->has_velocity ? &motion : NULL, &filter, error);
}

/* Gives the backend the scan. @course: (out): of its times, where it has some. */
static gboolean
set_scan (NdtOdometry *odometry, const NdtOdometryScan *scan, NdtCourse *course,
    gboolean *has_course, GError **error)
{
  const NdtScanFilter filter = get_filter (odometry, odometry->params.leaf_size);
  NdtTimeSpan span = {0};
  *has_course = FALSE;
  memset (course, 0, sizeof (*course));
  if (has_times (odometry, scan) && !ndt_moving_scan_set (odometry->moving, odometry->backend, 0,
                                        &scan->points, &scan->point_times, &span, error))
    return FALSE;
  if (span.n_points == 0)
    return ndt_backend_set_scan (odometry->backend, 0, &scan->points, &filter, error);
  *has_course = TRUE;
  ndt_course_init (course, &span, scan->time, scan->time_on_points);
  if (odometry->has_velocity && elapsed_to (odometry, course->time) < 1) {
    course->has_velocity = TRUE;
    memcpy (course->velocity, odometry->velocity, sizeof (course->velocity));
  }
  return move_scan (odometry, course, error);
}

/* What two alignments are compared by. */
static double
quality (const NdtRegistration *registration)
{
  const double fit = ndt_registration_get_quality (registration);
  return isfinite (fit) && registration->stop != NDT_STOP_NOT_FINITE ? fit : 0;
}

static gboolean
fits (const NdtOdometry *odometry, const NdtRegistration *registration, double share)
{
  return quality (registration) > 0 && quality (registration) >= share * odometry->fit;
}

/* From the prediction; beyond it where it does not fit there. */
static gboolean
align (NdtOdometry *odometry, const NdtPose *guess, NdtOdometryResult *result, GError **error)
{
  NdtRegistration *best = &result->registration, other;
  NdtRegistrationParams params;
  const NdtPose guesses[2] = {*guess, odometry->sensor};
  g_autoptr (GError) local = NULL;
  const NdtPoseSearch searches[] = {
      {.stddev = {0.5, 0.5, 0.2, 0.06, 0.06, 0.35}}, {.stddev = {0.7, 0.7, 0.2, 0.06, 0.06, G_PI}}};
  ndt_registration_params_init (&params);
  params.align = odometry->params.align;
  if (!ndt_odometry_use_map (odometry, odometry->has_velocity ? 1 : NDT_MAX_LEVELS, &local)) {
    /* Of points too sparse for a voxel: fits nowhere. */
    memset (best, 0, sizeof (*best));
    if (g_error_matches (local, NDT_ERROR, NDT_ERROR_EMPTY_MAP))
      return TRUE;
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  if (!ndt_register (odometry->backend, 0, &params,
          odometry->has_velocity ? NDT_SEARCH_LOCAL : NDT_SEARCH_FAR, guesses, 1, best, error))
    return FALSE;
  if (odometry->fit == 0 || fits (odometry, best, SEARCH_BELOW))
    return TRUE;
  result->searched = TRUE;
  if (!ndt_odometry_use_map (odometry, NDT_MAX_LEVELS, error) ||
      !ndt_register (odometry->backend, 0, &params, NDT_SEARCH_FAR, guesses, 2, &other, error))
    return FALSE;
  if (quality (&other) > quality (best))
    *best = other;
  for (guint i = 0; i < G_N_ELEMENTS (searches); i++) {
    if (fits (odometry, best, i == 0 ? SEARCH_BELOW : DEGRADED_BELOW))
      return TRUE;
    if (!ndt_register_around (
            odometry->backend, 0, &params, &odometry->sensor, &searches[i], &other, error))
      return FALSE;
    if (quality (&other) > quality (best))
      *best = other;
  }
  return TRUE;
}

/* Compensates the points by the velocity of the alignment, until that does not change. */
static gboolean
align_moving (
    NdtOdometry *odometry, NdtCourse *course, NdtRegistration *registration, GError **error)
{
  NdtRegistrationParams params;
  ndt_registration_params_init (&params);
  params.align = odometry->params.align;
  for (guint pass = 0; pass < MAX_PASSES; pass++) {
    const NdtPose sensor = registration->pose;
    if (!ndt_course_continue (course, &odometry->course, &sensor))
      return TRUE;
    if (!move_scan (odometry, course, error) ||
        !ndt_register (
            odometry->backend, 0, &params, NDT_SEARCH_LOCAL, &sensor, 1, registration, error))
      return FALSE;
  }
  ndt_course_continue (course, &odometry->course, &registration->pose);
  return TRUE;
}

/* Adds what a step from one pose to the next is uncertain by: the rotation's turns the way. */
static void
add_covariance (
    NdtOdometry *odometry, const NdtPose *from, const NdtPose *to, const double step[36])
{
  const double d[3] = {to->position[0] - from->position[0], to->position[1] - from->position[1],
      to->position[2] - from->position[2]};
  /* δt' = δt + δω × d */
  const double a[36] = {1, 0, 0, 0, d[2], -d[1], 0, 1, 0, -d[2], 0, d[0], 0, 0, 1, d[1], -d[0], 0,
      0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1};
  double half[36], sum;
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++) {
      half[6 * i + j] = 0;
      for (guint k = 0; k < 6; k++)
        half[6 * i + j] += a[6 * i + k] * odometry->covariance[6 * k + j];
    }
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++) {
      sum = step[6 * i + j];
      for (guint k = 0; k < 6; k++)
        sum += half[6 * i + k] * a[6 * j + k];
      odometry->covariance[6 * i + j] = sum;
    }
}

static void
report (const NdtOdometry *odometry, const NdtOdometryScan *scan, const NdtCourse *course,
    NdtOdometryResult *result)
{
  const NdtPose *mount = &odometry->params.sensor_pose;
  NdtPose sensor = odometry->sensor;
  if (course->has_velocity)
    sensor = ndt_course_move (course, &sensor, scan->time_on_points - course->middle);
  result->pose = ndt_mount_body_of_sensor (mount, &sensor);
  memcpy (result->covariance, odometry->covariance, sizeof (result->covariance));
  ndt_mount_covariance_to_body (mount, &sensor, result->covariance);
}

/* A scan that says nothing: the body goes on as it did. */
static void
coast (NdtOdometry *odometry, const NdtPose *guess, gint64 time)
{
  double metres, radians, step[36] = {0};
  ndt_pose_difference (&odometry->sensor, guess, &metres, &radians);
  for (guint k = 0; k < 6; k++)
    step[7 * k] = k < 3 ? 0.25 + metres * metres : 0.01 + radians * radians;
  add_covariance (odometry, &odometry->sensor, guess, step);
  odometry->sensor = *guess;
  odometry->time = time;
  odometry->course.has_pose = FALSE;
}

/* A map of the scan alone, which takes more of its points. */
static gboolean
begin_map (
    NdtOdometry *odometry, const NdtOdometryScan *scan, const NdtCourse *course, GError **error)
{
  const NdtScanFilter filter = get_filter (odometry, START_LEAF * odometry->params.leaf_size);
  const NdtScanMotion motion = ndt_course_get_motion (course, &no_mount);
  const gboolean moves = course->has_velocity;
  if (!(moves ? ndt_moving_scan_move (odometry->moving, &motion, &filter, error)
              : ndt_backend_set_scan (odometry->backend, 0, &scan->points, &filter, error)) ||
      !take_points (odometry, error))
    return FALSE;
  odometry->fit = 0;
  odometry->n_fits = 0;
  odometry->has_base = FALSE;
  ndt_odometry_map_clear (odometry->map);
  extend_map (odometry);
  return TRUE;
}

static gboolean
start (NdtOdometry *odometry, const NdtOdometryScan *scan, const NdtCourse *course,
    const NdtPose *sensor, gint64 time, GError **error)
{
  const NdtCourse still = {0};
  odometry->has_pose = TRUE;
  odometry->sensor = odometry->first = *sensor;
  odometry->time = time;
  odometry->first_time = scan->time;
  odometry->is_rough = course->half > 0;
  odometry->n_lost = 0;
  ndt_drift_reset (&odometry->drift, 0);
  return begin_map (odometry, scan, &still, error);
}

/* The second scan tells the velocity that the first one was taken at: it is as far from the first
 * one's time as that leads, and the map begins anew with it, compensated. */
static gboolean
start_moving (
    NdtOdometry *odometry, const NdtOdometryScan *scan, const NdtCourse *course, GError **error)
{
  const double elapsed = 1e-9 * (double)(course->time - odometry->first_time);
  double twist[6];
  for (guint k = 0; k < 6; k++)
    twist[k] = elapsed * course->velocity[k];
  const NdtPose way = ndt_pose_from_twist (twist);
  odometry->sensor = ndt_pose_mul (&odometry->first, &way);
  return begin_map (odometry, scan, course, error);
}

/* A scan that fits nowhere. */
static gboolean
give_up (NdtOdometry *odometry, const NdtOdometryScan *scan, const NdtCourse *course,
    const NdtPose *guess, gint64 time, NdtOdometryResult *result, GError **error)
{
  coast (odometry, guess, time);
  result->status = NDT_ODOMETRY_SKIPPED;
  if (++odometry->n_lost < MOST_LOST)
    return TRUE;
  result->status = NDT_ODOMETRY_RESTARTED;
  odometry->has_velocity = FALSE;
  return start (odometry, scan, course, guess, time, error);
}

/* What the step from the pose before is uncertain by. Along an axis that the scan leaves open the
 * pose goes where motion leads. @sensor: (inout). Returns whether there is such an axis. */
static gboolean
judge_step (NdtOdometry *odometry, const NdtRegistration *registration, const NdtPose *guess,
    double elapsed, NdtPose *sensor, double step[36])
{
  const NdtObservability *seen = &registration->observability;
  const NdtDriftStep drift_step = {.seconds = elapsed > 0 ? elapsed : 0.1, .open = OPEN};
  double shift[3], axis[3];
  gboolean is_open = FALSE;
  memset (odometry->drift.position, 0, sizeof (odometry->drift.position));
  memset (step, 0, 36 * sizeof (double));
  for (guint k = 0; k < 3; k++)
    shift[k] = sensor->position[k] - guess->position[k];
  ndt_drift_take (&odometry->drift, &drift_step, seen, shift, axis);
  for (guint k = 0; k < 3; k++) {
    const double *u = seen->axes[k];
    double variance = 0;
    if (!(seen->information[k] < OPEN * seen->flat))
      continue;
    is_open = TRUE;
    for (guint i = 0; i < 9; i++)
      variance += u[i / 3] * odometry->drift.position[i / 3][i % 3] * u[i % 3];
    /* An error of the velocity lasts: after n scans the way is off by n times what one is. */
    for (guint i = 0; i < 9; i++)
      step[6 * (i / 3) + i % 3] += 2 * odometry->n_open * variance * u[i / 3] * u[i % 3];
  }
  odometry->n_open = is_open ? odometry->n_open + 1 : 0;
  for (guint i = 0; i < 3; i++) {
    sensor->position[i] = guess->position[i] + shift[i];
    for (guint j = 0; j < 3; j++) {
      double *rotation = &odometry->rotation[3 * i + j];
      /* Where the alignment itself does not tell it, twice as uncertain as the one before. */
      if (registration->covariance_kind == NDT_POSE_COVARIANCE_LAPLACE)
        *rotation = registration->covariance[6 * (i + 3) + j + 3];
      else
        *rotation *= 4;
      step[6 * i + j] += odometry->drift.position[i][j];
      step[6 * (i + 3) + j + 3] = NDT_DRIFT_CLUSTERING * *rotation;
    }
  }
  return is_open;
}

/* Scans that do not fit say less of what is usual. */
static void
take_fit (NdtOdometry *odometry, double fit)
{
  const double rate = fit < DEGRADED_BELOW * odometry->fit ? SLOW_FIT_RATE : FIT_RATE;
  odometry->n_fits++;
  odometry->fit += MAX (rate, 1.0 / odometry->n_fits) * (fit - odometry->fit);
}

/* The scan is where it was aligned. */
static gboolean
accept (NdtOdometry *odometry, const NdtOdometryScan *scan, const NdtPose *guess, NdtCourse *course,
    gint64 time, NdtOdometryResult *result, GError **error)
{
  const NdtRegistration *registration = &result->registration;
  const double elapsed = elapsed_to (odometry, time);
  const NdtPose before = odometry->sensor;
  double step[36];
  odometry->sensor = registration->pose;
  const gboolean is_open =
      judge_step (odometry, registration, guess, elapsed, &odometry->sensor, step);
  result->fit = odometry->fit > 0 ? quality (registration) / odometry->fit : 1;
  result->status = is_open || registration->n_degenerate > 0 || result->fit < DEGRADED_BELOW
                       ? NDT_ODOMETRY_DEGRADED
                       : NDT_ODOMETRY_TRACKED;
  add_covariance (odometry, &before, &odometry->sensor, step);
  odometry->time = time;
  odometry->n_lost = 0;
  take_fit (odometry, quality (registration));
  odometry->has_velocity = TRUE;
  if (course->has_velocity) {
    memcpy (odometry->velocity, course->velocity, sizeof (odometry->velocity));
  } else {
    const NdtPose inverse = ndt_pose_inverse (&before);
    const NdtPose moved = ndt_pose_mul (&inverse, &odometry->sensor);
    ndt_pose_to_twist (&moved, odometry->velocity);
    odometry->has_velocity = elapsed > 0;
    for (guint k = 0; k < 6 && elapsed > 0; k++)
      odometry->velocity[k] /= elapsed;
  }
  const gboolean is_rough = odometry->is_rough && course->has_velocity;
  odometry->is_rough = FALSE;
  if (is_rough && !start_moving (odometry, scan, course, error))
    return FALSE;
  course->pose = odometry->sensor;
  if (!is_rough)
    extend_map (odometry);
  return TRUE;
}

static gboolean
process (
    NdtOdometry *odometry, const NdtOdometryScan *scan, NdtOdometryResult *result, GError **error)
{
  NdtCourse course;
  gboolean has_course;
  guint n_points;
  memset (result, 0, sizeof (*result));
  /* The number alone: what is aligned is taken when it has been compensated. */
  if (!set_scan (odometry, scan, &course, &has_course, error) ||
      !ndt_backend_get_scan (odometry->backend, 0, odometry->points, 0, &n_points, error))
    return FALSE;
  const gint64 time = has_course ? course.time : scan->time;
  NdtPose guess = odometry->has_pose ? predict (odometry, time) : odometry->params.sensor_pose;
  if (n_points < odometry->params.min_points) {
    result->status = NDT_ODOMETRY_SKIPPED;
    if (!take_points (odometry, error))
      return FALSE;
    if (odometry->has_pose)
      coast (odometry, &guess, time);
    else
      odometry->sensor = guess;
  } else if (!odometry->has_pose) {
    result->status = NDT_ODOMETRY_STARTED;
    if (!start (odometry, scan, &course, &guess, time, error))
      return FALSE;
    if (has_course)
      ndt_course_continue (&course, NULL, &guess);
  } else {
    if (!align (odometry, &guess, result, error))
      return FALSE;
    const gboolean lost = !fits (odometry, &result->registration, LOST_BELOW);
    if (!lost && has_course && !align_moving (odometry, &course, &result->registration, error))
      return FALSE;
    if (!take_points (odometry, error) ||
        !(lost ? give_up (odometry, scan, &course, &guess, time, result, error)
               : accept (odometry, scan, &guess, &course, time, result, error)))
      return FALSE;
  }
  odometry->course = course;
  result->deskewed = has_course && course.has_velocity;
  report (odometry, scan, &course, result);
  return TRUE;
}

gboolean
ndt_odometry_process (
    NdtOdometry *odometry, const NdtOdometryScan *scan, NdtOdometryResult *result, GError **error)
{
  NdtOdometry before = *odometry;
  if (process (odometry, scan, result, error))
    return TRUE;
  /* Of what is not in the structure the map alone changes, after the backend's last work. */
  before.points = odometry->points;
  before.n_points = odometry->n_points;
  before.capacity = odometry->capacity;
  *odometry = before;
  return FALSE;
}
