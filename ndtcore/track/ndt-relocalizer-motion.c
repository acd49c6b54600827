/* SPDX-License-Identifier: MIT */
#include "ndt-relocalizer-motion.h"

#include <math.h>
#include <string.h>

#include "ndtcore/odometry/ndt-moving-scan.h"
#include "ndtcore/odometry/ndt-odometry.h"

struct _NdtRelocalizerMotion {
  NdtPose mount;
  NdtScanFilter filter;
  NdtMovingScan *moving;
  NdtBackend *backend;   /* of @odometry */
  NdtOdometry *odometry; /* of scans as their sensor saw them, until the velocity is known */
  gboolean has_odometry; /* of the scan before … */
  NdtPose pose;
  gint64 time; /* … then */
  gboolean has_velocity;
  double velocity[6];
  gboolean is_given_up; /* scans are taken as they are */
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
  return motion;
}

static void
end_odometry (NdtRelocalizerMotion *motion)
{
  g_clear_pointer (&motion->odometry, ndt_odometry_free);
  g_clear_pointer (&motion->backend, ndt_backend_close);
}

void
ndt_relocalizer_motion_free (NdtRelocalizerMotion *motion)
{
  end_odometry (motion);
  ndt_moving_scan_free (motion->moving);
  g_free (motion);
}

void
ndt_relocalizer_motion_begin (
    NdtRelocalizerMotion *motion, const NdtPose *mount, const NdtScanFilter *filter)
{
  end_odometry (motion);
  motion->mount = *mount;
  motion->filter = *filter;
  motion->has_odometry = motion->has_velocity = motion->is_given_up = FALSE;
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
  end_odometry (motion);
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

/* One thread of the CPU: two scans are soon aligned. */
static gboolean
begin_odometry (NdtRelocalizerMotion *motion)
{
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  NdtOdometryParams params;
  config.n_threads = 1;
  ndt_odometry_params_init (&params);
  params.sensor_pose = motion->mount;
  params.min_range = MAX (params.min_range, (double)motion->filter.min_range);
  if (motion->filter.max_range > motion->filter.min_range)
    params.max_range = MIN (params.max_range, (double)motion->filter.max_range);
  motion->backend = ndt_backend_open_cpu (&config, NULL);
  motion->odometry = motion->backend ? ndt_odometry_new (motion->backend, &params, NULL) : NULL;
  return motion->odometry != NULL;
}

/* Without memory, as of a scan that does not fit the one before, there is no velocity. */
static void
align (NdtRelocalizerMotion *motion, const NdtRelocalizerScan *scan)
{
  const NdtOdometryScan in = {.points = ndt_cloud_view_xyz_f32 (scan->xyz, scan->n),
      .time = scan->time,
      .point_times = get_times (scan)};
  NdtOdometryResult result;
  double velocity[6];
  if (!motion->odometry && !begin_odometry (motion)) {
    end_odometry (motion);
    return;
  }
  if (ndt_odometry_process (motion->odometry, &in, &result, NULL) &&
      (result.status == NDT_ODOMETRY_TRACKED || result.status == NDT_ODOMETRY_DEGRADED) &&
      ndt_odometry_get_velocity (motion->odometry, velocity))
    ndt_relocalizer_motion_set (motion, velocity);
}

void
ndt_relocalizer_motion_take (NdtRelocalizerMotion *motion, const NdtRelocalizerScan *scan)
{
  double velocity[6];
  if (scan->has_velocity)
    ndt_relocalizer_motion_set (motion, scan->velocity);
  else if (motion->has_odometry && scan->has_odometry &&
           ndt_course_get_velocity (
               &motion->pose, motion->time, &scan->odometry, scan->time, velocity))
    ndt_relocalizer_motion_set (motion, velocity);
  else if (scan->times && !motion->has_velocity)
    align (motion, scan);
  motion->has_odometry = scan->has_odometry;
  motion->pose = scan->odometry;
  motion->time = scan->time;
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
  if (motion->has_velocity)
    memcpy (course->velocity, motion->velocity, sizeof (course->velocity));
  return ndt_relocalizer_motion_move (motion, course, error);
}

gboolean
ndt_relocalizer_motion_move (NdtRelocalizerMotion *motion, const NdtCourse *course, GError **error)
{
  const NdtScanMotion moves = ndt_course_get_motion (course, &motion->mount);
  return ndt_moving_scan_move (
      motion->moving, course->has_velocity ? &moves : NULL, &motion->filter, error);
}
