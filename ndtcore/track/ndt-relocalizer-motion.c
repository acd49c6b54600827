/* SPDX-License-Identifier: MIT */
#include "ndt-relocalizer-motion.h"

#include <math.h>
#include <string.h>

#include "ndtcore/odometry/ndt-moving-scan.h"
#include "ndtcore/odometry/ndt-odometry.h"

/* A velocity that was given is one that the map has not confirmed: wheels slip. As if it was known
 * so many nanoseconds before, any change to the velocity between two poses on the map is credible.
 */
#define GIVEN_AGE 10000000000

struct _NdtRelocalizerMotion {
  NdtPose mount;
  NdtScanFilter filter;
  NdtMovingScan *moving;
  gboolean has_velocity;
  double velocity[6];
  gboolean is_given_up; /* scans are taken as they are */
  GMutex lock;          /* guards what follows */
  NdtBackend *backend;  /* of two scans that are being aligned; replaced by their thread alone */
  gboolean is_cancelled;
};

void
ndt_relocalizer_scan_clear (NdtRelocalizerScan *scan)
{
  g_clear_pointer (&scan->xyz, g_free);
  g_clear_pointer (&scan->times, g_free);
}

NdtRelocalizerMotion *
ndt_relocalizer_motion_new (void)
{
  NdtRelocalizerMotion *motion = g_new0 (NdtRelocalizerMotion, 1);
  motion->moving = ndt_moving_scan_new ();
  g_mutex_init (&motion->lock);
  return motion;
}

void
ndt_relocalizer_motion_free (NdtRelocalizerMotion *motion)
{
  ndt_moving_scan_free (motion->moving);
  g_mutex_clear (&motion->lock);
  g_free (motion);
}

void
ndt_relocalizer_motion_cancel (NdtRelocalizerMotion *motion, gboolean cancelled)
{
  g_mutex_lock (&motion->lock);
  motion->is_cancelled = cancelled;
  if (motion->backend)
    ndt_backend_cancel (motion->backend, cancelled);
  g_mutex_unlock (&motion->lock);
}

void
ndt_relocalizer_motion_begin (
    NdtRelocalizerMotion *motion, const NdtPose *mount, const NdtScanFilter *filter)
{
  motion->mount = *mount;
  motion->filter = *filter;
  motion->has_velocity = motion->is_given_up = FALSE;
}

void
ndt_relocalizer_motion_give_up (NdtRelocalizerMotion *motion)
{
  motion->is_given_up = TRUE;
}

void
ndt_relocalizer_motion_set (NdtRelocalizerMotion *motion, const double velocity[6])
{
  motion->has_velocity = TRUE;
  memcpy (motion->velocity, velocity, sizeof (motion->velocity));
}

const double *
ndt_relocalizer_motion_get (const NdtRelocalizerMotion *motion)
{
  return motion->has_velocity ? motion->velocity : NULL;
}

static NdtTimeView
get_times (const NdtRelocalizerScan *scan)
{
  return (NdtTimeView){(const guint8 *)(gconstpointer)scan->times, sizeof (float), NDT_TIME_F32};
}

/* One thread of the CPU: two scans are soon aligned. FALSE without memory. */
static gboolean
open_backend (NdtRelocalizerMotion *motion)
{
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  config.n_threads = 1;
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  g_mutex_lock (&motion->lock);
  motion->backend = backend;
  if (backend)
    ndt_backend_cancel (backend, motion->is_cancelled);
  g_mutex_unlock (&motion->lock);
  return backend != NULL;
}

static void
close_backend (NdtRelocalizerMotion *motion)
{
  g_mutex_lock (&motion->lock);
  NdtBackend *backend = g_steal_pointer (&motion->backend);
  g_mutex_unlock (&motion->lock);
  ndt_backend_close (backend);
}

