/* SPDX-License-Identifier: MIT */
#include "gstndtscan.h"

#include <math.h>
#include <string.h>

#include "gst/common/gstndtviews.h"
#include "gst/common/gstposequeue.h"

/* @seconds after a time stamp; stamps begin at 0. */
static GstClockTime
add_seconds (GstClockTime time, gdouble seconds)
{
  const gint64 offset = (gint64)llround (seconds * GST_SECOND);
  return offset < 0 && (GstClockTime)-offset > time ? 0 : time + (GstClockTime)offset;
}

/* So much of a scan is before the instant. */
static gdouble
fraction_of (GstNdtPoseTime instant)
{
  return instant == GST_NDT_POSE_TIME_START ? 0 : instant == GST_NDT_POSE_TIME_MIDDLE ? 0.5 : 1;
}

static void
set_instant (GstNdtInput *input, const GstNdtInstants *instants)
{
  const NdtTimeSpan *span = &input->times.span;
  const GstClockTime pts = input->about.pts;
  const gboolean has_duration = GST_CLOCK_TIME_IS_VALID (input->about.duration);
  const gdouble duration = has_duration ? (gdouble)input->about.duration / GST_SECOND : 0;

  input->about.pose_time = input->mean_time = pts;
  if (!GST_CLOCK_TIME_IS_VALID (pts))
    return;
  if (instants->is_compensated) {
    input->mean_time = add_seconds (pts, fraction_of (instants->instant) * duration);
    input->about.pose_time = input->mean_time;
    return;
  }
  if (span->n_points == 0) {
    /* Measured around the PTS, from it on, or up to it. */
    const gdouble middle = 0.5 - fraction_of (instants->stamp_position);
    input->mean_time = input->about.pose_time = add_seconds (pts, middle * duration);
    return;
  }
  input->mean_time = input->about.pose_time = add_seconds (pts, span->mean);
  input->is_moving = instants->compensates && span->last > span->first;
  if (!input->is_moving)
    return;
  /* Where the duration is not known the points tell it. */
  const gdouble fraction = fraction_of (instants->pose_time);
  input->about.pose_time =
      add_seconds (pts, has_duration ? fraction * duration : fraction * MAX (span->last, 0));
}

gboolean
gst_ndt_input_open (GstNdtInput *input, GstPointTimes *times, const GstPointCloudInfo *info,
    const GstNdtInstants *instants, GstBuffer *buffer, GstNdtAhead *ahead, GError **error)
{
  memset (&input->times, 0, sizeof input->times);
  input->about.pts = GST_BUFFER_PTS (buffer);
  input->about.duration = GST_BUFFER_DURATION (buffer);
  if (!GST_CLOCK_TIME_IS_VALID (input->about.duration) && info->fps_n > 0)
    input->about.duration = gst_util_uint64_scale (GST_SECOND, info->fps_d, info->fps_n);
  input->is_moving = FALSE;
  if (ahead) {
    input->map = ahead->map;
    input->times = ahead->times;
    input->mapped = TRUE;
    g_free (ahead);
    gst_point_times_tell (times, &input->map, buffer, &input->times);
  } else {
    input->mapped = gst_point_cloud_map (&input->map, info, buffer, GST_MAP_READ, error);
    if (input->mapped)
      gst_point_times_read (times, &input->map, buffer, &input->times);
    else
      input->map.n_points = 0;
  }
  set_instant (input, instants);
  return input->mapped;
}

static gboolean
read_pose (GstBuffer *buffer, GstPoseRole role, NdtPose *pose)
{
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, role);
  if (!meta || !meta->has_pose)
    return FALSE;
  memcpy (pose->position, meta->position, sizeof pose->position);
  memcpy (pose->orientation, meta->orientation, sizeof pose->orientation);
  return ndt_pose_normalize (pose);
}

/* Those that are not finite or have no orientation are left out. */
static void
read_poses (GstBuffer *buffer, NdtObservation *observation)
{
  observation->has_prior = read_pose (buffer, GST_POSE_ROLE_PRIOR, &observation->prior);
  observation->has_prior_stddev =
      observation->has_prior &&
      gst_pose_queue_read_stddev (
          gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_PRIOR), observation->prior_stddev);
  observation->has_velocity = FALSE;
  observation->has_odometry = read_pose (buffer, GST_POSE_ROLE_ODOMETRY, &observation->odometry);
}

void
gst_ndt_input_observe (const GstNdtInput *input, GstBuffer *buffer, NdtObservation *observation)
{
  const GstNdtScan *about = &input->about;

  observation->points = gst_ndt_view_points (&input->map);
  observation->time = GST_CLOCK_TIME_IS_VALID (about->pose_time) ? (gint64)about->pose_time : -1;
  observation->point_times = (NdtTimeView){0};
  if (input->is_moving) {
    observation->point_times = input->times.view;
    observation->time_on_points = (gdouble)(gint64)(about->pose_time - about->pts) / GST_SECOND;
  }
  read_poses (buffer, observation);
}

void
gst_ndt_input_close (GstNdtInput *input)
{
  ndt_point_times_clear (&input->times);
  if (input->mapped)
    gst_point_cloud_unmap (&input->map);
  input->mapped = FALSE;
}
