/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "ndt-trajectory-private.h"

void
ndt_trajectory_free (NdtTrajectory *trajectory)
{
  if (!trajectory)
    return;
  g_array_unref (trajectory->entries);
  g_free (trajectory->description);
  g_free (trajectory);
}

NdtTrajectoryFormat
ndt_trajectory_get_format (const NdtTrajectory *trajectory)
{
  return trajectory->format;
}

const gchar *
ndt_trajectory_get_description (const NdtTrajectory *trajectory)
{
  return trajectory->description;
}

gsize
ndt_trajectory_get_n_poses (const NdtTrajectory *trajectory)
{
  return trajectory->entries->len;
}

gboolean
ndt_trajectory_has_times (const NdtTrajectory *trajectory)
{
  return trajectory->has_times;
}

static const NdtTrajectoryEntry *
get_entry (const NdtTrajectory *trajectory, gsize index)
{
  return &g_array_index (trajectory->entries, NdtTrajectoryEntry, index);
}

const NdtPose *
ndt_trajectory_get_pose (const NdtTrajectory *trajectory, gsize index)
{
  const NdtTrajectoryEntry *entry = get_entry (trajectory, index);
  return entry->has_pose ? &entry->pose : NULL;
}

gint64
ndt_trajectory_get_time (const NdtTrajectory *trajectory, gsize index)
{
  return get_entry (trajectory, index)->time;
}

const gchar *
ndt_trajectory_get_status (const NdtTrajectory *trajectory, gsize index)
{
  return get_entry (trajectory, index)->status;
}

gboolean
ndt_trajectory_interpolate (
    const NdtTrajectory *trajectory, gint64 time, gint64 max_gap, NdtPose *out)
{
  /* The first entry that is not before @time. */
  gsize low = 0, high = trajectory->entries->len;
  if (!trajectory->has_times)
    return FALSE;
  while (low < high) {
    const gsize middle = low + (high - low) / 2;
    if (get_entry (trajectory, middle)->time < time)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == trajectory->entries->len)
    return FALSE;
  const NdtTrajectoryEntry *after = get_entry (trajectory, low);
  if (after->time == time) {
    *out = after->pose;
    return after->has_pose;
  }
  if (low == 0)
    return FALSE;
  const NdtTrajectoryEntry *before = get_entry (trajectory, low - 1);
  const gint64 gap = after->time - before->time;
  if (!before->has_pose || !after->has_pose || (max_gap > 0 && gap > max_gap))
    return FALSE;
  ndt_pose_interpolate (
      &before->pose, &after->pose, (double)(time - before->time) / (double)gap, out);
  return TRUE;
}

void
ndt_pose_errors_add (NdtPoseErrors *errors, const NdtPose *pose, const NdtPose *truth,
    double *metres, double *radians)
{
  double m, rad;
  ndt_pose_difference (pose, truth, &m, &rad);
  errors->n++;
  errors->sum_m += m;
  errors->sum_squares_m += m * m;
  errors->max_m = MAX (errors->max_m, m);
  errors->sum_rad += rad;
  errors->max_rad = MAX (errors->max_rad, rad);
  if (metres)
    *metres = m;
  if (radians)
    *radians = rad;
}