/* Alignments are cancelled by their backend; a map is built without one. */
static gboolean
process (NdtRelocalizerMotion *motion, NdtOdometry *odometry, const NdtRelocalizerScan *scan,
    double v[6])
{
  const NdtOdometryScan in = {.points = ndt_cloud_view_xyz_f32 (scan->xyz, scan->n),
      .time = scan->time,
      .point_times = get_times (scan)};
  NdtOdometryResult result;
  g_mutex_lock (&motion->lock);
  const gboolean is_cancelled = motion->is_cancelled;
  g_mutex_unlock (&motion->lock);
  return !is_cancelled && ndt_odometry_process (odometry, &in, &result, NULL) &&
         (result.status == NDT_ODOMETRY_STARTED ||
             ((result.status == NDT_ODOMETRY_TRACKED || result.status == NDT_ODOMETRY_DEGRADED) &&
                 ndt_odometry_get_velocity (odometry, v)));
}

/* Without memory, as of a scan that does not fit the one before, there is no velocity. */
static void
align (
    NdtRelocalizerMotion *motion, const NdtRelocalizerScan *before, const NdtRelocalizerScan *scan)
{
  NdtOdometryParams params;
  double velocity[6] = {0};
  ndt_odometry_params_init (&params);
  params.sensor_pose = motion->mount;
  params.min_range = MAX (params.min_range, (double)motion->filter.min_range);
  if (motion->filter.max_range > motion->filter.min_range)
    params.max_range = MIN (params.max_range, (double)motion->filter.max_range);
  if (!open_backend (motion))
    return;
  NdtOdometry *odometry = ndt_odometry_new (motion->backend, &params, NULL);
  if (odometry && process (motion, odometry, before, velocity) &&
      process (motion, odometry, scan, velocity))
    ndt_relocalizer_motion_set (motion, velocity);
  g_clear_pointer (&odometry, ndt_odometry_free);
  close_backend (motion);
}

void
ndt_relocalizer_motion_take (
    NdtRelocalizerMotion *motion, const NdtRelocalizerScan *before, const NdtRelocalizerScan *scan)
{
  double velocity[6];
  if (scan->has_velocity)
    ndt_relocalizer_motion_set (motion, scan->velocity);
  else if (before && before->has_odometry && scan->has_odometry &&
           ndt_course_get_velocity (
               &before->odometry, before->time, &scan->odometry, scan->time, velocity))
    ndt_relocalizer_motion_set (motion, velocity);
  else if (before && before->times && scan->times)
    align (motion, before, scan);
}

gboolean
ndt_relocalizer_motion_set_scan (NdtRelocalizerMotion *motion, NdtBackend *backend,
    const NdtRelocalizerScan *scan, NdtCourse *course, GError **error)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (scan->xyz, scan->n);
  const NdtTimeView times = get_times (scan);
  NdtTimeSpan span = {0};
  memset (course, 0, sizeof (*course));
  if (!scan->times)
    return ndt_backend_set_scan (backend, 0, &points, &no_filter, error);
  if (!ndt_moving_scan_set (motion->moving, backend, 0, &points, &times, &span, error))
    return FALSE;
  if (span.n_points == 0 || motion->is_given_up)
    return ndt_backend_set_scan (backend, 0, &points, &motion->filter, error);
  ndt_course_init (course, &span, scan->time, 0);
  course->has_velocity = motion->has_velocity;
  if (motion->has_velocity) {
    course->velocity_time = course->time - GIVEN_AGE;
    memcpy (course->velocity, motion->velocity, sizeof (course->velocity));
  }
  return ndt_relocalizer_motion_move (motion, course, error);
}

gboolean
ndt_relocalizer_motion_move (NdtRelocalizerMotion *motion, const NdtCourse *course, GError **error)
{
  const NdtScanMotion moves = ndt_course_get_motion (course, &motion->mount);
  return ndt_moving_scan_move (
      motion->moving, course->has_velocity ? &moves : NULL, &motion->filter, error);
}
